"""Studies elsewhere: what differs from a directory, above all who may write."""

import dataclasses
import gc
import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import polarbear as pb
from polarbear import store
from polarbear.store import lock
from polarbear.store.paths import RemotePath
from tests.cli.commands import polarbear
from tests.store.test_faults import HERE, WRITER
from tests.study.entrants import crawl, descend, guess, sphere

fsspec = pytest.importorskip("fsspec", reason="what reaches places elsewhere is not installed")

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["memory", "s3"])
def elsewhere(request):
    """A new place on an object store."""
    root = request.getfixturevalue("bucket") if request.param == "s3" else "memory://studies"
    return store.place(f"{root}/{time.time_ns()}.study")


@pytest.fixture
def on_s3(bucket):
    return store.place(f"{bucket}/{time.time_ns()}.study")


# Places


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("s3://bucket/a.study", "s3://bucket/a.study"),
        ("s3://bucket//deep/a.study/", "s3://bucket/deep/a.study"),
        (Path("s3://bucket/a.study"), "s3://bucket/a.study"),
        (Path("gs://bucket/a.study"), "gs://bucket/a.study"),
        ("abfs://container@account/a.study", "abfs://container@account/a.study"),
        ("memory:///a.study", "memory://a.study"),
    ],
)
def test_a_url_stays_one(given, expected):
    place = store.place(given)
    assert isinstance(place, RemotePath)
    assert str(place) == expected
    assert store.place(place) is place
    assert store.place(Path(place)) == place
    assert pickle.loads(pickle.dumps(place)) == place


@pytest.mark.parametrize("given", ["a.study", "/deep/a.study", "C:/a.study", "odd:name/a.study", Path("a:b")])
def test_a_local_path_stays_one(given):
    assert store.place(given) == Path(given)
    assert isinstance(store.place(given), Path)


def test_urls_of_local_files_are_local_paths(tmp_path):
    for url in (f"file://{tmp_path}", f"local://{tmp_path}", Path(f"file://{tmp_path}")):
        assert store.place(url) == tmp_path
        assert isinstance(store.place(url), Path)


def test_urls_of_local_files_may_be_quoted_but_name_no_host():
    assert store.place("file:///a%20b/c.study") == Path("/a b/c.study")
    with pytest.raises(ValueError, match=r"file://rel.study names the host 'rel.study'; write file:///ABSOLUTE/PATH"):
        store.place("file://rel.study")


def test_parts_of_a_url():
    place = store.place("s3://bucket/deep/a.study")
    assert (place.name, place.suffix, str(place.parent), str(place.parent.parent)) == (
        "a.study",
        ".study",
        "s3://bucket/deep",
        "s3://bucket",
    )
    assert place.parent.parent.parent == place.parent.parent
    assert place / "runs" / "x" == store.place("s3://bucket/deep/a.study/runs/x")


def test_places_that_cannot_hold_a_study_are_refused():
    with pytest.raises(ValueError, match="is a chained URL"):
        store.create("simplecache::s3://bucket/a.study", {})
    with pytest.raises(
        store.StudyError, match=r"sftp://host/a\.study cannot be written to: over sftp, a killed process may leave"
    ):
        store.create("sftp://host/a.study", {})
    with pytest.raises(store.StudyError, match=r"nosuch://a\.study cannot be reached: Protocol not known: nosuch"):
        store.open("nosuch://a.study")


def test_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(store.PackageMissing, match=r"needs the package for its protocol: .*gcsfs"):
        store.open("gs://bucket/a.study")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r"install it with: pip install 'polarbear-race\[remote\]'"):
        store.exists("memory://a.study")


def test_local_studies_need_no_fsspec(tmp_path):
    program = (
        "import sys; from polarbear import store; store.create(sys.argv[1], {}).close(); store.read(sys.argv[1]); "
        "assert 'fsspec' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "a.study"], check=True, timeout=60)


# Who may write


def written_lock(place, **changes):
    """A lock as another writer would have left it."""
    content = {
        "pid": 1234,
        "host": "elsewhere",
        "user": "ada",
        "since": "2026-01-01T00:00:00+00:00",
        "token": "theirs",
        "processes": "",
        "renewed": datetime.now(UTC).isoformat(timespec="seconds"),
    } | changes
    (place / "lock.json").write_bytes(json.dumps(content).encode())


def ago(**time):
    return (datetime.now(UTC) - timedelta(**time)).isoformat(timespec="seconds")


def test_a_live_lock_is_respected_and_not_taken_over(elsewhere):
    store.create(elsewhere, {}).close()
    written_lock(elsewhere, renewed=ago(minutes=9))
    for claim in (lambda: store.open(elsewhere, write=True), lambda: store.take_over(elsewhere)):
        with pytest.raises(store.StudyLocked, match=r"written by process 1234 on elsewhere \(user ada, .* 54\d s ago"):
            claim()
    assert store.open(elsewhere).spec == {}


def test_an_abandoned_lock_is_told_and_taken_over_only_if_asked(elsewhere, run):
    with store.create(elsewhere, {}) as study:
        study.append(run(1))
    written_lock(elsewhere, renewed=ago(minutes=12))
    for _ in range(2):
        with pytest.raises(store.StudyLocked) as caught:
            store.open(elsewhere, write=True)
    for expected in (
        "process 1234 on elsewhere",
        "not renewed the lock for 12 min",
        f"store.take_over('{elsewhere}')",
        "--take-over",
    ):
        assert expected in str(caught.value)
    assert f"remove {elsewhere}/lock.json" in str(caught.value)
    store.take_over(elsewhere)
    store.take_over(elsewhere)
    with store.open(elsewhere, write=True) as study:
        study.append(run(2))
    assert store.read(elsewhere) == [run(1), run(2)]


def test_a_lock_of_a_process_of_this_machine_that_ended_counts_as_abandoned(elsewhere):
    store.create(elsewhere, {}).close()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here = {"host": socket.gethostname(), "processes": lock._process_namespace()}
    for pid, complaint in ((os.getpid(), "is being written by"), (ended.pid, "which is no longer running")):
        written_lock(elsewhere, pid=pid, **here)
        with pytest.raises(store.StudyLocked, match=complaint):
            store.open(elsewhere, write=True)
    written_lock(elsewhere, pid=ended.pid, host=socket.gethostname(), processes="another container")
    with pytest.raises(store.StudyLocked, match="is being written by"):
        store.take_over(elsewhere)
    written_lock(elsewhere, pid=ended.pid, **here)
    store.take_over(elsewhere)
    store.open(elsewhere, write=True).close()


def test_taking_over_a_study_on_disk_is_left_to_the_operating_system(tmp_path):
    with store.create(tmp_path / "a.study", {}), pytest.raises(store.StudyLocked, match="is being written by"):
        store.take_over(tmp_path / "a.study")
    store.take_over(tmp_path / "a.study")
    store.open(tmp_path / "a.study", write=True).close()


def test_of_two_writers_that_both_see_no_lock_one_gets_it(elsewhere, monkeypatch):
    """The store itself refuses the second one, which looked before the first one wrote."""
    read = lock.read_owner
    with store.create(elsewhere, {}):
        answers = iter([None])
        monkeypatch.setattr(lock, "read_owner", lambda file: next(answers, read(file)))
        with pytest.raises(store.StudyLocked, match=f"being written by process {os.getpid()}"):
            store.open(elsewhere, write=True)
    store.open(elsewhere, write=True).close()


def test_a_writer_whose_lock_was_taken_writes_no_more(elsewhere, run, monkeypatch):
    with store.create(elsewhere, {}, commit_seconds=600) as first:
        first.append(run(1))
        first.commit()
        (elsewhere / "lock.json").unlink()
        with store.open(elsewhere, write=True) as second:
            second.append(run(2))
            monkeypatch.setattr(lock, "RENEW_SECONDS", 0.0)  # time passes: the lock has to be looked at again
            for write in (lambda: first.append(run(3)), lambda: first.append_round({}), first.compact):
                with pytest.raises(store.StudyLocked, match="this process has lost the lock"):
                    write()
            first.close()
            assert json.loads((elsewhere / "lock.json").read_bytes())["pid"] == os.getpid()
    assert store.read(elsewhere) == [run(1), run(2)]
    assert not (elsewhere / "lock.json").exists()


def test_a_background_commit_without_the_lock_is_told_by_the_next_call(elsewhere, run, monkeypatch):
    with store.create(elsewhere, {}, commit_seconds=0.2) as study:
        study.append(run(1))
        monkeypatch.setattr(lock, "RENEW_SECONDS", 0.0)
        (elsewhere / "lock.json").unlink()
        time.sleep(0.4)
        with pytest.raises(store.StudyLocked, match="has lost the lock on study"):
            study.append(run(2))
        assert study.runs() == [run(1)]
        with pytest.raises(store.StudyLocked, match="has lost the lock on study"):
            study.close()
        study._buffer.clear()
    assert store.read(elsewhere) == []


def test_a_lock_is_renewed(elsewhere, monkeypatch):
    monkeypatch.setattr(lock, "RENEW_SECONDS", 0.05)
    with store.create(elsewhere, {}):
        written = json.loads((elsewhere / "lock.json").read_bytes())
        end = time.monotonic() + 20
        while (now := json.loads((elsewhere / "lock.json").read_bytes())) == written and time.monotonic() < end:
            time.sleep(0.05)
        assert now["renewed"] > written["renewed"]
        assert now | {"renewed": 0} == written | {"renewed": 0}
    time.sleep(0.2)
    assert not (elsewhere / "lock.json").exists()


def test_a_forgotten_writer_holds_no_lock(elsewhere):
    study = store.create(elsewhere, {})
    with pytest.raises(store.StudyLocked):
        store.open(elsewhere, write=True)
    del study
    gc.collect()
    store.open(elsewhere, write=True).close()


def test_a_process_that_ends_without_closing_holds_no_lock(on_s3):
    program = "import sys; from polarbear import store; study = store.create(sys.argv[1], {}); print('up')"
    done = subprocess.run([sys.executable, "-c", program, on_s3], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("up\n", "", 0)
    store.open(on_s3, write=True).close()


# Kills


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=pytest.mark.slow)])
def test_no_kill_loses_what_was_committed(on_s3, run, kills):
    """As for studies on disk; and while the writer lives, a reader in another process follows it."""
    rng = np.random.default_rng(7)
    runs = rounds = 0
    for _ in range(kills):
        command = [sys.executable, "-c", WRITER, on_s3, HERE / "conftest.py"]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout.readline() == "up\n"
        lines = [writer.stdout.readline()]
        with store.open(on_s3) as reader:
            before = len(reader.keys())
            while not (lines[-1].startswith("runs") and int(lines[-1].split()[1]) > before):
                lines.append(writer.stdout.readline())
            reader.refresh()
            assert len(reader.keys()) >= int(lines[-1].split()[1])
            assert reader.damaged == ()
        with pytest.raises(store.StudyLocked, match=f"is being written by process {writer.pid} "):
            store.open(on_s3, write=True)
        time.sleep(rng.exponential(0.1))
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.read().splitlines()
        writer.stdout.close()
        assert writer.wait() == -signal.SIGKILL
        acknowledged = dict(line.split() for line in lines if line.count(" ") == 1)
        runs, rounds = max(runs, int(acknowledged["runs"])), max(rounds, int(acknowledged.get("round", 0)))
        with store.open(on_s3) as study:
            assert study.damaged == ()
            found = study.runs()
            assert [each.key.seed for each in found] == list(range(len(found)))
            assert runs <= len(found) <= runs + 3  # the last commit may have happened unacknowledged
            assert rounds <= len(study.rounds()) <= rounds + 1
            runs, rounds = len(found), len(study.rounds())
        with pytest.raises(store.StudyLocked, match=rf"process {writer.pid} .* which is no longer running.*take_over"):
            store.open(on_s3, write=True)
        store.take_over(on_s3)
    assert found == [run(seed, size=seed % 50) for seed in range(runs)]


# What goes wrong


def test_a_damaged_part_is_named_and_the_rest_is_readable(elsewhere, run):
    with store.create(elsewhere, {}) as study:
        for seed in range(3):
            study.append(run(seed))
            study.commit()
    broken = sorted((elsewhere / "runs").iterdir(), key=str)[1]
    broken.write_bytes(broken.read_bytes()[:-1])
    for write in (False, True):
        with store.open(elsewhere, write=write) as study:
            (found,) = study.damaged
            assert found.path == broken
            assert "the SHA-256 does not match" in str(found)
            assert study.runs() == [run(0), run(2)]


def test_a_bucket_that_is_not_there_is_said_and_not_made(bucket):
    message = (
        r"study s3://nosuch/a\.study cannot be created: The specified bucket does not exist .*choose another location$"
    )
    with pytest.raises(FileNotFoundError, match=message):
        store.create("s3://nosuch/a.study", {})
    with pytest.raises(store.StudyNotFound, match=r"s3://nosuch/a\.study is not a study: nothing is there"):
        store.open("s3://nosuch/a.study")
    assert not store.place("s3://nosuch").exists()


class Unreliable(fsspec.get_filesystem_class("memory")):
    """A store in memory that fails as packages of object stores do: with exceptions of their own."""

    protocol = "unreliable"
    fails = frozenset()

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("unreliable://"))

    def _answer(self, what):
        if what in self.fails:
            raise RuntimeError(f"no answer to {what}")

    def cat_file(self, path, **options):
        self._answer("cat " + path.rpartition("/")[2].rpartition(".")[2])
        return super().cat_file(path, **options)

    def pipe_file(self, path, value, **options):
        self._answer("pipe " + path.rpartition("/")[2].rpartition(".")[2])
        super().pipe_file(path, value, **options)

    def info(self, path, **options):
        self._answer("info")
        return super().info(path, **options)


@pytest.fixture
def unreliable(monkeypatch):
    fsspec.register_implementation("unreliable", Unreliable, clobber=True)
    place = store.place(f"unreliable://{time.time_ns()}.study")
    return place, lambda *what: monkeypatch.setattr(Unreliable, "fails", frozenset(what))


def test_a_failed_commit_loses_nothing_and_can_be_repeated(unreliable, run):
    place, fail = unreliable
    with store.create(place, {}, commit_seconds=600) as study:
        study.append(run(1))
        fail("pipe parquet")
        for _ in range(2):
            with pytest.raises(OSError, match=rf"{place}/runs/.* could not be written: RuntimeError: no answer.*kept"):
                study.commit()
        assert study.runs() == [run(1)]
        fail()
        study.commit()
    assert store.read(place) == [run(1)]


def test_a_store_that_does_not_answer_is_no_empty_or_damaged_study(unreliable, run):
    place, fail = unreliable
    with store.create(place, {}) as study:
        study.append(run(1))
        study.append_round({})
    for what in ("info", "cat parquet", "cat json"):
        fail(what)
        with pytest.raises(OSError, match=f"no answer to {what}") as caught:
            store.open(place)
        assert not isinstance(caught.value, FileNotFoundError)
    fail("info")
    with pytest.raises(OSError, match="no answer"):
        store.create(place, {})
    with pytest.raises(OSError, match="no answer"):
        store.exists(place)


def test_a_store_that_cannot_be_written_is_said(unreliable):
    place, fail = unreliable
    fail("pipe json")
    with pytest.raises(OSError, match=f"study {place} cannot be created: RuntimeError: no answer"):
        store.create(place, {})


def test_a_lock_that_cannot_be_removed_is_said_and_everything_is_there(unreliable, run):
    place, fail = unreliable
    study = store.create(place, {}, commit_seconds=600)
    study.append(run(1))
    fail("cat json")
    with pytest.raises(OSError, match=rf"no answer to cat json: '{place}/lock\.json'"):
        study.close()
    fail()
    assert store.read(place) == [run(1)]
    with pytest.raises(store.StudyLocked, match=f"is being written by process {os.getpid()}"):
        store.open(place, write=True)


# The rest of the house


def decisions(result):
    """Everything decided, without what a clock measured."""
    rounds = [dataclasses.replace(r, seconds=0.0, inference_seconds=0.0) for r in result.rounds]
    return rounds, result.pareto_set, result.eliminated, result.posterior.draws.tobytes()


def race(path, **stop):
    problem = pb.problems.FunctionProblem(sphere, lower=-2, upper=2, dimension=3)
    entrants = (guess, descend, crawl)
    the_race = pb.Race(entrants, times=pb.log_times(5, 200, 8), alpha=0.95, epsilon=0.1, seed=2)
    return pb.study.race(the_race, problem, path, stop=pb.study.StopRules(**stop))


def test_a_race_elsewhere_stopped_and_resumed_is_that_on_disk(elsewhere, tmp_path):
    whole = race(tmp_path / "a.study")
    assert len(whole.rounds) > 1
    first = race(str(elsewhere), instances=1)
    assert len(first.rounds) < len(whole.rounds)
    assert decisions(race(elsewhere)) == decisions(whole)
    view = pb.study.load(str(elsewhere))
    assert decisions(view.result) == decisions(whole)
    assert view.path == elsewhere


def test_a_plan_runs_elsewhere(elsewhere):
    problem = pb.problems.FunctionProblem(sphere, lower=-2, upper=2, dimension=3)
    for repetitions in (1, 2):
        plan = pb.study.Plan([guess, crawl], [problem], budget=20, repetitions=repetitions)
        assert pb.study.run_plan(plan, str(elsewhere)).there == 2 * repetitions
    assert pb.study.load_plan(str(elsewhere)).finished
    assert len(store.read(elsewhere)) == 4
    assert not Path(f"{elsewhere.protocol}:").exists()


def test_the_command_line_takes_urls(on_s3, tmp_path):
    race(on_s3, instances=1)
    assert "descend" in polarbear("show", on_s3, cwd=tmp_path)[0]
    assert re.search(rf"report: {on_s3}/report\.html", polarbear("report", on_s3, cwd=tmp_path)[0])
    assert b"<html" in (on_s3 / "report.html").read_bytes()
    assert list(tmp_path.iterdir()) == []
    store.open(on_s3, write=True).close()


def test_runs_are_not_exported_to_urls(run):
    with pytest.raises(ValueError, match="s3://bucket/runs is a URL; runs can only be exported to local files"):
        store.export([run(0)], "s3://bucket/runs", "csv")

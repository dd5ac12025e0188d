"""A study: opening, appending, committing, locking, merging."""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polarbear import store
from polarbear.records import RunKey
from polarbear.store import locations


def parts(path):
    return sorted((path / "runs").glob("*.parquet"), key=str)


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "deep" / "study"


# Opening


def test_create_open_exists(path):
    assert not store.exists(path)
    with store.create(path, {"a": 1}) as study:
        assert study.path == path
        assert store.exists(path)
    with pytest.raises(FileExistsError, match="is already a study"):
        store.create(path, {})
    assert store.open(path).spec == {"a": 1}
    assert store.open(str(path)).damaged == ()


def test_what_is_no_study_is_said(path):
    for open_it in (store.open, store.read, lambda path: store.open(path, write=True)):
        with pytest.raises(
            store.StudyNotFound, match=f"{path} is not a study: (there is no such directory|nothing is there)"
        ):
            open_it(path)
    path.mkdir(parents=True)
    (path / "photo.jpg").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=r"is not a study: it holds no study\.json"):
        store.open(path)
    with pytest.raises(store.StudyNotFound, match=r"photo\.jpg is not a study: it is a file|nothing is there"):
        store.open(path / "photo.jpg").spec  # noqa: B018
    with pytest.raises(FileExistsError, match=r"contains 'photo\.jpg'"):
        store.create(path, {})
    with pytest.raises(FileExistsError, match="is a file"):
        store.create(path / "photo.jpg", {})
    assert [entry.name for entry in path.iterdir()] == ["photo.jpg"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", r"study\.json is damaged"),
        ("[]", "is not from a study: 'format' is None; it must be 'polarbear study'"),
        ("[" * 100_000, r"study\.json is damaged: maximum recursion depth"),
        (
            '{"format": "other", "version": 1, "spec": {}}',
            "is not from a study: 'format' is 'other'; it must be 'polarbear study'",
        ),
        ('{"format": "polarbear study", "version": "1", "spec": {}}', "lacks a whole-number 'version' or a 'spec'"),
        ('{"format": "polarbear study", "version": true, "spec": {}}', "lacks a whole-number 'version' or a 'spec'"),
        ('{"format": "polarbear study", "version": 1}', "lacks a whole-number 'version' or a 'spec'"),
        ('{"format": "polarbear study", "version": 6, "spec": {}}', "has format version 6.* up to 5; upgrade"),
    ],
)
def test_an_unusable_study_file_is_named(path, content, complaint):
    store.create(path, {}).close()
    (path / "study.json").write_bytes(content.encode())
    for unsealed in (True, False):
        for write in (True, False):
            with pytest.raises(store.StudyError, match=r"study\.json is damaged: its" if unsealed else complaint):
                store.open(path, write=write)
        (path / "manifest.txt").unlink(missing_ok=True)


def test_a_creation_that_was_killed_half_way_can_be_repeated(directory):
    path = directory
    (path / "runs").mkdir(parents=True)
    (path / ".tmp-study.json-1").write_text("{")
    (path / "lock").touch()
    with store.create(path, {"a": 1}):
        pass
    assert store.open(path).spec == {"a": 1}
    assert not (path / ".tmp-study.json-1").exists()


def test_a_spec_that_is_no_json_leaves_nothing_behind(path):
    with pytest.raises(TypeError, match=r"the specification of study .* cannot be written as JSON: Object of type set"):
        store.create(path, {"a": {1}})
    assert not path.exists()


def test_replacing_the_spec(path):
    with store.create(path, {"a": 1}) as study:
        study.replace_spec({"a": 2})
        assert study.spec == {"a": 2}
        with pytest.raises(TypeError):
            study.replace_spec({"a": {1}})
    assert store.open(path).spec == {"a": 2}


# Appending


def test_the_same_run_again_changes_nothing_and_another_one_is_an_error(path, run):
    with store.create(path, {}) as study:
        for _ in range(2):  # in memory, then on disk
            study.append(run(1))
            with pytest.raises(ValueError, match=r"already holds a different run of cma on f1 \(seed 1\)"):
                study.append(run(1, message="different"))
            with pytest.raises(ValueError, match="different run"):
                study.append(replace(run(1), target=0.5))
            study.commit()
    with store.open(path, write=True) as study:
        study.append(run(1))
        study.commit()
    assert len(parts(path)) == 1
    assert store.read(path) == [run(1)]


def test_keys_and_runs_are_sorted_whatever_the_order_of_commits(path, run):
    runs = [run(seed, instance=instance) for seed in (3, 1, 10, 2) for instance in ("b", "a")]
    with store.create(path, {}) as study:
        for each in runs:
            study.append(each)
            study.commit()
        study.append(run(0, instance="b"))  # not committed yet, and yet there
        assert study.keys() == sorted([*(each.key for each in runs), RunKey("b", "cma", 0)])
        assert [each.key for each in study.runs()] == study.keys()
        assert len(study) == 9
        assert runs[0].key in study
        assert study.runs([runs[3].key, runs[0].key]) == [runs[3], runs[0]]
        assert study.run(runs[5].key) == runs[5]
        assert study.runs([]) == []
        with pytest.raises(KeyError, match=r"holds no run of cma on c \(seed 1\)"):
            study.run(RunKey("c", "cma", 1))


def test_runs_are_on_disk_soon_after_the_last_one_even_if_none_follows(path, run):
    with store.create(path, {}, commit_seconds=0.2) as study:
        for seed in range(10):
            study.append(run(seed))
        end = time.monotonic() + 10
        while len(store.open(path).keys()) < 10 and time.monotonic() < end:
            time.sleep(0.02)
        assert len(store.read(path)) == 10
        assert len(parts(path)) <= 3
    for timer in [each for each in threading.enumerate() if isinstance(each, threading.Timer)]:
        timer.join(5)
        assert not timer.is_alive()


def test_many_runs_are_committed_at_once(path, run, monkeypatch):
    monkeypatch.setattr("polarbear.store.study.COMMIT_RUNS", 5)
    with store.create(path, {}, commit_seconds=600) as study:
        study.extend(run(seed) for seed in range(12))
        assert len(store.read(path)) == 10
    assert len(store.read(path)) == 12


def test_a_round_on_disk_has_its_runs_on_disk(path, run):
    with store.create(path, {}, commit_seconds=600) as study:
        study.append(run(1))
        study.append_round({"number": 1})
        with store.open(path) as reader:
            assert reader.rounds() == [{"number": 1}]
            assert len(reader.keys()) == 1
        with pytest.raises(TypeError, match="round 2 of study"):
            study.append_round({"bad": object()})


def test_a_study_open_for_reading_or_closed_cannot_be_written(path, run):
    writer = store.create(path, {})
    writer.append(run(1))
    writer.close()
    writer.close()
    for study in (writer, store.open(path)):
        for write in (
            lambda study: study.append(run(2)),
            lambda study: study.append_round({}),
            lambda study: study.compact(),
            lambda study: study.replace_spec({}),
        ):
            with pytest.raises(ValueError, match="not open for writing"):
                write(study)
        assert study.runs() == [run(1)]


@pytest.mark.parametrize("integer", [np.int16, np.int64, np.uint64, bool])
def test_seeds_of_other_integer_types_are_python_ones_in_the_study(path, run, integer):
    given, key = run(1), run(1).key
    given = replace(given, key=replace(key, seed=integer(1)))
    with store.create(path, {}, commit_seconds=600) as study:
        for _ in range(2):  # in memory, then on disk
            study.append(given)
            with pytest.raises(ValueError, match="different run"):
                study.append(replace(given, target=0.5))
            assert given.key in study
            assert study.run(given.key) == run(1)
            found = [*study.keys(), *study, *study.find(seed=integer(1)), *(each for each, _ in study.outcomes())]
            assert found == [key] * 4
            assert {type(each.seed) for each in found} == {int}
            study.commit()
        assert len(study) == len(parts(path)) == 1


@pytest.mark.parametrize("seed", [1.0, "1", None, np.float64(1), np.bool_(True)])
def test_a_seed_that_is_no_whole_number_is_refused(path, run, seed):
    with store.create(path, {}, commit_seconds=600) as study:
        with pytest.raises(ValueError, match=r"the seed of cma on f1 .* must be a whole number"):
            study.append(replace(run(1), key=RunKey("f1", "cma", seed)))
        study.append(run(1))
    assert store.read(path) == [run(1)]


# Processes that end, fork, or open many

AT_EXIT = """
import atexit, importlib.util, sys
atexit.register(lambda: last())
spec = importlib.util.spec_from_file_location("store_runs", sys.argv[2])
runs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runs)
from polarbear import store

def last():
    study.append(runs.make_run(2))
    study.close()
    print(len(study), len(study.runs()), len(list(study.outcomes())))

study = store.create(sys.argv[1], {}, commit_seconds=600)
study.append(runs.make_run(0))
study.commit()
study.append(runs.make_run(1))
reading = study.outcomes()
next(reading)
"""


def test_a_study_can_be_used_while_python_ends(directory):
    command = [sys.executable, "-c", AT_EXIT, directory, Path(__file__).parent / "conftest.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("3 3 3\n", "")
    assert len(store.read(directory)) == 3


def test_where_no_thread_can_be_started_runs_are_committed_at_once(path, run, monkeypatch):
    def fail(timer):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    with store.create(path, {}, commit_seconds=600) as study:
        monkeypatch.setattr(threading.Timer, "start", fail)
        for seed in range(3):
            study.append(run(seed))
            assert len(store.open(path)) == seed + 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_leaves_the_study_to_its_parent(directory, run, monkeypatch):
    monkeypatch.setattr(locations, "_CACHE_KB", 100)  # the list of runs lies in a file
    first, second = ([run(seed, size=1, instance="f" * 300) for seed in range(n, n + 900)] for n in (0, 900))
    with store.create(directory, {}, commit_seconds=600) as study:
        study.extend(first)
        study.commit()
        study.append(second[0])
        reading = study.outcomes()
        seen = [next(reading), next(reading)]
        child = os.fork()
        if not child:
            signal.alarm(20)
            refused = 0
            for do in (lambda: len(study), study.refresh, study.keys, lambda: study.append(second[1])):
                try:
                    do()
                except store.StudyError:
                    refused += 1
            reading.close()
            study.__exit__(None, None, None)
            os._exit(refused)
        study.extend(second[1:])
        study.commit()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        assert len([*seen, *reading]) == 901
        with pytest.raises(store.StudyLocked, match=f"process {os.getpid()} "):
            store.open(directory, write=True)
        study.compact()
        assert len(study) == len(set(study)) == len(list(study.outcomes())) == 1800
    assert store.read(directory) == [*first, *second]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are not listed here")
def test_studies_that_are_no_longer_used_hold_no_files(directory, run, monkeypatch):
    monkeypatch.setattr(locations, "_CACHE_KB", 100)  # the lists of runs lie in files
    with store.create(directory, {}) as study:
        study.extend(run(seed, size=1, instance="f" * 300) for seed in range(900))

    def files():
        gc.collect()
        held = {str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()}
        return {one for one in held if "etilqs" in one or str(directory) in one}  # SQLite's, and the study's

    del study
    before = files()
    studies = [store.open(directory) for _ in range(5)]
    for study in studies:
        study.outcomes()
        next(study.batches())
        next(study.outcomes())
    assert len(files() - before) >= 5
    del study, studies
    assert not files() - before


# Reading while another writes


def test_a_reader_sees_what_was_there_and_after_refresh_what_came(path, run):
    with store.create(path, {}) as writer, store.open(path) as reader:
        for seed in range(5):
            writer.append(run(seed))
            writer.append_round({"number": seed})
        assert (reader.keys(), reader.rounds()) == ([], [])
        reader.refresh()
        assert reader.runs() == writer.runs()
        writer.compact()
        assert len(parts(path)) == 1
        assert reader.runs() == writer.runs()  # its files are gone, and it finds the merged one
        assert len(reader.rounds()) == 5
        assert reader.damaged == ()


@pytest.mark.parametrize("fresh", ["local", "memory", pytest.param("s3", marks=pytest.mark.slow)], indirect=True)
def test_a_reader_that_refreshes_all_the_time_never_misses_a_run(path, run):
    """A writer in another thread commits and merges; each look shows at least the runs acknowledged before it."""
    acknowledged, done, problems = 0, threading.Event(), []

    def write():
        nonlocal acknowledged
        with store.create(path, {}, commit_seconds=0.0) as writer:
            for seed in range(150):
                writer.append(run(seed, size=3))
                acknowledged = seed + 1
                if seed % 7 == 0:
                    writer.compact()
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not store.exists(path):
        time.sleep(0.001)
    with store.open(path) as reader:
        while not done.is_set():
            before = acknowledged
            reader.refresh()
            found = reader.runs()
            if [each.key.seed for each in found][:before] != list(range(before)) or reader.damaged:
                problems.append((before, len(found), reader.damaged))
    thread.join()
    assert not problems
    assert acknowledged == 150


@pytest.mark.parametrize("opened_before", [False, True])
def test_a_listing_made_while_parts_are_merged_is_not_believed(path, run, monkeypatch, opened_before):
    """A directory listing may miss the merged part, made after it began, and its sources, deleted before its end."""
    with store.create(path, {}) as writer:
        for seed in range(4):
            writer.append(run(seed))
            writer.commit()
        reader = store.open(path) if opened_before else None
        writer.compact()
    glob, torn = type(path).glob, iter([True])
    monkeypatch.setattr(type(path), "glob", lambda *given: iter(()) if next(torn, False) else glob(*given))
    if reader is None:
        reader = store.open(path)
    else:
        reader.refresh()
    assert reader.runs() == [run(seed) for seed in range(4)]


# Locking


def test_a_second_writer_is_told_who_writes(path, run):
    with store.create(path, {}) as study:
        with pytest.raises(store.StudyLocked, match=rf"by process {os.getpid()} on {socket.gethostname()} \(user "):
            store.open(path, write=True)
        study.append(run(1))
    with store.open(path, write=True) as study:
        assert study.runs() == [run(1)]
    assert not (path / "lock.json").exists()


def test_a_writer_without_a_name_is_still_a_writer(path):
    with store.create(path, {}):
        (path / "lock.json").write_bytes(b"garbage")
        with pytest.raises(store.StudyLocked, match="by an unidentified process"):
            store.open(path, write=True)


def test_the_lock_of_a_killed_process_is_free(directory):
    path = directory
    program = (
        "import sys, time; from polarbear import store; study = store.create(sys.argv[1], {}); "
        "print('up', flush=True); time.sleep(600)"
    )
    writer = subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True)
    with writer.stdout:
        assert writer.stdout.readline() == "up\n"
        with pytest.raises(store.StudyLocked, match=f"process {writer.pid} "):
            store.open(path, write=True)
        writer.kill()
        writer.wait()
    with store.open(path, write=True) as study:
        assert json.loads((path / "lock.json").read_text())["pid"] == os.getpid()
        study.append_round({})


def test_an_error_inside_the_context_commits_and_frees_the_lock(path, run):
    def failing():
        with store.create(path, {}, commit_seconds=600) as study:
            study.append(run(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing()
    with store.open(path, write=True) as study:
        assert study.runs() == [run(1)]

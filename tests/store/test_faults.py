"""Real faults: killed writers, damaged files, a full disk, a study that must not be written."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from polarbear import store
from polarbear.store import contents as contents_module
from tests.store.seals import replace

HERE = Path(__file__).parent

WRITER = """
import importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("store_runs", sys.argv[2])
runs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runs)
import polars
from polarbear import store
from polarbear.store import contents as contents_module
contents_module.MANY = 6
path = Path(sys.argv[1])
study = store.open(path, write=True, commit_seconds=600) if store.exists(path) else store.create(path, {"a": 1})
print("up", flush=True)
seed = len(study.keys())
while True:
    for _ in range(seed % 3 + 1):
        study.append(runs.make_run(seed, size=seed % 50, sampled=True))
        seed += 1
    study.commit()
    print("runs", seed, flush=True)
    if seed % 5 == 0:
        study.append_round({"runs": seed})
        print("round", len(study.rounds()), flush=True)
"""


def kill_a_writer(path, rng, how):
    """Let a process write for a random while, kill it, and return the last things it acknowledged."""
    command = [sys.executable, "-c", WRITER, path, HERE / "conftest.py"]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "up\n"
    first = writer.stdout.readline()  # however busy the machine is, it has begun to write
    time.sleep(rng.exponential(0.03))
    writer.send_signal(how)
    lines = [first, *writer.stdout.read().splitlines()]
    acknowledged = dict(line.split() for line in lines if line.count(" ") == 1)
    writer.stdout.close()
    assert writer.wait() == -how
    return {name: int(number) for name, number in acknowledged.items()}


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_no_kill_loses_what_was_committed(tmp_path, run, kills, how):
    rng = np.random.default_rng(5)
    path = tmp_path / "study"
    runs = rounds = 0
    for _ in range(kills):
        acknowledged = kill_a_writer(path, rng, how)
        runs, rounds = max(runs, acknowledged.get("runs", 0)), max(rounds, acknowledged.get("round", 0))
        with store.open(path) as study:
            assert study.damaged == ()
            found = study.runs(samples=True)
            assert [each.key.seed for each in found] == list(range(len(found)))
            assert runs <= len(found) <= runs + 3  # the last commit may have happened unacknowledged
            assert rounds <= len(study.rounds()) <= rounds + 1
            assert all(each["runs"] <= len(found) for each in study.rounds())
            runs, rounds = len(found), len(study.rounds())
    assert found == [run(seed, size=seed % 50, sampled=True) for seed in range(runs)]
    assert runs > kills
    with store.open(path, write=True):
        names = [file.name for file in path.rglob("*")]
    assert not [name for name in names if name.startswith(".tmp-")]


@pytest.fixture
def study_with_parts(tmp_path, run):
    """A study of three parts with two runs each, and three rounds; the path and the parts."""
    path = tmp_path / "study"
    with store.create(path, {"a": 1}) as study:
        for seed in range(6):
            study.append(run(seed))
            if seed % 2:
                study.append_round({"number": seed // 2})
    return path, sorted((path / "runs").iterdir())


def truncate(data):
    return data[: len(data) // 2]


def flip_a_bit(data):
    middle = len(data) // 3
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "damage", [truncate, flip_a_bit, lambda data: b"garbage", lambda data: b"", lambda data: data + b"x"]
)
def test_a_damaged_part_is_named_and_the_rest_is_readable(study_with_parts, run, damage):
    path, parts = study_with_parts
    parts[1].write_bytes(damage(parts[1].read_bytes()))
    for write in (False, True):
        with store.open(path, write=write) as study:
            (found,) = study.damaged
            assert found.path == parts[1]
            assert found.why
            assert str(parts[1]) in str(found)
            assert study.runs() == [run(seed) for seed in (0, 1, 4, 5)]
            assert len(study.rounds()) == 3
    assert store.read(path) == [run(seed) for seed in (0, 1, 4, 5)]
    with store.open(path, write=True) as study:  # what was lost can be run again; the damaged file stays for a look
        study.append(run(2))
        study.append(run(3))
        study.compact()
        assert study.runs() == [run(seed) for seed in range(6)]
        assert [each.path for each in study.damaged] == [parts[1]]


def test_damage_while_the_study_is_open_is_named_when_met(study_with_parts, run):
    path, parts = study_with_parts
    with store.open(path, write=True) as study:
        parts[0].write_bytes(b"garbage")
        with pytest.raises(ValueError, match=f"{parts[0]} was damaged after the study was opened"):
            study.runs()
        assert [each.path for each in study.damaged] == [parts[0]]
        parts[1].write_bytes(b"garbage")
        study.compact()  # leaves it out
        study.compact()
        assert study.runs() == [run(4), run(5)]
        assert [each.path for each in study.damaged] == parts[:2]


def test_a_foreign_parquet_file_is_named(study_with_parts, run):
    import polars as pl

    path, _ = study_with_parts
    pl.DataFrame({"x": [1]}).write_parquet(path / "runs" / "other.parquet")
    with store.open(path, write=True) as study:
        assert [each.path.name for each in study.damaged] == ["other.parquet"]
        assert study.runs() == [run(seed) for seed in range(6)]
        study.append(run(6))
        study.commit()
        assert study.run(run(6).key) == run(6)


@pytest.mark.parametrize(("seed", "why"), [(None, "a seed that is a whole number"), (0.5, "whole"), (2**64 - 1, "i64")])
def test_a_part_without_usable_seeds_is_named(study_with_parts, run, seed, why):
    import polars as pl

    path, parts = study_with_parts
    buffer = io.BytesIO()
    pl.read_parquet(parts[1]).with_columns(pl.lit(seed).alias("seed")).write_parquet(buffer)
    replace(path, parts[1], buffer.getvalue())
    with store.open(path, write=True) as study:
        assert [each.path for each in study.damaged] == [parts[1]]
        assert why in study.damaged[0].why
        study.compact()
        assert study.runs() == [run(each) for each in (0, 1, 4, 5)]


def test_numbers_of_other_sizes_are_read_and_merged(study_with_parts, run):
    import polars as pl

    path, parts = study_with_parts
    buffer = io.BytesIO()
    sizes = {"seed": pl.Int32, "evaluations": pl.List(pl.Int32), "invalid_evaluations": pl.UInt8}
    pl.read_parquet(parts[1]).cast(sizes).write_parquet(buffer)
    replace(path, parts[1], buffer.getvalue())
    with store.open(path, write=True) as study:
        study.compact()
        assert len(list((path / "runs").iterdir())) == 1
        assert study.runs() == [run(seed) for seed in range(6)]


@pytest.mark.parametrize("group", [2, 100])
def test_parts_that_vanished_do_not_keep_the_others_from_being_merged(study_with_parts, run, monkeypatch, group):
    path, parts = study_with_parts
    monkeypatch.setattr(contents_module, "SMALL", contents_module.SMALL._replace(runs=2 * group))
    monkeypatch.setattr(contents_module, "MANY", 2)
    with store.open(path, write=True) as study:
        for part in (parts[0], parts[2]):
            part.unlink()
        for seeds in ((6, 7), (8, 9)):
            study.extend(run(seed) for seed in seeds)
            study.commit()
        study.compact()
        left = [run(seed) for seed in (2, 3, 6, 7, 8, 9)]
        assert study.runs() == left
        assert run(0).key not in study
        study.append(run(0))
    assert store.read(path) == [run(0), *left]


BAD_ROUNDS = [(b"{", "Expecting"), (b"[1]", "holds a JSON value of type list instead of a round"), (b"\xff", "decode")]


@pytest.mark.parametrize(("content", "why"), BAD_ROUNDS)
def test_a_damaged_round_is_named_and_not_overwritten(study_with_parts, content, why):
    path, _ = study_with_parts
    last = sorted((path / "rounds").iterdir())[-1]
    replace(path, last, content)
    with store.open(path, write=True) as study:
        (found,) = study.damaged
        assert found.path == last
        assert why in found.why
        assert study.rounds() == [{"number": 0}, {"number": 1}]
        study.append_round({"number": "new"})
    assert len(list((path / "rounds").glob("000004-*.json"))) == 1
    assert store.open(path).rounds() == [{"number": 0}, {"number": 1}, {"number": "new"}]


def test_missing_rounds_and_directories_are_named(study_with_parts):
    path, parts = study_with_parts
    for lost in (parts[0], sorted((path / "rounds").iterdir())[-1]):
        held = lost.read_bytes()
        lost.unlink()
        (found,) = store.open(path).damaged
        assert (found.path, found.why) == (lost, "the file is missing")
        lost.write_bytes(held)
    for file in (path / "rounds").iterdir():
        file.unlink()
    (path / "rounds").rmdir()
    (found,) = store.open(path).damaged
    assert (found.path, found.why) == (path / "rounds", "the directory is missing")


def test_unfinished_files_of_a_killed_writer_are_ignored_and_removed(study_with_parts, run):
    path, _ = study_with_parts
    leftovers = [
        path / ".tmp-study.json-7",
        path / "runs" / ".tmp-000004-0.parquet-7",
        path / "rounds" / ".tmp-1.json-7",
    ]
    for leftover in leftovers:
        leftover.write_bytes(b"half")
    assert store.open(path).damaged == ()
    assert all(leftover.exists() for leftover in leftovers)  # a reader leaves them alone: a writer may be at work
    store.open(path, write=True).close()
    assert not any(leftover.exists() for leftover in leftovers)
    assert store.read(path) == [run(seed) for seed in range(6)]


FULL_DISK = """
import importlib.util, os, resource, sys
spec = importlib.util.spec_from_file_location("store_runs", sys.argv[2])
runs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runs)
from polarbear import store

study = store.create(sys.argv[1], {}, commit_seconds=600)
study.append(runs.make_run(0))
study.commit()
study.append(runs.make_run(1, size=3000))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))  # as a full disk: writing stops half way
for _ in range(2):
    try:
        study.commit()
    except OSError as error:
        print(error.errno, error)
    else:
        raise SystemExit("the commit should have failed")
try:
    study.append_round({"long": "x" * 10_000})
except OSError as error:
    print(error.errno, error)
assert study.run(runs.make_run(1).key) == runs.make_run(1, size=3000)
files = sorted(os.listdir(sys.argv[1] + "/runs"))
assert len(files) == 1, files
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
study.commit()
study.close()
"""


def test_a_full_disk_loses_nothing_and_the_commit_can_be_repeated(tmp_path, run):
    path = tmp_path / "study"
    command = [sys.executable, "-c", FULL_DISK, path, HERE / "conftest.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.startswith(f"{errno.EFBIG} [Errno {errno.EFBIG}] {path}/r")
        assert "Nothing committed before is lost" in line
        assert "resume the study later" in line
    assert store.read(path) == [run(0), run(1, size=3000)]
    assert store.open(path).damaged == ()


@pytest.mark.parametrize("size", [0, 100, 300])
def test_a_disk_that_is_full_when_a_study_is_created_is_told_with_the_file_and_it_can_be_created_later(tmp_path, size):
    path, spec = tmp_path / "study", {"long": "x" * 1000}
    program = textwrap.dedent("""
        import json, resource, sys
        import filelock, polars
        from polarbear import store
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
        try:
            store.create(sys.argv[1], json.loads(sys.argv[3]))
        except OSError as error:
            print(error)
    """)
    command = [sys.executable, "-c", program, path, str(size), json.dumps(spec)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    file = path / ("study.json" if size == 300 else "lock.json")
    why = f"[Errno {errno.EFBIG}] study {path} cannot be created: File too large ({file}). "
    assert done.stdout == f"{why}Fix this and try again, or choose another location\n"
    with pytest.raises(store.StudyNotFound, match=r"it holds no study\.json"):
        store.open(path)
    store.create(path, spec).close()
    assert store.open(path).spec == spec


NO_ROOM = """
import importlib.util, resource, sys
spec = importlib.util.spec_from_file_location("store_runs", sys.argv[2])
runs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runs)
from polarbear import store
from polarbear.store import locations
from polarbear.store.errors import NoTemporaryFile

def fails(do):
    try:
        do()
    except NoTemporaryFile as error:
        print(error)
    else:
        raise SystemExit("it should have failed")

some = [runs.make_run(seed, size=1, instance="f" * 300) for seed in range(1800)]
locations._CACHE_KB = 100
study = store.create(sys.argv[1], {}, commit_seconds=600)
study.extend(some[:900])
study.commit()
reader = store.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (200 << 10, resource.RLIM_INFINITY))
study.extend(some[900:])
fails(study.commit)
fails(reader.refresh)
fails(lambda: store.open(sys.argv[1]))
assert study.damaged == reader.damaged == ()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for each in (study, reader):
    each.refresh()
    assert len(each) == len(each.keys()) == len(list(each.outcomes())) == 1800
    assert each.damaged == ()
study.close()
assert store.read(sys.argv[1]) == some
"""


def test_no_room_for_the_list_of_runs_is_told_and_no_part_is_called_damaged(tmp_path):
    command = [sys.executable, "-c", NO_ROOM, tmp_path / "study", HERE / "conftest.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [line[:60] for line in done.stdout.splitlines()] == 3 * [
        "the list of the study's runs cannot be kept in a temporary file"[:60]
    ]


def test_a_disk_that_fills_up_during_a_background_commit_is_told_by_the_next_call(tmp_path, run, monkeypatch):
    path = tmp_path / "study"

    def full(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with store.create(path, {}, commit_seconds=0.05) as study:
        with monkeypatch.context() as patch:
            patch.setattr("polarbear.store.contents.write_atomically", full)
            study.append(run(0))
            for timer in [each for each in threading.enumerate() if isinstance(each, threading.Timer)]:
                timer.join(5)
            with pytest.raises(OSError, match=r"No space left on device.*kept in memory") as caught:
                study.append(run(1))
            assert caught.value.errno == errno.ENOSPC
            assert study.keys() == [run(0).key, run(1).key]
        study.commit()
    assert store.read(path) == [run(0), run(1)]


def let_others_pass(path):
    """Let another user reach `path`, which pytest puts into folders for the present one alone."""
    shared = Path(tempfile.gettempdir())
    for directory in (path, *path.parents):
        if directory == shared:
            return
        directory.chmod(0o755)


READ_ONLY = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("store_runs", sys.argv[2])
runs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runs)
import filelock, polars  # before the change of user, who may not read the Python installation
from polarbear import store

path = sys.argv[1]
study = store.open(path, write=True)
study.append(runs.make_run(6))
os.chmod(path + "/runs", 0o555)
os.chmod(path, 0o555)
if os.getuid() == 0:
    os.setresuid(65534, 65534, 65534)
try:
    study.commit()
except PermissionError as error:
    print(error)
try:
    store.open(path, write=True)
except (PermissionError, store.StudyError) as error:
    print(type(error).__name__, error)
print(len(store.read(path)), len(study.runs()))
"""


def test_a_study_that_must_not_be_written_can_be_read_and_says_so(study_with_parts):
    path, _ = study_with_parts
    let_others_pass(path)
    command = [sys.executable, "-c", READ_ONLY, path, HERE / "conftest.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    (path / "runs").chmod(0o755)
    path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    failed, refused, counts = done.stdout.splitlines()
    assert f"{path}/runs/" in failed
    assert "Permission denied" in failed
    assert "resume the study later" in failed
    assert str(path) in refused
    assert counts == "6 7"


def test_opening_a_read_only_study_for_writing_names_it(study_with_parts):
    path, _ = study_with_parts
    program = textwrap.dedent("""
        import os, sys
        import filelock, polars  # before the change of user, who may not read the Python installation
        from polarbear import store
        if os.getuid() == 0:
            os.setresuid(65534, 65534, 65534)
        try:
            store.open(sys.argv[1], write=True)
        except PermissionError as error:
            print(error)
    """)
    (path / "lock").unlink(missing_ok=True)
    let_others_pass(path)
    path.chmod(0o555)
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60)
    path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert f"study {path} cannot be opened for writing: Permission denied" in done.stdout


def test_appending_holds_no_more_than_the_uncommitted_trajectories():
    """The index of 2,000 committed runs weighs little beside their trajectories."""
    program = textwrap.dedent(f"""
        import importlib.util, tempfile, tracemalloc
        spec = importlib.util.spec_from_file_location("store_runs", {str(HERE / "conftest.py")!r})
        runs = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(runs)
        from polarbear import store
        with tempfile.TemporaryDirectory() as directory, store.create(directory + "/study", {{}}) as study:
            study.append(runs.make_run(0))
            study.commit()
            tracemalloc.start()
            for seed in range(1, 2001):
                study.append(runs.make_run(seed, size=1000))
            study.commit()
            print(tracemalloc.get_traced_memory()[0])
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 2000 * 1000 * 24 / 20

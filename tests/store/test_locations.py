"""The list of a study's runs, beside a dictionary that does the same."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polarbear.records import RunKey
from polarbear.store import locations
from polarbear.store.errors import NoTemporaryFile
from polarbear.store.locations import Locations

KEYS = st.builds(RunKey, st.sampled_from(["f1", "f2", "ä"]), st.sampled_from(["a", "b"]), st.integers(-3, 3))
EXTREMES = [
    RunKey("", "", -(2**63)),
    RunKey("f", "a", -(2**63)),
    RunKey("f", "a", 2**63 - 1),
    RunKey("f'; DROP TABLE lies; --", 'a"', 0),
]


class Naive:
    """What `Locations` does, with all keys of all parts in memory."""

    def __init__(self):
        self.parts = {}

    def add(self, name, keys):
        self.parts[name] = keys

    def remove(self, names):
        self.parts = {name: keys for name, keys in self.parts.items() if name not in names}

    def where(self):
        return {key: (name, line) for name, keys in self.parts.items() for line, key in enumerate(keys)}

    def held_by(self, name):
        return {key for key, (part, _) in self.where().items() if part == name}


@settings(max_examples=150)
@given(st.lists(st.one_of(st.lists(KEYS, unique=True), st.sets(st.integers(1, 8))), max_size=8), st.integers(1, 3))
def test_parts_come_and_go_as_in_a_dictionary(steps, page):
    there, naive = Locations(), Naive()
    for number, step in enumerate(steps, start=1):
        if isinstance(step, list):
            for each in (there, naive):
                each.add(f"{number:06d}-part", step)
        else:
            for each in (there, naive):
                each.remove({f"{gone:06d}-part" for gone in step})
    where = naive.where()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locations, "_PAGE", page)
        assert sorted(there, key=str) == sorted(where, key=str)
    assert len(there) == len(where)
    assert {key: there.find(key) for key in where} == where
    rows = {name: sorted(line for part, line in where.values() if part == name) for name, _ in sorted(where.values())}
    assert there.find_all() == rows
    with pytest.MonkeyPatch.context() as patch:
        for few in (0, 1000):
            patch.setattr(locations, "_FEW", few)
            assert there.find_all(where.keys()) == rows
            with pytest.raises(KeyError):
                there.find_all({*where, RunKey("nowhere", "a", 0)})
    assert [set(part.keys()) for part in there.by_part()] == [naive.held_by(name) for name in sorted(naive.parts)]
    assert {name: set(there.held_by(name)) for name in naive.parts} == {n: naive.held_by(n) for n in naive.parts}


def test_names_and_seeds_of_any_kind_are_found_and_what_cannot_be_stored_is_not_there():
    there = Locations()
    there.add("part", EXTREMES)
    assert {there.find(key) for key in EXTREMES} == {("part", line) for line in range(len(EXTREMES))}
    assert sorted(there, key=str) == sorted(EXTREMES, key=str)
    for impossible in (RunKey("\ud800", "a", 0), *(RunKey("f", "a", seed) for seed in (2**63, "5", None))):
        assert impossible not in there


@pytest.mark.parametrize("integer", [np.int8, np.uint16, np.int64, np.uint64])
def test_seeds_of_numpy_are_the_same_as_those_of_python(integer):
    there = Locations()
    there.add("part", [RunKey("f", "a", 5)])
    assert there.find(RunKey("f", "a", integer(5))) == ("part", 0)
    assert RunKey("f", "a", integer(6)) not in there
    assert RunKey("f", "a", "5") not in there


def test_what_is_read_part_by_part_does_not_change_on_the_way():
    there = Locations()
    for part in "ab":
        there.add(part, [RunKey("f", part, seed) for seed in range(3)])
    reading, forgotten = there.by_part(), there.by_part()
    first = next(reading).keys()
    there.add("merged", [RunKey("f", part, seed) for part in "ab" for seed in range(3)])
    there.remove("ab")
    assert [first, *(part.keys() for part in reading)] == [
        [RunKey("f", part, seed) for seed in range(3)] for part in "ab"
    ]
    del forgotten
    assert [len(part.rows) for part in there.by_part()] == [6]
    there.by_part()
    next(there.by_part())
    assert there._database.execute("SELECT COUNT(*) FROM snapshots").fetchone() == (0,)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_does_not_write_to_the_file_of_its_parent():
    there = Locations()
    there.add("part", [RunKey("f", "a", 0)])
    reading = there.by_part()
    child = os.fork()
    if not child:
        before = there._database.total_changes
        reading.close()
        os._exit(there._database.total_changes - before)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [part.keys() for part in reading] == [[RunKey("f", "a", 0)]]


def test_threads_find_what_another_one_adds():
    there, errors = Locations(), []

    def look():
        try:
            for seed in range(200):
                assert RunKey("f", "a", 0) in there
                assert there.find(RunKey("f", "a", -1)) is None
                assert len(list(there)) >= min(seed, 1)
        except BaseException as error:
            errors.append(error)

    there.add("0", [RunKey("f", "a", 0)])
    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 100):
        there.add(str(number), [RunKey("f", "a", number)])
    for thread in threads:
        thread.join()
    assert not errors
    assert len(there) == 100


def test_a_full_disk_is_named_and_what_was_there_stays(tmp_path, monkeypatch):
    there = Locations()
    there.add("first", [RunKey("f", "a", seed) for seed in range(10)])
    there._database.execute("PRAGMA max_page_count = 8")
    with pytest.raises(NoTemporaryFile, match=r"cannot be kept in a temporary file: .*full; free space in"):
        there.add("second", [RunKey("f" * 100, "a", seed) for seed in range(5000)])
    assert len(there) == 10
    there._database.execute("PRAGMA max_page_count = 1000000")
    there.add("second", [RunKey("f", "b", seed) for seed in range(5000)])
    assert len(there) == 5010


NO_ROOM = """
import resource
from polarbear.records import RunKey
from polarbear.store import locations
from polarbear.store.errors import NoTemporaryFile

locations._CACHE_KB = 200
there = locations.Locations()
for part in range(2):
    there.add(str(part), [RunKey("f" * 100, "a", 10_000 * part + seed) for seed in range(3000)])
resource.setrlimit(resource.RLIMIT_FSIZE, (400 << 10, resource.RLIM_INFINITY))
for do in (
    lambda: there.add("2", [RunKey("f" * 100, "b", seed) for seed in range(9000)]),
    lambda: there.remove("0"),
    lambda: next(there.by_part()),
    lambda: list(there),
    lambda: len(there),
):
    try:
        do()
    except NoTemporaryFile:
        continue
    raise SystemExit("it should have failed")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert len(there) == len(list(there)) == 6000
assert {there.find(key)[0] for key in there} == {"0", "1"}
there.add("2", [RunKey("f" * 100, "b", seed) for seed in range(9000)])
there.remove("0")
assert [len(part.keys()) for part in there.by_part()] == [3000, 9000]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of a file's size")
def test_whatever_fails_for_lack_of_room_says_so_and_works_once_there_is():
    done = subprocess.run([sys.executable, "-c", NO_ROOM], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


APPENDING = """
import sys
from pathlib import Path
from polarbear import store
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory

found = Trajectory([1, 3, 7], [0.0, 0.1, 0.2], [3.0, 2.0, 1.0], Outcome(Reason.BUDGET, 100, 0.5))
with store.create(Path(sys.argv[1]), {}) as study:
    for number in range(1_000_000):
        study.append(Run(RunKey(f"bbob-f{number % 24}-i{number // 24 % 15}-d5", "CMA-ES", number // 360), found))
    assert len(study) == sum(1 for _ in study) == sum(1 for _ in study.outcomes()) == 1_000_000
status = Path("/proc/self/status").read_text()  # `getrusage` counts what the parent had when it started this process
print(status.partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux")
def test_a_million_runs_need_little_memory(tmp_path):
    script = [sys.executable, "-c", APPENDING, str(tmp_path / "a.study")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) / 1024 < 300

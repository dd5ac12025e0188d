"""Studies made apart become one, or say what keeps them from it."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from polarbear import store
from polarbear.records import Outcome, Parameters, Reason, Run, RunKey, Trajectory, lost

PLAN = {
    "plan": {"repetitions": 2, "budget": "10*d", "axis": "evaluations", "draws": None, "seed": 0},
    "instances": {"suite": "bbob"},
    "algorithms": {"a": {"optimizer": "random-search"}},
    "limits": {"target_precision": None, "timeout": None},
    "log": None,
}


def run(name="f-d2", algorithm="a", seed=0, *, values=(3.0, 1.0), seconds=0.5, reason=Reason.BUDGET, **others):
    count = len(values)
    outcome = Outcome(reason, max(20, count), seconds, **others)
    return Run(
        RunKey(name, algorithm, seed),
        Trajectory(np.arange(1, count + 1), np.linspace(0, seconds, count), values, outcome),
        optimum=0.0,
    )


def study(path, runs, spec=PLAN):
    with store.create(path, spec) as made:
        made.extend(runs)
    return path


def everything(path):
    return {one.key: store.parts.storable(one) for one in store.read(path)}


def test_runs_of_all_studies_are_in_the_new_one_bit_by_bit(tmp_path):
    logged = dataclasses.replace(run(seed=9), parameters=Parameters([1, 4], {"sigma": [0.5, np.nan]}))
    a = study(tmp_path / "a", [run(seed=0), run(seed=1)])
    b = study(tmp_path / "b", [run(seed=1), run(seed=2), lost(RunKey("g", "a", 0), Reason.KILLED, "oh")])
    c = study(tmp_path / "c", [logged])
    merged = store.merge([a, b, c], tmp_path / "new" / "m.study")
    assert everything(merged.study) == everything(a) | everything(b) | everything(c)
    assert (merged.taken, merged.runs, merged.shared, merged.clocks) == ((2, 2, 1), 5, 1, 0)
    assert (merged.conflicts, merged.differences) == ((), ())
    with store.open(merged.study) as made:
        assert made.spec == PLAN
        assert made.damaged == ()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["m.study"]
    assert sorted(path.name for path in (tmp_path / "new/m.study").iterdir()) == [
        "lock",
        "manifest.txt",
        "rounds",
        "runs",
        "study.json",
    ]


def test_clocks_and_texts_of_errors_may_differ_and_the_first_are_kept(tmp_path):
    failed = {"reason": Reason.FAILED, "values": (1.0,)}
    a = study(tmp_path / "a", [run(seconds=0.5), run(seed=1, message="E: at 0x1", traceback="/home/a", **failed)])
    b = study(tmp_path / "b", [run(seconds=0.7), run(seed=1, message="E: at 0x2", traceback="/home/b", **failed)])
    merged = store.merge([a, b], tmp_path / "m")
    assert (merged.shared, merged.clocks, merged.runs) == (2, 2, 2)
    assert everything(tmp_path / "m") == everything(a)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (run(values=(3.0, np.nextafter(1.0, 2))), "values differ"),
        (run(values=(3.0, 1.0, 0.5)), "evaluations of improvements and values differ"),
        (run(reason=Reason.STOPPED), r"it ended differently \(budget after 20 evaluations, stopped after 20"),
        (run(invalid_evaluations=1), "outcomes differ"),
        (dataclasses.replace(run(), target=0.5), "target or optimum differ"),
        (dataclasses.replace(run(), parameters=Parameters([1], {"x": [1.0]})), "logged parameters differ"),
        (dataclasses.replace(run(), solution=np.ones(2)), "best points differ"),
    ],
)
def test_runs_that_differ_are_named_and_nothing_is_written(tmp_path, other, why):
    a = study(tmp_path / "a", [dataclasses.replace(run(), solution=np.zeros(2)), run(seed=1)])
    b = study(tmp_path / "b", [other, run(seed=2)])
    with pytest.raises(store.MergeConflict, match=rf"1 run differs.*\n  a on f-d2 \(seed 0\): {why}") as caught:
        store.merge([a, b], tmp_path / "m")
    (conflict,) = caught.value.conflicts
    assert (conflict.key, conflict.first, conflict.other) == (run().key, a, b)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    for first, second in ((a, b), (b, a)):
        merged = store.merge([first, second], tmp_path / f"{first.name}-first", keep_first=True)
        assert [one.key for one in merged.conflicts] == [run().key]
        assert merged.shared == 0
        assert everything(merged.study) == everything(second) | everything(first)


def test_many_conflicts_are_all_there_and_some_are_shown(tmp_path):
    a = study(tmp_path / "a", [run(seed=seed) for seed in range(50)])
    b = study(tmp_path / "b", [run(seed=seed, values=(2.0,)) for seed in range(50)])
    with pytest.raises(store.MergeConflict, match="and 30 more") as caught:
        store.merge([a, b], tmp_path / "m")
    assert len(caught.value.conflicts) == 50


def changed(**sections):
    return PLAN | {name: PLAN[name] | fields for name, fields in sections.items()}


def test_algorithms_are_united_and_repetitions_grow(tmp_path):
    more = {"b": {"optimizer": "random-search", "name": "b"}}
    a = study(tmp_path / "a", [run()], changed(plan={"repetitions": 5}))
    b = study(tmp_path / "b", [run(algorithm="b")], changed(algorithms=more, plan={"repetitions": 3}))
    for order in ([a, b], [b, a]):
        merged = store.merge(order, tmp_path / order[0].name / "m")
        with store.open(merged.study) as made:
            assert made.spec == changed(algorithms=more, plan={"repetitions": 5})
        assert merged.differences == ()


def test_other_settings_are_named_and_kept_beside_the_runs(tmp_path):
    a = study(tmp_path / "a", [run()])
    b = study(tmp_path / "b", [run(seed=7)], changed(plan={"seed": 7}, limits={"timeout": 3.0}))
    merged = store.merge([a, b], tmp_path / "m")
    assert merged.differences == (
        f"plan.seed is 0 in {a} and 7 in {b}",
        f"limits.timeout is None in {a} and 3.0 in {b}",
    )
    with store.open(tmp_path / "m") as made:
        assert made.spec["algorithms"] == PLAN["algorithms"]
        assert [one["spec"]["plan"]["seed"] for one in made.spec["merged"]] == [0, 7]
        assert "plan" not in made.spec


def test_one_name_for_two_algorithms_is_refused(tmp_path):
    a = study(tmp_path / "a", [run()])
    b = study(tmp_path / "b", [run(seed=1)], changed(algorithms={"a": {"optimizer": "other"}}))
    with pytest.raises(ValueError, match="different algorithms under the name 'a'"):
        store.merge([a, b], tmp_path / "m", keep_first=True)
    assert not (tmp_path / "m").exists()


def test_rounds_of_races_are_left_behind_and_counted(tmp_path):
    race = {"race": {"alpha": 0.9}, "algorithms": PLAN["algorithms"]}
    for name in "ab":
        with store.create(tmp_path / name, race) as made:
            made.append(run(seed=ord(name)))
            made.append_round({"round": 1})
    merged = store.merge([tmp_path / "a", tmp_path / "b"], tmp_path / "m")
    assert (merged.rounds, merged.runs) == (2, 2)
    with store.open(tmp_path / "m") as made:
        assert made.rounds() == []
        assert "race" not in made.spec


def test_studies_elsewhere_are_merged_as_well(tmp_path):
    here, there = study(tmp_path / "a", [run()]), study("memory://merging/b", [run(seed=1)])
    merged = store.merge([here, there], "memory://merging/m")
    assert everything("memory://merging/m") == everything(here) | everything(there)
    assert merged.taken == (1, 1)
    with pytest.raises(FileExistsError):
        store.merge([here, there], "memory://merging/m")
    assert store.merge(["memory://merging/m", there], tmp_path / "back").runs == 2


def test_imported_studies_stay_imported(tmp_path):
    a, b = ({"imported": [{"name": name}]} for name in "ab")
    study(tmp_path / "a", [run()], a)
    study(tmp_path / "b", [run(seed=1)], b)
    store.merge([tmp_path / "a", tmp_path / "b"], tmp_path / "m")
    with store.open(tmp_path / "m") as made:
        assert made.spec == {"imported": [{"name": "a"}, {"name": "b"}]}


def test_damage_is_named_and_left_out_only_if_accepted(tmp_path):
    a, b = study(tmp_path / "a", [run()]), study(tmp_path / "b", [run(seed=1)])
    (part,) = (b / "runs").glob("*.parquet")
    part.write_bytes(b"nothing")
    with pytest.raises(store.StudyError, match=f"{part.name}.*--accept-damage"):
        store.merge([a, b], tmp_path / "m")
    assert store.merge([a, b], tmp_path / "m", accept_damage=True).taken == (1, 0)


def test_what_cannot_be_merged(tmp_path):
    a, b = study(tmp_path / "a", [run()]), study(tmp_path / "b", [run(seed=1)])
    for paths in ([], [a], [a, a], [a, tmp_path / "b" / ".." / "a"]):
        with pytest.raises(ValueError, match="give at least two different studies"):
            store.merge(paths, tmp_path / "m")
    with pytest.raises(store.StudyNotFound):
        store.merge([a, tmp_path / "none"], tmp_path / "m")
    with pytest.raises(FileExistsError, match="is already a study"):
        store.merge([a, b], a)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_failure_on_the_way_leaves_nothing(tmp_path, monkeypatch):
    a, b = study(tmp_path / "a", [run()]), study(tmp_path / "b", [run(seed=1)])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("polarbear.store.study.write_atomically", full)
    with pytest.raises(OSError, match="No space left") as caught:
        store.merge([a, b], tmp_path / "m")
    assert str(caught.value) == (
        f"[Errno 28] the merged study {tmp_path / 'm'} could not be written: No space left on device. No part of it "
        "remains, and the studies to merge are unchanged: free disk space or make the location writable, and merge "
        "again"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["local", "memory"])
def test_a_failure_half_way_leaves_nothing_here_or_elsewhere(tmp_path, monkeypatch, where, error):
    a, b = study(tmp_path / "a", [run()]), study(tmp_path / "b", [run(seed=1)])
    into = store.place(tmp_path / "m" if where == "local" else f"memory://merging/{tmp_path.name}")
    write, parts = store.study.write_atomically, []

    def full_after_one(path, data):
        if path.suffix == ".parquet":
            parts.append(path)
            if len(parts) == 2 or (len(parts) > 2 and isinstance(error, OSError)):
                raise error
        write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr("polarbear.store.contents.write_atomically", full_after_one)
        with pytest.raises(type(error), match="the merged study .* could not be written" if str(error) else None):
            store.merge([a, b], into)
    assert not into.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert store.merge([a, b], into).runs == 2


def test_an_unreadable_study_to_merge_is_not_called_unwritable(tmp_path, monkeypatch):
    a, b = study(tmp_path / "a", [run()]), study(tmp_path / "b", [run(seed=1)])

    def broken(*_):
        raise OSError(5, "Input/output error", "a/runs")

    monkeypatch.setattr(store.StudyStore, "batches", broken)
    with pytest.raises(OSError, match=r"^\[Errno 5\] Input/output error: 'a/runs'$"):
        store.merge([a, b], tmp_path / "m")


MERGE = """
import os, signal, sys
from polarbear import store

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

store.StudyStore.extend = die
store.merge(sys.argv[1:3], sys.argv[3])
"""


def test_what_a_killed_merge_left_goes_with_the_next_one(tmp_path):
    a, b = study(tmp_path / "a", [run()]), study(tmp_path / "b", [run(seed=1)])
    for name in ("m[1]", "n"):
        subprocess.run([sys.executable, "-c", MERGE, a, b, tmp_path / name], timeout=60)
    killed, other = sorted(tmp_path.glob(".*"))
    assert (killed.name[:14], other.name[:11]) == (".m[1].merging-", ".n.merging-")
    holder = json.loads((killed / "lock.json").read_bytes())
    for number, changed in enumerate(({"pid": os.getpid()}, {"host": "elsewhere"}, {"processes": "of a container"})):
        alive = shutil.copytree(killed, tmp_path / f".m[1].merging-{number}")
        (alive / "lock.json").write_text(json.dumps(holder | changed))
    begun = tmp_path / ".m[1].merging-begun"
    begun.mkdir()
    store.merge([a, b], tmp_path / "m[1]")
    left = [f".m[1].merging-{number}" for number in range(3)] + [begun.name, other.name, "a", "b", "m[1]"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left


def test_a_merge_takes_the_place_of_an_empty_directory_but_the_current_one(tmp_path, monkeypatch):
    a, b = study(tmp_path / "a", [run()]), study(tmp_path / "b", [run(seed=1)])
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for here in (".", tmp_path / "empty", "../empty"):
        with pytest.raises(ValueError, match=r"is the current directory, .* give another, such as merged\.study"):
            store.merge([a, b], here)
    monkeypatch.chdir(tmp_path / "a")
    assert store.merge([a, b], "../empty/../empty").runs == 2
    assert len(store.read(tmp_path / "empty")) == 2


def test_memory_holds_a_part_of_the_runs(tmp_path):
    """80 files of 5 runs of 24 kB each: all at once take 10 MB."""
    values = np.linspace(1, 0, 1000)
    for name, seeds in (("a", range(200)), ("b", range(150, 400))):
        with store.create(tmp_path / name, PLAN) as made:
            for seed in seeds:
                made.append(run(seed=seed, values=values))
                if seed % 5 == 4:
                    made.commit()
    tracemalloc.start()
    merged = store.merge([tmp_path / "a", tmp_path / "b"], tmp_path / "m")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (merged.runs, merged.shared) == (400, 50)
    assert peak < 3e6


def test_batches_and_outcomes_tell_each_run_once(tmp_path):
    runs = [run(seed=seed, message=f"{seed}") for seed in range(30)]
    with store.create(tmp_path / "a", PLAN, commit_seconds=1000) as made:
        for one in runs[:25]:
            made.append(one)
            if one.key.seed % 10 == 9:
                made.commit()
        made.extend(runs[25:])
        for _ in range(2):
            batches = list(made.batches())
            assert sorted(len(batch) for batch in batches) in ([10, 10, 10], [30])
            told = [one for batch in batches for one in batch]
            assert {one.key: store.parts.storable(one) for one in told} == {
                one.key: store.parts.storable(one) for one in runs
            }
            assert len(told) == 30
            assert sorted(made.outcomes(), key=lambda one: one[0]) == [(one.key, one.outcome) for one in runs]
            made.commit()
            made.compact()

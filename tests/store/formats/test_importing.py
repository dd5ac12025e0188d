"""Imported studies: idempotent, merged from several sources, asked by algorithm, function and dimension."""

import pytest

from polarbear import store
from polarbear.records import RunKey


@pytest.fixture
def sources(coco, two_runs, tmp_path):
    more = {(2, 2): [(1, [(1, 7.0)], [(1, 7.0)], 1)], (1, 5): [(1, [(1, 8.0)], [(1, 8.0)], 1)]}
    return coco(two_runs, folder=tmp_path / "one"), coco(more, folder=tmp_path / "two")


def test_an_import_is_a_study_of_the_runs(sources, tmp_path):
    into = tmp_path / "all.study"
    seen = []
    done = store.import_runs(sources, into, progress=lambda *step: seen.append(step))
    assert (done.study, done.added, done.known, done.algorithms, done.instances) == (into, 4, 0, ("CMA",), 4)
    assert done.skipped == ()
    assert [(path[-15:], number, total) for path, number, total in seen] == [
        ("bbobexp_f1.info", 0, 1), ("bbobexp_f1.info", 0, 2), ("bbobexp_f2.info", 1, 2),
    ]  # fmt: skip
    assert store.read(into) == sorted(store.read(sources[0]) + store.read(sources[1]), key=lambda run: run.key)
    with store.open(into) as study:
        assert [one["name"] for one in study.spec["imported"]] == ["one", "two"]


def test_importing_again_does_nothing(sources, tmp_path):
    into = tmp_path / "all.study"
    store.import_runs(sources, into)
    before = {path: path.read_bytes() for path in into.rglob("*.parquet")}
    spec = (into / "study.json").read_bytes()
    again = store.import_runs(str(sources[0]), str(into))
    assert (again.added, again.known) == (0, 2)
    assert {path: path.read_bytes() for path in into.rglob("*.parquet")} == before
    assert (into / "study.json").read_bytes() == spec


def test_other_data_under_the_same_name_are_refused_as_a_whole(sources, coco, tmp_path):
    into = tmp_path / "all.study"
    store.import_runs(sources, into)
    other = coco({(1, 2): [(9, [(1, 3.0)], [(1, 3.0)], 1), (2, [(1, 3.0)], [(1, 3.0)], 1)]}, folder=tmp_path / "other")
    with pytest.raises(
        ValueError, match=r"different runs of CMA on bbob-f1-i2-d2 \(seed 0\); nothing from .*other was"
    ):
        store.import_runs(other, into)
    assert len(store.read(into)) == 4
    done = store.import_runs(other, into, rename={"CMA": "CMA 2"})
    assert (done.added, done.algorithms) == (2, ("CMA 2",))


def test_what_cannot_be_imported(sources, tmp_path):
    into = tmp_path / "new.study"
    with pytest.raises(FileNotFoundError, match=r"no file, folder or archive at .*none; nothing was imported"):
        store.import_runs([sources[0], tmp_path / "none"], into)
    assert not into.exists()
    with store.create(into, {"times": []}):
        pass
    with pytest.raises(ValueError, match="was not created by an import"):
        store.import_runs(sources[0], into)
    with store.open(into, write=True):
        pass  # the lock was given back
    table = tmp_path / "t.csv"
    table.write_text("algorithm,evaluations,value\nA,1,2\nB,1,3\n")
    with pytest.raises(ValueError, match="rename gives two algorithms of the same data the same name"):
        store.import_runs(table, tmp_path / "t.study", rename={"A": "B"})


def test_what_was_skipped_is_told_and_kept(sources, tmp_path):
    (sources[0] / "data_f1" / "bbobexp_f1_DIM2.tdat").unlink()
    done = store.import_runs(sources[0], tmp_path / "all.study")
    assert done.added == 2
    assert "bbobexp_f1_DIM2.tdat is missing" in str(done.skipped[0])
    with store.open(tmp_path / "all.study") as study:
        assert study.spec["imported"][0]["skipped"] == [str(done.skipped[0])]


def test_moved_data_are_recorded_once(sources, tmp_path):
    into, moved = tmp_path / "all.study", tmp_path / "moved" / "one"
    (sources[0] / "data_f1" / "bbobexp_f1_DIM2.tdat").unlink()
    before = store.import_runs(sources, into)
    moved.parent.mkdir()
    sources[0].rename(moved)
    after = store.import_runs(moved, into)
    assert (after.added, after.known) == (0, 2)
    assert str(after.skipped[0]) != str(before.skipped[0])
    with store.open(into) as study:
        recorded = [(entry["name"], entry["skipped"]) for entry in study.spec["imported"]]
    assert recorded == [("one", [str(after.skipped[0])]), ("two", [])]


def test_runs_are_found_by_what_their_instances_tell(tmp_path, run):
    names = [f"bbob-f{f}-i{i}-d{d}" for f in (1, 10) for i in (1, 2) for d in (2, 20)] + ["rover"]
    runs = [run(seed, instance=name, algorithm=algorithm) for name in names for algorithm in "ab" for seed in (0, 1)]
    with store.create(tmp_path / "study", {}) as study:
        study.extend(runs)
        assert len(study.find()) == len(runs)
        assert study.find(algorithm="a", function="10", dimension=2, seed=0) == [
            RunKey("bbob-f10-i1-d2", "a", 0), RunKey("bbob-f10-i2-d2", "a", 0),
        ]  # fmt: skip
        assert len(study.find(algorithm=("a", "b"), function=["1", "10"], dimension={2, 20}, instance="2")) == 16
        assert study.find(suite="bbob", function="3") == []
        assert {key.instance for key in study.find(suite="")} == {"rover"}
        assert study.runs(study.find(suite="", algorithm="b")) == [
            run(s, instance="rover", algorithm="b") for s in (0, 1)
        ]

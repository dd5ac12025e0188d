"""Small parts of a study are merged into few."""

import pytest

from polarbear import store
from polarbear.store import contents as contents_module


def parts(path):
    return sorted((path / "runs").glob("*.parquet"), key=str)


def test_merging_keeps_every_run_and_few_files(path, run):
    with store.create(path, {}) as study:
        for seed in range(20):
            study.append(run(seed))
            study.commit()
        assert len(parts(path)) == 20
        study.compact()
        assert len(parts(path)) == 1
        assert study.runs() == [run(seed) for seed in range(20)]
        study.append(run(20))
        study.compact()
    assert store.read(path) == [run(seed) for seed in range(21)]


def test_small_parts_are_merged_by_themselves(path, run, monkeypatch):
    monkeypatch.setattr(contents_module, "MANY", 10)
    with store.create(path, {}) as study:
        for seed in range(45):
            study.append(run(seed, size=2))
            study.commit()
            assert len(parts(path)) < 10
    assert store.read(path) == [run(seed, size=2) for seed in range(45)]


@pytest.mark.parametrize("many", ["bytes", "runs"])
def test_large_parts_are_left_alone(path, run, monkeypatch, many):
    with store.create(path, {}) as study:
        study.extend(run(seed, size=2000 if many == "bytes" else 2) for seed in range(5))
        study.commit()
        (large,) = parts(path)
        limit = {"bytes": len(large.read_bytes()), "runs": 10**6} if many == "bytes" else {"bytes": 10**9, "runs": 5}
        monkeypatch.setattr(contents_module, "SMALL", contents_module.SMALL._replace(**limit))
        for seed in range(5, 8):
            study.append(run(seed, size=2))
            study.commit()
        study.compact()
        assert len(parts(path)) == 2
        assert large in parts(path)


def test_a_kill_between_merging_and_deleting_does_no_harm(path, run, monkeypatch):
    with store.create(path, {}) as study:
        for seed in range(5):
            study.append(run(seed))
            study.commit()
        sources = {part.name: part.read_bytes() for part in parts(path)}
        study.compact()
    for name, data in sources.items():  # as if the deletions had not happened
        (path / "runs" / name).write_bytes(data)
    assert store.read(path) == [run(seed) for seed in range(5)]
    with store.open(path, write=True) as study:
        study.append(run(5))
        study.compact()
        assert len(parts(path)) == 1
    assert (store.read(path), store.open(path).damaged) == ([run(seed) for seed in range(6)], ())

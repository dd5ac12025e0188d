"""Points that runs evaluated: files beside the runs, read when asked for, safe as the runs are."""

from dataclasses import replace

import numpy as np
import pytest

from polarbear import store
from polarbear.records import Reason, Samples, lost
from polarbear.store import contents as contents_module
from polarbear.store import parts
from polarbear.study import verify

SAMPLED = (1, 2, 3, 5)
"""Seeds of runs that the fixture gives points."""


def sample_files(path):
    return sorted((path / "samples").glob("*.parquet"), key=lambda file: file.name)


@pytest.fixture
def sampled(tmp_path, run):
    """A study on disk whose six runs were committed one by one."""
    with store.create(tmp_path / "study", {}) as study:
        for seed in range(6):
            study.append(run(seed, sampled=True))
            study.commit()
    return tmp_path / "study"


def test_points_are_read_when_they_are_asked_for(path, run):
    runs = [run(seed, sampled=True) for seed in range(6)]
    with store.create(path, {}) as study:
        study.extend(runs[:3])
        assert study.runs() == [replace(run, samples=None) for run in runs[:3]]  # in memory still
        assert study.runs(samples=True) == runs[:3]
        study.commit()
        study.extend(runs[3:])
        assert study.runs(samples=True) == runs  # some here, some there
    assert store.read(path) == [replace(run, samples=None) for run in runs]
    assert store.read(path, samples=True) == runs
    with store.open(path) as study:
        assert study.runs([runs[5].key], samples=True) == [runs[5]]
        assert study.run(runs[5].key).samples is None
        batches = [some for batch in study.batches() for some in study.with_samples(batch)]
        assert sorted((run for some in batches for run in some), key=lambda run: run.key) == runs
        with pytest.raises(KeyError):
            list(study.with_samples([run(99)]))


def test_runs_without_points_have_no_files_of_them(tmp_path, run):
    with store.create(tmp_path / "study", {}) as study:
        study.extend(run(seed) for seed in range(5))
    assert not (tmp_path / "study" / "samples").exists()
    assert store.read(tmp_path / "study", samples=True) == [run(seed) for seed in range(5)]


def test_a_run_read_without_its_points_is_the_same_and_one_with_others_is_not(path, run):
    mine = run(1, sampled=True)
    with store.create(path, {}) as study:
        study.append(mine)
        for _ in range(2):
            study.append(mine)
            study.append(replace(mine, samples=None))
            other = Samples(mine.samples.evaluations, mine.samples.points + 1, mine.samples.values)
            with pytest.raises(ValueError, match="already holds a different run"):
                study.append(replace(mine, samples=other))
            with pytest.raises(ValueError, match="already holds a different run"):
                study.append(replace(mine, solution=np.zeros(3)))
            study.commit()
    assert store.read(path, samples=True) == [mine]


def test_a_later_try_of_a_killed_run_has_points(path, run):
    mine = run(1, sampled=True)
    with store.create(path, {}) as study:
        study.append(lost(mine.key, Reason.KILLED, "signal 9"))
        study.replace_killed(mine)
    assert store.read(path, samples=True) == [mine]


def test_small_files_of_points_are_merged_with_the_parts_and_large_ones_are_left_alone(path, run, monkeypatch):
    runs = [run(seed, sampled=True) for seed in range(12)]
    with store.create(path, {}) as study:
        for one in runs[:8]:
            study.append(one)
            study.commit()
        study.compact()
        assert len(sample_files(path)) == 1
        assert study.runs(samples=True) == runs[:8]
        monkeypatch.setattr(contents_module, "SMALL", contents_module.SMALL._replace(bytes=10))
        for one in runs[8:]:
            study.append(one)
            study.commit()
        count = len(sample_files(path))
        study.compact()
        assert len(sample_files(path)) == count
    assert store.read(path, samples=True) == runs
    with store.open(path) as study:
        assert study.damaged == ()


def test_a_reader_finds_points_that_were_merged_meanwhile(sampled, run):
    with store.open(sampled) as reader:
        assert reader.runs(samples=True) == [run(seed, sampled=True) for seed in range(6)]
        with store.open(sampled, write=True) as writer:
            for seed in (6, 7):
                writer.append(run(seed, sampled=True))
                writer.commit()
            reader.refresh()
            writer.compact()
        assert reader.runs(samples=True) == [run(seed, sampled=True) for seed in range(8)]


def test_points_written_before_a_kill_belong_to_the_study(sampled, run, monkeypatch):
    """The kill comes when the points are on disk and the runs are not: the next writer takes the file in."""

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    with monkeypatch.context() as patch:
        study = store.open(sampled, write=True)
        patch.setattr(parts, "encode", die)
        study.append(run(6, sampled=True))
        study.append(run(7, sampled=True))
        with pytest.raises(Killed):
            study.commit()
        study._release()
    count = len(sample_files(sampled))
    with store.open(sampled) as reader:
        assert reader.damaged == ()
    with store.open(sampled, write=True) as study:
        study.append(run(7, sampled=True))
    assert len(sample_files(sampled)) == count + 1
    assert store.read(sampled, samples=True) == [run(seed, sampled=True) for seed in (*range(6), 7)]
    assert verify(sampled).sound


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_damage_to_points_is_named_and_the_runs_are_readable(sampled, run, how):
    (first, *_) = sample_files(sampled)
    first.unlink() if how == "missing" else first.write_bytes(b"garbage")
    assert store.read(sampled) == [replace(run(seed, sampled=True), samples=None) for seed in range(6)]
    known = [replace(run(1, sampled=True), samples=None), *(run(seed, sampled=True) for seed in range(2, 6))]
    with store.open(sampled) as study:
        if how == "damaged":
            with pytest.raises(ValueError, match=f"{first} was damaged after the study was opened"):
                study.runs(samples=True)
        assert [damage.path for damage in study.damaged] == [first]
        assert study.runs(samples=True)[1:] == known  # what is named is passed over
    found = verify(sampled)
    assert (found.sound, [damage.path for damage in found.damaged]) == (False, [first])
    found = verify(sampled, accept_damage=True)
    assert (found.sound, [(damage.path, damage.accepted) for damage in found.damaged]) == (True, [(first, True)])
    assert store.read(sampled, samples=True)[1:] == known
    if how == "damaged":
        assert first.read_bytes() == b"garbage"


def test_a_file_of_points_from_another_study_is_named(sampled):
    stranger = sampled / "samples" / "000099-0123456789abcdef-0123456789abcdef.parquet"
    stranger.write_bytes(b"from elsewhere")
    with store.open(sampled) as study:
        (damage,) = study.damaged
        assert (damage.path, "does not list it" in damage.why) == (stranger, True)


def test_merged_studies_keep_points(path, run, tmp_path):
    for name, seeds in (("a", range(3)), ("b", range(2, 6))):
        with store.create(tmp_path / name, {}) as study:
            study.extend(run(seed, sampled=True) for seed in seeds)
    store.merge([tmp_path / "a", tmp_path / "b"], path)
    assert store.read(path, samples=True) == [run(seed, sampled=True) for seed in range(6)]


def test_a_best_point_that_one_study_does_not_tell_is_no_conflict(tmp_path, run):
    """As in a study of an earlier version: the run of the first study is kept."""
    for name, one in (("old", replace(run(1), solution=None)), ("new", run(1))):
        with store.create(tmp_path / name, {}) as study:
            study.append(one)
    merged = store.merge([tmp_path / "new", tmp_path / "old"], tmp_path / "both")
    assert (merged.clocks, store.read(tmp_path / "both")) == (1, [run(1)])


def test_a_study_of_the_fourth_version_is_read_and_brought_to_the_present_one(tmp_path, run, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("polarbear.store.specification.VERSION", 4)
        with store.create(tmp_path / "old", {}) as study:
            study.append(run(0))
    assert b'"version": 4' in (tmp_path / "old" / "study.json").read_bytes()
    assert store.read(tmp_path / "old") == [run(0)]
    assert b'"version": 4' in (tmp_path / "old" / "study.json").read_bytes()
    with store.open(tmp_path / "old", write=True) as study:
        study.append(run(1, sampled=True))
    assert b'"version": 5' in (tmp_path / "old" / "study.json").read_bytes()
    assert store.read(tmp_path / "old", samples=True) == [run(0), run(1, sampled=True)]


@pytest.mark.parametrize("seed", SAMPLED)
def test_exported_parquet_holds_points_and_can_be_imported(tmp_path, run, seed):
    runs = [run(seed, sampled=True), run(4, sampled=True)]
    store.export(runs, tmp_path / "a.parquet", "parquet")
    assert store.read(tmp_path / "a.parquet") == sorted(runs, key=lambda run: run.key)
    store.import_runs(tmp_path / "a.parquet", tmp_path / "imported")
    assert store.read(tmp_path / "imported", samples=True) == sorted(runs, key=lambda run: run.key)


def test_a_file_of_points_without_numbers_is_refused(run):
    import io

    import polars as pl

    table = pl.read_parquet(io.BytesIO(parts.encode_samples([run(1, sampled=True)])))
    broken = table.with_columns(sample_points=pl.lit(pl.Series([[1.0, None, 2.0]])))
    with pytest.raises(ValueError, match="sample_points without a number"):
        parts.decode_samples(parts.encode_table(broken))


def test_whoever_asks_for_points_gets_them_from_studies_of_any_kind(sampled, run):
    runs = tuple(run(seed, sampled=True) for seed in range(6))
    assert store.read_checked(sampled, samples=True).runs == runs
    assert store.read_checked(sampled).runs == tuple(replace(run, samples=None) for run in runs)

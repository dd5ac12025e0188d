"""Data sets of IOHanalyzer in R's files, which `rds/make.R` made with R."""

import math
import sys
from pathlib import Path

import pytest

from polarbear import store
from polarbear.records import Reason
from polarbear.store.formats.reading import Options, read_data

FILES = Path(__file__).parent / "rds"

pytest.importorskip("rdata", reason="what reads R's data is not installed")


def runs_of(name):
    reading = store.read_checked(FILES / name)
    assert reading.skipped == ()
    assert reading.formats == ("iohanalyzer",)
    return {(run.key.instance, run.key.seed): run for run in reading.runs}


def test_hits_and_values_make_one_trajectory():
    runs = runs_of("two.rds")
    assert sorted(runs) == [
        ("mixed-f3-i1-d2", 0), ("mixed-f3-i5-d2", 0), ("pbo-f1-i1-d16", 0), ("pbo-f1-i2-d16", 0),
    ]  # fmt: skip
    one, two = runs["mixed-f3-i1-d2", 0], runs["mixed-f3-i5-d2", 0]
    assert one.trajectory.evaluations.tolist() == [1, 3, 7, 100]  # 3 from RT alone
    assert one.trajectory.values.tolist() == [50.0, 10.0, 0.1 + 0.2, 0.25]  # all digits, though the row's name has 15
    assert (one.target, one.optimum, one.outcome.reason, one.outcome.evaluations) == (1e-8, 0.0, Reason.BUDGET, 100)
    assert two.trajectory.evaluations.tolist() == [1, 5, 90]  # 90 from RT; FV tells the same value at 100
    assert (two.outcome.reason, two.outcome.evaluations) == (Reason.TARGET, 95)


def test_maximized_values_are_flipped_and_ends_are_known():
    one, two = (runs_of("two.rds")[f"pbo-f1-i{i}-d16", 0] for i in (1, 2))
    assert (one.trajectory.evaluations.tolist(), one.trajectory.values.tolist()) == ([1, 4], [-3.0, -5.0])
    assert (two.trajectory.evaluations.tolist(), two.trajectory.values.tolist()) == ([1, 6], [-2.0, -5.0])
    assert (one.outcome.evaluations, two.outcome.evaluations) == (9, 20)
    assert one.optimum is None


def test_each_value_of_nevergrad_is_a_run():
    runs = runs_of("nevergrad.rds").values()
    assert [(run.outcome.evaluations, run.trajectory.best) for run in runs] == [(25, 1.5), (25, 2.5), (100, 0.5)]
    assert math.isinf(next(iter(runs)).trajectory.value_at(24))


def test_rda_files_hold_several_objects():
    assert runs_of("all.rda").keys() == runs_of("two.rds").keys() | runs_of("nevergrad.rds").keys()


def test_other_objects_of_r_are_named():
    (skipped,) = store.read_checked(FILES / "other.rds").skipped
    assert skipped.why == "it holds no data set of IOHanalyzer"


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdata.parser", None)
    (skipped,) = read_data(FILES / "two.rds", Options()).skipped
    assert "pip install 'polarbear-race[rds]'" in skipped.why

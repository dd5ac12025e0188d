"""Plans that stop when time is up, and what is said of runs that are ok."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from polarbear.records import Outcome, Reason, RunKey
from polarbear.study import run_plan
from polarbear.study.summary import Remarks, remark_lines, remarks_of
from tests.study.entrants import guess, idle
from tests.study.test_plan import TWO, Immediate, found, new_plan


def test_a_run_that_takes_longer_than_there_is_time_is_given_up_and_begins_anew(tmp_path):
    began = time.monotonic()
    summary = run_plan(new_plan([idle], [TWO]), tmp_path / "a.study", workers=2, seconds=1.5)
    assert time.monotonic() - began < 30  # each of the four runs takes a minute
    assert (summary.ran, summary.there, summary.finished) == (0, 0, False)
    assert summary.stopped == summary.as_dict()["stopped"] == "time limit: 1.5 s have passed"


def test_no_run_begins_once_time_is_up_and_what_is_in_counts(tmp_path, monkeypatch):
    """Each look at the clock takes a second; runs are executed when they are handed out."""
    ticks = iter(range(10**6))
    monkeypatch.setattr("polarbear.experiment.tasks.time.monotonic", lambda: float(next(ticks)))
    plan = new_plan([guess], [TWO], repetitions=40)
    summary = run_plan(plan, tmp_path / "a.study", executor=Immediate(), seconds=20)
    monkeypatch.undo()
    assert 0 < summary.ran < 25
    assert summary.ran == summary.there == len(found(tmp_path / "a.study"))
    assert summary.stopped
    rest = run_plan(plan, tmp_path / "a.study", executor=Immediate(), seconds=1000)
    assert (rest.there, rest.ran, rest.stopped) == (40, 40 - summary.ran, "")
    run_plan(plan, tmp_path / "b.study", executor=Immediate())
    assert found(tmp_path / "a.study") == found(tmp_path / "b.study")


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_time_limit_is_positive(tmp_path, seconds):
    with (
        pytest.raises(ValueError, match=f"seconds is {seconds}; give a positive number"),
        ThreadPoolExecutor(1) as executor,
    ):
        run_plan(new_plan(), tmp_path / "a.study", executor=executor, seconds=seconds)
    assert not (tmp_path / "a.study").exists()


def test_messages_that_differ_in_numbers_alone_count_as_one_and_those_of_failures_do_not_count():
    def outcome(message, reason=Reason.BUDGET):
        return Outcome(reason, 10, 0.1, message)

    told = "watch: parameter {!r} raised ValueError: {} at evaluation {}; number of values logged as NaN: {}"
    runs = [
        (RunKey("p-d2", "a", 1), outcome(told.format("x1", "-3.5e-07", 12, 1_000))),
        (RunKey("p-d2", "a", 2), outcome(told.format("x1", "17", 4, 8))),
        (RunKey("p-d2", "a", 3), outcome(told.format("x2", "17", 4, 8))),
        (RunKey("p-d2", "b", 1), outcome(told.format("x1", "17", 4, 8))),
        (RunKey("p-d2", "b", 2), outcome("")),
        (RunKey("p-d2", "b", 3), outcome("RuntimeError: no", Reason.FAILED)),
    ]
    first, *others = remarks_of(runs)
    assert first == Remarks("a", 2, runs[0][0], runs[0][1].message)
    assert [(one.algorithm, one.count, one.example.seed) for one in others] == [("a", 1, 3), ("b", 1, 1)]
    lines = remark_lines([first])
    assert lines == ["2 runs are ok but have a message:", f"  a: 2 runs; p-d2, seed 1: {first.message}"]
    assert remark_lines([others[0]])[0] == "1 run is ok but has a message:"
    assert remark_lines([]) == []

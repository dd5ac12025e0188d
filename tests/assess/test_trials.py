import numpy as np
import pytest

from polarbear.assess.trials import Trials, group_trials
from polarbear.records import Reason, RunKey, lost
from tests.assess.coco_data import make_run


def runs():
    return [
        make_run("bbob-f10-i1-d2", {1: 4.0}, 5, algorithm="B"),
        make_run("bbob-f2-i1-d3", {1: 4.0}, 6, algorithm="B"),
        make_run("bbob-f2-i1-d2", {1: 4.0, 3: 1.0}, 7, algorithm="B"),
        make_run("bbob-f2-i2-d2", {2: 4.0}, 8, algorithm="B"),
        make_run("bbob-f2-i1-d2", {1: 4.0}, 9, algorithm="A"),
        make_run("bbob-f2-i1-d2", {2: 3.0}, 9, algorithm="B", seed=1),
    ]


def test_groups_by_function_dimension_and_algorithm_in_numeric_order():
    keys = [(one.function, one.dimension, one.algorithm, len(one.runs)) for one in group_trials(runs())]
    assert keys == [("2", 2, "A", 1), ("2", 2, "B", 3), ("2", 3, "B", 1), ("10", 2, "B", 1)]


def test_arrays_of_a_group():
    trials = group_trials(runs())[1]
    assert trials.instances == ("1", "2", "1")
    assert trials.evaluations.tolist() == [7, 8, 9]
    assert trials.spent("seconds").tolist() == pytest.approx([0.7, 0.8, 0.9])
    assert trials.weights.tolist() == [0.75, 1.5, 0.75]
    assert trials.runtimes([4.0, 1.0]).tolist() == [[1, 3], [2, np.inf], [2, np.inf]]


def test_best_precision_by_a_time_is_kept_past_the_end_of_the_run():
    trials = Trials("A", "", "f", 2, (make_run("f-d2", {2: 5.0, 4: 3.0}, 4, optimum=1.0, reason=Reason.BUDGET),))
    assert trials.best_at([1, 2, 3, 4, 1000, np.inf]).tolist() == [[np.inf, 4, 4, 2, 2, 2]]
    assert trials.best_at([4], absolute=True).tolist() == [[3]]


def test_lost_runs_are_left_out_but_failed_ones_count():
    gone = lost(RunKey("bbob-f2-i1-d2", "A", 5), Reason.KILLED, "worker died")
    failed = make_run("bbob-f2-i1-d2", {}, 0, algorithm="A", seed=6, reason=Reason.FAILED)
    (trials,) = group_trials([gone, failed])
    assert [run.key.seed for run in trials.runs] == [6]


def test_a_group_needs_a_run_and_an_axis_that_exists():
    with pytest.raises(ValueError, match="no runs of 'A' on 'f' in 2-D"):
        Trials("A", "", "f", 2, ())
    with pytest.raises(ValueError, match="axis is 'hours'"):
        group_trials(runs())[0].spent("hours")

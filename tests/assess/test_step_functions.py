import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear import Reason
from polarbear.assess.step_functions import (
    Bounds,
    StepFunction,
    breakpoints,
    pointwise_mean,
    runs_making,
    staircase,
    step_functions,
    values_at,
)
from tests.assess.curves import groups, random_trajectory, run, trajectories, trajectory

TIMES = np.arange(0, 45)


@given(trajectories())
def test_a_step_function_is_the_trajectory_at_every_evaluation(path):
    (function,) = step_functions([path])
    np.testing.assert_array_equal(function(TIMES), path.value_at(TIMES))
    (carried,) = step_functions([path], carry=True)
    best = [min(path.values[path.evaluations <= t], default=np.inf) for t in TIMES]
    np.testing.assert_array_equal(carried(TIMES), best)


@given(trajectories())
def test_seconds_are_known_up_to_the_end_and_no_further(path):
    (function,) = step_functions([path], axis="seconds")
    end = path.outcome.seconds
    for at in (*path.seconds, end, np.nextafter(end, np.inf), end + 1):
        np.testing.assert_array_equal(function(at), path.value_at(at, axis="seconds"))


@given(trajectories(reasons=(Reason.BUDGET,)), st.integers(2, 41))
def test_the_mean_over_evaluations_is_their_plain_mean(path, last):
    (function,) = step_functions([path])
    values = path.value_at(np.arange(1, last))
    mean = function.mean(Bounds(1, last))
    if last > path.outcome.evaluations + 1:
        assert np.isnan(mean)
    else:
        assert mean == pytest.approx(values.mean(), rel=1e-12)


def test_means_in_closed_form():
    step = StepFunction(np.array([10.0]), np.array([2.0]), before=5.0)
    assert step.mean(Bounds(0, 40)) == pytest.approx((10 * 5 + 30 * 2) / 40, rel=1e-15)
    assert step.mean(Bounds(1, 1000, log=True)) == pytest.approx((5 + 2 * 2) / 3, rel=1e-14)
    assert step.mean(Bounds(10, 20)) == 2
    assert step.mean(Bounds(1, 10)) == 5
    late = StepFunction(np.array([10.0]), np.array([2.0]))
    assert late.mean(Bounds(10, 11)) == 2
    assert late.mean(Bounds(9.999, 11)) == np.inf


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12), st.randoms())
def test_points_need_no_order_and_no_improvement(points, random):
    shuffled = points[:]
    random.shuffle(shuffled)
    function, again = (staircase(np.reshape(np.array(p, float), (-1, 2))) for p in (points, shuffled))
    np.testing.assert_array_equal(function.points(), again.points())
    for time in range(-1, 11):
        assert function(time) == min((v for t, v in points if t <= time), default=np.inf)
    assert (np.diff(function.y) < 0).all()


@given(groups(reasons=(Reason.STOPPED,)), st.integers(0, 44))
def test_the_pointwise_mean_is_the_mean_at_each_point(paths, time):
    finite = [StepFunction(f.x, f.y, before=20.0) for f in step_functions(paths)]
    assert pointwise_mean(finite)(time) == pytest.approx(np.mean([f(time) for f in finite]), rel=1e-12, abs=1e-12)


def test_a_mean_ends_with_the_first_of_its_functions():
    functions = [StepFunction(np.array([1.0]), np.array([1.0]), 0.0, until) for until in (5.0, 9.0)]
    np.testing.assert_array_equal(pointwise_mean(functions)([4, 5, 8]), [1, np.nan, np.nan])
    with pytest.raises(ValueError, match="infinite"):
        pointwise_mean([StepFunction(np.array([1.0]), np.array([1.0]))])


def test_values_at_and_breakpoints():
    paths = [trajectory([2, 5], [3, 1], 6, Reason.BUDGET), trajectory([3, 5], [4, 2], 9)]
    np.testing.assert_array_equal(values_at(paths, [1, 5, 6, 7]), [[np.inf, 1, 1, np.nan], [np.inf, 2, 2, 2]])
    np.testing.assert_array_equal(breakpoints(paths), [2, 3, 5])


def test_precision_subtracts_each_runs_optimum():
    path = trajectory([1, 4], [12.5, 10.25], 9)
    (function,) = step_functions([run(0, path, optimum=10.0)], precision=True)
    np.testing.assert_array_equal(function.y, [2.5, 0.25])
    with pytest.raises(ValueError, match=r"optimum of A on bbob-f1-i3-d2 \(seed 2\) is unknown"):
        step_functions([run(2, path)], precision=True)
    with pytest.raises(ValueError, match="optimum of run 0 is unknown"):
        step_functions([path], precision=True)


def test_improvements_that_vanish_in_the_subtraction_are_merged():
    path = trajectory([1, 4], [1e16 + 2, 1e16], 9)
    (function,) = step_functions([run(0, path, optimum=-1e17)], precision=True)
    assert function.x.size == len(set(path.values + 1e17))


@pytest.mark.parametrize("log", [False, True])
def test_scaling(log):
    bounds = Bounds(1e-8, 100, log=log)
    inside = bounds.spaced(11)
    np.testing.assert_allclose(bounds.scaled(inside), np.linspace(0, 1, 11), atol=1e-14)
    np.testing.assert_array_equal(bounds.scaled([-1, 0, 1e-8, 100, 1e9, np.inf]), [0, 0, 0, 1, 1, 1])
    assert np.isnan(bounds.scaled(np.nan))


@given(st.floats(1e-9, 1e9), st.floats(0.01, 100))
def test_a_log_scale_does_not_depend_on_the_unit(value, unit):
    there = Bounds(1e-8 * unit, 100 * unit, log=True).scaled(value * unit)
    assert there == pytest.approx(float(Bounds(1e-8, 100, log=True).scaled(value)), abs=1e-13)


def test_bounds_of_data_leave_out_what_has_no_place_on_the_scale():
    data = [np.inf, -3.0, 0.0, 1e-3, 5.0, np.nan]
    assert Bounds.of(data) == Bounds(-3, 5)
    assert Bounds.of(data, log=True) == Bounds(1e-3, 5, log=True)
    with pytest.raises(ValueError, match="no finite positive value"):
        Bounds.of([0.0, -1.0], log=True)


def test_shares_of_runs_are_not_spoiled_by_rounding():
    for runs in range(1, 200):
        counts = np.arange(1, runs + 1)
        np.testing.assert_array_equal(runs_making(counts / runs, runs), counts)
    np.testing.assert_array_equal(runs_making([0, 0.5, 0.51, 1], 10), [1, 5, 6, 10])
    with pytest.raises(ValueError, match="between 0 and 1"):
        runs_making([50], 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bounds(2, 2), "low < high"),
        (lambda: Bounds(0, 2, log=True), "logarithmic scale needs low > 0"),
        (lambda: Bounds(0, np.inf), "finite"),
        (lambda: StepFunction(np.array([1.0, 1.0]), np.zeros(2)), "increase strictly"),
        (lambda: StepFunction(np.zeros(1), np.zeros(2)), r"\(1,\) and \(2,\)"),
        (lambda: StepFunction(np.zeros(1), np.array([np.nan])), "entry 0"),
        (lambda: step_functions([]), "no runs"),
        (lambda: step_functions([[[1, 2]], [[1, 2, 3]]]), r"run 1: points have shape \(1, 3\)"),
        (lambda: step_functions([[[1, 2], [3, np.nan]]]), "run 0: point 1"),
    ],
)
def test_errors_name_the_place(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_log_scale_of_time_begins_at_its_lower_bound():
    path = random_trajectory(np.random.default_rng(0), spent=1000)
    (function,) = step_functions([path])
    start = path.evaluations[0]
    grid = np.geomspace(start, 1000, 200_001)
    assert function.mean(Bounds(start, 1000, log=True)) == pytest.approx(function(grid[:-1]).mean(), rel=1e-3)

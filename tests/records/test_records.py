import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polarbear as pb
from polarbear import Outcome, Reason, RunKey, Trajectory, linear_times, log_times
from polarbear.records import Instance, Parameters, lost


def trajectory(reason=Reason.STOPPED, evaluations=(2, 5, 9), seconds=(0.1, 0.1, 0.4), values=(3.0, 1.0, -2.0), end=12):
    return Trajectory(
        np.array(evaluations), np.array(seconds), np.array(values), Outcome(reason, evaluations=end, seconds=0.5)
    )


def test_value_at_is_inf_before_the_first_improvement_and_best_so_far_after_it():
    assert trajectory().value_at([1, 2, 4, 5, 8, 9, 12]).tolist() == [np.inf, 3, 3, 1, 1, -2, -2]


@pytest.mark.parametrize("reason", [Reason.STOPPED, Reason.TARGET, Reason.FAILED])
def test_a_run_that_ended_by_itself_keeps_its_best_for_ever(reason):
    assert trajectory(reason).value_at([12, 13, 1e9]).tolist() == [-2, -2, -2]


@pytest.mark.parametrize("reason", [Reason.BUDGET, Reason.TIMED_OUT, Reason.KILLED])
def test_a_run_that_was_cut_is_unknown_past_its_end_on_both_axes(reason):
    np.testing.assert_array_equal(trajectory(reason).value_at([12, 13]), [-2, np.nan])
    np.testing.assert_array_equal(
        trajectory(reason).value_at([0.05, 0.1, 0.5, 0.51], "seconds"), [np.inf, 1, -2, np.nan]
    )


def test_a_lost_run_is_unknown_at_every_time():
    run = lost(RunKey("i", "a", 0), Reason.KILLED, "signal 9")
    assert np.isnan(run.trajectory.value_at([1, 100])).all()
    assert run.trajectory.best == np.inf
    with pytest.raises(ValueError, match="reason is 'failed'; a lost run"):
        lost(RunKey("i", "a", 0), Reason.FAILED, "")


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_value_at_agrees_with_the_running_minimum(values):
    running = np.minimum.accumulate(values)
    improved = np.flatnonzero(np.diff(np.concatenate(([np.inf], running))) < 0)
    kept = Trajectory(
        improved + 1,
        improved.astype(float),
        running[improved],
        Outcome(Reason.BUDGET, evaluations=len(values), seconds=float(len(values))),
    )
    np.testing.assert_array_equal(kept.value_at(np.arange(1, len(values) + 1)), running)


@pytest.mark.parametrize(
    ("field", "wrong", "message"),
    [
        ("evaluations", (2, 2, 9), "evaluations does not increase strictly near entry 0"),
        ("evaluations", (0, 2, 9), "evaluations starts below 1"),
        ("evaluations", (2, 5, 13), "ended after 12"),
        ("seconds", (0.2, 0.1, 0.3), "seconds decreases"),
        ("seconds", (-0.2, 0.1, 0.3), "seconds starts below 0"),
        ("values", (3.0, 3.0, 1.0), "values does not decrease strictly"),
        ("values", (3.0, np.nan, 1.0), "values is NaN near entry 1"),
        ("values", (3.0, 2.0), "hold 3, 3 and 2 entries"),
        ("values", ((3.0, 2.0, 1.0),), "values has shape"),
    ],
)
def test_broken_trajectories_are_refused_by_name(field, wrong, message):
    with pytest.raises(ValueError, match=message):
        trajectory(**{field: wrong})


def test_trajectories_cannot_be_changed_and_compare_by_content():
    one, other = trajectory(), trajectory()
    assert one == other
    assert one != trajectory(values=(3.0, 1.0, -2.5))
    with pytest.raises(ValueError, match="read-only"):
        one.values[0] = 0.0


def test_the_generator_of_a_key_depends_on_each_of_its_parts_and_on_nothing_else():
    def first(*parts):
        return RunKey(*parts).generator().integers(2**63)

    assert first("i", "a", 1) == first("i", "a", 1)
    assert len({first("i", "a", 1), first("i", "a", 2), first("i", "b", 1), first("j", "a", 1)}) == 4
    assert first("ia", "", 1) != first("i", "a", 1)


def test_time_grids():
    np.testing.assert_array_equal(log_times(1, 1000, 4), [1, 10, 100, 1000])
    np.testing.assert_array_equal(log_times(1, 4, 50), [1, 2, 3, 4])
    np.testing.assert_allclose(log_times(0.1, 10, 3, "seconds"), [0.1, 1, 10])
    np.testing.assert_array_equal(linear_times(0, 10, 3), [0, 5, 10])
    with pytest.raises(ValueError, match="0 < first < last"):
        log_times(0, 10, 3)
    with pytest.raises(ValueError, match="count is 1"):
        log_times(1, 10, 1)
    with pytest.raises(ValueError, match="axis is 'hours'"):
        log_times(1, 10, 3, "hours")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("bbob-f3-i1-d5", ("bbob", "3", 5, "1")),
        ("bbob-biobj-f12-i3-d20", ("bbob-biobj", "12", 20, "3")),
        ("PBO-fbla-i1-d100", ("PBO", "bla", 100, "1")),
        ("ma-bbob-d5-s1-0", ("", "ma-bbob", 5, "s1-0")),
        ("sphere-d3", ("", "sphere", 3, "")),
        ("robot", ("", "robot", 0, "")),
    ],
)
def test_an_instance_tells_its_function_and_dimension(name, told):
    found = Instance.parse(name)
    assert (found.suite, found.function, found.dimension, found.instance) == told


def test_a_standard_name_comes_back():
    assert Instance.parse("bbob-noisy-f101-i15-d40").name == "bbob-noisy-f101-i15-d40"


def test_logged_parameters_must_fit_their_evaluations():
    with pytest.raises(ValueError, match="'sigma' has 1 values for 2 evaluations"):
        Parameters([1, 2], {"sigma": [0.5]})
    with pytest.raises(ValueError, match="evaluations does not increase strictly near entry 0"):
        Parameters([2, 2], {"sigma": [0.5, 0.5]})


def test_logged_parameters_are_equal_by_value():
    one = Parameters([1, 2], {"sigma": [0.5, np.nan]})
    assert one == Parameters([1, 2], {"sigma": [0.5, np.nan]})
    assert one != Parameters([1, 2], {"sigma": [0.5, 0.1]})
    assert one != Parameters([1, 3], {"sigma": [0.5, np.nan]})


def flat(runs):
    """The arguments of `Trajectory.many` for runs given by their three lists and where they ended."""
    arrays = [np.array([entry for run in runs for entry in run[column]], dtype) for column, dtype in enumerate("qdd")]
    return *arrays, np.array([len(run[0]) for run in runs], int), [Outcome(Reason.BUDGET, run[3], 9.0) for run in runs]


RUNS = [([2, 5], [0.1, 0.1], [3.0, -1.0], 5), ([], [], [], 0), ([1], [0.0], [np.inf], 7), ([], [], [], 3)]


@pytest.mark.parametrize("order", [RUNS, RUNS[::-1], [], RUNS[1:2], RUNS[2:3]])
def test_many_trajectories_are_those_that_are_made_one_by_one(order):
    made = Trajectory.many(*flat(order))
    one_by_one = [
        Trajectory(np.array(first, int), np.array(second), np.array(third), Outcome(Reason.BUDGET, end, 9.0))
        for first, second, third, end in order
    ]
    assert made == one_by_one
    for one in made:
        with pytest.raises(ValueError, match="read-only"):
            one.values[:] = 0.0


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (([0, 5], [0.1, 0.2], [3.0, 1.0], 9), "evaluations starts below 1"),
        (([5, 5], [0.1, 0.2], [3.0, 1.0], 9), "evaluations does not increase"),
        (([2, 5], [-0.1, 0.2], [3.0, 1.0], 9), "seconds starts below 0"),
        (([2, 5], [0.3, 0.2], [3.0, 1.0], 9), "seconds decreases"),
        (([2, 5], [np.nan, 0.2], [3.0, 1.0], 9), "seconds"),
        (([2, 5], [0.1, 0.2], [1.0, 1.0], 9), "values does not decrease"),
        (([2], [0.1], [np.nan], 9), "values is NaN"),
        (([2, 5], [0.1, 0.2], [3.0, 1.0], 4), "last improvement came at evaluation 5"),
    ],
)
def test_one_broken_trajectory_among_many_is_refused_by_name(place, broken, message):
    runs = [*RUNS[:place], broken, *RUNS[place:]]
    with pytest.raises(ValueError, match=message):
        Trajectory.many(*flat(runs))


def test_a_recommendation_holds_until_the_next_one():
    logged = Parameters(np.array([2, 5, 9]), {"recommendation": np.array([4.0, np.nan, 6.0])})
    run = pb.Run(RunKey("i", "a", 0), trajectory(Reason.BUDGET), parameters=logged)
    np.testing.assert_array_equal(run.recommended_at([1, 2, 4, 5, 9, 12, 13]), [np.inf, 4, 4, np.inf, 6, 6, np.nan])
    finished = pb.Run(RunKey("i", "a", 0), trajectory(), parameters=logged)
    assert finished.recommended_at([[13]]).tolist() == [[6]]
    with pytest.raises(ValueError, match=r"no recommendations; log them with Watch\(recommendations=True\)"):
        pb.Run(RunKey("i", "a", 0), trajectory()).recommended_at([1])

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear import Reason
from polarbear.assess.fixed_budget import summarize_values
from polarbear.assess.parameter_tracking import parameter_at_targets, parameter_at_times, parameter_names
from polarbear.records import Parameters
from tests.assess.curves import run, trajectory

NAN = np.nan


def tracked(number, evaluations, sigma, path=None, **other):
    path = path or trajectory([1, 4, 8], [9.0, 5.0, 2.0], 10)
    parameters = Parameters(np.array(evaluations, np.int64), {"sigma": np.array(sigma, float)})
    return run(number, path, parameters=parameters, **other)


RUNS = [tracked(0, [1, 4, 6], [3, 2, 1]), tracked(1, [2, 5, 9], [30, NAN, 10])]


def test_against_evaluations():
    found = parameter_at_times(RUNS, "sigma", [1, 3, 5, 10, 11])
    np.testing.assert_array_equal(found, [[3, 3, 2, 1, NAN], [NAN, 30, 30, 10, NAN]])


def test_against_targets():
    found = parameter_at_targets(RUNS, "sigma", [9.0, 5.5, 2.0, 1.0], absolute=True)
    np.testing.assert_array_equal(found, [[3, 2, 1, NAN], [NAN, 30, 30, NAN]])


def test_targets_are_precisions_of_each_run():
    runs = [dataclasses.replace(r, optimum=optimum) for r, optimum in zip(RUNS, (1.0, -3.0), strict=True)]
    np.testing.assert_array_equal(parameter_at_targets(runs, "sigma", [8.0, 1.0]), [[3, 1], [30, NAN]])
    with pytest.raises(ValueError, match="optimum"):
        parameter_at_targets(RUNS, "sigma", [1.0])


def test_statistics_count_the_runs_that_tell():
    summary = summarize_values(parameter_at_times(RUNS, "sigma", [1, 3, 11]), levels=[0, 1], omit_unknown=True)
    np.testing.assert_array_equal(summary.count, [1, 2, 0])
    np.testing.assert_array_equal(summary.mean, [3, 16.5, NAN])
    np.testing.assert_array_equal(summary.quantiles, [[3, 3, NAN], [3, 30, NAN]])
    np.testing.assert_allclose(summary.geometric_mean, [3, np.sqrt(90), NAN])


@given(st.sets(st.integers(1, 20), max_size=8), st.integers(1, 20), st.sampled_from(list(Reason)), st.integers(1, 22))
def test_the_last_row_by_then_and_nothing_past_the_end(rows, ended, reason, time):
    rows = sorted(rows)
    path = trajectory([1], [1.0], ended, reason)
    found = parameter_at_times([tracked(0, rows, [row * 10 for row in rows], path)], "sigma", time)
    before = [row * 10 for row in rows if row <= time]
    expected = before[-1] if before and time <= ended else NAN
    np.testing.assert_array_equal(found, [[expected]])


def test_names_in_the_order_of_their_first_occurrence():
    other = run(2, RUNS[0].trajectory, parameters=Parameters(np.array([1]), {"c": np.ones(1), "sigma": np.ones(1)}))
    assert parameter_names([run(3, RUNS[0].trajectory), RUNS[0], other]) == ("sigma", "c")


def test_errors_name_the_run_and_what_it_logged():
    with pytest.raises(ValueError, match=r"A on bbob-f1-i1-d2 \(seed 0\) never logged 'rate'; it logged sigma"):
        parameter_at_times(RUNS, "rate", [1])
    with pytest.raises(ValueError, match="it logged nothing"):
        parameter_at_times([*RUNS, run(2, RUNS[0].trajectory)], "sigma", [1])
    with pytest.raises(ValueError, match="no runs"):
        parameter_at_times([], "sigma", [1])

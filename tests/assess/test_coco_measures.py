"""SP1, the average runtime attainment function, united archives, and curves of several budgets."""

import moocore
import numpy as np
import pytest

from polarbear.assess import (
    average_runtime_attainment,
    ert,
    from_smallest_budget,
    hypervolume_indicator,
    sp1,
    unite_archives,
)


def rng():
    return np.random.default_rng(8)


def test_sp1_is_the_ert_where_failures_cost_as_much_as_successes():
    times = np.array([[10.0, 5.0], [30.0, np.inf], [np.inf, np.inf]])
    assert sp1(times).tolist() == [20 / (2 / 3), 5 / (1 / 3)]
    np.testing.assert_allclose(sp1(times[:, :1]), ert(times[:, :1], [20, 20, 20]))
    assert sp1([[np.inf]]).tolist() == [np.inf]


def test_sp1_with_weights_is_that_of_repeated_runs():
    times = np.array([[10.0], [30.0], [np.inf]])
    np.testing.assert_allclose(sp1(times, weights=[1, 2, 1]), sp1(times[[0, 1, 1, 2]]))


def test_average_runtime_attainment_is_the_ert_of_each_point():
    runs = [rng().random((20, 2)), rng().random((30, 2)) + 0.3]
    runs = [np.column_stack([np.arange(1.0, len(run) + 1), run]) for run in runs]
    points = [[0.5, 0.5], [2, 2], [-1, -1], [0.2, 1]]
    hits = [
        [next((t for t, *f in run.tolist() if all(np.array(f) <= point)), np.inf) for point in points] for run in runs
    ]
    np.testing.assert_array_equal(average_runtime_attainment(runs, [20, 30], points), ert(hits, [20, 30]))
    with pytest.raises(ValueError, match=r"run 0 has shape \(20, 2\); give \(k, 3\)"):
        average_runtime_attainment([runs[0][:, :2]], [20], points)


@pytest.mark.parametrize("objectives", [2, 3])
def test_united_archives_hold_what_nothing_dominates(objectives):
    archives = [rng().random((30, objectives)), rng().random((20, objectives)) - 0.1, [[2.0] * objectives] * 2]
    united = unite_archives(archives)
    points = np.concatenate(archives)
    best = [p for p in points if not ((points <= p).all(axis=1) & (points < p).any(axis=1)).any()]
    np.testing.assert_array_equal(united, np.unique(best, axis=0))
    volume = -hypervolume_indicator(united + 0.1, [0] * objectives, [1.1] * objectives)[-1]
    reference = moocore.hypervolume((points + 0.1) / 1.1, ref=np.ones(objectives))
    assert volume == pytest.approx(reference)


def test_archives_with_different_objectives_are_refused():
    with pytest.raises(ValueError, match=r"shapes \[\(1, 2\), \(1, 3\)\]"):
        unite_archives([[[1, 2]], [[1, 2, 3]]])
    with pytest.raises(ValueError, match="NaN"):
        unite_archives([[[1, np.nan]]])


def test_each_time_belongs_to_the_smallest_budget_that_reaches_it():
    small, large = np.array([[1.0, 9.0], [10.0, 5.0]]), np.array([[1.0, 8.0], [5.0, 6.0], [15.0, 4.0], [90.0, 1.0]])
    curve = from_smallest_budget([small, large], [10, 100])
    assert curve([1, 9, 10, 11, 15, 89, 90]).tolist() == [9, 9, 5, 5, 4, 4, 1]
    assert np.isnan(curve(101))
    worse = from_smallest_budget([np.array([[1.0, 9.0]]), large], [10, 100])
    assert worse([10, 11, 15]).tolist() == [9, 6, 4]
    with pytest.raises(ValueError, match=r"one per run \(2 in all\), positive and increasing"):
        from_smallest_budget([small, large], [100, 10])

import numpy as np
import pytest

from polarbear.assess.runtimes import cumulative_costs, ert


def test_adds_up_what_each_evaluation_cost():
    times = np.array([[1, 3, np.inf], [2, np.inf, np.inf]])
    found = cumulative_costs(times, [[0.5, 0.25, 4.0], [1.0, 1.0]])
    assert found.tolist() == [[0.5, 4.75, np.inf], [2.0, np.inf, np.inf]]
    assert cumulative_costs([3, 2], [[0.5, 0.25, 4.0], [1.0, 1.0]]).tolist() == [4.75, 2.0]


def test_unit_costs_change_nothing_and_ert_scales_with_cost():
    times, spent = np.array([[3.0, np.inf], [5.0, 7.0]]), np.array([10, 20])
    costs = [np.full(10, 2.5), np.full(20, 2.5)]
    unit = cumulative_costs(times, [np.ones(10), np.ones(20)])
    np.testing.assert_array_equal(unit, times)
    priced = ert(cumulative_costs(times, costs), cumulative_costs(spent, costs))
    np.testing.assert_allclose(priced, 2.5 * ert(times, spent))


def test_refusals():
    with pytest.raises(ValueError, match="run 1: a runtime exceeds the 1 evaluations"):
        cumulative_costs([[1.0], [2.0]], [[1.0], [1.0]])
    with pytest.raises(ValueError, match="run 0: costs have shape"):
        cumulative_costs([[1.0]], [[-1.0]])
    with pytest.raises(ValueError, match="number of runs with costs is 2"):
        cumulative_costs([[1.0]], [[1.0], [1.0]])

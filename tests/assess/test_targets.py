import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.assess.targets import biobjective_targets, budget_targets, data_profile_targets, log_targets
from tests.assess.coco_data import hits_of, published_reference


def test_coco_targets_are_51_from_100_to_1e_8():
    targets = log_targets()
    assert targets.size == 51
    assert {100.0, 10.0, 1.0, 1e-1, 1e-8} <= set(targets.tolist())
    np.testing.assert_allclose(targets[:-1] / targets[1:], 10**0.2)
    published = hits_of("CMA-ES-CSA")[1, 2]["target_precision"].unique().sort(descending=True)
    np.testing.assert_allclose(targets, published, rtol=1e-9)


def test_log_targets_refuse_ranges_that_do_not_fit():
    with pytest.raises(ValueError, match="easiest > hardest"):
        log_targets(1e-8, 1e2)
    with pytest.raises(ValueError, match="whole number"):
        log_targets(3.0, 1e-8)


def test_biobjective_targets_are_those_of_item_3():
    targets = biobjective_targets()
    assert (np.diff(targets) < 0).all()
    assert targets[0] == 10.0
    np.testing.assert_allclose(targets[targets < 0], [-(10**k) for k in (-5, -4.8, -4.6, -4.4, -4.2, -4)])
    np.testing.assert_allclose(targets[targets > 0], [10 ** (k / 10) for k in range(10, -51, -1)])
    assert (targets == 0).sum() == 1


def test_data_profile_targets_reduce_the_first_value():
    targets = data_profile_targets([110.0, 5.0], [10.0, 5.0], exponents=(1, 3))
    np.testing.assert_allclose(targets, [[20.0, 10.1], [5.0, 5.0]])
    with pytest.raises(ValueError, match=r"problem 1: the first value 4\.0 lies below the best 5\.0"):
        data_profile_targets([110.0, 4.0], [10.0, 5.0])
    with pytest.raises(ValueError, match="one number per problem"):
        data_profile_targets([1.0], [1.0, 2.0])


class TestBudgetTargets:
    targets = (100.0, 10.0, 1.0, 0.1)

    def test_easiest_target_not_reached_within_the_budget(self):
        found = budget_targets(self.targets, [2, 30, 400, 1000], [1, 2, 29, 30, 999, 1000])
        assert found.tolist() == [100, 10, 10, 1, 0.1, 0.1]

    def test_no_reference_algorithm_may_reach_it(self):
        erts = [[2, 30, np.inf, np.inf], [5, 20, 300, np.inf]]
        assert budget_targets(self.targets, erts, [3, 25, 500]).tolist() == [10, 1, 0.1]

    def test_distinct_targets_start_with_the_smallest_budget(self):
        budgets = [1, 3, 4, 5, 6, 7]
        assert budget_targets(self.targets, [2, 30, 400, 1000], budgets, distinct=True).tolist() == [100, 10, 1, 0.1]
        assert budget_targets(self.targets, [2, 30, 400, 1000], [5000, 6000], distinct=True).tolist() == [0.1]

    @given(st.lists(st.integers(1, 50), min_size=4, max_size=4), st.sets(st.integers(1, 60), min_size=1))
    def test_definition_and_uniqueness(self, erts, budgets):
        limits = sorted(budgets)
        found = budget_targets(self.targets, erts, limits)
        for target, budget in zip(found, limits, strict=True):
            left = [t for t, needed in zip(self.targets, erts, strict=True) if needed > budget]
            assert target == max(left, default=0.1)
        distinct = budget_targets(self.targets, erts, limits, distinct=True)
        assert (np.diff(distinct) < 0).all()
        assert (distinct <= found[: distinct.size]).all()

    def test_refuses_unsorted_input(self):
        with pytest.raises(ValueError, match="easiest first"):
            budget_targets([1.0, 10.0], [1, 2], [3])
        with pytest.raises(ValueError, match="strictly increasing"):
            budget_targets([10.0, 1.0], [1, 2], [3, 3])
        with pytest.raises(ValueError, match=r"must be \(algorithms, 2\)"):
            budget_targets([10.0, 1.0], [1, 2, 3], [3])

    def test_agrees_with_cocopp_on_best_2009_for_the_31_budgets_of_footnote_19(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from cocopp.pproc import RunlengthBasedTargetValues
        factors, grid = 10 ** (np.arange(31) / 15) / 2, log_targets(1e9, 1e-8)
        references = {(n, f): published_reference(f, n) for f in range(1, 25) for n in (2, 3, 5, 10, 20, 40)}
        for (dimension, function), reference in references.items():
            needed = reference.at(grid)
            reached = np.isfinite(needed)
            data = SimpleNamespace(target=grid[reached], ert=needed[reached], algId="best2009")
            oracle = RunlengthBasedTargetValues(
                list(factors), {(dimension, function): data}, force_different_targets_factor=1
            )
            found = budget_targets(grid, needed, factors * dimension)
            np.testing.assert_allclose(found, oracle((function, dimension)), rtol=1e-6)

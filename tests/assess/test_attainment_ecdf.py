import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear import Reason
from polarbear.assess.aocc import attained_share, attainment_ecdf
from polarbear.assess.attainment import eaf, eaf_grid
from polarbear.assess.step_functions import Bounds, step_functions, values_at
from tests.assess.curves import attains, groups, random_trajectory, trajectory

STOPPED = (Reason.STOPPED, Reason.TARGET)
VALUES = Bounds(-2.25, 11.5)
COCO = Bounds(1e-8, 100, log=True)
TIMES = np.arange(0, 43)


def target_ecdf(paths, targets, time):
    """Eq. 1 as it is written."""
    return np.mean([[attains(path, time, target) for target in targets] for path in paths])


def integral_over_values(paths, time, bounds):
    """Eq. 4 from the points of the exact surface: a sum of rectangles at one time."""
    surface = eaf(paths)
    there = surface.points[:, 0] <= time
    edges = np.unique(
        np.concatenate((surface.points[there, 1], [bounds.low, bounds.high])).clip(bounds.low, bounds.high)
    )
    heights = [max(surface.fractions[there & (surface.points[:, 1] <= edge)], default=0.0) for edge in edges[:-1]]
    return float(np.diff(bounds.scaled(edges)) @ heights)


@given(groups(reasons=STOPPED), st.integers(0, 42), st.lists(st.integers(-12, 52), min_size=1, max_size=9))
def test_equation_3_the_target_based_ecdf_is_the_mean_of_the_eaf_at_the_targets(paths, time, quarters):
    targets = np.array(quarters) / 4
    mean = eaf_grid(values_at(paths, [time]), targets).mean()
    assert mean == pytest.approx(target_ecdf(paths, targets, time), abs=1e-12)


@given(groups(reasons=STOPPED), st.integers(0, 42))
def test_equations_4_and_6_the_integral_of_the_eaf_is_the_mean_over_runs(paths, time):
    ecdf = attainment_ecdf(paths, values=VALUES)
    assert float(ecdf(time)) == pytest.approx(integral_over_values(paths, time, VALUES), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_equations_4_and_6_on_a_logarithmic_scale(seed):
    paths = [random_trajectory(np.random.default_rng((seed, i))) for i in range(15)]
    ecdf = attainment_ecdf(paths, values=COCO)
    for time in (1, 10, 50, 100):
        assert float(ecdf(time)) == pytest.approx(integral_over_values(paths, time, COCO), abs=1e-12)


@pytest.mark.parametrize("bounds", [COCO, Bounds(1e-8, 100)])
def test_equation_5_dense_targets_tend_to_it(bounds):
    paths = [random_trajectory(np.random.default_rng(i), steps=30) for i in range(15)]
    times = np.arange(1, 101)
    limit = attainment_ecdf(paths, values=bounds)(times)
    values = values_at(paths, times)
    for count in (11, 51, 1001, 100_001):
        error = eaf_grid(values, bounds.spaced(count)).mean(axis=1) - limit
        assert np.abs(error).max() <= 1 / count + 1e-12  # section IV-A: at most the weight of one target


@given(groups(reasons=STOPPED))
def test_it_grows_from_zero_and_stays_within_one(paths):
    heights = attainment_ecdf(paths, values=VALUES)(TIMES)
    assert heights[0] == pytest.approx(0, abs=1e-15)
    assert (np.diff(heights) >= -1e-12).all()
    assert heights[-1] <= 1 + 1e-12


@given(groups(reasons=STOPPED), st.floats(0.01, 100), st.floats(-50, 50))
def test_shifting_and_scaling_values_with_their_bounds_changes_nothing(paths, factor, shift):
    moved = [np.column_stack((p.evaluations, p.values * factor + shift)) for p in paths]
    bounds = Bounds(VALUES.low * factor + shift, VALUES.high * factor + shift)
    here, there = attainment_ecdf(paths, values=VALUES), attainment_ecdf(moved, values=bounds)
    np.testing.assert_allclose(there(TIMES), here(TIMES), atol=1e-10)


def test_bounds_for_each_run_are_those_of_its_instance():
    paths = [trajectory([1, 5], [8.0, 2.0], 9), trajectory([2], [30.0], 9)]
    bounds = [Bounds(0, 10), Bounds(20, 40)]
    np.testing.assert_allclose(attainment_ecdf(paths, values=bounds)([1, 2, 5]), [0.1, 0.35, 0.65], rtol=1e-14)
    with pytest.raises(ValueError, match="1 bounds for 2 runs"):
        attained_share(paths, values=bounds[:1])


def test_it_is_unknown_once_a_run_is():
    paths = [trajectory([1], [1.0], 10, Reason.BUDGET), trajectory([1], [1.0], 20)]
    ecdf = attainment_ecdf(paths, values=VALUES)
    assert np.isnan(ecdf([10, 11])).tolist() == [False, True]
    assert not np.isnan(attainment_ecdf(step_functions(paths, carry=True), values=VALUES)(1e9))

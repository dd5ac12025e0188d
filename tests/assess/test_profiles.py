import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polarbear.assess.distributions import data_profile, performance_profile

tables = arrays(np.float64, (5, 3), elements=st.one_of(st.integers(1, 100).map(float), st.just(np.inf)))


@given(tables, st.lists(st.floats(0, 60), max_size=4))
def test_data_profile_is_its_definition(times, budgets):
    sizes = np.array([1, 2, 3, 5, 10])
    found = data_profile(times, sizes, budgets)
    expected = [(times / (sizes + 1)[:, None] <= budget).mean(axis=0) for budget in budgets]
    np.testing.assert_allclose(found, np.array(expected).reshape(found.shape))


@given(tables, st.floats(0.1, 10))
def test_performance_profile_is_its_definition_and_free_of_scale(times, scale):
    ratios = [1, 1.5, 3, 1e9]
    found = performance_profile(times, ratios)
    solved = np.isfinite(times)
    for row, ratio in enumerate(ratios):
        within = solved & (times <= ratio * times.min(axis=1, keepdims=True))
        np.testing.assert_allclose(found[row], within.mean(axis=0))
    scaled = performance_profile(times * (scale * np.arange(1, 6))[:, None], [1e9])
    np.testing.assert_allclose(scaled, found[-1:])
    assert found[0].sum() >= solved.any(axis=1).mean() - 1e-12


def test_performance_ratios_may_be_infinite_without_counting_unsolved_problems():
    assert performance_profile([[np.inf, np.inf], [2.0, 3.0]], [np.inf]).tolist() == [[0.5, 0.5]]


def test_refusals():
    with pytest.raises(ValueError, match="one number of at least 1 per problem, 2 in all"):
        data_profile([[1.0], [2.0]], [3], [1])
    with pytest.raises(ValueError, match="must be positive"):
        performance_profile([[0.0, 1.0]], [1])

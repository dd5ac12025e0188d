import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.assess.runtimes import ert, runtimes
from polarbear.assess.summary import scaling
from tests.assess.coco_data import published_runs


@given(st.floats(-1, 4), st.floats(0.1, 1000))
def test_recovers_a_power_law(exponent, factor):
    sizes = np.array([2, 3, 5, 10, 20])
    found = scaling(sizes, factor * sizes**exponent)
    assert found.exponent == pytest.approx(exponent, abs=1e-9)
    assert found.factor == pytest.approx(factor)
    np.testing.assert_allclose(found.per_dimension, factor * sizes ** (exponent - 1))


def test_dimensions_without_success_are_left_out_of_the_fit():
    found = scaling([2, 4, 8], [[4.0, 5.0], [16.0, np.inf], [np.inf, np.inf]])
    assert found.exponent[0] == pytest.approx(2.0)
    assert np.isnan(found.exponent[1])
    assert found.per_dimension[2].tolist() == [np.inf, np.inf]


def test_cma_es_on_the_sphere_scales_about_linearly():
    sizes = [2, 3, 5, 10, 20, 40]
    erts = []
    for dimension in sizes:
        runs = published_runs("CMA-ES-CSA", 1, dimension)
        erts.append(ert(runtimes(runs, [1e-5]), [run.outcome.evaluations for run in runs]))
    assert 0.8 < scaling(sizes, erts).exponent[0] < 1.2


def test_refusals():
    with pytest.raises(ValueError, match="give different numbers"):
        scaling([2, 2], [1.0, 2.0])
    with pytest.raises(ValueError, match="all positive"):
        scaling([2, 3], [1.0, 0.0])

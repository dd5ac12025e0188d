import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gmean

from polarbear.assess.summary import geometric_mean, geometric_mean_ratio

positive = st.lists(st.floats(0.1, 1e8), min_size=1, max_size=20)


@given(positive, positive, st.floats(0.01, 100))
def test_equation_4(first, second, scale):
    ratio = geometric_mean_ratio(first, second)
    assert ratio == pytest.approx(gmean(first) / gmean(second))
    assert geometric_mean_ratio(first[::-1], second) == pytest.approx(ratio)
    assert geometric_mean_ratio(np.multiply(first, scale), np.multiply(second, scale)) == pytest.approx(ratio)
    assert geometric_mean_ratio(second, first) == pytest.approx(1 / ratio)
    assert geometric_mean_ratio(first, [1.0]) == pytest.approx(geometric_mean(first))


def test_missing_runtimes():
    assert geometric_mean([1.0, np.inf]) == np.inf
    assert geometric_mean_ratio([1.0, np.inf], [2.0]) == np.inf
    assert np.isnan(geometric_mean_ratio([np.inf], [np.inf]))


def test_along_an_axis():
    assert geometric_mean([[1.0, 3.0], [4.0, 12.0]], axis=0) == pytest.approx([2.0, 6.0])


@pytest.mark.parametrize("runtimes", [[], [1.0, 0.0], [np.nan]])
def test_needs_positive_runtimes(runtimes):
    with pytest.raises(ValueError, match="all of them positive"):
        geometric_mean(runtimes)

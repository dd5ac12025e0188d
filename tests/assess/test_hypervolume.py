import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polarbear.assess.hypervolume import HypervolumeIndicator, hypervolume_indicator

grid = st.integers(-4, 14).map(lambda k: k / 8)


def definition(points, ideal, nadir):
    """The appendix's formula with moocore's hypervolume of the whole archive, from scratch."""
    normalized = (points - ideal) / (nadir - ideal)
    if (normalized <= 1).all(axis=1).any():
        return -moocore.hypervolume(normalized, ref=np.ones(len(ideal)))
    return np.linalg.norm(normalized - np.clip(normalized, 0, 1), axis=1).min()


@settings(max_examples=60)
@given(
    st.integers(2, 4).flatmap(lambda m: arrays(np.float64, st.tuples(st.integers(1, 25), st.just(m)), elements=grid))
)
def test_equals_the_definition_at_every_step(normalized):
    objectives = normalized.shape[1]
    ideal, nadir = np.arange(objectives) * 10.0 - 3, np.arange(objectives) * 10.0 + 5
    points = ideal + normalized * (nadir - ideal)
    found = hypervolume_indicator(points, ideal, nadir)
    expected = [definition(points[: t + 1], ideal, nadir) for t in range(len(points))]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (np.diff(found) <= 1e-12).all()


@pytest.mark.parametrize("objectives", [2, 3])
def test_equals_moocore_on_many_points(objectives):
    rng = np.random.default_rng(objectives)
    points = rng.random((1500, objectives)) ** 0.3 * np.geomspace(2, 0.6, 1500)[:, None]
    found = hypervolume_indicator(points, np.zeros(objectives), np.ones(objectives))
    for t in (50, 500, 1500):
        assert found[t - 1] == pytest.approx(
            definition(points[:t], np.zeros(objectives), np.ones(objectives)), abs=1e-12
        )
    assert found[-1] < -0.1


@pytest.mark.parametrize("objectives", [2, 3])
def test_archive_holds_the_nondominated_points(objectives):
    rng = np.random.default_rng(7)
    points = rng.integers(0, 12, (300, objectives)) / 8
    indicator = HypervolumeIndicator(np.zeros(objectives), np.ones(objectives))
    for point in points:
        indicator.add(point)
    expected = np.unique(points[moocore.is_nondominated(points)], axis=0)
    np.testing.assert_allclose(indicator.archive, expected)


def test_bounds_of_the_appendix():
    indicator = HypervolumeIndicator([1.0, 2.0], [3.0, 6.0])
    assert indicator.value == np.inf
    assert indicator.add([5.0, 6.0]) == 1.0, "one region's width outside"
    assert indicator.add([3.0, 6.0]) == 0.0, "the nadir point"
    assert indicator.add([2.0, 4.0]) == -0.25
    assert indicator.add([2.5, 5.0]) == -0.25, "dominated"
    assert indicator.add([1.0, 2.0]) == -1.0, "the ideal point"
    assert indicator.archive.tolist() == [[1.0, 2.0]]


def test_points_beside_the_region_count_by_distance_until_one_dominates_the_nadir_point():
    found = hypervolume_indicator([[-1.0, 4.0], [0.5, 1.0], [0.0, 0.5]], [0.0, 0.0], [1.0, 1.0])
    np.testing.assert_allclose(found, [np.sqrt(1 + 9), 0.0, -0.5])


def test_refusals():
    with pytest.raises(ValueError, match="ideal must be below nadir"):
        HypervolumeIndicator([0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="2 or more objectives"):
        HypervolumeIndicator([0.0], [1.0])
    with pytest.raises(ValueError, match="give 2 numbers"):
        HypervolumeIndicator([0.0, 0.0], [1.0, 1.0]).add([1.0, np.nan])
    with pytest.raises(ValueError, match=r"must be \(t, objectives\)"):
        hypervolume_indicator([1.0, 2.0], [0.0, 0.0], [1.0, 1.0])

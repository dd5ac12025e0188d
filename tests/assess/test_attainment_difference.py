import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear import Reason
from polarbear.assess.attainment import eaf_difference, eaf_difference_grid, eaf_grid
from polarbear.assess.step_functions import values_at
from tests.assess.curves import attains, groups, shared, trajectory

STOPPED = (Reason.STOPPED, Reason.TARGET)


def at(difference, time, value):
    """The difference at a point, looked up among the rectangles."""
    inside = (difference.lower <= (time, value)).all(axis=1) & (difference.upper > (time, value)).all(axis=1)
    found = set(difference.difference[inside])
    assert len(found) <= 1, f"rectangles of different height overlap at {(time, value)}"
    return found.pop() if found else 0.0


def published(name):
    rows = np.loadtxt(shared("eaf") / name)
    return [rows[rows[:, -1] == number, :-1] for number in np.unique(rows[:, -1])]


@pytest.mark.parametrize(("intervals", "scale"), [("", 10), ("int3_", 3)])
def test_published_differences(intervals, scale):
    first, second = (published(f"t__100_diff_points_{side}.txt") for side in (1, 2))
    rows = np.loadtxt(shared("eaf") / f"t__expected_output__get_diff_eaf__{intervals}points12_get_diff_eaf.txt")
    rows[:, :2] *= 1 + 1e-13  # they are printed to 15 digits, which may put a point below the one it was taken from
    difference = eaf_difference(first, second)
    found = [at(difference, time, value) for time, value, _ in rows]
    exact = [
        np.mean([(run <= (t, z)).all(axis=1).any() for run in first])
        - np.mean([(run <= (t, z)).all(axis=1).any() for run in second])
        for t, z, _ in rows
    ]
    np.testing.assert_allclose(exact, rows[:, 2] / scale, atol=1e-12)
    np.testing.assert_allclose(found, rows[:, 2] / scale, atol=1e-12)


@given(groups(reasons=STOPPED), groups(reasons=STOPPED), st.integers(0, 42), st.integers(-12, 52))
def test_the_definition_also_for_unequal_numbers_of_runs(first, second, time, quarter):
    value = quarter / 4
    exact = np.mean([attains(p, time, value) for p in first]) - np.mean([attains(p, time, value) for p in second])
    assert at(eaf_difference(first, second), time, value) == pytest.approx(exact, abs=1e-12)
    assert at(eaf_difference(second, first), time, value) == pytest.approx(-exact, abs=1e-12)


@given(groups(reasons=STOPPED))
def test_equal_algorithms_differ_nowhere(paths):
    assert not eaf_difference(paths, paths[::-1]).difference.any()


@given(st.lists(groups(reasons=STOPPED), min_size=2, max_size=4))
def test_against_a_portfolio(algorithms):
    times, targets = np.arange(0, 43, 3), np.arange(-12, 52, 5) / 4
    values = [values_at(paths, times) for paths in algorithms]
    found = eaf_difference_grid(values[0], values[1:], targets)
    surfaces = [eaf_grid(v, targets) for v in values]
    np.testing.assert_array_equal(found, np.min([surfaces[0] - other for other in surfaces[1:]], axis=0))
    assert (eaf_difference_grid(values[0], values, targets) <= 0).all()
    pair = eaf_difference(algorithms[0], algorithms[1])
    exact = eaf_difference_grid(values[0], values[1:2], targets)
    np.testing.assert_allclose([[at(pair, t, z) for z in targets] for t in times], exact, atol=1e-12)


def test_unknown_runs():
    cut, ended = [trajectory([1], [1.0], 10, Reason.BUDGET)], [trajectory([2], [1.0], 20)]
    assert eaf_difference(ended, cut).until == 11
    values = [values_at(paths, [10, 11]) for paths in (ended, cut)]
    np.testing.assert_array_equal(eaf_difference_grid(values[0], values[1:], [1.0]), [[0], [np.nan]])


def test_errors_name_the_mend():
    points = [np.ones((2, 3))]
    with pytest.raises(ValueError, match=r"runs must be \(k, 2\)"):
        eaf_difference(points, points)
    with pytest.raises(ValueError, match="portfolio is empty"):
        eaf_difference_grid(np.ones((1, 2)), [], [1])
    with pytest.raises(ValueError, match=r"\[2, 3\] times"):
        eaf_difference_grid(np.ones((1, 2)), [np.ones((1, 3))], [1])

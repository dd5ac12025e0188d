import lzma

import moocore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear import Reason
from polarbear.assess.attainment import eaf, eaf_grid, level_curves, second_order_eaf
from polarbear.assess.step_functions import StepFunction, breakpoints, step_functions, values_at
from tests.assess.curves import attains, groups, random_trajectory, shared, trajectory

STOPPED = (Reason.STOPPED, Reason.TARGET)
TARGETS = np.arange(-12, 52, 3) / 4
NAMES = ("dat1", "wrots_l10", "wrots_l100", "spherical", "uniform", "ALG_1_dat")


def table(path):
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt") as file:
        return np.loadtxt(file, ndmin=2)


def expected(folder, kind, name):
    (path,) = shared("eaf").glob(f"t__expected_output__{folder}__{kind}{name}_{folder}.txt*")
    return table(path)


def read(name):
    """A data set as runs, each an array of points."""
    rows = expected("read_datasets", "", name)
    return [rows[rows[:, -1] == number, :-1] for number in np.unique(rows[:, -1])]


def ordered(points, shares):
    rows = np.column_stack((points, shares))
    return rows[np.lexsort(rows.T[::-1])]


@pytest.mark.parametrize("name", NAMES)
def test_published_surfaces_of_two_and_three_dimensions(name):
    rows = expected("eaf", "", name)
    surface = eaf(read(name))
    shares = np.rint(rows[:, -1] * surface.runs / 100) / surface.runs
    np.testing.assert_allclose(shares, rows[:, -1] / 100, atol=1e-9)
    assert surface.points.shape == rows[:, :-1].shape
    np.testing.assert_allclose(
        ordered(surface.points, surface.fractions), ordered(rows[:, :-1], shares), rtol=1e-13, atol=1e-14
    )


@pytest.mark.parametrize("name", NAMES)
def test_published_percentiles_best_median_and_worst(name):
    rows = expected("eaf", "pct_", name)
    surface = eaf(read(name), levels=(0, 0.5, 1))
    assert sorted(set(surface.counts)) == [1, (surface.runs + 1) // 2, surface.runs]
    for percentile, count in zip((0, 50, 100), sorted(set(surface.counts)), strict=True):
        wanted, found = rows[rows[:, -1] == percentile, :-1], surface.points[surface.counts == count]
        np.testing.assert_allclose(
            ordered(found, 0 * found[:, 0]), ordered(wanted, 0 * wanted[:, 0]), rtol=1e-13, atol=1e-14
        )


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("p__input1.dat", "dat1"),
        ("p__wrots_l10w100_dat.xz", "wrots_l10"),
        ("p__wrots_l100w10_dat.xz", "wrots_l100"),
        ("p__spherical-250-10-3d.txt.xz", "spherical"),
        ("p__uniform-250-10-3d.txt.xz", "uniform"),
    ],
)
def test_the_original_files_hold_the_same_runs(file, name):
    rows = moocore.read_datasets(shared("eaf") / file)
    runs = read(name)
    assert len(runs) == rows[:, -1].max()
    for number, run in enumerate(runs):
        np.testing.assert_allclose(rows[rows[:, -1] == number + 1, :-1], run, rtol=1e-13)


@pytest.mark.parametrize("name", ["t__column_error.dat", "t__empty"])
def test_malformed_files_are_refused_before_they_get_here(name):
    with pytest.raises(moocore.ReadDatasetsError):
        moocore.read_datasets(shared("eaf") / name)


def test_runs_of_other_than_two_or_three_columns_are_refused():
    rows = moocore.read_datasets(shared("eaf") / "t__duplicated3.inp")
    with pytest.raises(ValueError, match=r"run 0: points have shape \(\d+, 6\)"):
        eaf([rows[rows[:, -1] == number, :-1] for number in np.unique(rows[:, -1])])


@given(groups(reasons=STOPPED), st.integers(0, 42), st.sampled_from(TARGETS.tolist()))
def test_the_exact_surface_is_the_definition_everywhere(paths, time, value):
    surface = eaf(paths)
    below = (surface.points <= (time, value)).all(axis=1)
    found = max(surface.fractions[below], default=0.0)
    assert found == np.mean([attains(path, time, value) for path in paths])


@given(groups(reasons=STOPPED))
def test_the_grid_is_the_definition_at_its_points(paths):
    times = np.arange(0, 43, 3)
    grid = eaf_grid(values_at(paths, times), TARGETS)
    wanted = [[np.mean([attains(path, t, z) for path in paths]) for z in TARGETS] for t in times]
    np.testing.assert_allclose(grid, wanted, atol=1e-15)
    assert (np.diff(grid, axis=0) >= 0).all()
    assert (np.diff(grid, axis=1) >= 0).all()


@given(groups(reasons=STOPPED))
def test_on_a_grid_of_all_breakpoints_both_agree(paths):
    surface = eaf(paths)
    if not len(surface.points):
        return
    times, targets = breakpoints(paths), np.unique(surface.points[:, 1])
    grid = eaf_grid(values_at(paths, times), targets)
    corner = grid[np.searchsorted(times, surface.points[:, 0]), np.searchsorted(targets, surface.points[:, 1])]
    assert (corner >= surface.fractions - 1e-15).all()
    assert set(np.unique(grid)) - {0.0} <= set(surface.fractions)


@given(groups(reasons=STOPPED), st.permutations(range(7)))
def test_runs_have_no_order_and_repeating_all_changes_nothing(paths, order):
    shuffled = [paths[i] for i in order if i < len(paths)]
    a, b, twice = eaf(paths), eaf(shuffled), eaf([*paths, *paths])
    np.testing.assert_array_equal(a.points, b.points)
    even = twice.counts % 2 == 0
    np.testing.assert_array_equal(a.points, twice.points[even])
    np.testing.assert_array_equal(a.fractions, twice.fractions[even])


def test_increasing_transformations_move_the_points_alone():
    paths = [random_trajectory(np.random.default_rng(seed)) for seed in range(9)]
    points = [np.column_stack((path.evaluations, path.values)) for path in paths]
    here, there = eaf(points), eaf([np.log10(p) for p in points])
    np.testing.assert_array_equal(np.log10(here.points), there.points)
    np.testing.assert_array_equal(here.counts, there.counts)


@given(groups(reasons=STOPPED), st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_level_curves_are_order_statistics(paths, levels):
    times = np.arange(0, 43)
    ordered_values = np.sort(values_at(paths, times), axis=0)
    for level, curve in zip(levels, level_curves(paths, levels), strict=True):
        needed = max(int(np.ceil(level * len(paths) - 1e-9)), 1)
        np.testing.assert_array_equal(curve(times), ordered_values[needed - 1])


def test_a_run_that_found_nothing_counts():
    none = trajectory(np.array([], np.int64), [], 50)
    found = trajectory([3], [1.0], 50)
    surface = eaf([found, none])
    np.testing.assert_array_equal(surface.points, [[3, 1]])
    assert (surface.runs, surface.fractions.tolist()) == (2, [0.5])
    assert level_curves([found, none])[2](1e9) == np.inf
    assert eaf([none, none]).points.shape == (0, 2)


def test_unknown_runs():
    paths = [trajectory([1, 5], [3, 1], 10, Reason.BUDGET), trajectory([2], [2], 8)]
    assert eaf(paths).until == 11
    assert np.isnan(level_curves(paths)[0](11))
    values = values_at(paths, [10, 11])
    np.testing.assert_array_equal(eaf_grid(values, [1, 2]), [[0.5, 1], [np.nan, np.nan]])
    np.testing.assert_array_equal(eaf_grid(values, [1, 2], omit_unknown=True), [[0.5, 1], [0, 1]])
    carried = step_functions(paths, carry=True)
    assert eaf(carried).until == np.inf
    np.testing.assert_array_equal(eaf_grid(values_at(carried, [11]), [1, 2]), [[0.5, 1]])
    np.testing.assert_array_equal(eaf_grid([[np.nan]], [1], omit_unknown=True), [[np.nan]])


@given(groups(reasons=STOPPED), st.integers(0, 42), st.sampled_from(TARGETS.tolist()))
def test_second_order_attainment_is_the_share_of_runs_that_attain_both(paths, time, value):
    times = np.arange(0, 43, 6)
    joint = second_order_eaf(paths, times, TARGETS, given=(time, value))
    both = [[np.mean([attains(p, t, z) and attains(p, time, value) for p in paths]) for z in TARGETS] for t in times]
    np.testing.assert_allclose(joint, both, atol=1e-15)
    first, at_given = eaf_grid(values_at(paths, times), TARGETS), eaf_grid(values_at(paths, [time]), [value])[0, 0]
    assert (joint <= np.minimum(first, at_given) + 1e-15).all()
    assert (joint >= first + at_given - 1 - 1e-12).all()  # Fréchet's bounds
    if at_given:
        conditional = second_order_eaf(paths, times, TARGETS, given=(time, value), conditional=True)
        np.testing.assert_allclose(conditional * at_given, joint, atol=1e-14)
    else:
        with pytest.raises(ValueError, match="no run attains"):
            second_order_eaf(paths, times, TARGETS, given=(time, value), conditional=True)


def test_second_order_attainment_is_symmetric_and_unknown_where_a_run_is():
    paths = [random_trajectory(np.random.default_rng(seed)) for seed in range(15)]
    a, b = (40, 1e-2), (70, 1e-4)
    assert second_order_eaf(paths, a[0], a[1], given=b) == second_order_eaf(paths, b[0], b[1], given=a)
    cut = [*paths, trajectory([1], [1.0], 50, Reason.BUDGET)]
    assert np.isnan(second_order_eaf(cut, [40, 60], [1.0], given=(30, 1.0))).tolist() == [[False], [True]]
    assert np.isnan(second_order_eaf(cut, [40], [1.0], given=(60, 1.0))).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eaf([]), "no runs"),
        (lambda: eaf([[[1, 2]]], levels=[50]), "between 0 and 1"),
        (lambda: eaf([np.ones((2, 3)), np.ones((2, 2))]), r"\(k, 3\)"),
        (lambda: eaf([np.full((2, 3), np.nan)]), "none may contain NaN"),
        (lambda: eaf_grid(np.ones(3), [1]), r"shape \(3,\)"),
        (lambda: eaf_grid(np.ones((2, 3)), [np.inf]), "finite"),
    ],
)
def test_errors_name_the_mend(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_values_at_infinity_attain_nothing():
    function = StepFunction(np.array([1.0, 2.0]), np.array([np.inf, 3.0]))
    np.testing.assert_array_equal(eaf([function]).points, [[2, 3]])
    unbounded = trajectory([1, 4], [3.0, -np.inf], 9)
    np.testing.assert_array_equal(eaf([unbounded, unbounded]).points, [[1, 3], [4, -np.inf]] * 2)

"""ECDFs with targets against the EAF, changes of ranks, and areas of runs that are not kept."""

import numpy as np
import pytest

from polarbear.assess import Bounds, OnlineAOCC, aocc, eaf_grid, rank_changes, target_sensitivity, values_at
from tests.figures.marks import assert_readable, one, step_values

TIMES, VALUES = Bounds(1, 1000, log=True), Bounds(1e-8, 100, log=True)


def curves(seed, count=6):
    rng = np.random.default_rng(seed)
    return [
        np.column_stack([np.sort(rng.uniform(1, 1000, 25)), 10 ** -np.sort(rng.uniform(-3, 9, 25))])
        for _ in range(count)
    ]


def sensitivity(**options):
    runs = {name: [curves(10 * k), curves(10 * k + 1, 3)] for k, name in enumerate("ABCD")}
    return runs, target_sensitivity(runs, times=TIMES, values=VALUES, **options)


def test_curves_are_the_means_over_functions_of_those_of_the_grid():
    runs, found = sensitivity(counts=(5, 51))
    for row, count in enumerate(found.counts):
        for index, groups in enumerate(runs.values()):
            expected = [eaf_grid(values_at(g, found.times), VALUES.spaced(count)).mean(axis=1) for g in groups]
            np.testing.assert_allclose(found.by_targets[row, index], np.mean(expected, axis=0), atol=1e-12)


def test_areas_tend_to_those_of_the_eaf():
    runs, found = sensitivity(counts=(10, 100, 1000, 10_000))
    exact = [np.mean([aocc(g, times=TIMES, values=VALUES).mean() for g in groups]) for groups in runs.values()]
    np.testing.assert_allclose(found.exact_area, exact)
    # with m targets, both ends included, an ECDF errs by at most 1 / (m - 1)
    errors = np.abs(found.area_differences).max(axis=1)
    assert (errors <= 1 / (np.array(found.counts) - 1)).all()
    assert found.rank_changes[-1] == 0
    assert np.abs(found.differences[-1]).max() <= 1e-4


def test_ranks_go_by_area():
    _, found = sensitivity(counts=(2,))
    assert found.ranks.shape == (2, 4)
    np.testing.assert_array_equal(np.argsort(found.ranks[-1]), np.argsort(-found.exact_area))


def test_each_exchange_counts_once():
    assert rank_changes([1, 2, 3, 4], [2, 1, 3, 4]) == 1
    assert rank_changes([1, 2, 3, 4], [4, 3, 2, 1]) == 4
    assert rank_changes([1.5, 1.5], [1, 2]) == 0.5
    with pytest.raises(ValueError, match="rankings have shapes"):
        rank_changes([1, 2], [1, 2, 3])


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="there are no algorithms"):
        target_sensitivity({}, times=TIMES, values=VALUES)
    with pytest.raises(ValueError, match="counts is 1"):
        sensitivity(counts=(1,))


@pytest.mark.parametrize("times", [TIMES, Bounds(1, 1000), Bounds(50, 400, log=True)])
@pytest.mark.parametrize("only_improvements", [True, False])
def test_online_area_is_that_of_the_run(times, only_improvements):
    rng = np.random.default_rng(4)
    at, values = np.sort(rng.uniform(1, 1000, 60)), 10 ** rng.uniform(-9, 3, 60)
    online = OnlineAOCC(times=times, values=VALUES)
    for k, (time, value) in enumerate(zip(at, values, strict=True)):
        if not only_improvements or value <= values[: k + 1].min():
            online.add(time, value)
    (expected,) = aocc([np.column_stack([at, values])], times=times, values=VALUES)
    assert online.area() == pytest.approx(expected)


def test_online_area_of_nothing_is_zero_and_time_goes_on():
    online = OnlineAOCC(times=TIMES, values=VALUES)
    assert online.area() == 0
    online.add(10, 1e-8)
    assert online.area() == pytest.approx(2 / 3)
    assert online.area(until=100) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match=r"value is 1\.0 at time 9, after time 10"):
        online.add(9, 1.0)


def test_figures_show_what_was_found():
    from polarbear import figures
    from polarbear.assess import vorobev

    runs, found = sensitivity(counts=(5, 10))
    figure = figures.target_sensitivity(found, algorithms=("B",))
    np.testing.assert_array_equal(step_values(one(figure, "eaf-1"))[1], found.exact[1])
    np.testing.assert_allclose(step_values(one(figure, "difference-5"))[1], found.differences[0].mean(axis=0))
    assert f"{found.rank_changes[0]:g} (5 targets)" in figure.caption
    assert_readable(figure)
    assert_readable(figures.target_sensitivity(found, width=3.5))
    mean = {"A": vorobev(runs["A"][0], times=TIMES, values=VALUES)}
    figure = figures.vorobev_expectation(found.times, mean)
    expected = mean["A"].curve(found.times)
    np.testing.assert_array_equal(
        step_values(one(figure, "expectation-0"))[1], np.where(np.isinf(expected), np.nan, expected)
    )
    assert_readable(figure)

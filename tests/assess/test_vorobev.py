import moocore
import numpy as np
import pytest
from hypothesis import given

from polarbear import Reason
from polarbear.assess.aocc import aocc
from polarbear.assess.attainment import level_curves
from polarbear.assess.step_functions import Bounds, step_functions
from polarbear.assess.vorobev import vorobev
from tests.assess.curves import groups, random_trajectory, trajectory

STOPPED = (Reason.STOPPED, Reason.TARGET)
COCO = Bounds(1e-8, 100, log=True)
TIMES = Bounds(1, 100, log=True)
LINEAR = {"times": Bounds(1, 45), "values": Bounds(-2.25, 11.5)}


def runs(seed, count=15, **options):
    return [random_trajectory(np.random.default_rng((seed, i)), **options) for i in range(count)]


def in_the_box(functions, times, values):
    """The runs as `moocore` takes them, in the unit square."""
    points = [np.column_stack((times.scaled(f.x), values.scaled(f.y))) for f in functions]
    filled = [p if len(p) else np.ones((1, 2)) for p in points]
    return np.concatenate(filled), np.repeat(np.arange(len(filled)), [len(p) for p in filled])


@pytest.mark.parametrize("seed", range(40))
def test_no_level_is_closer_and_moocore_is_at_most_one_level_away(seed):
    paths = runs(seed, count=2 + seed % 14)
    found = vorobev(paths, times=TIMES, values=COCO)
    shares = (np.arange(len(paths)) + 1) / len(paths)
    areas = aocc(level_curves(paths, shares), times=TIMES, values=COCO)
    assert abs(found.aocc - found.mean_aocc) == np.abs(areas - found.mean_aocc).min()
    theirs = moocore.vorob_t(*in_the_box(step_functions(paths), TIMES, COCO), ref=(1, 1))
    assert found.mean_aocc == pytest.approx(theirs["avg_hyp"], rel=1e-12)
    area = moocore.hypervolume(theirs["ve"], ref=(1, 1))
    assert abs(found.aocc - found.mean_aocc) <= abs(area - found.mean_aocc) + 1e-12
    assert np.abs(areas - area).argmin() - np.abs(areas - found.aocc).argmin() in (-1, 0, 1)


@pytest.mark.parametrize("seed", range(10))
def test_the_deviation_is_moocores_for_the_same_expectation(seed):
    paths = runs(seed)
    found = vorobev(paths, times=TIMES, values=COCO)
    points, sets = in_the_box(step_functions(paths), TIMES, COCO)
    expectation, _ = in_the_box([found.curve], TIMES, COCO)
    assert found.deviation == pytest.approx(moocore.vorob_dev(points, sets, ref=(1, 1), ve=expectation), abs=1e-12)


@given(groups(reasons=STOPPED))
def test_the_curve_is_a_level_curve_and_the_deviation_spans_the_difference_of_areas(paths):
    found = vorobev(paths, **LINEAR)
    (curve,) = level_curves(paths, [found.level])
    np.testing.assert_array_equal(found.curve.points(), curve.points())
    assert found.aocc == pytest.approx(aocc([curve], **LINEAR)[0], abs=1e-12)
    areas = aocc(paths, **LINEAR)
    assert found.deviation >= np.abs(areas - found.aocc).mean() - 1e-12


def test_equal_runs_are_their_own_expectation():
    path = random_trajectory(np.random.default_rng(1))
    found = vorobev([path] * 5, times=TIMES, values=COCO)
    np.testing.assert_array_equal(found.curve.points(), step_functions([path])[0].points())
    assert found.deviation == pytest.approx(0, abs=1e-15)
    assert found.level == 0.2


def test_two_runs_in_closed_form():
    good, bad = (trajectory([1], [value], 100) for value in (0.0, 1.0))
    found = vorobev([good, good, bad], times=Bounds(1, 11), values=Bounds(0, 2))
    assert (found.level, found.aocc) == (1 / 3, 1.0)
    assert found.mean_aocc == pytest.approx(5 / 6)
    assert found.deviation == pytest.approx(1 / 6)


def test_runs_that_end_at_different_times_are_known_up_to_the_shortest():
    paths = [trajectory([1, spent], [5.0, 1.0], spent, Reason.BUDGET) for spent in (10, 20, 40)]
    assert vorobev(paths, times=Bounds(1, 11), values=Bounds(0, 6)).aocc > 0
    with pytest.raises(ValueError, match=r"run 0 is unknown from 11 on; lower times.high \(now 12\)"):
        vorobev(paths, times=Bounds(1, 12), values=Bounds(0, 6))

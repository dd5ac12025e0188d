import moocore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear import Reason
from polarbear.assess.aocc import aocc, attainment_ecdf, weighted_auc
from polarbear.assess.attainment import eaf_grid, level_curves
from polarbear.assess.step_functions import Bounds, step_functions, values_at
from tests.assess.curves import groups, random_trajectory, trajectory

STOPPED = (Reason.STOPPED, Reason.TARGET)
VALUES = Bounds(-2.25, 11.5)
COCO = Bounds(1e-8, 100, log=True)
SCALES = [(Bounds(1, 100), COCO), (Bounds(1, 100, log=True), COCO), (Bounds(1, 100, log=True), Bounds(1e-8, 100))]


def runs(count=15, **options):
    return [random_trajectory(np.random.default_rng(seed), **options) for seed in range(count)]


def equation_9(path, last, bounds):
    """The sum as it is written, for linear scales."""
    best = path.value_at(np.arange(1, last))
    return np.maximum(0, bounds.high - np.maximum(best, bounds.low)).sum()


def area_under_the_eaf(paths, times, values):
    """Eq. 8 by hypervolumes (`moocore`): the area of each level set, added up over the levels."""
    areas = []
    for curve in level_curves(paths, (np.arange(len(paths)) + 1) / len(paths)):
        corners = np.column_stack((times.scaled(curve.x), values.scaled(curve.y)))
        areas.append(moocore.hypervolume(corners, ref=(1, 1)) if len(corners) else 0.0)
    return np.mean(areas)


@given(groups(reasons=STOPPED), st.integers(2, 45))
def test_equation_9(paths, last):
    areas = aocc(paths, times=Bounds(1, last), values=VALUES) * (last - 1) * (VALUES.high - VALUES.low)
    np.testing.assert_allclose(areas, [equation_9(path, last, VALUES) for path in paths], rtol=1e-12, atol=1e-12)


@given(groups(reasons=STOPPED), st.integers(2, 45), st.booleans())
def test_equation_11_mean_aocc_area_of_the_ecdf_and_area_under_the_eaf_are_one(paths, last, log):
    times = Bounds(1, last, log=log)
    mean = aocc(paths, times=times, values=VALUES).mean()
    assert attainment_ecdf(paths, values=VALUES).mean(times) == pytest.approx(mean, abs=1e-12)
    assert area_under_the_eaf(paths, times, VALUES) == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize(("times", "values"), SCALES)
def test_equation_11_on_all_scales(times, values):
    paths = runs(steps=60)
    mean = aocc(paths, times=times, values=values).mean()
    assert attainment_ecdf(paths, values=values).mean(times) == pytest.approx(mean, abs=1e-12)
    assert area_under_the_eaf(paths, times, values) == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("first", "best"), [(1, 1e-3), (7, 1e-3), (100, 1e-9), (100, 1e3), (1, 1e-8)])
def test_a_run_of_a_single_step_in_closed_form(first, best, log):
    times, values = Bounds(1, 1000, log=log), COCO
    width = np.log(1000 / first) / np.log(1000) if log else (1000 - first) / 999
    height = np.clip((2 - np.log10(best)) / 10, 0, 1)
    found = aocc([trajectory([first], [best], 2000)], times=times, values=values)
    assert found[0] == pytest.approx(width * height, rel=1e-12, abs=1e-15)


def test_up_to_one_past_the_budget_it_is_the_mean_over_all_evaluations():
    paths = runs()
    normalized = (np.clip(np.log10(values_at(paths, np.arange(1, 101))), -8, 2) + 8) / 10
    found = aocc(paths, times=Bounds(1, 101), values=COCO)
    np.testing.assert_allclose(found, (1 - normalized).mean(axis=1), rtol=1e-12)


def iohinspector(paths, budget, **options):
    """The AOCC of each run by `iohinspector`."""
    metrics, polars = pytest.importorskip("iohinspector.metrics"), pytest.importorskip("polars")
    names = [f"{number:03}" for number in range(len(paths))]
    frames = [
        polars.DataFrame({"evaluations": path.evaluations, "raw_y": path.values}).with_columns(
            data_id=polars.lit(number), function_name=polars.lit("f"), algorithm_name=polars.lit(names[number])
        )
        for number, path in enumerate(paths)
    ]
    scaled = metrics.transform_fval(polars.concat(frames), lb=1e-8, ub=100)
    table = metrics.get_aocc(scaled, eval_max=budget, **options)
    return table.set_index("algorithm_name").loc[names, "AOCC"].to_numpy()


def test_iohinspector_counts_the_first_evaluation_twice_and_the_last_not_at_all():
    budget, paths = 100, [trajectory([1, *p.evaluations + 1], [50, *p.values], 200) for p in runs(5, high=1.0)]
    theirs = iohinspector(paths, budget)
    shares = 1 - (np.log10(values_at(paths, np.arange(1, budget + 1))) + 8) / 10
    np.testing.assert_allclose(theirs, (shares[:, 0] + shares[:, :-1].sum(axis=1)) / budget, rtol=1e-12)
    ours = aocc(paths, times=Bounds(1, budget + 1), values=COCO)
    np.testing.assert_allclose(theirs, ours + (shares[:, 0] - shares[:, -1]) / budget, rtol=1e-12)


def test_on_a_logarithmic_axis_iohinspector_agrees():
    paths = [trajectory([1, *p.evaluations + 1], [50, *p.values], 200) for p in runs(5, high=1.0)]
    theirs = iohinspector(paths, 100, scale_eval_log=True)
    np.testing.assert_allclose(theirs, aocc(paths, times=Bounds(1, 100, log=True), values=COCO), rtol=1e-12)


def test_bounds_per_instance_and_global_bounds():
    paths = runs()
    bounds = [Bounds.of(p.values, log=True) if p.values.size > 1 else COCO for p in paths]
    times = Bounds(1, 100)
    each = [aocc([p], times=times, values=b)[0] for p, b in zip(paths, bounds, strict=True)]
    np.testing.assert_allclose(aocc(paths, times=times, values=bounds), each, rtol=1e-13)


def test_unknown_runs_have_no_area_unless_their_value_is_carried_on():
    paths = [trajectory([1], [1e-3], 50, reason) for reason in (Reason.BUDGET, Reason.STOPPED)]
    areas = aocc(paths, times=Bounds(1, 51), values=COCO)
    np.testing.assert_allclose(areas, 0.5, rtol=1e-14)
    assert np.isnan(aocc(paths, times=Bounds(1, 52), values=COCO)).tolist() == [True, False]
    assert np.isnan(weighted_auc(paths, [[1.0]], times=Bounds(1, 52), values=COCO)).tolist() == [True, False]
    carried = step_functions(paths, carry=True)
    np.testing.assert_allclose(aocc(carried, times=Bounds(1, 52), values=COCO), 0.5, rtol=1e-14)


def test_a_run_without_a_value_has_none():
    assert aocc([np.empty((0, 2))], times=Bounds(1, 9), values=COCO) == 0


@pytest.mark.parametrize(("times", "values"), SCALES)
@pytest.mark.parametrize("shape", [(1, 1), (7, 9), (3, 1)])
def test_equal_weights_change_nothing(times, values, shape):
    paths = runs(steps=40)
    weighted = weighted_auc(paths, np.full(shape, 3.7), times=times, values=values)
    np.testing.assert_allclose(weighted, aocc(paths, times=times, values=values), rtol=1e-12)


@pytest.mark.parametrize(("times", "values"), SCALES)
def test_the_weight_of_a_single_cell_gives_the_area_within_it(times, values):
    paths = runs(steps=40)
    columns, rows = times.spaced(5), values.spaced(4)
    for column in range(4):
        for row in range(3):
            weights = np.zeros((4, 3))
            weights[column, row] = 1
            cell = [Bounds(b[k], b[k + 1], s.log) for b, k, s in ((columns, column, times), (rows, row, values))]
            found = weighted_auc(paths, weights, times=times, values=values)
            np.testing.assert_allclose(found, aocc(paths, times=cell[0], values=cell[1]), rtol=1e-10, atol=1e-12)


def test_the_mean_is_the_weighted_integral_of_the_eaf():
    paths, times, values = runs(steps=10), Bounds(0, 100), Bounds(0, 8)
    weights = np.random.default_rng(0).random((100, 8))
    points = [np.column_stack((p.evaluations, np.floor(np.log10(p.values) + 5).clip(0))) for p in paths]
    grid = eaf_grid(values_at(points, np.arange(100)), np.arange(8))  # constant within the cells of this box
    found = weighted_auc(points, weights, times=times, values=values).mean()
    assert found == pytest.approx((grid * weights).sum() / weights.sum(), rel=1e-12)


@pytest.mark.parametrize("weights", [[1.0], [[-1.0, 2.0]], [[0.0]], [[np.inf]], [[np.nan]]])
def test_weights_that_are_none(weights):
    with pytest.raises(ValueError, match="weights have shape"):
        weighted_auc(runs(), weights, times=Bounds(1, 9), values=COCO)

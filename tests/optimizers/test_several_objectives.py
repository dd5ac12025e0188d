"""What optimizers recommend on problems of several objectives, beside fronts by the definition."""

import numpy as np
import pytest

from polarbear.experiment import Limits, Task, Watch, execute
from polarbear.optimizers import Nevergrad, Pymoo, QuasiRandomSearch, RandomSearch
from polarbear.optimizers.adapters.pymoo import MULTI
from polarbear.optimizers.archives import FRONT_BLOCK, Front
from polarbear.problems import COCOProblem
from polarbear.records import RunKey
from tests.optimizers.seen import Seen, half_plane, two_spheres


def efficient(points, values):
    """The points that no other one dominates, by the definition, sorted."""
    values = np.asarray(values)
    rows = [
        i for i, own in enumerate(values)
        if not ((values <= own).all(axis=1) & (values < own).any(axis=1)).any() and np.isfinite(own).all()
    ]  # fmt: skip
    return np.unique(np.asarray(points)[rows], axis=0)


SEARCHES = [RandomSearch(), QuasiRandomSearch(), QuasiRandomSearch(sequence="LHS", batch=7)]


@pytest.mark.parametrize("optimizer", SEARCHES, ids=lambda one: one.name)
@pytest.mark.parametrize("budget", [1, 50, 3 * FRONT_BLOCK + 11])
def test_searches_recommend_the_efficient_points_they_were_told_of(optimizer, budget):
    run = Seen(two_spheres, 2, budget, objectives=2).run(optimizer)
    # a batch that is cut short by the stop is not told
    batch = getattr(optimizer, "batch", 1)
    told = budget // batch * batch
    expected = efficient(run.points[:told], run.values[:told]) if told else np.zeros(2)
    np.testing.assert_array_equal(run.recommended() if not told else np.unique(run.recommended(), axis=0), expected)
    assert told < 100 or len(expected) > 5


@pytest.mark.parametrize("optimizer", SEARCHES, ids=lambda one: one.name)
def test_of_points_with_violated_constraints_searches_recommend_the_least_until_one_is_feasible(optimizer):
    run = Seen(two_spheres, 2, 700, half_plane, objectives=2).run(optimizer)
    feasible = np.array([half_plane(point)[0] <= 0 for point in run.points])
    np.testing.assert_array_equal(
        np.unique(run.recommended(), axis=0),
        efficient(np.array(run.points)[feasible], np.array(run.values)[feasible]),
    )
    none = Seen(two_spheres, 2, 300, lambda x: np.array([9.0 - x[0]]), objectives=2).run(optimizer)
    assert run.extra == none.extra == 0
    np.testing.assert_array_equal(none.recommended(), [max(none.points, key=lambda point: point[0])])


def test_values_that_are_not_finite_are_no_part_of_the_front():
    front = Front(Seen(two_spheres, 2, objectives=2))
    np.testing.assert_array_equal(front.recommended(), [0, 0])
    front.keep(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([[-np.inf, 0.0], [3.0, np.inf]]))
    np.testing.assert_array_equal(front.recommended(), [0, 0])
    front.keep(np.array([3.0, 3.0]), np.array([9.0, 9.0]))
    np.testing.assert_array_equal(front.recommended(), [[3, 3]])


@pytest.mark.parametrize("algorithm", sorted(MULTI))
def test_pymoo_recommends_points_it_evaluated_of_which_none_dominates_another(algorithm):
    pytest.importorskip("pymoo")
    run = Seen(two_spheres, 2, 450, objectives=2).run(Pymoo(algorithm=algorithm))
    points = run.recommended()
    evaluated = {point.tobytes(): value for point, value in zip(run.points, run.values, strict=True)}
    values = [evaluated[point.tobytes()] for point in points]
    assert len(points) > 3
    assert len(efficient(points, values)) == len(np.unique(points, axis=0))


def test_pymoo_recommends_whole_numbers_and_the_centre_at_first():
    pytest.importorskip("pymoo")
    whole = np.array([True, False])
    run = Seen(two_spheres, 2, 450, integers=whole, objectives=2).run(Pymoo(algorithm="NSGA2"))
    np.testing.assert_array_equal(run.recommended()[:, 0], np.rint(run.recommended()[:, 0]))
    np.testing.assert_array_equal(
        Seen(two_spheres, 2, 5, objectives=2).run(Pymoo(algorithm="NSGA2")).recommended(), [0, 0]
    )


@pytest.mark.parametrize("algorithm", ["DE", "OnePlusOne", "PSO"])
@pytest.mark.parametrize("budget", [None, 60])
def test_nevergrad_recommends_a_front_of_points_it_evaluated(algorithm, budget):
    pytest.importorskip("nevergrad")
    run = Seen(two_spheres, 2, 150, objectives=2).run(Nevergrad(algorithm=algorithm, budget=budget))
    points = run.recommended()
    evaluated = {point.tobytes(): value for point, value in zip(run.points, run.values, strict=True)}
    values = [evaluated[point.tobytes()] for point in points]
    assert len(points) > 1
    assert len(efficient(points, values)) == len(np.unique(points, axis=0))


@pytest.mark.parametrize(
    "optimizer",
    [
        RandomSearch(),
        QuasiRandomSearch(batch=8),
        Pymoo(algorithm="NSGA2", population_size=20),
        Nevergrad(algorithm="DE"),
        Nevergrad(algorithm="OnePlusOne"),
    ],
    ids=lambda one: one.name,
)
def test_on_bbob_biobj_the_hypervolume_of_what_is_recommended_is_logged(optimizer):
    """Random search's equals the run's own indicator; for all of them it is that of points the run evaluated."""
    pytest.importorskip("cocoex")
    problem = COCOProblem(suite="bbob-biobj", function=3, instance=1, dimension=3)
    key = RunKey(problem.name, optimizer.name, 1)
    watches = (None, Watch(every=20, recommendations=True))
    tasks = [Task(key, problem, optimizer, Limits(evaluations=300), watch) for watch in watches]
    alone, run = map(execute, tasks)
    assert run.outcome.ok
    assert run.outcome.message == ""
    np.testing.assert_array_equal(run.trajectory.values, alone.trajectory.values)
    recommended = run.parameters.values["recommendation"]
    assert np.isfinite(recommended).all()
    after = np.searchsorted(run.trajectory.evaluations, run.parameters.evaluations, side="right") - 1
    assert (recommended >= run.trajectory.values[after] - 1e-12)[1:].all()  # at first it may be the box's centre
    if isinstance(optimizer, RandomSearch):
        before = np.searchsorted(run.trajectory.evaluations, run.parameters.evaluations - 1, side="right") - 1
        np.testing.assert_allclose(recommended, run.trajectory.values[before], rtol=1e-12)
    else:
        assert recommended[-1] < recommended[0]

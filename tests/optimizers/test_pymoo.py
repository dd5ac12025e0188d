"""pymoo's algorithms, beside the package called directly."""

import inspect
import json

import numpy as np
import pytest

from polarbear.optimizers import Pymoo, describe, from_description
from polarbear.optimizers.adapters import pymoo as module
from polarbear.records import Reason
from tests.optimizers.seen import Seen, failing, fragile, half_plane, run_task, sphere, two_spheres

pytest.importorskip("pymoo")

CONSTRAINED = sorted(set(module.ALGORITHMS) - module.UNCONSTRAINED)
SLOW = {"NicheGA", "CTAEA", "MOEAD", "AGEMOEA"}


def _slow_if_it_is(algorithm):
    return pytest.param(algorithm, marks=pytest.mark.slow if algorithm in SLOW else ())


def function_for(algorithm):
    return sphere if algorithm in module.SINGLE else two_spheres


def seen(algorithm, budget, dimension=3, **more):
    count = 1 if algorithm in module.SINGLE else 2
    more = {"function": function_for(algorithm), "objectives": count} | more
    return Seen(dimension=dimension, budget=budget, **more)


@pytest.mark.parametrize(
    "algorithm", ["DE", "PSO", "CMAES", "ES", "NelderMead", pytest.param("GA", marks=pytest.mark.slow)]
)
def test_the_points_with_one_objective_are_those_of_the_package(algorithm):
    """`pymoo.optimize.minimize` with the same seed, until its own criterion stops it."""
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    points = []

    class Sphere(Problem):
        def _evaluate(self, x, out):
            points.extend(x)
            out["F"] = np.array([sphere(point) for point in x])

    rng = np.random.default_rng(5)
    direct = module.Pymoo(algorithm=algorithm).build(1, None)
    minimize(Sphere(n_var=2, n_obj=1, xl=-5.0, xu=5.0), direct, seed=int(rng.integers(1, 2**31)))
    ours = seen(algorithm, 10**6, 2).run(Pymoo(algorithm=algorithm, restarts=False), seed=5)
    assert not ours.stopped
    assert min(ours.values) < 1e-4
    np.testing.assert_array_equal(ours.points, points)


@pytest.mark.parametrize(("algorithm", "name"), [("NSGA2", "nsga2"), ("SMSEMOA", "sms")])
def test_the_points_with_two_objectives_are_those_of_the_package(algorithm, name):
    import importlib

    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    points = []

    class Two(Problem):
        def _evaluate(self, x, out):
            points.extend(x)
            out["F"] = np.array([two_spheres(point) for point in x])

    rng = np.random.default_rng(5)
    direct = getattr(importlib.import_module(f"pymoo.algorithms.moo.{name}"), algorithm)(pop_size=20)
    minimize(Two(n_var=3, n_obj=2, xl=-5.0, xu=5.0), direct, ("n_gen", 10), seed=int(rng.integers(1, 2**31)))
    ours = seen(algorithm, len(points)).run(Pymoo(algorithm=algorithm, population_size=20), seed=5)
    assert len(points) == 200
    np.testing.assert_array_equal(ours.points, points)


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("algorithm", [_slow_if_it_is(name) for name in module.ALGORITHMS])
def test_it_stops_at_the_budget_in_the_box_and_is_reproducible(algorithm, dimension):
    runs = [seen(algorithm, 330, dimension).run(Pymoo(algorithm=algorithm), seed) for seed in (1, 1, 2)]
    for run in runs:
        assert run.stopped
        assert len(run.points) == 330
        assert run.outside == 0
    np.testing.assert_array_equal(runs[0].points, runs[1].points)
    assert not np.array_equal(runs[0].points, runs[2].points)


@pytest.mark.parametrize("algorithm", module.ALGORITHMS)
def test_it_bears_values_that_are_not_finite(algorithm):
    def infinite(x):
        return np.full(np.shape(function_for(algorithm)(x)), np.inf)

    def here_and_there(x):
        return function_for(algorithm)(x) if x[0] > 0 else np.full(np.shape(function_for(algorithm)(x)), np.nan)

    for function in (infinite, here_and_there):
        run = seen(algorithm, 250, function=function).run(Pymoo(algorithm=algorithm))
        assert (run.stopped, len(run.points)) == (True, 250)


@pytest.mark.parametrize("algorithm", module.SINGLE)
def test_runs_of_a_study_end_by_their_budget_whatever_the_values_are(algorithm, capfd):
    for function in (sphere, fragile):
        outcome = run_task(Pymoo(algorithm=algorithm), function, budget=130).trajectory.outcome
        assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 130), (outcome.message, outcome.traceback)
    outcome = run_task(Pymoo(algorithm=algorithm), failing).trajectory.outcome
    assert outcome.reason == Reason.FAILED
    assert "OSError: the simulator is down" in outcome.message
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("algorithm", [_slow_if_it_is(name) for name in module.ALGORITHMS])
def test_a_thousand_variables_after_three(algorithm):
    """Its operators remember the dimension they met first, unless they are copied."""
    for dimension in (3, 1_000):
        run = seen(algorithm, 120, dimension).run(Pymoo(algorithm=algorithm))
        assert (run.stopped, len(run.points), run.outside) == (True, 120, 0)


@pytest.mark.parametrize("algorithm", [_slow_if_it_is(name) for name in CONSTRAINED])
def test_constraints_are_kept(algorithm):
    """With x₀ >= 1 the sphere's best value is 0.09, and the least sum of the two spheres 6, at (1, 0).

    Of 1200 uniform points 0.1 are expected to have a feasible sum below 6.1.
    """
    population = {} if algorithm == "NelderMead" else {"population_size": 30}
    budget = 4_000 if algorithm == "CTAEA" else 1_200  # it keeps infeasible points on purpose
    run = seen(algorithm, budget, 2, constrain=half_plane).run(Pymoo(algorithm=algorithm, **population))
    assert run.stopped
    assert run.extra == 0
    feasible = np.array([half_plane(point)[0] <= 0 for point in run.points])
    values = np.array(run.values)[feasible]
    if algorithm in module.SINGLE:
        assert 0.09 - 1e-12 <= values.min() < 0.2
    else:
        assert 6 - 1e-12 <= values.sum(axis=1).min() < 6.1


@pytest.mark.parametrize("algorithm", module.ALGORITHMS)
def test_whole_variables_are_whole_when_they_are_evaluated(algorithm):
    mask = np.array([True, False, True])
    run = seen(algorithm, 250, integers=mask).run(Pymoo(algorithm=algorithm))
    points = np.array(run.points)
    np.testing.assert_array_equal(points[:, mask], np.rint(points[:, mask]))
    assert not (points[:, 1] == np.rint(points[:, 1])).all()


def test_two_objectives_are_approximated():
    """Efficient points are those of the segment from -1 to 1; uniform points have medians of 2.9 and 3.5."""
    for algorithm in ("NSGA2", "SMSEMOA", "ParallelMOEAD", "NSGA3"):
        run = seen(algorithm, 1_000, 2).run(Pymoo(algorithm=algorithm, population_size=20))
        last = np.array(run.points[-100:])
        assert np.median(np.abs(last[:, 0] - last[:, 1])) < 1.0, algorithm
        assert np.median(np.abs(last).max(axis=1)) < 1.2, algorithm
        assert np.ptp(last[:, 0]) > 1.0, algorithm


def test_generations_are_batches():
    calls = []

    class Batches(Seen):
        def __call__(self, x):
            calls.append(np.shape(x))
            return super().__call__(x)

    Batches(sphere, 3, 100).run(Pymoo(algorithm="GA", population_size=25))
    assert [shape for shape in calls if len(shape) == 2] == [(25, 3)] * 5  # the last one meets the stop


def test_directions_are_even_and_no_more_than_asked_for():
    for count, size, found in ((2, 100, 100), (3, 100, 91), (3, 91, 91), (3, 90, 78), (5, 100, 70), (10, 4, 10)):
        directions = module._directions(count, size)
        assert directions.shape == (found, count)
        np.testing.assert_allclose(directions.sum(axis=1), 1)


def test_it_recommends_the_best_point_and_counts_generations():
    run = seen("GA", 10**6, 2)
    run.run(Pymoo(restarts=False, population_size=10))
    np.testing.assert_array_equal(run.recommended(), run.points[int(np.argmin(run.values))])
    assert run.exposed["generation"]() > 10


def test_numpy_s_global_generator_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - what CMAES seeds
    for algorithm in ("GA", "CMAES"):
        seen(algorithm, 300).run(Pymoo(algorithm=algorithm))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002 - the same


def test_the_options_are_pymoo_s():
    import importlib

    from pymoo.algorithms.soo.nonconvex.de import Variant

    for algorithm, (place, options) in module.ALGORITHMS.items():
        kind = "soo.nonconvex" if algorithm in module.SINGLE else "moo"
        cls = getattr(importlib.import_module(f"pymoo.algorithms.{kind}.{place}"), algorithm)
        known = set().union(*(inspect.signature(base.__init__).parameters for base in cls.__mro__))
        known |= set(inspect.signature(Variant).parameters) if algorithm == "DE" else set()
        assert set(options) <= known, algorithm


def test_options_take_effect():
    plain, other = (
        seen("DE", 300).run(Pymoo(algorithm="DE", population_size=20, options=options))
        for options in ({}, {"variant": "DE/rand/1/bin", "CR": 0.9})
    )
    np.testing.assert_array_equal(plain.points[:20], other.points[:20])
    assert not np.array_equal(plain.points[20:40], other.points[20:40])


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: Pymoo(algorithm="NSGA4"), ValueError, "did you mean 'NSGA"),
        (lambda: Pymoo(algorithm="SPEA2"), ValueError, "not offered: its runs cannot be repeated"),
        (lambda: Pymoo(algorithm="rvea"), ValueError, "the number of generations"),
        (lambda: Pymoo(options={"popsize": 3}), ValueError, "GA has no option 'popsize'; choose from: n_offsprings"),
        (lambda: Pymoo(population_size=2), ValueError, "population_size is 2"),
        (lambda: Pymoo(algorithm="NelderMead", population_size=20), ValueError, "which NelderMead does not use"),
        (
            lambda: Pymoo(algorithm="CMAES", options={"bipop": True}),
            ValueError,
            "uses option 'bipop' only with its own restarts",
        ),
        (lambda: Pymoo(algorithm="CMAES", options={"incpopsize": 3, "restarts": 0}), ValueError, "option 'incpopsize'"),
        (lambda: Pymoo(pop_size=20), TypeError, "did you mean 'population_size'"),
        (lambda: seen("NSGA2", 10).run(Pymoo()), ValueError, "GA takes problems with one objective; the problem has 2"),
        (lambda: seen("GA", 10).run(Pymoo(algorithm="NSGA2")), ValueError, "several objectives; the problem has 1"),
        (
            lambda: seen("MOEAD", 10, constrain=half_plane).run(Pymoo(algorithm="MOEAD")),
            ValueError,
            "does not accept constraints here; use one of AGEMOEA",
        ),
    ],
)
def test_wrong_arguments_are_named(make, error, complaint):
    with pytest.raises(error, match=complaint):
        make()


def test_descriptions_come_back():
    for optimizer in (Pymoo(), Pymoo(algorithm="de", options={"CR": 0.5}, population_size=30, restarts=False)):
        assert from_description(json.loads(json.dumps(describe(optimizer)))) == optimizer
    assert Pymoo(algorithm="nsga2").name == "pymoo-NSGA2"


def test_bipop_with_restarts_of_its_own_changes_the_run():
    """On a rugged function, where the first start ends early; it may also be turned off."""

    def rugged(x):
        return sphere(x) + 5 * float(np.sum(1 - np.cos(9 * x)))

    options = {"restarts": 3, "tolfun": 1e-2, "tolx": 1e-2}
    plain, other = (
        seen("CMAES", 3_000, 2, function=rugged).run(Pymoo(algorithm="CMAES", options=options | more))
        for more in ({"bipop": False}, {"bipop": True})
    )
    assert not np.array_equal(plain.points, other.points)
    assert Pymoo(algorithm="CMAES", options={"bipop": False}).restarts

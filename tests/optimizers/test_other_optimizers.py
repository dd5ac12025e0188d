"""Random search, SciPy's optimizers, functions; stopping; descriptions."""

import contextlib
import inspect
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import polarbear as pb
from polarbear import optimizers
from polarbear.experiment import Limits, Task, execute
from polarbear.experiment.logging_schedule import Watch
from polarbear.optimizers.adapters.scipy import METHODS, UNBOUNDED
from tests.optimizers.seen import Seen, sphere, two_spheres


def coordinate_walk(problem, rng):
    x = rng.uniform(problem.lower, problem.upper)
    best = problem(x)
    for _ in range(50):
        step = rng.normal(size=problem.dimension)
        value = problem(x + step)
        if value < best:
            best, x = value, x + step


def swallowing(problem, rng):
    while True:
        with contextlib.suppress(Exception):
            problem(rng.uniform(problem.lower, problem.upper))


ENDLESS = [
    optimizers.ModularCMAES(),
    optimizers.ModularCMAES.anytime(),
    optimizers.RandomSearch(),
    optimizers.ScipyDifferentialEvolution(),
    *(optimizers.ScipyMinimize(method) for method in METHODS if method != "trust-constr"),
    optimizers.FunctionOptimizer(swallowing),
]


@pytest.mark.parametrize("optimizer", ENDLESS, ids=lambda optimizer: optimizer.name)
def test_every_optimizer_runs_until_it_is_stopped_and_is_reproducible(optimizer, record, functions):
    budget = 300 if optimizer.name.startswith("COBY") else 2_000
    runs = [record(functions["rastrigin"], budget, 3).run(optimizer, seed) for seed in (1, 1, 2)]
    for run in runs:
        assert run.stopped
        assert len(run.points) == budget
    np.testing.assert_array_equal(runs[0].points, runs[1].points)
    assert not np.array_equal(runs[0].points, runs[2].points)


@pytest.mark.parametrize("optimizer", ENDLESS, ids=lambda optimizer: optimizer.name)
@pytest.mark.parametrize("budget", [0, 1, 7])
def test_every_optimizer_stops_at_once(optimizer, budget, record, functions):
    run = record(functions["sphere"], budget, 2).run(optimizer)
    assert run.stopped
    assert len(run.points) == budget


@pytest.mark.parametrize("optimizer", ENDLESS, ids=lambda optimizer: optimizer.name)
def test_every_optimizer_is_picklable_and_comes_back_from_its_description(optimizer):
    assert pickle.loads(pickle.dumps(optimizer)) == optimizer
    assert hash(optimizer) == hash(pickle.loads(pickle.dumps(optimizer)))
    assert isinstance(optimizer, optimizers.Optimizer)
    description = json.loads(json.dumps(optimizers.describe(optimizer)))
    if not isinstance(optimizer, optimizers.FunctionOptimizer):
        assert optimizers.from_description(description) == optimizer


@pytest.mark.statistical
def test_random_search_is_uniform_in_the_box(record, functions):
    lower, upper = np.array([0.0, -3.0]), np.array([1.0, 40.0])
    run = record(functions["sphere"], 3_000, 2, lower, upper).run(optimizers.RandomSearch())
    for i in range(2):
        points = np.array(run.points)[:, i]
        assert stats.kstest(points, stats.uniform(lower[i], upper[i] - lower[i]).cdf).pvalue > 0.001


def test_random_search_draws_the_same_points_as_one_by_one(record, functions):
    run = record(functions["sphere"], 600, 2).run(optimizers.RandomSearch(), seed=9)
    rng = np.random.default_rng(9)
    np.testing.assert_array_equal(run.points, [rng.uniform(run.lower, run.upper) for _ in range(600)])


@pytest.mark.parametrize("method", sorted(set(METHODS) - UNBOUNDED - {"COBYLA", "trust-constr"}))
def test_methods_with_bounds_stay_in_the_box(method, record, functions):
    run = record(functions["sphere"], 500, 3, 1.0, 2.0).run(optimizers.ScipyMinimize(method))
    assert not run.outside.any()
    assert run.best == pytest.approx(3 * 0.3**2, abs=1e-3)


def test_a_restart_begins_at_a_fresh_uniform_point(record, functions):
    minimize = optimizers.ScipyMinimize("L-BFGS-B")
    once = record(functions["rastrigin"], 1_500, 2).run(optimizers.ScipyMinimize("L-BFGS-B", restarts=False))
    again = record(functions["rastrigin"], 1_500, 2).run(minimize)
    assert not once.stopped
    n = len(once.points)
    assert n < 500
    np.testing.assert_array_equal(once.points, again.points[:n])
    assert np.linalg.norm(again.points[n] - again.points[n - 1]) > 0.1
    assert again.best < once.best


def test_methods_find_the_sphere_s_optimum(record, functions):
    for method in METHODS:
        run = record(functions["sphere"], 1_000, 2).run(optimizers.ScipyMinimize(method, restarts=False))
        assert run.best < 1e-6, method


def test_trust_constr_is_stopped(record, functions):
    run = record(functions["sphere"], 30, 2).run(optimizers.ScipyMinimize("trust-constr"))
    assert (run.stopped, len(run.points)) == (True, 30)


def test_differential_evolution_returns_without_restarts(record, functions):
    evolution = optimizers.ScipyDifferentialEvolution(restarts=False, popsize=5, polish=False)
    run = record(functions["sphere"], 50_000, 2).run(evolution)
    assert not run.stopped
    assert not run.outside.any()
    assert run.best < 0.1
    polished = record(functions["sphere"], 50_000, 2).run(
        optimizers.ScipyDifferentialEvolution(restarts=False, popsize=5)
    )
    assert polished.best < 1e-9
    assert evolution.name == "DE-popsize=5-polish=False-restarts=False"


def test_the_options_are_scipy_s():
    from scipy.optimize import _optimize, differential_evolution
    from scipy.optimize._cobyla_py import _minimize_cobyla
    from scipy.optimize._cobyqa_py import _minimize_cobyqa
    from scipy.optimize._lbfgsb_py import _minimize_lbfgsb
    from scipy.optimize._slsqp_py import _minimize_slsqp
    from scipy.optimize._tnc import _minimize_tnc
    from scipy.optimize._trustregion_constr import _minimize_trustregion_constr

    implementations = {
        "Nelder-Mead": _optimize._minimize_neldermead,
        "Powell": _optimize._minimize_powell,
        "CG": _optimize._minimize_cg,
        "BFGS": _optimize._minimize_bfgs,
        "L-BFGS-B": _minimize_lbfgsb,
        "TNC": _minimize_tnc,
        "COBYLA": _minimize_cobyla,
        "COBYQA": _minimize_cobyqa,
        "SLSQP": _minimize_slsqp,
        "trust-constr": _minimize_trustregion_constr,
    }
    assert set(implementations) == set(METHODS)
    for method, implementation in implementations.items():
        own = set(inspect.signature(implementation).parameters)
        assert set(METHODS[method]) - {"tol"} <= own | {"final_tr_radius"}, method
    evolution = set(inspect.signature(differential_evolution).parameters)
    ours = set(optimizers.ScipyDifferentialEvolution.__dataclass_fields__) - {"name", "restarts"}
    assert ours <= evolution


def test_options_take_effect(record, functions):
    few = optimizers.ScipyMinimize("nelder-mead", options={"maxfev": 12}, restarts=False)
    assert few.name == "Nelder-Mead-maxfev=12-not-restarts"
    assert len(record(functions["rastrigin"], 1_000, 3).run(few).points) == 12
    loose = optimizers.ScipyMinimize("SLSQP", tol=0.5, restarts=False)
    tight = optimizers.ScipyMinimize("SLSQP", tol=1e-12, restarts=False)
    counts = [len(record(functions["rastrigin"], 1_000, 3).run(one).points) for one in (loose, tight)]
    assert counts[0] < counts[1]


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: optimizers.ScipyMinimize("Nelder"), ValueError, "choose from: BFGS, CG, COBYLA"),
        (lambda: optimizers.ScipyMinimize("Newton-CG"), ValueError, "method is 'Newton-CG'"),
        (lambda: optimizers.ScipyMinimize("BFGS", options={"maxfun": 3}), ValueError, "BFGS has no option 'maxfun'"),
        (lambda: optimizers.ScipyMinimize(metod="BFGS"), TypeError, "did you mean 'method'"),
        (lambda: optimizers.ScipyMinimize(restarts=1), TypeError, "restarts is 1"),
        (lambda: optimizers.ScipyDifferentialEvolution(popsiz=3), TypeError, "did you mean 'popsize'"),
        (lambda: optimizers.ScipyDifferentialEvolution(strategy="best"), ValueError, "did you mean 'best"),
        (lambda: optimizers.ScipyDifferentialEvolution(popsize=0), ValueError, "popsize is 0"),
        (lambda: optimizers.ScipyDifferentialEvolution(mutation=3.0), ValueError, "mutation is 3.0"),
        (lambda: optimizers.ScipyDifferentialEvolution(mutation=(0.1,)), ValueError, "pair"),
        (lambda: optimizers.RandomSearch(block=3), TypeError, "no argument 'block'; choose from: name"),
        (lambda: optimizers.FunctionOptimizer(3), TypeError, "3 cannot be called"),
        (lambda: optimizers.FunctionOptimizer("nowhere:f"), ValueError, "cannot be imported"),
        (lambda: optimizers.FunctionOptimizer(lambda problem: None), TypeError, r"two arguments, \(problem, rng\)"),
        (lambda: optimizers.as_optimizer(optimizers.GrowingBudgets), TypeError, r"give GrowingBudgets\(...\)"),
        (lambda: optimizers.as_optimizer("random"), ValueError, "optimizer 'random' is unknown; did you mean"),
    ],
)
def test_wrong_arguments_are_named(make, error, complaint):
    with pytest.raises(error, match=complaint):
        make()


def test_functions_become_optimizers(record, functions):
    optimizer = optimizers.as_optimizer(coordinate_walk)
    assert optimizer.name == "coordinate_walk"
    assert optimizers.as_optimizer(optimizer) is optimizer
    run = record(functions["sphere"], 1_000, 2).run(optimizer)
    assert not run.stopped
    assert len(run.points) == 51
    assert optimizers.FunctionOptimizer(coordinate_walk, name="walk").name == "walk"


def test_objects_with_a_name_are_optimizers_already():
    class Mine:
        name = "mine"

        def __call__(self, problem, rng):
            problem(problem.lower)

    mine = Mine()
    assert optimizers.as_optimizer(mine) is mine
    assert optimizers.describe(mine)["optimizer"].endswith(".Mine")


def test_descriptions_are_short():
    assert optimizers.describe(optimizers.ModularCMAES.anytime(step_size_adaptation="TPA")) == {
        "optimizer": "modular-cmaes-anytime",
        "step_size_adaptation": "TPA",
    }
    assert optimizers.describe(optimizers.ModularCMAES(matrix_adaptation="SEP")) == {
        "optimizer": "modular-cmaes",
        "matrix_adaptation": "SEPARABLE",
    }
    assert optimizers.describe(optimizers.RandomSearch()) == {"optimizer": "random-search"}
    assert optimizers.describe(np.linalg.solve) == {"optimizer": "function", "function": "numpy.linalg:solve"}


@pytest.mark.parametrize(
    "optimizer",
    [
        optimizers.ModularCMAES.anytime(matrix_adaptation="NAT", population_size=12, cs=0.3, name="n"),
        optimizers.ModularCMAES(x0=(1.0, 2.0)),
        optimizers.ModularCMAES.anytime(threshold_convergence=True, active=False, restart_strategy="NONE"),
        optimizers.ScipyMinimize("Powell", options={"xtol": 0.1}, tol=0.2, restarts=False, name="p"),
        optimizers.ScipyDifferentialEvolution(mutation=(0.3, 0.9), polish=False),
        optimizers.ScipyDifferentialEvolution(mutation=0.4),
        optimizers.RandomSearch(name="RS"),
        optimizers.FunctionOptimizer("numpy.linalg:solve", name="solve it"),
    ],
)
def test_descriptions_come_back_through_json(optimizer):
    description = json.loads(json.dumps(optimizers.describe(optimizer)))
    assert optimizers.from_description(description) == optimizer


@pytest.mark.parametrize(
    ("description", "complaint"),
    [
        ({"optimizer": "modular-cma"}, "did you mean 'modular-cmaes'.*choose from: .*function, .*modular-cmaes"),
        ({"optimizer": "modular-cmaes", "sigma": 1}, "no argument 'sigma'.*relative_sigma0"),
        ({"optimizer": "modular-cmaes-anytime", "step_size_adaptation": "CAS"}, "modular-cmaes-anytime'.*'CSA'"),
        ({"optimizer": "random-search", "seed": 1}, "choose from: name"),
        ({"optimizer": "function", "function": "search"}, "module:name"),
        ({"optimizer": "function"}, "optimizer 'function'.*function"),
        ({}, "{} does not say which optimizer; choose from: "),
        (
            {"optimizer": "scipy-DEE"},
            "^optimizer 'scipy-DEE': method is 'DEE'; .* did you mean the optimizer 'scipy-DE'",
        ),
        ({"optimizer": "scipy-nelder"}, "^optimizer 'scipy-nelder': method is .* did you mean 'Nelder-Mead'"),
        ("random-search", "does not describe an optimizer"),
    ],
)
def test_wrong_descriptions_are_named(description, complaint):
    with pytest.raises(ValueError, match=complaint):
        optimizers.from_description(description)


def test_importing_the_room_loads_no_heavy_library():
    code = "import sys, polarbear.optimizers; print({'modcma', 'scipy', 'ioh'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


REFUSING = sorted(
    set(optimizers.families())
    - {"random-search", "quasi-random-search", "nevergrad", "growing-budgets", "function", "switch"}
)


@pytest.mark.parametrize("family", REFUSING)
def test_every_optimizer_of_one_objective_refuses_two_when_it_is_called(family):
    optimizer, problem = optimizers.from_description({"optimizer": family}), Seen(two_spheres, objectives=2)
    with pytest.raises(ValueError, match="one objective; the problem has 2"):
        optimizer(problem, np.random.default_rng())
    assert problem.points == []
    assert isinstance(optimizer, optimizers.Particular)


def test_functions_and_random_search_are_asked_nothing():
    for optimizer in (optimizers.RandomSearch(), optimizers.as_optimizer(coordinate_walk), coordinate_walk):
        assert not isinstance(optimizer, optimizers.Particular)
        assert optimizers.refusal(optimizer, None, 3) == ""


SEARCHES = [
    optimizers.RandomSearch(),
    optimizers.QuasiRandomSearch(),
    optimizers.QuasiRandomSearch(sequence="HALTON", batch=7),
    optimizers.QuasiRandomSearch(sequence="LHS", batch=1),
]


@pytest.mark.parametrize("optimizer", SEARCHES, ids=lambda optimizer: optimizer.name)
def test_searches_recommend_the_best_point_they_were_told_of(optimizer):
    """By the values told, which are noisy here; the centre where all were infinite."""
    rng = np.random.default_rng(0)
    run = Seen(lambda x: sphere(x) + 30 * rng.normal(), 3, 500).run(optimizer)
    np.testing.assert_array_equal(run.recommended(), run.points[int(np.argmin(run.values))])
    assert int(np.argmin(run.values)) != int(np.argmin([sphere(x) for x in run.points]))
    infinite = Seen(lambda x: np.inf, 3, 500).run(optimizer)
    np.testing.assert_array_equal(infinite.recommended(), np.zeros(3))


@pytest.mark.parametrize("optimizer", SEARCHES, ids=lambda optimizer: optimizer.name)
@pytest.mark.parametrize("least", [1.0, 5.5])
def test_searches_recommend_a_feasible_point_or_the_least_violated_one(optimizer, least):
    """x0 >= 1 and x1 >= 1 hold in some of the box; x0 >= 5.5 nowhere. Asking for constraints costs nothing."""

    def constrain(x):
        return np.array([least - x[0], 1 - x[1]])

    run = Seen(sphere, 2, 400, constrain).run(optimizer)
    order = [(float(np.maximum(constrain(x), 0).sum()), value) for x, value in zip(run.points, run.values, strict=True)]
    np.testing.assert_array_equal(run.recommended(), run.points[order.index(min(order))])
    assert (min(order)[0] == 0) == (least == 1.0)
    assert (len(run.points), run.extra) == (400, 0)


@pytest.mark.parametrize("optimizer", SEARCHES, ids=lambda optimizer: optimizer.name)
def test_what_searches_recommend_is_judged_without_noise(optimizer):
    """A row at each batch's end shows the best point before it, as nothing is asked within a batch."""
    problem = pb.problems.FunctionProblem(sphere, -5, 5, 2)
    watch = Watch(every=1, recommendations=True)
    key = pb.records.RunKey(problem.name, optimizer.name, 3)
    run = execute(Task(key, problem, optimizer, Limits(evaluations=300), watch))
    assert "recommend" not in run.outcome.message
    rows = run.parameters
    told = rows.values["recommendation"]
    batch = getattr(optimizer, "batch", 1)
    known = (rows.evaluations - 1) // batch * batch
    expected = [run.trajectory.value_at(np.array([n]))[0] if n else sphere(np.zeros(2)) for n in known]
    np.testing.assert_array_equal(told, expected)

"""SciPy's optimizers with constraints and whole variables, and dual annealing, beside the package called directly."""

import inspect
import json
import warnings

import numpy as np
import pytest
from scipy import optimize

from polarbear.optimizers import (
    ScipyDifferentialEvolution,
    ScipyDualAnnealing,
    ScipyMinimize,
    describe,
    from_description,
)
from polarbear.optimizers.adapters.callbacks import Callback, Restarted
from polarbear.optimizers.adapters.scipy import CONSTRAINED, GREATEST, METHODS, UNBOUNDED
from polarbear.records import Reason
from tests.optimizers.seen import STRANGE, Seen, failing, fragile, half_plane, run_task, sphere

ALL = [*(ScipyMinimize(method) for method in METHODS), ScipyDifferentialEvolution(popsize=5), ScipyDualAnnealing()]
NAMES = [one.name for one in ALL]


def rastrigin(x):
    return float(10 * len(x) + np.sum((x - 0.7) ** 2 - 10 * np.cos(2 * np.pi * (x - 0.7))))


@pytest.mark.parametrize("method", sorted(CONSTRAINED))
def test_constraints_are_kept(method):
    """The sphere's best point with x₀ >= 1 is (1, 0.7): 0.09. Each point's constraint comes with its value."""
    run = Seen(sphere, 2, 300, half_plane).run(ScipyMinimize(method))
    assert run.stopped
    assert run.extra == 0
    assert run.best_feasible == pytest.approx(0.09, abs=1e-4)


def test_methods_that_take_no_constraints_do_not_ask_for_them():
    run = Seen(sphere, 2, 200, half_plane).run(ScipyMinimize("Nelder-Mead"))
    assert run.extra == 0
    assert min(run.values) < 1e-6


def test_differential_evolution_keeps_constraints():
    """It leaves the value of an infeasible point unknown; here it comes with the constraint, at one evaluation."""
    run = Seen(sphere, 2, 1_000, half_plane).run(ScipyDifferentialEvolution(polish=False, popsize=5))
    assert run.stopped
    assert run.extra == 0
    assert 0.09 <= run.best_feasible < 0.1


def test_differential_evolution_takes_whole_variables():
    mask = np.array([True, False])
    run = Seen(sphere, 2, 600, integers=mask).run(ScipyDifferentialEvolution(popsize=5, polish=False))
    points = np.array(run.points)
    np.testing.assert_array_equal(points[:, 0], np.rint(points[:, 0]))
    assert min(run.values) == pytest.approx(0.09, abs=1e-3)  # (1 - 0.7)²


def test_a_value_and_its_constraints_are_one_evaluation():
    problem = Seen(sphere, 2, constrain=half_plane)
    callback = Callback(problem, constrained=True)
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert callback.violations(x) == [0.0]
    assert callback.violations(y) == [-2.0]
    assert callback(x) == sphere(x)
    assert len(problem.points) == 2
    assert callback(x) == sphere(x)  # a second request is a second evaluation
    assert len(problem.points) == 3
    for i in range(100):
        callback.violations(np.array([i, 0.5]))
    assert callback.violations(y) == [-2.0]  # forgotten by now
    assert len(problem.points) == callback.evaluations == 104
    assert problem.extra == 0  # constraint values are always those of the point evaluated last


class BreaksDown(Restarted):
    """Evaluates some random points, and then one that is NaN."""

    restarts = True

    def __init__(self, points):
        self.points = points

    def _search(self, objective, problem, rng, start):
        for _ in range(self.points):
            objective(rng.uniform(problem.lower, problem.upper))
        objective(np.full(problem.dimension, np.nan))


def test_a_search_that_breaks_down_is_started_again_unless_it_evaluates_nothing(record):
    goes_on = record(sphere, 100, 2).run(BreaksDown(7))
    assert (goes_on.stopped, len(goes_on.points)) == (True, 100)
    ends = record(sphere, 100, 2).run(BreaksDown(0))
    assert (ends.stopped, len(ends.points)) == (False, 0)


def test_the_points_of_dual_annealing_are_those_of_the_package():
    rng, points = np.random.default_rng(5), []
    start = rng.uniform(np.full(3, -5.0), np.full(3, 5.0))

    def objective(x):
        points.append(x.copy())
        return rastrigin(x)

    optimize.dual_annealing(objective, [(-5, 5)] * 3, x0=start, rng=rng, maxiter=30)
    ours = Seen(rastrigin, 3, 10**6).run(ScipyDualAnnealing(maxiter=30, restarts=False), seed=5)
    assert len(points) > 150
    assert not ours.stopped
    assert ours.outside == 0
    np.testing.assert_array_equal(ours.points, points)


@pytest.mark.parametrize("dimension", [1, 3])
def test_dual_annealing_stops_at_the_budget_in_the_box_and_is_reproducible(dimension):
    runs = [Seen(rastrigin, dimension, 400).run(ScipyDualAnnealing(maxiter=20), seed) for seed in (1, 1, 2)]
    for run in runs:
        assert (run.stopped, len(run.points), run.outside) == (True, 400, 0)
    np.testing.assert_array_equal(runs[0].points, runs[1].points)
    assert not np.array_equal(runs[0].points, runs[2].points)


def mixed(x):
    """Infinite, as large as numbers are, or the sphere's, in thin layers."""
    return (np.inf, -np.inf, 1e308, -1e308, np.nan, sphere(x), sphere(x))[int(abs(np.floor(7 * x.sum()))) % 7]


@pytest.mark.parametrize("optimizer", ALL, ids=NAMES)
def test_runs_of_a_study_end_by_their_budget_whatever_the_values_are(optimizer):
    for function in (sphere, fragile, mixed, lambda x: np.inf, lambda x: -np.inf if x[0] > 0 else 1.0):
        outcome = run_task(optimizer, function).trajectory.outcome
        assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 60), (outcome.message, outcome.traceback)
    outcome = run_task(optimizer, failing).trajectory.outcome
    assert (outcome.reason, outcome.evaluations) == (Reason.FAILED, 1)
    assert "OSError: the simulator is down" in outcome.message


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("function", [*STRANGE.values(), mixed, lambda x: 1e120 * float(x @ x)])
def test_powell_s_method_goes_on_where_an_iteration_led_nowhere(function, dimension):
    """SciPy fails to search along a direction that is zero."""
    for seed in (1, 2, 3):
        outcome = run_task(ScipyMinimize("Powell"), function, dimension, 2_000, seed).trajectory.outcome
        assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 2_000), outcome.message


@pytest.mark.parametrize("method", METHODS)
def test_infinite_values_count_as_the_greatest_finite_ones(method, record):
    for value, bound in ((np.inf, GREATEST), (-np.inf, -GREATEST)):
        runs = [
            record(lambda x, level=level: level if x[0] > 0 else sphere(x), 80, 2).run(ScipyMinimize(method))
            for level in (value, bound)
        ]
        assert runs[0].stopped
        np.testing.assert_array_equal(runs[0].points, runs[1].points)


def test_a_start_amid_infinite_values_ends_soon():
    """The difference of two is NaN, which meets no criterion: SciPy's Nelder-Mead spends its 200 · d evaluations."""
    for value in (np.inf, -np.inf):
        run = Seen(lambda x, value=value: value, 2, 1_000).run(ScipyMinimize("Nelder-Mead", restarts=False))
        assert len(run.points) < 150


@pytest.mark.parametrize("method", METHODS)
def test_the_points_at_finite_values_are_those_of_the_package(method):
    rng, points = np.random.default_rng(5), []
    few = {"maxfun" if method == "TNC" else "maxiter": 8}

    def objective(x):
        points.append(x.copy())
        return 1e200 * rastrigin(x)

    start = rng.uniform(np.full(3, -5.0), np.full(3, 5.0))
    box = None if method in UNBOUNDED else [(-5, 5)] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimize.minimize(objective, start, method=method, bounds=box, options=few)
        ours = Seen(lambda x: 1e200 * rastrigin(x), 3, 10**4).run(
            ScipyMinimize(method, options=few, restarts=False), seed=5
        )
    np.testing.assert_array_equal(ours.points, points)


@pytest.mark.parametrize("optimizer", [one for one in ALL if one.name != "COBYQA"], ids=lambda one: one.name)
def test_a_thousand_variables(optimizer):
    outcome = run_task(optimizer, dimension=1_000, budget=12).trajectory.outcome
    assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 12), outcome.message


@pytest.mark.parametrize("optimizer", ALL, ids=lambda optimizer: optimizer.name)
def test_it_recommends_the_best_point(optimizer):
    run = Seen(rastrigin, 2, 60).run(optimizer)
    np.testing.assert_array_equal(run.recommended(), run.points[int(np.argmin(run.values))])


def test_the_problem_s_warnings_are_shown_and_scipy_s_are_not():
    def warning(x):
        warnings.warn("the simulator is tired", UserWarning, stacklevel=1)
        return np.inf

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        Seen(warning, 2, 200).run(ScipyMinimize("Nelder-Mead"))
    assert {str(one.message) for one in shown} == {"the simulator is tired"}
    with pytest.warns(RuntimeWarning, match="invalid value"):  # what is hidden
        optimize.minimize(lambda x: np.inf, np.zeros(2), method="Nelder-Mead", options={"maxiter": 5})


def test_the_arguments_are_scipy_s():
    own = set(ScipyDualAnnealing.__dataclass_fields__) - {"name", "restarts"}
    theirs = inspect.signature(optimize.dual_annealing).parameters
    assert own <= set(theirs)
    for name in own:
        assert getattr(ScipyDualAnnealing(), name) == theirs[name].default


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: ScipyDualAnnealing(visit=4.0), ValueError, "visit is 4.0"),
        (lambda: ScipyDualAnnealing(accept=0.0), ValueError, "accept is 0.0"),
        (
            lambda: ScipyDualAnnealing(temp=1.0),
            TypeError,
            "no argument 'temp'; choose from: .*initial_temp|did you mean",
        ),
        (lambda: Seen(objectives=2).run(ScipyDualAnnealing()), ValueError, "one objective; the problem has 2"),
        (lambda: Seen(objectives=2).run(ScipyMinimize()), ValueError, "one objective; the problem has 2"),
    ],
)
def test_wrong_arguments_are_named(make, error, complaint):
    with pytest.raises(error, match=complaint):
        make()


def test_descriptions_come_back():
    optimizer = ScipyDualAnnealing(maxiter=10, no_local_search=True, restarts=False)
    assert from_description(json.loads(json.dumps(describe(optimizer)))) == optimizer
    assert describe(ScipyDualAnnealing()) == {"optimizer": "scipy-dual-annealing"}
    assert optimizer.name == "DualAnnealing-maxiter=10-no_local_search=True-restarts=False"
    assert UNBOUNDED.isdisjoint(CONSTRAINED)

"""NLopt's algorithms, beside the package called directly."""

import contextlib
import json

import numpy as np
import pytest

from polarbear.optimizers import NLopt, describe, from_description
from polarbear.optimizers.adapters import nlopt as module
from polarbear.protocols import WarmStart
from polarbear.records import Reason
from tests.optimizers.seen import Seen, Stop, failing, fragile, half_plane, run_task, sphere

nlopt = pytest.importorskip("nlopt")

BOUNDED = sorted(set(module.ALGORITHMS) - module.UNBOUNDED)


def rastrigin(x):
    return float(10 * len(x) + np.sum((x - 0.7) ** 2 - 10 * np.cos(2 * np.pi * (x - 0.7))))


@pytest.mark.parametrize("algorithm", module.ALGORITHMS)
def test_the_points_are_those_of_the_package(algorithm):
    """One start with equal seed, start and tolerance; the objective stops both."""
    budget, rng = 150, np.random.default_rng(5)
    nlopt.srand(int(rng.integers(1, 2**31)))
    start, points = rng.uniform(np.full(3, -5.0), np.full(3, 5.0)), []

    def objective(x, gradient):
        if len(points) == budget:
            raise Stop
        points.append(np.clip(x, -5, 5) if algorithm not in module.UNBOUNDED else x.copy())
        return rastrigin(points[-1])

    opt = nlopt.opt(getattr(nlopt, algorithm), 3)
    opt.set_xtol_rel(1e-12)
    if algorithm not in module.UNBOUNDED:
        opt.set_lower_bounds(np.full(3, -5.0))
        opt.set_upper_bounds(np.full(3, 5.0))
    opt.set_min_objective(objective)
    with contextlib.suppress(Stop, nlopt.RoundoffLimited):
        opt.optimize(start)
    ours = Seen(rastrigin, 3, len(points)).run(NLopt(algorithm=algorithm), seed=5)
    assert len(points) > 20
    np.testing.assert_array_equal(ours.points, points)


@pytest.mark.parametrize("algorithm", module.ALGORITHMS)
def test_those_that_start_from_others_evaluate_where_these_ended(algorithm):
    optimizer, best = NLopt(algorithm=algorithm), np.array([1.2, -2.3, 0.7])
    seen = Seen(rastrigin, 3, 60)
    with contextlib.suppress(Stop):
        optimizer.run_from(seen, np.random.default_rng(1), WarmStart(evaluations=9, best=best, value=rastrigin(best)))
    assert (np.abs(np.array(seen.points) - best).max(axis=1) < 1e-12).any() == optimizer.starts_from_others


@pytest.mark.parametrize("function", [sphere, fragile], ids=["sphere", "fragile"])
@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("algorithm", BOUNDED)
def test_it_stops_at_the_budget_in_the_box_and_is_reproducible(algorithm, dimension, function):
    clean = lambda x: min(function(x), np.inf) if function(x) == function(x) else np.inf  # noqa: E731
    runs = [Seen(clean, dimension, 400).run(NLopt(algorithm=algorithm), seed) for seed in (1, 1, 2)]
    deterministic = algorithm in module.DETERMINISTIC or (dimension == 1 and "_L_RAND" in algorithm)
    for run in runs:
        assert run.stopped or deterministic
        assert len(run.points) == 400 or deterministic
        assert run.outside == 0
    np.testing.assert_array_equal(runs[0].points, runs[1].points)
    assert np.array_equal(runs[0].points, runs[2].points) == deterministic


@pytest.mark.parametrize("algorithm", module.ALGORITHMS)
def test_runs_of_a_study_end_by_their_budget_whatever_the_values_are(algorithm):
    for function in (sphere, fragile):
        outcome = run_task(NLopt(algorithm=algorithm), function).trajectory.outcome
        assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 60), (outcome.message, outcome.traceback)


@pytest.mark.parametrize("algorithm", module.ALGORITHMS)
def test_an_error_of_the_objective_is_the_outcome_and_ends_the_run_there(algorithm):
    outcome = run_task(NLopt(algorithm=algorithm), failing).trajectory.outcome
    assert (outcome.reason, outcome.evaluations) == (Reason.FAILED, 1)
    assert "OSError: the simulator is down" in outcome.message


@pytest.mark.parametrize("algorithm", sorted(set(module.ALGORITHMS) - {"GN_AGS"}))
def test_a_thousand_variables(algorithm):
    outcome = run_task(NLopt(algorithm=algorithm), dimension=1_000, budget=12).trajectory.outcome
    assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 12), outcome.message


def test_nothing_is_evaluated_after_the_stop():
    """GN_CRS2_LM goes on through its first population, 10 (d + 1) points."""
    calls = []

    def objective(x):
        calls.append(x)
        if len(calls) >= 5:
            raise Stop
        return sphere(x)

    Seen(objective, 20, 10_000).run(NLopt(algorithm="GN_CRS2_LM"))
    assert len(calls) == 5


@pytest.mark.parametrize("algorithm", ["LN_BOBYQA", "LN_NEWUOA"])
def test_the_limits_of_rounding_are_an_end_like_any_other(algorithm):
    """With no tolerance both end with `nlopt.RoundoffLimited`; then they start again, elsewhere."""
    once = Seen(rastrigin, 2, 5_000).run(NLopt(algorithm=algorithm, xtol_rel=0.0, restarts=False))
    assert not once.stopped
    assert 50 < len(once.points) < 1_000
    again = Seen(rastrigin, 2, 5_000).run(NLopt(algorithm=algorithm, xtol_rel=0.0))
    assert again.stopped
    n = len(once.points)
    np.testing.assert_array_equal(again.points[:n], once.points)
    assert np.linalg.norm(again.points[n] - again.points[n - 1]) > 0.1


@pytest.mark.parametrize("algorithm", sorted(module.CONSTRAINED))
def test_constraints_are_kept(algorithm):
    """The sphere's best point with x₀ >= 1 is (1, 0.7): 0.09. Each point's constraint comes with its value."""
    run = Seen(sphere, 2, 3_000, half_plane).run(NLopt(algorithm=algorithm))
    assert run.extra == 0
    tolerance = {"GN_ISRES": 0.05, "GN_AGS": 5e-3}.get(algorithm, 2e-3)
    assert 0.09 - 1e-5 <= run.best_feasible < 0.09 + tolerance


def test_without_constraints_in_the_algorithm_they_are_not_asked():
    run = Seen(sphere, 2, 300, half_plane).run(NLopt(algorithm="LN_BOBYQA"))
    assert run.extra == 0
    assert min(run.values) < 1e-12


def test_several_constraints():
    """x₀ >= 1 and x₁ <= 0.5: the best value is 0.3² + 0.2²."""
    both = lambda x: np.array([1.0 - x[0], x[1] - 0.5])  # noqa: E731
    for algorithm in ("LN_COBYLA", "GN_AGS", "GN_ORIG_DIRECT"):
        run = Seen(sphere, 2, 2_000, both).run(NLopt(algorithm=algorithm))
        assert 0.13 - 1e-5 <= run.best_feasible < 0.14, algorithm


def test_settings_take_effect():
    step = Seen(rastrigin, 2, 2).run(NLopt(algorithm="SBPLX", relative_step=0.01))
    assert np.abs(step.points[1] - step.points[0]).max() == pytest.approx(0.1, rel=1e-6)
    plain, other = (
        Seen(rastrigin, 2, 300).run(NLopt(algorithm="GN_MLSL", local=local)) for local in (None, "NELDERMEAD")
    )
    assert not np.array_equal(plain.points, other.points)
    counts = [
        len(Seen(rastrigin, 2, 3_000).run(NLopt(algorithm="NELDERMEAD", restarts=False, xtol_rel=tol)).points)
        for tol in (1e-2, 1e-10)
    ]
    assert counts[0] < counts[1]
    small = Seen(rastrigin, 3, 400).run(NLopt(algorithm="CRS2_LM", population_size=10))
    large = Seen(rastrigin, 3, 400).run(NLopt(algorithm="CRS2_LM"))
    assert not np.array_equal(small.points[:60], large.points[:60])


def test_it_recommends_the_best_point():
    run = Seen(rastrigin, 2, 200)
    run.run(NLopt())
    np.testing.assert_array_equal(run.recommended(), run.points[int(np.argmin(run.values))])


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: NLopt(algorithm="LN_BOBYQ"), ValueError, "did you mean 'LN_BOBYQA'"),
        (lambda: NLopt(algorithm="LD_LBFGS"), ValueError, "needs derivatives; choose from: .*LN_BOBYQA"),
        (lambda: NLopt(algorithm="LN_NEWUOA_BOUND"), ValueError, "minutes between two evaluations; use LN_BOBYQA"),
        (lambda: NLopt(algorithm="G_MLSL"), ValueError, "use GN_MLSL"),
        (lambda: NLopt(algorithm="GN_MLSL", local="GN_DIRECT"), ValueError, "local is 'GN_DIRECT'"),
        (lambda: NLopt(local="LN_COBYLA"), ValueError, "which LN_BOBYQA does not use.*GN_MLSL"),
        (lambda: NLopt(population_size=5), ValueError, "does not use.*GN_CRS2_LM"),
        (lambda: NLopt(xtol_rel=-1.0), ValueError, "xtol_rel is -1.0"),
        (lambda: NLopt(algorithm=3), TypeError, "algorithm is 3"),
        (lambda: NLopt(xtol=1.0), TypeError, "did you mean 'xtol_rel'"),
        (
            lambda: Seen(dimension=1).run(NLopt(algorithm="NEWUOA")),
            ValueError,
            "at least 2 variables; the problem has 1",
        ),
        (lambda: Seen(dimension=11).run(NLopt(algorithm="GN_AGS")), ValueError, "at most 10 variables"),
        (lambda: Seen(objectives=2).run(NLopt()), ValueError, "minimizes one objective; the problem has 2"),
    ],
)
def test_wrong_arguments_are_named(make, error, complaint):
    with pytest.raises(error, match=complaint):
        make()


def test_descriptions_come_back():
    for optimizer in (NLopt(), NLopt(algorithm="mlsl", local="bobyqa", population_size=3, restarts=False)):
        assert from_description(json.loads(json.dumps(describe(optimizer)))) == optimizer
    assert NLopt(algorithm="mlsl", local="bobyqa").name == "NLopt-GN_MLSL-local=LN_BOBYQA"
    assert describe(NLopt(algorithm="cobyla")) == {"optimizer": "nlopt", "algorithm": "LN_COBYLA"}

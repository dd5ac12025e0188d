"""nevergrad's optimizers, beside the package called directly."""

import json
import random
import re
import threading
import time
import warnings

import numpy as np
import pytest

from polarbear.optimizers import Nevergrad, describe, from_description
from polarbear.optimizers.adapters import nevergrad as module
from polarbear.records import Reason
from tests.optimizers.seen import (
    Seen,
    Stop,
    check_reproducible,
    failing,
    fragile,
    half_plane,
    run_task,
    sphere,
    two_spheres,
)

ng = pytest.importorskip("nevergrad")

FEW = (
    "CMA", "DE", "PSO", "OnePlusOne", "DiagonalCMA", "Cobyla", "TBPSA", "LognormalDiscreteOnePlusOne", "Portfolio",
    "CMAstd", "CMAsmall", "CMAbounded", "OpoDE", "AlmostRotationInvariantDE", "SplitDE",
)  # fmt: skip


def _slow_unless_one_of_few(algorithm):
    return pytest.param(algorithm, marks=() if algorithm in FEW else pytest.mark.slow)


def made(algorithm, **more):
    budget = 60 if algorithm in module.registry().needs_budget else None
    return Nevergrad(algorithm=algorithm, **({"budget": budget} | more))


@pytest.mark.parametrize("algorithm", ["CMA", "DE", "PSO", "OnePlusOne", "DiagonalCMA", "TBPSA", "TwoPointsDE", "SQP"])
def test_the_points_are_those_of_the_package(algorithm):
    rng, budget = np.random.default_rng(5), 60
    rng.integers(1, 2**31)  # for the global generators
    array = ng.p.Array(
        init=rng.uniform(np.full(3, -5.0), np.full(3, 5.0)), lower=np.full(3, -5.0), upper=np.full(3, 5.0)
    )
    array.random_state = np.random.RandomState(int(rng.integers(1, 2**31)))
    optimizer = ng.optimizers.registry[algorithm](parametrization=array, budget=budget)
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(points) < budget:
            candidate = optimizer.ask()
            points.append(np.array(candidate.value))
            optimizer.tell(candidate, sphere(points[-1]))
    ours = Seen(sphere, 3, len(points)).run(Nevergrad(algorithm=algorithm, budget=budget), seed=5)
    np.testing.assert_array_equal(ours.points, points)
    np.testing.assert_array_equal(ours.recommended(), optimizer.recommend().value)


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("algorithm", [_slow_unless_one_of_few(name) for name in module.registry().works])
def test_it_stops_at_the_budget_in_the_box_and_is_reproducible(algorithm, dimension):
    check_reproducible(made(algorithm), dimension, 70)


@pytest.mark.parametrize("algorithm", FEW)
def test_runs_of_a_study_end_by_their_budget_whatever_the_values_are(algorithm):
    for function in (sphere, fragile):
        outcome = run_task(made(algorithm), function).trajectory.outcome
        assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 60), (outcome.message, outcome.traceback)
    outcome = run_task(made(algorithm), failing).trajectory.outcome
    assert (outcome.reason, outcome.evaluations) == (Reason.FAILED, 1)
    assert "OSError: the simulator is down" in outcome.message


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", module.registry().works)
def test_all_bear_values_that_are_not_finite(algorithm):
    for function in (lambda x: np.inf, fragile):
        run = Seen(function, 2, 80).run(made(algorithm))
        assert (run.stopped, len(run.points)) == (True, 80)


@pytest.mark.parametrize("algorithm", ["DE", "PSO", "OnePlusOne", "DiagonalCMA", "Cobyla"])
def test_a_thousand_variables(algorithm):
    outcome = run_task(made(algorithm), dimension=1_000, budget=8).trajectory.outcome
    assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 8), outcome.message


def test_one_variable_leaves_the_package_as_it_was():
    """Its CMA-ES on one variable would ask for `fcmaes` from then on, whatever the dimension."""
    Seen(sphere, 1, 30).run(Nevergrad(algorithm="CMA"))
    optimizer = ng.optimizers.registry["CMA"](parametrization=3, budget=20)
    assert optimizer.ask().value.shape == (3,)


@pytest.mark.parametrize("budget", [None, 100])
@pytest.mark.parametrize("algorithm", ["Cobyla", "SQP", "Powell", "BFGS"])
def test_optimizers_of_other_packages_go_on_without_warnings(algorithm, budget):
    """They start anew inside nevergrad; SciPy's Cobyla warns of the budget that is left to it."""
    run = Seen(sphere, 2, 400).run(Nevergrad(algorithm=algorithm, budget=budget))
    assert (run.stopped, len(run.points)) == (True, 400)


def test_it_starts_again_after_its_budget():
    once = Seen(sphere, 2, 200).run(Nevergrad(algorithm="LHSSearch", budget=50, restarts=False))
    assert (once.stopped, len(once.points)) == (False, 50)
    again = Seen(sphere, 2, 200).run(Nevergrad(algorithm="LHSSearch", budget=50))
    assert (again.stopped, len(again.points)) == (True, 200)
    np.testing.assert_array_equal(again.points[:50], once.points)
    assert not np.array_equal(again.points[50:100], once.points)


def test_the_budget_takes_effect():
    runs = [Seen(sphere, 2, 20).run(Nevergrad(algorithm="HammersleySearch", budget=budget)) for budget in (20, 40)]
    assert not np.array_equal(runs[0].points, runs[1].points)


@pytest.mark.parametrize("mask", [[True, True, True], [True, False, True]])
@pytest.mark.parametrize("algorithm", ["OnePlusOne", "DE", "CMA", "PSO"])
def test_whole_variables_are_whole(algorithm, mask):
    mask = np.array(mask)
    run = Seen(sphere, 3, 100, integers=mask).run(Nevergrad(algorithm=algorithm))
    points = np.array(run.points)
    assert run.outside == 0
    np.testing.assert_array_equal(points[:, mask], np.rint(points[:, mask]))
    assert (points[:, ~mask] != np.rint(points[:, ~mask])).any() or mask.all()
    assert len(np.unique(points[:, 0])) > 2


def test_constraints_are_told():
    """The sphere's best value with x₀ >= 1 is 0.09; without being told, the search ends at 0."""
    run = Seen(sphere, 2, 800, half_plane).run(Nevergrad(algorithm="OnePlusOne"))
    assert run.extra == 0
    assert 0.09 - 1e-12 <= run.best_feasible < 0.12
    assert np.mean([half_plane(point)[0] <= 0 for point in run.points[-100:]]) > 0.2


def test_several_objectives_are_told():
    run = Seen(two_spheres, 2, 600, objectives=2).run(Nevergrad(algorithm="DE"))
    last = np.array(run.points[-100:])
    assert run.stopped
    assert np.median(np.abs(last[:, 0] - last[:, 1])) < 1.0
    assert np.median(np.abs(last).max(axis=1)) < 1.5


def test_the_global_generators_are_put_back():
    before, python = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002 - what nevergrad draws from
    Seen(sphere, 2, 60).run(Nevergrad(algorithm="LognormalDiscreteOnePlusOne"))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002 - the same
    assert random.getstate() == python


@pytest.mark.parametrize("algorithm", ["Cobyla", "ChainCMAPowell", "MultiCobyla"])
def test_no_thread_outlives_a_run(algorithm):
    before = threading.active_count()
    for budget in (5, 40):
        Seen(sphere, 3, budget).run(made(algorithm))
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_the_problem_s_warnings_are_shown():
    def warning(x):
        warnings.warn("the simulator is tired", UserWarning, stacklevel=1)
        return sphere(x)

    with pytest.warns(UserWarning, match="tired"):
        Seen(warning, 2, 3).run(Nevergrad())


def test_what_stops_it_passes():
    def stops(x):
        raise Stop

    assert Seen(stops, 2, 10).run(Nevergrad()).stopped


def test_those_said_to_fail_do_fail():
    """With NumPy 2.4, where they fit their model: on so many points as here."""
    if np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("an older NumPy converts arrays of one number")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("MetaModel", "NGOpt8"):
            optimizer = ng.optimizers.registry[name](parametrization=3, budget=60)
            with pytest.raises(TypeError, match="0-dimensional"):
                optimizer.minimize(sphere)


@pytest.mark.parametrize("algorithm", sorted(module.registry().needs_budget))
def test_those_said_to_need_a_budget_fail_without(algorithm):
    array = ng.p.Array(init=np.zeros(3), lower=np.full(3, -5.0), upper=np.full(3, 5.0))

    def run():
        optimizer = ng.optimizers.registry[algorithm](parametrization=array)
        for _ in range(60):
            candidate = optimizer.ask()
            optimizer.tell(candidate, sphere(candidate.value))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ArithmeticError, AssertionError, AttributeError, RuntimeError, TypeError, ValueError)):
            run()


def test_every_name_in_the_registry_works_or_has_a_reason():
    known = module.registry()
    if json.loads(module.NAMES.read_text())["nevergrad"] != ng.__version__:
        pytest.skip("the names are of another nevergrad")
    assert set(known.works).isdisjoint(known.left_out)
    assert set(known.works) | set(known.left_out) == set(ng.optimizers.registry)
    assert set(known.works) >= known.paired | known.needs_budget
    assert all(known.left_out.values())
    assert len(known.works) + sum(map(len, json.loads(module.NAMES.read_text())["left_out"].values())) == 542
    for name, reason in known.left_out.items():
        with pytest.raises(
            ValueError, match=f"algorithm is {re.escape(repr(name))}, which is not offered: {re.escape(reason)};"
        ):
            Nevergrad(algorithm=name, budget=100)
    assert all(Nevergrad(algorithm=name.lower(), budget=9).algorithm == name for name in known.works)


@pytest.mark.slow
def test_the_committed_names_are_as_their_script_finds_them():
    """A few, each in processes of its own; the script runs through all."""
    from benchmarks import nevergrad_names

    known = module.registry()
    for name in ("CMAsmall", "OnePlusOne", "HammersleySearch", "SMAC3"):
        found = nevergrad_names.verdict(name)
        assert found["reason"] == known.left_out.get(name, "")
        assert (found["paired"], found["needs_budget"]) == (name in known.paired, name in known.needs_budget) or found[
            "reason"
        ]
    for name in ("NGOpt", "MetaModel", "NgLn", "BAR4"):
        assert nevergrad_names.made_of(ng.optimizers.registry[name]) == known.left_out[name]
    assert not nevergrad_names.made_of(ng.optimizers.registry["ChainCMAPowell"])


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: Nevergrad(algorithm="OnePlusOn"), ValueError, "did you mean 'OnePlusOne'"),
        (
            lambda: Nevergrad(algorithm="NGOpt8"),
            ValueError,
            "not offered: chooses .* fail on NumPy 2.4;.* see polarbear",
        ),
        (
            lambda: Nevergrad(algorithm="rfmetamodel"),
            ValueError,
            "not offered: fits surrogate models",
        ),
        (lambda: Nevergrad(algorithm="SMAC3"), ValueError, "not offered: needs smac; 3"),
        (lambda: Nevergrad(algorithm=3), TypeError, "algorithm is 3"),
        (lambda: Nevergrad(algorithm="HammersleySearch"), ValueError, "budget is None; nevergrad's HammersleySearch"),
        (lambda: Nevergrad(budget=0), ValueError, "budget is 0"),
        (lambda: Nevergrad(budgt=3), TypeError, "did you mean 'budget'"),
    ],
)
def test_wrong_arguments_are_named(make, error, complaint):
    with pytest.raises(error, match=complaint):
        make()


def test_descriptions_come_back():
    for optimizer in (Nevergrad(), Nevergrad(algorithm="cma", budget=100, restarts=False)):
        assert from_description(json.loads(json.dumps(describe(optimizer)))) == optimizer
    assert Nevergrad(algorithm="cma", budget=100).name == "nevergrad-CMA-budget=100"

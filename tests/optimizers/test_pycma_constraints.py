"""Constraints by the augmented Lagrangian of `cma`: the points it evaluates itself, within the budget."""
# ruff: noqa: NPY002 - the package draws from NumPy's old generators

import warnings
from functools import partial

import numpy as np
import pytest

from polarbear.experiment import Limits, Task, execute
from polarbear.optimizers import GrowingBudgets, PyCMA
from polarbear.problems import COCOProblem
from polarbear.records import Reason, RunKey
from tests.optimizers.seen import STRANGE, Seen, Watcher, chance_of_pycma, half_plane, rugged, sphere

cma = pytest.importorskip("cma", reason="cma is not installed (extra cma)")


def fmin_con2_directly(function, constrain, seed, evaluations, lower, upper, **given):
    """`cma.fmin_con2` alone, which asks for constraints before the value; its chance is from the generator we use."""
    rng, problem = np.random.default_rng(seed), Watcher(lambda x: list(constrain(x)), evaluations, lower, upper)
    options = {"bounds": [list(lower), list(upper)], "CMA_stds": upper - lower, "seed": np.nan, "verbose": -10}
    with chance_of_pycma(rng) as normal, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options |= {"randn": normal.randn}
        start = partial(rng.uniform, lower, upper)
        cma.fmin_con2(function, start, 0.2, problem, options=options, restarts=9, **given)
    return np.array(problem.points)


@pytest.mark.parametrize("strategy", ["IPOP", "BIPOP"])
def test_with_constraints_pycma_evaluates_the_points_of_fmin_con2(strategy, tmp_path, monkeypatch, capfd):
    """To the bit, over several restarts; each point is one evaluation, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    run = Seen(rugged, 3, 4_000, half_plane).run(PyCMA(restart_strategy=strategy), 3)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    expected = fmin_con2_directly(rugged, half_plane, 3, 4_000, run.lower, run.upper, bipop=strategy == "BIPOP")
    np.testing.assert_array_equal(run.points, expected)
    assert (run.stopped, len(run.points), run.extra, run.outside) == (True, 4_000, 0, 0)
    assert run.exposed["population_size"]() != 7


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_pycma_finds_the_best_feasible_point(dimension):
    """The sphere around 0.7 with x0 >= 1: the best value is 0.09. The mean is recommended."""
    run = Seen(sphere, dimension, 10**5, half_plane).run(PyCMA(restart_strategy="STOP"))
    assert not run.stopped
    assert run.best_feasible == pytest.approx(0.09, abs=1e-5)
    np.testing.assert_allclose(run.recommended(), [1.0] + [0.7] * (dimension - 1), atol=1e-4)


@pytest.mark.parametrize("seed", [1, 2])
def test_pycma_solves_problems_of_bbob_constrained(seed):
    """The sphere with 1 and with 3 constraints, in 3 variables: judged by value and violation, it is nearly solved."""
    pytest.importorskip("cocoex")
    for function in (1, 2):
        problem = COCOProblem("bbob-constrained", function, seed, 3)
        run = execute(Task(RunKey(problem.name, "pycma", seed), problem, PyCMA(), Limits(evaluations=3_000)))
        assert (run.outcome.reason, run.outcome.evaluations) == (Reason.BUDGET, 3_000), run.outcome.traceback
        assert 0 <= run.trajectory.best - run.optimum < 1e-3


CONSTRAINTS = {
    "infinite": lambda x: np.array([np.inf if x[0] < 1 else -1.0]),
    "never": lambda x: np.array([1.0]),
    "always": lambda x: np.array([-1.0, -2.0]),
    "huge": lambda x: np.array([1e200 * (1 - x[0])]),
    "narrow": lambda x: np.array([1 - x[0], x.sum() - 1 - 1e-3]),
}


@pytest.mark.parametrize("constrain", CONSTRAINTS.values(), ids=CONSTRAINTS)
@pytest.mark.parametrize("optimizer", [PyCMA(), PyCMA(noise_handling=True, noise_evaluations=3)], ids=lambda x: x.name)
def test_strange_values_and_constraints_end_no_run_and_it_is_reproducible(optimizer, constrain):
    for name, function in STRANGE.items():
        told = (lambda x: np.inf if x[0] > 0 else float(x @ x)) if name == "nan" else function
        runs = [Seen(told, 2, 200, constrain).run(optimizer, 4) for _ in range(2)]
        assert (runs[0].stopped, len(runs[0].points), runs[0].extra, runs[0].outside) == (True, 200, 0, 0), name
        np.testing.assert_array_equal(runs[0].points, runs[1].points)


def test_the_objective_and_its_constraints_draw_and_warn_as_before():
    np.random.seed(3)
    draws, warned = [], []

    def drawing(x):
        draws.append(np.random.normal())
        warned.append(np.geterr())
        return half_plane(x)

    Seen(sphere, 3, 300, drawing).run(PyCMA())
    np.random.seed(3)
    np.testing.assert_array_equal(draws, [np.random.normal() for _ in draws])
    assert all(each == np.geterr() for each in warned)


def test_shares_of_a_budget_count_a_point_with_its_constraints_once():
    run = Seen(sphere, 2, 150, half_plane).run(GrowingBudgets(PyCMA(), argument="population_size", first=10))
    assert (len(run.points), run.extra) == (150, 0)

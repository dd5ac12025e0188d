"""By ask and tell an optimizer evaluates the points that it evaluates in a run; what the modular CMA-ES exposes."""

import functools
import gc
import itertools
import weakref

import numpy as np
import pytest

from polarbear import optimizers
from polarbear.experiment import Limits, execute
from polarbear.experiment.run import Task
from polarbear.optimizers.adapters.cma import PyCMA
from polarbear.optimizers.adapters.modcma import OPTIONS, ModularCMAES
from polarbear.optimizers.adapters.modde import ModularDE
from polarbear.optimizers.ask_tell import AskTell
from polarbear.problems import FunctionProblem, Traits
from polarbear.records import RunKey
from tests.optimizers.seen import LOWER, UPPER, Watcher

pytest.importorskip("greenlet", reason="greenlet is not installed (extra asktell)")

pytestmark = pytest.mark.filterwarnings("ignore:step_size_adaptation is '(PSR|SA)':UserWarning")

# In the others modcma 1.2.0 reads foreign memory.
REPEATABLE = tuple(sorted(set(OPTIONS["step_size_adaptation"]) - {"PSR", "SA"}))


def rugged(x):
    u = (x - LOWER) / (UPPER - LOWER)
    return float(np.sum((u - 0.4) ** 2) + 0.3 * np.sum(1 - np.cos(9 * u)))


def batches(problem, rng):
    while True:
        values = problem(rng.uniform(problem.lower, problem.upper, size=(4, problem.dimension)))
        problem(np.full(problem.dimension, values.min()))


def recorded(optimizer, evaluations):
    """The points of a run through the recorder."""
    points = []

    def function(x):
        points.append(np.array(x))
        return rugged(x)

    problem = FunctionProblem(function, LOWER, UPPER, name="rugged-d3")
    key = RunKey(optimizer.name, problem.name, 4)
    run = execute(Task(key, problem, optimizer, Limits(evaluations=evaluations)))
    assert run.outcome.evaluations == evaluations
    return np.array(points), key


@pytest.mark.parametrize(
    "optimizer",
    [
        *(ModularCMAES.anytime(matrix_adaptation=matrix) for matrix in OPTIONS["matrix_adaptation"]),
        *(ModularCMAES.anytime(step_size_adaptation=ssa) for ssa in REPEATABLE),
        ModularDE.variant("L-SHADE", budget=500),
        PyCMA(restart_strategy="BIPOP"),
        optimizers.ScipyMinimize("Nelder-Mead"),
        optimizers.ScipyDifferentialEvolution(),
        optimizers.FunctionOptimizer(batches),
    ],
    ids=lambda optimizer: optimizer.name,
)
def test_it_asks_for_the_points_of_a_recorded_run(optimizer):
    """To the bit, although others draw from NumPy's global state and NumPy's error handling differs meanwhile."""
    expected, key = recorded(optimizer, 1_500)
    points = []
    with AskTell(optimizer, LOWER, UPPER, key.generator()) as search:
        while len(points) < 1_500:
            asked = search.ask()
            np.testing.assert_array_equal(search.ask(), asked)
            np.random.normal()  # noqa: NPY002
            points += list(np.atleast_2d(asked))
            with np.errstate(all="raise"):
                search.tell(rugged(asked) if asked.ndim == 1 else [rugged(x) for x in asked])
            assert search.evaluations == len(points)
    np.testing.assert_array_equal(points[:1_500], expected)


def test_modular_cmaes_has_it_built_in():
    optimizer = ModularCMAES.anytime()
    expected, key = recorded(optimizer, 300)
    search = optimizer.ask_tell(LOWER, UPPER, key.generator())
    points = []
    for _ in range(300):
        points.append(search.ask())
        search.tell(rugged(points[-1]))
    np.testing.assert_array_equal(points, expected)
    from_center = np.linalg.norm((search.recommendation - (LOWER + UPPER) / 2) / (UPPER - LOWER))
    assert search.parameters["mean_distance"] == pytest.approx(from_center)
    assert search.parameters["population_size"] == 7
    assert 0 < search.parameters["step_size"] < 0.2


class Tidy:
    """An optimizer that notes how it ends, and holds something that can be watched."""

    name = "tidy"

    def __init__(self):
        self.ended = []

    def __call__(self, problem, rng):
        held = np.zeros(3)
        self.watched = weakref.ref(held)
        try:
            while True:
                problem(held)
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        finally:
            self.ended.append("finally")


@pytest.mark.parametrize("how", ["close", "drop", "with"])
def test_it_cleans_up_when_it_is_closed_or_dropped(how):
    tidy = Tidy()
    search = AskTell(tidy, LOWER, UPPER, np.random.default_rng())
    search.tell(search.ask()[0])
    assert not search.done
    if how == "with":
        with search:
            pass
    elif how == "close":
        search.close()
        search.close()
    if how == "drop":
        del search
    else:
        assert search.done
        with pytest.raises(RuntimeError, match="has ended"):
            search.ask()
        with pytest.raises(RuntimeError, match="call ask"):
            search.tell(1.0)
    gc.collect()
    assert tidy.ended == ["GreenletExit", "finally"]
    assert tidy.watched() is None


def test_a_search_never_begun_ends_as_well():
    tidy = Tidy()
    search = AskTell(tidy, LOWER, UPPER, np.random.default_rng())
    assert not search.done
    search.close()
    assert search.done
    assert tidy.ended == []


def test_dropping_modular_cmaes_in_the_middle_leaves_the_next_run_as_it_is():
    optimizer = ModularCMAES.anytime()
    expected, _ = recorded(optimizer, 200)
    for cut in range(1, 30):
        search = optimizer.ask_tell(LOWER, UPPER, np.random.default_rng(cut))
        for _ in range(cut):
            search.tell(rugged(search.ask()))
        del search
    np.testing.assert_array_equal(recorded(optimizer, 200)[0], expected)


def test_what_optimizers_raise_comes_out_and_ends_it():
    def failing(problem, rng):
        problem(problem.lower)
        raise ArithmeticError("lost")

    search = AskTell(optimizers.as_optimizer(failing), LOWER, UPPER, np.random.default_rng())
    np.testing.assert_array_equal(search.ask(), LOWER)
    with pytest.raises(ArithmeticError, match="lost"):
        search.tell(1.0)
    assert search.done


def test_an_optimizer_that_returns_is_done():
    stop = ModularCMAES(restart_strategy="STOP")
    search = stop.ask_tell(LOWER, UPPER, np.random.default_rng(1))
    while not search.done:
        search.tell(float(np.sum((search.ask() - LOWER) ** 2)))
        assert search.evaluations < 20_000
    assert search.evaluations > 100


def test_nan_is_told_as_infinity_and_points_are_copies():
    told = []

    def keeping(problem, rng):
        x = np.zeros(3)
        while True:
            told.append(problem(x))
            x += 1

    search = AskTell(optimizers.as_optimizer(keeping), LOWER, UPPER, np.random.default_rng())
    first = search.ask()
    search.tell(float("nan"))
    np.testing.assert_array_equal(first, np.zeros(3))
    first += 5
    np.testing.assert_array_equal(search.ask(), np.ones(3))
    search.tell(2)
    assert told == [np.inf, 2.0]
    assert all(type(value) is float for value in told)


def test_shapes_are_checked():
    search = AskTell(optimizers.FunctionOptimizer(batches), LOWER, UPPER, np.random.default_rng())
    assert search.ask().shape == (4, 3)
    with pytest.raises(ValueError, match=r"the value has shape \(\); to match the points from ask, it must be \(4,\)"):
        search.tell(1.0)
    search.tell(np.zeros(4))
    with pytest.raises(ValueError, match=r"shape \(1,\); to match the points from ask, it must be \(\)"):
        search.tell([1.0])
    several = AskTell(
        optimizers.FunctionOptimizer(batches), LOWER, UPPER, np.random.default_rng(), traits=Traits(objectives=2)
    )
    several.ask()
    several.tell(np.zeros((4, 2)))
    assert several.evaluations == 4
    for lower, upper in (([0.0], [np.inf]), ([1.0], [1.0]), (0.0, 1.0)):
        with pytest.raises(ValueError, match="upper is"):
            AskTell(optimizers.RandomSearch(), lower, upper, np.random.default_rng())


def test_one_search_inside_another():
    """The objective of one is itself a search."""
    alone = AskTell(optimizers.ScipyMinimize(), [-1.0], [1.0], np.random.default_rng(0))
    outer = AskTell(optimizers.ScipyMinimize(), [-1.0], [1.0], np.random.default_rng(0))

    def inner(problem, rng):
        while True:
            outer.tell(problem(outer.ask()))

    search = AskTell(optimizers.as_optimizer(inner), [-1.0], [1.0], np.random.default_rng(0))
    for _ in range(50):
        point = search.ask()
        np.testing.assert_array_equal(point, alone.ask())
        for each in (search, alone):
            each.tell(float(point @ point))


# -- what the modular CMA-ES exposes -------------------------------------------------------------------------------


@pytest.mark.parametrize("matrix", OPTIONS["matrix_adaptation"])
@pytest.mark.parametrize("step_size", ["CSA", "TPA"])
def test_what_it_exposes_is_modcma_s_state(matrix, step_size, monkeypatch):
    """Eigenvalues against the steps that modcma itself makes of the unit vectors."""
    from modcma import c_maes

    made = []

    class Spied(c_maes.ModularCMAES):
        def __init__(self, settings):
            super().__init__(settings)
            made.append(self)

    monkeypatch.setattr(c_maes, "ModularCMAES", Spied)
    checked = []

    def function(x):
        state, shown = made[0].p, {name: getter() for name, getter in problem.getters.items()}
        root = np.array([state.adaptation.compute_y(axis) for axis in np.eye(3)]).T
        broken = not np.isfinite(root).all()
        eigenvalues = np.full(3, np.nan) if broken else np.linalg.svd(root, compute_uv=False) ** 2
        near = functools.partial(pytest.approx, nan_ok=broken)
        np.testing.assert_equal(shown["step_size"], state.mutation.sigma)
        assert shown["population_size"] == state.lamb
        assert shown["largest_eigenvalue"] == near(eigenvalues[0])
        assert shown["smallest_eigenvalue"] == near(eigenvalues[-1])
        with np.errstate(divide="ignore"):  # rounding can make the smallest zero, on some processors
            assert shown["condition_number"] == near(eigenvalues[0] / eigenvalues[-1])
        assert shown["ps_norm"] == near(np.linalg.norm(state.adaptation.ps))
        assert ("pc_norm" in shown) == hasattr(state.adaptation, "pc")
        if "pc_norm" in shown:
            assert shown["pc_norm"] == pytest.approx(np.linalg.norm(state.adaptation.pc))
        mean = state.adaptation.m * (UPPER - LOWER)
        center = (LOWER + UPPER) / 2
        assert shown["mean_distance"] == pytest.approx(np.linalg.norm((mean - center) / (UPPER - LOWER)))
        np.testing.assert_array_equal(problem.recommended(), np.clip(mean, LOWER, UPPER))
        checked.append((state.lamb, shown["condition_number"]))
        return rugged(x)

    problem = Watcher(function, 1_500)
    with pytest.raises(KeyboardInterrupt):
        ModularCMAES.anytime(matrix_adaptation=matrix, step_size_adaptation=step_size)(
            problem, np.random.default_rng(2)
        )
    assert len(checked) == 1_500
    assert len({population for population, _ in checked}) > 1, "no restart was seen"
    assert matrix == "NONE" or max(condition for _, condition in checked) > 1.5


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")  # PSR takes foreign numbers
@pytest.mark.parametrize(
    ("matrix", "step_size"), list(itertools.product(OPTIONS["matrix_adaptation"], OPTIONS["step_size_adaptation"]))
)
def test_every_pair_of_adaptations_runs_and_is_reproducible(matrix, step_size):
    """The eight matrix adaptations of table 2 of Wurth et al. (2026) with all step-size adaptations."""
    optimizer = ModularCMAES.anytime(matrix_adaptation=matrix, step_size_adaptation=step_size)
    values = [[], []]
    for kept in values:

        def bowl(x, kept=kept):
            kept.append(float(np.sum(((x - LOWER) / (UPPER - LOWER) - 0.4) ** 2)))
            return kept[-1]

        with pytest.raises(KeyboardInterrupt):
            optimizer(Watcher(bowl, 1_000), np.random.default_rng(5))
    assert len(values[0]) == 1_000
    if step_size in REPEATABLE:
        assert values[0] == values[1]

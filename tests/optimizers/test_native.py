"""Ask and tell: stepped by hand, driven, kept, restored in another process, and handed on."""

import sys
from dataclasses import dataclass

import cloudpickle
import numpy as np
import pytest

import polarbear as pb
from polarbear.conformance.repetition import call_elsewhere
from polarbear.optimizers import (
    CMAES,
    ModularCMAES,
    ModularDE,
    Nevergrad,
    PyCMA,
    Pymoo,
    QuasiRandomSearch,
    RandomSearch,
    Space,
    as_ask_tell,
    drive,
)
from polarbear.optimizers.adapters.pymoo import UNSAVABLE
from polarbear.protocols import AskTellOptimizer, Observable, Resumable, Traits, Transferable
from tests.optimizers.seen import Seen, Stop, half_plane, rugged, sphere, two_spheres

cloudpickle.register_pickle_by_value(sys.modules[__name__])

PLAIN = Traits()
WHOLE = Traits(integers=np.array([True, False, True]))
CONSTRAINED = Traits(constraints=1)
TWO = Traits(objectives=2)

RUNS = [
    *((optimizer, PLAIN) for optimizer in (
        RandomSearch(), QuasiRandomSearch(), QuasiRandomSearch(sequence="HALTON"), QuasiRandomSearch(sequence="LHS"),
        CMAES(), CMAES(separable=True), CMAES(learning_rate_adaptation=True), CMAES(restart_strategy="BIPOP"),
        PyCMA(), PyCMA(restart_strategy="BIPOP"), PyCMA(noise_handling=True, noise_evaluations=4),
        PyCMA(options={"CMA_mirrors": 0.3, "CMA_mirrormethod": 1, "eval_final_mean": True, "CMA_elitist": "initial"}),
        ModularDE(), ModularDE.variant("L-SHADE", budget=200), ModularDE(base_sampler="SOBOL", budget=100),
        ModularDE(oppositional_generation_probability=0.5, budget=150),
        *(Nevergrad(algorithm=name) for name in ("OnePlusOne", "CMA", "DE", "LognormalDiscreteOnePlusOne", "TBPSA")),
        Nevergrad(algorithm="PSO", budget=60),
        *(Pymoo(algorithm=name, population_size=10) for name in ("GA", "DE", "PSO", "ES", "ISRES", "EPPSO", "NicheGA")),
    )),
    *((optimizer, WHOLE) for optimizer in (CMAES(), PyCMA(), Nevergrad(algorithm="DE"), Pymoo(population_size=10))),
    *((optimizer, CONSTRAINED) for optimizer in (
        PyCMA(), PyCMA(noise_handling=True), Nevergrad(algorithm="CMA"), Pymoo(population_size=10), CMAES())),
    *((optimizer, TWO) for optimizer in (
        RandomSearch(), QuasiRandomSearch(), Nevergrad(algorithm="DE"),
        *(Pymoo(algorithm=name, population_size=12) for name in ("NSGA2", "NSGA3", "SMSEMOA", "NSDE")))),
]  # fmt: skip
"""Optimizers that can be kept, with what they are tried on."""

every = pytest.mark.parametrize(
    ("optimizer", "traits"), RUNS, ids=[f"{one.name}-{i}" for i, (one, _) in enumerate(RUNS)]
)


def space(traits):
    return Space([-5.0, -5.0, -5.0], [5.0, 5.0, 5.0], traits)


def told(optimizer, traits, points):
    """What is to be told of points: values, and constraints where they are wanted."""
    function = two_spheres if traits.objectives == 2 else rugged
    answers = (
        (function, half_plane) if traits.constraints and getattr(optimizer, "takes_constraints", False) else (function,)
    )
    if points.ndim == 1:
        return [answer(points) for answer in answers]
    return [np.array([answer(x) for x in points]) for answer in answers]


def stepped(optimizer, traits, state, evaluations):
    """Drive a state by hand until so many points were told: the points, and the state."""
    points = []
    while len(points) < evaluations:
        asked, state = optimizer.ask(state)
        points += list(np.array(asked, ndmin=2))
        state = optimizer.tell(state, asked, *told(optimizer, traits, asked))
    return np.array(points), state


def gone_on(optimizer, traits, saved, evaluations):
    """In another process: a state is restored and gone on from."""
    return stepped(optimizer, traits, optimizer.restore(saved), evaluations)[0]


@every
def test_a_run_kept_and_restored_in_another_process_is_the_unbroken_run(optimizer, traits):
    """To the bit, over restarts; keeping a state leaves it as it is."""
    assert isinstance(optimizer, Resumable)
    whole, _ = stepped(optimizer, traits, optimizer.init(space(traits), np.random.default_rng(3)), 400)
    first, state = stepped(optimizer, traits, optimizer.init(space(traits), np.random.default_rng(3)), 130)
    saved = optimizer.save(state)
    again = call_elsewhere(120, gone_on, optimizer, traits, saved, 400 - len(first))
    unbroken = stepped(optimizer, traits, state, 400 - len(first))[0]
    for rest in (again, unbroken):
        joined = np.concatenate([first, rest])
        np.testing.assert_array_equal(joined[:400], whole[:400])


@every
def test_stepped_by_hand_it_evaluates_the_points_of_a_driven_run(optimizer, traits):
    """And reads the same from its state; drawing from NumPy's global generator in between changes nothing."""
    constrain = half_plane if traits.constraints else None
    function = two_spheres if traits.objectives == 2 else rugged
    run = Seen(function, 3, 260, constrain, traits.integers, traits.objectives).run(optimizer, 3)
    state = optimizer.init(space(traits), np.random.default_rng(3))
    points = []
    while len(points) < 260:
        asked, state = optimizer.ask(state)
        assert optimizer.ask(state)[0] is asked
        points += list(np.array(asked, ndmin=2))
        np.random.normal()  # noqa: NPY002 - as an objective might
        if len(points) <= 260:
            answers = [np.array(answer).tolist() for answer in told(optimizer, traits, asked)]
            state = optimizer.tell(state, asked.tolist(), *answers)
    np.testing.assert_array_equal(points[:260], run.points)
    for name, reader in (optimizer.diagnostics(state) if isinstance(optimizer, Observable) else {}).items():
        np.testing.assert_equal(float(reader(state)), run.exposed[name]())
    if hasattr(optimizer, "recommendation"):
        np.testing.assert_array_equal(optimizer.recommendation(state), run.recommended())


@pytest.mark.parametrize(
    "optimizer",
    [*(Pymoo(algorithm=name) for name in sorted(UNSAVABLE - {"MOEAD"})), Nevergrad(algorithm="Cobyla")],
    ids=lambda optimizer: optimizer.name,
)
def test_what_cannot_be_kept_is_refused(optimizer):
    """Generators and threads."""
    _, state = stepped(optimizer, PLAIN, optimizer.init(space(PLAIN), np.random.default_rng(1)), 150)
    with pytest.raises(TypeError, match=rf"a state of {optimizer.name} cannot be saved: "):
        optimizer.save(state)


# -- what is told ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", [RandomSearch(), CMAES(), PyCMA(), Pymoo(), ModularDE(), Nevergrad()])
def test_wrong_tells_are_named_and_change_nothing(optimizer):
    state = optimizer.init(space(PLAIN), np.random.default_rng(2))
    with pytest.raises(RuntimeError, match=r"call ask\(state\) before tell"):
        optimizer.tell(state, np.zeros(3), 1.0)
    asked, state = optimizer.ask(state)
    values, shape = np.zeros(asked.shape[:-1]), rf"\({''.join(f'{m},' for m in asked.shape[:-1])}\)"
    for wrong in (np.zeros((2, 2)), [1.0, 2.0]):
        with pytest.raises(
            ValueError, match=rf"values have shape .*; to match the points from ask, it must be {shape}"
        ):
            optimizer.tell(state, asked, wrong)
    missing = values + np.nan
    with pytest.raises(ValueError, match=r"values are NaN.*; use \+inf where there is no value"):
        optimizer.tell(state, asked, missing if missing.ndim else float(missing))
    with pytest.raises(ValueError, match=r"points of shape .* are not those that ask returned"):
        optimizer.tell(state, asked + 1, values)
    assert state.evaluations == 0
    optimizer.tell(state, asked, values)
    assert state.evaluations == max(1, values.size)


def test_constraints_are_asked_for():
    optimizer = PyCMA()
    asked, state = optimizer.ask(optimizer.init(space(CONSTRAINED), np.random.default_rng(2)))
    with pytest.raises(ValueError, match="the problem has 1 constraint; pass the values to tell as `constraints`"):
        optimizer.tell(state, asked, np.zeros(len(asked)))
    with pytest.raises(
        ValueError, match=r"the constraints have shape \(7,\); to match the points from ask, it must be \(7, 1\)"
    ):
        optimizer.tell(state, asked, np.zeros(7), np.zeros(7))


def test_a_run_that_has_ended_asks_for_nothing():
    for optimizer in (CMAES(restart_strategy="STOP"), PyCMA(restart_strategy="STOP"), Pymoo(restarts=False)):
        state = optimizer.init(space(PLAIN), np.random.default_rng(2))
        while len((asked := optimizer.ask(state))[0]):
            state = optimizer.tell(state, asked[0], *told(optimizer, PLAIN, asked[0]))
        assert asked[0].shape == (0, 3)
        assert 100 < state.evaluations < 20_000
        assert state.ended


@pytest.mark.parametrize("ends", [([0.0], [np.inf]), ([1.0], [1.0]), (0.0, 1.0), ([0.0, 1.0], [2.0, 0.5])])
def test_a_space_is_a_finite_box(ends):
    with pytest.raises(ValueError, match=r"lower is .* and upper is"):
        Space(*ends)


# -- what is handed on -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "optimizer",
    [CMAES(), CMAES(separable=True), PyCMA(), PyCMA(options={"CMA_diagonal": True}), ModularCMAES.anytime(),
     ModularCMAES(matrix_adaptation="SEP")],
    ids=lambda optimizer: optimizer.name,
)  # fmt: skip
def test_a_search_distribution_is_handed_on_in_the_problem_s_coordinates(optimizer):
    """Points drawn from N(m, σ²C) are distributed as those of the next generations, in a box of unequal sides.

    Compared are standard deviations of 2,000 drawn points of one generation; 15% are some 9 standard errors.
    """
    width, stepper = np.array([1.0, 20.0]), as_ask_tell(optimizer)
    state = stepper.init(Space(-width / 2, width / 2), np.random.default_rng(4))
    for _ in range(120):
        asked, state = stepper.ask(state)
        values = [float(np.sum(np.array([1, 9]) * (x / width - 0.1) ** 2)) for x in np.array(asked, ndmin=2)]
        state = stepper.tell(state, asked, values if asked.ndim == 2 else values[0])
    assert isinstance(stepper, Transferable)
    found = stepper.warm_start(state)
    spread = found.step_size * np.sqrt(np.diag(found.covariance))
    assert found.mean.shape == (2,)
    assert found.evaluations >= 120
    assert (found.value, found.best.shape) == (pytest.approx(min(found.value, 1.0)), (2,))
    np.testing.assert_allclose(found.covariance, found.covariance.T)
    if isinstance(optimizer, PyCMA):
        np.testing.assert_allclose(spread, state.es.stds[:2], rtol=1e-6)
    elif isinstance(optimizer, CMAES):
        drawn = np.array([state.strategy.ask() for _ in range(2_000)]) * width
        np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.15)
    else:
        points = []
        while len(points) < 7:
            asked, state = stepper.ask(state)
            points.append(asked)
            state = stepper.tell(state, asked, 1.0)
        assert (np.abs(points - found.mean) < 6 * spread).all()
        assert (np.abs(points - found.mean) > spread / 20).any(axis=0).all()


@pytest.mark.parametrize(("optimizer", "traits"), [
    (ModularDE(population_size=12), PLAIN), (Pymoo(population_size=12), PLAIN),
    (Pymoo(algorithm="NSGA2", population_size=12), TWO),
], ids=["de", "ga", "nsga2"])  # fmt: skip
def test_a_population_is_handed_on_with_its_values(optimizer, traits):
    state = optimizer.init(space(traits), np.random.default_rng(4))
    assert optimizer.warm_start(state).population is None
    points, state = stepped(optimizer, traits, state, 60)
    found = optimizer.warm_start(state)
    assert found.population.shape == (12, 3)
    function = two_spheres if traits.objectives == 2 else rugged
    np.testing.assert_allclose(found.values, [function(x) for x in found.population])
    evaluated = {tuple(np.round(x, 9)) for x in points}
    assert {tuple(np.round(x, 9)) for x in found.population} <= evaluated
    if traits is PLAIN:
        values = [rugged(x) for x in points]
        np.testing.assert_array_equal(found.best, points[int(np.argmin(values))])
        assert found.value == min(values)
    else:
        assert found.best is None


def test_a_population_is_handed_on_only_with_values():
    """pymoo's CMA-ES holds the generation to evaluate next in place of the last one."""
    optimizer = Pymoo(algorithm="CMAES")
    state = optimizer.init(space(PLAIN), np.random.default_rng(4))
    points, state = stepped(optimizer, PLAIN, state, 120)
    start = optimizer.warm_start(state)
    assert (start.population, start.values) == (None, None)
    assert start.value == min(rugged(x) for x in points) == rugged(start.best)


# -- a user's own ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Climber:
    """A (1, λ) evolution strategy with a value for a state."""

    offspring: int = 5
    name: str = "climber"

    def init(self, problem, rng):
        center = (problem.lower + problem.upper) / 2
        return center, problem.upper - problem.lower, rng, 0.3

    def ask(self, state):
        center, width, rng, step = state
        points = center + step * width * rng.normal(size=(self.offspring, len(center)))
        return np.clip(points, center - width, center + width), state

    def tell(self, state, points, values):
        _, width, rng, step = state
        return points[int(np.argmin(values))], width, rng, step * 0.97

    def diagnostics(self, state):
        return {"step": lambda state: state[3]}


def test_a_user_s_own_is_driven_watched_and_recommends_the_best_point():
    run = Seen(sphere, 3, 200)
    with pytest.raises(Stop):
        drive(Climber(), run, np.random.default_rng(1))
    assert len(run.points) == 200
    told_of = run.points[: 200 // 5 * 5]
    np.testing.assert_array_equal(run.recommended(), told_of[int(np.argmin([sphere(x) for x in told_of]))])
    assert run.exposed["step"]() == pytest.approx(0.3 * 0.97**39, rel=0.04)
    assert isinstance(Climber(), AskTellOptimizer)
    assert isinstance(Climber(), pb.optimizers.Optimizer)
    assert pb.optimizers.as_optimizer(Climber()) == Climber()


def test_a_user_s_own_is_raced_in_a_study_with_two_workers(tmp_path):
    """Beside one of ours; the study is the one that one worker makes."""
    problems = [pb.problems.FunctionProblem(sphere, -5.0, 5.0, 2, name=f"sphere-{i}-d2") for i in range(3)]
    best = []
    for workers in (1, 2):
        race = pb.Race([Climber(), RandomSearch(), Climber(offspring=9, name="more")], times=[20, 60, 100], seed=1)
        path = tmp_path / f"{workers}.study"
        pb.study.race(race, problems, path=path, workers=workers)
        runs = sorted(pb.store.read(path), key=lambda run: str(run.key))
        assert {run.key.algorithm for run in runs} == {"climber", "RandomSearch", "more"}
        assert all(run.outcome.ok and run.outcome.evaluations == 100 for run in runs)
        best.append([run.trajectory.best for run in runs])
    assert best[0] == best[1]


def test_a_user_s_own_depends_on_a_growing_budget():
    family = pb.optimizers.GrowingBudgets(Climber(), argument="offspring", first=4)
    run = Seen(sphere, 2, 100).run(family)
    assert len(run.points) == 100


def test_one_that_asks_for_a_point_is_evaluated_at_a_point():
    shapes = []

    class One(Climber):
        def ask(self, state):
            return super().ask(state)[0][0], state

        def tell(self, state, points, values):
            assert type(values) is float
            return super().tell(state, [points], [values])

    class Noted(Seen):
        def __call__(self, x):
            shapes.append(np.shape(x))
            return super().__call__(x)

    with pytest.raises(Stop):
        drive(One(), Noted(sphere, 3, 20), np.random.default_rng(1))
    assert set(shapes) == {(3,)}


def test_nan_is_told_as_infinity_whatever_the_problem():
    kept = []

    class Keeping(Climber):
        def tell(self, state, points, values):
            kept.append(values)
            return super().tell(state, points, values)

    with pytest.raises(Stop):
        drive(Keeping(), Seen(lambda x: np.nan if x[0] > 0 else sphere(x), 2, 50), np.random.default_rng(1))
    kept = np.array(kept)
    assert np.isinf(kept).any()
    assert not np.isnan(kept).any()


@pytest.mark.parametrize(("method", "answer", "complaint"), [
    ("ask", lambda self, state: np.zeros((2, 3)), r"ask of climber returned ndarray; it must return \(points, state\)"),
    ("tell", lambda self, state, points, values: None, "tell of climber returned None; it must return the state"),
])  # fmt: skip
def test_what_a_user_forgets_to_return_is_named(method, answer, complaint):
    wrong = type("Wrong", (Climber,), {method: answer})
    with pytest.raises(TypeError, match=complaint):
        drive(wrong(), Seen(sphere, 3, 20), np.random.default_rng(1))


def test_what_is_missing_of_an_optimizer_is_named():
    class Half:
        def ask(self, state):
            return np.zeros((0, 2)), state

    with pytest.raises(TypeError, match="Half has `ask`, but no name and no init and no tell"):
        pb.optimizers.as_optimizer(Half())

    class Deferred(Climber):
        async def ask(self, state):
            return None

    with pytest.raises(TypeError, match="async function, so calling it runs none of its code"):
        pb.optimizers.as_optimizer(Deferred())

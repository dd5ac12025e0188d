"""An ask-and-tell CMA-ES with an exchangeable selection stage."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, cast

import numpy as np

from polarbear.optimizers.distributions import Distributed, Distribution, axes_of
from polarbear.optimizers.native import SingleObjective, Space, State
from polarbear.optimizers.noisy.adaptation import (
    PopulationSizeAdaptation,
    ReevaluationAdaptation,
    default_population,
)
from polarbear.optimizers.noisy.averages import Average
from polarbear.optimizers.noisy.selection import AnySelection, Generation, IntArray, Ranks
from polarbear.optimizers.noisy.strategy import Parameters, Search
from polarbear.optimizers.restarts import Restarts, Strategy
from polarbear.optimizers.settings import Size, family
from polarbear.optimizers.transfer import distribution_of
from polarbear.protocols import WarmStart
from polarbear.records import FloatArray
from polarbear.validation import Flag, real, whole

SMALLEST = 1e-12
"""Restart once every standard deviation is below this fraction of the initial one (tolx of `cma` and `cmaes`)."""
FLATTEST = 1e-12
"""Restart once the best values of recent generations lie closer together than this (tolfun of `cmaes`)."""
WORST_CONDITION = 1e14
"""Restart once the condition number of the covariance matrix exceeds this (as in `cma` and `cmaes`)."""


@dataclass(kw_only=True, eq=False)
class CMAState(State):
    """The state of a run.

    Attributes:
        search: The search distribution, in the unit box.
        parameters: The constants of the strategy.
        generation: The generation being evaluated; None between generations.
        memory: What the selection stage has learned.
        candidates: Indices of the candidates being evaluated.
        spent: Number of evaluations since the last start.
        bests: The lowest value of each generation since the last start.
        average: The averaged mean of the current start.
        earlier: The averaged mean of the earlier start that reached the lowest values.
        incumbent: (d,) the candidate with the lowest estimated value, or the lowest posterior mean.
        incumbent_value: The estimated value or posterior mean of `incumbent`.
        generations: Number of generations.
    """

    rng: np.random.Generator
    restarts: Restarts
    search: Search
    parameters: Parameters
    memory: Any
    generation: Generation | None = None
    candidates: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    spent: int = 0
    bests: list[float] = field(default_factory=list[float])
    average: Average = field(default_factory=Average)
    earlier: Average = field(default_factory=Average)
    incumbent: FloatArray | None = None
    incumbent_value: float = math.inf
    generations: int = 0


PRESETS: dict[str, dict[str, Any]] = {
    "growing-cma-es": {"growth": 1.0, "recommends": "average"},
    "psa-cma-es": {"selection": PopulationSizeAdaptation()},
    "ra-cma-es": {"selection": ReevaluationAdaptation()},
}
"""Presets for noisy problems. The first one was selected on half of the functions of bbob-noisy; on the other half it
is better than plain CMA-ES."""


@family("noisy-cma-es", "cma-es", presets=PRESETS, selection="{}", restart_strategy="{}")
class CMAES(Distributed[CMAState], SingleObjective):
    """CMA-ES with an exchangeable selection stage.

    Attributes:
        selection: The stage that turns observed values into weights: `Ranks`, `ResidualBootstrap`, `ProbeAndSwitch`, or
            a description such as ``{"selection": "ranks", "evaluations": 5}``.
        diagonal: Whether the covariance matrix is diagonal.
        active: Whether the worse half of the candidates has negative weights in the covariance matrix.
        mass: Whether the effective number of selected candidates in the evolution paths follows from the candidates'
            weights or from those of the ranks. The two agree unless the weights are expected ones: these are closer to
            each other, and with the number of the ranks the step size then shrinks by itself.
        population_size: Candidates per generation λ; by default 4 + ⌊3 ln d⌋.
        growth: Under noise, a generation has at least growth · √n candidates after n evaluations, increased in steps of
            √2: few while there is far to go, and many, which average out the noise, when little is left to gain.
        relative_sigma0: The initial step size as a fraction of the box's width.
        start: Where the first mean is placed: at a random point, uniform in the box, or in its center.
        bounds: Whether candidates outside the box are moved to its boundary (clip) or evaluated unchanged (ignore).
        restart_strategy: What follows the end of a start: IPOP restarts with twice the population, RESTART with the
            same, BIPOP with either; STOP ends the run.
        patience: Number of generations without a lower value after which to restart; None for no such limit.
        recommends: The recommendation of a run: the mean; its average over the last generations of the start that
            reached the lowest values; the candidate with the lowest observed value ("best"), which is the mean or
            median if it was evaluated more than once; or the one with the lowest posterior mean of its noise-free value
            ("posterior"), if the selection stage has a model of the noise.
        name: The optimizer's name; by default "cma-es" and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    selection: AnySelection = field(default_factory=Ranks)
    diagonal: Flag = False
    active: Flag = True
    mass: Literal["weights", "ranks"] = "weights"
    population_size: Annotated[int, whole(4, 10**6)] | None = None
    growth: Annotated[float, real(ge=0, le=100)] = 0.0
    relative_sigma0: Annotated[float, real(ge=1e-12, le=10.0)] = 0.2
    start: Literal["random", "center"] = "random"
    bounds: Literal["clip", "ignore"] = "clip"
    restart_strategy: Strategy = "IPOP"
    patience: Size | None = None
    recommends: Literal["mean", "average", "best", "posterior"] = "mean"
    name: str = ""

    def __post_init__(self) -> None:
        if self.recommends == "posterior" and not self.selection.knows_noise:
            raise ValueError(
                f'recommends is "posterior", but the selection stage {self.selection} has no model of the noise; use '
                "ranks by the mean with 2 or more evaluations, residual-bootstrap with a cap above 0, or known-noise "
                "with a law of finite variance"
            )

    def _init(self, space: Space, rng: np.random.Generator) -> CMAState:
        restarts = Restarts(self.restart_strategy, rng)
        search, parameters = self._restart(space, rng, restarts)
        return CMAState(
            space=space,
            rng=rng,
            restarts=restarts,
            search=search,
            parameters=parameters,
            memory=self.selection.begin(),
        )

    def _warm(self, state: CMAState, start: WarmStart) -> None:
        space = state.space
        mean, step_size, covariance = distribution_of(start, space)
        if self.diagonal:
            covariance = covariance.diagonal()
        state.search = replace(
            state.search,
            mean=(mean - space.lower) / (space.upper - space.lower),
            step_size=step_size,
            covariance=covariance,
            factor=np.sqrt(covariance) if self.diagonal else np.linalg.cholesky(covariance),
        )

    def _restart(self, space: Space, rng: np.random.Generator, restarts: Restarts) -> tuple[Search, Parameters]:
        d = space.dimension
        population = self.population_size or default_population(d)
        if restarts.population:
            population = max(4, restarts.population)
        mean = rng.uniform(size=d) if self.start == "random" else np.full(d, 0.5)
        sigma = self.relative_sigma0 * restarts.step_size_factor
        return Search.start(mean, sigma, diagonal=self.diagonal), Parameters(d, population, self.diagonal, self.active)

    def _ask(self, state: CMAState) -> FloatArray:
        generation = state.generation
        if generation is None:
            self._grow(state)
            steps = state.rng.standard_normal((state.parameters.population, state.space.dimension))
            points = state.search.points(steps)
            if self.bounds == "clip":
                clip(points, steps, state.search)
            generation = state.generation = Generation(
                parameters=state.parameters,
                search=state.search,
                points=points,
                steps=steps,
                values=np.empty((len(points), 0)),
                spent=state.evaluations,
            )
            state.candidates = self.selection.request(state.memory, generation, state.rng)
        space = state.space
        return space.lower + generation.points[state.candidates] * (space.upper - space.lower)

    def _grow(self, state: CMAState) -> None:
        """Increase the number of candidates to what `growth` requires, by the next power of √2."""
        wanted, parameters = self.growth * math.sqrt(state.evaluations), state.parameters
        if wanted > parameters.population:
            steps = math.ceil(2 * math.log2(wanted / parameters.population))
            state.parameters = replace(parameters, population=round(parameters.population * 2 ** (steps / 2)))

    def _tell(self, state: CMAState, values: Any) -> None:
        state.spent += len(state.candidates)
        generation = cast("Generation", state.generation)
        generation.observe(state.candidates, values)
        state.candidates = self.selection.request(state.memory, generation, state.rng)
        if len(state.candidates):
            return
        state.generation = None
        weights = self.selection.weigh(state.memory, generation, state.rng)
        if weights is None:
            return
        estimates = self.selection.values(state.memory, generation)
        lowest = int(np.argmin(estimates))
        if self.recommends == "posterior":
            self._judge(state, generation, estimates)
        elif estimates[lowest] < state.incumbent_value:
            state.incumbent, state.incumbent_value = generation.points[lowest], float(estimates[lowest])
        state.bests.append(float(estimates[lowest]))
        state.generations += 1
        mass = state.parameters.mass if self.mass == "ranks" else None
        try:
            after = state.search.update(state.parameters, generation.points, generation.steps, weights, mass)
            state.search, state.parameters = self.selection.adapt(state.memory, generation, after)
            if self.recommends == "average":
                state.average.add(state.search.mean, estimates)
            ended = self._exhausted(state)
        except FloatingPointError:
            ended = True
        if ended or state.spent >= state.restarts.evaluations:
            self._start_again(state)

    def _judge(self, state: CMAState, generation: Generation, estimates: FloatArray) -> None:
        """Keep the candidate with the lowest posterior mean; of equal ones, the one with the lowest estimate."""
        means = self.selection.posterior(state.memory, generation)
        if means is None:
            return
        lowest = int(np.lexsort((estimates, means))[0])
        if means[lowest] < state.incumbent_value:
            state.incumbent, state.incumbent_value = generation.points[lowest], float(means[lowest])

    def _exhausted(self, state: CMAState) -> bool:
        """Whether a restart criterion is met."""
        search, bests = state.search, state.bests
        if search.deviations.max() < SMALLEST * self.relative_sigma0:
            return True
        diagonal = search.factor if self.diagonal else search.factor.diagonal()
        if diagonal.max() > diagonal.min() * math.sqrt(WORST_CONDITION):
            return True
        window = 10 + math.ceil(30 * state.space.dimension / state.parameters.population)
        if len(bests) > window and max(bests[-window:]) - min(bests[-window:]) < FLATTEST:
            return True
        return self.patience is not None and len(bests) - int(np.argmin(bests)) > self.patience

    def _start_again(self, state: CMAState) -> None:
        state.ended = not state.restarts.next(state.parameters.population, state.spent)
        if not state.ended:
            state.search, state.parameters = self._restart(state.space, state.rng, state.restarts)
            state.spent, state.bests = 0, []
            state.earlier, state.average = min(state.earlier, state.average, key=lambda start: start.level), Average()

    def _distribution(self, _: CMAState) -> Distribution:
        return _DISTRIBUTION

    def diagnostics(self, state: CMAState) -> dict[str, Callable[[CMAState], float]]:
        """The readers of `Distribution.readers`, of ``generations``, and of the selection stage's parameters."""
        readers = super().diagnostics(state)
        readers["generations"] = lambda state: float(state.generations)
        for name, reader in self.selection.diagnostics().items():
            readers[name] = _of_memory(reader)
        return readers

    def recommendation(self, state: CMAState) -> FloatArray:
        """(d,) the point that the run would return now, within the box."""
        if self.recommends == "average":
            point = (state.earlier if state.earlier.level < state.average.level else state.average).mean
        else:
            point = state.incumbent if self.recommends in ("best", "posterior") else None
        if point is None:
            return super().recommendation(state)
        return state.space.lower + point.clip(0.0, 1.0) * (state.space.upper - state.space.lower)


def clip(points: FloatArray, steps: FloatArray, search: Search) -> None:
    """Clip points (λ, d) to the unit box and adjust their standardized steps (λ, d), both in place."""
    inside = np.minimum(np.maximum(points, 0.0), 1.0)
    moved = inside != points
    if moved.any():
        outside = moved.any(axis=1).nonzero()[0]
        points[outside] = inside = inside[outside]
        steps[outside] = search.steps(inside)


def _of_memory(reader: Callable[[Any], float]) -> Callable[[CMAState], float]:
    return lambda state: reader(state.memory)


_DISTRIBUTION = Distribution(
    mean=lambda state: state.space.lower + state.search.mean * (state.space.upper - state.space.lower),
    step_size=lambda state: state.search.step_size,
    axes=lambda state: state.search.factor if state.search.factor.ndim == 1 else axes_of(state.search.factor),
    covariance=lambda state: (
        np.diag(state.search.covariance) if state.search.covariance.ndim == 1 else state.search.covariance
    ),
    population_size=lambda state: state.parameters.population,
    paths={"ps": lambda state: state.search.path, "pc": lambda state: state.search.covariance_path},
)

"""Selection stages that adapt to noise by how consistent the steps of the search distribution are.

Nishida and Akimoto (2018, "PSA-CMA-ES") adapt the number of candidates; Nomura, Akimoto and Ono (2025, "CMA-ES with
learning rate adaptation") adapt how much of a step is taken; Uchida, Nishihara and Shirakawa (2024, "CMA-ES with
adaptive reevaluation for multiplicative noise") also adapt how often a candidate is evaluated. All consider steps of
(m, Σ = σ²C) in coordinates in which the Fisher information is the identity. The memory is empty at each start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any

import numpy as np

from polarbear.optimizers.noisy.selection import Generation, IntArray, Ranks, rank, stage
from polarbear.optimizers.noisy.strategy import Parameters, Search
from polarbear.records import FloatArray
from polarbear.validation import real


def local_step(before: Search, after: Search) -> tuple[FloatArray, FloatArray]:
    """A step of the distribution in the coordinates A⁻¹(· - m) / σ, where A Aᵀ = C before the step.

    Returns:
        The step of m, (d,), and that of Σ, (d²,), or (d,) if C is diagonal. The latter is divided by √2, so that the
        squared lengths sum to that of the step under the Fisher information of the normal distribution.
    """
    mean = before.steps(after.mean[np.newaxis])[0]
    growth = (after.step_size / before.step_size) ** 2
    if before.factor.ndim == 1:
        return mean, (growth * after.covariance / before.covariance - 1) / math.sqrt(2)
    from scipy.linalg import solve_triangular

    relative = solve_triangular(before.factor, after.factor, lower=True, check_finite=False)
    return mean, (growth * (relative @ relative.T) - np.eye(len(mean))).reshape(-1) / math.sqrt(2)


@dataclass(kw_only=True, eq=False)
class Path:
    """What population size adaptation has accumulated over a start.

    Attributes:
        steps: Exponentially fading sums of the steps of m and Σ; None before the first step.
        weight: γ_θ, the expected squared length of the path under random selection.
        mean_weight: γ_σ, the same for the path of the step size.
        covariance_weight: γ_c, the same for the path of the covariance matrix.
        population: λ before rounding.
    """

    steps: tuple[FloatArray, FloatArray] | None = None
    weight: float = 0.0
    mean_weight: float = 0.0
    covariance_weight: float = 0.0
    population: float = math.nan


def expected_length(parameters: Parameters, mean_weight: float, covariance_weight: float) -> float:
    """The expected squared length of a step if candidates are selected at random, E‖ℐ^½ Δθ‖².

    It is that of the step of m, d / μ_eff, plus half of that of Σ: from σ, and from the two terms of C and their cross
    term. σ counts twice: in Δσ² I, and as a factor of the step of C. Other implementations have half of the cross
    term; simulated steps have the expectation given here.

    Args:
        parameters: The strategy's constants.
        mean_weight: γ_σ, the expected squared length of p_σ divided by d.
        covariance_weight: γ_c, the same for p_c.
    """
    d, rates = parameters.dimension, parameters
    mean, covariance = parameters.rank_weights
    pairs, fourth = (2.0 * d, 2.0 * d) if parameters.diagonal else (d * (d + 1.0), d * d + 1.0 * d)
    speed = (rates.path_rate / rates.damping) ** 2
    spread = mean_weight * d / rates.expected_norm**2 - 2 * math.sqrt(mean_weight) + 1  # E(‖p_σ‖ / E‖N(0, I)‖ - 1)²
    recent = rates.covariance_path_rate * (2 - rates.covariance_path_rate) * rates.mass
    rank_mu = pairs * rates.rank_mu**2 * float(covariance @ covariance)
    common = 2 * pairs * recent * rates.rank_one * rates.rank_mu * float(np.square(mean) @ covariance)
    path = covariance_weight**2 * (fourth + d) - 2 * covariance_weight * d + d  # E‖p_c p_cᵀ - I‖²
    return (
        d / rates.mass
        + 2 * d * speed * spread
        + 0.5 * (1 + 8 * speed * spread) * (rank_mu + common + rates.rank_one**2 * path)
    )


@cache
def best_step_size(parameters: Parameters) -> float:
    """The step size with the largest progress on a sphere in many variables, up to a factor independent of λ.

    With c = -Σ w E N(i:λ), the mean selected from λ normal numbers, it is c μ_eff d / (d - 1 + c² μ_eff).
    """
    from scipy.special import ndtri

    count, d = parameters.population, parameters.dimension
    middle = ndtri((np.arange(1, count + 1) - 0.375) / (count + 0.25))  # Blom's approximation
    selected = -float(parameters.rank_weights[0] @ middle)
    return selected * parameters.mass * d / (d - 1 + selected**2 * parameters.mass)


@stage("population-size-adaptation")
class PopulationSizeAdaptation(Ranks):
    """PSA: more candidates while steps of the distribution look random, fewer while they agree.

    λ stays between the default and 512 times the default. A start takes over λ from the previous one. The step size
    changes with λ like the optimal one on a sphere.

    Attributes:
        rate: β, the learning rate of the path of steps.
        threshold: α; λ grows if the squared length of the path is below α times its expectation at random.
    """

    rate: Annotated[float, real(gt=0, le=1)] = 0.4
    threshold: Annotated[float, real(gt=0)] = 1.4

    def begin(self) -> Path:
        """See `Selection`."""
        return Path()

    def adapt(self, memory: Path, generation: Generation, after: Search) -> tuple[Search, Parameters]:
        """λ and σ of the next generation."""
        before, parameters = generation.search, generation.parameters
        if before.generation == 0:
            memory.steps, memory.weight, memory.mean_weight, memory.covariance_weight = None, 0.0, 0.0, 0.0
            memory.population = float(parameters.population)
        memory.mean_weight = _faded(memory.mean_weight, parameters.path_rate)
        memory.covariance_weight = _faded(memory.covariance_weight, parameters.covariance_path_rate)
        expected = expected_length(parameters, memory.mean_weight, memory.covariance_weight)
        memory.weight = _faded(memory.weight, self.rate)
        share = math.sqrt(self.rate * (2 - self.rate) / expected)
        old = memory.steps or (0.0, 0.0)
        mean, covariance = local_step(before, after)
        kept = 1 - self.rate
        steps = memory.steps = kept * old[0] + share * mean, kept * old[1] + share * covariance
        length = float(steps[0] @ steps[0] + steps[1] @ steps[1])
        least = default_population(parameters.dimension)
        memory.population *= math.exp(self.rate * (memory.weight - length / self.threshold))
        memory.population = min(max(memory.population, least), 512 * least)
        new = replace(parameters, population=round(memory.population))
        return replace(after, step_size=after.step_size * best_step_size(new) / best_step_size(parameters)), new


def default_population(dimension: int) -> int:
    """λ = 4 + ⌊3 ln d⌋ (Hansen's tutorial, eq. 48)."""
    return 4 + int(3 * math.log(dimension))


def _faded(weight: float, rate: float) -> float:
    return (1 - rate) ** 2 * weight + rate * (2 - rate)


MEAN_RATE, COVARIANCE_RATE = 0.1, 0.03
"""β of the moving averages of the steps of m and of Σ."""


@dataclass(kw_only=True, eq=False)
class Consistency:
    """How consistent the steps of m, or those of Σ, are within a start.

    Attributes:
        rate: β of the moving averages.
        learning_rate: The learning rate η.
        mean: Moving average of the step.
        square: Moving average of the step's squared length.
        halves: Moving averages of the steps by each half of the evaluations; (2, n).
        products: Moving averages of the products of those two steps; (2, 2).
    """

    rate: float
    learning_rate: float = 1.0
    mean: FloatArray | float = 0.0
    square: float = 0.0
    halves: FloatArray | float = 0.0
    products: FloatArray = field(default_factory=lambda: np.zeros((2, 2)))

    def add(self, step: FloatArray) -> None:
        """Add a step (n,) to the averages."""
        self.mean = (1 - self.rate) * self.mean + self.rate * step
        self.square = (1 - self.rate) * self.square + self.rate * float(step @ step)

    def add_halves(self, steps: FloatArray) -> None:
        """Add the steps (2, n) that each half of the evaluations alone would lead to."""
        self.halves = (1 - self.rate) * self.halves + self.rate * steps
        self.products = (1 - self.rate) * self.products + self.rate * (steps @ steps.T)

    @property
    def signal_to_noise(self) -> float:
        """The squared length of the expected step divided by the variance of the steps."""
        squared = float(np.square(self.mean).sum())
        noise = self.square - squared
        signal = squared - self.rate / (2 - self.rate) * self.square
        return signal / noise if noise > 0 else math.copysign(math.inf, signal)

    @property
    def correlation(self) -> float:
        """The correlation of the steps by the two halves; 1 if they do not vary."""
        average: Any = self.halves
        covariance = self.products - average @ average.T
        scale = covariance[0, 0] * covariance[1, 1]
        return float(covariance[0, 1]) / math.sqrt(scale) if scale > 0 else 1.0

    def learn(self, target: float, speed: float, damping: float) -> None:
        """Adjust η so that the signal-to-noise ratio approaches `target` · η."""
        surplus = min(max(self.signal_to_noise / (target * self.learning_rate) - 1, -1.0), 1.0)
        speed = min(speed * self.learning_rate, self.rate)
        self.learning_rate = min(1.0, self.learning_rate * math.exp(speed * surplus / damping))


@dataclass(kw_only=True, eq=False)
class Learned:
    """The memory of learning rate adaptation and of reevaluation adaptation, which includes it.

    Attributes:
        mean: The consistency of the steps of m.
        covariance: The consistency of the steps of Σ.
        evaluations: The average number of evaluations per candidate, which may be a fraction.
    """

    mean: Consistency
    covariance: Consistency
    evaluations: float = 1.0


@stage("learning-rate-adaptation")
class LearningRateAdaptation(Ranks):
    """LRA: smaller steps of m and Σ the less consistent they are.

    Attributes:
        target: α; the signal-to-noise ratio is kept at α times the learning rate.
        speed: γ, the speed at which learning rates change.
    """

    target: Annotated[float, real(gt=0)] = 1.4
    speed: Annotated[float, real(gt=0, le=1)] = 0.1

    def begin(self) -> Learned:
        """See `Selection`."""
        return Learned(mean=Consistency(rate=MEAN_RATE), covariance=Consistency(rate=COVARIANCE_RATE))

    def adapt(self, memory: Learned, generation: Generation, after: Search) -> tuple[Search, Parameters]:
        """The distribution after shortened steps of m and Σ."""
        if generation.search.generation == 0:
            memory.mean, memory.covariance = Consistency(rate=MEAN_RATE), Consistency(rate=COVARIANCE_RATE)
        return self._shortened(memory, generation.search, after, damping=1.0), generation.parameters

    def _shortened(self, memory: Learned, before: Search, after: Search, damping: float) -> Search:
        old = memory.mean.learning_rate
        for part, step in zip((memory.mean, memory.covariance), local_step(before, after), strict=True):
            part.add(step)
            part.learn(self.target, self.speed, damping)
        moved = blend(before, after, memory.mean.learning_rate, memory.covariance.learning_rate)
        return replace(moved, step_size=moved.step_size * old / memory.mean.learning_rate)

    def diagnostics(self) -> Mapping[str, Callable[[Any], float]]:
        """Readers of ``learning_rate_mean`` and ``learning_rate_covariance``."""
        return {
            "learning_rate_mean": lambda memory: float(memory.mean.learning_rate),
            "learning_rate_covariance": lambda memory: float(memory.covariance.learning_rate),
        }


def blend(before: Search, after: Search, mean: float, covariance: float) -> Search:
    """The distribution after the given fractions of the steps of m and Σ, with C scaled to determinant 1."""
    old, new = before.step_size**2, after.step_size**2
    sigma = (1 - covariance) * old * before.covariance + covariance * new * after.covariance
    if sigma.ndim == 1:
        size = math.exp(float(np.log(sigma).mean()) / 2)
        shape, factor = sigma / size**2, np.sqrt(sigma) / size
    else:
        root = np.linalg.cholesky(sigma)
        size = math.exp(float(np.log(root.diagonal()).mean()))
        shape, factor = sigma / size**2, root / size
    center = before.mean + mean * (after.mean - before.mean)
    return replace(after, mean=center, step_size=size, covariance=shape, factor=factor)


LEAST_EVALUATIONS = 1.2
"""Evaluations per candidate on average, at least: in every fifth generation all are evaluated twice, as a check."""


@stage("reevaluation-adaptation")
class ReevaluationAdaptation(LearningRateAdaptation):
    """RA: LRA with more evaluations per candidate while the steps by two halves of the evaluations disagree.

    Where a candidate is evaluated once, that value serves as both halves, which then agree.

    Attributes:
        agreement: The correlation of the two halves' steps that is aimed at where candidates are evaluated twice; where
            they are evaluated more often, its power 1 + ln(evaluations / 1.2).
    """

    agreement: Annotated[float, real(gt=0, lt=1)] = 0.8

    def begin(self) -> Learned:
        """See `Selection`."""
        return replace(LearningRateAdaptation.begin(self), evaluations=LEAST_EVALUATIONS)

    def request(self, memory: Learned, generation: Generation, rng: np.random.Generator) -> IntArray:
        """All candidates, as often as the memory says, rounded up or down at random."""
        if generation.evaluated:
            return np.empty(0, dtype=np.intp)
        return np.tile(np.arange(len(generation.points)), int(memory.evaluations + rng.uniform()))

    @property
    def knows_noise(self) -> bool:
        """Always false: in most generations each candidate is evaluated once."""
        return False

    def values(self, memory: Learned, generation: Generation) -> FloatArray:  # noqa: ARG002
        """(λ,) the mean of each candidate's values."""
        return generation.values.mean(axis=1)

    def adapt(self, memory: Learned, generation: Generation, after: Search) -> tuple[Search, Parameters]:
        """The distribution after shortened steps; the number of evaluations per candidate is adapted too."""
        before, parameters, values = generation.search, generation.parameters, generation.values
        if before.generation == 0:
            memory.mean, memory.covariance = Consistency(rate=MEAN_RATE), Consistency(rate=COVARIANCE_RATE)
        pairs = values[:, : values.shape[1] // 2 * 2] if values.shape[1] > 1 else np.repeat(values, 2, axis=1)
        halves = [
            local_step(before, before.update(parameters, generation.points, generation.steps, weights))
            for weights in (parameters.rank_weights[:, rank(pairs[:, k::2].mean(axis=1))] for k in (0, 1))
        ]
        memory.mean.add_halves(np.stack([halves[0][0], halves[1][0]]))
        memory.covariance.add_halves(np.stack([halves[0][1], halves[1][1]]))
        repeats = math.log(memory.evaluations / LEAST_EVALUATIONS)
        wanted = self.agreement ** (min(memory.evaluations - 1, 1.0) * (repeats + 1))
        surplus = min(memory.mean.correlation, memory.covariance.correlation) / wanted - 1
        memory.evaluations *= math.exp(-self.speed * min(max(surplus, -1.0), 1.0))
        memory.evaluations = max(memory.evaluations, LEAST_EVALUATIONS)
        damping = math.log(memory.evaluations / LEAST_EVALUATIONS) + 1
        return self._shortened(memory, before, after, damping), parameters

    def diagnostics(self) -> Mapping[str, Callable[[Any], float]]:
        """Readers of the parameters of `LearningRateAdaptation`, and of ``reevaluations``."""
        return {**LearningRateAdaptation.diagnostics(self), "reevaluations": lambda memory: float(memory.evaluations)}

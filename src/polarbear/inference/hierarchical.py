"""The hierarchical Dirichlet model (section 3.2.1 of Wurth et al. 2026)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from polarbear.inference.choices import Choices
from polarbear.inference.diagnostics import IMPORTANCE_SAMPLING, Diagnostics
from polarbear.inference.dirichlet import dirichlet
from polarbear.inference.hyperparameters import Exponential, check_positive, hyperparameter_draws
from polarbear.inference.importance import ImportanceDraws, in_order, resampled
from polarbear.inference.marginal import Evaluate, Frame, Marginal, explore, located
from polarbear.inference.newton import mode
from polarbear.inference.pareto import smoothed
from polarbear.inference.posterior import Posterior
from polarbear.inference.proposal import Proposal, proposal
from polarbear.inference.sampling import NLIS, NUTS, PATHFINDER, Sampling
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_NO_DRAWS = np.empty((0, 0))
_FEWEST_PROPOSALS = 512
_PILOTS = 200
_AT_ONCE = 4
"""Grid points on either side of the mode at which log κ is looked at together."""
_MOST_PILOTS = 8
_CLOSE = 0.3
"""The anchor is near enough when log κ has a posterior mean within this of it, or within half a standard deviation."""
_LOWEST = -30.0
"""With log κ below this, one algorithm has it all."""
_HESITATION = 4.0
_GOOD_K_HAT = 0.5
_MORE = 4
_LONGEST_MOVE = 1.5
_WIDE = 0.2
"""With a standard deviation of log κ above this, several anchors are used."""
_SEVERAL = np.array([0.0, -13.0, -10.0, -7.0, -5.5, -4.0, -3.0, -2.0, -1.0, 1.0, 2.0])
"""Where they are, in standard deviations; log κ is skewed to the left."""


@dataclass(frozen=True, slots=True)
class HierarchicalDirichlet:
    """κ ~ Exponential(λ), and θ(t) ~ Dirichlet(κ / n, …, κ / n) independently at each timepoint given κ.

    All timepoints tell of κ, the concentration, and so of how different the algorithms are on the whole. The ratings at
    different timepoints have nothing else to do with each other, and draws of them do not belong together.

    Attributes:
        rate: λ, so that κ has the prior mean 1 / λ; None: 1 / n, so that κ / n has mean 1.

    Raises:
        ValueError: If `rate` is not positive and finite.
    """

    name: ClassVar[str] = "hierarchical-dirichlet"
    joint: ClassVar[bool] = False
    methods: ClassVar[tuple[str, ...]] = (NLIS, NUTS, PATHFINDER)

    rate: float | None = None

    def __post_init__(self) -> None:
        if self.rate is not None:
            check_positive(rate=self.rate)

    def describe(self) -> dict[str, Any]:
        """The model as plain values."""
        return {"model": self.name, **asdict(self)}

    def draw_prior(
        self, *, times: FloatArray, algorithms: int, sampling: Sampling, held: Mapping[str, float]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draws of the prior; see `polarbear.inference.prior`."""
        kappa = Exponential("kappa", 1.0 / algorithms if self.rate is None else self.rate)
        hyperparameters = hyperparameter_draws([kappa], held, sampling.draws, sampling.rng)
        alpha = hyperparameters["kappa"] / algorithms
        return dirichlet(alpha, times.size, algorithms, sampling.rng), hyperparameters

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior after the rankings in `counts`; see `polarbear.inference.fit`.

        At each timepoint draws are proposed for one concentration, the anchor, and weighted for all; for several
        anchors if the posterior of κ is wide. A pilot run with few proposals finds where it is. Where weights are
        poor, four times as many proposals with heavier tails are made.
        """
        n, timepoints, draws = counts.algorithms, counts.timepoints, sampling.draws
        prior = _Concentration(1.0 / n if self.rate is None else self.rate)
        number = max(draws, _FEWEST_PROPOSALS)
        task = _Task(counts, prior, sampling.rng.spawn(timepoints))
        cells, marginal = task.explored(number)
        drawn = marginal.draw(number, sampling.rng)
        log_kappa = drawn.points[:, 0]
        log_evidence = drawn.blend @ task.log_evidence(cells, marginal.frame.outside(marginal.grid)[:, 0])
        theta = np.ones((timepoints, n, draws))

        def weigh(cell: _Cell) -> ImportanceDraws:
            t, rng = cell.timepoint, task.generators[cell.timepoint]
            found = _weighted(cell, log_kappa, log_evidence[:, t], draws, rng)
            if not (found.k_hat < _GOOD_K_HAT and found.ess >= draws / 4):
                heavy = task.cell(t, cell.anchors, _MORE * number, heavy=True)
                found = _weighted(heavy, np.tile(log_kappa, _MORE), np.tile(log_evidence[:, t], _MORE), draws, rng)
            theta[t] = found.theta
            return replace(found, theta=_NO_DRAWS)

        found = [weigh(cell) for cell in cells] or [ImportanceDraws(_NO_DRAWS, draws, -np.inf)] * timepoints
        return Posterior(
            draws=theta.transpose(2, 0, 1),
            times=times,
            names=names,
            joint=self.joint,
            diagnostics=Diagnostics(
                (IMPORTANCE_SAMPLING,) * timepoints,
                np.minimum([one.ess for one in found], float(draws)),
                np.array([one.k_hat for one in found]),
                np.full(timepoints, np.nan),
            ),
            hyperparameters={"kappa": np.exp(sampling.rng.permutation(log_kappa)[:draws])},
            model=self,
        )


def _weighted(
    cell: _Cell, log_kappa: FloatArray, log_evidence: FloatArray, draws: int, rng: np.random.Generator
) -> ImportanceDraws:
    """Ratings at one timepoint from their posterior given draws of log κ, averaged over these."""
    order = rng.permutation(log_kappa.size)
    log_theta, log_weights = cell.paired(log_kappa[order])
    weights, k_hat = smoothed(log_weights - log_evidence[order])
    chosen = resampled(weights, draws, rng)
    return ImportanceDraws(in_order(np.take(log_theta, chosen, axis=1)), 1.0 / float(weights @ weights), k_hat)


@dataclass(frozen=True, slots=True)
class _Concentration:
    """The prior of u = log κ."""

    rate: float

    @property
    def start(self) -> FloatArray:
        """(2, 1) mean and standard deviation of u."""
        return np.array([[-np.log(self.rate) - np.euler_gamma], [np.pi / np.sqrt(6.0)]])

    def log_density(self, u: FloatArray) -> FloatArray:
        """The log-density of u, up to a constant."""
        return u - self.rate * np.exp(u)


class _Proposals:
    """Proposals at one timepoint, to be weighted for any concentration.

    Prior density times likelihood over proposal density is, in logarithms, `rest` + α `total` + a function of α.

    Attributes:
        log_theta: (n, D) proposed log-ratings.
        total: (D,) their sums.
        rest: (D,) what depends neither on α nor on nothing but α.
    """

    log_theta: FloatArray
    total: FloatArray
    rest: FloatArray

    def __init__(self, choices: Choices, number: int, rng: np.random.Generator, *, heavy: bool) -> None:
        centre, curvature = mode(choices)
        order = np.argsort(-centre, kind="stable")
        ordered = choices.ordered(order)
        source = proposal(ordered, centre[order], curvature[np.ix_(order, order)])
        source = source.heavier_tailed() if heavy else source
        log_theta, log_proposed = source.draw(number, rng)
        self.total = log_theta.sum(axis=0)
        self.rest = ordered.log_density(log_theta) - choices.alpha * self.total - log_proposed - _normalizer(source)
        self.log_theta = log_theta[np.argsort(order)]

    def log_weights(self, log_kappa: FloatArray) -> FloatArray:
        """(D,) log of prior density times likelihood over proposal density, for log κ (D,)."""
        n = len(self.log_theta)
        return self.rest + np.exp(log_kappa) / n * self.total + _log_prior(log_kappa, n)


def _log_prior(log_kappa: FloatArray, n: int) -> FloatArray:
    """The logarithm of what does not depend on the ratings in their Dirichlet prior."""
    alpha = np.exp(log_kappa) / n
    return gammaln(n * alpha) - n * gammaln(alpha)


def _nearest(anchors: FloatArray, log_kappa: FloatArray) -> NDArray[np.intp]:
    """Which anchor serves a concentration: the next; one below is preferred, as its proposals have heavier tails."""
    above = anchors - log_kappa[:, np.newaxis]
    return np.argmin(np.where(above > 0, _HESITATION * above, -above), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """One timepoint: proposals for each anchor."""

    timepoint: int
    anchors: FloatArray
    proposals: list[_Proposals]

    def log_mean_weights(self, alpha: FloatArray, nearest: Sequence[int]) -> FloatArray:
        """(K,) logarithm of the mean weight, but for the prior's part, for α (K,) and the anchors that serve them."""
        served = [self.proposals[anchor] for anchor in nearest]
        weights = np.stack([one.total for one in served])
        weights *= alpha[:, np.newaxis]
        weights += np.stack([one.rest for one in served])
        top = weights.max(axis=1)
        weights -= top[:, np.newaxis]
        np.exp(weights, out=weights)
        return top + np.log(weights.mean(axis=1))

    def paired(self, log_kappa: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-ratings (n, D), one draw for each of D values of log κ, and their log-weights (D,)."""
        nearest = _nearest(self.anchors, log_kappa)
        log_theta, log_weights = self.proposals[0].log_theta.copy(), self.proposals[0].log_weights(log_kappa)
        for k, other in enumerate(self.proposals[1:], start=1):
            here = nearest == k
            log_theta[:, here] = other.log_theta[:, here]
            log_weights[here] = other.log_weights(log_kappa)[here]
        return log_theta, log_weights


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """The rankings at T timepoints, and what is needed to propose ratings there.

    Attributes:
        counts: The rankings.
        prior: Of the concentration.
        generators: A source of randomness for each timepoint.
    """

    counts: ChoiceCounts
    prior: _Concentration
    generators: Sequence[np.random.Generator]

    def cell(self, t: int, anchors: FloatArray, number: int, *, heavy: bool = False) -> _Cell:
        """So many proposals at one timepoint for each anchor."""
        alphas = (np.exp(anchors) / self.counts.algorithms).tolist()
        choices = [Choices.at(self.counts, t, alpha) for alpha in alphas]
        return _Cell(t, anchors, [_Proposals(one, number, self.generators[t], heavy=heavy) for one in choices])

    def cells(self, anchors: FloatArray, number: int) -> list[_Cell]:
        """All timepoints; none if there is one algorithm alone, which the concentration says nothing about."""
        timepoints = range(self.counts.timepoints if self.counts.algorithms > 1 else 0)
        return [self.cell(t, anchors, number) for t in timepoints]

    def log_evidence(self, cells: Sequence[_Cell], log_kappa: FloatArray) -> FloatArray:
        """(K, T) log-probability of the rankings at each timepoint given log κ (K,)."""
        if not cells:
            return np.zeros((log_kappa.size, self.counts.timepoints))
        nearest, alpha = _nearest(cells[0].anchors, log_kappa).tolist(), np.exp(log_kappa) / self.counts.algorithms
        found = [cell.log_mean_weights(alpha, nearest) for cell in cells]
        return np.stack(found, axis=1) + _log_prior(log_kappa, self.counts.algorithms)[:, np.newaxis]

    def log_density(self, cells: Sequence[_Cell]) -> Evaluate:
        """The posterior log-density of u = log κ."""

        def evaluate(points: FloatArray) -> FloatArray:
            return self.prior.log_density(points[:, 0]) + self.log_evidence(cells, points[:, 0]).sum(axis=1)

        return evaluate

    def explored(self, number: int) -> tuple[list[_Cell], Marginal]:
        """So many proposals at each timepoint for anchors that cover the posterior of log κ, and that posterior."""
        frame, anchors = self.anchors()
        while True:
            cells = self.cells(anchors, number)
            log_density = self.log_density(cells)
            marginal = explore(log_density, located(log_density, frame), at_once=_AT_ONCE)
            frame, spread = marginal.frame, float(np.abs(marginal.frame.axes[0, 0]))
            lowest = float(frame.outside(marginal.inside)[:, 0].min())
            if anchors.size == 1 or anchors.min() < max(lowest, _LOWEST):
                return cells, marginal
            further = anchors.min() - spread
            anchors = frame.centre + spread * _SEVERAL
            if anchors.min() > further:
                anchors = np.append(anchors, further)

    def anchors(self) -> tuple[Frame, FloatArray]:
        """About where the posterior of log κ is, and values that cover it."""
        frame, anchor = Frame.around(*self.prior.start), float(self.prior.start[0, 0])
        spread = np.inf
        for _ in range(_MOST_PILOTS):
            frame = located(self.log_density(self.cells(np.array([anchor]), _PILOTS)), frame)
            spread = float(np.abs(frame.axes[0, 0]))
            move = float(np.clip(frame.centre[0] - anchor, -_LONGEST_MOVE, _LONGEST_MOVE))
            anchor += move
            if abs(move) < max(_CLOSE, 0.5 * spread):
                break
        return frame, anchor + spread * _SEVERAL if spread > _WIDE else np.array([anchor])


def _normalizer(source: Proposal) -> float:
    """What is missing from the log-density that `Proposal.draw` gives."""
    left, right = source.left, source.right
    normal = np.isinf(left)
    left, right = left[~normal], right[~normal]
    shapes: FloatArray = gammaln(left + right) - gammaln(left) - gammaln(right) + 0.5 * np.log(1 / left + 1 / right)
    volume = float(np.log(np.diagonal(source.axes)).sum())
    return float(shapes.sum()) - 0.5 * float(normal.sum()) * float(np.log(2 * np.pi)) - volume

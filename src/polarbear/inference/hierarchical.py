"""The hierarchical Dirichlet model (section 3.2.1 of Wurth et al. 2026)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from polarbear.inference.choices import Choices
from polarbear.inference.diagnostics import IMPORTANCE_SAMPLING, Diagnostics
from polarbear.inference.hyperparameters import check_positive
from polarbear.inference.importance import ImportanceDraws, resampled
from polarbear.inference.marginal import Marginal, explore
from polarbear.inference.newton import mode
from polarbear.inference.pareto import smoothed
from polarbear.inference.posterior import Posterior
from polarbear.inference.proposal import Proposal, proposal
from polarbear.inference.sampling import NLIS, Sampling
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_FEWEST_PROPOSALS = 512
_PILOTS = 200
_MOST_PILOTS = 8
_CLOSE = 0.3
"""The anchor is near enough when log κ has a posterior mean within this of it, or within half a standard deviation."""
_HESITATION = 4.0
_GOOD_K_HAT = 0.5
_MORE = 4
_LONGEST_MOVE = 1.5
_WIDE = 0.2
"""With a standard deviation of log κ above this, several anchors are used."""
_SEVERAL = np.array([0.0, -7.0, -5.5, -4.0, -3.0, -2.0, -1.0, 1.0, 2.0])
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
    methods: ClassVar[tuple[str, ...]] = (NLIS,)

    rate: float | None = None

    def __post_init__(self) -> None:
        if self.rate is not None:
            check_positive(rate=self.rate)

    def describe(self) -> dict[str, Any]:
        """The model as plain values."""
        return {"model": self.name, **asdict(self)}

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior after the rankings in `counts`; see `polarbear.inference.fit`.

        At each timepoint draws are proposed for one concentration, the anchor, and weighted for all; for several
        anchors if the posterior of κ is wide. A pilot run with few proposals finds where it is. Where weights are
        poor, four times as many proposals with heavier tails are made.
        """
        n, timepoints, draws, rng = counts.algorithms, counts.timepoints, sampling.draws, sampling.rng
        prior = _Concentration(1.0 / n if self.rate is None else self.rate)
        number = max(draws, _FEWEST_PROPOSALS)
        anchors = _anchors(counts, prior, rng)
        cells = _cells(counts, anchors, number, rng)
        marginal = _posterior(cells, prior)
        drawn = marginal.draw(number, rng)
        log_kappa = drawn.points[:, 0]
        grid = marginal.frame.outside(marginal.grid)[:, 0]
        theta = np.ones((timepoints, n, draws))
        ess, k_hat = np.full(timepoints, float(draws)), np.full(timepoints, -np.inf)
        for t, cell in enumerate(cells):
            log_evidence = drawn.blend @ cell.log_evidence(grid)
            found = _weighted(cell, log_kappa, log_evidence, draws, rng)
            if not (found.k_hat < _GOOD_K_HAT and found.ess >= draws / 4):
                heavy = _cell(counts, t, anchors, _MORE * number, rng, heavy=True)
                found = _weighted(heavy, np.tile(log_kappa, _MORE), np.tile(log_evidence, _MORE), draws, rng)
            theta[t], ess[t], k_hat[t] = found.theta, min(found.ess, float(draws)), found.k_hat
        return Posterior(
            draws=theta.transpose(2, 0, 1),
            times=times,
            names=names,
            joint=self.joint,
            diagnostics=Diagnostics((IMPORTANCE_SAMPLING,) * timepoints, ess, k_hat, np.full(timepoints, np.nan)),
            hyperparameters={"kappa": np.exp(rng.permutation(log_kappa)[:draws])},
        )


def _weighted(
    cell: _Cell, log_kappa: FloatArray, log_evidence: FloatArray, draws: int, rng: np.random.Generator
) -> ImportanceDraws:
    """Ratings at one timepoint from their posterior given draws of log κ, averaged over these."""
    order = rng.permutation(log_kappa.size)
    log_theta, log_weights = cell.paired(log_kappa[order])
    weights, k_hat = smoothed(log_weights - log_evidence[order])
    chosen = resampled(weights, draws, rng)
    return ImportanceDraws(np.exp(log_theta[:, chosen]), 1.0 / float(weights @ weights), k_hat)


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

    Attributes:
        log_theta: (n, D) proposed log-ratings.
    """

    def __init__(self, choices: Choices, number: int, rng: np.random.Generator, *, heavy: bool) -> None:
        centre, curvature = mode(choices)
        order = np.argsort(-centre, kind="stable")
        ordered = choices.ordered(order)
        source = proposal(ordered, centre[order], curvature[np.ix_(order, order)])
        source = source.heavier_tailed() if heavy else source
        log_theta, log_proposed = source.draw(number, rng)
        self._n = choices.wins.size
        self._sum = log_theta.sum(axis=0)
        self._rest = ordered.log_density(log_theta) - choices.alpha * self._sum - log_proposed - _normalizer(source)
        self.log_theta = log_theta[np.argsort(order)]

    def log_weights(self, log_kappa: FloatArray) -> FloatArray:
        """Log of prior density times likelihood over proposal density, for log κ (D,) or (K, 1)."""
        alpha = np.exp(log_kappa) / self._n
        prior: FloatArray = gammaln(self._n * alpha) - self._n * gammaln(alpha)
        return self._rest + alpha * self._sum + prior

    def log_evidence(self, log_kappa: FloatArray) -> FloatArray:
        """(K,) log-probability of the rankings here given log κ (K,)."""
        weights = self.log_weights(log_kappa[:, np.newaxis])
        top = weights.max(axis=1)
        return top + np.log(np.exp(weights - top[:, np.newaxis]).mean(axis=1))


class _Cell:
    """One timepoint: proposals for each anchor. A concentration is served by the anchor next to it."""

    def __init__(self, anchors: FloatArray, proposals: list[_Proposals]) -> None:
        self._anchors, self._proposals = anchors, proposals

    def _nearest(self, log_kappa: FloatArray) -> NDArray[np.intp]:
        """Which anchor serves; one below is preferred, as a smaller concentration has the heavier tails."""
        above = self._anchors - log_kappa[:, np.newaxis]
        return np.argmin(np.where(above > 0, _HESITATION * above, -above), axis=1)

    def log_evidence(self, log_kappa: FloatArray) -> FloatArray:
        """(K,) log-probability of the rankings here given log κ (K,)."""
        nearest, found = self._nearest(log_kappa), np.empty_like(log_kappa)
        for k, proposals in enumerate(self._proposals):
            here = nearest == k
            found[here] = proposals.log_evidence(log_kappa[here])
        return found

    def paired(self, log_kappa: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-ratings (n, D), one draw for each of D values of log κ, and their log-weights (D,)."""
        nearest = self._nearest(log_kappa)
        log_theta, log_weights = self._proposals[0].log_theta.copy(), self._proposals[0].log_weights(log_kappa)
        for k, other in enumerate(self._proposals[1:], start=1):
            here = nearest == k
            log_theta[:, here] = other.log_theta[:, here]
            log_weights[here] = other.log_weights(log_kappa)[here]
        return log_theta, log_weights


def _normalizer(source: Proposal) -> float:
    """What is missing from the log-density that `Proposal.draw` gives."""
    left, right = source.left, source.right
    normal = np.isinf(left)
    left, right = left[~normal], right[~normal]
    shapes: FloatArray = gammaln(left + right) - gammaln(left) - gammaln(right) + 0.5 * np.log(1 / left + 1 / right)
    volume = float(np.linalg.slogdet(source.axes)[1])
    return float(shapes.sum()) - 0.5 * float(normal.sum()) * float(np.log(2 * np.pi)) - volume


def _cells(counts: ChoiceCounts, anchors: FloatArray, number: int, rng: np.random.Generator) -> list[_Cell]:
    if counts.algorithms == 1:
        return []
    return [_cell(counts, t, anchors, number, rng) for t in range(counts.timepoints)]


def _cell(
    counts: ChoiceCounts, t: int, anchors: FloatArray, number: int, rng: np.random.Generator, *, heavy: bool = False
) -> _Cell:
    alphas = (np.exp(anchors) / counts.algorithms).tolist()
    proposals = [_Proposals(Choices.at(counts, t, alpha), number, rng, heavy=heavy) for alpha in alphas]
    return _Cell(anchors, proposals)


def _posterior(cells: list[_Cell], prior: _Concentration) -> Marginal:
    """The posterior of log κ."""

    def log_density(points: FloatArray) -> FloatArray:
        u = points[:, 0]
        density = prior.log_density(u)
        for cell in cells:
            density += cell.log_evidence(u)
        return density

    return explore(log_density, *prior.start)


def _anchors(counts: ChoiceCounts, prior: _Concentration, rng: np.random.Generator) -> FloatArray:
    """Values of log κ that cover its posterior."""
    anchor = float(prior.start[0, 0])
    spread = np.inf
    for _ in range(_MOST_PILOTS):
        found = _posterior(_cells(counts, np.array([anchor]), _PILOTS, rng), prior).frame
        spread = float(np.abs(found.axes[0, 0]))
        move = float(np.clip(found.centre[0] - anchor, -_LONGEST_MOVE, _LONGEST_MOVE))
        anchor += move
        if abs(move) < max(_CLOSE, 0.5 * spread):
            break
    return anchor + spread * _SEVERAL if spread > _WIDE else np.array([anchor])

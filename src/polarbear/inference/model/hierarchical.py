"""The hierarchical Dirichlet model (section 3.2.1 of Wurth et al. 2026)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from polarbear.inference.likelihood.newton import mode
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.model.hierarchical_gibbs import hierarchical_chains
from polarbear.inference.model.independent import dirichlet
from polarbear.inference.path_sampling.hyperparameter_grid import Frame, Marginal, explore, locate
from polarbear.inference.path_sampling.hyperpriors import Exponential, check_positive, draw_hyperparameters
from polarbear.inference.posterior import Posterior
from polarbear.inference.sampling.chain_order import ChainOrder, choose_evenly
from polarbear.inference.sampling.diagnostics import (
    FEWEST_OF_CHAINS,
    FEWEST_WEIGHTED,
    GIBBS,
    IMPORTANCE_SAMPLING,
    LARGEST_K_HAT,
    Diagnostics,
)
from polarbear.inference.sampling.importance import ImportanceDraws, ratings_in_order, resample
from polarbear.inference.sampling.proposal import Proposal, proposal
from polarbear.inference.sampling.psis import smooth
from polarbear.inference.sampling.settings import EXACT_GIBBS, NLIS, NUTS, PATHFINDER, Sampling, Seed
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

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
    pooled: ClassVar[bool] = False
    methods: ClassVar[tuple[str, ...]] = (NLIS, EXACT_GIBBS, NUTS, PATHFINDER)

    rate: float | None = None

    def __post_init__(self) -> None:
        if self.rate is not None:
            check_positive(rate=self.rate)

    @property
    def adjusted(self) -> bool:
        """No: timepoints do not learn from each other."""
        return False

    def describe(self) -> dict[str, Any]:
        """The model as plain values."""
        return {"model": self.name, **asdict(self)}

    def draw_prior(
        self, *, times: FloatArray, algorithms: int, sampling: Sampling, held: Mapping[str, float]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draws of the prior; see `polarbear.inference.prior`."""
        kappa = Exponential("kappa", 1.0 / algorithms if self.rate is None else self.rate)
        hyperparameters = draw_hyperparameters([kappa], held, sampling.draws, sampling.rng)
        alpha = hyperparameters["kappa"] / algorithms
        return dirichlet(alpha, times.size, algorithms, sampling.rng), hyperparameters

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior after the rankings in `counts`; see `polarbear.inference.fit`.

        At each timepoint draws are proposed for one concentration, the anchor, and weighted for all; for several
        anchors if the posterior of κ is wide. A pilot run with few proposals finds where it is. Where weights are
        poor, four times as many proposals with heavier tails are made. Where k-hat is then 0.7 or more, or the draws
        are worth fewer than 100, Markov chains answer at all timepoints, as they do if asked for by "gibbs".
        """
        if sampling.method == EXACT_GIBBS and counts.wins.size and counts.algorithms > 1:
            return self._by_chains(counts, times, names, sampling)
        n, timepoints, draws = counts.algorithms, counts.timepoints, sampling.draws
        prior = self._concentration(n)
        number = max(draws, _FEWEST_PROPOSALS)
        task = _Task(counts, prior, sampling.seeds(timepoints))
        marginal = task.explored(number)
        drawn = marginal.draw(number, sampling.rng)
        log_kappa = drawn.points[:, 0]
        log_evidence = drawn.blend @ task.log_evidence(marginal.frame.outside(marginal.grid)[:, 0])
        theta, ess, k_hat = (
            np.ones((timepoints, n, draws)),
            np.full(timepoints, float(draws)),
            np.full(timepoints, -np.inf),
        )
        for t in task.timepoints:
            found = task.weighted(t, log_kappa, log_evidence[:, t], draws)
            theta[t], ess[t], k_hat[t] = found.theta, found.ess, found.k_hat
        if not ((k_hat < LARGEST_K_HAT) & (ess >= min(FEWEST_WEIGHTED, draws / 4))).all():
            return self._by_chains(counts, times, names, sampling)
        return Posterior(
            draws=theta.transpose(2, 0, 1),
            times=times,
            names=names,
            joint=self.joint,
            diagnostics=Diagnostics(
                (IMPORTANCE_SAMPLING,) * timepoints,
                np.minimum(ess, float(draws)),
                k_hat,
                np.full(timepoints, np.nan),
            ),
            hyperparameters={"kappa": np.exp(sampling.rng.permutation(log_kappa)[:draws])},
            model=self,
        )

    def _concentration(self, algorithms: int) -> _Concentration:
        return _Concentration(1.0 / algorithms if self.rate is None else self.rate)

    def _by_chains(
        self, counts: ChoiceCounts, times: FloatArray, names: tuple[str, ...], sampling: Sampling
    ) -> Posterior:
        """The posterior by Markov chains."""
        prior, draws, rng = self._concentration(counts.algorithms), sampling.draws, sampling.rng
        enough = min(draws, FEWEST_OF_CHAINS)
        found = hierarchical_chains(counts, prior.log_density, prior.start[:, 0], enough=enough, rng=rng)
        length, number = found.log_kappa.shape
        chain, step = choose_evenly(number, length, draws, rng)
        theta = ratings_in_order(found.log_theta[:, :, step, chain])
        return Posterior(
            draws=(theta / theta.sum(axis=1, keepdims=True)).transpose(2, 0, 1),
            times=times,
            names=names,
            joint=self.joint,
            diagnostics=Diagnostics(
                (GIBBS,) * counts.timepoints,
                np.minimum(found.ess, float(draws)),
                np.full(counts.timepoints, np.nan),
                found.r_hat,
            ),
            hyperparameters={"kappa": np.exp(found.log_kappa[step, chain])},
            model=self,
            chains=ChainOrder(chain, step, np.zeros(draws, dtype=bool)),
        )


def _weighted(
    cell: _Cell, log_kappa: FloatArray, log_evidence: FloatArray, draws: int, rng: np.random.Generator
) -> ImportanceDraws:
    """Ratings at one timepoint from their posterior given draws of log κ, averaged over these."""
    order = rng.permutation(log_kappa.size)
    log_theta, log_weights = cell.paired(log_kappa[order])
    weights, k_hat = smooth(log_weights - log_evidence[order])
    chosen = resample(weights, draws, rng)
    return ImportanceDraws(ratings_in_order(np.take(log_theta, chosen, axis=1)), 1.0 / float(weights @ weights), k_hat)


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
        ordered = choices.of_algorithms(order)
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

    anchors: FloatArray
    proposals: list[_Proposals]

    def log_mean_weights(self, log_kappa: FloatArray) -> FloatArray:
        """(K,) logarithm of the mean weight for log κ (K,)."""
        n, nearest = len(self.proposals[0].log_theta), _nearest(self.anchors, log_kappa)
        served = [self.proposals[int(anchor)] for anchor in nearest]
        weights = np.stack([one.total for one in served])
        weights *= np.exp(log_kappa)[:, np.newaxis] / n
        weights += np.stack([one.rest for one in served])
        top = weights.max(axis=1)
        weights -= top[:, np.newaxis]
        np.exp(weights, out=weights)
        return top + np.log(weights.mean(axis=1)) + _log_prior(log_kappa, n)

    def paired(self, log_kappa: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-ratings (n, D), one draw for each of D values of log κ, and their log-weights (D,)."""
        nearest = _nearest(self.anchors, log_kappa)
        log_theta, log_weights = self.proposals[0].log_theta.copy(), self.proposals[0].log_weights(log_kappa)
        for k, other in enumerate(self.proposals[1:], start=1):
            here = nearest == k
            log_theta[:, here] = other.log_theta[:, here]
            log_weights[here] = other.log_weights(log_kappa)[here]
        return log_theta, log_weights


class _Task:
    """The posterior of u = log κ, and the ratings at each timepoint, from proposals.

    Args:
        counts: The rankings.
        prior: Of the concentration.
        seeds: One for each timepoint.

    Attributes:
        timepoints: None if there is one algorithm alone, which the concentration says nothing about.
    """

    def __init__(self, counts: ChoiceCounts, prior: _Concentration, seeds: Sequence[Seed]) -> None:
        self._counts, self._prior = counts, prior
        self._generators = [seed.generator() for seed in seeds]
        self._cells: list[_Cell] = []
        self.timepoints = range(counts.timepoints if counts.algorithms > 1 else 0)

    def propose(self, anchors: FloatArray, number: int) -> None:
        """So many proposals at each timepoint for each anchor, instead of those there are."""
        self._cells = [self._cell(t, anchors, number, heavy=False) for t in self.timepoints]

    def log_evidence(self, log_kappa: FloatArray) -> FloatArray:
        """(K, T) log-probability of the rankings at each timepoint given log κ (K,), by the present proposals."""
        return np.array([cell.log_mean_weights(log_kappa) for cell in self._cells]).reshape(-1, log_kappa.size).T

    def weighted(self, t: int, log_kappa: FloatArray, log_evidence: FloatArray, draws: int) -> ImportanceDraws:
        """Weight and resample the proposals at a timepoint."""
        cell, rng = self._cells[t], self._generators[t]
        found = _weighted(cell, log_kappa, log_evidence, draws, rng)
        if found.k_hat < _GOOD_K_HAT and found.ess >= draws / 4:
            return found
        heavy = self._cell(t, cell.anchors, _MORE * log_kappa.size, heavy=True)
        return _weighted(heavy, np.tile(log_kappa, _MORE), np.tile(log_evidence, _MORE), draws, rng)

    def _cell(self, t: int, anchors: FloatArray, number: int, *, heavy: bool) -> _Cell:
        """So many proposals at one timepoint for each anchor."""
        alphas = (np.exp(anchors) / self._counts.algorithms).tolist()
        choices = [Choices.at(self._counts, t, alpha) for alpha in alphas]
        return _Cell(anchors, [_Proposals(one, number, self._generators[t], heavy=heavy) for one in choices])

    def log_density(self, points: FloatArray) -> FloatArray:
        """(K,) the posterior log-density at points u (K, 1), by the present proposals."""
        log_kappa = points[:, 0]
        return self._prior.log_density(log_kappa) + self.log_evidence(log_kappa).sum(axis=1)

    def explored(self, number: int) -> Marginal:
        """The posterior of log κ; so many proposals are made at each timepoint, for anchors that cover it."""
        frame, anchors = self.anchors()
        while True:
            self.propose(anchors, number)
            marginal = explore(self.log_density, locate(self.log_density, frame), at_once=_AT_ONCE)
            frame, spread = marginal.frame, float(np.abs(marginal.frame.axes[0, 0]))
            lowest = float(frame.outside(marginal.inside)[:, 0].min())
            if anchors.size == 1 or anchors.min() < max(lowest, _LOWEST):
                return marginal
            further = anchors.min() - spread
            anchors = frame.centre + spread * _SEVERAL
            if anchors.min() > further:
                anchors = np.append(anchors, further)

    def anchors(self) -> tuple[Frame, FloatArray]:
        """About where the posterior of log κ is, and values that cover it."""
        frame, anchor = Frame.around(*self._prior.start), float(self._prior.start[0, 0])
        spread = np.inf
        for _ in range(_MOST_PILOTS):
            self.propose(np.array([anchor]), _PILOTS)
            frame = locate(self.log_density, frame)
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

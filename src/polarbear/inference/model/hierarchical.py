"""The hierarchical Dirichlet model (section 3.2.1 of Wurth et al. 2026)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.model.hierarchical_gibbs import hierarchical_chains
from polarbear.inference.model.independent import dirichlet, propose
from polarbear.inference.path_sampling.hyperparameter_grid import Frame, Marginal, explore, locate
from polarbear.inference.path_sampling.hyperpriors import Exponential, draw_hyperparameters
from polarbear.inference.posterior import Posterior
from polarbear.inference.sampling.chain_order import ChainOrder, choose_evenly
from polarbear.inference.sampling.diagnostics import (
    FEWEST_OF_CHAINS,
    FEWEST_WEIGHTED,
    GIBBS,
    GOOD_K_HAT,
    IMPORTANCE_SAMPLING,
    LARGEST_K_HAT,
    Diagnostics,
    Sampled,
)
from polarbear.inference.sampling.proposal import Proposal
from polarbear.inference.sampling.psis import ratings_in_order, resample, smooth
from polarbear.inference.sampling.settings import EXACT_GIBBS, NLIS, NUTS, PATHFINDER, Sampling, Seed
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray
from polarbear.validation import real, settings

_MIN_PROPOSALS = 512
_PILOT_PROPOSALS = 200
_MAX_PILOTS = 8
_TOGETHER = 4
"""Grid points on either side of the mode of log κ that are evaluated together."""
_CLOSE = 0.3
"""An anchor is close enough if the posterior mode of log κ is within this distance, or half a standard deviation."""
_LOWEST = -30.0
"""For log κ below this, one algorithm has the entire sum of the ratings."""
_PENALTY = 4.0
"""Factor that penalizes the distance to an anchor above a concentration, relative to one below."""
_MORE = 4
"""Factor by which proposals with heavier tails are more numerous."""
_LONGEST_MOVE = 1.5
_WIDE = 0.2
"""Standard deviation of log κ above which several anchors are used."""
_SEVERAL = np.array([0.0, -13.0, -10.0, -7.0, -5.5, -4.0, -3.0, -2.0, -1.0, 1.0, 2.0])
"""Positions of several anchors, in standard deviations from the mode; log κ is left-skewed."""


@settings
class HierarchicalDirichlet:
    """κ ~ Exponential(λ), and θ(t) ~ Dirichlet(κ / n, …, κ / n) independently at each timepoint given κ.

    All timepoints inform the concentration κ, and thereby how different the algorithms are overall. Otherwise ratings
    at different timepoints are unrelated, and so are their draws.

    Attributes:
        rate: Rate λ > 0 of the prior of κ, whose mean is 1 / λ; None for 1 / n, so that κ / n has mean 1.

    Raises:
        ValueError: If `rate` is not positive and finite.
    """

    name: ClassVar[str] = "hierarchical-dirichlet"
    joint: ClassVar[bool] = False
    pooled: ClassVar[bool] = False
    methods: ClassVar[tuple[str, ...]] = (NLIS, EXACT_GIBBS, NUTS, PATHFINDER)

    rate: Annotated[float, real(gt=0)] | None = None

    @property
    def adjusted(self) -> bool:
        """False: timepoints share nothing but κ."""
        return False

    def describe(self) -> dict[str, Any]:
        """The model as plain values."""
        return {"model": self.name, **asdict(self)}

    def draw_prior(
        self, *, times: FloatArray, algorithms: int, sampling: Sampling, held: Mapping[str, float]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draw from the prior; see `polarbear.inference.prior`."""
        hyperparameters = draw_hyperparameters([self._prior(algorithms)], held, sampling.draws, sampling.rng)
        alpha = hyperparameters["kappa"] / algorithms
        return dirichlet(alpha, times.size, algorithms, sampling.rng), hyperparameters

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior given the rankings in `counts`; see `polarbear.inference.fit`.

        At each timepoint proposals are made for one concentration, the anchor, and weighted for all; if the posterior
        of κ is wide, several anchors are used. A pilot run with few proposals locates that posterior. Where weights are
        poor, four times as many proposals with heavier tails are made. If k-hat is then 0.7 or more anywhere, or the
        effective sample size below 100, Markov chains are used at all timepoints, as with method "gibbs".
        """
        if sampling.method == EXACT_GIBBS and counts.wins.size and counts.algorithms > 1:
            return self._by_chains(counts, times, names, sampling)
        n, timepoints, draws = counts.algorithms, counts.timepoints, sampling.draws
        number = max(draws, _MIN_PROPOSALS)
        posterior = _ConcentrationPosterior(counts, self._prior(n), sampling.seeds(timepoints))
        marginal = posterior.explore(number)
        sample = marginal.draw(number, sampling.rng)
        log_kappa = sample.points[:, 0]
        log_evidence = sample.blend @ posterior.log_evidence(marginal.frame.outside(marginal.grid)[:, 0])
        theta, ess, k_hat = (
            np.ones((timepoints, n, draws)),
            np.full(timepoints, float(draws)),
            np.full(timepoints, -np.inf),
        )
        for t in posterior.timepoints:
            weighted = posterior.weighted(t, log_kappa, log_evidence[:, t], draws)
            theta[t], ess[t], k_hat[t] = weighted.theta, weighted.ess, weighted.k_hat
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

    def _prior(self, algorithms: int) -> Exponential:
        return Exponential("kappa", 1.0 / algorithms if self.rate is None else self.rate)

    def _by_chains(
        self, counts: ChoiceCounts, times: FloatArray, names: tuple[str, ...], sampling: Sampling
    ) -> Posterior:
        """The posterior by Markov chains."""
        draws, rng = sampling.draws, sampling.rng
        enough = min(draws, FEWEST_OF_CHAINS)
        chains = hierarchical_chains(counts, self._prior(counts.algorithms), enough=enough, rng=rng)
        length, number = chains.log_kappa.shape
        chain, step = choose_evenly(number, length, draws, rng)
        theta = ratings_in_order(chains.log_theta[:, :, step, chain])
        return Posterior(
            draws=(theta / theta.sum(axis=1, keepdims=True)).transpose(2, 0, 1),
            times=times,
            names=names,
            joint=self.joint,
            diagnostics=Diagnostics(
                (GIBBS,) * counts.timepoints,
                np.minimum(chains.ess, float(draws)),
                np.full(counts.timepoints, np.nan),
                chains.r_hat,
            ),
            hyperparameters={"kappa": np.exp(chains.log_kappa[step, chain])},
            model=self,
            chains=ChainOrder(chain, step, np.zeros(draws, dtype=bool)),
        )


def _log_prior(log_kappa: FloatArray, n: int) -> FloatArray:
    """The part of the ratings' Dirichlet log-density that does not depend on the ratings."""
    alpha = np.exp(log_kappa) / n
    return gammaln(n * alpha) - n * gammaln(alpha)


@dataclass(frozen=True, slots=True, eq=False)
class _Proposals:
    """D proposals at one timepoint for each of A anchors, to be weighted for any concentration.

    Prior density times likelihood over proposal density is, in logarithms, `rest` + α `total` + a function of α.

    Attributes:
        anchors: (A,) values of log κ for which they were made.
        log_theta: (A, n, D) proposed log-ratings.
        total: (A, D) sums of the log-ratings.
        rest: (A, D) part of the log-weights that does not depend on α.
    """

    anchors: FloatArray
    log_theta: FloatArray
    total: FloatArray
    rest: FloatArray

    @classmethod
    def of(
        cls, counts: ChoiceCounts, t: int, anchors: FloatArray, number: int, rng: np.random.Generator, *, heavy: bool
    ) -> _Proposals:
        """Make `number` proposals for each anchor, with heavier tails if `heavy`."""
        log_theta = np.empty((anchors.size, counts.algorithms, number))
        total, rest = np.empty((2, anchors.size, number))
        for k, alpha in enumerate((np.exp(anchors) / counts.algorithms).tolist()):
            ordered, order, source = propose(Choices.at(counts, t, alpha))
            source = source.heavier_tailed() if heavy else source
            ratings, log_proposed = source.draw(number, rng)
            log_theta[k, order], total[k] = ratings, ratings.sum(axis=0)
            rest[k] = ordered.log_density(ratings) - alpha * total[k] - log_proposed - _normalizer(source)
        return cls(anchors, log_theta, total, rest)

    def log_mean_weights(self, log_kappa: FloatArray) -> FloatArray:
        """(K,) logarithms of the mean weights for log κ (K,)."""
        n, nearest = self.log_theta.shape[1], self._nearest(log_kappa)
        weights = self.total[nearest]
        weights *= np.exp(log_kappa)[:, np.newaxis] / n
        weights += self.rest[nearest]
        top = weights.max(axis=1)
        weights -= top[:, np.newaxis]
        np.exp(weights, out=weights)
        return top + np.log(weights.mean(axis=1)) + _log_prior(log_kappa, n)

    def weighted(
        self, log_kappa: FloatArray, log_evidence: FloatArray, draws: int, rng: np.random.Generator
    ) -> Sampled:
        """Draw ratings from their posterior, averaged over draws (D,) of log κ."""
        order = rng.permutation(log_kappa.size)
        log_kappa, n = log_kappa[order], self.log_theta.shape[1]
        nearest, column = self._nearest(log_kappa), np.arange(log_kappa.size)
        log_weights = self.rest[nearest, column] + np.exp(log_kappa) / n * self.total[nearest, column]
        weights, k_hat = smooth(log_weights + _log_prior(log_kappa, n) - log_evidence[order])
        chosen = resample(weights, draws, rng)
        theta = ratings_in_order(self.log_theta[nearest[chosen], :, chosen].T)
        return Sampled(theta, IMPORTANCE_SAMPLING, 1.0 / float(weights @ weights), k_hat)

    def _nearest(self, log_kappa: FloatArray) -> NDArray[np.intp]:
        """Index of the nearest anchor to each concentration, preferably below, where proposals have heavier tails."""
        above = self.anchors - log_kappa[:, np.newaxis]
        return np.argmin(np.where(above > 0, _PENALTY * above, -above), axis=1)


class _ConcentrationPosterior:
    """The posterior of u = log κ, and the ratings at each timepoint, from proposals.

    Args:
        counts: The rankings.
        prior: The prior of the concentration.
        seeds: A seed for each timepoint.

    Attributes:
        timepoints: Indices of the timepoints; none with a single algorithm, which does not depend on the concentration.
    """

    def __init__(self, counts: ChoiceCounts, prior: Exponential, seeds: Sequence[Seed]) -> None:
        self._counts, self._prior = counts, prior
        self._generators = [seed.generator() for seed in seeds]
        self._proposed: list[_Proposals] = []
        self.timepoints = range(counts.timepoints if counts.algorithms > 1 else 0)

    def __call__(self, points: FloatArray) -> FloatArray:
        """(K,) posterior log-density at points u (K, 1), by the current proposals."""
        log_kappa = points[:, 0]
        return self._prior.log_density(log_kappa) + self.log_evidence(log_kappa).sum(axis=1)

    def log_evidence(self, log_kappa: FloatArray) -> FloatArray:
        """(K, T) log-probability of the rankings at each timepoint given log κ (K,), by the current proposals."""
        each = [proposals.log_mean_weights(log_kappa) for proposals in self._proposed]
        return np.array(each).reshape(-1, log_kappa.size).T

    def weighted(self, t: int, log_kappa: FloatArray, log_evidence: FloatArray, draws: int) -> Sampled:
        """Weight and resample the proposals at a timepoint."""
        proposals, rng = self._proposed[t], self._generators[t]
        weighted = proposals.weighted(log_kappa, log_evidence, draws, rng)
        if weighted.k_hat < GOOD_K_HAT and weighted.ess >= draws / 4:
            return weighted
        number = _MORE * log_kappa.size
        heavy = _Proposals.of(self._counts, t, proposals.anchors, number, rng, heavy=True)
        return heavy.weighted(np.tile(log_kappa, _MORE), np.tile(log_evidence, _MORE), draws, rng)

    def explore(self, number: int) -> Marginal:
        """The posterior of log κ, from `number` proposals at each timepoint for anchors that cover it."""
        frame, anchors = self._anchors()
        while True:
            self._propose(anchors, number)
            marginal = explore(self, locate(self, frame), radius=_TOGETHER)
            frame, spread = marginal.frame, float(np.abs(marginal.frame.axes[0, 0]))
            lowest = float(frame.outside(marginal.inside)[:, 0].min())
            if anchors.size == 1 or anchors.min() < max(lowest, _LOWEST):
                return marginal
            further = anchors.min() - spread
            anchors = frame.centre + spread * _SEVERAL
            if anchors.min() > further:
                anchors = np.append(anchors, further)

    def _anchors(self) -> tuple[Frame, FloatArray]:
        """The approximate location of the posterior of log κ, and anchors that cover it."""
        anchor, spread = self._prior.mean, np.inf
        frame = Frame.around(np.array([anchor]), np.array([self._prior.spread]))
        for _ in range(_MAX_PILOTS):
            self._propose(np.array([anchor]), _PILOT_PROPOSALS)
            frame = locate(self, frame)
            spread = float(np.abs(frame.axes[0, 0]))
            move = float(np.clip(frame.centre[0] - anchor, -_LONGEST_MOVE, _LONGEST_MOVE))
            anchor += move
            if abs(move) < max(_CLOSE, 0.5 * spread):
                break
        return frame, anchor + spread * _SEVERAL if spread > _WIDE else np.array([anchor])

    def _propose(self, anchors: FloatArray, number: int) -> None:
        """Make `number` proposals at each timepoint for each anchor."""
        counts, generators = self._counts, self._generators
        self._proposed = [
            _Proposals.of(counts, t, anchors, number, generators[t], heavy=False) for t in self.timepoints
        ]


def _normalizer(source: Proposal) -> float:
    """The constant missing from the log-density that `Proposal.draw` returns."""
    normal = np.isinf(source.left)
    left, right = source.left[~normal], source.right[~normal]
    shapes: FloatArray = gammaln(left + right) - gammaln(left) - gammaln(right) + 0.5 * np.log(1 / left + 1 / right)
    volume = float(np.log(np.diagonal(source.axes)).sum())
    return float(shapes.sum()) - 0.5 * float(normal.sum()) * float(np.log(2 * np.pi)) - volume

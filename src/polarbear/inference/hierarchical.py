"""The hierarchical Dirichlet model (section 3.2.1 of Wurth et al. 2026)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from polarbear.inference.chain_order import ChainOrder, evenly_chosen
from polarbear.inference.choices import Choices
from polarbear.inference.diagnostics import (
    FEWEST_OF_CHAINS,
    FEWEST_WEIGHTED,
    GIBBS,
    IMPORTANCE_SAMPLING,
    LARGEST_K_HAT,
    Diagnostics,
)
from polarbear.inference.dirichlet import dirichlet
from polarbear.inference.hierarchical_gibbs import hierarchical_chains
from polarbear.inference.hyperparameters import Exponential, check_positive, hyperparameter_draws
from polarbear.inference.importance import ImportanceDraws, in_order, resampled
from polarbear.inference.marginal import Frame, Marginal, explore, located
from polarbear.inference.newton import mode
from polarbear.inference.pareto import smoothed
from polarbear.inference.posterior import Posterior
from polarbear.inference.proposal import Proposal, proposal
from polarbear.inference.sampling import EXACT_GIBBS, NLIS, NUTS, PATHFINDER, Sampling, Seed
from polarbear.inference.workers import Team
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_NO_DRAWS = np.empty((0, 0))
_FEWEST_PROPOSALS = 512
_PILOTS = 200
_TIMEPOINTS_EACH = 4
"""Timepoints that make a piece of the work."""
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
        hyperparameters = hyperparameter_draws([kappa], held, sampling.draws, sampling.rng)
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
        with sampling.workers.team(_Share, counts, sampling.seeds(timepoints)) as team:
            task = _Task(team, counts, prior)
            marginal = task.explored(number)
            drawn = marginal.draw(number, sampling.rng)
            log_kappa = drawn.points[:, 0]
            corners = marginal.frame.outside(marginal.grid)[:, 0]
            theta = team.array((timepoints, n, draws))
            found = team.map(_Share.weigh, task.pieces, _Drawn(log_kappa, drawn.blend, corners), draws)
            theta = team.kept(theta)
        if n > 1:
            ess, k_hat = np.array([one for some in found for one in some]).reshape(-1, 2).T
        else:
            theta[:] = 1.0
            ess, k_hat = np.full(timepoints, float(draws)), np.full(timepoints, -np.inf)
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
        chain, step = evenly_chosen(number, length, draws, rng)
        theta = in_order(found.log_theta[:, :, step, chain])
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


class _Drawn(NamedTuple):
    """Values of log κ (S,), weights (S, G) that interpolate from grid points, and these grid points (G,)."""

    log_kappa: FloatArray
    blend: FloatArray
    corners: FloatArray


class _Share:
    """One process's share of the work: the proposals at some timepoints.

    Args:
        counts: The rankings.
        seeds: One for each timepoint, whose generator goes on from call to call.
    """

    def __init__(self, counts: ChoiceCounts, seeds: Sequence[Seed]) -> None:
        self._counts, self._seeds = counts, seeds
        self._generators: dict[int, np.random.Generator] = {}
        self._cells: dict[int, _Cell] = {}
        self._theta = _NO_DRAWS

    def lend(self, memory: FloatArray) -> None:
        """Take the memory for ratings (T, n, D)."""
        self._theta = memory

    def propose(self, piece: range, anchors: FloatArray, number: int) -> None:
        """Make so many proposals at each timepoint for each anchor."""
        self._cells |= {t: self._cell(t, anchors, number, heavy=False) for t in piece}

    def log_evidence(self, piece: range, log_kappa: FloatArray) -> FloatArray:
        """(K, timepoints) log-probability of the rankings at each timepoint given log κ (K,)."""
        n = self._counts.algorithms
        nearest, alpha = _nearest(self._cells[piece[0]].anchors, log_kappa).tolist(), np.exp(log_kappa) / n
        found = [self._cells[t].log_mean_weights(alpha, nearest) for t in piece]
        return np.stack(found, axis=1) + _log_prior(log_kappa, n)[:, np.newaxis]

    def weigh(self, piece: range, drawn: _Drawn, draws: int) -> list[tuple[float, float]]:
        """Weight and resample the proposals; the draws go to the memory.

        Returns:
            ESS and k-hat at each timepoint.
        """
        log_evidence = drawn.blend @ self.log_evidence(piece, drawn.corners)
        return [self._weighed(t, drawn.log_kappa, log_evidence[:, k], draws) for k, t in enumerate(piece)]

    def _weighed(self, t: int, log_kappa: FloatArray, log_evidence: FloatArray, draws: int) -> tuple[float, float]:
        cell, rng = self._cells.pop(t), self._generators[t]
        found = _weighted(cell, log_kappa, log_evidence, draws, rng)
        if not (found.k_hat < _GOOD_K_HAT and found.ess >= draws / 4):
            heavy = self._cell(t, cell.anchors, _MORE * log_kappa.size, heavy=True)
            found = _weighted(heavy, np.tile(log_kappa, _MORE), np.tile(log_evidence, _MORE), draws, rng)
        self._theta[t] = found.theta
        return found.ess, found.k_hat

    def _cell(self, t: int, anchors: FloatArray, number: int, *, heavy: bool) -> _Cell:
        """So many proposals at one timepoint for each anchor."""
        rng = self._generators.setdefault(t, self._seeds[t].generator())
        alphas = (np.exp(anchors) / self._counts.algorithms).tolist()
        choices = [Choices.at(self._counts, t, alpha) for alpha in alphas]
        return _Cell(anchors, [_Proposals(one, number, rng, heavy=heavy) for one in choices])


class _Task:
    """The posterior of u = log κ, from proposals that a team makes.

    Args:
        team: Who makes them.
        counts: The rankings.
        prior: Of the concentration.

    Attributes:
        pieces: The timepoints, a few at a time; none if there is one algorithm alone, which the concentration says
            nothing about.
    """

    def __init__(self, team: Team[_Share], counts: ChoiceCounts, prior: _Concentration) -> None:
        self._team, self._prior = team, prior
        timepoints = range(counts.timepoints if counts.algorithms > 1 else 0)
        self.pieces = [timepoints[t : t + _TIMEPOINTS_EACH] for t in timepoints[::_TIMEPOINTS_EACH]]

    def propose(self, anchors: FloatArray, number: int) -> None:
        """So many proposals at each timepoint for each anchor, instead of those there are."""
        self._team.map(_Share.propose, self.pieces, anchors, number)

    def log_density(self, points: FloatArray) -> FloatArray:
        """(K,) the posterior log-density at points u (K, 1), by the present proposals."""
        log_kappa = points[:, 0]
        found = [some.sum(axis=1) for some in self._team.map(_Share.log_evidence, self.pieces, log_kappa)]
        return self._prior.log_density(log_kappa) + np.sum([np.zeros(log_kappa.size), *found], axis=0)

    def explored(self, number: int) -> Marginal:
        """The posterior of log κ; so many proposals are made at each timepoint, for anchors that cover it."""
        frame, anchors = self.anchors()
        while True:
            self.propose(anchors, number)
            marginal = explore(self.log_density, located(self.log_density, frame), at_once=_AT_ONCE)
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
            frame = located(self.log_density, frame)
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

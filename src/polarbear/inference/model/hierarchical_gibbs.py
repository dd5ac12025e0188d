"""Exact Markov chains for the hierarchical Dirichlet model.

Given κ the timepoints are independent, and a Gibbs sweep updates the ratings at each (see `inference.sampling.gibbs`).
Given the ratings, κ depends only on the sum of their logarithms, and Metropolis steps update log κ; a further step
stretches the log-ratios of all ratings along with it. Ratings are stored as logarithms, as they may exceed the range of
floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from polarbear.inference.likelihood.timepoint_likelihood import Choices, normalized
from polarbear.inference.path_sampling.hyperpriors import Hyperprior
from polarbear.inference.sampling.chain_order import CHAINS, GROUPS, record
from polarbear.inference.sampling.gibbs import Sweeps, mixing
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_WARM_UP = 200
_LENGTHS = 6
"""Maximum number of chain lengths, each twice the one before: up to 32 sweeps per draw."""
_METROPOLIS_STEPS = 5
_ACCEPTANCE, _PACE = 0.4, 0.1
"""Target acceptance rate, and the speed at which step sizes adapt to it."""
_ALPHA = 1.0
"""Concentration of the prior that `Choices` includes, which is subtracted again."""


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalChains:
    """Draws from C chains.

    Attributes:
        log_theta: (T, n, steps, C) log-ratings.
        log_kappa: (steps, C) values of log κ.
        ess: (T,) smallest effective sample size of the ratings and κ.
        r_hat: (T,) largest nested split R-hat of the ratings and κ.
    """

    log_theta: FloatArray
    log_kappa: FloatArray
    ess: FloatArray
    r_hat: FloatArray


def hierarchical_chains(
    counts: ChoiceCounts, prior: Hyperprior, *, enough: float, rng: np.random.Generator
) -> HierarchicalChains:
    """Sample the joint posterior of the ratings and κ by 48 chains.

    Until they converge, the chains are continued to twice their length, keeping every other draw, up to 32 sweeps
    between two draws.

    Args:
        counts: The rankings, of at least two algorithms, at one timepoint or more.
        prior: The prior of κ.
        enough: The target effective sample size.
        rng: The source of randomness.
    """
    start = prior.mean + prior.spread * rng.standard_normal(CHAINS)
    chains = _Chains(counts, prior.log_density, start, rng)
    for _ in range(_WARM_UP):
        chains.sweep(adapt=True)
    (log_theta, log_kappa), ess, r_hat = record(chains, _mixing, enough, _LENGTHS)
    return HierarchicalChains(log_theta, log_kappa[0], np.minimum(ess, float(log_kappa.size)), r_hat)


def _mixing(recorded: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """(T,) effective sample sizes and R-hats at each timepoint, of κ and the ratings."""
    log_theta, log_kappa = recorded
    each = [mixing(np.concatenate([ratings, log_kappa]).transpose(1, 2, 0), groups=GROUPS) for ratings in log_theta]
    ess, r_hat = np.array(each).T
    return ess, r_hat


class _Chains:
    """The state of all chains.

    Attributes:
        log_theta: (C, T, n) log-ratings.
        log_kappa: (C,) values of log κ.
    """

    def __init__(
        self,
        counts: ChoiceCounts,
        log_prior: Callable[[FloatArray], FloatArray],
        log_kappa: FloatArray,
        rng: np.random.Generator,
    ) -> None:
        self._log_prior, self._rng, self._n = log_prior, rng, counts.algorithms
        self._choices = [Choices.at(counts, t, _ALPHA) for t in range(counts.timepoints)]
        self._sweeps = [Sweeps(choices, rng) for choices in self._choices]
        self._alone = self._together = 0.5
        self.log_kappa = log_kappa
        self.log_theta = np.log(rng.dirichlet(np.ones(self._n), (log_kappa.size, counts.timepoints)))

    def snapshot(self) -> tuple[FloatArray, FloatArray]:
        """Log-ratings (T, n, C), and log κ (1, C)."""
        return self.log_theta.transpose(1, 2, 0), self.log_kappa[np.newaxis]

    def sweep(self, *, adapt: bool) -> None:
        """Advance all chains by one sweep; if `adapt`, tune step sizes towards the target acceptance rate."""
        alpha = np.exp(self.log_kappa)[:, np.newaxis] / self._n
        for t, sweeps in enumerate(self._sweeps):
            self.log_theta[:, t] = sweeps.logarithmic(self.log_theta[:, t], alpha)
        self._move_gaps()
        alone = np.mean([self._move_alone() for _ in range(_METROPOLIS_STEPS)])
        together = self._move_together()
        if adapt:
            self._alone *= float(np.exp(_PACE * (alone - _ACCEPTANCE) / _ACCEPTANCE))
            self._together *= float(np.exp(_PACE * (together - _ACCEPTANCE) / _ACCEPTANCE))

    def _move_gaps(self) -> None:
        """At each timepoint, take a Metropolis step that stretches one gap between neighbouring log-ratings.

        Where rankings say little beyond the order, Gibbs steps of the gaps are short compared to their posterior width.
        """
        order = np.argsort(self.log_theta, axis=2)
        ordered = np.take_along_axis(self.log_theta, order, axis=2)
        stretch: FloatArray = self._rng.standard_normal(order.shape[:2])
        chosen = self._rng.integers(1, self._n, order.shape[:2])[:, :, np.newaxis]
        gaps = np.diff(ordered, axis=2, prepend=0.0)
        gap = np.take_along_axis(gaps, chosen, axis=2)
        np.put_along_axis(gaps, chosen, gap * np.exp(stretch)[:, :, np.newaxis], axis=2)
        log_theta = np.empty_like(ordered)
        np.put_along_axis(log_theta, order, normalized(gaps.cumsum(axis=2)), axis=2)
        alpha = np.exp(self.log_kappa)[:, np.newaxis] / self._n
        gain = alpha * (log_theta.sum(axis=2) - self.log_theta.sum(axis=2)) + stretch
        accept = self._accepted(gain + self._log_likelihood(log_theta) - self._log_likelihood(self.log_theta))
        self.log_theta[accept] = log_theta[accept]

    def _move_alone(self) -> float:
        """Take a Metropolis step of log κ with the ratings fixed; return the share of chains that moved."""
        trial, total = self._trial(self._alone), self.log_theta.sum(axis=(1, 2))
        accept = self._accepted(self._log_density(trial, total) - self._log_density(self.log_kappa, total))
        self.log_kappa = np.where(accept, trial, self.log_kappa)
        return float(accept.mean())

    def _move_together(self) -> float:
        """Take a Metropolis step of log κ with κ times the log-ratios of ratings fixed.

        With few rankings, or rankings that all agree, both move far: the prior's tails fall off like θ^(κ / n). The
        Jacobian is that of n − 1 log-ratios at each timepoint.
        """
        trial = self._trial(self._together)
        stretch = self.log_kappa - trial
        log_theta = normalized(np.exp(stretch)[:, np.newaxis, np.newaxis] * self.log_theta)
        gain = self._log_density(trial, log_theta.sum(axis=(1, 2)))
        gain -= self._log_density(self.log_kappa, self.log_theta.sum(axis=(1, 2)))
        gain += (self._log_likelihood(log_theta) - self._log_likelihood(self.log_theta)).sum(axis=1)
        gain += len(self._choices) * (self._n - 1) * stretch
        accept = self._accepted(gain)
        self.log_kappa = np.where(accept, trial, self.log_kappa)
        self.log_theta[accept] = log_theta[accept]
        return float(accept.mean())

    def _trial(self, step: float) -> FloatArray:
        moves: FloatArray = self._rng.standard_normal(self.log_kappa.size)
        return self.log_kappa + step * moves

    def _accepted(self, gain: FloatArray) -> NDArray[np.bool_]:
        return np.log(self._rng.random(gain.shape)) < gain

    def _log_likelihood(self, log_theta: FloatArray) -> FloatArray:
        """(C, T) the log-likelihood of log-ratings (C, T, n), up to a constant."""
        each = zip(self._choices, log_theta.transpose(1, 2, 0), strict=True)
        density = np.stack([choices.log_density(np.ascontiguousarray(ratings)) for choices, ratings in each], axis=1)
        return density - _ALPHA * log_theta.sum(axis=2)

    def _log_density(self, log_kappa: FloatArray, total: FloatArray) -> FloatArray:
        """(C,) the log-density of log κ given the sum (C,) of all log-ratings, up to a constant."""
        kappa = np.exp(log_kappa)
        alpha = kappa / self._n
        normalizer = gammaln(kappa) - self._n * gammaln(alpha)
        return self._log_prior(log_kappa) + len(self._choices) * normalizer + alpha * total

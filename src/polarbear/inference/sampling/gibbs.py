"""Exact Gibbs sampling of the ratings at one timepoint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polarbear.inference.likelihood.tie_events import TieEvents
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.records import FloatArray

_MOST_CHAINS = 80
_SHORTEST_CHAIN = 25
_WARM_UP = 100
_THINNING = (2, 4, 8, 16, 32, 64, 128)
_MOST_WORK = 1e9
"""Latent variables drawn in one attempt; an attempt that would take more is not made."""
_CONVERGED = 1.01
_TINY = np.finfo(np.float64).tiny
_LEAST = -600.0
"""Logarithms of λ from which sums and their inverses are numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class GibbsDraws:
    """Draws (n, D) of the ratings, how many independent ones they are worth, and the largest split R-hat."""

    theta: FloatArray
    ess: float
    r_hat: float


def gibbs(choices: Choices, *, start: FloatArray, draws: int, enough: float, rng: np.random.Generator) -> GibbsDraws:
    """Sample the posterior by the data augmentation of Caron and Doucet (2012), many chains at once.

    Each choice set S that was chosen from c_S times gets a latent Z_S ~ Gamma(c_S, Σ_{j in S} λ_j); given these,
    λ_i ~ Gamma(α + W_i, 1 + Σ_{S with i} Z_S). Fractional counts are as good as whole ones. For large ties the sums of
    the Z_S are drawn without listing the sets (see `inference.likelihood.tie_events`). The sum of λ, of which the
    rankings say nothing, is drawn anew in each sweep, which speeds up mixing, as they advise. The number of sweeps
    between kept draws is doubled until the kept draws are worth enough.

    Args:
        choices: The choices, prior included.
        start: (C, n) starting ratings, spread out; the chains take them in turn.
        draws: How many draws D to return.
        enough: Effective sample size to aim at.
        rng: The source of randomness.
    """
    n = choices.wins.size
    chains = max(1, min(_MOST_CHAINS, draws // _SHORTEST_CHAIN))
    kept = np.empty((-(-draws // chains), chains, n))
    state = start[np.arange(chains) % len(start)]
    advance = Sweeps(choices, rng)
    state = advance(state, _WARM_UP)
    ess = r_hat = float("nan")
    for thin in _THINNING:
        for step in range(len(kept)):
            state = kept[step] = advance(state, thin)
        ess, r_hat = mixing(np.log(np.maximum(kept, _TINY)))
        converged = ess >= enough and r_hat < _CONVERGED
        if converged or 2 * thin * kept.shape[0] * chains * advance.latent > _MOST_WORK:
            break
    theta = rng.permutation(kept.reshape(-1, n))[:draws]
    return GibbsDraws(np.ascontiguousarray(theta.T), min(ess, float(draws)), r_hat)


class Sweeps:
    """Advances all chains by sweeps of the Gibbs sampler.

    Attributes:
        latent: How many latent variables each sweep draws for a chain.
    """

    def __init__(self, choices: Choices, rng: np.random.Generator) -> None:
        self._sets, self._counts = choices.sets, choices.counts
        if choices.whole > 0:
            self._sets, self._counts = choices.sets.with_everyone(), np.append(choices.counts, choices.whole)
        self._shape, self._total = choices.wins + choices.ties.wins().sum(axis=0), choices.wins.size * choices.alpha
        self._wins = self._shape - choices.alpha
        self._events = TieEvents(choices.ties, self._total, rng)
        self._rng = rng
        self.latent = choices.counts.size + self._events.work

    def __call__(self, theta: FloatArray, sweeps: int) -> FloatArray:
        """Ratings (C, n) after so many sweeps."""
        chains, n = theta.shape
        for _ in range(sweeps):
            sums = self._rng.standard_gamma(self._total, (chains, 1))
            waiting = self._waiting(np.maximum(theta * sums, _TINY))
            rates = self._rng.standard_gamma(self._shape, (chains, n)) / waiting
            theta = rates / rates.sum(axis=1, keepdims=True)
        return theta

    def logarithmic(self, log_theta: FloatArray, alpha: FloatArray) -> FloatArray:
        """Log-ratings (C, n) after one sweep under each chain's own α (C, 1) of the prior, however small they are."""
        log_rates = log_theta + log_gamma(log_theta.shape[1] * alpha, self._rng)
        rates, faint = np.exp(np.maximum(log_rates, _LEAST)), log_rates.min(axis=1) < _LEAST
        log_waiting = np.empty_like(rates)
        log_waiting[~faint] = np.log(self._waiting(rates[~faint]))
        if faint.any():
            log_waiting[faint] = np.logaddexp(np.log1p(self._events(rates[faint])), self._faint(log_rates[faint]))
        return normalized(log_gamma(self._wins + alpha, self._rng) - log_waiting)

    def _waiting(self, rates: FloatArray) -> FloatArray:
        """(C, n) what λ are divided by, given new latent variables, from all λ (C, n)."""
        latent = self._rng.standard_gamma(self._counts, (len(rates), self._counts.size)) / self._sets.sums(rates)
        return 1.0 + self._sets.gather(latent) + self._events(rates)

    def _faint(self, log_rates: FloatArray) -> FloatArray:
        """(C, n) logarithms of the sums of new latent variables, set by set, from all log λ (C, n)."""
        each = log_gamma(np.broadcast_to(self._counts, (len(log_rates), self._counts.size)), self._rng)
        return self._sets.log_gather(each - self._sets.log_sums(log_rates))


def normalized(log_ratings: FloatArray) -> FloatArray:
    """(..., n) log-ratings whose ratings sum to 1."""
    return log_ratings - np.logaddexp.reduce(log_ratings, axis=-1, keepdims=True)


def log_gamma(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Logarithms of gamma variables, finite for the smallest shapes: G_a is G_{a+1} U^{1/a}."""
    return np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential(shape.shape) / shape


def mixing(log_theta: FloatArray, groups: int | None = None) -> tuple[float, float]:
    """Smallest effective sample size and largest split R-hat over the algorithms, from draws (length, chains, n).

    With many chains, the variance of their means tells how much the draws of one chain are worth. Where chains are put
    together in so many groups, R-hat compares groups (nested R-hat, Margossian et al. 2024): that of short chains is
    large however well they mix.
    """
    length, chains, _ = log_theta.shape
    half = length // 2
    if half < 2:
        return float(chains), float("nan")
    halves = np.concatenate([log_theta[:half], log_theta[length - half :]], axis=1)
    within = halves.var(axis=0, ddof=1).mean(axis=0)
    means = halves.mean(axis=0)
    pooled = (half - 1) / half * within + means.var(axis=0, ddof=1)
    ess = chains * pooled / log_theta.mean(axis=0).var(axis=0, ddof=1)
    if groups is None:
        return float(ess.min()), float(np.sqrt(pooled / within).max())
    centres = np.array(
        [means[half + k : half + chains : groups].mean(axis=0) for half in (0, chains) for k in range(groups)]
    )
    return float(ess.min()), float(np.sqrt(1.0 + centres.var(axis=0, ddof=1) / pooled).max())

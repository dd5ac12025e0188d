"""Exact Gibbs sampling of the ratings at one timepoint."""

from __future__ import annotations

import numpy as np

from polarbear.inference.likelihood.tie_events import TieEvents
from polarbear.inference.likelihood.timepoint_likelihood import Choices, normalized
from polarbear.inference.sampling.diagnostics import GIBBS, LARGEST_R_HAT, Sampled
from polarbear.inference.sampling.proposal import log_gamma
from polarbear.records import FloatArray

_MAX_CHAINS = 80
_SHORTEST_CHAIN = 25
_WARM_UP = 100
_THINNING = (2, 4, 8, 16, 32, 64, 128)
_MAX_WORK = 1e9
"""Maximum number of latent variables drawn in one attempt."""
_TINY = np.finfo(np.float64).tiny
_SMALLEST = -600.0
"""Smallest log λ for which the inverses of sums do not overflow."""


def gibbs(choices: Choices, *, start: FloatArray, draws: int, enough: float, rng: np.random.Generator) -> Sampled:
    """Sample the posterior by the data augmentation of Caron and Doucet (2012), many chains at once.

    Each choice set S that was chosen from c_S times gets a latent Z_S ~ Gamma(c_S, Σ_{j in S} λ_j); given these,
    λ_i ~ Gamma(α + W_i, 1 + Σ_{S with i} Z_S), also for fractional counts. For large ties the sums of the Z_S are drawn
    without listing the sets (see `inference.likelihood.tie_events`). The sum of λ, on which the rankings do not depend,
    is redrawn in each sweep to speed up mixing, as they advise. The number of sweeps between kept draws is doubled
    until the effective sample size is large enough.

    Args:
        choices: The choices, including the prior.
        start: (C, n) overdispersed starting ratings, assigned to the chains in turn.
        draws: Number of draws D to return.
        enough: The target effective sample size.
        rng: The source of randomness.

    Raises:
        ValueError: If α is so small that all ratings of a draw are 0 as floating-point numbers.
    """
    n = choices.wins.size
    chains = max(1, min(_MAX_CHAINS, draws // _SHORTEST_CHAIN))
    recorded = np.empty((-(-draws // chains), chains, n))
    advance = Sweeps(choices, rng)
    state = advance(start[np.arange(chains) % len(start)], _WARM_UP)
    ess = r_hat = float("nan")
    for thin in _THINNING:
        for step in range(len(recorded)):
            state = recorded[step] = advance(state, thin)
        ess, r_hat = mixing(np.log(np.maximum(recorded, _TINY)))
        converged = ess >= enough and r_hat < LARGEST_R_HAT
        if converged or 2 * thin * recorded.shape[0] * chains * advance.latent > _MAX_WORK:
            break
    theta = rng.permutation(recorded.reshape(-1, n))[:draws]
    return Sampled(np.ascontiguousarray(theta.T), GIBBS, min(ess, float(draws)), r_hat=r_hat)


class Sweeps:
    """Advances all chains by sweeps of the Gibbs sampler.

    Attributes:
        latent: Number of latent variables that each sweep draws for a chain.
    """

    def __init__(self, choices: Choices, rng: np.random.Generator) -> None:
        self._sets, self._counts = choices.sets, choices.counts
        if choices.whole > 0:
            self._sets, self._counts = choices.sets.with_everyone(), np.append(choices.counts, choices.whole)
        self._shape, self._total = choices.wins + choices.ties.wins().sum(axis=0), choices.wins.size * choices.alpha
        self._wins, self._alpha = self._shape - choices.alpha, choices.alpha
        self._events = TieEvents(choices.ties, self._total, rng)
        self._rng = rng
        self.latent = choices.counts.size + self._events.work

    def __call__(self, theta: FloatArray, sweeps: int) -> FloatArray:
        """Ratings (C, n) after a number of sweeps."""
        for _ in range(sweeps):
            sums = self._rng.standard_gamma(self._total, (len(theta), 1))
            with np.errstate(over="ignore", invalid="ignore"):  # which makes sums 0 or NaN
                divisors = self._divisors(np.maximum(theta * sums, _TINY))
            rates = self._rng.standard_gamma(self._shape, theta.shape) / divisors
            sums = rates.sum(axis=1, keepdims=True)
            if not (sums > 0).all():
                raise ValueError(
                    f"alpha is {self._alpha:g}, which makes ratings of {theta.shape[1]} algorithms too small for "
                    "floating-point numbers; give a larger value, such as 0.001"
                )
            theta = rates / sums
        return theta

    def logarithmic(self, log_theta: FloatArray, alpha: FloatArray) -> FloatArray:
        """Log-ratings (C, n), however small, after one sweep with a prior parameter α (C, 1) for each chain."""
        log_rates = log_theta + log_gamma(log_theta.shape[1] * alpha, alpha.shape, self._rng)
        rates, faint = np.exp(np.maximum(log_rates, _SMALLEST)), log_rates.min(axis=1) < _SMALLEST
        log_divisors = np.empty_like(rates)
        log_divisors[~faint] = np.log(self._divisors(rates[~faint]))
        if faint.any():
            of_ties, log_faint = np.log1p(self._events(rates[faint])), log_rates[faint]
            log_latent = log_gamma(self._counts, (len(log_faint), self._counts.size), self._rng)
            of_sets = self._sets.log_gather(log_latent - self._sets.log_sums(log_faint))
            log_divisors[faint] = np.logaddexp(of_ties, of_sets)
        return normalized(log_gamma(self._wins + alpha, rates.shape, self._rng) - log_divisors)

    def _divisors(self, rates: FloatArray) -> FloatArray:
        """(C, n) 1 + Σ_{S with i} Z_S for new latent variables, from all λ (C, n)."""
        latent = self._rng.standard_gamma(self._counts, (len(rates), self._counts.size)) / self._sets.sums(rates)
        return 1.0 + self._sets.gather(latent) + self._events(rates)


def mixing(log_theta: FloatArray, groups: int | None = None) -> tuple[float, float]:
    """Smallest effective sample size and largest split R-hat over the algorithms, from draws (length, chains, n).

    With many chains, the variance of their means gives the effective sample size. With `groups`, R-hat compares groups
    of chains (nested R-hat, Margossian et al. 2024), since the R-hat of short chains is large however well they mix.
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

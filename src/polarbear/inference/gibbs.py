"""Exact Gibbs sampling of the ratings at one timepoint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polarbear.inference.choices import Choices
from polarbear.inference.tie_events import TieEvents
from polarbear.records import FloatArray

_MOST_CHAINS = 80
_SHORTEST_CHAIN = 25
_WARM_UP = 100
_THINNING = (2, 4, 8, 16, 32, 64, 128)
_MOST_WORK = 1e9
"""Latent variables drawn in one attempt; an attempt that would take more is not made."""
_CONVERGED = 1.01
_TINY = np.finfo(np.float64).tiny


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
    the Z_S are drawn without listing the sets (see `polarbear.inference.tie_events`). The sum of λ, of which the
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
    advance = _Sweeps(choices, rng)
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


class _Sweeps:
    """Advances all chains by sweeps of the Gibbs sampler.

    Attributes:
        latent: How many latent variables each sweep draws for a chain.
    """

    def __init__(self, choices: Choices, rng: np.random.Generator) -> None:
        everyone = np.ones((int(choices.whole > 0), choices.wins.size))
        self._members = np.concatenate([choices.members, everyone])
        self._counts = np.concatenate([choices.counts, np.full(len(everyone), choices.whole)])
        self._shape, self._total = choices.wins + choices.ties.wins().sum(axis=0), choices.wins.size * choices.alpha
        self._events = TieEvents(choices.ties, self._total, rng)
        self._rng = rng
        self.latent = choices.counts.size + self._events.work

    def __call__(self, theta: FloatArray, sweeps: int) -> FloatArray:
        """Ratings (C, n) after so many sweeps."""
        chains, n = theta.shape
        for _ in range(sweeps):
            rates = np.maximum(theta * self._rng.standard_gamma(self._total, (chains, 1)), _TINY)
            latent = self._rng.standard_gamma(self._counts, (chains, self._counts.size)) / (rates @ self._members.T)
            waiting = 1.0 + latent @ self._members + self._events(rates)
            rates = self._rng.standard_gamma(self._shape, (chains, n)) / waiting
            theta = rates / rates.sum(axis=1, keepdims=True)
        return theta


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

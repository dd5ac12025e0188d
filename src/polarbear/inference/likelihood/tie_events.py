"""Latent variables, given which ratings are gamma variables even with large ties, for Gibbs sampling.

A choice set S that was chosen from c times has the latent variable Z_S ~ Gamma(c, Σ_{j in S} λ_j) (see
`inference.sampling.gibbs`). That is the sum of the jumps of a Poisson process with rate c e^{−u Σ λ_j} du / u for jumps
of size u. The processes of all the sets A ∪ R of a tie together are the integral of `polarbear.rankings.tie_integral`:
jumps arise at (u, p), each takes in every tied algorithm i independently with odds p e^{−uλ_i} : 1 − p, and those that
take in none do not count. So the nodes of the integral, with Poisson numbers of jumps at each, replace 2^k − 1 latent
variables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv

from polarbear.inference.likelihood.large_ties import TieTerms
from polarbear.rankings import tie_nodes
from polarbear.records import FloatArray, IntArray

Indices = NDArray[np.intp]
_RARE = 1e-14
"""Probability that a sum of rates exceeds the value that the nodes are scaled for."""


class TieEvents:
    """Draws the contribution of large ties to the latent variables, for many chains at once.

    Args:
        ties: The ties, at one timepoint.
        shape: Shape of the gamma distribution of the sum of all rates.
        rng: The source of randomness.
    """

    def __init__(self, ties: TieTerms, shape: float, rng: np.random.Generator) -> None:
        self._ties, self._scale, self._rng = ties, float(gammainccinv(shape, _RARE)), rng

    @property
    def work(self) -> int:
        """Approximate number of random numbers drawn for one chain."""
        return sum(2 * size * tie_nodes(size, 1.0).u.size for size in self._ties.tied.sum(axis=1).tolist())

    def __call__(self, rates: FloatArray) -> FloatArray:
        """(C, n) sums of the latent variables of all sets that contain each algorithm, given rates (C, n)."""
        scale = max(self._scale, float(rates.sum(axis=1).max(initial=0.0)))
        sums = np.zeros(rates.shape)
        for tied, below, amount in zip(self._ties.tied, self._ties.below, self._ties.amounts, strict=True):
            self._add(sums, rates / scale, np.flatnonzero(tied), np.flatnonzero(below), float(amount))
        return sums / scale

    def _add(self, sums: FloatArray, rates: FloatArray, tied: Indices, below: Indices, amount: float) -> None:
        """Add the contribution of one tie to `sums` (C, n)."""
        chains = len(rates)
        theta, base = rates[:, tied], rates[:, below].sum(axis=1)
        nodes = tie_nodes(tied.size, float((theta.min(axis=1) + base).min()))
        expected = amount * nodes.weights * np.exp(-base[:, np.newaxis] * nodes.u)
        for rate in theta.T:
            expected *= 1.0 + nodes.p * np.expm1(-rate[:, np.newaxis] * nodes.u)
        events: IntArray = np.asarray(self._rng.poisson(expected), dtype=np.int64)
        chain, node = np.nonzero(events)
        u, odds = nodes.u[node], nodes.p[node] / (1.0 - nodes.p[node])
        empty: IntArray = events[chain, node]
        filled: IntArray = np.zeros_like(empty)
        for algorithm, rate in zip(tied, theta.T, strict=True):
            odds_in = odds * np.exp(-rate[chain] * u)
            probability = odds_in / (1.0 + odds_in)
            first: IntArray = self._rng.binomial(empty, probability)
            further: IntArray = self._rng.binomial(filled, probability)
            sums[:, algorithm] += np.bincount(chain, u * (first + further), minlength=chains)
            empty -= first
            filled += first
        sums[:, below] += np.bincount(chain, u * filled, minlength=chains)[:, np.newaxis]

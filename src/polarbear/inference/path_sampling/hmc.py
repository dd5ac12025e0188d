"""Markov chains for posteriors that weighted Gaussians cannot represent, such as when all rankings agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.batches import IN_MEMORY, batches
from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.inference.path_sampling.hyperparameter_grid import Frame, locate
from polarbear.inference.path_sampling.hyperparameter_posterior import HyperparameterPosterior
from polarbear.inference.path_sampling.lattice_chains import LaplaceChains, LatticeChains, PriorChains
from polarbear.inference.sampling.chain_order import GROUPS, converged, record
from polarbear.inference.sampling.gibbs import mixing
from polarbear.records import FloatArray

_WARM_UP = 60
_LENGTHS, _LENGTHS_ON_REQUEST = 5, 8
"""Maximum number of chain lengths, each twice the one before: up to 16 or 128 sweeps per draw."""


@dataclass(frozen=True, slots=True, eq=False)
class ChainDraws:
    """Draws from C chains.

    Attributes:
        theta: (T, n, steps, C) ratings.
        points: (p, steps, C) logarithms of hyperparameters.
        diverging: (steps, C) whether a transition since the step before diverged.
        divergences: Number of transitions that diverged, after warming up.
        ess: Effective sample size.
        r_hat: The largest nested split R-hat.
    """

    theta: FloatArray
    points: FloatArray
    diverging: NDArray[np.bool_]
    divergences: int
    ess: float
    r_hat: float


def chain_draws(
    likelihood: Likelihood,
    posterior: HyperparameterPosterior,
    enough: float,
    rng: np.random.Generator,
    *,
    patient: bool = False,
) -> ChainDraws:
    """Sample the joint posterior by Markov chains.

    Until they converge, the chains are continued to twice their length, keeping every other draw, up to 16 sweeps
    between two draws. Unless all rankings agree, chains in the coordinates of Laplace's method come first. If these do
    not converge, or diverge, chains in the prior's coordinates follow, up to 128 sweeps between draws if `patient`.

    Args:
        likelihood: The likelihood of the rankings.
        posterior: The hyperparameters' posterior, and the prior of paths.
        enough: The target effective sample size.
        rng: The source of randomness.
        patient: Whether chains may be longer.
    """
    frame = locate(posterior, Frame.around(*posterior.start))
    if not likelihood.unanimous:
        draws = _run(LaplaceChains(likelihood, posterior, frame, rng), enough, _LENGTHS)
        if converged(draws.ess, draws.r_hat, enough) and not draws.divergences:
            return draws
    return _run(PriorChains(likelihood, posterior, frame, rng), enough, _LENGTHS_ON_REQUEST if patient else _LENGTHS)


def _run(chains: LatticeChains[Any], enough: float, lengths: int) -> ChainDraws:
    """Warm the chains up and record them."""
    for _ in range(_WARM_UP):
        chains.sweep(adapt=True)
    chains.diverged[:] = 0
    (theta, points, diverged), ess, r_hat = record(chains, _mixing, enough, lengths)
    diverging, divergences = np.diff(diverged, axis=0, prepend=0) > 0, int(chains.diverged.sum())
    return ChainDraws(theta, points, diverging, divergences, min(float(ess), float(diverging.size)), float(r_hat))


def _mixing(recorded: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Smallest effective sample size and largest R-hat of all log-ratings and hyperparameters."""
    theta, points, _ = recorded
    measures = [mixing(points.transpose(1, 2, 0), groups=GROUPS)]
    for part in batches(len(theta), theta[0].size, 2 * IN_MEMORY):
        log_theta = np.log(np.maximum(theta[part], np.finfo(np.float64).tiny))
        measures.append(mixing(log_theta.reshape(-1, *theta.shape[2:]).transpose(1, 2, 0), groups=GROUPS))
    ess, r_hat = np.array(measures).T
    return ess.min(), r_hat.max()

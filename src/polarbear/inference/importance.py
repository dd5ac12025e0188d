"""Draws from the posterior of the ratings at one timepoint by importance sampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.choices import Choices
from polarbear.inference.pareto import smoothed
from polarbear.inference.proposal import Proposal
from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ImportanceDraws:
    """Equally weighted draws (n, D) of the ratings, how many independent ones they are worth, and the k-hat."""

    theta: FloatArray
    ess: float
    k_hat: float


def importance(
    choices: Choices, source: Proposal, *, draws: int, proposals: int, rng: np.random.Generator
) -> ImportanceDraws:
    """Weight proposals by the posterior density, smooth the weights, and resample.

    Args:
        choices: The choices, prior included, algorithms in the proposal's order.
        source: What to propose from.
        draws: How many equally weighted draws to return.
        proposals: How many proposals to weight.
        rng: The source of randomness.
    """
    log_theta, log_proposed = source.draw(proposals, rng)
    weights, k_hat = smoothed(choices.log_density(log_theta) - log_proposed)
    chosen = resampled(weights, draws, rng)
    ess = 1.0 / float(weights @ weights)
    return ImportanceDraws(np.exp(log_theta[:, chosen]), min(ess, float(draws)), k_hat)


def resampled(weights: FloatArray, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Indices (draws,) of equally weighted draws by systematic resampling, in random order."""
    cumulative = np.cumsum(weights)
    at = (np.arange(draws) + rng.random()) * (float(cumulative[-1]) / draws)
    chosen = np.minimum(np.searchsorted(cumulative, at, side="right"), weights.size - 1)
    return rng.permutation(chosen)

"""Draws from the posterior of the ratings at one timepoint by importance sampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.sampling.proposal import Proposal
from polarbear.inference.sampling.psis import smooth
from polarbear.records import FloatArray

_FAINT, _ROOM = -690.0, 15.0
"""Log-ratings below the first are pressed together into so much room below it; numbers end at −708."""


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
    weights, k_hat = smooth(choices.log_density(log_theta) - log_proposed)
    chosen = resample(weights, draws, rng)
    ess = 1.0 / float(weights @ weights)
    return ImportanceDraws(ratings_in_order(np.take(log_theta, chosen, axis=1)), min(ess, float(draws)), k_hat)


def ratings_in_order(log_theta: FloatArray) -> FloatArray:
    """Ratings from their logarithms; those too small for floating-point numbers are the least there are, in order."""
    below = np.maximum(_FAINT - log_theta, 0.0)
    return np.exp(np.maximum(log_theta, _FAINT) - _ROOM * below / (1000.0 + below))


def resample(weights: FloatArray, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Indices (draws,) of equally weighted draws by systematic resampling, in random order."""
    cumulative = np.cumsum(weights)
    upto = np.ceil(cumulative * (draws / float(cumulative[-1])) - rng.random())
    upto[-1] = draws
    copies = np.diff(upto, prepend=0.0).astype(np.int64)
    return rng.permutation(np.repeat(np.arange(weights.size), copies))

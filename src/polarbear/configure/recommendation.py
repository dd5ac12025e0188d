"""Which configuration to use: the best elite, if it is safe to replace the default by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from polarbear.configure.contests import deviation
from polarbear.configure.criteria import bootstrap_means
from polarbear.configure.proposals import time_weights
from polarbear.inference import Posterior
from polarbear.records import FloatArray


class Safety(NamedTuple):
    """The evidence for using a configuration instead of the default.

    Attributes:
        worth: Posterior mean of its advantage.
        probability: Probability that it is not worse than the default by more than ε.
    """

    worth: float
    probability: float


def win_probability(mine: FloatArray, others: FloatArray, times: FloatArray) -> FloatArray:
    """(D,) probability that a run with ratings `mine` (D, T) beats one with `others`, as a mean over log time."""
    return (mine / np.maximum(mine + others, np.finfo(float).tiny)) @ time_weights(times)


def safety_of_wins(posterior: Posterior, name: str, default: str, epsilon: float) -> Safety:
    """By ratings: not worse by more than ε means beating the default with mean probability ≥ 0.5 - ε over log time."""
    mine, others = (posterior.draws[:, :, posterior.index(each)] for each in (name, default))
    wins = win_probability(mine, others, posterior.times)
    return Safety(float(wins.mean()) - 0.5, float((wins >= 0.5 - epsilon).mean()))


def safety_of_means(terms: FloatArray, epsilon: float, rng: np.random.Generator) -> Safety:
    """By a criterion: not worse by more than ε means a mean at most ε standard deviations above the default's.

    Args:
        terms: (P, 2, 2) terms of the runs of the configuration and of the default, see `Criterion.terms`.
        epsilon: ε, in standard deviations of all these runs.
        rng: Random generator for the Bayesian bootstrap over instances.
    """
    pool = terms[np.isfinite(terms).all(axis=-1)]
    if not len(pool) or not pool[:, 1].sum():
        return Safety(0.0, 0.0)
    mine, default = bootstrap_means(terms, rng, pool=pool).T
    with np.errstate(invalid="ignore"):  # both may have runs without a value
        gain = default - mine
    return Safety(float(np.nan_to_num(gain.mean(), nan=0.0)), float((gain >= -epsilon * deviation(pool)).mean()))


def recommend(safeties: Mapping[str, Safety], default: str, *, alpha: float, tried: int) -> str:
    """The configuration with the highest worth among the default and those not worse than it by more than ε.

    Each has to be so with probability 1 - (1 - α) / tried, so that with probability α none of those tried is accepted
    by chance (Bonferroni).

    Args:
        safeties: Safety by name, without the default's.
        default: Name of the default.
        alpha: Probability α.
        tried: Number of configurations from which these were selected by the same runs.
    """
    needed = 1 - (1 - alpha) / max(1, tried)
    worth = {default: 0.0} | {name: each.worth for name, each in safeties.items() if each.probability >= needed}
    return max(worth, key=lambda name: worth[name])

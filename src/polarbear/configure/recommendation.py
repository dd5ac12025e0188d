"""Which configuration to take: the best elite, if it is safe to leave the default for it."""

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
    """What speaks for a configuration in place of the default.

    Attributes:
        worth: By how much it is better, as a posterior mean.
        probability: That it is not worse than the default beyond ε.
    """

    worth: float
    probability: float


def win_probability(mine: FloatArray, others: FloatArray, times: FloatArray) -> FloatArray:
    """(D,) how probably a run with ratings `mine` (D, T) beats one with the others', as a mean over log time."""
    return (mine / np.maximum(mine + others, np.finfo(float).tiny)) @ time_weights(times)


def safety_of_wins(posterior: Posterior, name: str, default: str, epsilon: float) -> Safety:
    """By ratings: not worse beyond ε is who beats the default with probability 0.5 - ε, as a mean over log time."""
    mine, others = (posterior.draws[:, :, posterior.index(each)] for each in (name, default))
    wins = win_probability(mine, others, posterior.times)
    return Safety(float(wins.mean()) - 0.5, float((wins >= 0.5 - epsilon).mean()))


def safety_of_means(terms: FloatArray, epsilon: float, rng: np.random.Generator) -> Safety:
    """By a criterion: not worse beyond ε is whose mean exceeds the default's by no more than ε standard deviations.

    Args:
        terms: (P, 2, 2) what the runs of the configuration and of the default add, see `Criterion.terms`.
        epsilon: ε, in standard deviations of all these runs.
        rng: For the Bayesian bootstrap over instances.
    """
    pool = terms[np.isfinite(terms).all(axis=-1)]
    if not len(pool) or not pool[:, 1].sum():
        return Safety(0.0, 0.0)
    mine, default = bootstrap_means(terms, rng, pool=pool).T
    with np.errstate(invalid="ignore"):  # both have runs without a value
        gain = default - mine
    return Safety(float(np.nan_to_num(gain.mean(), nan=0.0)), float((gain >= -epsilon * deviation(pool)).mean()))


def recommend(safeties: Mapping[str, Safety], default: str, *, alpha: float, tried: int) -> str:
    """The configuration that is worth most of those which are not worse than the default beyond ε, and of the default.

    Each has to be so with probability 1 - (1 - α) / tried, so that with probability α none of those tried is taken by
    luck (Bonferroni).

    Args:
        safeties: By name, without the default's.
        default: Its name.
        alpha: α.
        tried: Among how many configurations these were chosen, by the runs that speak for them.
    """
    needed = 1 - (1 - alpha) / max(1, tried)
    worth = {default: 0.0} | {name: each.worth for name, each in safeties.items() if each.probability >= needed}
    return max(worth, key=lambda name: worth[name])

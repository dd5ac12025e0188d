"""When one algorithm overtakes another, and which one should run until when, from a posterior over time.

Runs are ranked by their values at each budget, so that no optimum needs to be known. The rating at a budget is that of
uninterrupted runs with this budget: the cost of a handover is not included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polarbear.inference.events import refuse_several_timepoints
from polarbear.inference.posterior import Posterior
from polarbear.records import FloatArray
from polarbear.validation import real_number


@dataclass(frozen=True, slots=True)
class Takeover:
    """The time from which on one algorithm is better than another.

    Attributes:
        first: The algorithm that is overtaken.
        second: The algorithm that is better in the end.
        time: The earliest timepoint such that `second` is better then and at all later timepoints with at least the
            required probability.
        probability: Probability that `second` is better from `time` on.
        crossing: Probability that, in addition, `first` is better at some earlier timepoint; 0 if there is none.
    """

    first: str
    second: str
    time: float
    probability: float
    crossing: float


@dataclass(frozen=True, slots=True)
class Handover:
    """Which algorithm should run until when, if at most one handover is possible.

    Attributes:
        first: The algorithm that runs before `time`.
        second: The algorithm that runs from `time` on; equal to `first` if no handover is expected to help.
        time: The first timepoint of `second`.
        share: Expected share of the timepoints at which the running algorithm is the best of all.
        alone: The single algorithm with the largest expected share of timepoints at which it is the best.
        share_alone: Expected share of the timepoints at which `alone` is the best.
        probability: Probability that the pair is the best at more timepoints than `alone`.
    """

    first: str
    second: str
    time: float
    share: float
    alone: str
    share_alone: float
    probability: float


def takeovers(posterior: Posterior, alpha: float = 0.95) -> list[Takeover]:
    """All pairs of which one is, with high probability, better from some timepoint on, the earliest first.

    Args:
        posterior: A posterior that is joint over time.
        alpha: The probability required.

    Raises:
        ValueError: If `alpha` is not a probability above 0, or the posterior is not joint over time.
    """
    sure = real_number(alpha, "alpha", gt=0, le=1)
    _check(posterior)
    found = list[Takeover]()
    for b, second in enumerate(posterior.names):
        for a, first in enumerate(posterior.names):
            if a == b:
                continue
            above = posterior.draws[:, :, b] > posterior.draws[:, :, a]
            from_on = np.logical_and.accumulate(above[:, ::-1], axis=1)[:, ::-1]
            probabilities = from_on.mean(axis=0)
            if not (probabilities >= sure).any():
                continue
            t = int((probabilities >= sure).argmax())
            behind = (posterior.draws[:, :t, a] > posterior.draws[:, :t, b]).any(axis=1)
            crossing = float((behind & from_on[:, t]).mean())
            found.append(Takeover(first, second, float(posterior.times[t]), float(probabilities[t]), crossing))
    return sorted(found, key=lambda each: (each.time, each.first, each.second))


def best_handover(posterior: Posterior) -> Handover:
    """The pair and handover time for which the running algorithm is the best at the most timepoints, in expectation.

    All timepoints count equally. If they are evenly spaced on a log scale, so do orders of magnitude of the budget.
    Among equals, a single algorithm is preferred to a pair, and the first pair to others.

    Raises:
        ValueError: If the posterior is not joint over time.
    """
    _check(posterior)
    draws = posterior.draws
    top = draws == draws.max(axis=2, keepdims=True)
    best: FloatArray = top / top.sum(axis=2, keepdims=True)
    expected = best.mean(axis=0)
    before = np.concatenate([np.zeros((1, expected.shape[1])), np.cumsum(expected, axis=0)[:-1]])
    alone = int(expected.sum(axis=0).argmax())
    until = before.max(axis=1) + (expected.sum(axis=0) - before).max(axis=1)
    t = int(until.argmax())
    first, second = int(before[t].argmax()), int((expected.sum(axis=0) - before)[t].argmax())
    if until[t] <= expected[:, alone].sum() * (1 + 1e-12):
        t, first, second = 0, alone, alone
    runner = np.where(np.arange(len(expected)) < t, first, second)
    pair = best[:, np.arange(len(expected)), runner].sum(axis=1)
    names = posterior.names
    return Handover(
        names[first],
        names[second],
        float(posterior.times[t]),
        float(pair.mean() / len(expected)),
        names[alone],
        float(expected[:, alone].mean()),
        float((pair > best[:, :, alone].sum(axis=1) + 1e-9).mean()),
    )


def _check(posterior: Posterior) -> None:
    if not posterior.joint and posterior.times.size > 1:
        refuse_several_timepoints()

"""When one algorithm overtakes another, and who should run until when, by a posterior over time.

Runs are ranked by their values at each budget, so that no optimum has to be known. A rating at a budget is that of runs
which had all of it to themselves: what a handover costs is not counted.
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
    """From when on one algorithm is better than another.

    Attributes:
        first: The one that is overtaken.
        second: The one that is better in the end.
        time: The earliest timepoint from which on `second` is better, at that and all later ones, with at least the
            probability that was asked for.
        probability: That it is.
        crossing: The probability that, besides, `first` is better at some timepoint before. It is 0 at the first one.
    """

    first: str
    second: str
    time: float
    probability: float
    crossing: float


@dataclass(frozen=True, slots=True)
class Handover:
    """Who should run until when, if at most one handover is possible.

    Attributes:
        first: Who runs before `time`.
        second: Who runs from `time` on; the same, if no handover is expected to be of use.
        time: The first timepoint of `second`.
        share: The expected share of the timepoints at which the one that runs is the best of all.
        alone: The algorithm that is the best at the largest expected share of them.
        share_alone: That share.
        probability: That the pair is the best at more timepoints than `alone`.
    """

    first: str
    second: str
    time: float
    share: float
    alone: str
    share_alone: float
    probability: float


def takeovers(posterior: Posterior, alpha: float = 0.95) -> list[Takeover]:
    """All pairs of which one is surely better than the other from some timepoint on, the earliest first.

    Args:
        posterior: Joint over time.
        alpha: How probable it has to be.

    Raises:
        ValueError: If `alpha` is no probability above 0, or the posterior is not joint over time.
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
    """The pair of algorithms, and the timepoint of a handover, by which the best one runs at most timepoints.

    In expectation; all timepoints count alike. If these are evenly spaced on a log scale, so do orders of magnitude of
    budgets. Of equals an algorithm alone is taken, and else the first pair.

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

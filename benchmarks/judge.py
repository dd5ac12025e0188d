"""Races on known truths, and the errors in their results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from polarbear.racing import Race, Round
from polarbear.simulate import Noise, Truth


def rounds_of(race: Race, truth: Truth, most_instances: int, noise: Noise = "gumbel") -> Iterator[Round]:
    """Race on runs drawn from the truth; yields after every round."""
    while requests := race.ask(most_instances):
        this = race.tell([truth.run(request.key, request.until, noise=noise) for request in requests])
        assert this is not None
        yield this


def dominates(truth: Truth) -> NDArray[np.bool_]:
    """(n, n) whether i is truly better than j at all timepoints."""
    return truth.better.all(axis=0)


def is_explained(truth: Truth, found: tuple[str, ...], epsilon: float) -> bool:
    """Whether `found` is the true Pareto set up to ε-equivalents.

    A member that is missing must be all but dominated: some algorithm is nowhere worse than it by more than ε. A
    member too many must be nearly a member: each of its dominators is within ε of it at some timepoint.
    """
    ratings = truth.ratings
    win = ratings[:, :, np.newaxis] / (ratings[:, :, np.newaxis] + ratings[:, np.newaxis, :])
    nowhere_worse = (win >= 0.5 - epsilon).all(axis=0)
    np.fill_diagonal(nowhere_worse, val=False)
    clearly_dominates = (win > 0.5 + epsilon).all(axis=0)
    names, members = truth.names, truth.pareto_set
    missing = [names.index(name) for name in members if name not in found]
    extra = [names.index(name) for name in found if name not in members]
    return all(nowhere_worse[:, index].any() for index in missing) and not any(
        clearly_dominates[:, index].any() for index in extra
    )


def with_interval(count: int, of: int) -> str:
    """A share and its exact 95 % interval."""
    if of == 0:
        return "0 of 0"
    interval = binomtest(count, of).proportion_ci()
    return f"{count} of {of} = {count / of:.3f} (95 % interval {interval.low:.3f} to {interval.high:.3f})"

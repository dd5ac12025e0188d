"""Simulated restarts: runtimes of an algorithm restarted until it succeeds (Hansen et al. 2022, section V-A, eq. 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import checked_runtimes, checked_weights
from polarbear.assess.runtimes import effort
from polarbear.records import FloatArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]
_BELOW_ONE = 1 - 1e-9


def simulated_restarts(
    runtimes: ArrayLike,
    evaluations: ArrayLike,
    size: int,
    *,
    rng: np.random.Generator | None = None,
    first_with_replacement: bool = False,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Sample runtimes of the algorithm restarted until it succeeds, for each target separately.

    A simulated runtime adds up trials drawn from the runs until one is successful (eq. 2). By default the first
    trials of a sample are drawn without replacement, which lowers its variance: with as many samples as runs, each
    run comes first once.

    Without a generator the sample is derandomized. Equal data, in any order, give equal runtimes: first trials, numbers
    of failures and last trials are spread evenly over their distributions, and fixed random numbers are used for the
    rest.

    Args:
        runtimes: (runs, targets) runtimes, inf where a target was missed.
        evaluations: (runs,) total number of evaluations of each run.
        size: Number of runtimes to simulate for each target.
        rng: The source of randomness; None derandomizes the sample.
        first_with_replacement: Whether first trials are drawn independently, too (plain bootstrap).
        weights: (runs,) weights with which runs are drawn, such as `instance_weights`; equal by default.

    Returns:
        (size, targets) simulated runtimes, inf for a target that no run reached.

    Raises:
        ValueError: If `size` is below 1, there are no runs, a number is NaN, or shapes do not match; or if first trials
            are drawn with replacement and no generator is given.
    """
    if first_with_replacement and rng is None:
        raise ValueError("first_with_replacement draws first trials at random; give rng, or leave that option out")
    first, urn = _begin(runtimes, evaluations, size, rng, first_with_replacement, weights)
    return urn.finish(first)


def simulated_with_marks(
    runtimes: ArrayLike, evaluations: ArrayLike, size: int, rng: np.random.Generator | None, weights: ArrayLike | None
) -> tuple[FloatArray, BoolArray]:
    """As `simulated_restarts`, and (size, targets) whether a runtime includes at least one unsuccessful trial."""
    first, urn = _begin(runtimes, evaluations, size, rng, False, weights)
    return urn.finish(first), urn.failed(first)


def _begin(
    runtimes: ArrayLike,
    evaluations: ArrayLike,
    size: int,
    rng: np.random.Generator | None,
    with_replacement: bool,
    weights: ArrayLike | None,
) -> tuple[IntArray, _Urn]:
    times = checked_runtimes(runtimes)
    chance = checked_weights(weights, len(times))
    if size < 1:
        raise ValueError(f"size is {size!r}; simulate at least 1 runtime")
    cost = effort(times, evaluations)
    order = _canonical(times, cost, chance) if rng is None else rng.permutation(len(times))
    urn = _Urn(times[order], cost[order], chance[order] / chance.sum(), rng)
    return urn.first(size, with_replacement), urn


class _Urn:
    """The trials from which restarts are drawn, for all targets."""

    def __init__(self, times: FloatArray, cost: FloatArray, chance: FloatArray, rng: np.random.Generator | None):
        self.cost, self.chance = cost, chance
        self.targets = len(cost.T)
        self.hit = np.isfinite(times)
        self.rng = np.random.default_rng(0) if rng is None else rng
        self.spread = rng is None

    def first(self, size: int, with_replacement: bool) -> IntArray:
        """(size, targets) index of the run that comes first."""
        if with_replacement:
            levels = self.rng.random((size, self.targets))
        else:
            offset = np.full(self.targets, 0.5) if self.spread else self.rng.random(self.targets)
            levels = np.add.outer(np.arange(size), offset) / size
        bounds = np.cumsum(self.chance)
        return np.searchsorted(bounds / bounds[-1], np.minimum(levels, _BELOW_ONE), side="right")

    def failed(self, first: IntArray) -> BoolArray:
        """(size, targets) whether the first trial missed the target."""
        return ~self.hit[first, np.arange(self.targets)]

    def finish(self, first: IntArray) -> FloatArray:
        """(size, targets) total cost if each first trial is followed by others until one succeeds."""
        total = self.cost[first, np.arange(self.targets)]
        total[:, ~self.hit.any(axis=0)] = np.inf
        target, sample = np.nonzero((self.failed(first) & np.isfinite(total)).T)
        if target.size:
            total[sample, target] += self._failures(target) + self._successes(target)
        return total

    def _failures(self, target: IntArray) -> FloatArray:
        """Cost of further failures before the success; their geometric number determines it if all cost the same."""
        failing = 1 - self.chance @ self.hit
        levels = self._levels(target, self.spread)
        number = np.floor(np.log1p(-levels) / np.log(failing[target])).astype(np.intp)
        least, most = np.where(self.hit, np.inf, self.cost).min(axis=0), np.where(self.hit, 0, self.cost).max(axis=0)
        spent = number * most[target]
        differ = np.flatnonzero((least < most)[target])
        if differ.size:
            which = np.repeat(differ, number[differ])
            rows = self._draw(~self.hit, target[which], self._levels(target[which], spread=False))
            drawn = np.bincount(which, weights=self.cost[rows, target[which]], minlength=target.size)
            spent[differ] = drawn[differ]
        return spent

    def _successes(self, target: IntArray) -> FloatArray:
        rows = self._draw(self.hit, target, self._levels(target, self.spread))
        return self.cost[rows, target]

    def _draw(self, among: BoolArray, target: IntArray, levels: FloatArray) -> IntArray:
        """For each target, the run at the given level of the distribution over the runs in `among`."""
        bounds = np.cumsum(self.chance[:, None] * among, axis=0)
        bounds = bounds / np.where(bounds[-1] > 0, bounds[-1], 1.0)
        ladder = (bounds.T + np.arange(self.targets)[:, None]).ravel()
        return np.searchsorted(ladder, target + np.minimum(levels, _BELOW_ONE), side="right") - target * len(bounds)

    def _levels(self, target: IntArray, spread: bool) -> FloatArray:
        """Numbers in (0, 1), one for each entry of the sorted `target`: random, or evenly spread within each target."""
        random = self.rng.random(target.size)
        if not spread:
            return random
        order = np.argsort(target + random, kind="stable")  # faster, as targets are in order
        number = np.bincount(target)
        begin = np.cumsum(number) - number
        levels = np.empty(target.size)
        levels[order] = (np.arange(target.size) - begin[target] + 0.5) / number[target]
        return levels


def _canonical(times: FloatArray, cost: FloatArray, chance: FloatArray) -> IntArray:
    """An order of the runs that depends on their data, not on the order in which they were listed."""
    return np.lexsort((chance, *cost.T, *times.T))

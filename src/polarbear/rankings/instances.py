"""Rankings that know their instance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.rankings.masks import frozen
from polarbear.records import FloatArray, IntArray

NOT_RUN = -1
"""The rank of an algorithm of which nothing is known."""
UNORDERED = 100
"""The rank of algorithms that come after all others, in an order that was not observed."""


@dataclass(frozen=True, slots=True, eq=False)
class InstanceRanks:
    """The ranking of each of P instances at each of T timepoints.

    Attributes:
        ranks: (P, T, n) int8, how many algorithms are better; `NOT_RUN` or `UNORDERED` where that is not known.
        weights: (P,) float64, how much each instance counts.
        groups: (P,) int64, the group of each instance. Only groups are independent of each other.
    """

    ranks: NDArray[np.int8]
    weights: FloatArray
    groups: IntArray

    def __post_init__(self) -> None:
        for name, dtype in (("ranks", np.int8), ("weights", np.float64), ("groups", np.int64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def units(self) -> int:
        """How many groups there are: what is resampled, and independent of each other."""
        return int(self.groups.max(initial=-1)) + 1

    @classmethod
    def of(
        cls,
        values: FloatArray,
        weights: FloatArray | None = None,
        groups: IntArray | None = None,
        *,
        unordered: bool = False,
    ) -> InstanceRanks:
        """The rankings by values (P, T, n), lower is better, NaN where not run; +inf may be `UNORDERED`."""
        ranks = np.zeros(values.shape, np.int8)
        for theirs in np.moveaxis(values, 2, 0):
            ranks += theirs[..., np.newaxis] < values
        ranks[np.isnan(values)] = NOT_RUN
        if unordered:
            ranks[np.isposinf(values)] = UNORDERED
        each = np.arange(len(values))
        return cls(ranks, np.ones(each.size) if weights is None else weights, each if groups is None else groups)

    def summed(self, values: FloatArray) -> FloatArray:
        """(G, n) the sums over each group of what instances (P, n) have, times their weights."""
        weighted = values * self.weights[:, np.newaxis]
        if np.array_equal(self.groups, np.arange(self.groups.size)):
            return weighted
        sums = np.zeros((self.units, values.shape[1]))
        np.add.at(sums, self.groups, weighted)
        return sums

    def select(self, timepoints: IntArray) -> InstanceRanks:
        """The rankings at some timepoints."""
        return InstanceRanks(self.ranks[:, timepoints], self.weights, self.groups)

    def padded(self, algorithms: int) -> InstanceRanks:
        """The same rankings with algorithms added at the end that have never been run."""
        added = ((0, 0), (0, 0), (0, algorithms - self.ranks.shape[2]))
        return InstanceRanks(np.pad(self.ranks, added, constant_values=NOT_RUN), self.weights, self.groups)

    def merged(self, other: InstanceRanks) -> InstanceRanks:
        """These rankings and those of further instances; no group of one is a group of the other."""
        after = other.groups + self.units
        return InstanceRanks(
            np.concatenate([self.ranks, other.ranks]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.groups, after]),
        )


def group_numbers(groups: ArrayLike | None, instances: int) -> IntArray:
    """(P,) the number of each instance's group; each is one of its own by default.

    Raises:
        ValueError: If there is not one group for each instance.
    """
    if groups is None:
        return np.arange(instances)
    labels = np.asarray(groups)
    if labels.shape != (instances,):
        raise ValueError(f"groups has shape {labels.shape}; give one label for each of {instances} instances")
    return np.unique(labels, return_inverse=True)[1].reshape(-1)

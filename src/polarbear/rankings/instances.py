"""Rankings that know their instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.rankings.masks import BITS, frozen
from polarbear.records import FloatArray, IntArray

NOT_RUN = -1
"""The rank of an algorithm of which nothing is known."""
Ranks = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class InstanceRanks:
    """The ranking of each of P instances at each of T timepoints.

    Attributes:
        ranks: (P, T, n) int8, or int16 of more than 64 algorithms: how many are better; `NOT_RUN` or `unordered` where
            that is not known.
        weights: (P,) float64, how much each instance counts.
        groups: (P,) int64, the group of each instance. Only groups are independent of each other.
    """

    ranks: Ranks
    weights: FloatArray
    groups: IntArray

    def __post_init__(self) -> None:
        ranks = _rank_type(np.shape(self.ranks)[2])
        for name, dtype in (("ranks", ranks), ("weights", np.float64), ("groups", np.int64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def unordered(self) -> int:
        """The rank of algorithms that come after all others, in an order that was not observed."""
        return int(np.iinfo(self.ranks.dtype).max)

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
        """The rankings by values (P, T, n), lower is better, NaN where not run; +inf may be `unordered`."""
        ranks = _better(values)
        ranks[np.isnan(values)] = NOT_RUN
        if unordered:
            ranks[np.isposinf(values)] = np.iinfo(ranks.dtype).max
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
        ranks = np.full((*self.ranks.shape[:2], algorithms), NOT_RUN, _rank_type(algorithms))
        ranks[:, :, : self.ranks.shape[2]] = self.ranks
        ranks[ranks == self.unordered] = np.iinfo(ranks.dtype).max
        return InstanceRanks(ranks, self.weights, self.groups)

    def merged(self, other: InstanceRanks) -> InstanceRanks:
        """These rankings and those of further instances; no group of one is a group of the other."""
        after = other.groups + self.units
        return InstanceRanks(
            np.concatenate([self.ranks, other.ranks]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.groups, after]),
        )


def _rank_type(algorithms: int) -> type[np.signedinteger[Any]]:
    return np.int8 if algorithms <= BITS else np.int16


def _better(values: FloatArray) -> Ranks:
    """(P, T, n) how many have better values; those that are NaN are better than none."""
    ranks: Ranks = np.zeros(values.shape, _rank_type(values.shape[2]))
    if values.shape[2] <= BITS:
        for theirs in np.moveaxis(values, 2, 0):
            ranks += theirs[..., np.newaxis] < values
        return ranks
    order = np.argsort(values, axis=2)
    ordered = np.take_along_axis(values, order, axis=2)
    places = np.broadcast_to(np.arange(values.shape[2], dtype=ranks.dtype), values.shape).copy()
    places[:, :, 1:][ordered[:, :, 1:] == ordered[:, :, :-1]] = 0  # a tie has the place of its first
    np.put_along_axis(ranks, order, np.maximum.accumulate(places, axis=2), axis=2)
    return ranks


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

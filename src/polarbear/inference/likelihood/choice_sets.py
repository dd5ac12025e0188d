"""Sums of ratings over choice sets, at one timepoint.

With few algorithms each choice set is a row of ones and zeros, and sums are a matrix product. With many algorithms, s
sets would take s n entries. But the sets of one ranking are nested: each is the next smaller one plus the algorithm
chosen from it. So sets are arranged in chains of nested sets, and the sums over a chain are cumulative sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.batches import IN_CACHE, batches
from polarbear.rankings import BITS, MaskArray, members_of, membership, set_sizes
from polarbear.records import FloatArray

BoolArray = NDArray[np.bool_]
Indices = NDArray[np.intp]

_LOG_SMALLEST = -700.0
"""About the logarithm of the smallest normal number."""


@dataclass(frozen=True, slots=True, eq=False)
class ListedSets:
    """s sets of n algorithms as rows: 1 where the algorithm is in the set, else 0."""

    members: FloatArray

    @property
    def sizes(self) -> FloatArray:
        """(s,) number of members of each set."""
        return self.members.sum(axis=1)

    def sums(self, theta: FloatArray) -> FloatArray:
        """(D, s) sums of ratings (D, n) over each set."""
        return theta @ self.members.T

    def weighted_log_sums(self, theta: FloatArray, counts: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield draws and terms of their (D,) Σ_s c_s log(sum over set s), for ratings (n, D) and counts c (s,)."""
        sums: FloatArray = np.empty(0)
        factors = _LOG_SMALLEST / np.log(theta.min(initial=0.5))  # a product of this many sums does not underflow
        for sets in batches(counts.size, theta.shape[1], IN_CACHE):
            members, times = self.members[sets], counts[sets]
            sums = np.matmul(members, theta, out=sums[: len(members)] if sums.size else None)  # fresh memory is slow
            if times.size <= factors and (times == times[0]).all():  # the usual case with many algorithms
                yield slice(None), times[0] * np.log(np.multiply.reduce(sums))
            else:
                yield slice(None), times @ np.log(sums, out=sums)

    def log_sums(self, log_theta: FloatArray) -> FloatArray:
        """The logarithms of `sums` from log-ratings (D, n) whose exponentials may vanish."""
        sums = [np.logaddexp.reduce(log_theta[:, members], axis=1) for members in self.members > 0]
        return np.array(sums).reshape(-1, len(log_theta)).T

    def gather(self, rates: FloatArray) -> FloatArray:
        """(..., n) sums of rates (..., s) over the sets that contain each algorithm."""
        return rates @ self.members

    def log_gather(self, log_rates: FloatArray) -> FloatArray:
        """(D, n) logarithms of `gather` from logarithms (D, s)."""
        result = np.full((len(log_rates), self.members.shape[1]), -np.inf)
        for members, log_rate in zip(self.members > 0, log_rates.T, strict=True):
            result[:, members] = np.logaddexp(result[:, members], log_rate[:, np.newaxis])
        return result

    def moments(self, theta: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The sums (s,) of ratings (n,), the expected wins (n,), and Σ_s c_s p_s p_sᵀ (n, n).

        Set s is chosen from c_s times, and p_s are its members' shares of the sum.
        """
        chosen_from = self.members @ theta
        share = self.members * theta / chosen_from[:, np.newaxis]
        weighted = counts[:, np.newaxis] * share
        return chosen_from, weighted.sum(axis=0), share.T @ weighted

    def connected(self) -> BoolArray:
        """(k, n) sets that connect the same algorithms as all sets do."""
        return self.members > 0

    def sizes_among(self, group: Indices) -> FloatArray:
        """(s,) number of members of each set in a group of algorithms that contains all its members or none."""
        return self.members[:, group].sum(axis=1)

    def among(self, group: Indices, chosen: BoolArray) -> ListedSets:
        """The chosen sets (mask (s,)), which lie within a group, with algorithms in the order of the group."""
        return ListedSets(np.ascontiguousarray(self.members[:, group][chosen]))

    def with_everyone(self) -> ListedSets:
        """The sets, followed by the set of all algorithms."""
        return ListedSets(np.concatenate([self.members, np.ones((1, self.members.shape[1]))]))


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """l nested sets, the smallest first.

    Attributes:
        members: (m,) algorithms of the largest set, in the order in which they enter.
        entry: (m,) index of the first set that contains each of them.
        ends: (l,) number of members of each set, less one.
    """

    members: Indices
    entry: Indices
    ends: Indices

    @classmethod
    def of(cls, sets: BoolArray) -> Chain:
        """The chain of nested sets (l, n)."""
        entry = np.where(sets[-1], len(sets) - np.count_nonzero(sets, axis=0), len(sets))
        members = np.argsort(entry, kind="stable")[: np.count_nonzero(sets[-1])]
        return cls(members, entry[members], np.count_nonzero(sets, axis=1) - 1)

    def only(self, sets: Indices, position: Indices) -> Chain:
        """Some of the sets, in their order, with algorithms renumbered to `position` (n,)."""
        size = self.ends[sets[-1]] + 1
        return Chain(position[self.members[:size]], np.searchsorted(sets, self.entry[:size]), self.ends[sets])


@dataclass(frozen=True, slots=True, eq=False)
class NestedSets:
    """s sets of n algorithms in chains, one chain after another; methods as those of `ListedSets`."""

    chains: tuple[Chain, ...]
    algorithms: int

    @property
    def sizes(self) -> FloatArray:
        """See `ListedSets.sizes`."""
        return np.concatenate([np.empty(0), *(chain.ends + 1.0 for chain in self.chains)], dtype=np.float64)

    def sums(self, theta: FloatArray) -> FloatArray:
        """See `ListedSets.sums`."""
        return self._accumulate(np.add, theta)

    def weighted_log_sums(self, theta: FloatArray, counts: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """See `ListedSets.weighted_log_sums`."""
        for draws in batches(theta.shape[1], counts.size, IN_CACHE):
            sums = self.sums(np.ascontiguousarray(theta[:, draws].T))
            yield draws, np.log(sums, out=sums) @ counts

    def log_sums(self, log_theta: FloatArray) -> FloatArray:
        """See `ListedSets.log_sums`."""
        return self._accumulate(np.logaddexp, log_theta)

    def gather(self, rates: FloatArray) -> FloatArray:
        """See `ListedSets.gather`."""
        return self._gather(np.add, rates)

    def log_gather(self, log_rates: FloatArray) -> FloatArray:
        """See `ListedSets.log_gather`."""
        return self._gather(np.logaddexp, log_rates)

    def moments(self, theta: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `ListedSets.moments`."""
        chosen_from = self.sums(theta[np.newaxis])[0]
        rates = counts / chosen_from
        shared = np.zeros((self.algorithms, self.algorithms))
        for sets, chain in self._slices():
            later = np.cumsum((rates / chosen_from)[sets][::-1])[::-1]
            shared[np.ix_(chain.members, chain.members)] += later[np.maximum.outer(chain.entry, chain.entry)]
        return chosen_from, theta * self.gather(rates), shared * np.outer(theta, theta)

    def connected(self) -> BoolArray:
        """See `ListedSets.connected`; here the largest set of each chain."""
        largest = np.zeros((len(self.chains), self.algorithms), np.bool_)
        for row, chain in zip(largest, self.chains, strict=True):
            row[chain.members] = True
        return largest

    def sizes_among(self, group: Indices) -> FloatArray:
        """See `ListedSets.sizes_among`."""
        inside = np.isin([chain.members[0] for chain in self.chains], group)
        return self.sizes * np.repeat(inside, [chain.ends.size for chain in self.chains])

    def among(self, group: Indices, chosen: BoolArray) -> NestedSets:
        """See `ListedSets.among`."""
        position = np.zeros(self.algorithms, np.intp)
        position[group] = np.arange(group.size)
        chosen_chains = [(chain, np.flatnonzero(chosen[sets])) for sets, chain in self._slices() if chosen[sets].any()]
        return NestedSets(tuple(chain.only(sets, position) for chain, sets in chosen_chains), group.size)

    def with_everyone(self) -> NestedSets:
        """See `ListedSets.with_everyone`."""
        everyone = Chain.of(np.ones((1, self.algorithms), np.bool_))
        return NestedSets((*self.chains, everyone), self.algorithms)

    def _accumulate(self, add: np.ufunc, values: FloatArray) -> FloatArray:
        """(D, s) values (D, n) summed over each set by `add`."""
        result = np.empty((len(values), self.sizes.size))
        for sets, chain in self._slices():
            result[:, sets] = add.accumulate(values[:, chain.members], axis=1)[:, chain.ends]
        return result

    def _gather(self, add: np.ufunc, rates: FloatArray) -> FloatArray:
        """(..., n) rates (..., s) summed by `add` over the sets that contain each algorithm."""
        result = np.full((*rates.shape[:-1], self.algorithms), 0.0 if add is np.add else -np.inf)
        for sets, chain in self._slices():
            later = add.accumulate(rates[..., sets][..., ::-1], axis=-1)[..., ::-1][..., chain.entry]
            result[..., chain.members] = add(result[..., chain.members], later)
        return result

    def _slices(self) -> Iterator[tuple[slice, Chain]]:
        """Yield the slice of the sets in each chain, and the chain."""
        start = 0
        for chain in self.chains:
            yield slice(start, start := start + chain.ends.size), chain


ChoiceSets = ListedSets | NestedSets


def choice_sets(sets: MaskArray, algorithms: int) -> tuple[ChoiceSets, Indices]:
    """The choice sets given by masks as in `ChoiceCounts`, and the order in which they are returned."""
    if algorithms <= BITS:
        return ListedSets(membership(sets, algorithms)), np.arange(len(sets))
    chains = _chains(sets)
    members = members_of(sets, algorithms)
    order = np.concatenate([np.empty(0, np.intp), *chains])
    return NestedSets(tuple(Chain.of(members[chain]) for chain in chains), algorithms), order


def _chains(sets: MaskArray) -> list[list[int]]:
    """Sets (s, w) as chains of nested sets, the smallest first: each set is added to the largest it contains."""
    largest, chains = np.empty_like(sets), list[list[int]]()
    sizes = set_sizes(sets)
    heights = np.zeros(len(sets), np.int64)
    for k in np.argsort(sizes, kind="stable").tolist():
        used = len(chains)
        contained = ~(largest[:used] & ~sets[k]).any(axis=1)
        best = int(np.argmax(np.where(contained, heights[:used], 0))) if contained.any() else used
        if best == used:
            chains.append([])
        chains[best].append(k)
        largest[best], heights[best] = sets[k], sizes[k]
    return chains

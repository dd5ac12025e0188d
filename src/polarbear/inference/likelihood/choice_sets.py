"""Sums of ratings over choice sets, at one timepoint.

Of few algorithms each choice set is a row of ones and zeros, and sums are a product of matrices. Of many, s sets have
s n entries. But those of one ranking are nested: each is the next smaller one and the algorithm chosen from it. So sets
are put into chains of nested ones, and the sums over a chain are cumulative sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polarbear.rankings import BITS, MaskArray, members_of, membership, set_sizes
from polarbear.records import FloatArray

BoolArray = NDArray[np.bool_]
Indices = NDArray[np.intp]
_ENTRIES_AT_ONCE = 1 << 16


class ChoiceSets(Protocol):
    """s sets of n algorithms."""

    @property
    def sizes(self) -> FloatArray:
        """(s,) how many members each has."""
        ...

    def sums(self, theta: FloatArray) -> FloatArray:
        """(D, s) the sums over the sets of ratings (D, n)."""
        ...

    def gathered(self, rates: FloatArray) -> FloatArray:
        """(..., n) for each algorithm the sum of rates (..., s) over the sets that it is in."""
        ...

    def moments(self, theta: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The sums (s,) of ratings (n,), the expected wins (n,), and Σ_s c_s p_s p_sᵀ (n, n).

        Set s is chosen from c_s times, and p_s are the shares that its members have of the sum.
        """
        ...

    def subtract_logarithms(self, density: FloatArray, theta: FloatArray, counts: FloatArray) -> None:
        """Subtract Σ_s c_s log of the sums over the sets, of ratings (n, D), from (D,)."""
        ...

    def subtract_faint(self, density: FloatArray, log_theta: FloatArray, counts: FloatArray) -> None:
        """The same for log-ratings (n, D) whose exponentials vanish."""
        ...

    def faint_rates(self, log_theta: FloatArray, log_rates: FloatArray) -> FloatArray:
        """(D, n) logarithms of `gathered` for rates over `sums`, all by their logarithms (D, n) and (D, s)."""
        ...

    def connected(self) -> BoolArray:
        """(k, n) sets that connect the same algorithms as all of them."""
        ...

    def sizes_among(self, group: Indices) -> FloatArray:
        """(s,) how many members each set has in a group that sets connect, which has all of them or none."""
        ...

    def among(self, group: Indices, chosen: BoolArray) -> ChoiceSets:
        """Some of the sets (s,), from among a group that has all their members."""
        ...

    def ordered(self, order: Indices) -> ChoiceSets:
        """The same sets, algorithms in another order."""
        ...

    def with_everyone(self) -> ChoiceSets:
        """The sets, and that of all algorithms as the last."""
        ...


def choice_sets(sets: MaskArray, algorithms: int) -> tuple[ChoiceSets, Indices]:
    """Sets as they are kept in `ChoiceCounts`, and in which order they are now."""
    if algorithms <= BITS:
        return ListedSets(membership(sets, algorithms)), np.arange(len(sets))
    order = np.concatenate([np.empty(0, np.intp), *(chain := _chains(sets))])
    members = members_of(sets, algorithms)
    return NestedSets(tuple(Chain.of(members[each]) for each in chain), algorithms), order


@dataclass(frozen=True, slots=True, eq=False)
class ListedSets:
    """Sets as rows: 1 where the algorithm is in the set, else 0."""

    members: FloatArray

    @property
    def sizes(self) -> FloatArray:
        """As of `ChoiceSets`."""
        return self.members.sum(axis=1)

    def sums(self, theta: FloatArray) -> FloatArray:
        """As of `ChoiceSets`."""
        return theta @ self.members.T

    def gathered(self, rates: FloatArray) -> FloatArray:
        """As of `ChoiceSets`."""
        return rates @ self.members

    def moments(self, theta: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As of `ChoiceSets`."""
        chosen_from = self.members @ theta
        share = self.members * theta / chosen_from[:, np.newaxis]
        weighted = counts[:, np.newaxis] * share
        return chosen_from, weighted.sum(axis=0), share.T @ weighted

    def subtract_logarithms(self, density: FloatArray, theta: FloatArray, counts: FloatArray) -> None:
        """As of `ChoiceSets`."""
        draws, step = theta.shape[1], max(1, _ENTRIES_AT_ONCE // theta.shape[1])
        buffer = np.empty((min(step, counts.size), draws))
        for start in range(0, counts.size, step):
            members, here = self.members[start : start + step], counts[start : start + step]
            chosen_from = np.matmul(members, theta, out=buffer[: here.size])
            density -= here @ np.log(chosen_from, out=chosen_from)

    def subtract_faint(self, density: FloatArray, log_theta: FloatArray, counts: FloatArray) -> None:
        """As of `ChoiceSets`."""
        for members, count in zip(self.members > 0, counts, strict=True):
            density -= count * np.logaddexp.reduce(log_theta[members], axis=0)

    def faint_rates(self, log_theta: FloatArray, log_rates: FloatArray) -> FloatArray:
        """As of `ChoiceSets`."""
        log_sums = np.full(log_theta.shape, -np.inf)
        for members, log_rate in zip(self.members > 0, log_rates.T, strict=True):
            log_latent = log_rate - np.logaddexp.reduce(log_theta[:, members], axis=1)
            log_sums[:, members] = np.logaddexp(log_sums[:, members], log_latent[:, np.newaxis])
        return log_sums

    def connected(self) -> BoolArray:
        """As of `ChoiceSets`."""
        return self.members > 0

    def sizes_among(self, group: Indices) -> FloatArray:
        """As of `ChoiceSets`."""
        return self.members[:, group].sum(axis=1)

    def among(self, group: Indices, chosen: BoolArray) -> ListedSets:
        """As of `ChoiceSets`."""
        return ListedSets(self.members[:, group][chosen])

    def ordered(self, order: Indices) -> ListedSets:
        """As of `ChoiceSets`."""
        return ListedSets(np.ascontiguousarray(self.members[:, order]))

    def with_everyone(self) -> ListedSets:
        """As of `ChoiceSets`."""
        return ListedSets(np.concatenate([self.members, np.ones((1, self.members.shape[1]))]))


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """l nested sets, the smallest first.

    Attributes:
        members: (m,) the algorithms of the largest, in the order in which they enter.
        entry: (m,) the set in which each of them enters.
        ends: (l,) how many are in each set, less one.
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

    def only(self, sets: Indices, place: Indices) -> Chain:
        """Some of the sets, in their order, with algorithms at other places (n,)."""
        size = self.ends[sets[-1]] + 1
        return Chain(place[self.members[:size]], np.searchsorted(sets, self.entry[:size]), self.ends[sets])

    def later(self, rates: FloatArray) -> FloatArray:
        """(..., m) for each member the sum of rates (..., l) over the sets that it is in."""
        return np.asarray(np.cumsum(rates[..., ::-1], axis=-1)[..., ::-1][..., self.entry], np.float64)


@dataclass(frozen=True)
class NestedSets:
    """Sets in chains, one chain after another."""

    chains: tuple[Chain, ...]
    algorithms: int

    @property
    def sizes(self) -> FloatArray:
        """As of `ChoiceSets`."""
        return np.concatenate([np.empty(0), *(chain.ends + 1.0 for chain in self.chains)], dtype=np.float64)

    def sums(self, theta: FloatArray) -> FloatArray:
        """As of `ChoiceSets`."""
        found: FloatArray = np.empty((len(theta), self.sizes.size))
        for here, chain in self._chains():
            found[:, here] = np.cumsum(theta[:, chain.members], axis=1)[:, chain.ends]
        return found

    def gathered(self, rates: FloatArray) -> FloatArray:
        """As of `ChoiceSets`."""
        found = np.zeros((*rates.shape[:-1], self.algorithms))
        for here, chain in self._chains():
            found[..., chain.members] += chain.later(rates[..., here])
        return found

    def moments(self, theta: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As of `ChoiceSets`."""
        chosen_from = self.sums(theta[np.newaxis])[0]
        rates = counts / chosen_from
        expected = theta * self.gathered(rates)
        both = np.zeros((self.algorithms, self.algorithms))
        for here, chain in self._chains():
            later = np.cumsum((rates / chosen_from)[here][::-1])[::-1]
            both[np.ix_(chain.members, chain.members)] += later[np.maximum.outer(chain.entry, chain.entry)]
        return chosen_from, expected, both * np.outer(theta, theta)

    def subtract_logarithms(self, density: FloatArray, theta: FloatArray, counts: FloatArray) -> None:
        """As of `ChoiceSets`."""
        step = max(1, _ENTRIES_AT_ONCE // max(1, self.sizes.size))
        for start in range(0, density.size, step):
            sums = self.sums(np.ascontiguousarray(theta[:, start : start + step].T))
            density[start : start + step] -= np.log(sums, out=sums) @ counts

    def subtract_faint(self, density: FloatArray, log_theta: FloatArray, counts: FloatArray) -> None:
        """As of `ChoiceSets`."""
        density -= self._log_sums(log_theta.T) @ counts

    def faint_rates(self, log_theta: FloatArray, log_rates: FloatArray) -> FloatArray:
        """As of `ChoiceSets`."""
        log_latent, log_sums = log_rates - self._log_sums(log_theta), np.full(log_theta.shape, -np.inf)
        for here, chain in self._chains():
            later = np.logaddexp.accumulate(log_latent[:, here][:, ::-1], axis=1)[:, ::-1][:, chain.entry]
            log_sums[:, chain.members] = np.logaddexp(log_sums[:, chain.members], later)
        return log_sums

    def connected(self) -> BoolArray:
        """As of `ChoiceSets`."""
        largest = np.zeros((len(self.chains), self.algorithms), np.bool_)
        for row, chain in zip(largest, self.chains, strict=True):
            row[chain.members] = True
        return largest

    def sizes_among(self, group: Indices) -> FloatArray:
        """As of `ChoiceSets`."""
        inside = np.isin([chain.members[0] for chain in self.chains], group)
        return self.sizes * np.repeat(inside, [chain.ends.size for chain in self.chains])

    def among(self, group: Indices, chosen: BoolArray) -> NestedSets:
        """As of `ChoiceSets`."""
        kept = [(chain, np.flatnonzero(chosen[here])) for here, chain in self._chains() if chosen[here].any()]
        place = np.zeros(self.algorithms, np.intp)
        place[group] = np.arange(group.size)
        return NestedSets(tuple(chain.only(sets, place) for chain, sets in kept), group.size)

    def ordered(self, order: Indices) -> NestedSets:
        """As of `ChoiceSets`."""
        return self.among(order, np.ones(self.sizes.size, np.bool_))

    def with_everyone(self) -> NestedSets:
        """As of `ChoiceSets`."""
        everyone = Chain.of(np.ones((1, self.algorithms), np.bool_))
        return NestedSets((*self.chains, everyone), self.algorithms)

    def _log_sums(self, log_theta: FloatArray) -> FloatArray:
        """(D, s) logarithms of the sums of exponentials of (D, n)."""
        found = np.empty((len(log_theta), self.sizes.size))
        for here, chain in self._chains():
            found[:, here] = np.logaddexp.accumulate(log_theta[:, chain.members], axis=1)[:, chain.ends]
        return found

    def _chains(self) -> Iterator[tuple[slice, Chain]]:
        """Which of the sets are each chain."""
        start = 0
        for chain in self.chains:
            yield slice(start, start := start + chain.ends.size), chain


def _chains(sets: MaskArray) -> list[list[int]]:
    """Sets (s, w) as chains of nested ones, the smallest first: each set is added to the largest it contains."""
    tops, chains = np.empty_like(sets), list[list[int]]()
    sizes = set_sizes(sets)
    heights = np.zeros(len(sets), np.int64)
    for place in np.argsort(sizes, kind="stable").tolist():
        used = len(chains)
        contained = ~(tops[:used] & ~sets[place]).any(axis=1)
        best = int(np.argmax(np.where(contained, heights[:used], 0))) if contained.any() else used
        if best == used:
            chains.append([])
        chains[best].append(place)
        tops[best], heights[best] = sets[place], sizes[place]
    return chains

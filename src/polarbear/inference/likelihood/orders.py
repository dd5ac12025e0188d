"""The Plackett–Luce likelihood (eq. 6 of Wurth et al. 2026) of rankings, where each instance has ratings of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.rankings import NOT_RUN, Rankings
from polarbear.records import FloatArray

_TINY = np.finfo(np.float64).tiny
_EXACT, _MOST = 6, 12
"""Number of orders that represent a ranking with ties: six make ties of up to three exact; larger ties get twelve."""


@dataclass(frozen=True, slots=True, eq=False)
class Orders:
    """Rankings as strict orders.

    The log-likelihood of a tie is its mean over all orders of those that tie. Cyclic shifts of an order make it exact
    for two and three; larger ties are approximated by twelve orders, shifts of random ones.

    Attributes:
        order: (R, n) algorithms from the best to the worst, then those that were not run.
        size: (R,) number of algorithms that were run.
        choices: (R,) number of choices: of all algorithms that were run but the last, and those whose order is unknown.
        start: (T P + 1,) index of the first order of each cell (timepoint and instance), timepoint by timepoint, and R.
        shape: (T, P).
    """

    order: NDArray[np.intp]
    size: NDArray[np.intp]
    choices: NDArray[np.intp]
    start: NDArray[np.intp]
    shape: tuple[int, int]

    @classmethod
    def of(cls, rankings: Rankings, rng: np.random.Generator) -> Orders:
        """The orders of all instances at all timepoints; large ties in random orders."""
        count, timepoints, n = rankings.ranks.shape
        ranks = rankings.ranks.transpose(1, 0, 2).reshape(-1, n).astype(np.intp)
        ran = ranks != NOT_RUN
        size = np.count_nonzero(ran, axis=1)
        ordered = np.count_nonzero(ran & (ranks != rankings.unordered), axis=1)
        first = np.where(ran, np.minimum(ranks, ordered[:, np.newaxis]), size[:, np.newaxis])
        tied = np.stack([np.count_nonzero(first == column[:, np.newaxis], axis=1) for column in first.T], axis=1)
        largest = np.where(ran & (first < ordered[:, np.newaxis]), tied, 1).max(axis=1)
        copies = np.select([largest == 1, largest == 2, largest == 3], [1, 2, _EXACT], _MOST)
        cell = np.repeat(np.arange(len(ranks)), copies)
        start = np.append(0, np.cumsum(copies))
        shift = (np.arange(cell.size) - start[cell])[:, np.newaxis]
        within = np.stack([_positions_in_ties(first, rng) for _ in range(-(-_MOST // 4))])
        draw = np.minimum(shift // tied[cell], len(within) - 1)
        positions = first[cell] + (within[draw, cell[:, np.newaxis], np.arange(n)] + shift) % tied[cell]
        order = np.empty_like(positions)
        np.put_along_axis(order, positions, np.broadcast_to(np.arange(n, dtype=np.intp), positions.shape), axis=1)
        choices = np.minimum(ordered, size - 1)
        return cls(order, size[cell], choices[cell], start, (timepoints, count))

    def expand(self, log_ratings: FloatArray) -> Expansion:
        """The log-likelihood at log-ratings (T, P, n), or (T, 1, n) if they are the same on all instances."""
        n = log_ratings.shape[-1]
        each = np.broadcast_to(log_ratings, (*self.shape, n)).reshape(-1, n)
        copies = np.diff(self.start)
        cell = np.repeat(np.arange(copies.size), copies)
        strength = np.exp(each - each.max(axis=1, keepdims=True))[cell]
        in_order = np.take_along_axis(strength, self.order, axis=1)
        position = np.arange(n, dtype=np.intp)
        in_order[position >= self.size[:, np.newaxis]] = 0.0
        left = np.maximum(np.cumsum(in_order[:, ::-1], axis=1)[:, ::-1], _TINY)
        chosen = position < self.choices[:, np.newaxis]
        rate = np.where(chosen, 1 / left, 0.0)
        value = np.log(np.where(chosen, np.maximum(in_order, _TINY) / left, 1.0)).sum(axis=1)
        mass = self._by_algorithm(in_order * np.cumsum(rate, axis=1))
        squares = self._by_algorithm(np.where(in_order > 0, np.cumsum(rate**2, axis=1), 0.0))
        scores = self._by_algorithm(chosen.astype(np.float64)) - mass
        value, scores = (self.means(part).reshape(*self.shape, *part.shape[1:]) for part in (value, scores))
        return Expansion(value, scores, self, strength, mass, squares)

    def means(self, values: FloatArray, timepoint: int | None = None) -> FloatArray:
        """(T P, ...) means over the orders of each cell, or (P, ...) those of one timepoint."""
        count = self.shape[1]
        start = self.start if timepoint is None else self.start[timepoint * count : (timepoint + 1) * count + 1]
        if start.size - 1 == len(values):
            return values
        totals = np.add.reduceat(values, start[:-1] - start[0], axis=0)
        return totals / np.diff(start).reshape(-1, *(1,) * (values.ndim - 1))

    def _by_algorithm(self, in_order: FloatArray) -> FloatArray:
        result = np.empty_like(in_order)
        np.put_along_axis(result, self.order, in_order, axis=1)
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """The log-likelihood of the ranking in each of (T, P) cells, and its derivatives by the cell's log-ratings.

    Attributes:
        value: (T, P) log-likelihood.
        scores: (T, P, n) gradients.
        orders: The orders, for each of which `curvature` uses the following.
        strength: (R, n) ratings, the largest of which is 1.
        mass: (R, n) expected number of times that each algorithm is chosen.
        squares: (R, n) sum of 1 / (sum of a set's ratings)² over the sets that contain each algorithm.
    """

    value: FloatArray
    scores: FloatArray
    orders: Orders
    strength: FloatArray
    mass: FloatArray
    squares: FloatArray

    def curvature(self, timepoint: int) -> FloatArray:
        """(P, n, n) negative Hessians of a timepoint's instances."""
        count = self.orders.shape[1]
        rows = slice(self.orders.start[timepoint * count], self.orders.start[(timepoint + 1) * count])
        strength, mass, squares = self.strength[rows], self.mass[rows], self.squares[rows]
        # two algorithms are both in the sets of the one that leaves first, whose sum is smaller
        result = -np.minimum(squares[:, :, np.newaxis], squares[:, np.newaxis, :])
        result *= strength[:, :, np.newaxis]
        result *= strength[:, np.newaxis, :]
        result[:, np.arange(mass.shape[1]), np.arange(mass.shape[1])] += mass
        return self.orders.means(result, timepoint)


def _positions_in_ties(first: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """(C, n) random positions of algorithms among those that they tie with, 0 for the first of them."""
    order = np.lexsort((rng.random(first.shape), first), axis=1)
    positions = np.empty_like(order)
    np.put_along_axis(positions, order, np.broadcast_to(np.arange(first.shape[1], dtype=np.intp), order.shape), axis=1)
    return positions - first

"""From values at timepoints to choice-set counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polarbear.rankings.counts import ChoiceCounts, MaskArray, check_algorithms, joined, summed
from polarbear.rankings.ties import expand_ties
from polarbear.records import FloatArray


def choice_counts(
    values: ArrayLike,
    *,
    precision: float | None = None,
    target: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    orders: int = 1000,
) -> ChoiceCounts:
    """Rank the algorithms on every instance at every timepoint and count the choices the rankings are made of.

    Algorithms with equal values tie, and a tie counts as all its orders equally (see `polarbear.rankings.ties`).
    That is exact for ties of up to 12 algorithms; of larger ones, orders are sampled.

    Args:
        values: (P, T, n) best value found by each algorithm on each instance by each timepoint; lower is better.
            NaN: not run, or not known; the ranking is one of the others. +inf: nothing found yet; such algorithms
            tie with each other.
        precision: Values are tied when they agree after rounding to multiples of this; None: when they are equal.
        target: Values at or below it are tied: a number, or (P,) one per instance (NaN: none).
        weights: (P,) how much the rankings on each instance count; default 1 each.
        rng: Seeds the orders sampled of ties of more than 12 algorithms; one number is drawn. Default: a fixed seed.
        orders: How many orders of such a tie are sampled.

    Returns:
        The counts at T timepoints for n algorithms.

    Raises:
        ValueError: If `values` is not three-dimensional, there are more than 64 algorithms, or another argument is
            out of its range; the message names it.
    """
    cells = _prepared(values, precision, target)
    instances, timepoints, algorithms = cells.shape
    if orders < 1:
        raise ValueError(f"orders is {orders!r}; sample at least one order of a large tie")
    share = _checked_weights(weights, instances)
    seed = int(rng.integers(1 << 63)) if rng is not None else 0
    wins = np.zeros((timepoints, algorithms))
    rankings = np.zeros(timepoints, np.int64)
    parts: list[tuple[MaskArray, FloatArray]] = []
    for t in range(timepoints):
        columns = np.ascontiguousarray(cells[:, t].T)
        wins[t], part = _count(columns, share, seed, orders)
        parts.append(part)
        rankings[t] = np.count_nonzero(np.count_nonzero(~np.isnan(columns), axis=0) > 1)
    return joined(wins, parts, rankings)


def _count(
    columns: FloatArray, share: FloatArray, seed: int, orders: int
) -> tuple[FloatArray, tuple[MaskArray, FloatArray]]:
    """Wins (n,) and distinct choice sets with their counts, from the values (n, P) at one timepoint."""
    algorithms = columns.shape[0]
    tied, below = _tied_and_below(columns)
    chosen = (tied | below) != 0
    amounts = np.broadcast_to(share, columns.shape)
    wins = (amounts * chosen).sum(axis=1)

    own = np.uint64(1) << np.arange(algorithms, dtype=np.uint64)[:, np.newaxis]
    alone = chosen & (tied == own)
    first_of_tie = chosen & ~alone & ((tied & (own - np.uint64(1))) == 0)
    sets, counts = (tied | below)[alone], amounts[alone]
    if first_of_tie.any():
        tie_sets, tie_counts = expand_ties(
            *_distinct_ties(tied[first_of_tie], below[first_of_tie], amounts[first_of_tie]), seed=seed, orders=orders
        )
        sets, counts = np.concatenate([sets, tie_sets]), np.concatenate([counts, tie_counts])
    sets, counts = summed(sets, counts)

    single = np.bitwise_count(sets) == 1
    winners = np.bitwise_count(sets[single] - np.uint64(1))
    wins[winners] -= counts[single]
    return np.maximum(wins, 0.0), (sets[~single], counts[~single])


def _tied_and_below(columns: FloatArray) -> tuple[MaskArray, MaskArray]:
    """For each algorithm on each instance, (n, P): the set it ties with, itself among them, and the set below it."""
    tied = np.zeros(columns.shape, np.uint64)
    below = np.zeros(columns.shape, np.uint64)
    for j, theirs in enumerate(columns):
        bit = np.uint64(1 << j)
        tied |= (columns == theirs) * bit
        below |= (columns < theirs) * bit
    return tied, below


def _distinct_ties(tied: MaskArray, below: MaskArray, amounts: FloatArray) -> tuple[MaskArray, MaskArray, FloatArray]:
    order = np.lexsort((below, tied))
    tied, below = tied[order], below[order]
    new = (tied[1:] != tied[:-1]) | (below[1:] != below[:-1])
    first = np.flatnonzero(np.concatenate(([True], new)))
    return tied[first], below[first], np.add.reduceat(amounts[order], first)


def _prepared(values: ArrayLike, precision: float | None, target: ArrayLike | None) -> FloatArray:
    cells = np.asarray(values, dtype=np.float64)
    if cells.ndim != 3:
        raise ValueError(f"values has shape {cells.shape}; it needs (instances, timepoints, algorithms)")
    check_algorithms(cells.shape[2])
    if target is not None:
        goal = np.asarray(target, dtype=np.float64)
        if goal.shape not in {(), cells.shape[:1]}:
            raise ValueError(f"target has shape {goal.shape}; give one number, or {len(cells)}, one per instance")
        goal = np.where(np.isnan(goal), -np.inf, goal)
        cells = np.maximum(cells, goal.reshape(-1, 1, 1))
    if precision is not None:
        if not 0 < precision < np.inf:
            raise ValueError(f"precision is {precision!r}; it must be positive and finite, or None for equality")
        with np.errstate(over="ignore"):
            multiples = np.rint(cells / precision)
        largest = np.finfo(np.float64).max
        cells = np.where(np.isfinite(cells), np.clip(multiples, -largest, largest), cells)
    return cells


def _checked_weights(weights: ArrayLike | None, instances: int) -> FloatArray:
    if weights is None:
        return np.ones(instances)
    share = np.asarray(weights, dtype=np.float64)
    if share.shape != (instances,):
        raise ValueError(f"weights has shape {share.shape}; give one for each of {instances} instances")
    if not (np.isfinite(share).all() and (share >= 0).all()):
        raise ValueError("weights must be finite and not negative")
    return share

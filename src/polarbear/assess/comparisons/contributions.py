"""Contributions of algorithms to a portfolio's ECDF: Shapley values and marginal contributions.

The worth of a portfolio is the area under its attainment curve (ECDF), as a fraction of the whole. IOHanalyzer offers
Shapley values of the same kind (thesis, table 3.2); equations 3.2 and 3.3 there define marginal contributions and the
sampling of permutations for another portfolio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.comparisons.samples import Result, check_choice, default_names, rows_of
from polarbear.records import FloatArray, IntArray
from polarbear.validation import whole_number

Portfolio = Literal["parallel", "best"]
"""How a portfolio's probability of having attained a problem by a time follows from its members' probabilities p:

- "parallel": 1 - Π(1 - p), the probability that any of its members has, when they run independently in parallel.
- "best": max p, that of the member that is best at that time.
"""
Scale = Literal["log", "linear"]
"""Scale of the time axis under the curve."""

EXACT_LIMIT = 12
"""Maximum number of algorithms for which all portfolios are enumerated, for groups of limited size."""
_JOIN = {"parallel": np.multiply, "best": np.minimum}  # probability that both portfolios miss, from that of each
_CELLS = 64
_AT_ONCE = 4096
"""Number of cells integrated over at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Contributions(Result):
    """Contributions of n algorithms to the area under their portfolio's curve, a number from 0 to 1.

    Attributes:
        names: The n algorithms' names.
        shapley: (n,) mean contribution over all orders in which algorithms can join the portfolio; they sum to `whole`.
        standard_error: (n,) standard error of `shapley` if orders were sampled, 0 if it is exact.
        marginal: (n,) area that the whole portfolio loses without the algorithm.
        alone: (n,) area that the algorithm attains alone.
        whole: Area that the portfolio of all algorithms attains.
        permutations: Number of orders sampled, 0 if `shapley` is exact.
        group_size: Size of the largest groups in which contributions count; None for all.
    """

    names: tuple[str, ...]
    shapley: FloatArray
    standard_error: FloatArray
    marginal: FloatArray
    alone: FloatArray
    whole: float
    permutations: int
    group_size: int | None = None

    def rows(self) -> list[dict[str, Any]]:
        """One row per algorithm, the largest Shapley value first."""
        order = np.argsort(-self.shapley, kind="stable")
        return rows_of(
            algorithm=np.array(self.names)[order],
            shapley=self.shapley[order],
            standard_error=self.standard_error[order],
            marginal=self.marginal[order],
            alone=self.alone[order],
        )


def contributions(
    attained: ArrayLike,
    *,
    times: ArrayLike,
    names: Sequence[str] | None = None,
    portfolio: Portfolio = "parallel",
    scale: Scale = "log",
    permutations: int | None = None,
    rng: np.random.Generator | None = None,
    group_size: int | None = None,
) -> Contributions:
    """Shapley values and marginal contributions of algorithms to their portfolio's ECDF.

    Args:
        attained: (algorithms, problems, times) probability that a problem has been attained by a time, such as the
            share of runs that hit a target on a function, or values of an attainment function (EAF).
        times: (T,) strictly increasing times; the probabilities at each hold until the next.
        names: The algorithms' names; by default "0", "1", ….
        portfolio: How a portfolio's probability follows from its members'; see `Portfolio`.
        scale: Scale of the time axis; "log" needs positive times.
        permutations: Number of random orders to sample, at least 2; None for exact values, which with a `group_size`
            are for at most 12 algorithms.
        rng: The source of random orders, required for sampling.
        group_size: Maximum size of portfolios, for which only the contributions of the first algorithms to join count;
            `shapley` is then the mean over these places, and does not sum to `whole`. By default all count.

    Raises:
        ValueError: If shapes do not match, probabilities or times are invalid, or there are too many algorithms for
            exact values of groups of limited size.
    """
    misses, weights = _read(attained, times, scale)
    chosen = default_names(names, len(misses))
    check_choice(portfolio, Portfolio, "portfolio")
    count = len(misses)
    size = count if group_size is None else whole_number(group_size, "group_size", 1, count)
    if permutations is None and group_size is None:
        shapley, error = _exact(misses, weights, portfolio), np.zeros(count)
    elif permutations is None:
        if count > EXACT_LIMIT:
            raise ValueError(
                f"{count} algorithms have 2^{count} portfolios; with a group_size, values are exact for at most "
                f"{EXACT_LIMIT}: set permutations (such as 1000) and rng to sample, or leave group_size out"
            )
        shapley, error = shapley_values(_portfolio_values(misses, weights, portfolio), group_size=size), np.zeros(count)
    else:
        if rng is None or permutations < 2:
            raise ValueError(
                f"permutations is {permutations!r} and rng is {rng!r}; sampling needs 2 or more permutations, and rng"
            )
        orders = rng.permuted(np.tile(np.arange(count), (permutations, 1)), axis=1)
        early = np.argsort(orders, axis=1) < size  # the place at which each joins
        gains = _gains(misses, weights, portfolio, orders) * early * (count / size)
        shapley, error = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(permutations)
    missed = _JOIN[portfolio].reduce(misses, axis=0)
    whole = float(weights @ (1 - missed))
    marginal = (_without_each(misses, portfolio) - missed) @ weights
    alone = (1 - misses) @ weights
    return Contributions(chosen, shapley, error, marginal, alone, whole, permutations or 0, group_size)


def shapley_values(worth: ArrayLike, *, group_size: int | None = None) -> FloatArray:
    """The Shapley values of n players from the worth of all their coalitions.

    Args:
        worth: (2^n,) worth of each coalition: entry m is for the players whose bits are set in m, entry 0 for none.
        group_size: Maximum size of the groups, including the player, to which contributions count; by default n.

    Returns:
        (n,) Shapley values; without a `group_size` they sum to the worth of all players minus that of none.

    Raises:
        ValueError: If the number of entries is not a power of 2.
    """
    table = floats(worth)
    count = table.size.bit_length() - 1
    if table.ndim != 1 or table.size != 1 << count:
        raise ValueError(f"worth has shape {table.shape}; it needs 2^n entries, one for each coalition of n players")
    from scipy.special import comb  # slow to import

    masks = np.arange(table.size)
    size = np.bitwise_count(masks).astype(np.int64)
    values, largest = np.empty(count), whole_number(count if group_size is None else group_size, "group_size", 1, count)
    for player in range(count):
        absent = masks[(masks >> player & 1 == 0) & (size < largest)]
        orders = largest * comb(count - 1, size[absent])  # for all n places, 1 / orders = |S|! (n - |S| - 1)! / n!
        values[player] = ((table[absent | 1 << player] - table[absent]) / orders).sum()
    return values


def _portfolio_values(misses: FloatArray, weights: FloatArray, portfolio: Portfolio) -> FloatArray:
    """(2^n,) worth of all portfolios; cells are taken in chunks that fit into the processor's cache."""
    size = 1 << len(misses)
    missed = np.zeros(size)
    for start in range(0, weights.size, _CELLS):
        part = misses[:, start : start + _CELLS]
        table = np.ones((size, part.shape[1]))
        for player, miss in enumerate(part):
            half = 1 << player
            _JOIN[portfolio](table[:half], miss, out=table[half : 2 * half])
        missed += table @ weights[start : start + _CELLS]
    return missed[0] - missed


def _gains(misses: FloatArray, weights: FloatArray, portfolio: Portfolio, orders: IntArray) -> FloatArray:
    """(orders, n) contribution of each algorithm when they join in each of the orders (orders, k)."""
    missed_area = np.zeros((len(orders), orders.shape[1] + 1))
    missed_area[:, 0] = weights.sum()
    for start in range(0, weights.size, _CELLS):
        part, weight = misses[:, start : start + _CELLS], weights[start : start + _CELLS]
        missed = np.ones((len(orders), weight.size))
        for step, joining in enumerate(orders.T, 1):
            _JOIN[portfolio](missed, part[joining], out=missed)
            missed_area[:, step] += missed @ weight
    gains = np.zeros((len(orders), len(misses)))
    np.put_along_axis(gains, orders, -np.diff(missed_area, axis=1), axis=1)
    return gains


def _exact(misses: FloatArray, weights: FloatArray, portfolio: Portfolio) -> FloatArray:
    """(n,) exact Shapley values of any number of algorithms.

    "parallel": the integral over q from 0 to 1 of an algorithm's contribution to a portfolio that each other one joins
    with probability q (Owen 1972, Multilinear extensions of games), a polynomial of degree n - 1 that Gauss–Legendre
    quadrature integrates exactly. "best": the steps between the algorithms' sorted probabilities, each shared by all
    algorithms above it (Littlechild and Owen 1973, A simple expression for the Shapley value in a special case).
    """
    count = len(misses)
    attained = 1 - misses
    if portfolio == "best":
        order = np.argsort(attained, axis=0)
        steps = np.diff(np.take_along_axis(attained, order, axis=0), axis=0, prepend=0.0)
        shares = np.cumsum(steps / np.arange(count, 0, -1)[:, None], axis=0)
        values = np.empty(misses.shape)
        np.put_along_axis(values, order, shares, axis=0)
        return values @ weights
    nodes, lengths = np.polynomial.legendre.leggauss(count // 2 + 1)
    total = np.zeros(count)
    for start in range(0, weights.size, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        part, weight = attained[:, some], weights[some]
        for node, length in zip(nodes, lengths, strict=True):
            others = _without_each(1 - (1 + node) / 2 * part, portfolio)
            total += length / 2 * ((part * others) @ weight)
    return total


def _without_each(misses: FloatArray, portfolio: Portfolio) -> FloatArray:
    """(n, cells) probability that all others miss."""
    join, nobody = _JOIN[portfolio], np.ones((1, misses.shape[1]))
    before = join.accumulate(np.concatenate([nobody, misses[:-1]]), axis=0)
    after = join.accumulate(np.concatenate([nobody, misses[:0:-1]]), axis=0)[::-1]
    return join(before, after)


def _read(attained: ArrayLike, times: ArrayLike, scale: Scale) -> tuple[FloatArray, FloatArray]:
    """(algorithms, cells) probabilities of missing, and (cells,) share of each cell in the area."""
    data, at = floats(attained), floats(times)
    if data.ndim != 3 or at.shape != data.shape[2:] or at.size < 2 or not data.size:
        raise ValueError(
            f"attained has shape {data.shape} and times {at.shape}; they must be (algorithms, problems, times) "
            "and (times,), with at least 2 times"
        )
    if not ((data >= 0) & (data <= 1)).all():
        index = np.argwhere(~((data >= 0) & (data <= 1)))[0].tolist()
        raise ValueError(f"attained{index} is {data[tuple(index)]}; probabilities must be between 0 and 1")
    check_choice(scale, Scale, "scale")
    if not np.isfinite(at).all() or (np.diff(at) <= 0).any() or (scale == "log" and at[0] <= 0):
        raise ValueError(
            f"times from {at[0]} to {at[-1]} must be finite, increase strictly, and be positive on a log scale"
        )
    axis = np.log(at) if scale == "log" else at
    shares = np.diff(axis) / (axis[-1] - axis[0]) / data.shape[1]
    return 1 - data[:, :, :-1].reshape(len(data), -1), np.tile(shares, data.shape[1])

"""Virtual best solvers, the single best solver, and the gap between them that a selector closes.

Source: thesis, definitions 5.3 (single best) and 5.4 (static virtual best). The gap closed: Lindauer, van Rijn and
Kotthoff (2019), The algorithm selection competitions 2015 and 2017.

Performance is any number that is lower for better algorithms, such as the ERT to a target; `inf` if no run succeeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.assess.comparisons.samples import Result, default_names
from polarbear.records import FloatArray

Aggregate = Literal["mean", "geometric mean", "mean rank"]
"""Aggregation of performance over functions; "mean rank" weights all functions equally and tolerates `inf`."""


@dataclass(frozen=True, slots=True, eq=False)
class VirtualBest(Result):
    """The best of n algorithms in each case.

    Attributes:
        names: The n algorithms' names.
        choice: Index of the chosen algorithm, the first among equals; -1 where all are `inf`.
        performance: Performance of the chosen algorithm.
    """

    names: tuple[str, ...]
    choice: NDArray[np.int64]
    performance: FloatArray

    @property
    def chosen(self) -> dict[str, int]:
        """Number of cases in which each algorithm is chosen."""
        return {name: int((self.choice == i).sum()) for i, name in enumerate(self.names)}


@dataclass(frozen=True, slots=True, eq=False)
class SingleBest(Result):
    """The single algorithm that is best over all functions.

    Attributes:
        names: The n algorithms' names.
        solver: Name of the best algorithm.
        aggregate: The aggregation of performance over functions.
        scores: (n,) aggregated performance of each algorithm, lower is better.
        performance: (functions,) performance of the best algorithm.
    """

    names: tuple[str, ...]
    solver: str
    aggregate: Aggregate
    scores: FloatArray
    performance: FloatArray


def virtual_best(performance: ArrayLike, *, names: Sequence[str] | None = None) -> VirtualBest:
    """The virtual best solver: the best algorithm in each case.

    For (functions, algorithms) this is the static one, VBS_static (definition 5.4). For (functions, targets,
    algorithms) it is the best per target, like reference algorithms such as best-of-2009.

    Args:
        performance: (…, algorithms) performance, lower is better, `inf` where no run succeeded.
        names: The algorithms' names; by default "0", "1", ….

    Returns:
        Choice and performance of shape (…).

    Raises:
        ValueError: If `performance` is empty or contains NaN.
    """
    data = _read(performance)
    chosen = default_names(names, data.shape[-1])
    best = data.min(axis=-1)
    return VirtualBest(chosen, np.where(np.isinf(best), -1, data.argmin(axis=-1)), best)


def static_virtual_best(performance: ArrayLike, *, target: int = -1, names: Sequence[str] | None = None) -> VirtualBest:
    """The static virtual best solver at all targets: one algorithm per function, the best at a given target.

    Args:
        performance: (functions, targets, algorithms) performance, lower is better, `inf` where no run succeeded.
        target: Index of the target at which algorithms are chosen; by default the last.
        names: The algorithms' names; by default "0", "1", ….

    Returns:
        Choice (functions,) and performance (functions, targets); -1 and `inf` where no algorithm reached the target at
        which it would be chosen.

    Raises:
        ValueError: If `performance` is not (functions, targets, algorithms), contains NaN, or has no such target.
    """
    data = _read(performance)
    if data.ndim != 3 or not -data.shape[1] <= target < data.shape[1]:
        raise ValueError(
            f"performance has shape {data.shape} and target is {target!r}; they must be (functions, targets, "
            "algorithms) and the index of a target"
        )
    at = virtual_best(data[:, target], names=names)
    taken = np.take_along_axis(data, at.choice[:, None, None], axis=2)[:, :, 0]
    return VirtualBest(at.names, at.choice, np.where(at.choice[:, None] < 0, np.inf, taken))


def single_best(
    performance: ArrayLike, *, names: Sequence[str] | None = None, aggregate: Aggregate = "mean rank"
) -> SingleBest:
    """The single best solver: the algorithm with the best performance over all functions (definition 5.3).

    Args:
        performance: (functions, algorithms) performance, lower is better, `inf` where no run succeeded.
        names: The algorithms' names; by default "0", "1", ….
        aggregate: The aggregation over functions. Means are dominated by the hardest functions, and need an algorithm
            that is finite on all.

    Raises:
        ValueError: If `performance` is not (functions, algorithms), contains NaN, or, with a mean, is infinite for
            every algorithm on some function.
    """
    data = _read(performance)
    if data.ndim != 2:
        raise ValueError(f"performance has shape {data.shape}; it must be (functions, algorithms)")
    chosen = default_names(names, data.shape[1])
    scores = _aggregate(data, aggregate)
    if np.isinf(scores).all():
        raise ValueError(
            f"every algorithm is infinite on some function, so no {aggregate} is finite; "
            'use aggregate="mean rank", or penalized performance such as PAR-10'
        )
    best = int(np.argmin(scores))
    return SingleBest(chosen, chosen[best], aggregate, scores, data[:, best])


def solver_gap(
    single: ArrayLike, virtual: ArrayLike, *, aggregate: Literal["mean", "geometric mean"] = "mean"
) -> float:
    """The possible gain from selection per function: the single best's aggregate minus the virtual best's.

    With "geometric mean" it is the ratio of the two, where 1 means that there is nothing to gain.

    Args:
        single: (functions,) performance of the single best solver.
        virtual: (functions,) performance of the virtual best solver.
        aggregate: The aggregation over functions.

    Raises:
        ValueError: If shapes differ or an aggregate is infinite.
    """
    first, second = _scores(aggregate, single=single, virtual=virtual)
    return first / second if aggregate == "geometric mean" else first - second


def gap_closed(
    selector: ArrayLike,
    *,
    single: ArrayLike,
    virtual: ArrayLike,
    aggregate: Literal["mean", "geometric mean"] = "mean",
) -> float:
    """The share of the gap between single best and virtual best solver that a selector closes.

    0 is the single best solver, 1 the virtual best; below 0 it is worse than always taking the single best.

    Args:
        selector: (functions,) performance of the selected algorithms.
        single: (functions,) performance of the single best solver.
        virtual: (functions,) performance of the virtual best solver.
        aggregate: The aggregation over functions; with "geometric mean" shares are of the logarithmic gap.

    Raises:
        ValueError: If shapes differ, an aggregate is infinite, or there is no gap.
    """
    ours, low, high = _scores(aggregate, selector=selector, single=single, virtual=virtual)
    if aggregate == "geometric mean":
        ours, low, high = (float(np.log(score)) for score in (ours, low, high))
    if low == high:
        raise ValueError("the single best solver is as good as the virtual best; there is no gap to close")
    return (low - ours) / (low - high)


def _read(performance: ArrayLike) -> FloatArray:
    data = floats(performance)
    if data.ndim < 1 or not data.size:
        raise ValueError(f"performance has shape {data.shape}; its last axis holds the algorithms")
    if np.isnan(data).any():
        index = np.argwhere(np.isnan(data))[0].tolist()
        raise ValueError(f"performance{index} is NaN; write inf where no run succeeded")
    return data


def _aggregate(data: FloatArray, aggregate: Aggregate) -> FloatArray:
    """One number per algorithm, from (functions, algorithms)."""
    if aggregate == "mean":
        return data.mean(axis=0)
    if aggregate == "geometric mean":
        if (data <= 0).any():
            raise ValueError(f"performance has the value {data.min():g}; a geometric mean needs positive values")
        return np.exp(np.log(data).mean(axis=0))
    if aggregate == "mean rank":
        from scipy.stats import rankdata  # slow to import

        return floats(rankdata(data, axis=1)).mean(axis=0)
    raise ValueError(f"aggregate is {aggregate!r}; it must be one of {', '.join(get_args(Aggregate))}")


def _scores(aggregate: Aggregate, **performances: ArrayLike) -> list[float]:
    columns = {name: _read(performance) for name, performance in performances.items()}
    shapes: dict[str, Any] = {name: column.shape for name, column in columns.items()}
    if len(set(shapes.values())) > 1 or next(iter(columns.values())).ndim != 1:
        raise ValueError(f"shapes are {shapes}; they must all be (functions,)")
    scores = _aggregate(np.column_stack(list(columns.values())), aggregate)
    if not np.isfinite(scores).all():
        worst = list(columns)[int(np.argmin(np.isfinite(scores)))]
        raise ValueError(
            f"the {aggregate} of {worst} is infinite; penalize failures (as PAR-10 does), or leave out "
            "functions with failures"
        )
    return [float(score) for score in scores]

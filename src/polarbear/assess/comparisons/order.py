"""The partial order induced by pairwise decisions, and its transitive reduction for drawing.

IOHanalyzer draws an arrow from one algorithm to another if a test finds that it dominates (thesis, section 3.1.2 and
figure 3.5). Such arrows need not form an order: significance is not transitive, and one-sided Kolmogorov–Smirnov tests
may reject in both directions. Both cases are resolved and reported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.comparisons.samples import Result, default_names, rows_of

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PartialOrder(Result):
    """A strict partial order of n algorithms. In all matrices the row beats the column.

    Attributes:
        names: The n algorithms' names.
        order: (n, n) bool, whether the row is above the column: by a decision, or by a chain of decisions.
        implied: (n, n) bool, the part of `order` supported only by chains.
        edges: (n, n) bool, the fewest arrows from which `order` follows (its transitive reduction), for drawing.
        levels: (n,) 0 for the unbeaten, else one more than the highest level among the algorithms above.
        cycles: Groups of algorithms that beat each other in a circle, or in pairs both ways; within a group none is
            above another.
    """

    names: tuple[str, ...]
    order: BoolArray
    implied: BoolArray
    edges: BoolArray
    levels: NDArray[np.int64]
    cycles: tuple[tuple[str, ...], ...]

    @property
    def unbeaten(self) -> tuple[str, ...]:
        """The algorithms that no other beats."""
        return tuple(name for name, level in zip(self.names, self.levels, strict=True) if level == 0)

    def rows(self) -> list[dict[str, Any]]:
        """One row per arrow to draw."""
        names, (i, j) = np.array(self.names), np.nonzero(self.edges)
        return rows_of(better=names[i], worse=names[j], implied=self.implied[i, j])


def partial_order(better: ArrayLike, names: Sequence[str] | None = None) -> PartialOrder:
    """The partial order induced by decisions about pairs.

    Decisions are chained (if A beats B and B beats C, A is above C). Algorithms that reach each other by such chains
    form a cycle and remain incomparable; an algorithm that beats one of them is above all.

    Args:
        better: (n, n) bool, whether the row beats the column, such as `PairwiseTests.better`. The diagonal is ignored.
        names: The n algorithms' names; by default "0", "1", ….

    Raises:
        ValueError: If `better` is not a square matrix or does not match `names`.
    """
    from scipy.sparse.csgraph import connected_components, shortest_path  # slow to import

    beats = np.array(better, dtype=bool)
    if beats.ndim != 2 or beats.shape[0] != beats.shape[1]:
        raise ValueError(f"better has shape {beats.shape}; it must have one row and one column per algorithm")
    chosen = default_names(names, len(beats))
    np.fill_diagonal(beats, val=False)
    count, group = connected_components(beats, directed=True, connection="strong")
    reach = np.isfinite(shortest_path(beats.astype(float), unweighted=True))
    order = reach & (group[:, None] != group)
    cycles = (tuple(chosen[i] for i in np.flatnonzero(group == g)) for g in range(count))
    return PartialOrder(
        chosen,
        order,
        order & ~beats,
        order & ~(order @ order),
        _levels(order),
        tuple(sorted(cycle for cycle in cycles if len(cycle) > 1)),
    )


def _levels(order: BoolArray) -> NDArray[np.int64]:
    """Length of the longest chain above each algorithm."""
    levels = np.zeros(len(order), dtype=np.int64)
    for i in np.argsort(order.sum(axis=0), kind="stable"):  # an algorithm above has fewer above itself
        levels[i] = max((int(levels[j]) + 1 for j in np.flatnonzero(order[:, i])), default=0)
    return levels

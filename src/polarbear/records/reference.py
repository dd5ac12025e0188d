"""Expected runtimes of reference algorithms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records.arrays import FloatArray, IntArray

_SAME = 1e-9
"""Relative difference below which targets are the same: published tables print 16 digits of 10^(k/5)."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The expected runtimes of a reference algorithm on one function in one dimension.

    A portfolio such as best-2009 takes the algorithm with the smallest expected runtime for each target; it is
    artificial, since the choice uses the same data.

    Attributes:
        targets: (k,) target precisions, or values of COCO's bi-objective indicator; strictly decreasing.
        ert: (k,) expected runtimes, inf where no algorithm reached the target.
        algorithms: (k,) names of the algorithms the data are from; empty where unknown or the target was not reached.
        successes: (k,) number of successful runs behind each expected runtime; 0 where unknown.
        runs: (k,) number of runs behind each expected runtime; 0 where unknown.
        name: Name of the reference algorithm, such as ``"best2009-bbob"``; empty if it has none.
        suite: The suite; empty if unknown.

    Raises:
        ValueError: If the lengths differ, or targets do not decrease strictly.
    """

    targets: FloatArray
    ert: FloatArray
    algorithms: tuple[str, ...]
    successes: IntArray
    runs: IntArray
    name: str = ""
    suite: str = ""

    def __post_init__(self) -> None:
        sizes = [len(column) for column in (self.targets, self.ert, self.algorithms, self.successes, self.runs)]
        if len(set(sizes)) != 1:
            raise ValueError(f"targets, ert, algorithms, successes and runs hold {sizes} entries; give one per target")
        if not (np.diff(self.targets) < 0).all():
            raise ValueError("the targets of a reference must decrease strictly; sort them, easiest first")

    def rows(self, targets: ArrayLike) -> IntArray:
        """Row of the easiest recorded target that is at least as difficult as each of `targets`; -1 if none is."""
        wanted = np.asarray(targets, dtype=np.float64)
        rows = np.searchsorted(-self.targets, -(wanted + _SAME * np.abs(wanted)))
        return np.where(rows < len(self.targets), rows, -1)

    def at(self, targets: ArrayLike) -> FloatArray:
        """The expected runtime to each target, inf beyond the most difficult recorded one."""
        return np.append(self.ert, np.inf)[self.rows(targets)]

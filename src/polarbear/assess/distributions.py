"""Empirical runtime distributions (RTD): which proportion of problems is solved within which budget.

Hansen et al. 2022, section VI. A problem is a pair of function and target; all targets together make the
distribution an anytime one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.restarts import simulated_with_marks
from polarbear.assess.runtimes import checked_runtimes, checked_weights
from polarbear.records import FloatArray

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class RuntimeDistribution:
    """Steps of an empirical runtime distribution, and the marks the field draws on it.

    Attributes:
        runtimes: (steps,) sorted finite runtimes, measured or simulated.
        proportions: (steps,) proportion of problems solved within each runtime, increasing.
        simulated: (steps,) whether the step's runtime contains a simulated restart.
        unsuccessful: Sorted evaluations spent by the trials that missed at least one of their targets.
        problems: How many problems, that is pairs of function and target, it is made of.
    """

    runtimes: FloatArray
    proportions: FloatArray
    simulated: NDArray[np.bool_]
    unsuccessful: FloatArray
    problems: int

    @property
    def solved(self) -> float:
        """Where the curve ends: the proportion of problems solved at all (the dot in Hansen et al., fig. 3)."""
        return float(self.proportions[-1]) if self.proportions.size else 0.0

    @property
    def cross(self) -> tuple[float, float] | None:
        """The median runlength of unsuccessful trials and the proportion solved by then; None if all succeeded.

        Where all unsuccessful trials exhausted one budget, what rises beyond the cross stems from simulated
        restarts (Hansen et al., fig. 3).
        """
        return self._mark(float(np.median(self.unsuccessful))) if self.unsuccessful.size else None

    @property
    def last_unsuccessful(self) -> tuple[float, float] | None:
        """The end of the longest unsuccessful trial and the proportion solved by then; None if all succeeded.

        Whatever rises beyond it and stems from no simulated restart was found by longer, successful trials.
        """
        return self._mark(float(self.unsuccessful[-1])) if self.unsuccessful.size else None

    def at(self, budgets: ArrayLike) -> FloatArray:
        """The proportion of problems solved within each budget; any shape."""
        found = np.searchsorted(self.runtimes, np.asarray(budgets, dtype=np.float64), side="right")
        return np.append(0.0, self.proportions)[found]

    def quantile(self, proportions: ArrayLike) -> FloatArray:
        """The smallest runtime within which each proportion of the problems is solved; inf where it never is."""
        found = np.searchsorted(self.proportions, np.asarray(proportions, dtype=np.float64) - _ROUNDING)
        return np.append(self.runtimes, np.inf)[found]

    def area_above(self, proportion: float | None = None) -> float:
        """Area between the curve and the given height, with natural logarithms of runtimes on the x-axis.

        The axis begins at a runtime of 1. Divided by the height it is the logarithm of the geometric average of
        that fraction of the shortest runtimes (Hansen et al., fig. 2d and section V-C).

        Args:
            proportion: The height, in (0, 1]; by default all that is solved.

        Returns:
            The area, inf if less than `proportion` is solved, NaN by default if nothing is.

        Raises:
            ValueError: If the proportion is not in (0, 1].
        """
        height = self.solved if proportion is None else proportion
        if proportion is not None and not 0 < proportion <= 1:
            raise ValueError(f"proportion is {proportion!r}; give a height in (0, 1]")
        if height == 0:
            return float("nan")
        if height > self.solved + _ROUNDING:
            return float("inf")
        within = np.diff(np.minimum(self.proportions, height), prepend=0.0)
        return float(within @ np.log(self.runtimes))

    def geometric_mean(self, proportion: float | None = None) -> float:
        """Geometric average of the given fraction of the shortest runtimes; see `area_above`."""
        height = self.solved if proportion is None else proportion
        area = self.area_above(proportion)
        return float(np.exp(area / height)) if height else float("nan")

    def _mark(self, runlength: float) -> tuple[float, float]:
        return runlength, float(self.at(runlength))


def runtime_distribution(
    runtimes: ArrayLike,
    evaluations: ArrayLike,
    *,
    restarts: int = 100,
    rng: np.random.Generator | None = None,
    weights: ArrayLike | None = None,
) -> RuntimeDistribution:
    """The empirical distribution of the runtimes of one group of trials over all its targets.

    Targets that all runs reached enter with their measured runtimes. For targets that only some runs reached,
    restarts are simulated (section V-A); a target that no run reached is never solved.

    Args:
        runtimes: (runs, targets), inf where a target was missed.
        evaluations: (runs,) evaluations each run spent in all.
        restarts: How many runtimes to simulate for each target; 0 takes the measured runtimes alone.
        rng: Where the simulation's randomness comes from; None derandomizes, see `simulated_restarts`.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Raises:
        ValueError: If there are no runs or targets, restarts is negative, a number is NaN, or shapes do not fit.
    """
    times = checked_runtimes(runtimes)
    counts = checked_weights(weights, len(times))
    if not times.shape[1]:
        raise ValueError("runtimes have no targets; give at least one")
    if restarts < 0:
        raise ValueError(f"restarts is {restarts!r}; give the number of simulated runtimes per target, or 0 for none")
    hit = np.isfinite(times)
    partly = hit.any(axis=0) & ~hit.all(axis=0) if restarts else np.zeros(times.shape[1], dtype=np.bool_)
    kept = hit & ~partly
    found, heights = times[kept], np.broadcast_to(counts[:, None] / counts.sum(), times.shape)[kept]
    marks = np.zeros(found.size, dtype=np.bool_)
    spent = np.asarray(evaluations, dtype=np.float64)
    if partly.any():
        more, restarted = simulated_with_marks(times[:, partly], spent, restarts, rng, weights)
        found = np.concatenate([found, more.ravel()])
        heights = np.concatenate([heights, np.full(more.size, 1 / restarts)])
        marks = np.concatenate([marks, restarted.ravel()])
    unsuccessful = np.sort(spent[~hit.all(axis=1)])
    return _steps(found, heights / times.shape[1], marks, unsuccessful, times.shape[1])


def pool(distributions: Sequence[RuntimeDistribution]) -> RuntimeDistribution:
    """Join the distributions of several functions, groups or parts of a portfolio into one; each problem counts alike.

    Distributions of different functions in one dimension may be joined; joining dimensions hides what could be read
    beforehand from the problem itself (section VIII).

    Raises:
        ValueError: If there is none.
    """
    if not distributions:
        raise ValueError("no distributions to pool; give at least one")
    problems = sum(one.problems for one in distributions)
    return _steps(
        np.concatenate([one.runtimes for one in distributions]),
        np.concatenate([np.diff(one.proportions, prepend=0.0) * one.problems / problems for one in distributions]),
        np.concatenate([one.simulated for one in distributions]),
        np.sort(np.concatenate([one.unsuccessful for one in distributions])),
        problems,
    )


def _steps(
    runtimes: FloatArray, heights: FloatArray, simulated: NDArray[np.bool_], unsuccessful: FloatArray, problems: int
) -> RuntimeDistribution:
    order = np.lexsort((simulated, runtimes))
    proportions = np.cumsum(heights[order])
    proportions[proportions > 1 - _ROUNDING] = 1.0
    return RuntimeDistribution(runtimes[order], proportions, simulated[order], unsuccessful, problems)

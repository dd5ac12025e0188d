"""Empirical runtime distributions (RTD): the proportion of problems solved within each budget.

Hansen et al. 2022, section VI. A problem is a pair of function and target; aggregating all targets makes the
distribution an anytime one. Data profiles (Moré and Wild) and performance profiles (Dolan and Moré) use one target for
each problem (section VII).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import checked_runtimes, checked_weights, floats
from polarbear.assess.restarts import simulated_with_marks
from polarbear.assess.step_functions import Bounds, StepFunction
from polarbear.records import FloatArray

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class RuntimeDistribution:
    """Steps of an empirical runtime distribution, and the marks customarily drawn on it.

    Attributes:
        runtimes: (steps,) sorted finite runtimes, measured or simulated.
        proportions: (steps,) proportion of problems solved within each runtime, increasing.
        simulated: (steps,) whether the step's runtime contains a simulated restart.
        unsuccessful: Sorted numbers of evaluations spent by the trials that missed at least one of their targets.
        problems: Number of problems, that is, pairs of function and target.
    """

    runtimes: FloatArray
    proportions: FloatArray
    simulated: NDArray[np.bool_]
    unsuccessful: FloatArray
    problems: int

    @property
    def solved(self) -> float:
        """Proportion of problems solved at all, where the curve ends (the dot in Hansen et al., fig. 3)."""
        return float(self.proportions[-1]) if self.proportions.size else 0.0

    @property
    def cross(self) -> tuple[float, float] | None:
        """The median runlength of unsuccessful trials and the proportion solved by then; None if all succeeded.

        If all unsuccessful trials exhausted one budget, any rise beyond the cross comes from simulated restarts
        (Hansen et al., fig. 3).
        """
        return self._mark(float(np.median(self.unsuccessful))) if self.unsuccessful.size else None

    @property
    def last_unsuccessful(self) -> tuple[float, float] | None:
        """The end of the longest unsuccessful trial and the proportion solved by then; None if all succeeded.

        Any rise beyond it that does not come from simulated restarts is due to longer, successful trials.
        """
        return self._mark(float(self.unsuccessful[-1])) if self.unsuccessful.size else None

    def at(self, budgets: ArrayLike) -> FloatArray:
        """The proportion of problems solved within each budget, of the same shape as `budgets`."""
        steps = np.searchsorted(self.runtimes, floats(budgets), side="right")
        return np.append(0.0, self.proportions)[steps]

    def quantile(self, proportions: ArrayLike) -> FloatArray:
        """The smallest runtime within which each proportion of the problems is solved; inf if it never is."""
        steps = np.searchsorted(self.proportions, floats(proportions) - _ROUNDING)
        return np.append(self.runtimes, np.inf)[steps]

    def area_above(self, proportion: float | None = None) -> float:
        """Area between the curve and the given height, with natural logarithms of runtimes on the x-axis.

        The axis begins at a runtime of 1. Divided by the height, the area is the logarithm of the geometric average of
        that fraction of the shortest runtimes (Hansen et al., fig. 2d and section V-C).

        Args:
            proportion: The height, in (0, 1]; by default the proportion solved.

        Returns:
            The area; inf if less than `proportion` is solved; NaN if it is not given and nothing is solved.

        Raises:
            ValueError: If the proportion is not in (0, 1].
        """
        height = self.solved if proportion is None else proportion
        if proportion is not None and not 0 < proportion <= 1:
            raise ValueError(f"proportion is {proportion!r}; it must be above 0 and at most 1")
        if height == 0:
            return float("nan")
        if height > self.solved + _ROUNDING:
            return float("inf")
        within = np.diff(np.minimum(self.proportions, height), prepend=0.0)
        return float(within @ np.log(self.runtimes))

    def area_below(self, budgets: Bounds) -> float:
        """The normalized area below the curve (AUC) between bounds of budgets, on their scale, from 0 to 1.

        One minus this is the normalized area over the curve (AOC) of the IOHprofiler thesis, section 2.4.
        """
        steps = np.unique(self.runtimes)
        return StepFunction(steps, self.at(steps), before=0.0).mean(budgets)

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
        runtimes: (runs, targets) runtimes, inf where a target was missed.
        evaluations: (runs,) total number of evaluations of each run.
        restarts: Number of runtimes to simulate for each target; 0 to use only the measured runtimes.
        rng: The source of randomness of the simulation; None derandomizes it, see `simulated_restarts`.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Raises:
        ValueError: If there are no runs or targets, `restarts` is negative, a number is NaN, or shapes do not match.
    """
    times = checked_runtimes(runtimes)
    counts = checked_weights(weights, len(times))
    if not times.shape[1]:
        raise ValueError("runtimes have no targets; give at least one")
    if restarts < 0:
        raise ValueError(f"restarts is {restarts!r}; give the number of simulated runtimes per target, or 0 for none")
    hit = np.isfinite(times)
    partly = hit.any(axis=0) & ~hit.all(axis=0) if restarts else np.zeros(times.shape[1], dtype=np.bool_)
    measured = hit & ~partly
    solved, heights = times[measured], np.broadcast_to(counts[:, None] / counts.sum(), times.shape)[measured]
    restarted = np.zeros(solved.size, dtype=np.bool_)
    spent = floats(evaluations)
    if partly.any():
        simulated, with_failures = simulated_with_marks(times[:, partly], spent, restarts, rng, weights)
        solved = np.concatenate([solved, simulated.ravel()])
        heights = np.concatenate([heights, np.full(simulated.size, 1 / restarts)])
        restarted = np.concatenate([restarted, with_failures.ravel()])
    unsuccessful = np.sort(spent[~hit.all(axis=1)])
    return _steps(solved, heights / times.shape[1], restarted, unsuccessful, times.shape[1])


def pool(distributions: Sequence[RuntimeDistribution]) -> RuntimeDistribution:
    """Pool the distributions of several functions, groups or parts of a portfolio; all problems count equally.

    Distributions of different functions in one dimension may be pooled; pooling dimensions hides a dependence on what
    is known of a problem in advance (section VIII).

    Raises:
        ValueError: If there are no distributions.
    """
    if not distributions:
        raise ValueError("no distributions to pool; give at least one")
    if len(distributions) == 1:
        return distributions[0]
    problems = sum(distribution.problems for distribution in distributions)
    return _steps(
        np.concatenate([distribution.runtimes for distribution in distributions]),
        np.concatenate(
            [
                np.diff(distribution.proportions, prepend=0.0) * distribution.problems / problems
                for distribution in distributions
            ]
        ),
        np.concatenate([distribution.simulated for distribution in distributions]),
        np.sort(np.concatenate([distribution.unsuccessful for distribution in distributions])),
        problems,
    )


def _steps(
    runtimes: FloatArray, heights: FloatArray, simulated: NDArray[np.bool_], unsuccessful: FloatArray, problems: int
) -> RuntimeDistribution:
    order = np.lexsort((simulated, runtimes))
    proportions = np.cumsum(heights[order])
    proportions[proportions > 1 - _ROUNDING] = 1.0
    return RuntimeDistribution(runtimes[order], proportions, simulated[order], unsuccessful, problems)


def data_profile(runtimes: ArrayLike, dimensions: ArrayLike, budgets: ArrayLike) -> FloatArray:
    """The proportion of problems each solver solves within budgets in units of simplex gradients, n + 1 evaluations.

    Args:
        runtimes: (problems, solvers) runtimes, inf where a solver missed the problem's target.
        dimensions: (problems,) number of variables n of each problem.
        budgets: (budgets,) budgets in units of n + 1 evaluations.

    Returns:
        (budgets, solvers) proportions.

    Raises:
        ValueError: If a runtime is NaN, a dimension is below 1, or shapes do not match.
    """
    times = checked_runtimes(runtimes)
    variables = floats(dimensions)
    if variables.shape != times.shape[:1] or not (variables >= 1).all():
        raise ValueError(
            f"dimensions are {variables!r}; give one number of at least 1 per problem, {len(times)} in all"
        )
    return _proportions(times / (variables + 1)[:, None], budgets)


def performance_profile(runtimes: ArrayLike, ratios: ArrayLike) -> FloatArray:
    """The proportion of problems each solver solves within a multiple of the fastest solver's runtime.

    Args:
        runtimes: (problems, solvers) positive runtimes, inf where a solver missed the problem's target.
        ratios: (ratios,) multiples, from 1.

    Returns:
        (ratios, solvers) proportions. A problem that no solver solved counts as unsolved for all.

    Raises:
        ValueError: If a runtime is NaN or not positive, or shapes do not match.
    """
    times = checked_runtimes(runtimes)
    if not (times > 0).all():
        raise ValueError("performance profiles divide by the shortest runtime; all runtimes must be positive")
    fastest = times.min(axis=1, keepdims=True)
    return _proportions(
        np.where(np.isfinite(fastest), times / np.where(np.isfinite(fastest), fastest, 1), np.inf), ratios
    )


def _proportions(costs: FloatArray, limits: ArrayLike) -> FloatArray:
    wanted = np.minimum(floats(limits), np.finfo(np.float64).max)  # inf costs are never within
    ranked = np.sort(costs, axis=0)
    solved = [np.searchsorted(ranked[:, solver], wanted, side="right") for solver in range(costs.shape[1])]
    return np.stack(solved, axis=-1) / len(costs)

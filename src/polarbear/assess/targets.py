"""Choice of target values (Hansen et al. 2022, section III-F, items 1-4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.records import FloatArray


def log_targets(easiest: float = 1e2, hardest: float = 1e-8, *, per_decade: int = 5) -> FloatArray:
    """Target precisions evenly spaced on a log scale, easiest first (item 2: 51 from 100 to 1e-8 by default).

    Args:
        easiest: The largest precision.
        hardest: The smallest precision.
        per_decade: Number of targets per power of ten. The range must span a whole number of steps.

    Returns:
        (targets,) decreasing precisions.

    Raises:
        ValueError: Unless easiest > hardest > 0, and the range is a whole number of steps.
    """
    if not np.inf > easiest > hardest > 0:
        raise ValueError(f"targets need easiest > hardest > 0, got easiest={easiest!r} and hardest={hardest!r}")
    first, last = per_decade * np.log10(easiest), per_decade * np.log10(hardest)
    steps = int(np.rint(first - last))
    if per_decade < 1 or abs(first - last - steps) > 1e-6:
        raise ValueError(
            f"from {easiest:g} to {hardest:g} there are {first - last:g} steps at {per_decade} targets per decade; "
            "choose ends that make this a whole number"
        )
    return 10.0 ** ((first - np.arange(steps + 1)) / per_decade)


def biobjective_targets() -> FloatArray:
    """Precisions above the reference indicator value for bi-objective suites, easiest first (item 3).

    Negative ones are reached by runs that beat the best known approximation of the Pareto front.

    Returns:
        (68,) decreasing precisions: 10 to 1e-5 at ten per decade, 0, and -1e-5 to -1e-4 at five per decade.
    """
    positive = 10.0 ** (np.arange(10, -51, -1) / 10)
    negative = -(10.0 ** (np.arange(-25, -19) / 5))
    return np.concatenate([positive, np.zeros(1), negative])


def data_profile_targets(first: ArrayLike, best: ArrayLike, exponents: Sequence[float] = (1, 3, 5, 7)) -> FloatArray:
    """Targets of data profiles: the best observed value plus 10^-k of the way from the first (item 1, Moré and Wild).

    Args:
        first: (problems,) value at the initial point of each problem.
        best: (problems,) smallest value found by any of the algorithms within the given budget.
        exponents: The exponents k; larger is harder.

    Returns:
        (problems, exponents) absolute objective values.

    Raises:
        ValueError: If shapes differ, or a first value is below the best.
    """
    start, reference = floats(first), floats(best)
    if start.shape != reference.shape or start.ndim != 1:
        raise ValueError(f"first has shape {start.shape} and best {reference.shape}; give one number per problem")
    if not (start >= reference).all():
        worst = int(np.argmin(start >= reference))
        raise ValueError(f"problem {worst}: the first value {start[worst]} lies below the best {reference[worst]}")
    return reference[:, None] + 10.0 ** -floats(exponents) * (start - reference)[:, None]


def budget_targets(targets: ArrayLike, erts: ArrayLike, budgets: ArrayLike, *, distinct: bool = False) -> FloatArray:
    """Budget-based targets: for each budget the easiest target that no reference algorithm reaches within it (item 4).

    A target is reached within a budget if the algorithm's ERT does not exceed the budget. If all targets are reached
    within a budget, its target is the most difficult of all (footnote 18).

    Args:
        targets: (targets,) targets to choose from, easiest first.
        erts: (algorithms, targets) ERTs of the reference algorithms, or (targets,) of a single one; inf where missed.
        budgets: (budgets,) increasing numbers of evaluations.
        distinct: Whether no target may be chosen twice: budgets then take the easiest target that is left, and the last
            budgets get none once the most difficult target is taken.

    Returns:
        (budgets,) decreasing targets; if `distinct`, possibly fewer, for the first budgets.

    Raises:
        ValueError: If targets do not decrease, budgets do not increase, an ERT is NaN, or shapes do not match.
    """
    levels, limits = floats(targets), floats(budgets)
    needed = np.atleast_2d(floats(erts))
    if levels.ndim != 1 or not levels.size or not (np.diff(levels) < 0).all():
        raise ValueError(f"targets are {levels!r}; they must be strictly decreasing, easiest first")
    if limits.ndim != 1 or not (np.diff(limits) > 0).all():
        raise ValueError(f"budgets are {limits!r}; they must be strictly increasing")
    if needed.ndim != 2 or needed.shape[1] != levels.size or np.isnan(needed).any():
        raise ValueError(f"erts have shape {needed.shape}; they must be (algorithms, {levels.size}) without NaN")
    missed = needed.min(axis=0) > limits[:, None]
    easiest = np.where(missed.any(axis=1), missed.argmax(axis=1), levels.size - 1)
    return levels[_strictly_increasing(easiest, levels.size) if distinct else easiest]


def _strictly_increasing(chosen: NDArray[np.intp], size: int) -> list[int]:
    taken: list[int] = []
    for index in chosen:
        following = max(int(index), taken[-1] + 1) if taken else int(index)
        if following == size:
            break
        taken.append(following)
    return taken

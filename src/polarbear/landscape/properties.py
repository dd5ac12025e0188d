"""Optima, mean landscapes and algorithms across a function's instances (Vermetten 2025, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control, mannwhitneyu

from polarbear.assess import group_trials
from polarbear.assess.functions import function_of
from polarbear.protocols import Problem, ProblemSpec
from polarbear.quantities import plural
from polarbear.records import FloatArray, Run

_ROUNDING = 1e-9
"""Tolerance, absolute or relative, between the value at a stated optimum and the optimal value."""


def optimum_location(spec: ProblemSpec) -> FloatArray | None:
    """(d,) location of the optimum by the problem's attribute `location`; None if its value is not optimal."""
    location = getattr(spec, "location", None)
    if location is None:
        return None
    problem, point = spec.build(), np.asarray(location, dtype=np.float64)
    known = problem.optimum is not None and point.shape == (problem.dimension,)
    value = problem(point) if known else math.nan
    return point if math.isclose(value, problem.optimum or 0.0, rel_tol=_ROUNDING, abs_tol=_ROUNDING) else None


def mean_precision(problems: Sequence[Problem], grid: int = 101, *, least: float = 1e-8) -> FloatArray:
    """(grid, grid) geometric mean of f - f* over problems of two variables, rows from the lowest x₂ (figure 3.15).

    Args:
        problems: Instances of a function.
        grid: Number of grid points along each variable.
        least: Lower bound on precisions, since an optimum on the grid would make the mean 0.

    Raises:
        ValueError: If a problem does not have two variables, or its optimum is unknown.
    """
    total = np.zeros((grid, grid))
    share = np.indices((grid, grid))[::-1].reshape(2, -1).T / (grid - 1)
    for problem in problems:
        if problem.dimension != 2 or problem.optimum is None:
            raise ValueError(
                f"{problem.name} has {plural(problem.dimension, 'variable')} and optimum {problem.optimum}; it must "
                "have 2 variables and a known optimum"
            )
        points = problem.lower + share * (problem.upper - problem.lower)
        precision = np.abs(problem(points) - problem.optimum).reshape(grid, grid)
        total += np.log10(np.maximum(precision, least))
    return 10 ** (total / len(problems))


def one_against_rest(precisions: ArrayLike, *, alpha: float = 0.05) -> FloatArray:
    """Share of instances on which an algorithm performs differently from all other instances together (figure 3.13).

    Args:
        precisions: (algorithms, instances, runs) best values after a budget, relative to each instance's optimum.
        alpha: False discovery rate allowed over the instances (Mann–Whitney, Benjamini–Hochberg).

    Returns:
        (algorithms,) shares of instances.

    Raises:
        ValueError: If there are not three axes, or fewer than two instances.
    """
    array = np.asarray(precisions, dtype=np.float64)
    if array.ndim != 3 or array.shape[1] < 2:
        raise ValueError(
            f"precisions have shape {array.shape}; give (algorithms, instances, runs) with at least two instances"
        )
    return np.array([_share_rejected(list(runs), alpha) for runs in array])


def _share_rejected(samples: Sequence[FloatArray], alpha: float) -> float:
    """Share of samples that differ from the union of all others."""
    tests: list[Any] = [
        mannwhitneyu(sample, np.concatenate([*samples[:i], *samples[i + 1 :]])) for i, sample in enumerate(samples)
    ]
    return float((false_discovery_control([test.pvalue for test in tests]) <= alpha).mean())


@dataclass(frozen=True, eq=False)
class Performance:
    """Whether algorithms perform alike on all instances of a function.

    Attributes:
        budget: Number of evaluations after which values are compared.
        algorithms: (a,) names of the algorithms.
        functions: (f,) names of the functions, such as ``"bbob-f1-d5"``.
        rates: (a, f) share of instances on which an algorithm performs differently from all other instances together;
            NaN where it has no runs on two instances.
    """

    budget: float
    algorithms: tuple[str, ...]
    functions: tuple[str, ...]
    rates: FloatArray

    def as_dict(self) -> dict[str, Any]:
        """The share of instances by algorithm and function as plain values; None where unknown."""
        rows: list[list[float]] = self.rates.tolist()
        rates = {
            algorithm: {
                name: None if math.isnan(rate) else rate for name, rate in zip(self.functions, row, strict=True)
            }
            for algorithm, row in zip(self.algorithms, rows, strict=True)
        }
        return {"budget": self.budget, "rates": rates}


def performance(runs: Iterable[Run], budget: float, *, alpha: float = 0.05) -> Performance:
    """Test whether algorithms perform alike on all instances of a function, each instance against the rest.

    Args:
        runs: Runs on functions with several instances and known optima.
        budget: Number of evaluations after which values are compared.
        alpha: False discovery rate allowed over the instances of a function.

    Raises:
        ValueError: If an optimum is unknown, or no algorithm has runs on two instances of a function.
    """
    rates: dict[tuple[str, str], float] = {}
    for trials in group_trials(runs):
        precisions = trials.best_at([budget])[:, 0]
        of = np.array([run.key.instance for run in trials.runs])
        samples = [precisions[of == instance] for instance in dict.fromkeys(of.tolist())]
        if len(samples) > 1:
            rates[trials.algorithm, function_of(trials.runs[0].problem)] = _share_rejected(samples, alpha)
    if not rates:
        raise ValueError("no algorithm has runs on two instances of a function; a comparison needs two")
    algorithms, functions = (tuple(dict.fromkeys(key[i] for key in rates)) for i in (0, 1))
    table = np.array([[rates.get((a, f), math.nan) for f in functions] for a in algorithms])
    return Performance(float(budget), tuple(sorted(algorithms)), functions, table[np.argsort(algorithms)])

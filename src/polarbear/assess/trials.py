"""Trials: all runs of one algorithm on one function in one dimension, as arrays (Hansen et al. 2022, section IV-A)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.runtimes import by_run, instance_weights, optimum_of, runtimes
from polarbear.records import Axis, FloatArray, Reason, Run, check_axis

_NOTHING_YET = np.array([np.inf])


@dataclass(frozen=True, eq=False)
class Trials:
    """Repetitions of one problem by one algorithm; instances of a function count as repetitions.

    Attributes:
        algorithm: The algorithm's name.
        suite: The suite's name; empty if none.
        function: The function's number or name.
        dimension: Number of variables; 0 if unknown.
        runs: The runs, at least one.
    """

    algorithm: str
    suite: str
    function: str
    dimension: int
    runs: tuple[Run, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(
                f"no runs of {self.algorithm!r} on {self.function!r} in {self.dimension}-D; give at least one"
            )

    @property
    def instances(self) -> tuple[str, ...]:
        """(runs,) the instance of each run."""
        return tuple(run.problem.instance for run in self.runs)

    @cached_property
    def weights(self) -> FloatArray:
        """(runs,) weights with which all instances count equally; see `instance_weights`."""
        return instance_weights(self.instances)

    @property
    def evaluations(self) -> FloatArray:
        """(runs,) total number of evaluations of each run."""
        return self.spent()

    def spent(self, axis: Axis = "evaluations") -> FloatArray:
        """(runs,) total evaluations or seconds of each run."""
        name = check_axis(axis)
        return np.array([getattr(run.outcome, name) for run in self.runs], dtype=np.float64)

    def runtimes(self, targets: ArrayLike, *, axis: Axis = "evaluations", absolute: bool = False) -> FloatArray:
        """(runs, targets) runtimes, inf where a target was missed; see `polarbear.assess.runtimes`."""
        return runtimes(self.runs, targets, axis=axis, absolute=absolute)

    def best_at(self, times: ArrayLike, *, axis: Axis = "evaluations", absolute: bool = False) -> FloatArray:
        """(runs, times) best precision of each run by each time; +inf before its first value.

        Args:
            times: (times,) evaluations or seconds. After its end a run keeps its best value.
            axis: The unit of `times`.
            absolute: Whether to return objective values rather than precisions.

        Raises:
            ValueError: If a run's optimum is unknown and `absolute` is False.
        """
        at, trajectories = floats(times), [run.trajectory for run in self.runs]
        rows, sizes = np.arange(len(trajectories)), np.array([each.values.size for each in trajectories])
        along = np.concatenate([each.along(axis) for each in trajectories], dtype=np.float64)
        values = np.concatenate([*(each.values for each in trajectories), _NOTHING_YET])
        known = by_run(np.repeat(rows, sizes), along).searchsorted(by_run(rows[:, np.newaxis], at), side="right")
        best = np.where(known > (np.cumsum(sizes) - sizes)[:, np.newaxis], values[known - 1], np.inf)
        return best if absolute else best - np.array([[optimum_of(run)] for run in self.runs])


def group_trials(runs: Iterable[Run]) -> tuple[Trials, ...]:
    """Group runs by suite, function, dimension and algorithm.

    Lost runs are left out (see `is_lost`).

    Args:
        runs: Runs in any order, which is kept within a group.

    Returns:
        One `Trials` per group, sorted by suite, function (numbers in numeric order), dimension, algorithm.
    """
    groups: dict[tuple[str, str, int, str], list[Run]] = {}
    for run in runs:
        if is_lost(run):
            continue
        problem = run.problem
        key = (problem.suite, problem.function, problem.dimension, run.key.algorithm)
        groups.setdefault(key, []).append(run)
    return tuple(
        Trials(algorithm, suite, function, dimension, tuple(groups[suite, function, dimension, algorithm]))
        for suite, function, dimension, algorithm in sorted(groups, key=in_order)
    )


def function_label(function: str) -> str:
    """A function's label: ``"f3"`` for number 3, ``"function 'f3'"`` for one of that name, else the name."""
    if function.isdecimal():
        return f"f{function}"
    return f"function '{function}'" if function.startswith("f") and function[1:].isdecimal() else function


def is_lost(run: Run) -> bool:
    """Whether a run was killed or timed out before anything was recorded."""
    unknown = run.outcome.reason in {Reason.KILLED, Reason.TIMED_OUT}
    return unknown and run.outcome.evaluations == 0


def in_order(key: tuple[str, str, int, str]) -> tuple[str, float, str, int, str]:
    """A sort key for suite, function, dimension and algorithm, with functions ordered by number."""
    suite, function, dimension, algorithm = key
    return suite, float(function) if function.isdecimal() else np.inf, function, dimension, algorithm

"""A run's best-so-far values over time, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records.arrays import FloatArray, IntArray, frozen_evaluations, frozen_vector, require
from polarbear.records.times import Axis, check_axis


class Reason(StrEnum):
    """Why a run ended."""

    BUDGET = "budget"
    """It used up its budget of evaluations or seconds."""
    TARGET = "target"
    """It reached the target value."""
    STOPPED = "stopped"
    """The optimizer returned by itself."""
    FAILED = "failed"
    """The optimizer or the objective raised an exception."""
    TIMED_OUT = "timed out"
    """It was interrupted at the study's time limit for a run."""
    KILLED = "killed"
    """Its worker process died or had to be killed; its values are lost."""


CUT_SHORT = frozenset({Reason.BUDGET, Reason.TIMED_OUT, Reason.KILLED})
"""Reasons outside the optimizer, after which later values are unknown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a run ended, and why.

    Attributes:
        reason: Why it ended.
        evaluations: Number of evaluations spent.
        seconds: Wall-clock seconds from its start to its end.
        message: A message for users; the exception's text if the run failed.
        traceback: The exception's traceback if the run failed.
        invalid_evaluations: Number of evaluations that returned NaN; they counted as the worst value, +inf.
    """

    reason: Reason
    evaluations: int
    seconds: float
    message: str = ""
    traceback: str = ""
    invalid_evaluations: int = 0

    @property
    def cut_short(self) -> bool:
        """Whether the run was ended from outside, so that later values are unknown."""
        return self.reason in CUT_SHORT

    @property
    def ok(self) -> bool:
        """Whether the run ended normally: it used up its budget, hit the target or returned by itself."""
        return self.reason in {Reason.BUDGET, Reason.TARGET, Reason.STOPPED}


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """A run's best-so-far values: one entry per improvement, and how the run ended.

    Attributes:
        evaluations: (k,) int64, strictly increasing: the evaluation that brought each improvement, from 1.
        seconds: (k,) float64, never decreasing: wall-clock seconds from the run's start to the improvement.
        values: (k,) float64, strictly decreasing: the best value so far (minimized).
        outcome: Where and why the run ended.

    Raises:
        ValueError: If the arrays break these rules; the message names the array and the entry.
    """

    evaluations: IntArray
    seconds: FloatArray
    values: FloatArray
    outcome: Outcome

    def __post_init__(self) -> None:
        evaluations = frozen_evaluations(self.evaluations)
        seconds = frozen_vector(self.seconds, np.float64, "seconds")
        values = frozen_vector(self.values, np.float64, "values")
        if not evaluations.size == seconds.size == values.size:
            raise ValueError(
                f"evaluations, seconds and values hold {evaluations.size}, {seconds.size} and {values.size} "
                "entries; they need one entry for each improvement"
            )
        require(seconds[:1] >= 0, "seconds", "starts below 0")
        require(seconds[1:] >= seconds[:-1], "seconds", "decreases")
        require(~np.isnan(values), "values", "is NaN")
        require(values[1:] < values[:-1], "values", "does not decrease strictly")
        if evaluations.size and evaluations[-1] > self.outcome.evaluations:
            raise ValueError(
                f"the last improvement came at evaluation {evaluations[-1]}, but the outcome says the run "
                f"ended after {self.outcome.evaluations}"
            )
        for name, array in (("evaluations", evaluations), ("seconds", seconds), ("values", values)):
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trajectory):
            return NotImplemented
        return (
            self.outcome == other.outcome
            and np.array_equal(self.evaluations, other.evaluations)
            and np.array_equal(self.seconds, other.seconds)
            and np.array_equal(self.values, other.values)
        )

    @classmethod
    def many(
        cls,
        evaluations: IntArray,
        seconds: FloatArray,
        values: FloatArray,
        sizes: IntArray,
        outcomes: Sequence[Outcome],
    ) -> list[Trajectory]:
        """Make the trajectories of many runs and check them together, which takes a fraction of the time.

        Args:
            evaluations: Evaluations of all runs, one run after another.
            seconds: Seconds of all runs, likewise.
            values: Values of all runs, likewise.
            sizes: (runs,) number of entries of each run.
            outcomes: (runs,) outcome of each run.

        Returns:
            One trajectory for each run; their arrays are views of the arguments, which are made read-only.

        Raises:
            ValueError: If a trajectory breaks the rules; the message names the array and the entry.
        """
        arrays = [np.ascontiguousarray(array) for array in (evaluations, seconds, values)]
        for array in arrays:
            array.flags.writeable = False
        ends = np.cumsum(sizes)
        cuts = [slice(start, end) for start, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True)]
        parts = [[array[cut] for cut in cuts] for array in arrays]
        if not _sound(arrays, sizes, ends, outcomes):
            return [cls(*each) for each in zip(*parts, outcomes, strict=True)]  # raises an error that names the entry
        trajectories: list[Trajectory] = [object.__new__(cls) for _ in outcomes]
        for name, column in zip(cls.__slots__, (*parts, outcomes), strict=True):
            put = cls.__dict__[name].__set__  # bypasses the immutability of a frozen class
            for trajectory, value in zip(trajectories, column, strict=True):
                put(trajectory, value)
        return trajectories

    @classmethod
    def empty(cls, outcome: Outcome) -> Trajectory:
        """The trajectory of a run that found nothing."""
        none = np.empty(0)
        return cls(none.astype(np.int64), none, none, outcome)

    @property
    def best(self) -> float:
        """The best value found by the run, +inf if none."""
        return float(self.values[-1]) if self.values.size else float("inf")

    def along(self, axis: Axis) -> NDArray[np.float64] | IntArray:
        """(k,) the time of each improvement, in evaluations or seconds."""
        return self.evaluations if check_axis(axis) == "evaluations" else self.seconds

    def value_at(self, times: ArrayLike, axis: Axis = "evaluations") -> FloatArray:
        """The best value found by each time.

        Args:
            times: Evaluations or seconds since the run's start, of any shape.
            axis: The unit of `times`.

        Returns:
            Values of the same shape as `times`: +inf before the first improvement, then the best value so far. It stays
            constant after the end of a run that ended by itself, and is NaN after the end of one that was cut short.
        """
        at = np.asarray(times, dtype=np.float64)
        count = np.searchsorted(self.along(axis), at, side="right")
        values = np.concatenate(([np.inf], self.values))[count]
        if self.outcome.cut_short:
            end = self.outcome.evaluations if axis == "evaluations" else self.outcome.seconds
            values = np.where(at > end, np.nan, values)
        return values


def _sound(arrays: Sequence[NDArray[Any]], sizes: IntArray, ends: IntArray, outcomes: Sequence[Outcome]) -> bool:
    """Whether concatenated trajectories satisfy the rules."""
    evaluations, seconds, values = arrays
    if [array.dtype for array in arrays] != [np.int64, np.float64, np.float64]:
        return False
    if not len(evaluations) == len(seconds) == len(values) == sizes.sum():
        return False
    begins = np.zeros(len(values) + 1, dtype=bool)
    begins[ends - sizes] = True  # an empty run marks the start of the next one, or the end
    first, within = begins[:-1], ~begins[1:-1]
    some = sizes > 0
    last = evaluations[ends[some] - 1]
    spent = np.array([outcome.evaluations for outcome in outcomes], dtype=np.int64)[some]
    return bool(
        (evaluations[first] >= 1).all()
        and (seconds[first] >= 0).all()
        and (np.diff(evaluations)[within] > 0).all()
        and (np.diff(seconds)[within] >= 0).all()
        and (values[1:] < values[:-1])[within].all()
        and not np.isnan(values).any()
        and (last <= spent).all()
    )

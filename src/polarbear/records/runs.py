"""Finished runs and their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records.arrays import FloatArray, IntArray, frozen_evaluations, frozen_points, frozen_vector, require
from polarbear.records.keys import Instance, RunKey
from polarbear.records.trajectory import Outcome, Reason, Trajectory

RECOMMENDATION = "recommendation"
"""The parameter under which the value of the recommended point is logged."""


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """Parameters that an optimizer logged during a run, such as its step size.

    Attributes:
        evaluations: (m,) int64, strictly increasing: the evaluation at which each row was logged, from 1.
        values: (m,) float64 values of each parameter, by name; NaN where it was not logged.

    Raises:
        ValueError: If the arrays break these rules; the message names the array.
    """

    evaluations: IntArray
    values: Mapping[str, FloatArray]

    def __post_init__(self) -> None:
        evaluations = frozen_evaluations(self.evaluations)
        values = {name: frozen_vector(column, np.float64, name) for name, column in self.values.items()}
        for name, column in values.items():
            if column.size != evaluations.size:
                raise ValueError(f"parameter {name!r} has {column.size} values for {evaluations.size} evaluations")
        object.__setattr__(self, "evaluations", evaluations)
        object.__setattr__(self, "values", values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameters):
            return NotImplemented
        return (
            np.array_equal(self.evaluations, other.evaluations)
            and list(self.values) == list(other.values)
            and all(np.array_equal(self.values[name], other.values[name], equal_nan=True) for name in self.values)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Points that a run evaluated, at least one, in order.

    Attributes:
        evaluations: (m,) int64, strictly increasing: the evaluation of each point, from 1.
        points: (m, d) float64: the points, in the coordinates in which the problem is called.
        values: (m,) float64: the recorded value of each point, minimized; +inf for NaN. With several objectives, the
            indicator of all points so far.

    Raises:
        ValueError: If the arrays break these rules; the message names the array.
    """

    evaluations: IntArray
    points: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        evaluations = frozen_evaluations(self.evaluations)
        values, points = frozen_vector(self.values, np.float64, "values"), frozen_points(self.points)
        require(~np.isnan(values), "values", "is NaN")
        if points.ndim != 2 or not points.size or not len(points) == values.size == evaluations.size:
            raise ValueError(
                f"points has shape {points.shape} for {evaluations.size} evaluations and {values.size} values; give a "
                "row for each"
            )
        for name, array in (("evaluations", evaluations), ("points", points), ("values", values)):
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Samples):
            return NotImplemented
        return (
            np.array_equal(self.evaluations, other.evaluations)
            and np.array_equal(self.points, other.points, equal_nan=True)
            and np.array_equal(self.values, other.values)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One finished run.

    Attributes:
        key: The run's key.
        trajectory: The run's best-so-far values, and how it ended.
        target: The objective value at which the run counts as solved, or None. Values at or below it tie.
        optimum: The lowest possible value, if known; values minus it are precisions.
        parameters: The parameters that the optimizer logged, if any.
        solution: (d,) point of the best recorded value; with several objectives (k, d) nondominated points, in
            lexicographic order of their objectives. Coordinates are those in which the problem is called. None if
            nothing was found, or it is unknown.
        samples: Evaluated points, if a `Watch` recorded them and they were read.
        identity: The suite, function, dimension and instance, if the instance's name does not contain them.

    Raises:
        ValueError: If `solution` is neither a point nor a list of points.
    """

    key: RunKey
    trajectory: Trajectory
    target: float | None = None
    optimum: float | None = None
    parameters: Parameters | None = None
    solution: FloatArray | None = None
    samples: Samples | None = None
    identity: Instance | None = None

    def __post_init__(self) -> None:
        if self.identity is not None and self.identity == Instance.parse(self.key.instance):
            object.__setattr__(self, "identity", None)
        if self.solution is not None:
            solution = frozen_points(self.solution)
            if solution.ndim not in (1, 2) or not solution.size:
                raise ValueError(f"solution has shape {solution.shape}; give a (d,) point or (k, d) points")
            object.__setattr__(self, "solution", solution)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Run):
            return NotImplemented
        return self._compared == other._compared and _same_points(self.solution, other.solution)

    @property
    def problem(self) -> Instance:
        """Suite, function, dimension and instance, by which runs are grouped: `identity`, or parsed from the name."""
        return self.identity or Instance.parse(self.key.instance)

    @property
    def _compared(self) -> tuple[object, ...]:
        return self.key, self.trajectory, self.target, self.optimum, self.parameters, self.samples, self.identity

    @property
    def outcome(self) -> Outcome:
        """Where and why the run ended."""
        return self.trajectory.outcome

    def recommended_at(self, times: ArrayLike) -> FloatArray:
        """The noiseless value of the point that the optimizer would have returned at each time.

        Args:
            times: Numbers of evaluations, of any shape.

        Returns:
            Values of the last recommendation logged by each time, of the same shape as `times`: +inf before the first,
            or if it was not a point; NaN after the end of a run that was cut short.

        Raises:
            ValueError: If the run's recommendations were not logged.
        """
        if self.parameters is None or RECOMMENDATION not in self.parameters.values:
            raise ValueError(f"run {self.key} has no recommendations; log them with Watch(recommendations=True)")
        at = np.asarray(times, dtype=np.float64)
        logged = self.parameters.values[RECOMMENDATION]
        values = np.concatenate(([np.inf], np.where(np.isnan(logged), np.inf, logged)))
        recommended = values[np.searchsorted(self.parameters.evaluations, at, side="right")]
        return np.where(at > self.outcome.evaluations, np.nan, recommended) if self.outcome.cut_short else recommended


def lost(key: RunKey, reason: Reason, message: str, seconds: float = 0.0, identity: Instance | None = None) -> Run:
    """The record of a run that returned nothing, for reasons outside its optimizer.

    Its values are unknown at all times, and it enters no ranking.

    Args:
        key: The run's key.
        reason: `Reason.KILLED` or `Reason.TIMED_OUT`.
        message: A description of what happened, for users.
        seconds: Wall-clock seconds the run took, if known.
        identity: As in `Run`.

    Raises:
        ValueError: If the reason is another one: a run that ended by itself has a trajectory, even if an empty one.
    """
    if reason not in {Reason.KILLED, Reason.TIMED_OUT}:
        raise ValueError(f"reason is {reason.value!r}; a lost run was killed or timed out, any other has a trajectory")
    ended = Outcome(reason, evaluations=0, seconds=seconds, message=message)
    return Run(key, Trajectory.empty(ended), identity=identity)


def tried_again(run: Run, killed: Iterable[str]) -> Run:
    """The run with a message that lists earlier attempts, which were killed.

    Args:
        run: The run of the last attempt.
        killed: Messages of the earlier attempts, in order.
    """
    messages = [run.outcome.message, *(f"an earlier try was killed: {message}" for message in killed)]
    outcome = replace(run.outcome, message="; ".join(filter(None, messages)))
    return replace(run, trajectory=replace(run.trajectory, outcome=outcome)) if outcome != run.outcome else run


def without_samples(run: Run) -> Run:
    """The run without its evaluated points, of which there may be very many."""
    return run if run.samples is None else replace(run, samples=None)


def _same_points(points: FloatArray | None, others: FloatArray | None) -> bool:
    if points is None or others is None:
        return points is others
    return np.array_equal(points, others, equal_nan=True)

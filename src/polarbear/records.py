"""The frozen values every room shares: which run, what it found, when, and how it ended.

A run is kept as its best-so-far trajectory: the improvements alone, each with the number of evaluations and
the seconds it took (*g** of Wurth et al. 2026, section 2). Values are always to be minimized; a maximization
problem enters with its sign flipped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Axis = Literal["evaluations", "seconds"]
"""What budgets are counted in: objective evaluations, or wall-clock seconds since the run began."""
AXES: tuple[Axis, ...] = get_args(Axis)


def check_axis(axis: str) -> Axis:
    """Return `axis` if it is one, else raise a ValueError that lists the axes."""
    if axis not in AXES:
        raise ValueError(f"axis is {axis!r}; budgets are counted in one of {', '.join(AXES)}")
    return axis


_INSTANCE = re.compile(r"(?P<suite>.+)-f(?P<function>.+)-i(?P<instance>[^-]+)-d(?P<dimension>\d+)")
_DIMENSION = re.compile(r"(?P<function>.+?)-d(?P<dimension>\d+)(?:-(?P<instance>.+))?")


@dataclass(frozen=True, slots=True, order=True)
class Instance:
    """What an instance's name tells, so that runs can be grouped by function and dimension.

    Attributes:
        suite: The suite, such as ``"bbob"``; empty if the name tells none.
        function: The function's number or name within the suite, such as ``"3"``.
        dimension: Number of variables; 0 if the name does not tell it.
        instance: Which instance of the function, such as ``"1"``; empty if the name tells none.
    """

    suite: str
    function: str
    dimension: int
    instance: str

    @property
    def name(self) -> str:
        """The instance's name in its standard form, such as ``"bbob-f3-i1-d5"``."""
        return f"{self.suite}-f{self.function}-i{self.instance}-d{self.dimension}"

    @classmethod
    def parse(cls, name: str) -> Instance:
        """Read a name such as ``"bbob-f3-i1-d5"`` or ``"ma-bbob-d5-s1-0"``; any other is a function of its own."""
        found = _INSTANCE.fullmatch(name) or _DIMENSION.fullmatch(name)
        if not found:
            return cls("", name, 0, "")
        told = found.groupdict(default="")
        return cls(told.get("suite", ""), told["function"], int(told["dimension"]), told["instance"])


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """Names one run for good: all its randomness derives from these three.

    Attributes:
        instance: The problem instance's name, such as ``"bbob-f3-i1-d5"``.
        algorithm: The algorithm's name within the study.
        seed: Which repetition; runs of different algorithms with equal instance and seed are ranked together.
    """

    instance: str
    algorithm: str
    seed: int

    def __str__(self) -> str:
        return f"{self.algorithm} on {self.instance} (seed {self.seed})"

    def generator(self, stream: str = "") -> np.random.Generator:
        """The run's own random generator, the same wherever and whenever the run is executed.

        Args:
            stream: Which of the run's generators: the optimizer's has no name; ``"noise"`` is the problem's.
        """
        return np.random.default_rng(np.random.SeedSequence(self.entropy(stream)))

    def entropy(self, stream: str = "") -> int:
        """What seeds one of the run's generators: 128 bits that follow from the key and the stream alone."""
        named = f"\0{stream}" if stream else ""
        digest = hashlib.sha256(f"{self.seed}\0{self.instance}\0{self.algorithm}{named}".encode()).digest()
        return int.from_bytes(digest[:16])


class Reason(StrEnum):
    """Why a run ended."""

    BUDGET = "budget"
    """It spent the evaluations or seconds it was given."""
    TARGET = "target"
    """It reached the target value."""
    STOPPED = "stopped"
    """The optimizer returned by itself."""
    FAILED = "failed"
    """The optimizer or the objective raised an exception."""
    TIMED_OUT = "timed out"
    """It was interrupted at the study's time limit for a run."""
    KILLED = "killed"
    """Its worker process died or had to be killed; what it had found is lost."""


CUT_SHORT = frozenset({Reason.BUDGET, Reason.TIMED_OUT, Reason.KILLED})
"""Reasons that come from outside the optimizer: what it would have found later is unknown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a run ended, and why.

    Attributes:
        reason: Why it ended.
        evaluations: Evaluations spent when it ended.
        seconds: Wall-clock seconds since its start when it ended.
        message: For people; the exception's text when the run failed.
        traceback: The exception's traceback when the run failed.
        invalid_evaluations: How many evaluations returned NaN; they counted as the worst value, +inf.
    """

    reason: Reason
    evaluations: int
    seconds: float
    message: str = ""
    traceback: str = ""
    invalid_evaluations: int = 0

    @property
    def cut_short(self) -> bool:
        """Whether the run was cut from outside, so that nothing is known of later times."""
        return self.reason in CUT_SHORT

    @property
    def ok(self) -> bool:
        """Whether the run went as planned: it spent its budget, hit the target or returned by itself."""
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
        evaluations = _frozen(self.evaluations, np.int64, "evaluations")
        seconds = _frozen(self.seconds, np.float64, "seconds")
        values = _frozen(self.values, np.float64, "values")
        if not evaluations.size == seconds.size == values.size:
            raise ValueError(
                f"evaluations, seconds and values hold {evaluations.size}, {seconds.size} and {values.size} "
                "entries; they need one entry for each improvement"
            )
        _require(evaluations[:1] >= 1, "evaluations", "starts below 1")
        _require(evaluations[1:] > evaluations[:-1], "evaluations", "does not increase strictly")
        _require(seconds[:1] >= 0, "seconds", "starts below 0")
        _require(seconds[1:] >= seconds[:-1], "seconds", "decreases")
        _require(~np.isnan(values), "values", "is not a number")
        _require(values[1:] < values[:-1], "values", "does not decrease strictly")
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
        """The trajectories of many runs, checked all at once, which takes a fraction of the time.

        Args:
            evaluations: The entries of all runs, one run after the other; so are `seconds` and `values`.
            seconds: As for one trajectory.
            values: As for one trajectory.
            sizes: (runs,) how many entries each run has.
            outcomes: (runs,) how each ended.

        Returns:
            One trajectory for each run; their arrays are views of those given, which are made read-only.

        Raises:
            ValueError: If one of them breaks the rules of a trajectory; the message names the array and the entry.
        """
        arrays = [np.ascontiguousarray(array) for array in (evaluations, seconds, values)]
        for array in arrays:
            array.flags.writeable = False
        ends = np.cumsum(sizes)
        cuts = [slice(start, end) for start, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True)]
        parts = [[array[cut] for cut in cuts] for array in arrays]
        if not _sound(arrays, sizes, ends, outcomes):
            return [cls(*each) for each in zip(*parts, outcomes, strict=True)]  # which tells what is wrong
        made: list[Trajectory] = [object.__new__(cls) for _ in outcomes]
        for name, column in zip(cls.__slots__, (*parts, outcomes), strict=True):
            put = cls.__dict__[name].__set__  # past the guard of a frozen class
            for one, value in zip(made, column, strict=True):
                put(one, value)
        return made

    @classmethod
    def empty(cls, outcome: Outcome) -> Trajectory:
        """The trajectory of a run that found nothing."""
        none = np.empty(0)
        return cls(none.astype(np.int64), none, none, outcome)

    @property
    def best(self) -> float:
        """The best value the run found, +inf if it found none."""
        return float(self.values[-1]) if self.values.size else float("inf")

    def along(self, axis: Axis) -> NDArray[np.float64] | IntArray:
        """When each improvement came, (k,), in evaluations or seconds."""
        return self.evaluations if check_axis(axis) == "evaluations" else self.seconds

    def value_at(self, times: ArrayLike, axis: Axis = "evaluations") -> FloatArray:
        """The best value found by each time.

        Args:
            times: Any shape; evaluations or seconds since the run's start.
            axis: What `times` are counted in.

        Returns:
            Same shape as `times`: +inf before the first improvement; the best-so-far value afterwards,
            carried on for ever if the run ended by itself; NaN past the end of a run that was cut short.
        """
        at = np.asarray(times, dtype=np.float64)
        found = np.searchsorted(self.along(axis), at, side="right")
        values = np.concatenate(([np.inf], self.values))[found]
        if self.outcome.cut_short:
            end = self.outcome.evaluations if axis == "evaluations" else self.outcome.seconds
            values = np.where(at > end, np.nan, values)
        return values


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """What an optimizer logged about itself while it ran, such as its step size.

    Attributes:
        evaluations: (m,) int64, strictly increasing: the evaluation at which each row was logged, from 1.
        values: For each parameter's name its (m,) float64 values; NaN where it was not logged.

    Raises:
        ValueError: If the arrays break these rules; the message names the array.
    """

    evaluations: IntArray
    values: Mapping[str, FloatArray]

    def __post_init__(self) -> None:
        evaluations = _frozen(self.evaluations, np.int64, "evaluations")
        _require(evaluations[:1] >= 1, "evaluations", "starts below 1")
        _require(evaluations[1:] > evaluations[:-1], "evaluations", "does not increase strictly")
        values = {name: _frozen(column, np.float64, name) for name, column in self.values.items()}
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


@dataclass(frozen=True, slots=True)
class Run:
    """One finished run.

    Attributes:
        key: Which run.
        trajectory: What it found, when, and how it ended.
        target: The objective value at which the run counts as solved, or None. Values at or below it tie.
        optimum: The lowest value there is, if it is known. What lies above it is the precision.
        parameters: What the optimizer logged about itself, if anything.
    """

    key: RunKey
    trajectory: Trajectory
    target: float | None = None
    optimum: float | None = None
    parameters: Parameters | None = None

    @property
    def outcome(self) -> Outcome:
        """Where and why the run ended."""
        return self.trajectory.outcome


_SAME = 1e-9
"""Targets that differ by less of their size are the same: published tables print 16 digits of 10^(k/5)."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The expected runtimes of a reference algorithm on one function in one dimension.

    A portfolio such as best-2009 takes for each target the algorithm with the smallest expected runtime; it is
    artificial, since the choice is made with the data at hand.

    Attributes:
        targets: (k,) target precisions, or values of COCO's indicator of two objectives; strictly decreasing.
        ert: (k,) expected runtimes, inf where no algorithm reached the target.
        algorithms: (k,) whose data they are; empty where that is not known or the target was not reached.
        successes: (k,) number of successful runs behind each; 0 where it is not known.
        runs: (k,) number of runs behind each; 0 where it is not known.
        name: The reference algorithm, such as ``"best2009-bbob"``; empty if it has no name.
        suite: The suite; empty if not known.

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
            raise ValueError("the targets of a reference have to decrease strictly; sort them, easiest first")

    def rows(self, targets: ArrayLike) -> IntArray:
        """For each target the row of the easiest recorded one that is at least as difficult; -1 where there is none."""
        wanted = np.asarray(targets, dtype=np.float64)
        found = np.searchsorted(-self.targets, -(wanted + _SAME * np.abs(wanted)))
        return np.where(found < len(self.targets), found, -1)

    def at(self, targets: ArrayLike) -> FloatArray:
        """The expected runtime to each target, inf beyond the most difficult recorded one."""
        return np.append(self.ert, np.inf)[self.rows(targets)]


def lost(key: RunKey, reason: Reason, message: str, seconds: float = 0.0) -> Run:
    """The record of a run of which nothing came back, through no doing of its optimizer.

    It is unknown at all times and enters no ranking.

    Args:
        key: Which run.
        reason: `Reason.KILLED` or `Reason.TIMED_OUT`.
        message: What happened, for people.
        seconds: Wall-clock seconds it took, if known.

    Raises:
        ValueError: For other reasons: a run that ended by itself has a trajectory, if an empty one.
    """
    if reason not in {Reason.KILLED, Reason.TIMED_OUT}:
        raise ValueError(f"a run that ended because of {reason.value!r} is not lost; give its trajectory")
    return Run(key, Trajectory.empty(Outcome(reason, evaluations=0, seconds=seconds, message=message)))


def tried_again(run: Run, killed: Iterable[str]) -> Run:
    """A run whose message tells of the tries before it, which were killed.

    Args:
        run: What the last try gave.
        killed: The messages of those before, in order.
    """
    messages = [run.outcome.message, *(f"an earlier try was killed: {message}" for message in killed)]
    outcome = replace(run.outcome, message="; ".join(filter(None, messages)))
    return replace(run, trajectory=replace(run.trajectory, outcome=outcome)) if outcome != run.outcome else run


def log_times(first: float, last: float, count: int, axis: Axis = "evaluations") -> FloatArray:
    """Timepoints spaced evenly on a log scale, from `first` to `last` inclusive.

    Evaluations are rounded to whole numbers and repeated ones dropped, so fewer than `count` may remain.

    Returns:
        (at most count,) float64, strictly increasing.

    Raises:
        ValueError: If not 0 < first < last, or count < 2.
    """
    if not 0 < first < last < np.inf:
        raise ValueError(f"log_times needs 0 < first < last, got first={first!r} and last={last!r}")
    return _times(np.geomspace, first, last, count, axis)


def linear_times(first: float, last: float, count: int, axis: Axis = "evaluations") -> FloatArray:
    """Timepoints spaced evenly from `first` to `last` inclusive; otherwise as `log_times`."""
    if not 0 <= first < last < np.inf:
        raise ValueError(f"linear_times needs 0 <= first < last, got first={first!r} and last={last!r}")
    return _times(np.linspace, first, last, count, axis)


def _times(space: Any, first: float, last: float, count: int, axis: Axis) -> FloatArray:
    if count < 2:
        raise ValueError(f"count is {count!r}; at least 2 timepoints are needed to span first to last")
    times = np.asarray(space(first, last, count), dtype=np.float64)
    return np.unique(np.rint(times)) if check_axis(axis) == "evaluations" else times


def _sound(arrays: Sequence[NDArray[Any]], sizes: IntArray, ends: IntArray, outcomes: Sequence[Outcome]) -> bool:
    """Whether trajectories that lie one after the other keep to the rules."""
    evaluations, seconds, values = arrays
    if [array.dtype for array in arrays] != [np.int64, np.float64, np.float64]:
        return False
    if not len(evaluations) == len(seconds) == len(values) == sizes.sum():
        return False
    begins = np.zeros(len(values) + 1, dtype=bool)
    begins[ends - sizes] = True  # an empty run marks where the next one begins, or the end
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


def _frozen(array: ArrayLike, dtype: type[np.generic], name: str) -> NDArray[Any]:
    frozen = np.array(array, dtype=dtype)
    if frozen.ndim != 1:
        raise ValueError(f"{name} has shape {frozen.shape}; a trajectory holds 1-D arrays")
    frozen.flags.writeable = False
    return frozen


def _require(holds: NDArray[np.bool_], name: str, complaint: str) -> None:
    if np.count_nonzero(holds) < holds.size:  # much faster than `all` for a few
        raise ValueError(f"{name} {complaint} near entry {int(np.argmin(holds))}")

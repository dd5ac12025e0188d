"""What the optimizer observes of a problem, where it differs from the value by which the run is judged.

All values are minimized: a maximization problem enters with flipped signs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polarbear.problems.evaluation import unmasked
from polarbear.protocols import traits_of
from polarbear.records import FloatArray

if TYPE_CHECKING:
    from polarbear.problems import Problem, Trial

OBJECTIVE = "the objective"
"""The name of a user's function in messages."""


def is_plain(problem: Problem) -> bool:
    """Whether the optimizer observes the value by which the run is judged, a single number."""
    return traits_of(problem).objectives == 1 and _own_trial(problem) is None


def trial_of(problem: Problem, noise: np.random.Generator | None) -> Trial:
    """A run's view of a problem, minimized.

    A problem with several objectives is judged by the indicator I_HV+ of all points so far, between its attributes
    `ideal` and `nadir`, (k,) each. Any other problem is judged by its own trial, or by its value.

    Args:
        problem: The problem.
        noise: The random generator of the trial.

    Raises:
        AttributeError: If a problem with several objectives has no `ideal` or `nadir`.
        TypeError: If a problem has constraints and its trial has none.
        ValueError: If there is a trial but no `noise` for it; or if a problem with several objectives has a trial, for
            which it is undefined how to judge it.
    """
    several = traits_of(problem).objectives > 1
    start = _own_trial(problem)
    if start is None and traits_of(problem).constraints:
        raise TypeError(
            f"{problem.name} has constraints, but no method `trial`; add one whose trials have a method `constraints`"
        )
    if start is None:
        return Indicated(problem) if several else _Same(problem)
    if several:
        raise ValueError(
            f"{problem.name} has several objectives and a method `trial`; a run can be judged by only one of them"
        )
    if noise is None:
        raise ValueError(
            f"{problem.name} has a method `trial`, which needs random numbers; give the recorder "
            "noise=key.generator('noise')"
        )
    trial = start(noise) if problem.minimize else _Negated(start(noise))
    return Constrained(trial, problem) if traits_of(problem).constraints else trial


def judge(problem: Problem) -> Callable[[Any], float]:
    """A function that returns the minimized, noise-free value by which a recommended point is judged.

    It accepts a (d,) point, or with several objectives also (m, d) points, and raises a ValueError for anything else.
    It evaluates `problem`: if that counts or remembers evaluations, pass a copy.
    """
    several = traits_of(problem).objectives > 1
    trial = None if several else trial_of(problem, np.random.default_rng(0))

    def value(x: Any) -> float:
        points = np.array(x, dtype=np.float64)
        if points.shape != (problem.dimension,) and not (several and points.shape[1:] == (problem.dimension,)):
            wanted = f"({problem.dimension},)" + f" or (m, {problem.dimension})" * several
            raise ValueError(f"the recommended point has shape {points.shape}; give {wanted}")
        if not np.isfinite(points).all():
            raise ValueError(f"the recommended point is not finite: {points.tolist()}")
        if trial is not None:
            return float(trial(points)[1])
        indicated = Indicated(problem)
        return min((indicated(point)[1] for point in np.atleast_2d(points)), default=float("nan"))

    return value


def _own_trial(problem: Any) -> Callable[[np.random.Generator], Trial] | None:
    start: Any = getattr(problem, "trial", None)
    return cast("Callable[[np.random.Generator], Trial]", start) if callable(start) else None


def negated(raw: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`raw` with its sign flipped; a result that cannot be negated is passed on for the caller to refuse."""

    def negated(x: Any) -> Any:
        value = raw(x)
        try:
            return -value
        except TypeError:
            return value

    return negated


_negative = negated(lambda value: value)


class Indicated:
    """A problem with several objectives: the optimizer observes all of them, and I_HV+ of the points judges the run.

    Points with a non-finite objective value are not added to the archive.
    """

    def __init__(self, problem: Any) -> None:
        from polarbear.assess import HypervolumeIndicator

        self._problem, self._objectives = problem, traits_of(problem).objectives
        self._sign = 1.0 if problem.minimize else -1.0
        ends = [self._sign * np.asarray(getattr(problem, name), dtype=np.float64) for name in ("ideal", "nadir")]
        self._indicator = HypervolumeIndicator(*ends)

    def __call__(self, x: FloatArray) -> tuple[FloatArray, float]:
        """Evaluate a point (d,): its objectives (k,), and the indicator including it."""
        objectives = self._checked(self._problem.raw(x), (self._objectives,))
        return objectives, self._add(x, objectives)

    def batch(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Evaluate points (m, d): their objectives (m, k), and the indicator after each (m,)."""
        objectives = self._checked(self._problem(points), (len(points), self._objectives))
        return objectives, np.array(list(map(self._add, points, objectives)), dtype=np.float64)

    @property
    def solution(self) -> FloatArray | None:
        """(k, d) the nondominated points, sorted by their objectives; None if there are none."""
        return np.array(self._indicator.kept) if self._indicator.kept else None

    def _checked(self, result: Any, shape: tuple[int, ...]) -> FloatArray:
        array: np.ndarray[Any, Any] = np.asarray(unmasked(result, OBJECTIVE))
        if array.shape != shape or array.dtype.kind not in "fiub":
            raise TypeError(
                f"the objective returned {type(result).__name__} of shape {array.shape} and type {array.dtype}; it has "
                f"to return real numbers of shape {shape}"
            )
        return self._sign * array.astype(np.float64)

    def _add(self, x: FloatArray, objectives: FloatArray) -> float:
        if np.isfinite(objectives).all():
            return self._indicator.add(objectives, np.array(x, dtype=np.float64))
        return self._indicator.value


class Constrained:
    """A trial that remembers the points evaluated last, whose constraints cost no evaluation."""

    def __init__(self, trial: Trial, problem: Problem) -> None:
        self._trial, self._name, self._count = trial, problem.name, traits_of(problem).constraints
        self._constraints: Any = getattr(trial, "constraints", None)
        self._known: FloatArray = np.empty((0, problem.dimension))
        if not callable(self._constraints):
            raise TypeError(f"{self._name} has {self._count} constraints, but its trial has no method `constraints`")

    def __call__(self, x: FloatArray) -> tuple[Any, float]:
        """Evaluate a (d,) point as the trial does."""
        answer = self._trial(x)
        self.remember(x)
        return answer

    def batch(self, points: FloatArray) -> tuple[Any, FloatArray]:
        """Evaluate (m, d) points as the trial does."""
        answers = self._trial.batch(points)
        self.remember(points)
        return answers

    def constraints(self, x: FloatArray) -> FloatArray:
        """The (c,) constraints of a (d,) point, NaN as +inf; TypeError for another shape."""
        values = np.array(unmasked(self._constraints(x), "the constraints"), dtype=np.float64)
        if values.shape != (self._count,):
            raise TypeError(
                f"the constraints returned shape {values.shape}; {self._name} has {self._count} constraints"
            )
        values[np.isnan(values)] = np.inf
        return values

    def remember(self, points: FloatArray) -> None:
        """Remember a copy of the (d,) or (m, d) points evaluated last."""
        self._known = np.array(points, dtype=np.float64, ndmin=2)

    def knows(self, x: FloatArray) -> bool:
        """Whether a point (d,) is among those evaluated last."""
        return bool((self._known == x).all(axis=1).any())


class _Same:
    """A trial in which the optimizer observes the value by which the run is judged."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._minimize = problem, problem.minimize
        self._raw = problem.raw if problem.minimize else negated(problem.raw)

    def __call__(self, x: FloatArray) -> tuple[Any, Any]:
        value = self._raw(x)
        return value, value

    def batch(self, points: FloatArray) -> tuple[Any, Any]:
        values = np.asarray(unmasked(self._problem(points), OBJECTIVE), dtype=np.float64)
        values = values if self._minimize else -values
        return values, values


class _Negated:
    """A trial of a maximization problem, with flipped signs."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        if hasattr(trial, "constraints"):
            self.constraints: Any = getattr(trial, "constraints")  # noqa: B009 - trials without constraints lack it

    def __call__(self, x: FloatArray) -> tuple[Any, Any]:
        observed, value = self._trial(x)
        return _negative(observed), _negative(value)

    def batch(self, points: FloatArray) -> tuple[Any, Any]:
        observed, values = self._trial.batch(points)
        return -np.asarray(unmasked(observed, OBJECTIVE)), -np.asarray(unmasked(values, OBJECTIVE))

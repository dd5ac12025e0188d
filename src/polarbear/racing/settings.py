"""The settings of a race, and checks of its algorithms and timepoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import FieldError, checked_name
from polarbear.inference import Model, Posterior, Wins, models
from polarbear.rankings.rankings import best_so_far
from polarbear.records import Axis, FloatArray, Run
from polarbear.validation import Natural, Positive, real, settings, whole

Elimination = Literal["pointwise", "joint"]
Resolution = Literal["strict", "crossing"]
Compared = Literal["ratings", "wins"]
JudgedBy = Literal["best", "recommendation"]
Batches = Literal["doubling", "forecast"]
_LAMBDA = "<lambda>"


@settings
class RaceSettings:
    """The settings of a race, apart from its algorithms, timepoints and model, and their defaults.

    Attributes:
        alpha: Decision threshold α in (0.5, 1]: the posterior probability at which a relation is decided.
        epsilon: Half-width ε in [0, 0.5): win probabilities within 0.5 ± ε count as equivalent.
        elimination: "pointwise" (eq. 27) or "joint" (eq. 28; by ratings it needs a model with a joint posterior over
            time).
        resolution: "strict" (eq. 30) or "crossing" (eq. 31: enough for membership of the Pareto set).
        relations: The basis of comparison: "ratings", or "wins", the share of instances on which one algorithm beats
            another, without a model of the rankings.
        axis: The unit of the timepoints, "evaluations" or "seconds".
        judged_by: The value of a run at a timepoint: the "best" among the points it has evaluated, or that of the point
            it would return then, its "recommendation". The latter is fair under noise, where the best of many points is
            known only in hindsight. Both values are noiseless.
        batches: The number of instances in the next round. "doubling": twice as many if no pair was resolved, half as
            many if more than a fifth were (section 4.3). "forecast": a quarter of those needed until a pair is resolved
            or needs shorter runs.
        batch: Number of instances in the first round.
        smallest_batch: Lower limit of the adaptive batch size.
        largest_batch: Upper limit of the adaptive batch size.
        draws: Number of posterior draws, at least 100.
        precision: Values that agree after rounding to multiples of this tie; None if only equal values tie.
        seed: Non-negative seed from which all randomness of the race derives.

    Raises:
        FieldError: If a choice is invalid, a number is out of range, or the batch sizes are not in order.
    """

    alpha: Annotated[float, real(gt=0.5, le=1)] = 0.99
    epsilon: Annotated[float, real(ge=0, lt=0.5)] = 0.05
    elimination: Elimination = "pointwise"
    resolution: Resolution = "strict"
    relations: Compared = "ratings"
    axis: Axis = "evaluations"
    judged_by: JudgedBy = "best"
    batches: Batches = "doubling"
    batch: Positive = 8
    smallest_batch: Positive = 8
    largest_batch: Positive = 128
    draws: Annotated[int, whole(100)] = 4000
    precision: Annotated[float, real(gt=0)] | None = None
    seed: Natural = 0

    def __post_init__(self) -> None:
        if not self.smallest_batch <= self.batch <= self.largest_batch:
            at_fault = "smallest_batch" if self.batch < self.smallest_batch else "largest_batch"
            message = f"smallest_batch is {self.smallest_batch}, batch {self.batch}, largest_batch {self.largest_batch}"
            raise FieldError((at_fault,), f"{message}; they must satisfy smallest_batch <= batch <= largest_batch")
        if self.judged_by == "recommendation" and self.axis == "seconds":
            message = 'judged_by is "recommendation", which is logged by evaluations; use axis = "evaluations"'
            raise FieldError(("judged_by",), message)

    def describe(self) -> dict[str, Any]:
        """The settings as plain values; `judged_by` only if it is not "best", since old races do not have it."""
        described = asdict(self)
        if self.judged_by == "best":
            del described["judged_by"]
        return described

    def values_of(self, run: Run, times: FloatArray) -> FloatArray:
        """(T,) the value by which a run is judged at each time."""
        if self.judged_by == "recommendation":
            return run.recommended_at(times)
        return best_so_far(run, times, self.axis)

    def timepoints(self, times: ArrayLike) -> FloatArray:
        """(T,) checked timepoints, read-only.

        Raises:
            FieldError: If they are not positive, finite and strictly increasing, or not whole numbers of evaluations.
        """
        checked = np.array(times, dtype=np.float64)
        if checked.ndim != 1 or checked.size == 0:
            raise FieldError(("times",), f"times has shape {checked.shape}; give a list of timepoints")
        if not (np.isfinite(checked).all() and checked[0] > 0 and (np.diff(checked) > 0).all()):
            raise FieldError(("times",), "times must be positive, finite and strictly increasing")
        if self.axis == "evaluations" and (checked != np.rint(checked)).any():
            mend = "polarbear.log_times and polarbear.linear_times return such times"
            raise FieldError(("times",), f"times must be whole numbers of evaluations; {mend}")
        checked.flags.writeable = False
        return checked

    def check_model(self, model: Model) -> None:
        """Raise a FieldError if elimination needs a joint posterior over time that the model does not have."""
        if self.elimination == "joint" and self.relations == "ratings" and not model.joint:
            joint = ", ".join(name for name, kind in models().items() if kind.joint)
            message = f'elimination="joint" needs a joint posterior over time, which {model.name} does not have'
            raise FieldError(("elimination",), f'{message}; choose {joint}, or use elimination="pointwise"')

    def compared(self, posterior: Posterior) -> Posterior | Wins:
        """The part of the posterior that relations refer to: the ratings, or who beats whom."""
        return posterior if self.relations == "ratings" else posterior.known_wins


class CannotWithdraw(ValueError):  # noqa: N818 - says what is the case
    """No algorithm has the name, or the race would be left without candidates."""


def by_name(algorithms: Mapping[str, object] | Sequence[object]) -> dict[str, object]:
    """The algorithms by name; the second anonymous function, a lambda, is called ``"<lambda> 2"``.

    Raises:
        TypeError: If an algorithm has no name, a name is not text, or `algorithms` is itself text.
        ValueError: If two have the same name, or a name is blank or has more than one line.
    """
    if isinstance(algorithms, str):
        raise TypeError(f"algorithms is the string {algorithms!r}; give a list of names, or a mapping from names")
    if isinstance(algorithms, Mapping):
        return {checked_name(name, "the name of an algorithm"): algorithm for name, algorithm in algorithms.items()}
    named: dict[str, object] = {}
    for position, algorithm in enumerate(algorithms):
        own = algorithm, getattr(algorithm, "name", None), getattr(algorithm, "__name__", None)
        name = next((name for name in own if isinstance(name, str) and name), algorithm)
        if not isinstance(name, str):
            raise TypeError(
                f"algorithm {position} ({algorithm!r}) has no name; give a mapping from names to algorithms"
            )
        if name == _LAMBDA and name in named:
            name = next(
                f"{_LAMBDA} {number}" for number in range(2, position + 2) if f"{_LAMBDA} {number}" not in named
            )
        if name in named:
            raise ValueError(f"two algorithms are named {name!r}; give names that differ")
        named[checked_name(name, "the name of an algorithm")] = algorithm
    return named

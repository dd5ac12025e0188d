"""The choices that make a race, and the form that algorithms and timepoints take."""

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
        epsilon: ε in [0, 0.5): win probabilities within 0.5 ± ε count as equivalent.
        elimination: "pointwise" (eq. 27) or "joint" (eq. 28; by ratings it needs a model with a joint posterior over
            time).
        resolution: "strict" (eq. 30) or "crossing" (eq. 31: enough for membership of the Pareto set).
        relations: What algorithms are compared by: "ratings", or "wins", the share of instances on which one beats the
            other, with no model in between.
        axis: What timepoints are counted in, "evaluations" or "seconds".
        judged_by: What counts of a run at a timepoint: the "best" value among the points it has evaluated, or the value
            of the point it would return then, its "recommendation", as is fair under noise: the best of many points
            is known to hindsight only. Both are without noise.
        batches: How many instances the next round has: "doubling", twice as many when no pair was resolved, half as
            many when more than a fifth were (section 4.3), or by "forecast" a quarter of those it would take until
            a pair is resolved or needs shorter runs.
        batch: Instances in the first round.
        smallest_batch: Lower limit of the adaptive batch size.
        largest_batch: Upper limit of the adaptive batch size.
        draws: Posterior draws, at least 100.
        precision: Values that agree after rounding to multiples of this tie; None: only equal values tie.
        seed: Non-negative; all randomness of the race derives from it.

    Raises:
        FieldError: If a choice is none of these, a number is out of its range, or the batch sizes are not in order.
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
            raise FieldError((at_fault,), f"{message}; they need smallest_batch <= batch <= largest_batch")
        if self.judged_by == "recommendation" and self.axis == "seconds":
            message = 'judged_by is "recommendation", which is logged by evaluations; use axis = "evaluations"'
            raise FieldError(("judged_by",), message)

    def describe(self) -> dict[str, Any]:
        """The settings as plain values; `judged_by` only where it is not the best, as races of old do not have it."""
        described = asdict(self)
        if self.judged_by == "best":
            del described["judged_by"]
        return described

    def values_of(self, run: Run, times: FloatArray) -> FloatArray:
        """(T,) what counts of a run at each time."""
        if self.judged_by == "recommendation":
            return run.recommended_at(times)
        return best_so_far(run, times, self.axis)

    def timepoints(self, times: ArrayLike) -> FloatArray:
        """(T,) the timepoints, read-only; ValueError if they are not positive, finite and strictly increasing."""
        checked = np.array(times, dtype=np.float64)
        if checked.ndim != 1 or checked.size == 0:
            raise FieldError(("times",), f"times has shape {checked.shape}; give a list of timepoints")
        if not (np.isfinite(checked).all() and checked[0] > 0 and (np.diff(checked) > 0).all()):
            raise FieldError(("times",), "times must be positive, finite and strictly increasing")
        if self.axis == "evaluations" and (checked != np.rint(checked)).any():
            mend = "polarbear.log_times and polarbear.linear_times give such"
            raise FieldError(("times",), f"times must be whole numbers of evaluations; {mend}")
        checked.flags.writeable = False
        return checked

    def check_model(self, model: Model) -> None:
        """ValueError if elimination needs a joint posterior over time, which the model does not have."""
        if self.elimination == "joint" and self.relations == "ratings" and not model.joint:
            joint = ", ".join(name for name, kind in models().items() if kind.joint)
            message = f'elimination="joint" needs a joint posterior over time, which {model.name} does not have'
            raise FieldError(("elimination",), f'{message}; choose {joint}, or use elimination="pointwise"')

    def compared(self, posterior: Posterior) -> Posterior | Wins:
        """What relations are statements about: the ratings, or who beat whom."""
        return posterior if self.relations == "ratings" else posterior.known_wins


class CannotWithdraw(ValueError):  # noqa: N818 - says what is the case
    """No algorithm has the name, or the race would be left without any."""


def by_name(algorithms: Mapping[str, object] | Sequence[object]) -> dict[str, object]:
    """The algorithms by name; the second function without a name, a lambda, is ``"<lambda> 2"``.

    Raises:
        TypeError: If one has no name, a name is no text, or a text is given for all of them.
        ValueError: If two have the same, or a name is blank or takes more than a line.
    """
    if isinstance(algorithms, str):
        raise TypeError(f"algorithms is the text {algorithms!r}; give a list of names, or a mapping from names")
    if isinstance(algorithms, Mapping):
        return {checked_name(name, "the name of an algorithm"): algorithm for name, algorithm in algorithms.items()}
    named: dict[str, object] = {}
    for position, algorithm in enumerate(algorithms):
        own = algorithm, getattr(algorithm, "name", None), getattr(algorithm, "__name__", None)
        name = next((name for name in own if isinstance(name, str) and name), algorithm)
        if not isinstance(name, str):
            raise TypeError(f"algorithm {position} ({algorithm!r}) has no name; give a mapping from names")
        if name == _LAMBDA and name in named:
            name = next(
                f"{_LAMBDA} {number}" for number in range(2, position + 2) if f"{_LAMBDA} {number}" not in named
            )
        if name in named:
            raise ValueError(f"two algorithms are named {name!r}; give names that differ")
        named[checked_name(name, "the name of an algorithm")] = algorithm
    return named

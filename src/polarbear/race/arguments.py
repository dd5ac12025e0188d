"""What a race is given: checked, and put into one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import checked_name
from polarbear.inference import Model, models
from polarbear.records import Axis, FloatArray


class CannotWithdraw(ValueError):  # noqa: N818 - says what is the case
    """No algorithm has the name, or the race would be left without any."""


def named(algorithms: Mapping[str, object] | Sequence[object]) -> dict[str, object]:
    """The algorithms by name.

    Raises:
        TypeError: If one has no name, or a name is no text.
        ValueError: If two have the same, or a name is blank or takes more than a line.
    """
    if isinstance(algorithms, Mapping):
        return {checked_name(name, "the name of an algorithm"): algorithm for name, algorithm in algorithms.items()}
    found: dict[str, object] = {}
    for position, algorithm in enumerate(algorithms):
        name = algorithm
        if not isinstance(name, str):
            name = getattr(algorithm, "name", None) or getattr(algorithm, "__name__", None)
        if not isinstance(name, str):
            raise TypeError(f"algorithm {position} ({algorithm!r}) has no name; give a mapping from names")
        if name in found:
            raise ValueError(f"two algorithms are named {name!r}; give names that differ")
        checked_name(name, "the name of an algorithm")
        found[name] = algorithm
    return found


def checked_times(times: ArrayLike, axis: Axis) -> FloatArray:
    """(T,) the timepoints, read-only; ValueError if they are not positive, finite and strictly increasing."""
    checked = np.array(times, dtype=np.float64)
    if checked.ndim != 1 or checked.size == 0:
        raise ValueError(f"times has shape {checked.shape}; give a list of timepoints")
    if not (np.isfinite(checked).all() and checked[0] > 0 and (np.diff(checked) > 0).all()):
        raise ValueError("times must be positive, finite and strictly increasing")
    if axis == "evaluations" and (checked != np.rint(checked)).any():
        raise ValueError(
            "times must be whole numbers of evaluations; polarbear.log_times and polarbear.linear_times give such"
        )
    checked.flags.writeable = False
    return checked


def check_joint(model: Model) -> None:
    """ValueError if the model has no joint posterior over time."""
    if model.joint:
        return
    joint = [name for name, kind in models().items() if kind.joint]
    who = f"choose {', '.join(joint)}" if joint else "none of the models here has one yet"
    raise ValueError(
        f'elimination="joint" needs a joint posterior over time, which {model.name} does not have; {who}, '
        'or use elimination="pointwise"'
    )

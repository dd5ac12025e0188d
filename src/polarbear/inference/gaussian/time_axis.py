"""The time axis of temporal models: linear or logarithmic, of unit length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from polarbear.records import FloatArray

_CLOSEST = 1e-13
"""Timepoints on an axis of unit length; its rounding is 1e-16."""

TimeScale = Literal["linear", "log"]


def check_time_scale(time_scale: str) -> None:
    """Raise a ValueError unless it is one of the time scales."""
    if time_scale not in get_args(TimeScale):
        raise ValueError(f"time_scale is {time_scale!r}; choose one of {', '.join(get_args(TimeScale))}")


@dataclass(frozen=True, slots=True)
class UnitAxis:
    """The axis on which the first of some timepoints is 0 and the last is 1.

    Attributes:
        first: The first timepoint, or its logarithm.
        span: How far it is to the last; 1 if there is only one.
        time_scale: "linear" or "log".
    """

    first: float
    span: float
    time_scale: TimeScale

    @classmethod
    def of(cls, times: FloatArray, time_scale: TimeScale) -> UnitAxis:
        """The axis of timepoints (T,), at least one.

        Raises:
            ValueError: If logarithms are asked of timepoints that are not all positive.
        """
        first, last = _scaled(times[[0, -1]], time_scale).tolist()
        return cls(first, last - first if last > first else 1.0, time_scale)

    def place(self, times: FloatArray) -> FloatArray:
        """Where times are on the axis, any of them.

        Raises:
            ValueError: If logarithms are asked of times that are not all positive.
        """
        return (_scaled(times, self.time_scale) - self.first) / self.span

    def time(self, place: float) -> float:
        """The time at some place of the axis."""
        time = self.first + place * self.span
        return float(np.exp(time)) if self.time_scale == "log" else time


def unit_times(times: FloatArray, time_scale: TimeScale) -> FloatArray:
    """Timepoints, or their logarithms, moved and scaled so that the first is 0 and the last is 1.

    Raises:
        ValueError: If logarithms are asked of timepoints that are not all positive, or two are so close to each other
            that paths between them cannot be told from rounding.
    """
    places = UnitAxis.of(times, time_scale).place(times)
    close = np.flatnonzero(np.diff(places) < _CLOSEST)
    if close.size:
        one, other = times[close[0] : close[0] + 2].tolist()
        raise ValueError(
            f"timepoints {one!r} and {other!r} are closer than {_CLOSEST:g} of the {time_scale} time axis; "
            "leave one out"
        )
    return places


def _scaled(times: FloatArray, time_scale: TimeScale) -> FloatArray:
    if time_scale == "linear":
        return times
    if not (times > 0).all():
        raise ValueError(
            f'time_scale="log" needs positive timepoints, the first is {times[0]:g}; use time_scale="linear"'
        )
    return np.log(times)

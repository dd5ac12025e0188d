"""The time axis of temporal models: linear or logarithmic, of unit length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from polarbear.records import FloatArray

_SMALLEST_GAP = 1e-13
"""Smallest gap between timepoints on the unit axis, where rounding errors are about 1e-16."""

TimeScale = Literal["linear", "log"]


@dataclass(frozen=True, slots=True)
class UnitAxis:
    """The axis on which the first of some timepoints is 0 and the last is 1.

    Attributes:
        first: The first timepoint, or its logarithm.
        span: The distance from the first to the last timepoint; 1 if there is only one.
        time_scale: "linear" or "log".
    """

    first: float
    span: float
    time_scale: TimeScale

    @classmethod
    def of(cls, times: FloatArray, time_scale: TimeScale) -> UnitAxis:
        """The axis of timepoints (T,), at least one.

        Raises:
            ValueError: If a logarithmic axis has timepoints that are not positive.
        """
        first, last = _scaled(times[[0, -1]], time_scale).tolist()
        return cls(first, last - first if last > first else 1.0, time_scale)

    def position(self, times: FloatArray) -> FloatArray:
        """Positions of times on the axis.

        Raises:
            ValueError: If the axis is logarithmic and a time is not positive.
        """
        return (_scaled(times, self.time_scale) - self.first) / self.span

    def time(self, position: float) -> float:
        """The time at a position on the axis."""
        time = self.first + position * self.span
        return float(np.exp(time)) if self.time_scale == "log" else time


def unit_times(times: FloatArray, time_scale: TimeScale) -> FloatArray:
    """Timepoints, or their logarithms, moved and scaled so that the first is 0 and the last is 1.

    Raises:
        ValueError: If a logarithmic axis has timepoints that are not positive, or two timepoints are too close for
            floating-point numbers.
    """
    positions = UnitAxis.of(times, time_scale).position(times)
    close = np.flatnonzero(np.diff(positions) < _SMALLEST_GAP)
    if close.size:
        first, second = times[close[0] : close[0] + 2].tolist()
        raise ValueError(
            f"timepoints {first!r} and {second!r} are closer than {_SMALLEST_GAP:g} of the length of the {time_scale} "
            "time axis; leave one out"
        )
    return positions


def _scaled(times: FloatArray, time_scale: TimeScale) -> FloatArray:
    if time_scale == "linear":
        return times
    if not (times > 0).all():
        raise ValueError(
            f'time_scale="log" needs positive timepoints, but the first is {times[0]:g}; use time_scale="linear"'
        )
    return np.log(times)

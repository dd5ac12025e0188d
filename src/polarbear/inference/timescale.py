"""The time axis of temporal models: linear or logarithmic, of unit length."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from polarbear.records import FloatArray

TimeScale = Literal["linear", "log"]


def check_time_scale(time_scale: str) -> None:
    """Raise a ValueError unless it is one of the time scales."""
    if time_scale not in get_args(TimeScale):
        raise ValueError(f"time_scale is {time_scale!r}; choose one of {', '.join(get_args(TimeScale))}")


def unit_times(times: FloatArray, time_scale: TimeScale) -> FloatArray:
    """Timepoints, or their logarithms, moved and scaled so that the first is 0 and the last is 1.

    Raises:
        ValueError: If logarithms are asked of timepoints that are not all positive.
    """
    if time_scale == "log":
        if not (times > 0).all():
            raise ValueError(
                f'time_scale="log" needs positive timepoints, the first is {times[0]:g}; use time_scale="linear"'
            )
        times = np.log(times)
    span = float(times[-1] - times[0])
    return (times - times[0]) / span if span > 0 else np.zeros(1)

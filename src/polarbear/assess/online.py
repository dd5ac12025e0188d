"""The area over the convergence curve of a run in progress, without storing the run.

López-Ibáñez et al. 2024, section II-D: by eq. 9 each evaluation adds the part above the best value so far to the area.
"""

from __future__ import annotations

import math

from polarbear.assess.step_functions import Bounds
from polarbear.validation import real_number


class OnlineAOCC:
    """The normalized AOCC of one run, updated with each improvement; no trajectory is stored.

    Args:
        times: Bounds of the times and their scale.
        values: Bounds of the values and their scale.
    """

    def __init__(self, *, times: Bounds, values: Bounds) -> None:
        self._times, self._values = times, values
        self._area, self._share, self._best, self._since = 0.0, 0.0, math.inf, times.low
        self._latest = -math.inf

    def add(self, time: float, value: float) -> None:
        """Add the value found at a time; only improvements count, and others may be left out.

        Raises:
            ValueError: If the time is earlier than the last one added, or a number is NaN.
        """
        if not time >= self._latest or math.isnan(value):
            raise ValueError(
                f"value is {value} at time {time}, after time {self._latest}; give times in order, and no NaN"
            )
        self._latest = time
        if value < self._best:
            self._area = self._until(time)
            self._since, self._best = time, value
            self._share = 1 - float(self._values.scaled(value))

    def area(self, until: float | None = None) -> float:
        """The normalized `aocc` up to the upper bound of the times if the run does not improve again.

        Args:
            until: Time up to which to take the area, still normalized by the whole box; by default the upper bound.

        Raises:
            ValueError: If `until` is earlier than the last time added.
        """
        end = self._times.high if until is None else real_number(until, "until", ge=self._latest)
        return self._until(end)

    def _until(self, time: float) -> float:
        width = float(self._times.scaled(time)) - float(self._times.scaled(self._since))
        return self._area + self._share * max(width, 0.0)

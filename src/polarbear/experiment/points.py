"""The points that a run keeps: the best one, and sampled ones if a `Watch` requests them."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from polarbear.experiment.logging_schedule import NEVER, Watch
from polarbear.records import FloatArray, Samples


class Points:
    """The best point of a run, and the sampled ones.

    An alarm may end the run between any two lines; points that are stored incompletely at that moment are ignored.

    Args:
        dimension: Number of variables.
        watch: Determines which evaluations are sampled, if they return a value; None for no sampling.

    Attributes:
        every: Evaluations whose number is a multiple of this are sampled; None for no sampling.
    """

    __slots__ = ("_best", "_dimension", "_numbers", "_points", "_values", "every")

    def __init__(self, dimension: int, watch: Watch | None) -> None:
        self._dimension = dimension
        self.every = None if watch is None or watch.points is None else int(watch.points)
        self._best: tuple[tuple[int, FloatArray], ...] = ()
        self._numbers, self._points, self._values = array("q"), array("d"), array("d")

    def improve(self, number: int, x: Any) -> None:
        """Keep a copy of the point that improves the recorded value; call it before the improvement is recorded."""
        self._best = (*self._best[-1:], (number, np.array(x, dtype=np.float64)))

    def best(self, number: int) -> FloatArray | None:
        """The point (d,) of the improvement that was recorded last, given its number; None if there is none."""
        return next((x for improvement, x in self._best if improvement == number), None)

    def next_after(self, number: int) -> int:
        """The next evaluation that is sampled; `sys.maxsize` if there is none."""
        return NEVER if self.every is None else (number // self.every + 1) * self.every

    def sample(self, number: int, x: Any, value: float) -> None:
        """Keep a copy of a point and its recorded value, if the number of its evaluation is due."""
        if self.every is not None and number % self.every == 0:
            self._points.frombytes(np.asarray(x, dtype=np.float64).tobytes())
            self._values.append(value)
            self._numbers.append(number)  # last, since it counts the complete entries

    @property
    def samples(self) -> Samples | None:
        """The sampled points; None if there are none."""
        count = len(self._numbers)
        if not count:
            return None
        points = np.frombuffer(self._points, count=count * self._dimension).reshape(count, self._dimension)
        return Samples(np.frombuffer(self._numbers, np.int64), points, np.frombuffer(self._values, count=count))

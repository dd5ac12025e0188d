"""The remaining time of a plan, estimated from the runs so far."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable

from polarbear.records import Outcome, Run, RunKey
from polarbear.study.costs import remaining_runs
from polarbear.study.plan import Plan

_FIRST_WORD = 1.0
"""Seconds before the first estimate."""


class TimeLeft:
    """Estimates the remaining time of a plan.

    Runs of one algorithm on problems of one dimension are assumed to take equally long on average. While none has
    finished, the whole budget counts, at the algorithm's seconds per evaluation in the nearest dimension.

    Args:
        plan: The plan.
        clock: A function that returns the time in seconds.
    """

    def __init__(self, plan: Plan, clock: Callable[[], float] = time.monotonic) -> None:
        self._plan = plan
        self._clock = clock
        self._dimension = {problem.name: d for problem, d in zip(plan.problems, plan.dimensions, strict=True)}
        self._left = remaining_runs(plan)
        self._runs: Counter[tuple[str, int]] = Counter()  # each by algorithm and dimension
        self._seconds: defaultdict[tuple[str, int], float] = defaultdict(float)
        self._evaluations: Counter[tuple[str, int]] = Counter()
        self._busy = 0.0
        self._began = self._last = clock()

    def known(self, key: RunKey, outcome: Outcome) -> None:
        """Count a run that existed before."""
        cell = key.algorithm, self._dimension[key.instance]
        self._runs[cell] += 1
        self._seconds[cell] += outcome.seconds
        self._evaluations[cell] += outcome.evaluations
        self._left[cell] -= 1

    def finished(self, run: Run) -> None:
        """Count a run that was executed now."""
        self.known(run.key, run.outcome)
        self._busy += run.outcome.seconds
        self._last = self._clock()

    def unheard(self) -> tuple[str, ...]:
        """Algorithms with remaining runs and no finished one; as long as there are any, nothing can be estimated."""
        heard = {name for name, _ in self._runs}
        return tuple(dict.fromkeys(name for (name, _), runs in self._left.items() if runs and name not in heard))

    def seconds(self) -> float | None:
        """Remaining wall-clock seconds; None while they cannot be estimated."""
        elapsed = self._last - self._began
        if self.unheard() or not self._busy or elapsed < _FIRST_WORD:
            return None
        work = sum(runs * self._each(cell) for cell, runs in self._left.items() if runs)
        return max(0.0, work * elapsed / self._busy - (self._clock() - self._last))

    def _each(self, cell: tuple[str, int]) -> float:
        """Seconds that a run takes in a worker."""
        if runs := self._runs[cell]:
            return self._seconds[cell] / runs
        algorithm, dimension = cell
        reach = self._plan.budget.at(dimension, self._plan.axis)
        if self._plan.axis == "seconds":
            return reach
        near = min((d for name, d in self._runs if name == algorithm), key=lambda d: abs(math.log(d / dimension)))
        return self._seconds[algorithm, near] / max(1, self._evaluations[algorithm, near]) * reach

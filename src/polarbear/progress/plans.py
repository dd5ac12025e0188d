"""Show the progress of a plan."""

from __future__ import annotations

from collections import Counter

from rich.progress import MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from polarbear.progress.bar import Bar
from polarbear.progress.console import Console
from polarbear.quantities import duration, plural
from polarbear.records import Outcome, Run, RunKey
from polarbear.study import Plan, PlanObserver, TimeLeft
from polarbear.study.summary import message_of

_SHOWN = 3
"""Number of failures of an algorithm that are printed as they happen; all are counted at the end."""


class PlanProgress(Bar, PlanObserver):
    """Shows runs, evaluations, failures, and the time left.

    On a terminal there is a live bar; elsewhere a line is written every half minute.
    """

    def __init__(self, console: Console) -> None:
        left = TextColumn("· {task.fields[left]}", markup=False)
        super().__init__(console, MofNCompleteColumn(), TextColumn("runs ·"), TimeElapsedColumn(), left)
        self._left: TimeLeft | None = None
        self._failures: Counter[str] = Counter()
        self._evaluations = self._done = self._total = 0

    def started(self, plan: Plan, there: int) -> None:
        """Print how much there is to do."""
        self._left, self._total, self._done = TimeLeft(plan), plan.size, there
        known = f", {there:,} of them already done" if there else ""
        self._console.print(
            f"{plural(plan.size, 'run')} of {plural(plan.algorithms, 'algorithm')} on "
            f"{plural(plan.problems, 'problem')}{known}"
        )
        self._task = self._bar.add_task("running", total=plan.size, completed=there, left=self._words())

    def run_known(self, key: RunKey, outcome: Outcome) -> None:
        """Use an earlier run to estimate the time left."""
        if self._left is not None:
            self._left.known(key, outcome)

    def run_finished(self, run: Run) -> None:
        """Advance the bar, and print failures."""
        self._done += 1
        self._evaluations += run.outcome.evaluations
        if self._left is not None:
            self._left.finished(run)
        if not run.outcome.ok:
            self._say_failure(run)
        spent = f"{self._evaluations:,} evaluations"
        if self._console.is_terminal and self._task is not None:
            self._bar.update(self._task, completed=self._done, description=spent, left=self._words())
        self._print_seldom(lambda: f"{self._done:,} of {plural(self._total, 'run')}, {spent} · {self._words()}")

    def _say_failure(self, run: Run) -> None:
        self._failures[run.key.algorithm] += 1
        if (count := self._failures[run.key.algorithm]) <= _SHOWN:
            more = "; further ones are counted" if count == _SHOWN else ""
            self._console.print(Text(f"{run.outcome.reason}: {run.key}: {message_of(run.outcome)}{more}", style="red"))

    def _words(self) -> str:
        """The time left in words, as far as it can be estimated."""
        if self._left is None:
            return ""
        if unheard := self._left.unheard():
            return f"time left unknown: no run of {unheard[0]} is in"
        seconds = self._left.seconds()
        return "time left not known yet" if seconds is None else f"about {duration(seconds)} left"

"""Show the progress of a configurator."""

from __future__ import annotations

import time
from pathlib import Path

from rich.progress import TimeElapsedColumn

from polarbear.configure import Configurator
from polarbear.progress.bar import Bar
from polarbear.progress.console import Console
from polarbear.quantities import amount, duration, plural
from polarbear.study import ConfigureObserver


class ConfigureProgress(Bar, ConfigureObserver):
    """Shows the share of the budget spent, the configurations tried, and the time left.

    A line is written for each iteration. On a terminal there is also a live bar, elsewhere a line every half minute.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console, TimeElapsedColumn())
        self._said = 0
        self._first: tuple[float, float] | None = None

    def asked(self, configurator: Configurator) -> None:
        """Print the iterations that are over."""
        for over in configurator.iterations[self._said :]:
            self._console.print(
                f"iteration {over.number}: {plural(len(over.entrants), 'configuration')}, left after "
                f"{plural(over.runs, 'run')}: {', '.join(over.elites)}"
            )
        self._said = len(configurator.iterations)

    def run_finished(self, configurator: Configurator) -> None:
        """Advance the bar."""
        now, budget = time.monotonic(), configurator.settings.budget
        if self._first is None:  # runs stored by a resumed study take no time
            self._first = (now, configurator.spent)
        began, before = self._first
        left = ""
        if configurator.spent > before:
            pace = (now - began) / (configurator.spent - before)
            left = f", about {duration(max(0.0, budget - configurator.spent) * pace)} left"
        unit = configurator.settings.unit
        said = (
            f"{amount(configurator.spent)} of {amount(budget)} {unit}, "
            f"{plural(len(configurator.configurations), 'configuration')}{left}"
        )
        if self._console.is_terminal:
            if self._task is None:
                self._task = self._bar.add_task(said, total=budget)
            self._bar.update(self._task, description=said, completed=configurator.spent)
        self._print_seldom(lambda: said)

    def validating(self, configurator: Configurator, path: Path) -> None:
        """Print that the search is over."""
        self.asked(configurator)
        self._console.print(f"racing them and the default on fresh instances: {path}")

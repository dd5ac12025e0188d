"""Show the progress of a race."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from polarbear.progress.console import Console
from polarbear.quantities import plural
from polarbear.racing import Race, Request, Round
from polarbear.records import Run
from polarbear.study import Observer


class LiveProgress(Observer):
    """Shows the round, runs, evaluations and seconds spent, resolved pairs and each algorithm's state.

    On a terminal the display is live; elsewhere one line is written per round.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TimeElapsedColumn(),
            TextColumn("·"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            expand=True,
        )
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._race: Race | None = None
        self._asked: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._until: dict[str, float] = {}
        self._evaluations = 0
        self._failures = 0
        self._began = time.monotonic()
        self.reason = ""
        """Why the race stopped; empty if every pair is resolved."""
        self.remarked = 0
        """Number of normally ended runs that have a message."""

    def __enter__(self) -> LiveProgress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, race: Race, *, resumed: bool) -> None:
        """Note the state of the race, and print it if the race is resumed."""
        self._race = race
        if race.rounds:
            self._evaluations, self._failures = race.rounds[-1].evaluations, race.rounds[-1].failures
        if resumed:
            known = plural(race.state.instances, "instance")
            self._console.print(f"resuming after round {len(race.rounds)} with {known}")

    def round_started(self, race: Race, requests: Sequence[Request]) -> None:
        """Start a new bar."""
        self._asked, self._done = Counter(request.key.algorithm for request in requests), Counter()
        self._until = {request.key.algorithm: request.until for request in requests}
        for task in self._bar.task_ids:
            self._bar.remove_task(task)
        self._bar.add_task(f"round {race.state.round + 1}", total=len(requests))
        self._refresh()

    def run_finished(self, run: Run) -> None:
        """Advance the bar, and print failures at once."""
        self._done[run.key.algorithm] += 1
        self._evaluations += run.outcome.evaluations
        if not run.outcome.ok:
            self._failures += 1
            self._console.print(Text(f"{run.outcome.reason}: {run.key}: {run.outcome.message}", style="red"))
        elif run.outcome.message:
            self.remarked += 1
        self._bar.advance(self._bar.task_ids[-1])
        self._refresh()

    def inferring(self) -> None:
        """Show that the pause between two rounds is inference."""
        self._bar.update(self._bar.task_ids[-1], description="inference")
        self._refresh()

    def round_finished(self, race: Race, round_: Round) -> None:
        """Print a line per round."""
        self._console.print(_line(race, round_), soft_wrap=True)
        self._refresh()

    def stopped(self, race: Race, reason: str) -> None:  # noqa: ARG002
        """Keep the reason for the final message."""
        self.reason = reason

    def say_stopped(self) -> None:
        """Print why the race stopped, if pairs are still open."""
        if self.reason:
            self._console.print(Text(f"stopped: {self.reason}"))

    def _refresh(self) -> None:
        if self._live is not None and self._race is not None:
            self._live.update(Group(self._table(self._race), self._totals(self._race), self._bar))

    def _totals(self, race: Race) -> Text:
        share = race.rounds[-1].resolved_share if race.rounds else 0.0
        failed = f" · {self._failures} failed" if self._failures else ""
        return Text(
            f"{self._evaluations:,} evaluations · {time.monotonic() - self._began:,.0f} s · "
            f"{share:.0%} of relations resolved{failed}"
        )

    def _table(self, race: Race) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        table.add_column("algorithm")
        table.add_column("state")
        table.add_column("strongest rival, P(it dominates)")
        table.add_column("runs", justify="right")
        table.add_column(f"up to ({race.settings.axis})", justify="right")
        last = race.rounds[-1] if race.state.instances else None
        for name in race.names:
            rival = last.dominance.get(name) if last else None
            table.add_row(
                Text(name),
                _state(race, name),
                Text(f"{rival.name}, {rival.probability:.3f}" if rival else "–"),
                f"{self._done[name]}/{self._asked[name]}" if self._asked[name] else "–",
                f"{self._until[name]:,g}" if name in self._until else "–",
            )
        return table


def _state(race: Race, name: str) -> Text:
    if name in race.state.withdrawn:
        return Text(next(this.way_out for this in race.rounds if name in this.withdrawn), style="dim")
    if name in race.state.eliminated:
        return Text(f"eliminated by {race.state.eliminated[name]}", style="dim")
    if race.rounds and name in race.rounds[-1].settled:
        return Text("settled in the Pareto set", style="green")
    return Text("racing", style="bold")


def _line(race: Race, round_: Round) -> Text:
    pairs = len(race.names) * (len(race.names) - 1) // 2
    line = Text(
        f"round {round_.number}: {plural(round_.instances, 'instance')}, {plural(round_.evaluations, 'evaluation')}, "
        f"{round_.resolved_pairs} of {plural(pairs, 'pair')} resolved"
    )
    if round_.overconfidence is not None:
        line.append(f"; as narrow as if there were {round_.overconfidence:.1f} times as many instances")
    for loser, winner in round_.eliminated.items():
        line.append(f"; {winner} eliminates {loser}", style="bold")
    if round_.withdrawn:
        line.append(f"; {', '.join(round_.withdrawn)} {round_.way_out}", style="bold")
    return line

"""What can be watched of a race or plan while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polarbear.racing import Race, Request, Round
from polarbear.records import Outcome, Run, RunKey

if TYPE_CHECKING:
    from polarbear.study.plan import Plan
    from polarbear.study.summary import PlanSummary


class Observer:
    """Is notified of everything that happens in a race; override the methods you need."""

    def started(self, race: Race, *, resumed: bool) -> None:
        """The study is open and the race stands where it was left."""

    def round_started(self, race: Race, requests: Sequence[Request]) -> None:
        """A round begins, or killed runs of earlier rounds are tried again; `requests` are the runs it waits for."""

    def run_finished(self, run: Run) -> None:
        """One of these runs is in."""

    def inferring(self) -> None:
        """All runs of the round are committed; the posterior is being computed."""

    def round_finished(self, race: Race, round_: Round) -> None:
        """The round is decided and committed."""

    def stopped(self, race: Race, reason: str) -> None:
        """The race is over, or stops here; the reason is empty if every pair is resolved."""


class PlanObserver:
    """Is notified of everything that happens while a plan runs; override the methods you need."""

    def started(self, plan: Plan, there: int) -> None:
        """The study is open; `there` of the plan's runs are in it already."""

    def run_known(self, key: RunKey, outcome: Outcome) -> None:
        """A run of the plan was in the study already; called for each before the first new one starts."""

    def run_finished(self, run: Run) -> None:
        """A run is in."""

    def stopped(self, summary: PlanSummary) -> None:
        """All runs are in, or time is up: `summary.stopped` says so."""

"""Observers of a race or plan while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polarbear.racing import Race, Request, Round
from polarbear.records import Outcome, Run, RunKey

if TYPE_CHECKING:
    from polarbear.study.plan import Plan
    from polarbear.study.summary import PlanSummary


class Observer:
    """An observer of everything that happens in a race; override the methods you need."""

    def started(self, race: Race, *, resumed: bool) -> None:
        """Called when the study is open and the race has been restored."""

    def round_started(self, race: Race, requests: Sequence[Request]) -> None:
        """Called when a round begins or killed runs are retried; `requests` are the runs that it waits for."""

    def run_finished(self, run: Run) -> None:
        """Called when one of these runs has finished."""

    def inferring(self) -> None:
        """Called when all runs of the round are committed and the posterior is being computed."""

    def round_finished(self, race: Race, round_: Round) -> None:
        """Called when the round is decided and committed."""

    def stopped(self, race: Race, reason: str) -> None:
        """Called when the race ends or stops; the reason is empty if every pair is resolved."""


class PlanObserver:
    """An observer of everything that happens while a plan runs; override the methods you need."""

    def started(self, plan: Plan, there: int) -> None:
        """Called when the study is open; `there` of the plan's runs are already in it."""

    def run_known(self, key: RunKey, outcome: Outcome) -> None:
        """Called for each run of the plan already in the study, before the first new one starts."""

    def run_finished(self, run: Run) -> None:
        """Called when a run has finished."""

    def stopped(self, summary: PlanSummary) -> None:
        """Called when all runs have finished or time is up, as `summary.stopped` says."""

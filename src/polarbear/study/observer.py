"""Who watches a study while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from polarbear.race import Race, Request, Round
from polarbear.records import Run


class Observer:
    """Told of everything that happens; does nothing. Override what you want to see."""

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

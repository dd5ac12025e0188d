"""Runs that failed, timed out or were killed: how many of which algorithm, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polarbear.assess.report.subject import Subject
from polarbear.records import Outcome

_LONGEST = 120
"""Characters of a message in a sentence."""


@dataclass(frozen=True, slots=True)
class FailedRuns:
    """The runs of an algorithm that did not go as planned.

    Attributes:
        algorithm: Whose runs.
        runs: How many runs were chosen, those left out among them.
        failed: How many of them failed, timed out or were killed.
        left_out: How many of these left nothing behind (killed or timed out before anything was recorded). They are
            left out; the others count as runs that stopped where they stopped.
        reason: The most common reason: failed, timed out or killed.
        message: The first message that came with it.
        alike: How many of them failed so: for this reason, with an exception of the same type or the same message.
    """

    algorithm: str
    runs: int
    failed: int
    left_out: int
    reason: str
    message: str
    alike: int

    def __str__(self) -> str:
        line = (self.message.strip().splitlines() or [""])[0]
        line = f"{line[:_LONGEST]}…" if len(line) > _LONGEST else line
        why = f"{self.reason}: {line}" if line else self.reason
        return f"{self.algorithm} {self.failed:,} of {self.runs:,} ({'most often ' * (self.alike < self.failed)}{why})"


def failed_runs(subject: Subject) -> tuple[FailedRuns, ...]:
    """What failed of each algorithm, most failures first; empty if all went as planned."""
    runs: Counter[str] = Counter()
    failed: dict[str, list[Outcome]] = {}
    for run in (*subject.runs, *subject.lost):
        runs[run.key.algorithm] += 1
        if not run.outcome.ok:
            failed.setdefault(run.key.algorithm, []).append(run.outcome)
    lost = Counter(run.key.algorithm for run in subject.lost)
    found = [_together(name, runs[name], ends, lost[name]) for name, ends in failed.items()]
    return tuple(sorted(found, key=lambda one: (-one.failed, one.algorithm)))


def _together(algorithm: str, runs: int, ends: Sequence[Outcome], left_out: int) -> FailedRuns:
    alike = [(end.reason.value, end.message.partition(":")[0]) for end in ends]
    ((usual, count),) = Counter(alike).most_common(1)
    example = ends[alike.index(usual)]
    return FailedRuns(algorithm, runs, len(ends), left_out, example.reason.value, example.message, count)

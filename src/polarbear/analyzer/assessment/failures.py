"""Runs that failed, timed out or were killed: how many of which algorithm, why, and how they are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polarbear.analyzer.assessment.subject import Subject
from polarbear.analyzer.words import listed, plural
from polarbear.records import Outcome

_NAMED = 10
"""How many algorithms a sentence names; the table of failures names all."""
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


def failures_in_words(found: Sequence[FailedRuns]) -> list[str]:
    """One caution that says all of it; none if there are no failures."""
    if not found:
        return []
    failed, left_out = sum(one.failed for one in found), sum(one.left_out for one in found)
    named = [str(one) for one in found[:_NAMED]]
    if len(found) > _NAMED:
        named.append(plural(len(found) - _NAMED, "further algorithm"))
    said = f"Runs failed, timed out or were killed: of {listed(named)}."
    if failed > left_out:
        rest = "The others count" if left_out else "They count"
        counted = (
            f"{rest} as runs that stopped where they did: each keeps the best value it had found and is charged the "
            "evaluations it had spent, so that failing early costs little."
        )
    else:
        counted = ""
    if left_out:
        verb = "was" if left_out == 1 else "were"
        said += (
            f" {left_out:,} of these {failed:,} {verb} killed or timed out before anything was recorded: nothing is "
            "known of them, and they are left out, which favours an algorithm that is lost on hard instances."
        )
    return [f"{said} {counted}".rstrip()]

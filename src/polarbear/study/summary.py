"""The progress of a plan: runs counted by algorithm, and by how they failed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polarbear import store
from polarbear.quantities import plural
from polarbear.records import Outcome, RunKey

_NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d.,]*(?:e[+-]?\d+)?(?!\w)")
"""A number in a message; digits within a name do not count."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Runs of one algorithm that ended in the same way.

    Attributes:
        algorithm: The runs' algorithm.
        reason: Why they ended: failed, timed out or killed.
        kind: The exception's type, or the message if there was no exception.
        count: Number of runs.
        example: The key of one of them.
        message: The example's message, or how far it got if it has none.
        traceback: The traceback of the example's exception, if there was one.
    """

    algorithm: str
    reason: str
    kind: str
    count: int
    example: RunKey
    message: str
    traceback: str

    def __str__(self) -> str:
        return f"{_runs_of(self)} {self.reason}; {_an_example(self)}"


@dataclass(frozen=True, slots=True)
class Remarks:
    """Runs of one algorithm that are ok and carry the same message, such as what could not be logged.

    Attributes:
        algorithm: The runs' algorithm.
        count: Number of runs.
        example: The key of one of them.
        message: The example's message; those of the others differ at most in numbers.
    """

    algorithm: str
    count: int
    example: RunKey
    message: str

    def __str__(self) -> str:
        return f"{_runs_of(self)}; {_an_example(self)}"


def _runs_of(alike: Failures | Remarks) -> str:
    return f"{alike.algorithm}: {plural(alike.count, 'run')}"


def _an_example(alike: Failures | Remarks) -> str:
    return f"{alike.example.instance}, seed {alike.example.seed}: {alike.message}"


def message_of(outcome: Outcome) -> str:
    """The message of an outcome, or how far the run got if there is none."""
    return outcome.message or f"after {outcome.seconds:.3g} s and {plural(outcome.evaluations, 'evaluation')}"


def remarks_of(outcomes: Iterable[tuple[RunKey, Outcome]]) -> tuple[Remarks, ...]:
    """Messages of runs that are ok, the most frequent first; messages that differ only in numbers count as one."""
    return Tally(outcomes).remarks()


def remark_lines(remarks: Sequence[Remarks]) -> list[str]:
    """Remarks as lines of text; no line if there are none."""
    count = sum(alike.count for alike in remarks)
    carry = "1 run is ok but has a message:" if count == 1 else f"{count:,} runs are ok but have a message:"
    return [carry, *(f"  {alike}" for alike in remarks)] if remarks else []


@dataclass(frozen=True, slots=True)
class AlgorithmRuns:
    """The runs of one algorithm.

    Attributes:
        runs: Number of runs in the study.
        evaluations: Number of evaluations spent.
        seconds: Total duration in seconds.
        failed: Number of runs that failed, timed out or were killed.
    """

    runs: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """The progress of a plan, and the outcomes of its runs.

    Attributes:
        path: The study's directory.
        total: Number of runs of the plan; None if the study contains no plan or does not say.
        ran: Number of runs executed by this call.
        seconds: Wall-clock seconds that this call took.
        algorithms: The runs of each algorithm.
        failures: Runs that failed, timed out or were killed, grouped by similarity.
        invalid: Number of runs during which the objective returned NaN.
        damaged: Files that cannot be read, and why; their runs are left out.
        remarks: Messages of runs that are ok, grouped by similarity.
        unknown_total: Why `total` is unknown although there is a plan; empty otherwise.
        stopped: Why this call stopped before all runs of the plan had finished; empty if it did not.
    """

    path: Path
    total: int | None
    ran: int
    seconds: float
    algorithms: Mapping[str, AlgorithmRuns]
    failures: tuple[Failures, ...]
    invalid: int
    damaged: tuple[store.Damage, ...] = ()
    remarks: tuple[Remarks, ...] = ()
    unknown_total: str = ""
    stopped: str = ""

    @property
    def there(self) -> int:
        """Number of runs in the study."""
        return sum(runs.runs for runs in self.algorithms.values())

    @property
    def failed(self) -> int:
        """Number of runs that failed, timed out or were killed."""
        return sum(runs.failed for runs in self.algorithms.values())

    @property
    def evaluations(self) -> int:
        """Number of evaluations of all runs in the study."""
        return sum(runs.evaluations for runs in self.algorithms.values())

    @property
    def finished(self) -> bool:
        """Whether all runs of the plan are in the study."""
        return self.total is not None and self.there >= self.total

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain values for JSON."""
        return {
            "study": str(self.path),
            "finished": self.finished,
            "stopped": self.stopped,
            "total": self.total,
            "unknown_total": self.unknown_total,
            "runs": self.there,
            "ran": self.ran,
            "evaluations": self.evaluations,
            "seconds": self.seconds,
            "algorithms": {name: asdict(runs) for name, runs in self.algorithms.items()},
            "failures": [asdict(alike) for alike in self.failures],
            "remarks": [asdict(alike) for alike in self.remarks],
            "invalid": self.invalid,
            "damaged": [str(damage) for damage in self.damaged],
        }

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        lines = [f"{self.there:,}{of} runs, {self.evaluations:,} evaluations"]
        if self.unknown_total:
            lines.append(f"the number of runs in the plan is unknown: {self.unknown_total}")
        if self.invalid:
            lines.append(f"the objective returned NaN in {plural(self.invalid, 'run')}")
        if self.failed:
            lines.append(f"{plural(self.failed, 'run')} failed, timed out or were killed:")
            lines += [f"  {alike}" for alike in self.failures]
        lines += remark_lines(self.remarks)
        return "\n".join(lines)


class Tally:
    """Counts runs as they finish.

    Args:
        outcomes: Outcomes of runs to begin with.
    """

    def __init__(self, outcomes: Iterable[tuple[RunKey, Outcome]] = ()) -> None:
        self._algorithms: dict[str, AlgorithmRuns] = {}
        self._alike: Counter[tuple[str, str, str]] = Counter()
        self._examples: dict[tuple[str, str, str], tuple[RunKey, Outcome]] = {}
        self._invalid = 0
        for key, outcome in outcomes:
            self.add(key, outcome)

    def add(self, key: RunKey, outcome: Outcome) -> None:
        """Count a run."""
        before = self._algorithms.get(key.algorithm, AlgorithmRuns())
        self._algorithms[key.algorithm] = AlgorithmRuns(
            runs=before.runs + 1,
            evaluations=before.evaluations + outcome.evaluations,
            seconds=before.seconds + outcome.seconds,
            failed=before.failed + (not outcome.ok),
        )
        self._invalid += outcome.invalid_evaluations > 0
        if not outcome.ok:
            alike = key.algorithm, outcome.reason.value, outcome.message.partition(":")[0][:200]
        elif outcome.message:
            alike = key.algorithm, "", _NUMBER.sub("", outcome.message)
        else:
            return
        self._examples.setdefault(alike, (key, outcome))
        self._alike[alike] += 1

    def remarks(self) -> tuple[Remarks, ...]:
        """Messages of runs that are ok."""
        return tuple(
            Remarks(algorithm, count, key, outcome.message)
            for (algorithm, reason, _), count, key, outcome in self._groups()
            if not reason
        )

    def _groups(self) -> Iterable[tuple[tuple[str, str, str], int, RunKey, Outcome]]:
        return ((alike, count, *self._examples[alike]) for alike, count in self._alike.most_common())

    def summary(
        self, study: store.StudyStore, algorithms: Iterable[str], total: int | None, **settings: Any
    ) -> PlanSummary:
        """A summary of the counted runs; `settings` are the other fields."""
        names = dict.fromkeys([*algorithms, *sorted(self._algorithms)])
        failures = tuple(
            Failures(*alike, count, key, message_of(outcome), outcome.traceback)
            for alike, count, key, outcome in self._groups()
            if alike[1]
        )
        return PlanSummary(
            path=study.path,
            total=total,
            algorithms={name: self._algorithms.get(name, AlgorithmRuns()) for name in names},
            failures=failures,
            invalid=self._invalid,
            damaged=study.damaged,
            remarks=self.remarks(),
            **settings,
        )

"""Run a fixed plan to its end, keeping everything in a study."""

from __future__ import annotations

import re
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polarbear import store
from polarbear.experiment import run_tasks
from polarbear.records import Outcome, Reason, Run, RunKey
from polarbear.store.specification import SPEC
from polarbear.study.plan import Plan
from polarbear.study.resume import RunFailureWarning, executor_or_pool, keep, opened
from polarbear.study.stored import check_spec

_NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d.,]*(?:e[+-]?\d+)?(?!\w)")
"""A number in a message; digits within a name are none."""


class PlanObserver:
    """Told of everything that happens while a plan runs; does nothing. Override what you want to see."""

    def started(self, plan: Plan, there: int) -> None:
        """The study is open; so many of the plan's runs are in it already."""

    def run_known(self, key: RunKey, outcome: Outcome) -> None:
        """A run of the plan was there before; told of each before the first is started."""

    def run_finished(self, run: Run) -> None:
        """A run is in."""

    def stopped(self, summary: PlanSummary) -> None:
        """All runs are in, or time is up: `summary.stopped` says so."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Runs of one algorithm that ended in the same way.

    Attributes:
        algorithm: Whose runs.
        reason: Why they ended: failed, timed out or killed.
        kind: The exception's type, or the message of those without one.
        count: How many.
        example: One of them.
        message: Its message; of one without any, how far it came.
        traceback: Its exception's traceback, if it has one.
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
    """Runs of one algorithm that are ok and carry the same message, such as what could not be logged of them.

    Attributes:
        algorithm: Whose runs.
        count: How many.
        example: One of them.
        message: Its message; those of the others differ in numbers at most.
    """

    algorithm: str
    count: int
    example: RunKey
    message: str

    def __str__(self) -> str:
        return f"{_runs_of(self)}; {_an_example(self)}"


def _runs_of(alike: Failures | Remarks) -> str:
    return f"{alike.algorithm}: {alike.count:,} {'run' if alike.count == 1 else 'runs'}"


def _an_example(alike: Failures | Remarks) -> str:
    return f"{alike.example.instance}, seed {alike.example.seed}: {alike.message}"


def message_of(outcome: Outcome) -> str:
    """What an outcome says; if it says nothing, how far the run came."""
    return outcome.message or f"after {outcome.seconds:.3g} s and {outcome.evaluations:,} evaluations"


def remarks_of(outcomes: Iterable[tuple[RunKey, Outcome]]) -> tuple[Remarks, ...]:
    """What runs that are ok say, the most frequent first; messages that differ in numbers alone count as one."""
    said = _Said()
    for key, outcome in outcomes:
        said.add(key, outcome)
    return said.remarks()


def remark_lines(remarks: Sequence[Remarks]) -> list[str]:
    """Remarks for people; no line if there are none."""
    count = sum(one.count for one in remarks)
    carry = "1 run is ok and carries a message:" if count == 1 else f"{count:,} runs are ok and carry a message:"
    return [carry, *(f"  {one}" for one in remarks)] if remarks else []


@dataclass(frozen=True, slots=True)
class AlgorithmRuns:
    """What was run of an algorithm.

    Attributes:
        runs: How many runs are in the study.
        evaluations: Evaluations they spent.
        seconds: Seconds they took, added up.
        failed: How many of them failed, timed out or were killed.
    """

    runs: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """How far a plan is, and what came of it.

    Attributes:
        path: The study's directory.
        total: Runs of the plan; None if the study holds none, or does not tell.
        ran: Runs executed by this call.
        seconds: Wall-clock seconds this call took.
        algorithms: What was run of each algorithm.
        failures: Runs that failed, timed out or were killed, those alike together.
        invalid: Runs during which the objective returned NaN.
        damaged: Files that cannot be read, and why; their runs are left out.
        remarks: Messages of runs that are ok, those alike together.
        unknown_total: Why `total` is not known although there is a plan; empty otherwise.
        stopped: Why this call stopped before all runs of the plan were in; empty if it did not.
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
        """Runs in the study."""
        return sum(one.runs for one in self.algorithms.values())

    @property
    def failed(self) -> int:
        """Runs that failed, timed out or were killed."""
        return sum(one.failed for one in self.algorithms.values())

    @property
    def evaluations(self) -> int:
        """Evaluations of all runs in the study."""
        return sum(one.evaluations for one in self.algorithms.values())

    @property
    def finished(self) -> bool:
        """Whether all runs of the plan are in the study."""
        return self.total is not None and self.there >= self.total

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
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
            "algorithms": {name: asdict(one) for name, one in self.algorithms.items()},
            "failures": [asdict(one) for one in self.failures],
            "remarks": [asdict(one) for one in self.remarks],
            "invalid": self.invalid,
            "damaged": [str(one) for one in self.damaged],
        }

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        lines = [f"{self.there:,}{of} runs, {self.evaluations:,} evaluations"]
        if self.unknown_total:
            lines.append(f"of how many runs the plan consists cannot be told from here: {self.unknown_total}")
        if self.invalid:
            lines.append(f"the objective returned NaN in {self.invalid:,} runs")
        if self.failed:
            lines.append(f"{self.failed:,} runs failed, timed out or were killed:")
            lines += [f"  {one}" for one in self.failures]
        lines += remark_lines(self.remarks)
        return "\n".join(lines)


def run_plan(
    plan: Plan,
    path: str | Path,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    seconds: float | None = None,
    observer: PlanObserver | None = None,
    accept_damage: bool = False,
    retry_killed: int = 1,
    retry: bool = False,
) -> PlanSummary:
    """Execute a plan; create the study at `path`, or go on with it: runs that are there are not run again.

    Every finished run is committed within a second or so, and then let go of: memory does not grow with trajectories.
    Killing the process at any moment loses no committed run. On an evaluation budget without `timeout` each run is the
    same whatever the number of workers and interruptions; only clocks differ.

    Args:
        plan: What to run. Against the study at `path` it may have more algorithms, repetitions and draws.
        path: The study's directory.
        workers: Number of worker processes of our own pool, which is passed over when an executor is given.
        executor: Any `concurrent.futures.Executor` to run on instead.
        seconds: Wall-clock limit of this call. What has not ended by then is given up as by Ctrl-C, and begins anew
            when the plan is gone on with; None: no limit.
        observer: Told of everything that happens.
        accept_damage: Go on although files of the study are damaged: their runs are run again.
        retry_killed: How often a run whose worker process died is tried again before it counts as killed.
        retry: Run again what the study holds as killed. What comes of it takes the place of the killed run, and its
            message tells of that.

    Returns:
        What is in the study now. Runs that failed are results too, and are not run again.

    Raises:
        ValueError: If `seconds` is not above 0.
        OtherSettings: If the study at `path` was made with other settings; the message names them.
        polarbear.experiment.tasks.WorkerUnprepared: If a module that a run needs is missing where it is to be executed.
        polarbear.store.StudyLocked: If another process writes to the study.
        polarbear.store.StudyError: If files of the study are damaged, and that was not accepted.
    """
    if seconds is not None and not seconds > 0:
        raise ValueError(f"the limit on seconds is {seconds!r}; give a positive number, or None for no limit")
    began, watch, tally = time.monotonic(), observer or PlanObserver(), _Tally()
    until = None if seconds is None else began + seconds
    with opened(store.place(path), plan.describe(), accept_damage=accept_damage) as (study, _):
        _check_damage(study, accept_damage=accept_damage)
        again = _killed(study, plan) if retry else frozenset[RunKey]()
        known = sum(key in plan for key in study) - len(again)
        watch.started(plan, known)
        for key, outcome in study.outcomes():
            if key in plan and key not in again:
                tally.add(key, outcome)
                watch.run_known(key, outcome)
        ran = 0
        with executor_or_pool(executor, workers, plan.limits.timeout, plan.axis) as pool:
            tasks = plan.tasks(lambda key: key in study and key not in again)
            for made in run_tasks(tasks, pool, until=until, retry_killed=retry_killed):
                run = keep(made, study)
                tally.add(run.key, run.outcome)
                ran += 1
                watch.run_finished(run)
        study.commit()
        reason = f"time limit: {seconds:g} s have passed" if seconds and known + ran < plan.size else ""
        summary = tally.summary(
            study, plan.algorithms, plan.size, ran=ran, seconds=time.monotonic() - began, stopped=reason
        )
    watch.stopped(summary)
    _warn_of_failures(summary)
    return summary


def _killed(study: store.StudyStore, plan: Plan) -> frozenset[RunKey]:
    outcomes = study.outcomes()
    return frozenset(key for key, outcome in outcomes if key in plan and outcome.reason is Reason.KILLED)


def _warn_of_failures(summary: PlanSummary) -> None:
    if summary.failed:
        failed = f"{summary.failed} of {summary.there} runs failed, timed out or were killed"
        warnings.warn(f"{failed}; the summary's failures tell how", RunFailureWarning, stacklevel=3)


_EARLY = "the study was begun by an earlier version; it is counted once the plan is gone on with"


def load_plan(path: str | Path) -> PlanSummary:
    """How far the plan of a study is, also while another process runs it; of a study without one, what runs it holds.

    Nothing that the study describes is built or imported.

    Raises:
        polarbear.store.StudyError: If there is no study at `path`.
    """
    with store.open(path) as study:
        check_spec(study.spec, study.path / SPEC)
        tally = _Tally()
        for key, outcome in study.outcomes():
            tally.add(key, outcome)
        names, total = list(study.spec.get("algorithms", ())), None
        if "plan" in study.spec and (problems := study.spec["plan"].get("problems")) is not None:
            total = len(names) * problems * study.spec["plan"]["repetitions"]
        early = "plan" in study.spec and total is None
        return tally.summary(study, names, total, unknown_total=_EARLY if early else "")


class _Said:
    """Counts messages of runs that are ok as they come in."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], tuple[RunKey, str]] = {}
        self._alike: Counter[tuple[str, str]] = Counter()

    def add(self, key: RunKey, outcome: Outcome) -> None:
        if outcome.ok and outcome.message:
            alike = key.algorithm, _NUMBER.sub("", outcome.message)
            self._first.setdefault(alike, (key, outcome.message))
            self._alike[alike] += 1

    def remarks(self) -> tuple[Remarks, ...]:
        return tuple(Remarks(alike[0], count, *self._first[alike]) for alike, count in self._alike.most_common())


class _Tally:
    """Counts runs as they come in."""

    def __init__(self) -> None:
        self._algorithms: dict[str, AlgorithmRuns] = {}
        self._failures: dict[tuple[str, str, str], tuple[RunKey, Outcome]] = {}
        self._alike: Counter[tuple[str, str, str]] = Counter()
        self._said = _Said()
        self._invalid = 0

    def add(self, key: RunKey, outcome: Outcome) -> None:
        before = self._algorithms.get(key.algorithm, AlgorithmRuns())
        self._algorithms[key.algorithm] = AlgorithmRuns(
            runs=before.runs + 1,
            evaluations=before.evaluations + outcome.evaluations,
            seconds=before.seconds + outcome.seconds,
            failed=before.failed + (not outcome.ok),
        )
        self._said.add(key, outcome)
        self._invalid += outcome.invalid_evaluations > 0
        if not outcome.ok:
            alike = (key.algorithm, outcome.reason.value, outcome.message.partition(":")[0][:200])
            self._failures.setdefault(alike, (key, outcome))
            self._alike[alike] += 1

    def summary(
        self,
        study: store.StudyStore,
        algorithms: Iterable[str],
        total: int | None,
        *,
        ran: int = 0,
        seconds: float = 0.0,
        **words: str,
    ) -> PlanSummary:
        names = dict.fromkeys([*algorithms, *sorted(self._algorithms)])
        return PlanSummary(
            path=study.path,
            total=total,
            ran=ran,
            seconds=seconds,
            algorithms={name: self._algorithms.get(name, AlgorithmRuns()) for name in names},
            failures=tuple(self._grouped()),
            invalid=self._invalid,
            damaged=study.damaged,
            remarks=self._said.remarks(),
            **words,
        )

    def _grouped(self) -> Iterator[Failures]:
        for alike, count in self._alike.most_common():
            key, outcome = self._failures[alike]
            algorithm, reason, kind = alike
            yield Failures(algorithm, reason, kind, count, key, message_of(outcome), outcome.traceback)


def _check_damage(study: store.StudyStore, *, accept_damage: bool) -> None:
    damaged = store.not_accepted(study)
    if damaged and not accept_damage:
        raise store.StudyError(
            f"{damaged}. Put the files back from a copy, or run what lay in them again (accept_damage=True, or "
            "--accept-damage); polarbear verify tells what is there"
        )

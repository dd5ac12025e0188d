"""What a plan costs before it runs, by a short pilot in a worker."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from polarbear.experiment import WorkerPool, machine, run_tasks
from polarbear.experiment.process import WorkerDied
from polarbear.records import Outcome, Reason, RunKey, lost
from polarbear.study.plan import Plan
from polarbear.validation import whole_number

PILOT_SECONDS = 10.0
"""How long a pilot takes at most, unless said otherwise."""
_DIMENSIONS = 3
_PROBLEMS_EACH = 2
_SHORTEST = 0.01
_GRACE, _LOADING = 1.0, 60.0
_ASKED = 3
"""How often a process is asked for that may die of what a run left behind."""
_WARM_UP = 100
_DISCARDED = -1
"""The seed of pilot runs, which no plan uses."""


@dataclass(frozen=True, slots=True)
class AlgorithmCost:
    """What one algorithm's runs will cost.

    Attributes:
        runs: How many are to be run.
        evaluations: Evaluations of these if each spends its whole budget; None on an axis of seconds.
        seconds: Seconds they will take in one process; None if the pilot could not tell.
        per_evaluation: Seconds per evaluation by number of variables, as measured.
        trouble: How a run of the pilot failed, or why there is no estimate; empty if all went well.
    """

    runs: int
    evaluations: int | None
    seconds: float | None
    per_evaluation: Mapping[int, float]
    trouble: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a plan will cost.

    Attributes:
        total: Runs of the plan.
        there: How many of them are in the study already; all else is about the others.
        problems: How many problems.
        algorithms: The cost of each algorithm.
        workers: Processes the runs are shared out to.
        cores: Cores that these share.
        starting: Seconds until a worker has come up and has loaded what the algorithms use, as far as the pilot could
            tell.
        pilot_runs: Runs of the pilot.
        pilot_evaluations: Evaluations they spent.
        pilot_seconds: Seconds the pilot took.
        dimensions: Numbers of variables of its problems.
    """

    total: int
    there: int
    problems: int
    algorithms: Mapping[str, AlgorithmCost]
    workers: int
    cores: int
    starting: float
    pilot_runs: int
    pilot_evaluations: int
    pilot_seconds: float
    dimensions: tuple[int, ...]

    @property
    def evaluations(self) -> int | None:
        """Evaluations of all runs if each spends its whole budget; None on an axis of seconds."""
        each = [one.evaluations for one in self.algorithms.values()]
        return None if None in each else sum(one or 0 for one in each)

    @property
    def seconds(self) -> float:
        """Seconds in all on the workers, with their start, but without algorithms of which the pilot could not tell.

        On an axis of evaluations no more runs go on at a time than there are cores.
        """
        if self.there == self.total:
            return 0.0
        at_a_time = self.workers if self.evaluations is None else min(self.workers, self.cores)
        return self.starting + sum(one.seconds or 0.0 for one in self.algorithms.values()) / at_a_time

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "evaluations": self.evaluations, "seconds": self.seconds}


def estimate(
    plan: Plan,
    *,
    workers: int = 1,
    cores: int | None = None,
    seconds: float = PILOT_SECONDS,
    there: Iterable[RunKey] = (),
) -> Estimate:
    """Estimate what a plan costs, by running the beginning of a few runs in a worker process; nothing is written.

    Each algorithm is first run for some evaluations that do not count, then on up to two problems each of the lowest,
    a middle and the highest number of variables, for an equal share of the time. Seconds per evaluation are carried to
    other numbers of variables along straight lines on log scales, and are taken to stay the same along a run. Runs
    that did not end by themselves in the pilot are counted with their whole budget. What an algorithm's first run takes
    longer than one of so many evaluations takes later is the time it loads.

    Args:
        plan: What is to be run.
        workers: Processes the runs will be shared out to.
        cores: Cores that these share, as on a cluster; None: those that this process may use. Where runs are measured
            in seconds, an `OversubscriptionWarning` says if our own workers cannot have one each to themselves.
        seconds: About how long the pilot takes at most. Libraries that take long to load, and single evaluations
            that take longer than an algorithm's share, can exceed it; so can algorithms that never evaluate anything,
            which are given up after a minute, as a library that is interrupted while it loads stays broken.
        there: Runs that need not be run any more, each once.

    Raises:
        ValueError: If `seconds`, `workers` or `cores` is not positive.
        WorkerUnprepared: If the worker cannot open a run, or lacks a package for it.
        WorkerDied: If one worker after another dies between two runs.
    """
    if not seconds > 0:
        raise ValueError(f"seconds is {seconds!r}; a pilot needs some")
    whole_number(workers, "workers", 1)
    timed = plan.axis == "seconds"
    if timed and cores is None and (why := machine.oversubscription(workers)):
        warnings.warn(why, machine.OversubscriptionWarning, stacklevel=2)
    with WorkerPool(1, timeout=None, pinned=timed) as worker:
        pilot = _Pilot(plan, seconds, worker)
        pilot.run()
    left = _left(plan, there)
    return Estimate(
        total=plan.size,
        there=plan.size - left.total(),
        problems=len(plan.problems),
        algorithms={
            name: pilot.cost(name, {d: count for (of, d), count in left.items() if of == name})
            for name in plan.algorithms
        },
        workers=workers,
        cores=machine.cores() if cores is None else whole_number(cores, "cores", 1),
        starting=pilot.starting,
        pilot_runs=pilot.runs,
        pilot_evaluations=pilot.evaluations,
        pilot_seconds=pilot.took,
        dimensions=pilot.dimensions,
    )


def _left(plan: Plan, there: Iterable[RunKey]) -> Counter[tuple[str, int]]:
    """How many runs are to be run, by algorithm and number of variables; counted, as there may be very many."""
    left = Counter(
        {
            (name, dimension): count * plan.repetitions
            for name in plan.algorithms
            for dimension, count in Counter(plan.dimensions).items()
        }
    )
    dimensions = {problem.name: d for problem, d in zip(plan.problems, plan.dimensions, strict=True)}
    left.subtract((key.algorithm, dimensions[key.instance]) for key in there if key in plan)
    return left


@dataclass(frozen=True, slots=True)
class _Measured:
    """A run of the pilot.

    Attributes:
        dimension: Number of variables.
        per_evaluation: Seconds per evaluation.
        share: How much of its budget the whole run spends.
        around: Seconds before and after the run.
    """

    dimension: int
    per_evaluation: float
    share: float
    around: float


class _Pilot:
    """Runs the beginnings of a few runs."""

    def __init__(self, plan: Plan, seconds: float, worker: Executor) -> None:
        self._plan = plan
        self._seconds = seconds
        self._worker = worker
        self._measured: defaultdict[str, list[_Measured]] = defaultdict(list)
        self._trouble: dict[str, str] = {}
        self._warm_in: dict[str, int | None] = {}
        self._first: dict[str, tuple[int, float]] = {}
        self._coming_up = 0.0
        self.places = _places(plan.dimensions)
        self.runs = 0
        self.evaluations = 0
        self.took = 0.0

    def run(self) -> None:
        """Measure each algorithm on each problem as long as there is time, and on one of them in any case."""
        began = time.monotonic()
        each = max(_SHORTEST, self._seconds / ((len(self.places) + 1) * len(self._plan.algorithms)))
        self._process()
        self._coming_up = time.monotonic() - began
        names = [name for name in self._plan.algorithms if self._warm_up(name, self.places[0], each)]
        for round_, place in enumerate(self.places):
            for name in names:
                if round_ == 0 or time.monotonic() - began < self._seconds:
                    self._measure(name, place, each)
        self.took = time.monotonic() - began

    @property
    def starting(self) -> float:
        """Seconds until a worker is up and has loaded everything."""
        return self._coming_up + sum(map(self._loading, self._first))

    def _loading(self, name: str) -> float:
        """What an algorithm's first run took longer than one of so many evaluations; 0 if none was measured."""
        if not self._measured[name]:
            return 0.0
        (evaluations, took), once_loaded = self._first[name], self._measured[name][0]
        return max(0.0, took - evaluations * once_loaded.per_evaluation - once_loaded.around)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Numbers of variables on which something was measured."""
        return tuple(sorted({one.dimension for found in self._measured.values() for one in found}))

    def cost(self, name: str, left: Mapping[int, int]) -> AlgorithmCost:
        """What so many runs of an algorithm cost, by number of variables."""
        plan, found = self._plan, self._measured[name]
        by_seconds = plan.axis == "seconds"
        seconds = None
        if found or by_seconds:
            seconds = sum(runs * self._one(found, dimension) for dimension, runs in left.items())
        return AlgorithmCost(
            runs=sum(left.values()),
            evaluations=None if by_seconds else sum(int(plan.budget.at(d, plan.axis)) * n for d, n in left.items()),
            seconds=seconds,
            per_evaluation=_by_dimension(found),
            trouble=self._trouble.get(name, ""),
        )

    def _one(self, found: Sequence[_Measured], dimension: int) -> float:
        """Seconds of one run."""
        budget = self._plan.budget.at(dimension, self._plan.axis)
        share = float(np.mean([one.share for one in found])) if found else 1.0
        around = float(np.mean([one.around for one in found])) if found else 0.0
        spent = share * budget
        if self._plan.axis == "evaluations":
            measured = _by_dimension(found)
            known, costs = np.log(list(measured)), np.log(list(measured.values()))
            spent *= math.exp(float(np.interp(math.log(dimension), known, costs)))
        return min(spent, self._plan.limits.timeout or np.inf) + around

    def _warm_up(self, name: str, place: int, seconds: float) -> bool:
        """Load libraries, and whether there is anything to measure: False if all time went by without an evaluation."""
        process, began = self._process(), time.perf_counter()
        first = self._execute(name, place, seconds, evaluations=1, timeout=_LOADING)
        if first.evaluations:
            self._first.setdefault(name, (first.evaluations, time.perf_counter() - began))
        elif first.reason is Reason.TIMED_OUT:
            self._evaluated_nothing(name, first)
            return False
        self._execute(name, place, seconds, evaluations=_WARM_UP)
        self._warm_in[name] = process if self._process() == process else None  # each of its runs takes a new process
        return True

    def _measure(self, name: str, place: int, seconds: float) -> None:
        plan, dimension = self._plan, self._plan.dimensions[place]
        if self._warm_in[name] not in {None, self._process()} and not self._warm_up(name, place, seconds):
            return
        began = time.perf_counter()
        outcome = self._execute(name, place, seconds)
        around = time.perf_counter() - began - outcome.seconds
        self.runs += 1
        self.evaluations += outcome.evaluations
        if not outcome.evaluations:
            self._evaluated_nothing(name, outcome)
            return
        budget = plan.budget.at(dimension, plan.axis)
        spent = outcome.evaluations if plan.axis == "evaluations" else outcome.seconds
        ended = outcome.reason in {Reason.TARGET, Reason.STOPPED, Reason.FAILED}
        per_evaluation = max(outcome.seconds, 1e-9) / outcome.evaluations
        self._measured[name].append(
            _Measured(dimension, per_evaluation, min(1.0, spent / budget) if ended else 1.0, max(0.0, around))
        )

    def _evaluated_nothing(self, name: str, outcome: Outcome) -> None:
        self._trouble.setdefault(name, outcome.message or f"evaluated nothing in {outcome.seconds:.2g} s")

    def _execute(
        self, name: str, place: int, seconds: float, *, timeout: float | None = None, **limits: int
    ) -> Outcome:
        plan = self._plan
        if plan.axis == "seconds":
            seconds = min(seconds, plan.budget.at(plan.dimensions[place], plan.axis))
        if timeout is None:
            timeout = min(seconds + _GRACE, plan.limits.timeout or np.inf)
        key = RunKey(plan.problems[place].name, name, _DISCARDED)
        task = plan.task(key, place, **{"seconds": seconds, "timeout": timeout, **limits})
        self._process()
        run = next(run_tasks([task], self._worker, until=time.monotonic() + timeout + _GRACE), None)
        if run is None:
            run = lost(key, Reason.TIMED_OUT, f"nothing came back within {_GRACE:g} s after {timeout:.2g} s", timeout)
        if run.outcome.reason in {Reason.FAILED, Reason.KILLED}:
            self._trouble.setdefault(name, f"{run.outcome.reason} on {key.instance}: {run.outcome.message}")
        return run.outcome

    def _process(self) -> int:
        """The worker's process id, once it is up. One that dies meanwhile, of what a run left behind, is replaced."""
        for _ in range(_ASKED - 1):
            with suppress(WorkerDied):
                return self._worker.submit(os.getpid).result()
        return self._worker.submit(os.getpid).result()


def _by_dimension(found: Sequence[_Measured]) -> dict[int, float]:
    """Mean seconds per evaluation for each number of variables, in increasing order."""
    grouped: defaultdict[int, list[float]] = defaultdict(list)
    for one in found:
        grouped[one.dimension].append(one.per_evaluation)
    return {dimension: float(np.mean(grouped[dimension])) for dimension in sorted(grouped)}


def _places(dimensions: Sequence[int]) -> list[int]:
    """Where in a plan's problems the pilot's are: the first of each number of variables, then the middle ones."""
    there = sorted(set(dimensions))
    chosen = sorted({there[round(step * (len(there) - 1) / (_DIMENSIONS - 1))] for step in range(_DIMENSIONS)})
    by_dimension = {d: [place for place, one in enumerate(dimensions) if one == d] for d in chosen}
    return list(dict.fromkeys(_spread(by_dimension)))


def _spread(by_dimension: Mapping[int, Sequence[int]]) -> Iterator[int]:
    for turn in range(_PROBLEMS_EACH):
        for places in by_dimension.values():
            yield places[turn * len(places) // _PROBLEMS_EACH]

"""The cost of a plan before it runs, estimated by a short pilot in a worker."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from polarbear import machine
from polarbear.experiment import WorkerPool, run_tasks
from polarbear.experiment.process import WorkerDied
from polarbear.records import Outcome, Reason, RunKey, lost
from polarbear.study.plan import Plan
from polarbear.validation import whole_number

PILOT_SECONDS = 10.0
"""Default time limit of a pilot in seconds."""
_DIMENSIONS = 3
"""Number of dimensions tried: the lowest, a middle and the highest one …"""
_PROBLEMS_EACH = 2
"""… on this many problems each."""
_SHORTEST = 0.01
"""Minimum duration, in seconds, of a run of the pilot."""
_GRACE, _LOADING = 1.0, 60.0
"""Seconds beyond a time limit, and for a first run, which loads libraries, until a run is given up."""
_ASKED = 3
"""Number of attempts to reach a worker, which may die of what a run left behind."""
_WARM_UP = 100
"""Number of warm-up evaluations of each algorithm, which do not count."""
_DISCARDED = -1
"""Seed of the pilot's runs, which no plan uses."""


@dataclass(frozen=True, slots=True)
class AlgorithmCost:
    """Cost of the runs of one algorithm.

    Attributes:
        runs: Number of runs to execute.
        evaluations: Evaluations of these runs if each spends its whole budget; None on an axis of seconds.
        seconds: Seconds that they will take in one process; None if the pilot gives no estimate.
        per_evaluation: Measured seconds per evaluation, by number of variables.
        trouble: How a run of the pilot failed, or why there is no estimate; empty if all went well.
    """

    runs: int
    evaluations: int | None
    seconds: float | None
    per_evaluation: Mapping[int, float]
    trouble: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost of a plan.

    Attributes:
        total: Number of runs of the plan.
        there: Number of them that are already in the study; everything else is about the others.
        problems: Number of problems.
        algorithms: The cost of each algorithm.
        workers: Number of processes that share the runs.
        cores: Number of cores that these processes share.
        starting: Seconds until a worker has started up and has loaded what the algorithms use, as far as the pilot
            shows.
        pilot_runs: Number of runs of the pilot.
        pilot_evaluations: Number of evaluations spent by the pilot.
        pilot_seconds: Duration of the pilot in seconds.
        dimensions: Numbers of variables of the pilot's problems.
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
        evaluations = [cost.evaluations for cost in self.algorithms.values()]
        return None if None in evaluations else sum(spent or 0 for spent in evaluations)

    @property
    def seconds(self) -> float:
        """Total duration on the workers in seconds, including their start, but without algorithms lacking an estimate.

        On an axis of evaluations, no more runs are executed at a time than there are cores.
        """
        if self.there == self.total:
            return 0.0
        at_a_time = self.workers if self.evaluations is None else min(self.workers, self.cores)
        return self.starting + sum(cost.seconds or 0.0 for cost in self.algorithms.values()) / at_a_time

    def as_dict(self) -> dict[str, Any]:
        """The estimate as plain values for JSON."""
        return {**asdict(self), "evaluations": self.evaluations, "seconds": self.seconds}


def estimate(
    plan: Plan,
    *,
    workers: int = 1,
    cores: int | None = None,
    seconds: float = PILOT_SECONDS,
    there: Iterable[RunKey] = (),
) -> Estimate:
    """Estimate the cost of a plan by running the beginning of a few runs in a worker process; nothing is written.

    Each algorithm is first run for some evaluations that do not count, then on up to two problems each of the lowest,
    a middle and the highest number of variables, for an equal share of the time. Seconds per evaluation are
    interpolated to other numbers of variables linearly on log scales, and are assumed constant along a run. Runs that
    did not end by themselves in the pilot are counted with their whole budget. The time by which an algorithm's first
    run exceeds that of as many evaluations later is its loading time.

    Args:
        plan: The plan.
        workers: Number of processes that will share the runs.
        cores: Number of cores that these share, as on a cluster; None for those that this process may use. For runs
            measured in seconds, an `OversubscriptionWarning` is issued if local workers cannot have a core each.
        seconds: Approximate maximum duration of the pilot. Libraries that take long to load, and single evaluations
            that take longer than an algorithm's share, may exceed it; so may algorithms that never evaluate anything,
            which are given up after a minute, as a library that is interrupted while it loads stays broken.
        there: Runs that need not be executed any more, each once.

    Raises:
        ValueError: If `seconds`, `workers` or `cores` is not positive.
        WorkerUnprepared: If the worker cannot unpickle a run or lacks a package for it.
        WorkerDied: If one worker after another dies between two runs.
    """
    if not seconds > 0:
        raise ValueError(f"seconds is {seconds!r}; it must be positive")
    whole_number(workers, "workers", 1)
    timed = plan.axis == "seconds"
    if timed and cores is None and (why := machine.oversubscription(workers)):
        warnings.warn(why, machine.OversubscriptionWarning, stacklevel=2)
    with WorkerPool(1, timeout=None, pinned=timed) as worker:
        pilot = _Pilot(plan, seconds, worker)
        pilot.run()
    runs = remaining_runs(plan, there)
    return Estimate(
        total=plan.size,
        there=plan.size - runs.total(),
        problems=len(plan.problems),
        algorithms={
            name: pilot.cost(name, {d: count for (algorithm, d), count in runs.items() if algorithm == name})
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


def remaining_runs(plan: Plan, there: Iterable[RunKey] = ()) -> Counter[tuple[str, int]]:
    """Number of runs to execute, by algorithm and dimension; they are not listed, as there may be very many."""
    dimensions = {problem.name: d for problem, d in zip(plan.problems, plan.dimensions, strict=True)}
    runs = plan.counts()
    runs.subtract((key.algorithm, dimensions[key.instance]) for key in there if key in plan)
    return runs


@dataclass(frozen=True, slots=True)
class _Measured:
    """A run of the pilot.

    Attributes:
        dimension: Number of variables.
        per_evaluation: Seconds per evaluation.
        share: The share of its budget that the whole run spends.
        around: Overhead in seconds before and after the run.
    """

    dimension: int
    per_evaluation: float
    share: float
    around: float


class _Pilot:
    """Executes the beginnings of a few runs."""

    def __init__(self, plan: Plan, seconds: float, worker: Executor) -> None:
        self._plan = plan
        self._seconds = seconds
        self._worker = worker
        self._measured: defaultdict[str, list[_Measured]] = defaultdict(list)
        self._trouble: dict[str, str] = {}
        self._warm_in: dict[str, int | None] = {}
        self._first: dict[str, tuple[int, float]] = {}
        self._coming_up = 0.0
        self.positions = _positions(plan.dimensions)
        self.runs = 0
        self.evaluations = 0
        self.took = 0.0

    def run(self) -> None:
        """Measure each algorithm on each problem as long as there is time, and on one problem in any case."""
        began = time.monotonic()
        seconds = max(_SHORTEST, self._seconds / ((len(self.positions) + 1) * len(self._plan.algorithms)))
        self._pid()
        self._coming_up = time.monotonic() - began
        names = [name for name in self._plan.algorithms if self._warm_up(name, self.positions[0], seconds)]
        for round_, position in enumerate(self.positions):
            for name in names:
                if round_ == 0 or time.monotonic() - began < self._seconds:
                    self._measure(name, position, seconds)
        self.took = time.monotonic() - began

    @property
    def starting(self) -> float:
        """Seconds until a worker has started up and has loaded everything."""
        return self._coming_up + sum(map(self._loading, self._first))

    def _loading(self, name: str) -> float:
        """Seconds that an algorithm's first run took beyond its evaluations; 0 if no run was measured."""
        if not self._measured[name]:
            return 0.0
        (evaluations, took), once_loaded = self._first[name], self._measured[name][0]
        return max(0.0, took - evaluations * once_loaded.per_evaluation - once_loaded.around)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The numbers of variables for which there are measurements."""
        return tuple(sorted({run.dimension for runs in self._measured.values() for run in runs}))

    def cost(self, name: str, runs: Mapping[int, int]) -> AlgorithmCost:
        """The cost of an algorithm's runs, whose numbers are given by dimension."""
        plan, measured = self._plan, self._measured[name]
        timed = plan.axis == "seconds"
        return AlgorithmCost(
            runs=sum(runs.values()),
            evaluations=None if timed else sum(int(plan.budget.at(d, plan.axis)) * n for d, n in runs.items()),
            seconds=sum(n * self._seconds_of(measured, d) for d, n in runs.items()) if measured or timed else None,
            per_evaluation=_by_dimension(measured),
            trouble=self._trouble.get(name, ""),
        )

    def _seconds_of(self, measured: Sequence[_Measured], dimension: int) -> float:
        """Duration of one run in seconds."""
        share = fmean(run.share for run in measured) if measured else 1.0
        around = fmean(run.around for run in measured) if measured else 0.0
        seconds = share * self._plan.budget.at(dimension, self._plan.axis)
        if self._plan.axis == "evaluations":
            per_evaluation = _by_dimension(measured)
            costs = np.log(list(per_evaluation.values()))
            seconds *= math.exp(float(np.interp(math.log(dimension), np.log(list(per_evaluation)), costs)))
        return min(seconds, self._plan.limits.timeout or np.inf) + around

    def _warm_up(self, name: str, position: int, seconds: float) -> bool:
        """Load an algorithm's libraries; return False if it evaluated nothing in the allowed time."""
        pid, began = self._pid(), time.perf_counter()
        first = self._execute(name, position, seconds, evaluations=1, timeout=_LOADING)
        if first.evaluations:
            self._first.setdefault(name, (first.evaluations, time.perf_counter() - began))
        elif first.reason is Reason.TIMED_OUT:
            self._evaluated_nothing(name, first)
            return False
        self._execute(name, position, seconds, evaluations=_WARM_UP)
        self._warm_in[name] = pid if self._pid() == pid else None  # each of the algorithm's runs takes a new process
        return True

    def _measure(self, name: str, position: int, seconds: float) -> None:
        plan, dimension = self._plan, self._plan.dimensions[position]
        if self._warm_in[name] not in {None, self._pid()} and not self._warm_up(name, position, seconds):
            return
        began = time.perf_counter()
        outcome = self._execute(name, position, seconds)
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
        self, name: str, position: int, seconds: float, *, timeout: float | None = None, **limits: int
    ) -> Outcome:
        plan = self._plan
        if plan.axis == "seconds":
            seconds = min(seconds, plan.budget.at(plan.dimensions[position], plan.axis))
        if timeout is None:
            timeout = min(seconds + _GRACE, plan.limits.timeout or np.inf)
        key = RunKey(plan.problems[position].name, name, _DISCARDED)
        task = plan.task(key, position, **{"seconds": seconds, "timeout": timeout, **limits})
        self._pid()
        run = next(run_tasks([task], self._worker, until=time.monotonic() + timeout + _GRACE), None)
        if run is None:
            run = lost(
                key, Reason.TIMED_OUT, f"no result within {_GRACE:g} s after the time limit of {timeout:.2g} s", timeout
            )
        if run.outcome.reason in {Reason.FAILED, Reason.KILLED}:
            self._trouble.setdefault(name, f"{run.outcome.reason} on {key.instance}: {run.outcome.message}")
        return run.outcome

    def _pid(self) -> int:
        """The id of the worker's process, once it has started; one that dies of what a run left behind is replaced."""
        for _ in range(_ASKED - 1):
            with suppress(WorkerDied):
                return self._worker.submit(os.getpid).result()
        return self._worker.submit(os.getpid).result()


def _by_dimension(runs: Sequence[_Measured]) -> dict[int, float]:
    """Mean seconds per evaluation by dimension, in increasing order."""
    dimensions = sorted({run.dimension for run in runs})
    return {d: fmean(run.per_evaluation for run in runs if run.dimension == d) for d in dimensions}


def _positions(dimensions: Sequence[int]) -> list[int]:
    """The positions of the pilot's problems: the first of each chosen dimension, then the middle ones."""
    distinct = sorted(set(dimensions))
    chosen = sorted({distinct[round(step * (len(distinct) - 1) / (_DIMENSIONS - 1))] for step in range(_DIMENSIONS)})
    problems = [[position for position, d in enumerate(dimensions) if d == dimension] for dimension in chosen]
    parts = range(_PROBLEMS_EACH)
    return list(dict.fromkeys(each[part * len(each) // _PROBLEMS_EACH] for part in parts for each in problems))

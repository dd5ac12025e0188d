"""Execution of a race to its end or to a limit, with everything kept in a study."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from polarbear import optimizers, problems, store
from polarbear.experiment import Limits, Task, Watch
from polarbear.quantities import plural
from polarbear.racing import Race, RaceResult, Request, Round
from polarbear.records import Axis, Run, RunKey
from polarbear.study.observer import Observer
from polarbear.study.plan import described
from polarbear.study.resume import RunFailureWarning, RunMaker, executor_or_pool, killed_runs, opened, restore
from polarbear.study.suitability import check_optima, check_pairs, first_problems
from polarbear.validation import Checked, real, settings, whole


class EveryRunFailed(RuntimeError):  # noqa: N818 - states what happened
    """All runs of a round failed before they found a value, so that there is nothing to rank."""


def _limit(check: Checked) -> Checked:
    """A check that accepts what `check` does, or infinity for no limit."""

    def checked(value: Any, name: str) -> Any:
        return value if isinstance(value, Real) and value == math.inf else check.check(value, name)

    return Checked(checked)


@settings(kw_only=True)
class StopRules:
    """When to stop although pairs are still open; checked between rounds, so that the result stays valid.

    None or infinity stands for no limit.

    Attributes:
        seconds: Wall-clock limit of this call: no round begins that is expected to end later, except the first one,
            which always begins.
        instances: Number of instances drawn after which no round begins; the last round may have drawn more.
        evaluations: Number of evaluations spent after which no round begins; the last round may have spent more.
    """

    seconds: Annotated[float, _limit(real(gt=0))] | None = None
    instances: Annotated[int, _limit(whole(1))] | None = None
    evaluations: Annotated[float, _limit(real(gt=0))] | None = None


def race(
    race: Race,
    instances: object,
    path: str | Path,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    stop: StopRules | None = None,
    target_precision: float | None = None,
    timeout: float | None = None,
    watch: Watch | None = None,
    withdraw: str | Collection[str] = (),
    accept_damage: bool = False,
    retry_killed: int = 1,
    retry: bool = False,
    observer: Observer | None = None,
) -> RaceResult:
    """Race real optimizers on real problems; create the study at `path`, or resume it.

    Every finished run is committed within about a second, and killing the process loses no committed run. On an
    evaluation budget without `timeout`, every round makes, bit for bit, the same decisions as without interruptions,
    whatever the number of workers; only clocks differ.

    Args:
        race: A new race of optimizers (see `polarbear.optimizers`) or callables ``optimizer(problem, rng)``.
        instances: A distribution of problem instances (see `polarbear.problems`), or a list of problems.
        path: The study's directory, or a URL such as ``s3://bucket/a.study``.
        workers: Number of worker processes, without an `executor`.
        executor: Any `concurrent.futures.Executor` to run on instead.
        stop: When to stop before all pairs are resolved.
        target_precision: The precision, relative to the known optimum, at which a run ends and ties with other solved
            runs.
        timeout: Wall-clock seconds after which a run is interrupted.
        watch: When to log parameters and recommendations of the optimizers; None for never.
        withdraw: Algorithms to withdraw first and permanently, see `Race.withdraw`.
        accept_damage: Whether to continue without the runs of completed rounds whose files are damaged.
        retry_killed: How often a run whose worker process died is retried before it counts as killed.
        retry: Whether to first repeat and replace the runs that the study contains as killed. Decided rounds stay
            decided.
        observer: An observer that is notified of everything that happens.

    Returns:
        What the race has found so far; `RaceResult.undecided` names the pairs still open.

    Raises:
        OtherSettings: If the study at `path` was made with other settings; the message names them.
        TypeError: If `race` is not a race.
        Unsuitable: If an optimizer does not suit the problems, or an optimum is needed and unknown.
        ValueError: If the race has already run on another study.
        CannotWithdraw: If `withdraw` names no algorithm of the race, or all remaining ones; then none is withdrawn.
        EveryRunFailed: If all runs of a round failed before they found a value.
        polarbear.store.StudyLocked: If another process writes to the study.
        polarbear.store.StudyError: If files of completed rounds are damaged, and that is not accepted.
    """
    if not isinstance(race, Race):  # pyright: ignore[reportUnnecessaryIsInstance]
        given = type(race).__name__
        raise TypeError(f"race is a {given}; give a Race(algorithms, times=...), or call polarbear.race")
    plan, observer = plan_of(race, instances, timeout, target_precision, watch), observer or Observer()
    spec = {"race": race.describe(), **plan.describe()}
    with opened(store.place(path), spec, accept_damage=accept_damage) as (study, resumed):
        if restore(race, study, study.runs(), accept_damage=accept_damage) is None and race.rounds:
            raise ValueError(f"this race has already run elsewhere, but there is no round in {path}; make a new Race")
        observer.started(race, resumed=resumed)
        if (decided := race.withdraw(*([withdraw] if isinstance(withdraw, str) else withdraw))) is not None:
            keep_round(decided, race, study, observer)
        again = killed_runs(study) if retry else set[RunKey]()
        with executor_or_pool(executor, workers, timeout, plan.axis) as pool:
            rounds = Rounds(race, plan, RunMaker(study, pool, again, retry_killed), observer)
            if retry and (requests := race.killed()):
                rounds.make(requests)
                restore(race, study, study.runs(), accept_damage=accept_damage)
            reason = rounds.drive(stop)
        observer.stopped(race, reason)
    _warn_of_failures(race)
    return race.result()


def plan_of(
    race: Race,
    instances: object,
    timeout: float | None,
    target_precision: float | None = None,
    watch: Watch | None = None,
) -> RacePlan:
    """The plan of the race's runs, once its optimizers are known to suit the problems."""
    stream = problems.as_instances(instances)
    entrants = {name: optimizers.as_optimizer(algorithm) for name, algorithm in race.algorithms.items()}
    first = tuple(first_problems(stream))
    check_pairs(entrants, first)
    check_optima(first, target_precision, watch)
    limits = Limits(target_precision=target_precision, timeout=timeout)
    return RacePlan(stream, entrants, limits, _watch_recommendations(race, watch), race.settings.axis)


def _watch_recommendations(race: Race, watch: Watch | None) -> Watch | None:
    """The watch, extended by recommendations at the race's timepoints if they judge the race."""
    if race.settings.judged_by == "best":
        return watch
    times = tuple(int(time) for time in race.times)
    if watch is None:
        return Watch(at=times, parameters=(), recommendations=True)
    return replace(watch, at=(*watch.at, *times), recommendations=True)


@dataclass(frozen=True, slots=True)
class RacePlan:
    """A plan that turns a race's requests into tasks."""

    instances: problems.Instances
    entrants: Mapping[str, optimizers.Optimizer]
    limits: Limits
    watch: Watch | None
    axis: Axis

    def describe(self) -> dict[str, Any]:
        """The instances, algorithms, limits and log as plain values."""
        return {
            "instances": problems.describe(self.instances),
            "algorithms": {name: optimizers.describe(entrant) for name, entrant in self.entrants.items()},
            "limits": {"target_precision": self.limits.target_precision, "timeout": self.limits.timeout},
        } | ({"log": described(self.watch)} if self.watch else {})  # older races have no such field

    def task(self, request: Request) -> Task:
        """The task that a request asks for."""
        problem = self.instances[request.draw]
        return Task(
            key=replace(request.key, instance=problem.name),
            problem=problem,
            optimizer=self.entrants[request.key.algorithm],
            limits=self.limits.up_to(request.until, self.axis),
            watch=self.watch,
            warm_up=self.axis == "seconds",
        )


class Rounds:
    """Executes the runs that a race requests, and lets it decide, round by round.

    Args:
        race: The race.
        plan: The plan that turns requests into tasks.
        runs: The maker and keeper of runs.
        observer: An observer that is notified of them.
        tolerant: Whether the race continues after a round without a run that got as far as requested.
    """

    def __init__(
        self, race: Race, plan: RacePlan, runs: RunMaker, observer: Observer, *, tolerant: bool = False
    ) -> None:
        self._race, self._plan, self._runs, self._observer, self._tolerant = race, plan, runs, observer, tolerant
        self._began, self._spent, self._done = time.monotonic(), 0.0, 0.0

    def drive(self, stop: StopRules | None = None) -> str:
        """Run rounds until the race ends or must stop; return the reason for stopping, empty if it has ended."""
        size = self._plan.instances.size
        while requests := self._race.ask(size):
            if reason := self._reason_to_stop(requests, stop or StopRules()):
                return reason
            began = time.monotonic()
            runs = self._run_round(requests)
            self._spent += time.monotonic() - began
            self._done += sum(request.until for request in requests)
            if not (self._tolerant or self._race.finished) and (reason := self._in_vain(requests, runs)):
                return reason
        return "" if self._race.finished else f"all {size} problem instances have been used"

    def make(self, requests: Sequence[Request]) -> list[Run]:
        """Execute and commit the runs that are not yet in the study; return all requested runs."""
        self._observer.round_started(self._race, requests)
        tasks = [self._plan.task(request) for request in requests]
        known = (self._runs.study.run(task.key) for task in tasks if self._runs.has(task.key))
        made = self._runs.make([task for task in tasks if not self._runs.has(task.key)])
        runs: list[Run] = []
        for run in chain(known, made):
            runs.append(run)
            self._observer.run_finished(run)
        return runs

    def _run_round(self, requests: Sequence[Request]) -> list[Run]:
        """Execute the round's runs, decide, and commit the decision; return the runs."""
        runs = self.make(requests)
        if not self._tolerant and not any(run.trajectory.values.size or run.outcome.cut_short for run in runs):
            raise EveryRunFailed(
                f"all {len(runs)} runs of the round ended before they found anything; the first: {runs[0].key}: "
                f"{_how(runs[0])}. Fix the cause and start a new study"
            )
        self._observer.inferring()
        if (decided := self._race.tell(runs)) is None:
            raise RuntimeError(
                "the executor returned fewer runs than it was given; resume the study to repeat those that are missing"
            )
        keep_round(decided, self._race, self._runs.study, self._observer)
        return runs

    def _in_vain(self, requests: Sequence[Request], runs: Sequence[Run]) -> str:
        """The reason to stop if no run got as far as requested, so that more rounds are futile; empty if one did."""
        until = {(request.key.algorithm, request.key.seed): request.until for request in requests}
        axis = self._race.settings.axis
        if np.isnan([run.trajectory.value_at(until[run.key.algorithm, run.key.seed], axis) for run in runs]).all():
            return f"none of the {len(runs)} runs of the round got as far as requested ({_how(runs[0])})"
        return ""

    def _reason_to_stop(self, requests: Sequence[Request], stop: StopRules) -> str:
        elapsed, expected = time.monotonic() - self._began, 0.0
        if self._done:  # by the time that the evaluations (or seconds) requested so far took
            expected = self._spent / self._done * sum(request.until for request in requests)
        if stop.seconds is not None and expected and elapsed + expected > stop.seconds:
            return (
                f"time limit: the next round would take about {expected:.0f} s, and "
                f"{elapsed:.0f} s of {stop.seconds:g} s have passed"
            )
        drawn = self._race.state.instances
        if stop.instances is not None and drawn >= stop.instances:
            return _reached(stop.instances, drawn, "instance", "drawn")
        spent = self._race.rounds[-1].evaluations if self._race.rounds else 0
        if stop.evaluations is not None and spent >= stop.evaluations:
            return _reached(stop.evaluations, spent, "evaluation", "spent")
        return ""


def _reached(limit: float, count: int, noun: str, done: str) -> str:
    """A message that a limit is reached, and by how much; rounds are not cut short, as decisions would differ."""
    over = " (limits are checked between rounds)" if count > limit else ""
    return f"{noun} limit of {limit:,.0f} reached: {plural(count, noun)} {done}{over}"


def keep_round(decided: Round, race: Race, study: store.StudyStore, observer: Observer) -> None:
    """Commit a round and the race's state after it."""
    study.append_round({"round": decided.as_dict(), "state": race.state.as_dict()})
    observer.round_finished(race, decided)


def _how(run: Run) -> str:
    return f"{run.outcome.reason}: {run.outcome.message}" if run.outcome.message else str(run.outcome.reason)


def _warn_of_failures(race: Race) -> None:
    if race.rounds and (failures := race.rounds[-1].failures):
        warnings.warn(
            f"{failures} of {race.rounds[-1].runs} runs failed, timed out or were killed; "
            "for details, see polarbear.study.load(path).failures",
            RunFailureWarning,
            stacklevel=3,
        )

"""Execution of a fixed plan, with everything kept in a study."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection
from concurrent.futures import Executor
from pathlib import Path

from polarbear import store
from polarbear.records import RunKey
from polarbear.store.specification import SPEC
from polarbear.study.observer import PlanObserver
from polarbear.study.plan import Plan
from polarbear.study.resume import RunFailureWarning, RunMaker, executor_or_pool, killed_runs, opened
from polarbear.study.stored import check_spec
from polarbear.study.summary import PlanSummary, Tally


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
    """Execute a plan; create the study at `path`, or continue it: runs that are in it are not repeated.

    Every finished run is committed within about a second and then dropped from memory, which does not grow with
    trajectories. Killing the process loses no committed run. On an evaluation budget without `timeout`, each run is the
    same whatever the number of workers and interruptions; only clocks differ.

    Args:
        plan: The plan to execute. It may have more algorithms, repetitions and draws than the study at `path`.
        path: The study's directory, or a URL such as ``s3://bucket/a.study``.
        workers: Number of worker processes, without an `executor`.
        executor: Any `concurrent.futures.Executor` to run on instead.
        seconds: Wall-clock limit of this call; None for no limit. Runs that have not ended by then are started again
            next time.
        observer: An observer that is notified of everything that happens.
        accept_damage: Whether to continue although files of the study are damaged; their runs are repeated.
        retry_killed: How often a run whose worker process died is retried before it counts as killed.
        retry: Whether to repeat and replace the runs that the study contains as killed.

    Returns:
        The current content of the study. Failed runs are results too, and are not repeated.

    Raises:
        ValueError: If `seconds` is not above 0.
        OtherSettings: If the study at `path` was made with other settings; the message names them.
        polarbear.experiment.tasks.WorkerUnprepared: If a module that a run needs is missing where it is executed.
        polarbear.store.StudyLocked: If another process writes to the study.
        polarbear.store.StudyError: If files of the study are damaged and that is not accepted.
    """
    if seconds is not None and not seconds > 0:
        raise ValueError(f"seconds is {seconds!r}; give a positive number, or None for no limit")
    began, observer = time.monotonic(), observer or PlanObserver()
    with opened(store.place(path), plan.describe(), accept_damage=accept_damage) as (study, _):
        again = killed_runs(study, plan.__contains__) if retry else set[RunKey]()
        known = sum(key in plan for key in study) - len(again)
        observer.started(plan, known)
        tally, ran = _tally_known(plan, study, again, observer), 0
        with executor_or_pool(executor, workers, plan.limits.timeout, plan.axis) as pool:
            runs = RunMaker(study, pool, again, retry_killed)
            for run in runs.make(plan.tasks(runs.has), None if seconds is None else began + seconds):
                plan.check(run)
                tally.add(run.key, run.outcome)
                ran += 1
                observer.run_finished(run)
        reason = f"time limit: {seconds:g} s have passed" if seconds and known + ran < plan.size else ""
        took = time.monotonic() - began
        summary = tally.summary(study, plan.algorithms, plan.size, ran=ran, seconds=took, stopped=reason)
    observer.stopped(summary)
    _warn_of_failures(summary)
    return summary


def _tally_known(plan: Plan, study: store.StudyStore, again: Collection[RunKey], observer: PlanObserver) -> Tally:
    """A tally of the plan's runs in the study, except those that are repeated."""
    tally = Tally()
    for key, outcome in study.outcomes():
        if key in plan and key not in again:
            tally.add(key, outcome)
            observer.run_known(key, outcome)
    return tally


def _warn_of_failures(summary: PlanSummary) -> None:
    if summary.failed:
        failed = f"{summary.failed} of {summary.there} runs failed, timed out or were killed"
        warnings.warn(f"{failed}; for details, see the summary's failures", RunFailureWarning, stacklevel=3)


_EARLY = "the study was created by an earlier version; resuming the plan will add the number"


def load_plan(path: str | Path) -> PlanSummary:
    """The progress of a study's plan, also while it runs elsewhere; without a plan, the runs that the study contains.

    Nothing that the study describes is built or imported.

    Raises:
        polarbear.store.StudyError: If there is no study at `path`.
    """
    with store.open(path) as study:
        check_spec(study.spec, study.path / SPEC)
        names, total = list(study.spec.get("algorithms", ())), None
        if "plan" in study.spec and (problems := study.spec["plan"].get("problems")) is not None:
            total = len(names) * problems * study.spec["plan"]["repetitions"]
        early = "plan" in study.spec and total is None
        unknown = _EARLY if early else ""
        return Tally(study.outcomes()).summary(study, names, total, ran=0, seconds=0.0, unknown_total=unknown)

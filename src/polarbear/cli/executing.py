"""Execute a race or a plan, new or resumed, and print the outcome."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.options import (
    EVERY_RUN_FAILED,
    AcceptDamageOption,
    RetryKilledOption,
    TakeOverOption,
    to_json,
)
from polarbear.cli.terminal import echo, tell_damage, tell_warning
from polarbear.cli.termination import interruptible

if TYPE_CHECKING:
    from polarbear.problems import ProblemSpec
    from polarbear.progress import LiveProgress
    from polarbear.racing import RaceResult
    from polarbear.study import Plan, PlanSummary, StudyView


@dataclass(frozen=True, slots=True)
class Repairs:
    """How to deal with what was killed or damaged."""

    retry_killed: RetryKilledOption = 1
    accept_damage: AcceptDamageOption = False
    take_over: TakeOverOption = False

    def settings(self, study: Path) -> dict[str, Any]:
        """Settings for races and plans; first takes over the study's lock if requested."""
        take_over(study, wanted=self.take_over)
        return {"retry_killed": self.retry_killed, "accept_damage": self.accept_damage}


def take_over(study: Path, *, wanted: bool) -> None:
    """Take over the lock left by a killed writer, if requested."""
    from polarbear import store

    if wanted:
        store.take_over(study)


def look_in(*folders: Path) -> None:
    """Also import modules from the current folder and these, but last, so that installed modules are not shadowed."""
    for folder in map(str, (Path.cwd(), *(folder.resolve() for folder in folders))):
        if folder not in sys.path:
            sys.path.append(folder)


def open_plan(file: Path) -> Plan:
    """Read the plan in a file; from then on, modules beside the file can be imported."""
    from polarbear.study import read_plan

    look_in(file.parent)
    return read_plan(file)


def open_problems(file: Path) -> tuple[ProblemSpec, ...]:
    """The problems of the plan in a file, or of its `[instances]` alone; then, modules beside it can be imported."""
    from polarbear.study import read_problems

    look_in(file.parent)
    return read_problems(file)


def resume_command(path: Path, spec: Mapping[str, Any]) -> str:
    """The command that continues a study."""
    from polarbear.study import modules_of

    return " ".join(["polarbear resume", shlex.quote(str(path)), *(f"--import {name}" for name in modules_of(spec))])


@contextmanager
def quiet_warnings() -> Generator[None]:
    """Print warnings as single lines on standard error, except those of failed runs, which the results report."""
    from polarbear.study import RunFailureWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunFailureWarning)
        warnings.showwarning = tell_warning  # pyright: ignore[reportAttributeAccessIssue]
        yield


def execute_race(race: Any, instances: Any, path: Path, workers: Workers, *, as_json: bool, **settings: Any) -> None:
    """Race to the end or to a limit, and print the answer; `settings` are those of `polarbear.study.race`."""
    from polarbear import optimizers, problems

    entrants = [optimizers.describe(algorithm) for algorithm in race.algorithms.values()]
    again = resume_command(path, {"instances": problems.describe(instances), "algorithms": entrants})
    result, live = run_race(race, instances, path, again, workers, **settings)
    print_result(result, path, as_json=as_json, stopped=live.reason)
    if live.reason and not as_json:
        echo(f"\nStopped: {live.reason}.\nContinue with: {again}")
    tell_remarks(live, path)


def tell_remarks(live: LiveProgress, path: Path) -> None:
    """Print where messages of runs can be read, if there are any."""
    if live.remarked:
        messages = "1 run has a message" if live.remarked == 1 else f"{live.remarked:,} runs have messages"
        echo(f"{messages}: polarbear show {shlex.quote(str(path))}", err=True)


def run_race(
    race: Any, instances: Any, path: Path, again: str, workers: Workers, **settings: Any
) -> tuple[RaceResult, LiveProgress]:
    """Race to the end or to a limit, and return result and progress; `again` is the command that continues it."""
    from polarbear import study
    from polarbear.cli.console import Console
    from polarbear.progress import LiveProgress

    with (
        quiet_warnings(),
        workers.executor() as executor,
        interruptible("everything committed", again),
        LiveProgress(Console(stderr=True)) as live,
    ):
        result = study.race(
            race, instances, path, workers=workers.workers, executor=executor, observer=live, **settings
        )
    return result, live


def execute_plan(
    plan: Plan,
    path: Path,
    again: str,
    workers: Workers,
    *,
    as_json: bool,
    tell: Callable[[], tuple[Mapping[str, Any], str]] | None = None,
    **settings: Any,
) -> None:
    """Run a plan to its end or to a limit.

    Args:
        plan: Plan to run.
        path: Path of its study.
        again: Command that continues it.
        workers: What executes the runs.
        as_json: Whether to print JSON.
        tell: Function that makes the final message about the runs, as JSON values and in words.
        **settings: Settings of `polarbear.study.run_plan`.
    """
    from polarbear.cli.console import Console
    from polarbear.progress import PlanProgress
    from polarbear.study import run_plan

    with (
        interruptible("every finished run", again),
        quiet_warnings(),
        workers.executor() as executor,
        PlanProgress(Console(stderr=True)) as progress,
    ):
        summary = run_plan(plan, path, workers=workers.workers, executor=executor, observer=progress, **settings)
    values, text = tell() if tell else (dict[str, Any](), "")
    if as_json:
        echo(to_json({**summary.as_dict(), **values}))
    else:
        print_summary(summary)
        if text:
            echo(text)
        if any(failures.traceback for failures in summary.failures):
            echo(f"Tracebacks: polarbear show {shlex.quote(str(path))}")
        echo(f"study: {path}")
        if summary.stopped:
            echo(f"\nStopped: {summary.stopped}.\nContinue with: {again}")
    if summary.there and summary.failed == summary.there:
        raise typer.Exit(EVERY_RUN_FAILED)


def load_race(study: Path) -> StudyView:
    """Load a study of a race, as far as it can be read; damaged files are named."""
    from polarbear.study import load

    view = load(study)
    tell_damage(view.damaged)
    return view


def print_result(result: Any, path: Path, *, as_json: bool, stopped: str = "", **extra: Any) -> None:
    """Print the result of a race."""
    from polarbear.analyzer.examination import answer_with_checks

    values, text = answer_with_checks(result)
    echo(to_json({"study": str(path), "stopped": stopped, **values, **extra}) if as_json else f"\n{text}")


def print_summary(summary: PlanSummary) -> None:
    """Print the progress of a plan."""
    from polarbear.cli.console import print_columns
    from polarbear.quantities import duration

    print_columns(
        ["algorithm", "runs", "evaluations", "time in workers", "failed"],
        [
            [name, f"{runs.runs:,}", f"{runs.evaluations:,}", duration(runs.seconds), f"{runs.failed:,}"]
            for name, runs in summary.algorithms.items()
        ],
    )
    echo(str(summary))

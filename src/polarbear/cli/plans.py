"""Commands on fixed plans: run, merge, and show of a plan."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.options import (
    BAD_INPUT,
    EVERY_RUN_FAILED,
    AcceptDamageOption,
    JsonOption,
    RetryKilledOption,
    SecondsOption,
    TakeOverOption,
    WorkersOption,
    to_json,
    to_place,
)
from polarbear.cli.running import (
    CAFileOption,
    CertOption,
    Cluster,
    ClusterOption,
    KeyOption,
    executor,
    interruptible,
    look_in,
    told_warnings,
)
from polarbear.cli.terminal import echo, tell_damage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polarbear.records import RunKey
    from polarbear.study import Estimate, Plan, PlanSummary


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (run, merge):
        app.command()(command)


def run(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan (TOML).", show_default=False)],
    into: Annotated[
        Path | None,
        typer.Option(
            parser=to_place,
            metavar="PATH",
            help="The study's directory, or its URL; default: the plan's name with .study.",
            show_default=False,
        ),
    ] = None,
    workers: WorkersOption = 1,
    cluster: ClusterOption = None,
    tls_ca_file: CAFileOption = None,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    seconds: SecondsOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be run and what it would cost; write nothing.")
    ] = False,
    retry_killed: RetryKilledOption = 1,
    accept_damage: AcceptDamageOption = False,
    take_over: TakeOverOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run every optimizer of a plan on every problem, resuming if the study exists."""
    from polarbear import store
    from polarbear.study import read_plan

    look_in(plan_file.parent)
    dask = Cluster.of(cluster, tls_ca_file, tls_cert, tls_key)
    plan, path = read_plan(plan_file), into or plan_file.with_suffix(".study")
    if dry_run:
        _estimate(plan, path, workers, on_cluster=cluster is not None, as_json=as_json)
        return
    if take_over:
        store.take_over(path)
    again = f"polarbear run {shlex.quote(str(plan_file))}" + (f" --into {shlex.quote(str(into))}" if into else "")
    options: dict[str, Any] = {"seconds": seconds, "accept_damage": accept_damage, "retry_killed": retry_killed}
    execute(plan, path, again, workers, dask, as_json=as_json, **options)


def merge(
    studies: Annotated[
        list[Path], typer.Argument(parser=to_place, metavar="STUDY…", help="The studies to unite.", show_default=False)
    ],
    into: Annotated[
        Path,
        typer.Option(
            parser=to_place, metavar="PATH", help="The new study's directory, or its URL.", show_default=False
        ),
    ],
    keep_first: Annotated[
        bool, typer.Option("--keep-first", help="Where runs differ, keep that of the study named first.")
    ] = False,
    accept_damage: AcceptDamageOption = False,
    as_json: JsonOption = False,
) -> None:
    """Unite the runs of studies, made on different machines, in a new study."""
    from polarbear.cli.console import Console
    from polarbear.store import MergeConflict
    from polarbear.store import merge as unite

    try:
        with Console(stderr=True).status("merging"):
            merged = unite(studies, into, keep_first=keep_first, accept_damage=accept_damage)
    except MergeConflict as error:
        if as_json:
            echo(to_json({"study": None, "conflicts": [str(one) for one in error.conflicts]}))
        echo(f"polarbear: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    except ValueError as error:
        echo(f"polarbear: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    if as_json:
        echo(
            to_json(
                {
                    "study": str(into),
                    "runs": merged.runs,
                    "taken": {str(path): count for path, count in zip(studies, merged.taken, strict=True)},
                    "shared": merged.shared,
                    "clocks": merged.clocks,
                    "conflicts": [str(one) for one in merged.conflicts],
                    "differences": list(merged.differences),
                    "rounds": merged.rounds,
                }
            )
        )
        return
    for line in _notes(merged):
        echo(line, err=True)
    taken = ", ".join(f"{count:,} of {path}" for path, count in zip(studies, merged.taken, strict=True))
    echo(f"{merged.runs:,} runs: {taken}\nstudy: {into}")


def holds_race(study: Path) -> bool:
    """Whether a study is one of a race; of the others, of plans, merged or imported, the runs are shown."""
    from polarbear import store

    with store.open(study) as stored:
        return "race" in stored.spec


def show(study: Path, *, as_json: bool) -> None:
    """Say how far a study's plan is, and what failed."""
    from polarbear.study import load_plan

    summary = load_plan(study)
    tell_damage(summary.damaged)
    if as_json:
        echo(to_json(summary.as_dict()))
        return
    _print_summary(summary)
    for failures in summary.failures:
        if failures.traceback:
            echo(f"\n{failures.example}:\n{failures.traceback.rstrip()}")


def execute(
    plan: Plan,
    path: Path,
    again: str,
    workers: int,
    cluster: Cluster | None,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Begin or go on with a plan; `again` is the command that goes on."""
    from polarbear.cli.console import Console
    from polarbear.cli.plan_progress import PlanProgress
    from polarbear.study import run_plan

    with (
        interruptible("every finished run", again),
        told_warnings(),
        executor(cluster) as pool,
        PlanProgress(Console(stderr=True)) as progress,
    ):
        summary = run_plan(plan, path, workers=workers, executor=pool, observer=progress, **options)
    if as_json:
        echo(to_json(summary.as_dict()))
    else:
        _print_summary(summary)
        if any(one.traceback for one in summary.failures):
            echo(f"Tracebacks: polarbear show {shlex.quote(str(path))}")
        echo(f"study: {path}")
        if summary.stopped:
            echo(f"\nStopped: {summary.stopped}.\nGo on with: {again}")
    if summary.there and summary.failed == summary.there:
        raise typer.Exit(EVERY_RUN_FAILED)


def _print_summary(summary: PlanSummary) -> None:
    from polarbear.cli.plan_progress import duration

    _print_columns(
        ["algorithm", "runs", "evaluations", "time in workers", "failed"],
        [
            [name, f"{one.runs:,}", f"{one.evaluations:,}", duration(one.seconds), f"{one.failed:,}"]
            for name, one in summary.algorithms.items()
        ],
    )
    echo(str(summary))


def _estimate(plan: Plan, path: Path, workers: int, *, on_cluster: bool, as_json: bool) -> None:
    from polarbear import store
    from polarbear.cli.console import Console
    from polarbear.study import check_same, estimate

    there: Iterable[RunKey] = ()
    if store.exists(path):
        with store.open(path) as study:
            check_same(path, study.spec, plan.describe())
        there = study
    with told_warnings(), Console(stderr=True).status("running a pilot"):
        found = estimate(plan, workers=workers, cores=workers if on_cluster else None, there=there)
    if as_json:
        echo(to_json({"study": str(path), **found.as_dict()}))
        return
    _print_estimate(found, plan)


def _print_estimate(found: Estimate, plan: Plan) -> None:
    from polarbear.cli.plan_progress import amount, counted, duration

    _print_columns(
        ["algorithm", "runs", "evaluations at most", "s/evaluation (variables)", "time in workers"],
        [
            [
                name,
                amount(one.runs),
                "–" if one.evaluations is None else amount(one.evaluations),
                ", ".join(f"{per:.1e} ({dimension})" for dimension, per in one.per_evaluation.items()) or "–",
                "unknown" if one.seconds is None else duration(one.seconds),
            ]
            for name, one in found.algorithms.items()
        ],
    )
    known = f", {found.there:,} of them are there already" if found.there else ""
    spent = "" if found.evaluations is None else f", {amount(found.evaluations)} evaluations at most"
    factors = ((plan.algorithms, "algorithm"), (plan.problems, "problem"), (plan.repetitions, "repetition"))
    made_of = " × ".join(counted(things, name) for things, name in factors)
    echo(f"{counted(found.total, 'run')}: {made_of}{known}{spent}")
    for name, one in found.algorithms.items():
        if one.trouble:
            echo(f"{name}: {one.trouble}")
    untold = [name for name, one in found.algorithms.items() if one.seconds is None]
    without = f", without {', '.join(untold)}" if untold else ""
    start = (
        f", {duration(found.starting)} of them until they have come up and loaded everything" if found.seconds else ""
    )
    shared = f", which share {counted(found.cores, 'core')}" if found.workers > found.cores else ""
    echo(f"about {duration(found.seconds)} with {counted(found.workers, 'worker')}{shared}{start}{without}")
    dimensions = ", ".join(map(str, found.dimensions)) or "no"
    echo(
        f"This rests on the beginnings of {counted(found.pilot_runs, 'run')}, {found.pilot_evaluations:,} evaluations "
        f"in {found.pilot_seconds:.1f} s, on {dimensions} variables. Runs that did not end by themselves are counted "
        "with their whole budget, and each evaluation as costly as the first ones."
    )


def _print_columns(header: list[str], rows: list[list[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from polarbear.cli.console import Console

    table: Any = Table(box=None, pad_edge=False)
    for place, name in enumerate(header):
        table.add_column(Text(name), justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def _notes(merged: Any) -> list[str]:
    """What was decided on the way."""
    lines = [f"different, kept as in the first: {conflict}" for conflict in merged.conflicts]
    if merged.shared:
        clocks = f"; of {merged.clocks:,} only clocks or error texts differ, and those of the first study are kept"
        lines.append(f"{merged.shared:,} runs stand in several studies and agree{clocks if merged.clocks else ''}")
    if merged.differences:
        lines.append(f"settings differ, so that the new study keeps no plan: {'; '.join(merged.differences)}")
    if merged.rounds:
        lines.append(
            f"{merged.rounds:,} rounds of races are not merged; race on the runs with: polarbear race --from "
            f"{shlex.quote(str(merged.study))}"
        )
    return lines

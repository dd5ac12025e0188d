"""`polarbear run`: execute a plan, or estimate what it would cost."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.executing import Repairs, execute_plan, open_plan, quiet_warnings
from polarbear.cli.options import JsonOption, PlanSecondsOption, place_option, to_json
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polarbear.records import RunKey
    from polarbear.study import Estimate, Plan

EXAMPLE = "polarbear run plan.toml --workers 4"
_LONG = 3600.0
"""Estimated duration, in seconds, above which a run has to be confirmed."""
_SMALL = 100_000
"""Number of evaluations up to which a plan runs without a pilot; an hour would mean 36 ms for each of them."""


def run(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan (TOML).", show_default=False)],
    workers: Workers,
    repairs: Repairs,
    into: Annotated[
        Path | None,
        place_option("The study's directory or URL. Default: the plan's name with .study.", metavar="PATH"),
    ] = None,
    seconds: PlanSecondsOption = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what would be run and, from a short pilot, what it would cost; write nothing."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run even if the estimate exceeds an hour.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run every optimizer of a plan on every problem, resuming if the study exists."""
    plan, path = open_plan(plan_file), into or plan_file.with_suffix(".study")
    if dry_run:
        _estimate(plan, path, workers, as_json=as_json)
        return
    if not (yes or seconds):
        _ask_if_long(plan, path, workers)
    again = f"polarbear run {shlex.quote(str(plan_file))}" + (f" --into {shlex.quote(str(into))}" if into else "")
    again += " --yes" if yes else ""
    execute_plan(plan, path, again, workers, as_json=as_json, seconds=seconds, **repairs.settings(path))


def _estimate(plan: Plan, path: Path, workers: Workers, *, as_json: bool) -> None:
    cost = _cost(plan, path, workers)
    if as_json:
        echo(to_json({"study": str(path), **cost.as_dict()}))
    else:
        print_estimate(cost, plan)


def _cost(plan: Plan, path: Path, workers: Workers) -> Estimate:
    """The estimated cost of the remaining runs, from a pilot."""
    from polarbear import store
    from polarbear.cli.console import Console
    from polarbear.study import check_same, estimate

    there: Iterable[RunKey] = ()
    if store.exists(path):
        with store.open(path) as study:
            check_same(path, study.spec, plan.describe())
        there = study
    with quiet_warnings(), Console(stderr=True).status("running a pilot"):
        cores = workers.workers if workers.cluster else None
        return estimate(plan, workers=workers.workers, cores=cores, there=there)


def _ask_if_long(plan: Plan, path: Path, workers: Workers) -> None:
    """Ask for confirmation if a plan is estimated to take more than an hour; small plans are not estimated."""
    from polarbear.quantities import amount, duration, plural

    if plan.evaluations is not None and plan.evaluations <= _SMALL:
        return
    cost = _cost(plan, path, workers)
    if cost.seconds <= _LONG:
        return
    runs = sum(algorithm.runs for algorithm in cost.algorithms.values())
    what = f"{plural(runs, 'run')} will take about {duration(cost.seconds)} with {plural(cost.workers, 'worker')}"
    evaluations = "" if cost.evaluations is None else f", {amount(cost.evaluations)} evaluations at most"
    if not sys.stdin.isatty():
        raise typer.BadParameter(
            f"{what}{evaluations}; confirm with --yes, or set a limit with --seconds. --dry-run gives details"
        )
    echo(f"{what}{evaluations}.", err=True)
    typer.confirm("Continue?", abort=True, err=True)


def print_estimate(cost: Estimate, plan: Plan) -> None:
    """Print the cost of a plan, and the basis of the estimate."""
    from polarbear.cli.console import print_columns
    from polarbear.quantities import amount, duration, plural

    print_columns(
        ["algorithm", "runs", "evaluations at most", "s/evaluation (variables)", "time in workers"],
        [
            [
                name,
                amount(algorithm.runs),
                "–" if algorithm.evaluations is None else amount(algorithm.evaluations),
                ", ".join(f"{per:.1e} ({dimension})" for dimension, per in algorithm.per_evaluation.items()) or "–",
                "unknown" if algorithm.seconds is None else duration(algorithm.seconds),
            ]
            for name, algorithm in cost.algorithms.items()
        ],
    )
    known = f", {cost.there:,} of them already stored" if cost.there else ""
    spent = "" if cost.evaluations is None else f", {amount(cost.evaluations)} evaluations at most"
    factors = ((plan.algorithms, "algorithm"), (plan.problems, "problem"), (plan.repetitions, "repetition"))
    made_of = " × ".join(plural(factor, name) for factor, name in factors)
    echo(f"{plural(cost.total, 'run')}: {made_of}{known}{spent}")
    for name, algorithm in cost.algorithms.items():
        if algorithm.trouble:
            echo(f"{name}: {algorithm.trouble}")
    unknown = [name for name, algorithm in cost.algorithms.items() if algorithm.seconds is None]
    without = f", not counting {', '.join(unknown)}" if unknown else ""
    start = f", including {duration(cost.starting)} to start them" if cost.seconds else ""
    shared = f", which share {plural(cost.cores, 'core')}" if cost.workers > cost.cores else ""
    echo(f"about {duration(cost.seconds)} with {plural(cost.workers, 'worker')}{shared}{start}{without}")
    dimensions = ", ".join(map(str, cost.dimensions)) or "no"
    echo(
        f"This is estimated from the first part of {plural(cost.pilot_runs, 'run')}, {cost.pilot_evaluations:,} "
        f"evaluations in {cost.pilot_seconds:.1f} s, on {dimensions} variables. It assumes that runs which did not end "
        "by themselves use their whole budget, and that each evaluation costs as much as the first ones."
    )

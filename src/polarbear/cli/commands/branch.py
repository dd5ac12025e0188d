"""`polarbear branch`: whether recorded runs would have done better with another optimizer from some evaluation on."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.executing import Repairs, execute_plan, look_in
from polarbear.cli.options import JsonOption, PlanSecondsOption, StudyArgument, place_option, repeatable
from polarbear.cli.recorded import Choice, bad_input
from polarbear.quantities import plural

EXAMPLE = "polarbear branch plan.study --at 100 --at 20*d --horizon 200 --workers 4"


def branch(
    study: StudyArgument,
    workers: Workers,
    repairs: Repairs,
    choice: Choice,
    at: Annotated[
        list[str] | None,
        repeatable("at", "Required: evaluations after which to branch, such as 100 or 20*d; repeatable."),
    ] = None,
    to: Annotated[
        list[str] | None,
        repeatable("to", "An algorithm of the study to continue with; repeatable. Default: from each run all others."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Repetitions of each branch, each with a different random seed.")
    ] = 5,
    horizon: Annotated[int, typer.Option(min=1, help="Evaluations of a branch.")] = 500,
    into: Annotated[
        Path | None,
        place_option("The study of the branches. Default: the study's name with .branches.study.", metavar="PATH"),
    ] = None,
    imports: Annotated[
        list[str] | None,
        repeatable("import", "A module or package that the study may import from; repeatable."),
    ] = None,
    seconds: PlanSecondsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Branch recorded runs midway: each continues unchanged and with every other algorithm, several times.

    Repeating the command resumes an interrupted study. Ends by reporting how often each switch beat staying.
    """
    from polarbear import store
    from polarbear.study import plan_branches

    if not at:
        raise typer.BadParameter(
            "--at is missing; give the numbers of evaluations after which to branch, such as --at 100"
        )
    path = into or study.with_suffix(".branches.study")
    if imports:
        look_in(study.parent)
    with bad_input():
        with store.open(study) as stored:
            chosen = set(stored.find(**asdict(choice)))
        plan = plan_branches(
            study,
            at=at,
            into=to or None,
            repeats=repeats,
            horizon=horizon,
            runs=chosen.__contains__,
            imports=imports or (),
        )
        execute_plan(
            plan,
            path,
            shlex.join(sys.argv),
            workers,
            as_json=as_json,
            tell=lambda: _gains(path, horizon, plan.skipped),
            seconds=seconds,
            **repairs.settings(path),
        )


def _gains(path: Path, horizon: int, skipped: int) -> tuple[dict[str, Any], str]:
    """How often each switch beat staying, as values and in words."""
    from polarbear import store
    from polarbear.selectors import switch_points

    with store.open(path) as study:
        found = switch_points(study.runs(), [horizon])
    wins = {
        first: dict(zip(points.ways[1:], points.wins()[:, 0, 1:].mean(axis=0).tolist(), strict=True))
        for first, points in found.items()
    }
    lines = [
        f"{first} → {way}: better than staying within {horizon} evaluations in {share:.0%} of all repeats at "
        f"{plural(found[first].at, 'point')}"
        for first, ways in wins.items()
        for way, share in ways.items()
    ]
    if skipped:
        lines.append(f"{plural(skipped, 'point')} skipped, as the run had ended")
    lines += [f"{first}: all repeats of staying are identical" for first, points in found.items() if points.unvaried]
    return {"wins": wins, "skipped": skipped}, "\n".join(lines)

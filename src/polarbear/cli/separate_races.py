"""Separate races of one study file on each function, dimension or group of instances, and who wins where."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.executing import Repairs, run_race, tell_remarks
from polarbear.cli.options import RaceLimits, to_json
from polarbear.cli.recorded import bad_input
from polarbear.cli.recorded_races import WHAT_BEST_IS, best_of, print_answers
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.racing import RaceResult
    from polarbear.study import Groups


class Apart(StrEnum):
    """Unit for each of which a race is held."""

    FUNCTION = "function"
    DIMENSION = "dimension"
    GROUP = "group"


def race_apart(
    study_file: Path,
    by: Sequence[Apart],
    groups: Path | None,
    folder: Path,
    workers: Workers,
    limits: RaceLimits,
    repairs: Repairs,
    *,
    as_json: bool,
) -> None:
    """Race on each part of the suite, resuming existing studies, and then report who wins where.

    Args:
        study_file: Path of the study file.
        by: Units by which the suite is divided.
        groups: Table of groups by which it is also divided.
        folder: Folder for the studies, one for each part.
        workers: What executes the runs.
        limits: When each race stops early.
        repairs: How to deal with what was killed or damaged.
        as_json: Whether to print JSON.
    """
    from polarbear.study import read_parts
    from polarbear.study.instance_groups import file_name

    if limits.withdraw:
        raise typer.BadParameter(
            "--withdraw is for a single race; use it with polarbear resume and the study of that race"
        )
    choices = [each.value for each in dict.fromkeys(by)]
    table = ["--groups", str(groups)] if groups else []
    divided = [word for each in choices for word in ("--apart", each)] + table
    again = shlex.join(["polarbear", "race", str(study_file), *divided, "--into", str(folder)])
    parts = read_parts(study_file, choices, table_of(groups))
    paths = {name: folder / f"{file_name(name)}.study" for name in parts}
    found: dict[str, RaceResult] = {}
    stopped: dict[str, str] = {}
    for number, (name, spec) in enumerate(parts.items(), start=1):
        echo(f"{name} ({number} of {len(parts)})", err=True)
        path = paths[name]
        found[name], live = run_race(
            spec.build_race(),
            spec.build_instances(),
            path,
            again,
            workers,
            stop=replace(spec.limits.stop, **limits.stops()),
            retry=limits.retry,
            **spec.run_settings(),
            **repairs.settings(path),
        )
        stopped[name] = live.reason
        tell_remarks(live, path)
    if as_json:
        races = [_as_dict(name, result, paths[name], stopped[name]) for name, result in found.items()]
        echo(to_json({"study": str(folder), "races": races}))
    else:
        _print(found, stopped, folder, again)


def table_of(groups: Path | None) -> Groups | None:
    """The groups in a table; None if there is no table."""
    from polarbear.study import read_groups

    with bad_input():
        return read_groups(groups) if groups else None


def _as_dict(name: str, result: RaceResult, path: Path, stopped: str) -> dict[str, Any]:
    from polarbear.analyzer import answer

    where = {"name": name, "study": str(path), "stopped": stopped, "best": best_of(result)}
    return where | answer(result).as_dict()


def _print(found: dict[str, RaceResult], stopped: dict[str, str], folder: Path, again: str) -> None:
    print_answers((name, result, f"{len(result.values):,}") for name, result in found.items())
    echo(WHAT_BEST_IS)
    echo(f"studies: {folder}/*.study; inspect one with polarbear show, select, check or report")
    for reason in dict.fromkeys(filter(None, stopped.values())):
        names = [name for name, why in stopped.items() if why == reason]
        echo(f"\nStopped: {', '.join(names)}: {reason}.")
    if any(stopped.values()):
        echo(f"Continue with: {again}")

"""`polarbear race`: race the optimizers of a study file, or on recorded runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.executing import Repairs, execute_race, look_in
from polarbear.cli.options import (
    FinalTargetOption,
    JsonOption,
    SecondsOption,
    WithdrawOption,
    place_option,
    to_json,
    to_place,
)
from polarbear.cli.recorded import Choice, bad_input
from polarbear.cli.terminal import echo


def race(
    workers: Workers,
    repairs: Repairs,
    choice: Choice,
    study_file: Annotated[
        Path | None, typer.Argument(help="A study file (TOML); with --from its [race] and [model].", show_default=False)
    ] = None,
    into: Annotated[
        Path | None, place_option("The study's directory, or its URL; default: the study file's name with .study.")
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option(
            "--from", parser=to_place, help="Race on these recorded runs, a study or an archive, and run nothing."
        ),
    ] = None,
    final_target: FinalTargetOption = None,
    seconds: SecondsOption = None,
    withdraw: WithdrawOption = None,
    as_json: JsonOption = False,
) -> None:
    """Race the optimizers of a study file, resuming if the study exists; or race on recorded runs."""
    from polarbear.study import read_spec

    if archive:
        if into or workers.cluster or seconds or withdraw or repairs.accept_damage or repairs.take_over:
            raise typer.BadParameter(
                "--into, --cluster, --seconds, --withdraw, --accept-damage and --take-over have no use with --from: "
                "nothing is run"
            )
        _race_recorded(archive, study_file, choice, final_target, as_json=as_json)
        return
    if final_target is not None:
        raise typer.BadParameter("--final-target is about recorded runs; it needs --from")
    if study_file is None:
        raise typer.BadParameter("give a study file, or recorded runs by --from")
    if choice:
        raise typer.BadParameter("--algorithm, --function and --dimension choose recorded runs; they need --from")
    look_in(study_file.parent)
    spec, path = read_spec(study_file), into or study_file.with_suffix(".study")
    stop = spec.limits.stop
    execute_race(
        spec.build_race(),
        spec.build_instances(),
        path,
        workers,
        stop=stop if seconds is None else replace(stop, seconds=seconds),
        withdraw=withdraw or (),
        as_json=as_json,
        **spec.run_settings(),
        **repairs.settings(path),
    )


def _race_recorded(
    archive: Path, study_file: Path | None, choice: Choice, final_target: float | None, *, as_json: bool
) -> None:
    """Race on recorded runs, and say what it would have saved."""
    from polarbear.analyzer.examination import answer_with_checks
    from polarbear.cli.console import Console
    from polarbear.store import exists
    from polarbear.store.specification import read_spec
    from polarbear.study import read_recorded_spec, recorded_race, replay

    with bad_input(), Console(stderr=True).status("racing"):
        subject = choice.subject([archive])
        if study_file:
            race = read_recorded_spec(study_file).race_of(subject.algorithms)
        else:
            race = recorded_race(subject.runs, spec=read_spec(archive) if exists(archive) else None)
        replayed = replay(race, subject.runs, final_target=final_target)
    values, text = answer_with_checks(replayed.result)
    echo(to_json({**values, **replayed.as_dict()}) if as_json else f"{text}\n\n{replayed}")

"""`polarbear race`: race the optimizers of a study file, or on recorded runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.executing import Repairs, execute_race, look_in
from polarbear.cli.options import JsonOption, RaceLimits, place_option, repeatable
from polarbear.cli.recorded import Choice
from polarbear.cli.recorded_races import Recorded, race_recorded
from polarbear.cli.separate_races import Apart, race_apart, table_of

EXAMPLE = "polarbear race study.toml --workers 4"


def race(
    workers: Workers,
    limits: RaceLimits,
    repairs: Repairs,
    recorded: Recorded,
    choice: Choice,
    study_file: Annotated[
        Path | None,
        typer.Argument(help="A study file (TOML); with --from only its [race] and [model] count.", show_default=False),
    ] = None,
    apart: Annotated[
        list[Apart] | None,
        repeatable(
            "apart",
            "Hold a separate race for each function or dimension of the suite, or for each group of BBOB "
            "functions; repeatable.",
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Hold a separate race for each group of instances in a CSV file with a column group and a "
            "column function or instance.",
            show_default=False,
        ),
    ] = None,
    into: Annotated[
        Path | None,
        place_option(
            "The study's directory or URL. Default: the study file's name with .study. With --from: a new "
            "study, or a folder of studies if there are several races. With --apart or --groups: a folder. "
            "Default: the study file's name with .studies."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Race the optimizers of a study file, resuming if the study exists; or race on recorded runs."""
    from polarbear.study import read_spec

    if recorded.archives:
        if workers.cluster or limits.given or repairs.accept_damage or repairs.take_over:
            raise typer.BadParameter(
                "--cluster, --seconds, --instances, --evaluations, --withdraw, --retry, --accept-damage and "
                "--take-over cannot be used with --from, which runs nothing"
            )
        if {*(apart or ())} - {Apart.GROUP}:
            raise typer.BadParameter(
                "--apart function or dimension cannot be used with --from: these races are apart unless --pool is given"
            )
        grouped = table_of(groups) or ("known" if apart else None)
        race_recorded(recorded, study_file, choice, into, grouped, as_json=as_json)
        return
    if study_file is None:
        raise typer.BadParameter("give a study file, or recorded runs with --from")
    if choice:
        raise typer.BadParameter("--algorithm, --function and --dimension choose recorded runs; they need --from")
    look_in(study_file.parent)
    if apart or groups:
        folder = into or study_file.with_suffix(".studies")
        race_apart(study_file, apart or (), groups, folder, workers, limits, repairs, as_json=as_json)
        return
    spec, path = read_spec(study_file), into or study_file.with_suffix(".study")
    execute_race(
        spec.build_race(),
        spec.build_instances(),
        path,
        workers,
        stop=replace(spec.limits.stop, **limits.stops()),
        withdraw=limits.withdraw or (),
        retry=limits.retry,
        as_json=as_json,
        **spec.run_settings(),
        **repairs.settings(path),
    )

"""`polarbear configure`: search a space for an optimizer's best configurations."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.executing import look_in, quiet_warnings
from polarbear.cli.options import JsonOption, place_option, to_json
from polarbear.cli.terminal import echo
from polarbear.cli.termination import interruptible
from polarbear.quantities import plural

if TYPE_CHECKING:
    from polarbear.study import ConfigurationResult, Worth

EXAMPLE = "polarbear configure space.toml --workers 4"


def configure(
    file: Annotated[Path, typer.Argument(metavar="SPACE", help="A space and a budget (TOML).", show_default=False)],
    workers: Workers,
    into: Annotated[
        Path | None, place_option("The study's directory; default: the file's name with .study.", metavar="PATH")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search a space for the best configurations of an optimizer, resuming if the study exists."""
    from polarbear import study
    from polarbear.cli.console import Console
    from polarbear.progress import ConfigureProgress

    look_in(file.parent)
    spec, configurator = study.read_configurator(file)
    path = into or file.with_suffix(".study")
    again = f"polarbear configure {shlex.quote(str(file))}" + (f" --into {shlex.quote(str(into))}" if into else "")
    with (
        interruptible("every finished run", again),
        quiet_warnings(),
        workers.executor() as executor,
        ConfigureProgress(Console(stderr=True)) as progress,
    ):
        result = study.configure(
            configurator,
            spec.build_instances(),
            path,
            validate=spec.configure.validate_on,
            workers=workers.workers,
            executor=executor,
            observer=progress,
        )
    if as_json:
        echo(to_json({"study": str(path), **result.as_dict()}))
        return
    _print(result)
    echo(f"\nstudy: {path}")
    if result.race:
        place = shlex.quote(str(result.path))
        echo(f"Ask its race for any budget: polarbear select {place}; polarbear report {place}")


def _print(result: ConfigurationResult) -> None:
    from polarbear.cli.console import print_columns

    names, found = result.configurator.space.names, result.configurations
    same = {key for key in names if len(found) > 1 and len({str(each.get(key, "–")) for each in found.values()}) == 1}
    varied = [key for key in names if key not in same]
    echo(f"anytime Pareto set: {len(found)} of {plural(result.configurator.configurations, 'configuration')} tried")
    print_columns(
        ["configuration", *varied],
        [[name, *(str(each.get(key, "–")) for key in varied)] for name, each in found.items()],
    )
    if same:
        first = next(iter(found.values()))
        echo("all of them: " + ", ".join(f"{key} = {first.get(key, '–')}" for key in sorted(same)))
    criterion = result.configurator.settings.criterion
    columns = ["on fresh instances", "beats the default", "promised", criterion, "promised"]
    rows = [
        [name, *_cells(result.wins.get(name), ".0%"), *_cells(result.means.get(name), ".4g")]
        for name in dict.fromkeys((*result.wins, *result.means))
    ]
    if rows:
        echo("")
        print_columns(columns if result.means else columns[:3], rows if result.means else [row[:3] for row in rows])


def _cells(worth: Worth | None, form: str) -> list[str]:
    if worth is None:
        return ["–", "–"]
    mean, low, high = (format(each, form) for each in worth.found)
    return [f"{mean} ({low} to {high})", format(worth.promised, form)]

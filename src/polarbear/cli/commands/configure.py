"""`polarbear configure`: search a space for an optimizer's best configurations."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.executing import look_in, quiet_warnings
from polarbear.cli.options import JsonOption, place_option, to_json
from polarbear.cli.terminal import echo
from polarbear.cli.termination import interruptible
from polarbear.quantities import plural

if TYPE_CHECKING:
    from polarbear.study import ConfigurationResult, ModuleAssessment, Worth

EXAMPLE = "polarbear configure space.toml --workers 4"


def configure(
    file: Annotated[
        Path, typer.Argument(metavar="SPACE", help="A TOML file with a space and a budget.", show_default=False)
    ],
    workers: Workers,
    into: Annotated[
        Path | None, place_option("The study's directory. Default: the file's name with .study.", metavar="PATH")
    ] = None,
    new: Annotated[
        str | None,
        typer.Option(
            "--new",
            metavar="MODULE",
            help="Assess a module of the space: search without it, search with it, race what both have found.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search a space for the best configurations of an optimizer, resuming if the study exists."""
    from polarbear import study
    from polarbear.cli.console import Console
    from polarbear.progress import ConfigureProgress

    look_in(file.parent)
    spec, configurator = study.read_configurator(file)
    if new:
        try:
            configurator.space.without(new)
        except ValueError as error:
            raise typer.BadParameter(f"--new: {error}") from error
    path = into or file.with_suffix(".study")
    again = f"polarbear configure {shlex.quote(str(file))}" + (f" --into {shlex.quote(str(into))}" if into else "")
    again += f" --new {shlex.quote(new)}" if new else ""
    with (
        interruptible("every finished run", again),
        quiet_warnings(),
        workers.executor() as executor,
        ConfigureProgress(Console(stderr=True)) as progress,
    ):
        settings: dict[str, Any] = {
            "validate": spec.configure.validate_on,
            "workers": workers.workers,
            "executor": executor,
            "observer": progress,
        }
        if new:
            try:
                assessed = study.assess_module(configurator, new, spec.build_instances(), path, **settings)
            except study.NothingToCompare as error:
                raise typer.BadParameter(str(error)) from error
            echo(to_json(assessed.as_dict())) if as_json else _print_assessment(assessed)
            return
        result = study.configure(configurator, spec.build_instances(), path, **settings)
    if as_json:
        echo(to_json({"study": str(path), **result.as_dict()}))
        return
    _print(result)
    echo(f"\nstudy: {path}")
    if result.race:
        race = shlex.quote(str(result.path))
        echo(f"Ask its race for any budget: polarbear select {race}; polarbear report {race}")


def _print_assessment(assessed: ModuleAssessment) -> None:
    from polarbear.cli.console import print_columns

    times, module = assessed.race.posterior.times, assessed.module
    mean, low, high = assessed.wins
    echo(
        f"the best with {module} beats the best without it in {mean:.0%} of runs ({low:.0%} to {high:.0%}), averaged "
        "over the logarithm of the budget"
    )
    shown = sorted({0, len(times) // 2, len(times) - 1})
    heads = ["", *(f"{times[t]:,.0f}" for t in shown)]
    rows = [["probability of being better with it", *(f"{assessed.better[t]:.2f}" for t in shown)]]
    for option, band in assessed.effects.items():
        cells = (f"{band.mean[t]:+.2f} ({band.low[t]:+.2f} to {band.high[t]:+.2f})" for t in shown)
        rows.append([f"effect of {option} on the log rating", *cells])
    print_columns(heads, rows)
    echo(f"\n{module} in the elites of the search with it:")
    print_columns(["configuration", module], [[name, str(option)] for name, option in assessed.options.items()])
    echo(f"\nanytime Pareto set: {', '.join(assessed.race.pareto_set)}")
    race = shlex.quote(str(assessed.path))
    echo(f"Ask their race for any budget: polarbear select {race}; polarbear report {race}")


def _print(result: ConfigurationResult) -> None:
    from polarbear.cli.console import print_columns

    names, elites = result.configurator.space.names, result.configurations
    options = {key: [str(each.get(key, "–")) for each in elites.values()] for key in names}
    same = {key: shown[0] for key, shown in sorted(options.items()) if len(shown) > 1 and len(set(shown)) == 1}
    varied = {key: shown for key, shown in options.items() if key not in same}
    echo(f"anytime Pareto set: {len(elites)} of {plural(result.configurator.configurations, 'configuration')} tried")
    print_columns(["configuration", *varied], zip(elites, *varied.values(), strict=True))
    if same:
        echo("all of them: " + ", ".join(f"{key} = {option}" for key, option in same.items()))
    echo(result.default_in_words())
    echo(result.recommendation_in_words())
    head = ["on fresh instances", "P(dominated)", "beats the default", "promised", result.criterion, "promised", "gap"]
    rows = [
        [
            name,
            format(probability, ".2f"),
            *_cells(result.wins.get(name), ".0%"),
            *_cells(mean := result.means.get(name), ".4g"),
            format(mean.gap, "+.2g") if mean else "–",
        ]
        for name, probability in result.dominated.items()
    ]
    if rows:
        echo("")
        print_columns(head, rows)
        echo("gap: value on fresh instances minus promised value")
    if result.remark:
        echo(result.remark)


def _cells(worth: Worth | None, form: str) -> list[str]:
    if worth is None:
        return ["–", "–"]
    mean, low, high = (format(each, form) for each in worth.found)
    return [f"{mean} ({low} to {high})", format(worth.promised, form)]

"""`polarbear modules`: which option of an optimizer matters when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from polarbear.cli.options import JsonOption, to_json
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.configure import Band, Effects

EXAMPLE = "polarbear modules space.study"
_SHOWN = 5
"""Number of timepoints in the tables."""


def modules(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study made by polarbear configure.", show_default=False)
    ],
    pair: Annotated[
        list[str] | None,
        typer.Option(
            "--pair",
            help="Two modules whose options may help or hinder each other, such as 'active,mirrored'; repeatable.",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder for SVG figures: importance, effects, configurations, elites and more."
        ),
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="STUDY",
            help="Another such study, for example on another function, to include in figures; repeatable.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Report which option of an optimizer matters when, from all runs of a configurator."""
    from polarbear.cli.console import print_columns
    from polarbear.study import effects_of

    pairs: list[tuple[str, str]] = []
    for text in pair or ():
        first, comma, second = text.partition(",")
        if not comma:
            raise typer.BadParameter(f"--pair is {text!r}; name two modules, such as active,mirrored")
        pairs.append((first.strip(), second.strip()))
    effects = effects_of(study, pairs=pairs)
    drawn = _draw(figures, study, effects, beside or []) if figures else []
    if as_json:
        echo(to_json(_as_dict(effects) | ({"figures": drawn} if figures else {})))
        return
    shown = np.unique(np.linspace(0, effects.times.size - 1, _SHOWN).round().astype(int))
    heads = [f"{effects.times[t]:,.0f}" for t in shown]
    echo("Share in the variance of log ratings, with 95 % intervals, by number of evaluations:")
    importance = effects.importance()
    order = sorted(importance, key=lambda name: -float(importance[name].mean.mean()))
    print_columns(
        ["", *heads],
        [
            [name, *(f"{band.mean[t]:.0%} ({band.low[t]:.0%} to {band.high[t]:.0%})" for t in shown)]
            for name in order
            for band in [importance[name]]
        ],
    )
    echo("\nEffect on the log rating, relative to the mean of the module's options:")
    rows: list[list[str]] = []
    for name in order:
        if name in effects.space.names:
            for option, band in effects.of(name).items():
                cells = (f"{band.mean[t]:+.2f} ({band.low[t]:+.2f} to {band.high[t]:+.2f})" for t in shown)
                rows.append([f"{name}: {option}", *cells])
    print_columns(["", *heads], rows)
    if drawn:
        echo("\nfigures: " + ", ".join(drawn))


def _draw(folder: Path, study: Path, effects: Effects, beside: list[Path]) -> list[str]:
    """Draw the figures into a folder, and return their files."""
    from polarbear.analyzer.modules import module_figures

    folder.mkdir(parents=True, exist_ok=True)
    paths: list[str] = []
    for name, figure in module_figures(study, effects, beside).items():
        figure.save(folder / f"{name}.svg")
        paths.append(str(folder / f"{name}.svg"))
    return paths


def _as_dict(effects: Effects) -> dict[str, object]:
    return {
        "times": effects.times.tolist(),
        "importance": {name: _plain(band) for name, band in effects.importance().items()},
        "effects": {
            name: {option: _plain(band) for option, band in effects.of(name).items()} for name in effects.space.names
        },
    }


def _plain(band: Band) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in band._asdict().items()}

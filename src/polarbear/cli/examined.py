"""Print the check of a study's model."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from polarbear.analyzer import Examination
from polarbear.cli.console import Console
from polarbear.inference import Check

_VERDICTS = {True: "passed", False: "failed", None: "not checked"}


def show_examination(found: Examination, console: Console) -> None:
    """Print how the models compare, and the checks: tables and sentences."""
    console.print(_comparison(found))
    for model in found.comparison.models:
        console.print(Text(model.verdict))
    console.print()
    console.print(_checks(found.checks))


def _comparison(found: Examination) -> Table:
    rankings, instances = found.comparison.rankings, found.comparison.instances
    table = Table(
        title=f"Models by how well they predict {rankings:,} rankings on {instances:,} left-out instances",
        title_justify="left",
        caption=f"The study's model is {found.model}. Certainty: the posterior is as sure as if so many times as many "
        "instances had been run; about 1 is right, far above it intervals are too narrow.",
        caption_justify="left",
    )
    for column in ("model", "log score", "behind", "parameters", "certainty"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for model in found.comparison.models:
        behind = f"{model.behind:,.1f} ± {model.behind_error:,.1f}" if model.behind else "–"
        surely = f"{found.overconfidence[model.name]:.1f} ×"
        table.add_row(Text(model.name), f"{model.elpd:,.1f}", behind, f"{model.effective_parameters:,.1f}", surely)
    return table


def _checks(checks: tuple[Check, ...]) -> Table:
    table = Table(title="What all these models assume", title_justify="left")
    for column in ("assumption", "check", "p"):
        table.add_column(column)
    table.add_column("what it says", ratio=1)
    for one in checks:
        chance = "–" if one.p_value is None else f"{one.p_value:.3f}"
        table.add_row(one.name, _VERDICTS[one.passed], chance, Text(one.verdict), end_section=True)
    return table

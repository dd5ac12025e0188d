"""`polarbear assess`: a page of statistics of recorded runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from polarbear.cli.options import DataArgument, JsonOption, repeatable, to_json
from polarbear.cli.recorded import AbsoluteOption, Choice, bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear assess archive.study --dimension 5 --into page"


def assess(
    data: DataArgument,
    choice: Choice,
    into: Annotated[Path, typer.Option(help="The folder of the page and the tables.")] = Path("assessment"),
    every_figure: Annotated[bool, typer.Option("--figures", help="Also draw every function by itself.")] = False,
    target: Annotated[
        list[float] | None, repeatable("target", "A target precision; repeatable. Default: 51 from 100 to 1e-8.")
    ] = None,
    absolute: AbsoluteOption = None,
    background: Annotated[
        list[Path] | None,
        repeatable("background", "A study or archive whose algorithms are drawn grey in runtime distributions."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Assess recorded runs: runtimes, expected runtimes, attainment, values at budgets."""
    from polarbear.analyzer.assessment import write_assessment
    from polarbear.analyzer.assessment.page import cautions, headline, standings_table
    from polarbear.assess import report
    from polarbear.cli.console import Console, print_table
    from polarbear.progress import steps

    with bad_input(), steps(Console(stderr=True), "reading") as step:
        subject = choice.subject(data, target, absolute)
        step("computing")
        assessment = report.Assessment(subject)
        archived = replace(choice, algorithm=None).subject(background, target, absolute) if background else None
        step("comparing")
        comparable = any(len(cell.trials) == len(subject.algorithms) > 1 for cell in subject.cells)
        page = write_assessment(
            assessment,
            into,
            comparison=report.compare(assessment) if comparable else None,
            background=report.Assessment(archived) if archived else None,
            every_figure=every_figure,
            progress=step,
        )
    if as_json:
        echo(to_json({"page": str(page), "cautions": cautions(assessment), **assessment.as_dict()}))
        return
    print_table(standings_table(assessment))
    echo("\n".join([f"{headline(assessment)}.", *cautions(assessment), f"page: {page}"]))

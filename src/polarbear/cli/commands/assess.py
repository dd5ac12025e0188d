"""`polarbear assess`: a page of statistics of recorded runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polarbear.cli.options import DataArgument, JsonOption, repeatable, to_json
from polarbear.cli.recorded import AbsoluteOption, Choice, bad_input
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.assess.report.target_tables import Where
    from polarbear.records import FloatArray

EXAMPLE = "polarbear assess archive.study --dimension 5 --into page"


def assess(
    data: DataArgument,
    choice: Choice,
    into: Annotated[Path, typer.Option(help="Folder for the page and the tables.")] = Path("assessment"),
    every_figure: Annotated[bool, typer.Option("--figures", help="Also draw each function separately.")] = False,
    target: Annotated[
        list[float] | None, repeatable("target", "A target precision; repeatable. Default: 51 from 100 to 1e-8.")
    ] = None,
    absolute: AbsoluteOption = None,
    targets: Annotated[
        str | None,
        typer.Option(
            "--targets",
            metavar="FILE|budget",
            help="Targets of each function: a CSV file with columns suite, function, dimension and target; "
            "or 'budget', to derive them from the 31 budgets of COCO's expensive scenario.",
        ),
    ] = None,
    reference: Annotated[
        list[Path] | None,
        repeatable("reference", "Algorithms from which 'budget' derives targets; repeatable. Default: those assessed."),
    ] = None,
    background: Annotated[
        list[Path] | None,
        repeatable(
            "background", "A study or archive whose algorithms are drawn grey in runtime distributions; repeatable."
        ),
    ] = None,
    best: Annotated[
        Path | None,
        typer.Option(
            help="A COCO archive of a reference algorithm, such as best 2009, to draw in place of the best "
            "of those assessed.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Assess recorded runs: runtimes, expected runtimes, attainment, values at budgets."""
    from polarbear.analyzer.assessment import write_assessment
    from polarbear.analyzer.assessment.page import cautions, headline, standings_table
    from polarbear.assess import report
    from polarbear.cli.console import Console, print_table
    from polarbear.progress import steps
    from polarbear.store import read_reference

    with bad_input(), steps(Console(stderr=True), "reading") as step:
        subject = choice.subject(data, target, absolute)
        given = None if targets is None else _table(targets, choice, data, reference)
        if given is not None:
            subject = report.with_targets(subject, given)
        step("computing")
        assessment = report.Assessment(subject)
        archived = replace(choice, algorithm=None).subject(background, target, absolute) if background else None
        if archived and given is not None:
            archived = report.with_targets(archived, given)
        step("comparing")
        comparable = any(len(cell.trials) == len(subject.algorithms) > 1 for cell in subject.cells)
        page = write_assessment(
            assessment,
            into,
            comparison=report.compare(assessment) if comparable else None,
            background=report.Assessment(archived) if archived else None,
            best=read_reference(best) if best else None,
            every_figure=every_figure,
            progress=step,
        )
    if as_json:
        echo(to_json({"page": str(page), "cautions": cautions(assessment), **assessment.as_dict()}))
        return
    print_table(standings_table(assessment))
    echo("\n".join([f"{headline(assessment)}.", *cautions(assessment), f"page: {page}"]))


def _table(targets: str, choice: Choice, data: list[Path], reference: list[Path] | None) -> dict[Where, FloatArray]:
    """Targets of each function, from a file or from budgets."""
    from polarbear.assess import report

    if targets != "budget":
        return report.read_targets(targets)
    chosen = replace(choice, algorithm=None) if reference else choice
    return report.budget_based_targets(report.Assessment(chosen.subject(reference or data)))

"""`polarbear report`: a study's report as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polarbear.cli.executing import load_race
from polarbear.cli.options import JsonOption, StudyArgument, to_json
from polarbear.cli.terminal import echo


def report(
    study: StudyArgument,
    output: Annotated[
        Path | None, typer.Option(help="The page to write; default: report.html in the study.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a study's report: one self-contained HTML page."""
    from polarbear.analyzer import report as write_report

    page = write_report(load_race(study), output or study / "report.html")
    echo(to_json({"report": str(page)}) if as_json else f"report: {page}")

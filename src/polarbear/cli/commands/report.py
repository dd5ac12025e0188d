"""`polarbear report`: the page appropriate to a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polarbear.cli.commands.assess import assess
from polarbear.cli.executing import load_race
from polarbear.cli.options import JsonOption, StudyArgument, to_json
from polarbear.cli.recorded import Choice, bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear report study.study --into report.html"
RENAMED = {"output": "into"}
"""Former names of options."""


def report(
    study: StudyArgument,
    into: Annotated[
        Path | None,
        typer.Option(
            help="The page; without a race its folder. Default: report.html in the study; without a race the "
            "study's name with .assessment, with --full with .analyzer.",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Write all views of the analyzer as a folder of pages that need no server.")
    ] = False,
    most: Annotated[
        int,
        typer.Option(
            min=1, help="With --full: maximum number of problems, dimensions or functions for which a view is shown."
        ),
    ] = 12,
    as_json: JsonOption = False,
) -> None:
    """Write the page that suits the study: the report of a race, or the assessment of any other runs."""
    if full:
        _full(study, into or _beside(study, ".analyzer"), most, as_json=as_json)
        return
    from polarbear.analyzer import report as write_report
    from polarbear.store.specification import read_spec

    if "race" not in read_spec(study):
        assess([study], Choice(), into or _beside(study, ".assessment"), as_json=as_json)
        return
    page = write_report(load_race(study), into or study / "report.html")
    echo(to_json({"report": str(page)}) if as_json else f"report: {page}")


def _beside(study: Path, ending: str) -> Path:
    """The folder for pages named after a study, beside it, or here if the study is remote or in the library."""
    from polarbear.store import Library, remote

    library = Library().folder
    if remote(study):
        return Path(study.name.removesuffix(".study") + ending)
    if study.is_relative_to(library):
        return Path(study.relative_to(library).parts[0] + ending)
    return study.with_name(study.name.removesuffix(".study") + ending)


def _full(study: Path, folder: Path, most: int, *, as_json: bool) -> None:
    from polarbear.progress import Console, steps
    from polarbear.web.site import write_site

    with bad_input(), steps(Console(stderr=True), "reading") as step:
        page = write_site(study, folder, most=most, progress=step)
    echo(to_json({"report": str(page)}) if as_json else f"report: {page}")

"""`polarbear export`: write runs in the formats of other tools."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from polarbear.cli.options import DataArgument, JsonOption, to_json
from polarbear.cli.recorded import Choice, bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear export archive.study --format csv --into runs.csv"
RENAMED = {"to": "into"}
"""Former names of options."""


class _Format(StrEnum):
    IOHPROFILER = "iohprofiler"
    COCO = "coco"
    CSV = "csv"
    PARQUET = "parquet"


def export(
    study: DataArgument,
    into: Annotated[Path, typer.Option(help="A new folder; for csv and parquet a file.", show_default=False)],
    choice: Choice,
    form: Annotated[_Format, typer.Option("--format", help="Format to write.")] = _Format.IOHPROFILER,
    as_json: JsonOption = False,
) -> None:
    """Write recorded runs for IOHanalyzer, cocopp or any other tool."""
    from polarbear.quantities import plural
    from polarbear.store import export_checked

    with bad_input():
        subject = choice.subject(study, samples=form is _Format.PARQUET)
        exported = export_checked((*subject.runs, *subject.lost), into, form.value)
    if exported.left_out:
        echo(f"left out: {exported.why}", err=True)
    if as_json:
        left_out = [asdict(key) for key in exported.left_out]
        echo(to_json({"path": str(exported.path), "runs": exported.runs, "left_out": left_out, "why": exported.why}))
        return
    echo(f"{plural(exported.runs, 'run')}: {exported.path}")

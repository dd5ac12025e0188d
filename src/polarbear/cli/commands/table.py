"""`polarbear table`: expected runtimes as in COCO's papers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from polarbear.cli.options import DataArgument, JsonOption, repeatable, to_json
from polarbear.cli.recorded import AbsoluteOption, Choice, bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear table archive.study --format latex"


class _Format(StrEnum):
    TEXT = "text"
    LATEX = "latex"
    HTML = "html"


def table(
    data: DataArgument,
    choice: Choice,
    form: Annotated[_Format, typer.Option("--format", help="Format of the tables.")] = _Format.TEXT,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="A COCO archive of a reference algorithm, such as best 2009, by which runtimes are divided.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        list[float] | None,
        repeatable("target", "A target precision; repeatable. Default: 10, 1, 0.1, 0.01, 1e-3, 1e-5 and 1e-7."),
    ] = None,
    absolute: AbsoluteOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print tables of expected runtimes as in COCO's papers, one for each suite and dimension."""
    from polarbear import assess
    from polarbear.assess.report import left_out, runtime_tables, table_rows
    from polarbear.store import read_reference

    with bad_input():
        subject = choice.subject(data, absolute=absolute)
        if note := left_out(subject):
            echo(f"note: {note}", err=True)
        tables = runtime_tables(subject, target, read_reference(reference) if reference else None)
    if as_json:
        echo(to_json(table_rows(tables)))
        return
    write = {_Format.TEXT: assess.as_text, _Format.LATEX: assess.as_latex, _Format.HTML: assess.as_html}[form]
    echo("\n\n".join(map(write, tables)))

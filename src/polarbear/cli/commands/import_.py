"""`polarbear import`: bring other tools' data into a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polarbear.cli.executing import take_over
from polarbear.cli.options import DataArgument, JsonOption, TakeOverOption, place_option, repeatable, to_json
from polarbear.cli.recorded import bad_input, say_skipped
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from rich.progress import Progress

EXAMPLE = "polarbear import BIPOP-CMA-ES.tgz --into archive.study"


def import_(
    paths: DataArgument,
    into: Annotated[Path, place_option("The study; created if necessary.")],
    rename: Annotated[list[str] | None, repeatable("rename", "OLD=NEW: an algorithm's new name; repeatable.")] = None,
    suite: Annotated[
        str,
        typer.Option(
            help="The suite of data that name none, such as bbob; sets the optima that are known.", show_default=False
        ),
    ] = "",
    columns: Annotated[
        list[str] | None,
        repeatable(
            "columns",
            "OURS=THEIRS: a column of CSV or Parquet files whose name differs from ours, such as "
            "value=best; repeatable, or several separated by commas.",
        ),
    ] = None,
    maximize: Annotated[
        bool, typer.Option("--maximize", help="Values of CSV and Parquet files are to be maximized.")
    ] = False,
    take_over_lock: TakeOverOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import data of COCO, IOHprofiler, IOHanalyzer, nevergrad, SOS, CSV or Parquet into a study."""
    from polarbear import store
    from polarbear.problems import raw_optimum
    from polarbear.quantities import plural

    names = dict(_pair("rename", text, "OLD=NEW") for text in rename or ())
    renamed = [each for text in columns or () for each in text.split(",")]
    take_over(into, wanted=take_over_lock)
    with bad_input(), _progress() as bar:
        task = bar.add_task("reading", total=None)
        imported = store.import_runs(
            paths,
            into,
            rename=names,
            columns=dict(_pair("columns", text.strip(), "OURS=THEIRS") for text in renamed),
            maximize=maximize,
            suite=suite,
            optimum=raw_optimum if suite else None,
            progress=lambda path, done, total: bar.update(
                task, description=Path(path).name, completed=done, total=total
            ),
        )
    if as_json:
        counts = {name: getattr(imported, name) for name in ("added", "known", "instances")}
        skipped = [str(skip) for skip in imported.skipped]
        echo(to_json({"study": str(into), "algorithms": list(imported.algorithms), "skipped": skipped} | counts))
        return
    say_skipped(imported.skipped)
    for old, new in names.items():
        if new not in imported.algorithms:
            echo(f"not renamed: there is no algorithm {old!r}", err=True)
    known = f", {imported.known:,} already there" if imported.known else ""
    what = f"{', '.join(imported.algorithms)} on {plural(imported.instances, 'instance')}"
    echo(f"{plural(imported.added, 'run')} imported{known}: {what}\nstudy: {into}")


def _progress() -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from polarbear.cli.console import Console

    description = TextColumn("{task.description}", markup=False)
    return Progress(description, BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True)


def _pair(option: str, text: str, form: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise typer.BadParameter(f"--{option} is {text!r}; write it as {form}")
    return left, right

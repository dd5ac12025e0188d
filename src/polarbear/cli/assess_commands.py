"""Commands on recorded runs: import, export, assess, compare, table, race --from."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.options import (
    BAD_INPUT,
    AlgorithmsOption,
    Choice,
    DataArgument,
    DimensionsOption,
    FunctionsOption,
    JsonOption,
    TakeOverOption,
    to_json,
    to_place,
)
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.analyzer.html import Table
    from polarbear.cli.console import Console
    from polarbear.race import RaceResult
    from polarbear.records import Run, RunKey
    from polarbear.store import Skipped

_SHOWN_SKIPS = 20


class ExportFormat(StrEnum):
    """Formats to write."""

    IOHPROFILER = "iohprofiler"
    COCO = "coco"
    CSV = "csv"
    PARQUET = "parquet"


class TableFormat(StrEnum):
    """How to write a table of expected runtimes."""

    TEXT = "text"
    LATEX = "latex"
    HTML = "html"


class Test(StrEnum):
    """Two-sample tests."""

    KOLMOGOROV_SMIRNOV = "kolmogorov-smirnov"
    MANN_WHITNEY = "mann-whitney"


class Correction(StrEnum):
    """Corrections of p-values for the number of pairs."""

    HOLM = "holm"
    BONFERRONI = "bonferroni"
    HOCHBERG = "hochberg"
    NONE = "none"


TargetsOption = Annotated[
    list[float] | None,
    typer.Option("--target", help="A target precision; repeatable. Default: 51 from 100 to 1e-8.", show_default=False),
]
TableTargetsOption = Annotated[
    list[float] | None,
    typer.Option(
        "--target",
        help="A target precision; repeatable. Default: 10, 1, 0.1, 0.01, 1e-3, 1e-5 and 1e-7.",
        show_default=False,
    ),
]
AbsoluteOption = Annotated[
    list[float] | None,
    typer.Option(
        "--absolute",
        help="A target that is an objective value, where optima are not known; repeatable, in place of --target.",
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("import")(import_)
    for command in (export, assess, compare, table):
        app.command()(command)


def import_(
    paths: DataArgument,
    into: Annotated[
        Path, typer.Option(parser=to_place, help="The study to bring them into; made if need be.", show_default=False)
    ],
    rename: Annotated[
        list[str] | None, typer.Option(help="OLD=NEW: an algorithm's new name; repeatable.", show_default=False)
    ] = None,
    suite: Annotated[
        str, typer.Option(help="The suite of data that name none, such as bbob; sets known optima.", show_default=False)
    ] = "",
    take_over: TakeOverOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import data of COCO, IOHprofiler, IOHanalyzer, nevergrad, SOS, CSV or Parquet into a study."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from polarbear import store
    from polarbear.cli.console import Console
    from polarbear.problems import raw_optimum

    names = dict(_renaming(one) for one in rename or ())
    if take_over:
        store.take_over(into)
    with (
        _mendable(),
        Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            console=Console(stderr=True),
            transient=True,
        ) as bar,
    ):
        task = bar.add_task("reading", total=None)

        def advance(path: str, done: int, total: int) -> None:
            bar.update(task, description=Path(path).name, completed=done, total=total)

        found = store.import_runs(
            paths,
            into,
            rename=names,
            suite=suite,
            optimum=raw_optimum if suite else None,
            progress=advance,
        )
    if as_json:
        echo(
            to_json(
                {
                    "study": str(into),
                    "added": found.added,
                    "known": found.known,
                    "algorithms": list(found.algorithms),
                    "instances": found.instances,
                    "skipped": [str(one) for one in found.skipped],
                }
            )
        )
        return
    _say_skipped(found.skipped, all_of_it=True)
    for old, new in names.items():
        if new not in found.algorithms:
            echo(f"not renamed: there is no algorithm {old!r}", err=True)
    known = f", {found.known:,} were there before" if found.known else ""
    echo(
        f"{found.added:,} runs imported{known}: {', '.join(found.algorithms)} on {found.instances:,} instances\n"
        f"study: {into}"
    )


def export(
    study: DataArgument,
    to: Annotated[Path, typer.Option(help="A new folder; for csv and parquet a file.", show_default=False)],
    form: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.IOHPROFILER,
    algorithm: AlgorithmsOption = None,
    function: FunctionsOption = None,
    dimension: DimensionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write recorded runs for IOHanalyzer, cocopp or any other tool."""
    from polarbear.store import export_checked

    with _mendable():
        subject = Choice.of(algorithm, function, dimension).subject(_runs(study, samples=form is ExportFormat.PARQUET))
        done = export_checked((*subject.runs, *subject.lost), to, form.value)
    if done.left_out:
        echo(f"left out: {done.why}", err=True)
    if as_json:
        left_out = [asdict(key) for key in done.left_out]
        echo(to_json({"path": str(done.path), "runs": done.runs, "left_out": left_out, "why": done.why}))
        return
    echo(f"{done.runs:,} runs: {done.path}")


def assess(
    data: DataArgument,
    into: Annotated[Path, typer.Option(help="The folder of the page and the tables.")] = Path("assessment"),
    every_figure: Annotated[bool, typer.Option("--figures", help="Also draw every function by itself.")] = False,
    target: TargetsOption = None,
    absolute: AbsoluteOption = None,
    algorithm: AlgorithmsOption = None,
    function: FunctionsOption = None,
    dimension: DimensionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Assess recorded runs: runtimes, expected runtimes, attainment, values at budgets."""
    from rich.text import Text

    from polarbear.analyzer.assessment import write_assessment
    from polarbear.analyzer.assessment.page import cautions, headline, standings_table
    from polarbear.assess import report
    from polarbear.cli.console import Console

    console = Console(stderr=True)
    with _mendable(), console.status("reading") as status:
        subject = Choice.of(algorithm, function, dimension).subject(_runs(data), target, absolute)
        status.update("computing")
        found = report.Assessment(subject)
        together = [cell for cell in subject.cells if len(cell.trials) == len(subject.algorithms)]
        comparison = report.compare(found) if len(subject.algorithms) > 1 and together else None
        page = write_assessment(
            found,
            into,
            comparison=comparison,
            every_figure=every_figure,
            progress=lambda title: status.update(Text(title)),
        )
    if as_json:
        echo(to_json({"page": str(page), "cautions": cautions(found), **found.as_dict()}))
        return
    _print_table(standings_table(found), Console())
    echo("\n".join([f"{headline(found)}.", *cautions(found), f"page: {page}"]))


def compare(
    data: DataArgument,
    target: Annotated[
        float | None, typer.Option(help="Compare evaluations to this precision.", show_default=False)
    ] = None,
    absolute: Annotated[
        float | None, typer.Option(help="Compare evaluations to this objective value.", show_default=False)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(min=1, help="Compare values after so many evaluations.", show_default=False)
    ] = None,
    test: Annotated[Test, typer.Option(help="The test of each pair on each problem.")] = Test.KOLMOGOROV_SMIRNOV,
    correction: Annotated[
        Correction, typer.Option(help="Of the p-values of a problem for the number of pairs.")
    ] = Correction.HOLM,
    alpha: Annotated[
        float, typer.Option(min=1e-9, max=0.5, help="Probability allowed for a false rejection on a problem.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Of games and bootstrap samples.")] = 0,
    algorithm: AlgorithmsOption = None,
    function: FunctionsOption = None,
    dimension: DimensionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare algorithms: tests, Glicko-2, deep and robust rankings, contributions. Default: areas over the budget."""
    from polarbear.analyzer.assessment.page import comparison_tables, failures_in_words, verdict
    from polarbear.assess import report
    from polarbear.cli.console import Console

    values = None if absolute is None else [absolute]
    with _mendable(), Console(stderr=True).status("comparing"):
        if absolute is not None and target is not None:
            raise ValueError(f"compare runtimes to a precision ({target:g}) or to a value ({absolute:g}), not both")
        found = report.compare(
            report.Assessment(Choice.of(algorithm, function, dimension).subject(_runs(data), None, values)),
            target=target if absolute is None else absolute,
            budget=budget,
            test=test.value,
            correction=correction.value,
            alpha=alpha,
            seed=seed,
        )
    if as_json:
        echo(to_json({"cautions": failures_in_words(found.failures), **found.as_dict()}))
        return
    for one in comparison_tables(found):
        _print_table(one, Console())
    for sentence in verdict(found):
        echo(sentence)


def table(
    data: DataArgument,
    form: Annotated[TableFormat, typer.Option("--format", help="How to write it.")] = TableFormat.TEXT,
    reference: Annotated[
        Path | None,
        typer.Option(help="A COCO archive of a reference algorithm, such as best 2009.", show_default=False),
    ] = None,
    target: TableTargetsOption = None,
    absolute: AbsoluteOption = None,
    algorithm: AlgorithmsOption = None,
    function: FunctionsOption = None,
    dimension: DimensionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print tables of expected runtimes as in COCO's papers, one for each suite and dimension."""
    from polarbear.assess import as_html, as_latex, as_text
    from polarbear.assess.report import left_out, runtime_tables, table_rows
    from polarbear.store import read_reference

    with _mendable():
        subject = Choice.of(algorithm, function, dimension).subject(_runs(data), None, absolute)
        if note := left_out(subject):
            echo(f"note: {note}", err=True)
        references = read_reference(reference) if reference else None
        tables = runtime_tables(subject, target, references)
    if as_json:
        echo(to_json(table_rows(tables)))
        return
    write = {TableFormat.TEXT: as_text, TableFormat.LATEX: as_latex, TableFormat.HTML: as_html}[form]
    echo("\n\n".join(write(one) for one in tables))


def race(archive: Path, study_file: Path | None, choice: Choice, final_target: float | None, *, as_json: bool) -> None:
    """Race on recorded runs, and say what it would have saved."""
    from polarbear.analyzer.examination import answer_with_checks
    from polarbear.cli.console import Console
    from polarbear.store import exists
    from polarbear.store.specification import read_spec
    from polarbear.study import read_recorded_spec, recorded_race, replay

    with _mendable(), Console(stderr=True).status("racing"):
        subject = choice.subject(_runs([archive]))
        if study_file:
            the_race = read_recorded_spec(study_file).race_of(subject.algorithms)
        else:
            the_race = recorded_race(subject.runs, spec=read_spec(archive) if exists(archive) else None)
        found = replay(the_race, subject.runs, final_target=final_target)
    values, text = answer_with_checks(found.result)
    echo(to_json({**values, **found.as_dict()}) if as_json else f"{text}\n\n{found}")


def result(archive: Path, choice: Choice, final_target: float | None) -> RaceResult:
    """What all runs of a study without a race say together."""
    from polarbear.store.specification import read_spec
    from polarbear.study import recorded_race, recorded_result

    with _mendable():
        subject = choice.subject(_runs([archive]))
        the_race = recorded_race(subject.runs, spec=read_spec(archive))
        return recorded_result(the_race, subject.runs, final_target=final_target)


def _runs(paths: Iterable[Path], *, samples: bool = False) -> list[Run]:
    """The runs at all paths, each once; what is skipped is said."""
    from polarbear.store import read_checked

    found: dict[RunKey, Run] = {}
    for path in paths:
        reading = read_checked(path, samples=samples)
        _say_skipped(reading.skipped)
        for run in reading.runs:
            if found.setdefault(run.key, run).trajectory != run.trajectory:
                raise ValueError(
                    f"{path} and a path before it hold different runs of {run.key}; import both into one study, and "
                    "--rename the algorithm of one"
                )
    return list(found.values())


def _say_skipped(skipped: Sequence[Skipped], *, all_of_it: bool = False) -> None:
    shown = len(skipped) if all_of_it else _SHOWN_SKIPS
    for one in skipped[:shown]:
        echo(f"{'note' if one.kept else 'skipped'}: {one}", err=True)
    if len(skipped) > shown:
        echo(f"skipped: {len(skipped) - shown:,} more; polarbear import lists all", err=True)


def _renaming(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise typer.BadParameter(f"--rename is {text!r}; write it as OLD=NEW")
    return old, new


@contextmanager
def _mendable() -> Generator[None]:
    """What is wrong with data or choices is told in one line."""
    from polarbear.study import StudyFileError

    try:
        yield
    except StudyFileError:
        raise
    except ValueError as error:
        echo(f"polarbear: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error


def _print_table(table: Table, console: Console) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    shown: Any = RichTable(box=None, pad_edge=False)
    for place, column in enumerate(table.columns):
        justify = "left" if place == 0 or place in table.text_columns else "right"
        shown.add_column(Text(column), justify=justify, overflow="fold")
    for row in table.rows:
        shown.add_row(*map(Text, row))
    console.print(shown)
    console.print(Text(table.caption), style="dim")

"""`polarbear knowledge`: many studies as one graph, and questions to it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.options import JsonOption, repeatable, to_data, to_json
from polarbear.cli.recorded import bad_input
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.knowledge import KnowledgeBase

EXAMPLE = "polarbear knowledge ask expected-runtime --field target=1e-8"


class _What(StrEnum):
    ADD = "add"
    FEATURES = "features"
    ASK = "ask"
    QUERY = "query"
    EXPORT = "export"
    LOAD = "load"


_TAKES = {
    _What.ADD: ("a study or an archive, or several", 10_000),
    _What.FEATURES: ("a table of features", 1),
    _What.ASK: ("one of its questions", 1),
    _What.QUERY: ("a query, or a file with one", 1),
    _What.LOAD: ("a file", 1),
}
"""What each expects as arguments, and at most how many; each expects at least one."""


class _Format(StrEnum):
    TTL = "ttl"
    NT = "nt"
    JSONLD = "jsonld"


def knowledge(
    what: Annotated[
        _What,
        typer.Argument(
            help="add: add studies or archives; features: add a table written by polarbear landscape "
            "features; ask: answer a question of the base, or list them; query: answer a SPARQL query, "
            "given as text or file; export: print everything; load: read an export or an ontology.",
            show_default=False,
        ),
    ],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[STUDY|QUESTION|SPARQL|FILE]...", show_default=False)
    ] = None,
    base: Annotated[Path, typer.Option(help="Folder of the knowledge base.")] = Path("knowledge.base"),
    field: Annotated[
        list[str] | None, repeatable("field", "With ask: a field of the question, such as target=1e-8; repeatable.")
    ] = None,
    budget: Annotated[
        list[float] | None,
        repeatable("budget", "With add: evaluations at which values are kept; repeatable. Default: 10, 20, 50, 100, …"),
    ] = None,
    about: Annotated[
        list[str] | None,
        repeatable("about", "With add: a fact about a study, such as citation=https://doi.org/…; repeatable."),
    ] = None,
    points: Annotated[int, typer.Option(min=1, help="With features: points of each design.")] = 1000,
    name: Annotated[
        str,
        typer.Option(
            help="With add and load: name to store under; replaces an entry of that name.", show_default=False
        ),
    ] = "",
    form: Annotated[_Format, typer.Option("--format", help="Format for export and load.")] = _Format.TTL,
    seconds: Annotated[float, typer.Option(min=0.1, help="With query: time limit in seconds.")] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Collect studies in a knowledge base in terms of the OPTION ontology, and query it."""
    from polarbear.knowledge import KnowledgeBase

    given = list(words or ())
    with bad_input():
        if what is _What.ASK and not given:
            _print_questions(as_json=as_json)
            return
        if what in {_What.EXPORT, _What.QUERY, _What.ASK} and not base.is_dir():
            raise ValueError(f"there is no knowledge base at {base}; create one with polarbear knowledge add STUDY")
        takes, most = _TAKES.get(what, ("no arguments", 0))
        if not (what in _TAKES) <= len(given) <= most:
            raise ValueError(f"{what} takes {takes}; it was given {shlex.join(given) or 'nothing'}")
        known = KnowledgeBase(base)
        match what:
            case _What.ADD:
                kept: dict[str, Any] = {"budgets": tuple(budget)} if budget else {}
                stated = _fields(about or (), "about", "license=CC0")
                named = {study: name or Path(study).name.removesuffix(".study") for study in given}
                counts = {of: known.add(to_data(of), name=called, about=stated, **kept) for of, called in named.items()}
                _print_counts(counts, "statement", as_json=as_json)
            case _What.FEATURES:
                count = known.add_feature_table(_table(Path(given[0])), sample_size=points)
                _print_counts({given[0]: count}, "instance", as_json=as_json)
            case _What.LOAD:
                count = known.load(Path(given[0]).read_text("utf-8"), name or Path(given[0]).stem, form.value)
                _print_counts({given[0]: count}, "statement", as_json=as_json)
            case _What.EXPORT:
                echo(known.export(form.value).rstrip("\n"))
            case _What.ASK:
                _print(known.ask(given[0], **_fields(field or ())), as_json=as_json)
            case _What.QUERY:
                _print(_queried(known, given[0], seconds), as_json=as_json)


def _print_counts(counts: Mapping[str, int], noun: str, *, as_json: bool) -> None:
    """Print how many items were added from each source."""
    from polarbear.quantities import plural

    echo(to_json(counts) if as_json else "\n".join(f"{of}: {plural(count, noun)}" for of, count in counts.items()))


def _table(path: Path) -> Any:
    """A table from a CSV or Parquet file."""
    import polars as pl

    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema_length=None)


def _fields(given: Sequence[str], option: str = "field", example: str = "target=1e-8") -> dict[str, str]:
    """Options given as NAME=VALUE, as a dictionary."""
    split = [each.partition("=") for each in given]
    for each, (_, sign, _) in zip(given, split, strict=True):
        if not sign:
            raise typer.BadParameter(f"--{option} is {each!r}; write it like {example}")
    return {name: value for name, _, value in split}


def _queried(known: KnowledgeBase, query: str, seconds: float) -> Any:
    path = Path(query)
    text = path.read_text("utf-8") if len(query) < 1000 and path.is_file() else query
    return known.query(text, seconds=seconds)


def _print_questions(*, as_json: bool) -> None:
    """Print the questions that can be asked by name, and their fields."""
    from polarbear.knowledge import TEMPLATES

    if as_json:
        fields = {name: {f: of._asdict() for f, of in each.fields.items()} for name, each in TEMPLATES.items()}
        echo(to_json({name: {"question": each.question, "fields": fields[name]} for name, each in TEMPLATES.items()}))
        return
    for name, each in TEMPLATES.items():
        echo(f"{name}  {each.question}")
        for field, of in each.fields.items():
            echo(f"  {field}: {of.meaning}{'; required' if of.default is None else ''}")


def _print(answer: Any, *, as_json: bool) -> None:
    """Print an answer as a table, or as JSON."""
    from polarbear.analyzer import Table
    from polarbear.cli.console import print_table
    from polarbear.quantities import plural

    if isinstance(answer, bool):
        echo(to_json(answer) if as_json else str(answer).lower())
    elif as_json:
        echo(to_json(answer.to_dicts()))
    elif not len(answer):
        echo("no results")
    else:
        rows = tuple(
            tuple("–" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row)
            for row in answer.rows()
        )
        print_table(Table(plural(len(rows), "row"), tuple(answer.columns), rows, shown=len(rows)))

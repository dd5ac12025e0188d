"""`polarbear conform`: whether optimizers do what races and plans expect of them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from polarbear.cli.options import NOT_CONFORMING, JsonOption, WorkersOption, to_json
from polarbear.cli.running import look_in
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.conformance import Conformance
    from polarbear.optimizers import Optimizer


def conform(
    optimizer: Annotated[
        list[str],
        typer.Argument(
            help="Optimizers as in study files, functions as module:function, or study files for all theirs."
        ),
    ],
    check: Annotated[
        list[str] | None,
        typer.Option(help="A check to run; give it again for more. Default: all.", show_default=False),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1e-3, help="Seconds a check may take.")] = 60.0,
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Check that optimizers respect bounds, budgets and stops, repeat themselves, and survive what objectives do."""
    from polarbear.conformance import CHECKS, examine

    for name in check or ():
        if name not in CHECKS:
            raise typer.BadParameter(f"there is no check {name!r}; there are {', '.join(CHECKS)}")
    entrants = [entrant for given in optimizer for entrant in _optimizers(given)]
    found = [examine(entrant, checks=check or None, timeout=timeout, workers=workers) for entrant in entrants]
    if as_json:
        echo(to_json([each.as_dict() for each in found]))
    else:
        for each in found:
            _show(each)
    if not all(each.passed for each in found):
        raise typer.Exit(NOT_CONFORMING)


def _optimizers(given: str) -> list[Optimizer]:
    from polarbear import optimizers
    from polarbear.descriptions import imported, own_class

    if given.endswith(".toml"):
        look_in(Path(given).parent)
        try:
            listed = cast("list[dict[str, Any]]", tomllib.loads(Path(given).read_text("utf-8"))["algorithms"])
            return [optimizers.from_description(each) for each in listed]
        except KeyError as error:
            raise typer.BadParameter(f"{given} lists no [[algorithms]]") from error
        except (OSError, ValueError) as error:
            raise typer.BadParameter(f"{given}: {error}") from error
    try:
        if ":" not in given:
            return [optimizers.from_description({"optimizer": given})]
        look_in()
        found = imported(given, "the optimizer")
        if isinstance(found, type):
            found = own_class(found, "optimizer", given)()
        return [optimizers.as_optimizer(found)]
    except (ValueError, TypeError, ImportError) as error:
        raise typer.BadParameter(str(error)) from error


def _show(found: Conformance) -> None:
    from rich.table import Table
    from rich.text import Text

    from polarbear.cli.console import Console

    table = Table(title=Text(found.optimizer), title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("check", "", "what is expected, or wrong"):
        table.add_column(heading, overflow="fold")
    for each in found.findings:
        if each.inapplicable:
            table.add_row(Text(each.check), Text("skipped", "yellow"), Text(each.inapplicable))
            continue
        mark = Text("passed", "green") if each.passed else Text("failed", "bold red")
        table.add_row(Text(each.check), mark, Text(each.expected if each.passed else each.wrong))
    Console().print(table)

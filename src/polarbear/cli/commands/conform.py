"""`polarbear conform`: whether optimizers meet the expectations of races and plans."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from polarbear.cli.executing import look_in
from polarbear.cli.options import NOT_CONFORMING, JsonOption, WorkersOption, repeatable, to_json
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.conformance import Conformance
    from polarbear.optimizers import Optimizer

EXAMPLE = "polarbear conform mine:optimizer"


def conform(
    optimizer: Annotated[
        list[str],
        typer.Argument(
            help="Optimizers, named as in study files or as module:function, or study files, to check all "
            "their optimizers."
        ),
    ],
    check: Annotated[
        list[str] | None, repeatable("check", "Only this check, or bias; repeatable. Default: all.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1e-3, help="Seconds a check may take.")] = 60.0,
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Check that optimizers do what races and plans expect, and report structural bias."""
    from polarbear.conformance import CHECKS, REMARKS, examine

    for name in check or ():
        if name not in (known := (*CHECKS, *REMARKS)):
            raise typer.BadParameter(f"there is no check {name!r}; choose from: {', '.join(known)}")
    entrants = [entrant for name in optimizer for entrant in _optimizers(name)]
    reports = [examine(entrant, checks=check or None, timeout=timeout, workers=workers) for entrant in entrants]
    if as_json:
        echo(to_json([report.as_dict() for report in reports]))
    else:
        for report in reports:
            _print(report)
    if not all(report.passed for report in reports):
        raise typer.Exit(NOT_CONFORMING)


def _optimizers(name: str) -> list[Optimizer]:
    from polarbear import optimizers
    from polarbear.descriptions import imported, own_class

    if name.endswith(".toml"):
        look_in(Path(name).parent)
        try:
            listed = cast("list[dict[str, Any]]", tomllib.loads(Path(name).read_text("utf-8"))["algorithms"])
            return [optimizers.from_description(each) for each in listed]
        except KeyError as error:
            raise typer.BadParameter(f"{name} lists no [[algorithms]]") from error
        except (OSError, ValueError) as error:
            raise typer.BadParameter(f"{name}: {error}") from error
    try:
        if ":" not in name:
            return [optimizers.from_description({"optimizer": name})]
        look_in()
        candidate = imported(name, "the optimizer")
        if isinstance(candidate, type):
            candidate = own_class(candidate, "optimizer", name)()
        return [optimizers.as_optimizer(candidate)]
    except (ValueError, TypeError, ImportError) as error:
        raise typer.BadParameter(str(error)) from error


def _print(report: Conformance) -> None:
    from rich.text import Text

    from polarbear.cli.console import print_columns

    rows: list[list[str | Text]] = []
    for finding in report.findings:
        mark, words = Text("failed", "bold red"), finding.wrong
        if finding.inapplicable:
            mark, words = Text("skipped", "yellow"), finding.inapplicable
        elif finding.remark:
            mark, words = Text("note", "cyan"), finding.remark
        elif finding.passed:
            mark, words = Text("passed", "green"), finding.expected
        rows.append([finding.check, mark, words])
    echo(report.optimizer)
    print_columns(["check", "", "expected, or what is wrong"], rows, words=(1, 2))

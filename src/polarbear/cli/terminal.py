"""All output of commands goes through here, or through `polarbear.cli.console`, so that it cannot steer a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import typer

from polarbear.cli.options import to_json
from polarbear.descriptions import printable


def echo(text: object, *, err: bool = False) -> None:
    """Print a text and a newline on standard output, or on standard error."""
    typer.echo(printable(str(text)), err=err)  # noqa: TID251 - the one place


def tell_warning(message: Warning | str, *_: object) -> None:
    """Print a warning as a single line on standard error."""
    echo(f"polarbear: warning: {message}", err=True)


def tell_damage(damaged: Iterable[object]) -> None:
    """Name the files without which a study was read, one per line, on standard error."""
    for damage in damaged:
        echo(f"damaged and left out: {damage}", err=True)


def echo_listed(listed: Mapping[str, Mapping[str, Any]], about: Mapping[str, str | None], *, as_json: bool) -> None:
    """Print what study files may name: one line about each, followed by its fields and their defaults."""
    if as_json:
        echo(to_json(listed))
        return
    for name, fields in listed.items():
        echo(f"{name}  {first_sentence(about[name])}")
        for field, default in fields.items():
            shown = {"null": "(not set)", '"required"': "(required)"}
            echo(f"  {field} = {shown.get(text := json.dumps(default), text)}")


def first_sentence(docstring: str | None) -> str:
    """The first line of a docstring, without markup."""
    return (docstring or "").strip().partition("\n")[0].replace("`", "")

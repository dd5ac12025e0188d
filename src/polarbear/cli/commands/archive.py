"""`polarbear archive`: a library of recorded runs, by name."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from polarbear.cli.options import JsonOption, to_data, to_json
from polarbear.cli.recorded import bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear archive add bipop BIPOP-CMA-ES.tgz"


class _What(StrEnum):
    LIST = "list"
    ADD = "add"
    REMOVE = "remove"


def archive(
    what: Annotated[_What, typer.Argument(help="What to do with the library.", show_default=False)],
    name: Annotated[str, typer.Argument(help="With add and remove: the data set's name.", show_default=False)] = "",
    paths: Annotated[
        list[Path] | None,
        typer.Argument(parser=to_data, help="With add: files, folders, archives or studies.", show_default=False),
    ] = None,
    version: Annotated[str, typer.Option(help="With add: the data set's version.")] = "1",
    suite: Annotated[
        str, typer.Option(help="With add: the suite of data that name none, such as bbob.", show_default=False)
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Keep recorded runs by name in a local library; every command accepts such a name in place of a path."""
    from polarbear.problems import raw_optimum
    from polarbear.quantities import plural
    from polarbear.store import Library

    library = Library()
    with bad_input():
        if (what is _What.LIST) is bool(name) or (what is _What.ADD) is not bool(paths):
            raise ValueError("give list; add NAME PATH…; or remove NAME")
        match what:
            case _What.LIST:
                entries = library.list()
            case _What.ADD:
                entries = [
                    library.add(name, paths or (), version=version, suite=suite, optimum=raw_optimum if suite else None)
                ]
            case _What.REMOVE:
                entries = [library.remove(name)]
    if as_json:
        echo(to_json([asdict(entry) for entry in entries]))
        return
    done = {_What.ADD: "added ", _What.REMOVE: "removed "}.get(what, "")
    for entry in entries:
        content = f"{plural(entry.runs, 'run')} of {plural(entry.algorithms, 'algorithm')}"
        echo(f"{done}{entry.name} {entry.version}  {content}, {entry.added[:10]}, {', '.join(entry.sources)}")
    if not entries:
        echo(f"the library {library.folder} is empty; add to it with polarbear archive add NAME PATH")

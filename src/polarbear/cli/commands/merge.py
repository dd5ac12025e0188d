"""`polarbear merge`: merge the runs of studies."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from polarbear.cli.options import AcceptDamageOption, JsonOption, place_option, to_json, to_place
from polarbear.cli.recorded import bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear merge a.study b.study --into both.study"


def merge(
    studies: Annotated[
        list[Path], typer.Argument(parser=to_place, metavar="STUDY…", help="The studies to merge.", show_default=False)
    ],
    into: Annotated[Path, place_option("The new study's directory or URL.", metavar="PATH")],
    keep_first: Annotated[
        bool, typer.Option("--keep-first", help="Where runs differ, keep the one from the study named first.")
    ] = False,
    accept_damage: AcceptDamageOption = False,
    as_json: JsonOption = False,
) -> None:
    """Merge the runs of studies made on different machines into a new study."""
    from polarbear import store
    from polarbear.cli.console import Console
    from polarbear.quantities import plural

    with bad_input():
        try:
            with Console(stderr=True).status("merging"):
                merged = store.merge(studies, into, keep_first=keep_first, accept_damage=accept_damage)
        except store.MergeConflict as error:
            if as_json:
                echo(to_json({"study": None, "conflicts": [str(conflict) for conflict in error.conflicts]}))
            raise
    taken = dict(zip(map(str, studies), merged.taken, strict=True))
    if as_json:
        counts = {name: getattr(merged, name) for name in ("runs", "shared", "clocks", "rounds")}
        conflicts, differences = [str(conflict) for conflict in merged.conflicts], list(merged.differences)
        echo(to_json({"study": str(into), "taken": taken, "conflicts": conflicts, "differences": differences} | counts))
        return
    for line in _notes(merged):
        echo(line, err=True)
    listed = ", ".join(f"{count:,} of {path}" for path, count in taken.items())
    echo(f"{plural(merged.runs, 'run')}: {listed}\nstudy: {into}")


def _notes(merged: Any) -> Iterator[str]:
    """Notes on what was decided while merging."""
    from polarbear.quantities import plural

    for conflict in merged.conflicts:
        yield f"runs differ, kept as in the first study: {conflict}"
    if merged.shared:
        clocks = f" ({merged.clocks:,} except for clocks or error texts, kept as in the first study)"
        stand = "is the same in several studies" if merged.shared == 1 else "are the same in several studies"
        yield f"{plural(merged.shared, 'run')} {stand}{clocks if merged.clocks else ''}"
    if merged.differences:
        yield f"settings differ, so the new study has no plan: {'; '.join(merged.differences)}"
    if merged.rounds:
        yield (
            f"{plural(merged.rounds, 'round')} of races {'is' if merged.rounds == 1 else 'are'} not merged; "
            "race on the runs with: polarbear race --from "
            f"{shlex.quote(str(merged.study))}"
        )

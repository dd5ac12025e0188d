"""`polarbear verify`: whether a study is as it was written, and what can be saved if it is not."""

from __future__ import annotations

from typing import Annotated

import typer

from polarbear.cli.options import UNUSABLE_STUDY, JsonOption, StudyArgument, TakeOverOption, to_json
from polarbear.cli.terminal import echo


def verify(
    study: StudyArgument,
    accept_damage: Annotated[
        bool,
        typer.Option(
            "--accept-damage",
            help="Take the study as it is, for good: give up files that are damaged or missing, take in those that can "
            "be read, and a study.json that was changed.",
        ),
    ] = False,
    take_over: TakeOverOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check every file of a study against its checksums, and say what can be saved."""
    from polarbear import store
    from polarbear.study import verify as check

    if take_over:
        store.take_over(study)
    found = check(study, accept_damage=accept_damage)
    echo(to_json(found.as_dict()) if as_json else str(found))
    if not found.sound:
        raise typer.Exit(UNUSABLE_STUDY)

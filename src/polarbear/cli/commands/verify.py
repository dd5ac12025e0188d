"""`polarbear verify`: whether a study is intact, and what can be saved if it is not."""

from __future__ import annotations

from typing import Annotated

import typer

from polarbear.cli.executing import take_over
from polarbear.cli.options import UNUSABLE_STUDY, JsonOption, StudyArgument, TakeOverOption, to_json
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear verify study.study"


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
    take_over_lock: TakeOverOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check every file of a study against its checksum, and tell what can be saved."""
    from polarbear import study as room

    take_over(study, wanted=take_over_lock)
    verification = room.verify(study, accept_damage=accept_damage)
    echo(to_json(verification.as_dict()) if as_json else str(verification))
    if not verification.sound:
        raise typer.Exit(UNUSABLE_STUDY)

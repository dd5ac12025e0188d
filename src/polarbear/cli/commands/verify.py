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
            help="Accept the study as it is, for good: give up damaged or missing files, take in files that "
            "can be read, and accept a changed study.json.",
        ),
    ] = False,
    take_over_lock: TakeOverOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check every file of a study against its checksum, and say what to do about damage."""
    from polarbear import study as room

    take_over(study, wanted=take_over_lock)
    verification = room.verify(study, accept_damage=accept_damage)
    echo(to_json(verification.as_dict()) if as_json else str(verification))
    if not verification.sound:
        raise typer.Exit(UNUSABLE_STUDY)

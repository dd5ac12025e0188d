"""`polarbear select`: choose an algorithm or a portfolio."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from polarbear.cli.executing import load_race
from polarbear.cli.options import JsonOption, StudyArgument, to_json
from polarbear.cli.terminal import echo


class _Preference(StrEnum):
    UNIFORM = "uniform"
    LOG_UNIFORM = "log-uniform"
    FINAL = "final"


class _Criterion(StrEnum):
    P2BB = "p2bb"
    EXPECTED = "expected"
    QUANTILE = "quantile"


def select(
    study: StudyArgument,
    preference: Annotated[_Preference, typer.Option(help="Which budgets matter.")] = _Preference.UNIFORM,
    criterion: Annotated[_Criterion, typer.Option(help="How to decide.")] = _Criterion.P2BB,
    size: Annotated[int, typer.Option(min=1, help="Parallel slots: choose a portfolio of this size.")] = 1,
    gamma: Annotated[float, typer.Option(min=1e-6, max=1 - 1e-6, help="Level of the lower quantile.")] = 0.05,
    as_json: JsonOption = False,
) -> None:
    """Choose an algorithm or a portfolio for a preference over budgets; runs nothing."""
    from polarbear.select import best
    from polarbear.store import StudyError

    result = load_race(study).result
    if not result.begun:
        raise StudyError(f"nothing is known yet in {study}: no round is complete")
    selection = best(
        result.posterior, preference.value, criterion.value, size, candidates=result.pareto_set, gamma=gamma
    )
    echo(to_json(selection.as_dict()) if as_json else str(selection))

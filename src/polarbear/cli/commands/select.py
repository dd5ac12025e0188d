"""`polarbear select`: choose an algorithm or a portfolio."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from polarbear.cli.executing import load_race
from polarbear.cli.options import JsonOption, StudyArgument, to_json
from polarbear.cli.recorded import bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear select study.study --budget 100..1000 --size 2"
RENAMED = {"preference": "budget"}
"""Former names of options."""


class _Criterion(StrEnum):
    P2BB = "p2bb"
    EXPECTED = "expected"
    QUANTILE = "quantile"
    MINIMAX = "minimax"


def select(
    study: StudyArgument,
    budget: Annotated[
        str,
        typer.Option(
            help="The budget, as far as it is known: 300, '1000*d', 100..1000, 'normal(300, 50)', "
            "'lognormal(300, 0.5)'; uniform, log-uniform or final over the timepoints; or worst, the "
            "worst case over them."
        ),
    ] = "uniform",
    criterion: Annotated[
        _Criterion,
        typer.Option(
            help="Criterion: p2bb, the posterior probability to be best, that is, that no other choice has a "
            "higher value; expected, the expected value; quantile, its lower quantile; minimax, the "
            "expected value at the worst budget."
        ),
    ] = _Criterion.P2BB,
    size: Annotated[int, typer.Option(min=1, help="Parallel slots: the size of the portfolio.")] = 1,
    gamma: Annotated[float, typer.Option(min=1e-6, max=1 - 1e-6, help="Level of the lower quantile.")] = 0.05,
    as_json: JsonOption = False,
) -> None:
    """Choose an algorithm, or a portfolio to run in parallel, given what is known of the budget."""
    from polarbear.results import Result
    from polarbear.store import StudyError

    minimax = criterion is _Criterion.MINIMAX
    if minimax and budget not in ("uniform", "worst"):
        raise typer.BadParameter(
            f"--budget is {budget!r}; --criterion minimax considers all budgets: leave --budget out"
        )
    result = Result.of(load_race(study))
    if not result.begun:
        raise StudyError(f"{study} has no results yet: no round is complete")
    risk = {_Criterion.QUANTILE: gamma, _Criterion.MINIMAX: "expected"}.get(criterion, criterion.value)
    with bad_input():
        selection = result.best("worst" if minimax else budget, size, risk)
    echo(to_json(selection.as_dict()) if as_json else str(selection))

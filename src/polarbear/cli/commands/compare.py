"""`polarbear compare`: tests, ratings and rankings of algorithms on recorded runs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from polarbear.cli.options import DataArgument, JsonOption, to_json
from polarbear.cli.recorded import Choice, bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear compare archive.study --dimension 5 --target 1e-3"
RENAMED = {"alpha": "significance"}
"""Former names of options."""


class _Test(StrEnum):
    KOLMOGOROV_SMIRNOV = "kolmogorov-smirnov"
    MANN_WHITNEY = "mann-whitney"


class _Misses(StrEnum):
    LAST = "last"
    PAR_1 = "par-1"
    PAR_10 = "par-10"
    ERT = "ert"
    REMOVE = "remove"


class _Correction(StrEnum):
    HOLM = "holm"
    BONFERRONI = "bonferroni"
    HOCHBERG = "hochberg"
    NONE = "none"


def compare(
    data: DataArgument,
    choice: Choice,
    target: Annotated[
        float | None, typer.Option(help="Compare evaluations to this precision.", show_default=False)
    ] = None,
    absolute: Annotated[
        float | None, typer.Option(help="Compare evaluations to this objective value.", show_default=False)
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Compare values after this many evaluations, such as 1000 or 100*d.", show_default=False),
    ] = None,
    misses: Annotated[
        _Misses,
        typer.Option(
            help="How to count a run that missed the target: last, slower than every success; par-1 or "
            "par-10, once or ten times what it spent; ert, the expected runtime; remove, not at all."
        ),
    ] = _Misses.LAST,
    test: Annotated[_Test, typer.Option(help="Test for each pair on each problem.")] = _Test.KOLMOGOROV_SMIRNOV,
    correction: Annotated[
        _Correction, typer.Option(help="Correction of a problem's p-values for the number of pairs.")
    ] = _Correction.HOLM,
    significance: Annotated[
        float, typer.Option(min=1e-9, max=0.5, help="Probability allowed for any false rejection on a problem.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Seed of games and bootstrap samples.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare algorithms by pairwise tests, Glicko-2, rankings and contributions. Default: areas over the curves."""
    from polarbear.analyzer.assessment.page import comparison_tables
    from polarbear.analyzer.assessment.verdict import failures_in_words, verdict
    from polarbear.assess import report
    from polarbear.cli.console import Console, print_table

    with bad_input(), Console(stderr=True).status("comparing"):
        if absolute is not None and target is not None:
            raise ValueError(f"compare runtimes to a precision ({target:g}) or to a value ({absolute:g}), not both")
        comparison = report.compare(
            report.Assessment(choice.subject(data, absolute=None if absolute is None else [absolute])),
            target=target if absolute is None else absolute,
            budget=budget,
            misses=misses.value,
            test=test.value,
            correction=correction.value,
            alpha=significance,
            seed=seed,
        )
    if as_json:
        echo(to_json({"cautions": failures_in_words(comparison.failures), **comparison.as_dict()}))
        return
    for table in comparison_tables(comparison):
        print_table(table)
    for sentence in verdict(comparison):
        echo(sentence)

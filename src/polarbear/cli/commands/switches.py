"""`polarbear switches`: what switching between algorithms would gain."""

from __future__ import annotations

from typing import Annotated

import typer

from polarbear.cli.options import DataArgument, JsonOption, to_json
from polarbear.cli.recorded import AbsoluteOption, Choice, bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear switches archive.study --dimension 5"


def switches(
    data: DataArgument,
    choice: Choice,
    most: Annotated[int, typer.Option("--switches", min=1, max=10, help="Maximum number of switches in a run.")] = 1,
    in_sample: Annotated[bool, typer.Option("--in-sample", help="Do not evaluate policies on held-out runs.")] = False,
    target: Annotated[float | None, typer.Option(help="The final target, a precision.", show_default="1e-8")] = None,
    absolute: AbsoluteOption = None,
    adaptive: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Name this many pairs on each problem instead, up to the hardest target that all runs of "
            "some algorithm reach.",
        ),
    ] = None,
    posterior: Annotated[
        bool,
        typer.Option("--posterior", help="Switch after evaluations instead, by ratings over time; needs no optima."),
    ] = False,
    alpha: Annotated[
        float,
        typer.Option(
            min=0.5, max=1, help="With --posterior: how surely one algorithm must overtake another.", metavar="P"
        ),
    ] = 0.95,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the halves of the runs, or of the draws of --adaptive.")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Report what switching between algorithms at a target would gain, and how much of it holds on held-out runs."""
    from polarbear.analyzer.assessment.page import adaptive_table, roles_table, switching_table
    from polarbear.assess import log_targets, report
    from polarbear.cli.console import Console, print_table

    if posterior:
        from polarbear.cli.posterior_switches import (
            posterior_switches,
            posterior_switches_as_dict,
            print_posterior_switches,
        )

        if adaptive is not None or target is not None or absolute:
            raise typer.BadParameter(
                "--posterior switches after evaluations; it takes no --adaptive, --target or --absolute"
            )
        with bad_input(), Console(stderr=True).status("fitting"):
            handovers = posterior_switches(data, choice, alpha)
        if as_json:
            echo(to_json(posterior_switches_as_dict(handovers)))
        else:
            print_posterior_switches(handovers)
        return
    with bad_input(), Console(stderr=True).status("searching"):
        easier = [each for each in log_targets().tolist() if target is None or each > target]
        targets = [*easier, *([] if target is None else [target])]
        assessment = report.Assessment(choice.subject(data, None if absolute else targets, absolute))
        if adaptive is not None:
            pairs = report.adaptive(assessment, count=adaptive, seed=seed)
            if as_json:
                echo(to_json({cell.name: best.rows() for cell, best in pairs.items()}))
            else:
                print_table(adaptive_table(pairs))
            return
        found = report.switching(assessment, switches=most, held_out=not in_sample, seed=seed)
        roles = report.switching_roles(found)
    if as_json:
        told = {"problems": {cell.name: best.as_dict() for cell, best in found.items()}}
        echo(to_json(told | {"algorithms": [dict(zip(roles.columns, row, strict=True)) for row in roles.rows]}))
        return
    print_table(switching_table(found))
    print_table(roles_table(roles))
    echo(report.switching_in_words(found))

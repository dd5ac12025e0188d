"""`polarbear bias`: whether optimizers prefer some part of the box regardless of the objective."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.executing import execute_plan, open_plan
from polarbear.cli.options import JsonOption, place_option, to_data, to_json
from polarbear.cli.recorded import bad_input
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.bias import Verdict

EXAMPLE = "polarbear bias plan.toml --workers 4"


def bias(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN|STUDY",
            parser=to_data,
            help="A plan (TOML) on the suite random-values, to run, or recorded runs on that suite.",
            show_default=False,
        ),
    ],
    workers: Workers,
    into: Annotated[
        Path | None, place_option("With a plan: the study's directory. Default: the plan's name with .study.")
    ] = None,
    significance: Annotated[
        float, typer.Option(min=1e-6, max=0.5, help="How often an unbiased optimizer may be called biased.")
    ] = 0.01,
    samples: Annotated[int, typer.Option(min=1000, help="Uniform samples from which p-values are computed.")] = 100_000,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the page, with a figure of each verdict. Default: the data's name with .bias, "
            "in the current folder.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Report which optimizers are structurally biased, judging by where their runs on random values end."""
    from polarbear import store
    from polarbear.analyzer.bias import write_bias_page
    from polarbear.bias import judge_runs
    from polarbear.cli.console import Console

    if data.suffix == ".toml":
        data = _run(data, into, workers)
    with bad_input(), Console(stderr=True).status("judging"):
        verdicts = judge_runs(store.read(data), alpha=significance, samples=samples)
        written = write_bias_page(verdicts, page or Path(f"{data.stem}.bias"))
    lines = [*(verdict.sentence for verdict in verdicts), f"page: {written}"]
    echo(to_json([_values(verdict) for verdict in verdicts]) if as_json else "\n".join(lines))


def _run(plan_file: Path, into: Path | None, workers: Workers) -> Path:
    """Run a plan to its end, resuming it if it was begun, and return its study."""
    from polarbear.bias import SUITE
    from polarbear.records import Instance

    plan, path = open_plan(plan_file), into or plan_file.with_suffix(".study")
    if others := [problem.name for problem in plan.problems if Instance.parse(problem.name).suite != SUITE]:
        raise typer.BadParameter(
            f"{plan_file} contains {others[0]}; structural bias can only be measured on suite {SUITE!r}"
        )
    again = ["polarbear", "bias", str(plan_file), *(["--into", str(into)] if into else [])]
    execute_plan(plan, path, shlex.join(again), workers, as_json=False)
    return path


def _values(verdict: Verdict) -> dict[str, Any]:
    result = verdict.bias
    return {
        "algorithm": verdict.algorithm,
        "dimension": verdict.dimension,
        "runs": result.runs,
        "lost": verdict.lost,
        "biased": result.biased,
        "kind": result.kind,
        "probabilities": result.probabilities,
        "p_value": result.p_value,
        "level": result.level,
        "tests": [name for name, counts in zip(result.tests, result.counts, strict=True) if counts],
    }

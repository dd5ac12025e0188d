"""`polarbear check`: how well a study's model predicts, and whether its assumptions hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polarbear.cli.executing import load_race
from polarbear.cli.options import FinalTargetOption, JsonOption, StudyArgument, repeatable, to_json
from polarbear.cli.recorded import Choice, bad_input
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.analyzer import Examination
    from polarbear.inference.model.conditional import ConditionalRatings
    from polarbear.racing import RaceResult

_SHARE = ("share", "lower", "upper", "probability of the largest")

EXAMPLE = "polarbear check study.study --model gaussian-process"


def check(
    study: StudyArgument,
    choice: Choice,
    model: Annotated[
        list[str] | None,
        repeatable(
            "model",
            "A model to compare with, with default parameters; repeatable. Default: random-walk, and "
            "independent-dirichlet unless the study uses that or instance-bootstrap.",
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Report instead which features of the instances matter: a CSV file with a column instance "
            "and one for each feature, as polarbear landscape features writes it.",
            show_default=False,
        ),
    ] = None,
    final_target: FinalTargetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a study's model with others, and check its assumptions; for a study without a race, on all its runs."""
    from polarbear.analyzer import examine
    from polarbear.cli.console import Console
    from polarbear.inference import models
    from polarbear.store import StudyError

    for name in model or ():
        if name not in models():
            raise typer.BadParameter(f"there is no model {name!r}; choose from: {', '.join(models())}")
    result = _result(study, choice, final_target)
    if not result.begun or len(result.values) < 2:
        raise StudyError(f"{study} has too few results yet; checks need a complete round and at least two instances")
    if features is not None:
        with bad_input(), Console(stderr=True).status("fitting"):
            ratings = _ratings(result, features)
        _tell_deciding(ratings, study, as_json=as_json)
        return
    with Console(stderr=True).status("comparing models"):
        examination = examine(result, model or ())
    if as_json:
        echo(to_json({"study": str(study), **examination.as_dict()}))
    else:
        _print(examination)


def _result(study: Path, choice: Choice, final_target: float | None) -> RaceResult:
    """The result of a study's race; without a race, of all its runs together."""
    from polarbear.store.specification import read_spec
    from polarbear.study import recorded_race, recorded_result

    spec = read_spec(study)
    if "race" not in spec:
        with bad_input():
            runs = choice.subject([study])
            race = recorded_race(runs.runs, spec=spec)
            return recorded_result(race, runs.runs, final_target=final_target)
    if final_target is not None or choice:
        raise typer.BadParameter(
            "--final-target, --algorithm, --function and --dimension are only for studies without a race"
        )
    return load_race(study).result


def _ratings(result: RaceResult, features: Path) -> ConditionalRatings:
    """Ratings conditional on the features in a table."""
    import polars as pl

    from polarbear.analyzer import ratings_by_features

    try:
        table = pl.read_csv(features)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{features} is not a table: {error}") from error
    return ratings_by_features(result, table)


def _tell_deciding(ratings: ConditionalRatings, study: Path, *, as_json: bool) -> None:
    """Print the share of each feature in the variance of ratings over instances, at the first, middle and last time."""
    from polarbear.cli.console import print_columns

    shares = ratings.importance()
    if as_json:
        told = {name: dict(zip(_SHARE, (each.tolist() for each in band), strict=True)) for name, band in shares.items()}
        echo(to_json({"study": str(study), "times": ratings.times.tolist(), "deciding features": told}))
        return
    at = sorted({0, ratings.times.size // 2, ratings.times.size - 1})
    echo("Features by their share in the variance of ratings between instances, with 95 % intervals")
    print_columns(
        ["feature", *(f"at {ratings.times[i]:,.6g}" for i in at)],
        [
            [name, *(f"{band.mean[i]:.0%} [{band.low[i]:.0%}, {band.high[i]:.0%}]" for i in at)]
            for name, band in sorted(shares.items(), key=lambda each: -each[1].mean.mean())
        ],
    )


def _print(examination: Examination) -> None:
    """Print the comparison of the models, and the checks, as tables and sentences."""
    from polarbear.cli.console import print_columns

    comparison = examination.comparison
    counts = f"{comparison.rankings:,} rankings on {comparison.instances:,} held-out instances"
    echo(f"Models by how well they predict {counts}")
    print_columns(
        ["model", "log score", "behind", "parameters", "certainty"],
        [
            [
                model.name,
                f"{model.elpd:,.1f}",
                f"{model.behind:,.1f} ± {model.behind_error:,.1f}" if model.behind else "–",
                f"{model.effective_parameters:,.1f}",
                f"{examination.overconfidence[model.name]:.1f} ×",
            ]
            for model in comparison.models
        ],
    )
    echo(
        f"The study's model is {examination.model}. Certainty: the posterior is as certain as if that many times as "
        "many instances had been run; about 1 is right, and far above 1 intervals are too narrow."
    )
    for model in comparison.models:
        echo(model.verdict)
    echo("\nAssumptions of all these models")
    verdicts = {True: "passed", False: "failed", None: "not checked"}
    print_columns(
        ["assumption", "check", "p", "finding"],
        [
            [each.name, verdicts[each.passed], "–" if each.p_value is None else f"{each.p_value:.3f}", each.verdict]
            for each in examination.checks
        ],
        words=(1, 3),
    )

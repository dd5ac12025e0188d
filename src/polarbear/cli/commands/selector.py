"""`polarbear selector`: which algorithm to use on a problem, by its landscape features."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.executing import open_problems
from polarbear.cli.options import JsonOption, data_option, repeatable, to_json
from polarbear.cli.recorded import bad_input, read_runs
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.selectors import Advice, Cases, Evaluation, Selector

_SHARE = ("share", "lower", "upper", "probability of the largest")
_MOST_DECIDING = 5
"""Number of features printed; the JSON output has all."""

EXAMPLE = "polarbear selector train plan.toml --runs plan.study --budget 1000 --into mine.npz"


class _What(StrEnum):
    TRAIN = "train"
    EVALUATE = "evaluate"
    ASK = "ask"


class _Kind(StrEnum):
    RATINGS = "ratings"
    CAUTIOUS = "cautious-forest"
    REGRESSION = "regression-forest"
    CLASSIFICATION = "classification-forest"
    SHUFFLED = "shuffled-labels"
    SINGLE = "single-best"


class _Split(StrEnum):
    FUNCTION = "function"
    INSTANCE = "instance"
    CASE = "case"


@dataclass(frozen=True, slots=True)
class Known:
    """How algorithms performed on a plan's problems, and how features are computed."""

    runs: Annotated[
        list[Path] | None, data_option("With plans: a study or archive with runs on their problems; repeatable.")
    ] = None
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="With --runs: evaluations up to which algorithms are judged.", show_default=False),
    ] = None
    points: Annotated[int, typer.Option(min=2, help="Evaluations for features, times the number of variables.")] = 50
    sets: Annotated[
        list[str] | None,
        repeatable("set", "A set of features; repeatable. Default: ela_meta, ela_distr, disp, ic and nbc."),
    ] = None


@dataclass(frozen=True, slots=True)
class Learning:
    """What is learnt, and how it is evaluated."""

    kind: Annotated[
        list[_Kind] | None,
        typer.Option(help="Kind of selector; repeatable with evaluate. Default: ratings; with evaluate all."),
    ] = None
    confidence: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="For ratings and cautious forests: required probability that another algorithm is better "
            "than the single best.",
        ),
    ] = 0.95
    split: Annotated[_Split, typer.Option(help="With evaluate: what is held out together.")] = _Split.FUNCTION
    folds: Annotated[int, typer.Option(min=2, help="With evaluate: number of trainings.")] = 10
    test: Annotated[
        Path | None, typer.Option(help="With evaluate: another plan or table to judge on.", show_default=False)
    ] = None


def selector(
    what: Annotated[
        _What,
        typer.Argument(
            help="train: learn from problems; evaluate: report how much selectors lose on unseen problems; "
            "ask: say which algorithm to use.",
            show_default=False,
        ),
    ],
    source: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN|TABLE|SELECTOR",
            help="A plan (TOML), or a table (CSV) of features and losses; with ask, a selector.",
            show_default=False,
        ),
    ],
    known: Known,
    learning: Learning,
    problems: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PLAN|TABLE]",
            help="With ask: a plan, a file with [instances] alone, or a table (CSV) of features.",
            show_default=False,
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            help="With train: file for the selector. Default: the plan's name with .selector.npz.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Learn which algorithm to use on a problem, evaluate selectors on unseen problems, or ask a selector."""
    with bad_input():
        kinds = [each.value.replace("-", " ") for each in learning.kind or ()]
        if what is _What.TRAIN:
            values, text = _train(source, known, learning, kinds, seed, into or source.with_suffix(".selector.npz"))
        elif what is _What.EVALUATE:
            evaluation = _evaluate(_cases(source, known, seed), known, learning, kinds, seed)
            values, text = evaluation.as_dict(), _scores_in_words(evaluation)
        elif problems is None:
            raise ValueError(
                "ask needs problems after the selector: a plan, a file with [instances] alone, or a table of features"
            )
        else:
            advices, caution = _advices(source, problems, seed)
            if caution:
                echo(f"Caution: {caution}.", err=True)
            values, text = {name: asdict(each) for name, each in advices.items()}, _advices_in_words(advices)
    echo(to_json(values) if as_json else text)


def _train(
    source: Path, known: Known, learning: Learning, kinds: list[Any], seed: int, path: Path
) -> tuple[dict[str, Any], str]:
    """Train a selector and save it; returns a description of its training, as values and in words."""
    from polarbear import selectors

    if len(kinds) > 1:
        raise ValueError(f"--kind is given {len(kinds)} times; train takes only one")
    cases = _cases(source, known, seed)
    of_table = source.suffix.lower() == ".csv"
    trained = selectors.train(
        cases,
        kinds[0] if kinds else "ratings",
        confidence=learning.confidence,
        seed=seed,
        sampling={} if of_table else {"sets": _sets(known), "points_per_variable": known.points},
        source=source.name,
    )
    selectors.save(trained, path)
    functions = len(trained.trained_on["functions"])
    lines = [
        f"{trained.kind} from {len(cases.losses)} cases of {functions} functions: {path}; "
        f"the single best is {trained.default}"
    ]
    values = {"selector": str(path), "default": trained.default, **trained.trained_on}
    if trained.kind == "ratings":
        shares = {name: [float(part[0]) for part in share] for name, share in trained.ratings.importance().items()}
        deciding = sorted(shares, key=lambda name: shares[name][0], reverse=True)
        values["deciding features"] = {name: dict(zip(_SHARE, shares[name], strict=True)) for name in deciding}
        lines.append("features by their share in the variance of ratings between problems [95 % interval]:")
        lines += [f"  {name}: {_share_in_words(*shares[name])}" for name in deciding[:_MOST_DECIDING]]
    return values, "\n".join(lines)


def _share_in_words(mean: float, low: float, high: float, largest: float) -> str:
    return f"{mean:.0%} [{low:.0%}, {high:.0%}]; the largest with probability {largest:.2f}"


def _sets(known: Known) -> list[str]:
    from polarbear.selectors import SETS

    return known.sets or list(SETS)


def _cases(source: Path, known: Known, seed: int) -> Cases:
    """Cases from a table, or from a plan's problems and runs on them."""
    from polarbear.cli.console import Console
    from polarbear.landscape import by_box, instances
    from polarbear.selectors import Cases

    if source.suffix.lower() == ".csv":
        return Cases.of_table(source)
    if not known.runs or known.budget is None:
        raise ValueError(f"{source.name} is a plan; give recorded runs on its problems with --runs, and --budget")
    problems = open_problems(source)
    with Console(stderr=True).status("computing features"):
        computed = [
            instances(
                box, designs=1, points=known.points * box[0].build().dimension, sets=tuple(_sets(known)), seed=seed
            )
            for box in by_box(problems)
        ]
    return Cases.of_runs(computed, read_runs(known.runs), known.budget)


def _evaluate(cases: Cases, known: Known, learning: Learning, kinds: list[Any], seed: int) -> Evaluation:
    from polarbear.cli.console import Console
    from polarbear.progress import steps
    from polarbear.selectors import KINDS, cross_validate, transfer

    chosen = kinds or KINDS
    if learning.test is not None:
        return transfer(cases, _cases(learning.test, known, seed), chosen, confidence=learning.confidence, seed=seed)
    with steps(Console(stderr=True), "training") as step:
        return cross_validate(
            cases,
            chosen,
            split=learning.split.value,
            folds=learning.folds,
            confidence=learning.confidence,
            seed=seed,
            progress=lambda done, size: step(f"training: {done} of {size} folds"),
        )


def _scores_in_words(evaluation: Evaluation) -> str:
    lines = [f"{'':22} regret  minus the single best       gap closed  log score  others chosen"]
    for kind, score in evaluation.scores.items():
        mean, low, high = score.beside_single_best
        share = evaluation.gap_closed(kind)
        beside, closed = f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]", "–" if isnan(share) else f"{share:.1%}"
        told = f"{score.log_score:9.3f}  {score.away.mean():13.1%}"
        lines.append(f"{kind:22} {score.regret:.4f}  {beside}  {closed:>10}  {told}")
    lines.append(f"{evaluation.novel:.1%} of the cases are unlike all other functions of the training")
    return "\n".join([*lines, *([f"Caution: {evaluation.warning}."] if evaluation.warning else [])])


def _advices(path: Path, file: Path, seed: int) -> tuple[dict[str, Advice], str | None]:
    """Advice for each problem, and a caution if the problems as a set are unlike those of the training."""
    from polarbear.assess.functions import function_of
    from polarbear.protocols import identity_of
    from polarbear.selectors import load, shift_in_words

    asked = load(path)
    if file.suffix.lower() == ".csv":
        return _advices_of_table(asked, file, seed)
    problems = open_problems(file)
    measured = [asked.measure(problem, seed=seed) for problem in problems]
    rows = [[known[name] for name in asked.covariates.names] for known, _ in measured]
    advices = {
        problem.name: replace(advice, evaluations=size)
        for problem, advice, (_, size) in zip(problems, asked.choose(rows), measured, strict=True)
    }
    functions = [function_of(identity_of(problem)) for problem in problems]
    shift = asked.shift(rows, functions, seed=seed) if len(set(functions)) > 1 else None
    return advices, shift_in_words(shift)


def _advices_of_table(asked: Selector, file: Path, seed: int) -> tuple[dict[str, Advice], str | None]:
    """The same for problems whose features are in a table, named by its column instance if present, else by row."""
    import polars as pl

    from polarbear.descriptions import did_you_mean
    from polarbear.selectors import shift_in_words

    try:
        table, wanted = pl.read_csv(file, infer_schema_length=None), list(asked.covariates.names)
        if missing := [name for name in wanted if name not in table.columns]:
            raise ValueError(f"{file} has no column {missing[0]!r};{did_you_mean(missing[0], table.columns)}")
        rows = table.select(pl.col(wanted).cast(pl.Float64).fill_null(float("nan"))).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{file} is not a table of features: {error}") from error
    labels = [f"row {number + 2}" for number in range(len(rows))]
    if "instance" in table.columns and table["instance"].is_unique().all():
        labels = table["instance"].cast(pl.String).to_list()
    functions = table["function"].cast(pl.String).to_list() if "function" in table.columns else []
    shift = asked.shift(rows, functions, seed=seed) if len(set(functions)) > 1 else None
    return dict(zip(labels, asked.choose(rows), strict=True)), shift_in_words(shift)


def _advices_in_words(advices: dict[str, Advice]) -> str:
    lines = list[str]()
    for name, advice in advices.items():
        line = f"{name}: {advice.algorithm}"
        if advice.algorithm != advice.default and advice.probability is not None:
            line += f", better than {advice.default} with probability {advice.probability:.2f}"
        elif advice.best_looking != advice.default and advice.probability is not None:
            line += f", the single best; {advice.best_looking} is better with probability {advice.probability:.2f}"
        if advice.novel:
            line += f"; the selector has seen nothing like it (p = {advice.familiar:.2g})"
        lines.append(f"{line} [{advice.evaluations} evaluations]")
    return "\n".join(lines)

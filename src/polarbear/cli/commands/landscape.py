"""`polarbear landscape`: features of a plan's instances, and how the instances of a function differ."""

from __future__ import annotations

import io
import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.executing import open_plan, open_problems
from polarbear.cli.options import JsonOption, WorkersOption, data_option, repeatable, to_json
from polarbear.cli.recorded import bad_input, read_runs
from polarbear.cli.terminal import echo
from polarbear.cli.termination import interruptible

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from polarbear.landscape import InstanceComparison, InstanceFeatures, Performance
    from polarbear.problems import ProblemSpec
    from polarbear.study import Plan

EXAMPLE = "polarbear landscape compare plan.toml --designs 100 --workers 4"


class _What(StrEnum):
    FEATURES = "features"
    COMPARE = "compare"


class _Format(StrEnum):
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


class _Embedding(StrEnum):
    TSNE = "t-sne"
    UMAP = "umap"


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which features are computed, and from which points."""

    designs: Annotated[int, typer.Option(min=1, help="Latin hypercubes, the same for all instances.")] = 30
    points: Annotated[int, typer.Option(min=2, help="Points of each design.")] = 1000
    sets: Annotated[list[str] | None, repeatable("set", "A set of features; repeatable. Default: all.")] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first design; the others count up from it.")] = 0

    def options(self) -> list[str]:
        """The command-line arguments that give these options."""
        numbers = {"--designs": self.designs, "--points": self.points, "--seed": self.seed}
        given = [(name, str(number)) for name, number in numbers.items()]
        return [word for pair in (*given, *(("--set", name) for name in self.sets or ())) for word in pair]


@dataclass(frozen=True, slots=True)
class Tests:
    """Options of the comparison."""

    runs: Annotated[
        list[Path] | None, data_option("With compare: a study or archive with runs on these instances; repeatable.")
    ] = None
    budget: Annotated[
        list[float] | None,
        repeatable(
            "budget", "With --runs: compare values after this many evaluations; repeatable. Default: the plan's budget."
        ),
    ] = None
    significance: Annotated[
        float, typer.Option(min=1e-9, max=0.5, help="With compare: false discovery rate of the tests.")
    ] = 0.05
    embedding: Annotated[
        _Embedding, typer.Option(help="With compare: embedding of the instances; umap needs umap-learn.")
    ] = _Embedding.TSNE


def landscape(
    what: Annotated[
        _What,
        typer.Argument(
            help="features: write a table of features; compare: also run tests and write a page.", show_default=False
        ),
    ],
    plan_file: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="A plan (TOML), or a file with [instances] alone; optimizers are not run.",
            show_default=False,
        ),
    ],
    sampling: Sampling,
    tests: Tests,
    into: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the table, the page and the designs. Default: the plan's name with .landscape.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[_Format, typer.Option("--format", help="Format of the table of features.")] = _Format.CSV,
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Compute features of a plan's instances, and compare those of each function; resumes after an interruption."""
    from polarbear.landscape import by_box
    from polarbear.quantities import plural

    problems, folder = open_problems(plan_file), into or plan_file.with_suffix(".landscape")
    again = ["polarbear", "landscape", what, str(plan_file), "--into", str(folder), *sampling.options()]
    with bad_input(), interruptible("every finished design", shlex.join(again)):
        boxes = by_box(problems)
        computed = _features(boxes, folder, sampling, workers)
        answer: dict[str, Any] = {"table": str(_write_table(computed, folder, form))}
        said = [f"{plural(problems, 'instance')} on {plural(sampling.designs, 'design')}: {answer['table']}"]
        if what is _What.COMPARE:
            compared = _compare(boxes, computed, tests)
            performances = _performances(problems, plan_file, tests)
            answer |= _written(compared, performances, folder, tests.significance)
            said += [f"{answer['headline']}.", f"page: {answer['page']}"]
    echo(to_json(answer) if as_json else "\n".join(said))


def _features(
    boxes: Sequence[Sequence[ProblemSpec]], folder: Path, sampling: Sampling, workers: int
) -> list[InstanceFeatures]:
    """The features of each box; completed designs are read rather than computed."""
    from polarbear.cli.console import Console
    from polarbear.landscape import SETS, instances
    from polarbear.progress import steps

    with steps(Console(stderr=True), "computing features") as step, _pool(workers) as executor:
        return [
            instances(
                box,
                designs=sampling.designs,
                points=sampling.points,
                sets=sampling.sets or tuple(SETS),
                path=folder / "designs" / str(number),
                executor=executor,
                seed=sampling.seed,
                progress=lambda done, size: step(f"computing features: {done} of {size} designs"),
            )
            for number, box in enumerate(boxes, 1)
        ]


@contextmanager
def _pool(workers: int) -> Generator[Executor | None]:
    """Worker processes; None for this process."""
    from polarbear.experiment import WorkerPool

    if workers == 1:
        yield None
        return
    with WorkerPool(workers) as pool:
        yield pool


def _write_table(computed: Sequence[InstanceFeatures], folder: Path, form: _Format) -> Path:
    import polars as pl

    from polarbear.assess.report.data import Data
    from polarbear.store.atomic import write_atomically

    frame, content = pl.concat([each.frame() for each in computed]), io.BytesIO()
    if form is _Format.PARQUET:
        frame.write_parquet(content)
    else:
        table = Data.of("features", frame.columns, frame.rows())
        content.write((table.csv() if form is _Format.CSV else table.json()).encode())
    write_atomically(path := folder / f"features.{form.value}", content.getvalue())
    return path


def _compare(
    boxes: Sequence[Sequence[ProblemSpec]], computed: Sequence[InstanceFeatures], tests: Tests
) -> list[InstanceComparison]:
    from polarbear.cli.console import Console
    from polarbear.landscape import compare_instances

    with Console(stderr=True).status("comparing"):
        return [
            compare_instances(features, box, alpha=tests.significance, method=tests.embedding.value)
            for features, box in zip(computed, boxes, strict=True)
        ]


def _performances(problems: Sequence[ProblemSpec], plan_file: Path, tests: Tests) -> list[Performance]:
    """The performance of algorithms on the problems after each budget, by default that of the plan."""
    from polarbear.landscape import performance

    if not tests.runs:
        return []
    budgets = tests.budget or _plans_budgets(open_plan(plan_file))
    names = {problem.name for problem in problems}
    runs = [run for run in read_runs(tests.runs) if run.key.instance in names]
    return [performance(runs, budget, alpha=tests.significance) for budget in budgets]


def _plans_budgets(plan: Plan) -> list[float]:
    if plan.axis == "seconds":
        raise ValueError("the plan's budget is in seconds; give a number of evaluations with --budget")
    return sorted({plan.budget.at(dimension, plan.axis) for dimension in plan.dimensions})


def _written(
    compared: Sequence[InstanceComparison], performances: Sequence[Performance], folder: Path, alpha: float
) -> dict[str, Any]:
    """Write the page, and return its contents as plain values."""
    from polarbear.analyzer.landscape import headline, write_instances_page

    page = write_instances_page(compared, folder, performances=performances, alpha=alpha)
    return {
        "page": str(page),
        "headline": headline(compared),
        "boxes": [comparison.as_dict() for comparison in compared],
        "performance": [each.as_dict() for each in performances],
    }

"""The time that algorithms take to reach targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess import RuntimeSummary, summarize
from polarbear.assess.report import Assessment, Cell, runtime_samples, runtime_statistics, with_targets
from polarbear.assess.report.data import Data
from polarbear.assess.report.tables import LEVELS
from polarbear.records import FloatArray
from polarbear.web.kind import (
    Algorithm,
    Layout,
    Number,
    Other,
    Problem,
    Quantiles,
    Shown,
    Text,
    alone,
    budget_in,
    cell_of,
    number_in,
    numbers_in,
    one_of,
    view,
)
from polarbear.web.samples import BAND_LEVELS, Around, Samples, band

_AVERAGES: dict[str, Callable[[RuntimeSummary], FloatArray]] = {
    "PAR-c": lambda summary: summary.par,
    "ERT": lambda summary: summary.ert,
    "SP1": lambda summary: summary.sp1,
    "median": lambda summary: summary.median,
    "mean of successes": lambda summary: summary.mean,
}
_COST = "runtime (evaluations)"
Targets = Annotated[str, Text("targets (empty: ten, evenly spaced)", "")]
OwnTargets = Annotated[str, Text("targets (empty: the usual ones)", "100 10 1 0.1")]
Target = Annotated[str, Text("target (empty: the hardest that all reached)", "")]
Statistic = Annotated[str, one_of("statistic", *_AVERAGES)]
Penalty = Annotated[float, Number("penalty c of PAR-c", 1, 1e6, 10)]
OwnBudget = Annotated[str, Text("budget (empty: what each run was given)", "")]
Probability = Annotated[float, Number("probability of success", 0.01, 1, 0.5)]


@view("fixed-target", "Expected runtime over targets")
def expected_runtime(assessment: Assessment, problem: Problem) -> Shown:
    """Expected runtime (ERT) to each target on one function."""
    cell, targets = cell_with_targets(assessment, problem)
    return Shown.of(charts.over_targets(alone(assessment, problem), cell, targets))


@view("fixed-target", "Runtime distribution")
def runtime_distribution(assessment: Assessment, problem: Problem) -> Shown:
    """Share of targets reached on one function over the budget, with simulated restarts."""
    cell = cell_of(assessment, problem)
    return coco_chart(alone(assessment, problem), [cell], cell.title)


@view("fixed-target", "Statistics at targets")
def runtimes(assessment: Assessment, problem: Problem) -> Shown:
    """Per algorithm and target: successes, ERT, mean, median, standard deviation, PAR-10."""
    return Shown(placeless(alone(assessment, problem).runtime_data))


@view("fixed-target", "Statistics at own targets")
def runtime_quantiles(
    assessment: Assessment, problem: Problem, targets: Targets, penalty: Penalty, quantiles: Quantiles = LEVELS
) -> Shown:
    """Per algorithm and target: successes, mean, standard deviation, quantiles, PAR-c, ERT."""
    at, subject = numbers_in(targets, "targets"), alone(assessment, problem).subject
    return Shown(placeless(runtime_statistics(subject, at, levels=quantiles, penalty=penalty)))


@view("fixed-target", "Runtimes of single runs")
def runtimes_of_runs(assessment: Assessment, problem: Problem, targets: Targets, layout: Layout) -> Shown:
    """Runtime of every run to each target; inf if it missed the target."""
    at = numbers_in(targets, "targets")
    samples = runtime_samples(alone(assessment, problem).subject, at, wide=layout == "a column per run")
    return Shown(placeless(samples))


@view("fixed-target", "Average runtime over targets")
def average_runtime(
    assessment: Assessment, problem: Problem, statistic: Statistic, penalty: Penalty, around: Around, budget: OwnBudget
) -> Shown:
    """PAR-c, ERT, SP1, median or mean runtime to each target, with quantiles, standard deviation or single runs.

    With an own budget, runs are treated as if none had been given more.
    """
    name = f"PAR-{penalty:g}" if statistic == "PAR-c" else statistic
    cut = budget_in(budget, np.inf)
    return _over_targets(assessment, problem, _AVERAGES[statistic], name, penalty=penalty, around=around, budget=cut)


@view("fixed-target", "Runtime at a probability of success")
def fixed_probability(assessment: Assessment, problem: Problem, probability: Probability) -> Shown:
    """Runtime within which a run reaches each target with the given probability."""
    name = f"{100 * probability:g} %-quantile"
    return _over_targets(assessment, problem, lambda summary: summary.quantiles[-1], name, probability=probability)


@view("fixed-target", "Runtime distribution to own targets")
def own_targets(
    assessment: Assessment,
    problem: Problem,
    targets: OwnTargets,
) -> Shown:
    """Share of your own targets reached on one function over the budget, with simulated restarts."""
    cell, usual = cell_with_targets(assessment, problem)
    given = numbers_in(targets, "targets")
    table = {(cell.suite, cell.function, cell.dimension): usual if given is None else given}
    chosen = Assessment(with_targets(alone(assessment, problem).subject, table))
    return coco_chart(chosen, list(chosen.subject.cells), cell.title)


@view("fixed-target", "Histogram of runtimes")
def runtime_histogram(assessment: Assessment, problem: Problem, target: Target) -> Shown:
    """Number of runs by runtime to a target, in the same bins for all algorithms."""
    return _runtimes_to(assessment, problem, target).histogram()


@view("fixed-target", "Density of runtimes")
def runtime_density(assessment: Assessment, problem: Problem, target: Target) -> Shown:
    """Density of each algorithm's runtimes to a target, with the single runs."""
    samples = _runtimes_to(assessment, problem, target)
    return samples.density(
        lambda curves: figures.runtime_densities(curves, runs=samples.of, target=samples.at, order=samples.order)
    )


@view("fixed-target", "Cumulative difference of runtimes")
def runtime_difference(
    assessment: Assessment, problem: Problem, target: Target, algorithm: Algorithm, against: Other
) -> Shown:
    """Whether one of two algorithms is faster among the fast runs, the slow runs, or all."""
    return _runtimes_to(assessment, problem, target).difference(algorithm, against)


def placeless(table: Data) -> Data:
    """A table about one problem, without its first three columns, which identify the problem."""
    return Data(table.name, table.columns[3:], tuple(row[3:] for row in table.rows))


def coco_chart(
    assessment: Assessment, cells: list[charts.Cell], scope: str, backdrop: charts.Backdrop | None = None
) -> Shown:
    """Runtime distributions over cells of one dimension.

    Raises:
        ValueError: If no algorithm ran on all of them.
    """
    drawn = charts.runtime_distributions(assessment, cells, scope, backdrop or charts.Backdrop())
    if drawn is None:
        raise ValueError(f"no algorithm ran on all functions of {scope}; choose one of its functions")
    return Shown.of(drawn)


def cell_with_targets(assessment: Assessment, problem: str) -> tuple[Cell, FloatArray]:
    """A problem and its targets, easiest first.

    Raises:
        ValueError: If it has no targets.
    """
    cell = cell_of(assessment, problem)
    if cell.targets is None:
        raise ValueError(f"{problem} has no targets, as not all optima are known; use the page Fixed budget")
    return cell, cell.targets


def _over_targets(
    assessment: Assessment,
    problem: str,
    of: Callable[[RuntimeSummary], FloatArray],
    statistic: str,
    *,
    penalty: float = 10.0,
    around: str = "nothing",
    probability: float = 0.5,
    budget: float = np.inf,
) -> Shown:
    """A statistic of the runtimes to every target of a problem, with runs cut off at the budget."""
    cell, targets = cell_with_targets(assessment, problem)
    at = np.flip(targets)
    known = alone(assessment, problem).hits
    reached = {name: np.flip(known[cell, name], axis=1) for name in cell.trials}
    hits = {name: np.where(each <= budget, each, np.inf) for name, each in reached.items()}
    summaries = {
        name: summarize(
            hits[name],
            np.minimum(trials.evaluations, budget),
            levels=(*BAND_LEVELS, probability),
            penalty=penalty,
            weights=trials.weights,
        )
        for name, trials in cell.trials.items()
    }
    lines = {name: of(each) for name, each in summaries.items()}
    bands = {name: ends for name, each in summaries.items() if (ends := band(each, around)) is not None}
    drawn = figures.fixed_target_curves(
        at,
        lines,
        bands=bands,
        runs=hits if around == "single runs" else None,
        statistic=statistic,
        band=around if bands else "",
        target=_target_label(cell),
        order=assessment.subject.algorithms,
    )
    rows = charts.by_algorithm({name: (at, line) for name, line in lines.items()})
    columns = ("algorithm", "target", statistic)
    return Shown.of(charts.exhibit(drawn, f"{statistic} {cell.name}", columns, rows, cell.title))


def _target_label(cell: Cell) -> str:
    return f"target {'value' if cell.absolute else 'precision'}"


def _runtimes_to(assessment: Assessment, problem: str, target: str) -> Samples:
    """The runtimes of all runs to a target; by default the hardest target that every algorithm reached in some run."""
    cell, targets = cell_with_targets(assessment, problem)
    if (level := number_in(target, "target")) is None:
        hits = alone(assessment, problem).hits
        reached = np.all([np.isfinite(hits[cell, name]).any(axis=0) for name in cell.trials], axis=0)
        level = float(targets[reached][-1] if reached.any() else targets[0])
    runtimes = {name: trials.runtimes([level], absolute=cell.absolute)[:, 0] for name, trials in cell.trials.items()}
    at = f"{_target_label(cell)} {level:.3g}"
    return Samples(runtimes, _COST, at, cell.title, assessment.subject.algorithms)

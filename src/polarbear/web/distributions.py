"""Distribution functions over runs: of runtimes to one target, of values at several budgets, and areas below them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess import Bounds, data_profile, runtime_distribution, value_distribution
from polarbear.assess import performance_profile as profile_of
from polarbear.assess.report import Assessment, with_targets
from polarbear.assess.report.data import Data
from polarbear.figures import Distribution
from polarbear.figures.marks import Line
from polarbear.figures.style import MUTED
from polarbear.records import FloatArray
from polarbear.web.fixed_budget import Budgets, best_values
from polarbear.web.fixed_target import cell_with_targets, coco_chart
from polarbear.web.kind import (
    Algorithm,
    Dimension,
    Number,
    Problem,
    Shown,
    alone,
    cell_of,
    check_ran,
    numbers_in,
    one_of,
    view,
    within,
)
from polarbear.web.many_functions import OneTarget, one_number

_TEN, _POINTS = 10, 100
Count = Annotated[float, Number("targets", 2, 51, 10, whole=True)]
Profile = Annotated[str, one_of("profile", "performance", "data")]


@view("fixed-target", "Distribution of runtimes to one target")
def target_ecdf(assessment: Assessment, problem: Problem, target: OneTarget) -> Shown:
    """Share of runs that reached a target over the budget, as measured, without restarts."""
    cell = cell_of(assessment, problem)
    at = one_number(target, "target")
    table = {(cell.suite, cell.function, cell.dimension): at}
    chosen = Assessment(with_targets(alone(assessment, problem).subject, table), restarts=0)
    shown = coco_chart(chosen, list(chosen.subject.cells), f"{cell.title}, target {at[0]:g}")
    share = {name: float(each.solved) for (_, name), each in chosen.distributions.items()}
    said = ", ".join(f"{solved:.3g} for {name}" for name, solved in share.items())
    return replace(shown, text=f"Share of runs that reached the target: {said}.")


@view("fixed-budget", "Distribution of values at several budgets")
def values_ecdf(assessment: Assessment, problem: Problem, budgets: Budgets) -> Shown:
    """Share of run-budget pairs that reach each value, with the area below the curve."""
    cell = cell_of(assessment, problem)
    given = numbers_in(budgets, "budgets")
    at = cell.budgets(_TEN) if given is None else given
    values = {name: best_values(cell, name, at) for name in cell.trials}
    known = {name: np.where(np.isnan(each), np.inf, each).ravel() for name, each in values.items()}
    steps = {name: value_distribution(each) for name, each in known.items()}
    area = _areas(known)
    said = f"{at.size} budgets from {at.min():g} to {at.max():g} evaluations"
    drawn = figures.value_distributions(
        {name: Distribution(at=each.x, share=each.y) for name, each in steps.items()},
        budget=said,
        shares_of="pairs of a run and a budget",
        value=charts.value_label(cell),
        order=assessment.subject.algorithms,
    )
    rows = charts.by_algorithm({name: (each.x, each.y) for name, each in steps.items()})
    columns = ("algorithm", charts.value_label(cell), "share")
    shown = Shown.of(charts.exhibit(drawn, f"ecdf {problem} budgets", columns, rows, f"{cell.title}, {said}"))
    areas = ", ".join(f"{each:.3g} for {name}" for name, each in area.items())
    return replace(shown, text=f"Area below the line, as a share of the range of all values: {areas}." if area else "")


@view("coco", "How a distribution comes about")
def construction(assessment: Assessment, problem: Problem, algorithm: Algorithm, targets: Count) -> Shown:
    """An algorithm's runs with evenly spaced targets, and the runtime distribution that they make."""
    cell, _ = cell_with_targets(assessment, problem)
    check_ran(cell.name, cell.trials, algorithm)
    budgets = cell.budgets(_POINTS)
    values = best_values(cell, algorithm, budgets)
    bounds = Bounds.of(np.maximum(values[np.isfinite(values)], cell.precisions.low), log=cell.knows_optima)
    levels = np.flip(bounds.spaced(int(targets)))
    trials = cell.trials[algorithm]
    hits = trials.runtimes(levels, absolute=cell.absolute)
    distribution = runtime_distribution(hits, trials.evaluations, restarts=0, weights=trials.weights)
    order = assessment.subject.algorithms
    runs = figures.fixed_budget_curves(
        budgets,
        {algorithm: np.median(values, axis=0)},
        runs={algorithm: values},
        statistic="median",
        value=charts.value_label(cell),
        order=order,
    )
    (panel,) = runs.panels
    ends = budgets[[0, -1]]
    lines = (
        Line(name=f"target-{k}", x=ends, y=np.full(2, level), color=MUTED, width=0.6, dash=(4, 3), layer=1.2)
        for k, level in enumerate(levels)
    )
    runs = replace(runs, panels=(replace(panel, marks=(*lines, *panel.marks)),))
    ecdf = figures.runtime_distributions({algorithm: Distribution.of(distribution)}, order=order, cost="evaluations")
    both = figures.grid({"runs and targets": runs, "runtime distribution": ecdf}, columns=2)
    caption = (
        f"Left: thin lines are single runs, the thick line is their median; dashed horizontal lines are {levels.size} "
        "targets between the extremes. The point where a run first meets a target is a runtime. Right: all runtimes, "
        "sorted: the share of run-target pairs reached within the budget, as measured, without restarts. A cross marks "
        "the median budget of the runs that missed a target, a dot the share reached at all."
    )
    both = replace(both, title="From runs to their runtime distribution", caption=caption)
    rows = ([run, level, hit] for run, row in enumerate(hits, 1) for level, hit in zip(levels, row, strict=True))
    columns = ("run", "target", "runtime")
    return Shown.of(charts.exhibit(both, f"construction {problem} {algorithm}", columns, rows, cell.title))


@view("coco", "Areas below runtime distributions")
def areas_below(assessment: Assessment, dimension: Dimension) -> Shown:
    """Area below each algorithm's runtime distribution (AUC, from 0 to 1), by function and on average."""
    part = within(assessment, dimension)
    names, cells = assessment.subject.algorithms, part.subject.cells
    table = np.full((len(cells), len(names)), np.nan)
    for row, cell in enumerate(cells):
        bounds = Bounds(1.0, cell.longest, log=True)
        for column, name in enumerate(names):
            if name in cell.trials:
                table[row, column] = part.distributions[cell, name].area_below(bounds)
    rows = [[cell.name, *areas] for cell, areas in zip(cells, table, strict=True)]
    mean = table.mean(axis=0)
    return Shown(
        Data.of(f"areas-below-{dimension}", ("function", *names), [*rows, ["mean", *mean]]),
        text="Budgets on a log scale up to the longest run on the function; restarts simulated.",
    )


@view("coco", "Performance and data profiles")
def performance_profile(assessment: Assessment, dimension: Dimension, target: OneTarget, profile: Profile) -> Shown:
    """Share of functions on which an algorithm's ERT to one target is within a multiple of the fastest one's.

    As a data profile: so many simplex gradients, of d + 1 evaluations each.
    """
    erts = _erts(assessment, dimension, one_number(target, "target"))
    times = np.array(list(erts.values())).T
    if not np.isfinite(times).any():
        raise ValueError(f"no algorithm reached {target} on any function; give a larger target")
    if profile == "data":
        sizes = [cell.dimension for cell in within(assessment, dimension).subject.cells]
        at = np.unique((times / (np.array(sizes)[:, None] + 1.0))[np.isfinite(times)])
        shares, unit, draw = data_profile(times, sizes, at), "simplex gradients", figures.data_profiles
    else:
        reached = times[np.isfinite(times).any(axis=1)]
        at = np.unique((reached / reached.min(axis=1, keepdims=True))[np.isfinite(reached)])
        shares, unit, draw = profile_of(times, at), "ratio", figures.performance_profiles
    curves = {
        name: Distribution(at=at, share=share, solved=float(np.isfinite(erts[name]).mean()))
        for name, share in zip(erts, shares.T, strict=True)
    }
    drawn = draw(curves, order=assessment.subject.algorithms, share="share of functions")
    rows = charts.by_algorithm({name: (each.at, each.share) for name, each in curves.items()})
    scope = f"{dimension}-D, ERT to {target}"
    return Shown.of(
        charts.exhibit(drawn, f"{profile} profile {dimension} {target}", ("algorithm", unit, "share"), rows, scope)
    )


@view("coco", "Ratios of runtimes")
def runtime_ratios(assessment: Assessment, dimension: Dimension, target: OneTarget) -> Shown:
    """Ratio of the row's ERT to the column's: geometric mean over functions where both reach a target."""
    erts = _erts(assessment, dimension, one_number(target, "target"))
    logs = np.log([np.where(np.isfinite(times), times, np.nan) for times in erts.values()])
    names = tuple(erts)
    with np.errstate(invalid="ignore"):
        both = logs[:, None] - logs[None]
        counts = np.isfinite(both).sum(axis=2)
        ratio = np.exp(np.where(counts, np.nansum(both, axis=2) / np.maximum(counts, 1), np.nan))
    if not (counts[~np.eye(len(names), dtype=bool)] > 0).any():
        raise ValueError(f"no two algorithms reached {target} on the same function; give a larger target")
    drawn = figures.heat_map(
        ratio,
        names,
        names,
        label="ratio of ERT",
        numbers="Expected runtime of the row divided by that of the column, as the geometric mean over the functions "
        f"on which both reach {target} (Hansen et al. 2022, eq. 4)",
        center=1.0,
        spacing="log",
        row_label="slower if above 1",
    )
    rows = (
        [first, second, ratio[i, j], counts[i, j]] for i, first in enumerate(names) for j, second in enumerate(names)
    )
    columns = ("algorithm", "against", "ratio", "functions")
    return Shown.of(charts.exhibit(drawn, f"ratios {dimension} {target}", columns, rows, f"{dimension}-D"))


def _erts(assessment: Assessment, dimension: str, target: list[float]) -> dict[str, FloatArray]:
    """For each algorithm, (functions,) expected runtimes to a target; inf where it was missed or not run."""
    subject = within(assessment, dimension).subject
    table = {(cell.suite, cell.function, cell.dimension): target for cell in subject.cells}
    part = Assessment(with_targets(subject, table))
    return {
        name: np.array([part.erts[cell, name][0] if name in cell.trials else np.inf for cell in part.subject.cells])
        for name in assessment.subject.algorithms
    }


def _areas(values: dict[str, FloatArray]) -> dict[str, float]:
    """The area below each distribution function over the range of all values; on a log scale if all are positive."""
    every = np.concatenate(list(values.values()))
    finite = every[np.isfinite(every)]
    if not finite.size or finite.min() == finite.max():
        return {}
    bounds = Bounds.of(finite, log=bool((finite > 0).all()))
    return {name: value_distribution(each).mean(bounds) for name, each in values.items()}

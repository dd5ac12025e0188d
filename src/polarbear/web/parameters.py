"""Parameters that algorithms logged, as tables, and the correlation of two of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, TypedDict

import numpy as np

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess import parameter_at_targets, parameter_at_times, summarize_values
from polarbear.assess import parameter_correlation as correlation
from polarbear.assess.parameter_tracking import parameter_names
from polarbear.assess.report import Assessment, Subject, parameter_samples, parameter_statistics
from polarbear.descriptions import listed
from polarbear.figures.sentences import markers
from polarbear.records import FloatArray
from polarbear.web.fixed_budget import STATISTICS, Parameter, Statistic
from polarbear.web.fixed_target import cell_with_targets, placeless
from polarbear.web.kind import Algorithm, Layout, Number, Problem, Shown, Text, cell_of, numbers_in, one_of, view
from polarbear.web.samples import BAND_LEVELS, Around, band

_GRID = 100
READ_AT = ("budgets", "targets")
ReadAt = Annotated[str, one_of("read at", *READ_AT)]
At = Annotated[str, Text("which (empty: ten up to the longest run, or the usual targets)", "")]
Second = Annotated[str, Text("second parameter (empty: the second logged)", "")]
Window = Annotated[float, Number("window (of 100 budgets)", 1, 99, 11, whole=True)]
Method = Annotated[str, one_of("correlation", "spearman", "pearson")]


class _Where(TypedDict):
    """The budgets, or else the targets, at which a parameter is read."""

    budgets: FloatArray | None
    targets: FloatArray | None


@view("fixed-budget", "Statistics of a parameter")
def parameters(assessment: Assessment, problem: Problem, logged: Parameter, read_at: ReadAt, at: At) -> Shown:
    """Mean, standard deviation and nine quantiles of a logged parameter at budgets, or when runs reached targets."""
    subject, name = logged_in(assessment, problem, logged)
    return Shown(placeless(parameter_statistics(subject, name, **_where(assessment, problem, read_at, at))))


@view("fixed-budget", "Average parameter")
def average_parameter(
    assessment: Assessment, problem: Problem, logged: Parameter, read_at: ReadAt, statistic: Statistic, around: Around
) -> Shown:
    """Median, mean or geometric mean of a logged parameter of all algorithms, over budgets or targets, with bands."""
    subject, name = logged_in(assessment, problem, logged)
    cell, over_targets = subject.cells[0], read_at == "targets"
    at = np.flip(cell_with_targets(assessment, problem)[1]) if over_targets else cell.budgets(_GRID)
    runs = {
        each: parameter_at_targets(trials.runs, name, at, absolute=cell.absolute)
        if over_targets
        else parameter_at_times(trials.runs, name, at)
        for each, trials in cell.trials.items()
    }
    summaries = {each: summarize_values(own, levels=BAND_LEVELS, omit_unknown=True) for each, own in runs.items()}
    lines = {each: STATISTICS[statistic](summary) for each, summary in summaries.items()}
    if not any(np.isfinite(line).any() for line in lines.values()):
        raise ValueError(f"{name} has no {statistic} on {problem} at any of these {read_at}; choose another statistic")
    bands = {each: ends for each, summary in summaries.items() if (ends := band(summary, around)) is not None}
    shared: dict[str, Any] = {
        "bands": bands,
        "runs": runs if around == "single runs" else None,
        "statistic": statistic,
        "order": assessment.subject.algorithms,
    }
    if over_targets:
        target = f"target {'value' if cell.absolute else 'precision'}"
        drawn = figures.fixed_target_curves(at, lines, cost=name, target=target, **shared)
    else:
        drawn = figures.fixed_budget_curves(at, lines, value=name, **shared)
    which = "that reached the target, taken at that moment" if over_targets else "that are still running at that budget"
    around_it = f" Shaded area: {around}." if bands else " Thin lines are single runs." * bool(shared["runs"])
    caption = (
        f"A line is the {statistic} of the logged parameter “{name}” over the runs of an algorithm {which}. It "
        "ends where there is none; a dotted line leads from there to the name."
    )
    words = f"{statistic} of {name} over the {'targets' if over_targets else 'budget'}"
    drawn = replace(
        drawn,
        title=f"{words[0].upper()}{words[1:]}",
        alt=f"Line chart of the {words} of {listed(lines)}.",
        caption=caption + around_it + markers(len(lines)),
    )
    rows = charts.by_algorithm({each: (at, line, summaries[each].count) for each, line in lines.items()})
    columns = ("algorithm", "target" if over_targets else "evaluations", statistic, "runs")
    return Shown.of(charts.exhibit(drawn, f"{statistic} {name} {problem}", columns, rows, cell.title))


@view("fixed-budget", "Parameter of single runs")
def parameters_of_runs(
    assessment: Assessment, problem: Problem, logged: Parameter, read_at: ReadAt, at: At, layout: Layout
) -> Shown:
    """A logged parameter of every run at budgets, or when it reached targets."""
    subject, name = logged_in(assessment, problem, logged)
    wide = layout == "a column per run"
    return Shown(placeless(parameter_samples(subject, name, **_where(assessment, problem, read_at, at), wide=wide)))


@view("fixed-budget", "Correlation of two parameters")
def parameter_correlation(
    assessment: Assessment,
    problem: Problem,
    algorithm: Algorithm,
    logged: Parameter,
    second: Second,
    window: Window,
    method: Method,
) -> Shown:
    """Correlation of two logged parameters over an algorithm's runs, in a moving window of budgets."""
    cell = cell_of(assessment, problem)
    subject, first = logged_in(assessment, problem, logged)
    trials = subject.cells[0].trials
    if algorithm not in trials:
        raise ValueError(f"runs of {algorithm} on {problem} did not log {first!r}; those of {', '.join(trials)} did")
    others = [name for name in parameter_names(trials[algorithm].runs) if name != first]
    if not others or (second and second not in others):
        which = f"no {second!r} besides {first!r}" if second else f"only one parameter, {first!r}"
        raise ValueError(f"runs of {algorithm} on {problem} logged {which}; they logged {', '.join((first, *others))}")
    other = second or others[0]
    if not int(window) % 2:
        raise ValueError(f"window is {window:g}; it must be odd")
    budgets = cell.budgets(_GRID)
    values = [parameter_at_times(trials[algorithm].runs, name, budgets) for name in (first, other)]
    correlations = correlation(*values, window=int(window), method=method)  # pyright: ignore[reportArgumentType]
    if not np.isfinite(correlations).any():
        raise ValueError(
            f"{first} or {other} does not vary between runs of {algorithm} on {problem}, or too few runs logged both"
        )
    drawn = figures.fixed_budget_curves(
        budgets,
        {algorithm: correlations},
        statistic=f"{method.capitalize()} correlation of {first} and {other}",
        value="correlation",
        value_spacing="linear",
        order=assessment.subject.algorithms,
    )
    caption = (
        f"The line is {method.capitalize()}'s correlation, over the runs of {algorithm}, of {first} and {other}; at "
        f"each of 100 budgets, values at {window:g} neighbouring budgets are pooled, fewer at the ends. 1: they "
        "rise together; -1: one falls when the other rises; 0: neither. No line where fewer than three pairs are known "
        "or one of the two does not vary."
    )
    return Shown.of(
        charts.exhibit(
            replace(drawn, caption=caption),
            f"correlation {first} {other} {problem} {algorithm}",
            ("evaluations", "correlation"),
            zip(budgets, correlations, strict=True),
            cell.title,
        )
    )


def logged_in(assessment: Assessment, problem: str, parameter: str) -> tuple[Subject, str]:
    """The runs on a problem that logged a parameter, and its name; by default the first parameter that any logged.

    Raises:
        ValueError: If no run logged it.
    """
    cell = cell_of(assessment, problem)
    logged = {name: parameter_names(trials.runs) for name, trials in cell.trials.items()}
    known = dict.fromkeys(each for names in logged.values() for each in names)
    if not known:
        raise ValueError(f"runs on {problem} logged no parameters")
    name = parameter or next(iter(known))
    if name not in known:
        raise ValueError(f"runs on {problem} logged no {name!r}; they logged {', '.join(known)}")
    trials = {each: cell.trials[each] for each, names in logged.items() if name in names}
    return replace(assessment.subject, algorithms=tuple(trials), cells=(replace(cell, trials=trials),)), name


def _where(assessment: Assessment, problem: str, read_at: str, at: str) -> _Where:
    given = numbers_in(at, read_at)
    if read_at == "targets":
        return {"targets": cell_with_targets(assessment, problem)[1] if given is None else given, "budgets": None}
    return {"budgets": given, "targets": None}

"""Tables of statistics and samples at arbitrary targets and budgets, like those that IOHanalyzer offers for download.

IOHprofiler thesis, section 3.1.2, tables 3.1 and 3.2: "Data Summary" and "Multi-Function Statistics".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess import even_grid, parameter_at_targets, parameter_at_times, summarize, summarize_values, values_at
from polarbear.assess.arrays import floats
from polarbear.assess.report.data import Data
from polarbear.assess.report.subject import Cell, Subject
from polarbear.records import FloatArray

LEVELS = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98)
"""Levels of the quantiles in tables of statistics."""
_WHERE = ("suite", "function", "dimension", "algorithm")


def runtime_statistics(
    subject: Subject, targets: ArrayLike | None = None, *, levels: Sequence[float] = LEVELS, penalty: float = 10.0
) -> Data:
    """Statistics of runtimes: successes, success rate, mean, standard deviation, quantiles, PAR-c and ERT.

    Args:
        subject: The runs.
        targets: (targets,) targets for all functions; by default ten between the extremes of the values on each, evenly
            spaced (`even_grid`).
        levels: Levels of the quantiles.
        penalty: The factor c of PAR-c.

    Raises:
        ValueError: For the same reasons as `polarbear.assess.summarize`.
    """
    return Data.of(
        "runtime-statistics",
        (
            *(*_WHERE, "target", "runs", "successes", "success_rate", "mean", "standard_deviation", "median"),
            *(*(_quantile(level) for level in levels), f"par{penalty:g}", "ert"),
        ),
        (
            [*where, target, summary.runs, *row]
            for cell, name, where in _cells(subject)
            for at, times in [_hits(cell, name, targets)]
            for summary in [summarize(times, cell.trials[name].evaluations, levels=levels, penalty=penalty)]
            for target, *row in zip(
                *(at, summary.successes, summary.success_rate, summary.mean, summary.standard_deviation),
                *(summary.median, *summary.quantiles, summary.par, summary.ert),
                strict=True,
            )
        ),
    )


def value_statistics(subject: Subject, budgets: ArrayLike | None = None, *, levels: Sequence[float] = LEVELS) -> Data:
    """Statistics of the best values at budgets: mean, geometric mean, standard deviation and quantiles.

    A run keeps its final value.

    Args:
        subject: The runs.
        budgets: (budgets,) numbers of evaluations for all functions; by default ten up to the longest run on each.
        levels: Levels of the quantiles.

    Raises:
        ValueError: For the same reasons as `polarbear.assess.summarize_values`.
    """
    columns = ("budget", "runs", "mean", "geometric_mean", "standard_deviation", "median")
    return Data.of(
        "value-statistics",
        (*_WHERE, *columns, *(_quantile(level) for level in levels)),
        (
            [*where, *row]
            for cell, name, where in _cells(subject)
            for at, values in [_values(cell, name, budgets)]
            for summary in [summarize_values(values, levels=levels)]
            for row in zip(
                *(at, summary.count, summary.mean, summary.geometric_mean, summary.standard_deviation, summary.median),
                *summary.quantiles,
                strict=True,
            )
        ),
    )


def runtime_samples(subject: Subject, targets: ArrayLike | None = None, *, wide: bool = False) -> Data:
    """The runtime of every run to every target, inf where it was missed.

    Args:
        subject: The runs.
        targets: As in `runtime_statistics`.
        wide: Whether runs have columns rather than rows.
    """
    return _samples(
        "runtime-samples", "target", ((*each, *_hits(*each[:2], targets)) for each in _cells(subject)), wide=wide
    )


def value_samples(subject: Subject, budgets: ArrayLike | None = None, *, wide: bool = False) -> Data:
    """The best value of every run at each budget; arguments as in `value_statistics` and `runtime_samples`."""
    return _samples(
        "value-samples", "budget", ((*each, *_values(*each[:2], budgets)) for each in _cells(subject)), wide=wide
    )


def parameter_samples(
    subject: Subject,
    parameter: str,
    *,
    budgets: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    wide: bool = False,
) -> Data:
    """A logged parameter of every run at budgets or, if `targets` are given, when it reached these.

    Args:
        subject: The runs, all of which logged the parameter.
        parameter: Name of the parameter.
        budgets: As in `value_statistics`.
        targets: (targets,) targets to use in place of budgets.
        wide: Whether runs have columns rather than rows.

    Raises:
        ValueError: If a run never logged the parameter, or both budgets and targets are given.
    """
    return _samples(f"{parameter}-samples", *_parameter(subject, parameter, budgets, targets), wide=wide)


def parameter_statistics(
    subject: Subject,
    parameter: str,
    *,
    budgets: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    levels: Sequence[float] = LEVELS,
) -> Data:
    """Statistics of a logged parameter over the runs for which it is known; arguments as in `parameter_samples`."""
    what, samples = _parameter(subject, parameter, budgets, targets)
    columns = (what, "runs", "mean", "standard_deviation", "median")
    return Data.of(
        f"{parameter}-statistics",
        (*_WHERE, *columns, *(_quantile(level) for level in levels)),
        (
            [*where, *row]
            for _, _, where, at, values in samples
            for summary in [summarize_values(values, levels=levels, omit_unknown=True)]
            for row in zip(
                *(at, summary.count, summary.mean, summary.standard_deviation, summary.median),
                *summary.quantiles,
                strict=True,
            )
        ),
    )


_Sample = tuple[Cell, str, list[Any], FloatArray, FloatArray]
"""Cell, algorithm, the cells of `_WHERE`, targets or budgets (p,), and numbers (runs, p)."""


def _cells(subject: Subject) -> Iterator[tuple[Cell, str, list[Any]]]:
    for cell in subject.cells:
        for name in cell.trials:
            yield cell, name, [cell.suite, cell.function, cell.dimension, name]


def _quantile(level: float) -> str:
    return f"q{100 * level:g}"


def _hits(cell: Cell, name: str, targets: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Targets and the runtimes to them: precisions if optima are known, else values."""
    trials, absolute = cell.trials[name], not cell.knows_optima
    at = _grid(cell) if targets is None else np.atleast_1d(floats(targets))
    return at, trials.runtimes(at, absolute=absolute)


def _grid(cell: Cell) -> FloatArray:
    """Targets between the extremes of the values found by the cell's runs, from easy to hard."""
    values = [curve.y for name in cell.trials for curve in cell.curves(name)]
    reached = np.concatenate([np.empty(0), *values])
    positive = reached[reached > 0] if cell.knows_optima else reached
    return even_grid(positive if positive.size else reached)[::-1]


def _values(cell: Cell, name: str, budgets: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    at = cell.budgets(10) if budgets is None else np.atleast_1d(floats(budgets))
    return at, values_at(cell.curves(name), at)


def _parameter(
    subject: Subject, parameter: str, budgets: ArrayLike | None, targets: ArrayLike | None
) -> tuple[str, Iterator[_Sample]]:
    """Whether it is read at a "budget" or a "target", and the parameter of every algorithm in every cell."""
    if budgets is not None and targets is not None:
        raise ValueError("both budgets and targets are given; give one or the other")

    def samples() -> Iterator[_Sample]:
        for cell, name, where in _cells(subject):
            runs = cell.trials[name].runs
            if targets is None:
                at = cell.budgets(10) if budgets is None else np.atleast_1d(floats(budgets))
                yield cell, name, where, at, parameter_at_times(runs, parameter, at)
            else:
                at = np.atleast_1d(floats(targets))
                values = parameter_at_targets(runs, parameter, at, absolute=not cell.knows_optima)
                yield cell, name, where, at, values

    return "budget" if targets is None else "target", samples()


def _samples(name: str, what: str, samples: Iterator[_Sample], *, wide: bool) -> Data:
    """A row for each run, or for each target or budget with a column for each run, in the order of the runs."""
    every = list(samples)
    if not wide:
        rows = (
            [*where, run.key.instance, run.key.seed, at, value]
            for cell, algorithm, where, grid, numbers in every
            for run, row in zip(cell.trials[algorithm].runs, numbers, strict=True)
            for at, value in zip(grid, row, strict=True)
        )
        return Data.of(name, (*_WHERE, "instance", "seed", what, "value"), rows)
    most = max((len(numbers) for *_, numbers in every), default=0)
    return Data.of(
        name,
        (*_WHERE, what, *(f"run{number}" for number in range(1, most + 1))),
        (
            [*where, at, *column, *[None] * (most - column.size)]
            for _, _, where, grid, numbers in every
            for at, column in zip(grid, numbers.T, strict=True)
        ),
    )

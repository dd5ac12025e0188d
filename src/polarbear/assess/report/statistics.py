"""The statistics of an assessment, as tables to show and to download."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polarbear.assess import (
    Bounds,
    RuntimeDistribution,
    RuntimeSummary,
    Trials,
    aocc,
    best_ert,
    ert,
    pool,
    runtime_distribution,
    summarize,
    summarize_values,
    values_at,
)
from polarbear.assess.report.data import Data
from polarbear.assess.report.subject import Cell, FailedRuns, Subject, failed_runs
from polarbear.records import FloatArray

_BUDGETS = 25
_RESTARTS = 100
TIE = 1e-12
"""Largest difference of equal areas."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The results of an algorithm in one dimension, over all functions.

    Attributes:
        dimension: Number of variables.
        algorithm: The algorithm's name.
        functions: Number of functions it ran on.
        runs: Number of its runs.
        solved: Share of the function-target pairs that it solves, with simulated restarts.
        runtime: Geometric mean of the runtimes to the pairs solved, divided by the dimension.
        aocc: Mean area over the convergence curve, from 0 to 1, larger is better.
        first: Number of functions on which no algorithm has a larger mean area.
    """

    dimension: int
    algorithm: str
    functions: int
    runs: int
    solved: float
    runtime: float
    aocc: float
    first: int


class Assessment:
    """Statistics of a subject, computed on first use and cached.

    Args:
        subject: The runs.
        restarts: Number of runtimes to simulate for each target that some runs missed; 0 for none. As in COCO, none are
            simulated for two objectives: a restarted run keeps its archive, and so its indicator.
    """

    def __init__(self, subject: Subject, restarts: int = _RESTARTS) -> None:
        self.subject = subject
        self._restarts = restarts

    @cached_property
    def hits(self) -> dict[tuple[Cell, str], FloatArray]:
        """(runs, targets) runtimes, inf where a target was missed, by cell and algorithm."""
        return {(cell, name): cell.runtimes(name) for cell, name, _ in self._each()}

    @cached_property
    def erts(self) -> dict[tuple[Cell, str], FloatArray]:
        """(targets,) expected runtimes, by cell and algorithm."""
        return {
            (cell, name): ert(self.hits[cell, name], trials.evaluations, weights=trials.weights)
            for cell, name, trials in self._each()
        }

    @cached_property
    def runtimes(self) -> dict[tuple[Cell, str], RuntimeSummary]:
        """Summaries of the runtimes to every target, by cell and algorithm."""
        return {
            (cell, name): summarize(
                self.hits[cell, name], trials.evaluations, levels=(0.25, 0.75), weights=trials.weights
            )
            for cell, name, trials in self._each()
        }

    @cached_property
    def distributions(self) -> dict[tuple[Cell, str], RuntimeDistribution]:
        """Derandomized runtime distributions over all targets, by cell and algorithm."""
        return {
            (cell, name): runtime_distribution(
                self.hits[cell, name],
                trials.evaluations,
                restarts=0 if cell.biobjective else self._restarts,
                weights=trials.weights,
            )
            for cell, name, trials in self._each()
        }

    @cached_property
    def areas(self) -> dict[tuple[Cell, str], FloatArray]:
        """(runs,) areas over the convergence curves, by cell and algorithm.

        They are on a log scale of evaluations, up to the longest run of the cell; a shorter run keeps its best value.
        """
        return {
            (cell, name): aocc(
                cell.curves(name), times=Bounds(1.0, cell.longest, log=True), values=cell.value_bounds(name)
            )
            for cell, name, _ in self._each()
        }

    def area(self, cell: Cell, name: str) -> float:
        """Mean area of an algorithm over the instances of a cell, all weighted equally however often they were run."""
        return float(np.average(self.areas[cell, name], weights=cell.trials[name].weights))

    def pooled(self, cells: Sequence[Cell]) -> dict[str, RuntimeDistribution]:
        """Runtime distributions over several cells, by algorithm, for algorithms that ran on all of them."""
        return {
            name: pool([self.distributions[cell, name] for cell in cells])
            for name in self.subject.algorithms
            if all(name in cell.trials for cell in cells)
        }

    def best_of_all(self, cells: Sequence[Cell]) -> RuntimeDistribution:
        """The runtime distribution of the best portfolio: the algorithm with the smallest ERT for each target.

        It corresponds to best 2009 in Hansen et al. (2022, figures 3 and 4), but for the algorithms assessed.
        """
        return pool([self._best[cell] for cell in cells])

    @cached_property
    def _best(self) -> dict[Cell, RuntimeDistribution]:
        """The runtime distribution of the best portfolio, by cell."""
        distributions: dict[Cell, RuntimeDistribution] = {}
        for cell in self.subject.cells:
            names = list(cell.trials)
            best, _ = best_ert([self.erts[cell, name] for name in names])
            chosen = np.maximum(best, 0)
            distributions[cell] = pool(
                [
                    runtime_distribution(
                        self.hits[cell, names[row]][:, chosen == row],
                        cell.trials[names[row]].evaluations,
                        restarts=0 if cell.biobjective else self._restarts,
                        weights=cell.trials[names[row]].weights,
                    )
                    for row in sorted(set(map(int, chosen)))
                ]
            )
        return distributions

    @cached_property
    def stopped_early(self) -> int:
        """Number of runs cut short before the hardest target and before half of the longest run of their cell."""
        return sum(
            run.outcome.cut_short and run.outcome.evaluations < cell.longest / 2 and bool(np.isinf(hits[-1]))
            for cell, name, trials in self._each()
            for run, hits in zip(trials.runs, self.hits[cell, name], strict=True)
        )

    @cached_property
    def failures(self) -> tuple[FailedRuns, ...]:
        """The failed runs of each algorithm, most failures first."""
        return failed_runs(self.subject)

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """All algorithms in each dimension, sorted by number of functions run on, then by area, the best first."""
        standings: list[Standing] = []
        for dimension in self.subject.dimensions:
            cells = self.subject.within(dimension)
            wins = [name for cell in cells for name in self._ahead(cell)]
            rows = [self._standing(dimension, name, cells, wins.count(name)) for name in self.subject.algorithms]
            standings += sorted((row for row in rows if row.functions), key=lambda row: (-row.functions, -row.aocc))
        return tuple(standings)

    def ranked(self, dimension: int) -> list[str]:
        """The algorithms of one dimension in the order of their standings, which is cheaper than computing these."""
        cells = self.subject.within(dimension)
        own = {name: [cell for cell in cells if name in cell.trials] for name in self.subject.algorithms}
        area = {name: np.mean([self.area(cell, name) for cell in ran]) for name, ran in own.items() if ran}
        return sorted(area, key=lambda name: (-len(own[name]), -area[name]))

    def _standing(self, dimension: int, name: str, cells: tuple[Cell, ...], first: int) -> Standing:
        own = [cell for cell in cells if name in cell.trials]
        pooled = pool([self.distributions[cell, name] for cell in own]) if own else None
        return Standing(
            dimension,
            name,
            functions=len(own),
            runs=sum(len(cell.trials[name].runs) for cell in own),
            solved=pooled.solved if pooled else 0.0,
            runtime=pooled.geometric_mean() / max(1, dimension) if pooled else np.nan,
            aocc=float(np.mean([self.area(cell, name) for cell in own])) if own else np.nan,
            first=first,
        )

    def _ahead(self, cell: Cell) -> list[str]:
        """The algorithms with the largest mean area."""
        areas = {name: self.area(cell, name) for name in cell.trials}
        return [name for name, area in areas.items() if area >= max(areas.values()) - TIE]

    def _each(self) -> Iterator[tuple[Cell, str, Trials]]:
        for cell in self.subject.cells:
            for name, trials in cell.trials.items():
                yield cell, name, trials

    @cached_property
    def data(self) -> tuple[Data, ...]:
        """All tables for download, including failures if there are any."""
        tables = self.standing_data, self.runtime_data, self.value_data, self.area_data
        return (*tables, self.failure_data) if self.failures else tables

    @cached_property
    def failure_data(self) -> Data:
        """The failed runs of each algorithm."""
        return Data.of("failures", tuple(FailedRuns.__dataclass_fields__), map(astuple, self.failures))

    @cached_property
    def standing_data(self) -> Data:
        """The standings."""
        return Data.of("standings", tuple(Standing.__dataclass_fields__), map(astuple, self.standings))

    @cached_property
    def runtime_data(self) -> Data:
        """Successes, ERT, mean, median, standard deviation, PAR-10 and quantiles per cell, algorithm and target."""
        columns = (
            *("suite", "function", "dimension", "algorithm", "target", "runs", "successes"),
            *("ert", "mean", "median", "standard_deviation", "par10", "success_rate", "q25", "q75"),
        )
        return Data.of("runtimes", columns, self._runtime_rows())

    def _runtime_rows(self) -> Iterator[list[Any]]:
        for (cell, name), summary in self.runtimes.items():
            targets = range(1, summary.ert.size + 1) if cell.targets is None else cell.targets
            moments = summary.mean, summary.median, summary.standard_deviation
            more = summary.par, summary.success_rate, *summary.quantiles
            columns = zip(targets, summary.successes, summary.ert, *moments, *more, strict=True)
            for target, *numbers in columns:
                yield [cell.suite, cell.function, cell.dimension, name, target, summary.runs, *numbers]

    @cached_property
    def value_data(self) -> Data:
        """Mean, median and quantiles of values per cell, algorithm and budget; a run keeps its final value."""
        columns = ("suite", "function", "dimension", "algorithm", "budget", "runs", "mean", "median", "q25", "q75")
        return Data.of("values", columns, self._value_rows())

    def _value_rows(self) -> Iterator[list[Any]]:
        for cell, name, _ in self._each():
            budgets = cell.budgets(_BUDGETS)
            summary = summarize_values(values_at(cell.curves(name), budgets), levels=(0.25, 0.75))
            columns = budgets, summary.count, summary.mean, summary.median, *summary.quantiles
            yield from ([cell.suite, cell.function, cell.dimension, name, *row] for row in zip(*columns, strict=True))

    @cached_property
    def area_data(self) -> Data:
        """The area over the convergence curve of each run."""
        columns = ("suite", "function", "dimension", "algorithm", "instance", "seed", "aocc")
        return Data.of(
            "aocc",
            columns,
            (
                [cell.suite, cell.function, cell.dimension, name, run.key.instance, run.key.seed, area]
                for cell, name, trials in self._each()
                for run, area in zip(trials.runs, self.areas[cell, name], strict=True)
            ),
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        return {
            "algorithms": list(self.subject.algorithms),
            "runs": len(self.subject.runs),
            "failures": [],
            **{data.name: [dict(zip(data.columns, row, strict=True)) for row in data.rows] for data in self.data},
        }

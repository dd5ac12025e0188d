"""Tables of expected runtimes in the style of Table I of Hansen et al. 2022; `table_formats` renders them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.assess.rank_sum import rank_sum, stars
from polarbear.assess.reference import best_ert, ert_ratios
from polarbear.assess.restarts import simulated_restarts
from polarbear.assess.runtimes import ert
from polarbear.assess.summary import runtime_quantiles
from polarbear.assess.trials import Trials
from polarbear.records import FloatArray, Reference


@dataclass(frozen=True, slots=True, eq=False)
class TableRow:
    """One algorithm on one function.

    Attributes:
        algorithm: The algorithm's name.
        erts: (targets,) expected runtimes, inf where no run reached the target.
        shown: (targets,) ERT divided by the reference's; the ERT itself where there is no finite reference.
        dispersion: (targets,) half the difference between the 10 % and 90 % quantiles of simulated runtimes, in the
            unit of `shown`; NaN where no run reached the target, or no runtimes were simulated.
        stars: (targets,) 0, or the number after the star of a significantly best entry; see `stars`.
        best: (targets,) whether no other algorithm has a smaller ERT.
        successes: Number of runs that reached the final target.
        runs: Number of runs.
        median_evaluations: Median number of evaluations spent by the runs.
    """

    algorithm: str
    erts: FloatArray
    shown: FloatArray
    dispersion: FloatArray
    stars: NDArray[np.int64]
    best: NDArray[np.bool_]
    successes: int
    runs: int
    median_evaluations: float


@dataclass(frozen=True, slots=True, eq=False)
class TableBlock:
    """The algorithms on one function.

    Attributes:
        function: The function's number or name.
        reference: (targets,) ERTs of the reference algorithm; None if there is none.
        reference_successes: Numbers of successful trials and of all trials of the reference at the final target; None
            if unknown.
        rows: One row per algorithm.
    """

    function: str
    reference: FloatArray | None
    reference_successes: tuple[int, int] | None
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RuntimeTable:
    """Expected runtimes of algorithms on functions of one dimension.

    Attributes:
        dimension: Number of variables.
        targets: (targets,) target precisions.
        final_target: The precision whose successes are counted.
        tests: Number of tests by which p-values were multiplied (Bonferroni).
        blocks: One block per function.
        absolute: Whether targets are objective values rather than precisions.
    """

    dimension: int
    targets: FloatArray
    final_target: float
    tests: int
    blocks: tuple[TableBlock, ...]
    absolute: bool = False


def runtime_table(
    trials: Sequence[Trials],
    targets: ArrayLike = (1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7),
    *,
    references: Mapping[str, Reference] | None = None,
    final_target: float = 1e-8,
    tests: int | None = None,
    bootstraps: int = 1000,
    rng: np.random.Generator | None = None,
    absolute: bool = False,
) -> RuntimeTable:
    """Compute a table of expected runtimes (Table I).

    ERTs are weighted so that instances repeated with different frequencies count equally. A star requires an entry to
    be best and significantly better than that of every other algorithm in the rank-sum test.

    Args:
        trials: Trials of the algorithms on the functions, all in one dimension; rows and blocks keep their order.
        targets: (targets,) target precisions.
        references: The reference algorithm of each function, by the function's name; built by `best_reference` or read
            from an archive.
        final_target: The precision whose successes are counted.
        tests: Number of tests to correct for; by default the number of functions.
        bootstraps: Number of runtimes to simulate for each dispersion; 0 for none.
        rng: The source of randomness of the simulation; None derandomizes it, see `simulated_restarts`.
        absolute: Whether targets, including the final one, are objective values.

    Raises:
        ValueError: If there are no trials, several dimensions or suites, or an algorithm occurs twice on a function.
    """
    if len({(entry.suite, entry.dimension) for entry in trials}) != 1:
        raise ValueError("a table holds trials of one suite in one dimension; make one table for each")
    levels = floats(targets)
    functions = dict.fromkeys(entry.function for entry in trials)
    tests = len(functions) if tests is None else tests
    blocks: list[TableBlock] = []
    for function in functions:
        group = [entry for entry in trials if entry.function == function]
        if len({entry.algorithm for entry in group}) < len(group):
            raise ValueError(
                f"an algorithm occurs twice on function {function}; join its runs into one group of trials"
            )
        blocks.append(_block(group, levels, final_target, tests, bootstraps, rng, absolute))
    table = RuntimeTable(trials[0].dimension, levels, final_target, tests, tuple(blocks), absolute)
    return divide_table(table, references) if references else table


def divide_table(table: RuntimeTable, references: Mapping[str, Reference]) -> RuntimeTable:
    """Divide the values shown in an undivided `table` by `references`, given by the function's name.

    This is cheap compared with the table itself, whose tests and dispersions do not depend on references.
    """
    return replace(
        table, blocks=tuple(_divided(block, table, references.get(block.function)) for block in table.blocks)
    )


def _divided(block: TableBlock, table: RuntimeTable, reference: Reference | None) -> TableBlock:
    if reference is None:
        return block
    base = reference.at(table.targets)
    unit = np.where(np.isfinite(base), base, 1.0)
    rows = tuple(replace(row, shown=ert_ratios(row.erts, unit), dispersion=row.dispersion / unit) for row in block.rows)
    successes = _successes(reference, table.final_target)
    return replace(block, reference=base, reference_successes=successes, rows=rows)


def _block(
    group: Sequence[Trials],
    targets: FloatArray,
    final_target: float,
    tests: int,
    bootstraps: int,
    rng: np.random.Generator | None,
    absolute: bool,
) -> TableBlock:
    hits = [entry.runtimes(targets, absolute=absolute) for entry in group]
    erts = np.array(
        [ert(times, entry.evaluations, weights=entry.weights) for times, entry in zip(hits, group, strict=True)]
    )
    marks = _significance(group, erts, targets, tests, absolute)
    rows = tuple(
        TableRow(
            algorithm=entry.algorithm,
            erts=erts[row],
            shown=erts[row],
            dispersion=_dispersion(entry, hits[row], bootstraps, rng),
            stars=marks[row],
            best=np.isfinite(erts[row]) & (erts[row] == erts.min(axis=0)),
            successes=int(np.isfinite(entry.runtimes([final_target], absolute=absolute)).sum()),
            runs=len(entry.runs),
            median_evaluations=float(np.median(entry.evaluations)),
        )
        for row, entry in enumerate(group)
    )
    return TableBlock(group[0].function, None, None, rows)


def _dispersion(trials: Trials, hits: FloatArray, bootstraps: int, rng: np.random.Generator | None) -> FloatArray:
    if not bootstraps:
        return np.full_like(hits[0], np.nan)
    simulated = simulated_restarts(hits, trials.evaluations, bootstraps, rng=rng, weights=trials.weights)
    low, high = runtime_quantiles(simulated, [0.1, 0.9])
    return np.where(np.isfinite(high), (high - np.where(np.isfinite(low), low, 0.0)) / 2, np.nan)


def _significance(
    group: Sequence[Trials], erts: FloatArray, targets: FloatArray, tests: int, absolute: bool
) -> NDArray[np.int64]:
    """(algorithms, targets) stars: the best algorithm is tested against all others, and its weakest test counts.

    The nearest rivals come first; as soon as no target can have a star any more, testing stops.
    """
    marks = np.zeros(erts.shape, dtype=np.int64)
    best, _ = best_ert(erts)
    if len(group) < 2:
        return marks
    for row in sorted(set(map(int, best[best >= 0]))):
        columns = np.flatnonzero(best == row)
        weakest = np.zeros(columns.size)
        nearest: list[int] = np.argsort(erts[:, columns].min(axis=1), kind="stable").tolist()
        for other in (index for index in nearest if index != row):
            if not stars(weakest, tests=tests).any():
                break
            outcome = rank_sum(group[row], group[other], targets[columns], absolute=absolute)
            weakest = np.maximum(weakest, np.where(outcome.z > 0, outcome.p, 1.0))
        marks[row, columns] = stars(weakest, tests=tests)
    return marks


def _successes(reference: Reference, target: float) -> tuple[int, int] | None:
    row = int(reference.rows([target])[0])
    runs = int(reference.runs[row])
    return (int(reference.successes[row]) if row >= 0 else 0, runs) if runs else None

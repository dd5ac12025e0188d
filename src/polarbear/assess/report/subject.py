"""What is assessed: runs by problem and algorithm, with the targets and bounds they are held to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polarbear.assess import (
    Bounds,
    Trials,
    biobjective_targets,
    data_profile_targets,
    group_trials,
    log_targets,
    step_functions,
)
from polarbear.assess.step_functions import StepFunction
from polarbear.assess.trials import function_label, is_lost
from polarbear.records import FloatArray, Run, log_times

_EXPONENTS = np.linspace(0.2, 5.0, 25)
_PRECISIONS = Bounds(1e-8, 1e2, log=True)
_INDICATOR_PRECISIONS = Bounds(1e-5, 1e1, log=True)
"""Of the indicator of two objectives; below the lower end runs beat what was known."""
_NOTHING_FOUND = 0.0, 0.0
"""Best and first value where no run has a finite one: whatever they are, no run attains them."""


@dataclass(frozen=True, eq=False)
class Cell:
    """All runs on one function in one dimension.

    Attributes:
        suite: The suite, empty if not known.
        function: The function's number or name.
        dimension: Number of variables, 0 if not known.
        trials: The runs of each algorithm.
        targets: (targets,) precisions, or values if `absolute`, easiest first; or, where optima are not known, None:
            then targets lie between the first and the best value on each instance.
        absolute: Whether targets are objective values. Optima are passed over then.
    """

    suite: str
    function: str
    dimension: int
    trials: dict[str, Trials]
    targets: FloatArray | None
    absolute: bool = False

    @property
    def knows_optima(self) -> bool:
        """Whether values are measured as precisions."""
        return self.targets is not None and not self.absolute

    @property
    def biobjective(self) -> bool:
        """Whether the values are COCO's indicator of two objectives."""
        return "biobj" in self.suite

    @property
    def label(self) -> str:
        """The function, such as ``"f3"`` or ``"sphere"``."""
        return function_label(self.function)

    @property
    def name(self) -> str:
        """Such as ``"bbob f3 in 5-D"``."""
        place = f" in {self.dimension}-D" if self.dimension else ""
        return f"{self.suite} {self.label}{place}".strip()

    @property
    def precisions(self) -> Bounds:
        """Between which precisions attainment is measured."""
        return _INDICATOR_PRECISIONS if self.biobjective else _PRECISIONS

    @property
    def unit(self) -> int:
        """What runtimes are divided by: the dimension, or 1 if it is not known."""
        return max(1, self.dimension)

    def runtimes(self, algorithm: str) -> FloatArray:
        """(runs, targets) runtimes of an algorithm, inf where a target was missed."""
        trials = self.trials[algorithm]
        if self.targets is not None:
            return trials.runtimes(self.targets, absolute=self.absolute)
        best, first = np.array(self._best_and_first(algorithm)).T
        return trials.runtimes(data_profile_targets(first, best, _EXPONENTS.tolist()), absolute=True)

    def curves(self, algorithm: str) -> tuple[StepFunction, ...]:
        """The algorithm's best-so-far curves, of precisions where optima are known; a run keeps its best for ever."""
        runs = self.trials[algorithm].runs
        return step_functions(runs, precision=self.knows_optima, carry=True)

    def value_bounds(self, algorithm: str) -> Bounds | list[Bounds]:
        """Between which values attainment is measured: one for all runs of the algorithm, or one for each."""
        if self.knows_optima:
            return self.precisions
        return [Bounds(best, max(first, np.nextafter(best, np.inf))) for best, first in self._best_and_first(algorithm)]

    @cached_property
    def longest(self) -> float:
        """Evaluations of the longest run of all, at least 2."""
        return max(2.0, *(float(trials.evaluations.max()) for trials in self.trials.values()))

    def budgets(self, count: int) -> FloatArray:
        """(at most count,) evaluations from the first to the end of the longest run, evenly spaced on a log scale."""
        return log_times(1, self.longest, count)

    def _best_and_first(self, algorithm: str) -> list[tuple[float, float]]:
        """For each run the best and the worst first finite value of all algorithms on its instance."""
        found = self._extremes
        return [found.get(run.key.instance, _NOTHING_FOUND) for run in self.trials[algorithm].runs]

    @cached_property
    def _extremes(self) -> dict[str, tuple[float, float]]:
        """For each instance the best and the worst first finite value of all algorithms."""
        found: dict[str, tuple[float, float]] = {}
        for run in (run for trials in self.trials.values() for run in trials.runs):
            finite = run.trajectory.values[np.isfinite(run.trajectory.values)]
            if finite.size:
                best, first = found.get(run.key.instance, (np.inf, -np.inf))
                found[run.key.instance] = min(best, float(finite[-1])), max(first, float(finite[0]))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """Runs to assess.

    Attributes:
        algorithms: Names, sorted.
        cells: One per function and dimension.
        lost: Further runs that were chosen, but killed or timed out before anything was recorded; nothing is known of
            them, and they take no part. An algorithm all of whose runs were lost occurs here alone.
    """

    algorithms: tuple[str, ...]
    cells: tuple[Cell, ...]
    lost: tuple[Run, ...] = ()

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs that take part."""
        return tuple(run for cell in self.cells for trials in cell.trials.values() for run in trials.runs)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Those that occur."""
        return tuple(sorted({cell.dimension for cell in self.cells}))

    @property
    def functions(self) -> tuple[str, ...]:
        """Those that occur, in the order of the cells."""
        return tuple(dict.fromkeys(cell.function for cell in self.cells))

    @property
    def knows_optima(self) -> bool:
        """Whether the optimum of every run is known, and targets are precisions."""
        return all(cell.knows_optima for cell in self.cells)

    @property
    def absolute(self) -> bool:
        """Whether targets are objective values."""
        return any(cell.absolute for cell in self.cells)

    def within(self, dimension: int) -> tuple[Cell, ...]:
        """The cells of one dimension."""
        return tuple(cell for cell in self.cells if cell.dimension == dimension)


def subject_of(
    runs: Iterable[Run],
    *,
    algorithms: Collection[str] = (),
    functions: Collection[str] = (),
    dimensions: Collection[int] = (),
    targets: Sequence[float] = (),
    absolute: Sequence[float] = (),
) -> Subject:
    """Choose runs, and group them by function, dimension and algorithm.

    Args:
        runs: The runs.
        algorithms: Those wanted; all if empty.
        functions: As `algorithms`, numbers or names.
        dimensions: As `algorithms`.
        targets: Target precisions; default 51 from 100 to 1e-8, for two objectives the 68 of COCO. They need known
            optima.
        absolute: In place of `targets`: objective values, whether or not optima are known. Values are minimized; those
            of a maximized problem count with their signs flipped.

    Raises:
        ValueError: If nothing is left, both kinds of targets are given, a wanted algorithm, function or dimension does
            not occur or all its runs were lost, or target precisions are given for runs whose optimum is not known.
    """
    runs = list(runs)
    groups = group_trials(runs)
    gone = [(run, _place(run)) for run in runs if is_lost(run)]
    filters = (algorithms, functions, dimensions)
    known = [(one.algorithm, one.function, one.dimension) for one in groups]
    _require_known(filters, known, [place for _, place in gone])
    lost = tuple(run for run, place in gone if _chosen(place, filters))
    cells: defaultdict[tuple[str, str, int], dict[str, Trials]] = defaultdict(dict)
    for one, place in zip(groups, known, strict=True):
        if _chosen(place, filters):
            cells[one.suite, one.function, one.dimension][one.algorithm] = one
    if not cells and lost:
        raise ValueError(f"there are no runs to assess: {_gone(len(lost))}")
    if not cells:
        raise ValueError("there are no runs to assess" + ("; choose less narrowly" if groups else ""))
    biobjective = [("biobj" in suite) for suite, _, _ in cells]
    if any(biobjective) and not all(biobjective):
        raise ValueError("runs with one objective and with two cannot be assessed together; choose some of them")
    usual = biobjective_targets() if all(biobjective) else log_targets()
    if targets and absolute:
        raise ValueError("targets are given both as precisions and as absolute values; give one kind of them")
    chosen = [run for trials in cells.values() for one in trials.values() for run in one.runs]
    levels = np.unique(_finite(absolute))[::-1] if absolute else _targets(chosen, targets, usual)
    return Subject(
        tuple(sorted({name for trials in cells.values() for name in trials})),
        tuple(Cell(*place, trials, levels, absolute=bool(absolute)) for place, trials in cells.items()),
        lost,
    )


def _place(run: Run) -> tuple[str, str, int]:
    """The run's algorithm, function and dimension."""
    return run.key.algorithm, run.problem.function, run.problem.dimension


def _chosen(place: tuple[str, str, int], filters: tuple[Collection[str | int], ...]) -> bool:
    return all(not wanted or what in wanted for what, wanted in zip(place, filters, strict=True))


def _require_known(
    filters: tuple[Collection[str | int], ...],
    known: Sequence[tuple[str, str, int]],
    gone: Sequence[tuple[str, str, int]],
) -> None:
    """Raise a ValueError if one of the algorithms, functions or dimensions that are wanted has no runs."""
    for column, what in enumerate(("algorithm", "function", "dimension")):
        there = list(dict.fromkeys(place[column] for place in known))
        for name in filters[column]:
            lost = sum(place[column] == name for place in gone)
            if name not in there and lost:
                raise ValueError(f"nothing is known of {what} {name!r}: {_gone(lost)}; leave it out")
            if name not in there:
                shown = there if what == "function" else sorted(there)
                raise ValueError(f"there are no runs of {what} {name!r}; there are {', '.join(map(str, shown))}")


def _gone(count: int) -> str:
    runs = "its one run was" if count == 1 else f"all {count:,} runs were"
    return f"{runs} killed or timed out before anything was recorded"


def _targets(runs: Sequence[Run], wanted: Sequence[float], usual: FloatArray) -> FloatArray | None:
    """The same for all runs, so that functions can be joined; None if some optimum is not known."""
    _finite(wanted)
    unknown = next((run.key for run in runs if run.optimum is None), None)
    if unknown is None:
        return np.unique(wanted)[::-1] if wanted else usual
    if wanted:
        raise ValueError(
            f"target precisions need optima, and that of {unknown} is not known; leave the targets out, or give values "
            "as absolute targets"
        )
    return None


def _finite(wanted: Sequence[float]) -> Sequence[float]:
    if not np.isfinite(wanted).all():
        raise ValueError(f"targets are {', '.join(f'{one:g}' for one in wanted)}; each is a finite number")
    return wanted

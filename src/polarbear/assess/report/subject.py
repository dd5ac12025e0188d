"""The subject of an assessment: runs by problem and algorithm, with targets and bounds; and failed runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike

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
from polarbear.assess.functions import function_group, function_name, shown_function
from polarbear.assess.step_functions import StepFunction
from polarbear.assess.trials import function_label, is_lost
from polarbear.records import FloatArray, Outcome, Run, log_times

_EXPONENTS = np.linspace(0.2, 5.0, 25)
_PRECISIONS = Bounds(1e-8, 1e2, log=True)
_INDICATOR_PRECISIONS = Bounds(1e-5, 1e1, log=True)
"""Bounds of the indicator of two objectives; below the lower end runs beat the best known approximation."""
_NOTHING_FOUND = 0.0, 0.0
"""Best and first value if no run has a finite one; they are arbitrary, as no run attains them."""


@dataclass(frozen=True, eq=False)
class Cell:
    """All runs on one function in one dimension.

    Attributes:
        suite: The suite; empty if unknown.
        function: The function's number or name.
        dimension: Number of variables; 0 if unknown.
        trials: The runs of each algorithm.
        targets: (targets,) precisions, or values if `absolute`, easiest first; None if optima are unknown, in which
            case targets lie between the first and the best value on each instance.
        absolute: Whether targets are objective values, so that optima are ignored.
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
        """The function's label, such as ``"f3"`` or ``"sphere"``."""
        return function_label(self.function)

    @property
    def name(self) -> str:
        """The cell's name, such as ``"bbob f3 in 5-D"``."""
        dimension = f" in {self.dimension}-D" if self.dimension else ""
        return f"{self.suite} {self.label}{dimension}".strip()

    @property
    def title(self) -> str:
        """The `name` with the function's own name, such as ``"bbob f3 Rastrigin separable in 5-D"``."""
        suffix = f" in {self.dimension}-D" if self.dimension else ""
        return f"{self.suite} {function_name(self.suite, self.function)}{suffix}".strip()

    @property
    def shown(self) -> str:
        """The function's name given by `polarbear.assess.functions.functions_shown_as`, or else its `label`."""
        return shown_function(self.suite, self.function) or self.label

    @property
    def group(self) -> str:
        """The group of BBOB functions that the function belongs to; empty if none."""
        return function_group(self.suite, self.function)

    @property
    def precisions(self) -> Bounds:
        """Bounds of the precisions between which attainment is measured."""
        return _INDICATOR_PRECISIONS if self.biobjective else _PRECISIONS

    @property
    def unit(self) -> int:
        """The divisor of runtimes: the dimension, or 1 if unknown."""
        return max(1, self.dimension)

    def runtimes(self, algorithm: str) -> FloatArray:
        """(runs, targets) runtimes of an algorithm, inf where a target was missed."""
        trials = self.trials[algorithm]
        if self.targets is not None:
            return trials.runtimes(self.targets, absolute=self.absolute)
        best, first = np.array(self._best_and_first(algorithm)).T
        return trials.runtimes(data_profile_targets(first, best, _EXPONENTS.tolist()), absolute=True)

    def curves(self, algorithm: str) -> tuple[StepFunction, ...]:
        """The algorithm's best-so-far curves, of precisions if optima are known; a run keeps its best value forever."""
        if algorithm not in self._curves:
            runs = self.trials[algorithm].runs
            self._curves[algorithm] = step_functions(runs, precision=self.knows_optima, carry=True)
        return self._curves[algorithm]

    @cached_property
    def _curves(self) -> dict[str, tuple[StepFunction, ...]]:
        """The curves computed so far, by algorithm."""
        return {}

    def value_bounds(self, algorithm: str) -> Bounds | list[Bounds]:
        """Bounds of the values between which attainment is measured: for all runs of the algorithm, or for each run."""
        if self.knows_optima:
            return self.precisions
        return [Bounds(best, max(first, np.nextafter(best, np.inf))) for best, first in self._best_and_first(algorithm)]

    @cached_property
    def longest(self) -> float:
        """Number of evaluations of the longest run of all, at least 2."""
        return max(2.0, *(float(trials.evaluations.max()) for trials in self.trials.values()))

    def budgets(self, count: int) -> FloatArray:
        """At most `count` numbers of evaluations from 1 to the longest run, evenly spaced on a log scale."""
        return log_times(1, self.longest, count)

    def _best_and_first(self, algorithm: str) -> list[tuple[float, float]]:
        """The best and the worst first finite value of all algorithms on the instance of each run."""
        extremes = self._extremes
        return [extremes.get(run.key.instance, _NOTHING_FOUND) for run in self.trials[algorithm].runs]

    @cached_property
    def _extremes(self) -> dict[str, tuple[float, float]]:
        """The best and the worst first finite value of all algorithms, by instance."""
        extremes: dict[str, tuple[float, float]] = {}
        for run in (run for trials in self.trials.values() for run in trials.runs):
            finite = run.trajectory.values[np.isfinite(run.trajectory.values)]
            if finite.size:
                best, first = extremes.get(run.key.instance, (np.inf, -np.inf))
                extremes[run.key.instance] = min(best, float(finite[-1])), max(first, float(finite[0]))
        return extremes


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """Runs to assess.

    Attributes:
        algorithms: The algorithms' names, sorted.
        cells: One cell per function and dimension.
        lost: Chosen runs that were killed or timed out before anything was recorded, and are left out. An algorithm all
            of whose runs were lost occurs only here.
    """

    algorithms: tuple[str, ...]
    cells: tuple[Cell, ...]
    lost: tuple[Run, ...] = ()

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs except the lost ones."""
        return tuple(run for cell in self.cells for trials in cell.trials.values() for run in trials.runs)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Dimensions of the cells, increasing."""
        return tuple(sorted({cell.dimension for cell in self.cells}))

    @property
    def functions(self) -> tuple[str, ...]:
        """Functions, in the order of the cells."""
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
        algorithms: Names of the algorithms to choose; all if empty.
        functions: Numbers or names of the functions to choose; all if empty.
        dimensions: Dimensions to choose; all if empty.
        targets: Target precisions, which need known optima; by default 51 from 100 to 1e-8, or COCO's 68 for two
            objectives.
        absolute: Objective values to use as targets in place of `targets`, whether or not optima are known. Values are
            minimized; those of a maximized problem count with their signs flipped.

    Raises:
        ValueError: If no runs are left, both kinds of targets are given, a chosen algorithm, function or dimension does
            not occur or all its runs were lost, or target precisions are given for runs with unknown optima.
        TypeError: If `runs` is a path.
    """
    if isinstance(runs, str | PathLike):
        raise TypeError(f"runs is {str(runs)!r}, a path; give the runs themselves, polarbear.store.read({str(runs)!r})")
    runs = list(runs)
    groups = group_trials(runs)
    lost_identities = [(run, _identity(run)) for run in runs if is_lost(run)]
    filters = (algorithms, functions, dimensions)
    known = [(group.algorithm, group.function, group.dimension) for group in groups]
    _require_known(filters, known, [where for _, where in lost_identities])
    lost = tuple(run for run, where in lost_identities if _chosen(where, filters))
    cells: defaultdict[tuple[str, str, int], dict[str, Trials]] = defaultdict(dict)
    for group, where in zip(groups, known, strict=True):
        if _chosen(where, filters):
            cells[group.suite, group.function, group.dimension][group.algorithm] = group
    if not cells and lost:
        raise ValueError(f"there are no runs to assess: {_gone(len(lost))}")
    if not cells:
        raise ValueError("there are no runs to assess" + ("; widen the selection" if groups else ""))
    biobjective = [("biobj" in suite) for suite, _, _ in cells]
    if any(biobjective) and not all(biobjective):
        raise ValueError("runs with one objective and with two cannot be assessed together; choose one kind")
    usual = biobjective_targets() if all(biobjective) else log_targets()
    if targets and absolute:
        raise ValueError("targets are given both as precisions and as absolute values; give one or the other")
    chosen = [run for trials in cells.values() for group in trials.values() for run in group.runs]
    levels = np.unique(_finite(absolute))[::-1] if absolute else _targets(chosen, targets, usual)
    return Subject(
        tuple(sorted({name for trials in cells.values() for name in trials})),
        tuple(Cell(*where, trials, levels, absolute=bool(absolute)) for where, trials in cells.items()),
        lost,
    )


def _identity(run: Run) -> tuple[str, str, int]:
    """The run's algorithm, function and dimension."""
    return run.key.algorithm, run.problem.function, run.problem.dimension


def _chosen(where: tuple[str, str, int], filters: tuple[Collection[str | int], ...]) -> bool:
    return all(not wanted or value in wanted for value, wanted in zip(where, filters, strict=True))


def _require_known(
    filters: tuple[Collection[str | int], ...],
    known: Sequence[tuple[str, str, int]],
    lost_identities: Sequence[tuple[str, str, int]],
) -> None:
    """Raise a ValueError if a chosen algorithm, function or dimension has no runs."""
    for column, kind in enumerate(("algorithm", "function", "dimension")):
        present = list(dict.fromkeys(where[column] for where in known))
        for name in filters[column]:
            lost = sum(where[column] == name for where in lost_identities)
            if name not in present and lost:
                raise ValueError(f"there are no results for {kind} {name!r}: {_gone(lost)}; leave it out")
            if name not in present:
                shown = present if kind == "function" else sorted(present)
                raise ValueError(f"there are no runs of {kind} {name!r}; choose from {', '.join(map(str, shown))}")


def _gone(count: int) -> str:
    runs = "the only run was" if count == 1 else f"all {count:,} runs were"
    return f"{runs} killed or timed out before anything was recorded"


def _targets(runs: Sequence[Run], wanted: Sequence[float], usual: FloatArray) -> FloatArray | None:
    """The same targets for all runs, so that functions can be pooled; None if an optimum is unknown."""
    _finite(wanted)
    unknown = next((run.key for run in runs if run.optimum is None), None)
    if unknown is None:
        check_precisions(wanted, biobjective="biobj" in runs[0].problem.suite if runs else False)
        return np.unique(wanted)[::-1] if wanted else usual
    if wanted:
        raise ValueError(
            f"target precisions need optima, but that of {unknown} is not known; leave the targets out, or give values "
            "as absolute targets"
        )
    return None


def check_precisions(targets: Sequence[float], *, biobjective: bool) -> None:
    """Raise a ValueError unless all targets are finite and, if optima are exact and not a reference's, above 0."""
    if not np.isfinite(targets).all() or not (biobjective or (np.asarray(targets) > 0).all()):
        listed = ", ".join(f"{target:g}" for target in targets)
        what = f"target is {listed}; it must be" if len(targets) == 1 else f"targets are {listed}; each must be"
        raise ValueError(f"{what} a finite precision{'' if biobjective else ' above 0'}")


def _finite(targets: Sequence[float]) -> Sequence[float]:
    if not np.isfinite(targets).all():
        raise ValueError(f"targets are {', '.join(f'{target:g}' for target in targets)}; each must be a finite number")
    return targets


_LONGEST = 120
"""Maximum number of characters of a message quoted in a sentence."""


@dataclass(frozen=True, slots=True)
class FailedRuns:
    """The failed runs of an algorithm.

    Attributes:
        algorithm: The algorithm's name.
        runs: Number of runs chosen, including those left out.
        failed: Number of runs that failed, timed out or were killed.
        left_out: Number of failed runs that are left out because they were killed or timed out before anything was
            recorded. The others count as runs that stopped where they failed.
        reason: The most common reason: failed, timed out or killed.
        message: The first message that came with it.
        alike: Number of runs that failed for this reason with an exception of the same type or the same message.
    """

    algorithm: str
    runs: int
    failed: int
    left_out: int
    reason: str
    message: str
    alike: int

    def __str__(self) -> str:
        line = (self.message.strip().splitlines() or [""])[0]
        line = f"{line[:_LONGEST]}…" if len(line) > _LONGEST else line
        why = f"{self.reason}: {line}" if line else self.reason
        return f"{self.algorithm} {self.failed:,} of {self.runs:,} ({'most often ' * (self.alike < self.failed)}{why})"


def failed_runs(subject: Subject) -> tuple[FailedRuns, ...]:
    """The failed runs of each algorithm, most failures first."""
    runs: Counter[str] = Counter()
    failed: dict[str, list[Outcome]] = {}
    for run in (*subject.runs, *subject.lost):
        runs[run.key.algorithm] += 1
        if not run.outcome.ok:
            failed.setdefault(run.key.algorithm, []).append(run.outcome)
    lost = Counter(run.key.algorithm for run in subject.lost)
    failures = [_together(name, runs[name], ends, lost[name]) for name, ends in failed.items()]
    return tuple(sorted(failures, key=lambda failure: (-failure.failed, failure.algorithm)))


def _together(algorithm: str, runs: int, ends: Sequence[Outcome], left_out: int) -> FailedRuns:
    alike = [(end.reason.value, end.message.partition(":")[0]) for end in ends]
    ((usual, count),) = Counter(alike).most_common(1)
    example = ends[alike.index(usual)]
    return FailedRuns(algorithm, runs, len(ends), left_out, example.reason.value, example.message, count)

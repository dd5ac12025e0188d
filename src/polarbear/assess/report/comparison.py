"""Compare algorithms by the results of their runs: tests, orders, ratings, rankings, contributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from polarbear.assess.comparisons import (
    Contributions,
    DeepComparison,
    PairwiseTests,
    PartialOrder,
    Ratings,
    RobustRanking,
    SingleBest,
    contributions,
    deep_comparison,
    glicko2,
    kolmogorov_smirnov,
    mann_whitney,
    partial_order,
    robust_ranking,
    single_best,
)
from polarbear.assess.comparisons.contributions import EXACT_LIMIT
from polarbear.assess.comparisons.pairwise import Correction
from polarbear.assess.comparisons.samples import check_choice
from polarbear.assess.report.statistics import Assessment
from polarbear.assess.report.subject import Cell, FailedRuns, Subject, check_precisions
from polarbear.assess.runtimes import Misses, treat_misses
from polarbear.assess.trials import Trials
from polarbear.records import FloatArray, log_times
from polarbear.validation import parse_number, real_number

_TIMES = 20
_PERMUTATIONS = 2000
_RESAMPLES = 2000
TESTS = {"kolmogorov-smirnov": kolmogorov_smirnov, "mann-whitney": mann_whitney}
"""Two-sample tests of pairs, by name."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison of algorithms on the problems that all of them ran on; each part is computed on first use.

    Attributes:
        assessment: The runs with their statistics.
        measure: The quantity of each run that is compared, in words; lower is better.
        cells: The problems.
        samples: One number per run, by problem and algorithm.
        test: The test of pairs, one of the `TESTS`.
        correction: The adjustment of p-values within one problem.
        alpha: Probability allowed for any false rejection on one problem.
        seed: Seed of games and bootstrap samples.
    """

    assessment: Assessment
    measure: str
    cells: tuple[Cell, ...]
    samples: Mapping[str, Mapping[str, FloatArray]]
    test: str = "kolmogorov-smirnov"
    correction: Correction = "holm"
    alpha: float = 0.05
    seed: int = 0

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms' names."""
        return self.assessment.subject.algorithms

    @property
    def failures(self) -> tuple[FailedRuns, ...]:
        """The failed runs of each algorithm, on these problems and on others."""
        return self.assessment.failures

    @cached_property
    def tests(self) -> dict[str, PairwiseTests]:
        """The tests of all pairs, by problem."""
        apply = TESTS[self.test]
        return {
            name: apply(groups, correction=self.correction, alpha=self.alpha) for name, groups in self.samples.items()
        }

    @cached_property
    def orders(self) -> dict[str, PartialOrder]:
        """The partial order induced by the tests, by problem."""
        return {name: partial_order(result.better, result.names) for name, result in self.tests.items()}

    @cached_property
    def wins(self) -> FloatArray:
        """(n, n) number of problems on which the row is significantly better than the column."""
        return np.sum([result.better for result in self.tests.values()], axis=0)

    @cached_property
    def ratings(self) -> Ratings:
        """Glicko-2 ratings from games between runs."""
        return glicko2(self.samples, rng=np.random.default_rng(self.seed))

    @cached_property
    def deep(self) -> DeepComparison | None:
        """The deep statistical comparison; None with fewer than two problems."""
        if len(self.cells) < 2:
            return None
        return deep_comparison(self.samples, centre="mean rank", alpha=self.alpha)

    @cached_property
    def ranking(self) -> RobustRanking:
        """The bootstrap ranking over time, by the mean share of targets attained."""
        times, attained = self._attained
        return robust_ranking(
            1.0 - attained.mean(axis=2),
            times=times,
            rng=np.random.default_rng(self.seed),
            names=self.algorithms,
            resamples=_RESAMPLES,
            alpha=self.alpha,
        )

    @cached_property
    def contributions(self) -> Contributions:
        """Contributions to the area under the runtime ECDF of the portfolio of all algorithms, run in parallel.

        The ECDF is over all pairs of a problem and a target.
        """
        return self.portfolio()

    def portfolio(self, group_size: int | None = None) -> Contributions:
        """As `contributions`, for portfolios of limited size; sampled if there are many algorithms."""
        times, attained = self._attained
        sampled = group_size is not None and len(self.algorithms) > EXACT_LIMIT
        return contributions(
            attained.reshape(len(attained), -1, times.size),
            times=times,
            names=self.algorithms,
            permutations=_PERMUTATIONS if sampled else None,
            rng=np.random.default_rng(self.seed) if sampled else None,
            group_size=group_size,
        )

    @cached_property
    def single_best(self) -> SingleBest:
        """The algorithm that is best over all problems."""
        medians = [[np.median(groups[name]) for name in self.algorithms] for groups in self.samples.values()]
        return single_best(medians, names=self.algorithms)

    @cached_property
    def smallest_p(self) -> float:
        """The smallest adjusted p-value that the numbers of runs allow on any problem."""
        return _smallest_p(self.samples, self.test, self.correction)

    @cached_property
    def _attained(self) -> tuple[FloatArray, FloatArray]:
        return _attained(self.assessment, self.cells)

    @property
    def decisive(self) -> bool:
        """Whether there are enough runs for any difference on a single problem to be significant."""
        return self.smallest_p <= self.alpha

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        return {
            "measure": self.measure,
            "algorithms": list(self.algorithms),
            "problems": [cell.name for cell in self.cells],
            "tests": {name: test.as_dict() for name, test in self.tests.items()},
            "orders": {name: order.as_dict() for name, order in self.orders.items()},
            "wins": self.wins.tolist(),
            "ratings": self.ratings.as_dict(),
            "deep": self.deep.as_dict() if self.deep else None,
            "ranking": self.ranking.as_dict(),
            "contributions": self.contributions.as_dict(),
            "single_best": self.single_best.as_dict(),
            "failures": [asdict(failure) for failure in self.failures],
        }


def compare(
    assessment: Assessment,
    *,
    target: float | None = None,
    budget: float | str | None = None,
    misses: Misses = "last",
    test: str = "kolmogorov-smirnov",
    correction: Correction = "holm",
    alpha: float = 0.05,
    seed: int = 0,
) -> Comparison:
    """Compare the algorithms of an assessment on the problems that all of them ran on.

    Args:
        assessment: The runs with their statistics.
        target: The precision to which runtimes are compared.
        budget: The number of evaluations after which values are compared, or a multiple of the dimension such as
            ``"100*d"``. Without a target or budget, areas under the convergence curves are compared.
        misses: The treatment of runs that missed the target; see `treat_misses`.
        test: The test of pairs: "kolmogorov-smirnov" or "mann-whitney".
        correction: The adjustment of p-values within one problem: "holm", "bonferroni", "hochberg" or "none".
        alpha: Probability allowed for any false rejection on one problem.
        seed: Seed of games and bootstrap samples.

    Raises:
        ValueError: If there are fewer than two algorithms or no problem that all ran on; if both a target and a budget
            are given, or one is out of range; if a target is given for runs with unknown optima, or `misses` without a
            target; or if removing misses leaves no run of an algorithm.
    """
    cells = _common_cells(assessment.subject)
    if misses != "last" and target is None:
        raise ValueError(f"misses is {misses!r}, which applies only to runtimes; give a target, or leave misses out")
    measure, samples = _samples(assessment, cells, target, budget, misses)
    if test not in TESTS:
        raise ValueError(f"test is {test!r}; it must be one of {', '.join(TESTS)}")
    check_choice(correction, Correction, "correction")
    return Comparison(
        assessment, measure, cells, samples, test, correction, real_number(alpha, "alpha", gt=0, lt=1), seed
    )


def _smallest_p(samples: Mapping[str, Mapping[str, FloatArray]], test: str, correction: Correction) -> float:
    """The smallest possible adjusted p-value on any problem: if every run of one algorithm beats all of another."""
    most = {tuple(sorted(len(runs) for runs in groups.values())[-2:]) for groups in samples.values()}
    apart = [TESTS[test]({"a": np.arange(n), "b": n + np.arange(m)}, correction="none") for n, m in most]
    pairs = 1 if apart[0].alternative == "less" else 0.5
    algorithms = len(next(iter(samples.values())))
    tests = pairs * algorithms * (algorithms - 1) if correction in {"holm", "bonferroni"} else 1
    return min(1.0, tests * min(float(np.nanmin(each.p_values)) for each in apart))


def _common_cells(subject: Subject) -> tuple[Cell, ...]:
    """The problems that all algorithms ran on."""
    if len(subject.algorithms) < 2:
        missing = sorted({run.key.algorithm for run in subject.lost}.difference(subject.algorithms))
        lost = (
            f"; all runs of {', '.join(missing)} were killed or timed out before anything was recorded"
            if missing
            else ""
        )
        raise ValueError(
            f"a comparison needs at least 2 algorithms; there is only {', '.join(subject.algorithms)}{lost}"
        )
    cells = tuple(cell for cell in subject.cells if len(cell.trials) == len(subject.algorithms))
    if not cells:
        raise ValueError(
            f"there is no problem that all of {', '.join(subject.algorithms)} ran on; leave some of these out"
        )
    return cells


def _samples(
    assessment: Assessment, cells: tuple[Cell, ...], target: float | None, budget: float | str | None, misses: Misses
) -> tuple[str, dict[str, dict[str, FloatArray]]]:
    """The measure in words, and its value for each run by problem and algorithm; lower is better."""
    subject = assessment.subject
    if target is not None and budget is not None:
        raise ValueError(f"compare runtimes to a target ({target:g}) or values at a budget ({budget}), not both")
    if target is not None:
        check_precisions([target], biobjective=subject.absolute or any(cell.biobjective for cell in cells))
        if not (subject.knows_optima or subject.absolute):
            raise ValueError(
                f"target {target:g} is a precision, but not all optima are known; compare at a budget, or give the "
                "value as an absolute target"
            )
        reached = _by_cell(cells, lambda cell, trials: trials.runtimes([target], absolute=cell.absolute)[:, 0])
        samples = {
            cell.name: {name: _treated(times, cell, name, target, misses) for name, times in reached[cell.name].items()}
            for cell in cells
        }
        treated = "" if misses == "last" else f", misses: {misses}"
        return f"evaluations to {'value' if subject.absolute else 'precision'} {target:g}{treated}", samples
    if budget is not None:
        budgets = {cell: _budget(budget, cell) for cell in cells}
        absolute = not subject.knows_optima
        said = budget if isinstance(budget, str) else f"{budget:,.0f}"
        samples = _by_cell(cells, lambda cell, trials: trials.best_at([budgets[cell]], absolute=absolute)[:, 0])
        return f"best {'value' if absolute else 'precision'} after {said} evaluations", samples
    samples = {cell.name: {name: 1.0 - assessment.areas[cell, name] for name in sorted(cell.trials)} for cell in cells}
    return "area under the convergence curve (log evaluations)", samples


def _treated(times: FloatArray, cell: Cell, name: str, target: float, misses: Misses) -> FloatArray:
    runtimes = treat_misses(times, cell.trials[name].evaluations, misses)
    if not runtimes.size:
        raise ValueError(
            f"no run of {name} reached {target:g} on {cell.name}, so nothing is left once misses are removed; "
            "give an easier target, or treat misses in another way"
        )
    return runtimes


def _budget(budget: float | str, cell: Cell) -> float:
    """The budget on a problem, in evaluations."""
    number = parse_number(budget, cell.dimension or None) if isinstance(budget, str) else budget
    if not 1 <= number < np.inf:
        raise ValueError(f"budget is {budget!r}; it must be a number of evaluations, at least 1")
    return number


def _by_cell(cells: tuple[Cell, ...], of: Callable[[Cell, Trials], FloatArray]) -> dict[str, dict[str, FloatArray]]:
    """(runs,) numbers by problem and algorithm, computed for all runs of a problem at once."""
    samples: dict[str, dict[str, FloatArray]] = {}
    for cell in cells:
        names = sorted(cell.trials)
        groups = [cell.trials[name].runs for name in names]
        together = Trials("all", cell.suite, cell.function, cell.dimension, tuple(chain.from_iterable(groups)))
        parts = np.split(of(cell, together), np.cumsum([len(group) for group in groups])[:-1])
        samples[cell.name] = dict(zip(names, parts, strict=True))
    return samples


def _attained(assessment: Assessment, cells: tuple[Cell, ...]) -> tuple[FloatArray, FloatArray]:
    """(T,) times, and (algorithms, problems, targets, T) share of runs that reached each target by each time."""
    times = log_times(1, max(cell.longest for cell in cells), _TIMES)
    attained = np.array(
        [
            [(assessment.hits[cell, name][:, :, np.newaxis] <= times).mean(axis=0) for cell in cells]
            for name in assessment.subject.algorithms
        ]
    )
    return times, attained

"""Contests among a few configurations: which of them are worth keeping, on as few runs as suffice.

All ask for runs and are told the results, as `polarbear.racing.Race` is: instance by instance, with all configurations
on the same instances and with the same seeds. A contest has no budget of its own; its driver may stop it at any time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polarbear.configure.criteria import Criterion, bootstrap_means
from polarbear.configure.proposals import time_weights
from polarbear.inference import Posterior
from polarbear.racing import Race, Request
from polarbear.records import FloatArray, Run, RunKey

Rule = Callable[[FloatArray], FloatArray]
"""A function from the terms of a criterion, (P, n, 2), to a score for each configuration: negative for those to drop,
otherwise higher for better ones."""


class Contest(Protocol):
    """A procedure that selects configurations."""

    def ask(self) -> Sequence[Request]:
        """The runs needed next; empty once the contest is decided."""
        ...

    def tell(self, runs: Iterable[Run]) -> object:
        """Take the results of these runs."""
        ...

    def survivors(self, most: int) -> tuple[str, ...]:
        """The remaining configurations, the best first, at most `most`."""
        ...


class RaceContest:
    """A race to the anytime Pareto set: a configuration is dropped once another one dominates it with confidence."""

    def __init__(self, race: Race) -> None:
        self.race = race

    def ask(self) -> Sequence[Request]:
        """As in `Contest`."""
        return self.race.ask()

    def tell(self, runs: Iterable[Run]) -> object:
        """As in `Contest`."""
        return self.race.tell(runs)

    def survivors(self, most: int) -> tuple[str, ...]:
        """The candidates that together are best at all times, in the order of `portfolio`."""
        return portfolio(self.race.posterior, self.race.pareto_set, most)


def portfolio(posterior: Posterior, candidates: Sequence[str], most: int) -> tuple[str, ...]:
    """The candidates in greedy order, each adding most to the set of those before it, uniformly over log time.

    The value of a set is the mean, over draws and timepoints, of the highest rating in it.
    """
    columns = {name: posterior.draws[:, :, posterior.index(name)] for name in candidates}
    weights = time_weights(posterior.times)
    chosen, reached = list[str](), np.zeros(posterior.draws.shape[:2])
    while columns and len(chosen) < most:
        best = max(columns, key=lambda name: float((np.maximum(reached, columns[name]) @ weights).mean()))
        reached = np.maximum(reached, columns.pop(best))
        chosen.append(best)
    return tuple(chosen)


class RankedContest:
    """A comparison of configurations by one number, instance after instance; a rule decides which are dropped.

    Args:
        names: Names of the configurations.
        criterion: Number to compare.
        rule: Rule applied after each step.
        steps: Number of instances after each step.
        until: Number of evaluations of each run.
        seed_of: Function that gives the seed of all runs on an instance.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        criterion: Criterion,
        rule: Rule,
        steps: Iterable[int],
        until: float,
        seed_of: Callable[[int], int],
    ) -> None:
        self._alive = tuple(names)
        self._criterion, self._rule, self._until, self._seed_of = criterion, rule, until, seed_of
        self._steps = iter(steps)
        self._drawn, self._next = 0, next(self._steps)
        self._terms: dict[tuple[str, int], tuple[float, float]] = {}

    def ask(self) -> Sequence[Request]:
        """As in `Contest`."""
        if self._next <= self._drawn or (self._drawn and len(self._alive) < 2):
            return []
        return [
            Request(RunKey(f"instance-{draw}", name, self._seed_of(draw)), draw, self._until)
            for draw in range(self._drawn, self._next)
            for name in self._alive
            if (name, self._seed_of(draw)) not in self._terms
        ]

    def tell(self, runs: Iterable[Run]) -> object:
        """As in `Contest`."""
        for run in runs:
            self._terms[run.key.algorithm, run.key.seed] = self._criterion.terms(run, self._until)
        if self.ask():
            return
        self._drawn, self._next = self._next, next(self._steps, self._next)
        scores = self._rule(self._matrix())
        order = np.argsort(-scores, kind="stable")
        self._alive = tuple(self._alive[index] for index in map(int, order) if scores[index] >= 0)

    def survivors(self, most: int) -> tuple[str, ...]:
        """As in `Contest`."""
        return self._alive[:most]

    def _matrix(self) -> FloatArray:
        seeds = [self._seed_of(draw) for draw in range(self._drawn)]
        return np.array([[self._terms[name, seed] for name in self._alive] for seed in seeds])


def geometric_steps(first: int, factor: int) -> Iterator[int]:
    """Yield numbers of instances from `first` on, each `factor` times the one before."""
    return (first * factor**step for step in itertools.count())


def _order(losses: FloatArray) -> FloatArray:
    """Positive scores of configurations by their losses: the lowest loss has the highest score."""
    from scipy import stats  # slow to import

    return 1.0 + losses.size - stats.rankdata(losses)


def _ratios(terms: FloatArray) -> FloatArray:
    """(n,) criterion of each configuration."""
    above, below = terms.sum(axis=0).T
    with np.errstate(divide="ignore"):
        return np.where(below > 0, above / below, np.inf)


def _finite(terms: FloatArray) -> NDArray[np.bool_]:
    """(P, n) whether runs have a finite loss."""
    return np.asarray(np.isfinite(terms).all(axis=-1), dtype=np.bool_)


def _finite_ratios(terms: FloatArray) -> FloatArray:
    """(n,) criterion of each configuration over its runs with a finite loss."""
    return _ratios(np.where(_finite(terms)[..., np.newaxis], terms, 0.0))


def keep_all(terms: FloatArray) -> FloatArray:
    """Keep all, ordered first by the number of infinite losses, then by the criterion over the finite ones."""
    from scipy import stats  # slow to import

    infinite = (~_finite(terms)).sum(axis=0)
    return _order(infinite * (1.0 + infinite.size) + np.asarray(stats.rankdata(_finite_ratios(terms))))


def keep_share(terms: FloatArray, *, eta: float) -> FloatArray:
    """Keep the best 1/η: successive halving (Jamieson and Talwalkar 2016)."""
    scores = keep_all(terms)
    kept = max(1, int(scores.size / eta))
    dropped = np.argsort(-scores, kind="stable")[kept:]
    scores[dropped] = -1.0
    return scores


def keep_credible(terms: FloatArray, *, alpha: float, rng: np.random.Generator, tolerance: float = 0.02) -> FloatArray:
    """Keep the smallest set that contains the best configuration with probability α.

    Keep only the one with the least posterior mean once the expected cost of choosing it is at most `tolerance` times
    the standard deviation of all runs so far; unlike a share of the mean, this does not depend on the zero of the
    losses. The posterior is the Bayesian bootstrap over instances, with all runs so far as the pool.
    """
    pool = terms[_finite(terms)]
    draws = bootstrap_means(terms, rng, 500, pool=pool if len(pool) else None)
    means, scores = draws.mean(axis=0), np.full(terms.shape[1], -1.0)
    best, order = int(means.argmin()), _order(means)
    if not np.isfinite(means[best]):  # no success yet, hence no information
        return keep_all(terms)
    chance = np.bincount(draws.argmin(axis=1), minlength=scores.size) / len(draws)
    likely = np.argsort(-chance, kind="stable")
    kept = likely[: int(np.searchsorted(np.cumsum(chance[likely]), alpha)) + 1]
    if float((draws[:, best] - draws.min(axis=1)).mean()) > tolerance * deviation(pool):
        scores[kept] = order[kept]
    scores[best] = order[best]
    return scores


def deviation(pool: FloatArray) -> float:
    """Standard deviation of the terms of runs (m, 2) about their common criterion; for a ratio, to first order."""
    above, below = pool.T
    return float((above - above.sum() / below.sum() * below).std() / below.mean())


def keep_by_friedman(terms: FloatArray, *, level: float) -> FloatArray:
    """F-race: after a significant Friedman test, drop configurations that rank significantly behind the best.

    Birattari et al. 2002; Conover 1999, section 5.8, equations 6 and 7, with rank sums R_j; for two configurations the
    Wilcoxon signed-rank test. Runs without a value share the last rank.
    """
    from scipy import stats  # slow to import

    losses = np.where(terms[..., 1] > 0, terms[..., 0], np.inf)
    count, size = losses.shape
    if size == 2:
        return _keep_by_wilcoxon(losses, level)
    ranks = np.asarray(stats.rankdata(losses, axis=1))
    sums = ranks.sum(axis=0)
    scores = _order(sums)
    spread = float((ranks**2).sum()) - count * size * (size + 1) ** 2 / 4
    if spread <= 0:
        return scores
    statistic = (size - 1) * float(((sums - count * (size + 1) / 2) ** 2).sum()) / spread
    if stats.chi2.sf(statistic, size - 1) > level:
        return scores
    freedom = (count - 1) * (size - 1)
    scale = np.sqrt(2 * (count * float((ranks**2).sum()) - float((sums**2).sum())) / freedom)
    scores[sums - sums.min() > stats.t.ppf(1 - level / 2, freedom) * scale] = -1.0
    return scores


def _keep_by_wilcoxon(losses: FloatArray, level: float) -> FloatArray:
    """Drop the worse of two configurations if the signed-rank test is significant; they are ordered by rank sums.

    If only one loss is infinite, the difference ranks as largest, tied with all such; if both are, it is zero.
    """
    from scipy import stats  # slow to import

    finite = np.isfinite(losses)
    first, second = np.where(finite.all(axis=1, keepdims=True), losses, 0.0).T
    differences = first - second
    largest = 2 * float(np.abs(differences).max(initial=0.0)) or 1.0
    differences += largest * (finite[:, 1].astype(float) - finite[:, 0])
    differences = differences[differences != 0]
    ranks = np.asarray(stats.rankdata(np.abs(differences), axis=0))
    behind = float(np.sign(differences) @ ranks)
    scores = _order(np.array([behind, -behind]))
    if behind and stats.wilcoxon(differences).pvalue < level:
        scores[int(behind < 0)] = -1.0
    return scores


def keep_by_t_test(terms: FloatArray, *, level: float) -> FloatArray:
    """t-race: drop configurations whose mean is significantly worse than the best one's, by uncorrected paired t-tests.

    For a ratio criterion such as the expected running time, with terms a and b of numerator and denominator,
    differences of a - R b are tested, where R is the best configuration's ratio. Their mean is positive for a
    configuration with a larger ratio, even if it had no success yet, and where b is 1 they equal differences of the
    losses a.

    A configuration with an infinite loss where the best has a finite one has an infinite mean and is dropped without a
    test, unless the best also has an infinite loss where it has a finite one. Then, as in all other cases, only
    instances with finite losses of both are tested. The best has the fewest infinite losses.
    """
    from scipy import stats  # slow to import

    scores = keep_all(terms)
    best = int(np.argmax(scores))
    ratio = float(_finite_ratios(terms)[best])
    if not np.isfinite(ratio):  # no success yet, hence no information
        return scores
    finite = _finite(terms)
    worth = np.where(finite, terms[..., 0] - ratio * terms[..., 1], 0.0)
    for rival in range(scores.size):
        lost, won = finite[:, best] & ~finite[:, rival], finite[:, rival] & ~finite[:, best]
        differences = (worth[:, rival] - worth[:, best])[finite[:, best] & finite[:, rival]]
        if lost.any() and not won.any():
            scores[rival] = -1.0
        elif differences.size > 1 and differences.mean() > 0:
            with np.errstate(divide="ignore"):  # all differences are the same
                statistic = differences.mean() / (differences.std(ddof=1) / np.sqrt(differences.size))
            if 2 * stats.t.sf(statistic, differences.size - 1) < level:
                scores[rival] = -1.0
    return scores

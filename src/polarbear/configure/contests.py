"""Contests among a few configurations: which of them are worth keeping, on as few runs as will do.

All ask for runs and are told their results, as `polarbear.racing.Race` does: instance by instance, each configuration
on the same instances with the same seeds. A contest never ends by its budget; whoever drives it may stop it any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from polarbear.configure.criteria import Criterion, bootstrap_means
from polarbear.configure.proposals import time_weights
from polarbear.inference import Posterior
from polarbear.racing import Race, Request
from polarbear.records import FloatArray, Run, RunKey

Rule = Callable[[FloatArray], FloatArray]
"""From the terms of a criterion, (P, n, 2), to a score of each configuration: negative for those to drop, else higher
for better ones."""


class Contest(Protocol):
    """What decides among configurations."""

    def ask(self) -> Sequence[Request]:
        """The runs that it waits for; none once it is decided."""
        ...

    def tell(self, runs: Iterable[Run]) -> object:
        """Take these runs."""
        ...

    def survivors(self, most: int) -> tuple[str, ...]:
        """The configurations that are left, the best first, and no more than `most`."""
        ...


class RaceContest:
    """A race to the anytime Pareto set: a configuration leaves once another one dominates it with confidence."""

    def __init__(self, race: Race) -> None:
        self.race = race

    def ask(self) -> Sequence[Request]:
        """As for `Contest`."""
        return self.race.ask()

    def tell(self, runs: Iterable[Run]) -> object:
        """As for `Contest`."""
        return self.race.tell(runs)

    def survivors(self, most: int) -> tuple[str, ...]:
        """The candidates that together are best at all times: each adds most to those before it."""
        return portfolio(self.race.posterior, self.race.pareto_set, most)


def portfolio(posterior: Posterior, candidates: Sequence[str], most: int) -> tuple[str, ...]:
    """The candidates in the order in which each adds most to those before it, evenly over the logarithm of time.

    A set is worth the mean, over draws and timepoints, of the highest rating in it.
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
    """Configurations compared by one number, instance after instance; a rule says who leaves.

    Args:
        names: The configurations.
        criterion: The number.
        rule: Who leaves after each step.
        steps: How many instances there are after each step.
        until: How far each run goes.
        seed_of: The seed of all runs on an instance.
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
        """As for `Contest`."""
        if self._next <= self._drawn or (self._drawn and len(self._alive) < 2):
            return []
        return [
            Request(RunKey(f"instance-{draw}", name, self._seed_of(draw)), draw, self._until)
            for draw in range(self._drawn, self._next)
            for name in self._alive
            if (name, self._seed_of(draw)) not in self._terms
        ]

    def tell(self, runs: Iterable[Run]) -> object:
        """As for `Contest`."""
        for run in runs:
            self._terms[run.key.algorithm, run.key.seed] = self._criterion.terms(run, self._until)
        if self.ask():
            return
        self._drawn, self._next = self._next, next(self._steps, self._next)
        scores = self._rule(self._matrix())
        order = np.argsort(-scores, kind="stable")
        self._alive = tuple(self._alive[index] for index in map(int, order) if scores[index] >= 0)

    def survivors(self, most: int) -> tuple[str, ...]:
        """As for `Contest`."""
        return self._alive[:most]

    def _matrix(self) -> FloatArray:
        seeds = [self._seed_of(draw) for draw in range(self._drawn)]
        return np.array([[self._terms[name, seed] for name in self._alive] for seed in seeds])


def _order(losses: FloatArray) -> FloatArray:
    """Scores of configurations by their losses: above 0, the lowest loss the highest."""
    from scipy import stats  # slow to import

    return 1.0 + losses.size - stats.rankdata(losses)


def _ratios(terms: FloatArray) -> FloatArray:
    """(n,) the criterion of each configuration."""
    above, below = terms.sum(axis=0).T
    with np.errstate(divide="ignore"):
        return np.where(below > 0, above / below, np.inf)


def keep_all(terms: FloatArray) -> FloatArray:
    """Nobody leaves; ordered by the criterion."""
    return _order(_ratios(terms))


def keep_share(terms: FloatArray, *, eta: float) -> FloatArray:
    """The best 1/η stay: successive halving (Jamieson and Talwalkar 2016)."""
    scores = keep_all(terms)
    kept = max(1, int(scores.size / eta))
    dropped = np.argsort(-scores, kind="stable")[kept:]
    scores[dropped] = -1.0
    return scores


def keep_credible(terms: FloatArray, *, alpha: float, rng: np.random.Generator, tolerance: float = 0.01) -> FloatArray:
    """Those stay of whom one is the best with probability α, as few as will do.

    Only the one with the least posterior mean stays once choosing it is expected to cost no more than a share,
    `tolerance`, of that mean. By the Bayesian bootstrap over instances, with all runs so far as the pool.
    """
    pool = terms[np.isfinite(terms).all(axis=-1)]
    draws = bootstrap_means(terms, rng, 500, pool=pool if len(pool) else None)
    means, scores = draws.mean(axis=0), np.full(terms.shape[1], -1.0)
    best, order = int(means.argmin()), _order(means)
    if not np.isfinite(means[best]):  # no success yet, which says nothing
        return _order(_ratios(terms))
    chance = np.bincount(draws.argmin(axis=1), minlength=scores.size) / len(draws)
    likely = np.argsort(-chance, kind="stable")
    kept = likely[: int(np.searchsorted(np.cumsum(chance[likely]), alpha)) + 1]
    if float((draws[:, best] - draws.min(axis=1)).mean()) > tolerance * means[best]:
        scores[kept] = order[kept]
    scores[best] = order[best]
    return scores


def keep_by_friedman(terms: FloatArray, *, level: float) -> FloatArray:
    """F-race: after a significant Friedman test those leave that rank significantly behind the best.

    Birattari et al. 2002 and Conover 1999, section 5.8, equations 6 and 7, there with the rank sums R_j, and for two
    configurations the Wilcoxon signed-rank test.
    """
    from scipy import stats  # slow to import

    losses = np.where(terms[..., 1] > 0, terms[..., 0], np.inf)
    count, size = losses.shape
    if size == 2:
        return _drop_worse(losses, stats.wilcoxon, level, _order(losses.mean(axis=0)))
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


def keep_by_t_test(terms: FloatArray, *, level: float) -> FloatArray:
    """t-race: those leave whose mean is significantly worse than the best's, by paired tests without correction."""
    from scipy import stats  # slow to import

    losses = np.where(terms[..., 1] > 0, terms[..., 0], np.inf)
    return _drop_worse(losses, partial(stats.ttest_1samp, popmean=0.0), level, keep_all(terms))


def _drop_worse(losses: FloatArray, test: Callable[..., Any], level: float, scores: FloatArray) -> FloatArray:
    """Scores without those whose difference from the best is significant by a test."""
    best = int(np.argmax(scores))
    with np.errstate(invalid="ignore"):
        differences = losses - losses[:, [best]]
    lost = ~np.isfinite(differences).all(axis=0)  # runs without a value: as if infinitely worse
    tested = np.flatnonzero(~lost & differences.any(axis=0))
    if tested.size:
        scores[tested[np.asarray(test(differences[:, tested], axis=0).pvalue) < level]] = -1.0
    scores[lost & (np.arange(scores.size) != best)] = -1.0
    return scores

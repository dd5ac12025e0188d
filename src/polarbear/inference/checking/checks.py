"""Check whether rankings agree with the Plackett–Luce model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from polarbear.inference.checking import verdicts
from polarbear.inference.checking.certainty import checked_rankings, evenly, overconfidence
from polarbear.inference.checking.evidence import FEWEST_REPLICATES, Evidence
from polarbear.inference.checking.outcomes import (
    Outcomes,
    Repetition,
    Replicator,
    Statistic,
    agreement,
    first_places,
    irrelevant_alternatives,
    noise_shape,
    persistent,
    rank_correlations,
    win_rates,
)
from polarbear.inference.checking.verdicts import Check
from polarbear.inference.fitting import fit
from polarbear.inference.model.independent import IndependentDirichlet
from polarbear.inference.posterior import Posterior
from polarbear.rankings import Rankings
from polarbear.records import FloatArray, IntArray

_TIMEPOINTS = 16
_MOST_TIED_INSIDE = 0.02
_CELLS = 1 << 19
"""Limit on instances × pairs of algorithms × timepoints; beyond it fewer timepoints are used."""


def check(
    posterior: Posterior,
    values: ArrayLike | Rankings | None = None,
    *,
    rng: np.random.Generator,
    precision: float | None = None,
    replicates: int = 400,
) -> tuple[Check, ...]:
    """Check what the Plackett–Luce model assumes about rankings, whatever the ratings are.

    There are six checks: whether ratings describe the win rate of every pair; whether algorithms do well and badly on
    the same instances; whether the winner depends on who else is present; whether the noise is Gumbel noise; whether
    each algorithm is first as often as its rating says; and whether the rankings of the same runs at different
    timepoints are independent, as the likelihood assumes.

    Each check compares a statistic with its distribution over replicates: rankings drawn from the model for the same
    algorithms on the same instances and timepoints, with ties at the same places. Their ratings are drawn from the
    posterior of an independent Dirichlet model with a weak prior (α = 1 / n), since the prior is not what is checked.
    Except in the last check, replicates repeat each other over time as much as the data do. At most 16 evenly spaced
    timepoints are used, and fewer if there are many instances and algorithms.

    Which algorithms tie depends on how good they are, which replicates do not reproduce. So a choice from a set of
    algorithms counts only if the chosen one is alone at its place, in data and replicates alike. If the algorithms that
    reached a target tie, or those that have found nothing yet, all other choices still follow the Plackett–Luce model,
    since exponential costs are memoryless: this is late entry and censoring in Cox's partial likelihood. Rounded
    values, however, bias the check of the noise, which therefore skips timepoints at which more than 2 % of the
    comparisons are ties of algorithms that are neither the best nor the worst. Verdicts say what was skipped.

    A check fails if its posterior predictive p-value (Gelman, Meng and Stern 1996) is 0.01 or less. If it covers many
    pairs, the most remarkable one is compared with the most remarkable one in each replicate. So each check raises a
    false alarm in about one of a hundred studies; those of win rates and of first places, to which the ratings are
    fitted, in fewer.

    Args:
        posterior: The posterior whose assumptions are checked.
        values: The rankings it was fitted to, or (P, T, n) values as for `polarbear.rankings.choice_counts`; by default
            the rankings that the posterior knows.
        rng: The source of randomness.
        precision: As for `choice_counts`.
        replicates: Number of replicates, at least 100.

    Returns:
        The six checks; those that the data do not allow say so.

    Raises:
        ValueError: If the values do not match the posterior, or an argument is out of range.
    """
    rankings = checked_rankings(posterior, values, precision)
    if replicates < FEWEST_REPLICATES:
        raise ValueError(f"replicates is {replicates!r}; at least {FEWEST_REPLICATES} are needed")
    rankings = rankings.among((rankings.sizes > 1).any(axis=1))
    instances, timepoints, n = rankings.ranks.shape
    if not instances:
        return verdicts.nothing_to_check()
    at = evenly(timepoints, min(_TIMEPOINTS, max(2, _CELLS // (instances * n * (n - 1) // 2))))
    outcomes = Outcomes.of(rankings.at(at))
    reference = fit(outcomes.choices(), model=IndependentDirichlet(1.0 / n), draws=replicates, rng=rng)
    log_theta = np.log(np.maximum(reference.draws, np.finfo(np.float64).tiny))
    of_rankings = _of_rankings(outcomes, log_theta, posterior, at, rng)
    return (*of_rankings, _timepoints(posterior, rankings, outcomes, log_theta, rng))


def _of_rankings(
    outcomes: Outcomes, log_theta: FloatArray, posterior: Posterior, at: IntArray, rng: np.random.Generator
) -> tuple[Check, ...]:
    """All checks except the last, at the timepoints with indices `at`."""
    names, centre = posterior.names, log_theta.mean(axis=0)
    expected = 1.0 / (1.0 + np.exp(centre[:, outcomes.second] - centre[:, outcomes.first]))
    smooth = outcomes.tied_inside() <= _MOST_TIED_INSIDE
    win, rates = win_rates(outcomes, expected)
    first, ratings, instances = first_places(outcomes, centre)
    statistics = (
        win,
        rank_correlations(outcomes, expected),
        irrelevant_alternatives(outcomes, expected),
        noise_shape(outcomes, centre, smooth),
        first,
    )
    replicator, observed = persistent(outcomes, centre, rng), outcomes.observed()
    wins, ranks, presence, noise, winners = (
        Evidence.of(statistic(observed), replicated)
        for statistic, replicated in zip(statistics, _replicated(statistics, replicator, log_theta, rng), strict=True)
    )
    pairs = list(combinations(names, 2))
    triples = [(*pair, third) for pair in pairs for third in names]
    coverage = verdicts.Coverage(at.size, posterior.times.size, outcomes.hidden_share())
    return (
        coverage.added_to(verdicts.win_rates(wins, pairs, rates)),
        coverage.added_to(verdicts.rank_correlations(ranks, pairs)),
        coverage.added_to(verdicts.irrelevant_alternatives(presence, triples)),
        coverage.added_to(verdicts.noise_shape(noise), rounded=int(np.count_nonzero(~smooth))),
        coverage.added_to(verdicts.first_places(winners, names, posterior.times[at], ratings, instances)),
    )


def _timepoints(
    posterior: Posterior, rankings: Rankings, outcomes: Outcomes, log_theta: FloatArray, rng: np.random.Generator
) -> Check:
    """The check of independent timepoints: observed at all of them, replicates at those in `outcomes`."""
    observed = Repetition.over(Outcomes.of(rankings))
    (replicated,) = _replicated((agreement,), Replicator.of(outcomes), log_theta, rng)
    evidence = Evidence.of(np.array([observed.agreement]), replicated)
    per_instance = float((rankings.sizes > 1).sum(axis=1).mean())
    unknown = evidence.passed or rankings.units < 2 or posterior.diagnostics.widened is not None
    excess = None if unknown else overconfidence(posterior, rankings)
    return verdicts.timepoints(evidence, per_instance, observed.factor, excess, joint=posterior.joint)


def _replicated(
    statistics: Sequence[Statistic], replicator: Replicator, log_theta: FloatArray, rng: np.random.Generator
) -> list[FloatArray]:
    """(R, M) array of each statistic, with one replicate for each draw of the log-ratings (R, T, n)."""
    replicates = (replicator.won(draw, rng) for draw in log_theta)
    rows = [[statistic(won) for statistic in statistics] for won in replicates]
    return [np.array(column) for column in zip(*rows, strict=True)]

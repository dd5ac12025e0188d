"""Do the rankings look as the Plackett–Luce model says?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from polarbear.inference.dirichlet import IndependentDirichlet
from polarbear.inference.model import fit
from polarbear.inference.posterior import Posterior
from polarbear.inference.predictive import verdicts
from polarbear.inference.predictive.certainty import evenly, overconfidence
from polarbear.inference.predictive.evidence import FEWEST_REPLICATES, Evidence
from polarbear.inference.predictive.outcomes import (
    Agreement,
    IrrelevantAlternatives,
    NoiseShape,
    Outcomes,
    RankCorrelations,
    Repetition,
    Statistic,
    WinRates,
    tied_share,
)
from polarbear.inference.predictive.replicates import Replicator, persistent
from polarbear.inference.predictive.values import checked_values
from polarbear.inference.predictive.verdicts import Check
from polarbear.rankings import choice_counts
from polarbear.records import FloatArray

_TIMEPOINTS = 16
_MOST_TIES = 0.02
_CELLS = 1 << 19
"""Fewer timepoints are looked at where instances times pairs of algorithms times timepoints are more than this."""


def check(
    posterior: Posterior,
    values: ArrayLike,
    *,
    rng: np.random.Generator,
    precision: float | None = None,
    replicates: int = 400,
) -> tuple[Check, ...]:
    """Check what the Plackett–Luce model assumes of rankings, whatever the ratings are, and say it in plain words.

    Five checks: whether ratings describe the win rate of every pair; whether algorithms do well and badly on the same
    instances; whether who else is present goes with who wins; whether the noise is Gumbel's; and whether the rankings
    of the same runs at different timepoints are independent, as the likelihood takes them to be.

    Each check compares a statistic with its distribution over replicates: rankings drawn from the model for the same
    algorithms on the same instances and timepoints, ties at the same places. The ratings are drawn from the posterior
    of an independent Dirichlet model with little weight (α = 1 / n), since it is not the prior that is checked. The
    rankings of real runs at neighbouring timepoints repeat each other. So that this does not pass for a failure of
    anything else, the replicates of the first four checks repeat each other as much (see
    `polarbear.inference.predictive.replicates`). At most 16 timepoints are looked at, evenly spaced, and fewer where
    there are many instances and algorithms. The first four checks pass over timepoints at which more than 2 % of all
    comparisons are ties: who ties depends on how good the tied are, which replicates do not imitate.

    A check fails if p, its posterior predictive p-value (Gelman, Meng and Stern 1996), is 0.01 or less. Where many
    pairs are looked at, the most remarkable of all is compared with the most remarkable of all in each replicate. So
    each check raises a false alarm in about one of a hundred studies, and that of win rates, which ratings are fitted
    to, in fewer.

    Args:
        posterior: The posterior whose assumptions are checked.
        values: (P, T, n) the values it was fitted to, as for `polarbear.rankings.choice_counts`.
        rng: The source of randomness.
        precision: As for `choice_counts`.
        replicates: How many replicates are drawn, at least 100.

    Returns:
        The checks, always the same ones; those that the data do not allow say so.

    Raises:
        ValueError: If the values do not fit the posterior, or an argument is out of its range.
    """
    cells = checked_values(posterior, values, precision)
    if replicates < FEWEST_REPLICATES:
        raise ValueError(f"replicates is {replicates!r}; at least {FEWEST_REPLICATES} are needed")
    cells = cells[(np.count_nonzero(~np.isnan(cells), axis=2) > 1).any(axis=1)]
    instances, timepoints, n = cells.shape
    if not instances:
        return verdicts.nothing_to_check()
    most = min(_TIMEPOINTS, max(2, _CELLS // (instances * n * (n - 1) // 2)))
    untied = np.flatnonzero(tied_share(cells) <= _MOST_TIES)
    order_is_seen = untied.size >= min(2, timepoints)
    at = untied[evenly(untied.size, most)] if order_is_seen else evenly(timepoints, most)
    part = cells[:, at]
    reference = fit(choice_counts(part), model=IndependentDirichlet(1.0 / n), draws=replicates, rng=rng)
    log_theta = np.log(np.maximum(reference.draws, np.finfo(np.float64).tiny))
    names = posterior.names
    found = _four_checks(part, log_theta, names, rng) if order_is_seen else verdicts.too_many_ties(_MOST_TIES)
    return (*found, _timepoints(posterior, cells, part, log_theta, rng))


def _four_checks(
    cells: FloatArray, log_theta: FloatArray, names: tuple[str, ...], rng: np.random.Generator
) -> tuple[Check, ...]:
    outcomes, centre = Outcomes.of(cells), log_theta.mean(axis=0)
    expected = 1.0 / (1.0 + np.exp(centre[:, outcomes.second] - centre[:, outcomes.first]))
    win = WinRates(outcomes, expected)
    statistics = (
        win,
        RankCorrelations(outcomes, expected),
        IrrelevantAlternatives(outcomes, expected),
        NoiseShape(outcomes, centre),
    )
    replicator, observed = persistent(outcomes, centre, rng), outcomes.won(outcomes.values)
    rates, ranks, presence, noise = (
        Evidence.of(statistic(observed), drawn)
        for statistic, drawn in zip(statistics, _drawn(statistics, replicator, log_theta, rng), strict=True)
    )
    pairs = list(combinations(names, 2))
    return (
        verdicts.win_rates(rates, pairs, win.rates),
        verdicts.rank_correlations(ranks, pairs),
        verdicts.irrelevant_alternatives(presence, [(*pair, third) for pair in pairs for third in names]),
        verdicts.noise_shape(noise),
    )


def _timepoints(
    posterior: Posterior, cells: FloatArray, part: FloatArray, log_theta: FloatArray, rng: np.random.Generator
) -> Check:
    """The check of independent timepoints: observed at all of them, replicates at those in `part`."""
    outcomes, observed = Outcomes.of(part), Repetition.over(cells)
    (drawn,) = _drawn((Agreement(outcomes),), Replicator.of(outcomes), log_theta, rng)
    evidence = Evidence.of(np.array([observed.agreement]), drawn)
    per_instance = float((np.count_nonzero(~np.isnan(cells), axis=2) > 1).sum(axis=1).mean())
    unknown = evidence.passed or len(cells) < 2 or posterior.diagnostics.widened is not None
    excess = None if unknown else overconfidence(posterior, cells)
    return verdicts.timepoints(evidence, per_instance, observed.factor, excess, joint=posterior.joint)


def _drawn(
    statistics: Sequence[Statistic], replicator: Replicator, log_theta: FloatArray, rng: np.random.Generator
) -> list[FloatArray]:
    """(R, M) each statistic of one replicate for each draw of the log-ratings (R, T, n)."""
    found: list[list[FloatArray]] = [[] for _ in statistics]
    for draw in log_theta:
        won = replicator.won(draw, rng)
        for statistic, kept in zip(statistics, found, strict=True):
            kept.append(statistic(won))
    return [np.array(kept) for kept in found]

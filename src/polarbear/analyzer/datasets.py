"""The full data behind every figure and table of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from polarbear.analyzer.answer import why_withdrawn
from polarbear.assess.report.data import Data
from polarbear.racing import RaceResult, Relations
from polarbear.records import FloatArray
from polarbear.select import best, preference_values

QUANTILES = (0.01, *(round(0.05 * k, 2) for k in range(1, 20)), 0.99)


def ratings(result: RaceResult) -> Data:
    """Posterior mean and 95% interval of every rating at every timepoint."""
    posterior = result.posterior
    mean, (low, high) = posterior.mean(), posterior.interval()
    return Data.of(
        "ratings",
        (result.settings.axis, "algorithm", "mean", "low_95", "high_95"),
        (
            (time, name, mean[t, i], low[t, i], high[t, i])
            for t, time in enumerate(posterior.times)
            for i, name in enumerate(posterior.names)
        ),
    )


def relations_of_pairs(result: RaceResult) -> Data:
    """The relation of every pair at every timepoint."""
    posterior, relations, epsilon = result.posterior, result.relations, result.settings.epsilon
    near = result.settings.compared(posterior).equivalence_probabilities(epsilon)
    return Data.of(
        "relations",
        (result.settings.axis, "first", "second", "probability_first_better", "probability_equivalent", "relation"),
        (
            (time, first, second, relations.better[t, i, j], near[t, i, j], relation(relations, t, i, j))
            for t, time in enumerate(posterior.times)
            for (i, first), (j, second) in combinations(enumerate(posterior.names), 2)
        ),
    )


def relation(relations: Relations, t: int, i: int, j: int) -> str:
    """``first``, ``second``, ``equivalent`` or ``undecided``."""
    if relations.dominates[t, i, j]:
        return "first"
    if relations.dominates[t, j, i]:
        return "second"
    return "equivalent" if relations.equivalent[t, i, j] else "undecided"


def best_by_group(result: RaceResult, members: Sequence[str], shares: Mapping[str, tuple[int, FloatArray]]) -> Data:
    """The share of instances of each group on which each member is best, at every timepoint."""
    return Data.of(
        "best-by-group",
        ("group", "instances", result.settings.axis, "algorithm", "share_best"),
        (
            (group, instances, time, name, share[t, k])
            for group, (instances, share) in shares.items()
            for t, time in enumerate(result.posterior.times)
            for k, name in enumerate(members)
        ),
    )


def dominance(result: RaceResult) -> Data:
    """The strongest rival of every candidate in every round."""
    return Data.of(
        "dominance",
        (
            *("round", "instances", "algorithm", "strongest_rival", "probability_dominated"),
            *("eliminated_by", "withdrawn", "settled"),
        ),
        (
            (
                round_.number,
                round_.instances,
                name,
                rival.name,
                rival.probability,
                round_.eliminated.get(name),
                name in round_.withdrawn,
                name in round_.settled,
            )
            for round_ in result.rounds
            for name, rival in round_.dominance.items()
        ),
    )


def rounds(result: RaceResult) -> Data:
    """One row per round."""
    return Data.of(
        "rounds",
        (
            *("round", "batch", "instances", "runs", "failures", "evaluations", "seconds"),
            *("resolved_pairs", "resolved_share", "candidates", "eliminated", "withdrawn", "settled", "next_batch"),
            *("smallest_ess", "largest_k_hat", "inference_seconds"),
        ),
        (
            (
                *(
                    round_.number,
                    round_.batch,
                    round_.instances,
                    round_.runs,
                    round_.failures,
                    round_.evaluations,
                    round_.seconds,
                ),
                *(round_.resolved_pairs, round_.resolved_share),
                *map("; ".join, (round_.candidates, round_.eliminated, round_.withdrawn, round_.settled)),
                round_.next_batch,
                *(round_.smallest_ess, round_.largest_k_hat, round_.inference_seconds),
            )
            for round_ in result.rounds
        ),
    )


def horizons(result: RaceResult) -> Data:
    """How far each algorithm was run in each round."""
    return Data.of(
        "horizons",
        ("round", "algorithm", f"run_until_{result.settings.axis}"),
        ((round_.number, name, until) for round_ in result.rounds for name, until in round_.horizon.items()),
    )


def reach(result: RaceResult) -> Data:
    """The number of instances on which each algorithm was observed at each timepoint."""
    return Data.of(
        "reach",
        (result.settings.axis, "algorithm", "instances"),
        (
            (time, name, reached)
            for time, counts in zip(result.posterior.times, result.reach, strict=True)
            for name, reached in zip(result.names, counts, strict=True)
        ),
    )


def spending(result: RaceResult) -> Data:
    """The evaluations of each algorithm and, if it is out of the race, the reason."""
    why = why_withdrawn(result)
    return Data.of(
        "evaluations",
        ("algorithm", "evaluations", "share", "eliminated_by", "withdrawn"),
        (
            (name, spent, spent / max(result.evaluations, 1), result.eliminated.get(name), why.get(name))
            for name, spent in result.evaluations_by_algorithm.items()
        ),
    )


def values(result: RaceResult, preferences: tuple[str, ...]) -> Data:
    """The value of every member of the Pareto set under each preference."""
    return Data.of(
        "values",
        ("preference", "algorithm", "p2bb", "p2bb_error", "mean", "low_95", "high_95", "quantile_05"),
        (
            (
                *(preference, choice.label, choice.probability_best, choice.probability_error),
                *(choice.expected, choice.low, choice.high, choice.quantile),
            )
            for preference in preferences
            for choice in best(result.posterior, preference, candidates=result.pareto_set).choices
        ),
    )


def value_quantiles(result: RaceResult, preferences: tuple[str, ...]) -> Data:
    """Quantiles of the posterior distribution of these values."""
    names = result.posterior.names
    return Data.of(
        "value-quantiles",
        ("preference", "algorithm", "probability", "value"),
        (
            (preference, name, level, value)
            for preference in preferences
            for draws in [preference_values(result.posterior, preference)]
            for name in result.pareto_set
            for level, value in zip(QUANTILES, np.quantile(draws[:, names.index(name)], QUANTILES), strict=True)
        ),
    )


def diagnostics(result: RaceResult) -> Data:
    """Diagnostics of the posterior at every timepoint."""
    posterior = result.posterior
    diagnostics = posterior.diagnostics
    return Data.of(
        "diagnostics",
        (result.settings.axis, "method", "effective_draws", "k_hat", "r_hat", "doubtful"),
        zip(
            posterior.times,
            diagnostics.method,
            diagnostics.ess,
            diagnostics.k_hat,
            diagnostics.r_hat,
            diagnostics.doubtful,
            strict=True,
        ),
    )

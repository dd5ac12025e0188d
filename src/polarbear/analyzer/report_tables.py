"""The tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from polarbear.analyzer import datasets
from polarbear.analyzer.answer import MOST_OPEN_PAIRS, Answer, Recommendation
from polarbear.analyzer.html import Table
from polarbear.analyzer.words import instant, probability, spans
from polarbear.assess.report.data import Data
from polarbear.inference import Check
from polarbear.quantities import amount, duration, plural
from polarbear.racing import RaceResult
from polarbear.racing.rounds import taking_part
from polarbear.records import FloatArray, Run

_SHOWN_TIMES = 6
_UNFOLDED = 8
"""Number of rows of each of the three matrices that are not folded away."""
MOST_SHOWN = 12
"""Number of rows of tables of algorithms that are not folded away."""
MOST_NAMED = 3
"""Maximum number of algorithms named in a cell of a table of rounds."""


def recommendations(findings: Answer, data: Sequence[Data]) -> Table:
    """Algorithms to deploy under each preference, by each criterion; a star marks overstated certainty."""

    def row(recommendation: Recommendation) -> tuple[str, ...]:
        star = "" if recommendation.sure else "*"
        choice = recommendation.expected
        return (
            recommendation.condition,
            f"{recommendation.likeliest.label} ({probability(recommendation.likeliest.probability_best)}{star})",
            f"{choice.label} ({choice.expected:.3f} [{choice.low:.3f}, {choice.high:.3f}]{star})",
            f"{recommendation.cautious.label} ({recommendation.cautious.quantile:.3f}{star})",
        )

    return Table(
        "Which member of the Pareto set to deploy, by what is known of the budget (rows) and what is wanted (columns).",
        ("If …", "most probably best (P2BB)", "largest expected value [95% interval]", "largest 5% quantile"),
        tuple(row(recommendation) for recommendation in findings.recommendations),
        tuple(data),
        frozenset({1, 2, 3}),
    )


def best_by_group(
    result: RaceResult,
    members: Sequence[str],
    shares: Mapping[str, tuple[int, FloatArray]],
    data: Sequence[Data],
) -> Table:
    """The member most often best in each group of instances, at the first, middle and last timepoint."""
    times = result.posterior.times
    at = sorted({0, len(times) // 2, len(times) - 1})

    def most(share: FloatArray) -> str:
        return "–" if np.isnan(share).any() else f"{members[int(share.argmax())]} ({share.max():.0%})"

    return Table(
        f"The member that is most often the best in a group, at {plural(len(at), 'budget')} ({result.settings.axis}), "
        "and its share of the instances on which all members ran. These shares are counts, without a model; with few "
        "instances they say little.",
        ("group", "instances", *(instant(times[t]) for t in at)),
        tuple(
            (group.strip(), f"{instances:,}", *(most(share[t]) for t in at))
            for group, (instances, share) in shares.items()
        ),
        tuple(data),
        frozenset(range(2, 2 + len(at))),
        shown=len(shares),
        summary="" if len(shares) <= _UNFOLDED else f"At {plural(len(at), 'budget')}",
    )


def ratings(result: RaceResult, ranked: Sequence[str], data: Sequence[Data]) -> Table:
    """Posterior means and intervals of the ratings at some timepoints."""
    posterior = result.posterior
    at = [int(t) for t in np.unique(np.linspace(0, len(posterior.times) - 1, _SHOWN_TIMES).round())]
    mean, (low, high) = posterior.mean(), posterior.interval()
    return Table(
        f"Ratings, posterior mean and [95% credible interval], at {len(at)} of {len(posterior.times)} timepoints "
        f"({result.settings.axis}).",
        ("algorithm", *(instant(posterior.times[t]) for t in at)),
        tuple(
            (name, *(f"{mean[t, i]:.3f} [{low[t, i]:.3f},\u00a0{high[t, i]:.3f}]" for t in at))
            for i, name in _positions(ranked, posterior.names)
        ),
        tuple(data),
        kind="stacked",
        shown=len(ranked),
        summary="" if len(ranked) <= 2 * MOST_SHOWN else "The ratings in numbers",
    )


def undecided(findings: Answer, axis: str) -> Table:
    """The pairs that are still open."""

    def between(first: float, last: float) -> str:
        return instant(first) if first == last else f"{instant(first)} to {instant(last)}"

    rest = len(findings.undecided) - MOST_OPEN_PAIRS
    return Table(
        "Undecided pairs, the cheapest to decide first, and about how many more problem instances each would take: a "
        "rough forecast that keeps the present estimates and lets their spread shrink as instances are added."
        + (f" {plural(rest, 'more pair')} can be downloaded." if rest > 0 else ""),
        ("pair", f"undecided within ({axis})", "more instances"),
        tuple(
            (
                f"{pair.first} – {pair.second}",
                between(pair.from_time, pair.to_time),
                "no forecast" if pair.more_instances is None else f"about {amount(max(pair.more_instances, 1))}",
            )
            for pair in findings.undecided[:MOST_OPEN_PAIRS]
        ),
        (
            Data.of(
                "undecided",
                ("first", "second", "from", "to", "more_instances"),
                (
                    (pair.first, pair.second, pair.from_time, pair.to_time, pair.more_instances)
                    for pair in findings.undecided
                ),
            ),
        ),
    )


def pairs(result: RaceResult, members: Sequence[str], data: Sequence[Data]) -> Table:
    """For every pair of candidates, which relation holds when."""
    posterior, relations, axis = result.posterior, result.relations, result.settings.axis

    def when(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
        return spans(posterior.times, mask, "") if mask.any() else "–"

    rows: list[tuple[str, ...]] = []
    for first, second in combinations(members, 2):
        i, j = posterior.names.index(first), posterior.names.index(second)
        wins, loses, equal = relations.dominates[:, i, j], relations.dominates[:, j, i], relations.equivalent[:, i, j]
        rows.append((f"{first} – {second}", when(wins), when(loses), when(equal), when(~(wins | loses | equal))))
    return Table(
        f"Which relation holds at which budget ({axis}), with probability {result.settings.alpha:g} or more, for every "
        "pair of the Pareto set.",
        ("pair", "first better", "second better", "equivalent", "undecided"),
        tuple(rows),
        tuple(data),
        frozenset({1, 2, 3, 4}),
        summary="" if len(rows) <= MOST_SHOWN else f"All {len(rows)} pairs in a table",
    )


def matrices(result: RaceResult, ranked: Sequence[str], data: Sequence[Data]) -> list[Table]:
    """P(row better than column) at the first, middle and last timepoint: among members, and, folded away, among all."""
    times, members = result.posterior.times, ranked[: len(result.pareto_set)]
    at = sorted({0, len(times) // 2, len(times) - 1})
    if len(ranked) <= MOST_SHOWN:
        return [_matrix(result, t, ranked, tuple(data)) for t in at]
    every = [_matrix(result, t, ranked, tuple(data), f"All {len(ranked)} algorithms") for t in at]
    if len(members) < 2:
        return every
    summary = "" if len(members) <= _UNFOLDED else f"The {len(members)} members"
    return [*(_matrix(result, t, members, tuple(data), summary) for t in at), *every]


def _matrix(result: RaceResult, t: int, names: Sequence[str], data: tuple[Data, ...], summary: str = "") -> Table:
    relations = result.relations
    order, time = _positions(names, result.posterior.names), instant(result.posterior.times[t])
    numbered = len(order) > 8 or (len(order) > 4 and max(len(name) for _, name in order) > 9)
    heads = [str(number) for number in range(1, len(order) + 1)] if numbered else [name for _, name in order]
    return Table(
        f"Probability that the algorithm of the row is better than that of the column, at {time} "
        f"{result.settings.axis}. Bold: decided.",
        ("", *heads),
        tuple(
            (
                f"{head} {name}" if numbered else name,
                *("·" if i == j else probability(relations.better[t, i, j]) for j, _ in order),
            )
            for head, (i, name) in zip(heads, order, strict=True)
        ),
        data,
        stressed=frozenset(
            (row, column)
            for row, (i, _) in enumerate(order)
            for column, (j, _) in enumerate(order, start=1)
            if relations.dominates[t, i, j]
        ),
        kind="matrix",
        shown=len(order),
        summary=summary and f"{summary}, at {time} {result.settings.axis}",
    )


def _some(entries: Sequence[str]) -> str:
    """Entries of a narrow cell; those left out are in the data of the table."""
    more = [f"{len(entries) - MOST_NAMED} more"] if len(entries) > MOST_NAMED + 1 else []
    return "; ".join([*entries[: MOST_NAMED if more else None], *more]) or "–"


def rounds(result: RaceResult, data: Sequence[Data]) -> Table:
    """One row per round."""
    settled: set[str] = set()
    rows: list[tuple[str, ...]] = []
    for round_, n in zip(result.rounds, taking_part(result.rounds), strict=True):
        new = [name for name in round_.settled if name not in settled]
        settled.update(new)
        eliminated = [f"{loser} (by {winner})" for loser, winner in round_.eliminated.items()]
        out = [*eliminated, *(f"{name} ({round_.way_out})" for name in round_.withdrawn)]
        counts = (round_.instances, round_.runs, round_.failures)
        rows.append(
            (
                str(round_.number),
                *(f"{count:,}" for count in counts),
                amount(round_.evaluations),
                f"{round_.resolved_pairs} of {n * (n - 1) // 2}",
                _some(out),
                _some(new),
            )
        )
    return Table(
        "The rounds. Instances, runs, failures and evaluations are counted from the start of the race.",
        ("round", "instances", "runs", "failures", "evaluations", "resolved pairs", "out", "settled"),
        tuple(rows),
        tuple(data),
        frozenset({6, 7}),
        shown=2 * MOST_SHOWN,
    )


def spending(result: RaceResult, ranked: Sequence[str], data: Sequence[Data]) -> Table:
    """The evaluations spent on each algorithm."""
    total = max(result.evaluations, 1)
    times, reach = result.posterior.times, result.reach
    spent = result.evaluations_by_algorithm
    return Table(
        "What each algorithm spent, and on how many instances it was observed at the first and last timepoint.",
        ("algorithm", "state", "evaluations", "share", f"instances at {instant(times[0])}", f"at {instant(times[-1])}"),
        tuple(
            (
                name,
                _state(result, name),
                amount(spent.get(name, 0)),
                f"{spent.get(name, 0) / total:.1%}",
                f"{reach[0, i]:,}",
                f"{reach[-1, i]:,}",
            )
            for i, name in _positions(ranked, result.names)
        ),
        tuple(data),
        frozenset({1}),
        shown=len(ranked),
        summary="" if len(ranked) <= 2 * MOST_SHOWN else f"All {len(ranked)} algorithms in a table",
    )


def reliability(result: RaceResult) -> Table:
    """How far the posterior can be trusted, by the method that computed it."""
    posterior, diagnostics = result.posterior, result.posterior.diagnostics
    rows: list[tuple[str, ...]] = []
    for method in dict.fromkeys(diagnostics.method):
        own = np.array([used == method for used in diagnostics.method])
        k_hat, r_hat = diagnostics.k_hat[own], diagnostics.r_hat[own]
        rows.append(
            (
                method,
                str(int(own.sum())),
                f"{diagnostics.ess[own].min():,.0f}",
                f"{np.nanmax(k_hat):.2f}" if np.isfinite(k_hat).any() else "–",
                f"{np.nanmax(r_hat):.3f}" if np.isfinite(r_hat).any() else "–",
                str(int(diagnostics.doubtful[own].sum())),
            )
        )
    return Table(
        f"How the posterior was computed, from {posterior.draws.shape[0]:,} draws at each of {len(posterior.times)} "
        "timepoints. Effective draws: the number of independent draws they are worth. Pareto k-hat: good below 0.5, "
        "unreliable from 0.7. R-hat: good below 1.01.",
        ("method", "timepoints", "fewest effective draws", "largest k-hat", "largest R-hat", "unreliable timepoints"),
        tuple(rows),
        (datasets.diagnostics(result),),
    )


def checks(results: Sequence[Check]) -> Table:
    """Checks of the model's assumptions against the rankings."""
    verdicts = {True: "passed", False: "failed", None: "not checked"}
    columns = ("assumption", "statistic", "observed", "low", "high", "p_value", "passed", "verdict")
    data = (
        (
            result.name,
            result.what,
            result.observed,
            *(result.expected or (None, None)),
            result.p_value,
            result.passed,
            result.verdict,
        )
        for result in results
    )
    return Table(
        "What the Plackett–Luce model assumes, whatever the ratings are, and whether the rankings agree. Even if an "
        "assumption holds, its check fails in about one of a hundred studies (p ≤ 0.01).",
        ("assumption", "check", "p", "finding"),
        tuple(
            (
                result.name,
                verdicts[result.passed],
                "–" if result.p_value is None else f"{result.p_value:.3f}",
                result.verdict,
            )
            for result in results
        ),
        (Data.of("checks", columns, data),),
        frozenset({1, 3}),
    )


def failures(runs: Sequence[Run]) -> Table:
    """Runs that went wrong, grouped by algorithm, reason and message."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        message = (run.outcome.message.strip().splitlines() or ["(no message)"])[0]
        groups.setdefault((run.key.algorithm, run.outcome.reason.value, message), []).append(run)
    return Table(
        "Runs that failed, timed out or were killed. Those with the same algorithm, reason and message are grouped.",
        ("algorithm", "what happened", "runs", "message", "for example", "ended after"),
        tuple(
            (
                algorithm,
                reason,
                f"{len(group):,}",
                message,
                f"{group[0].key.instance}, seed {group[0].key.seed}",
                f"{group[0].outcome.evaluations:,} evaluations, {duration(group[0].outcome.seconds)}",
            )
            for (algorithm, reason, message), group in sorted(groups.items(), key=lambda item: -len(item[1]))
        ),
        (_outcomes("failures", runs),),
        frozenset({1, 3, 4, 5}),
    )


def invalid(runs: Sequence[Run]) -> Table:
    """Runs during which the objective returned NaN."""
    by_algorithm: dict[str, list[Run]] = {}
    for run in runs:
        by_algorithm.setdefault(run.key.algorithm, []).append(run)
    return Table(
        "Runs during which the objective returned NaN; such evaluations count as the worst value.",
        ("algorithm", "runs", "evaluations that gave NaN", "for example"),
        tuple(
            (
                name,
                f"{len(group):,}",
                f"{sum(run.outcome.invalid_evaluations for run in group):,}",
                f"{group[0].key.instance}, seed {group[0].key.seed}",
            )
            for name, group in by_algorithm.items()
        ),
        (_outcomes("invalid-evaluations", runs),),
        frozenset({3}),
    )


def _outcomes(name: str, runs: Sequence[Run]) -> Data:
    return Data.of(
        name,
        (
            "algorithm",
            "instance",
            "seed",
            "reason",
            "evaluations",
            "seconds",
            "nan_evaluations",
            "message",
            "traceback",
        ),
        (
            (
                *(run.key.algorithm, run.key.instance, run.key.seed, run.outcome.reason.value),
                *(run.outcome.evaluations, run.outcome.seconds, run.outcome.invalid_evaluations),
                *(run.outcome.message, run.outcome.traceback),
            )
            for run in runs
        ),
    )


def _state(result: RaceResult, name: str) -> str:
    if name in result.withdrawn:
        return "set aside" if name in result.set_aside else "withdrawn"
    return f"eliminated by {result.eliminated[name]}" if name in result.eliminated else "Pareto set"


def _positions(ranked: Sequence[str], names: Sequence[str]) -> list[tuple[int, str]]:
    """The ranked names that are among `names`, with their positions there."""
    index_of = {name: index for index, name in enumerate(names)}
    return [(index_of[name], name) for name in ranked if name in index_of]

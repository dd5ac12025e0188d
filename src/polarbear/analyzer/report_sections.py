"""The sections of a report: their figures and tables, with all but the most important folded away."""

from __future__ import annotations

from collections.abc import Sequence

from polarbear.analyzer import datasets, report_tables
from polarbear.analyzer.answer import PREFERENCES, Answer
from polarbear.analyzer.html import Picture, Table, picture
from polarbear.assess.report.data import Data
from polarbear.figures.race_figures import Plots, key_rounds, shares_by_group
from polarbear.figures.style import spacing_of
from polarbear.inference import InstanceBootstrap
from polarbear.racing import RaceResult

Sections = dict[str, tuple[list[Picture], list[Table]]]
LISTED = 10
"""Number of members and eliminated algorithms that are not folded away."""
_STRIPS, _MOST_STRIPS = 8, 18
"""Members of the Pareto set whose pairs are shown as strips; maximum for which all pairs, at most 153, are drawn."""
_MOST_GROUPS = 24
"""Maximum number of function groups and dimensions; with more, the section is left out."""


def sections_of(result: RaceResult, findings: Answer, order: Sequence[str]) -> Sections:
    """Figures and tables by section; `order` has the names in the order in which colours are assigned."""
    plots = Plots(result, order)
    ranked = (*(member.name for member in findings.members), *reversed(result.eliminated), *result.withdrawn)
    members, rounds = ranked[: len(result.pareto_set)], (datasets.rounds(result), datasets.horizons(result))
    pairs = (datasets.relations_of_pairs(result),)
    where = _where(result, members, plots)
    return {
        "deploy": _deploy(result, findings, members, plots),
        **({"where": where} if where[1] else {}),
        "ratings": _ratings(result, ranked, plots),
        "pairs": (
            _strips(plots, members, pairs),
            [
                *([report_tables.pairs(result, members, pairs)] if len(members) > 1 else []),
                *report_tables.matrices(result, ranked, pairs),
            ],
        ),
        "race": (
            [picture(plots.dominance(), (datasets.dominance(result), rounds[0])), *_key_rounds(result, plots)],
            [report_tables.rounds(result, rounds)],
        ),
        "allocation": _allocation(result, ranked, plots),
    }


def _deploy(
    result: RaceResult, findings: Answer, members: Sequence[str], plots: Plots
) -> tuple[list[Picture], list[Table]]:
    preferences = tuple(PREFERENCES)
    data = (datasets.values(result, preferences), datasets.value_quantiles(result, preferences))
    sure = all(recommendation.sure for recommendation in findings.recommendations)
    figure = plots.values(preferences=preferences, algorithms=members, sure=sure)
    return [picture(figure, data)], [report_tables.recommendations(findings, data[:1])]


def _where(result: RaceResult, members: Sequence[str], plots: Plots) -> tuple[list[Picture], list[Table]]:
    """Which member is best on which group of functions in which dimension; empty if there is only one group."""
    shares = shares_by_group(result, members)
    if not 1 < len(shares) <= _MOST_GROUPS:
        return [], []
    data = (datasets.best_by_group(result, members, shares),)
    figure = plots.groups(algorithms=members)
    return [picture(figure, data)], [report_tables.best_by_group(result, members, shares, data)]


def _ratings(result: RaceResult, ranked: Sequence[str], plots: Plots) -> tuple[list[Picture], list[Table]]:
    data, times = (datasets.ratings(result),), result.posterior.times
    usual = spacing_of(times)
    other = "linear" if usual == "log" else "log"
    pictures = [picture(plots.ratings(spacing=usual), data)]
    if times.size > 1:
        pictures.append(picture(plots.ratings(spacing=other), data, summary=f"The same with budgets on a {other} axis"))
    return pictures, [report_tables.ratings(result, ranked, data)]


def _strips(plots: Plots, members: Sequence[str], data: tuple[Data, ...]) -> list[Picture]:
    """Strips for all pairs of the members with the highest P(best), and, folded away, for the pairs of all members."""
    if len(members) < 2:
        return []
    shown = [picture(plots.relations(algorithms=members[:_STRIPS]), data)]
    if _STRIPS < len(members) <= _MOST_STRIPS:
        every = f"The pairs of all {len(members)} members"
        shown.append(picture(plots.relations(algorithms=members), data, summary=every))
    return shown


def _key_rounds(result: RaceResult, plots: Plots) -> list[Picture]:
    """The ratings after key rounds, folded away; left out for models over time, which may take minutes to fit."""
    posterior = result.posterior
    if posterior.model is None or (posterior.joint and not isinstance(posterior.model, InstanceBootstrap)):
        return []
    key = key_rounds(result)
    return [picture(plots.rounds(), (), summary=f"The ratings after {len(key)} key rounds")] if len(key) > 1 else []


def _allocation(result: RaceResult, ranked: Sequence[str], plots: Plots) -> tuple[list[Picture], list[Table]]:
    spent = datasets.spending(result)
    few = ranked if len(ranked) <= 2 * LISTED else ranked[: max(LISTED, len(result.pareto_set))]
    return [picture(plots.allocation(algorithms=few), (datasets.reach(result), spent))], [
        report_tables.spending(result, ranked, (spent,))
    ]

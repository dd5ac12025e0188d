"""The sections of a report: their figures and tables, the most important shown, the rest folded away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polarbear import figures
from polarbear.analyzer import datasets, report_tables
from polarbear.analyzer.answer import PREFERENCES, Answer
from polarbear.analyzer.html import Picture, Table, picture
from polarbear.assess.functions import function_group
from polarbear.assess.report.data import Data
from polarbear.figures import Snapshot
from polarbear.figures.race_figures import Plots
from polarbear.figures.style import spacing_of
from polarbear.inference import InstanceBootstrap, fit
from polarbear.quantities import plural
from polarbear.racing import RaceResult
from polarbear.racing.strata import average_share, best_shares
from polarbear.rankings import Rankings
from polarbear.records import Instance

Sections = dict[str, tuple[list[Picture], list[Table]]]
LISTED = 10
"""Members and eliminated algorithms that are not folded away."""
_STRIPS, _MOST_STRIPS = 8, 18
"""Members of the Pareto set of whose pairs strips are shown, and of whose 153 pairs they are drawn at all."""
_KEY_ROUNDS = 4
_MOST_GROUPS = 24
"""Of function groups and dimensions; with more, nothing is said of them."""


def sections_of(result: RaceResult, findings: Answer, order: Sequence[str]) -> Sections:
    """Figures and tables by section; `order` has the names in the order in which colours are dealt."""
    plots = Plots(result, order)
    ranked = (*(member.name for member in findings.members), *reversed(result.eliminated), *result.withdrawn)
    members, rounds = ranked[: len(result.pareto_set)], (datasets.rounds(result), datasets.horizons(result))
    pairs = (datasets.relations_of_pairs(result),)
    where = _where(result, members)
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
            [picture(plots.dominance(), (datasets.dominance(result), rounds[0])), *_key_rounds(result, order)],
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


def _where(result: RaceResult, members: Sequence[str]) -> tuple[list[Picture], list[Table]]:
    """Which member is best on which group of functions in which dimension; nothing if there is one group alone."""
    names, places = groups_of(result), [result.names.index(name) for name in members]
    if len(members) < 2 or not 1 < len({*names} - {""}) <= _MOST_GROUPS:
        return [], []
    found = best_shares(result.values[:, :, places], names, precision=result.settings.precision)
    shares = {group: found[group] for group in sorted(found) if found[group][0]}
    if len(shares) < 2:
        return [], []
    data = (datasets.best_by_group(result, members, shares),)
    figure = figures.heat_map(
        100 * np.stack([average_share(share) for _, share in shares.values()], axis=1),
        members,
        list(shares),
        label="% of the instances",
        numbers="On how many percent of the instances on which all members ran the algorithm of the row is the best of "
        "them, averaged over the timepoints",
        form=lambda share: f"{share:.0f}",
        best="highest",
    )
    figure = replace(figure, title="Who is best where")
    return [picture(figure, data)], [report_tables.best_by_group(result, members, shares, data)]


def _ratings(result: RaceResult, ranked: Sequence[str], plots: Plots) -> tuple[list[Picture], list[Table]]:
    data, times = (datasets.ratings(result),), result.posterior.times
    usual = spacing_of(times)
    other = "linear" if usual == "log" else "log"
    pictures = [picture(plots.ratings(spacing=usual), data)]
    if times.size > 1:
        pictures.append(picture(plots.ratings(spacing=other), data, summary=f"The same on a {other} axis of budgets"))
    return pictures, [report_tables.ratings(result, ranked, data)]


def _strips(plots: Plots, members: Sequence[str], data: tuple[Data, ...]) -> list[Picture]:
    """A strip for each pair of the members with the highest P(best); those of all, folded away."""
    if len(members) < 2:
        return []
    shown = [picture(plots.relations(algorithms=members[:_STRIPS]), data)]
    if _STRIPS < len(members) <= _MOST_STRIPS:
        every = f"The pairs of all {len(members)} members"
        shown.append(picture(plots.relations(algorithms=members), data, summary=every))
    return shown


def _key_rounds(result: RaceResult, order: Sequence[str]) -> list[Picture]:
    """The ratings that the instances of key rounds give (Wurth et al. 2026, figures 8 and 11), folded away.

    Key rounds are the first, the last and those with most eliminations. Not for models over time, which may take
    minutes to fit.
    """
    posterior = result.posterior
    if posterior.model is None or (posterior.joint and not isinstance(posterior.model, InstanceBootstrap)):
        return []
    complete = [each for each in result.rounds if each.batch]
    most = sorted(complete[1:-1], key=lambda each: (-len(each.eliminated), each.number))[: _KEY_ROUNDS - 2]
    key = sorted(dict.fromkeys((complete[0].number, *(each.number for each in most), complete[-1].number)))
    if len(key) < 2:
        return []
    snapshots: list[Snapshot] = []
    for each in (each for each in complete if each.number in key):
        before = fit(
            Rankings.of(
                result.rated_values[: each.instances],
                times=posterior.times,
                algorithms=posterior.names,
                precision=result.settings.precision,
            ),
            model=posterior.model,
            draws=result.settings.draws,
            rng=np.random.default_rng(result.settings.seed),
        )
        out = {loser for one in complete if one.number <= each.number for loser in one.eliminated}
        title = f"round {each.number}, {plural(each.instances, 'instance')}"
        snapshots.append(Snapshot(title, before, out & {*posterior.names}))
    figure = figures.rating_over_rounds(snapshots, order=order, axis=result.settings.axis)
    return [picture(figure, (), summary=f"The ratings after {len(key)} rounds")]


def _allocation(result: RaceResult, ranked: Sequence[str], plots: Plots) -> tuple[list[Picture], list[Table]]:
    spent = datasets.spending(result)
    few = ranked if len(ranked) <= 2 * LISTED else ranked[: max(LISTED, len(result.pareto_set))]
    return [picture(plots.allocation(algorithms=few), (datasets.reach(result), spent))], [
        report_tables.spending(result, ranked, (spent,))
    ]


def groups_of(result: RaceResult) -> list[str]:
    """(P,) the group of each instance: dimension and group of functions, or the function where it has no group.

    Empty where that is not known. What is the same for all instances is left out.
    """
    known = [problem for problem in result.problems if problem is not None and problem.dimension]
    several = len({problem.dimension for problem in known}) > 1

    def group(problem: Instance | None) -> str:
        if problem is None or not problem.dimension:
            return ""
        kind = function_group(problem.suite, problem.function) or problem.function
        return f"{problem.dimension:2d}-D {kind}".strip() if several else kind

    return [group(problem) for problem in result.problems]

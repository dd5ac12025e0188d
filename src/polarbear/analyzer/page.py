"""The report: one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polarbear.analyzer import datasets, report_tables
from polarbear.analyzer.answer import PREFERENCES, Answer, answer
from polarbear.analyzer.examination import REPLICATES, checks
from polarbear.analyzer.html import Picture, Table, fill_in, picture, write_text
from polarbear.analyzer.settings import as_toml
from polarbear.analyzer.words import amount
from polarbear.racing import RaceResult, Relations
from polarbear.racing.relations import relations
from polarbear.records import Run

if TYPE_CHECKING:
    from polarbear.figures import Figure
    from polarbear.study import StudyView

_MOST_DRAWN = 24
"""Members of the Pareto set of whose 276 pairs a strip each is drawn; tables have all pairs."""
_TRACEBACKS = 5


def report(study: StudyView | RaceResult, path: str | Path) -> Path:
    """Write a study's report: one HTML file that needs no network, no script and no other file.

    Args:
        study: From `polarbear.study.load`, or a race's result alone, of which only the settings are known.
        path: The file to write; replaced if it exists.

    Returns:
        The file's path.

    Raises:
        OSError: If the file cannot be written.
        TypeError: If `study` is neither.
    """
    if not isinstance(study, RaceResult) and not hasattr(study, "result"):
        given = repr(study) if isinstance(study, str) else f"a {type(study).__name__}"
        raise TypeError(f"study is {given}; give polarbear.study.load(path), or a race's result")
    return write_text(path, render(study))


def render(study: StudyView | RaceResult) -> str:
    """The report as HTML; the same text for the same study."""
    from polarbear.figures.style import looks

    result = study if isinstance(study, RaceResult) else study.result
    failures, invalid, damaged = _trouble(study)
    findings, settings = answer(result), result.settings
    compared = settings.compared(result.posterior)
    decided = relations(compared, alpha=settings.alpha, epsilon=settings.epsilon, joint=False)
    order = color_order(result)
    return fill_in(
        "report.html",
        title="race" if isinstance(study, RaceResult) else study.path.name,
        answer=findings,
        result=result,
        looks=looks(order),
        facts=_facts(result, findings),
        sections=_sections(result, findings, decided, order) if result.begun else {},
        undecided=report_tables.undecided(findings, settings.axis),
        reliability=report_tables.reliability(result),
        checks=report_tables.checks(checks(result, replicates=REPLICATES)) if result.begun else None,
        failures=report_tables.failures(failures) if failures else None,
        tracebacks=_tracebacks(failures),
        invalid=report_tables.invalid(invalid) if invalid else None,
        damaged=damaged,
        knows_runs=not isinstance(study, RaceResult),
        settings=as_toml(_spec(study)),
    )


def color_order(result: RaceResult) -> tuple[str, ...]:
    """The names in the order in which colours are dealt.

    As in the study as long as the colours suffice for all; beyond, the Pareto set comes first, so that its members
    keep colours of their own.
    """
    from polarbear.figures.style import PALETTE

    names = result.names
    return names if len(names) <= len(PALETTE) else result.members_first


def _facts(result: RaceResult, findings: Answer) -> list[tuple[str, str]]:
    n = len(result.names)
    facts = [("Pareto set", f"{len(result.pareto_set)} of {n - len(result.withdrawn)}")]
    if result.withdrawn:
        facts.append(("withdrawn", str(len(result.withdrawn))))
    if not result.begun:
        return facts
    last = result.rounds[-1]
    facts += [
        ("pairs resolved", f"{last.resolved_pairs} of {n * (n - 1) // 2}"),
        ("problem instances", f"{last.instances:,}"),
        ("evaluations", amount(result.evaluations)),
    ]
    if findings.saved is not None:
        facts.append(("saved", f"{findings.saved:.0%}"))
    facts.append(("failed runs", f"{last.failures:,} of {last.runs:,}"))
    return facts


def _sections(
    result: RaceResult, findings: Answer, decided: Relations, order: Sequence[str]
) -> dict[str, tuple[list[Picture], list[Table]]]:
    """Figures and tables by section."""
    preferences = tuple(PREFERENCES)
    pair_data = (datasets.relations_of_pairs(result, decided),)
    rating_data = (datasets.ratings(result),)
    value_data = (datasets.values(result, preferences), datasets.value_quantiles(result, preferences))
    round_data, spent = (datasets.rounds(result), datasets.horizons(result)), datasets.spending(result)
    ratings, values, pairs, dominance, allocation = _figures(result, findings, decided, order)
    several = len(result.pareto_set) > 1
    tables = [report_tables.pairs(result, decided, pair_data)] if several else []
    return {
        "deploy": ([picture(values, value_data)], [report_tables.recommendations(findings, value_data[:1])]),
        "ratings": ([picture(ratings, rating_data)], [report_tables.ratings(result, rating_data)]),
        "pairs": (
            [picture(pairs, pair_data)] if pairs else [],
            [*tables, *report_tables.matrices(result, decided, pair_data)],
        ),
        "race": (
            [picture(dominance, (datasets.dominance(result), round_data[0]))],
            [report_tables.rounds(result, round_data)],
        ),
        "allocation": (
            [picture(allocation, (datasets.reach(result), spent))],
            [report_tables.spending(result, (spent,))],
        ),
    }


def _figures(
    result: RaceResult, findings: Answer, decided: Relations, order: Sequence[str]
) -> tuple[Figure, Figure, Figure | None, Figure, Figure]:
    """Ratings, values, pairs if there are any and not too many, dominance and allocation."""
    from polarbear import figures

    settings, posterior = result.settings, result.posterior
    pairs = None
    if 1 < len(result.pareto_set) <= _MOST_DRAWN:
        pairs = figures.relations_over_time(
            decided,
            posterior.times,
            posterior.names,
            algorithms=result.pareto_set,
            order=order,
            alpha=settings.alpha,
            epsilon=settings.epsilon,
            crossing=settings.resolution == "crossing",
            axis=settings.axis,
        )
    return (
        figures.rating_over_time(
            posterior,
            eliminated=[name for name in result.eliminated if name in posterior.names],
            withdrawn=[name for name in result.withdrawn if name in posterior.names],
            order=order,
            axis=settings.axis,
        ),
        figures.preference_values(
            posterior,
            tuple(PREFERENCES),
            algorithms=result.pareto_set,
            order=order,
            sure=all(recommendation.sure for recommendation in findings.recommendations),
        ),
        pairs,
        figures.dominance_over_rounds(
            result.rounds,
            alpha=settings.alpha,
            joint=settings.elimination == "joint",
            names=result.names,
            order=order,
        ),
        figures.allocation(result, order=order),
    )


def _trouble(study: StudyView | RaceResult) -> tuple[Sequence[Run], Sequence[Run], list[tuple[str, str]]]:
    if isinstance(study, RaceResult):
        return (), (), []
    return study.failures, study.invalid, [(str(damage.path), damage.why) for damage in study.damaged]


def _tracebacks(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The first run with each different traceback, a few of them."""
    first: dict[str, Run] = {}
    for run in runs:
        if run.outcome.traceback:
            first.setdefault(run.outcome.traceback, run)
    return [(str(run.key), traceback) for traceback, run in list(first.items())[:_TRACEBACKS]]


def _spec(study: StudyView | RaceResult) -> dict[str, Any]:
    if isinstance(study, RaceResult):
        return {"race": {"times": study.posterior.times.tolist(), **asdict(study.settings)}}
    return study.spec

"""The report: one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polarbear.analyzer import report_tables
from polarbear.analyzer.answer import Answer, answer
from polarbear.analyzer.examination import REPLICATES, checks, doubts
from polarbear.analyzer.html import Picture, Table, fill_in, write_text
from polarbear.analyzer.report_sections import LISTED, sections_of
from polarbear.analyzer.settings import as_study_file
from polarbear.assess.report.data import Data
from polarbear.inference import Check
from polarbear.quantities import amount
from polarbear.racing import RaceResult
from polarbear.records import Run

if TYPE_CHECKING:
    from polarbear.study import StudyView

_TRACEBACKS = 5


def report(study: StudyView | RaceResult, path: str | Path, *, data: str | Path | None = None) -> Path:
    """Write the report of a study: one HTML file that needs no network, no script and no other file.

    Args:
        study: Study loaded by `polarbear.study.load`, or the result of a race, of which only the settings are known.
        path: File to write; replaced if it exists.
        data: Folder for the data of all figures and tables, as CSV and JSON; by default they are embedded in the page
            only, as CSV.

    Returns:
        The path of the file.

    Raises:
        OSError: If a file cannot be written.
        TypeError: If `study` is neither a study nor a result.
    """
    if not isinstance(study, RaceResult) and not hasattr(study, "result"):
        given = repr(study) if isinstance(study, str) else f"a {type(study).__name__}"
        raise TypeError(f"study is {given}; give polarbear.study.load(path), or a race's result")
    values = _contents(study)
    for each in _data_of(values) if data is not None else ():
        write_text(Path(data or ".") / f"{each.name}.csv", each.csv())
        write_text(Path(data or ".") / f"{each.name}.json", each.json())
    return write_text(path, fill_in("report.html", **values))


def render(study: StudyView | RaceResult) -> str:
    """The report as HTML; the same text for the same study."""
    return fill_in("report.html", **_contents(study))


def _contents(study: StudyView | RaceResult) -> dict[str, Any]:
    """Values of the template's variables, by name."""
    from polarbear.figures.style import looks

    result = study if isinstance(study, RaceResult) else study.result
    failures, invalid, damaged = _trouble(study)
    findings = answer(result)
    order = color_order(result, findings)
    checked = checks(result, replicates=REPLICATES) if result.begun else ()
    return {
        "title": "race" if isinstance(study, RaceResult) else study.path.name,
        "answer": findings,
        "cautions": [*findings.cautions, *_model_failures(checked, result)],
        "result": result,
        "looks": looks(order, result.names),
        "listed": LISTED,
        "facts": _facts(result, findings),
        "sections": sections_of(result, findings, order) if result.begun else {},
        "undecided": report_tables.undecided(findings, result.settings.axis) if findings.undecided else None,
        "reliability": report_tables.reliability(result),
        "checks": report_tables.checks(checked) if checked else None,
        "failures": report_tables.failures(failures) if failures else None,
        "tracebacks": _tracebacks(failures),
        "invalid": report_tables.invalid(invalid) if invalid else None,
        "damaged": damaged,
        "knows_runs": not isinstance(study, RaceResult),
        "settings": as_study_file(_spec(study)),
    }


def color_order(result: RaceResult, findings: Answer) -> tuple[str, ...]:
    """The names in the order in which colours are assigned.

    This is the order of the study as long as there are enough colours for all. Otherwise only members of the Pareto set
    have colours, those with the highest P(best) first, and all others are grey.
    """
    from polarbear.figures.style import PALETTE

    members = tuple(member.name for member in findings.members) or result.pareto_set
    return result.names if len(result.names) <= len(PALETTE) else members


def _model_failures(checked: Sequence[Check], result: RaceResult) -> list[str]:
    """The failed model checks, one sentence each."""
    return [f"Failed model check: {doubt}" for doubt in doubts(checked, result)]


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
    if findings.saved_against_plan is not None:
        facts.append(("saved against a fixed plan", f"{max(findings.saved_against_plan, 0.0):.0%}"))
    facts.append(("failed runs", f"{last.failures:,} of {last.runs:,}"))
    return facts


def _data_of(values: dict[str, Any]) -> Iterator[Data]:
    """The data of all figures and tables, without duplicates."""
    exhibits = (values[name] for name in ("undecided", "reliability", "checks", "failures", "invalid"))
    sections = (chain(*section) for section in values["sections"].values())
    shown: chain[Picture | Table | None] = chain(exhibits, *sections)
    yield from {data.name: data for exhibit in shown if exhibit is not None for data in exhibit.data}.values()


def _trouble(study: StudyView | RaceResult) -> tuple[Sequence[Run], Sequence[Run], list[tuple[str, str]]]:
    if isinstance(study, RaceResult):
        return (), (), []
    return study.failures, study.invalid, [(str(damage.path), damage.why) for damage in study.damaged]


def _tracebacks(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The first run with each distinct traceback, for a few tracebacks."""
    first: dict[str, Run] = {}
    for run in runs:
        if run.outcome.traceback:
            first.setdefault(run.outcome.traceback, run)
    return [(str(run.key), traceback) for traceback, run in list(first.items())[:_TRACEBACKS]]


def _spec(study: StudyView | RaceResult) -> dict[str, Any]:
    if isinstance(study, RaceResult):
        return {"race": {"times": study.posterior.times.tolist(), **asdict(study.settings)}}
    return study.spec

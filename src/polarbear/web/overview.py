"""Overview of what is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from polarbear.assess.report import Assessment
from polarbear.assess.report.data import Data
from polarbear.quantities import plural
from polarbear.store import Reading
from polarbear.store.formats.archives import natural
from polarbear.web.catalogue import Catalogue, Holding
from polarbear.web.kind import Choice, Shown, Text, numbers_in, view

ALL = "all"


def _among(attribute: str) -> Callable[[Catalogue], list[str]]:
    """A function that lists "all" and every value of the attribute in a library."""
    return lambda catalogue: [ALL, *sorted({getattr(each, attribute) for each in catalogue.holdings} - {""})]


Origin = Annotated[str, Choice("source", _among("source"))]
Suite = Annotated[str, Choice("suite", _among("suite"))]
Named = Annotated[str, Text("algorithms whose name contains", "")]
Numbered = Annotated[str, Text("functions, such as 1 8 15 (empty: all)", "")]
Sized = Annotated[str, Text("dimensions (empty: all)", "")]


@view("overview", "What is loaded")
def loaded(assessment: Assessment) -> Shown:
    """Algorithms, runs, their lengths and the range of their values, by problem."""
    columns = (
        *("suite", "function", "dimension", "algorithms", "runs", "shortest run", "longest run"),
        *("best value", "worst value", "optima known"),
    )
    rows: list[list[object]] = []
    for cell in assessment.subject.cells:
        runs = [run for trials in cell.trials.values() for run in trials.runs]
        spent = [run.outcome.evaluations for run in runs]
        values = np.concatenate([np.empty(0), *(run.trajectory.values for run in runs)])
        finite = values[np.isfinite(values)]
        ends = (finite.min(), finite.max()) if finite.size else (None, None)
        where = [cell.suite, cell.function, cell.dimension or None]
        rows.append([*where, len(cell.trials), len(runs), min(spent), max(spent), *ends, str(cell.knows_optima)])
    subject = assessment.subject
    algorithms, problems = plural(len(subject.algorithms), "algorithm"), plural(len(subject.cells), "problem")
    text = f"{plural(len(subject.runs), 'run')} of {algorithms} on {problems}"
    return Shown(Data.of("loaded", columns, rows), text=f"{text}: {', '.join(subject.algorithms)}.")


@view("overview", "What could not be read")
def skipped(reading: Reading) -> Shown:
    """Files and lines that were skipped on import or are doubtful, and why."""
    rows = ([each.path, each.line, each.why, "kept" if each.kept else "left out"] for each in reading.skipped)
    count = sum(not each.kept for each in reading.skipped)
    text = f"{plural(count, 'part')} of the data could not be read." if count else "Everything could be read."
    formats = f" Format: {', '.join(reading.formats)}."
    return Shown(Data.of("skipped", ("file", "line", "why", "what became of it"), rows), text=text + formats)


@view("overview", "Library")
def library(
    catalogue: Catalogue, source: Origin, suite: Suite, algorithms: Named, functions: Numbered, dimensions: Sized
) -> Shown:
    """Data sets of the library: which algorithms ran on which functions and dimensions."""
    words, wanted = algorithms.lower().split(), set(functions.replace(",", " ").split())
    typed = numbers_in(dimensions, "dimensions")
    sizes = set[float]() if typed is None else set(typed.tolist())
    holdings: dict[tuple[str, ...], list[Holding]] = {}
    for each in catalogue.holdings:
        chosen = source in (ALL, each.source) and suite in (ALL, each.suite)
        named = all(word in each.algorithm.lower() for word in words)
        if chosen and named and (not wanted or each.function in wanted) and (not sizes or each.dimension in sizes):
            holdings.setdefault((each.name, each.source, each.suite, each.algorithm), []).append(each)
    rows = (
        [
            *where,
            _numbered({each.function for each in parts}),
            _numbered({str(each.dimension or "") for each in parts}),
            sum(each.runs for each in parts),
        ]
        for where, parts in holdings.items()
    )
    columns = ("data set", "source", "suite", "algorithm", "functions", "dimensions", "runs")
    unread = "".join(f"\n{name} cannot be read: {why}" for name, why in catalogue.unread.items())
    sets = len({where[0] for where in holdings})
    everything = len({each.name for each in catalogue.holdings})
    text = f"{sets} of {plural(everything, 'data set')} in {catalogue.folder}.{unread}"
    return Shown(Data.of("library", columns, rows), text=text, opens="data set")


def _numbered(names: set[str]) -> str:
    """Names in natural order, with consecutive numbers as ranges."""
    ordered = sorted(filter(None, names), key=natural)
    if len(ordered) > 2 and all(each.isdigit() for each in ordered):
        first, last = int(ordered[0]), int(ordered[-1])
        if last - first == len(ordered) - 1:
            return f"{first}–{last}"
    return ", ".join(ordered)


@view("overview", "Standings")
def standings(assessment: Assessment) -> Shown:
    """Share of targets solved, runtime, and area over the convergence curve, by dimension and algorithm."""
    return Shown(assessment.standing_data)

"""What is loaded."""

from __future__ import annotations

import numpy as np

from polarbear.assess.report import Assessment
from polarbear.assess.report.data import Data
from polarbear.quantities import plural
from polarbear.store import Reading
from polarbear.web.kind import Shown, view


@view("overview", "What is loaded")
def loaded(assessment: Assessment) -> Shown:
    """Per problem: algorithms, runs, how far they went and between which values."""
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
    """Files and lines that were left out on import, or are doubtful, and why."""
    rows = ([each.path, each.line, each.why, "kept" if each.kept else "left out"] for each in reading.skipped)
    count = sum(not each.kept for each in reading.skipped)
    text = f"{plural(count, 'part')} of the data could not be read." if count else "Everything could be read."
    formats = f" Format: {', '.join(reading.formats)}."
    return Shown(Data.of("skipped", ("file", "line", "why", "what became of it"), rows), text=text + formats)


@view("overview", "Standings")
def standings(assessment: Assessment) -> Shown:
    """Per dimension and algorithm: share of targets solved, runtime, area over the convergence curve."""
    return Shown(assessment.standing_data)

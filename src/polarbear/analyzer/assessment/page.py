"""An assessment on disk: one page, its tables, and on request the figures of every function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from polarbear.analyzer.assessment.pictures import comparison_pictures, overview, plates
from polarbear.analyzer.html import Picture, fill_in, write_text
from polarbear.analyzer.tables import Table
from polarbear.analyzer.words import amount, plural
from polarbear.assess.report.comparison import Comparison
from polarbear.assess.report.failures import FailedRuns
from polarbear.assess.report.statistics import TIE, Assessment, Standing
from polarbear.descriptions import listed
from polarbear.store.atomic import make_directory

PAGE, TABLES, FIGURES = "index.html", "tables", "figures"
_NAMED = 10
"""How many algorithms a sentence on failures names; their table names all."""
_LONGEST_NAME = 180
"""Bytes of a file's name; file systems take 255, and what is being written has a longer one for a while."""


def write_assessment(
    assessment: Assessment,
    folder: str | Path,
    *,
    comparison: Comparison | None = None,
    every_figure: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a self-contained page, tables as CSV, and on request the figures of every function as SVG.

    Args:
        assessment: What to write.
        folder: Where to; made if need be. Files of the same names are replaced.
        comparison: To be shown as well.
        every_figure: Also draw every function by itself: runtimes, convergence, attainment, scaling.
        progress: Called with the title of each of these figures.

    Returns:
        The page's path.

    Raises:
        OSError: If a file cannot be written, or one of the folders is a link.
    """
    folder = Path(folder)
    for directory in (folder, folder / TABLES, *([folder / FIGURES] if every_figure else [])):
        make_directory(directory)
    for data in assessment.data:
        write_text(folder / TABLES / f"{data.name}.csv", data.csv())
    drawn: list[tuple[str, Picture]] = []
    if every_figure:
        taken: set[str] = set()
        for name, one in plates(assessment):
            if progress is not None:
                progress(one.title)
            file = f"{FIGURES}/{_file_name(name, taken)}.svg"
            write_text(folder / file, one.svg)
            drawn.append((file, one))
    return write_text(folder / PAGE, render(assessment, comparison, drawn))


def _file_name(name: str, taken: set[str]) -> str:
    """A name that every file system and every link takes, and that differs from all taken, also in lower case."""
    safe = "".join(c if c.isalnum() or c in "-_.+" else "_" for c in name)
    stem = whole = safe.encode()[:_LONGEST_NAME].decode(errors="ignore")
    for number in count(2):
        if whole.casefold() not in taken:
            break
        whole = f"{stem}-{number}"
    taken.add(whole.casefold())
    return whole


def render(assessment: Assessment, comparison: Comparison | None, drawn: list[tuple[str, Picture]]) -> str:
    """The page as HTML."""
    subject = assessment.subject
    dimensions = [f"{dimension}-D" for dimension in subject.dimensions if dimension]
    failed = sum(one.failed for one in assessment.failures)
    return fill_in(
        "assessment.html",
        title=headline(assessment),
        facts=[
            ("algorithms", str(len(subject.algorithms))),
            ("functions", str(len(subject.functions))),
            ("dimensions", listed(dimensions) or "not known"),
            ("runs", amount(len(subject.runs))),
            *([("failed runs", f"{failed:,} of {len(subject.runs) + len(subject.lost):,}")] if failed else []),
        ],
        cautions=cautions(assessment),
        standings=standings_table(assessment),
        pictures=overview(assessment),
        comparison=comparison,
        comparison_tables=[] if comparison is None else comparison_tables(comparison),
        comparison_pictures=[] if comparison is None else comparison_pictures(comparison, subject.algorithms),
        drawn=drawn,
    )


def headline(assessment: Assessment) -> str:
    """Who is ahead, in one sentence: of the algorithms that ran on every function of a dimension."""
    subject = assessment.subject
    if len(subject.algorithms) == 1:
        return f"{subject.algorithms[0]} on {plural(len(subject.functions), 'function')}"
    leaders: dict[tuple[str, ...], list[str]] = {}
    for dimension in subject.dimensions:
        everywhere = len(subject.within(dimension))
        rows = [row for row in assessment.standings if (row.dimension, row.functions) == (dimension, everywhere)]
        if len(rows) > 1:
            ahead = sorted(row.algorithm for row in rows if row.aocc >= rows[0].aocc - TIE)
            leaders.setdefault(tuple(ahead), []).append(_dimension(dimension))
    if not leaders:
        return f"{plural(len(subject.algorithms), 'algorithm')} that ran on different functions"
    if [*leaders.values()] == [[_dimension(dimension) for dimension in subject.dimensions]]:
        (names,) = leaders
        return f"{listed(names)} {'attains' if len(names) == 1 else 'attain'} most over the budget"
    parts = [f"{listed(names)} in {listed(where)}" for names, where in leaders.items()]
    return f"Attaining most over the budget: {'; '.join(parts)}"


def cautions(assessment: Assessment) -> list[str]:
    """What to mind when reading the numbers, in sentences."""
    subject, said = assessment.subject, failures_in_words(assessment.failures)
    if subject.absolute:
        said.append("Targets are objective values, the same on every instance and function; optima are passed over.")
    elif not subject.knows_optima:
        said.append(
            "Not all optima are known. Targets lie between the first and the best value that any algorithm found on "
            "each instance, so that they change when an algorithm is added."
        )
    if assessment.stopped_early:
        said.append(
            f"{assessment.stopped_early:,} of {plural(len(subject.runs), 'run')} were cut short before half of the "
            "longest run on the same function. They keep their best value from there on, which favours algorithms "
            "that were given more budget."
        )
    partial = [
        f"{row.algorithm} in {_dimension(row.dimension)}"
        for row in assessment.standings
        if row.functions < len(subject.within(row.dimension))
    ]
    if partial:
        said.append(
            f"Not run on every function, and therefore left out of runtime distributions over all: {listed(partial)}. "
            "Their standings are over other functions."
        )
    return said


def _dimension(number: int) -> str:
    return f"{number}-D" if number else "unknown dimension"


def standings_table(assessment: Assessment) -> Table:
    """The standings as a table to show."""

    def row(one: Standing) -> tuple[str, ...]:
        return (
            one.algorithm,
            str(one.dimension or "–"),
            f"{one.functions}",
            f"{one.runs:,}",
            f"{one.solved:.1%}",
            f"{one.runtime:,.3g}",
            f"{one.aocc:.3f}",
            f"{one.first}",
        )

    subject = assessment.subject
    restarts = (
        "as measured, for two objectives"
        if any(cell.biobjective for cell in subject.cells)
        else "with simulated restarts"
    )
    return Table(
        "How the algorithms fare in each dimension, over all functions. Solved: share of function-target pairs, "
        f"{restarts}. Runtime: geometric mean over the solved pairs, in evaluations divided by the dimension; "
        "compare it between algorithms that solve about as much. AOCC: mean area over the convergence curve, on a log "
        "scale of evaluations up to the longest run on the function; larger is better. First: functions on which no "
        "algorithm has a larger AOCC.",
        ("algorithm", "dimension", "functions", "runs", "solved", "runtime", "AOCC", "first"),
        tuple(row(one) for one in assessment.standings),
        (assessment.standing_data, assessment.runtime_data, assessment.value_data),
    )


def comparison_tables(found: Comparison) -> list[Table]:
    """Ratings, ranks and contributions by algorithm; tests over all problems."""
    ratings = {row["algorithm"]: row for row in found.ratings.rows()}
    shares = {row["algorithm"]: row for row in found.contributions.rows()}
    last = {row["algorithm"]: row for row in found.ranking.rows()}
    ranks = dict(zip(found.deep.ranking.names, found.deep.ranking.mean_ranks, strict=True)) if found.deep else {}
    wins = dict(zip(found.algorithms, found.wins.sum(axis=1), strict=True))
    losses = dict(zip(found.algorithms, found.wins.sum(axis=0), strict=True))
    everything = Table(
        f"Comparison by {found.measure} on {plural(len(found.cells), 'problem')}. Glicko-2: rating ± its standard "
        "deviation after games between runs. Mean rank: of the deep statistical comparison. Wins, losses: significant "
        "ones, problems and rivals counted. Best: bootstrap probability of solving most at the largest budget, over "
        "problems. Shapley, marginal: contribution to the area under the runtime ECDF of all run side by side.",
        ("algorithm", "Glicko-2", "mean rank", "wins", "losses", "best", "Shapley", "marginal"),
        tuple(
            (
                name,
                f"{row['rating']:.0f} ± {row['deviation']:.0f}",
                f"{ranks[name]:.2f}" if ranks else "–",
                f"{wins[name]:.0f}",
                f"{losses[name]:.0f}",
                f"{last[name]['best']:.2f}",
                f"{shares[name]['shapley']:.3f}",
                f"{shares[name]['marginal']:.3f}",
            )
            for name, row in ratings.items()
        ),
    )
    return [everything]


def verdict(found: Comparison) -> list[str]:
    """What the tests say, in sentences, and what to mind of the runs."""
    single = found.single_best
    best = [name for name, score in zip(single.names, single.scores, strict=True) if score <= single.scores.min()]
    said = [f"Single best solver by {found.measure}: {listed(best)}."]
    if found.deep is not None:
        omnibus, problems = found.deep.omnibus, plural(len(found.cells), "problem")
        differ = "differ" if omnibus.rejected else "are not told apart"
        said.append(f"Over {problems} the algorithms {differ} ({omnibus.test.title()}, p = {omnibus.p_value:.2g}).")
        if found.deep.post_hoc is not None:
            worse = [row["algorithm"] for row in found.deep.post_hoc.rows() if row["different"]]
            others = f"differs significantly from {listed(worse)}" if worse else "differs significantly from no other"
            said.append(f"{found.deep.post_hoc.control}, of the lowest mean rank, {others}.")
    return said + failures_in_words(found.failures)


def failures_in_words(found: Sequence[FailedRuns]) -> list[str]:
    """One caution that says all of it; none if there are no failures."""
    if not found:
        return []
    failed, left_out = sum(one.failed for one in found), sum(one.left_out for one in found)
    named = [str(one) for one in found[:_NAMED]]
    if len(found) > _NAMED:
        named.append(plural(len(found) - _NAMED, "further algorithm"))
    said = f"Runs failed, timed out or were killed: of {listed(named)}."
    if failed > left_out:
        rest = "The others count" if left_out else "They count"
        counted = (
            f"{rest} as runs that stopped where they did: each keeps the best value it had found and is charged the "
            "evaluations it had spent, so that failing early costs little."
        )
    else:
        counted = ""
    if left_out:
        verb = "was" if left_out == 1 else "were"
        said += (
            f" {left_out:,} of these {failed:,} {verb} killed or timed out before anything was recorded: nothing is "
            "known of them, and they are left out, which favours an algorithm that is lost on hard instances."
        )
    return [f"{said} {counted}".rstrip()]

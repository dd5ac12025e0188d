"""An assessment on disk: one page, its tables and, on request, the figures of every function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from itertools import chain, count
from pathlib import Path

import numpy as np

from polarbear.analyzer.assessment.charts import Backdrop
from polarbear.analyzer.assessment.pictures import NOTHING, Plate, comparison_pictures, overview, plates
from polarbear.analyzer.assessment.verdict import answer_of, failures_in_words
from polarbear.analyzer.html import PAGE, Table, fill_in, write_text
from polarbear.analyzer.words import instant
from polarbear.assess.comparisons import AdaptiveConfigurations, DynamicVirtualBest
from polarbear.assess.report.comparison import Comparison
from polarbear.assess.report.data import Data
from polarbear.assess.report.statistics import TIE, Assessment, Standing
from polarbear.assess.report.subject import Cell
from polarbear.descriptions import listed
from polarbear.quantities import amount, plural
from polarbear.records import Reference
from polarbear.store.atomic import make_directory

TABLES, FIGURES = "tables", "figures"
_LONGEST_NAME = 180
"""Maximum length of a file name in bytes; file systems allow 255, and temporary files have longer names."""


def write_assessment(
    assessment: Assessment,
    folder: str | Path,
    *,
    comparison: Comparison | None = None,
    background: Assessment | None = None,
    best: Mapping[tuple[str, int], Reference] | None = None,
    tables: Sequence[Table] = (),
    every_figure: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a page, tables as CSV, and figures as SVG with thumbnails on the page.

    These figures show runtime distributions by group of functions, the scaling of every function and, on request, every
    function by itself. The figures over all functions are embedded in the page.

    Args:
        assessment: Assessment to write.
        folder: Folder to write to; created if it does not exist. Files of the same names are replaced.
        comparison: Comparison to be shown as well.
        background: Further algorithms, such as archived ones, drawn grey in runtime distributions.
        best: Expected runtimes of a reference algorithm such as best 2009, by function and dimension, as read by
            `polarbear.store.read_reference`. They are drawn as the broad pale line of runtime distributions, which
            otherwise is the best of the algorithms assessed.
        tables: Further tables, shown below the standings.
        every_figure: Whether to also draw every function by itself: runtimes, convergence, attainment.
        progress: Function called with the title of each of these figures.

    Returns:
        The path of the page.

    Raises:
        OSError: If a file cannot be written, or one of the folders is a link.
        ValueError: If the background has other targets, the reference has none of the functions, or different tables
            share a name.
    """
    folder = Path(folder)
    backdrop = Backdrop((background,) if background else (), best)
    backdrop.check(assessment)
    for directory in (folder, folder / TABLES):
        make_directory(directory)
    for data in _by_name(assessment.data, *(table.data for table in tables)):
        write_text(folder / TABLES / f"{data.name}.csv", data.csv())
    sections: dict[str, list[tuple[str, Plate]]] = {}
    taken: set[str] = set()
    for plate in plates(assessment, backdrop, every_function=every_figure):
        if progress is not None:
            progress(plate.picture.title)
        make_directory(folder / FIGURES)
        file = f"{FIGURES}/{_file_name(plate.name, taken)}.svg"
        write_text(folder / file, plate.picture.svg)
        sections.setdefault(plate.section, []).append((file, plate))
    return write_text(folder / PAGE, render(assessment, comparison, sections, backdrop, tables))


def _counted(items: Sized, noun: str) -> tuple[str, str]:
    """The noun, in singular or plural, and the number of items."""
    number, word = plural(items, noun).split(" ", 1)
    return word, number


def _by_name(*tables: Iterable[Data]) -> Iterable[Data]:
    named: dict[str, Data] = {}
    for data in chain(*tables):
        if named.setdefault(data.name, data) != data:
            raise ValueError(f"two tables to download are called {data.name!r}; give each a name of its own")
    return named.values()


def _file_name(name: str, taken: set[str]) -> str:
    """A name that is valid on every file system and in links, and differs from all taken ones even in lower case."""
    safe = "".join(c if c.isalnum() or c in "-_.+" else "_" for c in name)
    stem = whole = safe.encode()[:_LONGEST_NAME].decode(errors="ignore")
    for number in count(2):
        if whole.casefold() not in taken:
            break
        whole = f"{stem}-{number}"
    taken.add(whole.casefold())
    return whole


def render(
    assessment: Assessment,
    comparison: Comparison | None,
    plates: dict[str, list[tuple[str, Plate]]],
    backdrop: Backdrop = NOTHING,
    tables: Sequence[Table] = (),
) -> str:
    """The page as HTML; `plates` holds the figures beside it, by section."""
    subject = assessment.subject
    dimensions = [f"{dimension}-D" for dimension in subject.dimensions if dimension]
    failed = sum(failure.failed for failure in assessment.failures)
    return fill_in(
        "assessment.html",
        title=headline(assessment),
        facts=[
            _counted(subject.algorithms, "algorithm"),
            _counted(subject.functions, "function"),
            ("dimensions", listed(dimensions) or "not known"),
            ("runs", amount(len(subject.runs))),
            *([("failed runs", f"{failed:,} of {len(subject.runs) + len(subject.lost):,}")] if failed else []),
        ],
        answer=answer_of(assessment, comparison),
        cautions=cautions(assessment),
        standings=[*(standings_table(assessment, dimension) for dimension in subject.dimensions), *tables],
        tables=[f"{TABLES}/{data.name}.csv" for data in _by_name(assessment.data, *(table.data for table in tables))],
        pictures=overview(assessment, backdrop),
        comparison=comparison,
        comparison_tables=[] if comparison is None else comparison_tables(comparison),
        comparison_pictures=[] if comparison is None else comparison_pictures(comparison, subject.algorithms),
        plates=plates,
    )


def headline(assessment: Assessment) -> str:
    """The leading algorithm, among those that ran on every function of a dimension, in one sentence."""
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
    """What to bear in mind when reading the numbers, in sentences."""
    subject, sentences = assessment.subject, failures_in_words(assessment.failures)
    if subject.absolute:
        sentences.append("Targets are objective values, the same on every instance and function; optima are not used.")
    elif not subject.knows_optima:
        sentences.append(
            "Not all optima are known. Targets lie between the first and the best value that any algorithm found on "
            "each instance, so that they change when an algorithm is added."
        )
    if assessment.stopped_early:
        sentences.append(
            f"{assessment.stopped_early:,} of {plural(len(subject.runs), 'run')} ended before half the length of the "
            "longest run on the same function. From there on, the best value so far is kept, which favours algorithms "
            "that were given more budget."
        )
    partial = [
        f"{row.algorithm} in {_dimension(row.dimension)}"
        for row in assessment.standings
        if row.functions < len(subject.within(row.dimension))
    ]
    if partial:
        sentences.append(
            f"Not run on every function, and therefore left out of runtime distributions over all: {listed(partial)}. "
            "Their standings are over those functions on which they ran."
        )
    return sentences


def _dimension(number: int) -> str:
    return f"{number}-D" if number else "unknown dimension"


def standings_table(assessment: Assessment, dimension: int | None = None) -> Table:
    """The standings as a table, by default over all dimensions."""

    def row(standing: Standing) -> tuple[str, ...]:
        return (
            standing.algorithm,
            str(standing.dimension or "–"),
            f"{standing.functions}",
            f"{standing.runs:,}",
            f"{standing.solved:.1%}",
            instant(float(f"{standing.runtime:.2g}")),  # two significant digits, as in COCO
            f"{standing.aocc:.3f}",
            f"{standing.first}",
        )

    subject = assessment.subject
    restarts = (
        "as measured, for two objectives"
        if any(cell.biobjective for cell in subject.cells)
        else "with simulated restarts"
    )
    return Table(
        f"How the algorithms fare in {'each dimension' if dimension is None else _dimension(dimension)}, over all "
        "functions. Solved: share of function-target pairs, "
        f"{restarts}. Runtime: geometric mean over the solved pairs, in evaluations divided by the dimension; "
        "compare it between algorithms that solve about as much. AOCC: mean area over the convergence curve, on a log "
        "scale of evaluations up to the longest run on the function; larger is better. First: functions on which no "
        "algorithm has a larger AOCC.",
        ("algorithm", "dimension", "functions", "runs", "solved", "runtime", "AOCC", "first"),
        tuple(row(standing) for standing in assessment.standings if dimension in {None, standing.dimension}),
    )


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Ratings, ranks and contributions by algorithm, the best rating first."""
    ratings, shares, deep = comparison.ratings, comparison.contributions, comparison.deep
    wins, losses = comparison.wins.sum(axis=1), comparison.wins.sum(axis=0)
    order: list[int] = np.argsort(-ratings.rating, kind="stable").tolist()
    rows = tuple(
        (
            comparison.algorithms[i],
            f"{ratings.rating[i]:.0f} ± {ratings.deviation[i]:.0f}",
            f"{deep.ranking.mean_ranks[i]:.2f}" if deep else "–",
            f"{wins[i]:.0f}" if comparison.decisive else "–",
            f"{losses[i]:.0f}" if comparison.decisive else "–",
            f"{comparison.ranking.best_probabilities[-1, i]:.2f}",
            f"{shares.shapley[i]:.3f}",
            f"{shares.marginal[i]:.3f}",
        )
        for i in order
    )
    caption = (
        f"Comparison by {comparison.measure} on {plural(len(comparison.cells), 'problem')}. Glicko-2: rating ± its "
        "standard deviation, from games between runs. Mean rank: in the deep statistical comparison. Wins, losses: "
        "number of significant ones, over problems and rivals. Best: bootstrap probability of solving most at the "
        "largest budget, over problems. Shapley and marginal: the area under the runtime ECDF that an algorithm adds "
        "to a portfolio of algorithms that run in parallel, on average over all orders in which they might join, and "
        "as the last to join. 0: it adds nothing; Shapley values sum to the area of the whole portfolio."
    )
    columns = ("algorithm", "Glicko-2", "mean rank", "wins", "losses", "best", "Shapley", "marginal")
    return [Table(caption, columns, rows)]


def switching_table(found: Mapping[Cell, DynamicVirtualBest]) -> Table:
    """The gain from switching between algorithms, one row per problem."""
    rows = tuple(
        (
            cell.name,
            str(best.static),
            str(best.policy),
            f"{best.speed_up:.2f}",
            f"{np.median(best.held_out):.2f}" if best.held_out.size else "–",
            f"{best.probability:.2f}",
        )
        for cell, best in found.items()
    )
    caption = (
        "Best alone: the algorithm with the smallest expected runtime to the final target. Best policy: which "
        "algorithm runs first, at which target it hands over, and to which algorithm. Speed-up: of the policy, on the "
        "runs from which it was chosen. Held out: for policies chosen on half of the runs, the median speed-up on the "
        "other half. P(faster): the posterior probability that such policies are faster than the best alone."
    )
    columns = ("problem", "best alone", "best policy", "speed-up", "held out", "P(faster)")
    return Table(caption, columns, rows, text_columns=frozenset({1, 2}))


def roles_table(roles: Data) -> Table:
    """How good algorithms are first, last and overall, one row per entry of `switching_roles`."""
    rows = tuple(
        (
            str(name),
            str(dimension or "–"),
            f"{functions}" + (f" ({missing} missing)" if missing else ""),
            *("–" if cell is None else f"{cell:.2f}" for cell in numbers),
        )
        for _, dimension, name, functions, missing, *numbers in roles.rows
    )
    caption = (
        "I1: expected runtime of the best policy that begins with the algorithm, divided by that of the best policy of "
        "all; I2: the same for policies that end with it. Both are medians over functions, capped at 3; 1 is best. "
        "Missing: functions on which it never reaches the final target, each counted as 3; with 5 or more, no median "
        "is given. Shapley: its share in the worth of the best policy with one switch, on average over functions; all "
        "shares sum to 1."
    )
    return Table(caption, ("algorithm", "dimension", "functions", "I1", "I2", "Shapley"), rows)


def adaptive_table(found: Mapping[Cell, AdaptiveConfigurations]) -> Table:
    """The most promising pairs of algorithms, one row per pair and problem."""
    rows = tuple(
        (
            cell.name,
            f"{pairs.targets[-1]:.2g}",
            pairs.static,
            str(policy),
            f"{row['promised']:+.1%}",
            f"{row['expected']:+.1%} ({row['low']:+.1%} to {row['high']:+.1%})",
            f"{row['probability']:.2f}",
        )
        for cell, pairs in found.items()
        for policy, row in zip(pairs.policies, pairs.rows(), strict=True)
    )
    caption = (
        "Up to: the hardest target that all runs of some algorithm reach. Best alone: the algorithm with the smallest "
        "mean runtime to it. Promised: share of evaluations that the pair would save, by mean runtimes of the runs "
        "from which it was chosen. Expected: the same with 90 % intervals, from a posterior that shrinks lucky "
        "algorithms towards the others and allows for failing runs, relative to the algorithm that is then the safest. "
        "P(gain): probability that the saving is positive. The cost of a handover is not included."
    )
    columns = ("problem", "up to", "best alone", "pair", "promised", "expected", "P(gain)")
    return Table(caption, columns, rows, text_columns=frozenset({2, 3, 5}))

"""Comparisons of algorithms: pairwise p-values, ratings, robust ranks over time, contributions, clustered ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from polarbear.assess.comparisons import Contributions, PairwiseTests, Ratings, RobustRanking
from polarbear.assess.comparisons.deep import ClusteredRanks, Tree
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.heat_map import heat_map
from polarbear.figures.line_chart import line_chart, name_lines
from polarbear.figures.marks import Band, Label, Line, Mark, Points, row_label
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.scales import row_axis, time_axis
from polarbear.figures.style import (
    CROWD,
    INK,
    MUTED,
    SMALL,
    SURFACE,
    WIDE,
    Spacing,
    looks_for,
    shown,
)
from polarbear.quantities import plural

_SMALLEST = 1e-6
"""All smaller p-values have the same shade."""


def p_values(tests: PairwiseTests, *, width: float = WIDE, height: float | None = None) -> Figure:
    """The corrected p-values of all pairs (IOHprofiler thesis, figure 3.5).

    Marks: the darker a cell, the smaller the corrected p-value of the row's algorithm against the column's. A p-value
    is bold if the row's algorithm is significantly better. The diagonal is hatched.

    Args:
        tests: Result of `polarbear.assess.kolmogorov_smirnov` or another pairwise test.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.
    """
    table = np.where(tests.adjusted == 0, _SMALLEST, tests.adjusted)
    label = f"p-value, {tests.test}"
    figure = heat_map(
        table,
        tests.names,
        tests.names,
        label=label,
        form=_p_value,
        reverse=True,
        spacing="log",
        limits=(_SMALLEST, 1.0),
        width=width,
        height=height,
    )
    (panel,) = figure.panels
    (cells,) = panel.marks
    bold = tuple(tests.better.ravel().tolist())
    return replace(
        figure,
        title=f"P-values of the {tests.test} test",
        alt=f"Matrix of {listed(tests.names)}: p-values of every pair.",
        caption=captions.p_values(
            tests.test, tests.correction, alpha=tests.alpha, one_sided=tests.alternative == "less"
        ),
        panels=(replace(panel, marks=(replace(cells, bold=bold),)),),
    )


def rating_candlesticks(
    ratings: Ratings, *, order: Sequence[str] | None = None, width: float = WIDE, height: float | None = None
) -> Figure:
    """Glicko-2 ratings with their deviations (IOHprofiler thesis, tables 3.1 and 3.2, "Glicko2-based ranking").

    Marks: one row per algorithm, the best rating at the top. The dot is the rating; the thick line extends one
    deviation to either side, the thin line two: a 95 % interval. The dotted line marks the initial rating.

    Args:
        ratings: Result of `polarbear.assess.glicko2`.
        order: All algorithm names in the order in which colours are assigned; default that of the ratings.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.
    """
    looks = looks_for(ratings.names, order, "algorithm")
    rows = np.argsort(-ratings.rating, kind="stable")
    return Figure(
        title="Glicko-2 ratings",
        alt=f"Dots with intervals: the Glicko-2 ratings of {listed(ratings.names)}.",
        caption=captions.rating_candlesticks(int(ratings.games.sum()) // 2),
        width=width,
        height=height or 0.27 * len(rows) + 0.75,
        panels=(
            Panel(
                x=Axis(label="Glicko-2 rating", most=6, grid=True),
                y=row_axis(len(rows), hills=False),
                marks=tuple(_candles(ratings, rows.tolist())),
            ),
        ),
        looks=looks,
    )


def robust_ranks_over_time(
    ranking: RobustRanking,
    *,
    order: Sequence[str] | None = None,
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The bootstrap ranking over time (Fawcett et al. 2023, at every budget as in Vermetten et al. 2025).

    Marks: a line is an algorithm's expected rank over bootstrap samples of the instances, with rank 1, the best, at the
    top; the band covers the ranks that the algorithm takes in 95 % of the samples. The line has dots where the
    algorithm is in the best group, i.e. not significantly worse than the leader.

    Args:
        ranking: Result of `polarbear.assess.robust_ranking`.
        order: All algorithm names in the order in which colours are assigned; default that of the ranking.
        axis: Unit of the times.
        spacing: "log" or "linear" time axis; default inferred from the spacing of the times.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.
    """
    names, looks = ranking.names, looks_for(ranking.names, order, "algorithm")
    count, at = len(names), ranking.times
    expected = ranking.rank_probabilities @ np.arange(1.0, count + 1)  # (T, n)
    cumulated = np.cumsum(ranking.rank_probabilities, axis=2)
    low, high = (1 + (cumulated < level - 1e-12).sum(axis=2) for level in (0.025, 0.975))
    marks: list[Mark] = []
    for index, name in enumerate(names):
        if count <= CROWD:
            ends = {"low": low[:, index].astype(np.float64), "high": high[:, index].astype(np.float64)}
            marks.append(Band(name=f"band-{index}", x=at, algorithm=name, opacity=0.12, **ends))
        rank = expected[:, index]
        marks.append(Line(name=f"rank-{index}", x=at, y=rank, algorithm=name, layer=3))
        best = np.where(ranking.groups[:, index] == 1, rank, np.nan)
        marks.append(Points(name=f"best-{index}", x=at, y=best, algorithm=name, size=4, layer=3.2, clip=False))
    step = -(-count // 12)
    ticks = tuple(np.arange(1.0, count + 1, step).tolist())
    return line_chart(
        time_axis(at, axis, spacing, narrow=width < 5),
        Axis(label="rank", low=count + 0.2, high=0.8, ticks=ticks, texts=tuple(f"{t:g}" for t in ticks), grid=True),
        (*marks, *name_lines(at, dict(zip(names, expected.T, strict=True)))),
        looks,
        lines=count,
        width=width,
        height=height,
        title="Robust ranking over time",
        alt=f"Line chart of the expected ranks of {listed(names)} over time.",
        caption=captions.robust_ranks_over_time(count, ranking.statistic, alpha=ranking.alpha),
    )


def contributions(
    found: Contributions, *, order: Sequence[str] | None = None, width: float = WIDE, height: float | None = None
) -> Figure:
    """What each algorithm contributes to a portfolio (IOHprofiler thesis, table 3.2, "Portfolio").

    Marks: one row per algorithm, the largest Shapley value at the top. The bar is the Shapley value; the line at its
    end extends two standard errors to either side if joining orders were sampled. The diamond is the marginal
    contribution, i.e. what the whole portfolio loses without the algorithm; the circle is what the algorithm attains
    alone.

    Args:
        found: Result of `polarbear.assess.contributions`.
        order: All algorithm names in the order in which colours are assigned; default that of the contributions.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.
    """
    looks, rows = looks_for(found.names, order, "algorithm"), np.argsort(-found.shapley, kind="stable").tolist()
    high = 1.06 * max(1e-9, float(np.max([found.alone, found.shapley + 2 * found.standard_error])))
    entries = (
        Entry(text="Shapley value", color=MUTED),
        Entry(text="marginal contribution", color=MUTED, symbol="D"),
        Entry(text="alone", color=MUTED, symbol="o"),
    )
    return Figure(
        title="Contributions to the portfolio",
        alt=f"Bars with the Shapley values of {listed(found.names)}.",
        caption=captions.contributions(found.whole, sampled=found.permutations > 0, group_size=found.group_size),
        width=width,
        height=height or 0.27 * len(rows) + 1.0,
        panels=(
            Panel(
                x=Axis(label="area under the attainment curve", low=0, high=high, most=6, grid=True),
                y=row_axis(len(rows), hills=False),
                marks=tuple(_bars(found, rows)),
            ),
        ),
        looks=looks,
        key=Key(entries=entries, columns=3 if width > 5 else 2, size=SMALL),
    )


def clustered_ranks(ranks: ClusteredRanks, *, width: float = WIDE, height: float | None = None) -> Figure:
    """Ranks of a deep statistical comparison, with similar algorithms and functions side by side (PerformViz).

    After Eftimov, Hribar and Korošec (2020), A visualization tool for the comparison of optimization algorithms.

    Marks: the darker a cell, the better the rank of the row's algorithm on the column's function. The dendrogram at the
    right joins algorithms, the one above joins functions; the more similar their ranks, the sooner they are joined.

    Args:
        ranks: Result of `polarbear.assess.cluster_ranks`.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.
    """
    rows, columns = ranks.names, ranks.functions
    figure = heat_map(ranks.ranks, rows, columns, label="rank", reverse=True, width=width, column_label="function")
    (panel,) = figure.panels
    aside, above = max(1.2, 0.16 * len(columns)), max(1.0, 0.22 * len(rows))
    marks = (
        *panel.marks,
        *_tree(ranks.name_tree, len(columns) - 0.4, aside, sideways=True),
        *_tree(ranks.function_tree, -0.6, -above, sideways=False),
    )
    return replace(
        figure,
        title="Deep statistical comparison",
        alt=f"Matrix of the ranks of {listed(rows)} on {plural(columns, 'function')}, with dendrograms of both.",
        caption=captions.clustered_ranks(len(rows), len(columns)),
        height=height or figure.height + 0.24 * above,
        panels=(
            replace(
                panel,
                x=replace(panel.x, high=len(columns) - 0.3 + aside),
                y=replace(panel.y, high=-0.7 - above),
                marks=marks,
            ),
        ),
    )


def _p_value(p: float) -> str:
    return f"<{_SMALLEST:.0e}".replace("e-0", "e−") if p <= _SMALLEST else f"{p:.2g}" if p >= 0.001 else f"{p:.0e}"


def _candles(ratings: Ratings, rows: Sequence[int]) -> Iterator[Mark]:
    ends = np.array([-0.4, len(rows) - 0.6])
    yield Line(x=np.repeat(1500.0, 2), y=ends, color=MUTED, width=0.8, dash=(1, 2), layer=1)
    for row, index in enumerate(rows):
        name, rating, deviation = ratings.names[index], ratings.rating[index], ratings.deviation[index]
        y = np.repeat(float(row), 2)
        for reach, wide, layer in ((2, 1.2, 2.0), (1, 5.0, 2.2)):
            x = rating + reach * deviation * np.array([-1.0, 1.0])
            yield Line(name=f"deviation-{reach}-{index}", x=x, y=y, algorithm=name, width=wide, layer=layer)
        yield Points(
            name=f"rating-{index}", x=np.array([rating]), y=y[:1], algorithm=name, rim=SURFACE, size=6, layer=4
        )
        yield row_label(row, shown(name), name)
        yield Label(text=f"{rating:.0f}", y=row, shift=(3, 0), color=MUTED)


def _bars(found: Contributions, rows: Sequence[int]) -> Iterator[Mark]:
    for row, index in enumerate(rows):
        name, value, error = found.names[index], found.shapley[index], found.standard_error[index]
        y = np.repeat(float(row), 2)
        bar = np.array([0.0, value])
        yield Band(name=f"shapley-{index}", x=bar, low=y - 0.3, high=y + 0.3, algorithm=name, opacity=0.55)
        if error > 0:
            ends = value + 2 * error * np.array([-1.0, 1.0])
            yield Line(name=f"error-{index}", x=ends, y=y, color=INK, width=1, layer=3)
        for kind, symbol, at in (("marginal", "D", found.marginal[index]), ("alone", "o", found.alone[index])):
            mark = Points(x=np.array([at]), y=y[:1], algorithm=name, ink=True, symbol=symbol, layer=4)
            yield replace(mark, name=f"{kind}-{index}", size=5, edge=0.7, rim=SURFACE)
        yield row_label(row, shown(name), name)
        yield Label(text=f"{value:.3f}", y=row, shift=(3, 0), color=MUTED)


def _tree(tree: Tree, begin: float, reach: float, *, sideways: bool) -> Iterator[Line]:
    """Brackets of a dendrogram, from its leaves at `begin` to its root at a distance of `reach`."""
    top = max((heights[1] for _, heights in tree), default=1.0) or 1.0
    for number, (ends, heights) in enumerate(tree):
        across = np.array([ends[0], ends[0], ends[1], ends[1]])
        along = begin + reach * np.array([heights[0], heights[1], heights[1], heights[2]]) / top
        x, y = (along, across) if sideways else (across, along)
        mark = "algorithms" if sideways else "functions"
        yield Line(name=f"{mark}-{number}", x=x, y=y, color=MUTED, width=0.9, clip=False)

"""Tables 1 and 4 to 7 and figures 1 to 5, 8, 9 and 12 to 16 of Wang and Lu (2026) from our own runs, with intervals.

polarbear run examples/noisy/paper.toml --into paper.study --workers 2
polarbear run examples/noisy/estimator.toml --into estimator.study --workers 2
polarbear run examples/noisy/perceptron.toml --into perceptron.study --workers 2
polarbear run examples/noisy/uncertainty.toml --into uncertainty.study --workers 2
python examples/noisy/paper.py paper.study [folder for figures [estimator.study perceptron.study uncertainty.study]]

Everything is computed twice, for the recommended points and, as in the paper, for the best points in hindsight.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from paper_figures import WHERE, diagnostics, estimates, estimator, perceptron, progress, robustness
from paper_numbers import (
    BASELINE,
    BOOTSTRAP,
    FAMILIES,
    MULTIPLES,
    NOISE,
    SWITCH,
    at,
    counts,
    frame,
    good_and_bad,
    mean_ranks,
    noisy_functions,
    pairs,
    percent,
    resampled,
    share_of_wins,
    show,
    typical_probes,
)  # fmt: skip
from paper_probe import advantage, calibration, probe_by_size, receiver_operating, thresholds

import polarbear as pb
from polarbear.figures import Figure, heat_map
from polarbear.figures.marks import Line, Mark, Points
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.style import FAINT, SMALL, WIDE, looks

BOTH = tuple(WHERE)
OTHERS = ("resampled 10", "resampled 5", "UH-CMA-ES", BASELINE, BOOTSTRAP)
"""What table 1 compares probe and switch with."""
LOGARITHMIC = f"{BOOTSTRAP}, log weights"
ADAPTING = ("LRA-CMA-ES", "PSA-CMA-ES", "RA-CMA-ES")
RANKED = (BASELINE, BOOTSTRAP, SWITCH, "UH-CMA-ES", "LRA-CMA-ES")
"""The five of figure 4."""
PUBLISHED = {
    108: "2.39 2.46 2.37 2.36", 110: "4.87 5.35 4.47 4.53", 111: "5.22 5.48 5.11 5.09", 113: "2.87 3.05 2.77 2.75",
    114: "3.03 3.16 3.13 3.06", 116: "4.65 4.99 4.48 4.54", 117: "4.93 4.98 4.90 4.89", 119: "1.58 1.74 1.53 1.50",
    120: "1.73 1.84 1.69 1.68", 122: "1.04 1.14 1.03 1.04", 123: "1.13 1.19 1.15 1.15", 125: "0.26 0.36 0.12 0.10",
    126: "0.32 0.39 0.22 0.21", 128: "1.91 1.92 1.91 1.90", 129: "1.91 1.91 1.91 1.91",
}  # fmt: skip
"""Table 5 of the paper: CMA-ES, UH-CMA-ES, RB-PEM, probe and switch."""
STARS = ((0.001, "\\*\\*\\*"), (0.01, "\\*\\*"), (0.05, "\\*"), (1.0, ""))
SWEPT = (200, 500)
"""Budgets of figure 15b, in evaluations per variable."""


def tables(table: pl.DataFrame, noisy: list[int]) -> None:
    """All tables."""
    names = [name for name in table["algorithm"].unique(maintain_order=True) if name != BASELINE]
    for by in BOTH:
        for dimension in (10, 20, 40):
            of = at(table, dimension=dimension)
            rows = (
                [name, *(percent(share_of_wins(at(pairs(of, name, BASELINE, by), budget))) for budget in MULTIPLES)]
                for name in names
            )
            show(f"Better than CMA-ES, {by}, d = {dimension}", ["", *(f"{m} d" for m in MULTIPLES)], rows)
        rows = (
            [name, *(percent(share_of_wins(at(pairs(table, name, "growing", by), budget))) for budget in MULTIPLES)]
            for name in (*ADAPTING, "probe and PSA")
        )
        show(f"Better than growing, {by}, all dimensions", ["", *(f"{m} d" for m in MULTIPLES)], rows)
    show("Table 1: probe and switch, wins / losses (ties), 200 d", ["", *OTHERS], table_1(table))
    show(
        "Table 4: power and logarithmic weights, noisy functions",
        ["", *(f"{m} d" for m in MULTIPLES)],
        table_4(table, noisy),
    )
    head = ["", "CMA-ES", "UH-CMA-ES", BOOTSTRAP, SWITCH, "published"]
    show("Table 5: median log10, hindsight, 100 d, d = 40", head, table_5(table, noisy))
    show("Table 6: better than CMA-ES, 100 d", ["", "noisy, 15", "others, 15"], table_6(table, noisy))
    show("Table 7: better than CMA-ES, 100 d", ["", *NOISE], table_7(table))
    head = ["", "good", "bad", "p"]
    for by in BOTH:
        diagnostics = good_and_bad(at(table, 100).filter(pl.col("function").is_in(noisy)), "UH-CMA-ES", by)
        show(
            f"Figure 9: RB-PEM and UH-CMA-ES, {by}, 100 d",
            head,
            ([n, f"{g:.3f}", f"{b:.3f}", f"{p:.2g}"] for n, g, b, p in diagnostics),
        )


def table_1(table: pl.DataFrame) -> Iterator[Sequence[str]]:
    """Wins, losses, ties and stars of a two-sided Wilcoxon test, by dimension."""
    for by in BOTH:
        for dimension in (10, 20, 40):
            cells: list[str] = []
            for name in OTHERS:
                won, lost, tied, p = counts(at(pairs(table, SWITCH, name, by), 200, dimension))
                stars = next(text for limit, text in STARS if p <= limit)
                cells.append(f"{won} / {lost}{f' ({tied})' if tied else ''}{stars}")
            yield [f"{by}, d = {dimension}", *cells]


def table_4(table: pl.DataFrame, noisy: list[int]) -> Iterator[Sequence[str]]:
    """Shares of wins against CMA-ES, of all dimensions."""
    chosen = table.filter(pl.col("function").is_in(noisy))
    for by in BOTH:
        for name in (BOOTSTRAP, LOGARITHMIC, SWITCH):
            gains = pairs(chosen, name, BASELINE, by)
            yield [f"{name}, {by}", *(percent(share_of_wins(at(gains, budget))) for budget in MULTIPLES)]


def table_5(table: pl.DataFrame, noisy: list[int]) -> Iterator[Sequence[str]]:
    """Medians of our few runs, with their range, beside those of the paper's fifteen."""
    chosen = at(table, 100, 40)
    for function in noisy:
        cells: list[str] = []
        for name in (BASELINE, "UH-CMA-ES", BOOTSTRAP, SWITCH):
            values = chosen.filter((pl.col("function") == function) & (pl.col("algorithm") == name))[
                "hindsight"
            ].to_numpy()
            cells.append(f"{np.median(values):.2f} ({values.min():.2f} to {values.max():.2f})" if len(values) else "")
        yield [f"f{function}", *cells, PUBLISHED[function]]


def table_6(table: pl.DataFrame, noisy: list[int]) -> Iterator[Sequence[str]]:
    """Functions whose ranks noise hides, and others, of all dimensions."""
    inside = pl.col("function").is_in(noisy)
    for by in BOTH:
        for name in (BOOTSTRAP, LOGARITHMIC, SWITCH, *ADAPTING, "growing", "probe and PSA"):
            gains = at(pairs(table, name, BASELINE, by), 100)
            yield [f"{name}, {by}", *(percent(share_of_wins(gains.filter(side))) for side in (inside, ~inside))]


def table_7(table: pl.DataFrame) -> Iterator[Sequence[str]]:
    """By family and by the true model of the noise, of all dimensions, and the same for what adapts to noise."""
    for by in BOTH:
        for name in (LOGARITHMIC, *ADAPTING, "probe and PSA"):
            gains = at(pairs(table, name, BASELINE, by), 100)
            for family, (first, last) in FAMILIES.items():
                inside = gains.filter(pl.col("function").is_between(first, last))
                of = [inside.filter((pl.col("function") - 101) % 3 == k) for k in range(3)]
                yield [f"{name}, {family}, {by}", *(percent(share_of_wins(each)) if len(each) else "" for each in of)]


def trade_off(table: pl.DataFrame, noisy: list[int], names: Sequence[str]) -> Figure:
    """Figure 2: depth, and what is gained over CMA-ES."""
    chosen = at(table, 100, 40).filter(pl.col("function").is_in(noisy))
    base = float(np.median(chosen.filter(pl.col("algorithm") == BASELINE)["generations"].drop_nans().to_numpy()))
    styles, panels = looks(list(names)), []
    symbols = {name: "^" if look.marker else "o" for name, look in styles.items()}
    for by in BOTH:
        marks: list[Mark] = [Line(x=np.array([20.0, 300.0]), y=np.zeros(2), color=FAINT, width=1.0)]
        for k, name in enumerate(names):
            depth = chosen.filter(pl.col("algorithm") == name)["generations"].drop_nans()
            gains = (
                pairs(chosen, name, BASELINE, by).group_by("function", maintain_order=True).agg(pl.col("gain").mean())
            )
            if name == BASELINE or not len(depth):
                continue
            found = resampled(gains["gain"].to_numpy(), np.mean)
            marks += estimates(f"gain-{k}", [np.median(depth.to_numpy())], found, algorithm=name, symbol=symbols[name])
        panels.append(
            Panel(
                x=Axis(
                    label="generations (evaluations per candidate, for 15 candidates)",
                    low=20,
                    high=300,
                    scale="log",
                    ticks=(25, 50, 100, 200),
                    texts=tuple(f"{depth} ({4000 / 15 / depth:.1f})" for depth in (25, 50, 100, 200)),
                    minor=(),
                ),
                y=Axis(label="gain over CMA-ES in log10", low=-0.6, high=0.8, grid=True),
                marks=tuple(marks),
                title=WHERE[by],
            )
        )
    entries = tuple(Entry(text=name, algorithm=name, symbol=symbols[name]) for name in names if name != BASELINE)
    return Figure(
        title="Depth and fidelity",
        alt="Gain of each method over CMA-ES, by its number of generations.",
        caption="The fifteen noisy functions in 40 variables after 100 d evaluations: mean gain over CMA-ES, which has "
        f"{base:.0f} generations, with 95 % intervals over functions, and the median number of generations.",
        width=WIDE,
        height=3.6,
        panels=tuple(panels),
        columns=2,
        looks=styles,
        key=Key(entries=entries, columns=5, size=SMALL),
    )


def ranking(table: pl.DataFrame, typical: dict[int, float], names: Sequence[str], by: str) -> Figure:
    """Figure 3: ranks by function, from the least to the most noisy."""
    ranks = mean_ranks(at(table, 100), names, by)
    order = [function for function in typical if function in set(ranks["function"])]
    values = np.full((len(names), len(order)), np.nan)
    for function, name, rank in ranks.iter_rows():
        values[names.index(name), order.index(function)] = rank
    return heat_map(
        values, list(names), [str(function) for function in order], label="mean rank", best="lowest", reverse=True,
        row_label="", column_label="function, in the order of P", width=WIDE + 2.0,
    )  # fmt: skip


def two_clusters(table: pl.DataFrame, typical: dict[int, float], noisy: list[int]) -> Figure:
    """Figure 4: P of each function, and the mean rank of five methods in the two clusters."""
    probed = np.array(list(typical.values()))
    inside = np.array([function in noisy for function in typical])
    marks: list[Mark] = [
        Points(name="noisy", x=np.flatnonzero(inside) + 1.0, y=probed[inside], color="#D55E00"),
        Points(name="others", x=np.flatnonzero(~inside) + 1.0, y=probed[~inside], color="#0072B2"),
    ]
    left = Panel(
        x=Axis(label="functions in the order of P"),
        y=Axis(label="P", low=-0.02, high=0.4, grid=True),
        marks=tuple(marks),
        title="How much noise changes ranks",
    )
    panels = [left]
    for by in BOTH:
        ranks, drawn = mean_ranks(at(table, 100), RANKED, by), []
        for k, name in enumerate(RANKED):
            for side, chosen in enumerate((~pl.col("function").is_in(noisy), pl.col("function").is_in(noisy))):
                values = ranks.filter(chosen & (pl.col("algorithm") == name)).sort("function")["rank"].to_numpy()
                drawn += estimates(
                    f"rank-{k}-{side}", [side + (k - 2) * 0.13], resampled(values, np.mean), algorithm=name
                )
        panels.append(
            Panel(
                x=Axis(low=-0.5, high=1.5, ticks=(0.0, 1.0), texts=("others", "noisy")),
                y=Axis(label="mean rank", low=5, high=1, grid=True),
                marks=tuple(drawn),
                title=f"Ranks, {WHERE[by]}",
            )
        )
    return Figure(
        title="Two clusters of functions",
        alt="How much noise changes ranks on each function, and how five methods rank on the two clusters of "
        "functions.",
        caption="Left: the median of P on each function, of 20 sets of 32 candidates in 40 variables; 107 is blue. "
        "Right: mean ranks (1 is best) after 100 d evaluations in all dimensions, with 95 % "
        "intervals over functions.",
        width=WIDE + 1.5,
        height=3.4,
        panels=tuple(panels),
        columns=3,
        looks=looks(list(RANKED)),
        key=Key(entries=tuple(Entry(text=name, algorithm=name, symbol="o") for name in RANKED), columns=5, size=SMALL),
    )


def sweep(table: pl.DataFrame) -> None:
    """Figure 15b: how often UH-CMA-ES is better than two others, by how often it may evaluate a point."""
    names = [name for name in table["algorithm"].unique(maintain_order=True) if name.startswith("UH-CMA-ES")]
    for against in (BASELINE, SWITCH):
        rows = (
            [
                f"{name}, {by}",
                *(percent(share_of_wins(at(pairs(table, name, against, by), budget))) for budget in SWEPT),
            ]
            for by in BOTH
            for name in names
        )
        show(f"Figure 15b: better than {against}", ["", *(f"{budget} d" for budget in SWEPT)], rows)


def main(study: str, folder: Path, settings: str = "", training: str = "", evaluations: str = "") -> None:
    """Print tables and draw figures; those of the settings, the perceptron and UH-CMA-ES by studies of their own."""
    runs, typical = list(pb.store.read(study)), typical_probes()
    table = frame(runs)
    noisy, gap = noisy_functions(typical)
    print(f"{table.height // len(MULTIPLES)} runs; noise changes ranks on {noisy}; the widest gap of P is {gap:.3f}")
    tables(table, noisy)
    probed = probe_by_size(table)
    calibration(table, probed)
    names = table["algorithm"].unique(maintain_order=True).to_list()
    drawn = {
        "depth": trade_off(table, noisy, names),
        "ranks": ranking(table, typical, names, "recommended"),
        "clusters": two_clusters(table, typical, noisy),
        "advantage": advantage(table),
        "thresholds": thresholds(table),
        "probe": receiver_operating(table, probed),
        "diagnostics": diagnostics(runs, table, noisy),
        "progress": progress(runs),
        "robustness": robustness(table, noisy),
    }
    if settings:
        drawn["settings"] = estimator(frame(pb.store.read(settings), (20, 50, 100)))
    if training:
        drawn["perceptron"] = perceptron(pb.store.read(training))
    if evaluations:
        sweep(frame(pb.store.read(evaluations), SWEPT))
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        figure.save(folder / f"noisy-{name}.png")
        print(folder / f"noisy-{name}.png")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else "."), *sys.argv[3:])

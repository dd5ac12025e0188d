"""Figures 5, 12, 13 and 14 of Wang and Lu (2026): how well the probe predicts where RB-PEM is better; for paper.py."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from paper_figures import BLUE, ORANGE, WHERE, estimates
from paper_numbers import (
    BASELINE,
    BOOTSTRAP,
    KEYS,
    SWITCH,
    area_under,
    at,
    best_threshold,
    pairs,
    probes,
    routing,
    show,
    wilson,
)  # fmt: skip

from polarbear.figures import Figure
from polarbear.figures.marks import Line, Mark, Points
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.style import FAINT, SMALL, WIDE, looks
from polarbear.records import FloatArray

THRESHOLDS = (0.12, 0.22)
POPULATIONS = (4, 8, 16, 32)
"""Sizes of the probe in figure 13."""
Probed = dict[int, dict[tuple[int, str], float]]
"""P by size of the probe, and by function and instance."""


def problems(table: pl.DataFrame, budget: int, by: str) -> list[np.ndarray]:
    """(n,) each: function, instance, P as probe and switch found it, and how much RB-PEM gains over CMA-ES."""
    probed = table.filter(pl.col("algorithm") == SWITCH).select(*KEYS, P="probe")
    gains = at(pairs(table, BOOTSTRAP, BASELINE, by), budget).join(probed, on=KEYS).drop_nans("P").sort(KEYS)
    return [gains[name].to_numpy() for name in ("function", "instance", "P", "gain")]


def quantile_bins(probe: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Indices of problems between quantiles of P; equal P are in one bin."""
    edges = np.unique(np.quantile(probe, np.linspace(0, 1, count + 1)))
    for k, (low, high) in enumerate(pairwise(edges)):
        chosen = (probe >= low) & ((probe < high) | (k == len(edges) - 2))
        if chosen.any():
            yield np.flatnonzero(chosen)


def advantage(table: pl.DataFrame) -> Figure:
    """Figures 5 and 12: what RB-PEM gains, and how often it wins, by P."""
    panels: list[Panel] = []
    for by in WHERE:
        _, _, probe, gain = problems(table, 500, by)
        bins = list(quantile_bins(probe, 8))
        x = np.array([probe[each].mean() for each in bins])
        middle = np.array([gain[each].mean() for each in bins])
        error = np.array(
            [1.96 * gain[each].std(ddof=1) / math.sqrt(len(each)) if len(each) > 1 else np.nan for each in bins]
        )
        wins = [float((np.sign(gain[each]) + 1).sum() / 2) for each in bins]
        limits = np.array([wilson(won, len(each)) for won, each in zip(wins, bins, strict=True)])
        share = np.array([won / len(each) for won, each in zip(wins, bins, strict=True)])
        for label, y, low, high, even in (
            ("gain of RB-PEM in log10", middle, middle - error, middle + error, 0.0),
            ("share of wins of RB-PEM", share, limits[:, 0], limits[:, 1], 0.5),
        ):
            marks = (
                Line(x=np.array([0.0, 0.5]), y=np.full(2, even), color=FAINT, width=1.0),
                Line(name="mean", x=x, y=y, color=BLUE, width=1.0),
                *estimates("bin", x, (y, low, high), color=BLUE),
            )
            axis = Axis(label=label, low=0.0, high=1.0, grid=True) if even else Axis(label=label, grid=True)
            panels.append(Panel(x=Axis(label="P", low=-0.01, high=0.5), y=axis, marks=marks, title=WHERE[by]))
    return Figure(
        title="Where RB-PEM is better than CMA-ES",
        alt="Gain of RB-PEM over CMA-ES, and how often it is better, by how much two rankings of the first "
        "candidates disagree.",
        caption="Problems of all dimensions in bins of P, after 500 d evaluations. Left: mean gain, ± 1.96 standard "
        "errors. Right: share of problems, with 95 % Wilson intervals.",
        width=WIDE,
        height=5.0,
        panels=tuple(panels),
        columns=2,
    )


def by_threshold(probe: FloatArray, gain: FloatArray, grid: FloatArray) -> FloatArray:
    """(2, thresholds) how often the better one is taken, and the mean regret in log10; see `routing`."""
    return np.array([routing(probe, gain, threshold) for threshold in grid]).T


def thresholds(table: pl.DataFrame) -> Figure:
    """Figure 14: how often a threshold takes the better one, and what it loses to an oracle."""
    grid, panels = np.linspace(0, 0.5, 51), []
    labels = ("share of right choices", "regret in log10")
    for by in WHERE:
        marks: list[list[Mark]] = [[], []]
        for budget, color in ((200, BLUE), (500, ORANGE)):
            functions, _, probe, gain = problems(table, budget, by)
            groups = [np.flatnonzero(functions == function) for function in np.unique(functions)]
            curves = np.array([by_threshold(probe[g], gain[g], grid) for g in groups])  # (functions, 2, thresholds)
            drawn = np.random.default_rng(1).integers(len(groups), size=(500, len(groups)))
            low, high = np.quantile(curves[drawn].mean(axis=1), [0.025, 0.975], axis=0)
            for k, of in enumerate(marks):
                of += [
                    Line(name=f"mean-{budget}", x=grid, y=curves.mean(axis=0)[k], color=color),
                    Line(name=f"low-{budget}", x=grid, y=low[k], color=color, width=0.7, dash=(3.0, 2.0)),
                    Line(name=f"high-{budget}", x=grid, y=high[k], color=color, width=0.7, dash=(3.0, 2.0)),
                ]
        for k, (label, of) in enumerate(zip(labels, marks, strict=True)):
            most = 1.0 if k == 0 else 1.05 * max(float(mark.y.max()) for mark in of if isinstance(mark, Line))
            of += [Line(x=np.full(2, tau), y=np.array([0.0, most]), color=FAINT, width=1.0) for tau in THRESHOLDS]
            y = Axis(label=label, low=0.0, high=most, grid=True)
            panels.append(
                Panel(x=Axis(label="threshold of P", low=0.0, high=0.5), y=y, marks=tuple(of), title=WHERE[by])
            )
    return Figure(
        title="What a threshold loses",
        alt="How often a threshold of P chooses the better of RB-PEM and CMA-ES, and the mean regret, by threshold.",
        caption="RB-PEM is chosen above a threshold of P and CMA-ES below: how often the better of the two is chosen, "
        "and the mean regret, after 200 d (blue) and 500 d evaluations (orange). Dashed: 95 % intervals over "
        "functions; grey: the paper's two thresholds. At 0, RB-PEM is always chosen; at 0.5, never.",
        width=WIDE,
        height=5.2,
        panels=tuple(panels),
        columns=2,
    )


def characteristic(scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares (k,) of labels up to 0 and above 0 with scores from each threshold on, the highest threshold first."""
    thresholds = np.append(np.inf, np.unique(scores)[::-1])
    above = scores >= thresholds[:, np.newaxis]
    return above[:, labels <= 0].mean(axis=1), above[:, labels > 0].mean(axis=1)


def receiver_operating(table: pl.DataFrame, probed: Probed) -> Figure:
    """Figure 13: with P of one set of λ candidates for each instance, how well it tells in 40 variables after 200 d."""
    styles = looks([f"{population}" for population in probed])
    texts, panels = {name: f"{name} candidates" for name in styles}, []
    for by in WHERE:
        marks: list[Mark] = [Line(x=np.array([0.0, 1.0]), y=np.array([0.0, 1.0]), color=FAINT, width=1.0)]
        for name, own in zip(styles, probed.values(), strict=True):
            scores, gain = scored(table, own, 200, by)
            x, y = characteristic(scores, gain)
            marks.append(Line(name=f"curve-{name}", x=x, y=y, algorithm=name, width=1.3))
            at_threshold = scores >= THRESHOLDS[0]
            point = [np.array([at_threshold[side].mean()]) for side in (gain <= 0, gain > 0)]
            marks.append(Points(name=f"threshold-{name}", x=point[0], y=point[1], algorithm=name, layer=3))
            right = routing(scores, gain, THRESHOLDS[0])[0]
            texts[name] += f"; {WHERE[by]} {area_under(scores, gain):.2f}, {right:.0%}"
        share = Axis(label="share above the threshold, RB-PEM better", low=0.0, high=1.0, grid=True)
        none = Axis(label="share above the threshold, RB-PEM not better", low=0.0, high=1.0)
        panels.append(Panel(x=none, y=share, marks=tuple(marks), title=WHERE[by]))
    return Figure(
        title="How large a probe has to be",
        alt="Receiver operating characteristics of P for where RB-PEM is better than CMA-ES, by the number of "
        "candidates of the probe.",
        caption="Problems in 40 variables after 200 d evaluations: shares of those on which RB-PEM is better than "
        "CMA-ES, and of the others, with P above a threshold; points: 0.12. In the key: the area under the curve, and "
        "how often this threshold chooses the better one.",
        width=WIDE,
        height=4.2,
        panels=tuple(panels),
        columns=2,
        looks=styles,
        key=Key(entries=tuple(Entry(text=texts[n], algorithm=n, width=1.3) for n in styles), columns=1, size=SMALL),
    )


def calibration(table: pl.DataFrame, probed: Probed) -> None:
    """How well P tells where RB-PEM is better: areas under the curve, and thresholds on instances held out."""
    rows: list[Sequence[str]] = []
    numbers = sorted({int(instance) for instance in table["instance"]})
    first, held_out = numbers[: max(1, len(numbers) // 3)], numbers[max(1, len(numbers) // 3) :]
    if not held_out:
        raise ValueError(f"instance {numbers[0]} is the only one; calibration needs at least two (the paper has 15)")
    for by in WHERE:
        for budget in (200, 500):
            _, instances, probe, gain = problems(table, budget, by)
            train = np.isin(instances, [str(instance) for instance in first])
            tau = best_threshold(probe[train], gain[train])
            cells = [f"{by}, {budget} d", f"{area_under(probe, gain):.2f}", f"{tau:.2f}"]
            for threshold in (tau, *THRESHOLDS, 0.0, 0.51):
                right, regret = routing(probe[~train], gain[~train], threshold)
                cells.append(f"{right:.0%}, {regret:.3f}")
            rows.append(cells)
    head = [
        "",
        "AUC",
        f"τ of instances {first[0]} to {first[-1]}",
        "with this τ",
        *(f"τ = {t}" for t in THRESHOLDS),
        "always RB-PEM",
        "always CMA-ES",
    ]
    show(f"Calibration: right choices and regret on instances {held_out[0]} to {held_out[-1]}", head, iter(rows))
    head = ["λ", *(f"{by}, {budget} d" for by in WHERE for budget in (200, 500))]
    show("Figure 13: AUC by the size of the probe, d = 40", head, areas(table, probed))


def probe_by_size(table: pl.DataFrame) -> Probed:
    """P of one set of candidates of each size for each function and instance, in 40 variables."""
    instances = sorted({int(instance) for instance in table["instance"]})
    return {
        size: {(function, str(instance)): probe for function, instance, probe in probes(40, instances, size, 1)}
        for size in POPULATIONS
    }


def scored(table: pl.DataFrame, own: dict[tuple[int, str], float], budget: int, by: str) -> list[FloatArray]:
    """(n,) each of the problems in 40 variables: P of such sets, and how much RB-PEM gains over CMA-ES."""
    functions, instances, _, gain = problems(at(table, dimension=40), budget, by)
    return [np.array([own[int(f), str(i)] for f, i in zip(functions, instances, strict=True)]), gain]


def areas(table: pl.DataFrame, probed: Probed) -> Iterator[Sequence[str]]:
    """Areas under the curve with P of one set of λ candidates for each instance."""
    for population, own in probed.items():
        yield [
            str(population),
            *(f"{area_under(*scored(table, own, budget, by)):.2f}" for by in WHERE for budget in (200, 500)),
        ]

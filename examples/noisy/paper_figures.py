"""Figures 1, 8, 9, 15a and 16 of Wang and Lu (2026) from our own runs, for paper.py; recommended and in hindsight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from paper_numbers import (
    BASELINE,
    BOOTSTRAP,
    DIAGNOSTICS,
    KEYS,
    MULTIPLES,
    SMALLEST,
    against,
    pairs,
    share_of_wins,
    wilson,
)  # fmt: skip

import polarbear as pb
from polarbear.figures import Figure
from polarbear.figures.marks import Band, Bars, Line, Mark, Points
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.style import FAINT, SMALL, WIDE, looks
from polarbear.records import FloatArray

BLUE, ORANGE = "#0072B2", "#D55E00"
WHERE = {"recommended": "recommended", "hindsight": "in hindsight"}
SHOWN = (110, 113, 116, 125)
"""The functions of figure 1."""
FOLLOWED = (BASELINE, BOOTSTRAP, "resampled 10", "UH-CMA-ES", "PSA-CMA-ES")
"""Those of figure 1, and the best of our own comparison."""
RIVALS = ("UH-CMA-ES", "resampled 10", BASELINE)
"""What figure 15a compares RB-PEM with."""
SETTINGS = (
    "0 again", "1 again", "3 again", "16 rankings", "64 rankings", "constant scale", "pool alone", "ridge centre",
)  # fmt: skip
"""Those of figure 8, in examples/noisy/estimator.toml."""


def estimates(name: str, x: ArrayLike, values: Sequence[ArrayLike], **look: Any) -> list[Mark]:
    """Points at x (k,) of estimates with bars of their intervals: `values` are estimates, lower and upper ends (k,)."""
    at = np.atleast_1d(np.asarray(x, dtype=float))
    middle, low, high = (np.atleast_1d(np.asarray(each, dtype=float)) for each in values)
    symbol = look.pop("symbol", "o")
    return [
        Bars(name=f"interval-{name}", x=at, low=low, high=high, **look),
        Points(name=name, x=at, y=middle, symbol=symbol, layer=3, **look),
    ]


def progress(runs: Iterable[pb.Run]) -> Figure:
    """Figure 1: what is left to the optimum on four functions in 40 variables, by evaluations."""
    times = np.rint(np.geomspace(40, 40 * MULTIPLES[-1], 60))
    values: dict[tuple[int, str, str], list[FloatArray]] = {}
    for run in runs:
        function, name = int(run.problem.function), run.key.algorithm
        if run.problem.dimension == 40 and function in SHOWN and name in FOLLOWED:
            both = ("recommended", run.recommended_at(times)), ("hindsight", run.trajectory.value_at(times))
            for by, reached in both:
                left = np.log10(np.maximum(np.asarray(reached) - run.optimum, SMALLEST))
                values.setdefault((function, name, by), []).append(left)
    styles, panels = looks(list(FOLLOWED)), []
    for by in WHERE:
        for function in SHOWN:
            marks: list[Mark] = []
            for name in FOLLOWED:
                drawn = np.array(values[function, name, by])
                low, middle, high = drawn.min(axis=0), np.median(drawn, axis=0), drawn.max(axis=0)
                marks.append(Band(name=f"range-{name}", x=times / 40, low=low, high=high, algorithm=name, opacity=0.15))
                marks.append(Line(name=f"median-{name}", x=times / 40, y=middle, algorithm=name, width=1.3))
            panels.append(
                Panel(
                    x=Axis(label="evaluations per variable", low=1, high=MULTIPLES[-1], scale="log"),
                    y=Axis(label="log10 of the precision", grid=True),
                    marks=tuple(marks),
                    title=f"f{function}, {WHERE[by]}",
                )
            )
    return Figure(
        title="Progress on four functions",
        alt="Precision of five methods on functions 110, 113, 116 and 125, by number of evaluations.",
        caption="40 variables; medians, and the ranges over instances.",
        width=WIDE + 2.0,
        height=4.6,
        panels=tuple(panels),
        columns=4,
        looks=styles,
        key=Key(entries=tuple(Entry(text=name, algorithm=name, width=1.3) for name in FOLLOWED), columns=5, size=SMALL),
    )


def robustness(table: pl.DataFrame, noisy: Sequence[int]) -> Figure:
    """Figure 15a: on which share of problems RB-PEM is better than three others, by budget and dimension."""
    chosen = table.filter(pl.col("function").is_in(noisy))
    styles, panels = looks(list(RIVALS)), []
    for by in WHERE:
        for dimension in (20, 40):
            marks: list[Mark] = [Line(x=np.array([0.0, 4.0]), y=np.full(2, 0.5), color=FAINT, width=1.0)]
            for k, rival in enumerate(RIVALS):
                gains = pairs(chosen.filter(pl.col("dimension") == dimension), BOOTSTRAP, rival, by)
                found = [share_of_wins(gains.filter(pl.col("budget") == budget)) for budget in MULTIPLES]
                values, x = np.array(found).T, np.arange(len(MULTIPLES)) + (k - 1) * 0.12
                marks += [
                    Line(name=f"line-{rival}", x=x, y=values[0], algorithm=rival, width=1.0),
                    *estimates(f"share-{rival}", x, values, algorithm=rival),
                ]
            panels.append(
                Panel(
                    x=Axis(
                        label="evaluations per variable", low=-0.4, high=4.4, ticks=tuple(map(float, range(5))),
                        texts=tuple(map(str, MULTIPLES)),
                    ),
                    y=Axis(label="share of wins of RB-PEM", low=0.0, high=1.0, grid=True),
                    marks=tuple(marks),
                    title=f"d = {dimension}, {WHERE[by]}",
                )
            )  # fmt: skip
    return Figure(
        title="RB-PEM by budget and dimension",
        alt="Share of noisy problems on which RB-PEM is better than UH-CMA-ES, tenfold evaluation and CMA-ES.",
        caption="The fifteen noisy functions; 95 % intervals over functions.",
        width=WIDE + 1.0,
        height=4.6,
        panels=tuple(panels),
        columns=2,
        looks=styles,
        key=Key(entries=tuple(Entry(text=f"than {n}", algorithm=n, symbol="o") for n in RIVALS), columns=3, size=SMALL),
    )


def boxes(groups: Sequence[tuple[str, FloatArray]], color: str) -> Iterator[Mark]:
    """Box plots side by side: quartiles, median, whiskers to the last value within 1.5 times their distance; others."""
    for k, (name, values) in enumerate(groups):
        first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
        reach, x = 1.5 * (third - first), np.array([float(k)])
        low = values.min(where=values >= first - reach, initial=first, keepdims=True)
        high = values.max(where=values <= third + reach, initial=third, keepdims=True)
        outside = values[(values < low) | (values > high)]
        yield Bars(name=f"whiskers-{name}", x=x, low=low, high=high, color=color)
        yield Bars(name=f"quartiles-{name}", x=x, low=np.array([first]), high=np.array([third]), color=color, width=9.0)
        yield Points(
            name=f"median-{name}",
            x=x,
            y=np.array([middle]),
            color="#FFFFFF",
            rim="#000000",
            symbol="D",
            size=3.5,
            layer=3,
        )
        yield Points(name=f"others-{name}", x=np.full(len(outside), float(k)), y=outside, color=color, size=2.0)


def numbered(texts: Sequence[str]) -> Axis:
    """An axis with a text at 0, 1, 2, ..."""
    return Axis(low=-0.5, high=len(texts) - 0.5, ticks=tuple(map(float, range(len(texts)))), texts=tuple(texts))


def estimator(table: pl.DataFrame) -> Figure:
    """Figure 8: what RB-PEM gains over CMA-ES with other settings, with the share of wins."""
    names = [name for name in SETTINGS if name in set(table["algorithm"])]
    panels: list[Panel] = []
    for by in WHERE:
        gains = [pairs(table.filter(pl.col("budget") == 100), name, BASELINE, by) for name in names]
        drawn = [(name, gain["gain"].to_numpy()) for name, gain in zip(names, gains, strict=True)]
        texts = [f"{name}\n{share_of_wins(gain)[0]:.0%}" for name, gain in zip(names, gains, strict=True)]
        even = Line(x=np.array([-0.5, len(names) - 0.5]), y=np.zeros(2), color=FAINT, width=1.0)
        panels.append(
            Panel(
                x=numbered(texts),
                y=Axis(label="gain over CMA-ES in log10", grid=True),
                marks=(even, *boxes(drawn, BLUE)),
                title=WHERE[by],
            )
        )
    return Figure(
        title="Settings of RB-PEM",
        alt="Gain of RB-PEM over CMA-ES on noisy functions, by its settings.",
        caption="The fifteen noisy functions in 40 variables after 100 d evaluations. Thick lines: quartiles, with "
        "the median; thin lines: up to the last value within 1.5 times their distance. Below: the share of problems on "
        "which RB-PEM is better than CMA-ES.",
        width=WIDE + 2.0,
        height=5.6,
        panels=tuple(panels),
        columns=1,
    )


def diagnostics(runs: Iterable[pb.Run], table: pl.DataFrame, noisy: Sequence[int]) -> Figure:
    """Figure 9: diagnostics of runs in which RB-PEM is better than UH-CMA-ES and of others, at the end and before."""
    end = table.filter((pl.col("budget") == 100) & pl.col("function").is_in(noisy))
    times = np.geomspace(5, 100, 30)
    traces: dict[tuple[Any, ...], FloatArray] = {}
    for run in runs:
        if run.key.algorithm == BOOTSTRAP and run.parameters is not None:
            kept = run.parameters
            last = np.searchsorted(kept.evaluations, times * run.problem.dimension, side="right") - 1
            shape = np.asarray(kept.values["shape_distance"])[np.maximum(last, 0)]
            key = int(run.problem.function), run.problem.dimension, str(run.problem.instance), run.key.seed
            traces[key] = np.where(last >= 0, shape, np.nan)
    panels: list[Panel] = []
    for by in WHERE:
        joined = against(end, "UH-CMA-ES", by)
        sides = {"better": joined.filter(pl.col("gain") > 0), "not better": joined.filter(pl.col("gain") <= 0)}
        for name, label in DIAGNOSTICS.items():
            drawn = [(f"{n}\n({len(side)})", side[name].drop_nans().to_numpy()) for n, side in sides.items()]
            drawn = [(n, values) for n, values in drawn if len(values)]
            marks = tuple(boxes(drawn, BLUE))
            panels.append(
                Panel(x=numbered([n for n, _ in drawn]), y=Axis(label=label, grid=True), marks=marks, title=WHERE[by])
            )
        over_time: list[Mark] = []
        for (name, side), color in zip(sides.items(), (BLUE, ORANGE), strict=True):
            values = np.array([traces[key] for key in side.select(KEYS[:-1]).iter_rows() if key in traces])
            if len(values):
                known = np.isfinite(values).any(axis=0)  # a pool takes a while to fill
                x, (low, middle, high) = times[known], np.nanquantile(values[:, known], [0.25, 0.5, 0.75], axis=0)
                over_time.append(Band(name=f"quartiles-{name}", x=x, low=low, high=high, color=color, opacity=0.15))
                over_time.append(Line(name=f"median-{name}", x=x, y=middle, color=color))
        per_variable = Axis(label="evaluations per variable", low=5, high=100, scale="log")
        y = Axis(label="distance of shapes", grid=True)
        panels.append(Panel(x=per_variable, y=y, marks=tuple(over_time), title=WHERE[by]))
    return Figure(
        title="What residual bootstrapping assumes",
        alt="Three diagnostics of RB-PEM at the end of runs in which it is better than UH-CMA-ES and of other runs, "
        "and the first diagnostic over time.",
        caption="RB-PEM on the fifteen noisy functions in all dimensions after 100 d evaluations, where it is better "
        "than UH-CMA-ES (over time: blue) and where it is not (orange). Boxes as in the figure of the settings; over "
        "time, medians and quartiles.",
        width=WIDE + 5.0,
        height=5.2,
        panels=tuple(panels),
        columns=4,
    )


def perceptron(runs: Iterable[pb.Run]) -> Figure:
    """Figure 16: the loss on all rows after training on mini-batches, by method and size of the batch."""
    values: dict[str, dict[str, dict[int, float]]] = {by: {} for by in WHERE}
    for run in runs:
        end = [run.outcome.evaluations]
        for by, reached in (("recommended", run.recommended_at(end)), ("hindsight", run.trajectory.value_at(end))):
            of = values[by].setdefault(f"{run.problem.function} {run.key.algorithm}", {})
            of[run.key.seed] = float(reached[0])
    tasks, panels = ("mlp-4", "mlp-16", "mlp-256"), []
    for by in WHERE:
        for task in tasks:
            names = [name.removeprefix(f"{task} ") for name in values[by] if name.startswith(f"{task} ")]
            names.sort(key=lambda name: (name != BASELINE, name))
            base, drawn, texts = values[by][f"{task} {BASELINE}"], [], []
            for name in names:
                own = values[by][f"{task} {name}"]
                both = sorted(own.keys() & base.keys())
                won = sum((own[seed] < base[seed]) + (own[seed] == base[seed]) / 2 for seed in both)
                low, high = wilson(won, len(both))
                share = f"\n{won / len(both):.0%}\n{low:.0%} to {high:.0%}"
                texts.append(name if name == BASELINE else name + share)
                drawn.append((name, np.log10(np.array(list(own.values())))))
            panels.append(
                Panel(
                    x=numbered(texts),
                    y=Axis(label="log10 of the loss", grid=True),
                    marks=tuple(boxes(drawn, BLUE)),
                    title=f"batches of size {task.removeprefix('mlp-')}, {WHERE[by]}",
                )
            )
    return Figure(
        title="Training a perceptron",
        alt="The loss of a perceptron after training on mini-batches of three sizes, by method.",
        caption="265 weights, 40 evaluations each. Boxes as in the figure of the settings. Below: the share of "
        "seeds on which a method is better than CMA-ES, ties counting half, with 95 % Wilson intervals.",
        width=WIDE + 5.5,
        height=6.0,
        panels=tuple(panels),
        columns=3,
    )

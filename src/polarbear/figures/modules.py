"""Which module of an optimizer matters, and when, and which options configurations have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Band, Cells, Label, Line, Mark, PointLabel, Shades
from polarbear.figures.panels import Axis, Bar, Entry, Key, Panel
from polarbear.figures.scales import Scale, arrays_of, increasing, row_axis, share_axis, time_axis
from polarbear.figures.style import FAINT, INK, MICRO, RULE, SHADES, SMALL, WIDE, Spacing, blend, looks, shown
from polarbear.quantities import plural
from polarbear.records import FloatArray


def module_importance(
    shares: Mapping[str, ArrayLike], budgets: Sequence[str], *, width: float = WIDE, height: float | None = None
) -> Figure:
    """The importance of each module at some budgets (IOHprofiler thesis, figures 4.1 and 4.2, with another measure).

    Marks: a bar is the share of a module in the variance of log ratings over all configurations; the dark line on it is
    the interval of the share. There is one panel per budget.

    Args:
        shares: For each module, from top to bottom, (3, b) mean, lower and upper end of its share.
        budgets: (b,) titles of the panels, such as ``"100 evaluations"``.
        width: Width in inches.
        height: Height in inches; default proportional to the number of modules.

    Raises:
        ValueError: If there is no module, or an array has the wrong shape.
    """
    importance = arrays_of(shares, (3, len(budgets)), "shares")
    if not importance or not budgets:
        raise ValueError("there is no module or no budget to draw; give at least one of each")
    high = min(1.0, 1.05 * max(float(array.max()) for array in importance.values()))
    axis = Axis(label="share of the variance", low=0, high=high, most=3, grid=True)
    panels = (
        Panel(
            x=axis,
            y=row_axis(len(importance), hills=False),
            marks=tuple(_bars(number, {name: array[:, number] for name, array in importance.items()})),
            title=budget,
        )
        for number, budget in enumerate(budgets)
    )
    return Figure(
        title="Which module matters",
        alt=f"Bars of the importance of {listed(importance)} at {listed(budgets)}.",
        caption=captions.module_importance(),
        width=width,
        height=height or 0.22 * len(importance) + 0.9,
        panels=tuple(panels),
        columns=len(budgets),
    )


def _bars(panel: int, shares: Mapping[str, FloatArray]) -> Iterator[Mark]:
    """The bars of a panel; the first panel has the names of modules at its left."""
    means = np.array([share[0] for share in shares.values()])
    rows = np.arange(len(shares), dtype=np.float64)
    yield Cells(
        name=f"share-{panel}",
        x=np.zeros(len(shares)),
        x_end=means,
        y=rows,
        height=0.62,
        value=means,
        text=("",) * len(shares),
        shades=Shades(SHADES[1:3], 0.0, 1.0),
    )
    for row, (name, (_, low, high)) in enumerate(shares.items()):
        line, at = np.array([low, high]), np.full(2, float(row))
        yield Line(name=f"interval-{panel}-{row}", x=line, y=at, width=1.2, color=INK, layer=3)
        if not panel:
            yield Label(text=shown(name), y=row, left=True, ends=True, shift=(-5, 0), size=SMALL)


def effects_over_time(
    times: ArrayLike,
    effects: Mapping[str, Mapping[str, ArrayLike]],
    *,
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    columns: int = 2,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The effects of modules' options over the budget, with bands, in one panel per module.

    Marks: a line is the effect of an option on the log rating, relative to the mean over its module's options; the area
    around it is its interval. The horizontal line is zero effect.

    Args:
        times: (T,) increasing budgets.
        effects: For each module and option, (3, T) mean, lower and upper end.
        axis: Unit of the budgets.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the budgets.
        columns: Number of panels per row.
        width: Width in inches.
        height: Height in inches; default proportional to the number of rows.

    Raises:
        ValueError: If budgets do not increase, there is no module, or an array has the wrong shape.
    """
    at = increasing(times, "times")
    bands = {name: arrays_of(options, (3, at.size), "effect") for name, options in effects.items()}
    if not any(bands.values()):
        raise ValueError("there is no module to draw; give at least one with its options")
    columns = min(columns, len(bands))
    scale = Scale.of([array for options in bands.values() for array in options.values()], "linear")
    own = {_name(module, each): look for module in bands for each, look in looks(list(bands[module])).items()}
    panels = (
        Panel(
            x=time_axis(at, axis, spacing, narrow=True),
            y=scale.axis(f"effect of {shown(module, 18)}", grid=True),
            marks=tuple(_effects(at, module, options)),
            key=_key(module, options),
        )
        for module, options in bands.items()
    )
    return Figure(
        title="Effects of options over the budget",
        alt=f"One panel each for {listed(bands)}, with a line per option over the budget.",
        caption=captions.effects_over_time(),
        width=width,
        height=height or 2.3 * -(-len(bands) // columns) + 0.2,
        panels=tuple(panels),
        columns=columns,
        looks=own,
    )


def _name(module: str, option: str) -> str:
    return f"{module}: {option}"


def _effects(at: FloatArray, module: str, options: Mapping[str, FloatArray]) -> Iterator[Mark]:
    yield Line(x=at[[0, -1]], y=np.zeros(2), color=FAINT, width=0.8, layer=1)
    for index, (option, (mean, low, high)) in enumerate(options.items()):
        name = _name(module, option)
        yield Band(name=f"band-{module}-{index}", x=at, low=low, high=high, algorithm=name, opacity=0.16)
        yield Line(name=f"effect-{module}-{index}", x=at, y=mean, algorithm=name, layer=3)


def _key(module: str, options: Mapping[str, FloatArray]) -> Key:
    entries = tuple(Entry(text=shown(each, 16), algorithm=_name(module, each), width=1.6) for each in options)
    return Key(entries=entries, columns=3, size=MICRO)


def parallel_coordinates(
    values: ArrayLike,
    ticks: Mapping[str, Mapping[str, float]],
    score: ArrayLike,
    *,
    label: str = "score",
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Configurations as lines across their parameters, shaded by a score (Inselberg 1985).

    Marks: a vertical line is a parameter with its options, or the ends of its range. A line across is a configuration;
    the higher its score, the darker. Lines through the same option are moved a little apart.

    Args:
        values: (n, k) position of each configuration on each parameter's line, from 0 to 1; NaN where inactive.
        ticks: For each of the k parameters, labels and their positions, such as ``{"False": 0.0, "True": 1.0}``.
        score: (n,) scores.
        label: What the scores mean.
        width: Width in inches.
        height: Height in inches.

    Raises:
        ValueError: If there is no configuration or parameter, or shapes differ.
    """
    table, scores = floats(values), floats(score)
    if table.shape != (scores.size, len(ticks)) or not table.size:
        raise ValueError(
            f"values have shape {table.shape}; expected {(scores.size, len(ticks))}, scores by parameters, not empty"
        )
    low, high = float(scores.min()), float(scores.max())
    shades = Shades(SHADES, low, high if high > low else low + 1.0)
    marks: list[Mark] = []
    for column, (name, texts) in enumerate(ticks.items()):
        marks.append(Line(x=np.full(2, float(column)), y=np.array([0.0, 1.0]), color=RULE, width=1.0, layer=1))
        marks += [
            PointLabel(name=f"option-{name}", x=column, y=level, text=shown(text, 14)) for text, level in texts.items()
        ]
    order, across = np.argsort(scores, kind="stable"), np.arange(len(ticks), dtype=np.float64)
    for rank, row in enumerate(map(int, order)):
        apart = 0.05 * (rank / max(1, len(order) - 1) - 0.5)
        position = (scores[row] - shades.low) / (shades.high - shades.low)
        y = np.clip(table[row] + apart, -0.03, 1.03)
        color = blend(SHADES, float(position))
        marks.append(Line(name=f"configuration-{row}", x=across, y=y, color=color, width=0.9, layer=2))
    return Figure(
        title="Configurations",
        alt=f"Parallel coordinates of {plural(len(order), 'configuration')} over {listed(ticks)}.",
        caption=captions.parallel_coordinates(label),
        width=width,
        height=height or 3.4,
        panels=(
            Panel(
                x=Axis(
                    low=-0.2,
                    high=len(ticks) - 0.3,
                    ticks=tuple(map(float, range(len(ticks)))),
                    texts=tuple(shown(name, 18) for name in ticks),
                    line=False,
                    upright=SMALL if len(ticks) > 5 else None,
                ),
                y=Axis(low=-0.06, high=1.06, hidden=True),
                marks=tuple(marks),
                bar=Bar(label=label, shades=shades),
            ),
        ),
    )


def initial_gains(gains: Mapping[str, ArrayLike], *, width: float = WIDE, height: float | None = None) -> Figure:
    """The quality of the configurations that searches start with (IOHprofiler thesis, figure 4.16).

    Marks: a line is the empirical distribution function of the gains of a search's first configurations; lines further
    to the right belong to spaces in which good configurations are easier to find. The vertical line is the default.

    Args:
        gains: For each search, (n,) relative reduction of the loss of each configuration against the default's.
        width: Width in inches.
        height: Height in inches.

    Raises:
        ValueError: If there is no search, or one has no configuration.
    """
    curves = {name: np.sort(floats(each)) for name, each in gains.items()}
    if not curves or not all(curve.ndim == 1 and curve.size for curve in curves.values()):
        raise ValueError(
            "there is no search, or a search without configurations; give (n,) gains for each search, n ≥ 1"
        )
    own = looks(list(curves))
    scale = Scale.of([*curves.values(), np.zeros(1)], "linear")
    lines = (
        Line(
            name=f"share-{index}",
            x=np.concatenate([[scale.low], scale.place(curve), [scale.high]]),
            y=np.concatenate([[0.0], np.arange(1, curve.size + 1) / curve.size, [1.0]]),
            algorithm=name,
            steps=True,
            layer=3,
        )
        for index, (name, curve) in enumerate(curves.items())
    )
    default = Line(x=np.zeros(2), y=np.array([0.0, 1.0]), color=FAINT, width=0.8, layer=1)
    panel = Panel(
        x=scale.axis("gain over the default"),
        y=share_axis("share of configurations"),
        marks=(default, *lines),
        key=Key(
            entries=tuple(Entry(text=shown(name), algorithm=name, width=1.6) for name in curves), columns=3, size=MICRO
        ),
    )
    return Figure(
        title="Initial configurations of searches",
        alt=f"Line chart of the share of configurations of {listed(curves)} against their gain over the default.",
        caption=captions.initial_gains(),
        width=width,
        height=height or 2.6,
        panels=(panel,),
        looks=own,
    )

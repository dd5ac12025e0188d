"""Instances of functions side by side: embedded by their features, their optima, their mean landscapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Line, Mark, PointLabel, Points, Surface
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.scales import Scale
from polarbear.figures.style import MUTED, PALETTE, SHADES, WIDE, blend, brief, looks_for, shown
from polarbear.quantities import plural

_SYMBOLS = ("o", "^", "s", "v", "D")
_COLUMNS = 6
_LEVELS = 12
"""Number of shades of a mean landscape."""
_OPTIMA = 0.01
"""Share of the points that get the palest shade, however good the points at the optima are."""


def embedding(
    points: ArrayLike,
    functions: Sequence[str],
    *,
    method: str = "t-SNE",
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Instances in a plane where neighbours have similar features (Vermetten 2025, figure 3.12).

    Marks: a symbol is an instance, in the colour and shape of its function; the function's name stands beside its most
    central instance. The axes have no unit: only distances between points matter.

    Args:
        points: (k, 2) coordinates of the instances.
        functions: (k,) function of each instance.
        method: Embedding method, for the caption.
        width: Width in inches.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If the points do not have shape (k, 2), or their number is not that of the functions.
    """
    coordinates = floats(points)
    if coordinates.ndim != 2 or coordinates.shape[1] != 2 or len(functions) != len(coordinates):
        shape = coordinates.shape
        raise ValueError(f"points have shape {shape} for {len(functions)} functions; give (k, 2) and k function names")
    names, of = list(dict.fromkeys(functions)), np.array(functions)
    looks, marks = looks_for(names, None, "function"), list[Mark]()
    for i, name in enumerate(names):
        own, symbol = coordinates[of == name], _SYMBOLS[i // len(PALETTE) % len(_SYMBOLS)]
        marks.append(
            Points(name=f"function-{i}", x=own[:, 0], y=own[:, 1], algorithm=name, symbol=symbol, size=3.2, edge=0.3)
        )
        x, y = own[np.abs(own - np.median(own, axis=0)).sum(axis=1).argmin()].tolist()
        marks.append(PointLabel(x=x, y=y, text=shown(name), algorithm=name, ink=True, layer=4))
    x, y = (Scale.of([coordinates[:, j]], "linear") for j in (0, 1))
    return Figure(
        title="Instances by their features",
        alt=f"{plural(len(coordinates), 'instance')} of {plural(len(names), 'function')} in the plane, by {method}.",
        caption=captions.embedding(method),
        width=width,
        height=height or 0.7 * width,
        panels=(
            Panel(
                x=Axis(label=f"{method}, first coordinate", low=x.low, high=x.high, ticks=()),
                y=Axis(label="second coordinate", low=y.low, high=y.high, ticks=()),
                marks=tuple(marks),
            ),
        ),
        looks=looks,
    )


def optima(
    locations: Mapping[str, ArrayLike],
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The optima of instances, function by function (Vermetten 2025, figure 3.14).

    Marks: a dot is the optimum of an instance in its first two variables; the dashed line is the boundary of the box.

    Args:
        locations: For each function, (k, d) optima of its instances, d ≥ 2.
        lower: (d,) lower bounds of the box.
        upper: (d,) upper bounds.
        width: Width in inches.
        height: Height in inches; default proportional to the number of functions.

    Raises:
        ValueError: If there is no function, or a location does not have d ≥ 2 variables.
    """
    (left, low, *_), (right, high, *_) = low_high = _bounds(lower, upper)
    marks: dict[str, Mark] = {}
    for i, (name, each) in enumerate(locations.items()):
        points = floats(each)
        if points.ndim != 2 or points.shape[1] != len(low_high[0]):
            raise ValueError(f"optima of {name} have shape {points.shape}; give (k, {len(low_high[0])})")
        marks[name] = Points(name=f"optima-{i}", x=points[:, 0], y=points[:, 1], color=PALETTE[0], size=1.8, edge=0)
    border = Line(
        x=np.array([left, right, right, left, left]),
        y=np.array([low, low, high, high, low]),
        color=MUTED,
        width=0.6,
        dash=(4, 3),
    )
    margin = 0.06
    axes = _box_axes(left, right, margin), _box_axes(low, high, margin)
    panels = [Panel(x=axes[0], y=axes[1], marks=(border, mark), title=shown(name)) for name, mark in marks.items()]
    title, caption = "Locations of optima", captions.optima(len(low_high[0]))
    return _small_multiples(panels, title, f"Optima of the instances of {listed(marks)}.", caption, width, height)


def mean_landscapes(
    precisions: Mapping[str, ArrayLike],
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Mean precision over instances in two variables, function by function (Vermetten 2025, figure 3.15).

    Marks: the darker, the worse the points are on average over the instances. Shades are equidistant in the logarithm
    of the geometric mean precision, from the smallest to the largest of each function; these two numbers stand above
    its panel. The best hundredth of the points has the palest shade.

    Args:
        precisions: For each function, (g, g) geometric means of f - f* on a grid, rows from the lowest x₂; positive.
        lower: (2,) lower bounds of the box.
        upper: (2,) upper bounds.
        width: Width in inches.
        height: Height in inches; default proportional to the number of functions.

    Raises:
        ValueError: If there is no function, or a mean is not positive and finite.
    """
    (left, low), (right, high) = _bounds(lower, upper)
    panels: list[Panel] = []
    for i, (name, each) in enumerate(precisions.items()):
        means = floats(each)
        if means.ndim != 2 or not (np.isfinite(means) & (means > 0)).all():
            raise ValueError(f"means of {name} have shape {means.shape}; give (g, g) positive, finite numbers")
        logs = np.log10(means)
        edges = np.linspace(float(np.quantile(logs, _OPTIMA)), float(logs.max()) + 1e-9, _LEVELS + 1)
        edges[0] = logs.min() - 1e-9
        surface = Surface(
            name=f"mean-{i}",
            x=np.linspace(left, right, means.shape[1]),
            y=np.linspace(low, high, means.shape[0]),
            z=logs.T,
            edges=edges,
            colors=tuple(blend(SHADES, float(at)) for at in np.linspace(0, 1, _LEVELS)),
            layer=1,
        )
        title = f"{shown(name, 12)}: {brief(float(means.min()))}–{brief(float(means.max()))}"
        panels.append(Panel(x=_box_axes(left, right), y=_box_axes(low, high), marks=(surface,), title=title))
    alt = f"Mean precision over the instances of {listed(precisions)} in two variables."
    return _small_multiples(panels, "Mean landscapes", alt, captions.mean_landscapes(), width, height)


def _bounds(lower: ArrayLike, upper: ArrayLike) -> tuple[list[float], list[float]]:
    low, high = floats(lower), floats(upper)
    if low.ndim != 1 or low.size < 2 or low.shape != high.shape:
        raise ValueError(f"bounds have shapes {low.shape} and {high.shape}; give (d,) each, d ≥ 2")
    return low.tolist(), high.tolist()


def _box_axes(low: float, high: float, margin: float = 0.0) -> Axis:
    beyond = margin * (high - low)
    return Axis(low=low - beyond, high=high + beyond, ticks=(low, high))


def _small_multiples(
    panels: Sequence[Panel], title: str, alt: str, caption: str, width: float, height: float | None
) -> Figure:
    if not panels:
        raise ValueError("there is no function to draw; give at least one")
    columns = min(_COLUMNS, len(panels))
    return Figure(
        title=title,
        alt=alt,
        caption=caption,
        width=width,
        height=height or width / _COLUMNS * 1.05 * -(-len(panels) // columns) + 0.15,
        panels=tuple(panels),
        columns=columns,
    )

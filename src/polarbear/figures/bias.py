"""Final points on f0 above the tests that reject their uniformity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.heat_map import cells_of
from polarbear.figures.marks import Line, Points, Shades
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.style import PALETTE, RULE, WIDE, shown
from polarbear.quantities import plural
from polarbear.records import FloatArray

_SPREAD = 0.7
"""Width of the jitter, as a share of the space for a variable."""
_GOLDEN = (5**0.5 - 1) / 2
_ROW = 0.125
"""Height of each test's row, in inches."""
_REJECTED = ("#F1F3F4", "#9FD8C4", "#007355")
"""Colours: not rejected, rejected by a test that does not count, rejected by a test that counts."""


def structural_bias(
    points: ArrayLike,
    rejected: ArrayLike,
    tests: Sequence[str],
    *,
    counts: ArrayLike | None = None,
    name: str = "",
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Final points by variable, with jitter, above a heat map of the tests that reject (Vermetten 2025, figure 3.16).

    Marks: a dot is the final point of a run in one variable, shifted sideways so that none hides another; it is orange
    in variables where a test that counts rejects. In the heat map below, a dark cell is a rejection by a test that
    counts, a pale cell one by a test that rejects in too few variables to count.

    Args:
        points: (n, d) final points in [0, 1]^d.
        rejected: (t, d) whether each test rejects uniformity of each variable.
        tests: (t,) names of the tests.
        counts: (t,) whether each test counts; default those that reject in any variable.
        name: Name of the algorithm that the points belong to.
        width: Width in inches.
        height: Height in inches; default proportional to the number of tests.

    Raises:
        ValueError: If points or rejections have the wrong shape, or a point lies outside the unit box.
    """
    x, rejections, counted = _checked(points, rejected, tests, counts)
    n, d = x.shape
    biased = rejections[counted].any(axis=0)
    jitter: FloatArray = _SPREAD * (_GOLDEN * np.arange(1.0, n + 1) % 1.0 - 0.5)
    dots = [
        Points(
            name=what,
            x=(np.flatnonzero(some) + jitter[:, np.newaxis]).ravel(),
            y=x[:, some].ravel(),
            color=color,
            size=1.8 if n * d < 5_000 else 1.0,
            edge=0,
        )
        for what, some, color in (("uniform", ~biased, PALETTE[0]), ("biased", biased, PALETTE[1]))
        if some.any()
    ]
    bounds = [
        Line(name=f"bound-{at:g}", x=np.array([-0.5, d - 0.5]), y=np.full(2, at), color=RULE, width=0.6, layer=1)
        for at in (0.0, 1.0)
    ]
    darkness = np.where(rejections, 0.5 + 0.5 * counted[:, np.newaxis], 0.0)
    rows = _ROW * len(tests) + 0.5
    return Figure(
        title=f"Where runs of {name} end on f0" if name else "Where runs end on f0",
        alt=f"{plural(n, 'final point')} in {plural(d, 'variable')}, and which of {len(tests)} tests reject their "
        "uniformity.",
        caption=captions.structural_bias(n, bool(counted.any())),
        width=width,
        height=height or 2.4 + rows,
        heights=(2.2, rows),
        panels=(
            Panel(
                x=_variables(d, label=""),
                y=Axis(label="position", low=-0.04, high=1.04, ticks=(0.0, 0.5, 1.0)),
                marks=(*bounds, *dots),
            ),
            Panel(
                x=_variables(d, label="variable"),
                y=Axis(
                    low=len(tests) - 0.5,
                    high=-0.5,
                    ticks=tuple(map(float, range(len(tests)))),
                    texts=tuple(map(shown, tests)),
                    line=False,
                ),
                marks=(cells_of(darkness, Shades(_REJECTED, 0.0, 1.0)),),
            ),
        ),
    )


def _checked(
    points: ArrayLike, rejected: ArrayLike, tests: Sequence[str], counts: ArrayLike | None
) -> tuple[FloatArray, NDArray[np.bool_], NDArray[np.bool_]]:
    x, rejections = floats(points), np.asarray(rejected, dtype=np.bool_)
    if x.ndim != 2 or not x.size or rejections.shape != (len(tests), x.shape[1]) or not rejections.size:
        raise ValueError(
            f"points have shape {x.shape} and rejections {rejections.shape} for {len(tests)} tests; "
            "give (n, d) and (t, d)"
        )
    if not ((x >= 0) & (x <= 1)).all():
        raise ValueError(
            f"points range from {x.min():g} to {x.max():g}; scale them to [0, 1] by the bounds of their box"
        )
    counted: NDArray[np.bool_] = np.any(rejections, axis=1) if counts is None else np.asarray(counts, dtype=np.bool_)
    if counted.shape != (len(tests),):
        raise ValueError(f"counts have shape {counted.shape}; give ({len(tests)},), one for each test")
    return x, rejections, counted


def _variables(d: int, *, label: str) -> Axis:
    step = max(1, -(-d // 30))
    ticks = range(0, d, step)
    texts = tuple(str(at + 1) for at in ticks) if label else ("",) * len(ticks)
    return Axis(label=label, low=-0.5, high=d - 0.5, ticks=tuple(map(float, ticks)), texts=texts, line=False)

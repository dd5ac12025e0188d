"""Line charts: one line per algorithm, named at its right end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from polarbear.figures.figure import Figure
from polarbear.figures.marks import EndLabel, Label, Mark, Markers
from polarbear.figures.panels import Axis, Key, Panel
from polarbear.figures.style import MUTED, WIDE, Look, shown
from polarbear.records import FloatArray


def line_chart(
    x: Axis,
    y: Axis,
    marks: Iterable[Mark],
    looks: Mapping[str, Look],
    *,
    lines: int,
    width: float,
    height: float | None,
    title: str,
    alt: str,
    caption: str,
    key: Key | None = None,
) -> Figure:
    """A figure with a single panel, by default high enough for `lines` names at its right."""
    return Figure(
        title=title,
        alt=alt,
        caption=caption,
        width=width,
        height=height or max(0.52 * min(width, WIDE), 2.2, 0.14 * lines + 0.8),
        panels=(Panel(x=x, y=y, marks=tuple(marks), key=key),),
        looks=looks,
    )


def name_lines(x: FloatArray, curves: Mapping[str, FloatArray], text: Callable[[str], str] = str) -> Iterator[Mark]:
    """A name at the last finite point of each line, and a note above the panel on lines that have none."""
    ends = {name: np.flatnonzero(np.isfinite(y) & np.isfinite(x)) for name, y in curves.items()}
    yield from note_missing([name for name, known in ends.items() if not known.size])
    for name, known in ends.items():
        if known.size:
            last = known[-1]
            yield EndLabel(x=float(x[last]), y=float(curves[name][last]), text=shown(text(name)), algorithm=name)


def note_missing(names: list[str]) -> Iterator[Label]:
    """A note above the panel that lists algorithms without data."""
    if names:
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        text = f"no data: {', '.join(shown(name, 18) for name in names[:3])}{more}"
        yield Label(name="no-data", text=text, shift=(0, 3), ends=True, color=MUTED)


def markers_of(look: Look, index: int, *, single: bool = False) -> Markers | None:
    """Markers at equal distances on paper if the look has one; a line with a single point always has a marker."""
    if single:
        return Markers(look.marker or "o", size=4, edge=1)
    return Markers(look.marker, apart=(0.03 + 0.015 * (index % 5), 0.12)) if look.marker else None

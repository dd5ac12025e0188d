"""Several figures of one kind as panels of a single figure, such as one per function."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import EndLabel
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.style import MICRO, SMALL, WIDE, Look, shown


def grid(
    figures: Mapping[str, Figure], *, columns: int = 4, width: float = WIDE, height: float | None = None
) -> Figure:
    """Figures of one kind side by side, such as one per function (IOHprofiler thesis, tables 3.1 and 3.2).

    Marks: those of the single figures; names at the ends of lines are replaced by a common key above the panels.

    Args:
        figures: Figures by title, such as the function's name; made with the same `order`, so that colours agree.
        columns: Number of panels per row.
        width: Width in inches.
        height: Height in inches; default proportional to the number of rows.

    Raises:
        ValueError: If there is no figure, or an algorithm looks different in two figures.
    """
    if not figures:
        raise ValueError("there are no figures to draw; give at least one")
    looks: dict[str, Look] = {}
    for title, figure in figures.items():
        for name, look in figure.looks.items():
            if looks.setdefault(name, look) != look:
                raise ValueError(
                    f"{title!r} draws {name!r} in a different colour from earlier figures; make all with the same order"
                )
    columns = min(columns, len(figures))
    rows = -(-len(figures) // columns)
    first = next(iter(figures.values()))
    drawn = {mark.algorithm for figure in figures.values() for panel in figure.panels for mark in panel.marks} - {""}
    entries = tuple(
        Entry(text=shown(name, 18), algorithm=name, width=1.6, symbol=look.marker, size=3.5)
        for name, look in looks.items()
        if name in drawn
    )
    single = [figure.panels[0] for figure in figures.values()]
    left = _labelled(range(0, len(single), columns), {panel.y.label for panel in single})
    bottom = _labelled(range(len(single) - columns, len(single)), {panel.x.label for panel in single})
    panels = (
        _panel(panel, title, left=number in left, bottom=number in bottom)
        for number, (title, panel) in enumerate(zip(figures, single, strict=True))
    )
    across = 4 if width > 5 else 2
    return Figure(
        title=first.title,
        alt=f"{len(figures)} panels: {first.alt}",
        caption=captions.grid(len(figures), max((figure.caption for figure in figures.values()), key=len)),
        width=width,
        height=height or rows * max(0.72 * width / columns, 1.2) + 0.18 * -(-len(entries) // across) + 0.2,
        panels=tuple(panels),
        columns=columns,
        looks=looks,
        key=Key(entries=entries, columns=across, size=SMALL if width > 5 else MICRO) if entries else None,
    )


def _labelled(edge: range, labels: Collection[str]) -> range:
    """Which panels at an edge of the grid label their axis: the middle one if all have the same label, else all."""
    middle = (len(edge) - 1) // 2
    return edge[middle : middle + 1] if len(labels) == 1 else edge


def _panel(panel: Panel, title: str, *, left: bool, bottom: bool) -> Panel:
    """A panel with its title and few ticks, and with axis labels only where they are wanted."""
    return replace(
        panel,
        title=shown(title, 22),
        key=None,
        x=_with_few_ticks(panel.x, labelled=bottom),
        y=_with_few_ticks(panel.y, labelled=left),
        marks=tuple(mark for mark in panel.marks if not isinstance(mark, EndLabel)),
    )


def _with_few_ticks(axis: Axis, *, labelled: bool) -> Axis:
    label = axis.label if labelled else ""
    if axis.ticks is None:
        return replace(axis, label=label, most=3)
    step = -(-len(axis.ticks) // 4)
    texts = axis.texts[::step] if axis.texts else None
    return replace(axis, label=label, ticks=axis.ticks[::step], texts=texts)

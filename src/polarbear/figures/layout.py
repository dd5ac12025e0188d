"""The layout of figures, whatever they show: background, line widths, place of the legend, margins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar, cast, get_args

from polarbear.figures.figure import Figure
from polarbear.figures.marks import Bars, Edge, EndLabel, Line, Mark, Steps
from polarbear.figures.panels import MARGIN, Entry, Key, Panel, Place
from polarbear.figures.style import MICRO, MUTED, SMALL, SURFACE, color_of, contrast
from polarbear.quantities import plural

LEGENDS = ("as drawn", *get_args(Place), "none")
"""Allowed places of the legend."""
LINE = 1.6
"""Default width of algorithms' lines, in points."""
WIDTHS, MARGINS = (0.2, 10.0), (0.0, 1.0)
"""Allowed ranges of line widths in points, and of margins in inches."""
_READABLE = 4.5
_LETTER, _SAMPLE, _POINTS = 0.55, 28.0, 72.0
"""Letter width as a share of the font size, width of a legend sample in points, points per inch."""
_Marked = TypeVar("_Marked", Mark, Entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The layout of figures, whatever they show; `of` applies it to a figure.

    Attributes:
        paper: Background of figures and of their panels; light, so that grey text is readable on it. Panels in which
            colours stand for numbers stay white.
        line_width: Width of algorithms' lines, in points; all other lines are scaled by the same factor.
        legend: One of `LEGENDS`. "as drawn" keeps names at the ends of lines and keys above the panels; a place
            collects these names and all keys in one legend; "none" leaves them out.
        margins: Blank inches (left and right, above and below) around each panel with its labels.

    Raises:
        ValueError: If a value is out of range; the message says what is allowed.
    """

    paper: tuple[str, str] = (SURFACE, SURFACE)
    line_width: float = LINE
    legend: str = "as drawn"
    margins: tuple[float, float] = (MARGIN, MARGIN)

    def __post_init__(self) -> None:
        if len(self.paper) != 2:
            raise ValueError(
                f"paper is {self.paper!r}; it must be two colours, that of figures and that of their panels"
            )
        for color in map(color_of, self.paper):
            if (against := contrast(MUTED, color)) < _READABLE:
                raise ValueError(
                    f"paper is {color}, on which grey text has a contrast of {against:.2g}; choose a lighter colour, "
                    f"with a contrast of at least {_READABLE:g}"
                )
        if not WIDTHS[0] <= self.line_width <= WIDTHS[1]:
            raise ValueError(f"line_width is {self.line_width!r}; it must be a number of points from {_range(WIDTHS)}")
        if self.legend not in LEGENDS:
            raise ValueError(f"legend is {self.legend!r}; it must be one of {', '.join(LEGENDS)}")
        if len(self.margins) != 2 or not all(MARGINS[0] <= each <= MARGINS[1] for each in self.margins):
            raise ValueError(f"margins are {self.margins!r}; they must be two numbers of inches from {_range(MARGINS)}")

    def of(self, figure: Figure) -> Figure:
        """The figure with this layout applied.

        Raises:
            ValueError: If the margins leave less than half of the figure to its panels.
        """
        rows = -(-len(figure.panels) // figure.columns)
        for margin, count, length in zip(
            self.margins, (figure.columns, rows), (figure.width, figure.height), strict=True
        ):
            if margin > MARGIN and 4 * margin * count > length:
                raise ValueError(
                    f"margins of {margin:g} inches around {plural(count, 'panel')} leave less than half of "
                    f"{length:.3g} inches to the panels; choose smaller margins"
                )
        factor = self.line_width / LINE
        key = figure.key and replace(figure.key, entries=tuple(_widened(each, factor) for each in figure.key.entries))
        widened = replace(
            figure,
            paper=self.paper,
            margins=self.margins,
            key=key,
            panels=tuple(_panel(panel, factor) for panel in figure.panels),
        )
        return widened if self.legend == "as drawn" else _with_legend(widened, self.legend, self.line_width)


def _range(ends: tuple[float, float]) -> str:
    return f"{ends[0]:g} to {ends[1]:g}"


def _panel(panel: Panel, factor: float) -> Panel:
    """A panel with its line widths scaled by `factor`."""
    return replace(
        panel,
        marks=tuple(_widened(mark, factor) for mark in panel.marks),
        key=panel.key and replace(panel.key, entries=tuple(_widened(each, factor) for each in panel.key.entries)),
        behind=panel.behind and _panel(panel.behind, factor),
    )


def _widened(mark: _Marked, factor: float) -> _Marked:
    """A mark or entry with its line width, if it has one, scaled by `factor`."""
    if factor == 1 or not isinstance(mark, Line | Bars | Steps | Edge | Entry):
        return mark
    return cast(_Marked, replace(mark, width=mark.width * factor))


def _with_legend(figure: Figure, place: str, usual: float) -> Figure:
    """The figure with the names of its lines and all keys in one legend, or without any."""
    entries = tuple(dict.fromkeys(_entries(figure, usual)))
    bare = tuple(
        replace(panel, key=None, marks=tuple(mark for mark in panel.marks if not isinstance(mark, EndLabel)))
        for panel in figure.panels
    )
    if any(isinstance(mark, EndLabel) for panel in figure.panels for mark in panel.marks):
        said = " Names are left out." if place == "none" else " Names stand in the legend, not at the lines."
        figure = replace(figure, caption=figure.caption + said)
    if place == "none" or not entries:
        return replace(figure, panels=bare, key=None)
    size = SMALL if figure.width > 5 else MICRO
    beside = place in ("above", "below")
    key = fitted(
        Key(entries=entries, columns=len(entries) if beside else 1, size=size, place=cast(Place, place)), figure.width
    )
    rows = -(-len(entries) // key.columns)
    before = 0 if figure.key is None else -(-len(figure.key.entries) // figure.key.columns)
    line = 1.35 * size / _POINTS
    high = figure.height + line * max(0, rows - before) if beside else max(figure.height, line * (rows + 1))
    return replace(figure, panels=bare, key=key, height=high)


def _entries(figure: Figure, usual: float) -> Iterator[Entry]:
    """Legend entries: names at the ends of lines, in the order of the algorithms, then the entries of the keys."""
    order = {name: at for at, name in enumerate(figure.looks)}
    ends = [mark for panel in figure.panels for mark in panel.marks if isinstance(mark, EndLabel)]
    lines = [mark for panel in figure.panels for mark in panel.marks if isinstance(mark, Line)]
    widths = {(line.algorithm, line.color): line.width for line in sorted(lines, key=lambda line: line.layer)}
    for end in sorted(ends, key=lambda mark: order.get(mark.algorithm, len(order))):
        look, width = figure.looks.get(end.algorithm), widths.get((end.algorithm, end.color), usual)
        symbol = look.marker if look else ""
        yield Entry(
            text=end.text, algorithm=end.algorithm, color=end.color, symbol=symbol, size=3.5, width=width, bold=end.bold
        )
    for key in (figure.key, *(panel.key for panel in figure.panels)):
        yield from key.entries if key else ()


def fitted(key: Key, width: float) -> Key:
    """A key with as many entries side by side as fit into `width` inches."""
    widest = max((len(entry.text) for entry in key.entries), default=0) * _LETTER * key.size + _SAMPLE
    return replace(key, columns=max(1, min(key.columns, int(width * _POINTS / widest))))

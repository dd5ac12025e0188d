"""A figure as a value: its contents, in words and numbers, and ways to draw it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.assess.report.data import Data
from polarbear.extras import optional
from polarbear.figures.panels import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure


@dataclass(frozen=True, kw_only=True, eq=False)
class Figure(Drawing):
    """The contents of a figure, and ways to draw it.

    Attributes and methods that this class lacks but Matplotlib's figures have, such as ``axes`` and ``savefig``, are
    looked up on `matplotlib()`.

    Attributes:
        title: What the figure shows.
        alt: Alternative text, for readers who cannot see the figure.
        caption: What every mark means.
    """

    title: str
    alt: str
    caption: str

    @property
    def data(self) -> Data:
        """The drawn data as a table, one row per point of each mark; infinite and missing numbers as in `Data`."""
        rows = list(self._rows())
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        return Data.of("figure", columns, ([row.get(name) for name in columns] for row in rows))

    def _rows(self) -> Iterator[dict[str, Any]]:
        for number, panel in enumerate(self.panels, 1):
            for mark in (*panel.marks, *(panel.behind.marks if panel.behind else ())):
                cells = mark.data()
                if mark.name and cells:
                    each = np.broadcast_arrays(*(np.asarray(cell, dtype=object) for cell in cells.values()))
                    for row in zip(*(np.ravel(cell) for cell in each), strict=True):
                        key = {"panel": number, "mark": mark.name, "algorithm": mark.algorithm or None}
                        yield key | dict(zip(cells, row, strict=True))

    def matplotlib(self) -> MatplotlibFigure:
        """The Matplotlib figure: a single object, drawn on first use, which may be changed."""
        if "_drawn" not in self.__dict__:
            self.__dict__["_drawn"] = self._drawing()
        return self.__dict__["_drawn"]

    def _drawing(self) -> MatplotlibFigure:
        """The cached drawing, which may have been changed, or else a new one that is not cached."""
        from polarbear.figures.render.matplotlib import draw

        return self.__dict__.get("_drawn") or draw(self)

    def plotly(self, **options: Any) -> Any:
        """The figure as a plotly figure, with options of `polarbear.figures.render.plotly.draw`, such as ``x="log"``.

        Raises:
            ExtraMissing: If plotly is not installed.
            ValueError: If an axis cannot have the scale asked for.
        """
        from polarbear.figures.render.plotly import draw

        return optional("plotly.graph_objects", "serve", "an interactive figure").Figure(draw(self, **options))

    def draw_on(self, axes: Axes | Sequence[Axes]) -> None:
        """Draw on existing Matplotlib axes, one for each panel.

        Raises:
            TypeError: If `axes` are not Matplotlib axes.
            ValueError: If the number of axes is not the number of panels.
        """
        from polarbear.figures.render.matplotlib import draw_on

        draw_on(self, axes)

    def svg(self) -> str:
        """The figure as SVG, byte for byte reproducible; text is drawn as outlines, so it looks the same everywhere."""
        return svg(self._drawing())

    def save(self, path: str | Path, *, dpi: float = 150) -> None:
        """Write the figure to a file, in the format of its suffix: ``.svg``, ``.png``, ``.pdf`` and so on.

        Raises:
            ValueError: If Matplotlib does not know the format.
            OSError: If the file cannot be written.
        """
        if Path(path).suffix == ".svg":
            Path(path).write_text(self.svg(), encoding="utf-8")
        else:
            self._drawing().savefig(path, dpi=dpi)  # pyright: ignore[reportUnknownMemberType]

    def _repr_svg_(self) -> str:
        """The representation of the figure in a notebook."""
        return self.svg()

    def __getattr__(self, name: str) -> Any:
        """Look up an attribute of the Matplotlib figure."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.matplotlib(), name)


def svg(figure: Figure | MatplotlibFigure) -> str:
    """A figure, ours or Matplotlib's, as SVG; see `Figure.svg`."""
    from polarbear.figures.render.matplotlib import svg

    return figure.svg() if isinstance(figure, Figure) else svg(figure)

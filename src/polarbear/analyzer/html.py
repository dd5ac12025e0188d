"""Self-contained HTML pages made from templates, with figures, tables and their data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polarbear.assess.report.data import Data, data_uri
from polarbear.store.atomic import make_directory, write_atomically
from polarbear.store.paths import place

if TYPE_CHECKING:
    from polarbear.figures import Figure

PAGE = "index.html"
_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure on a page.

    Attributes:
        title: What the figure shows.
        alternative: Alternative text, for readers who cannot see the figure.
        caption: What every mark means.
        svg: The figure as SVG.
        data: The numbers drawn.
        summary: Label under which the figure is folded away; empty to show it.
    """

    title: str
    alternative: str
    caption: str
    svg: str
    data: tuple[Data, ...]
    summary: str = ""

    @property
    def source(self) -> str:
        """The figure as a data URI."""
        return data_uri("image/svg+xml", self.svg.encode())


@dataclass(frozen=True, slots=True)
class Table:
    """A table on a page; the first cell of each row names it.

    Attributes:
        caption: What the table shows.
        columns: Headers of the columns.
        rows: Cells of the rows, as text.
        data: Data to download with the table, the same or more.
        text_columns: Indices of columns after the first that hold words, not numbers.
        stressed: (row, column) of emphasized cells.
        kind: "" for a plain table, "matrix" for many narrow columns, "stacked" to break cells at their spaces.
        shown: Number of rows shown; the others are folded away.
        summary: Label under which the whole table is folded away; empty to show it.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: tuple[Data, ...] = ()
    text_columns: frozenset[int] = frozenset()
    stressed: frozenset[tuple[int, int]] = frozenset()
    kind: Literal["", "matrix", "stacked"] = ""
    shown: int = 15
    summary: str = ""


def picture(figure: Figure, data: tuple[Data, ...], where: str = "", *, summary: str = "") -> Picture:
    """A figure as an element of a page; `where`, such as ``"f1 in 5-D"``, is added to its title."""
    title = f"{figure.title}, {where}" if where else figure.title
    return Picture(title, figure.alt, figure.caption, figure.svg(), data, summary)


def drawn_picture(figure: Figure, name: str, where: str = "") -> Picture:
    """Like `picture`, with the figure's own numbers as data of that name."""
    return picture(figure, (replace(figure.data, name=f"{name}-drawn"),), where)


def fill_in(template: str, *, folder: Path = _TEMPLATES, **values: Any) -> str:
    """A page made from a template, by default one of this room; the same values give the same text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from polarbear.version import __version__

    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(version=__version__, **values)


def write_page(folder: str | Path, template: str, **values: Any) -> Path:
    """Write a page into a folder, which is created if it does not exist, and return the path of the page.

    Raises:
        OSError: If the page cannot be written, or the folder is a link.
    """
    make_directory(folder := Path(folder))
    return write_text(folder / PAGE, fill_in(template, **values))


def write_text(path: str | Path, content: str) -> Path:
    """Write a page or a table atomically; replaces the file if it exists.

    Raises:
        OSError: If the file cannot be written.
    """
    path = place(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content.encode())
    return path

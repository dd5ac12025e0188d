"""Consoles and tables of `rich` that print texts as they are, without markup."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import IO, TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console as RichConsole  # noqa: TID251 - the one place
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from polarbear.descriptions import printable

if TYPE_CHECKING:
    from polarbear.analyzer.html import Table as StatisticsTable


_GAP = 2
"""Blanks between columns."""


class Console(RichConsole):
    """A console whose control codes and styles are all its own.

    Args:
        stderr: Write to standard error instead of standard output.
        file: Write there instead.
    """

    def __init__(self, *, stderr: bool = False, file: IO[str] | None = None) -> None:
        super().__init__(stderr=stderr, file=file, markup=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces that are written for something to show."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


def print_columns(header: Sequence[str], rows: Iterable[Sequence[str | Text]], words: Collection[int] = ()) -> None:
    """Print a table without lines; the first column and those of `words` are aligned to the left.

    Only those of `words` are wrapped, between words; lines of the others go on beyond the terminal's width.
    """
    console, columns, least = Console(), Table(box=None, pad_edge=False), 0
    lines = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    for number, name in enumerate(header):
        wrapped, cells = number in words, [line[number].plain for line in lines]
        least += _GAP + max(map(cell_len, [name, *(" ".join(cells).split() if wrapped else cells)]))
        columns.add_column(Text(name), justify="left" if wrapped or not number else "right", no_wrap=not wrapped)
    for line in lines:
        columns.add_row(*line)
    console.width = max(console.width, least)
    console.print(columns)


def print_table(table: StatisticsTable) -> None:
    """Print a table of a report, and its caption."""
    print_columns(table.columns, table.rows, table.text_columns)
    Console().print(Text(table.caption), style="dim")

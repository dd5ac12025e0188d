"""Tables of `rich` that print texts literally, without markup."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from polarbear.progress import Console as Console

if TYPE_CHECKING:
    from polarbear.analyzer.html import Table as StatisticsTable

_GAP = 2
"""Number of blanks between columns."""


def print_columns(header: Sequence[str], rows: Iterable[Sequence[str | Text]], words: Collection[int] = ()) -> None:
    """Print a table without lines; the first column and those in `words` are left-aligned.

    Only columns in `words` are wrapped, between words; lines of the others may exceed the terminal's width.
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

"""Tables of `rich` that print texts as they are, without markup."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from polarbear.progress import Console as Console

if TYPE_CHECKING:
    from polarbear.analyzer.html import Table as StatisticsTable


def print_columns(header: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[int] = ()) -> None:
    """Print a table without lines; the first column and those of `words` are aligned to the left."""
    columns = Table(box=None, pad_edge=False)
    for number, name in enumerate(header):
        columns.add_column(Text(name), justify="right" if number and number not in words else "left", overflow="fold")
    for row in rows:
        columns.add_row(*map(Text, row))
    Console().print(columns)


def print_table(table: StatisticsTable) -> None:
    """Print a table of a report, and its caption."""
    print_columns(table.columns, table.rows, table.text_columns)
    Console().print(Text(table.caption), style="dim")

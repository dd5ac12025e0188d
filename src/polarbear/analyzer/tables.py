"""Tables of a report: what is shown, with the data to download."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polarbear.assess.report.data import Data


@dataclass(frozen=True, slots=True)
class Table:
    """A table to show: text in its cells, the first one of each row naming it.

    Attributes:
        caption: What it shows.
        columns: Headers.
        rows: Text.
        data: What can be downloaded with it, the same or more.
        text_columns: Columns after the first that hold words, not numbers.
        stressed: (row, column) of cells to stress.
        kind: "" for a plain table, "matrix" for many narrow columns, "stacked" to break cells at their spaces.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: tuple[Data, ...] = ()
    text_columns: frozenset[int] = frozenset()
    stressed: frozenset[tuple[int, int]] = frozenset()
    kind: Literal["", "matrix", "stacked"] = ""

"""Tables for download: column names and rows, with values in full precision."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polarbear.assess.table_formats import latex_rows
from polarbear.descriptions import html_table
from polarbear.spreadsheets import disarmed

_LARGE = 20_000
"""Number of characters above which a file embedded in a page is compressed."""
if TYPE_CHECKING:
    import polars as pl

DIGITS = 6
"""Number of significant digits of numbers shown to users."""
_INFINITE = ("inf", "-inf")

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Rows(Sequence[tuple[Any, ...]]):
    """Rows of a table that are made lazily, no more than are used.

    Attributes:
        size: Number of rows.
        make: Function that returns a new iterator over the rows.
    """

    size: int
    make: Callable[[], Iterator[tuple[Any, ...]]]

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self.make()

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, int):
            return self[at : at + 1 or None][0]
        places = range(self.size)[at]
        made = tuple(islice(self, max(places, default=-1) + 1))
        return tuple(made[place] for place in places)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, Rows) else other)


@dataclass(frozen=True, slots=True)
class Data:
    """A table for download: column names and rows, with values in full precision.

    Attributes:
        name: The file's name, without extension.
        columns: Names of the columns.
        rows: Rows with one cell per column; None for unknown values.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]

    @classmethod
    def of(cls, name: str, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> Data:
        """Make a table from rows of plain or NumPy values."""

        def plain() -> Iterator[tuple[Cell, ...]]:
            return (tuple(map(_plain, row)) for row in rows)

        return cls(name, tuple(columns), Rows(rows.size, plain) if isinstance(rows, Rows) else tuple(plain()))

    @property
    def cells(self) -> list[tuple[Cell, ...]]:
        """The cells of each column."""
        return list(zip(*self.rows, strict=True)) or [()] * len(self.columns)

    def csv(self) -> str:
        """Comma-separated values (RFC 4180) with a header; text that spreadsheets would execute is `disarmed`."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(self.columns)
        writer.writerows([disarmed(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows)
        return text.getvalue()

    def json(self) -> str:
        """A JSON object with one list per column, as accepted by data frames."""
        columns = zip(self.columns, self.cells, strict=True)
        return json.dumps(dict(columns), ensure_ascii=False, separators=(",", ":"))

    def latex(self, *, digits: int = DIGITS) -> str:
        r"""A LaTeX table for ``\usepackage{booktabs,longtable}``, with numbers rounded and right-aligned."""
        alignment = "".join("r" if all(map(_is_number, cells)) else "l" for cells in self.cells)
        return latex_rows(alignment, self.columns, self._shown(digits))

    def markdown(self, *, digits: int = DIGITS) -> str:
        """A table in GitHub's Markdown, with numbers rounded to `digits` significant digits and text escaped."""
        rules = [["---"] * len(self.columns)]
        lines = [[_markdown_text(cell) for cell in row] for row in (self.columns, *self._shown(digits))]
        return "".join(f"| {' | '.join(line)} |\n" for line in (*lines[:1], *rules, *lines[1:]))

    def _shown(self, digits: int) -> list[list[str]]:
        return [[shown(cell, digits) for cell in row] for row in self.rows]

    def _repr_html_(self) -> str:
        """The table as HTML, for notebooks."""
        return html_table(self.columns, self._shown(DIGITS))

    def frame(self) -> pl.DataFrame:
        """The table as a polars data frame, with infinite numbers as numbers."""
        import polars as pl

        cells = map(_numbers, self.cells)
        return pl.DataFrame([pl.Series(*column) for column in zip(self.columns, cells, strict=True)])

    @property
    def link(self) -> tuple[str, str]:
        """The CSV file's name and its content as a data URI, compressed if it is large."""
        content = self.csv()
        if len(content) <= _LARGE:
            return f"{self.name}.csv", data_uri("text/csv;charset=utf-8", content.encode())
        return f"{self.name}.csv.gz", data_uri("application/gzip", gzip.compress(content.encode(), mtime=0))


def shown(cell: Cell, digits: int = DIGITS) -> str:
    """A cell as text for users: numbers rounded to `digits` significant digits, and empty if unknown."""
    if isinstance(cell, float):
        return f"{cell:.{digits}g}"
    return "" if cell is None else {"inf": "∞", "-inf": "-∞"}.get(str(cell), str(cell))


def _is_number(cell: Cell) -> bool:
    return cell is None or cell in _INFINITE or (isinstance(cell, int | float) and not isinstance(cell, bool))


def _markdown_text(text: str) -> str:
    """Plain text on one line, escaped for Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", " ".join(text.split()))


def _numbers(cells: Sequence[Cell]) -> Sequence[Cell]:
    """The cells of a column, with infinity, which is text among numbers, converted to a number."""
    if {type(cell) for cell in cells if cell is not None and cell not in _INFINITE} <= {int, float}:
        return [None if cell is None else float(cell) if cell in _INFINITE else cell for cell in cells]
    return cells


def data_uri(kind: str, content: bytes) -> str:
    """A data URI of a media type."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _plain(value: Any) -> Cell:
    """A cell as a plain value: NaN becomes None and infinity text, so that JSON stays JSON."""
    plain: Any = cast(Any, value).item() if isinstance(value, np.generic) else value
    if not isinstance(plain, float) or math.isfinite(plain):
        return plain
    return None if math.isnan(plain) else str(plain)

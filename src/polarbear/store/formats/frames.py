"""CSV files as data frames of text, with line numbers for messages."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

LINE = "line in the file"
"""The column that holds each row's line number."""
_SEPARATORS = ",;\t"


def columns_of(data: bytes) -> list[str]:
    """The columns that the first line of a CSV file names."""
    line = _first_line(data)
    return [column.strip().strip('"') for column in line.split(_separator(line))]


def frame_of(data: bytes) -> pl.DataFrame:
    """A CSV file with commas, semicolons or tabs between its columns, all of them text.

    Raises:
        ValueError: If it cannot be read.
    """
    import polars as pl

    try:
        frame = pl.read_csv(
            io.BytesIO(data),
            separator=_separator(_first_line(data)),
            infer_schema=False,
            encoding="utf8-lossy",
            truncate_ragged_lines=True,
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"it cannot be read as CSV: {error}") from error
    return frame.rename(lambda column: column.strip()).with_row_index(LINE, offset=2)


def _first_line(data: bytes) -> str:
    return data[:65536].split(b"\n", 1)[0].decode("utf-8-sig", "replace").strip()


def _separator(line: str) -> str:
    return max(_SEPARATORS, key=line.count)

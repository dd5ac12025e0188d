"""Text in CSV files that spreadsheets would take for a formula, and execute."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

TEXTS = ("algorithm", "instance", "message")
"""The columns of a table of runs that hold anybody's text."""
_FORMULA = r"'*[=+\-@\t\r＝＋－＠]"
_BEGINS_ONE = re.compile(_FORMULA)


def disarmed(text: str) -> str:
    """`text` with an apostrophe before it if it begins as formulas do and is no number; `restored` takes it away."""
    return f"'{text}" if _BEGINS_ONE.match(text) and not _is_number(text) else text


def restored(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of runs as it was before `disarmed`."""
    import polars as pl

    columns = [name for name in TEXTS if name in frame.columns]
    return frame.with_columns(pl.col(columns).str.replace(f"^'({_FORMULA})", "${1}"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

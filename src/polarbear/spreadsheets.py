"""Keep spreadsheets from executing text in CSV files that looks like a formula."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

TEXTS = ("algorithm", "instance", "message")
"""The columns of a table of runs that hold arbitrary text."""
_FORMULA = r"'*[=+\-@\t\r＝＋－＠]"
_FORMULA_START = re.compile(_FORMULA)


def disarmed(text: str) -> str:
    """`text`, prefixed by an apostrophe if it begins like a formula and is not a number; `restored` removes it."""
    return f"'{text}" if _FORMULA_START.match(text) and not _is_number(text) else text


def rearmed(text: str) -> str:
    """The text as it was before `disarmed`."""
    return re.sub(f"^'({_FORMULA})", r"\1", text)


def restored(frame: pl.DataFrame) -> pl.DataFrame:
    """The table of runs as it was before `disarmed`."""
    import polars as pl

    columns = [name for name in TEXTS if name in frame.columns]
    return frame.with_columns(pl.col(columns).str.replace(f"^'({_FORMULA})", "${1}"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""CSV files as data frames of text, with line numbers for messages. Incomplete rows are reported, never guessed."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from polarbear.store.formats.archives import UTF16, decoded
from polarbear.store.formats.reports import Report

if TYPE_CHECKING:
    import polars as pl

LINE = "line in the file"
"""The column with each row's line number."""
CHUNK = 8 << 20
"""Number of bytes read at a time, which exceeds any quoted cell."""
_SEPARATORS = ",;\t"
_NAMED = 100
"""Number of unusable lines of a file that are reported individually."""
_HEAD = 1 << 16


class UnusableLines:
    """Reports unusable lines individually, and only counts them once there are too many."""

    def __init__(self, label: str, report: Report) -> None:
        self._label = label
        self._report = report
        self._count = 0

    def skip(self, line: int, why: str) -> None:
        """Report a line."""
        self._count += 1
        if self._count <= _NAMED:
            self._report.skip(self._label, why, line)

    def end(self) -> None:
        """Report the number of lines not reported individually."""
        if self._count > _NAMED:
            self._report.skip(self._label, f"{self._count - _NAMED:,} more lines like these cannot be used")


def columns_of(data: bytes) -> list[str]:
    """The columns named in the first line of a CSV file; none if it cannot be read."""
    head = data[:_HEAD]
    head = head.decode("utf-16", "ignore").encode() if head.startswith(UTF16) else head.removeprefix(codecs.BOM_UTF8)
    line = head.split(b"\n", 1)[0]
    try:
        return _names(line, _separator(line))
    except ValueError:
        return []


def frames_of(data: bytes, label: str, report: Report) -> Iterator[pl.DataFrame]:
    """The rows of a CSV file with commas, semicolons or tabs between its columns, all as text, piece by piece.

    Lines with more or fewer fields than the header, or with unclosed quotes, are left out and reported. A last line
    without a line end is read but also reported, as it may be cut off.

    Args:
        data: The bytes, in UTF-8, UTF-16 with a byte order mark, or Windows-1252, which is reported.
        label: The file's name in reports.
        report: The report to which lines are added.

    Raises:
        ValueError: If its encoding is none of these, its header cannot be read, or two columns have the same name.
    """
    data = decoded(data, label, report).encode()
    header = data.split(b"\n", 1)[0]
    separator = _separator(header)
    names = _names(header, separator)
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"two columns are named {repeated!r}; rename one")
    rows = _Rows(names, separator, UnusableLines(label, report))
    start, line = len(header) + 1, 2
    while start < len(data):
        end = len(data) if len(data) - start <= CHUNK else data.find(b"\n", start + CHUNK) + 1 or len(data)
        text = data[start:end].removesuffix(b"\n")
        used = rows.take_all(text, line)
        if used:
            start = end
        else:
            lines = text.split(b"\n")
            used = rows.take(lines, line, last=end == len(data))
            start += sum(map(len, lines[:used])) + used
        yield rows.frame()
        line += used
    rows.unusable.end()
    if not data.endswith(b"\n") and rows.latest == line - 1:
        report.remark(label, "the last line does not end as the others do; it is read, but may be cut off", line - 1)


class _Rows:
    """Collects complete rows: rows without quotes by counting separators, rows with quotes by `csv`.

    Attributes:
        unusable: The report of other lines.
        latest: The line where the latest complete row ends.
    """

    def __init__(self, names: Sequence[str], separator: str, unusable: UnusableLines) -> None:
        self.unusable = unusable
        self.latest = 0
        self._names = names
        self._separator = separator
        self._plain: list[bytes] = []
        self._plain_lines: list[int] = []
        self._quoted: list[list[str | None]] = []
        self._quoted_lines: list[int] = []
        self._not_delimiters = bytes(set(range(256)) - set(f"{separator}\n".encode()))
        self._delimiters_of_row = separator.encode() * (len(names) - 1) + b"\n"

    def take_all(self, text: bytes, first: int) -> int:
        """Take all lines if each is a complete row without quotes; return their number, or 0 if none were taken."""
        delimiters = text.translate(None, self._not_delimiters) + b"\n"
        count = len(delimiters) // len(self._delimiters_of_row)
        if b'"' in text or delimiters != self._delimiters_of_row * count:
            return 0
        self._plain.append(text.replace(b"\r\n", b"\n").removesuffix(b"\r"))
        self._plain_lines += range(first, first + count)
        self.latest = first + count - 1
        return count

    def take(self, lines: Sequence[bytes], first: int, *, last: bool) -> int:
        """Take lines, numbered from `first`; return how many were taken, as a cell may continue beyond the last one."""
        separator, width = self._separator.encode(), len(self._names)
        position = 0
        while position < len(lines):
            line, number, taken = lines[position], first + position, 1
            if b'"' in line:
                taken = self._take_quoted(lines, position, number)
                if taken is None and position and not last:
                    break
                if not taken:
                    self.unusable.skip(number, f"unclosed quotes, or not {width} fields; the line is damaged")
            elif line.count(separator) + 1 == width:
                self._plain.append(line.removesuffix(b"\r"))
                self._plain_lines.append(number)
                self.latest = number
            elif line.strip():
                fields = line.count(separator) + 1
                self.unusable.skip(number, f"{fields} of {width} fields; the line is damaged")
            position += taken or 1
        return position

    def frame(self) -> pl.DataFrame:
        """The rows taken since the last call, in order."""
        import polars as pl

        schema = {name: pl.String() for name in self._names}
        plain = pl.DataFrame(schema=schema)
        if self._plain:
            text = io.BytesIO(b"\n".join(self._plain))
            plain = pl.read_csv(text, has_header=False, schema=schema, separator=self._separator, quote_char=None)
        lines = pl.Series(LINE, self._plain_lines + self._quoted_lines, pl.Int64)
        frame = plain.vstack(pl.DataFrame(self._quoted, schema, orient="row")).with_columns(lines)
        for rows in (self._plain, self._plain_lines, self._quoted, self._quoted_lines):
            rows.clear()
        return frame.sort(LINE)

    def _take_quoted(self, lines: Sequence[bytes], start: int, number: int) -> int | None:
        """Number of lines of the row that begins here: 0 if there is no row, None if it depends on later lines."""
        odd = lines[start].count(b'"') % 2
        rest = range(start + 1, len(lines)) if odd else ()
        end = next((after for after in rest if lines[after].count(b'"') % 2), None)
        for taken in (1,) if end is None else (end - start + 1, 1):
            row = self._row(b"\n".join(lines[start : start + taken]))
            if row is not None:
                self._quoted.append(row)
                self._quoted_lines.append(number)
                self.latest = number + taken - 1
                return taken
        return None if odd and end is None else 0

    def _row(self, text: bytes) -> list[str | None] | None:
        """The cells if `text` is one complete row, else None."""
        try:
            rows = list(csv.reader([text.decode()], delimiter=self._separator, strict=True))
        except csv.Error:
            return None
        complete = len(rows) == 1 and len(rows[0]) == len(self._names)
        return [cell or None for cell in rows[0]] if complete else None


def _names(header: bytes, separator: str) -> list[str]:
    """The names of the columns, with unnamed ones numbered; ValueError if the first line has invalid quotes."""
    try:
        rows = list(csv.reader([header.decode("utf-8", "replace")], delimiter=separator, strict=True))
    except csv.Error as error:
        raise ValueError(f"line 1, which names the columns, cannot be read: {error}") from error
    return [name.strip() or f"column {number}" for number, name in enumerate(rows[0] if rows else [], start=1)]


def _separator(header: bytes) -> str:
    return max(_SEPARATORS, key=lambda separator: header.count(separator.encode()))

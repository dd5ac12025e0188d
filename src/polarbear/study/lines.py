"""The line of each field in a TOML text, which `tomllib` does not provide."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

from polarbear.descriptions import FieldPath

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[FieldPath, int]:
    """The line number, from 1, on which each table, field and array entry begins.

    Args:
        text: Valid TOML; for any other text, lines may be missing or wrong.
    """
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.lines


def line_of(lines: Mapping[FieldPath, int], path: FieldPath) -> int | None:
    """The line of a field, or of the innermost enclosing table or array; None if that is the whole file."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)


class _Scanner:
    """A scanner that goes through the text once and records where elements begin."""

    def __init__(self, text: str) -> None:
        self.lines: dict[FieldPath, int] = {}
        self._text = text.replace("\r\n", "\n")
        self._at: int = 0
        self._ends = [position for position, sign in enumerate(self._text) if sign == "\n"]
        self._tables: Counter[FieldPath] = Counter()  # number of tables in each array of tables so far

    def scan(self) -> None:
        table: FieldPath = ()
        while self._skip_blanks():
            start = self._at
            if self._accept("["):
                table = self._header(start)
            else:
                self._field(table)
            if self._at == start:  # not TOML: continue after it
                self._at += 1

    def _header(self, start: int) -> FieldPath:
        of_array = self._accept("[")
        *parents, key = self._keys()
        path: FieldPath = ()
        for parent in parents:
            path = self._latest((*path, parent))
        path = (*path, key)
        if of_array:
            self._note(path, start)
            self._tables[path] += 1
        path = self._latest(path)
        self._note(path, start)
        self._accept("]]" if of_array else "]")
        return path

    def _latest(self, path: FieldPath) -> FieldPath:
        """The path of a table; for an array of tables, that of the last one."""
        return (*path, self._tables[path] - 1) if path in self._tables else path

    def _field(self, table: FieldPath) -> None:
        start, path = self._at, table
        for key in self._keys():
            path = (*path, key)
            self._note(path, start)
        self._accept("=")
        self._value(path)

    def _value(self, path: FieldPath) -> None:
        self._skip_blanks()
        table = self._accept("{")
        if not table and not self._accept("["):
            if not self._match(_STRING):
                self._match(_BARE_VALUE)
            return
        entry = 0
        while self._skip_blanks() and not self._accept("}" if table else "]"):
            start = self._at
            if table:
                self._field(path)
            else:
                self._note((*path, entry), start)
                self._value((*path, entry))
            self._accept(",")
            entry += 1
            if self._at == start:
                return

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip_blanks()
            quoted = self._match(_STRING)
            keys.append(tomllib.loads(f"key = {quoted}")["key"] if quoted else self._match(_BARE_KEY))
            if not self._accept("."):
                return keys

    def _note(self, path: FieldPath, position: int) -> None:
        self.lines.setdefault(path, bisect_left(self._ends, position) + 1)

    def _skip_blanks(self) -> bool:
        """Skip blanks, line ends and comments; return whether anything follows."""
        self._match(_BLANK)
        return self._at < len(self._text)

    def _accept(self, sign: str) -> bool:
        """Skip `sign`, with any blanks before it, if it comes next; return whether it does."""
        if sign != "[":
            self._skip_blanks()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _match(self, pattern: re.Pattern[str]) -> str:
        """Skip what `pattern` matches and return it; empty if it does not match."""
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return match.group() if match else ""

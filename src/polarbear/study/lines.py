"""The line of each field in a TOML text, which `tomllib` does not tell."""

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
    """The line, from 1, on which each table, field and entry of an array begins.

    Args:
        text: TOML that `tomllib` reads; of any other it may tell less, or nonsense.
    """
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.lines


def line_of(lines: Mapping[FieldPath, int], place: FieldPath) -> int | None:
    """The line of a field; of what it stands in if it is not there itself; None if that is the whole file."""
    return next((lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines), None)


class _Scanner:
    """Goes through the text once and notes where things begin."""

    def __init__(self, text: str) -> None:
        self.lines: dict[FieldPath, int] = {}
        self._text = text.replace("\r\n", "\n")
        self._at: int = 0
        self._ends = [place for place, sign in enumerate(self._text) if sign == "\n"]
        self._tables: Counter[FieldPath] = Counter()  # how many tables each array of tables holds so far

    def scan(self) -> None:
        table: FieldPath = ()
        while self._after_blanks():
            before = self._at
            if self._takes("["):
                table = self._header(before)
            else:
                self._field(table)
            if self._at == before:  # no TOML: go on behind it
                self._at += 1

    def _header(self, began: int) -> FieldPath:
        of_array = self._takes("[")
        keys, place = self._keys(), ()
        for key in keys[:-1]:
            place = self._latest((*place, key))
        place = (*place, *keys[-1:])
        if of_array:
            self._note(place, began)
            self._tables[place] += 1
        place = self._latest(place)
        self._note(place, began)
        self._takes("]]" if of_array else "]")
        return place

    def _latest(self, place: FieldPath) -> FieldPath:
        """The table meant by a name: of an array of tables the last one."""
        return (*place, self._tables[place] - 1) if place in self._tables else place

    def _field(self, table: FieldPath) -> None:
        began, place = self._at, table
        for key in self._keys():
            place = (*place, key)
            self._note(place, began)
        self._takes("=")
        self._value(place)

    def _value(self, place: FieldPath) -> None:
        self._after_blanks()
        if self._takes("{"):
            while self._after_blanks() and not self._takes("}"):
                before = self._at
                self._field(place)
                self._takes(",")
                if self._at == before:
                    return
        elif self._takes("["):
            entry = 0
            while self._after_blanks() and not self._takes("]"):
                before = self._at
                self._note((*place, entry), self._at)
                self._value((*place, entry))
                self._takes(",")
                entry += 1
                if self._at == before:
                    return
        elif not self._matches(_STRING):
            self._matches(_BARE_VALUE)

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._after_blanks()
            if quoted := self._matches(_STRING):
                keys.append(tomllib.loads(f"key = {quoted}")["key"])
            else:
                keys.append(self._matches(_BARE_KEY))
            if not self._takes("."):
                return keys

    def _note(self, place: FieldPath, at: int) -> None:
        self.lines.setdefault(place, bisect_left(self._ends, at) + 1)

    def _after_blanks(self) -> bool:
        """Pass over blanks, line ends and comments; say whether anything follows."""
        self._matches(_BLANK)
        return self._at < len(self._text)

    def _takes(self, sign: str) -> bool:
        """Pass over `sign`, and over blanks before it, if it comes next."""
        if sign != "[":
            self._after_blanks()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _matches(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found.group() if found else ""

"""The ``.info`` files of COCO and of IOHprofiler's first format, which say what was run and where its data are.

An entry has a line of ``name = value`` pairs, comment lines that begin with ``%``, and a line that names data files,
each followed by its runs as ``instance:evaluations|final value``. In bi-objective files, one header applies to many
lines of runs, each with its own function and dimension.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polarbear.store.formats.archives import Tree, beside, decoded
from polarbear.store.formats.parsed_run import MOST
from polarbear.store.formats.reports import Report

_QUOTES = {quote: re.compile(quote + r"\s*(?:,|$)") for quote in "'\""}
"""For each quote, the pattern of the end of a value that begins with it."""
_DATA = re.compile(r"\.[a-z]*dat\s*(?:,|$)")
_RUN = re.compile(r"([0-9]{1,18})(?::([0-9]{1,18})\|(\S+))?")
_NUMBER = re.compile(r"[0-9]{1,9}")
_DIMENSION_IN_NAME = re.compile(r"_DIM([0-9]{1,9})(?![0-9])")


@dataclass(frozen=True, slots=True)
class Listed:
    """A run as an ``.info`` file lists it.

    Attributes:
        instance: The instance's number.
        evaluations: Number of evaluations spent; None if the run was never finished.
        final: Its final value with few digits, in old data minus the final target precision; None if not listed.
    """

    instance: int
    evaluations: int | None = None
    final: float | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file and its runs.

    Attributes:
        path: The path given in the ``.info`` file, relative to it.
        runs: The runs, in their order in the data file.
    """

    path: str
    runs: tuple[Listed, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """The runs of one algorithm on one function in one dimension.

    Attributes:
        fields: The header's values by name, without quotes.
        files: The data files.
        line: The number of the line that lists the runs.
    """

    fields: Mapping[str, str]
    files: tuple[DataFile, ...]
    line: int

    def get(self, *names: str) -> str:
        """The value of the first of the given fields that exists; empty if none does."""
        return next((self.fields[name] for name in names if name in self.fields), "")

    @property
    def algorithm(self) -> str:
        """The algorithm's name; empty if it is missing."""
        return self.get("algId", "algorithm")

    @property
    def function(self) -> str:
        """The function's number or name."""
        return self.get("funcId", "function")

    @property
    def dimension(self) -> int:
        """The number of variables."""
        return int(self.get("DIM", "dim"))

    @property
    def has_indicator(self) -> bool:
        """Whether values are those of an indicator for two objectives."""
        return "indicator" in self.fields

    @property
    def precision(self) -> float | None:
        """The final target precision; None if it is missing."""
        text = self.get("Precision")
        return float(text) if text else None

    @property
    def suite(self) -> str:
        """The suite; if old data do not name it, inferred from the other fields as COCO does."""
        suite = self.get("suite")
        if suite:
            return {"sbox-cost": "bbob-boxed"}.get(suite, suite)
        if self.has_indicator:
            return "bbob-biobj"
        return "bbob-noisy" if _NUMBER.fullmatch(self.function) and int(self.function) > 100 else "bbob"

    def check(self) -> None:
        """Raise a ValueError that says what the header lacks, if anything."""
        if not self.function:
            raise ValueError("the header names no function (funcId)")
        dimension = self.get("DIM", "dim")
        if not _NUMBER.fullmatch(dimension):
            raise ValueError(f"the header's dimension (DIM) is {dimension!r}; it must be a whole number")
        for file in self.files:
            in_name = _DIMENSION_IN_NAME.search(file.path)
            if in_name and int(in_name[1]) != int(dimension):
                raise ValueError(f"the header's dimension (DIM) is {dimension}, but the data file is named {file.path}")
        try:
            possible = 0 <= (self.precision or 0) < math.inf
        except ValueError:
            possible = False
        if not possible:
            raise ValueError(f"the header's Precision is {self.get('Precision')!r}; it must be finite and at least 0")


def entries(data: bytes, label: str, report: Report) -> Iterator[Entry]:
    """The entries of an ``.info`` file; unusable lines are reported."""
    header: dict[str, str] | None = None
    lists, above = 1, 0
    for number, line in _lines(decoded(data, label, report)):
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        try:
            if not _DATA.search(line):
                if not lists:
                    report.skip(label, "a header without a list of runs", above)
                pairs = _pairs(line)
                if not pairs:
                    raise ValueError(f"neither a header nor a list of runs: {line.strip()[:60]!r}")
                header, lists, above = pairs, 0, number
                continue
            if header is None:
                raise ValueError("a list of runs without a header before it")
            entry = _entry(header, line, number, label, report)
            lists += 1
            if lists > 1 and entry.fields == header:
                raise ValueError("a second list of runs under one header, which does not describe it")
            entry.check()
        except ValueError as error:
            report.skip(label, str(error), number)
            if not _DATA.search(line):
                header = None
        else:
            yield entry
    if not lists:
        report.skip(label, "a header without a list of runs", above)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The non-empty lines with their numbers, including the final line feeds."""
    number, end = 1, 0
    for line in re.finditer(r"[^\n]+\n?", text.replace("\r\n", "\n").replace("\r", "\n")):
        number += line.string.count("\n", end, line.start())
        yield number, line[0]
        number, end = number + 1, line.end()


def first_format(tree: Tree, name: str, data: bytes) -> bool:
    """Whether an ``.info`` file is of IOHprofiler's first format, whose data files have column names in quotes."""
    for entry in entries(data, name, Report()):
        if entry.fields.keys() & {"Precision", "indicator"}:
            return False
        path = beside(name, entry.files[0].path)
        if path is not None and path in tree:
            return tree.read(path).startswith(b'"')
    return False


def _entry(header: Mapping[str, str], line: str, number: int, label: str, report: Report) -> Entry:
    own = dict[str, str]()
    files: list[tuple[str, list[Listed]]] = []
    pieces = [piece.strip() for piece in line.split(",")]
    for position, part in enumerate(pieces, start=1):
        if _DATA.search(part):
            files.append((part.replace("\\", "/"), []))
        elif "=" in part and not files:
            own |= _pairs(part)
        elif part and files:
            try:
                files[-1][1].append(_listed(part, cut=position == len(pieces) and not line.endswith("\n")))
            except ValueError as error:
                report.skip(label, f"{error}: {part[:60]!r}", number)
    return Entry({**header, **own}, tuple(DataFile(path, tuple(runs)) for path, runs in files), number)


def _listed(part: str, *, cut: bool) -> Listed:
    """A listed run; `cut` says whether it is the last in a file, which may be cut off there."""
    match = _RUN.fullmatch(part)
    if match is None:
        raise ValueError("not a valid entry for a run")
    instance, evaluations, final = int(match[1]), match[2], match[3]
    if evaluations is None:
        if cut:
            raise ValueError("the last run of the file was never finished, or the file is cut off there")
        return Listed(instance)
    if int(evaluations) > MOST:
        raise ValueError("no run has that many evaluations")
    return Listed(instance, int(evaluations), float(final.partition(";")[0]))


def _pairs(line: str) -> dict[str, str]:
    """The ``name = value`` pairs of a line.

    Raises:
        ValueError: If a quote is not closed or not opened.
    """
    pairs: dict[str, str] = {}
    start = 0
    while (equals := line.find("=", start)) >= 0:
        name = re.split("[,'\"]", line[start:equals])[-1].strip()
        begin = equals + 1
        while line[begin : begin + 1].isspace():
            begin += 1
        quote = line[begin : begin + 1]
        if quote in _QUOTES:
            closed = _QUOTES[quote].search(line, begin + 1)
            if closed is None:
                raise ValueError(f"opening quote without a closing one: {line[begin : begin + 60].strip()!r}")
            value, start = line[begin + 1 : closed.start()], closed.end()
        else:
            comma = line.find(",", begin)
            start = comma + 1 if comma >= 0 else len(line)
            value = line[begin : comma if comma >= 0 else None].strip()
            if value.endswith(("'", '"')) and value.count(value[-1]) % 2:
                raise ValueError(f"closing quote without an opening one: {value[:60]!r}")
        if name:
            pairs[name] = value
    return pairs

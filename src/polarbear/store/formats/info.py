"""The ``.info`` files of COCO and of IOHprofiler's first format: what was run, and where its data lie.

An entry has a line of ``name = value`` pairs, comment lines that begin with ``%``, and a line that names data files,
each followed by its runs as ``instance:evaluations|final value``. In bi-objective files one header serves many lines of
runs, each with its own function and dimension.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polarbear.store.formats.found import MOST
from polarbear.store.formats.reports import Report
from polarbear.store.formats.trees import Tree, beside

_PAIR = re.compile(r"""\s*([^,='"]+?)\s*=\s*('[^']*'|"[^"]*"|[^,]*)\s*(?:,|$)""")
_DATA = re.compile(r"\.[a-z]*dat\s*(?:,|$)")
_RUN = re.compile(r"(\d+)(?::(\d+)\|(\S+))?")


@dataclass(frozen=True, slots=True)
class Listed:
    """A run as an ``.info`` file lists it.

    Attributes:
        instance: The instance's number.
        evaluations: Evaluations spent, or None if the run was never finished.
        final: Its final value, with few digits and, in old data, minus the final target precision; None if it is not
            told.
    """

    instance: int
    evaluations: int | None = None
    final: float | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file and its runs.

    Attributes:
        path: As the ``.info`` file gives it, relative to itself.
        runs: In the order in which they stand in the data file.
    """

    path: str
    runs: tuple[Listed, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """The runs of an algorithm on a function in a dimension.

    Attributes:
        fields: The header's values by name, without their quotes.
        files: Where the runs lie.
        line: The line that lists them.
    """

    fields: Mapping[str, str]
    files: tuple[DataFile, ...]
    line: int

    def get(self, *names: str) -> str:
        """The value of the first of these fields that is there; empty if none is."""
        return next((self.fields[name] for name in names if name in self.fields), "")

    @property
    def suite(self) -> str:
        """The suite, as COCO tells it from the other fields where old data do not name it."""
        named = self.get("suite")
        if named:
            return {"sbox-cost": "bbob-boxed"}.get(named, named)
        if "indicator" in self.fields:
            return "bbob-biobj"
        function = self.get("funcId", "function")
        return "bbob-noisy" if function.isdecimal() and int(function) > 100 else "bbob"

    def unusable(self) -> str:
        """What the entry lacks; empty if it has all."""
        if not self.get("funcId", "function"):
            return "the header names no function (funcId)"
        if not self.get("DIM", "dim").isdecimal():
            return "the header names no dimension (DIM)"
        try:
            float(self.get("Precision") or 0)
        except ValueError:
            return f"the header's Precision is {self.get('Precision')!r}"
        return ""


def entries(data: bytes, label: str, report: Report) -> Iterator[Entry]:
    """The entries of an ``.info`` file; lines that cannot be used are reported."""
    header: dict[str, str] | None = None
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        if not _DATA.search(line):
            header = _pairs(line)
            if not header:
                report.skip(label, f"neither a header nor a list of runs: {line.strip()[:60]!r}", number)
            continue
        if header is None:
            report.skip(label, "a list of runs without a header before it", number)
            continue
        entry = _entry(header, line, number, label, report)
        if why := entry.unusable():
            report.skip(label, why, number)
        else:
            yield entry


def first_format(tree: Tree, name: str, data: bytes) -> bool:
    """Whether an ``.info`` file is of IOHprofiler's first format, whose data files put column names in quotes."""
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
    for part in (piece.strip() for piece in line.split(",")):
        if _DATA.search(part):
            files.append((part.replace("\\", "/"), []))
        elif "=" in part and not files:
            own |= _pairs(part)
        elif part and files:
            if run := _RUN.fullmatch(part):
                files[-1][1].append(_listed(*run.groups()))
            else:
                report.skip(label, f"no run is listed as {part[:60]!r}", number)
    return Entry({**header, **own}, tuple(DataFile(path, tuple(runs)) for path, runs in files), number)


def _listed(instance: str, evaluations: str | None, final: str | None) -> Listed:
    if evaluations is None or final is None or int(evaluations) > MOST:
        return Listed(int(instance))
    try:
        return Listed(int(instance), int(evaluations), float(final.partition(";")[0]))
    except ValueError:
        return Listed(int(instance), int(evaluations))


def _pairs(line: str) -> dict[str, str]:
    return {name.strip(): _unquoted(value.strip()) for name, value in _PAIR.findall(line)}


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value

"""Reading whatever lies at a path: its format is told by the files' content."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from polarbear.records import Run, RunKey
from polarbear.store import parts
from polarbear.store.formats.coco import Coco
from polarbear.store.formats.found import Found, natural, number
from polarbear.store.formats.iohprofiler import IohProfiler
from polarbear.store.formats.limits import Limits
from polarbear.store.formats.nevergrad import Nevergrad
from polarbear.store.formats.opening import open_tree
from polarbear.store.formats.reports import Progress, Reading, Report
from polarbear.store.formats.sos import Sos
from polarbear.store.formats.table import Tables
from polarbear.store.formats.trees import Folder, Tree

SUPPORTED = (
    "COCO (.info with .dat and .tdat), IOHprofiler (.json or .info with .dat), nevergrad (.csv), SOS (.txt), CSV or "
    "Parquet with the columns 'evaluations' and 'value', and folders, zip and tar archives of these"
)
_INDICES = (".info", ".json", ".csv", ".tsv", ".txt", ".parquet")
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".tbz2", ".bz2", ".txz", ".xz")
_DATA = (".dat", ".tdat", ".cdat")
_NAMED = 5
"""How many kinds of files an error names."""


class Format(Protocol):
    """Reads the files of one format within a tree.

    Attributes:
        name: The format, as users call it.
    """

    name: str

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a file is of this format."""
        ...

    def read(self, name: str, data: bytes) -> Iterator[Found]:
        """The runs of a file, and of those it refers to. What cannot be read is reported."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """How to read.

    Attributes:
        columns: For CSV and Parquet: which of their columns stands for which of polarbear's.
        maximize: For CSV and Parquet: whether values are to be maximized.
        limits: What archives may hold.
    """

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    maximize: bool = False
    limits: Limits = field(default_factory=Limits)


def read_data(path: str | Path, options: Options, progress: Progress | None = None) -> Reading:
    """Read a file, a folder or an archive; `polarbear.store.read_checked` for other than studies."""
    report = Report(progress)
    joined = _Joined(report)
    _read(Path(path), options, joined)
    if not joined.formats and not report.skipped:
        raise ValueError(
            f"{path} holds no data that polarbear reads: {_found_there(joined.seen)}. It reads {SUPPORTED}"
        )
    runs = sorted(joined.runs.values(), key=by_key)
    return Reading(tuple(runs), tuple(report.skipped), tuple(sorted(joined.formats)))


def by_key(run: Run) -> tuple[object, ...]:
    """Sorts runs as people do: by instance, algorithm and seed, numbers within names by their size."""
    return natural(run.key.instance), natural(run.key.algorithm), run.key.seed


class _Joined:
    """What was read from the folder or archive at hand, and from archives that lie in a folder."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.runs: dict[RunKey, Run] = {}
        self.formats: set[str] = set()
        self.seen: Counter[str] = Counter()
        self._source: dict[RunKey, str] = {}

    def add(self, source: str, runs: Iterable[Run]) -> None:
        for run in runs:
            if run.key not in self.runs:
                self.runs[run.key] = run
                self._source[run.key] = source
            elif parts.storable(self.runs[run.key]) != parts.storable(run):
                raise ValueError(
                    f"{self._source[run.key]} and {source} hold different runs of {run.key}. If they are of "
                    "different algorithms, read them one by one and rename one; if they repeat the same one, put them "
                    "into one folder"
                )


def _read(path: Path, options: Options, joined: _Joined) -> None:
    tree = _Used(open_tree(path, options.limits, joined.report))
    try:
        joined.seen.update(posixpath.splitext(name)[1] for name in tree.names)
        joined.add(tree.path, number(_found(tree, options, joined)))
        _unclaimed(tree, joined.report)
        archives = (
            [name for name in tree.names if name.endswith(_ARCHIVES)] if len(tree.names) > 1 or path.is_dir() else []
        )
    finally:
        tree.close()
    for name in archives:
        if isinstance(tree.tree, Folder):
            _read(path / name, options, joined)
        else:
            joined.report.skip(tree.label(name), "an archive within an archive is not opened; unpack the outer one")


def _found(tree: Tree, options: Options, joined: _Joined) -> Iterator[Found]:
    report = joined.report
    formats: list[Format] = [
        Coco(tree, report),
        IohProfiler(tree, report),
        Nevergrad(tree, report),
        Sos(tree, report),
        Tables(tree, report, options.columns, maximize=options.maximize),
    ]
    indices = [name for name in tree.names if name.endswith(_INDICES) or len(tree.names) == 1]
    for position, name in enumerate(indices):
        report.begin(tree.label(name), position, len(indices))
        try:
            data = tree.read(name)
        except (OSError, ValueError) as error:
            report.skip(tree.label(name), str(error))
            continue
        for reader in formats:
            if reader.claims(name, data):
                joined.formats.add(reader.name)
                yield from reader.read(name, data)
                break


def _unclaimed(tree: _Used, report: Report) -> None:
    for name in tree.names:
        if name.endswith(_DATA) and name not in tree.used:
            report.skip(tree.label(name), "no .info or .json file tells what it holds")


def _found_there(seen: Counter[str]) -> str:
    if not seen:
        return "it is empty"
    kinds = [f"{count} {ending or 'without ending'}" for ending, count in seen.most_common(_NAMED)]
    return f"it holds {', '.join(kinds)}{' and others' if len(seen) > _NAMED else ''} files"


class _Used:
    """A tree that knows which of its files were read."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.path = tree.path
        self.names: Sequence[str] = tree.names
        self.used: set[str] = set()
        self.label = tree.label
        self.close = tree.close

    def __contains__(self, name: str) -> bool:
        return name in self.tree

    def read(self, name: str) -> bytes:
        self.used.add(name)
        return self.tree.read(name)

"""Reading whatever lies at a path: its format is told by the files' content."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from polarbear.extras import ExtraMissing
from polarbear.plugins import load_plugin, plugin_names
from polarbear.records import Instance, Run, RunKey
from polarbear.store import parts
from polarbear.store.formats.archives import Folder, Tree
from polarbear.store.formats.coco import Coco
from polarbear.store.formats.format_detection import open_tree
from polarbear.store.formats.iohprofiler import IohProfiler
from polarbear.store.formats.limits import ArchiveRefused, Limits
from polarbear.store.formats.nevergrad import Nevergrad
from polarbear.store.formats.parsed_run import ParsedRun, checked, natural, number
from polarbear.store.formats.rdata import RData
from polarbear.store.formats.reports import Reading, Report
from polarbear.store.formats.sos import Sos
from polarbear.store.formats.table import Tables

SUPPORTED = (
    "COCO (.info with .dat and .tdat), IOHprofiler (.json or .info with .dat), IOHanalyzer (.rds, .rda), nevergrad "
    "(.csv), SOS (.txt), CSV or Parquet with the columns 'evaluations' and 'value', and folders, zip and tar archives "
    "of these"
)
UNFORESEEN = "reading it ended in an unforeseen fault, please report it"
_TABLES = (".csv", ".tsv")
_DATA_LINE = re.compile(rb"\A#|^\s*(?:[-+]?\d[\d.eE+-]*\s+){3}[-+]?\d", re.MULTILINE)
"""A header or a line of data, in a file of which nothing tells what they are."""
_BEGINNING = 4096
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".tbz2", ".bz2", ".txz", ".xz")
_DATA = (".dat", ".tdat", ".cdat")
_NAMED = 5
"""How many kinds of files an error names."""


class Format(Protocol):
    """Reads the files of one format within a tree; a class made from a `Tree` and a `Report`.

    Attributes:
        name: The format, as users call it.
    """

    name: str

    @property
    def endings(self) -> tuple[str, ...]:
        """Endings of file names, such as ``".log"``, of files to look at."""
        ...

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a file is of this format."""
        ...

    def read(self, name: str, data: bytes) -> Iterator[ParsedRun]:
        """The runs of a file, and of those it refers to. What cannot be read is reported."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """How to read.

    Attributes:
        columns: For CSV and Parquet: which of their columns stands for which of polarbear's.
        maximize: For CSV and Parquet: whether values are to be maximized.
        limits: How much reading may ask for.
        suite: The suite of data that name none; empty for `parsed_run.UNKNOWN_SUITE`.
        optimum: Tells the lowest raw value on an instance, where it is known.
        avoid: Files and archives not to read, by their labels, and why.
    """

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    maximize: bool = False
    limits: Limits = field(default_factory=Limits)
    suite: str = ""
    optimum: Callable[[Instance], float | None] | None = None
    avoid: Mapping[str, str] = field(default_factory=dict[str, str])


def read_data(path: str | Path, options: Options, report: Report | None = None) -> Reading:
    """Read a file, a folder or an archive within this process.

    Args:
        path: What to read.
        options: How to read. Limits on time and memory are those of the process; `supervision.read` sets them.
        report: Gets what is skipped, and is told how far reading has come.

    Raises:
        FileNotFoundError: If there is nothing.
        ArchiveRefused: If it asks for too much.
        ValueError: If nothing is of a known format, or two archives hold different runs of one key.
    """
    report = report or Report()
    joined = _Joined(report)
    _read(_open(Path(path), options, report), Path(path), options, joined)
    if not joined.formats and not report.skipped:
        raise ValueError(
            f"{path} holds no data that polarbear reads: {_found_there(joined.seen)}. It reads {SUPPORTED}"
        )
    for name in joined.unread:
        report.skip(name, "it is empty, or of no format that polarbear reads")
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
        self.unread: list[str] = []
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


def _open(path: Path, options: Options, report: Report) -> _Used:
    if str(path) in options.avoid:
        raise ArchiveRefused(f"{path}: {options.avoid[str(path)]}")
    return _Used(open_tree(path, options.limits, report))


def _read(tree: _Used, path: Path, options: Options, joined: _Joined) -> None:
    with closing(tree):
        joined.seen.update(posixpath.splitext(name)[1] for name in tree.names)
        joined.add(tree.path, number(_found(tree, options, joined)))
        _unclaimed(tree, joined.report)
        archives = (
            [name for name in tree.names if name.endswith(_ARCHIVES)] if len(tree.names) > 1 or path.is_dir() else []
        )
    for name in archives:
        if not isinstance(tree.tree, Folder):
            joined.report.skip(tree.label(name), "an archive within an archive is not opened; unpack the outer one")
            continue
        try:
            inner = _open(path / name, options, joined.report)
        except (OSError, ValueError) as error:
            joined.report.skip(tree.label(name), str(error))
        else:
            _read(inner, path / name, options, joined)


def _found(tree: Tree, options: Options, joined: _Joined) -> Iterator[ParsedRun]:
    report = joined.report
    formats: list[Format] = [
        Coco(tree, report),
        IohProfiler(tree, report),
        Nevergrad(tree, report),
        Sos(tree, report),
        RData(tree, report, options.limits),
        *(load_plugin("formats", name)(tree, report) for name in plugin_names("formats")),
        Tables(tree, report, options.columns, maximize=options.maximize),
    ]
    endings = tuple(ending for reader in formats for ending in reader.endings)
    indices = [name for name in tree.names if name.lower().endswith(endings) or len(tree.names) == 1]
    for position, name in enumerate(indices):
        label = tree.label(name)
        report.begin(label, position, len(indices))
        if label in options.avoid:
            report.skip(label, options.avoid[label])
            continue
        try:
            for found in _of_file(tree, name, formats, joined):
                try:
                    yield _completed(found, options)
                except ValueError as error:
                    report.skip(label, f"a run is refused: {error}")
        except MemoryError:
            report.skip(label, options.limits.too_large())
        except RecursionError:
            report.skip(label, "it is nested too deeply to be read")
        except (OSError, ValueError, ExtraMissing) as error:
            report.skip(label, str(error))
        except BaseException as error:  # a panic of polars is no Exception
            if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
                raise
            report.skip(label, f"{UNFORESEEN}: {type(error).__name__}: {error}")


def _completed(found: ParsedRun, options: Options) -> ParsedRun:
    """A run with the suite and the optimum that its data do not tell; ValueError if it is not possible."""
    if options.suite:
        found = found.named(options.suite)
    if options.optimum is not None and found.raw and found.optimum is None:
        found = replace(found, optimum=options.optimum(found.problem))
    return checked(found)


def _of_file(tree: Tree, name: str, formats: Sequence[Format], joined: _Joined) -> Iterator[ParsedRun]:
    data = tree.read(name)
    reader = next((reader for reader in formats if reader.claims(name, data)), None)
    if reader is not None:
        joined.formats.add(reader.name)
        yield from reader.read(name, data)
    elif name.lower().endswith(_TABLES) or not data.strip() or _DATA_LINE.search(data[:_BEGINNING]):
        joined.unread.append(tree.label(name))


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

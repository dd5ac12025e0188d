"""Reading of the data at a path; formats are recognized by the content of files."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from polarbear.descriptions import listed
from polarbear.extras import ExtraMissing
from polarbear.plugins import load_plugin, plugin_names
from polarbear.quantities import plural
from polarbear.records import Instance, Run, RunKey
from polarbear.store import parts
from polarbear.store.formats.archives import Folder, Tree, natural, open_tree
from polarbear.store.formats.coco import Coco
from polarbear.store.formats.iohprofiler import IohProfiler
from polarbear.store.formats.nevergrad import Nevergrad
from polarbear.store.formats.parsed_run import ParsedRun, checked, number
from polarbear.store.formats.rdata import RData
from polarbear.store.formats.reports import ArchiveRefused, Limits, Reading, Report
from polarbear.store.formats.sos import Sos
from polarbear.store.formats.table import Tables

SUPPORTED = (
    "COCO (.info with .dat and .tdat), IOHprofiler (.json or .info with .dat), IOHanalyzer (.rds, .rda), nevergrad "
    "(.csv), SOS (.txt), CSV or Parquet with the columns 'evaluations' and 'value', and folders, zip and tar archives "
    "of these"
)
UNFORESEEN = "reading it failed unexpectedly; please report this"
_TABLES = (".csv", ".tsv")
_DATA_LINE = re.compile(rb"\A#|^\s*(?:[-+]?\d[\d.eE+-]*\s+){3}[-+]?\d", re.MULTILINE)
"""Pattern of a header or a line of data, in a file that no format claims."""
_BEGINNING = 4096
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".tbz2", ".bz2", ".txz", ".xz")
_DATA = (".dat", ".tdat", ".cdat")
_NAMED = 5
"""Number of kinds of files that an error lists."""


class Format(Protocol):
    """A reader of the files of one format in a tree; a class constructed from a `Tree` and a `Report`.

    Attributes:
        name: The format's name for users.
    """

    name: str

    @property
    def endings(self) -> tuple[str, ...]:
        """File name endings to look at, such as ``".log"``."""
        ...

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a file is in this format."""
        ...

    def read(self, name: str, data: bytes) -> Iterator[ParsedRun]:
        """The runs of a file, and of the files it refers to. Whatever cannot be read is reported."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """Options of reading.

    Attributes:
        columns: For CSV and Parquet, the file's columns by polarbear's names, where they differ.
        maximize: For CSV and Parquet, whether values are to be maximized.
        limits: Limits on the resources for reading.
        suite: The suite of data that do not name one; empty for `parsed_run.UNKNOWN_SUITE`.
        optimum: A function that returns the lowest raw value on an instance, None if unknown.
        avoid: Files and archives not to read, by their labels, with the reasons.
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
        path: The path to read.
        options: The options. Limits on time and memory are those of the process; `supervision.read` sets them.
        report: The report that collects what is skipped and passes on progress.

    Raises:
        FileNotFoundError: If there is nothing.
        ArchiveRefused: If it exceeds the limits.
        ValueError: If nothing is in a known format, or two archives contain different runs with the same key.
    """
    report = report or Report()
    data = _Data(options, report)
    data.read(data.open(Path(path)), Path(path))
    if not data.formats and not report.skipped:
        raise ValueError(f"{path} holds no data that polarbear can read: {data.summary()}. It can read {SUPPORTED}")
    for name in data.unread:
        report.skip(name, "it is empty, or not in a format that polarbear reads")
    runs = sorted(data.runs.values(), key=by_key)
    return Reading(tuple(runs), tuple(report.skipped), tuple(sorted(data.formats)))


def by_key(run: Run) -> tuple[object, ...]:
    """The sort key of a run: instance, algorithm and seed, with numbers within names sorted by size."""
    return natural(run.key.instance), natural(run.key.algorithm), run.key.seed


class _Data:
    """The runs read from a file, folder or archive, and from archives within a folder."""

    def __init__(self, options: Options, report: Report) -> None:
        self.runs: dict[RunKey, Run] = {}
        self.formats: set[str] = set()
        self.unread: list[str] = []
        self._options, self._report = options, report
        self._endings: Counter[str] = Counter()
        self._sources: dict[RunKey, str] = {}

    def summary(self) -> str:
        """A summary of the kinds of files found."""
        if not self._endings:
            return "it is empty"
        kinds = [
            plural(count, f"{ending} file") if ending else f"{plural(count, 'file')} without an extension"
            for ending, count in self._endings.most_common(_NAMED)
        ]
        return f"it holds {listed([*kinds, 'others'] if len(self._endings) > _NAMED else kinds)}"

    def open(self, path: Path) -> Tree:
        """The files at a path; raises as `open_tree`."""
        if str(path) in self._options.avoid:
            raise ArchiveRefused(f"{path}: {self._options.avoid[str(path)]}")
        return open_tree(path, self._options.limits, self._report)

    def read(self, tree: Tree, path: Path) -> None:
        """Add the runs of a tree."""
        with closing(tree):
            self._endings.update(posixpath.splitext(name)[1] for name in tree.names)
            self._add(tree.path, number(self._parsed(tree)))
        for name in tree.names:
            if name.endswith(_DATA) and name not in tree.used:
                self._report.skip(tree.label(name), "no .info or .json file describes it")
        for name in tree.names if len(tree.names) > 1 or path.is_dir() else ():
            if not name.endswith(_ARCHIVES):
                continue
            if not isinstance(tree, Folder):
                why = "an archive within an archive is not opened; unpack the outer one"
                self._report.skip(tree.label(name), why)
                continue
            try:
                inner = self.open(path / name)
            except (OSError, ValueError) as error:
                self._report.skip(tree.label(name), str(error))
            else:
                self.read(inner, path / name)

    def _add(self, source: str, runs: Iterable[Run]) -> None:
        for run in runs:
            if run.key not in self.runs:
                self.runs[run.key] = run
                self._sources[run.key] = source
            elif parts.storable(self.runs[run.key]) != parts.storable(run):
                raise ValueError(
                    f"{self._sources[run.key]} and {source} hold different runs of {run.key}. If the runs are "
                    "from different algorithms, read the files separately and rename one; if they repeat the same "
                    "algorithm, put the files into one folder"
                )

    def _parsed(self, tree: Tree) -> Iterator[ParsedRun]:
        """The runs in the files of a tree; whatever goes wrong with a file is reported."""
        report, options = self._report, self._options
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
        names = [name for name in tree.names if name.lower().endswith(endings) or len(tree.names) == 1]
        for position, name in enumerate(names):
            label = tree.label(name)
            report.begin(label, position, len(names))
            if label in options.avoid:
                report.skip(label, options.avoid[label])
                continue
            try:
                for run in self._parsed_file(tree, name, formats):
                    try:
                        yield self._completed(run)
                    except ValueError as error:
                        report.skip(label, f"a run is invalid: {error}")
            except MemoryError:
                report.skip(label, options.limits.too_large())
            except RecursionError:
                report.skip(label, "it is nested too deeply to be read")
            except (OSError, ValueError, ExtraMissing) as error:
                report.skip(label, str(error))
            except BaseException as error:  # a panic of polars is not an Exception
                if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
                    raise
                report.skip(label, f"{UNFORESEEN}: {type(error).__name__}: {error}")

    def _parsed_file(self, tree: Tree, name: str, formats: Sequence[Format]) -> Iterator[ParsedRun]:
        data = tree.read(name)
        reader = next((reader for reader in formats if reader.claims(name, data)), None)
        if reader is not None:
            self.formats.add(reader.name)
            yield from reader.read(name, data)
        elif name.lower().endswith(_TABLES) or not data.strip() or _DATA_LINE.search(data[:_BEGINNING]):
            self.unread.append(tree.label(name))

    def _completed(self, run: ParsedRun) -> ParsedRun:
        """The run with the suite and optimum that its data lack; ValueError if it is invalid."""
        suite, optimum = self._options.suite, self._options.optimum
        if suite:
            run = run.named(suite)
        if optimum is not None and run.raw and run.optimum is None:
            run = replace(run, optimum=optimum(run.problem))
        return checked(run)

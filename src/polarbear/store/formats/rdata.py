"""R's ``.rds`` and ``.rda`` files with data sets of IOHanalyzer, as IOHdata stores them.

A data set contains the runs of an algorithm on a function in a dimension, as two matrices with a column per run:
``FV``, the values at selected evaluations, and ``RT``, the evaluations at which targets were hit. If both were made
from the same log, each contains every improvement; otherwise, as with COCO's ``.tdat`` and ``.dat``, together they make
one trajectory. Targets are the rows' names, which R prints with 15 digits: one that agrees with a value of ``FV`` to
these digits is replaced by it, and others lose their last digits. Parameters are lost, and the signs of maximizers are
flipped, so that values are minimized. Nothing in the file is executed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polarbear.extras import optional
from polarbear.quantities import plural
from polarbear.records import FloatArray, IntArray, Trajectory
from polarbear.store.formats.archives import COMPRESSED, Tree, decompress
from polarbear.store.formats.coco import PRECISION
from polarbear.store.formats.parsed_run import MOST, ParsedRun, Reader, identified, improving, trajectory
from polarbear.store.formats.reports import Limits, Report

_MAGIC = (b"X\n\0\0\0", b"RDX2\n", b"RDX3\n")
_MAXIMIZED = {"IOHPROFILER", "TWO_COL"}
"""Formats that IOHanalyzer treats as maximized if a data set does not say."""
_SAME = 1e-14
"""Relative difference between a number and its form as printed by R."""


class RData(Reader):
    """Reader of R's files with data sets of IOHanalyzer."""

    name = "iohanalyzer"
    endings = (".rds", ".rda", ".rdata")

    def __init__(self, tree: Tree, report: Report, limits: Limits) -> None:
        super().__init__(tree, report)
        self._limits = limits

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a file is one of R's."""
        return name.lower().endswith(self.endings) or data.startswith(_MAGIC)

    def read(self, name: str, data: bytes) -> Iterator[ParsedRun]:
        """The runs of a file; ValueError if it cannot be read."""
        label = self._tree.label(name)
        content = _parsed(self._decompressed(label, data))
        dataset = None
        for dataset, suite in _datasets(content, ""):
            try:
                yield from _runs(dataset, suite)
            except (ValueError, TypeError, IndexError) as error:
                about = _attributes(dataset)
                title = f"{_text(about.get('algId'))!r} on {_text(about.get('funcId'))!r}"
                dimension = _text(about.get("DIM"))
                self._report.skip(label, f"the data set {title} in {dimension} dimensions cannot be used: {error}")
        if dataset is None:
            raise ValueError("it holds no data set of IOHanalyzer")

    def _decompressed(self, label: str, data: bytes) -> bytes:
        for magic, opener in COMPRESSED.items():
            if data.startswith(magic):
                with opener(io.BytesIO(data), "rb") as stream:
                    content = decompress(stream, label, len(data), self._limits, self._report)
                with content:
                    return content.read()
        return data


def _parsed(data: bytes) -> Any:
    parser = optional("rdata.parser", "rds", "reading R's data")
    try:
        return parser.parse_data(data).object
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # damaged files make the package raise anything
        raise ValueError(f"it cannot be read as R's data: {type(error).__name__}: {error}") from error


def _datasets(node: Any, suite: str) -> Iterator[tuple[Any, str]]:
    """The data sets in an object, or in a whole file, and the suites of the lists that they are in."""
    attributes = _attributes(node)
    suite = _text(attributes.get("suite")) or suite
    if "DataSet" in _texts(attributes.get("class")):
        yield node, suite
    elif _kind(node) in {"VEC", "LIST"}:
        for _, each in _items(node):
            yield from _datasets(each, suite)


def _runs(dataset: Any, suite: str) -> Iterator[ParsedRun]:
    about, items = _attributes(dataset), dict(_items(dataset))
    layout = (_text(about.get("format")) or _text(about.get("src"))).upper()
    names, values = _matrix(items.get("FV"))
    targets, hits = _matrix(items.get("RT"))
    if bool(_numbers(about["maximization"])[0]) if "maximization" in about else layout in _MAXIMIZED:
        values, targets = -values, -targets
    function, dimension = _text(about.get("funcId")), int(_numbers(about.get("DIM"))[0])
    algorithm = _text(about.get("algId"))
    if layout == "NEVERGRAD":  # each value is that of a separate experiment
        instance, identity = identified("nevergrad", function, dimension, "1")
        for budget, losses in zip(names, values.T, strict=True):
            for loss in losses[~np.isnan(losses)]:
                at_end = trajectory(_counts([budget]), [loss], spent=int(budget))
                yield ParsedRun(instance, algorithm, at_end, identity=identity)
        return
    coco, several = "COCO" in layout, layout.startswith("BI")
    target = next(iter(_numbers(about.get("Precision"))), PRECISION) if coco and not several else None
    count = max(len(values), len(hits))
    instances = _texts(about.get("instance"))
    instances = instances if len(instances) == count else ["1"] * count
    trajectories = _trajectories(names, values, targets, hits, _numbers(about.get("maxRT")), target)
    for number, best_so_far in zip(instances, trajectories, strict=True):
        instance, identity = identified(_suite(suite, layout, function), function, dimension, number)
        yield ParsedRun(
            instance,
            algorithm,
            best_so_far,
            target=target,
            optimum=0.0 if coco else None,
            surpassable=several,
            raw=layout == "IOHPROFILER",
            identity=identity,
        )


def _trajectories(
    names: FloatArray,
    values: FloatArray,
    targets: FloatArray,
    hits: FloatArray,
    spent: FloatArray,
    target: float | None,
) -> Iterator[Trajectory]:
    """The runs of both matrices; `spent` has the evaluations of each run, one number for all, or none if unknown."""
    count = max(len(values), len(hits))
    if len(values) and len(hits) and len(values) != len(hits):
        raise ValueError(f"FV holds {plural(len(values), 'run')}, but RT holds {len(hits)}")
    exact = _snapped(targets, np.unique(values[np.isfinite(values)]))
    known = spent.size in {1, count}
    ends = _counts(np.resize(spent, count) if known else np.ones(count))
    for logged, hit, end in zip(
        values if len(values) else np.empty((count, 0)), hits if len(hits) else np.empty((count, 0)), ends, strict=True
    ):
        improves, reached = improving(np.where(np.isnan(logged), np.inf, logged)), ~np.isnan(hit)
        at = np.minimum(names[improves], end if known else np.inf)  # beyond a run's end, its last value is repeated
        yield trajectory(
            _counts(np.concatenate([at, hit[reached]])),
            np.concatenate([logged[improves], exact[reached]]),
            spent=int(end),
            target=target,
        )


def _snapped(targets: FloatArray, exact: FloatArray) -> FloatArray:
    """Targets, printed by R with 15 digits, replaced by the exact values where these are known."""
    if not exact.size:
        return targets
    above = np.clip(np.searchsorted(exact, targets), 1, exact.size) - 1
    near = np.stack([exact[above], exact[np.minimum(above + 1, exact.size - 1)]])
    nearest = np.take_along_axis(near, np.abs(near - targets).argmin(axis=0)[None], axis=0)[0]
    return np.where(np.abs(nearest - targets) <= _SAME * np.abs(targets), nearest, targets)


def _suite(suite: str, layout: str, function: str) -> str:
    if layout.startswith("BI"):
        return "bbob-biobj"
    if "COCO" in layout and suite.upper() in {"", "BBOB", "COCO"}:
        return "bbob-noisy" if function.isdecimal() and len(function) == len("101") else "bbob"
    return suite


def _matrix(node: Any) -> tuple[FloatArray, FloatArray]:
    """The numbers that name a matrix's rows, and its columns, (columns, rows); both empty if there is no matrix."""
    if node is None or _kind(node) not in {"INT", "REAL"}:
        return np.empty(0), np.empty((0, 0))
    attributes = _attributes(node)
    rows, columns = (int(size) for size in _numbers(attributes.get("dim")))
    dimnames = [each for _, each in _items(attributes["dimnames"])] if "dimnames" in attributes else []
    names = np.array([float(name) for name in _texts(dimnames[0])]) if dimnames else np.empty(0)
    if names.size != rows or not np.isfinite(names).all():
        raise ValueError("the row names of a matrix are not numbers")
    return names, _numbers(node).reshape(columns, rows)


def _counts(numbers: ArrayLike) -> IntArray:
    counts = np.asarray(numbers, dtype=np.float64)
    if counts.size and not ((counts >= 1) & (counts <= MOST) & (counts == np.rint(counts))).all():
        raise ValueError(
            f"evaluations run from {counts.min():g} to {counts.max():g}; they must be counts from 1 to 2**53"
        )
    return counts.astype(np.int64)


def _kind(node: Any) -> str:
    return node.info.type.name


def _items(node: Any) -> Iterator[tuple[str, Any]]:
    """The elements of a list with their names, or of a linked list with their tags."""
    if _kind(node) == "VEC":
        names = _texts(_attributes(node).get("names"))
        yield from zip(names or [""] * len(node.value), node.value, strict=True)
        return
    while node is not None and _kind(node) == "LIST":
        first, rest = node.value
        yield _symbol(node.tag), first
        node = rest


def _symbol(tag: Any) -> str:
    if tag is not None and _kind(tag) == "REF":
        tag = tag.referenced_object
    return _decoded(tag.value) if tag is not None and _kind(tag) == "SYM" else ""


def _attributes(node: Any) -> Mapping[str, Any]:
    return {} if node.attributes is None else dict(_items(node.attributes))


def _texts(node: Any) -> Sequence[str]:
    """Strings, or numbers as R would print them."""
    if node is None:
        return []
    if _kind(node) == "STR":
        return [_decoded(each) for each in node.value]
    return [f"{number:.15g}" for number in _numbers(node)]


def _text(node: Any) -> str:
    return next(iter(_texts(node)), "")


def _decoded(char: Any) -> str:
    if char.value is None:
        return ""
    try:
        return char.value.decode("utf-8")
    except UnicodeDecodeError:
        return char.value.decode("latin-1")


def _numbers(node: Any) -> FloatArray:
    """The numbers of an object, NaN where R has none."""
    if node is None or _kind(node) not in {"INT", "REAL", "LGL"}:
        return np.empty(0)
    return np.ma.filled(np.ma.asarray(node.value).astype(np.float64), np.nan)

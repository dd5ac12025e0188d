"""IOHprofiler's folders: a JSON file for each function, or an ``.info`` file in its first format.

Values are raw function values, minimized: a maximization problem's signs are flipped. The optimum is not known. Logged
attributes become the run's parameters; of positions that of the best value is read. Of two objectives the first is the
value, and both are among the parameters, as ``F1`` and ``F2``.

The data files round to ten decimals, but the JSON file tells each run's best value and its point exactly; they replace
the rounded ones.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from polarbear.records import FloatArray, Parameters, Trajectory
from polarbear.store.formats.archives import Tree, beside
from polarbear.store.formats.info import DataFile, Entry, entries, first_format
from polarbear.store.formats.ioh_dat import Logged, Section, joined, logged, sections
from polarbear.store.formats.ioh_listed import UNUSABLE, ListedRun, as_object, listed_run
from polarbear.store.formats.parsed_run import ParsedRun, identified, trajectory, with_outcome
from polarbear.store.formats.reports import Report
from polarbear.store.formats.texts import decoded

SECONDS = "seconds"
_TRUE = {"t", "true", "1", "yes"}
_FALSE = {"f", "false", "0", "no"}
_ENDINGS = ("dat", "cdat", "tdat", "idat")
BoolArray = NDArray[np.bool_]
_ROUNDING = 1.01
"""Half units within which two printings of a number agree."""


class IohProfiler:
    """Reads JSON files, and ``.info`` files of the first format."""

    name = "iohprofiler"
    endings = (".info", ".json")

    def __init__(self, tree: Tree, report: Report) -> None:
        self._tree = tree
        self._report = report

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a file is one of IOHprofiler's index files, or was until it was damaged."""
        if name.endswith(".json"):
            return b'"scenarios"' in data or b'"function_id"' in data
        return name.endswith(".info") and first_format(self._tree, name, data)

    def read(self, name: str, data: bytes) -> Iterator[ParsedRun]:
        """The runs that an index file lists."""
        if name.endswith(".json"):
            yield from self._json(name, data)
            return
        for entry in entries(data, self._tree.label(name), self._report):
            yield from self._entry(name, entry)

    def _json(self, name: str, data: bytes) -> Iterator[ParsedRun]:
        label = self._tree.label(name)
        try:
            content = as_object(json.loads(decoded(data, label, self._report)))
        except ValueError as error:
            line = error.lineno if isinstance(error, json.JSONDecodeError) else None
            self._report.skip(label, f"damaged, and with it the runs it lists: {error}", line)
            return
        scenarios = content.get("scenarios")
        if not isinstance(scenarios, list):
            self._report.skip(label, "no list of 'scenarios'")
            return
        for scenario in cast("list[Any]", scenarios):
            try:
                runs, dimension, path = list(scenario["runs"]), int(scenario["dimension"]), str(scenario["path"])
            except UNUSABLE as error:
                self._report.skip(label, f"a scenario lacks 'dimension', 'path' or 'runs': {error!r}")
                continue
            for listed, rows in self._scenario(name, path, self._runs(label, content, dimension, runs)):
                try:
                    yield _from_json(content, dimension, listed, rows)
                except UNUSABLE as error:
                    self._report.skip(label, f"a run of {path} cannot be used: {error!r}")

    def _runs(
        self, label: str, content: Mapping[str, Any], dimension: int, runs: Sequence[Any]
    ) -> list[ListedRun | None]:
        """The listed runs, None in place of one that cannot be used."""
        remark = partial(self._report.remark, label)
        named: Any = content.get("run_attributes")
        attributes = [str(name) for name in cast("list[Any]", named)] if isinstance(named, list) else []
        checked: list[ListedRun | None] = []
        for run in runs:
            try:
                checked.append(listed_run(run, attributes, dimension, remark))
            except UNUSABLE as error:
                self._report.skip(label, f"a listed run cannot be used: {error!r}")
                checked.append(None)
        return checked

    def _scenario(self, name: str, path: str, runs: Sequence[ListedRun | None]) -> Iterator[tuple[ListedRun, Logged]]:
        """The runs of a data file with their rows."""
        data = beside(name, path)
        if data is None or data not in self._tree:
            self._report.skip(self._tree.label(name), f"its data file {path} is not there; {len(runs)} runs are lost")
            return
        found = self._sections(data)
        started = [run for run in runs if run is None or run.evaluations or run.best_at]
        listed = runs if len(found) == len(runs) else started
        if len(found) != len(listed):
            self._report.skip(
                self._tree.label(data),
                f"it holds {len(found)} runs, but {len(listed)} are listed; those that agree are kept",
            )
        for run, section in zip(listed, found, strict=False):
            rows = self._logged(section, data)
            if run is not None and rows is not None and (len(found) == len(listed) or _agrees(run, rows)):
                yield run, rows

    def _entry(self, info: str, entry: Entry) -> Iterator[ParsedRun]:
        for file in entry.files:
            stem = beside(info, posixpath.splitext(file.path)[0])
            names = [f"{stem}.{ending}" for ending in _ENDINGS if stem and f"{stem}.{ending}" in self._tree]
            if not names:
                self._report.skip(self._tree.label(info), f"its data file {file.path} is not there", entry.line)
                continue
            yield from self._from_info(entry, file, names)

    def _from_info(self, entry: Entry, file: DataFile, names: Sequence[str]) -> Iterator[ParsedRun]:
        files = {name: self._sections(name) for name in names}
        for name, found in files.items():
            if len(found) != len(file.runs):
                self._report.skip(
                    self._tree.label(name),
                    f"it holds {len(found)} runs, but {len(file.runs)} are listed, the first are kept",
                )
        runs: list[Logged] = []
        for position in range(len(file.runs)):
            parts = [
                rows
                for name, found in files.items()
                if position < len(found) and (rows := self._logged(found[position], name)) is not None
            ]
            if parts:
                runs.append(joined(parts))
        flip = _maximized(entry, runs)
        for listed, rows in zip(file.runs, runs, strict=False):
            spent = max(int(rows.evaluations.max(initial=0)), listed.evaluations or 0)
            suite = entry.get("suite")
            found = trajectory(rows.evaluations, -rows.values if flip else rows.values, spent=spent)
            dimension = int(entry.get("DIM", "dim"))
            name, identity = identified(suite, entry.get("funcId"), dimension, str(listed.instance))
            yield ParsedRun(
                name,
                entry.get("algId", "algorithm") or posixpath.basename(self._tree.path),
                found,
                parameters=rows.parameters(),
                raw=rows.raw,
                solution=_best_point(rows, found, dimension),
                identity=identity,
            )

    def _sections(self, name: str) -> list[Section]:
        try:
            return sections(self._tree.read(name))
        except (OSError, ValueError) as error:
            self._report.skip(self._tree.label(name), str(error))
            return []

    def _logged(self, section: Section, name: str) -> Logged | None:
        label = self._tree.label(name)
        try:
            return logged(section, label, self._report)
        except ValueError as error:
            self._report.skip(label, str(error), section.first - 1)
            return None


def _from_json(content: Mapping[str, Any], dimension: int, listed: ListedRun, rows: Logged) -> ParsedRun:
    own, flip = listed.own, bool(content.get("maximization"))
    values = -rows.values if flip else rows.values
    best = None if listed.best is None else -listed.best if flip else listed.best
    if best is not None:
        values = _with_best(rows, values, listed.best_at, best)
    found = trajectory(
        rows.evaluations,
        values,
        spent=max(listed.evaluations, listed.best_at),
        seconds=rows.others.get(SECONDS) if own else None,
    )
    exact = listed.solution if own or found.best == best else None
    function = content["function_name"] if content.get("function_id") is None else content["function_id"]
    name, identity = identified(str(content.get("suite") or ""), str(function), dimension, listed.instance)
    if own.get("instance"):
        name, identity = own["instance"], own.get("problem")
    return ParsedRun(
        name,
        str(as_object(content["algorithm"]).get("name") or content["algorithm"]),
        with_outcome(found, own),
        own.get("seed"),
        own.get("target"),
        own.get("optimum"),
        _with_attributes(rows.parameters(without=SECONDS if own else ""), listed.attributes, found.outcome.evaluations),
        raw=rows.raw and not own,
        solution=_best_point(rows, found, dimension) if exact is None else exact,
        identity=identity,
    )


def _best_point(rows: Logged, found: Trajectory, dimension: int) -> FloatArray | None:
    """The point of the best value as the data files tell it; None if they tell none, or only some coordinates."""
    point = rows.point(int(found.evaluations[-1])) if found.evaluations.size else None
    return point if point is not None and point.size == dimension else None


def _with_best(rows: Logged, values: FloatArray, best_at: int, best: float) -> FloatArray:
    """Logged values with the exact best one; those that rounding put at or below it before are put above it.

    A best value that the rows contradict is left out.
    """
    at = rows.evaluations
    here = np.flatnonzero(at == best_at)
    near, below = _compared(values, best, rows.half_units)
    if not here.size or not near[here[0]] or below.any():
        return values
    exact = np.maximum(values, best)
    lower = (at < best_at) & (values <= best) & np.isfinite(values)
    with np.errstate(over="ignore"):  # above the largest number is infinity
        exact[lower] = np.maximum(values[lower] + rows.half_units[lower], np.nextafter(best, np.inf))
    exact[here] = best
    return exact


def _agrees(listed: ListedRun, rows: Logged) -> bool:
    if listed.best is None:
        return False
    near, _ = _compared(rows.values, listed.best, rows.half_units)
    return bool(near[rows.evaluations == listed.best_at].any())


def _compared(values: FloatArray, exact: float, half_units: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Which rounded values may be that of an exact number, and which are certainly below it."""
    slack = _ROUNDING * half_units
    with np.errstate(invalid="ignore", over="ignore"):  # infinite and huge values are near nothing
        return np.abs(values - exact) <= slack, values + slack < exact


def _with_attributes(logged_: Parameters | None, attributes: Mapping[str, float], spent: int) -> Parameters | None:
    """A run's parameters, and at its end the numbers that were logged once."""
    if not attributes or spent < 1:
        return logged_
    columns: dict[str, FloatArray] = {} if logged_ is None else dict(logged_.values)
    at = np.empty(0, dtype=np.int64) if logged_ is None else logged_.evaluations
    if not at.size or at[-1] != spent:
        at = np.append(at[at < spent], spent)
        columns = {name: np.append(column[: at.size - 1], np.nan) for name, column in columns.items()}
    for name, value in attributes.items():
        columns[name] = np.append(np.full(at.size - 1, np.nan), value)
    return Parameters(at, columns)


def _maximized(entry: Entry, runs: Sequence[Logged]) -> bool:
    """Whether the problem was maximized: as the header says, as the suite is known for, or as the values show."""
    told = entry.get("maximization").lower()
    if told in _TRUE | _FALSE:
        return told in _TRUE
    if entry.get("suite").lower() == "pbo":
        return True
    none = np.empty(0)
    steps = np.concatenate([none, *(np.diff(run.values[np.argsort(run.evaluations, kind="stable")]) for run in runs)])
    return bool((steps > 0).any() and not (steps < 0).any())

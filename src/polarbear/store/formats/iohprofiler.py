"""IOHprofiler's folders: a JSON file for each function, or an ``.info`` file in its first format.

Values are raw function values, minimized: the signs of maximization problems are flipped. The optimum is unknown.
Logged attributes become the run's parameters; of the positions, only that of the best value is read. With two
objectives, the first is the value, and both are among the parameters, as ``F1`` and ``F2``.

The data files round to ten decimals, but the JSON file gives each run's best value and its point exactly; these replace
the rounded ones.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from polarbear.quantities import plural
from polarbear.records import FloatArray, Instance, Parameters, Trajectory
from polarbear.store.formats.archives import beside, decoded
from polarbear.store.formats.info import DataFile, Entry, entries, first_format
from polarbear.store.formats.ioh_dat import Logged, Section, joined, logged, sections
from polarbear.store.formats.parsed_run import ParsedRun, Reader, identified, trajectory, with_outcome

OWN = "polarbear"
"""The key under which `export` stores what the format cannot represent."""
SECONDS = "seconds"
_UNUSABLE = (TypeError, KeyError, ValueError, AttributeError, OverflowError)
"""Exceptions raised if a field is missing or has another type."""
_TRUE = {"t", "true", "1", "yes"}
_FALSE = {"f", "false", "0", "no"}
_ENDINGS = ("dat", "cdat", "tdat", "idat")
_ROUNDING = 1.01
"""Tolerance, in half units of the last digit, for two printed forms of a number to agree."""
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _ListedRun:
    """A run as a JSON file lists it.

    Attributes:
        instance: The instance's number.
        evaluations: Number of evaluations spent.
        best_at: The evaluation that found the best value; 0 if not given.
        best: The exact best value, as it was optimized; None if not given.
        solution: The point of the best value, or the nondominated points, if given.
        attributes: Numbers that were logged once.
        own: The fields that `export` adds.
    """

    instance: str
    evaluations: int
    best_at: int
    best: float | None
    solution: FloatArray | None
    attributes: Mapping[str, float]
    own: Mapping[str, Any]


class IohProfiler(Reader):
    """Reader of JSON files, and of ``.info`` files in the first format."""

    name = "iohprofiler"
    endings = (".info", ".json")

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a file is an index file of IOHprofiler, or was one until it was damaged."""
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
            content = _as_object(json.loads(decoded(data, label, self._report)))
        except ValueError as error:
            line = error.lineno if isinstance(error, json.JSONDecodeError) else None
            self._report.skip(label, f"damaged; the runs it lists are lost: {error}", line)
            return
        scenarios = content.get("scenarios")
        if not isinstance(scenarios, list):
            self._report.skip(label, "no list of 'scenarios'")
            return
        for scenario in cast("list[Any]", scenarios):
            try:
                runs, dimension, path = list(scenario["runs"]), int(scenario["dimension"]), str(scenario["path"])
            except _UNUSABLE as error:
                self._report.skip(label, f"a scenario lacks 'dimension', 'path' or 'runs': {error!r}")
                continue
            for listed, rows in self._scenario(name, path, self._runs(label, content, dimension, runs)):
                try:
                    yield _from_json(content, dimension, listed, rows)
                except _UNUSABLE as error:
                    self._report.skip(label, f"a run of {path} cannot be used: {error!r}")

    def _runs(
        self, label: str, content: Mapping[str, Any], dimension: int, runs: Sequence[Any]
    ) -> list[_ListedRun | None]:
        """The listed runs, with None in place of an unusable one."""
        remark = partial(self._report.remark, label)
        names: Any = content.get("run_attributes")
        attributes = [str(name) for name in cast("list[Any]", names)] if isinstance(names, list) else []
        checked: list[_ListedRun | None] = []
        for run in runs:
            try:
                checked.append(_listed_run(run, attributes, dimension, remark))
            except _UNUSABLE as error:
                self._report.skip(label, f"a listed run cannot be used: {error!r}")
                checked.append(None)
        return checked

    def _scenario(self, name: str, path: str, runs: Sequence[_ListedRun | None]) -> Iterator[tuple[_ListedRun, Logged]]:
        """The runs of a data file with their rows."""
        data = beside(name, path)
        if data is None or data not in self._tree:
            self._report.skip(self._tree.label(name), f"its data file {path} with {plural(runs, 'run')} is missing")
            return
        logs = self._sections(data)
        started = [run for run in runs if run is None or run.evaluations or run.best_at]
        listed = runs if len(logs) == len(runs) else started
        if len(logs) != len(listed):
            self._report.skip(
                self._tree.label(data),
                f"it holds {plural(logs, 'run')}, but the .json file lists {len(listed)}; those that agree are kept",
            )
        for run, section in zip(listed, logs, strict=False):
            rows = self._logged(section, data)
            if run is not None and rows is not None and (len(logs) == len(listed) or _agrees(run, rows)):
                yield run, rows

    def _entry(self, info: str, entry: Entry) -> Iterator[ParsedRun]:
        for file in entry.files:
            stem = beside(info, posixpath.splitext(file.path)[0])
            names = [f"{stem}.{ending}" for ending in _ENDINGS if stem and f"{stem}.{ending}" in self._tree]
            if not names:
                self._report.skip(self._tree.label(info), f"its data file {file.path} is missing", entry.line)
                continue
            yield from self._from_info(entry, file, names)

    def _from_info(self, entry: Entry, file: DataFile, names: Sequence[str]) -> Iterator[ParsedRun]:
        files = {name: self._sections(name) for name in names}
        for name, logs in files.items():
            if len(logs) != len(file.runs):
                self._report.skip(
                    self._tree.label(name),
                    f"it holds {plural(logs, 'run')}, but the .info file lists {len(file.runs)}; the first are kept",
                )
        runs: list[Logged] = []
        for position in range(len(file.runs)):
            parts = [
                rows
                for name, logs in files.items()
                if position < len(logs) and (rows := self._logged(logs[position], name)) is not None
            ]
            if parts:
                runs.append(joined(parts))
        flip = _maximized(entry, runs)
        for listed, rows in zip(file.runs, runs, strict=False):
            spent = max(int(rows.evaluations.max(initial=0)), listed.evaluations or 0)
            best_so_far = trajectory(rows.evaluations, -rows.values if flip else rows.values, spent=spent)
            name, identity = identified(entry.get("suite"), entry.get("funcId"), entry.dimension, str(listed.instance))
            yield ParsedRun(
                name,
                entry.algorithm or posixpath.basename(self._tree.path),
                best_so_far,
                parameters=rows.parameters(),
                raw=rows.raw,
                solution=_best_point(rows, best_so_far, entry.dimension),
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


def _from_json(content: Mapping[str, Any], dimension: int, listed: _ListedRun, rows: Logged) -> ParsedRun:
    own, flip = listed.own, bool(content.get("maximization"))
    values = -rows.values if flip else rows.values
    best = None if listed.best is None else -listed.best if flip else listed.best
    if best is not None:
        values = _with_best(rows, values, listed.best_at, best)
    best_so_far = trajectory(
        rows.evaluations,
        values,
        spent=max(listed.evaluations, listed.best_at),
        seconds=rows.others.get(SECONDS) if own else None,
    )
    exact = listed.solution if own or best_so_far.best == best else None
    function = content["function_name"] if content.get("function_id") is None else content["function_id"]
    name, identity = identified(str(content.get("suite") or ""), str(function), dimension, listed.instance)
    parameters = rows.parameters(without=SECONDS if own else "")
    if own.get("instance"):
        name, identity = own["instance"], own.get("problem")
    return ParsedRun(
        name,
        str(_as_object(content["algorithm"]).get("name") or content["algorithm"]),
        with_outcome(best_so_far, own),
        own.get("seed"),
        own.get("target"),
        own.get("optimum"),
        _with_attributes(parameters, listed.attributes, best_so_far.outcome.evaluations),
        raw=rows.raw and not own,
        solution=_best_point(rows, best_so_far, dimension) if exact is None else exact,
        identity=identity,
    )


def _best_point(rows: Logged, best_so_far: Trajectory, dimension: int) -> FloatArray | None:
    """The point of the best value in the data files; None if they lack it or some of its coordinates."""
    point = rows.point(int(best_so_far.evaluations[-1])) if best_so_far.evaluations.size else None
    return point if point is not None and point.size == dimension else None


def _with_best(rows: Logged, values: FloatArray, best_at: int, best: float) -> FloatArray:
    """Logged values with the exact best one; earlier ones that rounding put at or below it are moved above it.

    A best value that the rows contradict is ignored.
    """
    at = rows.evaluations
    here = np.flatnonzero(at == best_at)
    near, below = _compared(values, best, rows.half_units)
    if not here.size or not near[here[0]] or below.any():
        return values
    exact = np.maximum(values, best)
    lower = (at < best_at) & (values <= best) & np.isfinite(values)
    with np.errstate(over="ignore"):  # infinity follows the largest number
        exact[lower] = np.maximum(values[lower] + rows.half_units[lower], np.nextafter(best, np.inf))
    exact[here] = best
    return exact


def _agrees(listed: _ListedRun, rows: Logged) -> bool:
    if listed.best is None:
        return False
    near, _ = _compared(rows.values, listed.best, rows.half_units)
    return bool(near[rows.evaluations == listed.best_at].any())


def _compared(values: FloatArray, exact: float, half_units: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Masks of the rounded values that may equal an exact number, and of those certainly below it."""
    slack = _ROUNDING * half_units
    with np.errstate(invalid="ignore", over="ignore"):  # infinite and huge values are near nothing
        return np.abs(values - exact) <= slack, values + slack < exact


def _with_attributes(parameters: Parameters | None, attributes: Mapping[str, float], spent: int) -> Parameters | None:
    """A run's parameters, with the numbers that were logged once added at the end."""
    if not attributes or spent < 1:
        return parameters
    columns: dict[str, FloatArray] = {} if parameters is None else dict(parameters.values)
    at = np.empty(0, dtype=np.int64) if parameters is None else parameters.evaluations
    if not at.size or at[-1] != spent:
        at = np.append(at[at < spent], spent)
        columns = {name: np.append(column[: at.size - 1], np.nan) for name, column in columns.items()}
    for name, value in attributes.items():
        columns[name] = np.append(np.full(at.size - 1, np.nan), value)
    return Parameters(at, columns)


def _maximized(entry: Entry, runs: Sequence[Logged]) -> bool:
    """Whether the problem was maximized, according to its header, its suite, or its values."""
    maximization = entry.get("maximization").lower()
    if maximization in _TRUE | _FALSE:
        return maximization in _TRUE
    if entry.get("suite").lower() == "pbo":
        return True
    none = np.empty(0)
    steps = np.concatenate([none, *(np.diff(run.values[np.argsort(run.evaluations, kind="stable")]) for run in runs)])
    return bool((steps > 0).any() and not (steps < 0).any())


def _listed_run(run: Any, attributes: Sequence[str], dimension: int, remark: Callable[[str], None]) -> _ListedRun:
    """Check an entry of a list of runs; raise one of `_UNUSABLE` if a field is missing or has another type.

    Args:
        run: The entry.
        attributes: Names of numbers that were logged once.
        dimension: Number of variables; 0 if unknown.
        remark: A function called if the best point is invalid; the run is read without it.
    """
    best, own = _as_object(run.get("best")), _as_object(run.get(OWN))
    logged_once = {name: run.get(name) for name in attributes}
    types: dict[str, Callable[[Any], Any]] = {
        "instance": str,
        "problem": _problem,
        "seed": int,
        "target": float,
        "optimum": float,
    }
    return _ListedRun(
        instance=str(run["instance"]),
        evaluations=int(run.get("evals") or 0),
        best_at=int(best.get("evals") or 0),
        best=None if best.get("y") is None else float(best["y"]),
        solution=_points(own.get("solution", best.get("x")), dimension, remark),
        attributes={name: float(value) for name, value in logged_once.items() if isinstance(value, int | float)},
        own={**own, **{name: kind(own[name]) for name, kind in types.items() if own.get(name) is not None}},
    )


def _points(values: Any, dimension: int, remark: Callable[[str], None]) -> FloatArray | None:
    """A point or points from lists of numbers; None for an empty list, which runs without a point have."""
    if values is None or values == []:
        return None
    try:
        points = np.array(values, dtype=np.float64)
        if points.ndim in (1, 2) and points.shape[-1] == (dimension or points.shape[-1]) and not np.isnan(points).any():
            return points
    except (ValueError, TypeError, OverflowError):
        pass  # remarked below
    remark(f"the best point of a run is {values!r:.60}; it is read without one")
    return None


def _problem(fields: list[Any]) -> Instance:
    suite, function, dimension, instance = fields
    return Instance(str(suite), str(function), int(dimension), str(instance))


def _as_object(content: Any) -> Mapping[str, Any]:
    """A JSON object; an empty one in place of anything else."""
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}

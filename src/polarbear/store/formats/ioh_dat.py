"""IOHprofiler's data files: runs one after another, each below a line with the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polarbear.quantities import plural
from polarbear.records import FloatArray, IntArray, Parameters
from polarbear.store.formats.parsed_run import MOST
from polarbear.store.formats.reports import Report

EVALUATIONS = ("evaluations", "function evaluation", "function evaluations")
VALUES = (
    "best-so-far f(x)",
    "raw_y_best",
    "raw_y",
    "current f(x)",
    "f(x)",
    "transformed_y_best",
    "transformed_y",
)
"""The columns with the value, the preferred one first."""
RESERVED = frozenset({*EVALUATIONS, *VALUES, "current af(x)+b", "best af(x)+b", "current_y", "current_y_best"})
"""Columns that are not parameters."""
_CURRENT = {"best-so-far f(x)": "current f(x)", "raw_y_best": "raw_y", "transformed_y_best": "transformed_y"}
"""The columns of current values by those of best-so-far values."""
_POSITION = re.compile(r"x_?\d+")
_FURTHER = re.compile(r"[Ff]2|raw_y2")
_NOTHING = {b"", b"None", b"NA", b"null", b"-"}
_NUMERIC = b"0123456789+-."
_QUOTED = re.compile(rb'"([^"]*)"')


@dataclass(slots=True)
class Section:
    """One run's rows in a data file.

    Attributes:
        names: The columns' names.
        rows: The lines.
        first: The line number of the first row.
        ended: Whether the last row ends with a line feed, as it does unless the file was cut off.
    """

    names: list[str]
    first: int
    rows: list[bytes] = field(default_factory=list[bytes])
    ended: bool = True


@dataclass(frozen=True, slots=True)
class Positions:
    """The points of a section, of which only the best one is parsed.

    Attributes:
        evaluations: (n,) the evaluation at which each row was logged.
        own: (n,) whether a row's value is certainly that of its own point, not the best value of an earlier one.
        lines: The rows.
        columns: Indices of the columns of the coordinates.
    """

    evaluations: IntArray
    own: NDArray[np.bool_]
    lines: list[bytes]
    columns: list[int]

    def at(self, evaluation: int) -> FloatArray | None:
        """The point of a row whose value is its own; None if there is none or it is incomplete."""
        for row in np.flatnonzero(self.own & (self.evaluations == evaluation)).tolist():
            cells = self.lines[row].split()
            point = np.array([_number(cells, i) for i in self.columns])
            if not np.isnan(point).any():
                return point
        return None


@dataclass(frozen=True, slots=True)
class Logged:
    """The data of a section.

    Attributes:
        evaluations: (n,) the evaluation at which each row was logged.
        values: (n,) the function value or the best so far.
        others: Further columns by name, (n,) each; NaN where nothing was logged.
        half_units: (n,) half a unit of each value's last printed digit, the largest possible rounding error.
        raw: Whether the values are those before the instance's transformation.
        positions: The points, one entry per file.
    """

    evaluations: IntArray
    values: FloatArray
    others: dict[str, FloatArray]
    half_units: FloatArray
    raw: bool
    positions: tuple[Positions, ...] = ()

    def point(self, evaluation: int) -> FloatArray | None:
        """(d,) the point of an evaluation's value; None if it is unknown."""
        points = (positions.at(evaluation) for positions in self.positions)
        return next((point for point in points if point is not None), None)

    def parameters(self, *, without: str = "") -> Parameters | None:
        """The further columns, except one, where anything was logged in them; None if nothing was."""
        names = [name for name in self.others if name != without]
        if not names or not self.evaluations.size:
            return None
        order = np.argsort(self.evaluations, kind="stable")
        table = np.column_stack([self.others[name] for name in names])[order]
        at = self.evaluations[order]
        logged = ~np.isnan(table).all(axis=1) & np.append(at[1:] != at[:-1], True)
        return Parameters(at[logged], dict(zip(names, table[logged].T, strict=True))) if logged.any() else None


def sections(data: bytes) -> list[Section]:
    """The runs of a data file; none if it contains numbers without column names."""
    runs: list[Section] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        stripped = line.strip()
        if not stripped:
            continue
        if stripped[:1] not in _NUMERIC:
            runs.append(Section(_names(stripped), number + 1))
        elif runs:
            runs[-1].rows.append(line)
        else:
            return []
    if runs:
        runs[-1].ended = data.endswith(b"\n")
    return runs


def logged(section: Section, label: str, report: Report) -> Logged:
    """Read a section; unreadable lines are left out and reported.

    Raises:
        ValueError: If it has no column of evaluations or no column of values.
    """
    at = _column(section.names, EVALUATIONS, "evaluations")
    value = _column(section.names, VALUES, "function values")
    wanted = {name: i for i, name in enumerate(section.names) if name not in RESERVED and not _POSITION.fullmatch(name)}
    if any(_FURTHER.fullmatch(name) for name in wanted):
        wanted.setdefault("F1", value)  # two objectives: the first one of each row, besides the second
    needed = 1 + max(i for i, name in enumerate(section.names) if not _POSITION.fullmatch(name))
    positions = [i for i, name in enumerate(section.names) if _POSITION.fullmatch(name)]
    current = _CURRENT.get(section.names[value], section.names[value])
    at_hand = section.names.index(current) if current in section.names else None
    table: list[list[float]] = []
    evaluations: list[int] = []
    lines: list[bytes] = []
    own: list[bool] = []
    for number, line in enumerate(section.rows, start=section.first):
        cells = line.split()
        try:
            when, y = float(cells[at]), float(cells[value])
            if not section.ended and number - section.first == len(section.rows) - 1:
                raise ValueError("the last line does not end with a newline, so it may be cut off")
            if len(cells) < needed:
                raise ValueError(f"{len(cells)} of {len(section.names)} columns")
            if not (1 <= when <= MOST and when.is_integer()):
                raise ValueError(f"{cells[at].decode(errors='replace')!r} is not a number of evaluations")
            row = [y, _half_unit(cells[value]), *(_number(cells, i) for i in wanted.values())]
        except (ValueError, IndexError) as error:
            why = str(error) if isinstance(error, ValueError) else f"{plural(cells, 'column')}: the line is cut off"
            report.skip(label, why, number)
            continue
        if positions:
            follows = when == 1 or (bool(evaluations) and evaluations[-1] == when - 1)
            own.append(follows if at_hand is None else _number(cells, at_hand) == y)
            lines.append(line)
        evaluations.append(int(when))
        table.append(row)
    array = np.array(table, dtype=np.float64).reshape(len(table), len(wanted) + 2)
    others = {name: array[:, i + 2] for i, name in enumerate(wanted)}
    raw = not section.names[value].startswith("transformed")
    at_rows = np.array(evaluations, dtype=np.int64)
    where = (Positions(at_rows, np.array(own, dtype=bool), lines, positions),) if positions else ()
    return Logged(at_rows, array[:, 0], others, array[:, 1], raw, where)


def joined(parts: Sequence[Logged]) -> Logged:
    """The combined rows of several data files of one run."""
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.others))
    return Logged(
        np.concatenate([part.evaluations for part in parts]),
        np.concatenate([part.values for part in parts]),
        {
            name: np.concatenate([part.others.get(name, np.full(part.values.size, np.nan)) for part in parts])
            for name in names
        },
        np.concatenate([part.half_units for part in parts]),
        all(part.raw for part in parts),
        tuple(positions for part in parts for positions in part.positions),
    )


def _names(header: bytes) -> list[str]:
    names: list[bytes] = _QUOTED.findall(header) if header.startswith(b'"') else header.split()
    return [name.decode("utf-8", "backslashreplace").strip() for name in names]


def _column(names: Sequence[str], known: Sequence[str], what: str) -> int:
    for name in known:
        if name in names:
            return names.index(name)
    raise ValueError(
        f"no column of {what} among {', '.join(map(repr, names))}; its name must be one of {', '.join(known)}"
    )


def _number(cells: Sequence[bytes], i: int) -> float:
    if i >= len(cells) or cells[i] in _NOTHING:
        return np.nan
    try:
        return float(cells[i])
    except ValueError:
        return np.nan  # text, such as the name of an operator


def _half_unit(cell: bytes) -> float:
    """Half a unit of a number's last digit."""
    mantissa, _, exponent = cell.lower().partition(b"e")
    fraction = mantissa.partition(b".")[2]
    return 0.5 * float(f"1e{(int(exponent) if exponent else 0) - len(fraction)}")

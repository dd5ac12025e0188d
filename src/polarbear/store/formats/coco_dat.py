"""COCO's data files: runs one after another, each below comment lines, with one logged evaluation per line.

If a file contains more or fewer runs than its ``.info`` file lists, they are matched by how they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from polarbear.store.formats.info import Listed
from polarbear.store.formats.parsed_run import MOST
from polarbear.store.formats.reports import Report

_DIGITS = 0.06
"""Relative rounding error of final values, which are listed with two digits."""
_STEP = 10**-0.2
"""Largest ratio by which the last .dat row may exceed the final value, as the next target was not hit."""


@dataclass(slots=True)
class Block:
    """One run's rows in a data file.

    Attributes:
        comments: The comment lines above the rows.
        rows: The lines.
        first: The line number of the first row, or of the first comment.
        headed: Whether a comment has named the columns.
        width: Number of columns of the rows: that of the file's widest first row or, if that is the only row and may
            itself be cut off, at least the number of columns that the comment names, without the coordinates.
        ended: Whether the last row ends with a line feed, as it does unless the file was cut off.
    """

    comments: list[bytes] = field(default_factory=list[bytes])
    rows: list[bytes] = field(default_factory=list[bytes])
    first: int = 1
    headed: bool = False
    width: int = 0
    ended: bool = True

    @property
    def instance(self) -> int | None:
        """The instance's number, if the comments give it."""
        for comment in self.comments:
            if comment.startswith(b"% instance ="):
                number = comment.partition(b"=")[2].partition(b",")[0].strip()
                return int(number) if number.isdigit() else None
        return None


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns to read.

    Attributes:
        value: Index of the best value so far.
        constraints: Index of the evaluations of constraints, which count as well; None if there is no such column.
    """

    value: int
    constraints: int | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """The data of a block.

    Attributes:
        evaluations: The evaluation at which each row was logged, including evaluations of constraints.
        values: The best value so far in each row.
        whole: Whether every line could be read.
    """

    evaluations: list[int]
    values: list[float]
    whole: bool = True


def layout(block: Block, data_format: str, *, indicator: bool) -> Layout:
    """The columns of a block, according to its own comments or else the ``.info`` file."""
    comments = b"\n".join(block.comments)
    if b"indicator value" in comments or (not block.headed and indicator):
        return Layout(1)
    if b"g evaluations" in comments or (not block.headed and data_format.startswith("bbob-new")):
        return Layout(2, 1)
    return Layout(2)


def blocks(data: bytes) -> list[Block]:
    """The runs of a data file, including empty ones."""
    runs: list[Block] = []
    block = Block()
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.startswith(b"%"):
            if block.rows or block.headed:
                runs.append(block)
                block = Block()
            block.comments.append(line)
            block.headed = b"evaluation" in line
            block.width = line.partition(b"| x1")[0].count(b"|") + 1 if block.headed else 0
            block.first = number
        elif line and not line.isspace():
            if not block.rows:
                block.first = number
            block.rows.append(line)
    if block.rows or block.comments:
        runs.append(block)
    block.ended = data.endswith(b"\n")
    filled = [run for run in runs if run.rows]
    width = max((len(run.rows[0].split()) for run in filled), default=0)
    for run in filled:
        run.width = max(width, run.width) if len(filled) == len(run.rows) == 1 else width
    return runs


def rows(block: Block, columns: Layout, label: str, report: Report) -> Rows:
    """Read a block; lines that cannot be read are left out and reported."""
    try:
        cells = [line.split(None, columns.value + 1) for line in block.rows]
        evaluations = [int(row[0]) for row in cells]
        if columns.constraints is not None:
            evaluations = [at + int(row[columns.constraints]) for at, row in zip(evaluations, cells, strict=True)]
        values = [float(row[columns.value]) for row in cells]
    except (ValueError, IndexError):
        return _row_by_row(block, columns, label, report)
    if evaluations:
        cut_off = len(block.rows[-1].split()) < block.width or not block.ended
        if cut_off or min(evaluations) < 1 or max(evaluations) > MOST:
            return _row_by_row(block, columns, label, report)
    return Rows(evaluations, values)


def match_by_end(runs: Sequence[Listed], logged: Sequence[Rows], precision: float, *, ended: bool) -> dict[int, int]:
    """Match the runs of a data file to more or fewer listed runs by how they end.

    Args:
        runs: The listed runs.
        logged: The runs of the data file, in the order of the list.
        precision: The final target precision, which old data subtract from the listed values.
        ended: Whether the last row of a run is its end, as in ``.tdat`` files.

    Returns:
        The positions in `logged` by positions in `runs`. The last one may be a run cut off by the end of the file.
    """
    matched: dict[int, int] = {}
    start = 0
    for number, rows in enumerate(logged):
        position = next((i for i in range(start, len(runs)) if _agrees(runs[i], rows, precision, ended)), None)
        may_be_cut = number == start == len(logged) - 1 < len(runs)
        if position is None and may_be_cut and _begins(runs[start], rows, precision):
            position = start
        if position is not None:
            matched[position] = number
            start = position + 1
    return matched


def contradicted(hits: Rows, times: Rows, tolerance: float) -> list[int]:
    """The ``.tdat`` rows with a better value than the ``.dat`` file still has at that evaluation or later.

    Both files contain the best value so far, so that one of them is wrong. Beyond the end of the ``.dat`` rows, nothing
    is contradicted: they may be cut off.

    Args:
        hits: The ``.dat`` rows of a run.
        times: The ``.tdat`` rows of the run.
        tolerance: The relative rounding error of the written digits.
    """
    order = np.argsort(hits.evaluations, kind="stable")
    at, best = np.array(hits.evaluations, dtype=np.int64)[order], np.array(hits.values, dtype=np.float64)[order]
    following = np.searchsorted(at, np.array(times.evaluations, dtype=np.int64))
    later = np.append(best, -np.inf)[following]
    with np.errstate(over="ignore"):
        rounded = later * (1 - tolerance * np.sign(later))
    return np.flatnonzero(np.array(times.values) < rounded).tolist()


def _row_by_row(block: Block, columns: Layout, label: str, report: Report) -> Rows:
    evaluations: list[int] = []
    values: list[float] = []
    last = block.first + len(block.rows) - 1
    for number, line in enumerate(block.rows, start=block.first):
        row, why = line.split(), ""
        unended = number == last and not block.ended and (len(row) <= columns.value + 1 or len(block.rows) == 1)
        try:
            at = float(row[0]) + (0 if columns.constraints is None else float(row[columns.constraints]))
            value = float(row[columns.value])
            if len(row) < block.width or unended:
                why = f"{len(row)} of {block.width} columns: the line is cut off"
            elif not (1 <= at <= MOST and at.is_integer()):
                why = f"{row[0].decode(errors='replace')!r} is not a number of evaluations"
        except (ValueError, IndexError):
            why, at, value = f"not a row of numbers: {line[:60].decode(errors='replace')!r}", 0.0, 0.0
        if why:
            report.skip(label, why, number)
        else:
            evaluations.append(int(at))
            values.append(value)
    return Rows(evaluations, values, whole=len(values) == len(block.rows))


def _agrees(listed: Listed, rows: Rows, precision: float, ended: bool) -> bool:
    if listed.evaluations is None or listed.final is None or not rows.values:
        return False
    best, last = min(rows.values), rows.evaluations[-1]
    slack = _DIGITS * abs(best) + 1.1 * precision
    if ended:
        return last == listed.evaluations and abs(listed.final - best) <= slack
    lowest = best * _STEP if best > precision else -precision
    return last <= listed.evaluations and lowest - slack <= listed.final <= best + slack


def _begins(listed: Listed, rows: Rows, precision: float) -> bool:
    """Whether rows may be the beginning of a run."""
    if listed.evaluations is None or listed.final is None or not rows.values:
        return False
    best = min(rows.values)
    return rows.evaluations[-1] <= listed.evaluations and listed.final <= best + _DIGITS * abs(best) + precision

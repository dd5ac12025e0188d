"""COCO's data files: runs one after the other, each under comment lines, one logged evaluation a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from polarbear.store.formats.parsed_run import MOST
from polarbear.store.formats.reports import Report


@dataclass(slots=True)
class Block:
    """One run's rows in a data file.

    Attributes:
        comments: The comment lines above them.
        rows: The lines.
        first: The line number of the first row, or of the first comment.
        headed: Whether a comment has named the columns.
        width: How many columns its rows have: those of the file's widest first row, or, where that is the only row
            and itself may be cut, at least those that the comment names, but for the coordinates.
        ended: Whether its last row ends with a line feed, as it does unless the file was cut off.
    """

    comments: list[bytes] = field(default_factory=list[bytes])
    rows: list[bytes] = field(default_factory=list[bytes])
    first: int = 1
    headed: bool = False
    width: int = 0
    ended: bool = True

    @property
    def instance(self) -> int | None:
        """The instance's number, where the comments tell it."""
        for comment in self.comments:
            if comment.startswith(b"% instance ="):
                number = comment.partition(b"=")[2].partition(b",")[0].strip()
                return int(number) if number.isdigit() else None
        return None


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns to read.

    Attributes:
        value: The best value so far.
        constraints: Evaluations of the constraints, which count as well; None if there is no such column.
    """

    value: int
    constraints: int | None = None


def layout(block: Block, data_format: str, *, indicator: bool) -> Layout:
    """The columns of a block: by its own comments, else by what the ``.info`` file says."""
    comments = b"\n".join(block.comments)
    if b"indicator value" in comments or (not block.headed and indicator):
        return Layout(1)
    if b"g evaluations" in comments or (not block.headed and data_format.startswith("bbob-new")):
        return Layout(2, 1)
    return Layout(2)


def blocks(data: bytes) -> list[Block]:
    """The runs of a data file, empty ones included."""
    found: list[Block] = []
    block = Block()
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.startswith(b"%"):
            if block.rows or block.headed:
                found.append(block)
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
        found.append(block)
    block.ended = data.endswith(b"\n")
    filled = [each for each in found if each.rows]
    width = max((len(each.rows[0].split()) for each in filled), default=0)
    for each in filled:
        each.width = max(width, each.width) if len(filled) == len(each.rows) == 1 else width
    return found


@dataclass(frozen=True, slots=True)
class Rows:
    """What a block tells.

    Attributes:
        evaluations: When each row was logged, evaluations of constraints included.
        values: The best value so far.
        whole: Whether every line could be read.
    """

    evaluations: list[int]
    values: list[float]
    whole: bool = True


def rows(block: Block, columns: Layout, label: str, report: Report) -> Rows:
    """Read a block; lines that cannot be read are left out and reported."""
    try:
        cells = [line.split(None, columns.value + 1) for line in block.rows]
        evaluations = [int(row[0]) for row in cells]
        if columns.constraints is not None:
            evaluations = [at + int(row[columns.constraints]) for at, row in zip(evaluations, cells, strict=True)]
        values = [float(row[columns.value]) for row in cells]
    except (ValueError, IndexError):
        return _one_by_one(block, columns, label, report)
    if evaluations and (min(evaluations) < 1 or max(evaluations) > MOST or _cut_off(block)):
        return _one_by_one(block, columns, label, report)
    return Rows(evaluations, values)


def _cut_off(block: Block) -> bool:
    """Whether the last line may lack something: columns that others have, or digits of its value."""
    return len(block.rows[-1].split()) < block.width or not block.ended


def _one_by_one(block: Block, columns: Layout, label: str, report: Report) -> Rows:
    evaluations: list[int] = []
    values: list[float] = []
    last = block.first + len(block.rows) - 1
    for number, line, row in _numbered(block):
        unended = number == last and not block.ended and (len(row) <= columns.value + 1 or len(block.rows) == 1)
        why = ""
        try:
            at = float(row[0]) + (0 if columns.constraints is None else float(row[columns.constraints]))
            value = float(row[columns.value])
            if len(row) < block.width or unended:
                why = f"{len(row)} columns of {block.width}: the line is cut off"
            elif not (1 <= at <= MOST and at.is_integer()):
                why = f"{row[0].decode(errors='replace')!r} is no number of evaluations"
        except (ValueError, IndexError):
            why, at, value = f"no row of numbers: {line[:60].decode(errors='replace')!r}", 0.0, 0.0
        if why:
            report.skip(label, why, number)
        else:
            evaluations.append(int(at))
            values.append(value)
    return Rows(evaluations, values, whole=len(values) == len(block.rows))


def _numbered(block: Block) -> Iterator[tuple[int, bytes, list[bytes]]]:
    for offset, line in enumerate(block.rows):
        yield block.first + offset, line, line.split()

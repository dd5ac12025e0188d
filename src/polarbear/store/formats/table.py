"""Tables with one row per improvement or evaluation: CSV and Parquet. `docs/reference/formats.md` lists the columns."""

from __future__ import annotations

import io
import math
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.records import FloatArray, IntArray, Outcome, Reason, Trajectory
from polarbear.store import parts
from polarbear.store.formats.found import MOST, Found, checked, instance_name
from polarbear.store.formats.frames import LINE, Lines, columns_of, frames_of
from polarbear.store.formats.reports import Report
from polarbear.store.formats.spreadsheets import restored
from polarbear.store.formats.trees import Tree

if TYPE_CHECKING:
    import polars as pl

ROW = ("evaluations", "value", "seconds")
KEY = ("algorithm", "instance", "seed")
RUN = ("target", "optimum", "reason", "evaluations_spent", "seconds_spent", "message", "invalid_evaluations")
PROBLEM = ("suite", "function", "dimension")
COLUMNS = (*KEY, *PROBLEM, *RUN, *ROW)
"""All columns that are read, in polarbear's names."""
REQUIRED = ("evaluations", "value")
_INTEGERS = ("evaluations", "evaluations_spent", "seed", "dimension", "invalid_evaluations")
_FLOATS = ("value", "seconds", "seconds_spent", "target", "optimum")
_OPTIONAL = ("target", "optimum", "seconds_spent")
"""Numbers of a run that are not known where they are NaN."""
_ALWAYS = ("reason", "evaluations_spent", "seconds_spent", "message", "traceback", "invalid_evaluations")
_MAGIC = b"PAR1"


class Tables:
    """Reads CSV and Parquet files.

    Args:
        tree: Where they lie.
        report: What is skipped goes there.
        columns: Which of a file's columns stands for which of `COLUMNS`, where they are not named alike.
        maximize: Whether values are to be maximized; their signs are flipped.

    Raises:
        ValueError: If `columns` maps what is no column.
    """

    name = "table"

    def __init__(self, tree: Tree, report: Report, columns: Mapping[str, str], *, maximize: bool) -> None:
        unknown = sorted(columns.keys() - set(COLUMNS))
        if unknown:
            raise ValueError(f"columns maps {unknown[0]!r}; what can be mapped is {', '.join(COLUMNS)}")
        self._tree = tree
        self._report = report
        self._columns = columns
        self._maximize = maximize

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a file is a Parquet file, or a CSV file whose first line names a table's columns."""
        if name.endswith(".parquet") or data.startswith(_MAGIC):
            return True
        if not name.endswith((".csv", ".tsv", ".txt")):
            return False
        wanted = {self._columns.get(column, column) for column in REQUIRED}
        return wanted <= set(columns_of(data)) or (name.endswith(".csv") and bool(self._columns))

    def read(self, name: str, data: bytes) -> Iterator[Found]:
        """The runs of a file."""
        import polars as pl

        label, stem = self._tree.label(name), posixpath.basename(name).rpartition(".")[0]
        try:
            if data.startswith(_MAGIC) or name.endswith(".parquet"):
                if isinstance(pl.read_parquet_schema(io.BytesIO(data)).get("values"), pl.List):
                    yield from _part(data, label, self._report)
                    return
                frame = pl.read_parquet(io.BytesIO(data)).with_row_index(LINE, offset=1)
                frames = iter([_renamed(frame, self._columns)])
            else:
                pieces = frames_of(data, label, self._report)
                frames = (restored(_renamed(piece, self._columns)) for piece in pieces)
            damage = Lines(label, self._report)
            tables = [_typed(frame, stem, damage) for frame in frames]
            damage.end()
            if tables:
                yield from _runs(pl.concat(tables), label, stem, self._report, self._maximize)
        except (pl.exceptions.PolarsError, OSError) as error:
            kind = "Parquet" if data.startswith(_MAGIC) or name.endswith(".parquet") else "CSV"
            self._report.skip(label, f"it cannot be read as {kind}: {error}")
        except ValueError as error:
            self._report.skip(label, str(error))


def _part(data: bytes, label: str, report: Report) -> Iterator[Found]:
    """The runs of a part of a study."""
    import polars as pl

    table = parts.decode_table(data)
    empty = table.select(pl.any_horizontal(pl.col(*_ALWAYS).is_null())).to_series()
    for row in empty.arg_true():
        report.skip(label, f"run {row + 1} lacks one of {', '.join(_ALWAYS)}")
    for run in parts.runs_of(table, (~empty).arg_true().to_list()):
        key = run.key
        yield Found(key.instance, key.algorithm, run.trajectory, key.seed, run.target, run.optimum, run.parameters)


def _renamed(frame: pl.DataFrame, renamed: Mapping[str, str]) -> pl.DataFrame:
    there = [name for name in frame.columns if name != LINE]
    for ours, theirs in renamed.items():
        if theirs not in there:
            raise ValueError(f"columns maps {ours!r} to {theirs!r}, but the columns are {', '.join(there)}")
    shadowed = [
        ours for ours, theirs in renamed.items() if ours in there and ours != theirs and ours not in renamed.values()
    ]
    frame = frame.drop(shadowed).rename({theirs: ours for ours, theirs in renamed.items()})
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        raise ValueError(
            f"there is no column {missing[0]!r} among {', '.join(there)}; tell which one it is: "
            f"columns={{{missing[0]!r}: …}}"
        )
    return frame


def _typed(frame: pl.DataFrame, stem: str, damage: Lines) -> pl.DataFrame:
    """The known columns as numbers and text, without rows whose numbers cannot be."""
    import polars as pl

    there = [name for name in COLUMNS if name in frame.columns]
    numbers = [name for name in there if name in (*_INTEGERS, *_FLOATS)]
    table = frame.select(
        LINE,
        *(_whole(pl.col(name)) for name in numbers if name in _INTEGERS),
        *(pl.col(name).cast(pl.Float64, strict=False) for name in numbers if name in _FLOATS),
        *(pl.col(name).cast(pl.String) for name in there if name not in numbers),
    )
    possible = {
        "evaluations": pl.col("evaluations").is_between(1, MOST),
        "seconds": pl.col("seconds").is_between(0, math.inf, closed="left"),
    }
    refused = pl.DataFrame(
        {
            name: (table[name].is_null() & frame.select(_given(pl.col(name))).to_series())
            | ~table.select(possible.get(name, pl.lit(value=True)).fill_null(value=True).alias(name)).to_series()
            for name in numbers
        }
    )
    half = table["evaluations"].is_null() != table["value"].is_null()
    wrong = refused.select(pl.any_horizontal(pl.all())).to_series() | half
    for row in wrong.arg_true().to_list():
        cells = [f"{name} is {frame[row, name]!r}" for name in numbers if refused[row, name]]
        damage.skip(frame[row, LINE], ", ".join(cells) or "one of evaluations and value is missing")
    if "algorithm" not in there:
        table = table.with_columns(algorithm=pl.lit(stem))
    return table.filter(~wrong)


def _given(column: pl.Expr) -> pl.Expr:
    import polars as pl

    return column.is_not_null() & (column.cast(pl.String, strict=False) != "").fill_null(value=True)


def _whole(column: pl.Expr) -> pl.Expr:
    """A column as whole numbers; null where they are not."""
    import polars as pl

    number = column.cast(pl.Float64, strict=False)
    return pl.coalesce(
        column.cast(pl.Int64, strict=False),
        pl.when(number == number.round()).then(number.cast(pl.Int64, strict=False)),
    )


def _runs(table: pl.DataFrame, label: str, stem: str, report: Report, maximize: bool) -> Iterator[Found]:
    """The runs of a table, in the order in which they begin."""
    import polars as pl

    keys = [name for name in (*KEY, *PROBLEM) if name in table.columns]
    begins = table.select(pl.col(LINE).first().over(keys)).to_series()
    about = table.filter(pl.col(LINE) == begins).drop(*(name for name in ROW if name in table.columns))
    about = about.with_columns(pl.col(name).fill_nan(None) for name in _OPTIONAL if name in about.columns)
    best = _BestSoFar.of(table, begins.to_numpy(), maximize=maximize)
    damage, short = Lines(label, report), _Remark(label, report)
    for number, row in enumerate(about.iter_rows(named=True)):
        try:
            run = checked(_run(row, best, number, stem))
        except (ValueError, OverflowError) as error:
            damage.skip(row[LINE], f"a run cannot be used: {error}")
            continue
        spent, rows_end = row.get("evaluations_spent"), run.trajectory.outcome.evaluations
        if spent is not None and spent < rows_end:
            short.add(row[LINE], f"it ended after {spent} evaluations, but it has rows until {rows_end}")
        yield run
    damage.end()
    short.end("the rows count")


class _Remark:
    """Counts runs of which something is to be borne in mind, and names the first."""

    def __init__(self, label: str, report: Report) -> None:
        self._label = label
        self._report = report
        self._first: tuple[int, str] | None = None
        self._more = 0

    def add(self, line: int, what: str) -> None:
        """Note a run that begins in this line."""
        if self._first is None:
            self._first = line, what
        else:
            self._more += 1

    def end(self, kept: str) -> None:
        """Report them together."""
        if self._first is not None:
            line, what = self._first
            more = f", and so it is with {self._more:,} more" if self._more else ""
            self._report.remark(self._label, f"of a run is told that {what}{more}; {kept}", line)


@dataclass(frozen=True, slots=True)
class _BestSoFar:
    """The improvements of all runs, one run after the other."""

    evaluations: IntArray
    seconds: FloatArray
    values: FloatArray
    begins: IntArray
    """(runs + 1,) where each run begins."""
    ends: IntArray
    """(runs,) the last evaluation that was logged; 0 if none was."""
    ended: FloatArray
    """(runs,) when that was."""

    @classmethod
    def of(cls, table: pl.DataFrame, runs: IntArray, *, maximize: bool) -> _BestSoFar:
        """From rows in any order, and the run of each; runs are sorted. NaN and +inf count as nothing found."""
        import polars as pl

        logged = table["evaluations"].is_not_null()
        rows, run, every = table.filter(logged), runs[logged.to_numpy()], np.unique(runs)
        at, value = rows["evaluations"].to_numpy(), rows["value"].to_numpy()
        when = rows["seconds"].fill_null(0.0).to_numpy() if "seconds" in rows.columns else np.zeros(at.size)
        value = -value if maximize else value
        order = np.lexsort((value, at, run))
        run, at, when, value = run[order], at[order], when[order], value[order]
        value = np.where(np.isnan(value), np.inf, value)
        first = np.append(True, run[1:] != run[:-1])[: run.size]
        lowest = pl.DataFrame({"run": run, "value": value}).select(pl.col("value").cum_min().over("run"))
        before = np.append(np.inf, lowest.to_series().to_numpy()[:-1])[: run.size]
        improves = value < np.where(first, np.inf, before)
        ends = np.searchsorted(run, every, side="right")
        logs = ends > np.searchsorted(run, every)
        return cls(
            at[improves],
            when[improves],
            value[improves],
            np.append(0, np.searchsorted(run[improves], every, side="right")),
            np.where(logs, np.append(0, at)[ends], 0),
            np.where(logs, np.append(0.0, when)[ends], 0.0),
        )

    def trajectory(self, run: int, about: Mapping[str, Any]) -> Trajectory:
        """A run's trajectory, its outcome as far as it is told; ValueError if it is not possible."""
        part = slice(self.begins[run], self.begins[run + 1])
        values, target = self.values[part], about.get("target")
        solved = target is not None and values.size > 0 and values[-1] <= target
        told, spent, seconds = about.get("reason"), about.get("evaluations_spent") or 0, about.get("seconds_spent")
        if spent < 0:
            raise ValueError(f"its evaluations_spent is {spent}")
        outcome = Outcome(
            Reason(told) if told is not None else Reason.TARGET if solved else Reason.BUDGET,
            max(spent, int(self.ends[run])),
            float(self.ended[run]) if seconds is None else seconds,
            about.get("message") or "",
            invalid_evaluations=about.get("invalid_evaluations") or 0,
        )
        return Trajectory(self.evaluations[part], self.seconds[part], values, outcome)


def _run(row: Mapping[str, Any], best: _BestSoFar, number: int, stem: str) -> Found:
    instance = _instance(*(row.get(name) for name in (*PROBLEM, "instance")), stem)
    return Found(
        instance,
        row["algorithm"] or stem,
        best.trajectory(number, row),
        row.get("seed"),
        row.get("target"),
        row.get("optimum"),
        surpassable="biobj" in instance,
    )


@lru_cache(maxsize=1 << 14)
def _instance(suite: str | None, function: str | None, dimension: int | None, instance: str | None, stem: str) -> str:
    if function is not None:
        return instance_name(suite or "", function, dimension or 0, instance or "1")
    return instance or stem

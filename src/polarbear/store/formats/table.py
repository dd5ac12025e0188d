"""Tables with one row per improvement or evaluation: CSV and Parquet. `docs/reference/formats.md` lists the columns."""

from __future__ import annotations

import io
import math
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polarbear.quantities import plural
from polarbear.records import Outcome, Reason, Trajectory
from polarbear.spreadsheets import restored
from polarbear.store import parts
from polarbear.store.formats.archives import Tree
from polarbear.store.formats.frames import LINE, UnusableLines, columns_of, frames_of
from polarbear.store.formats.parsed_run import MOST, ParsedRun, Reader, checked, identified
from polarbear.store.formats.reports import Report

if TYPE_CHECKING:
    import polars as pl

ROW = ("evaluations", "value", "seconds")
KEY = ("algorithm", "instance", "seed")
RUN = ("target", "optimum", "reason", "evaluations_spent", "seconds_spent", "message", "invalid_evaluations")
PROBLEM = ("suite", "function", "dimension")
COLUMNS = (*KEY, *PROBLEM, *RUN, *ROW)
"""All columns that are read, by polarbear's names."""
REQUIRED = ("evaluations", "value")
_INTEGERS = ("evaluations", "evaluations_spent", "seed", "dimension", "invalid_evaluations")
_FLOATS = ("value", "seconds", "seconds_spent", "target", "optimum")
_OPTIONAL = ("target", "optimum", "seconds_spent")
"""Numbers of a run for which NaN means unknown."""
_ALWAYS = ("reason", "evaluations_spent", "seconds_spent", "message", "traceback", "invalid_evaluations")
_MAGIC = b"PAR1"
_Arrays = tuple[NDArray[Any], ...]
"""Arrays of evaluations, seconds and values."""
_BLOCK = 1_000
"""Number of trajectories built at once."""


class Tables(Reader):
    """Reader of CSV and Parquet files.

    Args:
        tree: The tree of files.
        report: The report that collects what is skipped.
        columns: The file's columns by names in `COLUMNS`, where they differ.
        maximize: Whether values are to be maximized; their signs are flipped.

    Raises:
        ValueError: If `columns` maps an unknown name.
    """

    name = "table"
    endings = (".csv", ".tsv", ".parquet")

    def __init__(self, tree: Tree, report: Report, columns: Mapping[str, str], *, maximize: bool) -> None:
        unknown = sorted(columns.keys() - set(COLUMNS))
        if unknown:
            raise ValueError(f"columns maps {unknown[0]!r}; choose from {', '.join(COLUMNS)}")
        super().__init__(tree, report)
        self._columns, self._maximize = columns, maximize

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a file is a Parquet file, or a CSV file whose first line names a table's columns."""
        if _is_parquet(name, data):
            return True
        if not name.endswith((".csv", ".tsv", ".txt")):
            return False
        wanted = {self._columns.get(column, column) for column in REQUIRED}
        return wanted <= set(columns_of(data)) or (name.endswith(".csv") and bool(self._columns))

    def read(self, name: str, data: bytes) -> Iterator[ParsedRun]:
        """The runs of a file."""
        import polars as pl

        label, stem = self._tree.label(name), posixpath.basename(name).rpartition(".")[0]
        try:
            if _is_parquet(name, data):
                if isinstance(pl.read_parquet_schema(io.BytesIO(data)).get("values"), pl.List):
                    yield from _part(data, label, self._report)
                    return
                frame = pl.read_parquet(io.BytesIO(data)).with_row_index(LINE, offset=1)
                frames = iter([_renamed(frame, self._columns)])
            else:
                pieces = frames_of(data, label, self._report)
                frames = (restored(_renamed(piece, self._columns)) for piece in pieces)
            unusable = UnusableLines(label, self._report)
            tables = [_typed(frame, stem, unusable) for frame in frames]
            unusable.end()
            if tables:
                about, improvements = _best_so_far(pl.concat(tables), maximize=self._maximize)
                del tables  # it takes much memory
                yield from _runs(about, improvements, label, stem, self._report)
        except (pl.exceptions.PolarsError, OSError) as error:
            kind = "Parquet" if _is_parquet(name, data) else "CSV"
            self._report.skip(label, f"it cannot be read as {kind}: {error}")
        except ValueError as error:
            self._report.skip(label, str(error))


def _is_parquet(name: str, data: bytes) -> bool:
    return name.endswith(".parquet") or data.startswith(_MAGIC)


def _part(data: bytes, label: str, report: Report) -> Iterator[ParsedRun]:
    """The runs of a part of a study."""
    import polars as pl

    table = parts.decode_table(data)
    empty = table.select(pl.any_horizontal(pl.col(*_ALWAYS).is_null())).to_series()
    for row in empty.arg_true():
        report.skip(label, f"run {row + 1} lacks one of {', '.join(_ALWAYS)}")
    rows: list[int] = (~empty).arg_true().to_list()
    points = parts.decode_samples(data)
    for row, run in zip(rows, parts.runs_of(table, rows), strict=True):
        yield ParsedRun(
            run.key.instance,
            run.key.algorithm,
            run.trajectory,
            run.key.seed,
            run.target,
            run.optimum,
            run.parameters,
            solution=run.solution,
            samples=points[row][1],
            identity=run.identity,
        )


def _renamed(frame: pl.DataFrame, renamed: Mapping[str, str]) -> pl.DataFrame:
    columns = [name for name in frame.columns if name != LINE]
    for ours, theirs in renamed.items():
        if theirs not in columns:
            raise ValueError(f"columns maps {ours!r} to {theirs!r}, but the columns are {', '.join(columns)}")
    shadowed = [ours for ours in renamed if ours in columns and ours not in renamed.values()]
    frame = frame.drop(shadowed).rename({theirs: ours for ours, theirs in renamed.items()})
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        raise ValueError(
            f"there is no column {missing[0]!r} among {', '.join(columns)}; say which one it is: "
            f"columns={{{missing[0]!r}: …}}"
        )
    return frame


def _typed(frame: pl.DataFrame, stem: str, unusable: UnusableLines) -> pl.DataFrame:
    """The known columns as numbers and text, without rows whose numbers cannot be parsed."""
    import polars as pl

    known = [name for name in COLUMNS if name in frame.columns]
    numbers = [name for name in known if name in (*_INTEGERS, *_FLOATS)]
    table = frame.select(
        LINE,
        *(_whole(pl.col(name)) for name in numbers if name in _INTEGERS),
        *(pl.col(name).cast(pl.Float64, strict=False) for name in numbers if name in _FLOATS),
        *(pl.col(name).cast(pl.String) for name in known if name not in numbers),
    )
    possible = {
        "evaluations": pl.col("evaluations").is_between(1, MOST),
        "seconds": pl.col("seconds").is_between(0, math.inf, closed="left"),
    }
    refused = pl.DataFrame(
        {
            name: (table[name].is_null() & frame.select(_is_filled(pl.col(name))).to_series())
            | ~table.select(possible.get(name, pl.lit(value=True)).fill_null(value=True).alias(name)).to_series()
            for name in numbers
        }
    )
    half = table["evaluations"].is_null() != table["value"].is_null()
    wrong = refused.select(pl.any_horizontal(pl.all())).to_series() | half
    for row in wrong.arg_true().to_list():
        cells = [f"{name} is {frame[row, name]!r}" for name in numbers if refused[row, name]]
        unusable.skip(frame[row, LINE], ", ".join(cells) or "one of evaluations and value is missing")
    if "algorithm" not in known:
        table = table.with_columns(algorithm=pl.lit(stem))
    return table.filter(~wrong)


def _is_filled(column: pl.Expr) -> pl.Expr:
    import polars as pl

    return column.is_not_null() & (column.cast(pl.String, strict=False) != "").fill_null(value=True)


def _whole(column: pl.Expr) -> pl.Expr:
    """A column as integers; null where a value is not one."""
    import polars as pl

    number = column.cast(pl.Float64, strict=False)
    return pl.coalesce(
        column.cast(pl.Int64, strict=False),
        pl.when(number == number.round()).then(number.cast(pl.Int64, strict=False)),
    )


def _runs(about: pl.DataFrame, improvements: _Arrays, label: str, stem: str, report: Report) -> Iterator[ParsedRun]:
    """The runs of a table in the order in which they begin, from the results of `_best_so_far`."""
    unusable, short = UnusableLines(label, report), list[tuple[int, str]]()
    for block in about.iter_slices(_BLOCK):
        rows = block.to_dicts()
        try:
            trajectories = _trajectories(rows, improvements)
        except ValueError:  # one of them is invalid, and is named below
            trajectories = [None] * len(rows)
        for row, trajectory in zip(rows, trajectories, strict=True):
            try:
                run = checked(_run(row, trajectory, improvements, stem))
            except (ValueError, OverflowError) as error:
                unusable.skip(row[LINE], f"a run cannot be used: {error}")
                continue
            spent, rows_end = row.get("evaluations_spent"), run.trajectory.outcome.evaluations
            if spent is not None and spent < rows_end:
                short.append((row[LINE], f"evaluations_spent of a run is {spent}, but its rows go up to {rows_end}"))
            yield run
    unusable.end()
    if short:
        line, why = short[0]
        more = f" (likewise for {plural(len(short) - 1, 'more run')})" if len(short) > 1 else ""
        report.remark(label, f"{why}{more}; the rows are used", line)


def _best_so_far(table: pl.DataFrame, *, maximize: bool) -> tuple[pl.DataFrame, _Arrays]:
    """The first row of each run with summaries of its rows, and the improvements of all runs in sequence.

    Rows may come in any order. NaN and +inf count as nothing found.
    """
    import polars as pl

    keys = [name for name in (*KEY, *PROBLEM) if name in table.columns]
    table = table.with_columns(begin=pl.col(LINE).first().over(keys))
    seconds = pl.col("seconds").fill_null(0.0) if "seconds" in table.columns else pl.lit(0.0)
    value = -pl.col("value") if maximize else pl.col("value")
    rows = (
        table.select("begin", "evaluations", seconds.alias("seconds"), value.fill_nan(math.inf).alias("value"))
        .filter(pl.col("evaluations").is_not_null())
        .sort("begin", "evaluations", "value", maintain_order=True)
    )
    before = pl.col("value").cum_min().shift(1, fill_value=math.inf).over("begin")
    rows = rows.with_columns(improves=pl.col("value") < before)
    ends = rows.group_by("begin").agg(
        improvements=pl.col("improves").sum(),
        best=pl.col("value").min(),
        last_evaluation=pl.col("evaluations").last(),
        last_second=pl.col("seconds").last(),
    )
    about = (
        table.filter(pl.col(LINE) == pl.col("begin"))
        .drop(ROW, strict=False)
        .with_columns(pl.col(name).fill_nan(None) for name in _OPTIONAL if name in table.columns)
        .join(ends, on="begin", how="left", maintain_order="left")
        .with_columns(pl.col("improvements", "last_evaluation", "last_second").fill_null(0))
        .with_columns(end=pl.col("improvements").cum_sum())
    )
    improvements = rows.filter("improves")
    return about, tuple(improvements[name].to_numpy() for name in ("evaluations", "seconds", "value"))


def _trajectories(rows: Sequence[Mapping[str, Any]], improvements: _Arrays) -> list[Trajectory]:
    """The trajectories of successive runs, with the outcomes given in the rows; ValueError if one is invalid."""
    part = slice(rows[0]["end"] - rows[0]["improvements"], rows[-1]["end"])
    evaluations, seconds, values = (array[part] for array in improvements)
    sizes = np.array([row["improvements"] for row in rows])
    return Trajectory.many(evaluations, seconds, values, sizes, [_outcome(row) for row in rows])


def _outcome(row: Mapping[str, Any]) -> Outcome:
    target, reason, spent = row.get("target"), row.get("reason"), row.get("evaluations_spent") or 0
    solved = target is not None and row["improvements"] and row["best"] <= target
    if spent < 0:
        raise ValueError(f"its evaluations_spent is {spent}")
    seconds = row.get("seconds_spent")
    return Outcome(
        Reason(reason) if reason is not None else Reason.TARGET if solved else Reason.BUDGET,
        max(spent, row["last_evaluation"]),
        row["last_second"] if seconds is None else seconds,
        row.get("message") or "",
        invalid_evaluations=row.get("invalid_evaluations") or 0,
    )


def _run(row: Mapping[str, Any], trajectory: Trajectory | None, improvements: _Arrays, stem: str) -> ParsedRun:
    """A run; ValueError if it is invalid."""
    instance, identity, function = row.get("instance"), None, row.get("function")
    if function is not None:
        suite, dimension = row.get("suite") or "", row.get("dimension") or 0
        instance, identity = identified(suite, function, dimension, instance or "1")
    instance = instance or stem
    return ParsedRun(
        instance,
        row["algorithm"] or stem,
        trajectory or _trajectories([row], improvements)[0],
        row.get("seed"),
        row.get("target"),
        row.get("optimum"),
        surpassable="biobj" in instance,
        identity=identity,
    )

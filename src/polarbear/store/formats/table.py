"""Tables with one row per improvement or evaluation: CSV and Parquet. `docs/reference/formats.md` lists the columns."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polarbear.records import IntArray
from polarbear.store import parts
from polarbear.store.formats.found import Found, instance_name, trajectory, with_outcome
from polarbear.store.formats.frames import LINE, columns_of, frame_of
from polarbear.store.formats.reports import Report
from polarbear.store.formats.trees import Tree

if TYPE_CHECKING:
    import polars as pl

ROW = ("evaluations", "value", "seconds")
KEY = ("algorithm", "instance", "seed")
RUN = ("target", "optimum", "reason", "evaluations_spent", "seconds_spent", "message", "invalid_evaluations")
PROBLEM = ("suite", "function", "dimension")
COLUMNS = (*KEY, *PROBLEM, *RUN, *ROW)
"""All columns that are read, in polarbear's names."""
_OUTCOME = ("reason", "message", "invalid_evaluations")
REQUIRED = ("evaluations", "value")
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
        label, stem = self._tree.label(name), posixpath.basename(name).rpartition(".")[0]
        try:
            if data.startswith(_MAGIC) or name.endswith(".parquet"):
                yield from self._parquet(data, label, stem)
            else:
                frame = _renamed(frame_of(data), self._columns)
                yield from _runs(frame, label, stem, self._report, self._maximize)
        except ValueError as error:
            self._report.skip(label, str(error))

    def _parquet(self, data: bytes, label: str, stem: str) -> Iterator[Found]:
        import polars as pl

        try:
            if isinstance(pl.read_parquet_schema(io.BytesIO(data)).get("values"), pl.List):
                return _part(data)
            frame = pl.read_parquet(io.BytesIO(data)).with_row_index(LINE, offset=1)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise ValueError(f"it cannot be read as Parquet: {error}") from error
        return _runs(_renamed(frame, self._columns), label, stem, self._report, self._maximize)


def _part(data: bytes) -> Iterator[Found]:
    """The runs of a part of a study."""
    table = parts.decode_table(data)
    for run in parts.runs_of(table, range(table.height)):
        key = run.key
        yield Found(key.instance, key.algorithm, run.trajectory, key.seed, run.target, run.optimum, run.parameters)


def _runs(frame: pl.DataFrame, label: str, stem: str, report: Report, maximize: bool) -> Iterator[Found]:
    """The runs of a table, in the order in which they begin."""
    table = _typed(frame, label, stem, report)
    keys = [name for name in (*KEY, *PROBLEM) if name in table.columns]
    for group in table.partition_by(keys, maintain_order=True):
        try:
            yield _run(group, stem, maximize)
        except (ValueError, OverflowError) as error:
            report.skip(label, f"a run cannot be used: {error}", int(group[LINE][0]))


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


def _typed(frame: pl.DataFrame, label: str, stem: str, report: Report) -> pl.DataFrame:
    """The known columns as numbers and text, without rows whose evaluation or value cannot be read."""
    import polars as pl

    integers = ("evaluations", "evaluations_spent", "seed", "dimension", "invalid_evaluations")
    floats = ("value", "seconds", "seconds_spent", "target", "optimum")
    texts = ("algorithm", "instance", "suite", "function", "reason", "message")
    there = set(frame.columns)
    given = {name: ~_empty(pl.col(name)) for name in there & {*integers, *floats}}
    table = frame.with_columns(
        *(_whole(pl.col(name)).alias(name) for name in integers if name in there),
        *(pl.col(name).cast(pl.Float64, strict=False) for name in floats if name in there),
        *(pl.col(name).cast(pl.String).alias(name) for name in texts if name in there),
        *(told.alias(f"{name} is given") for name, told in given.items()),
    )
    wrong = pl.any_horizontal(
        *(pl.col(name).is_null() & pl.col(f"{name} is given") for name in given),
        pl.col("evaluations").is_null() != pl.col("value").is_null(),
        (pl.col("evaluations") < 1).fill_null(value=False),
    )
    for row in table.filter(wrong).select(LINE, "evaluations", "value").iter_rows():
        report.skip(label, f"no row of numbers: evaluations {row[1]}, value {row[2]}", int(row[0]))
    if "algorithm" not in there:
        table = table.with_columns(algorithm=pl.lit(stem))
    return table.filter(~wrong)


def _empty(column: pl.Expr) -> pl.Expr:
    import polars as pl

    return column.is_null() | (column.cast(pl.String, strict=False) == "")


def _whole(column: pl.Expr) -> pl.Expr:
    """A column as whole numbers; null where they are not."""
    import polars as pl

    number = column.cast(pl.Float64, strict=False)
    return pl.coalesce(
        column.cast(pl.Int64, strict=False),
        pl.when(number == number.round()).then(number.cast(pl.Int64, strict=False)),
    )


def _run(group: pl.DataFrame, stem: str, maximize: bool) -> Found:
    import polars as pl

    first = group.row(0, named=True)
    rows = group.filter(pl.col("evaluations").is_not_null())
    evaluations: IntArray = rows["evaluations"].to_numpy()
    values = rows["value"].to_numpy()
    seconds = rows["seconds"].fill_null(0.0).to_numpy() if "seconds" in rows.columns else None
    found = trajectory(
        evaluations,
        -values if maximize else values,
        spent=first.get("evaluations_spent") or 0,
        target=first.get("target"),
        seconds=seconds,
    )
    return Found(
        _instance(first, stem),
        first["algorithm"] or stem,
        with_outcome(found, {"seconds": first.get("seconds_spent")} | {name: first.get(name) for name in _OUTCOME}),
        first.get("seed"),
        first.get("target"),
        first.get("optimum"),
    )


def _instance(row: Mapping[str, Any], stem: str) -> str:
    if row.get("function") is not None:
        return instance_name(
            row.get("suite") or "", row["function"], row.get("dimension") or 0, row.get("instance") or "1"
        )
    return row.get("instance") or stem

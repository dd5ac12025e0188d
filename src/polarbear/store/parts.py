"""Runs as Parquet: one row per run, its trajectory in list columns."""

from __future__ import annotations

import io
import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.records import Outcome, Parameters, Reason, Run, RunKey, Trajectory

if TYPE_CHECKING:
    import polars as pl

SUFFIX = ".parquet"
_LISTS = ("evaluations", "seconds", "values")
_LATER = ("optimum", "parameter_evaluations", "parameters")
"""Columns that parts of earlier versions lack."""
_KEY = ("instance", "algorithm", "seed")
_OUTCOME = ("reason", "evaluations_spent", "seconds_spent", "message", "traceback", "invalid_evaluations")


def encode(runs: Sequence[Run]) -> bytes:
    """The Parquet file of some runs, all of them `require_storable`."""
    import polars as pl

    return encode_table(pl.DataFrame(_columns(runs), schema=_schema()))


def encode_table(table: pl.DataFrame) -> bytes:
    """The Parquet file of some rows."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def require_storable(run: Run) -> None:
    """Check what Parquet cannot hold.

    Raises:
        ValueError: If the seed is no whole number of 64 bits or a name is no valid Unicode; the message names the run.
    """
    try:
        operator.index(run.key.seed)
    except TypeError:
        raise ValueError(f"the seed of {run.key} is {run.key.seed!r}; it must be a whole number") from None
    if not -(2**63) <= run.key.seed < 2**63:
        raise ValueError(f"the seed of {run.key} does not fit into 64 bits; use a smaller one")
    if any(_text(name) != name for name in (run.key.instance, run.key.algorithm)):
        raise ValueError(f"the key of {_text(str(run.key))} is no valid Unicode; rename the instance or the algorithm")


def as_stored(run: Run) -> Run:
    """A run that is `require_storable` with its key as it comes back from disk: its seed may be an integer of NumPy."""
    if type(run.key.seed) is int:
        return run
    return replace(run, key=replace(run.key, seed=int(operator.index(run.key.seed))))


def decode_keys(data: bytes) -> list[RunKey]:
    """The keys of a part's runs, in the order of its rows; ValueError if it cannot be read."""
    return _keys(_frame(data, _KEY))


def decode_outcomes(data: bytes) -> list[tuple[RunKey, Outcome]]:
    """How each of a part's runs ended; ValueError as for `decode_keys`. Their trajectories are not read."""
    frame = _frame(data, (*_KEY, *_OUTCOME))
    return list(zip(_keys(frame), _outcomes(frame), strict=True))


def decode_table(data: bytes) -> pl.DataFrame:
    """A part's rows; ValueError if it cannot be read."""
    return _frame(data, tuple(_schema()))


def runs_of(table: pl.DataFrame, rows: Sequence[int]) -> list[Run]:
    """The runs in some rows of a part; ValueError if one of them is none."""
    import polars as pl

    frame = table[list(rows)]
    lengths = frame.select(pl.col(_LISTS).list.len())
    sizes = lengths["evaluations"]
    flat = {name: frame[name].explode(empty_as_null=False) for name in _LISTS}
    if sizes.null_count() or any(column.null_count() for column in flat.values()):
        raise ValueError("it holds improvements without their evaluation, seconds or value")
    if any((lengths[name] != sizes).any() for name in _LISTS):
        raise ValueError("evaluations, seconds and values of a run differ in number")
    evaluations, seconds, values = (flat[name].to_numpy() for name in _LISTS)
    entries = sizes.to_numpy().astype(np.int64)
    trajectories = Trajectory.many(evaluations, seconds, values, entries, _outcomes(frame))
    logged: Iterable[Parameters | None] = itertools.repeat(None, len(trajectories))
    if frame["parameter_evaluations"].null_count() < frame.height:
        logged = map(_parameters, frame["parameter_evaluations"].to_list(), frame["parameters"].to_list())
    others = frame["target"].to_list(), frame["optimum"].to_list(), logged
    return [Run(*fields) for fields in zip(_keys(frame), trajectories, *others, strict=True)]


def storable(run: Run) -> tuple[Any, ...]:
    """All of a run as it comes back from disk, bit by bit: two runs are the same if these are equal."""
    outcome, trajectory = run.outcome, run.trajectory
    numbers = np.array([outcome.seconds, *(np.nan if x is None else x for x in (run.target, run.optimum))])
    logged = run.parameters
    return (
        run.key,
        outcome.reason,
        outcome.evaluations,
        outcome.invalid_evaluations,
        _text(outcome.message),
        _text(outcome.traceback),
        *(array.tobytes() for array in (numbers, trajectory.evaluations, trajectory.seconds, trajectory.values)),
        None if logged is None else logged.evaluations.tobytes(),
        None if logged is None else [(_text(name), column.tobytes()) for name, column in logged.values.items()],
    )


def _schema() -> dict[str, Any]:
    import polars as pl

    return {
        "instance": pl.String,
        "algorithm": pl.String,
        "seed": pl.Int64,
        "target": pl.Float64,
        "reason": pl.String,
        "evaluations_spent": pl.Int64,
        "seconds_spent": pl.Float64,
        "message": pl.String,
        "traceback": pl.String,
        "invalid_evaluations": pl.Int64,
        "evaluations": pl.List(pl.Int64),
        "seconds": pl.List(pl.Float64),
        "values": pl.List(pl.Float64),
        "optimum": pl.Float64,
        "parameter_evaluations": pl.List(pl.Int64),
        "parameters": pl.List(pl.Struct({"name": pl.String, "values": pl.List(pl.Float64)})),
    }


def _columns(runs: Sequence[Run]) -> dict[str, list[Any] | pl.Series]:
    outcomes, logged = [run.outcome for run in runs], [run.parameters for run in runs]
    return {
        "instance": [run.key.instance for run in runs],
        "algorithm": [run.key.algorithm for run in runs],
        "seed": [operator.index(run.key.seed) for run in runs],
        "target": [run.target for run in runs],
        "reason": [outcome.reason.value for outcome in outcomes],
        "evaluations_spent": [outcome.evaluations for outcome in outcomes],
        "seconds_spent": [outcome.seconds for outcome in outcomes],
        "message": [_text(outcome.message) for outcome in outcomes],
        "traceback": [_text(outcome.traceback) for outcome in outcomes],
        "invalid_evaluations": [outcome.invalid_evaluations for outcome in outcomes],
        **_trajectories([run.trajectory for run in runs]),
        "optimum": [run.optimum for run in runs],
        "parameter_evaluations": [None if one is None else one.evaluations.tolist() for one in logged],
        "parameters": [None if one is None else _named(one) for one in logged],
    }


def _trajectories(trajectories: Sequence[Trajectory]) -> dict[str, pl.Series]:
    """The list columns: slices of one long list, which take a tenth of the time that an array for each run takes."""
    import polars as pl

    sizes = np.array([one.values.size for one in trajectories])
    flat = {name: np.concatenate([getattr(one, name) for one in trajectories]) for name in _LISTS}
    lists = pl.DataFrame({"begin": np.cumsum(sizes) - sizes, "size": sizes}).select(
        pl.lit(pl.Series(column).implode()).list.slice("begin", "size").alias(name) for name, column in flat.items()
    )
    return lists.to_dict()


def _named(parameters: Parameters) -> list[dict[str, Any]]:
    return [{"name": _text(name), "values": values.tolist()} for name, values in parameters.values.items()]


def _parameters(evaluations: list[int] | None, values: list[dict[str, Any]] | None) -> Parameters | None:
    if evaluations is None or values is None:
        return None
    logged = {one["name"]: np.array(one["values"]) for one in values}
    return Parameters(np.array(evaluations), logged)


def _text(text: str) -> str:
    """Text that is valid Unicode: a user's message may hold half a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode()


def _frame(data: bytes, columns: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    try:
        there = pl.read_parquet_schema(io.BytesIO(data))
        missing = [name for name in columns if name in _LATER and name not in there]
        frame = pl.read_parquet(io.BytesIO(data), columns=[name for name in columns if name not in missing])
        whole = frame["seed"].dtype.is_integer()
        frame = frame.with_columns(pl.lit(None).alias(name) for name in missing)
        frame = frame.select(pl.col(name).cast(_schema()[name]) for name in columns)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"it is no Parquet file of runs: {error}") from error
    if not whole or any(frame[name].null_count() for name in _KEY):
        raise ValueError("it holds runs without an instance, an algorithm or a seed that is a whole number")
    return frame


def _keys(frame: pl.DataFrame) -> list[RunKey]:
    return list(map(RunKey, *(frame[name].to_list() for name in _KEY)))


def _outcomes(frame: pl.DataFrame) -> list[Outcome]:
    reasons = [Reason(reason) for reason in frame["reason"].to_list()]
    columns = [frame[name].to_list() for name in _OUTCOME[1:]]
    return [Outcome(*fields) for fields in zip(reasons, *columns, strict=True)]

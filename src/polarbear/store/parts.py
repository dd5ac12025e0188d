"""Runs as Parquet: one row per run, with its trajectory in list columns; likewise the points that runs evaluated."""

from __future__ import annotations

import io
import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polarbear.records import Instance, Outcome, Parameters, Reason, Run, RunKey, Samples, Trajectory

if TYPE_CHECKING:
    import polars as pl

SUFFIX = ".parquet"
_KEY = ("instance", "algorithm", "seed")
_OUTCOME = ("reason", "evaluations_spent", "seconds_spent", "message", "traceback", "invalid_evaluations")
_TRAJECTORY = ("evaluations", "seconds", "values")
_PROBLEM = ("suite", "function", "dimension", "function_instance")
_SAMPLES = ("sample_evaluations", "sample_points", "sample_values")
_FIELDS = {
    "instance": "key.instance",
    "algorithm": "key.algorithm",
    "target": "target",
    "reason": "outcome.reason.value",
    "evaluations_spent": "outcome.evaluations",
    "seconds_spent": "outcome.seconds",
    "invalid_evaluations": "outcome.invalid_evaluations",
    "optimum": "optimum",
    "suite": "problem.suite",
    "function": "problem.function",
    "dimension": "problem.dimension",
    "function_instance": "problem.instance",
}
"""The columns that contain a field of a run unchanged."""
_LATER = (*_PROBLEM, "optimum", "parameter_evaluations", "parameters", "solution", "solutions", "samples", *_SAMPLES)
"""Columns that are missing in parts of earlier versions."""


def encode(runs: Sequence[Run], samples: str | None = None) -> bytes:
    """The Parquet file of runs, all of which satisfy `require_storable`.

    Args:
        runs: The runs.
        samples: The name of the file with the runs' points, from `encode_samples`; None to include them in this file.
    """
    import polars as pl

    within = samples is None and any(run.samples is not None for run in runs)
    columns = _columns(runs) | {"samples": [None if run.samples is None else samples for run in runs]}
    schema = {name: kind for name, kind in _schema().items() if within or name not in _SAMPLES}
    return encode_table(pl.DataFrame(columns | (_sample_columns(runs) if within else {}), schema=schema))


def encode_samples(runs: Sequence[Run]) -> bytes:
    """The Parquet file of the points that runs have evaluated."""
    import polars as pl

    keys = {name: [getattr(run.key, name) for run in runs] for name in _KEY}
    schema = {name: _schema()[name] for name in (*_KEY, *_SAMPLES)}
    return encode_table(pl.DataFrame(keys | _sample_columns(runs), schema=schema))


def encode_table(table: pl.DataFrame) -> bytes:
    """The Parquet file of a table."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def require_storable(run: Run) -> None:
    """Check that Parquet can represent a run.

    Raises:
        ValueError: If the seed is not a 64-bit integer or a name is not valid Unicode; the message names the run.
    """
    try:
        operator.index(run.key.seed)
    except TypeError:
        raise ValueError(f"the seed of {run.key} is {run.key.seed!r}; it must be a whole number") from None
    if not -(2**63) <= run.key.seed < 2**63:
        raise ValueError(f"the seed of {run.key} does not fit into 64 bits; use a smaller one")
    names = run.key.instance, run.key.algorithm, run.problem.suite, run.problem.function, run.problem.instance
    if any(_text(name) != name for name in names):
        raise ValueError(f"the key of {_text(str(run.key))} is not valid Unicode; rename the instance or the algorithm")


def as_stored(run: Run) -> Run:
    """A storable run with its key as read back from disk: its seed may be a NumPy integer."""
    if type(run.key.seed) is int:
        return run
    return replace(run, key=replace(run.key, seed=int(operator.index(run.key.seed))))


def decode_keys(data: bytes) -> list[RunKey]:
    """The keys of a part's runs, in the order of its rows; ValueError if it cannot be read."""
    return _keys(_frame(data, _KEY))


def decode_unnamed_problems(data: bytes) -> dict[RunKey, Instance]:
    """The problems of those runs whose instance names do not contain them; ValueError as for `decode_keys`."""
    import polars as pl

    frame = _frame(data, (*_KEY, *_PROBLEM))
    known = frame.select("instance", *_PROBLEM).unique().drop_nulls()
    pairs = zip(known["instance"], _problems(known), strict=True)
    unnamed = pl.Series([Instance.parse(name) != problem for name, problem in pairs], dtype=pl.Boolean)
    runs = frame.join(known.filter(unnamed), on=["instance", *_PROBLEM], how="semi")
    return {key: problem for key, problem in zip(_keys(runs), _problems(runs), strict=True) if problem}


def decode_outcomes(data: bytes) -> list[tuple[RunKey, Outcome]]:
    """The outcomes of a part's runs, in the order of its rows; ValueError as for `decode_keys`."""
    frame = _frame(data, (*_KEY, *_OUTCOME))
    return list(zip(_keys(frame), _outcomes(frame), strict=True))


def decode_table(data: bytes) -> pl.DataFrame:
    """A part's rows; ValueError if it cannot be read."""
    return _frame(data, [name for name in _schema() if name not in _SAMPLES])


def decode_samples_table(data: bytes) -> pl.DataFrame:
    """The rows of a file of points; ValueError if it cannot be read."""
    return _frame(data, (*_KEY, *_SAMPLES))


def decode_samples(data: bytes) -> list[tuple[RunKey, Samples | None]]:
    """The points in a file, run by run in the order of its rows; ValueError if it cannot be read."""
    frame = decode_samples_table(data)
    samples = [
        None if at is None or flat is None or values is None else Samples(at, flat.reshape(len(at), -1), values)
        for at, flat, values in zip(*(_arrays(frame[name]) for name in _SAMPLES), strict=True)
    ]
    return list(zip(_keys(frame), samples, strict=True))


def runs_of(table: pl.DataFrame, rows: Sequence[int]) -> list[Run]:
    """The runs in the given rows of a part; ValueError if one of them is invalid."""
    import polars as pl

    frame = table[list(rows)]
    lengths = frame.select(pl.col(_TRAJECTORY).list.len())
    sizes = lengths["evaluations"]
    flat = {name: frame[name].explode(empty_as_null=False) for name in _TRAJECTORY}
    if sizes.null_count() or any(column.null_count() for column in flat.values()):
        raise ValueError("it holds improvements without their evaluation, seconds or value")
    if any((lengths[name] != sizes).any() for name in _TRAJECTORY):
        raise ValueError("evaluations, seconds and values of a run differ in number")
    evaluations, seconds, values = (flat[name].to_numpy() for name in _TRAJECTORY)
    entries = sizes.to_numpy().astype(np.int64)
    trajectories = Trajectory.many(evaluations, seconds, values, entries, _outcomes(frame))
    nothing = [None] * len(trajectories)
    logged: Iterable[Parameters | None] = nothing
    if frame["parameter_evaluations"].null_count() < frame.height:
        logged = map(_parameters, frame["parameter_evaluations"].to_list(), frame["parameters"].to_list())
    points, counts = _arrays(frame["solution"]), frame["solutions"].to_list()
    solutions = [x if x is None or k is None else x.reshape(k, -1) for x, k in zip(points, counts, strict=True)]
    others = frame["target"].to_list(), frame["optimum"].to_list(), logged, solutions
    columns = zip(_keys(frame), trajectories, *others, nothing, _problems(frame), strict=True)
    return [Run(*fields) for fields in columns]


def sample_files_of(table: pl.DataFrame, rows: Sequence[int]) -> list[tuple[RunKey, str]]:
    """The runs in the given rows of a part that have points, and the files that contain them."""
    frame = table[list(rows)]
    frame = frame.filter(frame["samples"].is_not_null())
    return list(zip(_keys(frame), frame["samples"].to_list(), strict=True))


def storable(run: Run) -> tuple[Any, ...]:
    """A run without its samples as it comes back from disk, bit for bit: equal results mean the same run."""
    outcome, trajectory, logged = run.outcome, run.trajectory, run.parameters
    numbers = np.array([outcome.seconds, *(np.nan if x is None else x for x in (run.target, run.optimum))])
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
        None if run.solution is None else (run.solution.shape, run.solution.tobytes()),
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
        "suite": pl.String,
        "function": pl.String,
        "dimension": pl.Int64,
        "function_instance": pl.String,
        "solution": pl.List(pl.Float64),
        "solutions": pl.Int64,
        "samples": pl.String,
        "sample_evaluations": pl.List(pl.Int64),
        "sample_points": pl.List(pl.Float64),
        "sample_values": pl.List(pl.Float64),
    }


def _columns(runs: Sequence[Run]) -> dict[str, list[Any] | pl.Series]:
    logged, solutions = [run.parameters for run in runs], [run.solution for run in runs]
    return {
        **{column: list(map(operator.attrgetter(field), runs)) for column, field in _FIELDS.items()},
        "seed": [operator.index(run.key.seed) for run in runs],
        "message": [_text(run.outcome.message) for run in runs],
        "traceback": [_text(run.outcome.traceback) for run in runs],
        **{name: _lists([getattr(run.trajectory, name) for run in runs]) for name in _TRAJECTORY},
        "parameter_evaluations": [each and each.evaluations.tolist() for each in logged],
        "parameters": [
            each and [{"name": _text(name), "values": values.tolist()} for name, values in each.values.items()]
            for each in logged
        ],
        "solution": _lists([None if points is None else points.ravel() for points in solutions]),
        "solutions": [len(points) if points is not None and points.ndim == 2 else None for points in solutions],
    }


def _sample_columns(runs: Sequence[Run]) -> dict[str, Any]:
    samples = [run.samples for run in runs]
    columns = (
        [each and each.evaluations for each in samples],
        [each and each.points.ravel() for each in samples],
        [each and each.values for each in samples],
    )
    return dict(zip(_SAMPLES, map(_lists, columns), strict=True))


def _lists(arrays: Sequence[NDArray[Any] | None]) -> pl.Series | list[None]:
    """A list column made of slices of one long list, which takes a tenth of the time of an array for each run."""
    import polars as pl

    present = [array for array in arrays if array is not None]
    if not present:
        return [None] * len(arrays)
    sizes = np.array([0 if array is None else array.size for array in arrays])
    flat = pl.lit(pl.Series(np.concatenate(present)).implode())
    return (
        pl.DataFrame({"begin": np.cumsum(sizes) - sizes, "size": sizes, "given": [a is not None for a in arrays]})
        .select(pl.when("given").then(flat.list.slice("begin", "size")))
        .to_series()
    )


def _arrays(column: pl.Series) -> list[NDArray[Any] | None]:
    """The arrays of a list column, as views of a read-only one; None for null."""
    sizes = column.list.len().to_list()
    if column.null_count() == len(sizes):
        return [None] * len(sizes)
    flat = column.drop_nulls().explode(empty_as_null=False)
    if flat.null_count():
        raise ValueError(f"it holds {column.name} without a number")
    array = flat.to_numpy()
    array.flags.writeable = False
    ends = itertools.accumulate(size or 0 for size in sizes)
    return [None if size is None else array[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _problems(frame: pl.DataFrame) -> list[Instance | None]:
    return list(map(_problem, *(frame[name].to_list() for name in _PROBLEM)))


@lru_cache(maxsize=1 << 16)
def _problem(suite: str | None, function: str | None, dimension: int | None, instance: str | None) -> Instance | None:
    """The same object for all runs on an instance; None in parts of earlier versions, whose names contain it."""
    if suite is None or function is None or dimension is None or instance is None:
        return None
    return Instance(suite, function, dimension, instance)


def _parameters(evaluations: list[int] | None, values: list[dict[str, Any]] | None) -> Parameters | None:
    if evaluations is None or values is None:
        return None
    return Parameters(np.array(evaluations), {each["name"]: np.array(each["values"]) for each in values})


def _text(text: str) -> str:
    """Text as valid Unicode, since a user's message may contain half a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode()


def _frame(data: bytes, columns: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    schema = _schema()
    try:
        present = pl.read_parquet_schema(io.BytesIO(data))
        missing = [name for name in columns if name in _LATER and name not in present]
        frame = pl.read_parquet(io.BytesIO(data), columns=[name for name in columns if name not in missing])
        has_integer_seeds = frame["seed"].dtype.is_integer()
        frame = frame.with_columns(pl.lit(None).alias(name) for name in missing)
        frame = frame.select(pl.col(name).cast(schema[name]) for name in columns)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"it is not a Parquet file of runs: {error}") from error
    if not has_integer_seeds or any(frame[name].null_count() for name in _KEY):
        raise ValueError("it holds runs without an instance, an algorithm or a seed that is a whole number")
    return frame


def _keys(frame: pl.DataFrame) -> list[RunKey]:
    return list(map(RunKey, *(frame[name].to_list() for name in _KEY)))


def _outcomes(frame: pl.DataFrame) -> list[Outcome]:
    reasons = [Reason(reason) for reason in frame["reason"].to_list()]
    columns = [frame[name].to_list() for name in _OUTCOME[1:]]
    return [Outcome(*fields) for fields in zip(reasons, *columns, strict=True)]

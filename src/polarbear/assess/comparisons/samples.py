"""Samples for comparisons, keyed by the algorithms' names, and results as plain values.

A sample holds one number per run, a value at a budget or a runtime to a target, where lower is better. A failed run is
`inf`: it ties with other failures and loses to every success. NaN, the unknown result of a run that was cut short, is
rejected.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.records import FloatArray

Samples: TypeAlias = Mapping[str, ArrayLike]
"""1-D arrays of runs by the algorithm's name; lengths may differ."""
Groups: TypeAlias = Mapping[str, Samples]
"""Samples of the same algorithms by group, such as a function in one dimension."""


class Result:
    """A result that can be written as JSON."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values: arrays are lists, NaN is None and infinity the text "inf"."""
        fields = dataclasses.fields(self)  # pyright: ignore[reportArgumentType]
        return {field.name: plain(getattr(self, field.name)) for field in fields}


def rows_of(**columns: ArrayLike) -> list[dict[str, Any]]:
    """Rows of plain values by name, from columns of equal length."""
    lists = [np.asarray(column).tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def plain(value: Any) -> Any:
    """A value in the types of JSON."""
    if isinstance(value, Result):
        return value.as_dict()
    if isinstance(value, np.ndarray | np.generic):
        value = cast(Any, value).tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast(Sequence[Any], value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def read_samples(samples: Samples, group: str = "") -> dict[str, FloatArray]:
    """The samples as 1-D float arrays.

    Raises:
        ValueError: If there are fewer than 2 algorithms, or a sample is empty, not 1-D, or contains NaN or -inf.
    """
    where = f" on {group}" if group else ""
    if len(samples) < 2:
        raise ValueError(f"the number of algorithms in samples{where} is {len(samples)}; a comparison needs at least 2")
    return {name: _read(sample, f"{name}{where}") for name, sample in samples.items()}


def _read(sample: ArrayLike, whose: str) -> FloatArray:
    runs = floats(sample)
    if runs.ndim != 1 or not runs.size:
        raise ValueError(f"the sample of {whose} has shape {runs.shape}; give one number per run, and at least one run")
    if (unknown := np.isnan(runs)).any():
        raise ValueError(
            f"run {int(unknown.argmax())} of {whose} is NaN, which means unknown; leave out runs that were cut short, "
            "or write inf where a run failed"
        )
    if np.isneginf(runs).any():
        raise ValueError(f"run {int(np.argmin(runs))} of {whose} is -inf; values must be above -inf")
    return runs


def read_groups(groups: Groups) -> dict[str, dict[str, FloatArray]]:
    """The samples of the algorithms by group, in the order of the first group.

    Raises:
        ValueError: If there are no groups, groups differ in their algorithms, or a sample is invalid.
    """
    if not groups:
        raise ValueError("groups are empty; give the samples of at least one function")
    names = tuple(next(iter(groups.values())))
    for group, samples in groups.items():
        if set(samples) != set(names):
            odd = ", ".join(sorted(set(samples) ^ set(names)))
            raise ValueError(
                f"group {group!r} differs from the first group in {odd}; all groups must have the same algorithms"
            )
    return {group: read_samples({name: samples[name] for name in names}, group) for group, samples in groups.items()}


def default_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """The names given, or "0", "1", ….

    Raises:
        ValueError: If there are not `count` different names.
    """
    chosen = tuple(str(index) for index in range(count)) if names is None else tuple(names)
    if len(chosen) != count or len(set(chosen)) != count:
        raise ValueError(f"names are {chosen}; give a different name for each of {count} algorithms")
    return chosen


def check_choice(value: str, choices: Any, name: str) -> None:
    """Raise a ValueError that names the value unless it is one of the literals of a type."""
    if value not in get_args(choices):
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(get_args(choices))}")

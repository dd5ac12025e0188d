"""Groups of instances, on each of which a separate race is held."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from polarbear.assess.functions import function_group, function_of
from polarbear.assess.trials import function_label
from polarbear.problems import FiniteInstances, ProblemSpec, as_instances
from polarbear.problems.suite.base import ProductStream
from polarbear.protocols import Instances, identity_of
from polarbear.records import Instance

Groups = Mapping[Any, Any] | Literal["known"]
"""The group of each instance or function, or "known" for the groups of BBOB's functions.

Instances are named like ``"bbob-f3-i1-d5"``; functions in one dimension like ``"bbob-f3-d5"``, or in any dimension like
``"bbob-f3"``, ``"f3"`` or ``"3"``. If a problem matches several of these, the first one counts. Numbers count as text.
"""

_MOST_LISTED = 100_000
"""Maximum number of problems of a suite whose instances are grouped by a table."""
_MOST_DRAWS = 10_000
"""Number of instances of an endless stream that are searched for those in a table."""
_NAMED = 3
"""Number of names that an error lists."""


def read_groups(path: str | Path) -> dict[str, str]:
    """Read a table of groups.

    Args:
        path: A CSV file with columns ``group`` and ``instance``, or ``function`` if there is no ``instance``. Other
            columns are ignored; rows may repeat each other, and contain more than a suite has.

    Returns:
        Groups by instance or function, in the order of the table.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not such a table; a name or group is empty; something has two groups; or two groups have
            names that differ only in signs or case, which file names cannot distinguish.
    """
    import polars as pl

    try:
        table = pl.read_csv(path, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path} is not a table of groups: {error}") from error
    named = [name for name in ("instance", "function") if name in table.columns]
    if not named or "group" not in table.columns:
        raise ValueError(
            f"{path} has the columns {', '.join(table.columns)}; a table of groups needs a column group, and a column "
            "function or instance"
        )
    if table.is_empty():
        raise ValueError(f"{path} has no rows; a table of groups needs one for each function or instance")
    told = next((name for name in named if table[name].null_count() < len(table)), named[-1])
    groups: dict[str, str] = {}
    files: dict[str, str] = {}
    for row, (name, group) in enumerate(table.select(told, "group").rows(), start=2):
        if not name or not group:
            raise ValueError(f"row {row} of {path} has no {'group' if name else told}; fill it in, or remove the row")
        if groups.setdefault(name, group) != group:
            raise ValueError(
                f"row {row} of {path} puts {name} in the group {group!r}, but an earlier row puts it in "
                f"{groups[name]!r}; give it one group"
            )
        if files.setdefault(file_name(group).casefold(), group) != group:
            other = files[file_name(group).casefold()]
            raise ValueError(f"the groups {other!r} and {group!r} of {path} would have the same file name; rename one")
    return groups


def file_name(name: str) -> str:
    """A file name, in which characters other than letters, digits, dots and hyphens are replaced by underscores."""
    return re.sub(r"[^\w.-]", "_", name)


def assign_groups(problems: Mapping[str, Instance], groups: Groups) -> dict[str, str]:
    """The group of each problem by the problem's name, in the order of groups.

    Raises:
        ValueError: If a problem has no group.
    """
    groups = _as_text(groups)
    assigned = {name: _group_of(name, problem, groups) for name, problem in problems.items()}
    if missing := [name for name, group in assigned.items() if not group]:
        by_function = groups == "known" or not any(Instance.parse(key).instance for key in groups)
        names = list(dict.fromkeys(function_of(problems[name]) for name in missing)) if by_function else missing
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        told = f"{', '.join(names[:_NAMED])}{more}"
        if groups == "known":
            raise _unknown(told)
        raise ValueError(
            f"the table of groups, which begins with {next(iter(groups), '')!r}, has no row for {told}; add what is "
            "missing, or leave it out of the instances"
        )
    labels: Iterable[str] = assigned.values() if groups == "known" else groups.values()
    order = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return dict(sorted(assigned.items(), key=lambda item: order[item[1]]))


def _as_text(groups: Groups) -> Mapping[str, str] | Literal["known"]:
    return "known" if groups == "known" else {str(name): str(group) for name, group in groups.items()}


def _unknown(where: str) -> ValueError:
    return ValueError(
        f"no groups are known for {where}; give a table with a column group and a column function or instance: "
        "--groups TABLE, or groups=… in Python"
    )


def _group_of(name: str, problem: Instance, groups: Groups) -> str:
    if groups == "known":
        return function_group(problem.suite, problem.function)
    names = (
        name,
        function_of(problem),
        function_of(replace(problem, dimension=0)),
        function_label(problem.function),
        problem.function,
    )
    return next((groups[each] for each in names if each in groups), "")


def group_instances(instances: Any, groups: Groups = "known") -> dict[str, Instances]:
    """The instances of each group separately, for example to hold a race on each.

    Args:
        instances: Anything that `polarbear.problems.as_instances` accepts.
        groups: The group of each function or instance; all must have one.

    Returns:
        By group, the suite restricted to its functions, with the same seed. If a group is not made of all instances of
        some functions, all of these in some dimensions, its instances are listed: repeatedly and in random order for a
        suite, in the given order for an endless stream such as `MABBOB`, and otherwise as they were.

    Raises:
        ValueError: If an instance has no group, instances of an endless stream are not among its first 10,000, or there
            are too many to list.
    """
    stream, groups = as_instances(instances), _as_text(groups)
    if isinstance(stream, ProductStream):
        return _parts_of_suite(stream, groups)
    if isinstance(stream, FiniteInstances) or stream.size is not None:
        listed = (
            stream.problems if isinstance(stream, FiniteInstances) else [stream[i] for i in range(stream.size or 0)]
        )
        repeat = isinstance(stream, FiniteInstances) and stream.repeat
        return {group: FiniteInstances(tuple(each), repeat=repeat) for group, each in _grouped(listed, groups).items()}
    drawn = _among_draws(stream, groups)
    return {group: FiniteInstances(tuple(each), repeat=True) for group, each in _grouped(drawn, groups).items()}


def _grouped(problems: Iterable[ProblemSpec], groups: Groups) -> dict[str, list[ProblemSpec]]:
    """The problems by group, in the order of groups."""
    by_name = {problem.name: problem for problem in problems}
    grouped: defaultdict[str, list[ProblemSpec]] = defaultdict(list)
    identities = {name: identity_of(problem) for name, problem in by_name.items()}
    for name, group in assign_groups(identities, groups).items():
        grouped[group].append(by_name[name])
    return grouped


def _parts_of_suite(stream: ProductStream, groups: Groups) -> dict[str, Instances]:
    apart = groups != "known" and any(Instance.parse(name).instance for name in groups)
    kept = {name: field for name, field in stream.choices.items() if apart or name != "instance"}
    suite: Any = stream
    one_each: Any = suite if len(kept) == len(stream.choices) else replace(suite, instances=suite.instances[:1])
    parts: dict[str, Instances] = {}
    for group, problems in _grouped(_listed(one_each), groups).items():
        values = {field: tuple(dict.fromkeys(getattr(each, name) for each in problems)) for name, field in kept.items()}
        if replace(one_each, **values).combinations == len(problems):
            parts[group] = replace(suite, **values)
            continue
        chosen: Sequence[ProblemSpec] = problems if apart else _grouped(_listed(stream), groups)[group]
        order: list[int] = np.random.default_rng(stream.seed).permutation(len(chosen)).tolist()
        parts[group] = FiniteInstances(tuple(chosen[i] for i in order), repeat=True)
    return parts


def _listed(stream: ProductStream) -> tuple[ProblemSpec, ...]:
    if stream.combinations > _MOST_LISTED:
        raise ValueError(
            f"{type(stream).__name__} has {stream.combinations:,} problems, but groups that are not of whole functions "
            f"can be made of at most {_MOST_LISTED:,}; choose fewer instances, or divide by dimension as well"
        )
    return stream.grid()


def _among_draws(stream: Instances, groups: Groups) -> list[ProblemSpec]:
    """The instances of an endless stream that are named in groups."""
    if groups == "known":
        raise _unknown(type(stream).__name__)
    missing, found = dict.fromkeys(groups), list[ProblemSpec]()
    for index in range(_MOST_DRAWS):
        if not missing:
            break
        problem = stream[index]
        if problem.name in missing:
            del missing[problem.name]
            found.append(problem)
    if missing:
        raise ValueError(
            f"{next(iter(missing))!r} is not among the first {_MOST_DRAWS:,} instances of {type(stream).__name__}, "
            f"which have names such as {stream[0].name!r}; groups of an endless stream may name only these"
        )
    return found

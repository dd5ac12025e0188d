"""Which runs are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar, cast

from polarbear.records import Instance, RunKey

Value = TypeVar("Value", str, int)
Wanted = Value | Collection[Value] | None


def matching(
    keys: Iterable[RunKey],
    problems: Mapping[RunKey, Instance],
    *,
    algorithm: Wanted[str] = None,
    suite: Wanted[str] = None,
    function: Wanted[str] = None,
    dimension: Wanted[int] = None,
    instance: Wanted[str] = None,
    seed: Wanted[int] = None,
) -> list[RunKey]:
    """The keys that meet every criterion given; a collection of values is met by any of them.

    `problems` are those of the keys whose names do not tell them.
    """
    names = {
        "suite": _set(suite),
        "function": _set(function),
        "instance": _set(instance),
    }
    algorithms, dimensions, seeds = _set(algorithm), _set(dimension), _set(seed)
    of_instance = any(wanted is not None for wanted in (*names.values(), dimensions))

    def meets(key: RunKey) -> bool:
        if (algorithms is not None and key.algorithm not in algorithms) or (
            seeds is not None and key.seed not in seeds
        ):
            return False
        if not of_instance:
            return True
        problem = problems.get(key) or Instance.parse(key.instance)
        return (dimensions is None or problem.dimension in dimensions) and all(
            wanted is None or getattr(problem, name) in wanted for name, wanted in names.items()
        )

    return [key for key in keys if meets(key)]


def _set(wanted: Wanted[Value]) -> frozenset[Value] | None:
    if wanted is None:
        return None
    if isinstance(wanted, Collection) and not isinstance(wanted, str):
        return frozenset(wanted)
    return frozenset([cast("Value", wanted)])

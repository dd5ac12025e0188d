"""Which runs are considered, and which of their attributes define an algorithm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from polarbear.descriptions import did_you_mean
from polarbear.records import Run, RunKey

ALGORITHM = "algorithm"
ALWAYS = (ALGORITHM, "suite", "function", "dimension", "instance", "seed")
"""Attributes that every run has; all others are parameters that are constant over a run."""


def together(studies: Mapping[str, Sequence[Run]]) -> list[Run]:
    """The runs of several studies; an algorithm that an earlier study also has is renamed, as in "CMA-ES (mine)".

    Args:
        studies: Runs of each study, by its name.
    """
    runs, taken = list[Run](), set[str]()
    for study, own in studies.items():
        names = {run.key.algorithm for run in own}
        renamed = {name: f"{name} ({study})" for name in names & taken}
        taken |= names | {*renamed.values()}
        runs += (
            replace(run, key=replace(run.key, algorithm=renamed[run.key.algorithm]), identity=run.problem)
            if run.key.algorithm in renamed
            else run
            for run in own
        )
    return runs


def attributes(runs: Iterable[Run]) -> tuple[str, ...]:
    """The attributes that all runs have, those of `ALWAYS` first."""
    logged: dict[str, None] | None = None
    for run in runs:
        own = _constants(run)
        logged = dict.fromkeys(own) if logged is None else {name: None for name in logged if name in own}
    return (*ALWAYS, *(name for name in logged or () if name not in ALWAYS))


def identified(runs: Sequence[Run], by: Sequence[str]) -> list[Run]:
    """The runs with algorithm names composed of attributes, such as "CMA-ES, instance 3".

    Args:
        runs: Runs to rename.
        by: Some of their `attributes`.

    Raises:
        ValueError: If a run lacks an attribute, or two runs on the same instance with the same seed get the same name.
    """
    if tuple(by) == (ALGORITHM,):
        return list(runs)
    renamed: dict[RunKey, Run] = {}
    for run in runs:
        key = replace(run.key, algorithm=_name(run, by))
        if key in renamed:
            both = f"{run.key} and another run on the same instance with the same seed"
            raise ValueError(f"identity is {', '.join(by)}: {both} would belong to one algorithm; add 'algorithm'")
        renamed[key] = replace(run, key=key, identity=run.problem)
    return list(renamed.values())


def _name(run: Run, by: Sequence[str]) -> str:
    own = _of(run)
    if missing := [name for name in by if name not in own]:
        raise ValueError(f"identity: {run.key} has no {missing[0]!r};{did_you_mean(missing[0], own)}")
    return ", ".join(own[name] if name == ALGORITHM else f"{name} {own[name]}" for name in by)


def _of(run: Run) -> Mapping[str, str]:
    """All attributes of a run, as text."""
    where = run.problem
    always = (run.key.algorithm, where.suite, where.function, str(where.dimension), where.instance, str(run.key.seed))
    return {**{name: f"{value:g}" for name, value in _constants(run).items()}, **dict(zip(ALWAYS, always, strict=True))}


def _constants(run: Run) -> dict[str, float]:
    """Logged parameters that never changed."""
    if run.parameters is None:
        return {}
    logged = {name: column[np.isfinite(column)] for name, column in run.parameters.values.items()}
    return {name: float(column[0]) for name, column in logged.items() if np.unique(column).size == 1}

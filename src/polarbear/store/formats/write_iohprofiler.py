"""Export of runs as IOHprofiler's folders: a JSON file per algorithm and function, and a data file per dimension.

What the format cannot represent, such as seeds and the reason why a run ended, is stored in the JSON file under the key
``polarbear`` of each run; other tools ignore it.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from polarbear.records import FloatArray, Instance, Run
from polarbear.store.formats.ioh_dat import RESERVED
from polarbear.store.formats.iohprofiler import OWN, SECONDS

VERSION = "0.3.22"
"""The version of IOHexperimenter whose layout is used."""


def write(runs: Sequence[Run], path: Path) -> None:
    """Write one folder per algorithm into `path`."""
    groups: defaultdict[tuple[str, str, str], list[tuple[Instance, Run]]] = defaultdict(list)
    for run in runs:
        instance = run.problem
        groups[run.key.algorithm, instance.suite, instance.function].append((instance, run))
    folders = distinct([algorithm for algorithm, _, _ in groups])
    functions = dict.fromkeys((suite, function) for _, suite, function in groups)
    numbers = dict(zip(functions, _numbers([function for _, function in functions]), strict=True))
    for (algorithm, suite, function), members in groups.items():
        folder = path / folders[algorithm]
        _function(folder, algorithm, suite, function, numbers[suite, function], members)


def distinct(names: Sequence[str]) -> dict[str, str]:
    """A distinct file name for each name, without characters that file systems refuse."""
    chosen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        plain = re.sub(r"[^\w+=,@-]+", "_", name).strip("_") or "unnamed"
        candidates = (plain if n == 1 else f"{plain}_{n}" for n in range(1, len(names) + 2))
        taken = {taken.lower() for taken in chosen.values()}
        chosen[name] = next(candidate for candidate in candidates if candidate.lower() not in taken)
    return chosen


def _numbers(names: Sequence[str]) -> list[int]:
    """A number for each name: the number that the name is, or an unused one."""
    own = {int(name) for name in names if name.isdecimal()}
    free = iter(sorted(set(range(1, 2 * len(names) + 1)) - own))
    return [int(name) if name.isdecimal() else next(free) for name in names]


def _function(
    folder: Path, algorithm: str, suite: str, function: str, number: int, members: Sequence[tuple[Instance, Run]]
) -> None:
    title = distinct([function])[function]
    stem = f"f{number}" if title == str(number) else f"f{number}_{title}"
    if (folder / f"IOHprofiler_{stem}.json").exists():
        stem += f"_{distinct([suite])[suite]}"
    data = folder / f"data_{stem}"
    data.mkdir(parents=True)
    by_dimension: defaultdict[int, list[tuple[Instance, Run]]] = defaultdict(list)
    for instance, run in members:
        by_dimension[instance.dimension].append((instance, run))
    names = list(dict.fromkeys(name for _, run in members if run.parameters for name in run.parameters.values))
    timed = any(run.trajectory.seconds.any() for _, run in members)
    columns = ["evaluations", "raw_y", *([SECONDS] if timed else []), *(_word(name) for name in names)]
    scenarios: list[dict[str, Any]] = []
    for dimension, group in sorted(by_dimension.items()):
        file = f"IOHprofiler_f{number}_DIM{dimension}.dat"
        with (data / file).open("x", encoding="utf-8", newline="\n") as out:
            for _, run in group:
                out.write(" ".join(columns) + "\n")
                out.writelines(" ".join(row) + "\n" for row in _rows(run, names, timed))
        names_of_instances = list(dict.fromkeys(instance.instance for instance, _ in group))
        instances = dict(zip(names_of_instances, _numbers(names_of_instances), strict=True))
        listed = [_listed(run, instances[instance.instance]) for instance, run in group]
        scenarios.append({"dimension": dimension, "path": f"{data.name}/{file}", "runs": listed})
    content = {
        "version": VERSION,
        "suite": suite or "unknown_suite",
        "function_id": number,
        "function_name": function,
        "maximization": False,
        "algorithm": {"name": algorithm, "info": "exported by polarbear"},
        "attributes": columns,
        "scenarios": scenarios,
    }
    (folder / f"IOHprofiler_{stem}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _listed(run: Run, instance: int) -> dict[str, Any]:
    trajectory, outcome = run.trajectory, run.outcome
    best: dict[str, Any] = {
        "evals": int(trajectory.evaluations[-1]) if trajectory.values.size else 0,
        "y": trajectory.best if math.isfinite(trajectory.best) else None,
        "x": [],
    }
    if run.solution is not None and run.solution.ndim == 1 and np.isfinite(run.solution).all():
        best["x"] = run.solution.tolist()
    own = {
        "instance": run.key.instance,
        "problem": list(astuple(run.problem)),
        "seed": run.key.seed,
        "target": run.target,
        "optimum": run.optimum,
        "reason": outcome.reason.value,
        "evaluations": outcome.evaluations,
        "seconds": outcome.seconds,
        "message": outcome.message,
        "traceback": outcome.traceback,
        "invalid_evaluations": outcome.invalid_evaluations,
    }
    if run.solution is not None and not best["x"]:
        own["solution"] = run.solution.tolist()
    return {"instance": instance, "evals": outcome.evaluations, "best": best, OWN: own}


def _rows(run: Run, names: Sequence[str], timed: bool) -> Iterator[list[str]]:
    """A run's improvements, logged parameters, and first evaluation, by which readers separate runs."""
    trajectory, logged = run.trajectory, run.parameters
    marks = [np.array([1]), trajectory.evaluations] + ([] if logged is None else [logged.evaluations])
    at = np.unique(np.concatenate(marks))
    entries = np.searchsorted(trajectory.evaluations, at, side="right")
    values = np.concatenate(([np.inf], trajectory.values))[entries]
    seconds = np.concatenate(([0.0], trajectory.seconds))[entries]
    columns: list[FloatArray] = [values, *([seconds] if timed else [])]
    for name in names:
        column = np.full(at.size, np.nan)
        if logged is not None and name in logged.values:
            column[np.searchsorted(at, logged.evaluations)] = logged.values[name]
        columns.append(column)
    for evaluation, *cells in zip(at.tolist(), *(column.tolist() for column in columns), strict=True):
        yield [str(evaluation), *map(repr, cells)]


def _word(name: str) -> str:
    """A parameter's name as a column name: a single word that is not reserved."""
    word = re.sub(r"\s+", "_", name.strip()) or "parameter"
    return f"parameter_{word}" if word in RESERVED | {SECONDS} or word[0] in '0123456789+-."' else word

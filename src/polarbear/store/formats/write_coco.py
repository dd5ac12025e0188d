"""Export of runs as COCO's folders, in the layout of its experiments since 2019, for two objectives since 2016.

COCO's data are precisions, a run's values minus its optimum, or for two objectives its indicator, whose optimum is 0.
Of a run they contain the trajectory and the evaluations spent. The ``.dat`` files contain every improvement, not only
those that hit one of COCO's targets, and the ``.tdat`` files the end of each run as well. With constraints, evaluations
are those of the function and of the constraints; all before the first value are written as evaluations of constraints,
and the others as evaluations of the function, since only their sum is known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from polarbear.quantities import plural
from polarbear.records import Instance, Run
from polarbear.store.formats.coco import PRECISION
from polarbear.store.formats.write_iohprofiler import distinct

Member = tuple[Instance, Run]
_LONGEST = 80
"""Maximum number of characters quoted from a message."""
_HEADER = (
    "% f evaluations | g evaluations | best noise-free fitness - Fopt ({optimum!r}) + sum g_i+ | measured fitness | "
    "best measured fitness or single-digit g-values | x1 | x2...\n"
)
_INDICATOR_HEADER = (
    "%\n% index = 0, name = {name}\n% instance = {instance}, reference value = 0.0\n"
    "% function evaluation | indicator value | target hit\n"
)


def write(runs: Sequence[Run], path: Path) -> None:
    """Write one folder per algorithm into `path`.

    Raises:
        ValueError: If a run's instance is not named as in COCO, its optimum is unknown, or the value of its first
            evaluation is; see `writable`.
    """
    groups: defaultdict[tuple[str, str], list[Member]] = defaultdict(list)
    for run in runs:
        instance = _checked(run)
        groups[run.key.algorithm, instance.suite].append((instance, run))
    folders = distinct([algorithm for algorithm, _ in groups])
    several = len({suite for _, suite in groups}) > 1
    for (algorithm, suite), members in groups.items():
        folder = path / folders[algorithm] / suite if several else path / folders[algorithm]
        folder.mkdir(parents=True)
        name = algorithm.replace("'", "’").replace("\n", " ")  # COCO's readers have no escapes
        write_suite = _two_objectives if "biobj" in suite else _one_objective
        write_suite(folder, name, suite, members)


def writable(runs: Sequence[Run]) -> tuple[list[Run], list[Run], str]:
    """The runs that found a value, those that did not, which COCO's data cannot represent, and a message on these.

    Raises:
        ValueError: If no run found a value.
    """
    nonempty = [run for run in runs if run.trajectory.values.size]
    empty = [run for run in runs if not run.trajectory.values.size]
    if not empty:
        return nonempty, empty, ""
    ends: Counter[str] = Counter()
    for run in empty:
        message = run.outcome.message.partition(":")[0].strip()[:_LONGEST]
        ends[f"of {run.key.algorithm} ({run.outcome.reason}{': ' * bool(message)}{message})"] += 1
    listed = ", ".join(f"{count:,} {end}" for end, count in sorted(ends.items()))
    if not nonempty:
        raise ValueError(f"no run can be exported to COCO, as none of them found a value: {listed}")
    are, them = ("is", "it") if len(empty) == 1 else ("are", "them")
    left_out = f"{plural(empty, 'run')} that found no value {are} left out, as COCO's format cannot represent {them}"
    spent = sum(run.outcome.evaluations for run in empty)
    uncounted = f"; this omits {plural(spent, 'evaluation')}" if spent else ""
    return nonempty, empty, f"{left_out}: {listed}{uncounted}"


def _checked(run: Run) -> Instance:
    instance = run.problem
    if not (instance.suite and instance.function.isdecimal() and instance.instance.isdecimal() and instance.dimension):
        raise ValueError(
            f"{run.key} cannot be exported to COCO: its instance needs a name such as 'bbob-f3-i1-d5', with a number "
            "for the function, the instance and the dimension"
        )
    if run.optimum is None:
        raise ValueError(
            f"{run.key} cannot be exported to COCO, which records distances to the optimum: its optimum is not known"
        )
    at_once = "constrained" in instance.suite or run.trajectory.evaluations[:1].tolist() == [1]
    if not at_once or not np.isfinite(run.trajectory.values[0]):
        raise ValueError(
            f"{run.key} cannot be exported to COCO: the value of its first evaluation is not known or not finite"
        )
    return instance


def _one_objective(folder: Path, algorithm: str, suite: str, members: Sequence[Member]) -> None:
    info: defaultdict[str, list[str]] = defaultdict(list)
    logger = suite if "constrained" in suite else "bbob"
    for (function, dimension), group in _problems(members).items():
        targets = [run.target - (run.optimum or 0.0) for _, run in group if run.target is not None]
        file = f"data_f{function}/bbobexp_f{function}_DIM{dimension}"
        _data(folder / file, group)
        info[function] += [
            f"suite = '{suite}', funcId = {function}, DIM = {dimension}, "
            f"Precision = {max(targets, default=PRECISION)!r}, algId = '{algorithm}', "
            f"coco_version = '2.3.6', logger = '{logger}', data_format = 'bbob-new2'",
            "% exported by polarbear",
            f"{file}.dat, {_listed(group)}",
        ]
    for function, lines in info.items():
        (folder / f"bbobexp_f{function}.info").write_text("\n".join(lines), encoding="utf-8")


def _two_objectives(folder: Path, algorithm: str, suite: str, members: Sequence[Member]) -> None:
    info = [
        f"algorithm = '{algorithm}', indicator = 'hyp', folder = 'data', coco_version = '2.3.6', suite = '{suite}'",
        "% exported by polarbear",
    ]
    for (function, dimension), group in _problems(members).items():
        file = f"{suite}_f{int(function):02d}_d{dimension:02d}_hyp"
        _data(folder / "data" / file, group)
        info.append(f"function = {function}, dim = {dimension}, {file}.dat, {_listed(group)}")
    (folder / f"{suite}_hyp.info").write_text("\n".join(info), encoding="utf-8")


def _problems(members: Sequence[Member]) -> Mapping[tuple[str, int], list[Member]]:
    """Runs by function and dimension, in the order in which repetitions are numbered on reading."""
    problems: defaultdict[tuple[str, int], list[Member]] = defaultdict(list)
    for instance, run in sorted(members, key=lambda member: (member[1].key.seed, int(member[0].instance))):
        problems[instance.function, instance.dimension].append((instance, run))
    return dict(sorted(problems.items(), key=lambda each: (int(each[0][0]), each[0][1])))


def _listed(group: Sequence[Member]) -> str:
    return ", ".join(f"{each.instance}:{run.outcome.evaluations}|{_precisions(run)[-1]!r}" for each, run in group)


def _data(path: Path, group: Sequence[Member]) -> None:
    path.parent.mkdir(exist_ok=True)
    with (
        Path(f"{path}.dat").open("x", newline="\n") as hits,
        Path(f"{path}.tdat").open("x", newline="\n") as times,
    ):
        for instance, run in group:
            if "biobj" in instance.suite:
                header = _INDICATOR_HEADER.format(name=run.key.instance, instance=instance.instance)
            else:
                header = _HEADER.format(optimum=run.optimum)
            at, precisions = run.trajectory.evaluations.tolist(), _precisions(run)
            hits.writelines((header, *_rows(instance, at, precisions)))
            if run.outcome.evaluations > at[-1]:
                at, precisions = [*at, run.outcome.evaluations], [*precisions, precisions[-1]]
            times.writelines((header, *_rows(instance, at, precisions)))


def _rows(instance: Instance, evaluations: Sequence[int], precisions: Sequence[float]) -> Iterator[str]:
    before = evaluations[0] - 1  # evaluations of constraints, which may precede the first one of the function
    for at, precision in zip(evaluations, precisions, strict=True):
        if "biobj" in instance.suite:
            yield f"{at}\t{precision!r}\t{precision!r}\n"
        else:
            yield f"{at - before} {before} {precision!r} {precision!r} {precision!r}\n"


def _precisions(run: Run) -> list[float]:
    return (run.trajectory.values - (run.optimum or 0.0)).tolist()

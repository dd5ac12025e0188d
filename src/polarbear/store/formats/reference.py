"""COCO's reference algorithms, such as the best algorithms of 2009: expected runtimes per target instead of runs.

Their archives have ``.info`` files like others, with the instance 0, but the rows of their data files contain a target
and the lowest expected runtime of any of the combined algorithms for it; newer ones add which algorithm that was, and
in how many of its runs it hit the target.
"""

from __future__ import annotations

import math
import posixpath
from contextlib import closing
from pathlib import Path

import numpy as np

from polarbear.records import Reference
from polarbear.store.formats.archives import Tree, beside, open_tree
from polarbear.store.formats.coco import ARTIFICIAL
from polarbear.store.formats.info import Entry, entries
from polarbear.store.formats.reports import Limits, Report

_WITH_ALGORITHM = 6
"""Number of columns if a row names its algorithm: runtime, twice the target, algorithm, successes, runs."""


def read_reference(path: str | Path, limits: Limits) -> dict[tuple[str, int], Reference]:
    """Read an archive or folder of a reference algorithm within this process; see `supervision.read_reference`."""
    report = Report()
    references: dict[tuple[str, int], Reference] = {}
    with closing(open_tree(Path(path), limits, report)) as tree:
        for name in tree.names:
            if name.endswith(".info"):
                for entry in entries(tree.read(name), tree.label(name), report):
                    reference = _reference(tree, name, entry)
                    if reference is not None:
                        references[entry.function, entry.dimension] = reference
    if report.skipped:
        raise ValueError(f"the reference algorithm is damaged: {report.skipped[0]}")
    if not references:
        raise ValueError(f"{path} holds no COCO reference algorithm; use polarbear.store.read to read runs")
    return references


def _reference(tree: Tree, info: str, entry: Entry) -> Reference | None:
    path = beside(info, posixpath.splitext(entry.files[0].path)[0] + ".dat")
    if path is None or path not in tree:
        raise ValueError(f"{tree.label(info)}, line {entry.line}: {entry.files[0].path} is missing")
    data = tree.read(path)
    if ARTIFICIAL not in data[:200]:
        return None
    if not data.endswith(b"\n"):
        raise ValueError(f"{tree.label(path)}: its last line does not end with a newline, so it may be cut off")
    rows: dict[float, tuple[float, str, int, int]] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        cells = line.split()
        if not cells or line.startswith(b"%"):
            continue
        try:
            ert, target = float(cells[0]), float(cells[2])
            name, successes, runs = cells[-3:] if len(cells) == _WITH_ALGORITHM else (b"", b"0", b"0")
            row = ert, name.decode("utf-8", "backslashreplace"), int(successes), int(runs)
            if not (ert >= 0 and math.isfinite(target)):
                raise ValueError
        except (ValueError, IndexError) as error:
            raise ValueError(
                f"{tree.label(path)}, line {number}: expected a runtime and a target, found {line[:60]!r}"
            ) from error
        rows.setdefault(target, row)
    targets = sorted(rows, reverse=True)
    chosen = [rows[target] for target in targets]
    return Reference(
        name=entry.algorithm,
        suite=entry.suite,
        targets=np.array(targets),
        ert=np.array([row[0] for row in chosen]),
        algorithms=tuple(row[1] for row in chosen),
        successes=np.array([row[2] for row in chosen], dtype=np.int64),
        runs=np.array([row[3] for row in chosen], dtype=np.int64),
    )

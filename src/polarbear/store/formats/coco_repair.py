"""Match COCO's files with each other: listed runs with those in a file, and the rows of a run's two files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polarbear.store.formats.coco_dat import Rows
from polarbear.store.formats.info import Listed

_DIGITS = 0.06
"""Final values are listed with two digits: how far, relatively, rounding may have moved them."""
_STEP = 10**-0.2
"""The .dat file's last row may be as far above the final value: the next target was not hit."""


def agreeing(runs: Sequence[Listed], logged: Sequence[Rows], precision: float, *, ended: bool) -> dict[int, int]:
    """Match the runs of a data file to those that are listed, which are more or fewer, by how they end.

    Args:
        runs: As listed.
        logged: What the data file holds, in its order, which is that of the list.
        precision: The final target precision, which old data subtract from the listed values.
        ended: Whether the last row of a run is its end, as in ``.tdat`` files.

    Returns:
        For positions in `runs` those in `logged`. The last one may be a run that the file's end cuts off.
    """
    matched: dict[int, int] = {}
    start = 0
    for place, rows in enumerate(logged):
        position = next((i for i in range(start, len(runs)) if _agrees(runs[i], rows, precision, ended)), None)
        if position is None and place == start == len(logged) - 1 < len(runs) and _begins(runs[start], rows, precision):
            position = start
        if position is not None:
            matched[position] = place
            start = position + 1
    return matched


def contradicted(hits: Rows, times: Rows, tolerance: float) -> list[int]:
    """Which ``.tdat`` rows tell of a better value than the ``.dat`` file still has at that evaluation or later.

    Both files hold the best value so far, so that one of them is wrong. Where the ``.dat`` rows end before, nothing is
    contradicted: they may be cut off.

    Args:
        hits: The ``.dat`` rows of a run.
        times: Its ``.tdat`` rows.
        tolerance: How far, relatively, the digits that are written may put a value below another.
    """
    order = np.argsort(hits.evaluations, kind="stable")
    at, best = np.array(hits.evaluations, dtype=np.int64)[order], np.array(hits.values, dtype=np.float64)[order]
    following = np.searchsorted(at, np.array(times.evaluations, dtype=np.int64))
    later = np.append(best, -np.inf)[following]
    with np.errstate(over="ignore"):
        rounded = later * (1 - tolerance * np.sign(later))
    return np.flatnonzero(np.array(times.values) < rounded).tolist()


def _agrees(listed: Listed, rows: Rows, precision: float, ended: bool) -> bool:
    if listed.evaluations is None or listed.final is None or not rows.values:
        return False
    best, last = min(rows.values), rows.evaluations[-1]
    slack = _DIGITS * abs(best) + 1.1 * precision
    if ended:
        return last == listed.evaluations and abs(listed.final - best) <= slack
    lowest = best * _STEP if best > precision else -precision
    return last <= listed.evaluations and lowest - slack <= listed.final <= best + slack


def _begins(listed: Listed, rows: Rows, precision: float) -> bool:
    """Whether rows may be the beginning of a run."""
    if listed.evaluations is None or listed.final is None or not rows.values:
        return False
    best = min(rows.values)
    return rows.evaluations[-1] <= listed.evaluations and listed.final <= best + _DIGITS * abs(best) + precision

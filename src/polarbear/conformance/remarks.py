"""Remarks on an optimizer without a judgement, since races and plans expect nothing in this respect."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from polarbear.conformance.checks import Inapplicable
from polarbear.conformance.probes import fault_of, objectives_of, run_on
from polarbear.optimizers import Optimizer
from polarbear.problems import RandomValuesProblem
from polarbear.quantities import plural
from polarbear.records import FloatArray

DIMENSION, RUNS, EVALUATIONS, SECONDS = 5, 50, 500, 40.0
ALPHA, SAMPLES = 0.01, 20_000


def bias(optimizer: Optimizer) -> str:
    """Whether it prefers some part of the box regardless of the objective: 50 runs on random values, 5 variables."""
    from polarbear.bias import judge  # slow to import

    if objectives_of(optimizer) > 1:
        raise Inapplicable("it only accepts several objectives, and structural bias is defined for one")
    problem, points, began = RandomValuesProblem(DIMENSION), list[FloatArray](), time.monotonic()
    for seed in range(RUNS):
        run, _ = run_on(optimizer, problem, EVALUATIONS, seed)
        if fault := fault_of(run):
            raise ValueError(f"on random values, {fault}")
        if run.solution is None or not np.isfinite(run.trajectory.values[-1]):
            spent = plural(run.outcome.evaluations, "evaluation")
            raise Inapplicable(f"a run of {spent} found no finite value in the box")
        points.append(run.solution)
        if time.monotonic() - began > SECONDS:
            raise Inapplicable(
                f"{seed + 1} of {RUNS} runs took more than {SECONDS:g} s; polarbear bias has no time limit"
            )
    return judge(np.array(points), alpha=ALPHA, samples=SAMPLES).sentence


REMARKS: dict[str, Callable[[Optimizer], str]] = {"bias": bias}
"""All remarks by name: functions that return the text of the remark."""

"""Runs on their way between processes: a few arrays and lists, which take a fraction of what pickling the runs takes.

Neither side needs polars, which does not work in a process that was forked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polarbear.records import Outcome, Parameters, Reason, Run, RunKey, Samples, Trajectory

_ARRAYS = ("evaluations", "seconds", "values")
_OUTCOME = ("reason", "evaluations", "seconds", "message", "traceback", "invalid_evaluations")


def pack(runs: Sequence[Run]) -> dict[str, Any]:
    """One or more runs as plain values and arrays that hold one run after the other."""
    trajectories = [run.trajectory for run in runs]
    return {
        "keys": [(run.key.instance, run.key.algorithm, run.key.seed) for run in runs],
        "arrays": [np.concatenate([getattr(one, name) for one in trajectories]) for name in _ARRAYS],
        "sizes": np.array([one.values.size for one in trajectories]),
        "outcomes": [tuple(getattr(one.outcome, name) for name in _OUTCOME) for one in trajectories],
        "targets": [run.target for run in runs],
        "optima": [run.optimum for run in runs],
        "parameters": [run.parameters and (run.parameters.evaluations, dict(run.parameters.values)) for run in runs],
        "solutions": [run.solution for run in runs],
        "identities": [run.identity for run in runs],
        "samples": [(one := run.samples) and (one.evaluations, one.points, one.values) for run in runs],
    }


def unpack(packed: dict[str, Any]) -> list[Run]:
    """The runs that `pack` was given."""
    outcomes = [Outcome(Reason(reason), *others) for reason, *others in packed["outcomes"]]
    evaluations, seconds, values = packed["arrays"]
    trajectories = Trajectory.many(evaluations, seconds, values, packed["sizes"], outcomes)
    parameters: list[Parameters | None] = [one and Parameters(*one) for one in packed["parameters"]]
    keys = [RunKey(*key) for key in packed["keys"]]
    samples: list[Samples | None] = [one and Samples(*one) for one in packed["samples"]]
    others = packed["targets"], packed["optima"], parameters, packed["solutions"], samples, packed["identities"]
    return list(map(Run, keys, trajectories, *others))

"""Runs whose statistics are known from how they are made."""

import numpy as np

from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory


def run(algorithm, function, dimension, seed, hits, spent, optimum=0.0):
    """A run that begins at precision 1,000 and finds precision 10^(1 - k) at evaluation hits[k]."""
    evaluations = np.append(1, hits)
    values = np.append(1000.0, 10.0 ** (1.0 - np.arange(len(hits)))) + (optimum or 0.0)
    trajectory = Trajectory(evaluations, np.zeros(evaluations.size), values, Outcome(Reason.STOPPED, spent, 0.0))
    key = RunKey(f"bbob-f{function}-i{seed + 1}-d{dimension}", algorithm, 0)
    return Run(key, trajectory, optimum=optimum)


def runs(optimum=0.0):
    """`fast` takes k evaluations for its k-th step and solves all; `slow` takes ten times as many, and stops early."""
    return [
        made
        for function in (1, 2)
        for dimension in (2, 5)
        for seed in range(6)
        for made in (
            run("fast", function, dimension, seed, dimension * np.arange(1, 11) + seed, 100 * dimension, optimum),
            run("slow", function, dimension, seed, 10 * dimension * np.arange(1, 6) + seed, 100 * dimension, optimum),
        )
    ]

"""An optimizer that workers can import, and that leaves the box now and then."""

import numpy as np


def optimizer(problem, rng):
    best = rng.uniform(problem.lower, problem.upper)
    value, width = problem(best), 0.2
    while True:
        trial = best + width * rng.normal(size=best.size) * (problem.upper - problem.lower)
        if (told := problem(trial)) < value:
            best, value = trial, told
        width = max(0.97 * width, 1e-9) if np.isfinite(told) else 0.2

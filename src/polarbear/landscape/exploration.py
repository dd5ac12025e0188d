"""Landscape features that require further evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import qmc

from polarbear.landscape.design import Design
from polarbear.landscape.evaluated.counted import Counted
from polarbear.landscape.evaluated.curvature import ela_conv, ela_curv
from polarbear.landscape.evaluated.local_searches import ela_local, hill_climbing
from polarbear.landscape.evaluated.optima_network import lon
from polarbear.landscape.evaluated.variances import sobol
from polarbear.landscape.evaluated.walks import gradient, length_scale
from polarbear.landscape.features import Features, checked_sets
from polarbear.problems import as_spec
from polarbear.records import FloatArray

EVALUATED: Mapping[str, Callable[[Counted, FloatArray, np.random.Generator], dict[str, float]]] = {
    "ela_local": ela_local,
    "ela_conv": ela_conv,
    "ela_curv": ela_curv,
    "hill_climbing": hill_climbing,
    "gradient": gradient,
    "length_scale": length_scale,
    "sobol": sobol,
    "lon": lon,
}
"""Sets of features that require evaluations of the function, by flacco's names."""

_POINTS_PER_VARIABLE = 50
_UNDEFINED = "the function is constant where it was evaluated, or a ratio is 0/0"


def explore(
    problem: Any,
    sets: str | Sequence[str] = tuple(EVALUATED),
    *,
    points: ArrayLike | None = None,
    seed: int = 0,
) -> Features:
    """Compute landscape features that require further evaluations, by flacco's names.

    Each set has an additional feature ``additional_function_eval``, its number of evaluations of the function.

    Args:
        problem: A problem or its specification, or (function, lower, upper).
        sets: Names of sets; default all of `EVALUATED`.
        points: (n, d) starting points of ela_local, ela_conv and ela_curv; default a Latin hypercube of 50 · d points.
        seed: Seed of all random choices; each set has its own stream.

    Returns:
        The features as floats; an undefined one is NaN and has a reason.

    Raises:
        TypeError: If `problem` is not a problem.
        ValueError: If a set is unknown, or the points are not (n, d) finite numbers inside the box.
    """
    built = as_spec(problem).build()
    values: dict[str, float] = {}
    for name in checked_sets(sets, EVALUATED):
        function, rng = Counted(built), np.random.default_rng([seed, *name.encode()])
        if points is None:
            sample = latin_hypercube(function.lower, function.upper, _POINTS_PER_VARIABLE * function.dimension, seed)
        else:
            sample = Design(points, function.lower, function.upper).points
        values |= EVALUATED[name](function, sample, rng)
        values[f"{name}.additional_function_eval"] = float(function.evaluations)
    return Features(values, {name: _UNDEFINED for name, value in values.items() if math.isnan(value)})


def latin_hypercube(lower: FloatArray, upper: FloatArray, size: int, seed: int) -> FloatArray:
    """(size, d) points of a Latin hypercube sample from (d,) `lower` to `upper`; the same for the same seed."""
    return qmc.scale(qmc.LatinHypercube(len(lower), rng=np.random.default_rng(seed)).random(size), lower, upper)

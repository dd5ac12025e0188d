"""sobol: Sobol' indices, and distributions of values and states (Waibel et al. 2020)."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy.stats import qmc

from polarbear.landscape.evaluated.counted import Counted
from polarbear.records import FloatArray

_BASE = 1024
"""Size of the base sample; d + 2 times as many points are evaluated."""
_BINS = 20
_LEAST_IN_BIN = 1.5
"""Minimum number of points in a bin, in multiples of the number of variables; smaller bins count as 0 (eq. 5)."""


def sobol(function: Counted, points: FloatArray, rng: np.random.Generator) -> dict[str, float]:  # noqa: ARG001
    """First-order and total indices from the sample of Saltelli et al. (2010), and metrics of its two base samples."""
    d = function.dimension
    unit = qmc.Sobol(2 * d, rng=rng).random(_BASE)
    first, second = (qmc.scale(half, function.lower, function.upper) for half in (unit[:, :d], unit[:, d:]))
    values, others = function.batch(first), function.batch(second)
    mixed = np.empty((d, _BASE))
    for i in range(d):
        points_i = first.copy()
        points_i[:, i] = second[:, i]
        mixed[i] = function.batch(points_i)
    both = np.concatenate([values, others])
    variance = both.var()
    with np.errstate(divide="ignore", invalid="ignore"):
        main = (others * (mixed - values)).mean(axis=1) / variance  # table 2b
        total = 0.5 * ((values - mixed) ** 2).mean(axis=1) / variance  # table 2f
        features = {
            "sobol_indices.degree_of_variable_interaction": 1 - main.sum(),
            "sobol_indices.coeff_var_x_sensitivy": total.std() / total.mean(),
            "fitness_variance": (both / both.mean()).var(),
            **_states(np.vstack([first, second]), both),
        }
    return {f"fla_metrics.{name}": float(value) for name, value in features.items()}


def _states(points: FloatArray, values: FloatArray) -> dict[str, float]:
    """Variance and skewness of the spread of points with similar values, and skewness of the values (eqs. 4 to 9)."""
    edges = cast("FloatArray", np.linspace(values.min(), values.max(), _BINS + 1))
    which = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, _BINS - 1)
    spread, known = np.zeros(len(values)), list[FloatArray]()
    for members in (np.flatnonzero(which == i) for i in range(_BINS)):
        if len(members) >= _LEAST_IN_BIN * points.shape[1]:
            distances = np.abs(points[members] - points[members].mean(axis=0)).mean(axis=1)
            spread[members] = distances.mean()
            known.append(distances)
    return {
        "state_variance": float(spread.var()),
        "fitness_skewness": _skewness(values),
        "state_skewness": _skewness(np.concatenate(known)) if known else float("nan"),
    }


def _skewness(values: FloatArray) -> float:
    """Distance of the mean below the middle of the range, in units of half the range."""
    low, high = values.min(), values.max()
    return float(((low + high) / 2 - values.mean()) / ((high - low) / 2))

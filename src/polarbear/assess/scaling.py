"""How runtimes scale with dimension (Hansen et al. 2022, section V-B)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Expected runtimes against dimension, and the power law ERT = factor * dimension^exponent fitted to them.

    Attributes:
        dimensions: (dimensions,) numbers of variables.
        per_dimension: (dimensions, ...) ERT divided by dimension, to be plotted against dimension on log-log axes;
            a horizontal line there is linear scaling.
        exponent: (...) the fitted exponent, NaN where fewer than two dimensions have a finite ERT.
        factor: (...) the fitted factor, in evaluations.
    """

    dimensions: FloatArray
    per_dimension: FloatArray
    exponent: FloatArray
    factor: FloatArray


def scaling(dimensions: ArrayLike, erts: ArrayLike) -> Scaling:
    """Divide expected runtimes by dimension and fit a power law by least squares on log-log axes.

    Args:
        dimensions: (dimensions,) numbers of variables, all different.
        erts: (dimensions, ...) positive ERTs, one column for each target or algorithm; inf where missed.

    Raises:
        ValueError: If a dimension is below 1 or occurs twice, an ERT is NaN or not positive, or shapes do not fit.
    """
    sizes, runtimes = np.asarray(dimensions, dtype=np.float64), np.asarray(erts, dtype=np.float64)
    if sizes.ndim != 1 or not (sizes >= 1).all() or np.unique(sizes).size < sizes.size:
        raise ValueError(f"dimensions are {sizes!r}; give different numbers from 1")
    if runtimes.shape[:1] != sizes.shape or not (runtimes > 0).all():
        raise ValueError(f"erts have shape {runtimes.shape}; give ({sizes.size}, ...), all positive")
    flat = runtimes.reshape(sizes.size, -1)
    fits = np.array([_power_law(sizes, column) for column in flat.T]).reshape(flat.shape[1], 2)
    shape = runtimes.shape[1:]
    per_dimension = (flat / sizes[:, None]).reshape(runtimes.shape)
    return Scaling(sizes, per_dimension, fits[:, 0].reshape(shape), fits[:, 1].reshape(shape))


def _power_law(dimensions: FloatArray, erts: FloatArray) -> tuple[float, float]:
    finite = np.isfinite(erts)
    if finite.sum() < 2:
        return float("nan"), float("nan")
    x, y = np.log(dimensions[finite]), np.log(erts[finite])
    around = x - x.mean()
    exponent = float(around @ y / (around @ around))
    return exponent, float(np.exp(y.mean() - exponent * x.mean()))

"""The rankings and ratings that predictive statistics start from."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polarbear.inference.posterior import Posterior
from polarbear.records import FloatArray


def checked_values(posterior: Posterior, values: ArrayLike, precision: float | None) -> FloatArray:
    """Values (P, T, n) that fit a posterior, rounded so that those which tie are equal.

    Raises:
        ValueError: If the shapes do not fit together, or the precision is not positive.
    """
    cells = np.asarray(values, dtype=np.float64)
    wanted = posterior.draws.shape[1:]
    if cells.ndim != 3 or cells.shape[1:] != wanted:
        raise ValueError(
            f"values has shape {cells.shape}; a posterior of {wanted[0]} timepoints and {wanted[1]} algorithms needs "
            f"(instances, {wanted[0]}, {wanted[1]}), the values it was fitted to"
        )
    if precision is None:
        return cells
    if not 0 < precision < np.inf:
        raise ValueError(f"precision is {precision!r}; it must be positive and finite, or None for equality")
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        multiples = np.clip(np.rint(cells / precision), -largest, largest)
    return np.where(np.isfinite(cells), multiples, cells)


def is_pooled(posterior: Posterior) -> bool:
    """Whether the rankings at all timepoints together are behind what is believed at one."""
    return posterior.joint and (posterior.model is None or posterior.model.pooled)


def check_unadjusted(posterior: Posterior) -> None:
    """Raise a ValueError if the draws were made wider than the likelihood has them."""
    if posterior.diagnostics.widened is not None:
        raise ValueError(
            "the draws were made as wide as the instances differ, so that they are not those of the likelihood; fit "
            "polarbear.inference.as_published(model) to the same rankings, and ask that"
        )


def log_ratings(draws: FloatArray, most: int) -> FloatArray:
    """(at most `most`, T, n) logarithms of evenly spaced draws."""
    chosen = np.unique(np.linspace(0, len(draws) - 1, min(most, len(draws))).round().astype(np.intp))
    return np.log(np.maximum(draws[chosen], np.finfo(np.float64).tiny))

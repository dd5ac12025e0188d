"""Features of the last evaluations of a run (Vermetten 2025, section 5.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.landscape.diversity import diversity
from polarbear.landscape.features import feature_names, features
from polarbear.records import FloatArray
from polarbear.validation import whole_number

RECENT_SETS = ("ela_meta", "ela_distr", "disp", "ic", "nbc", "pca")
"""Default sets of features for the last evaluations."""
LAST = (50, 150, 250)
"""Default window sizes, in evaluations, as in the thesis."""
_LEAST = 1e-300


def recent_names(last: Sequence[int] = LAST, sets: Sequence[str] = RECENT_SETS) -> tuple[str, ...]:
    """Names of what `recent_features` computes for these ``last`` and ``sets``, such as ``disp.ratio_mean_02@50``."""
    each = ("pop_div", "fit_div", "gain", *feature_names(sets))
    return ("dimension", "evaluations", "stagnation", *(f"{name}@{size}" for size in last for name in each))


def recent_features(
    points: ArrayLike,
    values: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    last: Sequence[int] = LAST,
    sets: Sequence[str] = RECENT_SETS,
) -> dict[str, float]:
    """Compute features of a run from all its evaluations so far. None depends on shift or scale of the values.

    Besides landscape features of values mapped to [0, 1], they are ``dimension``; ``evaluations``, log10 of the number
    of evaluations per variable; ``stagnation``, the share of evaluations since the last improvement; and for each
    window the logarithms (base 10) of ``pop_div``, the diversity of its points in box widths, and of ``fit_div``, the
    diversity of its values as a share of that in the whole run, and ``gain``, the improvement of the best value as a
    share of the diversity of values in the window.

    Args:
        points: (m, d) points in order.
        values: (m,) values to be minimized; +inf where there is none.
        lower: (d,) lower bounds of the box.
        upper: (d,) upper bounds of the box.
        last: Window sizes; a window longer than the run contains all points.
        sets: Sets of landscape features.

    Returns:
        The features, by the names in `recent_names`; NaN where undefined.

    Raises:
        ValueError: If shapes do not match, or as in `features`.
    """
    x, y = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1] or not y.size:
        raise ValueError(f"points have shape {x.shape} and values {y.shape}; give (m, d) points and (m,) values")
    units = (x - np.asarray(lower)) / (np.asarray(upper) - np.asarray(lower))
    best = np.minimum.accumulate(y)
    finite = np.isfinite(y)
    whole = _diversity(y[finite])
    found = {
        "dimension": float(x.shape[1]),
        "evaluations": float(np.log10(y.size / x.shape[1])),
        "stagnation": 1 - (int(np.argmin(y)) + 1) / y.size,
    }
    for size in last:
        whole_number(size, "last", 2)
        kept = finite.copy()
        kept[:-size] = False
        window = units[kept], y[kept]
        spread = _diversity(window[1])
        before = best[-size - 1] if y.size > size else best[0]
        found[f"pop_div@{size}"] = _log(diversity(window[0]) if kept.any() else np.nan)
        found[f"fit_div@{size}"] = _log(spread / whole) if whole > 0 else np.nan
        found[f"gain@{size}"] = _share(before - best[-1], spread)
        found |= {f"{name}@{size}": value for name, value in _landscape(*window, sets).items()}
    return found


def _landscape(units: FloatArray, values: FloatArray, sets: Sequence[str]) -> dict[str, float]:
    """Landscape features; all are NaN if there are not two distinct points."""
    if len(values) < 2 or not np.ptp(units, axis=0).any():
        return dict.fromkeys(feature_names(sets), np.nan)
    computed = features(units, values, sets, normalize="min-max")
    return {name: value if np.isfinite(value) else np.nan for name, value in computed.items()}


def _diversity(values: FloatArray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(diversity(values[:, np.newaxis])) if values.size else np.nan


def _log(value: float | FloatArray) -> float:
    """The logarithm of a non-negative value; NaN for infinite values."""
    return float(np.log10(np.maximum(value, _LEAST))) if np.isfinite(value) else np.nan


def _share(part: float, whole: float) -> float:
    """A share, at most 100, with 0 / 0 = 0; NaN if an argument is not finite."""
    if not np.isfinite(part) or not np.isfinite(whole):
        return np.nan
    return float(min(part / whole, 100.0)) if whole > 0 else 0.0

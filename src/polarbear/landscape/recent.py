"""What a run has lately seen: features of its last evaluations (Vermetten 2025, section 5.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.landscape.diversity import diversity
from polarbear.landscape.features import feature_names, features
from polarbear.records import FloatArray
from polarbear.validation import whole_number

RECENT_SETS = ("ela_meta", "ela_distr", "disp", "ic", "nbc", "pca")
"""Sets of features that are computed of the last evaluations unless told otherwise."""
LAST = (50, 150, 250)
"""Of how many evaluations, as in the thesis."""
_LEAST = 1e-300


def recent_names(last: Sequence[int] = LAST, sets: Sequence[str] = RECENT_SETS) -> tuple[str, ...]:
    """What `recent_features` computes with the same ``last`` and ``sets``, such as ``disp.ratio_mean_02@50``."""
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
    """Features of a run from all its evaluations until now. None depends on shift or scale of the values.

    Beside features of the landscape, of values mapped to [0, 1], they are ``evaluations``, log10 of their number per
    variable; ``stagnation``, the share of them since the last improvement; and of each window the logarithms (base 10)
    of ``pop_div``, the diversity of its points in box widths, and ``fit_div``, that of its values as a share of their
    diversity in the whole run, and ``gain``, by how much the best value improved, as a share of that of the window.

    Args:
        points: (m, d) in order.
        values: (m,) low is good; +inf where there is none.
        lower: (d,) lower bounds of the box.
        upper: (d,) upper bounds.
        last: Sizes of windows; of a shorter run all points.
        sets: Sets of features of landscapes.

    Returns:
        As `recent_names` names them; NaN where a feature has no value.

    Raises:
        ValueError: If shapes do not fit, or as `features`.
    """
    x, y = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1] or not y.size:
        raise ValueError(f"points have shape {x.shape}, values {y.shape}; give (m, d) and (m,)")
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
    """Features of the landscape; none where there are fewer than two points that differ."""
    if len(values) < 2 or not np.ptp(units, axis=0).any():
        return dict.fromkeys(feature_names(sets), np.nan)
    computed = features(units, values, sets, normalize="min-max")
    return {name: value if np.isfinite(value) else np.nan for name, value in computed.items()}


def _diversity(values: FloatArray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(diversity(values[:, np.newaxis])) if values.size else np.nan


def _log(value: float | FloatArray) -> float:
    """The logarithm of a value of at least 0; NaN for infinite ones."""
    return float(np.log10(np.maximum(value, _LEAST))) if np.isfinite(value) else np.nan


def _share(part: float, whole: float) -> float:
    """A share, 0 / 0 = 0, and at most 100; NaN of what is not finite."""
    if not np.isfinite(part) or not np.isfinite(whole):
        return np.nan
    return float(min(part / whole, 100.0)) if whole > 0 else 0.0

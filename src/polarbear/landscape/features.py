"""Features of a landscape from a sample of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import did_you_mean
from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Changed, FeatureSet
from polarbear.landscape.sampled.cells import ANGLES, CONVEXITY, GRADIENT_HOMOGENEITY, LINEAR_MODELS
from polarbear.landscape.sampled.dispersion import DISPERSION
from polarbear.landscape.sampled.fitness_distance import FITNESS_DISTANCE
from polarbear.landscape.sampled.information_content import INFORMATION_CONTENT
from polarbear.landscape.sampled.level_sets import LEVEL_SETS
from polarbear.landscape.sampled.meta_models import META
from polarbear.landscape.sampled.nearest_better import NEAREST_BETTER
from polarbear.landscape.sampled.principal_components import PRINCIPAL_COMPONENTS
from polarbear.landscape.sampled.y_distribution import DISTRIBUTION
from polarbear.records import FloatArray

SETS: Mapping[str, FeatureSet] = {
    "ela_meta": META,
    "ela_distr": DISTRIBUTION,
    "ela_level": LEVEL_SETS,
    "disp": DISPERSION,
    "ic": INFORMATION_CONTENT,
    "nbc": NEAREST_BETTER,
    "pca": PRINCIPAL_COMPONENTS,
    "limo": LINEAR_MODELS,
    "cm_angle": ANGLES,
    "cm_conv": CONVEXITY,
    "cm_grad": GRADIENT_HOMOGENEITY,
    "fitness_distance": FITNESS_DISTANCE,
}
"""Sets of features that require no further evaluations, by flacco's names."""

_CONSTANT = "all values are equal"


class Features(Mapping[str, Any]):
    """Features by name, with reasons for undefined ones.

    A feature is a float, or (k,) for k rows of values; NaN where undefined.

    Attributes:
        values: Features by name.
        reasons: By name, why features are undefined for all rows or some.
    """

    def __init__(self, values: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
        self._values = dict(values)
        self.reasons = dict(reasons)

    def __getitem__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        raise KeyError(f"there is no feature {name!r};{did_you_mean(name, self._values)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        without = f", {len(self.reasons)} of them undefined" if self.reasons else ""
        return f"<{len(self)} features{without}>"

    def array(self) -> FloatArray:
        """(m,) all features in order; (k, m) for k rows of values."""
        return np.stack([np.asarray(value, dtype=np.float64) for value in self._values.values()], axis=-1)


def features(
    X: ArrayLike | Design,  # noqa: N803 - the field's name
    y: ArrayLike,
    sets: str | Sequence[str] = tuple(SETS),
    *,
    normalize: Literal["min-max"] | None = None,
) -> Features:
    """Compute landscape features, by flacco's names, from evaluated points.

    What depends on the points alone is computed once for all rows of values; a `Design` keeps it for further calls.

    Args:
        X: (n, d) points, or their `Design`, which defines the box and its cells.
        y: (n,) values at the points, or (k, n) values of k functions, to be minimized.
        sets: Names of sets, such as ``"ela_meta"``; default all of `SETS`.
        normalize: "min-max" first maps each row of values to [0, 1], so that no feature depends on shift and scale.

    Returns:
        The features, set by set; one that is undefined, or needs more points, is NaN and has a reason.

    Raises:
        ValueError: If shapes do not match, a value is not finite, or a set is unknown.
    """
    design = X if isinstance(X, Design) else Design(X)
    rows, single = _checked_values(y, design.size)
    if normalize not in {None, "min-max"}:
        raise ValueError(f"normalize is {normalize!r}; it must be 'min-max' or None")
    varying = np.ptp(rows, axis=1) > 0
    chosen = rows[varying]
    if normalize:
        chosen = (chosen - chosen.min(axis=1, keepdims=True)) / np.ptp(chosen, axis=1)[:, None]
    values: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name in checked_sets(sets, SETS):
        for feature, (column, reason) in _of_set(SETS[name], design, chosen).items():
            filled = np.full(len(rows), np.nan)
            filled[varying] = column
            values[feature] = float(filled[0]) if single else filled
            if reason or not varying.all():
                reasons[feature] = reason or _CONSTANT
    return Features(values, reasons)


def _of_set(chosen: FeatureSet, design: Design, values: FloatArray) -> dict[str, tuple[FloatArray | float, str]]:
    """Values (k,) by name, and the reason why some are NaN; empty if none are."""
    if not len(values):
        return dict.fromkeys(chosen.names, (np.nan, _CONSTANT))
    with np.errstate(divide="ignore", invalid="ignore"):  # undefined features are NaN
        computed = chosen.compute(design, values)
    results: dict[str, tuple[FloatArray | float, str]] = {}
    for name in chosen.names:
        column = computed[name]
        if isinstance(column, str):
            results[name] = np.nan, column
        else:
            results[name] = column, chosen.undefined if np.isnan(column).any() else ""
    return results


def feature_names(sets: str | Sequence[str] = tuple(SETS)) -> tuple[str, ...]:
    """The features of these sets, in order; ValueError if a set is unknown."""
    return tuple(feature for name in checked_sets(sets, SETS) for feature in SETS[name].names)


def changed_by(feature: str) -> Changed | None:
    """Which change of the values affects a feature: "shift", "scale" or "shift and scale"; None if it is invariant.

    Raises:
        ValueError: If there is no such feature.
    """
    for chosen in SETS.values():
        if feature in chosen.names:
            return chosen.changed.get(feature)
    raise ValueError(f"there is no feature {feature!r};{did_you_mean(feature, feature_names())}")


def checked_sets(sets: str | Sequence[str], known: Mapping[str, object]) -> tuple[str, ...]:
    """Names of sets as a tuple without duplicates; ValueError if one is unknown or there is none."""
    names = (sets,) if isinstance(sets, str) else tuple(dict.fromkeys(sets))
    for name in names:
        if name not in known:
            raise ValueError(f"sets contains {name!r};{did_you_mean(name, known)}")
    if not names:
        raise ValueError(f"sets is empty; choose from: {', '.join(known)}")
    return names


def _checked_values(y: ArrayLike, size: int) -> tuple[FloatArray, bool]:
    """Values as (k, n), and whether they were given as a single row (n,)."""
    array = np.asarray(y, dtype=np.float64)
    if array.ndim not in {1, 2} or array.shape[-1] != size or not array.size:
        raise ValueError(f"y has shape {array.shape}; X has {size} points, so give ({size},) values or (k, {size})")
    if not np.isfinite(array).all():
        position = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"y{list(position)} is {array[position]}; leave out points whose value is not finite")
    return np.atleast_2d(array), array.ndim == 1

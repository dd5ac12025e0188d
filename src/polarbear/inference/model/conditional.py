"""Ratings conditional on features z of the instance: log θ_a(t | z) = α_a(t) + β_a(t)ᵀ φ(z)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.descriptions import did_you_mean
from polarbear.inference.likelihood.path_likelihood import helmert
from polarbear.inference.likelihood.timepoint_likelihood import normalized
from polarbear.inference.model.regression import Band, regress
from polarbear.inference.posterior import Posterior
from polarbear.inference.sampling.diagnostics import WEIGHTED_BOOTSTRAP, Diagnostics
from polarbear.inference.sampling.threads import one_thread
from polarbear.quantities import plural
from polarbear.rankings import Rankings
from polarbear.records import FloatArray, IntArray

_FURTHEST = 4.0
"""Number of standard deviations from the mean at which features are clipped, to limit the influence of outliers."""


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """The map from features to covariates φ: standardized on the instances of the fit, and clipped at ±4.

    An unknown feature is set to its mean. If it was unknown on some instances of the fit, another covariate indicates
    whether it is.

    Attributes:
        names: Names of the m features.
        centre: (m,) means of the features.
        scale: (m,) standard deviations; 0 for a feature that does not vary, which is left out.
        unknown: (m,) whether the feature was unknown on some instances, but not on all.
        squares: Whether the squares of features are covariates, too.
        owners: (c,) index of the feature that each entry of φ derives from, −1 for the constant.
    """

    names: tuple[str, ...]
    centre: FloatArray
    scale: FloatArray
    unknown: NDArray[np.bool_]
    squares: bool
    owners: IntArray

    @classmethod
    def of(cls, values: FloatArray, names: tuple[str, ...], squares: bool) -> Covariates:
        """Derive the map from features (P, m), NaN where unknown."""
        known: NDArray[np.bool_] = np.isfinite(values)
        unknown: NDArray[np.bool_] = np.any(known, axis=0, keepdims=False) & ~np.all(known, axis=0, keepdims=False)
        count = np.maximum(known.sum(axis=0), 1)
        centre = np.where(known, values, 0.0).sum(axis=0) / count
        scale = np.sqrt((np.where(known, values - centre, 0.0) ** 2).sum(axis=0) / count)
        scale[scale <= 1e-12 * np.abs(centre)] = 0.0
        varying, some = np.flatnonzero(scale), np.flatnonzero(unknown)
        owners = np.concatenate([[-1], varying, varying if squares else varying[:0], some])
        return cls(names, centre, scale, unknown, squares, owners.astype(np.int64))

    @property
    def unused(self) -> tuple[str, ...]:
        """Features that have no effect because they did not vary."""
        return tuple(name for i, name in enumerate(self.names) if i not in self.owners)

    def phi(self, values: FloatArray) -> FloatArray:
        """(P, c) covariates from features (P, m), NaN where unknown."""
        varying = self.scale > 0
        z = (values[:, varying] - self.centre[varying]) / self.scale[varying]
        z = np.clip(np.where(np.isnan(z), 0.0, z), -_FURTHEST, _FURTHEST)
        unknown = np.isnan(values[:, self.unknown]).astype(np.float64)
        return np.concatenate([np.ones((len(z), 1)), z, *([z**2 - 1] if self.squares else []), unknown], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalRatings:
    """The posterior of ratings that depend on features of the instance; made by `fit_conditional`.

    Attributes:
        names: The n algorithms' names.
        times: (T,) timepoints.
        covariates: The map from features to φ.
        draws: (D, T, n, c) draws of the coefficients of φ, α first, joint over time. They sum to 0 over the algorithms.
        spread: (c, c) covariance of φ over the instances of the fit.
    """

    names: tuple[str, ...]
    times: FloatArray
    covariates: Covariates
    draws: FloatArray
    spread: FloatArray

    @classmethod
    def of(
        cls, names: tuple[str, ...], times: FloatArray, covariates: Covariates, draws: FloatArray, phi: FloatArray
    ) -> ConditionalRatings:
        """Build from φ (P, c) of the instances of the fit; the other arguments are as the attributes."""
        spread = np.cov(phi, rowvar=False, ddof=0).reshape(phi.shape[1], -1)
        return cls(names, times, covariates, draws, spread)

    def given(self, z: Mapping[str, float] | ArrayLike) -> Posterior:
        """The posterior of the ratings on instances with given features.

        Args:
            z: Values by feature name, or (m,) values in the order of `covariates.names`; missing or NaN values are
                unknown.

        Raises:
            ValueError: If there is no such feature, or the number of values is wrong.
        """
        phi = self.covariates.phi(self.row(z)[np.newaxis])[0]
        theta = np.exp(normalized(self.draws @ phi))
        diagnostics = Diagnostics.shared(self.times.size, WEIGHTED_BOOTSTRAP, float(len(theta)), k_hat=-np.inf)
        return Posterior(theta, self.times, self.names, joint=True, diagnostics=diagnostics)

    def row(self, z: Mapping[str, float] | ArrayLike) -> FloatArray:
        """(m,) features in order, NaN where unknown; arguments and errors as in `given`."""
        names = self.covariates.names
        if isinstance(z, Mapping):
            if unknown := [name for name in z if name not in names]:
                raise ValueError(f"there is no feature {unknown[0]!r};{did_you_mean(str(unknown[0]), names)}")
            return np.array([z.get(name, np.nan) for name in names], dtype=np.float64)
        row = np.asarray(z, dtype=np.float64)
        if row.shape != (len(names),):
            raise ValueError(
                f"z has shape {row.shape}; give a value for each of the {len(names)} features, or a mapping"
            )
        return row

    def effect(self, feature: str) -> Band:
        """(T, n) change of the log-ratings when a feature increases from its mean by one standard deviation.

        Raises:
            ValueError: If there is no such feature, or it did not vary.
        """
        at = np.full((2, len(self.covariates.names)), np.nan)
        if feature not in self.covariates.names or feature in self.covariates.unused:
            known = [name for name in self.covariates.names if name not in self.covariates.unused]
            raise ValueError(f"there is no feature {feature!r} that varies;{did_you_mean(feature, known)}")
        index = self.covariates.names.index(feature)
        at[:, index] = self.covariates.centre[index] + np.array([0.0, self.covariates.scale[index]])
        low, high = self.covariates.phi(at)
        return Band.of(self.draws @ (high - low))

    def importance(self) -> dict[str, Band]:
        """Importance of each feature: its (T,) share of the variance of the log-ratings over the instances of the fit.

        It is the variance of the sum of the feature's terms, summed over algorithms, relative to that of all features.
        Correlated features share what they explain, so that shares need not sum to 1. ``positive`` is the probability
        that the feature has the largest share.
        """
        owners, draws = self.covariates.owners, self.draws
        parts: dict[str, FloatArray] = {}
        for index in sorted(set(owners.tolist()) - {-1}):
            own = np.flatnonzero(owners == index)
            some = draws[..., own]
            parts[self.covariates.names[index]] = ((some @ self.spread[np.ix_(own, own)]) * some).sum(axis=(2, 3))
        total = np.maximum(((draws @ self.spread) * draws).sum(axis=(2, 3)), np.finfo(np.float64).tiny)
        return Band.of_shares({name: part / total for name, part in parts.items()})


def fit_conditional(
    rankings: Rankings,
    features: Mapping[str, ArrayLike] | ArrayLike,
    *,
    squares: bool = False,
    draws: int = 1000,
    rng: np.random.Generator,
) -> ConditionalRatings:
    """Infer how ratings over time depend on features of the instance.

    log θ_a(t | z) = α_a(t) + β_a(t)ᵀ φ(z), where φ(z) are the standardized features, and θ are Plackett–Luce ratings
    (eq. 6 of Wurth et al. 2026). The effects of irrelevant features shrink to 0, by a scale estimated for each feature
    (see `inference.model.regression`). Draws are joint over time: each group of instances has one random weight for all
    timepoints. A tie counts as the mean over all its orders, or over twelve of them if more than three algorithms tie.

    The posterior is valid for instances like those of the fit. It gives no warning if an instance is unlike them: the
    effect is extrapolated, but no further than four standard deviations from the mean.

    Args:
        rankings: Rankings on at least two groups of instances. Closely related instances, such as those of one
            function, belong in one group.
        features: (P,) values for each instance by feature name, or (P, m) values. A value that is NaN is unknown: it is
            replaced by the mean, and an indicator of unknown values becomes a covariate.
        squares: Whether to include the squares of features, so that effects need not be linear.
        draws: Number D of draws.
        rng: The source of all randomness.

    Raises:
        ValueError: If the features do not match the rankings or are infinite, or there are fewer than two groups or two
            algorithms.
    """
    names, values = _checked_features(features, len(rankings.ranks))
    n = len(rankings.algorithms)
    if n < 2 or np.unique(rankings.groups).size < 2:
        raise ValueError(
            f"the rankings have {plural(n, 'algorithm')} and {plural(np.unique(rankings.groups).size, 'group')} of "
            "instances; at least two of each are needed"
        )
    covariates = Covariates.of(values, names, squares)
    phi = covariates.phi(values)
    design = _FeatureDesign(phi, n, covariates.owners)
    with one_thread():
        drawn = regress(design, rankings, rng).draw(draws, rng)
    by_contrast = drawn.reshape(draws, len(rankings.times), n - 1, phi.shape[1])
    coefficients = np.asarray(helmert(n) @ by_contrast, dtype=np.float64)
    return ConditionalRatings.of(rankings.algorithms, rankings.times, covariates, coefficients, phi)


def _checked_features(
    features: Mapping[str, ArrayLike] | ArrayLike, instances: int
) -> tuple[tuple[str, ...], FloatArray]:
    """Names (m,) and values (P, m)."""
    if isinstance(features, Mapping):
        columns = {name: np.asarray(column, dtype=np.float64) for name, column in features.items()}
        for name, column in columns.items():
            if column.shape != (instances,):
                raise ValueError(
                    f"feature {name!r} has shape {column.shape}; it must be ({instances},), one value per instance"
                )
        names = tuple(columns)
        values = np.stack(list(columns.values()), axis=1) if columns else np.empty((instances, 0))
    else:
        values = np.asarray(features, dtype=np.float64)
        if values.ndim != 2 or len(values) != instances:
            raise ValueError(f"features have shape {values.shape}; they must be ({instances}, m), one row per instance")
        names = tuple(f"feature {i}" for i in range(values.shape[1]))
    if np.isinf(values).any():
        row, column = (int(i) for i in np.argwhere(np.isinf(values))[0])
        raise ValueError(f"feature {names[column]!r} of instance {row} is infinite; give NaN if it is unknown")
    return names, values


class _FeatureDesign:
    """Log-ratings Q B φ_p, where the columns of Q are Helmert contrasts, and B (n − 1, c) are the coefficients."""

    def __init__(self, phi: FloatArray, algorithms: int, owners: IntArray) -> None:
        self._phi, self._contrasts = phi, helmert(algorithms)
        self.kinds = np.tile(np.unique(owners, return_inverse=True)[1].reshape(-1), algorithms - 1)
        self._above = np.triu_indices(phi.shape[1])
        self._pairs = phi[:, self._above[0]] * phi[:, self._above[1]]

    def ratings(self, coefficients: FloatArray) -> FloatArray:
        """See `polarbear.inference.model.regression.Design`, also for the other methods."""
        by_contrast = coefficients.reshape(len(coefficients), self._contrasts.shape[1], -1)
        return (self._phi @ by_contrast.transpose(0, 2, 1)) @ self._contrasts.T

    def scores(self, by_rating: FloatArray) -> FloatArray:
        by_contrast = by_rating @ self._contrasts
        return (by_contrast[..., np.newaxis] * self._phi[:, np.newaxis]).reshape(*by_rating.shape[:2], -1)

    def curvature(self, by_rating: FloatArray, weights: FloatArray) -> FloatArray:
        size, q = self._phi.shape[1], self._contrasts.shape[1]
        by_contrast = (self._contrasts.T @ by_rating @ self._contrasts) * weights[:, np.newaxis, np.newaxis]
        sums = (by_contrast.reshape(len(by_contrast), -1).T @ self._pairs).reshape(q, q, -1)
        whole = np.empty((q, q, size, size))
        whole[:, :, self._above[0], self._above[1]] = whole[:, :, self._above[1], self._above[0]] = sums
        return whole.transpose(0, 2, 1, 3).reshape(q * size, q * size)

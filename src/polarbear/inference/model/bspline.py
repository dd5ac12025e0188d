"""B-splines (section 3.2.2 of Wurth et al. 2026, eq. 16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.gaussian_paths import BandedDesign, BandedField
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.inference.path_sampling.hyperpriors import LogNormal, check_finite, check_positive
from polarbear.records import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class BSpline(TemporalModel):
    """η_q(t) = Σ_j β_qj B_j(t) with β_qj ~ N(0, σ²), log-ratings μ = Q η, on a time axis of unit length.

    The inner knots lie at quantiles of the timepoints, so that each coefficient governs about as many timepoints; the
    outer ones are repeated at both ends.

    Where few rankings inform each coefficient, as with K = T / 2 at a thousand timepoints, weights are poor, and
    annealing or Markov chains answer: the cost then grows faster than T.

    Attributes:
        degree: Degree d of the splines; 3 is cubic.
        coefficients: Number K of splines, at least d + 1; None: half the number of timepoints.
        sigma_log_mean: Mean of log σ; σ ~ LogNormal(0, 0.5) by default.
        sigma_log_sd: Standard deviation of log σ.
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "b-spline"

    degree: int = 3
    coefficients: int | None = None
    sigma_log_mean: float = 0.0
    sigma_log_sd: float = 0.5

    def __post_init__(self) -> None:
        if self.degree < 0:
            raise ValueError(f"degree is {self.degree!r}; the degree of a spline is 0 or more")
        if self.coefficients is not None and self.coefficients <= self.degree:
            raise ValueError(
                f"coefficients is {self.coefficients!r}; splines of degree {self.degree} need at least "
                f"{self.degree + 1}, or None for half the number of timepoints"
            )
        check_finite(sigma_log_mean=self.sigma_log_mean)
        check_positive(sigma_log_sd=self.sigma_log_sd)
        TemporalModel.__post_init__(self)

    def prior(self, at: FloatArray, paths: int) -> PathPrior:
        """The splines at times (T,) on the unit axis."""
        return self._splines(at, at, paths)

    def extended(self, at: FloatArray, fitted: NDArray[np.bool_]) -> PathPrior:
        """The splines of the fit, at more times between."""
        return self._splines(at, at[fitted], 1)

    @property
    def reach(self) -> tuple[float, float]:
        """The splines end at the first and the last fitted time."""
        return 0.0, 1.0

    def _splines(self, at: FloatArray, fitted: FloatArray, paths: int) -> PathPrior:
        count = max(self.degree + 1, fitted.size // 2) if self.coefficients is None else self.coefficients
        start, values = splines(at, knots(fitted, count, self.degree), self.degree)
        design = BandedDesign(start, values, count, 0, paths)
        return PathPrior(
            (LogNormal("sigma", self.sigma_log_mean, self.sigma_log_sd),),
            lambda hyperparameters: BandedField(design, np.full((1, count), float(hyperparameters[0]) ** -2)),
        )


def knots(at: FloatArray, count: int, degree: int) -> FloatArray:
    """(K + d + 1,) knots of K splines of degree d on [0, 1]: quantiles of times (T,), and both ends d + 1 times."""
    inner = np.quantile(at, np.linspace(0.0, 1.0, count - degree + 1)[1:-1])
    return np.concatenate([np.zeros(degree + 1), inner, np.ones(degree + 1)])


def splines(at: FloatArray, knots: FloatArray, degree: int) -> tuple[IntArray, FloatArray]:
    """B-splines at times (T,) in [0, 1], by the recursion of Cox and de Boor.

    Args:
        at: (T,) increasing times.
        knots: (K + d + 1,) knots from 0 to 1, never decreasing.
        degree: Their degree d.

    Returns:
        (T,) index of the first spline that is not zero at each time, and (T, d + 1) the values of it and the next d.
    """
    last = knots.size - degree - 2
    interval = np.clip(np.searchsorted(knots, at, side="right") - 1, degree, last).astype(np.int64)
    values = np.ones((at.size, 1))
    for order in range(1, degree + 1):
        left = np.stack([knots[interval - order + 1 + j] for j in range(order)], axis=1)
        right = np.stack([knots[interval + 1 + j] for j in range(order)], axis=1)
        share = values / (right - left)
        values = np.zeros((at.size, order + 1))
        values[:, :-1] += (right - at[:, np.newaxis]) * share
        values[:, 1:] += (at[:, np.newaxis] - left) * share
    return interval - degree, values

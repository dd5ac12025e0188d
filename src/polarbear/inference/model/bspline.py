"""B-splines (section 3.2.2 of Wurth et al. 2026, eq. 16)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.gaussian_paths import BandedDesign, BandedField
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.inference.path_sampling.hyperpriors import LogNormal
from polarbear.records import FloatArray, IntArray
from polarbear.validation import Finite, Natural, Whole, real, settings


@settings
class BSpline(TemporalModel):
    """η_q(t) = Σ_j β_qj B_j(t) with β_qj ~ N(0, σ²), log-ratings μ = Q η, on a time axis of unit length.

    The inner knots lie at quantiles of the timepoints, so that each coefficient governs about equally many timepoints;
    the outer knots are repeated at both ends.

    If few rankings inform each coefficient, as with K = T / 2 at a thousand timepoints, importance weights are poor,
    and annealing or Markov chains take over: the cost then grows faster than T.

    Attributes:
        degree: Degree d of the splines; 3 is cubic.
        coefficients: Number K of splines, at least d + 1; None for half the number of timepoints.
        sigma_log_mean: Mean of log σ; σ ~ LogNormal(0, 0.5) by default.
        sigma_log_sd: Standard deviation of log σ.
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "b-spline"

    degree: Natural = 3
    coefficients: Whole | None = None
    sigma_log_mean: Finite = 0.0
    sigma_log_sd: Annotated[float, real(gt=0)] = 0.5

    def __post_init__(self) -> None:
        if self.coefficients is not None and self.coefficients <= self.degree:
            raise ValueError(
                f"coefficients is {self.coefficients!r}; splines of degree {self.degree} need at least "
                f"{self.degree + 1}, or None for half the number of timepoints"
            )

    def prior(self, at: FloatArray, paths: int, fitted: NDArray[np.bool_] | None = None) -> PathPrior:
        """The splines of the fit at times (T,) on the unit axis."""
        known = at if fitted is None else at[fitted]
        count = max(self.degree + 1, known.size // 2) if self.coefficients is None else self.coefficients
        start, values = splines(at, knots(known, count, self.degree), self.degree)
        design = BandedDesign(start, values, count, 0, paths)
        return PathPrior(
            (LogNormal("sigma", self.sigma_log_mean, self.sigma_log_sd),),
            lambda hyperparameters: BandedField(design, np.full((1, count), float(hyperparameters[0]) ** -2)),
        )

    @property
    def reach(self) -> tuple[float, float]:
        """The splines end at the first and the last fitted time."""
        return 0.0, 1.0


def knots(at: FloatArray, count: int, degree: int) -> FloatArray:
    """(K + d + 1,) knots of K splines of degree d on [0, 1]: quantiles of times (T,), and each end d + 1 times."""
    inner = np.quantile(at, np.linspace(0.0, 1.0, count - degree + 1)[1:-1])
    return np.concatenate([np.zeros(degree + 1), inner, np.ones(degree + 1)])


def splines(at: FloatArray, knots: FloatArray, degree: int) -> tuple[IntArray, FloatArray]:
    """B-splines at times (T,) in [0, 1], by the recursion of Cox and de Boor.

    Args:
        at: (T,) increasing times.
        knots: (K + d + 1,) knots from 0 to 1, never decreasing.
        degree: Degree d of the splines.

    Returns:
        (T,) index of the first nonzero spline at each time, and (T, d + 1) values of that spline and the next d.
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

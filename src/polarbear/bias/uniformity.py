"""The 36 statistics of whether samples are uniform in [0, 1] (Vermetten 2025, table 3.3), for many samples at once.

Formulas not ascribed to others are collected by Marhuenda, Morales and Pardo (2005), "A comparison of uniformity
tests", Statistics 39(4).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import comb, log
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import legvander
from scipy.special import ndtri, xlogy

from polarbear.records import FloatArray

SMALLEST_SAMPLE = 10
"""Fewer values tell next to nothing, and Royston's weights begin here."""
LEGENDRE_DEGREE = 10
"""Of the smooth test, as by default in the R package ddst."""
CATEGORIES = 5
"""Of Marhuenda's test."""
_NEAREST = 2.0**-53
"""How near to 0 and 1 logarithms and normal scores are taken; samples of optimizers lie on their bounds at times."""


class Ordered:
    """Samples in order, and what several statistics need of them.

    Attributes:
        u: (m, n) the samples, each in increasing order.
        n: Values of each sample.
    """

    def __init__(self, samples: FloatArray) -> None:
        self.u: FloatArray = np.sort(samples, axis=1)
        self.n: int = self.u.shape[1]
        self.ranks: FloatArray = np.arange(1.0, self.n + 1)

    @cached_property
    def inner(self) -> FloatArray:
        """(m, n) the samples, moved off 0 and 1."""
        return np.clip(self.u, _NEAREST, 1 - _NEAREST)

    @cached_property
    def scores(self) -> FloatArray:
        """(m, n) normal scores Φ⁻¹(u), centred."""
        scores = ndtri(self.inner)
        return scores - scores.mean(axis=1, keepdims=True)

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Skewness and excess kurtosis of the normal scores; infinite for equal values."""
        second, third, fourth = ((self.scores**power).mean(axis=1) for power in (2, 3, 4))
        equal = self.u[:, 0] == self.u[:, -1]
        second[equal] = 1.0
        return np.where(equal, np.inf, third / second**1.5), np.where(equal, np.inf, fourth / second**2 - 3)

    @cached_property
    def spacings(self) -> FloatArray:
        """(m, n + 1) D_i = U_i - U_(i-1), with U_0 = 0 and U_(n+1) = 1."""
        return np.diff(self.u, axis=1, prepend=0.0, append=1.0)

    def higher_spacings(self, order: int) -> FloatArray:
        """(m, n + 2 - order) U_(i+order) - U_i, with U_0 = 0 and U_(n+1) = 1."""
        ends = np.zeros((len(self.u), 1))
        with_ends = np.concatenate([ends, self.u, ends + 1], axis=1)
        return with_ends[:, order:] - with_ends[:, :-order]

    @cached_property
    def windows(self) -> FloatArray:
        """(m, n) n (U_(i+2) - U_(i-2)) / 4, cut off at the smallest and the largest value."""
        padded = np.pad(self.u, ((0, 0), (2, 2)), mode="edge")
        return self.n / 4 * (padded[:, 4:] - padded[:, :-4])

    @cached_property
    def deviations(self) -> FloatArray:
        """(m, n) U_i - i / (n + 1)."""
        return self.u - self.ranks / (self.n + 1)

    @cached_property
    def linear_distances(self) -> FloatArray:
        """(m, n) |U_i - (i - 1) / (n - 1)|."""
        return np.abs(self.u - (self.ranks - 1) / (self.n - 1))


def _spacing(order: int) -> Callable[[Ordered], FloatArray]:
    """Kolmogorov's distance of the spacings from their distribution Beta(order, n + 1 - order) (Pyke 1965)."""

    def distance(s: Ordered) -> FloatArray:
        x = np.sort(s.higher_spacings(order), axis=1)
        fewer = [comb(s.n, k) * x**k * (1 - x) ** (s.n - k) for k in range(order)]
        return _kolmogorov(1 - np.sum(fewer, axis=0))

    return distance


def _kolmogorov(u: FloatArray) -> FloatArray:
    i: FloatArray = np.arange(1.0, u.shape[1] + 1)
    return np.maximum((i / i[-1] - u).max(axis=1), (u - (i - 1) / i[-1]).max(axis=1))


def _anderson_darling(inner: FloatArray) -> FloatArray:
    n: int = inner.shape[1]
    weights: FloatArray = 2 * np.arange(1.0, n + 1) - 1
    return -n - (np.log(inner) + np.log1p(-inner[:, ::-1])) @ weights / n


def _folded_anderson_darling(s: Ordered) -> FloatArray:
    """Of |2u - 1|, which is uniform as well: bounds against the centre."""
    return _anderson_darling(np.clip(np.sort(np.abs(2 * s.u - 1), axis=1), _NEAREST, 1 - _NEAREST))


def royston_weights(n: int) -> FloatArray:
    """(n,) the weights of the test of Shapiro and Wilk, for n > 5 (Royston 1995, algorithm AS R94)."""
    scores: FloatArray = ndtri((np.arange(1.0, n + 1) - 0.375) / (n + 0.25))
    norm, root = float(scores @ scores), n**-0.5
    last, next_to = cast("list[float]", scores[[-1, -2]].tolist())
    rest = norm - 2 * last**2 - 2 * next_to**2
    last = last / norm**0.5 + Polynomial([0, 0.221157, -0.147981, -2.071190, 4.434685, -2.706056])(root)
    next_to = next_to / norm**0.5 + Polynomial([0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633])(root)
    weights: FloatArray = scores * ((1 - 2 * last**2 - 2 * next_to**2) / rest) ** 0.5
    weights[[0, 1, -2, -1]] = -last, -next_to, next_to, last
    return weights


def _shapiro_wilk(s: Ordered) -> FloatArray:
    spread = (s.scores**2).sum(axis=1)
    linear = (s.scores @ royston_weights(s.n)) ** 2
    return np.divide(linear, spread, out=np.zeros_like(spread), where=spread > 0)


def _jarque_bera(s: Ordered) -> FloatArray:
    skewness, kurtosis = s.moments
    return s.n / 6 * (skewness**2 + kurtosis**2 / 4)


def _neyman_smooth(s: Ordered) -> FloatArray:
    """N_T of Inglot and Ledwina (2006): normalized Legendre polynomials, as many as their criterion says."""
    degrees: FloatArray = np.arange(1.0, LEGENDRE_DEGREE + 1)
    means = legvander(2 * s.u - 1, LEGENDRE_DEGREE)[..., 1:].mean(axis=1) * np.sqrt(2 * degrees + 1)
    sums = np.cumsum(s.n * means**2, axis=1)
    many = np.abs(means).max(axis=1) * s.n**0.5 > (2.4 * log(s.n)) ** 0.5
    penalty = np.where(many, 2.0, log(s.n))
    chosen = np.argmax(sums - penalty[:, np.newaxis] * degrees, axis=1)
    return sums[np.arange(len(sums)), chosen]


def read_cressie(s: Ordered, power: float = 2 / 3) -> FloatArray:
    """2nI^λ at λ = 2/3, as Read and Cressie (1988) advise; at λ = 1 it orders samples as Greenwood's statistic does."""
    relative = (s.n + 1) * s.spacings
    return 2 * s.n / (power * (power + 1)) * (s.spacings * (relative**power - 1)).sum(axis=1)


def _swartz(s: Ordered) -> FloatArray:
    mirrored = np.concatenate([-s.u[:, :1], s.u, 2 - s.u[:, -1:]], axis=1)
    return s.n / 2 * (((mirrored[:, 2:] - mirrored[:, :-2]) / 2 - 1 / s.n) ** 2).sum(axis=1)


def _morales(s: Ordered) -> FloatArray:
    """D_(n,2)(φ_0): spacings of order 2 on the circle."""
    ahead = np.concatenate([s.u[:, 2:], 1 + s.u[:, :2]], axis=1)
    relative = s.n / 2 * (ahead - s.u)
    return xlogy(relative, relative).sum(axis=1)


def _marhuenda(s: Ordered) -> FloatArray:
    """T^1 of Marhuenda, Marhuenda and Morales (2005): five categories between sample quantiles."""
    ends = [k * s.n // CATEGORIES - 1 for k in range(1, CATEGORIES)]
    shares = np.diff(s.u[:, ends], axis=1, prepend=0.0, append=1.0)
    return s.n * (shares * (CATEGORIES * shares - 1)).sum(axis=1)


def _zhang_a(s: Ordered) -> FloatArray:
    below, above = np.log(s.inner) / (s.n - s.ranks + 0.5), np.log1p(-s.inner) / (s.ranks - 0.5)
    return -10 * (below + above).sum(axis=1) - 32


def _zhang_c(s: Ordered) -> FloatArray:
    return (np.log((1 / s.inner - 1) / ((s.n - 0.5) / (s.ranks - 0.75) - 1)) ** 2).sum(axis=1)


Computation: TypeAlias = Callable[[Ordered], FloatArray]


class Statistic(NamedTuple):
    """A statistic.

    Attributes:
        of: Computes it: m samples -> (m,).
        tail: Which values speak against uniformity: large ones, "above", small ones, "below", or "both".
    """

    of: Computation
    tail: Literal["above", "below", "both"]


def _products(s: Ordered) -> FloatArray:
    return (s.spacings**2).sum(axis=1) + (s.spacings[:, 1:] * s.spacings[:, :-1]).sum(axis=1)


def _cramer_von_mises(s: Ordered) -> FloatArray:
    return 1 / (12 * s.n) + ((s.u - (s.ranks - 0.5) / s.n) ** 2).sum(axis=1)


def _range(s: Ordered) -> FloatArray:
    return s.u[:, -1] - s.u[:, 0]


def _smallest(s: Ordered) -> FloatArray:
    return s.u[:, 0]


def _largest(s: Ordered) -> FloatArray:
    return s.u[:, -1]


def _anderson_darling_statistic(s: Ordered) -> FloatArray:
    return _anderson_darling(s.inner)


def _smallest_linear_distance(s: Ordered) -> FloatArray:
    return s.linear_distances.min(axis=1)


def _largest_linear_distance(s: Ordered) -> FloatArray:
    return s.linear_distances.max(axis=1)


def _kurtosis(s: Ordered) -> FloatArray:
    return s.moments[1]


def _smallest_gap(s: Ordered) -> FloatArray:
    return s.spacings[:, 1:-1].min(axis=1)


def _largest_gap(s: Ordered) -> FloatArray:
    return s.spacings[:, 1:-1].max(axis=1)


def _wasserstein(s: Ordered) -> FloatArray:
    return s.linear_distances.sum(axis=1)


def _kolmogorov_smirnov(s: Ordered) -> FloatArray:
    return _kolmogorov(s.u)


def _durbin(s: Ordered) -> FloatArray:
    return np.abs(s.deviations).max(axis=1)


def _kuiper(s: Ordered) -> FloatArray:
    return s.deviations.max(axis=1) - s.deviations.min(axis=1)


def _hegazy_green_1(s: Ordered) -> FloatArray:
    return np.abs(s.deviations).mean(axis=1)


def _hegazy_green_2(s: Ordered) -> FloatArray:
    return (s.deviations**2).mean(axis=1)


def _greenwood(s: Ordered) -> FloatArray:
    return (s.spacings**2).sum(axis=1)


def _moran(s: Ordered) -> FloatArray:
    return -2 * np.log((s.n + 1) * s.spacings).sum(axis=1)


def _cressie_1(s: Ordered) -> FloatArray:
    return np.log(s.higher_spacings(2)).sum(axis=1)


def _cressie_2(s: Ordered) -> FloatArray:
    return ((s.n * s.higher_spacings(2)) ** 2).sum(axis=1)


def _vasicek(s: Ordered) -> FloatArray:
    return np.log(s.windows).mean(axis=1)


def _pardo(s: Ordered) -> FloatArray:
    return (1 / s.windows).mean(axis=1)


STATISTICS: dict[str, Statistic] = {
    "1-spacing": Statistic(_spacing(1), "above"),
    "2-spacing": Statistic(_spacing(2), "above"),
    "3-spacing": Statistic(_spacing(3), "above"),
    "range": Statistic(_range, "below"),
    "min": Statistic(_smallest, "above"),
    "max": Statistic(_largest, "below"),
    "AD": Statistic(_anderson_darling_statistic, "above"),
    "tAD": Statistic(_folded_anderson_darling, "above"),
    "Shapiro": Statistic(_shapiro_wilk, "below"),
    "JB": Statistic(_jarque_bera, "above"),
    "LD-min": Statistic(_smallest_linear_distance, "above"),
    "LD-max": Statistic(_largest_linear_distance, "above"),
    "Kurt": Statistic(_kurtosis, "both"),
    "MPD-min": Statistic(_smallest_gap, "below"),
    "MPD-max": Statistic(_largest_gap, "above"),
    "Wasserstein": Statistic(_wasserstein, "above"),
    "NS": Statistic(_neyman_smooth, "above"),
    "KS": Statistic(_kolmogorov_smirnov, "above"),
    "CvM": Statistic(_cramer_von_mises, "above"),
    "Durbin": Statistic(_durbin, "above"),
    "Kuiper": Statistic(_kuiper, "above"),
    "HG1": Statistic(_hegazy_green_1, "above"),
    "HG2": Statistic(_hegazy_green_2, "above"),
    "Greenwood": Statistic(_greenwood, "above"),
    "QM": Statistic(_products, "above"),
    "RC": Statistic(read_cressie, "above"),
    "Moran": Statistic(_moran, "above"),
    "Cressie1": Statistic(_cressie_1, "below"),
    "Cressie2": Statistic(_cressie_2, "above"),
    "Vasicek": Statistic(_vasicek, "below"),
    "Swartz": Statistic(_swartz, "above"),
    "Morales": Statistic(_morales, "above"),
    "Pardo": Statistic(_pardo, "above"),
    "Marhuenda": Statistic(_marhuenda, "above"),
    "Zhang1": Statistic(_zhang_a, "above"),
    "Zhang2": Statistic(_zhang_c, "above"),
}
"""By the names of table 3.3 there. MPD-min and MPD-max are the smallest and the largest gap between neighbours."""


def uniformity_statistics(samples: FloatArray) -> FloatArray:
    """The statistics of m samples of n values in [0, 1]: (m, n) -> (36, m), as in `STATISTICS`.

    Values that occur twice, or lie on 0 or 1, make some of them infinite, on the side that speaks against uniformity.
    """
    ordered = Ordered(samples)
    with np.errstate(divide="ignore"):
        return np.array([statistic.of(ordered) for statistic in STATISTICS.values()])

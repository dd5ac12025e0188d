"""The Matérn-3/2 process as a Markov process of its value and its slope (Hartikainen and Särkkä 2010)."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from polarbear.inference.fields import BandedDesign
from polarbear.records import FloatArray

_CLOSEST = 1e-4
"""Smallest a = √3 Δt / ℓ: precisions grow like a⁻³."""


def matern_design(timepoints: int, paths: int) -> BandedDesign:
    """Two coefficients at each timepoint: the value f, and the slope in units of its standard deviation."""
    start = 2 * np.arange(timepoints, dtype=np.int64)
    return BandedDesign(start, np.ones((timepoints, 1)), 2 * timepoints, 3, paths)


def matern_precision(at: FloatArray, length: float) -> FloatArray:
    """(4, 2 T) the band of the joint precision of the states, [i, b] being J[b + i, b], at amplitude 1.

    With λ = √3 / ℓ and a = λ Δt the states x = (f, f′ / λ) follow x(t + Δt) = Φ x(t) + w, Φ = e^{−a} ((1 + a, a),
    (−a, 1 − a)), and w has the covariance I − Φ Φᵀ, which is written so that nothing cancels when a is small.

    Timepoints closer than 6e-5 ℓ are held that far apart, for the sake of floating-point numbers.

    Args:
        at: (T,) increasing times.
        length: Length-scale ℓ.
    """
    a = np.maximum(np.diff(at) * np.sqrt(3.0) / length, _CLOSEST)
    decay = np.exp(-a)
    phi = np.array([[1.0 + a, a], [-a, 1.0 - a]]) * decay
    tail = np.asarray(gammainc(3.0, 2.0 * a), dtype=np.float64)
    cross = 2.0 * (a * decay) ** 2
    slope = tail + 4.0 * a * decay**2
    noise = np.array([[slope, -cross], [-cross, tail]]) / (tail * slope - cross**2)
    inwards = np.einsum("ijt,jkt->ikt", noise, phi)
    both = np.einsum("jit,jkt->ikt", phi, inwards)
    band = np.zeros((4, 2 * at.size))
    band[0, :2] = 1.0
    for i in range(2):
        band[0, i:-2:2] += both[i, i]
        band[0, 2 + i :: 2] += noise[i, i]
    band[1, 0:-2:2] += both[1, 0]
    band[1, 2::2] += noise[1, 0]
    band[2, 0:-2:2] = -inwards[0, 0]
    band[2, 1:-2:2] = -inwards[1, 1]
    band[3, 0:-2:2] = -inwards[1, 0]
    band[1, 1:-2:2] = -inwards[0, 1]
    return band

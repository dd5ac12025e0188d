"""Matérn processes as Markov processes of their value and first derivatives (Hartikainen and Särkkä 2010).

The Matérn process with smoothness p − ½ and λ = √(2 p − 1) / ℓ has the states x = (f, f′ / λ, …, f⁽ᵖ⁻¹⁾ / λᵖ⁻¹). Over
a time Δt they follow x(t + Δt) = Φ(a) x(t) + w with a = λ Δt, where Φ(a) = exp(a F), F is the companion matrix of
(1 + x)ᵖ, and w has the covariance Q(a) = q ∫₀ᵃ φ(s) φ(s)ᵀ ds, with φ the last column of Φ. As F + I is nilpotent, φ is
a polynomial times e⁻ˢ, and Q a sum of incomplete gamma functions in which nothing cancels when a is small.

The states are computed at knots only. In between, the value is its conditional mean given both neighbours, which omits
at most a millionth of the variance, since knots are close where there are timepoints. So the number of states does not
grow with the number of timepoints, and knots are never too close for floating-point numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from math import comb, factorial

import numpy as np
from scipy.special import gammainc

from polarbear.inference.gaussian.gaussian_paths import BandedDesign, BandedField
from polarbear.records import FloatArray

_LONGEST = {2: 0.0363, 3: 0.329}
"""Largest step a between knots, by p: conditional variances in between are below 1e-6."""


@lru_cache(maxsize=16)
def _design_at_knots(timepoints: int, states: int, paths: int) -> BandedDesign:
    """The design if each timepoint is a knot, which is the same for all length-scales."""
    start = np.arange(timepoints, dtype=np.int64) * states
    return BandedDesign(start, np.ones((timepoints, 1)), states * timepoints, 2 * states - 1, paths)


class MaternProcess:
    """The transitions of the Matérn process with p states and amplitude 1.

    Args:
        states: Number p of states; 2 for Matérn-3/2, 3 for Matérn-5/2.
    """

    def __init__(self, states: int) -> None:
        self.states = states
        companion = np.diag(np.ones(states - 1), 1)
        companion[-1] = [-comb(states, k) for k in range(states)]
        nilpotent = companion + np.eye(states)
        self._powers = [np.linalg.matrix_power(nilpotent, k) / factorial(k) for k in range(states)]
        column = np.array([power[:, -1] for power in self._powers])
        self._products = np.zeros((2 * states - 1, states, states))
        for k, m in np.ndindex(states, states):
            self._products[k + m] += np.outer(column[k], column[m])
        self._integrals = np.array([factorial(m) / 2.0 ** (m + 1) for m in range(2 * states - 1)])
        self._intensity = 1.0 / float(self._integrals @ self._products[:, 0, 0])
        self.stationary = self.noise(np.array(np.inf))

    def scale(self, length: float) -> float:
        """The rate λ for a length-scale ℓ."""
        return float(np.sqrt(2 * self.states - 1)) / length

    def transition(self, a: FloatArray) -> FloatArray:
        """(..., p, p) transition matrices Φ for steps a (...)."""
        step = a[..., np.newaxis, np.newaxis]
        return np.exp(-step) * sum(step**k * power for k, power in enumerate(self._powers))

    def noise(self, a: FloatArray) -> FloatArray:
        """(..., p, p) noise covariances Q for steps a (...)."""
        order = np.arange(1.0, self._integrals.size + 1)
        parts: FloatArray = self._intensity * self._integrals * gammainc(order, 2.0 * a[..., np.newaxis])
        return np.tensordot(parts, self._products, axes=1)

    def precision(self, steps: FloatArray) -> FloatArray:
        """(2 p, p B) band of the joint precision of the states at B knots, [i, b] being J[b + i, b].

        Args:
            steps: (B − 1,) step a from each knot to the next.
        """
        p = self.states
        phi, inverse = self.transition(steps), np.linalg.inv(self.noise(steps))
        inwards = inverse @ phi
        diagonal, below = np.zeros((steps.size + 1, p, p)), np.zeros((steps.size + 1, p, p))
        diagonal[0] = np.linalg.inv(self.stationary)
        diagonal[1:] = inverse
        diagonal[:-1] += phi.swapaxes(1, 2) @ inwards
        below[:-1] = -inwards
        column = np.concatenate([diagonal, below], axis=1)
        band = np.zeros((2 * p, steps.size + 1, p))
        for state in range(p):
            band[: 2 * p - state, :, state] = column[:, state:, state].T
        return band.reshape(2 * p, -1)

    def bridge(self, a: FloatArray, step: FloatArray) -> FloatArray:
        """(T, 2 p) weights of the states at both neighbouring knots in the conditional mean of the value.

        Args:
            a: (T,) step from the preceding knot.
            step: (T,) step between both knots.
        """
        reached = np.einsum("ti,tji->tj", self.noise(a)[:, 0], self.transition(step - a))
        after = (np.linalg.inv(self.noise(step)) @ reached[:, :, np.newaxis])[:, :, 0]
        before = self.transition(a)[:, 0] - np.einsum("ti,tij->tj", after, self.transition(step))
        return np.concatenate([before, after], axis=1)

    def field(self, at: FloatArray, knots: FloatArray, scale: float, sigma: float, paths: int) -> BandedField:
        """The process at times (T,), determined by its states at knots (B,).

        Args:
            at: (T,) times within the range of the knots.
            knots: (B,) increasing knots, at least two.
            scale: The rate λ.
            sigma: The amplitude.
            paths: Number of independent paths.
        """
        p, steps = self.states, scale * np.diff(knots)
        if np.array_equal(knots, at):
            design = _design_at_knots(at.size, p, paths)
        else:
            before = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, knots.size - 2)
            weights = self.bridge(scale * (at - knots[before]), steps[before])
            design = BandedDesign(before * p, weights, p * knots.size, 2 * p - 1, paths)
        return BandedField(design, self.precision(steps) / sigma**2)

    def knots(self, at: FloatArray, scale: float) -> FloatArray:
        """(B,) knots, at least two, for times (T,): no interval with times inside exceeds the largest step."""
        longest, times = _LONGEST[self.states] / scale, at.tolist()
        if np.diff(at).min(initial=np.inf) > longest and len(times) > 1:
            return at
        knots, t = times[:1], 1
        while t < len(times):
            end = knots[-1] + longest
            knots.append(max(end, times[t]))
            t = max(t + 1, bisect_right(times, end))
        return np.array(knots if len(knots) > 1 else [knots[0], knots[0] + longest])

    def refined(self, knots: FloatArray, at: FloatArray, scale: float) -> FloatArray:
        """The knots, with further ones where times (T,) lie beyond them or in an interval that is too long."""
        longest = _LONGEST[self.states] / scale
        before, after = (max(0, int(np.ceil(gap / longest))) for gap in (knots[0] - at.min(), at.max() - knots[-1]))
        earlier, later = np.arange(before, 0, -1), np.arange(1, after + 1)
        knots = np.concatenate([knots[0] - longest * earlier, knots, knots[-1] + longest * later])
        inside = np.unique(np.clip(np.searchsorted(knots, at, side="right") - 1, 0, knots.size - 2))
        gaps = np.diff(knots)
        pieces = np.ones(gaps.size, dtype=np.int64)
        pieces[inside] = np.ceil(gaps[inside] / longest - 1e-9).astype(np.int64)
        piece = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        starts: FloatArray = np.repeat(knots[:-1], pieces) + piece * np.repeat(gaps / pieces, pieces)
        return np.append(starts, knots[-1])

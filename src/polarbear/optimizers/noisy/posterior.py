"""Noise-free values of a generation, estimated by empirical Bayes (Efron and Morris, 1973).

Values vary by N(prior, τ²) and are observed with normal noise of a given variance v; the posterior mean then takes the
share τ² / (τ² + v) of what was observed. τ² is what the noise leaves of the values' own variance.
"""

from __future__ import annotations

import numpy as np

from polarbear.records import FloatArray


def posterior_means(values: FloatArray, variances: FloatArray, prior: FloatArray | None = None) -> FloatArray:
    """The means of noise-free values given what was observed of them.

    Args:
        values: (λ,) what was observed; an infinite value stays so.
        variances: (λ,) of its noise.
        prior: (λ,) what is expected of each without its value; by default the mean of the finite values.

    Returns:
        (λ,) the posterior means.
    """
    finite = np.isfinite(values)
    means = values.copy()
    if finite.any():
        observed, noise = values[finite], variances[finite]
        center = observed.mean() if prior is None else prior[finite]
        spread = max(float(np.square(observed - center).mean() - noise.mean()), 0.0)
        total = spread + noise
        share = np.divide(spread, total, out=np.ones_like(total), where=total > 0)  # without noise: what was observed
        means[finite] = center + share * (observed - center)
    return means

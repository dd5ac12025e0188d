"""Empirical Bayes estimates of the noise-free values of a generation (Efron and Morris, 1973).

Values are distributed as N(prior, τ²) and observed with normal noise of given variance v. The posterior mean is then
the prior plus the share τ² / (τ² + v) of the observed deviation from it. τ² is the variance of the observed values
minus that of the noise.
"""

from __future__ import annotations

import numpy as np

from polarbear.records import FloatArray


def posterior_means(values: FloatArray, variances: FloatArray, prior: FloatArray | None = None) -> FloatArray:
    """The posterior means of noise-free values given their observations.

    Args:
        values: (λ,) the observed values; infinite ones stay unchanged.
        variances: (λ,) the variances of their noise.
        prior: (λ,) the prior means; by default the mean of the finite values.

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
        share = np.divide(spread, total, out=np.ones_like(total), where=total > 0)  # without noise: the observed value
        means[finite] = center + share * (observed - center)
    return means

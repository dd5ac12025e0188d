"""What a wrong law of noise costs (Wang and Lu, 2026, appendix C), on simulated pools and for exact weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import uniform, wasserstein_distance

from polarbear.optimizers.noisy.expected_weights import rank_probabilities, superpose
from polarbear.optimizers.noisy.strategy import Parameters

LAMBDA = 8
WEIGHTS = Parameters(10, LAMBDA).rank_weights[0]
DROP = (WEIGHTS[:-1] - WEIGHTS[1:]).max()
"""Δ_w, the largest drop of the weight from one rank to the next."""
FALSE_ALARM = 1e-6
NODES = (np.arange(400) + 0.5) / 400


def expected_weights(values, scales, half_width):
    """(λ,) exact expected weights, up to a quadrature, where the noise is uniform on ± half_width times the scale."""
    law = uniform(-half_width, 2 * half_width)
    nodes = values[:, None] + scales[:, None] * law.ppf(NODES)
    below = law.cdf((nodes[:, :, None] - values) / scales)
    return superpose(rank_probabilities(below, np.full(nodes.shape, 1 / NODES.size)), WEIGHTS)


@pytest.mark.parametrize("half_width", [0.2, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(5))
def test_expected_weights_under_a_wrong_law_are_off_by_at_most_the_bound(half_width, seed):
    """Equation 42, for laws uniform on ±1 and on ±h, whose distance W1 is (1 − h) / 2.

    A gap's density is at most that of either of the two values, 1 / (2 h s). The bound holds for every η in (0, 1].
    """
    rng = np.random.default_rng(seed)
    values, scales = rng.normal(0, 3, LAMBDA), rng.uniform(0.2, 1.5, LAMBDA)
    off = np.abs(expected_weights(values, scales, half_width) - expected_weights(values, scales, 1.0))
    density = 1 / (2 * half_width * np.maximum(scales[:, None], scales))
    np.fill_diagonal(density, 0)
    eta = np.geomspace(1e-3, 1, 50)[:, None]
    bound = WEIGHTS.max() / eta * scales.sum() * (1 - half_width) / 2 + 4 * DROP * eta * density.sum(axis=1)
    assert (off <= bound.min(axis=0)).all()
    assert off.max() > 0


@pytest.mark.parametrize("bound", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("size", [16, 64, 512])
def test_pools_come_near_the_law_as_fast_as_they_should(size, bound):
    """Equation 49, with the constant that Massart's inequality gives for independent residuals.

    W1 is the integral of |F − F'| over [−M, M], and P(sup |F − F'| > √(log(2 / δ) / 2N)) ≤ δ.
    """
    rng = np.random.default_rng(size)
    law = np.clip(rng.standard_cauchy(400_000), -bound, bound)
    pool = np.clip(rng.standard_cauchy(size), -bound, bound)
    furthest = 2 * bound * np.sqrt(np.log(2 / FALSE_ALARM) / 2 / size)
    assert 0 < wasserstein_distance(pool, law) <= furthest


@pytest.mark.parametrize("seed", range(5))
def test_the_distance_of_pool_and_law_has_four_parts(seed):
    """Equations 50 to 55: finite pool, standardization, shape and drift, for laws of which each is a large sample."""
    rng, count, bound = np.random.default_rng(seed), 6, 3.0
    noise = [
        rng.standard_t(3 + k, 20_000) * (1 + 0.1 * k) for k in range(count)
    ]  # the ideal residuals of six generations
    shift, stretch = rng.normal(0, 0.2, count), rng.uniform(0.8, 1.3, count)
    ideal = [np.clip(each, -bound, bound) for each in noise]
    stored = [np.clip((a + each) / b, -bound, bound) for each, a, b in zip(noise, shift, stretch, strict=True)]
    targets = [np.clip(rng.standard_t(3 + k, 20_000), -bound, bound) for k in range(count)]
    pool = np.concatenate([rng.choice(each, 50) for each in stored])
    finite = wasserstein_distance(pool, np.concatenate(stored))
    standardization = wasserstein_distance(np.concatenate(stored), np.concatenate(ideal))
    shape = np.mean([wasserstein_distance(*pair) for pair in zip(ideal, targets, strict=True)])
    drift = np.mean([wasserstein_distance(each, targets[-1]) for each in targets])
    assert wasserstein_distance(pool, targets[-1]) <= finite + standardization + shape + drift + 1e-12
    moved = [
        np.abs(a / b) + np.abs(1 / b - 1) * np.abs(each).mean()
        for each, a, b in zip(noise, shift, stretch, strict=True)
    ]
    assert standardization <= np.mean(moved)  # eq. 55

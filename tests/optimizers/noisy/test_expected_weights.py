"""Probabilistic elite membership: the lemmas and bounds of Wang and Lu (2026) as identities."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from polarbear.optimizers.noisy.expected_weights import (
    instability,
    mean_weights,
    membership,
    rank_probabilities,
    superpose,
)
from polarbear.optimizers.noisy.probe import rank_disagreement
from polarbear.optimizers.noisy.selection import rank
from polarbear.optimizers.noisy.strategy import Parameters

F = np.array([0.0, 0.7, 1.1, 3.0])
NOISE = np.array([-1.0, 0.2, 0.9])
WEIGHTS = Parameters(3, 4).rank_weights


def _outcomes() -> np.ndarray:
    """(81, 4) every equally likely outcome of four observations with three-valued noise."""
    return F + np.array(list(itertools.product(NOISE, repeat=len(F))))


def test_expected_weights_give_the_conditional_mean_update() -> None:
    """Lemma 1, equation 21, by enumeration."""
    points = np.random.default_rng(1).standard_normal((4, 3))
    updates = np.array([WEIGHTS[0][rank(outcome)] @ points for outcome in _outcomes()])
    assert mean_weights(_outcomes(), WEIGHTS)[0] @ points == pytest.approx(updates.mean(axis=0), abs=1e-14)


def test_expected_weights_are_a_superposition_of_top_k_memberships() -> None:
    """Equation 19."""
    probabilities = membership(_outcomes())
    top = probabilities.cumsum(axis=1)
    for weights in WEIGHTS:
        drops = weights[:-1] - weights[1:]
        assert superpose(probabilities, weights) == pytest.approx(weights[-1] + top[:, :-1] @ drops, abs=1e-14)


def test_instability_in_two_forms() -> None:
    """Equations 47 and 48."""
    weights = WEIGHTS[0]
    probabilities = membership(_outcomes())
    top, drops = probabilities.cumsum(axis=1)[:, :-1], weights[:-1] - weights[1:]
    k = np.arange(3)
    both = top[:, np.minimum(k[:, None], k[None])] - top[:, :, None] * top[:, None, :]
    assert instability(probabilities, weights) == pytest.approx(np.einsum("k,l,ikl->i", drops, drops, both), abs=1e-14)
    sampled = np.array([weights[rank(outcome)] for outcome in _outcomes()])
    assert instability(probabilities, weights) == pytest.approx(sampled.var(axis=0), abs=1e-14)


@pytest.mark.parametrize("dispersion", [0.1, 1.0])
def test_the_jensen_gap_of_a_quadratic_is_half_the_variance(dispersion: float) -> None:
    """Figure 7b: E f(m + Δm) - f(m + E Δm) = Var(Δm) / 2 for f = ‖x‖² / 2; theorem 1 with equality."""
    points = np.random.default_rng(2).standard_normal((4, 5)) * dispersion
    mean = np.full(5, 0.4)
    updates = np.array([WEIGHTS[0][rank(outcome)] @ points for outcome in _outcomes()])
    expected = mean_weights(_outcomes(), WEIGHTS)[0] @ points
    gap = np.mean(np.square(mean + updates).sum(axis=1)) / 2 - np.square(mean + expected).sum() / 2
    assert gap == pytest.approx(updates.var(axis=0).sum() / 2, rel=1e-12)


def test_rank_probabilities_of_normal_values() -> None:
    """Of two, the lower has rank 1 with probability Φ(Δ / σ√2); of equal ones each has every rank alike."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(81)
    mass = weights / weights.sum()

    def probabilities(means: np.ndarray, sd: float) -> np.ndarray:
        u = means[:, None] + sd * nodes
        below = norm.cdf((u[:, :, None] - means) / sd)
        return rank_probabilities(below, np.broadcast_to(mass, u.shape))

    two = probabilities(np.array([0.0, 1.3]), 0.8)
    assert two[0, 0] == pytest.approx(norm.cdf(1.3 / (0.8 * math.sqrt(2))), abs=1e-9)
    assert probabilities(np.zeros(5), 2.0) == pytest.approx(np.full((5, 5), 0.2), abs=1e-9)
    many = probabilities(np.array([0.0, 0.3, 1.0, 1.1]), 1.0)
    assert many.sum(axis=0) == pytest.approx(np.ones(4), abs=1e-9)
    assert many.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-12)
    drawn = np.array([0.0, 0.3, 1.0, 1.1]) + np.random.default_rng(5).standard_normal((200_000, 4))
    assert many == pytest.approx(membership(drawn), abs=0.006)  # five standard errors


@pytest.mark.parametrize("count", [4, 5, 15])
def test_rank_disagreement_lies_between_its_bounds(count: int) -> None:
    """Equation 59 on random permutations; the disagreement of top sets is a share of μ ≤ λ / 2."""
    rng = np.random.default_rng(count)
    upper = np.triu_indices(count, 1)
    for _ in range(500):
        first, second = rng.permutation(count).astype(float), rng.permutation(count).astype(float)
        disagreement = rank_disagreement(first, second)
        assert 0 <= disagreement <= 0.5
        discordant = ((first[:, None] - first) * (second[:, None] - second))[upper] < 0
        share = discordant.mean()
        assert count / (count - 1) * disagreement <= share + 1e-12
        assert share <= 2 * count / (count - 1) * disagreement + 1e-12
        for mu in range(1, count // 2 + 1):
            moved = ((rank(first) < mu) != (rank(second) < mu)).mean()
            assert moved <= count**2 / (2 * mu) * disagreement + 1e-12


def test_adjacent_drops_of_logarithmic_weights() -> None:
    """Equations 43 and 44, for weights with λ = 2 μ, where log(μ + 1/2) is log((λ + 1) / 2)."""
    mu = 7
    weights = Parameters(40, 2 * mu).rank_weights[0]
    total = sum(math.log(mu + 0.5) - math.log(k) for k in range(1, mu + 1))
    drops = weights[:-1] - weights[1:]
    expected = [math.log(1 + 1 / k) / total for k in range(1, mu)] + [math.log(1 + 1 / (2 * mu)) / total]
    assert drops[:mu] == pytest.approx(expected, rel=1e-12)
    assert drops[mu:] == pytest.approx(np.zeros(mu - 1), abs=0)

"""The candidate with the lowest posterior mean, against Bayes' formula and against all generations afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polarbear as pb
from polarbear.optimizers.noisy import (
    CMAES,
    RBPEM,
    KnownNoise,
    ProbeAndSwitch,
    Ranks,
    ReevaluationAdaptation,
    ResidualBootstrap,
)
from polarbear.optimizers.noisy.posterior import posterior_means

DIMENSION = 6
SPACE = pb.optimizers.Space(np.full(DIMENSION, -5.0), np.full(DIMENSION, 5.0))
RESAMPLED = Ranks(evaluations=3)
BOOTSTRAP = ResidualBootstrap(cap=3, center="observed")


def test_many_values_have_the_posterior_means_of_their_true_law() -> None:
    """Values of variance 4 around 2 or a known prior, noise of variance 1 and 9: Bayes' formula, and its error."""
    rng = np.random.default_rng(0)
    noise = np.tile([1.0, 9.0], 20_000)
    for prior in (None, rng.standard_normal(len(noise))):
        center = 2.0 if prior is None else prior
        true = center + 2.0 * rng.standard_normal(len(noise))
        values = true + np.sqrt(noise) * rng.standard_normal(len(noise))
        means = posterior_means(values, noise, prior)
        assert means == pytest.approx((center / 4 + values / noise) / (1 / 4 + 1 / noise), abs=0.4)
        for size in (1.0, 9.0):
            error = np.square(means - true)[noise == size].mean()
            assert error == pytest.approx(1 / (1 / 4 + 1 / size), rel=0.05)  # five standard errors


def test_what_is_exact_stays_and_what_is_noise_alone_is_the_mean() -> None:
    values = np.array([1.0, np.inf, 3.0])
    assert posterior_means(values, np.zeros(3)).tolist() == values.tolist()
    assert posterior_means(values, np.full(3, 100.0)).tolist() == [2.0, np.inf, 2.0]
    assert posterior_means(np.full(2, np.inf), np.ones(2)).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize(("selection", "times"), [(RESAMPLED, 3), (KnownNoise(scale=5.0), 1)], ids=str)
def test_the_candidate_with_the_lowest_posterior_mean_of_all_generations_is_recommended(
    selection: Any, times: int
) -> None:
    """Against all generations looked at afterwards: noise of variance 25, or that within candidates, over `times`."""
    optimizer, rng = CMAES(selection=selection, recommends="posterior", bounds="ignore"), np.random.default_rng(1)
    state, lowest, chosen = optimizer.init(SPACE, np.random.default_rng(2)), np.inf, None
    for _ in range(60):
        points, state = optimizer.ask(state)
        values = np.square(points - 1).sum(axis=1) + 5 * rng.standard_normal(len(points))
        state = optimizer.tell(state, points, values)
        each = values.reshape(-1, times)
        noise = (25.0 if times == 1 else each.var(axis=1, ddof=1).mean()) / times
        observed = each.mean(axis=1)
        spread = max(observed.var() - noise, 0)
        means = observed.mean() + spread / (spread + noise) * (observed - observed.mean())
        best = observed.argmin()  # equal noise keeps the order
        if means[best] < lowest:
            lowest, chosen = means[best], points[best * times]
    assert chosen is not None
    assert state.incumbent_value == pytest.approx(lowest)
    assert optimizer.recommendation(state) == pytest.approx(chosen)


def test_before_there_is_a_model_of_the_noise_the_mean_is_recommended() -> None:
    optimizer = RBPEM(recommends="posterior")
    state = optimizer.init(SPACE, np.random.default_rng(3))
    noise = np.random.default_rng(4)
    met = 0
    while state.generations < 12:
        points, state = optimizer.ask(state)
        state = optimizer.tell(state, points, np.square(points).sum(axis=1) + noise.standard_normal(len(points)))
        if state.incumbent is None:
            expected = (-5 + 10 * state.search.mean.clip(0, 1)).tolist()
            assert optimizer.recommendation(state).tolist() == pytest.approx(expected)
            met += 1
    assert met > 2
    assert state.incumbent is not None
    assert optimizer.recommendation(state).tolist() == (-5 + 10 * state.incumbent).tolist()


@pytest.mark.parametrize(
    "selection",
    [
        Ranks(),
        Ranks(evaluations=3, by="median"),
        ResidualBootstrap(cap=0),
        KnownNoise(law="cauchy"),
        ReevaluationAdaptation(evaluations=2),
        ProbeAndSwitch(noisy=Ranks()),
    ],
    ids=str,
)
def test_without_a_model_of_the_noise_it_is_refused(selection: Any) -> None:
    with pytest.raises(ValueError, match="has no model of the noise; use"):
        CMAES(selection=selection, recommends="posterior")


@pytest.mark.parametrize("noise", [0.0, 1e6])
def test_a_probe_recommends_by_the_stage_that_it_chose(noise: float) -> None:
    """Where ranks agree what was observed is exact, and the best observed is recommended."""
    selection = ProbeAndSwitch(noisy=BOOTSTRAP, reuse=True)
    best, posterior = (CMAES(selection=selection, recommends=by, name="same") for by in ("best", "posterior"))
    found: list[np.ndarray] = []
    for optimizer in (best, posterior):
        rng, state = np.random.default_rng(5), optimizer.init(SPACE, np.random.default_rng(6))
        while state.evaluations < 400:
            points, state = optimizer.ask(state)
            values = np.square(points).sum(axis=1) + noise * rng.standard_normal(len(points))
            state = optimizer.tell(state, points, values)
        found.append(optimizer.recommendation(state))
    assert np.array_equal(*found) == (noise == 0)

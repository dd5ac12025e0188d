"""Exact expected weights under a known law, against drawn rankings and limits."""

from __future__ import annotations

import numpy as np
import pytest

import polarbear as pb
from polarbear.optimizers.noisy import CMAES, KnownNoise
from polarbear.optimizers.noisy.expected_weights import membership

VALUES, SCALES = np.array([0.0, 0.4, 1.5, -2.0, 0.41]), np.array([1.0, 0.3, 2.0, 1.0, 0.01])
DRAWS = 100_000


@pytest.mark.parametrize("law", ["normal", "laplace", "uniform", "cauchy"])
def test_probabilities_of_ranks_are_shares_of_drawn_rankings(law):
    """Within five standard errors of shares, and the error of the midpoint rule with 2,000 nodes."""
    rng = np.random.default_rng(3)
    root = np.sqrt(3)
    noise = {
        "normal": rng.standard_normal,
        "laplace": lambda size: rng.laplace(0, np.sqrt(0.5), size),
        "uniform": lambda size: rng.uniform(-root, root, size),
        "cauchy": rng.standard_cauchy,
    }[law]((DRAWS, 5))
    exact = KnownNoise(law=law, nodes=2000).rank_probabilities(VALUES, SCALES)
    assert exact == pytest.approx(membership(VALUES + SCALES * noise), abs=2.5 / np.sqrt(DRAWS) + 1e-3)
    assert exact.sum(axis=1) == pytest.approx(np.ones(5), abs=1e-12)


def test_weights_go_from_those_of_ranks_to_equal_ones():
    certain = KnownNoise().rank_probabilities(VALUES, np.full(5, 1e-9))
    assert certain.argmax(axis=1).tolist() == [1, 2, 4, 0, 3]
    assert certain.max(axis=1) == pytest.approx(np.ones(5), abs=1e-12)
    assert KnownNoise().rank_probabilities(VALUES, np.full(5, 1e9)) == pytest.approx(
        np.full((5, 5), 0.2), abs=1e-4
    )  # the midpoint rule


def test_it_descends_under_its_noise_and_is_described():
    optimizer, rng = CMAES(selection=KnownNoise(scale=1.0), restart_strategy="STOP"), np.random.default_rng(1)
    with pb.optimizers.AskTell(optimizer, [-5] * 5, [5] * 5, np.random.default_rng(2)) as stepped:
        for _ in range(100):
            points = stepped.ask()
            stepped.tell(np.square(points).sum(axis=-1) + rng.standard_normal(len(points)))
        assert np.square(stepped.recommendation).sum() < 1.5  # from about 40; the noise has a standard deviation of 1
    assert pb.optimizers.from_description(pb.optimizers.describe(optimizer)).selection == optimizer.selection


@pytest.mark.parametrize(("field", "value"), [("law", "gumbel"), ("scale", -1), ("relative", "much"), ("nodes", 2)])
def test_wrong_laws_are_refused(field, value):
    with pytest.raises((TypeError, ValueError), match=field):
        KnownNoise(**{field: value})

"""Sizes at the ends of what is promised: 64 algorithms, and 1,000 timepoints."""

import numpy as np
import pytest

from polarbear.inference import BSpline, fit
from polarbear.inference.likelihood import path_likelihood
from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.rankings import choice_counts
from tests.inference.fits import MODELS, drifting, label


@pytest.mark.parametrize(("algorithms", "ties"), [(5, False), (13, True), (20, False)])
def test_curvature_by_pairs_and_by_matrices_is_the_same(algorithms, ties, monkeypatch):
    values = drifting(timepoints=3, algorithms=algorithms, instances=15)
    counts = choice_counts(np.round(values) if ties else values)
    eta = np.random.default_rng(0).normal(size=(3, algorithms - 1, 4))
    found = []
    for most in (0, 64):
        monkeypatch.setattr(path_likelihood, "_MAX_PAIRED", most)
        found.append(Likelihood(counts).expansion(eta))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_memory_for_many_algorithms_does_not_grow_with_pairs():
    """For 64 algorithms the pairs of every choice set would take 100 MB a timepoint."""
    blocks = Likelihood(choice_counts(drifting(timepoints=2, algorithms=64, instances=20)))._blocks
    assert all(block.pairs.size == 0 for block in blocks)


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=label)
def test_sixty_four_algorithms(model):
    counts = choice_counts(drifting(timepoints=3, algorithms=64, instances=30))
    posterior = fit(counts, model=model, rng=np.random.default_rng(0))
    assert posterior.diagnostics.reliable
    assert posterior.probability_better(63, 0)[-1] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=label)
def test_a_thousand_timepoints(model):
    counts = choice_counts(drifting(timepoints=1000, algorithms=2 if isinstance(model, BSpline) else 3))
    posterior = fit(counts, model=model, rng=np.random.default_rng(0))
    assert posterior.diagnostics.reliable

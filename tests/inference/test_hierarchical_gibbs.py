"""Exact chains of the hierarchical Dirichlet model: against references, quadrature, the prior and the default."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.accuracy import compared
from benchmarks.references import FOLDER, cases
from polarbear.inference import HierarchicalDirichlet, fit
from polarbear.inference.model import hierarchical
from polarbear.inference.sampling import gibbs
from polarbear.inference.sampling.diagnostics import GIBBS, IMPORTANCE_SAMPLING
from polarbear.rankings import ChoiceCounts, choice_counts
from tests.inference.fits import alike, drifting

QUICK = ["hierarchical", "hierarchical-holes", "hierarchical-two", "hierarchical-dominance", "hierarchical-ties"]
LONG = ["hierarchical-equal", "hierarchical-crowd", "hierarchical-wide", "hierarchical-long"]


def by(method, counts, draws=4000, seed=0, model=None, times=None):
    model, rng = model or HierarchicalDirichlet(), np.random.default_rng(seed)
    return fit(counts, times=times, model=model, draws=draws, rng=rng, method=method)


@pytest.mark.statistical(rate=0.05)
@pytest.mark.parametrize("name", [*QUICK, *[pytest.param(name, marks=pytest.mark.slow) for name in LONG]])
def test_chains_pass_the_accuracy_gate(name):
    case = cases()[name]
    posterior = by("gibbs", case.counts, model=case.model, times=case.times)
    assert set(posterior.diagnostics.method) == {GIBBS}
    assert posterior.diagnostics.ess.min() >= 400
    assert compared(posterior, FOLDER / f"{name}.npz").excesses() == []


@pytest.mark.statistical
def test_chains_find_the_posterior_of_the_default():
    counts = choice_counts(drifting(timepoints=6, instances=20))
    chains, default = by("gibbs", counts), by(None, counts)
    assert set(default.diagnostics.method) == {IMPORTANCE_SAMPLING}
    alike(chains, default)


def test_without_rankings_the_posterior_is_the_prior():
    posterior = by("gibbs", ChoiceCounts.none(3, 4), model=HierarchicalDirichlet(0.5), draws=3800)
    kappa = posterior.hyperparameters["kappa"]
    room = 4.0 * 0.5 / np.sqrt(posterior.diagnostics.ess.min())
    for q in (0.1, 0.3, 0.5, 0.7, 0.9):
        assert np.mean(kappa <= stats.expon(scale=2.0).ppf(q)) == pytest.approx(q, abs=room)
    np.testing.assert_allclose(posterior.mean(), 0.25, atol=room)


@pytest.mark.slow
@pytest.mark.statistical
def test_large_ties_are_sampled_too():
    values = -np.random.default_rng(0).gumbel(size=(6, 3, 14))
    values[:, :, 4:] = np.inf
    counts = choice_counts(values)
    assert counts.ties.tied.size
    alike(by("gibbs", counts), by(None, counts), lambda posterior: posterior.draws[:, :, :4])


def test_poor_weights_are_answered_for_by_chains(monkeypatch):
    counts = choice_counts(drifting(timepoints=4))
    monkeypatch.setattr(hierarchical, "smooth", lambda log_weights: (weights(log_weights), 0.7))
    posterior = by(None, counts, draws=1000)
    assert posterior.diagnostics.method == (GIBBS,) * 4
    assert posterior.diagnostics.reliable
    assert np.isnan(posterior.diagnostics.k_hat).all()


@pytest.mark.statistical
def test_sweeps_in_which_all_chains_have_faint_rates(monkeypatch):
    """As after many rankings that all agree; the same posterior as by weights."""
    counts = choice_counts(drifting(timepoints=2))
    monkeypatch.setattr(gibbs, "_SMALLEST", 50.0)
    alike(by("gibbs", counts), by(None, counts, seed=1))


def weights(log_weights):
    found = np.exp(log_weights - log_weights.max())
    return found / found.sum()


def test_the_smallest_shapes_and_determinism():
    assert by("gibbs", ChoiceCounts.none(0, 3), draws=5).draws.shape == (5, 0, 3)
    np.testing.assert_array_equal(by("gibbs", ChoiceCounts.none(2, 1), draws=5).draws, 1.0)
    counts = choice_counts(drifting(timepoints=2, algorithms=2, instances=3))
    first, again, other = (by("gibbs", counts, draws=50, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.draws, again.draws)
    assert not np.array_equal(first.draws, other.draws)
    assert (first.diagnostics.ess <= 50).all()

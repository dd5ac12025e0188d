"""Our own Markov chains: divergences, both kinds of coordinates, and which draw belongs to which chain."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.references import FOLDER
from polarbear.inference import GaussianProcess, RandomWalk, fit
from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.inference.path_sampling import hmc, lattice_chains
from polarbear.inference.path_sampling.hyperparameter_grid import Frame, locate
from polarbear.inference.path_sampling.hyperparameter_posterior import HyperparameterPosterior
from polarbear.inference.path_sampling.lattice_chains import LaplaceChains, PriorChains
from polarbear.inference.sampling import chain_order
from polarbear.inference.sampling.chain_order import ChainOrder, choose_evenly, converged
from polarbear.inference.sampling.diagnostics import HAMILTONIAN, NESTED_LAPLACE
from polarbear.rankings import choice_counts
from tests.inference.fits import drifting, fitted

AGREED = choice_counts(np.tile(np.arange(4.0), (8, 10, 1)))


def recorded(chains, lengths=6):
    """Chains after rankings that all agree, by a random walk."""
    prior = RandomWalk().prior(np.linspace(0, 1, 10), 3).steady()
    likelihood = Likelihood(AGREED)
    posterior = HyperparameterPosterior(likelihood, prior)
    frame = locate(posterior, Frame.around(*posterior.start))
    return hmc._run(chains(likelihood, posterior, frame, np.random.default_rng(0)), 400.0, lengths)


@pytest.mark.statistical
@pytest.mark.parametrize("chains", [PriorChains, LaplaceChains])
def test_both_kinds_of_chains_find_the_posterior(chains):
    found = recorded(chains)
    assert converged(found.ess, found.r_hat, 400)
    assert found.divergences == 0
    assert not found.diverging.any()
    reference = np.load(FOLDER / "random-walk-dominance.npz")
    mean, sd, _ = reference["sigma"]
    error = 4.5 / np.sqrt(found.ess)
    assert abs(found.points.mean() - mean) < error * sd
    log_theta = np.log(found.theta).mean(axis=(2, 3))
    assert (np.abs(log_theta - reference["mean"]) < error * reference["sd"]).all()
    better = (found.theta[:, 0] > found.theta[:, 1]).mean(axis=(1, 2))
    np.testing.assert_allclose(better, reference["better"][:, 0, 1], atol=0.5 * error)


def test_trajectories_whose_energy_is_lost_are_counted(monkeypatch):
    """Steps that are far too long, and are not adapted."""
    monkeypatch.setattr(lattice_chains, "_PACE", 0.0)
    monkeypatch.setattr(PriorChains, "step_size", 1.0)
    found = recorded(PriorChains, lengths=1)
    assert found.divergences >= found.diverging.sum() > 100


def test_fits_report_divergences(monkeypatch):
    calm = fitted(AGREED, RandomWalk(), draws=4000)
    assert set(calm.diagnostics.method) == {HAMILTONIAN}
    assert calm.diagnostics.divergences == 0
    assert calm.diagnostics.reliable
    assert fitted(drifting(), RandomWalk(), draws=100).diagnostics.divergences is None
    monkeypatch.setattr(lattice_chains, "_DIVERGED", -1000.0)
    monkeypatch.setattr(hmc, "_LENGTHS", 1)
    wild = fitted(AGREED, RandomWalk(), draws=4000)
    assert wild.diagnostics.divergences == 48 * 80
    assert wild.diagnostics.doubtful.all()
    assert wild.chains.diverging.all()


def test_chains_asked_for_may_be_longer_and_those_of_the_prior_come_first_where_all_agree(monkeypatch):
    monkeypatch.setattr(chain_order, "LARGEST_R_HAT", 0.0)
    lengths = []

    def record(chains, mixing, enough, most):
        lengths.append((type(chains).__name__, most))
        return chain_order.record(chains, mixing, enough, 1)

    monkeypatch.setattr(hmc, "record", record)
    fitted(AGREED, RandomWalk(), draws=4000)
    for counts in (AGREED, choice_counts(drifting())):
        fit(counts, model=RandomWalk(), draws=500, rng=np.random.default_rng(0), method="hmc")
    assert lengths == [("PriorChains", 5), ("PriorChains", 8), ("LaplaceChains", 5), ("PriorChains", 8)]


def test_draws_are_taken_evenly_from_chains():
    chain, step = choose_evenly(4, 10, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(chain), [5, 5, 5, 5])
    np.testing.assert_array_equal(np.unique(step), [1, 3, 5, 7, 9])
    chain, step = choose_evenly(4, 10, 45, np.random.default_rng(0))
    assert np.bincount(10 * chain + step, minlength=40).min() == 1
    assert chain.size == 45


def test_the_table_of_chains_is_in_order_and_has_every_draw_once():
    order = ChainOrder(np.array([1, 0, 0, 1, 0, 1]), np.array([2, 7, 3, 1, 3, 0]), np.zeros(6, dtype=bool))
    np.testing.assert_array_equal(order.table(), [[2, 1], [3, 0]])


@pytest.mark.parametrize("draws", [1000, pytest.param(4000, marks=pytest.mark.slow)])
def test_arviz_gets_the_chains(draws):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz

        rng = np.random.default_rng(0)
        counts = choice_counts(drifting())
        found = fit(counts, model=GaussianProcess(), draws=draws, rng=rng, method="hmc")
        data = found.to_arviz()
        r_hat = arviz.rhat(data)
    assert data.posterior.sizes["chain"] == 48
    assert data.posterior.sizes["draw"] >= {1000: 17, 4000: 80}[draws]
    assert data.sample_stats["diverging"].shape == data.posterior["sigma"].shape
    assert not data.sample_stats["diverging"].any()
    rows = found.chains.table()
    np.testing.assert_array_equal(data.posterior["theta"].values, found.draws[rows])
    np.testing.assert_array_equal(data.posterior["sigma"].values, found.hyperparameters["sigma"][rows])
    assert float(r_hat["theta"].max()) < 1.15
    assert (found.chains.step[rows][:, 1:] > found.chains.step[rows][:, :-1]).all()


@pytest.mark.slow
def test_arviz_finds_the_r_hat_of_nuts():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz

        counts = choice_counts(drifting(timepoints=3, algorithms=3, instances=6))
        found = fit(counts, model=RandomWalk(), rng=np.random.default_rng(0), method="nuts")
        data = found.to_arviz()
        theta = np.log(data.posterior["theta"])
        r_hat = arviz.rhat(theta, method="split")["theta"].values.max(axis=1)
    assert dict(data.posterior.sizes) == {"chain": 4, "draw": 1000, "time": 3, "algorithm": 3}
    assert int(data.sample_stats["diverging"].sum()) == found.diagnostics.divergences
    own = arviz.rhat(data.posterior["sigma"], method="split")["sigma"].values
    np.testing.assert_allclose(found.diagnostics.r_hat, np.maximum(r_hat, own), rtol=1e-3)


def test_without_chains_there_are_no_statistics():
    found = fitted(drifting(), RandomWalk(), draws=100)
    assert set(found.diagnostics.method) == {NESTED_LAPLACE}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found.to_arviz().groups() == ["posterior"]


def test_chains_tell_of_every_draw():
    found = fitted(drifting(), RandomWalk(), draws=10)
    with pytest.raises(ValueError, match="chains has 3 draws; it must have 10"):
        replace(found, chains=ChainOrder(np.zeros(3, int), np.arange(3), np.zeros(3, bool)))

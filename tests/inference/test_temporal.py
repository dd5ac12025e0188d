"""The temporal models against closed forms and quadrature; NUTS is in test_accuracy.py."""

import numpy as np
import pytest
from scipy import stats

from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HilbertSpaceGaussianProcess,
    RandomWalk,
    SparseGaussianProcess,
    fit,
    from_description,
    models,
)
from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.inference.path_sampling import nested_laplace
from polarbear.inference.path_sampling.nested_laplace import path_draws
from polarbear.inference.sampling.diagnostics import ANNEALING, HAMILTONIAN, NESTED_LAPLACE
from polarbear.inference.sampling.settings import Sampling
from polarbear.rankings import ChoiceCounts, choice_counts
from tests.inference.fits import TEMPORAL, alike, contrast, drifting, fitted, gumbel_values, label


@pytest.mark.statistical
@pytest.mark.parametrize("model", TEMPORAL, ids=label)
def test_without_rankings_the_posterior_is_the_prior(model):
    posterior = fitted(ChoiceCounts.none(6, 4), model, draws=4000)
    assert posterior.diagnostics.reliable
    assert posterior.diagnostics.ess.min() > 3500
    sigma = posterior.hyperparameters["sigma"]
    assert np.log(sigma).mean() == pytest.approx(0.0, abs=0.03)
    assert np.log(sigma).std() == pytest.approx(0.5, rel=0.05)
    if "ell" in posterior.hyperparameters:
        ell = posterior.hyperparameters["ell"]
        exact = stats.invgamma(5, scale=2)
        for q in (0.05, 0.25, 0.5, 0.75, 0.95):
            assert np.mean(ell <= exact.ppf(q)) == pytest.approx(q, abs=0.03)
        assert abs(np.corrcoef(np.log(ell), np.log(sigma))[0, 1]) < 0.06
    if isinstance(model, GaussianProcess):
        standard = contrast(posterior, 0, 1) / (np.sqrt(2) * sigma[:, np.newaxis])
        for t in range(6):
            assert stats.kstest(standard[:, t], "norm").pvalue > 1e-4
    if isinstance(model, RandomWalk):
        steps = np.diff(contrast(posterior, 0, 1), axis=1) / np.sqrt(2 * 0.2) / sigma[:, np.newaxis]
        for t in range(5):
            assert stats.kstest(steps[:, t], "norm").pvalue > 1e-4
        assert stats.kstest(contrast(posterior, 2, 3)[:, 0] / np.sqrt(2), "norm").pvalue > 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize("kernel", ["matern-3/2", "matern-5/2", "squared-exponential"])
@pytest.mark.parametrize("kind", [GaussianProcess, HilbertSpaceGaussianProcess, SparseGaussianProcess])
def test_prior_paths_have_the_kernels_covariance(kind, kernel):
    """The length-scale is all but fixed; the approximations are close to the kernel where they should be."""
    model = kind(kernel, sigma_log_sd=1e-3, ell_shape=1e6, ell_scale=0.5e6)
    if kind is HilbertSpaceGaussianProcess:
        model = kind(kernel, sigma_log_sd=1e-3, ell_shape=1e6, ell_scale=0.5e6, functions=60, extension=4.5)
    times = np.array([0.0, 0.1, 0.35, 1.0])
    paths = contrast(fitted(ChoiceCounts.none(4, 2), model, draws=40_000, times=times), 0, 1) / np.sqrt(2)
    scaled = np.abs(times[:, None] - times) / 0.5
    exact = {
        "matern-3/2": (1 + 3**0.5 * scaled) * np.exp(-(3**0.5) * scaled),
        "matern-5/2": (1 + 5**0.5 * scaled + 5 / 3 * scaled**2) * np.exp(-(5**0.5) * scaled),
        "squared-exponential": np.exp(-0.5 * scaled**2),
    }[kernel]
    np.testing.assert_allclose(np.cov(paths.T), exact, atol=0.03)


@pytest.mark.statistical
@pytest.mark.parametrize("model", TEMPORAL, ids=label)
def test_two_algorithms_at_one_time_by_quadrature(model):
    """With one timepoint a path is a normal number whose sd is drawn from its prior: a double integral."""
    wins, losses = 7, 2
    values = np.array([[[0.0, 1.0]]] * wins + [[[1.0, 0.0]]] * losses)
    posterior = fitted(values, model, draws=20_000)
    eta, u = np.linspace(-12, 12, 2401)[:, None], np.linspace(-2.5, 2.5, 201)
    sd = np.ones_like(u) if isinstance(model, RandomWalk) else np.exp(u)
    density = stats.norm.pdf(eta, scale=sd) * stats.norm.pdf(u, scale=0.5)
    gap = np.sqrt(2) * eta
    density = density * np.exp(-wins * np.log1p(np.exp(-gap)) - losses * np.log1p(np.exp(gap)))
    density /= density.sum()
    weight = density.sum(axis=1)
    mean = weight @ gap[:, 0]
    spread = np.sqrt(weight @ (gap[:, 0] - mean) ** 2)
    found = contrast(posterior, 0, 1)[:, 0]
    assert posterior.diagnostics.reliable
    assert found.mean() == pytest.approx(mean, abs=0.04 * spread)
    assert found.std() == pytest.approx(spread, rel=0.03)
    assert posterior.probability_better(0, 1)[0] == pytest.approx(weight[gap[:, 0] > 0].sum(), abs=0.015)
    assert np.log(posterior.hyperparameters["sigma"]).mean() == pytest.approx(density.sum(axis=0) @ u, abs=0.02)


@pytest.mark.parametrize("model", TEMPORAL, ids=label)
class TestEveryModel:
    def test_equal_seeds_give_equal_draws(self, model):
        first, again, other = fitted(drifting(), model), fitted(drifting(), model), fitted(drifting(), model, seed=1)
        np.testing.assert_array_equal(first.draws, again.draws)
        assert not np.array_equal(first.draws, other.draws)

    def test_logarithmic_time(self, model):
        parameters = model.describe() | {"time_scale": "log"}
        times = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
        logarithmic = fitted(drifting(), from_description(parameters), times=times)
        np.testing.assert_allclose(logarithmic.draws, fitted(drifting(), model).draws, rtol=1e-5)
        with pytest.raises(ValueError, match='time_scale="log" needs positive timepoints, but the first is 0'):
            fitted(drifting(), from_description(parameters))

    def test_the_smallest_shapes(self, model):
        rng = np.random.default_rng(0)
        assert fit(ChoiceCounts.none(0, 3), model=model, rng=rng, draws=5).draws.shape == (5, 0, 3)
        one = fit(ChoiceCounts.none(3, 1), model=model, rng=rng, draws=5)
        np.testing.assert_array_equal(one.draws, 1.0)
        assert one.hyperparameters["sigma"].shape == (5,)
        assert fitted(drifting(timepoints=2, algorithms=2), model, draws=1).draws.shape == (1, 2, 2)

    @pytest.mark.statistical
    def test_timepoints_without_rankings_and_ties_and_holes(self, model):
        values = np.round(drifting(timepoints=12, instances=25), 1)
        values[np.random.default_rng(1).random(values.shape) < 0.4] = np.nan
        full, blank = values.copy(), [0, 4, 5, 11]
        values[:, blank] = np.nan
        posterior = fitted(values, model)
        assert posterior.joint
        assert posterior.diagnostics.reliable
        spread = contrast(posterior, 0, 3).std(axis=0)
        assert spread[blank].mean() > 1.05 * contrast(fitted(full, model), 0, 3).std(axis=0)[blank].mean()


@pytest.mark.statistical
def test_the_spread_of_draws_joins_times():
    """Under a smooth prior neighbouring times are correlated, and one algorithm's lead at all times is one event."""
    posterior = fitted(gumbel_values(15, np.tile([0.0, 0.8], (20, 1)), 3), GaussianProcess(), draws=4000)
    ratio = contrast(posterior, 0, 1)
    assert np.corrcoef(ratio[:, 5], ratio[:, 6])[0, 1] > 0.8
    better = posterior.probability_better(1, 0)
    assert np.prod(better) < posterior.probability_dominates(1, 0) <= better.min()


def test_annealing_answers_where_the_gaussian_is_far_off():
    """An algorithm that never wins: the posterior is skewed. Annealing agrees with a far larger plain run."""
    values = np.concatenate([gumbel_values(200, np.zeros((12, 3)), 0), np.full((200, 12, 1), 99.0)], axis=2)
    posterior = fitted(values, RandomWalk())
    assert set(posterior.diagnostics.method) == {ANNEALING}
    assert posterior.diagnostics.reliable


def test_what_annealing_cannot_reach_is_left_to_chains_at_once(monkeypatch):
    """400 rankings that all agree, at each of 20 timepoints: log-weights spread over millions."""
    tried, sampled, chains = [], nested_laplace._draw_paths, nested_laplace._by_chains

    def by_chains(likelihood, model, sampling):
        few = Likelihood(choice_counts(np.broadcast_to(np.arange(4.0), (3, 20, 4))))
        return chains(few, model, sampling)

    monkeypatch.setattr(
        nested_laplace,
        "_draw_paths",
        lambda *some, annealed: tried.append(annealed) or sampled(*some, annealed=annealed),
    )
    monkeypatch.setattr(nested_laplace, "_by_chains", by_chains)
    posterior = fitted(np.broadcast_to(np.arange(4.0), (400, 20, 4)), HilbertSpaceGaussianProcess(), draws=100)
    assert tried == [False]
    assert set(posterior.diagnostics.method) == {HAMILTONIAN}


@pytest.mark.parametrize("model", TEMPORAL, ids=label)
@pytest.mark.parametrize("time_scale", ["linear", "log"])
def test_timepoints_that_rounding_cannot_tell_apart_are_named(model, time_scale):
    described = from_description(model.describe() | {"time_scale": time_scale})
    with pytest.raises(
        ValueError, match=rf"timepoints 2\.0 and {2 + 1e-14!r} are closer than 1e-13 of the length of the {time_scale}"
    ):
        fitted(drifting(timepoints=4), described, times=[1, 2, 2 + 1e-14, 3])
    near = fitted(drifting(timepoints=4), described, times=[1, 2, 2 + 1e-11, 3])
    np.testing.assert_allclose(near.draws[:, 1], near.draws[:, 2], atol=1e-4)


@pytest.mark.statistical
def test_annealing_and_plain_weights_agree(monkeypatch):
    """The same posterior, once by the Gaussians' weights alone, and once annealed although there is no need."""
    values = drifting(instances=30)
    plain = fitted(values, GaussianProcess(), draws=4000)
    assert plain.diagnostics.method[0] == NESTED_LAPLACE
    monkeypatch.setattr(nested_laplace._Weighted, "good", lambda weighted, *limits: weighted.method == ANNEALING)
    annealed = fitted(values, GaussianProcess(), draws=4000, seed=1)
    assert annealed.diagnostics.method[0] == ANNEALING
    alike(plain, annealed)


@pytest.mark.statistical
def test_smoothing_beats_independent_timepoints_in_precision():
    values = gumbel_values(10, np.tile(np.linspace(0, 1, 4), (20, 1)), 1)
    alone = fit(choice_counts(values), draws=2000, rng=np.random.default_rng(0))
    together = fitted(values, GaussianProcess())
    assert contrast(together, 0, 3).std(axis=0).mean() < 0.7 * contrast(alone, 0, 3).std(axis=0).mean()


def test_descriptions_round_trip_and_defaults_are_the_papers():
    for model in (
        RandomWalk(0.3, 0.7, 2.0, time_scale="log"),
        BSpline(2, 9, 0.1, 0.2, time_scale="log"),
        GaussianProcess("matern-5/2", 0.1, 0.2, 4.0, 3.0),
        HilbertSpaceGaussianProcess(functions=11, extension=1.5),
        SparseGaussianProcess(inducing=7),
    ):
        assert from_description(model.describe()) == model
    assert GaussianProcess().describe() == {
        "model": "gaussian-process",
        "kernel": "matern-3/2",
        "sigma_log_mean": 0.0,
        "sigma_log_sd": 0.5,
        "ell_shape": 5.0,
        "ell_scale": 2.0,
        "time_scale": "linear",
        "repeated": "adjusted",
    }
    assert [name for name, kind in models().items() if kind.joint] == sorted(
        ["instance-bootstrap", *{model.name for model in TEMPORAL}],
        key=list(models()).index,
    )


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (RandomWalk, {"sigma_log_sd": 0.0}, "sigma_log_sd is 0.0; it must be above 0"),
        (RandomWalk, {"sigma_log_mean": np.nan}, "sigma_log_mean is nan; it must be finite"),
        (RandomWalk, {"initial_sd": -1.0}, "initial_sd is -1.0"),
        (RandomWalk, {"time_scale": "square"}, "time_scale is 'square'; .*linear, log"),
        (BSpline, {"degree": -1}, "degree is -1"),
        (BSpline, {"coefficients": 3}, "coefficients is 3; splines of degree 3 need at least 4"),
        (GaussianProcess, {"kernel": "cubic"}, "kernel is 'cubic'; .*matern-3/2, matern-5/2, squared"),
        (GaussianProcess, {"ell_shape": 0.0}, "ell_shape is 0.0"),
        (HilbertSpaceGaussianProcess, {"functions": 0}, "functions is 0"),
        (HilbertSpaceGaussianProcess, {"extension": 1.0}, "extension is 1.0"),
        (SparseGaussianProcess, {"inducing": 0}, "inducing is 0"),
    ],
)
def test_impossible_parameters_are_refused_by_name(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        kind(**parameters)


def test_the_heuristics_of_hilbert_space_models():
    """Riutort-Mayol et al. 2022: c = 4.5 ℓ / S and m = 3.42 c S / ℓ for Matérn-3/2, S half the axis."""
    exact = stats.invgamma(5, scale=2)
    functions, extension = HilbertSpaceGaussianProcess().domain()
    assert extension == pytest.approx(4.5 * 2 * exact.ppf(0.95))
    assert functions == int(np.ceil(3.42 * extension / (2 * exact.ppf(0.05))))


def test_memory_is_bounded_by_the_draws(monkeypatch):
    """Chunks of nodes give the same posterior as all at once."""
    whole = fitted(drifting(), RandomWalk())
    monkeypatch.setattr("polarbear.inference.path_sampling.nested_laplace._NUMBERS_TOGETHER", 1)
    pieces = fitted(drifting(), RandomWalk())
    np.testing.assert_allclose(whole.draws, pieces.draws, rtol=1e-9)


def test_draws_are_ratings_of_the_paths():
    prior = RandomWalk().prior(np.linspace(0, 1, 5), 3)
    found = path_draws(choice_counts(drifting(5)), prior, Sampling(100, np.random.default_rng(0)))
    assert found.theta.shape == (5, 4, 100)
    assert found.hyperparameters.shape == (1, 100)
    np.testing.assert_allclose(found.theta.sum(axis=1), 1.0)

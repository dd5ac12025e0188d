"""Draws of the prior against SciPy's distributions and against posteriors after no ranking."""

import numpy as np
import pytest
from scipy import stats

from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HierarchicalDirichlet,
    HilbertSpaceGaussianProcess,
    IndependentDirichlet,
    InstanceBootstrap,
    RandomWalk,
    SparseGaussianProcess,
    fit,
    models,
    prior,
)
from polarbear.rankings import ChoiceCounts

TIMES = np.array([2.0, 3.0, 5.0, 9.0, 12.0])
MODELS = [
    IndependentDirichlet(0.5),
    HierarchicalDirichlet(),
    InstanceBootstrap(),
    RandomWalk(),
    BSpline(),
    GaussianProcess(),
    GaussianProcess("matern-5/2"),
    GaussianProcess("squared-exponential"),
    HilbertSpaceGaussianProcess(),
    SparseGaussianProcess(),
]


def label(model):
    return f"{model.name} {getattr(model, 'kernel', '')}".strip()


def drawn(model, draws=4000, seed=0, algorithms=4, **more):
    return prior(model, times=TIMES, algorithms=algorithms, draws=draws, rng=np.random.default_rng(seed), **more)


def agree(sample, distribution):
    assert stats.kstest(sample, distribution.cdf).pvalue > 1e-4


def test_every_model_has_a_prior():
    assert {type(model) for model in MODELS} == set(models().values())


@pytest.mark.statistical
@pytest.mark.parametrize("model", MODELS, ids=label)
def test_it_is_the_posterior_after_no_ranking(model):
    """Two-sample tests at level 1e-4 of ratings and differences over time.

    A fit has 64 values of the hyperparameters, spread evenly: they are no independent sample, but nearer to the prior.
    """
    exact = drawn(model)
    none = ChoiceCounts.none(TIMES.size, 4)
    found = fit(none, times=TIMES, model=model, draws=4000, rng=np.random.default_rng(1))
    functionals = [lambda x: x[:, 0, 0], lambda x: x[:, 2, 3], lambda x: np.log(x[:, 1, 1]) - np.log(x[:, 1, 2])]
    if isinstance(model, InstanceBootstrap):  # the same at all timepoints
        first, last = (np.log(np.maximum(found.draws[:, t], 1e-300)) for t in (0, -1))
        assert np.corrcoef(first[:, 0] - first[:, 1], last[:, 0] - last[:, 1])[0, 1] > 0.95
    elif exact.joint:
        functionals.append(lambda x: np.log(x[:, 0, 0] / x[:, 0, 1]) - np.log(x[:, 4, 0] / x[:, 4, 1]))
    for f in functionals:
        one, other = (f(np.maximum(belief.draws, 1e-300)) for belief in (exact, found))
        assert stats.ks_2samp(one, other).pvalue > 1e-4
    assert list(exact.hyperparameters) == list(found.hyperparameters)
    for name, values in found.hyperparameters.items():
        for p in (0.1, 0.5, 0.9):
            assert np.mean(values <= np.quantile(exact.hyperparameters[name], p)) == pytest.approx(p, abs=0.04)
    assert exact.diagnostics.reliable
    np.testing.assert_array_equal(exact.diagnostics.ess, 4000.0)
    assert set(exact.diagnostics.method) == {"independent draws of the prior"}
    assert (exact.model, exact.joint) == (model, model.joint)


@pytest.mark.statistical
def test_hyperparameters_follow_their_priors():
    found = drawn(GaussianProcess(sigma_log_mean=0.3, sigma_log_sd=0.7, ell_shape=4.0, ell_scale=3.0)).hyperparameters
    agree(found["sigma"], stats.lognorm(0.7, scale=np.exp(0.3)))
    agree(found["ell"], stats.invgamma(4, scale=3))
    assert abs(stats.spearmanr(found["sigma"], found["ell"]).statistic) < 4.5 / 4000**0.5
    agree(drawn(HierarchicalDirichlet(0.5)).hyperparameters["kappa"], stats.expon(scale=2))
    agree(drawn(HierarchicalDirichlet()).hyperparameters["kappa"], stats.expon(scale=4))


@pytest.mark.statistical
def test_ratings_given_the_hyperparameters():
    """Path and concentration each belong to their draw's hyperparameters."""
    walk = drawn(RandomWalk())
    steps = np.diff(walk.log_ratio(0, 1), axis=1) / np.sqrt(2 * np.diff(TIMES) / 10)
    for step in (steps / walk.hyperparameters["sigma"][:, None]).T:
        agree(step, stats.norm)
    agree(walk.log_ratio(0, 1)[:, 0] / 2**0.5, stats.norm)
    process = drawn(GaussianProcess(), seed=1)
    path = process.log_ratio(2, 3) / 2**0.5 / process.hyperparameters["sigma"][:, None]
    r = 3**0.5 * 0.7 / process.hyperparameters["ell"]
    correlation = (1 + r) * np.exp(-r)
    agree((path[:, 3] - correlation * path[:, 0]) / np.sqrt(1 - correlation**2), stats.norm)
    pooled = drawn(HierarchicalDirichlet(), seed=2)
    alpha = pooled.hyperparameters["kappa"] / 4
    agree(stats.beta(alpha, 3 * alpha).cdf(pooled.draws[:, 1, 2]), stats.uniform)


@pytest.mark.statistical
def test_independent_dirichlet_marginals():
    found = drawn(IndependentDirichlet(0.5), algorithms=3)
    for t in range(5):
        agree(found.draws[:, t, 1], stats.beta(0.5, 1.0))
    corner = np.corrcoef(found.draws[:, :, 0].T) - np.eye(5)
    assert np.abs(corner).max() < 4.5 / 4000**0.5


@pytest.mark.statistical
def test_small_concentrations_leave_no_gap():
    """Log-ratings far below what exponentials can hold: all mass is on one algorithm, each as often as the others."""
    found = drawn(IndependentDirichlet(1e-6), draws=2000)
    np.testing.assert_allclose(found.draws.max(axis=2), 1.0)
    assert stats.chisquare(np.bincount(found.draws[:, 0].argmax(axis=1), minlength=4)).pvalue > 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("model", "held"),
    [
        (RandomWalk(), {"sigma": 1.7}),
        (HilbertSpaceGaussianProcess(), {"ell": 0.3}),
        (GaussianProcess("squared-exponential"), {"sigma": 0.4, "ell": 0.8}),
        (HierarchicalDirichlet(), {"kappa": 12.0}),
    ],
)
def test_hyperparameters_are_held(model, held):
    found = drawn(model, hyperparameters=held)
    for name, values in found.hyperparameters.items():
        assert (np.unique(values).tolist() == [held[name]]) if name in held else np.unique(values).size == 4000
    if isinstance(model, RandomWalk):
        agree((found.log_ratio(0, 1)[:, 4] - found.log_ratio(0, 1)[:, 3]) / 2**0.5 / 0.3**0.5 / 1.7, stats.norm)
    if isinstance(model, HierarchicalDirichlet):
        agree(found.draws[:, 0, 0], stats.beta(3.0, 9.0))
    if isinstance(model, GaussianProcess):
        agree(found.log_ratio(1, 3)[:, 2] / 2**0.5 / 0.4, stats.norm)


@pytest.mark.parametrize("model", MODELS, ids=label)
def test_the_smallest_shapes_and_determinism(model):
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(drawn(model, draws=20).draws, drawn(model, draws=20).draws)
    assert prior(model, times=[], algorithms=3, draws=5, rng=rng).draws.shape == (5, 0, 3)
    np.testing.assert_array_equal(prior(model, times=[4.0], algorithms=1, draws=5, rng=rng).draws, 1.0)
    named = prior(model, times=[4.0], names=["a", "b"], draws=1, rng=rng)
    assert named.names == ("a", "b")
    assert named.draws.shape == (1, 1, 2)


def test_what_does_not_fit_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="there is no hyperparameter 'alpha'; the model has none"):
        drawn(IndependentDirichlet(), hyperparameters={"alpha": 1.0})
    with pytest.raises(ValueError, match="there is no hyperparameter 'length'; the model has sigma, ell"):
        drawn(GaussianProcess(), hyperparameters={"length": 1.0})
    with pytest.raises(ValueError, match=r"sigma is -1\.0; it must be above 0"):
        drawn(RandomWalk(), hyperparameters={"sigma": -1.0})
    with pytest.raises(ValueError, match="give their names, or their number as algorithms"):
        prior(RandomWalk(), times=TIMES, rng=rng)
    with pytest.raises(ValueError, match="2 names"):
        drawn(RandomWalk(), names=["a", "b"])
    with pytest.raises(ValueError, match="draws is 0"):
        drawn(RandomWalk(), draws=0)
    with pytest.raises(TypeError, match="rng is 1"):
        prior(RandomWalk(), times=TIMES, algorithms=2, rng=1)
    with pytest.raises(ValueError, match="strictly increasing"):
        prior(RandomWalk(), times=[2.0, 1.0], algorithms=2, rng=rng)

    class Own:
        name, joint = "own", False

    with pytest.raises(TypeError, match="model 'own' cannot draw from its prior; it has no method draw_prior"):
        prior(Own(), times=TIMES, algorithms=2, rng=rng)

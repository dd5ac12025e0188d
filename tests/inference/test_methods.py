"""Methods on request: NUTS, Hamiltonian Monte Carlo and Gibbs find the default's posterior; Pathfinder warns.

Posteriors are held together by `alike`: 4.5 standard errors. The accuracy of the default is in test_accuracy.py.
"""

import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.accuracy import compared
from benchmarks.references import FOLDER, cases
from polarbear.inference import (
    BSpline,
    HierarchicalDirichlet,
    HilbertSpaceGaussianProcess,
    IndependentDirichlet,
    RandomWalk,
    fit,
    models,
)
from polarbear.inference.reference.numpyro_models import program
from polarbear.inference.sampling.diagnostics import (
    GIBBS,
    HAMILTONIAN,
    NESTED_LAPLACE,
    NO_U_TURN,
    PATHFINDER_DRAWS,
    Diagnostics,
)
from polarbear.inference.sampling.settings import NUTS
from polarbear.rankings import ChoiceCounts, choice_counts
from tests.inference.fits import MODELS, alike, drifting, label

SMALL = choice_counts(drifting(timepoints=3, algorithms=3, instances=6))
UNEVEN = np.array([1.0, 3.0, 10.0])
WALK = RandomWalk(repeated="as published")
QUICK = [replace(WALK, time_scale="log")]
LONG = [model for model in MODELS if NUTS in model.methods]


def by(method, model, counts=SMALL, draws=4000, seed=1):
    times = UNEVEN if counts.timepoints == UNEVEN.size else None
    return fit(counts, times=times, model=model, draws=draws, rng=np.random.default_rng(seed), method=method)


def slow(values):
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("model", [*QUICK, *LONG, HilbertSpaceGaussianProcess("squared-exponential")], ids=label)
def test_nuts_finds_the_posterior_of_the_default(model):
    import jax

    before = jax.config.jax_enable_x64
    posterior, ours = by("nuts", model), by(None, model)
    assert jax.config.jax_enable_x64 == before
    assert posterior.diagnostics.method == (NO_U_TURN,) * 3
    assert posterior.diagnostics.divergences == 0
    assert posterior.diagnostics.reliable
    assert posterior.diagnostics.ess.min() > 1400
    assert posterior.joint == model.joint
    assert posterior.model == model
    assert posterior.hyperparameters.keys() == ours.hyperparameters.keys()
    alike(posterior, ours)


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("model", [WALK, HierarchicalDirichlet()], ids=label)
def test_nuts_finds_the_posterior_of_many_unknowns(model):
    """There are too many of them for a metric to be learned while warming up."""
    counts = choice_counts(drifting(timepoints=26, algorithms=6, instances=60))
    posterior = by("nuts", model, counts)
    assert posterior.diagnostics.reliable
    assert posterior.diagnostics.ess.min() > 1000
    alike(posterior, by(None, model, counts))


@pytest.mark.slow
def test_nuts_repeats_itself_and_draws_as_many_as_asked():
    first, again, other = (by("nuts", BSpline(), draws=7, seed=seed) for seed in (1, 1, 2))
    assert first.draws.shape == (7, 3, 3)
    assert (first.diagnostics.ess == 7).all()
    np.testing.assert_array_equal(first.draws, again.draws)
    assert not np.array_equal(first.draws, other.draws)


def test_the_programs_know_the_likelihood_of_choice_sets_and_of_large_ties():
    """Its integral is taken another way than by `polarbear.rankings`."""
    import jax
    from numpyro import handlers

    rng = np.random.default_rng(0)
    values = np.round(drifting(timepoints=2, algorithms=14, instances=5) / 3)
    values[rng.random(values.shape) < 0.1] = np.nan
    values[0, 1, 4:] = np.inf
    counts = choice_counts(values)
    assert counts.ties.tied.size >= 2
    with jax.enable_x64(True):
        for seed in range(3):
            run = program(RandomWalk(initial_sd=1.0 + 3.0 * seed), counts, np.arange(2.0)).run
            trace = handlers.trace(handlers.seed(run, jax.random.PRNGKey(seed))).get_trace()
            theta = np.exp(np.asarray(trace["log_theta"]["value"]))
            np.testing.assert_allclose(theta.sum(axis=1), 1.0)
            expected = counts.log_likelihood(theta).sum()
            assert float(trace["rankings"]["fn"].log_factor) == pytest.approx(expected, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("model", [*QUICK, *LONG], ids=label)
def test_the_compiled_gradient_that_chains_follow_is_that_of_the_program_as_it_stands(model):
    """XLA has compiled a wrong one for another writing of the sparse process (jaxlib 0.10.2)."""
    import jax
    from jax.flatten_util import ravel_pytree
    from numpyro.infer.util import initialize_model

    counts = choice_counts(drifting(timepoints=20, algorithms=4, instances=20))
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        prepared = initialize_model(jax.random.PRNGKey(0), program(model, counts, np.arange(1.0, 21.0)).run)
        start, unflatten = ravel_pytree(prepared.param_info.z)

        def potential(unknowns):
            return prepared.potential_fn(unflatten(unknowns))

        compiled = jax.jit(jax.grad(potential))
        for point in start + np.array([[0.0], [0.5]]) * rng.normal(size=(2, start.size)):
            gradient = np.asarray(compiled(point))
            for direction in (*np.eye(start.size)[:2], rng.normal(size=start.size)):
                _, along = jax.jvp(potential, (point,), (direction,))
                assert float(along) == pytest.approx(gradient @ direction, rel=1e-7, abs=1e-7)


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("model", [IndependentDirichlet(), WALK, HierarchicalDirichlet()], ids=label)
def test_pathfinder_warns_and_calls_its_draws_doubtful(model):
    with pytest.warns(UserWarning, match=r"means were off by 0\.65 to 2\.1 .* probabilities by 0\.2 to 0\.33"):
        posterior = by("pathfinder", model, draws=500)
    assert posterior.draws.shape == (500, 3, 3)
    assert posterior.diagnostics.method == (PATHFINDER_DRAWS,) * 3
    assert posterior.diagnostics.doubtful.all()
    assert "Pathfinder is for comparison only; use the default method" in posterior.diagnostics.summary()
    hyperparameters = by(None, model, draws=2).hyperparameters
    assert {name: values.shape for name, values in posterior.hyperparameters.items()} == dict.fromkeys(
        hyperparameters, (500,)
    )
    assert np.abs(posterior.pairwise_probabilities() - by(None, model).pairwise_probabilities()).max() < 0.4


def answered(name, method):
    case = cases()[name]
    rng = np.random.default_rng(0)
    return fit(case.counts, times=case.times, model=case.model, draws=4000, rng=rng, method=method)


INFORMATIVE = ["random-walk", "b-spline", "matern-3-2", "sparse", "squared-exponential", "hilbert-space"]
FEW = [f"{name}-two" for name in (*INFORMATIVE, "matern-5-2")]
HARD = ["matern-3-2-few", "random-walk-dominance", "matern-5-2-dominance"]


@pytest.mark.statistical(rate=0.05)
@pytest.mark.parametrize("name", [FEW[0], INFORMATIVE[-1], *slow(FEW[1:]), *slow(INFORMATIVE[:-1]), *slow(HARD)])
def test_hamiltonian_chains_pass_the_accuracy_gate(name):
    posterior = answered(name, "hmc")
    assert set(posterior.diagnostics.method) == {HAMILTONIAN}
    assert posterior.diagnostics.divergences == 0
    assert posterior.diagnostics.r_hat.max() < 1.01
    assert posterior.diagnostics.ess.min() >= 400
    assert compared(posterior, FOLDER / f"{name}.npz").excesses() == []


@pytest.mark.statistical(rate=0.05)
@pytest.mark.parametrize("name", ["independent-dominance", "independent-holes", "independent-ties", "independent-few"])
def test_gibbs_on_request_passes_the_accuracy_gate(name):
    posterior = answered(name, "gibbs")
    blank = cases()[name].counts.rankings == 0
    assert all(method == GIBBS for method, none in zip(posterior.diagnostics.method, blank, strict=True) if not none)
    assert compared(posterior, FOLDER / f"{name}.npz").excesses() == []


def test_every_model_takes_nuts_and_pathfinder_and_the_default_first():
    for name, kind in models().items():
        assert kind.methods[0] == "nlis"
        assert {"nuts", "pathfinder"} <= set(kind.methods) or name == "instance-bootstrap"  # which has no density


def test_methods_that_a_model_does_not_have_are_refused():
    with pytest.raises(ValueError, match="b-spline has no method 'gibbs'; its methods are nlis, hmc, nuts, path"):
        by("gibbs", BSpline())


@pytest.mark.parametrize(("method", "missing"), [("nuts", "numpyro"), ("pathfinder", "blackjax.vi.pathfinder")])
def test_a_missing_package_names_its_extra(method, missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"needs {missing}.*pip install 'polarbear-race\[nuts\]'"):
        by(method, RandomWalk())


@pytest.mark.parametrize(("timepoints", "algorithms"), [(0, 3), (2, 1)])
def test_nuts_needs_something_to_sample(timepoints, algorithms):
    with pytest.raises(ValueError, match=f"1 timepoint and 2 algorithms; there are {timepoints} and {algorithms}"):
        by("nuts", RandomWalk(), ChoiceCounts.none(timepoints, algorithms))


def test_models_of_others_have_no_program():
    class Other:
        name, methods = "other", ("nuts",)

    with pytest.raises(TypeError, match="other has no NumPyro program"):
        by("nuts", Other())


@pytest.mark.parametrize("method", [NO_U_TURN, HAMILTONIAN])
def test_diagnostics_tell_of_divergences(method):
    one = np.ones(2)
    calm, wild = (Diagnostics((method,) * 2, 900 * one, np.nan * one, one, count) for count in (0, 3))
    assert calm.reliable
    assert "0 transitions diverged (good: none). The draws are reliable." in calm.summary()
    assert wild.doubtful.all()
    assert "chains with divergent transitions may miss part of the posterior" in wild.summary()


def test_chains_are_held_to_the_papers_limits():
    """Wurth et al. 2026, section 3.3: R-hat below 1.01 and 400 effective draws."""
    methods = (GIBBS, HAMILTONIAN, NO_U_TURN, GIBBS, NESTED_LAPLACE, NESTED_LAPLACE)
    ess, k_hat = np.array([400, 400, 399, 4000, 100, 99.0]), np.array([*[np.nan] * 4, 0.69, 0.1])
    r_hat = np.array([1.0099, 1.01, 1.0, np.nan, np.nan, np.nan])
    doubtful = Diagnostics(methods, ess, k_hat, r_hat).doubtful
    np.testing.assert_array_equal(doubtful, [False, True, True, True, False, True])

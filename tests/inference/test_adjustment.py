"""Posteriors over time, widened by how much instances repeat themselves: closed forms, and the formula written out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import sqrtm

from polarbear.inference import GaussianProcess, IndependentDirichlet, RandomWalk, as_published, fit
from polarbear.inference.model.adjustment import _stretch
from polarbear.rankings import choice_counts
from tests.inference.fits import TEMPORAL, drifting, label

STIFF = RandomWalk(sigma_log_mean=-6.0, initial_sd=10.0)
"""Nothing changes over time, and nothing is known before."""


def of_two(wins, timepoints):
    """Values (P, T, 2) of two algorithms, of which the first wins on some instances, at all timepoints."""
    return np.repeat(np.stack([np.full(len(wins), 0.5), wins], axis=1)[:, np.newaxis], timepoints, axis=1)


def fitted(values, model, **options):
    return fit(choice_counts(values, **options), model=model, draws=4000, rng=np.random.default_rng(3))


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["over time", "in groups", "by weights"])
def test_what_is_only_repeated_says_no_more(kind):
    """Of two algorithms the first wins with probability θ: the variance of its log-odds is 1 / (P θ (1 − θ))."""
    wins = np.repeat([1.0, 0.0], [120, 80])
    if kind == "over time":
        posterior = fitted(of_two(wins, 12), STIFF)
    elif kind == "in groups":
        posterior = fitted(of_two(np.tile(wins, 6), 2), STIFF, groups=np.tile(np.arange(200), 6))
    else:
        posterior = fitted(of_two(wins, 2), STIFF, weights=np.full(200, 6.0))
    spread = posterior.log_ratio(0, 1).std(axis=0) * np.sqrt(200 * 0.6 * 0.4)
    np.testing.assert_allclose(spread, 1.0, atol=0.1)  # as the published variance: 4 standard errors are 0.09
    np.testing.assert_allclose(posterior.diagnostics.widened, np.sqrt(12), rtol=0.06)


@pytest.mark.statistical
def test_where_instances_are_new_at_each_timepoint_nothing_is_widened():
    """But for what the chance of 400 instances makes of it."""
    values = -np.random.default_rng(0).gumbel(size=(400, 10, 3))
    assert (fitted(values, STIFF).diagnostics.widened < 1.25).all()


@pytest.mark.parametrize(("draws", "groups", "size"), [(500, 9, 12), (500, 40, 12), (6, 9, 12)])
def test_the_covariance_is_that_of_the_formula(draws, groups, size):
    rng = np.random.default_rng(1)
    deviations = rng.normal(size=(size, size)) @ rng.normal(size=(size, draws))
    scores = rng.normal(size=(groups, size)) / 3
    before = deviations @ deviations.T / draws
    root = np.real(sqrtm(before))
    variances, axes = np.linalg.eigh(root @ scores.T @ scores @ root * (1 + 2 / groups))
    expected = root @ axes @ np.diag(np.maximum(variances, 1)) @ axes.T @ root
    weights, pulls = _stretch(scores @ deviations, groups)
    after = deviations + deviations @ weights.T @ pulls
    np.testing.assert_allclose(after @ after.T / draws, expected, atol=1e-6 * expected.max())


@pytest.mark.parametrize("model", TEMPORAL, ids=label)
def test_every_model_over_time_is_adjusted_unless_told_not_to(model):
    values = np.repeat(drifting(timepoints=1, instances=30), 8, axis=1)
    published, adjusted = (fitted(values, replace(model, repeated=kind)) for kind in ("as published", "adjusted"))
    assert published.diagnostics.widened is None
    assert not published.honest
    assert adjusted.honest
    assert (adjusted.diagnostics.widened > 1.2).all()
    assert "times as wide" in adjusted.diagnostics.summary()
    np.testing.assert_allclose(adjusted.log_ratio(0, 3).mean(axis=0), published.log_ratio(0, 3).mean(axis=0), atol=1e-9)
    for name, values in published.hyperparameters.items():
        np.testing.assert_array_equal(adjusted.hyperparameters[name], values)
    assert as_published(adjusted.model) == model == published.model


def test_models_of_independent_timepoints_are_left_as_they_are():
    assert as_published(IndependentDirichlet(2.0)) == IndependentDirichlet(2.0)
    assert fitted(drifting(), IndependentDirichlet()).diagnostics.widened is None


def test_few_draws_and_no_rankings_are_borne():
    for draws in (1, 2, 5):
        posterior = fit(choice_counts(drifting()), model=RandomWalk(), draws=draws, rng=np.random.default_rng(0))
        assert posterior.draws.shape == (draws, 8, 4)
    unranked = fitted(np.full((3, 4, 2), np.nan), RandomWalk())
    np.testing.assert_allclose(unranked.diagnostics.widened, 1, rtol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"repeated is 'twice'; .*adjusted, as published"):
        GaussianProcess(repeated="twice")
    counts = replace(choice_counts(drifting()), instances=None)
    with pytest.raises(ValueError, match=r"ranking of each instance is needed.*choice_counts"):
        fit(counts, model=RandomWalk(), rng=np.random.default_rng(0))

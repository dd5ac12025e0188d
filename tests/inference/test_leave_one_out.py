"""Leave-one-instance-out scores against closed forms, refits without the instance, and ArviZ."""

from dataclasses import replace

import numpy as np
import pytest

from polarbear.inference import (
    IndependentDirichlet,
    LeaveOneOut,
    RandomWalk,
    compare,
    fit,
    leave_one_out,
)
from polarbear.inference.checking.certainty import log_ratings
from polarbear.rankings import DistinctRankings, Rankings, choice_counts

WALK = RandomWalk(repeated="as published")


def smooth_values(instances, timepoints, algorithms, seed):
    """Rankings whose ratings cross slowly; part of the runs are missing."""
    rng = np.random.default_rng(seed)
    first, last = rng.normal(size=(2, algorithms))
    mu = first + np.linspace(0, 1, timepoints)[:, np.newaxis] * (last - first)
    values = -(mu + rng.gumbel(size=(instances, timepoints, algorithms)))
    values[: instances // 3, timepoints // 2 :, 0] = np.nan
    return values


def fitted(values, model, *, draws=4000, seed=1):
    return fit(choice_counts(values), model=model, draws=draws, rng=np.random.default_rng(seed))


def log_likelihoods(posterior, values):
    """(P, T, D) each ranking's log-likelihood, the plain way."""
    result = np.zeros((*values.shape[:2], len(posterior.draws)))
    for p in range(len(values)):
        result[p] = choice_counts(values[p : p + 1]).log_likelihood(posterior.draws).T
    return result


def without(values, model, instance, *, draws=8000, seed=5):
    """(T,) log-probability of an instance's rankings after a fit that has not seen them."""
    posterior = fitted(np.delete(values, instance, axis=0), model, draws=draws, seed=seed)
    return np.log(np.exp(log_likelihoods(posterior, values[[instance]])[0]).mean(axis=1))


@pytest.mark.parametrize("n", [3, 11, 18])
def test_log_likelihood_of_every_ranking_is_that_of_its_choice_counts(n):
    rng = np.random.default_rng(2)
    values = rng.integers(0, 6, size=(30, 4, n)).astype(float)
    values[:10] += rng.random((10, 4, n))
    values[rng.random(values.shape) < 0.2] = np.nan
    values[rng.random(values.shape) < 0.1] = np.inf
    values[3, 1] = 1.0
    values[4, 2] = np.nan
    values[5, 2, 1:] = np.nan
    theta = rng.dirichlet(np.ones(n), size=(7, 4))
    rankings = DistinctRankings.of(Rankings.of(values))
    for t in range(4):
        found, which = rankings.log_likelihood(t, np.log(theta[:, t]))
        for p in range(30):
            expected = choice_counts(values[p : p + 1, t : t + 1]).log_likelihood(theta[:, t : t + 1])[:, 0]
            ranked = np.count_nonzero(~np.isnan(values[p, t])) > 1
            assert ranked == (which[p] >= 0) == rankings.ranked[p, t]
            if ranked:
                np.testing.assert_allclose(found[which[p]], expected, rtol=1e-9)


@pytest.mark.statistical
def test_two_algorithms_have_a_closed_form():
    """With n = 2 the rating is Beta(α + wins, α + losses); Monte Carlo errors are about 0.003 for each ranking."""
    rng = np.random.default_rng(3)
    alpha, instances = 0.7, 25
    values = rng.random((instances, 3, 2)) + np.array([0.0, 0.2])
    values[20:, 2, 1] = np.nan
    score = leave_one_out(fitted(values, IndependentDirichlet(alpha), draws=40_000), values, draws=40_000)
    met = ~np.isnan(values).any(axis=2)
    first = met & (values[..., 0] < values[..., 1])
    wins, losses = first.sum(axis=0), (met & ~first).sum(axis=0)
    won = np.where(first, wins, losses)
    expected = np.log((alpha + won - 1) / (2 * alpha + wins + losses - 1))
    seen = np.log((alpha + won) / (2 * alpha + wins + losses))
    np.testing.assert_allclose(score.pointwise[met], expected[met], atol=0.01)
    np.testing.assert_allclose(score.in_sample[met], seen[met], atol=0.01)
    assert np.isnan(score.pointwise[~met]).all()
    assert score.rankings == met.sum() == 70
    assert score.elpd == pytest.approx(expected[met].sum(), abs=0.1)
    assert score.effective_parameters == pytest.approx((seen - expected)[met].sum(), abs=0.1)
    by_instance = np.where(met, expected, 0).sum(axis=1)
    assert score.standard_error == pytest.approx(np.sqrt(instances) * by_instance.std(ddof=1), rel=0.02)
    assert score.unreliable.size == 0


@pytest.mark.statistical
@pytest.mark.parametrize("model", [IndependentDirichlet(), WALK])
def test_it_is_what_fits_without_the_instance_give(model):
    """PSIS where k-hat allows it, against a fit without each instance; Monte Carlo errors are about 0.02."""
    values = smooth_values(30, 5, 4, seed=4)
    score = leave_one_out(fitted(values, model), values, draws=4000)
    for instance in np.flatnonzero(score.k_hat < 0.5)[:6]:
        expected = without(values, model, instance)
        np.testing.assert_allclose(score.pointwise[instance], expected, atol=0.07)
        assert score.by_instance[instance] == pytest.approx(expected.sum(), abs=0.15)


@pytest.mark.statistical
def test_instances_that_weigh_too_much_are_left_out_by_fitting_again():
    values = smooth_values(5, 30, 4, seed=8)
    posterior = fitted(values, WALK)
    rough = leave_one_out(posterior, values)
    assert rough.unreliable.size > 0
    assert "give leave_one_out a generator" in str(rough)
    mended = leave_one_out(posterior, values, rng=np.random.default_rng(6))
    assert mended.unreliable.size == 0
    np.testing.assert_array_equal(np.flatnonzero(mended.refitted), rough.unreliable)
    np.testing.assert_array_equal(mended.pointwise[~mended.refitted], rough.pointwise[~mended.refitted])
    for instance in rough.unreliable[:2]:
        np.testing.assert_allclose(mended.pointwise[instance], without(values, WALK, instance), atol=0.2)
    again = leave_one_out(replace(posterior, model=None), values, model=WALK, rng=np.random.default_rng(6))
    np.testing.assert_array_equal(again.pointwise, mended.pointwise)


@pytest.mark.statistical
def test_independent_timepoints_agree_with_arviz():
    import arviz  # slow to import

    values = smooth_values(15, 4, 5, seed=7)
    posterior = fitted(values, IndependentDirichlet(), draws=1000)
    score = leave_one_out(posterior, values)
    known = ~np.isnan(score.pointwise)
    likelihood = log_likelihoods(posterior, values)[known]
    data = arviz.from_dict(posterior={"x": np.zeros((1, 1000))}, log_likelihood={"ranking": likelihood.T[np.newaxis]})
    theirs = arviz.loo(data, pointwise=True, reff=1.0)
    assert score.elpd == pytest.approx(theirs.elpd_loo, abs=0.01)
    assert score.effective_parameters == pytest.approx(theirs.p_loo, abs=0.01)
    np.testing.assert_allclose(score.pointwise[known], theirs.loo_i.values, atol=2e-3)
    k_hat = np.full(known.shape, -np.inf)
    k_hat[known] = theirs.pareto_k.values
    judged = np.isfinite(score.k_hat)
    assert judged.sum() > 8
    assert (np.abs(score.k_hat - k_hat.max(axis=1))[judged] < 0.02).mean() > 0.8


def test_joint_weights_agree_with_arviz():
    import arviz

    values = smooth_values(40, 6, 4, seed=9)
    posterior = fitted(values, WALK, draws=1000)
    score = leave_one_out(posterior, values)
    likelihood = log_likelihoods(posterior, values)
    log_weights, k_hat = arviz.psislw(-likelihood.sum(axis=1), reff=1.0)
    expected = np.log((np.exp(log_weights)[:, np.newaxis] * np.exp(likelihood)).sum(axis=2))
    np.testing.assert_allclose(score.pointwise, expected, atol=2e-3)
    judged = np.isfinite(score.k_hat)
    np.testing.assert_allclose(score.k_hat[judged], k_hat[judged], atol=1e-6)


def test_names_and_order_do_not_matter():
    values = smooth_values(12, 3, 4, seed=10)
    posterior = fitted(values, WALK, draws=800)
    score = leave_one_out(posterior, values)
    order, shuffled = np.array([2, 0, 3, 1]), np.random.default_rng(0).permutation(12)
    turned = replace(posterior, draws=posterior.draws[..., order])
    other = leave_one_out(turned, values[shuffled][..., order])
    np.testing.assert_allclose(other.pointwise, score.pointwise[shuffled], rtol=1e-9)
    nothing = np.full((2, 3, 4), np.nan)
    nothing[1, :, 2] = 5.0
    more = leave_one_out(posterior, np.concatenate([values, nothing]))
    assert more.elpd == pytest.approx(score.elpd)
    assert more.standard_error == pytest.approx(score.standard_error)
    assert np.isnan(more.by_instance[12:]).all()


def test_precision_makes_ties_as_in_choice_counts():
    values = smooth_values(8, 2, 3, seed=11)
    posterior = fit(choice_counts(values, precision=0.5), rng=np.random.default_rng(1))
    score = leave_one_out(posterior, values, precision=0.5)
    assert score.elpd == pytest.approx(leave_one_out(posterior, np.rint(values / 0.5)).elpd)
    assert score.elpd != pytest.approx(leave_one_out(posterior, values).elpd)


def made_up(by_instance, timepoints=1):
    pointwise = np.repeat(np.array(by_instance)[:, np.newaxis] / timepoints, timepoints, axis=1)
    return LeaveOneOut(pointwise, pointwise + 0.1, np.full(len(pointwise), 0.2), np.zeros(len(pointwise), bool))


def test_differences_are_paired():
    rng = np.random.default_rng(12)
    hard, gain = rng.normal(-20, 5, size=40), rng.normal(1.0, 0.5, size=40)
    found = compare({"plain": made_up(hard, 3), "better": made_up(hard + gain, 3)})
    best, other = found.models
    assert (best.name, best.behind, best.behind_error) == ("better", 0.0, 0.0)
    assert other.behind == pytest.approx(gain.sum())
    assert other.behind_error == pytest.approx(np.sqrt(40) * gain.std(ddof=1))
    assert other.behind_error < other.standard_error / 5
    assert (found.instances, found.rankings) == (40, 120)
    assert other.verdict.startswith(f"better clearly fits better than plain, by {gain.sum():.1f} ± ")
    assert found.as_dict()["models"][1]["name"] == "plain"


@pytest.mark.parametrize(
    ("mean", "sd", "words"),
    [
        (0.05, 0.02, "as well as"),
        (0.5, 3.0, "may fit better"),
        (0.5, 1.0, "probably fits better"),
        (0.5, 0.1, "clearly"),
    ],
)
def test_words_are_as_sure_as_the_difference(mean, sd, words):
    step = sd * np.sqrt(39 / 40)
    gain = mean + step * np.tile([1.0, -1.0], 20)
    assert words in compare({"a": made_up(np.full(40, -9.0)), "b": made_up(gain - 9.0)}).models[1].verdict


def test_a_smooth_truth_is_predicted_better_by_a_smooth_model():
    """Thirty timepoints of slowly crossing ratings, independent rankings, 20 instances."""
    values = smooth_values(20, 30, 4, seed=13)
    rng = np.random.default_rng(14)
    scores = {
        model.name: leave_one_out(fitted(values, model, draws=1000), values, rng=rng)
        for model in (IndependentDirichlet(), WALK)
    }
    best, other = compare(scores).models
    assert best.name == "random-walk"
    assert other.behind > 4 * other.behind_error
    assert "With only 20 instances" in other.verdict


def test_bad_input_is_named():
    values = smooth_values(6, 3, 3, seed=15)
    posterior = fitted(values, IndependentDirichlet(), draws=200)
    with pytest.raises(ValueError, match=r"shape \(6, 2, 3\); a posterior of 3 timepoints"):
        leave_one_out(posterior, values[:, :2])
    with pytest.raises(ValueError, match="draws is 0"):
        leave_one_out(posterior, values, draws=0)
    with pytest.raises(ValueError, match="precision is -1"):
        leave_one_out(posterior, values, precision=-1)
    with pytest.raises(TypeError, match="rng is 1"):
        leave_one_out(posterior, values, rng=1)
    with pytest.raises(ValueError, match="which model to refit"):
        leave_one_out(replace(posterior, model=None), values, rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="scores is empty"):
        compare({})
    with pytest.raises(ValueError, match="are of different rankings"):
        compare({"a": made_up([-1.0, -2.0]), "b": made_up([-1.0, np.nan])})


def test_few_draws_and_few_instances():
    values = smooth_values(1, 2, 3, seed=16)
    score = leave_one_out(fitted(values, IndependentDirichlet(), draws=3), values)
    assert np.isnan(score.standard_error)
    assert str(leave_one_out(fitted(values, IndependentDirichlet()), np.full((2, 2, 3), np.nan))) == (
        "There are no rankings to predict."
    )
    assert log_ratings(np.ones((10, 1, 2)) / 2, 4).shape == (4, 1, 2)

"""The joint posterior that knows that instances repeat themselves: against the independent model at each timepoint, a
closed form over time, and truths under runs that persist."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.accuracy import cases
from benchmarks.honesty import persistent_values
from polarbear.inference import IndependentDirichlet, InstanceBootstrap, RandomWalk, events, fit
from polarbear.inference.model import instance_bootstrap
from polarbear.rankings import choice_counts
from tests.inference.fits import drifting, fitted

DRAWS = 4000


def bootstrapped(values, seed=0, draws=DRAWS, **options):
    counts = choice_counts(values, **options)
    return fit(counts, model=InstanceBootstrap(), draws=draws, rng=np.random.default_rng(seed))


def luck(posterior, t):
    """Normal scores (D,) of the log-odds of the first two at a timepoint."""
    return stats.norm.ppf(stats.rankdata(posterior.log_ratio(0, 1)[:, t]) / (len(posterior.draws) + 1))


def of_two(wins):
    """Values (P, T, 2) of two algorithms by who wins, (P, T): 1 the first, 0 the second, 0.5 both, NaN not known."""
    return np.stack([np.where(np.isnan(wins), np.nan, 0.5), wins], axis=2)


@pytest.mark.statistical
def test_two_algorithms_have_the_beta_posterior_at_each_timepoint():
    wins = (np.random.default_rng(5).random((30, 4)) < [0.2, 0.5, 0.9, 1.0]).astype(float)
    found = bootstrapped(of_two(wins)).draws[:, :, 0]
    for t, won in enumerate(wins.sum(axis=0)):
        assert stats.kstest(found[:, t], stats.beta(won + 1, 31 - won).cdf).statistic < 0.04  # 2.5 / √4000


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["persistent", "new", "grouped", "weighted", "holes and ties"])
def test_timepoints_belong_together_as_the_scores_of_instances_do(kind):
    """Of two algorithms the correlation is a closed form: a win adds 1 − θ, a loss −θ, a tie ½ − θ; prior alike."""
    rng = np.random.default_rng(1)
    wins = (rng.random((40, 2)) < 0.6).astype(float)
    options = {}
    if kind == "persistent":
        wins[:, 1] = np.where(rng.random(40) < 0.9, wins[:, 0], wins[:, 1])
    if kind == "grouped":
        wins[20:, 1] = wins[:20, 0]
        options["groups"] = np.tile(np.arange(20), 2)
    if kind == "weighted":
        wins[:10, 1], options["weights"] = wins[:10, 0], np.r_[np.full(10, 3.0), np.ones(30)]
    if kind == "holes and ties":
        wins[:12, 1], wins[8:16, 0], wins[20:30, 1] = 0.5, 0.5, np.nan
    posterior = bootstrapped(of_two(wins), **options)
    weights = np.reshape(options.get("weights", np.ones(40)), (-1, 1))
    theta = (np.nansum(weights * wins, axis=0) + 1) / ((weights * ~np.isnan(wins)).sum(axis=0) + 2)
    scores = weights * np.nan_to_num(wins - theta)
    groups = options.get("groups", np.arange(40))
    scores = np.stack([np.bincount(groups, column) for column in scores.T], axis=1)
    scores = np.concatenate([scores, [1 - theta, -theta]])
    expected = scores[:, 0] @ scores[:, 1] / np.sqrt((scores**2).sum(axis=0).prod())
    assert {"persistent": 0.6, "grouped": 0.2}.get(kind, -1) < expected
    correlation = np.corrcoef(luck(posterior, 0), luck(posterior, 1))[0, 1]
    assert abs(correlation - expected) < 4 * (1 - expected**2) / np.sqrt(DRAWS) + 1e-4


@pytest.mark.statistical
def test_what_is_only_repeated_says_no_more():
    """A twentieth timepoint with the same rankings changes no probability, joint or not."""
    values = np.repeat(drifting(timepoints=1), 20, axis=1)
    posterior = bootstrapped(values)
    better = posterior.pairwise_probabilities()
    for i, j in ((0, 1), (2, 1), (3, 2)):
        assert abs(posterior.probability(events.dominates(i, j)) - better[0, i, j]) < 0.05  # 4.5 sd of two estimates
    narrower = posterior.draws.mean(axis=1).std(axis=0) / posterior.draws[:, 0].std(axis=0)
    np.testing.assert_allclose(narrower, 1.0, atol=0.06)


@pytest.mark.parametrize("name", [name for name in cases() if name.startswith("independent")])
def test_its_mean_log_ratios_are_those_of_the_independent_model(name):
    """Which are held to references; ties, holes and total dominance among them."""
    case = cases()[name]
    ours, theirs = (
        fit(case.counts, model=model, draws=1000, rng=np.random.default_rng(0))
        for model in (InstanceBootstrap(case.model.alpha), case.model)
    )
    for other in range(1, case.counts.algorithms):
        mean = theirs.log_ratio(0, other).mean(axis=0)
        np.testing.assert_allclose(ours.log_ratio(0, other).mean(axis=0), mean, atol=1e-6)


@pytest.mark.statistical
def test_instances_that_differ_more_than_luck_would_have_it_widen_the_posterior():
    """Half of the instances are ranked one way, half the other: each is told by seven others."""
    order = np.random.default_rng(0).permuted(np.arange(8.0).reshape(1, 1, 8).repeat(200, axis=0), axis=2)
    order[:, :, :4] = np.where(np.arange(200)[:, None, None] % 2, np.arange(4.0), np.arange(4.0)[::-1])
    mixed, alone = bootstrapped(order), fitted(order, None)
    wider = mixed.log_ratio(0, 3).std() / alone.log_ratio(0, 3).std()
    assert wider > 1.3  # 1.42 by the sandwich; its standard error is 0.02


@pytest.mark.slow
@pytest.mark.statistical(rate=0.001)
@pytest.mark.parametrize("model", [InstanceBootstrap(), RandomWalk()], ids=lambda model: model.name)
def test_mean_ratings_over_time_are_held_as_often_as_they_should_where_runs_persist(model):
    """Intervals of 90 %."""
    replicates = 1000
    allowed = 3.3 * np.sqrt(0.9 * 0.1 / replicates)  # entries of one replicate are not independent
    share = held_where_runs_persist(model, replicates)
    assert abs(share - 0.9) < allowed + 0.02  # the posterior is exact for no finite number of instances


@pytest.mark.statistical(rate=0.001)
def test_those_of_the_published_random_walk_hold_in_60_percent_of_the_cases():
    assert held_where_runs_persist(RandomWalk(repeated="as published"), 50) < 0.75


def held_where_runs_persist(model, replicates):
    """How often intervals of 90 % hold mean ratings over time."""

    def held(number):
        values, truth = persistent_values(number, instances=25, timepoints=15, algorithms=3)
        draws = np.log(fitted(values, model, 500, seed=number).draws).mean(axis=1)
        draws -= draws.mean(axis=1, keepdims=True)
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        return (low <= truth) & (truth <= high)

    rng = np.random.default_rng(11)
    return np.mean([held(number) for number in rng.integers(1 << 40, size=replicates)])


def test_draws_are_the_same_for_the_same_generator_and_with_helpers():
    values = drifting()
    one, again = bootstrapped(values, draws=500), bootstrapped(values, draws=500)
    np.testing.assert_array_equal(one.draws, again.draws)
    assert one.joint
    assert one.model == InstanceBootstrap()
    np.testing.assert_array_equal(bootstrapped(np.exp(values), draws=500).draws, one.draws)


def test_single_algorithms_single_draws_and_no_rankings_are_borne():
    assert (bootstrapped(drifting(algorithms=1), draws=3).draws == 1).all()
    for draws in (1, 2, 3):
        assert bootstrapped(drifting(), draws=draws).draws.shape == (draws, 8, 4)
    assert bootstrapped(np.full((0, 3, 2), np.nan), draws=10).draws.shape == (10, 3, 2)


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0, 1e4])
@pytest.mark.parametrize(("instances", "algorithms"), [(1, 4), (500, 9)])
def test_unanimous_instances_are_borne_and_leave_no_doubt_about_the_order(alpha, instances, algorithms):
    values = np.arange(float(algorithms)) + np.zeros((instances, 2, 1))
    found, exact = (fitted(values, kind(alpha), DRAWS) for kind in (InstanceBootstrap, IndependentDirichlet))
    assert np.isfinite(found.draws).all()
    gaps = found.pairwise_probabilities() - exact.pairwise_probabilities()
    assert np.abs(gaps).max() < 0.06  # 4.5 standard errors of the difference of two shares at one half are 0.05


@pytest.mark.statistical
def test_where_no_mode_is_found_the_mean_of_the_draws_will_do(monkeypatch):
    def singular(choices):
        raise np.linalg.LinAlgError("Singular matrix")

    values = drifting(instances=60)
    usual = bootstrapped(values)
    monkeypatch.setattr(instance_bootstrap, "mode", singular)
    instead = bootstrapped(values)
    for j in range(1, 4):
        spreads = [posterior.log_ratio(0, j).std(axis=0) for posterior in (usual, instead)]
        np.testing.assert_allclose(*spreads, rtol=0.1)


def test_it_is_the_default_where_instances_come_in_groups():
    """The independent model would count two runs on each of 20 instances as 40 of them."""
    values = np.random.default_rng(4).normal(size=(40, 3, 3))
    labels = np.arange(40) // 2
    kinds = [
        fit(choice_counts(values, groups=groups), draws=50, rng=np.random.default_rng(1)).model
        for groups in (labels, None)
    ]
    assert kinds == [InstanceBootstrap(), IndependentDirichlet()]


def test_counts_that_do_not_know_their_instances_are_refused():
    counts = replace(choice_counts(drifting()), instances=None)
    with pytest.raises(ValueError, match=r"ranking of each instance is needed.*choice_counts"):
        fit(counts, model=InstanceBootstrap(), rng=np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.statistical(rate=0.001)
@pytest.mark.parametrize("instances", [10, 40])
def test_truths_from_the_prior_have_uniform_ranks(instances):
    """Simulation-based calibration: log-ratios at a timepoint, and their mean over two of which runs are new."""
    ranks = []
    for replicate in range(800):
        rng = np.random.default_rng([instances, replicate])
        truth = np.log(rng.dirichlet(np.ones(4), size=2))
        posterior = bootstrapped(-(truth + rng.gumbel(size=(instances, 2, 4))), seed=replicate, draws=399)
        below = posterior.log_ratio(0, 1) < truth[:, 0] - truth[:, 1]
        mean = posterior.log_ratio(0, 1).mean(axis=1) < (truth[:, 0] - truth[:, 1]).mean()
        ranks.append([below[:, 0].mean(), mean.mean()])
    for of_one in np.transpose(ranks):
        assert stats.chisquare(np.histogram(of_one, bins=10, range=(0, 1 + 1e-9))[0]).pvalue > 0.0005

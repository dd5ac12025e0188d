"""Checks of the Plackett–Luce assumption: what they compute, what they find, and how often they cry wolf.

Noise is repeated over time as real trajectories repeat it, by a Gaussian copula, unless a test says otherwise.
"""

import numpy as np
import pytest
from scipy import stats

from polarbear.inference import (
    IndependentDirichlet,
    Posterior,
    RandomWalk,
    check,
    fit,
    overconfidence,
    overconfidence_of,
)
from polarbear.inference.checking import verdicts
from polarbear.inference.checking.evidence import Evidence
from polarbear.inference.checking.outcomes import (
    Outcomes,
    Repetition,
    Replicator,
    first_places,
    irrelevant_alternatives,
    noise_shape,
    persistent,
    rank_correlations,
    win_rates,
)
from polarbear.rankings import Rankings, choice_counts

NAMES = tuple("ABCDEFGH")


def normal_noise(instances, timepoints, algorithms, rng, *, repeated=0.9):
    """Standard normal, with correlation `repeated` from one timepoint to the next."""
    noise = rng.normal(size=(instances, timepoints, algorithms))
    for t in range(1, timepoints):
        noise[:, t] = repeated * noise[:, t - 1] + np.sqrt(1 - repeated**2) * noise[:, t]
    return noise


def gumbel(noise):
    """Standard normal noise turned into standard Gumbel noise."""
    return -np.log(-np.log(np.clip(stats.norm.cdf(noise), 1e-300, 1 - 1e-16)))


def utilities(instances, timepoints, algorithms, rng, *, repeated=0.9, spread=1.0):
    """Log-ratings that move slowly, and normal noise."""
    start = spread * rng.normal(size=algorithms)
    mu = start + 0.2 * spread * rng.normal(size=(timepoints, algorithms)).cumsum(axis=0)
    return mu, normal_noise(instances, timepoints, algorithms, rng, repeated=repeated)


def checked(values, *, seed=0, model=None, replicates=200):
    rng = np.random.default_rng([seed, 1])
    names = NAMES[: values.shape[2]]
    posterior = fit(choice_counts(values), names=names, model=model, draws=500, rng=rng)
    return {one.name: one for one in check(posterior, values, rng=rng, replicates=replicates)}


def values_of(mu, noise, ties, rng):
    """Values of log-ratings (T, n) and noise (P, T, n), with ties of many kinds on instances of all difficulties."""
    values = -(mu + noise)
    hard, passed = rng.normal(size=(len(values), 1, 1)), np.linspace(0, 1, len(mu))[:, np.newaxis]
    if ties == "target reached":
        return np.maximum(values, -2.5 + 3 * passed + hard)
    if ties == "nothing found yet":
        return np.minimum(values, -1 + 4 * passed + hard)
    if ties == "both":
        return np.clip(values, -3.5 + 3.5 * passed + hard, -0.8 + 4 * passed + hard)
    if ties == "rounded":
        return np.ceil(np.exp(values) / (0.25 * np.exp(hard / 2)))
    return values


TIES = ("none", "target reached", "nothing found yet", "both", "rounded")


def tied(values):
    """Share of all comparisons that are ties."""
    first, second = np.triu_indices(values.shape[2], k=1)
    return (values[..., first] == values[..., second]).mean()


def false_alarms(trials, *, replicates, offset=0):
    """p-values (trials, 5) of all checks but the last, under Plackett–Luce rankings: partial, tied, and repeated."""
    found = []
    for trial in range(trials):
        rng = np.random.default_rng([77, offset + trial])
        mu, noise = utilities(24, 5, 4, rng, repeated=(0.0, 0.9, 0.99)[trial % 3])
        values = values_of(mu, gumbel(noise), TIES[trial % 5], rng)
        if trial % 2:
            values[12:, :, 3] = np.nan
            values[6:, 3:, 0] = np.nan
        checks = checked(values, seed=trial, replicates=replicates).values()
        found.append([np.nan if one.p_value is None else one.p_value for one in checks][:5])
    return np.array(found)


@pytest.mark.statistical
def test_false_alarms_are_as_rare_as_stated():
    """30 data sets, some 130 checks; a binomial bound that holds with probability 0.999 if p-values are right."""
    p_values = false_alarms(30, replicates=100)
    known = p_values[~np.isnan(p_values)]
    for level in (0.02, 0.1, 0.3):
        assert np.count_nonzero(known <= level) <= stats.binom.ppf(0.999, known.size, level)


@pytest.mark.statistical
@pytest.mark.slow
def test_false_alarms_are_as_rare_as_stated_at_length():
    """400 data sets, each check by itself; each bound holds with probability 0.9999 if p-values are right."""
    p_values = false_alarms(400, replicates=200, offset=1000)
    for one in p_values.T:
        known = one[~np.isnan(one)]
        assert known.size >= 150
        for level in (0.01, 0.05, 0.2):
            assert np.count_nonzero(known <= level) <= stats.binom.ppf(0.9999, known.size, level)


@pytest.mark.statistical
@pytest.mark.parametrize("ties", TIES[1:])
def test_algorithms_that_share_luck_are_found_among_ties(ties):
    rng = np.random.default_rng([20, TIES.index(ties)])
    mu, noise = utilities(150, 5, 5, rng, spread=0.5)
    common = normal_noise(150, 5, 1, rng)[..., 0]
    for algorithm in (1, 3):
        noise[..., algorithm] = np.sqrt(0.85) * common + np.sqrt(0.15) * noise[..., algorithm]
    values = values_of(mu, gumbel(noise), ties, rng)
    assert 0.1 < tied(values) < 0.6
    found = checked(values)["uncorrelated algorithms"]
    assert found.passed is False
    assert found.named[0] == ("B", "D")
    assert "Ties at the winner's rank hide" in found.verdict


@pytest.mark.statistical
@pytest.mark.parametrize("ties", TIES)
def test_who_is_first_more_often_than_its_rating_says_is_named(ties):
    """E is by far the best on a third of the instances, and the worst on the others."""
    rng = np.random.default_rng([21, TIES.index(ties)])
    mu, noise = utilities(150, 5, 5, rng, spread=0.3)
    noise = gumbel(noise)
    noise[..., 4] += np.where(rng.random((150, 1)) < 1 / 3, 4.0, -4.0)
    values = values_of(mu, noise, ties, rng)
    found = checked(values)["first places"]
    assert found.passed is False
    assert found.named[0] == ("E",)
    assert found.observed > found.expected[1]
    assert "E was first on" in found.verdict
    assert "a rating is not the probability of being the best" in found.verdict


def test_correlated_algorithms_are_found_and_named():
    rng = np.random.default_rng(1)
    mu, noise = utilities(100, 6, 6, rng)
    common = normal_noise(100, 6, 1, rng)[..., 0]
    for algorithm in (1, 4):
        noise[..., algorithm] = np.sqrt(0.7) * common + np.sqrt(0.3) * noise[..., algorithm]
    found = checked(-(mu + gumbel(noise)))["uncorrelated algorithms"]
    assert found.passed is False
    assert found.named[0] == ("B", "E")
    assert found.observed > found.expected[1]
    assert "B and E are correlated across instances" in found.verdict
    assert "worth less than the sum" in found.verdict


def test_algorithms_that_complement_each_other_are_found():
    rng = np.random.default_rng(2)
    mu, noise = utilities(100, 6, 6, rng, spread=0.5)
    noise[..., 3] = -0.95 * noise[..., 0] + np.sqrt(1 - 0.95**2) * noise[..., 3]
    found = checked(-(mu + gumbel(noise)))["uncorrelated algorithms"]
    assert found.named[0] == ("A", "D")
    assert "A and D complement each other" in found.verdict


@pytest.mark.parametrize(
    ("shape", "instances", "algorithms", "words"),
    [
        (lambda z: -gumbel(-z), 50, 5, "its mirror image"),
        (lambda z: z * np.pi / np.sqrt(6), 200, 8, "rather symmetric, like normal noise"),
    ],
    ids=["mirrored Gumbel", "normal"],
)
def test_other_noise_is_found(shape, instances, algorithms, words):
    rng = np.random.default_rng(3)
    mu, noise = utilities(instances, 6, algorithms, rng, spread=1.5)
    found = checked(-(mu + shape(noise)))["Gumbel noise"]
    assert found.passed is False
    assert words in found.verdict
    assert found.observed > found.expected[1]


def test_noise_more_one_sided_than_gumbel_is_found():
    rng = np.random.default_rng(4)
    mu, noise = utilities(200, 6, 6, rng, spread=1.5)
    found = checked(-(mu + np.exp(gumbel(noise)) / 3))["Gumbel noise"]
    assert found.observed < found.expected[0]
    assert "even more one-sided" in found.verdict


def test_pairs_that_no_rating_describes_are_found():
    """Stone, scissors, paper: each beats the next on two instances of three."""
    cycle = np.array([[0.0, 1, 2], [2, 0, 1], [1, 2, 0]])
    values = np.repeat(np.tile(cycle, (80, 1))[:, np.newaxis], 2, axis=1)
    found = checked(values)["win rates"]
    assert found.passed is False
    assert set(found.named) == {("A", "B"), ("A", "C"), ("B", "C")}
    assert "A won 67% of its comparisons with B" in found.verdict


def test_an_algorithm_that_crashes_where_another_is_good_is_found():
    rng = np.random.default_rng(6)
    mu, noise = utilities(120, 4, 4, rng, spread=0.3)
    hard = rng.random(120) < 0.4
    noise[hard, :, 0] += 2.0
    values = -(mu + gumbel(noise))
    values[hard, 1:, 3] = np.nan
    found = checked(values)["irrelevant alternatives"]
    assert found.passed is False
    assert {("A", "B", "D"), ("A", "C", "D")} & set(found.named)
    assert "A beats B less often where D ran than where it did not" in found.verdict
    assert "crashes" in found.verdict


@pytest.mark.statistical
def test_repeated_rankings_are_found_and_measured():
    """Eight timepoints, all copies: they tell as much as one; who counts all is as sure as of eight times as much."""
    rng = np.random.default_rng(7)
    values = np.repeat(-(rng.normal(size=4) + rng.gumbel(size=(60, 1, 4))), 8, axis=1)
    once = fit(choice_counts(values[:, :1], weights=np.full(60, 8.0)), names=NAMES[:4], rng=rng)
    diagnostics = fit(choice_counts(values), draws=100, rng=rng).diagnostics
    posterior = Posterior(np.repeat(once.draws, 8, axis=1), np.arange(8.0), NAMES[:4], True, diagnostics)
    assert overconfidence(posterior, values) == pytest.approx(8.0, rel=0.15)
    found = check(posterior, values, rng=rng, replicates=100)[-1]
    assert (found.passed, found.name) == (False, "independent timepoints")
    assert found.observed == pytest.approx(1.0)
    assert "8 timepoints of an instance carry as much information as 1.0 independent ones" in found.verdict
    assert "as narrow as if" in found.verdict
    assert "those about several are overconfident" in checked(values)["independent timepoints"].verdict


@pytest.mark.statistical
def test_independent_timepoints_pass():
    rng = np.random.default_rng(8)
    mu, noise = utilities(40, 6, 4, rng, repeated=0.0)
    values = -(mu + gumbel(noise))
    assert checked(values)["independent timepoints"].passed
    assert Repetition.over(Outcomes.of(Rankings.of(values))).factor == pytest.approx(1.0, abs=0.15)


@pytest.mark.statistical
def test_overconfidence_is_about_one_where_the_model_is_right_and_the_prior_says_little():
    """Two algorithms, 400 instances: the spread of the moves is known to 5 %."""
    rng = np.random.default_rng(9)
    values = -(np.array([0.0, 0.4]) + rng.gumbel(size=(400, 3, 2)))
    posterior = fit(choice_counts(values), rng=rng)
    assert overconfidence(posterior, values) == pytest.approx(1.0, abs=0.15)


@pytest.mark.statistical
def test_overconfidence_in_a_mean_over_time_is_that_of_the_spread_over_new_instances():
    """Two algorithms whose order is the same at all timepoints; ten copies of each instance in a group are one."""
    rng = np.random.default_rng(12)
    values = np.repeat(-(np.array([0.0, 0.4]) + rng.gumbel(size=(300, 1, 2))), 8, axis=1)
    posterior = fit(choice_counts(values), rng=rng)
    assert overconfidence_of(posterior, posterior.draws.mean(axis=1)) == pytest.approx(8, rel=0.3)
    copies = np.tile(values, (10, 1, 1))
    counts = choice_counts(copies, groups=np.tile(np.arange(300), 10))
    grouped = fit(counts, model=IndependentDirichlet(), rng=rng)
    assert overconfidence_of(grouped, grouped.draws.mean(axis=1)) == pytest.approx(80, rel=0.3)
    with pytest.raises(ValueError, match=r"quantities has shape \(3, 2\); it must be \(4000, k\)"):
        overconfidence_of(posterior, np.ones((3, 2)))
    with pytest.raises(ValueError, match="the rankings have 1 group of instances"):
        overconfidence_of(fit(choice_counts(values[:1]), rng=rng), posterior.draws.mean(axis=1))


@pytest.mark.statistical
@pytest.mark.slow
def test_overconfidence_is_that_of_the_posterior_means_over_new_instances():
    """A random walk on repeated rankings: its posterior variance against that of posterior means over 150 data sets.

    The infinitesimal jackknife is itself a little too large with 60 instances: within 35 %.
    """
    mu = np.linspace(-0.8, 0.8, 4) * np.linspace(1, -0.3, 15)[:, np.newaxis]
    means, variances, said = [], [], []
    for seed in range(150):
        rng = np.random.default_rng([10, seed])
        values = -(mu + gumbel(normal_noise(60, 15, 4, rng, repeated=0.95)))
        posterior = fit(choice_counts(values), model=RandomWalk(repeated="as published"), draws=1000, rng=rng)
        log_theta = np.log(posterior.draws[:, ::3])
        log_theta -= log_theta.mean(axis=2, keepdims=True)
        means.append(log_theta.mean(axis=0))
        variances.append(log_theta.var(axis=0))
        said.append(overconfidence(posterior, values))
    truth = np.median(np.var(means, axis=0) / np.mean(variances, axis=0))
    assert truth > 1.5
    assert np.mean(said) == pytest.approx(truth, rel=0.35)


def whole(values):
    outcomes = Outcomes.of(Rankings.of(values))
    return outcomes, outcomes.observed()


def test_rank_correlations_are_those_of_ranks():
    values = np.random.default_rng(11).normal(size=(30, 1, 5))
    outcomes, won = whole(values)
    expected = np.corrcoef(stats.rankdata(values[:, 0], axis=1).T)[outcomes.first, outcomes.second]
    found = rank_correlations(outcomes, np.full((1, 10), 0.5))(won)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(rank_correlations(outcomes, np.random.default_rng(0).random((1, 10)))(won), expected)


def test_noise_shape_is_one_step_from_gumbel_noise():
    """β from numerical derivatives of the log-likelihood of all choices, with a scale at each timepoint."""
    rng = np.random.default_rng(12)
    values = rng.normal(size=(20, 3, 5))
    values[5:9, 1:, 2] = np.nan
    values[9, 0, 1:4] = np.nan
    values[10:15, 1, :2] = -5.0
    outcomes, won = whole(values)
    theta = rng.dirichlet(np.ones(5), size=3)

    def log_likelihood(point):
        """Of β and scales; choices at shared places, and those who were chosen there, do not count."""
        total = 0.0
        for p, t in np.ndindex(20, 3):
            row, before = values[p, t], 0.0
            for i in np.argsort(row)[: np.count_nonzero(~np.isnan(row))]:
                if np.count_nonzero(row == row[i]) == 1:
                    odds = theta[t] ** (1 + point[1 + t]) * (1 + theta[t] * before) ** -point[0]
                    total += np.log(odds[i] / odds[row >= row[i]].sum())
                    before += 1 / theta[t, i]
        return total

    h, steps = 1e-3, 1e-3 * np.eye(4)
    first = np.array([log_likelihood(e) - log_likelihood(-e) for e in steps]) / (2 * h)
    second = np.array(
        [[sum(x * y * log_likelihood(x * a + y * b) for x in (-1, 1) for y in (-1, 1)) for a in steps] for b in steps]
    ) / (4 * h * h)
    shift = second[0, 1:] @ np.linalg.inv(second[1:, 1:])
    expected = -(first[0] - shift @ first[1:]) / (second[0, 0] - shift @ second[1:, 0])
    assert noise_shape(outcomes, np.log(theta), np.ones(3, bool))(won)[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.statistical
@pytest.mark.parametrize("spread", [0.7, 1.5])
def test_noise_has_the_shape_that_is_stated(spread):
    """20,000 rankings of five: known to 0.07 or better; what is stated of other noise is rough."""
    rng = np.random.default_rng(22)
    mu = spread * np.array([-1.4, -0.3, 0.0, 0.4, 1.3])
    noise = gumbel(rng.normal(size=(20000, 1, 5)))
    shapes = []
    for drawn in (noise, rng.normal(scale=np.pi / np.sqrt(6), size=noise.shape), -noise):
        outcomes, won = whole(-(mu + drawn))
        log_theta = np.log(fit(outcomes.choices(), draws=1, rng=rng).draws[0])
        shapes.append(noise_shape(outcomes, log_theta, np.ones(1, bool))(won)[0])
    np.testing.assert_allclose(shapes, [0.0, 0.8, 1.5], atol=0.35)


def test_first_places_by_hand():
    values = np.array([[[1.0, 2.0, 3.0]]] * 3 + [[[2.0, 1.0, 3.0]]] + [[[1.0, 1.0, 3.0]]] * 4 + [[[1.0, 2.0, np.nan]]])
    outcomes, won = whole(values)
    first, ratings, instances = first_places(outcomes, np.log([[0.5, 0.3, 0.2]]))
    np.testing.assert_allclose(ratings, [[0.5, 0.3, 0.2]])
    np.testing.assert_allclose(first(won), [0.75 - 0.5, 0.25 - 0.3, -0.2])
    assert instances.tolist() == [4]


def test_win_rates_and_company_by_hand():
    """A comparison counts if its winner is alone: not the last four of A and B, but both of them against C."""
    apart, tied_best = [[[1.0, 2.0, 3.0]]] * 6 + [[[2.0, 1.0, np.nan]]] * 5, [[[1.0, 1.0, np.nan]]] * 2
    values = np.array(apart + tied_best + [[[1.0, 1.0, 3.0]]] * 2 + [[[2.0, 2.0, 1.0]]] * 3)
    outcomes, won = whole(values)
    half = np.full((1, 3), 0.5)
    statistic, rates = win_rates(outcomes, half)
    np.testing.assert_allclose(statistic(won), [6 / 11 - 0.5, 6 / 9 - 0.5, 6 / 9 - 0.5])
    np.testing.assert_allclose(rates, 0.5)
    assert outcomes.hidden_share() == pytest.approx((2 + 2 * 3 + 3) / (6 * 3 + 5 + 2 + 2 * 3 + 3 * 3))
    found = irrelevant_alternatives(outcomes, half)(won).reshape(3, 3)
    assert found[0, 2] == pytest.approx(1.0)
    assert np.isnan(np.delete(found.ravel(), 2)).all()


@pytest.mark.statistical
def test_replicates_follow_the_ratings_and_keep_who_ran_and_who_tied():
    rng = np.random.default_rng(13)
    values = rng.integers(0, 4, size=(500, 2, 4)).astype(float)
    values[:200, 1, 2] = np.nan
    values[300:, 0] = rng.random((200, 4))
    outcomes, won = whole(values)
    log_theta = np.log(rng.dirichlet(np.full(4, 3.0), size=2))
    replicator = Replicator.of(outcomes)
    drawn = np.array([replicator.won(log_theta, rng) for _ in range(50)])
    counted = [np.count_nonzero(one, axis=2) for one in (won, *drawn)]
    assert all((one == counted[0]).all() for one in counted[1:])
    assert not drawn[:, ~outcomes.compared].any()
    rates = (1 + drawn[:, 0, 300:].mean(axis=(0, 1))) / 2
    expected = 1 / (1 + np.exp(log_theta[0, outcomes.second] - log_theta[0, outcomes.first]))
    np.testing.assert_allclose(rates, expected, atol=4 * 0.5 / np.sqrt(50 * 200))


@pytest.mark.statistical
def test_persistence_is_found():
    rng = np.random.default_rng(14)
    mu = 0.5 * rng.normal(size=(6, 4))
    outcomes = Outcomes.of(Rankings.of(rng.normal(size=(800, 6, 4))))
    for persistence in (0.0, 0.6, 0.95):
        values = mu[:, np.newaxis] + rng.gumbel(size=(6, 800, 4))
        for t in range(1, 6):
            kept = rng.random((800, 4)) < persistence
            values[t][kept] = (values[t - 1] + mu[t] - mu[t - 1])[kept]
        outcomes = Outcomes.of(Rankings.of(-values.transpose(1, 0, 2)))
        assert persistent(outcomes, mu, rng).persistence == pytest.approx(persistence, abs=0.04)


def test_evidence_by_hand():
    drawn = np.stack([np.arange(-99.0, 100.0), np.full(199, 3.0), np.full(199, np.nan)], axis=1)
    found = Evidence.of(np.array([98.5, 5.0, np.nan]), drawn)
    assert found.p_value == (1 + 3) / 200
    assert not np.isnan(found.z).any()
    assert found.z[0] == pytest.approx(2 * (98.5 - 0.5) / (found.high[0] - 0.5))
    assert found.passed
    assert Evidence.of(np.array([99.5, 0, 0]), drawn).remarkable.tolist() == [0]
    assert Evidence.of(np.array([-101.0, 0, 0]), drawn).p_value == 1 / 200
    assert Evidence.of(np.array([0.0, 0, 0]), drawn).passed
    assert not Evidence.of(np.array([1.0]), np.ones((100, 1))).possible
    assert Evidence.of(np.array([50.0, np.nan]), drawn[:, [0, 0]]).z[1] == 0


@pytest.mark.statistical
def test_the_noise_of_rounded_values_is_passed_over():
    """At the second timepoint all values are rounded, so that ties in the middle of the rankings are frequent."""
    rng = np.random.default_rng(19)
    values = -(np.linspace(-1, 1, 6) + rng.gumbel(size=(300, 3, 6)))
    values[:, 1] = np.round(values[:, 1])
    share = Outcomes.of(Rankings.of(values)).tied_inside()
    by_hand = [len(set(row[(row > row.min()) & (row < row.max())])) for row in values[:, 1]]
    assert share[1] > 0.05
    assert share[[0, 2]].tolist() == [0, 0]
    assert (share[1] > 0) == (min(by_hand) < 4)
    found = checked(values)
    assert found["Gumbel noise"].passed
    assert "Used 2 of 3 timepoints. Skipped 1 timepoint where ties in the middle" in found["Gumbel noise"].verdict
    assert "Used" not in found["win rates"].verdict
    found = checked(values[:, [1, 1]])
    assert found["Gumbel noise"].passed is None
    assert "Skipped 2 timepoints where ties in the middle" in found["Gumbel noise"].verdict
    assert [one.passed is None for one in found.values()] == [False, False, True, True, False, False]


def test_verdicts_say_how_many_timepoints_were_looked_at():
    values = np.repeat(np.random.default_rng(23).normal(size=(10, 1, 3)), 40, axis=1)
    assert all("Used 16 of 40 timepoints." in one.verdict for one in list(checked(values).values())[:5])


def test_what_cannot_be_checked_says_so():
    rng = np.random.default_rng(15)
    two = checked(rng.random((20, 1, 2)))
    assert [one.passed for one in two.values()] == [True, None, None, None, None, None]
    assert "three algorithms" in two["Gumbel noise"].verdict
    assert "several timepoints" in two["independent timepoints"].verdict
    assert two["Gumbel noise"].as_dict()["p_value"] is None
    one_winner = checked(np.tile([1.0, 2.0, 3.0], (12, 3, 1)))
    assert all(one.passed is not False for one in one_winner.values())
    all_tied = checked(np.zeros((12, 3, 3)))
    assert all(one.passed is None for one in all_tied.values())
    assert "Ties at the winner's rank hide 100% of the comparisons" in all_tied["win rates"].verdict
    nothing = checked(np.full((3, 2, 3), np.nan))
    assert all(one.verdict == "Not checked: there are no rankings." for one in nothing.values())
    assert all(one.passed is not False for one in checked(rng.random((1, 2, 3))).values())


def test_the_same_generator_gives_the_same_checks():
    values = np.random.default_rng(16).normal(size=(15, 3, 4))
    assert checked(values, seed=4, replicates=100) == checked(values, seed=4, replicates=100)


def test_long_lists_are_cut():
    drawn = np.random.default_rng(17).normal(size=(200, 5))
    pairs = [("A", letter) for letter in "BCDEF"]
    found = verdicts.win_rates(Evidence.of(np.full(5, 9.0), drawn), pairs, np.full(5, 0.5))
    assert found.verdict.count("won") == 3
    assert "; and 2 more." in found.verdict
    assert len(found.named) == 5


def test_bad_input_is_named():
    values = np.random.default_rng(18).normal(size=(6, 2, 3))
    posterior = fit(choice_counts(values), model=IndependentDirichlet(), draws=50, rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="replicates is 99"):
        check(posterior, values, rng=np.random.default_rng(1), replicates=99)
    with pytest.raises(ValueError, match="the values it was fitted to"):
        check(posterior, values[:, :, :2], rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="at least 2 are needed"):
        overconfidence(posterior, values[:1])

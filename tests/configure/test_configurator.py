"""The search for configurations: what it asks for, finds and promises, where the truth is known."""

import itertools
import re
import zlib

import numpy as np
import pytest
from scipy import stats

import polarbear as pb
from polarbear.configure import Configurator, Criterion, bootstrap_means, contests, spaces
from polarbear.configure.proposals import near
from polarbear.configure.recommendation import Safety, recommend, safety_of_means
from polarbear.descriptions import FieldError
from polarbear.study.configuration_result import recommended_of

TIMES = np.array([10.0, 100.0, 1000.0])
ALL = ("race", "bootstrap", "f-race", "t-race", "halving", "hyperband", "random")
SPACE = {"modules": ["mirrored", "active"], "c1": (0, 1), "population_size": (4, 40)}
MIDDLE = {"c1": 0.5, "population_size": 22}


def space():
    return spaces.of(pb.optimizers.ModularCMAES, **SPACE)


def loss(configuration):
    """How bad a configuration really is: 0 at best; the default of the space has 2."""
    bad = (configuration["mirrored"] != "MIRRORED") + (not configuration["active"])
    return bad + abs(configuration.get("c1", 1) - 0.5) / 2


def excess(configuration):
    """How bad a configuration is where none is better than the default, which has 0; a module more costs 0.4."""
    modules = (configuration["mirrored"] != "NONE") + configuration["active"]
    return 0.4 * modules + 0.6 * abs(configuration.get("c1", 0.5) - 0.5)


def run_of(request, configuration, bad=loss):
    """A run whose values fall by a decade per decade, with a luck of its own and an instance as hard for all."""
    name = zlib.crc32(request.key.algorithm.encode())
    instance, own = (np.random.default_rng([request.key.seed, each]) for each in (0, name))
    level = bad(configuration) + instance.normal() + 0.5 * own.normal()
    values = 10.0 ** (level - np.log10(TIMES))
    outcome = pb.Outcome(pb.Reason.BUDGET, int(TIMES[-1]), 0.5)
    return pb.Run(request.key, pb.Trajectory(TIMES.astype(int), np.zeros(3), values, outcome), optimum=0.0)


def searched(limit=10**6, bad=loss, **options):
    """A configurator that was told runs until its budget was spent, and all requests."""
    configurator, asked = Configurator(space(), **{"budget": 300, "times": TIMES} | options), []
    while (requests := configurator.ask()) and len(asked) < limit:
        asked += requests
        configurator.tell(run_of(each, configurator.configurations[each.key.algorithm], bad) for each in requests)
    return configurator, asked


@pytest.mark.parametrize("strategy", ALL)
def test_no_strategy_asks_twice_or_spends_more_than_its_budget(strategy):
    configurator, asked = searched(strategy=strategy)
    assert len({(each.key.algorithm, each.key.seed) for each in asked}) == len(asked) == configurator.spent
    assert 200 < configurator.spent <= 300
    assert configurator.finished
    assert configurator.ask() == []
    assert all(not space().fault(each) for each in configurator.configurations.values())


@pytest.mark.statistical
@pytest.mark.parametrize("strategy", ALL)
def test_what_is_left_is_better_than_the_default(strategy):
    """The default's loss is 2 and that of a random configuration 1.2 ± 0.7; the best of a dozen is below 0.6."""
    found = [searched(strategy=strategy, seed=seed)[0] for seed in range(5)]
    best = [loss(each.configurations[each.elites[0]]) for each in found]
    assert loss(space().default) >= 2 > 1 > np.median(best)


def raced_on_fresh(found, bad):
    """What is recommended after a race on at most 50 fresh instances, as `polarbear.study.configure` holds it."""
    rules, runs = {"alpha": found.settings.alpha, "epsilon": found.settings.epsilon}, []
    names = list(dict.fromkeys([*found.elites, "default"]))
    if len(names) < 2:
        return "default"
    race = pb.Race(names, times=TIMES, seed=found.settings.seed + 1, **rules)
    while requests := [each for each in race.ask(50) if each.draw < 50]:
        made = [run_of(each, found.configurations[each.key.algorithm], bad) for each in requests]
        race.tell(made)
        runs += made
    return recommended_of(found, race.posterior, runs)


def test_the_bootstrap_looks_whenever_the_instances_have_doubled():
    search, looks = Configurator(space(), budget=300, times=TIMES, strategy="bootstrap"), set()
    while (requests := search.ask()) and not search.iterations:
        looks.add(max(each.draw for each in requests) + 1)
        search.tell(run_of(each, search.configurations[each.key.algorithm]) for each in requests)
    assert {5, 10} <= looks <= {5, 10, 20, 40, 80}


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("strategy", ["race", "bootstrap"])
def test_what_is_recommended_is_not_worse_than_the_default_beyond_epsilon(strategy):
    """Where none is better than the default; at a level of 0.01 no more are than 1 - α of the searches.

    Worse beyond ε is who wins against it with a probability below 0.5 - ε; both have a luck of 0.5.
    """
    searches, worse = 60, {"by the search": 0, "by fresh runs": 0}
    for seed in map(int, np.random.default_rng(11).integers(2**31, size=searches)):
        found, _ = searched(bad=excess, strategy=strategy, seed=seed)
        taken = {"by the search": found.recommended, "by fresh runs": raced_on_fresh(found, excess)}
        for by, name in taken.items():
            wins = stats.norm.cdf(-excess(found.configurations[name]) / (0.5 * np.sqrt(2)))
            worse[by] += bool(wins < 0.5 - found.settings.epsilon)
    for count in worse.values():
        assert stats.binom.sf(count - 1, searches, 1 - found.settings.alpha) > 0.01, worse


@pytest.mark.statistical
@pytest.mark.parametrize("strategy", ["race", "bootstrap"])
def test_what_is_clearly_better_than_the_default_is_recommended(strategy):
    """The best elites have losses below 0.6, the default has 2."""
    found, _ = searched(strategy=strategy, seed=3)
    name = raced_on_fresh(found, loss)
    assert name != "default"
    assert loss(found.configurations[name]) < 1


def test_a_choice_among_many_needs_more_certainty():
    safeties = {"a": Safety(0.1, 0.97), "b": Safety(0.2, 0.96)}
    assert recommend(safeties, "default", alpha=0.95, tried=1) == "b"
    assert recommend(safeties, "default", alpha=0.95, tried=2) == "default"  # needs 0.975
    assert recommend({}, "default", alpha=0.95, tried=0) == "default"


def test_who_has_no_run_with_a_value_is_not_safe():
    rng = np.random.default_rng(0)
    lost = np.array([[[np.inf, 1.0], [1.0 + each, 1.0]] for each in range(30)])
    assert safety_of_means(lost, 0.05, rng).probability == 0
    assert safety_of_means(lost[:, ::-1], 0.05, rng).probability == 1
    assert safety_of_means(np.full((30, 2, 2), np.inf), 0.05, rng).probability == 0


@pytest.mark.statistical
def test_modelled_newcomers_are_new_and_ever_better():
    configurator, _ = searched(newcomers="modelled")
    seen = [set(each.entrants) - set(before.elites) for before, each in itertools.pairwise(configurator.iterations)]
    assert not set.intersection(*seen[:2])
    losses = [np.mean([loss(configurator.configurations[name]) for name in new]) for new in seen]
    assert losses[-1] < 0.8 < loss(space().default)


def test_the_search_repeats_with_its_seed():
    first, again, other = (searched(seed=seed) for seed in (1, 1, 2))
    assert first[1] == again[1] != other[1]
    assert first[0].iterations == again[0].iterations


@pytest.mark.parametrize(("unit", "each"), [("evaluations", 1000), ("seconds", 0.5)])
def test_budgets_are_counted_in_their_unit(unit, each):
    configurator, asked = searched(unit=unit, budget=200 * each)
    assert configurator.spent == len(asked) * each <= 200 * each
    assert len(asked) > 120


def test_elites_compete_on_the_instances_they_know_at_no_cost():
    configurator, _ = searched()
    for before, after in zip(configurator.iterations, configurator.iterations[1:], strict=False):
        assert set(before.elites) <= set(after.entrants)
        assert after.runs - before.runs < len(after.entrants) * after.instances


def test_the_posterior_rates_elites_by_all_their_runs():
    configurator, _ = searched()
    posterior = configurator.posterior()
    assert set(posterior.names) == {*configurator.elites, "default"}
    better = posterior.win_probability(configurator.elites[0], "default")
    assert (better.mean(axis=0) > 0.6).all()


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("more", [0, 1, 11])
def test_a_budget_suffices_for_a_first_iteration_or_is_refused(strategy, more):
    """Budgets for which newcomers have no room let those compete that are there."""
    options = {"include": space().sample(np.random.default_rng(1), more), "strategy": strategy, "times": TIMES}
    with pytest.raises(FieldError, match=r"a budget of 5 runs is too small: .* needs at least \d+") as refused:
        Configurator(space(), budget=5, **options)
    least = int(re.search(r"at least (\d+)", str(refused.value))[1])
    with pytest.raises(FieldError, match="too small"):
        Configurator(space(), budget=least - 1, **options)
    for budget in (least, 2 * least, 3 * least):
        configurator, asked = searched(budget=budget, **options)
        assert configurator.iterations
        assert budget / 4 <= len(asked) <= budget
    with pytest.raises(FieldError, match="a budget of 5,000 evaluations is too small"):
        Configurator(space(), budget=5000, unit="evaluations", **options)


def test_the_default_alone_has_someone_to_compete_with():
    """A newcomer of two options is the default half of the time."""
    switch = spaces.of(pb.optimizers.ModularCMAES, ["active"])
    for seed in range(8):
        configurator = Configurator(switch, times=TIMES, budget=40, seed=seed)
        assert len({each.key.algorithm for each in configurator.ask()}) == 2
    single = spaces.of(pb.optimizers.ModularCMAES, {"active": [False]})
    with pytest.raises(ValueError, match="has only one configuration"):
        Configurator(single, times=TIMES, budget=40).ask()


def test_faults_are_named():
    with pytest.raises(FieldError, match="strategy"):
        Configurator(space(), times=TIMES, budget=100, strategy="smac3")
    with pytest.raises(FieldError, match="strategy 'random' plans all its runs in advance"):
        Configurator(space(), times=TIMES, budget=100, strategy="random", unit="seconds")
    with pytest.raises(ValueError, match="no parameter 'c3'"):
        Configurator(space(), times=TIMES, budget=100, include=[{"c3": 1}])
    configurator = Configurator(space(), times=TIMES, budget=100)
    run = run_of(configurator.ask()[0], space().default)
    configurator.tell([run])
    with pytest.raises(ValueError, match="was not requested"):
        configurator.tell([run])


def test_children_of_the_default_have_all_parameters():
    default = space().default
    assert set(default) == {"mirrored", "active"}
    children = near(space(), [default], np.random.default_rng(1), 20, spread=0)
    assert all(each.keys() == set(space().names) and each.items() >= default.items() for each in children)
    assert len({each["population_size"] for each in children}) > 5


def test_a_study_may_have_another_default():
    configurator = Configurator(space(), times=TIMES, budget=100, include=[{**space().default, **MIDDLE}])
    assert configurator.configurations["default"] == space().default
    (included,) = set(configurator.configurations) - {"default"}
    configurator.begin_with({**space().default, **MIDDLE})
    assert configurator.elites == ("default",)  # the one to include is the same
    configurator.begin_with(None)
    assert configurator.elites == (included,)


def test_children_near_an_elite_resemble_it():
    rng = np.random.default_rng(1)
    elite = {"mirrored": "MIRRORED", "active": True, "c1": 0.25, "population_size": 10}
    assert near(space(), [elite], rng, 5, spread=0) == [elite] * 5
    close, far = (near(space(), [elite], rng, 100, spread=spread) for spread in (0.1, 0.9))
    assert np.mean([each["active"] for each in close]) > 0.85 > np.mean([each["active"] for each in far])
    assert np.std([each["c1"] for each in close]) < 0.1 < np.std([each["c1"] for each in far])


def test_the_area_of_a_run_by_hand():
    outcome = pb.Outcome(pb.Reason.BUDGET, 9, 0.0)
    trajectory = pb.Trajectory(np.array([1, 6]), np.zeros(2), np.array([102.0, 2.001]), outcome)
    run = pb.Run(pb.RunKey("i", "a", 1), trajectory, optimum=2)
    assert Criterion("mean-aocc").terms(run, 9) == pytest.approx((1 - 0.5 * 4 / 9, 1))  # 1e-3 is half way down
    assert Criterion("final").terms(run, 9) == pytest.approx((1e-3, 1))
    assert Criterion("ert", 0.01).terms(run, 9) == (6, 1)
    assert Criterion("ert", 1e-4).terms(run, 9) == (9, 0)


def test_a_run_that_was_cut_short_found_nothing_from_then_on_and_one_that_failed_keeps_what_it_had():
    def ended(reason, evaluations=5):
        improvements = [], [], []
        if reason is not pb.Reason.KILLED:
            improvements = [2], [0.0], [2.001]
        trajectory = pb.Trajectory(*map(np.array, improvements), pb.Outcome(reason, evaluations, 0.0))
        return pb.Run(pb.RunKey("i", "a", 1), trajectory, optimum=2)

    area, final, ert = Criterion(), Criterion("final"), Criterion("ert", 0.01)
    for itself in (ended(pb.Reason.FAILED), ended(pb.Reason.STOPPED), ended(pb.Reason.BUDGET, 10)):
        assert area.terms(itself, 10) == pytest.approx((1 - 0.5 * 9 / 10, 1))
        assert final.terms(itself, 10) == pytest.approx((1e-3, 1))
        assert ert.terms(itself, 10) == (2, 1)
    late = ended(pb.Reason.TIMED_OUT)
    assert area.terms(late, 10) == pytest.approx((1 - 0.5 * 4 / 10, 1))  # evaluations 2 to 5
    assert final.terms(late, 10) == (np.inf, 1)
    assert ert.terms(late, 10) == (2, 1)
    assert Criterion("ert", 1e-4).terms(late, 10) == (10, 0)
    assert final.terms(late, 5) == pytest.approx((1e-3, 1))
    lost = ended(pb.Reason.KILLED, 0)
    assert [each.terms(lost, 10) for each in (area, final, ert)] == [(1, 1), (np.inf, 1), (10, 0)]


def test_the_bootstrap_of_a_mean_has_its_known_moments():
    """Of Dirichlet(1, …, 1) weights: the sample's mean, and its variance over P + 1 (Rubin 1981)."""
    x = np.random.default_rng(0).normal(size=20)
    draws = bootstrap_means(np.stack([x, np.ones(20)], axis=-1)[:, None], np.random.default_rng(1), draws=40_000)
    assert draws.mean() == pytest.approx(x.mean(), abs=4 * x.std() / np.sqrt(21 * 40_000))
    assert draws.std() == pytest.approx(np.sqrt(x.var() / 21), rel=0.03)


def test_a_pool_adds_its_mean_with_the_weight_of_four_instances():
    """A Dirichlet process: the mean is (P x̄ + 4 m) / (P + 4) for the pool's mean m (Ferguson 1973)."""
    rng = np.random.default_rng(4)
    x, pool = rng.normal(size=6), rng.normal(3, size=50)
    draws = bootstrap_means(terms(x[:, None]), rng, 40_000, pool=terms(pool))
    assert draws.mean() == pytest.approx((6 * x.mean() + 4 * pool.mean()) / 10, abs=4 * draws.std() / 200)


def terms(losses):
    return np.stack([losses, np.ones_like(losses)], axis=-1)


def test_friedmans_test_decides_as_scipys_does():
    rng, agreed = np.random.default_rng(0), []
    for shift in np.repeat([0.0, 0.4, 0.8], 40):
        losses = np.round(rng.normal(size=(12, 4)) + shift * np.arange(4), 1)
        dropped = (contests.keep_by_friedman(terms(losses), level=0.05) < 0).any()
        significant = stats.friedmanchisquare(*losses.T).pvalue <= 0.05
        assert significant or not dropped
        agreed.append(dropped == significant)
    assert np.mean(agreed) > 0.95  # a significant test may leave no single pair far enough apart


def test_conovers_example_of_four_grasses():
    """Conover 1999, section 5.8, example 1: rank sums of 38, 23.5, 24.5 and 34, least significant difference 11.49."""
    ranks = np.array(
        [[4, 3, 2, 1], [4, 2, 3, 1], [3, 1.5, 1.5, 4], [3, 1, 2, 4], [4, 2, 1, 3], [2, 2, 2, 4], [1, 3, 2, 4],
         [2, 4, 1, 3], [3.5, 1, 2, 3.5], [4, 1, 3, 2], [4, 2, 3, 1], [3.5, 1, 2, 3.5]]
    )  # fmt: skip
    assert ranks.sum(axis=0).tolist() == [38, 23.5, 24.5, 34]
    kept = contests.keep_by_friedman(terms(ranks), level=0.05) >= 0
    assert kept.tolist() == [False, True, True, True]  # 38 - 23.5 = 14.5 > 11.49 > 34 - 23.5 = 10.5


@pytest.mark.statistical
def test_equal_configurations_leave_as_rarely_as_the_level_says():
    """F-race's first test on equals drops someone in at most 5 % of 400 cases, within binomial error."""
    rng = np.random.default_rng(3)
    dropped = [(contests.keep_by_friedman(terms(rng.normal(size=(10, 6))), level=0.05) < 0).any() for _ in range(400)]
    assert np.mean(dropped) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_halving_keeps_a_third_and_failures_lose():
    losses = np.tile(np.arange(9.0), (5, 1))
    assert (contests.keep_share(terms(losses), eta=3) >= 0).tolist() == [True] * 3 + [False] * 6
    failing = np.array([[1.0, np.inf], [1.5, 2.0], [1.0, 1.0]])
    sound, broken = contests.keep_by_t_test(terms(failing), level=0.05)
    assert broken < 0 <= sound
    rng = np.random.default_rng(0)
    assert contests.keep_credible(terms(failing), alpha=0.95, rng=rng)[1] < 0


def test_the_best_may_miss_once_without_all_others_leaving():
    """Expected running times of 273, 293 and 298 evaluations, where the first one misses once in five runs."""
    above = np.array([[100.0, 300, 310], [110, 320, 250], [90, 280, 320], [65, 275, 305], [727, 290, 305]])
    below = np.where(above > 700, 0.0, 1.0)
    for order in itertools.permutations(range(3)):
        scores = contests.keep_by_t_test(np.stack([above, below], axis=-1)[:, order], level=0.05)
        assert scores.argmax() == order.index(0)
        assert (scores > 0).all()
    often = np.tile(np.stack([above, below], axis=-1), (1, 3, 1))[:, :2]
    often[:, 1] = [1000.0, 0.0]
    assert (contests.keep_by_t_test(np.tile(often, (4, 1, 1)), level=0.05) > 0).tolist() == [True, False]
    none = np.tile([1000.0, 0.0], (5, 2, 1))
    assert (contests.keep_by_t_test(none, level=0.05) > 0).all()


def test_t_tests_are_those_of_scipy_and_pass_over_what_both_miss():
    rng = np.random.default_rng(6)
    for _ in range(50):
        losses = rng.normal(size=(8, 4)) + 0.5 * np.arange(4)
        best = losses.mean(axis=0).argmin()
        worse = [k != best and stats.ttest_rel(losses[:, k], losses[:, best]).pvalue < 0.05 for k in range(4)]
        assert (contests.keep_by_t_test(terms(losses), level=0.05) < 0).tolist() == worse
        missed = np.vstack([losses, np.full(4, np.inf)])
        assert (contests.keep_by_t_test(terms(missed), level=0.05) < 0).tolist() == worse
    apart = np.array([[1.0, 2.0], [1.1, np.inf], [np.inf, 1.9], [1.2, 3.2]])
    assert (contests.keep_by_t_test(terms(apart), level=0.05) > 0).all()  # differences of 1 and 2 are not significant
    same = np.tile([1.0, 2.0], (5, 1))
    assert (contests.keep_by_t_test(terms(same), level=0.05) > 0).tolist() == [True, False]


def test_of_two_configurations_the_order_of_their_names_decides_nothing():
    losses = np.array([[1.0, 2.0], [1.0, np.inf], [np.inf, 2.0]])
    for columns in ([0, 1], [1, 0]):
        scores = contests.keep_by_friedman(terms(losses[:, columns]), level=0.05)
        assert scores[columns].tolist() == [2, 1]
    rng = np.random.default_rng(7)
    for shift in np.repeat([0.0, 0.7, 1.4], 30):
        losses = rng.normal(size=(9, 2)) + np.array([0, shift])
        significant = stats.wilcoxon(*losses.T).pvalue < 0.05
        assert (contests.keep_by_friedman(terms(losses), level=0.05) < 0).any() == significant
    missing = np.stack([np.arange(9.0), np.full(9, np.inf)], axis=-1)
    assert (contests.keep_by_friedman(terms(missing), level=0.05) > 0).tolist() == [True, False]
    assert contests.keep_by_friedman(terms(np.full((5, 2), np.inf)), level=0.05).tolist() == [1.5, 1.5]


def test_of_those_that_found_nothing_at_times_they_are_first_who_did_so_least():
    losses = np.array([[np.inf, 1.0, 9.0], [np.inf, np.inf, np.inf], [2.0, 3.0, 4.0]])
    assert contests.keep_all(terms(losses)).tolist() == [1, 3, 2]


def test_where_losses_have_their_zero_decides_nothing():
    """The same scores 200 lower; among equals more than one stays, and after a few runs one that is far better."""
    rng = np.random.default_rng(8)
    for shift, left in ((0.0, 3), (20.0, 1)):
        losses = 200 + rng.normal(size=(8, 3)) + np.array([0.0, shift, shift])
        scores = [
            contests.keep_credible(terms(losses - lower), alpha=0.95, rng=np.random.default_rng(9)).tolist()
            for lower in (0, 200, 400)
        ]
        assert scores[0] == scores[1] == scores[2]
        assert np.sum(np.array(scores[0]) > 0) == left
    times = np.array([[[100.0, 1], [1000, 0]], [[140, 1], [900, 1]], [[120, 1], [1000, 0]]])
    kept = contests.keep_credible(np.tile(times, (3, 1, 1)), alpha=0.95, rng=np.random.default_rng(9))
    assert (kept > 0).tolist() == [True, False]

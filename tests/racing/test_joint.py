"""Joint elimination (eq. 28): whole synthetic races with models that have a joint posterior over time."""

from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

import polarbear as pb
from polarbear.analyzer import answer
from polarbear.inference import (
    Diagnostics,
    GaussianProcess,
    IndependentDirichlet,
    Posterior,
    RandomWalk,
    as_published,
    models,
)
from polarbear.racing import Race
from polarbear.simulate import Truth

TIMES = np.array([10.0, 20.0, 40.0, 80.0, 160.0])


def truth():
    """A starts best and B ends best; C is worse than A at all times, D than both."""
    log_ratings = np.stack(
        [np.linspace(1.2, 0.0, 5), np.linspace(-0.6, 1.6, 5), np.linspace(0.2, -1.4, 5), np.linspace(-2.0, -1.0, 5)],
        axis=1,
    )
    ratings = np.exp(log_ratings)
    return Truth(TIMES, ratings / ratings.sum(axis=1, keepdims=True), ("A", "B", "C", "D"))


def raced(model, *, alpha, seed):
    race = Race(
        ["A", "B", "C", "D"],
        times=TIMES,
        model=model,
        elimination="joint",
        resolution="crossing",
        alpha=alpha,
        draws=1000,
        seed=seed,
    )
    true = truth()
    while requests := race.ask(400):
        race.tell([true.run(request.key, request.until) for request in requests])
    return race


WALK, PROCESS = RandomWalk(time_scale="log"), GaussianProcess(time_scale="log")


@pytest.mark.parametrize(
    ("model", "alpha", "seed"),
    [*((WALK, 0.95, seed) for seed in range(12)), (PROCESS, 0.95, 0), (PROCESS, 0.95, 1), (PROCESS, 0.99, 3)],
)
def test_a_race_with_joint_elimination_finds_the_truth(model, alpha, seed):
    """For seeds 0, 1, 8 and 11 of the walk, and all of the process, C is clearly behind A at each time by itself first.

    All 48 races with seeds 0 to 11, both models and α = 0.95 and 0.99 found the truth; each claim may be wrong with
    probability 1 − α.
    """
    race = raced(model, alpha=alpha, seed=seed)
    assert truth().pareto_set == ("A", "B")
    assert race.finished
    assert race.pareto_set == ("A", "B")
    assert race.posterior.joint
    for this in race.rounds:
        for loser, winner in this.eliminated.items():
            assert this.dominance[loser].name == winner
            assert this.dominance[loser].probability >= alpha


class Believes:
    """A model whose posterior is what it is told: draws of log θ_a/θ_b over time, whatever the rankings."""

    name: ClassVar[str] = "believes"
    joint: ClassVar[bool] = True
    pooled: ClassVar[bool] = False
    adjusted: bool = False
    methods: ClassVar[tuple[str, ...]] = ("nlis",)

    def __init__(self, log_ratio):
        self.log_ratio = log_ratio

    def fit(self, counts, *, times, names, **sampling):
        first = 1 / (1 + np.exp(-self.log_ratio))
        unknown = np.full(times.size, np.nan)
        diagnostics = Diagnostics(("told",) * times.size, unknown + 1000.0, unknown, unknown)
        return Posterior(np.stack([first, 1 - first], axis=2), times, names, True, diagnostics)

    def describe(self):
        return {"model": self.name}


def beliefs(*shares):
    """(1000, T) log-ratios: at each timepoint another part of the draws, with the given shares, favours b."""
    ratio, place = np.ones((1000, len(shares))), 0
    for t, share in enumerate(shares):
        ratio[place : place + round(1000 * share), t] = -1.0
        place += round(1000 * share)
    return ratio


def one_round(race):
    requests = race.ask()
    true = Truth(TIMES, np.full((TIMES.size, 2), 0.5), ("a", "b"))
    race.tell([true.run(request.key, request.until) for request in requests])
    return {request.until for request in requests}


def race_of_two(model, **settings):
    settings = {"elimination": "joint", "alpha": 0.9, "epsilon": 0.05} | settings
    return Race(["a", "b"], times=TIMES, model=model, **settings)


@pytest.mark.parametrize("resolution", ["strict", "crossing"])
def test_a_pair_in_which_one_is_ahead_everywhere_waits_for_joint_dominance(resolution):
    """P(a better) is 0.95 at each of five timepoints, and 0.75 at all at once."""
    model = Believes(beliefs(*[0.05] * 5))
    race = race_of_two(model, resolution=resolution)
    for _ in range(2):
        assert one_round(race) == {160.0}
        assert not race.finished
        assert not race.state.resolved[:, 0, 1].any()
        assert race.rounds[-1].resolved_pairs == 0
    assert race.rounds[-1].dominance["b"].probability == 0.75
    model.log_ratio = beliefs(*[0.02] * 5)
    one_round(race)
    assert race.rounds[-1].dominance["b"].probability == 0.9
    assert race.finished
    assert race.pareto_set == ("a",)


def test_a_pair_that_ties_somewhere_or_crosses_does_not_wait():
    tied = beliefs(*[0.05] * 4, 0.5)
    tied[:, 4] *= 0.01
    crossed = beliefs(*[0.02] * 4, 0.9)
    for belief in (tied, crossed):
        race = race_of_two(Believes(belief))
        one_round(race)
        assert race.finished
        assert race.pareto_set == ("a", "b")


def test_under_pointwise_elimination_being_ahead_everywhere_is_enough_but_at_all_timepoints_in_one_round():
    model = Believes(beliefs(0.02, 0.02, 0.02, 0.02, 0.2))
    race = race_of_two(model, elimination="pointwise")
    assert one_round(race) == {160.0}
    model.log_ratio = beliefs(0.02, 0.2, 0.02, 0.02, 0.02)
    assert one_round(race) == {160.0}
    assert race.state.resolved[:, 0, 1].tolist() == [True, False, True, True, True]
    assert one_round(race) == {20.0}
    model.log_ratio = beliefs(*[0.05] * 5)
    one_round(race)
    assert race.pareto_set == ("a",)
    assert race.finished


def test_while_a_pair_is_undecided_at_an_early_time_runs_end_there_and_only_then_go_on_to_the_end():
    """The horizon is that of eq. 32: only when every timepoint by itself is decided do late ones matter again."""
    model = Believes(beliefs(0.02, 0.2, 0.02, 0.02, 0.02))
    race = race_of_two(model)
    assert one_round(race) == {160.0}
    assert one_round(race) == {20.0}
    model.log_ratio = beliefs(*[0.05] * 5)
    assert one_round(race) == {20.0}
    assert one_round(race) == {160.0}


def test_the_forecast_of_a_waiting_pair_is_that_of_joint_dominance():
    """log θ_a/θ_b = 1 ± e with e ~ N(0, s²), s = 1/1.2816: P(> 0) = 0.9 at each timepoint, P(> 0 at all) = 0.8.

    P(|e| < 1) = 0.85 takes s = 1/1.4395 and so (1.4395/1.2816)² = 1.2617 times the 64 instances, 17 more.
    """
    quantiles = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000, scale=1 / 1.281552)
    model = Believes(1.0 + quantiles[:, np.newaxis] * np.array([1, -1, 1, -1, 1]))
    race = race_of_two(model, alpha=0.85, batch=64)
    one_round(race)
    (pair,) = race.result().undecided
    assert (pair.from_time, pair.to_time) == (10.0, 160.0)
    assert pair.more_instances == 17


def test_the_refusal_lists_every_joint_model():
    with pytest.raises(ValueError, match="needs a joint posterior over time") as refusal:
        Race(["a", "b"], times=TIMES, model=IndependentDirichlet(), elimination="joint")
    for name, kind in models().items():
        assert (name in str(refusal.value).split("choose", 1)[1]) == kind.joint


@pytest.mark.statistical
def test_a_model_that_counts_what_is_repeated_says_in_each_round_how_much_too_sure_it_is():
    """Every run's values fall in step, so that its twelve rankings repeat the first."""
    times = np.arange(1.0, 13.0)
    found = {}
    for model in (as_published(WALK), WALK):
        race = Race(["a", "b"], times=times, model=model, draws=1000, smallest_batch=40, batch=40)
        luck = np.random.default_rng(0).gumbel(size=(40, 2))
        for request in race.ask():
            values = luck[request.draw, race.names.index(request.key.algorithm)] - times
            outcome = pb.Outcome(pb.Reason.BUDGET, 12, 0.0)
            run = pb.Run(request.key, pb.Trajectory(times.astype(int), np.zeros(12), values, outcome))
            race.tell([run])
        found[model.repeated] = race
    told = found["as published"].rounds[-1].overconfidence
    assert told > 2
    (caution,) = answer(found["as published"].result()).cautions
    assert f"as certain as if {told:.1f} times as many instances" in caution
    assert found["adjusted"].rounds[-1].overconfidence is None
    assert answer(found["adjusted"].result()).cautions == ()

"""A whole race, driven by ask and tell on runs whose truth is known."""

import dataclasses
import json

import numpy as np
import pytest

import polarbear as pb
from benchmarks import honesty
from polarbear.inference import FitCache, IndependentDirichlet
from polarbear.racing import CannotWithdraw, Race, RaceState, Round
from polarbear.records import lost
from polarbear.simulate import Truth

TIMES = np.array([10.0, 20.0, 40.0, 80.0])


def truth(**ratings):
    table = np.array(list(ratings.values()), dtype=float).T
    return Truth(TIMES, table / table.sum(axis=1, keepdims=True), tuple(ratings))


CROSSING = truth(early=[5, 3, 2, 2], late=[2.5, 3, 4.5, 4.5], never=[1, 0.8, 0.8, 0.8])


def drive(race, world, rounds=50, order=lambda requests: requests, available=None):
    for _ in range(rounds):
        requests = race.ask(available)
        if not requests:
            break
        for request in order(requests):
            race.tell([world.run(request.key, request.until)])
    return race


def new_race(names=CROSSING.names, **settings):
    return Race(list(names), times=TIMES, **({"alpha": 0.95, "epsilon": 0.1, "seed": 3} | settings))


def same_decisions(one, other):
    """Rounds agree but for wall-clock time."""
    return [dataclasses.replace(r, inference_seconds=0.0) for r in one.rounds] == [
        dataclasses.replace(r, inference_seconds=0.0) for r in other.rounds
    ]


def test_a_race_finds_the_pareto_set_and_stops():
    race = drive(new_race(), CROSSING)
    result = race.result()
    assert race.finished
    assert race.ask() == []
    assert result.pareto_set == CROSSING.pareto_set == ("early", "late")
    assert set(result.eliminated) == {"never"}
    assert result.undecided == ()
    assert result.evaluations < result.evaluations_to_the_end
    assert result.saved == pytest.approx(1 - result.evaluations / (80 * 3 * race.state.instances))
    assert all(rival.name != name for r in result.rounds for name, rival in r.dominance.items())
    last = result.rounds[-1]
    assert last.resolved_pairs == 3
    assert last.resolved_share == 1.0
    assert set(last.settled) == {"early", "late"}


def test_decisions_do_not_depend_on_the_order_in_which_runs_come_in():
    rng = np.random.default_rng(0)
    straight = drive(new_race(), CROSSING)
    shuffled = drive(new_race(), CROSSING, order=lambda requests: rng.permutation(np.array(requests, dtype=object)))
    assert same_decisions(straight, shuffled)
    np.testing.assert_array_equal(straight.posterior.draws, shuffled.posterior.draws)


def test_asking_again_names_what_is_left():
    race = new_race()
    requests = race.ask()
    assert len(requests) == 8 * 3
    assert {request.until for request in requests} == {80.0}
    assert race.tell([CROSSING.run(requests[0].key, 80.0)]) is None
    assert race.ask() == requests[1:]
    finished = race.tell([CROSSING.run(request.key, 80.0) for request in requests[1:]])
    assert isinstance(finished, Round)


def test_the_instance_name_is_the_runners_to_choose():
    race = new_race()
    for request in race.ask():
        run = CROSSING.run(request.key, request.until)
        race.tell([dataclasses.replace(run, key=dataclasses.replace(run.key, instance="my instance"))])
    assert len(race.rounds) == 1


def test_runs_that_were_not_asked_for_or_told_before_are_refused():
    race = new_race()
    request = race.ask()[0]
    run = CROSSING.run(request.key, request.until)
    race.tell([run])
    with pytest.raises(ValueError, match="has already been told"):
        race.tell([run])
    with pytest.raises(ValueError, match="was not asked for"):
        race.tell([dataclasses.replace(run, key=pb.RunKey("x", "early", 17))])


def test_lost_runs_enter_no_ranking_and_the_race_goes_on():
    race = new_race()
    requests = race.ask()
    runs = [CROSSING.run(request.key, request.until) for request in requests]
    gone = requests[0].key
    runs[0] = lost(gone, pb.Reason.KILLED, "signal 9")
    finished = race.tell(runs)
    assert finished is not None
    assert finished.failures == 1
    reach = race.result().reach
    assert reach[:, race.names.index(gone.algorithm)].tolist() == [7, 7, 7, 7]
    assert reach.sum() == 4 * 23


def test_algorithms_stop_early_where_late_times_are_resolved():
    """Two algorithms that differ late and tie early have open pairs early only (eq. 32)."""
    world = truth(a=[1, 1, 1, 50], b=[1.1, 1, 1.1, 1])
    race = drive(new_race(world.names, resolution="strict", epsilon=0.02, alpha=0.99), world, rounds=3)
    assert race.rounds[0].horizon == {"a": 80.0, "b": 80.0}
    assert race.rounds[-1].horizon == {"a": 40.0, "b": 40.0}
    reach = race.result().reach
    assert reach[0, 0] > reach[3, 0]
    assert race.result().evaluations < race.result().evaluations_to_the_end


def test_what_was_found_beyond_what_was_asked_enters_no_ranking():
    """Which runs reach further by themselves depends on how they went: they would bias the late timepoints."""
    world = truth(a=[1, 1, 1, 50], b=[1.1, 1, 1.1, 1])
    race = new_race(world.names, epsilon=0.02, alpha=0.99)
    for _ in range(3):
        for request in race.ask():
            run = world.run(request.key, request.until)
            stopped = dataclasses.replace(run.outcome, reason=pb.Reason.STOPPED)
            race.tell([dataclasses.replace(run, trajectory=dataclasses.replace(run.trajectory, outcome=stopped))])
    assert [r.horizon["a"] for r in race.rounds] == [80.0, 40.0, 40.0]
    result = race.result()
    first = race.rounds[0].instances
    assert not np.isnan(result.values[:first]).any()
    assert np.isnan(result.values[first:, 3]).all()
    assert not np.isnan(result.values[first:, :3]).any()
    again = new_race(world.names, epsilon=0.02, alpha=0.99)
    again.restore(RaceState.from_dict(race.state.as_dict()), race.rounds, race._runs.values())
    np.testing.assert_array_equal(again.result().values, result.values)


def test_crossing_resolution_needs_no_more_instances_than_strict():
    crossing, strict = (drive(new_race(resolution=mode), CROSSING) for mode in ("crossing", "strict"))
    assert crossing.finished
    assert strict.finished
    assert crossing.pareto_set == strict.pareto_set
    assert crossing.state.instances < strict.state.instances


def test_instances_that_run_out_end_the_race_with_a_valid_answer():
    world = truth(a=[1, 1, 1, 1], b=[1.2, 1, 1, 1])
    race = drive(new_race(world.names), world, available=20)
    result = race.result()
    assert not race.finished
    assert race.state.instances == 20
    assert result.pareto_set == ("a", "b")
    (pair,) = result.undecided
    assert {pair.first, pair.second} == {"a", "b"}
    assert pair.more_instances > 0


def test_batches_by_forecast_and_by_doubling_find_the_same():
    by_forecast, doubling = (drive(new_race(batches=batches), CROSSING) for batches in ("forecast", "doubling"))
    assert by_forecast.pareto_set == doubling.pareto_set
    assert by_forecast.finished
    assert [r.next_batch for r in by_forecast.rounds] != [r.next_batch for r in doubling.rounds]


@pytest.mark.parametrize("interrupted_after", [1, 2, 3])
def test_a_restored_race_decides_as_if_it_had_never_stopped(interrupted_after):
    whole = drive(new_race(), CROSSING)
    assert len(whole.rounds) > interrupted_after
    part = drive(new_race(), CROSSING, rounds=interrupted_after)
    runs = list(part._runs.values())
    unfinished = [CROSSING.run(request.key, request.until) for request in part.ask()[:5]]
    state = json.loads(json.dumps(part.state.as_dict()))
    rounds = json.loads(json.dumps([r.as_dict() for r in part.rounds]))
    again = new_race()
    again.restore(RaceState.from_dict(state), map(Round.from_dict, rounds), runs + unfinished)
    assert again.result().pareto_set == part.result().pareto_set
    np.testing.assert_array_equal(again.posterior.draws, part.posterior.draws)
    drive(again, CROSSING)
    assert same_decisions(whole, again)
    np.testing.assert_array_equal(whole.posterior.draws, again.posterior.draws)


def test_a_race_that_computes_everything_anew_decides_the_same(monkeypatch):
    """Most of a race's late timepoints do not change from round to round."""
    known, cached = FitCache.known, []

    def counted(self, key):
        found = known(self, key)
        cached.append(found is not None)
        return found

    monkeypatch.setattr(FitCache, "known", counted)
    usual = drive(new_race(), CROSSING)
    assert sum(cached) > 0.1 * len(cached)
    monkeypatch.setattr(FitCache, "known", lambda self, key: None)
    anew = drive(new_race(), CROSSING)
    assert same_decisions(usual, anew)
    np.testing.assert_array_equal(usual.posterior.draws, anew.posterior.draws)


def test_restoring_without_all_runs_says_how_many_are_missing():
    race = drive(new_race(), CROSSING, rounds=1)
    runs = list(race._runs.values())[2:]
    with pytest.raises(ValueError, match="lack 2 of their 24 runs"):
        new_race().restore(race.state, race.rounds, runs)
    lenient = new_race()
    lenient.restore(race.state, race.rounds, runs, accept_missing=True)
    assert lenient.result().reach.sum() == 4 * 22


def test_restoring_another_race_is_refused():
    race = drive(new_race(), CROSSING, rounds=1)
    with pytest.raises(ValueError, match="resume with the same"):
        new_race(["early", "never"]).restore(race.state, race.rounds, [])


class TestAdding:
    WORLD = truth(early=[5, 3, 2, 2], late=[2.5, 3, 4.5, 4.5], never=[1, 0.8, 0.8, 0.8], best=[60, 60, 60, 60])

    def test_a_newcomer_first_runs_on_cached_instances_and_can_win(self):
        race = drive(new_race(), self.WORLD)
        drawn = race.state.instances
        race.add("best")
        assert not race.finished
        requests = race.ask()
        assert {request.key.algorithm for request in requests} == {"best"}
        assert {request.draw for request in requests} == set(range(len(requests)))
        assert {request.key.seed for request in requests} <= {race.seed_of(draw) for draw in range(drawn)}
        drive(race, self.WORLD)
        assert race.pareto_set == ("best",)

    def test_a_newcomer_runs_only_where_and_as_far_as_a_candidate_did(self):
        race = drive(new_race(), self.WORLD)
        race.add("best")
        asked = race.state.asked
        while race.state.catching_up:
            for request in race.ask():
                others = max(asked[request.draw, race.names.index(name)] for name in ("early", "late"))
                assert others > 0
                assert request.until <= TIMES[others - 1]
                race.tell([self.WORLD.run(request.key, request.until)])

    def test_newcomers_that_eliminate_all_others_before_they_have_caught_up_race_on(self):
        world = truth(early=[5, 3, 2, 2], late=[2.5, 3, 4.5, 4.5], one=[300, 300, 300, 300], other=[300, 280, 280, 310])
        race = drive(new_race(("early", "late")), world)
        race.add("one")
        race.add("other")
        drive(race, world, rounds=1)
        assert race.pareto_set == ("one", "other")
        assert not race.finished
        assert drive(race, world).finished

    def test_a_newcomer_can_join_a_restored_race(self):
        race = drive(new_race(), self.WORLD)
        direct = new_race()
        direct.restore(race.state, race.rounds, race._runs.values())
        direct.add("best")
        at_once = new_race([*CROSSING.names, "best"])
        at_once.restore(race.state, race.rounds, race._runs.values())
        assert drive(direct, self.WORLD).pareto_set == drive(at_once, self.WORLD).pareto_set == ("best",)
        assert same_decisions(direct, at_once)

    def test_an_interrupted_catching_up_round_is_asked_for_again(self):
        race = drive(new_race(batch=8, largest_batch=8), CROSSING)
        race.add("best")
        runs = list(race._runs.values())
        unfinished = [self.WORLD.run(request.key, request.until) for request in race.ask()[:3]]
        again = new_race([*CROSSING.names, "best"], batch=8, largest_batch=8)
        again.restore(race.state, race.rounds, runs + unfinished)
        assert len(again.ask()) == 8

    def test_names_are_unique_and_rounds_are_not_disturbed(self):
        race = new_race()
        with pytest.raises(ValueError, match="is already in the race"):
            race.add("late")
        race.ask()
        with pytest.raises(ValueError, match="under way"):
            race.add("best")


class TestWithdrawing:
    WORLD = truth(early=[5, 3, 2, 2], late=[2.5, 3, 4.5, 4.5], never=[1, 0.8, 0.8, 0.8], best=[60, 60, 60, 60])

    def raced(self, *names):
        race = drive(new_race(names or self.WORLD.names), self.WORLD)
        assert race.pareto_set == ("best",)
        return race

    def test_what_it_had_eliminated_returns_and_the_race_finds_the_pareto_set_of_the_others(self):
        race = self.raced()
        before, drawn = race.result(), race.state.instances
        ran = {name: int(np.flatnonzero(race.state.asked[:, race.names.index(name)]).max()) for name in race.names}
        this = race.withdraw("best")
        assert (this.number, this.batch, this.withdrawn) == (len(before.rounds) + 1, 0, ("best",))
        assert this.dominance == {}
        assert (this.runs, this.evaluations) == (before.rounds[-1].runs, before.evaluations)
        assert race.rounds == (*before.rounds, this)
        assert set(race.pareto_set) >= {"early", "late"}
        np.testing.assert_array_equal(race.posterior.draws, before.posterior.draws)
        while race.state.catching_up:
            for request in race.ask():
                assert request.key.algorithm != "best"
                assert ran[request.key.algorithm] < request.draw < drawn
                race.tell([self.WORLD.run(request.key, request.until)])
        after = drive(race, self.WORLD).result()
        assert after.finished
        assert after.pareto_set == CROSSING.pareto_set
        assert set(after.eliminated) == {"never"}
        assert after.withdrawn == ("best",)
        assert not any("best" in each.horizon for each in after.rounds[len(before.rounds) :])

    def test_what_another_candidate_dominates_stays_out(self):
        state = RaceState.start(("x", "free", "weak", "rival"), 2, 8)
        asked = np.array([[2, 2, 2, 2], [2, 0, 0, 2], [2, 0, 0, 1]], dtype=np.int16)
        resolved = state.resolved.copy()
        resolved[:, :, [0, 1, 2]] = resolved[:, [0, 1, 2], :] = True
        state = dataclasses.replace(state, asked=asked, resolved=resolved, eliminated={"free": "x", "weak": "x"})
        dominates = np.zeros((4, 4))
        dominates[0, 1:] = 1.0
        dominates[3, 2] = 0.96
        left = state.without("x", dominates, 0.95)
        assert (left.withdrawn, left.eliminated, left.catching_up) == (("x",), {"weak": "rival"}, {"free": 1})
        assert left.cached(1) == [(1, 1), (2, 0)]
        opened = np.argwhere(~left.resolved[0]).tolist()
        assert opened == np.argwhere(~left.resolved[1]).tolist() == [[1, 3], [3, 1]]

    def test_a_race_restored_after_it_decides_the_same(self):
        straight, stopped = self.raced(), self.raced()
        for race in (straight, stopped):
            race.withdraw("best")
        again = new_race(self.WORLD.names)
        state = RaceState.from_dict(json.loads(json.dumps(stopped.state.as_dict())))
        rounds = [Round.from_dict(json.loads(json.dumps(this.as_dict()))) for this in stopped.rounds]
        again.restore(state, rounds, stopped._runs.values())
        assert again.withdraw("best") is None
        assert same_decisions(drive(again, self.WORLD), drive(straight, self.WORLD))

    def test_one_that_is_eliminated_stays_out_when_its_rival_is_withdrawn_too(self):
        race = self.raced()
        race.withdraw("early")
        assert "early" not in race.result().eliminated
        race.withdraw("best")
        drive(race, self.WORLD)
        assert race.pareto_set == ("late",)

    def test_several_are_withdrawn_at_once_or_none(self):
        race = self.raced()
        before = race.state
        for names, message in (("best", "nver"), "named 'nver'"), (race.names, "best is the last candidate"):
            with pytest.raises(CannotWithdraw, match=message):
                race.withdraw(*names)
            assert race.state is before
        this = race.withdraw("best", "early", "best")
        assert this.withdrawn == race.result().withdrawn == ("best", "early")
        assert race.rounds[-1] is this
        assert race.withdraw() is race.withdraw("early", "best") is None
        assert drive(race, self.WORLD).pareto_set == ("late",)

    def test_one_withdrawn_before_the_start_never_runs(self):
        race = new_race(self.WORLD.names)
        race.withdraw("best")
        result = drive(race, self.WORLD).result()
        assert result.pareto_set == CROSSING.pareto_set
        assert result.evaluations_by_algorithm["best"] == 0

    def test_what_cannot_be_withdrawn_is_named(self):
        race = new_race(("early", "late"))
        with pytest.raises(CannotWithdraw, match="no algorithm of the race is named 'lat'; did you mean 'late'"):
            race.withdraw("lat")
        race.withdraw("early")
        with pytest.raises(CannotWithdraw, match="late is the last candidate"):
            race.withdraw("late")
        race = new_race()
        race.ask()
        with pytest.raises(ValueError, match="under way"):
            race.withdraw("late")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.5}, r"alpha is 0.5"),
        ({"alpha": 1.01}, r"alpha is 1.01"),
        ({"epsilon": 0.5}, r"epsilon is 0.5"),
        ({"epsilon": -0.1}, r"epsilon is -0.1"),
        ({"elimination": "both"}, r"elimination is 'both'; choose from: joint, pointwise"),
        ({"batches": "tripling"}, r"batches is 'tripling'; choose from: doubling, forecast"),
        ({"resolution": "loose"}, r"resolution is 'loose'; choose from: crossing, strict"),
        ({"axis": "hours"}, r"axis is 'hours'"),
        ({"batch": 4}, r"they must satisfy smallest_batch <= batch <= largest_batch"),
        ({"draws": 10}, r"draws is 10"),
        ({"precision": 0.0}, r"precision is 0.0"),
        ({"seed": -1}, r"seed is -1"),
        (
            {"elimination": "joint", "model": IndependentDirichlet()},
            r"needs a joint posterior over time, which independent.*does not have",
        ),
        ({"times": []}, r"times has shape \(0,\)"),
        ({"times": [1, 1]}, r"strictly increasing"),
        ({"times": [0, 1]}, r"positive"),
        ({"times": [1, np.nan]}, r"finite"),
        ({"times": [1, 2.5]}, r"whole numbers of evaluations"),
        ({"algorithms": ["a", "a"]}, r"two algorithms are named 'a'"),
        ({"algorithms": ["a"]}, r"at least 2"),
    ],
)
def test_impossible_races_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        Race(**({"algorithms": ["a", "b"], "times": TIMES} | settings))


def test_numbers_of_numpy_are_numbers_and_fractions_are_not_whole():
    assert new_race(seed=np.int64(3)).describe()["seed"] == 3
    json.dumps(new_race(batch=np.int64(8)).describe())
    with pytest.raises(TypeError, match=r"batch is 8.5; it must be a whole number"):
        new_race(batch=8.5)


def test_an_unnamed_algorithm_is_refused():
    with pytest.raises(TypeError, match=r"algorithm 1 .* has no name"):
        Race(["a", 7], times=TIMES)
    with pytest.raises(TypeError, match="algorithms is the string 'DE'; give a list of names"):
        Race("DE", times=TIMES)


class TestWins:
    """Races by who beats whom, with no ratings behind it."""

    @staticmethod
    def raced(values, elimination):
        """A race on instances drawn from rankings (P, n), the same at five timepoints."""
        ranks = np.repeat(np.asarray(values, float)[:, np.newaxis], 5, axis=1)
        names = tuple("ABCDEF"[: ranks.shape[2]])
        population = honesty.Population(ranks, np.arange(1.0, 6.0), names, np.full(ranks.shape[1:], np.nan))
        return honesty.race(population, IndependentDirichlet(), elimination, seed=1, relations="wins")

    @pytest.mark.statistical
    def test_who_is_first_most_often_may_lose_most_comparisons(self):
        """A is first on four instances of ten, and last on the others: B and C beat it there."""
        assert self.raced([[0, 1, 2]] * 4 + [[2, 0, 1]] * 3 + [[2, 1, 0]] * 3, "joint").pareto_set == ("B",)


def test_lambdas_are_told_apart():
    race = Race([lambda problem, rng: None, lambda problem, rng: None, lambda problem, rng: None], times=[10.0])
    assert race.names == ("<lambda>", "<lambda> 2", "<lambda> 3")

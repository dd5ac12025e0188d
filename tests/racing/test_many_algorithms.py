"""Races of more algorithms than a word has bits: the posterior rates only those that are still in the race."""

import json
from pathlib import Path

import numpy as np
import pytest

import polarbear as pb
from polarbear.analyzer import answer, datasets, examination, page
from polarbear.racing import RaceState
from polarbear.simulate import Truth
from polarbear.study.stored import read_rounds

TIMES = pb.log_times(10, 1000, 3)


def truth(algorithms, good):
    """The first ones are best, each at another time; all others are clearly worse than some of them at all times."""
    rng = np.random.default_rng(5)
    level = np.append(np.zeros(good), -2.5 - np.abs(rng.normal(0, 1.5, algorithms - good)))
    lean = np.append(np.linspace(-3, 3, good), rng.normal(0, 0.3, algorithms - good))
    ratings = np.exp(level + np.outer(np.linspace(-0.5, 0.5, TIMES.size), lean))
    return Truth(TIMES, ratings / ratings.sum(axis=1, keepdims=True), tuple(f"a{i}" for i in range(algorithms)))


def new_race(of, **settings):
    return pb.Race(of.names, times=TIMES, **({"draws": 500, "seed": 1, "resolution": "crossing"} | settings))


def run(race, of, rounds):
    """At most so many rounds; all runs."""
    runs = []
    while len(race.rounds) < rounds and (requests := race.ask()):
        told = [of.run(request.key, request.until) for request in requests]
        race.tell(told)
        runs += told
    return runs


def test_a_race_of_more_than_sixty_four_finds_the_pareto_set_and_compacts():
    of = truth(90, 4)
    assert of.pareto_set == tuple(of.names[:4])
    race = new_race(of)
    assert race.posterior.names == of.names
    run(race, of, 100)
    assert race.finished
    assert race.pareto_set == of.pareto_set == race.posterior.names == race.result().posterior.names
    assert race.relations().better.shape == (3, 4, 4)
    assert race.rounds[-1].resolved_pairs == 90 * 89 // 2
    assert len(race.rounds[0].dominance) == 90


@pytest.mark.parametrize("stop", [1, 3])
def test_it_goes_on_from_what_is_stored(stop):
    of = truth(70, 4)
    whole, first, second = (new_race(of) for _ in range(3))
    run(whole, of, 100)
    runs = run(first, of, stop)
    records = {
        Path(f"{this.number}.json"): {"round": this.as_dict(), "state": state}
        for this, state in zip(first.rounds, states(of, stop), strict=True)
    }
    rounds, state = read_rounds(json.loads(json.dumps({str(at): record for at, record in records.items()})))
    assert state.as_dict() == first.state.as_dict()
    assert second.restore(state, rounds, runs) == 0
    np.testing.assert_array_equal(second.posterior.draws, first.posterior.draws)
    run(second, of, 100)
    assert second.state.as_dict() == whole.state.as_dict()
    np.testing.assert_array_equal(second.posterior.draws, whole.posterior.draws)


def states(of, rounds):
    race, found = new_race(of), []
    for number in range(1, rounds + 1):
        run(race, of, number)
        found.append(race.state.as_dict())
    return found


def test_arrays_of_many_are_stored_compressed():
    of = truth(200, 4)
    race = new_race(of, draws=100)
    run(race, of, 2)
    record = json.loads(json.dumps(race.state.as_dict()))
    again = RaceState.from_dict(record)
    np.testing.assert_array_equal(again.resolved, race.state.resolved)
    np.testing.assert_array_equal(again.asked, race.state.asked)
    assert len(record["resolved"]) < race.state.resolved.size / 8
    with pytest.raises(ValueError, match="decompressing"):
        RaceState.from_dict(record | {"asked": "AAAA"})


@pytest.mark.parametrize("elimination", ["pointwise", "joint"])
@pytest.mark.parametrize("relations", ["ratings", "wins"])
def test_one_that_is_withdrawn_gives_back_those_it_alone_had_eliminated(elimination, relations):
    of = truth(70, 3)
    race = new_race(of, elimination=elimination, relations=relations, batch=16)
    run(race, of, 2)
    winner = max(race.state.eliminated.values(), key=list(race.state.eliminated.values()).count)
    losers = {loser for loser, by in race.state.eliminated.items() if by == winner}
    race.withdraw(winner)
    back = losers - race.state.eliminated.keys()
    assert winner not in race.pareto_set
    assert back <= set(race.pareto_set) == set(race.posterior.names)
    for loser in losers - back:
        assert race.state.eliminated[loser] in race.pareto_set


def test_one_more_than_sixty_four_joins():
    of = truth(66, 3)
    race = pb.Race(of.names[:64], times=TIMES, draws=500, seed=1, resolution="crossing")
    run(race, of, 1)
    assert race.posterior.names == of.names[:64]
    race.add("a64")
    assert set(race.posterior.names) == set(race.pareto_set)
    run(race, of, 100)
    assert race.pareto_set == of.names[:3]


def test_what_is_said_of_an_unfinished_race_of_many():
    of = truth(70, 3)
    race = new_race(of, draws=200)
    run(race, of, 1)
    result = race.result()
    rated, out = result.posterior.names, tuple(result.eliminated)
    assert set(rated) == set(result.pareto_set)
    assert set(rated) | set(out) == set(result.names)
    said = answer(result)
    assert f"{len(rated)} of 70 algorithms are still in the race" in said.text
    assert len(said.eliminated) == len(out)
    assert said.false_elimination is None
    assert len(datasets.reach(result).rows) == 3 * 70
    np.testing.assert_array_equal(result.rated_values, result.values[:, :, [of.names.index(name) for name in rated]])
    assert all(one.name for one in examination.checks(result, replicates=100))
    html = page.render(result)
    assert all(name in html for name in of.names)


@pytest.mark.slow
def test_a_thousand_that_start_and_ten_that_survive():
    of = truth(1000, 10)
    race = new_race(of, draws=1000)
    run(race, of, 100)
    assert race.finished
    assert race.pareto_set == of.pareto_set == of.names[:10]

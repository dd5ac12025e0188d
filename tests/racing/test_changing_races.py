"""Races that algorithms join, leave and fall silent in, at random, and in which runs are unavailable."""

import json
from dataclasses import replace

import numpy as np
import pytest

import polarbear as pb
from polarbear.racing import CannotWithdraw, RaceState, Round
from polarbear.racing.rounds import disagreements
from polarbear.records import lost
from tests.racing.test_race import TIMES, new_race, same_decisions, truth

OWN_SETTINGS = ("alpha", "smallest_batch", "largest_batch", "draws", "resolution", "seed")


def changed(race, name, rng):
    """Let an algorithm join, or withdraw one or two if that leaves any."""
    if name not in race.names:
        race.add(name)
        return
    names = [name, *rng.choice(race.names, rng.integers(2))]
    before = race.state
    try:
        race.withdraw(*names)
    except CannotWithdraw:
        assert race.state is before
    else:
        assert set(names) <= set(race.state.withdrawn)


def restored(race):
    """A race put where this one stands, from what a study keeps."""
    again = new_race(race.names, **{name: getattr(race.settings, name) for name in OWN_SETTINGS})
    state, rounds = json.loads(json.dumps([race.state.as_dict(), [this.as_dict() for this in race.rounds]]))
    again.restore(RaceState.from_dict(state), map(Round.from_dict, rounds), race._runs.values())
    return again


def check_what_is_open(state):
    """Only candidates have open pairs; who catches up has one, and drawn instances that it has not run on."""
    is_open, candidates = ~state.resolved.all(axis=(0, 2)), state.candidates
    assert not is_open[~candidates].any()
    assert candidates.any()
    assert state.finished == (not is_open.any())
    for name, start in state.catching_up.items():
        index = state.algorithms.index(name)
        assert is_open[index]
        assert state.asked[start:, candidates].any()
        assert not state.asked[start:, index].any()


def check_record(race, states):
    """A round that is new agrees with the states before and after it; without an algorithm in a field it does not."""
    if len(race.rounds) < len(states):
        return
    this, before, after = race.rounds[-1], states[-1], race.state
    assert disagreements(this, before, after) == []
    for field in ("horizon", "dominance", "eliminated"):
        for name in (found := getattr(this, field)):
            fewer = replace(this, **{field: {other: found[other] for other in found if other != name}})
            (told,) = disagreements(fewer, before, after)
            assert told.startswith(f"round.{field} names ")
    for name in () if this.withdrawn else after.catching_up:
        fewer = replace(after, catching_up={other: 0 for other in after.catching_up if other != name})
        (told,) = disagreements(this, before, fewer)
        assert told.startswith("state.catching_up names ")
    states.append(after)


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 25))])
def test_whoever_joins_leaves_or_goes_silent_a_race_goes_on_to_its_end_and_restores(seed):
    rng = np.random.default_rng(seed)
    names, available = [f"a{i}" for i in range(rng.integers(4, 7))], int(rng.integers(60, 160))
    ratings = rng.lognormal(0, 1, (len(names), 1)) * rng.lognormal(0, 0.7, (len(names), TIMES.size))
    world = truth(**dict(zip(names, ratings, strict=True)))
    mode = ("strict", "crossing")[seed % 2]
    race = new_race(
        names[: rng.integers(2, 5)],
        alpha=0.9,
        smallest_batch=2,
        largest_batch=16,
        draws=500,
        resolution=mode,
        seed=seed,
    )
    states = [None]
    changes = [str(name) for name in rng.permutation([*names[len(race.names) :], *names])]
    for _ in range(200):
        again = restored(race)
        while changes and rng.random() < 0.4:
            name, state = changes.pop(), rng.bit_generator.state
            changed(race, name, rng)
            rng.bit_generator.state = state
            changed(again, name, rng)
            check_what_is_open(race.state)
            check_record(race, states)
        requests = race.ask(available)
        assert again.ask(available) == requests
        more = race.state.catching_up or race.state.instances < available
        assert bool(requests) == (bool(more) and not race.finished)
        if not requests and not changes:
            return
        unavailable = [request for request in requests if rng.random() < 0.2 * (seed % 3)]
        requests = [request for request in requests if request not in unavailable]
        silent = rng.choice(race.names, rng.integers(1, 3)) if rng.random() < 0.3 else ()
        runs = [
            lost(request.key, pb.Reason.KILLED, "signal 9")
            if request.key.algorithm in silent
            else world.run(request.key, request.until)
            for request in requests
        ]
        race.tell(runs, unavailable=unavailable)
        again.tell(runs, unavailable=unavailable)
        check_what_is_open(race.state)
        check_record(race, states)
        assert same_decisions(race, again)
        assert race.state.as_dict() == again.state.as_dict()
    pytest.fail("the race does not end")

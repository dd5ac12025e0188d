"""Joint elimination (eq. 28): whole synthetic races with models that have a joint posterior over time."""

import numpy as np
import pytest

from polarbear.inference import GaussianProcess, RandomWalk, models
from polarbear.race import Race
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


def raced(model, seed):
    race = Race(
        ["A", "B", "C", "D"],
        times=TIMES,
        model=model,
        elimination="joint",
        resolution="crossing",
        alpha=0.99,
        draws=1000,
        seed=seed,
    )
    true = truth()
    while requests := race.ask(400):
        race.tell([true.run(request.key, request.until) for request in requests])
    return race


@pytest.mark.parametrize("model", [RandomWalk(time_scale="log"), GaussianProcess(time_scale="log")])
def test_a_race_with_joint_elimination_finds_the_truth(model):
    race = raced(model, seed=5)
    assert truth().pareto_set == ("A", "B")
    assert race.finished
    assert race.pareto_set == ("A", "B")
    posterior = race.result().posterior
    assert posterior.joint
    for loser, winner in race.state.eliminated.items():
        assert posterior.probability_dominates(winner, loser) >= 0.99
        assert posterior.probability_dominates(winner, loser) <= posterior.probability_better(winner, loser).min()


def test_the_refusal_lists_every_joint_model():
    with pytest.raises(ValueError, match="needs a joint posterior over time") as refusal:
        Race(["a", "b"], times=TIMES, elimination="joint")
    for name, kind in models().items():
        assert (name in str(refusal.value).split("choose", 1)[1]) == kind.joint

"""When one algorithm overtakes another, and who should run until when: plain loops, and simulated runs that cross."""

import numpy as np
import pytest

from polarbear.inference import InstanceBootstrap, best_handover, fit, takeovers
from polarbear.rankings import Rankings
from tests.inference.test_events import posterior

TIMES = np.geomspace(10, 1000, 9)
CROSSING = 4
"""The first timepoint at which "late" is better than "early"."""


def simulated(seed, instances=60):
    """The posterior after runs of which one algorithm leads at first and another from `CROSSING` on; a third never."""
    rng = np.random.default_rng(seed)
    lead = np.where(np.arange(9) < CROSSING, 1.5, -1.5)
    ratings = np.stack([lead, -lead, np.full(9, -3.0)])
    values = -(ratings + rng.gumbel(size=(instances, 3))[:, :, np.newaxis])
    rankings = Rankings.of(values.transpose(0, 2, 1), times=TIMES, algorithms=("early", "late", "never"))
    return fit(rankings, model=InstanceBootstrap(), draws=1_000, rng=rng)


def test_takeovers_against_plain_loops():
    rng = np.random.default_rng(0)
    ratings = rng.dirichlet(np.ones(3), size=(300, 3))
    ratings[:, :, 0] += [0.8, 0.2, 0.0]
    ratings[:, :, 1] += [0.0, 0.5, 0.9]
    found = posterior(ratings / ratings.sum(axis=2, keepdims=True))
    listed = {(each.first, each.second): each for each in takeovers(found, 0.6)}
    for a, b in ((i, j) for i in range(3) for j in range(3) if i != j):
        from_on = [np.mean([(x[t:, b] > x[t:, a]).all() for x in found.draws]) for t in range(3)]
        sure = [t for t in range(3) if from_on[t] >= 0.6]
        pair = found.names[a], found.names[b]
        assert (pair in listed) == bool(sure)
        if sure:
            t = sure[0]
            crossed = [(x[t:, b] > x[t:, a]).all() and (x[:t, a] > x[:t, b]).any() for x in found.draws]
            assert (listed[pair].time, listed[pair].probability) == (found.times[t], from_on[t])
            assert listed[pair].crossing == np.mean(crossed)
    assert listed["a", "b"].time > found.times[0]


def test_the_best_handover_against_plain_loops():
    rng = np.random.default_rng(1)
    found = posterior(rng.dirichlet([1, 2, 1], size=(200, 3)))
    chance = np.array([[np.mean([x[t].argmax() == a for x in found.draws]) for a in range(3)] for t in range(3)])
    shares = {
        (a, b, t): (chance[:t, a].sum() + chance[t:, b].sum()) / 3 for a in range(3) for b in range(3) for t in range(3)
    }
    best = best_handover(found)
    assert best.share == pytest.approx(max(shares.values()))
    first, second = (found.names.index(name) for name in (best.first, best.second))
    assert shares[first, second, found.times.tolist().index(best.time)] == pytest.approx(best.share)
    assert best.share_alone == pytest.approx(chance.mean(axis=0).max())


def test_a_known_crossing_is_found_and_not_before_it_comes():
    early = 0
    for seed in range(20):
        found = simulated(seed)
        crossed = {(each.first, each.second): each for each in takeovers(found) if each.crossing >= 0.95}
        assert set(crossed) <= {("early", "late")}
        early += any(each.time < TIMES[CROSSING] for each in crossed.values())
        assert crossed["early", "late"].time <= TIMES[CROSSING]
        best = best_handover(found)
        assert (best.first, best.second, best.time) == ("early", "late", TIMES[CROSSING])
        assert best.probability > 0.95
        assert best.share > 0.95 > 0.6 > best.share_alone
    assert early <= 1


def test_without_a_crossing_nobody_hands_over():
    found = posterior(np.tile([0.6, 0.3, 0.1], (50, 3, 1)))
    best = best_handover(found)
    assert (best.first, best.second, best.share, best.share_alone, best.probability) == ("a", "a", 1.0, 1.0, 0.0)
    assert all(each.time == found.times[0] and each.crossing == 0 for each in takeovers(found))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="joint posterior over time"):
        takeovers(posterior(np.tile([0.6, 0.4], (5, 3, 1)), joint=False))
    with pytest.raises(ValueError, match="alpha is 2"):
        takeovers(posterior(np.tile([0.6, 0.4], (5, 3, 1))), 2)

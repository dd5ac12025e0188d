"""Probabilities of events against plain loops over the draws, the laws of probability, and closed forms."""

from itertools import combinations

import numpy as np
import pytest

from polarbear.inference import Diagnostics, Posterior, events
from polarbear.inference.events import (
    Event,
    best,
    better,
    crossing,
    dominated,
    dominates,
    equivalent,
    false_elimination,
    in_pareto_set,
    portfolio_beats,
    where,
)

TIMES = np.array([10.0, 100.0, 1000.0])
NAMES = ("a", "b", "c", "d")


def posterior(draws, joint=True, times=TIMES):
    draws = np.asarray(draws, dtype=float)
    flat = np.full(len(times), np.nan)
    diagnostics = Diagnostics(("importance sampling",) * len(times), flat + 4000, flat, flat)
    return Posterior(draws, times, NAMES[: draws.shape[2]], joint, diagnostics)


def drawn(number=400, joint=True, seed=0):
    """Draws with some equal ratings among them, at all timepoints and at the first one."""
    ratings = np.random.default_rng(seed).dirichlet(np.ones(4), size=(number, 3))
    ratings[::5, :, 1] = ratings[::5, :, 2]
    ratings[1::5, 0, 1] = ratings[1::5, 0, 2]
    return posterior(ratings / ratings.sum(axis=2, keepdims=True), joint)


FOUND = drawn()
DRAWS = FOUND.draws


def share(holds):
    """The share of the draws (T, n) in which a plain function says yes."""
    return np.mean([holds(theta) for theta in DRAWS])


def pareto_set(theta):
    """Eq. 3 and 4, word by word."""
    n = theta.shape[1]
    return {a for a in range(n) if not any(all(x[b] > x[a] for x in theta) for b in range(n) if b != a)}


@pytest.mark.parametrize(
    ("event", "holds"),
    [
        (better("a", "b", at=100), lambda x: x[1, 0] > x[1, 1]),
        (better("b", "c", at=10), lambda x: x[0, 1] > x[0, 2]),
        (better("a", "b", at=[10, 1000]), lambda x: x[0, 0] > x[0, 1] and x[2, 0] > x[2, 1]),
        (best("c", at=1000), lambda x: all(x[2, 2] > x[2, i] for i in (0, 1, 3))),
        (best("c", at=[10, 100]), lambda x: x[0].argmax() == x[1].argmax() == 2 and (x[:2, 1] < x[:2, 2]).all()),
        (equivalent("a", "b", 0.1, at=10), lambda x: abs(x[0, 0] / (x[0, 0] + x[0, 1]) - 0.5) <= 0.1),
        (equivalent("c", "b", 0.0, at=10), lambda x: x[0, 1] == x[0, 2]),
        (dominates("a", "d"), lambda x: all(x[t, 0] > x[t, 3] for t in range(3))),
        (crossing("a", "d"), lambda x: len({bool(x[t, 0] > x[t, 3]) for t in range(3)}) == 2),
        (crossing("b", "c"), lambda x: (x[:, 1] > x[:, 2]).any() and (x[:, 1] < x[:, 2]).any()),
        (dominated("b"), lambda x: any((x[:, i] > x[:, 1]).all() for i in (0, 2, 3))),
        (dominated("b", by=["a", "c"]), lambda x: any((x[:, i] > x[:, 1]).all() for i in (0, 2))),
        (dominated("b", by="c"), lambda x: (x[:, 2] > x[:, 1]).all()),
        (in_pareto_set("b"), lambda x: 1 in pareto_set(x)),
        (false_elimination(["b", "d"]), lambda x: bool({1, 3} & pareto_set(x))),
        (false_elimination({"b": "a", "c": "a"}), lambda x: bool({1, 2} & pareto_set(x))),
        (
            false_elimination(["b", "d"], by=iter("bcd")),
            lambda x: any(not any((x[:, i] > x[:, out]).all() for i in (1, 2, 3)) for out in (1, 3)),
        ),
        (portfolio_beats(["a", "b"], ["c", "d"], at=10), lambda x: x[0, :2].sum() > x[0, 2:].sum()),
        (portfolio_beats(["a", "a"], ["c", "d"], at=100), lambda x: 2 * x[1, 0] > x[1, 2] + x[1, 3]),
        (better("a", "b", at=10) & ~dominates("c", "d"), lambda x: x[0, 0] > x[0, 1] and (x[:, 2] <= x[:, 3]).any()),
        (better("a", "b", at=10) | best("d", at=100), lambda x: x[0, 0] > x[0, 1] or x[1].argmax() == 3),
        (where(lambda x: x[:, 0, 0] > 0.5) & better("a", "b", at=10), lambda x: x[0, 0] > 0.5),
    ],
)
def test_every_event_is_what_a_loop_over_the_draws_finds(event, holds):
    assert 0.01 < FOUND.probability(event) < 0.99
    assert FOUND.probability(event) == share(holds)


def test_plain_functions_are_events():
    assert FOUND.probability(lambda x: x[:, 0, 0] > x[:, 2, 1]) == share(lambda x: x[0, 0] > x[2, 1])
    assert FOUND.probability(lambda x: [True] * len(x)) == 1.0


def test_indices_and_names_are_the_same():
    assert FOUND.probability(better(0, np.int64(1), at=10)) == FOUND.probability(better("a", "b", at=10.0))
    assert FOUND.probability(portfolio_beats(0, 1, at=10)) == FOUND.probability(better("a", "b", at=10))


def test_laws_of_probability():
    one, other = better("a", "b", at=10), dominated("c")
    p = FOUND.probability
    assert p(one) + p(~one) == pytest.approx(1.0)
    assert p(one | other) == pytest.approx(p(one) + p(other) - p(one & other))
    assert p(~(one | other)) == p(~one & ~other)
    assert p(one & ~one) == 0.0


def test_neither_dominates_means_crossing_unless_ratings_are_equal():
    belief = posterior(np.concatenate([DRAWS[2::5], DRAWS[3::5], DRAWS[4::5]]))
    for a, b in combinations(NAMES, 2):
        either = dominates(a, b) | dominates(b, a)
        assert belief.probability(either) + belief.probability(crossing(a, b)) == pytest.approx(1.0)
    either = dominates("b", "c") | dominates("c", "b") | crossing("b", "c")
    ahead = {tuple(np.unique(np.sign(x[:, 1] - x[:, 2]))) for x in DRAWS}
    assert {(0.0,), (0.0, 1.0), (-1.0, 0.0)} < ahead
    neither = share(lambda x: 0.0 in x[:, 1] - x[:, 2] and len(np.unique(np.sign(x[:, 1] - x[:, 2]))) < 3)
    assert FOUND.probability(~either) == pytest.approx(neither)


def test_the_pareto_set_is_never_empty():
    none = ~in_pareto_set(0) & ~in_pareto_set(1) & ~in_pareto_set(2) & ~in_pareto_set(3)
    assert FOUND.probability(none) == 0.0
    assert FOUND.probability(false_elimination(NAMES)) == 1.0
    assert FOUND.probability(false_elimination([])) == 0.0


def test_false_eliminations_lie_between_the_largest_and_the_sum():
    """Boole's inequality; the joint posterior knows what Bonferroni's bound gives away."""
    each = [FOUND.probability(in_pareto_set(name)) for name in ("b", "c", "d")]
    assert max(each) <= FOUND.probability(false_elimination(["b", "c", "d"])) < sum(each)


@pytest.mark.statistical
def test_a_closed_form():
    """Under Dirichlet(1, 1, 1) at each of T independent timepoints, a dominates b with probability 2^−T."""
    found = posterior(np.random.default_rng(1).dirichlet(np.ones(3), size=(20_000, 3)))
    error = 4 * np.sqrt(0.125 * 0.875 / 20_000)
    assert found.probability(dominates("a", "b")) == pytest.approx(1 / 8, abs=error)
    assert found.probability(best("a", at=TIMES)) == pytest.approx(1 / 27, abs=error)
    inside = found.probability(dominated("a", by="b")) + found.probability(dominated("a", by="c"))
    both = found.probability(dominates("b", "a") & dominates("c", "a"))
    assert found.probability(dominated("a")) == pytest.approx(inside - both)
    assert both == pytest.approx(1 / 27, abs=error)


class TestWithoutAJointPosterior:
    marginal = drawn(joint=False)

    @pytest.mark.parametrize(
        "event",
        [
            dominates("a", "b"),
            dominated("a"),
            in_pareto_set("a"),
            crossing("a", "b"),
            false_elimination(["a"]),
            better("a", "b", at=[10, 100]),
            better("a", "b", at=10) & better("a", "b", at=100),
            better("a", "b", at=10) | ~best("a", at=1000),
            equivalent("a", "b", 0.05, at=TIMES),
            lambda x: x[:, 0, 0] > 0.5,
        ],
    )
    def test_several_timepoints_are_refused(self, event):
        with pytest.raises(
            ValueError,
            match=r"needs a joint posterior over time.*fit pb\.inference\.InstanceBootstrap\(\), .*Posterior\.at",
        ):
            self.marginal.probability(event)

    def test_one_timepoint_is_answered(self):
        event = (better("a", "b", at=10) | best("c", at=10)) & ~equivalent("a", "d", 0.01, at=10.0 * (1 + 1e-12))
        assert self.marginal.probability(event) == FOUND.probability(event)
        assert self.marginal.probability(false_elimination([])) == 0.0

    def test_with_a_single_timepoint_there_is_nothing_to_join(self):
        alone = posterior(DRAWS[:, 1:2], joint=False, times=TIMES[1:2])
        assert alone.probability(dominates("a", "b")) == alone.probability(better("a", "b", at=100))
        assert alone.probability(lambda x: x[:, 0, 0] > 0.5) == FOUND.probability(where(lambda x: x[:, 1, 0] > 0.5))
        np.testing.assert_array_equal(alone.dominance_probabilities()[0, 1], alone.probability_dominates(0, 1))


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match=r"there is no algorithm 'z'; the algorithms are a, b, c, d"):
        FOUND.probability(better("a", "z", at=10))
    with pytest.raises(ValueError, match=r"there is no timepoint 90 among the 3 from 10 to 1000; the nearest is 100"):
        FOUND.probability(better("a", "b", at=90))
    with pytest.raises(ValueError, match=r"at is \[\]; give one or more finite timepoints"):
        better("a", "b", at=[])
    with pytest.raises(ValueError, match=r"at is None"):
        better("a", "b", at=None)
    with pytest.raises(ValueError, match=r"epsilon is 0\.5"):
        equivalent("a", "b", 0.5, at=10)
    with pytest.raises(ValueError, match="give at least one"):
        portfolio_beats([], ["a"], at=10)
    with pytest.raises(ValueError, match=r"array of float64 of shape \(400,\); it must return one boolean for each of"):
        FOUND.probability(lambda x: x[:, 0, 0])
    with pytest.raises(ValueError, match=r"of shape \(400, 4\)"):
        FOUND.probability(lambda x: x[:, 0] > 0.5)
    with pytest.raises(TypeError, match=r"combine events with &"):
        bool(better("a", "b", at=10))


def test_events_know_their_timepoints():
    assert dominates("a", "b").times is None
    assert better("a", "b", at=[10, 100]).times == {10.0, 100.0}
    assert (better("a", "b", at=10) & better("a", "b", at=100)).times == {10.0, 100.0}
    assert (better("a", "b", at=10) | crossing("a", "b")).times is None
    assert (~better("a", "b", at=10)).times == {10.0}
    assert isinstance(events.where(lambda x: x[:, 0, 0] > 0), Event)

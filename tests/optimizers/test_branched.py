"""Runs once more, which from some evaluation on take another way."""

import numpy as np
import pytest

from polarbear.optimizers import ModularCMAES, ModularDE, Pymoo, Switch, from_description
from polarbear.optimizers.switch import Branched
from tests.optimizers.seen import Seen, sphere
from tests.optimizers.test_switch import rastrigin

AT, BUDGET, SEED = 100, 400, 20
WAITING = {"random-search": 256}
"""Points drawn at once; others have drawn a generation at most."""
NAMES = (
    *("modular-cmaes-anytime", "modular-de", "cmaes", "random-search", "scipy-de", "cma-es", "pymoo-PSO"),
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("pycma", "pymoo-CMAES", "nevergrad-DE")),
)


def points_of(optimizer, seed=SEED):
    return np.array(Seen(rastrigin, 2, BUDGET).run(optimizer, np.random.SeedSequence(seed)).points)


def staying(first, after):
    return points_of(Branched(first=first, second=None, at=AT, before=SEED, after=after, name="stay"), seed=99)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_stays_is_repeated_and_goes_on_by_another_chance(name):
    first = from_description({"optimizer": name})
    alone, one, other = points_of(first), staying(first, 1), staying(first, 2)
    np.testing.assert_array_equal(one[:AT], alone[:AT])
    np.testing.assert_array_equal(one, staying(first, 1))
    for differing in (alone, other):
        place = int((one != differing).any(axis=1).argmax())
        assert AT <= place <= WAITING.get(name, AT + 50)


def test_without_chance_all_that_stay_are_alike():
    first = from_description({"optimizer": "scipy-minimize", "restarts": False})
    np.testing.assert_array_equal(staying(first, 1), points_of(first))


def test_another_takes_over_what_is_left_where_the_generation_ends():
    first, second = ModularCMAES.anytime(), ModularDE()
    branched = points_of(Branched(first=first, second=second, at=AT, before=SEED, after=1, name="DE"), seed=99)
    alone, switched = points_of(first), points_of(Switch(first, second, at=AT))
    generation = 4 + int(3 * np.log(2))
    end = -(-AT // generation) * generation
    np.testing.assert_array_equal(branched[:end], alone[:end])
    np.testing.assert_array_equal(switched[:end], alone[:end])
    assert not np.array_equal(branched[end], alone[end])
    again = points_of(Branched(first=first, second=second, at=AT, before=SEED, after=1, name="DE"), seed=5)
    np.testing.assert_array_equal(again, branched)


@pytest.mark.parametrize(
    "algorithm", ["PSO", *(pytest.param(name, marks=pytest.mark.slow) for name in ("GA", "DE", "CMAES", "NelderMead"))]
)
def test_pymoo_starts_from_the_latest_points_and_the_best_one(algorithm):
    """From far more points than it takes; a fresh start in a box of width 10 would find nothing as good at once."""
    first, second = ModularCMAES.anytime(), Pymoo(algorithm=algorithm)
    seen = Seen(sphere, 5, 500).run(Switch(first, second, at=400))
    before, after = np.array(seen.values[:400]), np.array(seen.values[408:])
    assert np.median(after) < 1e3 * before[-50:].max()
    assert np.median(Seen(sphere, 5, 92).run(second).values) > 1e3 * before[-50:].max()


def test_pymoo_draws_what_is_missing():
    """Of 25 particles ten are known; fifteen are evaluated before any moves."""
    seen = Seen(sphere, 2, 60).run(Switch(from_description({"optimizer": "cmaes"}), Pymoo(algorithm="PSO"), at=10))
    drawn = np.array(seen.points[10:25])
    assert (drawn.std(axis=0) > 1.5).all()  # of a Latin hypercube of width 10: 2.9

"""Restarts with growing budgets."""

import json
import sys
from dataclasses import dataclass

import cloudpickle
import numpy as np
import pytest

from polarbear import optimizers
from polarbear.optimizers import GrowingBudgets, describe, from_description
from polarbear.records import Reason
from tests.optimizers.seen import Seen, half_plane, run_task, sphere

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclass(frozen=True)
class Diagonal:
    """Budget-dependent: walks from the lower corner to the upper one in `budget` equal steps, then goes on for ever."""

    budget: int = 7
    batch: int = 0
    swallows: bool = False
    name: str = "diagonal"

    def __call__(self, problem, rng):
        rng.uniform()
        step = 0
        while True:
            points = [
                problem.lower + (problem.upper - problem.lower) * min(step + i, self.budget) / self.budget
                for i in range(max(self.batch, 1))
            ]
            step += len(points)
            try:
                problem(np.array(points) if self.batch else points[0])
            except BaseException:
                if not self.swallows or step > 10_000:
                    raise


@dataclass(frozen=True)
class Brief:
    """Ends after half of its budget, or at once."""

    budget: int = 7
    share: float = 0.5
    name: str = "brief"

    def __call__(self, problem, rng):
        for _ in range(int(self.budget * self.share)):
            problem(rng.uniform(problem.lower, problem.upper))


def starts(run):
    """Where a walk began anew."""
    return [i for i, point in enumerate(run.points) if (point == run.lower).all()]


@pytest.mark.parametrize("batch", [0, 1, 4, 100])
def test_budgets_are_10_20_40(batch):
    run = Seen(sphere, 1, 150).run(GrowingBudgets(Diagonal(batch=batch), first=10))
    assert run.stopped
    assert len(run.points) == 150
    assert starts(run) == [0, 10, 30, 70]
    for first, budget in ((0, 10), (10, 20), (30, 40)):
        walk = np.array(run.points[first : first + budget])[:, 0]
        np.testing.assert_allclose(walk, -5 + 10 * np.arange(budget) / budget, atol=1e-12)


@pytest.mark.parametrize(
    ("first", "factor", "dimension", "expected"),
    [
        ("10*d", 2, 3, (30, 60, 120, 240)),
        ("d", 3, 4, (4, 12, 36, 108)),
        ("2.5 * D", 2, 3, (8, 16, 32, 64)),
        (5, 1.5, 9, (5, 8, 12, 18)),
        (1, 1.1, 9, (1, 2, 3, 4)),
        (1e6, 10, 2, (10**6, 10**7, 10**8, 10**9)),
    ],
)
def test_budgets_by_hand(first, factor, dimension, expected):
    assert GrowingBudgets(Diagonal(), first=first, factor=factor).budgets(dimension, 4) == expected


def test_the_run_s_own_stop_passes():
    """The stop falls together with the end of a share, and in the midst of one."""
    for budget in (29, 30, 31, 69, 70, 71):
        run = Seen(sphere, 1, budget).run(GrowingBudgets(Diagonal(), first=10))
        assert (run.stopped, len(run.points)) == (True, budget)
        trajectory = run_task(GrowingBudgets(Diagonal(), first=10), dimension=1, budget=budget).trajectory
        assert (trajectory.outcome.reason, trajectory.outcome.evaluations) == (Reason.BUDGET, budget)


def test_an_optimizer_that_swallows_the_end_of_its_share_meets_it_again():
    run = Seen(sphere, 1, 10).run(GrowingBudgets(Diagonal(swallows=True), first=10))
    assert len(run.points) == 10


def test_one_that_ends_early_is_followed_by_the_next():
    run = Seen(sphere, 2, 100).run(GrowingBudgets(Brief(), first=10))  # 5 + 10 + 20 + 40 + 25
    assert (run.stopped, len(run.points)) == (True, 100)


def test_one_that_evaluates_nothing_ends_the_run():
    run = Seen(sphere, 2, 100).run(GrowingBudgets(Brief(share=0.0), first=10))
    assert (run.stopped, len(run.points)) == (False, 0)


def test_families_of_families_keep_their_shares_apart():
    """The inner budgets 2, 4, 8, … start anew whenever the outer share is spent."""
    inner = GrowingBudgets(Diagonal(), first=2)
    outer = GrowingBudgets(inner, argument="first", first=6)
    run = Seen(sphere, 1, 100).run(outer)
    assert starts(run)[:6] == [0, 6, 18, 42, 90]


def test_members_differ_and_are_reproducible():
    runs = [Seen(sphere, 2, 200).run(GrowingBudgets(Brief(), first=10), seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0].points, runs[1].points)
    assert not np.array_equal(runs[0].points, runs[2].points)
    assert not np.array_equal(runs[0].points[:5], runs[0].points[5:10])


def test_constraints_of_other_points_count_in_the_share():
    asked = []

    @dataclass(frozen=True)
    class Asks:
        budget: int = 3
        name: str = "asks"

        def __call__(self, problem, rng):
            asked.append(0)
            while True:
                x = rng.uniform(problem.lower, problem.upper)
                problem(x)
                problem.constraints(x)
                problem.constraints(x + 0.1)
                asked[-1] += 1

    run = Seen(sphere, 2, 28, half_plane).run(GrowingBudgets(Asks(), first=4))
    assert asked == [2, 4, 8, 0]
    assert (len(run.points), run.extra) == (14, 14)


def test_what_the_member_exposes_and_recommends_passes():
    @dataclass(frozen=True)
    class Tells:
        budget: int = 3
        name: str = "tells"

        def __call__(self, problem, rng):
            optimizers.expose(problem, told=lambda: 2.0 * self.budget)
            optimizers.recommend(problem, lambda: problem.upper)
            problem(problem.lower)

    run = Seen(sphere, 2, 4).run(GrowingBudgets(Tells(), first=10))
    assert run.exposed["budget"]() == 160
    assert run.exposed["told"]() == 320
    np.testing.assert_array_equal(run.recommended(), [5, 5])
    assert run.traits is not None


def test_the_member_s_search_distribution_is_handed_on():
    pytest.importorskip("greenlet", reason="greenlet is not installed (extra asktell)")
    family = GrowingBudgets(optimizers.CMAES(), argument="population_size", first=6)
    with optimizers.AskTell(family, [-5, -5], [5, 5], np.random.default_rng(1)) as search:
        for _ in range(50):
            search.tell(sphere(search.ask()))
        start = search.warm_start
    assert start.evaluations == 50
    assert (start.mean.shape, start.covariance.shape) == ((2,), (2, 2))


def test_descriptions_are_nested():
    family = GrowingBudgets(optimizers.Nevergrad(algorithm="LHSSearch", budget=1), first="5*d", factor=3)
    description = json.loads(json.dumps(describe(family)))
    assert description == {
        "optimizer": "growing-budgets",
        "family": {"optimizer": "nevergrad", "algorithm": "LHSSearch", "budget": 1},
        "first": "5*d",
        "factor": 3.0,
    }
    assert from_description(description) == family
    assert hash(from_description(description)) == hash(family)
    assert family.name == "growing-nevergrad-LHSSearch-budget=1-first=5*d-factor=3.0"


def test_a_budget_dependent_optimizer_runs():
    pytest.importorskip("nevergrad")
    family = GrowingBudgets(optimizers.Nevergrad(algorithm="ScrHammersleySearch", budget=1))
    outcome = run_task(family, dimension=2, budget=300).trajectory.outcome
    assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 300), outcome.message


UNKNOWN_FAMILY = {"optimizer": "growing-budgets", "family": {"optimizer": "modular-cmae"}}


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (
            lambda: GrowingBudgets(Diagonal(), argument="budgt"),
            ValueError,
            "diagonal has no argument 'budgt'.*'budget'",
        ),
        (lambda: GrowingBudgets(optimizers.RandomSearch()), ValueError, "RandomSearch has no argument 'budget'"),
        (lambda: GrowingBudgets(Diagonal(), first="10*n"), ValueError, "multiple of the dimension such as '10"),
        (lambda: GrowingBudgets(Diagonal(), first=0), ValueError, "first is 0"),
        (lambda: GrowingBudgets(Diagonal(), factor=1.0), ValueError, "factor is 1.0; it must be from 1.000001 to"),
        (
            lambda: optimizers.from_description(
                {"optimizer": "growing-budgets", "family": {"optimizer": "modular-cmae"}}
            ),
            ValueError,
            "did you mean 'modular-",
        ),
        (lambda: GrowingBudgets(3), TypeError, "3 cannot be called"),
    ],
)
def test_wrong_arguments_are_named(make, error, complaint):
    with pytest.raises(error, match=complaint):
        make()


def test_the_argument_that_grows_is_part_of_the_name():
    family = optimizers.ScipyDifferentialEvolution()
    names = {optimizers.GrowingBudgets(family, argument=argument).name for argument in ("maxiter", "popsize")}
    assert len(names) == 2


def test_names_of_families_of_families_tell_whose_settings_they_are():
    inner = GrowingBudgets(GrowingBudgets(Diagonal(), first=5), argument="first")
    outer = GrowingBudgets(GrowingBudgets(Diagonal()), argument="first", first=5)
    assert inner != outer
    assert inner.name == "growing-(growing-diagonal-first=5)-argument=first"
    assert outer.name == "growing-(growing-diagonal)-argument=first-first=5"


def test_it_refuses_what_its_family_does():
    family, problem = GrowingBudgets(optimizers.ModularDE()), Seen(objectives=2)
    with pytest.raises(ValueError, match="ModularDE minimizes one objective; the problem has 2"):
        family(problem, np.random.default_rng())
    assert "minimizes one objective" in optimizers.refusal(family, problem.traits, 2)
    assert optimizers.refusal(GrowingBudgets(Diagonal()), problem.traits, 2) == ""

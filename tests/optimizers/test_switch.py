"""Switching from one optimizer to another within a run."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import rosen

from polarbear.optimizers import NLopt, Progress, RandomSearch, Space, Switch, describe, from_description
from polarbear.optimizers.adapters.modcma import FAULTY, OPTIONS
from polarbear.optimizers.transfer import search_starts
from polarbear.protocols import Traits, WarmStart
from tests.optimizers.seen import Seen, half_plane

MODULES = [
    *({"step_size_adaptation": word} for word in OPTIONS["step_size_adaptation"] if word not in FAULTY),
    *({"matrix_adaptation": word} for word in OPTIONS["matrix_adaptation"]),
    *({"sampler": word} for word in OPTIONS["sampler"]),
    *({"mirrored": word} for word in OPTIONS["mirrored"]),
    {"elitist": True},
    {"orthogonal": True},
    {"sequential_selection": True},
    {"sample_sigma": True},
]


def ellipsoid(x):
    """With condition number 1e6, not along the axes."""
    d = len(x)
    turned = np.linalg.qr(np.vander(np.linspace(0.5, 1.5, d)))[0] @ (x - 0.7)
    return float(10 ** np.linspace(0, 6, d) @ turned**2)


def valley(x):
    """Rosenbrock's."""
    return float(rosen(x + 0.3))


MODERATE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.5]])
"""The inverse Hessian of `moderate`."""


def moderate(x):
    """A quadratic function, best at 1.5 everywhere."""
    return float((x - 1.5) @ np.linalg.solve(MODERATE, x - 1.5) / 2)


def rastrigin(x):
    return float(10 * len(x) + np.sum((x - 0.3) ** 2 - 10 * np.cos(2 * np.pi * (x - 0.3))))


def modular(**fields):
    return from_description({"optimizer": "modular-cmaes-anytime", **fields})


@dataclass
class Watching(Seen):
    """Also keeps what can be started from, as it was at each evaluation."""

    def __post_init__(self):
        super().__post_init__()
        self.offered, self.starts = None, []

    def offer_warm_start(self, getter):
        self.offered = getter

    def __call__(self, x):
        if np.ndim(x) == 1 and self.offered is not None:
            self.starts.append((self.exposed["stage"](), self.offered()))
        return super().__call__(x)

    @property
    def first_of_the_second(self):
        """What the second optimizer offered before its first evaluation."""
        return next(start for stage, start in self.starts if stage == 2.0)


@dataclass(frozen=True)
class Grid:
    """A function of its own loop, which knows nothing of steps; ends after `points`."""

    points: int = 1_000
    name: str = "grid"

    def __call__(self, problem, rng):
        for share in np.linspace(0, 1, self.points):
            problem(problem.lower + share * (problem.upper - problem.lower))


def stagnates(now: Progress) -> bool:
    points, values = now.latest
    assert len(points) == len(values) == min(now.evaluations, 1_000)
    return now.evaluations > 30 and values[-20:].min() > now.value


def note(left, evaluations):
    """A rule that switches after so many evaluations and keeps what is left then."""

    def rule(now):
        if now.evaluations >= evaluations:
            left.append(now.warm_start)
        return now.evaluations >= evaluations

    return rule


def run(optimizer, function=rastrigin, **settings):
    seen = Seen(function=function, **({"dimension": 5, "budget": 2_000} | settings))
    seen.run(optimizer)
    return seen


def found(first, second, at, evaluations, transfers, *, function=ellipsoid, seeds=6):
    """(seeds, transfers) log10 of the lowest value in so many evaluations after a switch, from 1e-12."""
    switches = [Switch(first, second, at=at, transfer=transfer) for transfer in transfers]
    lowest = [
        [min(Seen(function, 5, at + evaluations).run(each, seed).values) for each in switches] for seed in range(seeds)
    ]
    return np.log10(np.maximum(lowest, 1e-12))


def gain(first, second, evaluations):
    """How many times lower the value is in so many evaluations after 1,000, if all is transferred.

    The geometric mean over six seeds; beside a fresh start at the best point, and one anywhere, whichever is better.
    """
    everything, best, nothing = found(first, second, 1_000, evaluations, ("everything", "best", "nothing")).mean(axis=0)
    return 10 ** (min(best, nothing) - everything)


class TestModularCMAES:
    @pytest.mark.parametrize("fields", MODULES, ids=str)
    def test_a_switch_to_itself_is_none(self, fields):
        optimizer = modular(**fields)
        alone, switched = run(optimizer), run(Switch(optimizer, optimizer, at=500))
        np.testing.assert_array_equal(switched.points, alone.points)

    @pytest.mark.parametrize("fields", [each for each in MODULES if "sampler" not in each], ids=str)
    def test_a_setting_that_matters_at_restarts_alone_changes_nothing_before(self, fields):
        """The whole state is moved; quasi-random samplers draw from the generator of the process when they are made."""
        first, second = (modular(center_placement=place, **fields) for place in ("X0", "CENTER"))
        alone = run(first, ellipsoid, budget=1_000)
        switched = run(Switch(first, second, at=500), ellipsoid, budget=1_000)
        np.testing.assert_array_equal(switched.points, alone.points)

    @pytest.mark.parametrize("restart_strategy", ["IPOP", "BIPOP", "RESTART"])
    def test_also_after_restarts(self, restart_strategy):
        optimizer = modular(restart_strategy=restart_strategy, center_placement="X0")
        alone = run(optimizer, budget=12_000, dimension=3)
        switched = run(Switch(optimizer, optimizer, at=7_000), budget=12_000, dimension=3)
        np.testing.assert_array_equal(switched.points, alone.points)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ({"step_size_adaptation": "CSA"}, {"step_size_adaptation": "TPA"}),
            ({"step_size_adaptation": "MSR"}, {"step_size_adaptation": "CSA", "mirrored": "PAIRWISE"}),
            ({"step_size_adaptation": "CSA"}, {"step_size_adaptation": "XNES", "weights": "EQUAL"}),
            *(
                ({"matrix_adaptation": one}, {"matrix_adaptation": other})
                for one in ("COVARIANCE", "MATRIX", "CHOLESKY")
                for other in ("COVARIANCE", "MATRIX", "CHOLESKY", "CMSA", "NATURAL_GRADIENT", "SEPARABLE")
                if one != other
            ),
        ],
        ids=str,
    )
    def test_other_modules_go_on_with_the_distribution(self, first, second):
        left = []
        problem = Watching(function=ellipsoid, dimension=5, budget=1_200)
        problem.run(Switch(modular(**first), modular(**second), rule=note(left, 1_000)))
        (old,), new = left, problem.first_of_the_second
        assert np.linalg.cond(old.covariance) > 100, "there is something to lose"
        np.testing.assert_allclose(new.mean, old.mean, rtol=1e-12)
        assert new.step_size == old.step_size
        expected = np.diag(np.diag(old.covariance)) if "SEPARABLE" in second.values() else old.covariance
        np.testing.assert_allclose(new.covariance, expected, atol=1e-8 * np.abs(expected).max())

    def test_what_is_learned_is_worth_something(self):
        assert gain(modular(), modular(step_size_adaptation="TPA"), 500) > 1e4


class TestDistributions:
    @pytest.mark.parametrize("second", ["noisy-cma-es", "pycma", "cmaes", "modular-cmaes-anytime"])
    def test_of_one_library_go_on_in_another(self, second):
        left = []
        problem = Watching(function=ellipsoid, dimension=5, budget=1_200, width=4.0)
        problem.run(Switch("noisy-cma-es" if "modular" in second else modular(), second, rule=note(left, 1_000)))
        (old,), new = left, problem.first_of_the_second
        np.testing.assert_allclose(new.mean, old.mean, rtol=1e-9)
        expected = old.step_size**2 * old.covariance
        if second == "pycma":  # whose options take standard deviations alone
            expected = np.diag(np.diag(expected))
        np.testing.assert_allclose(new.step_size**2 * new.covariance, expected, atol=1e-3 * np.abs(expected).max())

    def test_are_made_of_the_three_best_points_where_there_is_none(self):
        problem = Watching(dimension=3, budget=130)
        problem.run(Switch(RandomSearch(), "noisy-cma-es", at=100))
        best = np.array(problem.points[:100])[np.argsort(problem.values[:100])[:3]]
        np.testing.assert_allclose(problem.first_of_the_second.mean, best.mean(axis=0))
        assert problem.first_of_the_second.step_size == pytest.approx(np.sqrt(best.var(axis=0).mean()) / 10)


WHOLE = [
    ("cma", {"optimizer": "pycma"}),
    ("cma", {"optimizer": "pycma", "restart_strategy": "BIPOP"}),
    ("cmaes", {"optimizer": "cmaes"}),
    ("cmaes", {"optimizer": "cmaes", "separable": True}),
    ("cmaes", {"optimizer": "cmaes", "learning_rate_adaptation": True}),
    ("numpy", {"optimizer": "noisy-cma-es"}),
    ("modde", {"optimizer": "modular-de"}),
    ("modde", {"optimizer": "modular-de-shade"}),
    ("pymoo", {"optimizer": "pymoo-PSO"}),
]
"""Packages, and optimizers whose whole state is moved to equal settings."""


class TestOneself:
    @pytest.mark.parametrize("function", [ellipsoid, rastrigin])
    @pytest.mark.parametrize(("package", "described"), WHOLE, ids=lambda each: str(each))
    def test_a_switch_to_equal_settings_is_none(self, package, described, function):
        pytest.importorskip(package)
        optimizer = from_description(described)
        settings = {"function": function, "dimension": 4, "budget": 900}
        alone, switched = run(optimizer, **settings), run(Switch(optimizer, optimizer, at=400), **settings)
        np.testing.assert_array_equal(switched.points, alone.points)

    def test_nevergrad_is_told_its_own_latest_points(self):
        pytest.importorskip("nevergrad")
        optimizer = from_description({"optimizer": "nevergrad-DE"})
        told, alone = (
            run(Switch(optimizer, optimizer, at=300, transfer=transfer), ellipsoid, budget=400)
            for transfer in ("everything", "nothing")
        )
        assert min(told.values[300:]) < min(alone.values[300:])

    def test_also_after_restarts(self):
        """Of `cma`, whose starts end sooner on a flat function."""
        pytest.importorskip("cma")
        optimizer = from_description({"optimizer": "pycma", "restart_strategy": "IPOP"})
        settings = {"function": rastrigin, "dimension": 2, "budget": 3_000}
        alone, switched = run(optimizer, **settings), run(Switch(optimizer, optimizer, at=2_000), **settings)
        np.testing.assert_array_equal(switched.points, alone.points)


class TestHandovers:
    @pytest.mark.parametrize("function", [ellipsoid, valley])
    @pytest.mark.parametrize(
        "first", ["scipy-BFGS", "scipy-L-BFGS-B", "scipy-SLSQP", "scipy-Nelder-Mead", "random-search", "cmaes"]
    )
    def test_to_a_cma_es_are_no_worse_than_a_new_start(self, first, function):
        """A step size made of one point, or of the points of finite differences, would freeze it."""
        transfers = ("everything", "best", "nothing")
        values = found(
            from_description({"optimizer": first}), modular(), 100, 600, transfers, function=function, seeds=8
        )
        lost = values[:, :2] - values[:, 2:]
        assert (lost.mean(axis=0) <= 2 * lost.std(axis=0, ddof=1) / np.sqrt(len(lost)) + 1e-9).all()

    @pytest.mark.parametrize("first", ["scipy-BFGS", "scipy-L-BFGS-B"])
    def test_of_a_quasi_newton_method_bring_its_inverse_hessian(self, first):
        left = []
        optimizer = from_description({"optimizer": first, "restarts": False})
        run(Switch(optimizer, RandomSearch(), rule=note(left, 24)), moderate, dimension=3, budget=200)
        (start,) = left
        curvature = start.covariance * np.trace(MODERATE) / (3 * 0.1 * 100)  # σ²C in box widths has mean eigenvalue 0.1
        assert np.linalg.norm(curvature - MODERATE) < 0.2 * np.linalg.norm(MODERATE)
        np.testing.assert_array_equal(start.mean, start.best)

    def test_of_points_as_near_as_finite_differences_begin_there_as_a_new_start(self):
        problem = Watching(moderate, dimension=3, budget=300)
        problem.run(Switch(from_description({"optimizer": "scipy-SLSQP", "restarts": False}), modular(), at=200))
        assert problem.first_of_the_second.step_size == 0.2
        np.testing.assert_allclose(problem.first_of_the_second.mean, 1.5, atol=1e-3)

    def test_of_one_point_begin_there_as_a_new_start(self):
        problem = Watching(dimension=3, budget=130)
        problem.run(Switch(RandomSearch(), "noisy-cma-es", at=100, transfer="best"))
        np.testing.assert_allclose(
            problem.first_of_the_second.mean, problem.points[int(np.argmin(problem.values[:100]))]
        )
        assert problem.first_of_the_second.step_size == 0.2

    def test_of_bfgs_to_itself_lose_little(self):
        optimizer = from_description({"optimizer": "scipy-BFGS"})
        everything, nothing = found(optimizer, optimizer, 100, 60, ("everything", "nothing")).mean(axis=0)
        assert everything < nothing - 1


class TestPopulations:
    def test_of_one_differential_evolution_go_on_in_another(self):
        pytest.importorskip("modde")
        first, second = (
            from_description({"optimizer": f"modular-de-{variant}", "population_size": 20})
            for variant in ("qin1", "shade")
        )
        left = []
        problem = Watching(dimension=4, budget=700)
        problem.run(Switch(first, second, rule=note(left, 500)))
        np.testing.assert_allclose(
            np.sort(problem.first_of_the_second.population, axis=0), np.sort(left[0].population, axis=0)
        )

    def test_are_the_latest_points_where_there_is_none_and_new_ones_where_these_are_too_few(self):
        pytest.importorskip("modde")
        second = from_description({"optimizer": "modular-de", "population_size": 30})
        problem = Watching(dimension=4, budget=60)
        problem.run(Switch(RandomSearch(), second, at=20))
        start = next(start for stage, start in problem.starts if stage == 2.0 and start.population is not None)
        known = {tuple(point) for point in np.round(problem.points[:30], 9)}
        assert {tuple(point) for point in np.round(start.population, 9)} == known, "20 known ones and 10 new ones"

    def test_are_told_to_nevergrad(self):
        pytest.importorskip("nevergrad")
        told, alone = (
            run(Switch(RandomSearch(), "nevergrad-DE", at=300, transfer=transfer), ellipsoid, budget=330)
            for transfer in ("everything", "nothing")
        )
        assert not np.array_equal(told.points[300:], alone.points[300:])

    def test_nevergrad_says_which_of_its_optimizers_takes_none(self):
        pytest.importorskip("nevergrad")
        with pytest.raises(ValueError, match="accepts only points that it has asked for; set transfer='nothing'"):
            run(Switch(RandomSearch(), "nevergrad-SQP", at=20), budget=100)


class TestPoints:
    @pytest.mark.parametrize("second", ["scipy-Nelder-Mead", "scipy-BFGS", "scipy-dual-annealing", "nlopt-COBYLA"])
    def test_local_searches_start_at_the_best_one(self, second):
        seen = run(Switch(RandomSearch(), second, at=50), budget=60)
        np.testing.assert_allclose(seen.points[50], seen.points[int(np.argmin(seen.values[:50]))])

    def test_bfgs_takes_the_matrix(self):
        """Of a quadratic function the inverse Hessian but for its scale: few more gradients lead to the optimum."""
        assert gain(modular(), "scipy-BFGS", 60) > 10

    def test_scipys_differential_evolution_begins_with_the_latest(self):
        seen = run(Switch(RandomSearch(), "scipy-DE", at=100), budget=175)
        np.testing.assert_allclose(np.sort(seen.points[100:175], axis=0), np.sort(seen.points[25:100], axis=0))


class TestLinkage:
    """MLSL begins with what is known: local searches from the best points that have no better one nearby."""

    def test_starts_are_the_best_of_each_cluster(self):
        box = Space([0.0, 0.0], [1.0, 10.0])
        corners = np.array([[0.2, 2.0], [0.8, 8.0]])
        low = np.concatenate([corners, corners + np.array([0.05, 0.5])])
        rest = np.random.default_rng(1).uniform(box.lower, box.upper, (36, 2))
        values = np.concatenate([[2.0, 1.0, 3.0, 4.0], np.full(36, 9.0)])
        start = WarmStart(evaluations=40, population=np.concatenate([low, rest]), values=values)
        np.testing.assert_array_equal(search_starts(start, box), corners[::-1])  # r = 0.242 of the box's sides
        beside = replace(start, population=np.concatenate([[[0.2, 2.0], [0.441, 2.0]], low[2:], rest]))
        own = low[3].tolist()  # its corner has gone
        assert search_starts(beside, box).tolist() == [[0.441, 2.0], own]  # the other is 0.241 away
        apart = replace(start, population=np.concatenate([[[0.2, 2.0], [0.444, 2.0]], low[2:], rest]))
        assert search_starts(apart, box).tolist() == [[0.444, 2.0], [0.2, 2.0], own]

    def test_of_nothing_there_is_none_and_of_one_point_it_is_that(self):
        box = Space([0.0, 0.0], [1.0, 1.0])
        assert search_starts(WarmStart(evaluations=0), box).shape == (0, 2)
        one = WarmStart(evaluations=1, best=np.array([0.5, 0.1]), value=1.0)
        np.testing.assert_array_equal(search_starts(one, box), [[0.5, 0.1]])

    @pytest.mark.parametrize("local", [None, "LN_NELDERMEAD", "LN_NEWUOA"])
    def test_each_is_searched_from_in_turn(self, local):
        pytest.importorskip("nlopt")
        seen = run(Switch(RandomSearch(), NLopt(algorithm="GN_MLSL", local=local), at=200), budget=4_000, dimension=2)
        known = WarmStart(evaluations=200, population=np.array(seen.points[:200]), values=np.array(seen.values[:200]))
        starts = search_starts(known, Space(seen.lower, seen.upper))
        assert len(starts) > 1
        after = np.array(seen.points[200:])
        where = [int(np.flatnonzero(np.abs(after - each).max(axis=1) < 1e-12)[0]) for each in starts]
        assert where[0] == 0
        assert where == sorted(where)
        assert min(seen.values[200 : 200 + where[1]]) < seen.values[200], "the first search got somewhere"


class TestWhen:
    def test_after_evaluations(self):
        for at in (12, "4*d"):
            seen = run(Switch(Grid(), RandomSearch(), at=at, transfer="nothing"), dimension=3, budget=40)
            stopped = np.linspace(0, 1, 1_000)[:12, np.newaxis] * 10 - 5
            np.testing.assert_allclose(seen.points[:12], np.broadcast_to(stopped, (12, 3)))
            assert not np.allclose(seen.points[12], seen.points[12][0])

    def test_at_a_value(self):
        seen = run(Switch(RandomSearch(), Grid(), value=20.0, transfer="nothing"), budget=500, dimension=2)
        first = next(k for k, value in enumerate(seen.values) if value <= 20.0)
        np.testing.assert_array_equal(seen.points[first + 1], seen.lower)

    def test_by_a_rule(self):
        seen = run(Switch(RandomSearch(), Grid(), rule=stagnates, transfer="nothing"), budget=500, dimension=2)
        switch = next(k for k, point in enumerate(seen.points) if (point == seen.lower).all())
        assert min(seen.values[switch - 20 : switch]) > min(seen.values[:switch])
        assert switch > 30

    def test_generations_are_not_cut(self):
        problem = Watching(dimension=4, budget=100)
        problem.run(Switch("noisy-cma-es", RandomSearch(), at=12))  # 8 points per generation
        assert [stage for stage, _ in problem.starts].count(1.0) == 16

    def test_when_the_first_has_ended(self):
        seen = run(Switch(Grid(5), RandomSearch(), at=500, transfer="nothing"), budget=40, dimension=2)
        assert len(seen.points) == 40

    def test_a_switch_within_a_switch(self):
        inner = Switch(RandomSearch(), Grid(), at=10, transfer="nothing")
        seen = run(Switch(inner, RandomSearch(), at=20, transfer="nothing"), budget=60, dimension=2)
        np.testing.assert_array_equal(seen.points[10], seen.lower)
        assert np.allclose(seen.points[19], seen.points[19][0]), "the grid's last"
        assert not np.allclose(seen.points[20], seen.points[20][0])


def test_the_state_exposed_is_that_of_the_present_optimizer():
    seen = Seen(dimension=3, budget=100)
    seen.run(Switch("noisy-cma-es", "random-search", at=50))
    assert seen.exposed["stage"]() == 2.0


def test_descriptions_are_nested():
    switch = Switch("random-search", modular(step_size_adaptation="TPA"), at="10*d", value=1e-3)
    described = describe(switch)
    assert described["second"] == {"optimizer": "modular-cmaes-anytime", "step_size_adaptation": "TPA"}
    assert from_description(json.loads(json.dumps(described))) == switch
    ruled = Switch("random-search", "random-search", rule="tests.optimizers.test_switch:stagnates")
    assert ruled.rule is stagnates
    assert ruled.name == "RandomSearch→RandomSearch-rule=stagnates"
    assert from_description(json.loads(json.dumps(describe(ruled)))) == ruled
    assert switch.name == "RandomSearch→CMA-ES-TPA-at=10*d-value=0.001"


def test_when_and_what_are_given_by_place_as_well():
    assert Switch("random-search", "random-search", 5, "best") == Switch(
        "random-search", "random-search", at=5, transfer="best"
    )
    both = Switch("random-search", "random-search", transfer="best", value=2.0)
    assert both.name == "RandomSearch→RandomSearch-value=2.0-transfer=best", "names stay what they were"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Switch("random-search", "random-search"), ValueError, "no switching condition is given; set at=1000"),
        (lambda: Switch("random-search", Grid(), at=5), ValueError, "grid cannot start from another optimizer"),
        (
            lambda: Switch("random-search", NLopt(algorithm="GN_DIRECT"), at=5),
            ValueError,
            "NLopt-GN_DIRECT cannot start from another optimizer; set transfer='nothing'",
        ),
        (lambda: Switch("random-search", "random-search", at=0), ValueError, "at is 0; it must be 1 or more"),
        (lambda: Switch("random-search", "random-search", at="ten"), ValueError, "'ten' is not a budget"),
        (lambda: Switch("random-search", "random-search", rule=3), ValueError, "rule is 3; write it as 'module:name'"),
        (lambda: Switch("random-search", 3, at=5), TypeError, "3"),
        (lambda: Switch("random-search", "random-search", at=5, transfer="all"), ValueError, "transfer"),
    ],
)
def test_wrong_arguments_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_of_two_packages_the_one_that_is_missing_is_named(monkeypatch):
    first, second = (pytest.importorskip(name) and name for name in ("cma", "modde"))
    switch = Switch("pycma", "modular-de", at=5)
    for missing in (first, second):
        with monkeypatch.context() as patch:
            patch.setattr("polarbear.extras.find_spec", lambda name, missing=missing: None if name == missing else name)
            assert switch.requires.module == missing


def test_problems_of_several_objectives_or_with_constraints_are_refused():
    switch = Switch("random-search", "random-search", at=5)
    for traits in (Traits(objectives=2), Traits(constraints=len(half_plane(np.zeros(1))))):
        assert "a single objective without constraints" in switch.refuses(traits, 2)

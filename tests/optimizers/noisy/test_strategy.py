"""CMA-ES of our own, held to the packages `cmaes` and `cma`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

import polarbear as pb
from polarbear.optimizers.driver import drive
from polarbear.optimizers.noisy import CMAES
from polarbear.optimizers.noisy.selection import rank
from polarbear.optimizers.noisy.strategy import Parameters, Search

cmaes = pytest.importorskip("cmaes")


@pytest.mark.parametrize("dimension", [2, 5, 40])
@pytest.mark.parametrize("population", [6, 15, 60])
def test_constants_are_those_of_cmaes(dimension: int, population: int) -> None:
    theirs = vars(cmaes.CMA(mean=np.zeros(dimension), sigma=1.0, population_size=population))
    ours = Parameters(dimension, population)
    assert ours.rank_weights[0] == pytest.approx(np.maximum(theirs["_weights"], 0), rel=1e-12)
    pairs = {
        "mass": "_mu_eff",
        "path_rate": "_c_sigma",
        "damping": "_d_sigma",
        "covariance_path_rate": "_cc",
        "rank_one": "_c1",
        "expected_norm": "_chi_n",
    }
    for name, their_name in pairs.items():
        assert getattr(ours, name) == pytest.approx(theirs[their_name], rel=1e-12), name


@pytest.mark.parametrize("dimension", [2, 5, 40])
@pytest.mark.parametrize("population", [6, 15, 60])
def test_the_covariance_learns_as_fast_as_in_pycma(dimension: int, population: int) -> None:
    """`cmaes` leaves 1/4 out of equation 58, as the first version of the tutorial does."""
    cma = pytest.importorskip("cma")
    settings = {"popsize": population, "verbose": -9}
    theirs = cma.CMAEvolutionStrategy(np.zeros(dimension), 1.0, settings).sp
    ours = Parameters(dimension, population)
    assert ours.rank_mu == pytest.approx(theirs.cmu, rel=1e-12)
    assert ours.rank_weights[1] == pytest.approx(np.array(theirs.weights), rel=1e-6)  # c_1 there is a little smaller


def test_a_generation_from_a_round_distribution_is_that_of_cmaes() -> None:
    """From C = I both roots of C are the same, so that everything has to agree."""
    d, population = 7, 12
    parameters = Parameters(d, population)
    theirs = cmaes.CMA(mean=np.full(d, 0.3), sigma=0.5, population_size=population, seed=1)
    solutions = [(x := theirs.ask(), float(np.sum(x**4) + x[0])) for _ in range(population)]
    points, values = np.array([x for x, _ in solutions]), np.array([value for _, value in solutions])
    parameters.__dict__["rank_mu"] = vars(theirs)["_cmu"]  # without 1/4, see above
    start = Search.start(np.full(d, 0.3), 0.5, diagonal=False)
    after = start.update(parameters, points, start.steps(points), parameters.rank_weights[:, rank(values)])
    theirs.tell(solutions)
    held = vars(theirs)
    assert after.mean == pytest.approx(held["_mean"], rel=1e-12)
    assert after.step_size == pytest.approx(held["_sigma"], rel=1e-12)
    assert after.covariance == pytest.approx(held["_C"], abs=1e-8)  # they add 1e-8 to squared lengths
    assert after.path == pytest.approx(held["_p_sigma"], rel=1e-10)
    assert after.covariance_path == pytest.approx(held["_pc"], rel=1e-10)


def test_the_diagonal_variant_keeps_the_diagonal_of_one_generation() -> None:
    """With the same rates, the diagonal of C is updated as in the full variant."""
    d, population = 5, 10
    full, diagonal = Parameters(d, population), Parameters(d, population, diagonal=True)
    for name in ("rank_one", "rank_mu"):
        diagonal.__dict__[name] = getattr(full, name)
    rng = np.random.default_rng(2)
    steps = rng.standard_normal((population, d))
    weights = full.rank_weights[:, rng.permutation(population)]
    a = Search.start(np.zeros(d), 1.0, diagonal=False).update(full, steps, steps, weights)
    b = Search.start(np.zeros(d), 1.0, diagonal=True).update(diagonal, steps, steps, weights)
    assert b.covariance == pytest.approx(a.covariance.diagonal(), rel=1e-12)
    assert b.step_size == pytest.approx(a.step_size, rel=1e-12)


def test_steps_invert_points() -> None:
    rng = np.random.default_rng(3)
    root = np.linalg.cholesky(np.cov(rng.standard_normal((6, 50))))
    for factor in (root, np.abs(root.diagonal())):
        search = Search(
            mean=rng.standard_normal(6),
            step_size=0.3,
            covariance=factor @ factor.T if factor.ndim == 2 else factor**2,
            factor=factor,
            path=np.zeros(6),
            covariance_path=np.zeros(6),
        )
        steps = rng.standard_normal((9, 6))
        assert search.steps(search.points(steps)) == pytest.approx(steps, abs=1e-12)


class _TargetHit(BaseException):
    pass


class _Sphere:
    """Σ cᵢ (xᵢ - 1)², until a target is hit."""

    constraints = None

    def __init__(self, coefficients: np.ndarray, target: float) -> None:
        self.dimension, self.coefficients, self.target = len(coefficients), coefficients, target
        self.lower, self.upper = np.full(self.dimension, -5.0), np.full(self.dimension, 5.0)
        self.traits = pb.optimizers.Space(self.lower, self.upper).traits
        self.evaluations = 0

    def __call__(self, points: np.ndarray) -> np.ndarray | float:
        values = np.square(points - 1) @ self.coefficients
        self.evaluations += 1 if points.ndim == 1 else len(points)
        if np.min(values) < self.target:
            raise _TargetHit
        return values


def _runtimes(optimizer: object, coefficients: np.ndarray, runs: int) -> list[int]:
    runtimes: list[int] = []
    for seed in range(runs):
        problem = _Sphere(coefficients, 1e-8)
        with pytest.raises(_TargetHit):
            drive(optimizer, problem, np.random.default_rng(seed))
        runtimes.append(problem.evaluations)
    return runtimes


@pytest.mark.parametrize("condition", [1.0, 1e6])
@pytest.mark.parametrize("theirs", ["cmaes", "cma"])
def test_runtimes_are_those_of_the_packages(condition: float, theirs: str) -> None:
    """Medians differ by less than a tenth, which is some three standard errors of 15 runs against 15."""
    pytest.importorskip(theirs)
    coefficients = condition ** (np.arange(6) / 5)
    ours = _runtimes(CMAES(), coefficients, 15)
    reference = pb.optimizers.CMAES() if theirs == "cmaes" else pb.optimizers.PyCMA()
    others = _runtimes(reference, coefficients, 15)
    assert abs(math.log(float(np.median(ours)) / float(np.median(others)))) < 0.1
    assert mannwhitneyu(ours, others).pvalue > 1e-4

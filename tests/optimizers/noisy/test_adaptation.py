"""What adapts to noise: the number of candidates, learning rates, the number of evaluations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from polarbear.optimizers import Space
from polarbear.optimizers.noisy import (
    CMAES,
    LearningRateAdaptation,
    PopulationSizeAdaptation,
    ProbeAndSwitch,
    ReevaluationAdaptation,
)
from polarbear.optimizers.noisy.adaptation import (
    Consistency,
    best_step_size,
    blend,
    expected_length,
    local_step,
)
from polarbear.optimizers.noisy.selection import Generation, Selection, as_selection, rank
from polarbear.optimizers.noisy.strategy import Parameters, Search

STAGES = [LearningRateAdaptation(), PopulationSizeAdaptation(), ReevaluationAdaptation()]
OWN = {"active": False, "restart_strategy": "RESTART"}


def run(optimizer: CMAES, evaluations: int, noise: float, dimension: int = 5):
    """The state after a run on a sphere under normal noise, and the sizes of its batches."""
    box, rng = np.full(dimension, 5.0), np.random.default_rng(3)
    state, sizes = optimizer.init(Space(-box, box), np.random.default_rng(2)), []
    while sum(sizes) < evaluations:
        points = optimizer.ask(state)[0]
        sizes.append(len(points))
        optimizer.tell(state, points, np.square(points).sum(axis=1) + noise * rng.standard_normal(len(points)))
    return state, sizes


@pytest.mark.parametrize("diagonal", [True, False])
def test_the_length_of_a_local_step_is_the_divergence_of_near_distributions(diagonal):
    """Twice the Kullback-Leibler divergence is the squared length by the Fisher information, up to third order."""
    rng, d, small = np.random.default_rng(1), 4, 1e-3
    root = np.diag(rng.uniform(0.5, 2, d)) if diagonal else np.tril(rng.standard_normal((d, d))) + 3 * np.eye(d)
    before = _search(rng.standard_normal(d), 0.7, root @ root.T, diagonal)
    change = rng.standard_normal((d, d))
    change = np.diag(change.diagonal()) if diagonal else change + change.T
    mean = before.mean + small * rng.standard_normal(d)
    after = _search(mean, 0.7 * (1 + small), root @ root.T + small * change, diagonal)
    old, new = (s.step_size**2 * (np.diag(s.covariance) if diagonal else s.covariance) for s in (before, after))
    ratio, moved = np.linalg.solve(old, new), after.mean - before.mean
    divergence = (np.trace(ratio) - d + moved @ np.linalg.solve(old, moved) - np.linalg.slogdet(ratio)[1]) / 2
    squared = sum(float(part @ part) for part in local_step(before, after))
    assert squared == pytest.approx(2 * divergence, rel=10 * small)


def _search(mean, step_size, covariance, diagonal):
    start = Search.start(mean, step_size, diagonal=diagonal)
    if diagonal:
        return replace(start, covariance=covariance.diagonal(), factor=np.sqrt(covariance.diagonal()))
    return replace(start, covariance=covariance, factor=np.linalg.cholesky(covariance))


@pytest.mark.statistical(rate=1e-4)
@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize(("dimension", "population"), [(10, 10), (20, 100)])
def test_steps_by_chance_are_as_long_as_expected(diagonal, dimension, population):
    """In the first generation, where C is the identity, the length of a step has this expectation but for rounding."""
    parameters = Parameters(dimension, population, diagonal, active=False)
    start = Search.start(np.zeros(dimension), 1.0, diagonal=diagonal)
    rng, lengths = np.random.default_rng(4), []
    for _ in range(600):
        steps = rng.standard_normal((population, dimension))
        after = start.update(parameters, steps, steps, parameters.rank_weights[:, rng.permutation(population)])
        lengths.append(sum(float(part @ part) for part in local_step(start, after)))
    faded = (rate * (2 - rate) for rate in (parameters.path_rate, parameters.covariance_path_rate))
    error = np.std(lengths) / math.sqrt(len(lengths))
    assert error < 0.03 * np.mean(lengths)
    assert abs(np.mean(lengths) - expected_length(parameters, *faded)) < 3.9 * error


@pytest.mark.parametrize("population", [6, 15, 40])
def test_the_best_step_size_takes_means_of_ordered_normal_numbers(population):
    parameters, x = Parameters(30, population), np.linspace(-8, 8, 801)
    below, density = stats.norm.cdf(x), stats.norm.pdf(x)
    ordered = [
        np.trapezoid(x * density * stats.beta.pdf(below, i, population + 1 - i), x) for i in range(1, population + 1)
    ]
    c, mass = -parameters.rank_weights[0] @ ordered, parameters.mass
    assert best_step_size(parameters) == pytest.approx(30 * c * mass / (29 + c**2 * mass), rel=0.01)


@pytest.mark.parametrize("diagonal", [True, False])
def test_candidates_become_many_where_noise_hides_their_ranks(diagonal):
    optimizer = CMAES(**OWN, selection=PopulationSizeAdaptation(), diagonal=diagonal)
    alone, hidden = (run(optimizer, 4000, noise)[1] for noise in (0.0, 1e3))
    assert min(alone) == min(hidden) == 8
    assert np.median(alone) < 40  # it grows without noise as well, as its authors say of functions with one optimum
    assert hidden[-1] > 5 * np.median(alone)


def test_learning_rates_are_those_of_cmaes():
    """A generation from C = I equals that of the package; later ones differ, as A there is the symmetric root of C."""
    cmaes = pytest.importorskip("cmaes")
    d, population, rng = 5, 9, np.random.default_rng(5)
    parameters, stage = Parameters(d, population), LearningRateAdaptation()
    theirs = cmaes.CMA(mean=np.full(d, 0.3), sigma=0.5, population_size=population, seed=1, lr_adapt=True)
    parameters.__dict__["rank_mu"] = vars(theirs)["_cmu"]  # of another version of the tutorial
    search, memory = Search.start(np.full(d, 0.3), 0.5, diagonal=False), stage.begin()
    for number in range(4):
        asked = [(x := theirs.ask(), float(np.sum(x**2) + rng.standard_normal())) for _ in range(population)]
        points, values = np.array([x for x, _ in asked]), np.array([value for _, value in asked])
        generation = _generation(parameters, search, points, values[:, None])
        weights = parameters.rank_weights[:, rank(values)]
        search, _ = stage.adapt(memory, generation, search.update(parameters, points, generation.steps, weights))
        theirs.tell(asked)
        held, near = vars(theirs), 1e-8 if number == 0 else 0.01
        assert memory.mean.learning_rate == pytest.approx(held["_eta_mean"], rel=near)
        assert memory.covariance.learning_rate == pytest.approx(held["_eta_Sigma"], rel=near)
        if number == 0:
            assert search.mean == pytest.approx(held["_mean"], rel=1e-8)
            assert search.step_size == pytest.approx(held["_sigma"], rel=1e-8)
            assert search.covariance == pytest.approx(held["_C"], abs=1e-8)
    assert memory.mean.learning_rate < 0.8


def _generation(parameters, search, points, values):
    return Generation(parameters=parameters, search=search, points=points, steps=search.steps(points), values=values)


@pytest.mark.parametrize("diagonal", [True, False])
def test_whole_steps_stay_the_same_distribution(diagonal):
    rng, parameters = np.random.default_rng(6), Parameters(4, 8, diagonal)
    before = Search.start(np.zeros(4), 0.5, diagonal=diagonal)
    steps = rng.standard_normal((8, 4))
    after = before.update(parameters, before.points(steps), steps, parameters.rank_weights)
    whole, none = blend(before, after, 1.0, 1.0), blend(before, after, 0.0, 0.0)
    for got, meant in ((whole, after), (none, before)):
        assert got.mean == pytest.approx(meant.mean)
        assert got.step_size**2 * got.covariance == pytest.approx(meant.step_size**2 * meant.covariance)
        assert got.step_size * got.factor == pytest.approx(meant.step_size * meant.factor)


def test_candidates_are_evaluated_often_where_noise_hides_their_ranks():
    optimizer = CMAES(**OWN, selection=ReevaluationAdaptation(), diagonal=True)
    (alone, once), (hidden, often) = (run(optimizer, 4000, noise) for noise in (0.0, 1e3))
    assert set(once) == {8, 16}
    assert alone.memory.evaluations == pytest.approx(1.2)
    assert 0.1 < np.mean(np.array(once) == 16) < 0.3  # one generation in five
    assert often[-1] > 5 * 8
    assert hidden.memory.mean.correlation < 0.5


def test_halves_that_are_the_same_agree_and_independent_ones_do_not():
    rng, same, apart = np.random.default_rng(7), Consistency(rate=0.1), Consistency(rate=0.01)
    for _ in range(2000):
        step = rng.standard_normal(30)
        same.add_halves(np.stack([step, step]))
        apart.add_halves(np.stack([step, rng.standard_normal(30)]))
    assert same.correlation == pytest.approx(1.0)
    assert abs(apart.correlation) < 0.1


def test_the_ratio_of_signal_to_noise_is_that_of_the_steps():
    """Steps with the mean 2 e and unit variance in 40 coordinates: 4 / 40."""
    rng, steps = np.random.default_rng(8), Consistency(rate=0.01)
    ratios = []
    for _ in range(2000):
        steps.add(np.concatenate([[2.0], np.zeros(39)]) + rng.standard_normal(40))
        ratios.append(steps.signal_to_noise)
    assert np.mean(ratios[500:]) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.kind)
def test_each_start_begins_with_nothing_learned(stage: Selection):
    """The memory of a start that begins is that of the first but for λ and the number of evaluations."""
    rng, parameters = np.random.default_rng(9), Parameters(4, 8, diagonal=True)
    memory, fresh = stage.begin(), stage.begin()
    search = Search.start(np.zeros(4), 0.5, diagonal=True)
    old = search
    for _ in range(5):
        old, _ = _adapted(stage, memory, parameters, old, rng)
    random = np.random.default_rng(10), np.random.default_rng(10)
    if isinstance(stage, ReevaluationAdaptation):
        fresh.evaluations = memory.evaluations
    after, new = (_adapted(stage, each, parameters, search, r) for each, r in zip((memory, fresh), random, strict=True))
    assert after[0].mean == pytest.approx(new[0].mean, rel=1e-12)
    assert after[0].step_size == pytest.approx(new[0].step_size, rel=1e-12)
    assert after[1] == new[1]


def _adapted(stage, memory, parameters, search, rng):
    points = search.points(rng.standard_normal((parameters.population, parameters.dimension)))
    generation = _generation(parameters, search, points, rng.standard_normal((len(points), 2)))
    weights = stage.weigh(memory, generation, rng)
    return stage.adapt(memory, generation, search.update(parameters, points, generation.steps, weights))


def test_a_switch_hands_on_to_what_it_chose():
    selection = ProbeAndSwitch(threshold=0.1, noisy=PopulationSizeAdaptation())
    assert run(CMAES(**OWN, selection=selection), 4000, noise=1e3)[1][-1] > 50
    assert set(run(CMAES(**OWN, selection=selection), 1000, noise=0.0)[1]) == {8, 16}


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.kind)
def test_descriptions_make_the_same_stage(stage: Selection):
    assert as_selection(stage.describe(), "selection") == stage
    with pytest.raises(ValueError, match=r"learning-rate-adaptation"):
        as_selection({"selection": "learning-rate-adaptatoin"}, "selection")

"""What must not matter to any model: the order of algorithms, instances and time, how rankings are counted, and what
was never observed.

Where equal counts reach the model, draws are equal; elsewhere posteriors are equal up to Monte Carlo error (see
`alike`). The bootstrap gives each instance a weight, and what is said once, with whatever weight, is no more than that:
its mean log-ratios are equal.
"""

from dataclasses import replace

import numpy as np
import pytest

from polarbear.inference import BSpline, InstanceBootstrap, RandomWalk
from polarbear.rankings import choice_counts
from tests.inference.fits import MODELS, alike, contrast, drifting, fitted, label

pytestmark = pytest.mark.parametrize("model", MODELS, ids=label)


def equal(counts, others, model):
    if isinstance(model, InstanceBootstrap):
        first, second = (fitted(these, model, 500) for these in (counts, others))
        for i in range(1, counts.algorithms):
            np.testing.assert_allclose(*(contrast(one, 0, i).mean(axis=0) for one in (first, second)), atol=1e-6)
        return
    np.testing.assert_array_equal(fitted(counts, model, 500).draws, fitted(others, model, 500).draws)


def by_algorithm(posterior):
    """A posterior with κ / n in the place of κ."""
    kappa = posterior.hyperparameters["kappa"]
    return replace(posterior, hyperparameters={"kappa / n": kappa / len(posterior.names)})


@pytest.mark.statistical
def test_permuted_algorithms(model):
    values, order = drifting(), np.array([2, 0, 3, 1])
    first, second = fitted(values, model, 4000), fitted(values[:, :, order], model, 4000, seed=1)
    alike(replace(first, draws=first.draws[:, :, order]), second)


@pytest.mark.statistical
def test_reversed_time(model):
    if isinstance(model, RandomWalk):
        model = RandomWalk(initial_sd=1e4)
        values = drifting(instances=40)
    else:
        values = drifting()
    first, second = fitted(values, model, 4000), fitted(values[:, ::-1], model, 4000, seed=1)
    alike(replace(first, draws=first.draws[:, ::-1]), second)


def test_units_of_time(model):
    times = np.array([3.0, 4.0, 4.5, 7.0, 8.0, 11.0, 12.0, 20.0])
    first, second = fitted(drifting(), model, times=times), fitted(drifting(), model, times=50 + 8 * times)
    np.testing.assert_allclose(first.draws, second.draws, rtol=1e-5)


def test_permuted_instances(model):
    values = drifting()
    equal(choice_counts(values), choice_counts(values[np.random.default_rng(0).permutation(len(values))]), model)


def test_a_ranking_of_weight_two_is_two_rankings(model):
    values = drifting()
    twice = np.concatenate([values, values[:5]])
    whole = choice_counts(values, weights=np.r_[np.full(5, 2.0), np.ones(len(values) - 5)])
    equal(choice_counts(twice), whole, model)
    shares = choice_counts(twice, weights=np.r_[np.full(5, 1.5), np.ones(len(values) - 5), np.full(5, 0.5)])
    equal(shares, whole, model)


def test_identical_rankings_are_merged(model):
    """Trajectories with the same rankings at all timepoints, whatever their values, and holes included."""
    ranks = drifting(timepoints=3, algorithms=3, instances=90).argsort(axis=2).argsort(axis=2).astype(float)
    ranks[:60, :, 2] = np.nan
    scaled = ranks * np.random.default_rng(0).uniform(1, 9, size=(90, 1, 1))
    distinct, number = np.unique(np.nan_to_num(ranks, nan=99.0), axis=0, return_counts=True)
    assert len(distinct) < 80
    distinct[distinct == 99.0] = np.nan
    equal(choice_counts(scaled), choice_counts(distinct, weights=number.astype(float)), model)


@pytest.mark.statistical
def test_an_algorithm_that_never_ran_changes_nothing_about_the_others(model):
    """Nothing is told about its own contrasts, nor by it about what all have in common."""
    values = drifting(algorithms=3)
    padded = np.pad(values, ((0, 0), (0, 0), (0, 1)), constant_values=np.nan)
    alone, more = fitted(values, model, 4000), fitted(padded, model, 4000, seed=1)
    if "kappa" in alone.hyperparameters:
        alone, more = (by_algorithm(posterior) for posterior in (alone, more))
    alike(alone, more, lambda posterior: np.stack([contrast(posterior, 0, 1), contrast(posterior, 1, 2)], axis=2))


@pytest.mark.statistical
def test_timepoints_without_rankings_change_nothing_at_the_others(model):
    """Between the first and the last, that is, and with a spline's knots where they were."""
    if isinstance(model, BSpline):
        model = BSpline(coefficients=6)
    values, times = drifting(9), np.arange(9.0)
    values[:, 1::2] = np.nan
    some, every = choice_counts(values[:, ::2]), choice_counts(values)
    first, second = fitted(some, model, 4000, times=times[::2]), fitted(every, model, 4000, 1, times=times)
    alike(first, second.at(times[::2], rng=np.random.default_rng(0)))

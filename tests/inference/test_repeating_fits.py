"""Cached results save time and change nothing, bit by bit; nor does the number of cores."""

import os
import threading

import numpy as np
import pytest
import threadpoolctl

from polarbear.inference import (
    FitCache,
    HierarchicalDirichlet,
    IndependentDirichlet,
    InstanceBootstrap,
    RandomWalk,
    fit,
    prior,
)
from polarbear.inference.model import independent
from polarbear.inference.sampling import threads as sampling_threads
from polarbear.inference.sampling.settings import Sampling
from polarbear.rankings import choice_counts
from tests.inference.fits import drifting, label


def draws_of(counts, model, **arguments):
    rng = np.random.default_rng(0)
    return fit(counts, model=model, draws=600, rng=rng, **arguments)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_seeds_are_those_of_spawned_generators(bits):
    one, other = (np.random.Generator(bits(7)) for _ in range(2))
    for _ in range(2):
        for seed, generator in zip(Sampling(1, one).seeds(3), other.spawn(3), strict=True):
            np.testing.assert_array_equal(seed.generator().random(4), generator.random(4))


def threads():
    """Of the libraries for linear algebra."""
    return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_as_long_as_a_fit_lasts(monkeypatch):
    seen, sample = [], independent.sample
    monkeypatch.setattr(independent, "sample", lambda *args, **more: seen.append(threads()) or sample(*args, **more))
    with threadpoolctl.threadpool_limits(2, "blas"):
        draws_of(choice_counts(drifting()), None)
        assert threads() == {2}
    assert seen == [{1}] * 8


@pytest.mark.parametrize("model", [IndependentDirichlet(), InstanceBootstrap()], ids=label)
def test_draws_do_not_depend_on_the_number_of_threads(model, monkeypatch):
    draws = []
    for cores in (1, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        draws.append(draws_of(choice_counts(drifting()), model).draws)
    np.testing.assert_array_equal(*draws)


def test_linear_algebra_has_one_thread_while_priors_and_predictions_are_drawn(monkeypatch):
    seen = []

    def noting(made):
        return lambda *args, **more: seen.append(threads()) or made(*args, **more)

    monkeypatch.setattr(RandomWalk, "draw_prior", noting(RandomWalk.draw_prior))
    monkeypatch.setattr(RandomWalk, "predict", noting(RandomWalk.predict))
    rng = np.random.default_rng(0)
    with threadpoolctl.threadpool_limits(2, "blas"):
        prior(RandomWalk(), times=[1.0, 2.0], algorithms=2, draws=9, rng=rng).at([1.5], rng=rng)
        assert threads() == {2}
    assert seen == [{1}] * 2


class TestRecall:
    """`sampled` are the timepoints at which draws were computed anew."""

    @pytest.fixture
    def sampled(self, monkeypatch):
        computed = []
        sample = independent.sample
        monkeypatch.setattr(independent, "sample", lambda *args, **more: computed.append(1) or sample(*args, **more))
        return computed

    def test_timepoints_without_news_are_not_computed_again(self, sampled):
        first, second = drifting(instances=10), drifting(instances=14)
        second[:10] = first
        second[10:, 3:] = np.nan
        cache = FitCache()
        draws_of(choice_counts(first), None, cache=cache)
        assert len(sampled) == 8
        cached = draws_of(choice_counts(second), None, cache=cache)
        assert len(sampled) == 8 + 3
        np.testing.assert_array_equal(cached.draws, draws_of(choice_counts(second), None).draws)
        draws_of(choice_counts(second), None, cache=cache)
        assert len(sampled) == 8 + 3 + 8, "the fit without cache alone sampled"

    @pytest.mark.parametrize(
        "change",
        [{"model": IndependentDirichlet(2.0)}, {"draws": 601}, {"rng": np.random.default_rng(1)}, {"method": "gibbs"}],
        ids=lambda change: next(iter(change)),
    )
    def test_what_was_computed_otherwise_is_not_taken_up(self, sampled, change):
        counts, cache = choice_counts(drifting()), FitCache()
        asked = {"model": IndependentDirichlet(), "draws": 600, "rng": np.random.default_rng(0), "cache": cache}
        fit(counts, **asked)
        fit(counts, **(asked | {"rng": np.random.default_rng(0)} | change))
        assert len(sampled) == 16

    @pytest.mark.parametrize("model", [HierarchicalDirichlet(), RandomWalk()], ids=label)
    def test_models_that_join_timepoints_compute_all_anew(self, model):
        cache = FitCache()
        draws_of(choice_counts(drifting(instances=5)), model, cache=cache)
        counts = choice_counts(drifting())
        np.testing.assert_array_equal(draws_of(counts, model, cache=cache).draws, draws_of(counts, model).draws)


@pytest.mark.parametrize("allowed", [1, 3])
def test_threads_are_as_many_as_the_cores_that_are_paid_for(monkeypatch, allowed):
    """So many meet at a barrier, which fewer never pass."""
    monkeypatch.setattr(sampling_threads, "cores", lambda: allowed)
    barrier = threading.Barrier(allowed)

    def meet(_):
        barrier.wait(timeout=60)
        return threading.get_ident()

    assert len(set(sampling_threads.side_by_side(meet, range(3 * allowed)))) == allowed

"""Threads and recalled results save time and change nothing, bit by bit."""

import numpy as np
import pytest

from polarbear.inference import HierarchicalDirichlet, IndependentDirichlet, RandomWalk, Recall, dirichlet, fit
from polarbear.inference.diagnostics import ANNEALING
from polarbear.rankings import choice_counts
from tests.inference.fits import MODELS, drifting, label


def draws_of(counts, model, **arguments):
    rng = np.random.default_rng(0)
    return fit(counts, model=model, draws=600, rng=rng, **arguments)


@pytest.mark.parametrize("model", MODELS, ids=label)
def test_draws_do_not_depend_on_the_number_of_threads(model, monkeypatch):
    monkeypatch.setattr("polarbear.inference.nested._ENTRIES_AT_ONCE", 1 << 12)
    counts = choice_counts(drifting(timepoints=15))
    alone, shared = draws_of(counts, model), draws_of(counts, model, threads=3)
    np.testing.assert_array_equal(alone.draws, shared.draws)
    for name, values in alone.hyperparameters.items():
        np.testing.assert_array_equal(values, shared.hyperparameters[name])


def test_annealed_draws_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr("polarbear.inference.nested._ENTRIES_AT_ONCE", 1 << 12)
    monkeypatch.setattr("polarbear.inference.nested._GOOD_K_HAT", -10.0)
    counts = choice_counts(drifting(timepoints=15))
    alone, shared = draws_of(counts, RandomWalk()), draws_of(counts, RandomWalk(), threads=3)
    assert set(shared.diagnostics.method) == {ANNEALING}
    np.testing.assert_array_equal(alone.draws, shared.draws)


def test_impossible_numbers_of_threads_are_refused():
    with pytest.raises(ValueError, match="threads is 0; at least 1 thread"):
        draws_of(choice_counts(drifting()), None, threads=0)


class TestRecall:
    """`sampled` are the timepoints at which draws were computed anew."""

    @pytest.fixture
    def sampled(self, monkeypatch):
        computed = []
        sample = dirichlet.sample
        monkeypatch.setattr(dirichlet, "sample", lambda *args, **more: computed.append(1) or sample(*args, **more))
        return computed

    def test_timepoints_without_news_are_not_computed_again(self, sampled):
        first, second = drifting(instances=10), drifting(instances=14)
        second[:10] = first
        second[10:, 3:] = np.nan
        recall = Recall()
        draws_of(choice_counts(first), None, recall=recall)
        assert len(sampled) == 8
        recalled = draws_of(choice_counts(second), None, recall=recall, threads=2)
        assert len(sampled) == 8 + 3
        np.testing.assert_array_equal(recalled.draws, draws_of(choice_counts(second), None).draws)
        draws_of(choice_counts(second), None, recall=recall)
        assert len(sampled) == 8 + 3 + 8, "the fit without recall alone sampled"

    @pytest.mark.parametrize(
        "change",
        [{"model": IndependentDirichlet(2.0)}, {"draws": 601}, {"rng": np.random.default_rng(1)}, {"method": "gibbs"}],
        ids=lambda change: next(iter(change)),
    )
    def test_what_was_computed_otherwise_is_not_taken_up(self, sampled, change):
        counts, recall = choice_counts(drifting()), Recall()
        asked = {"model": IndependentDirichlet(), "draws": 600, "rng": np.random.default_rng(0), "recall": recall}
        fit(counts, **asked)
        fit(counts, **(asked | {"rng": np.random.default_rng(0)} | change))
        assert len(sampled) == 16

    @pytest.mark.parametrize("model", [HierarchicalDirichlet(), RandomWalk()], ids=label)
    def test_models_that_join_timepoints_compute_all_anew(self, model):
        recall = Recall()
        draws_of(choice_counts(drifting(instances=5)), model, recall=recall)
        counts = choice_counts(drifting())
        np.testing.assert_array_equal(draws_of(counts, model, recall=recall).draws, draws_of(counts, model).draws)

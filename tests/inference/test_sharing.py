"""Helper processes and recalled results save time and change nothing, bit by bit."""

import gc
import os
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import dataclass

import numpy as np
import psutil
import pytest
import threadpoolctl

from polarbear.inference import (
    GaussianProcess,
    HelperDied,
    HierarchicalDirichlet,
    IndependentDirichlet,
    RandomWalk,
    Recall,
    Workers,
    dirichlet,
    fit,
    nested,
    prediction,
    prior,
)
from polarbear.inference.diagnostics import ANNEALING, GIBBS, HAMILTONIAN
from polarbear.inference.sampling import Sampling
from polarbear.rankings import choice_counts
from tests.inference.fits import MODELS, drifting, label

pytestmark = pytest.mark.skipif(os.name != "posix", reason="helper processes need Unix")


@pytest.fixture(scope="module")
def two():
    with Workers(2) as workers:
        yield workers


@pytest.fixture(scope="module")
def three():
    with Workers(3) as workers:
        yield workers


def draws_of(counts, model, **arguments):
    rng = np.random.default_rng(0)
    return fit(counts, model=model, draws=600, rng=rng, **arguments)


def children():
    """The processes this one has started and that still run."""
    return {child.pid for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE}


def assert_same(first, second):
    np.testing.assert_array_equal(first.draws, second.draws)
    assert first.hyperparameters.keys() == second.hyperparameters.keys()
    for name, values in first.hyperparameters.items():
        np.testing.assert_array_equal(values, second.hyperparameters[name])
    assert first.diagnostics.method == second.diagnostics.method
    for name in ("ess", "k_hat", "r_hat"):
        np.testing.assert_array_equal(getattr(first.diagnostics, name), getattr(second.diagnostics, name))


@pytest.mark.parametrize("model", MODELS, ids=label)
def test_draws_do_not_depend_on_the_number_of_workers(model, two, three):
    counts = choice_counts(drifting(timepoints=15))
    alone = draws_of(counts, model)
    for workers in (two, three):
        assert_same(alone, draws_of(counts, model, workers=workers))


def test_long_paths_are_shared_as_well(two):
    counts = choice_counts(drifting(timepoints=700, instances=4))
    assert_same(draws_of(counts, RandomWalk()), draws_of(counts, RandomWalk(), workers=two))


@pytest.mark.parametrize("values", [drifting(timepoints=0), drifting(algorithms=1), drifting(timepoints=1)])
@pytest.mark.parametrize("model", [IndependentDirichlet(), HierarchicalDirichlet(), RandomWalk()], ids=label)
def test_the_smallest_fits_are_shared_as_well(model, values, two):
    counts = choice_counts(values)
    assert_same(draws_of(counts, model), draws_of(counts, model, workers=two))


def test_annealed_draws_do_not_depend_on_the_number_of_workers(monkeypatch, two, three):
    monkeypatch.setattr(nested._Weighted, "good", lambda weighted, *limits: weighted.method == ANNEALING)
    counts = choice_counts(drifting(timepoints=15))
    alone = draws_of(counts, GaussianProcess())
    assert set(alone.diagnostics.method) == {ANNEALING}
    for workers in (two, three):
        assert_same(alone, draws_of(counts, GaussianProcess(), workers=workers))


@pytest.mark.parametrize("method", ["nlis", "hmc"])
def test_markov_chains_do_not_depend_on_the_number_of_workers(monkeypatch, two, method):
    """They are the last resort of "nlis"."""
    monkeypatch.setattr(nested._Weighted, "good", lambda *_: False)
    counts = choice_counts(drifting(timepoints=3))
    alone = draws_of(counts, RandomWalk(), method=method)
    assert set(alone.diagnostics.method) == {HAMILTONIAN}
    assert_same(alone, draws_of(counts, RandomWalk(), method=method, workers=two))


def test_gibbs_sampling_does_not_depend_on_the_number_of_workers(two):
    counts = choice_counts(drifting())
    alone = draws_of(counts, IndependentDirichlet(), method="gibbs")
    assert set(alone.diagnostics.method) == {GIBBS}
    assert_same(alone, draws_of(counts, IndependentDirichlet(), method="gibbs", workers=two))


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_seeds_are_those_of_spawned_generators(bits):
    one, other = (np.random.Generator(bits(7)) for _ in range(2))
    for _ in range(2):
        for seed, generator in zip(Sampling(1, one).seeds(3), other.spawn(3), strict=True):
            np.testing.assert_array_equal(seed.generator().random(4), generator.random(4))


def test_impossible_numbers_of_workers_are_refused():
    with pytest.raises(ValueError, match="workers is 0; at least 1 process"):
        draws_of(choice_counts(drifting()), None, workers=0)


class TestMemory:
    def test_posteriors_that_are_kept_do_not_change(self, two):
        counts = [choice_counts(drifting(timepoints=240, seed=seed)) for seed in range(3)]
        kept = [draws_of(one, RandomWalk(), workers=two) for one in counts]
        assert kept[0].draws.nbytes > 1 << 22, "large enough to stay in shared memory"
        for one, posterior in zip(counts, kept, strict=True):
            assert_same(draws_of(one, RandomWalk()), posterior)

    def test_a_view_keeps_the_memory(self, two):
        counts = choice_counts(drifting(timepoints=240))
        view = draws_of(counts, RandomWalk(), workers=two).draws[:, 7]
        before = view.copy()
        gc.collect()
        for seed in (1, 2, 3):
            draws_of(choice_counts(drifting(timepoints=240, seed=seed)), RandomWalk(), workers=two)
        np.testing.assert_array_equal(view, before)

    def test_no_files_stay_open(self, two):
        def files(posteriors):
            gc.collect()
            return psutil.Process().num_fds(), len(posteriors)

        large, small = (choice_counts(drifting(timepoints=timepoints)) for timepoints in (240, 15))
        for _ in range(3):
            draws_of(large, RandomWalk(), workers=two)
        before, _ = files([])
        for _ in range(3):
            draws_of(large, RandomWalk(), workers=two)
        assert files([]) == (before, 0)
        assert files([draws_of(small, RandomWalk(), workers=two) for _ in range(4)]) == (before, 4), "copied"


@dataclass(frozen=True, slots=True)
class Sulking(RandomWalk):
    """A model that does something else in helpers, or in the process `driver`."""

    driver: int = 0
    how: str = ""

    def prior(self, at, paths):
        return Sulky(RandomWalk().prior(at, paths), self.driver, self.how)


@dataclass
class Sulky:
    usual: object
    driver: int
    how: str

    @property
    def hyperpriors(self):
        return self.usual.hyperpriors

    def field(self, hyperparameters):
        if self.how == "interrupt" and os.getpid() == self.driver:
            raise KeyboardInterrupt
        if os.getpid() != self.driver:
            if self.how == "raise":
                raise ZeroDivisionError("sulking")
            if self.how == "warn":
                warnings.warn("sulking", UserWarning, stacklevel=1)
            if self.how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
        return self.usual.field(hyperparameters)


class TestHelpers:
    @pytest.fixture
    def workers(self):
        before = children()
        with Workers(2) as workers:
            yield workers
        assert children() == before

    def sulking(self, how, workers):
        return draws_of(choice_counts(drifting()), Sulking(driver=os.getpid(), how=how), workers=workers)

    def test_they_stay_between_fits_and_end_when_closed(self):
        before, counts = children(), choice_counts(drifting())
        with Workers(3) as workers:
            draws_of(counts, None, workers=workers)
            during = children() - before
            draws_of(counts, None, workers=workers)
            assert children() - before == during
            assert len(during) == 2
        assert children() == before
        draws_of(counts, None, workers=2)
        assert children() == before

    def test_they_end_when_nobody_has_the_workers_any_more(self):
        before, workers = children(), Workers(2)
        draws_of(choice_counts(drifting()), None, workers=workers)
        assert len(children() - before) == 1
        del workers
        gc.collect()
        assert children() == before

    def test_one_that_was_killed_is_told_of_and_replaced(self, workers):
        counts = choice_counts(drifting())
        alone = draws_of(counts, None, workers=workers)
        helper = max(psutil.Process().children(), key=psutil.Process.create_time)
        helper.kill()
        with pytest.raises(HelperDied, match=f"helper process {helper.pid}.* was killed by SIGKILL.*fit again"):
            draws_of(counts, None, workers=workers)
        assert_same(alone, draws_of(counts, None, workers=workers))

    def test_one_that_dies_at_work_is_told_of(self, workers):
        with pytest.raises(HelperDied, match="was killed by SIGKILL"):
            self.sulking("die", workers)

    def test_what_they_raise_is_raised(self, workers):
        with pytest.raises(ZeroDivisionError, match="sulking") as caught:
            self.sulking("raise", workers)
        assert "In a helper process" in caught.value.__notes__[0]
        draws_of(choice_counts(drifting()), None, workers=workers)

    def test_their_warnings_are_given(self, workers):
        with pytest.warns(UserWarning, match="sulking"):
            self.sulking("warn", workers)

    def test_an_interrupted_fit_leaves_nothing_behind(self, workers):
        with pytest.raises(KeyboardInterrupt):
            self.sulking("interrupt", workers)
        counts = choice_counts(drifting())
        assert_same(draws_of(counts, None), draws_of(counts, None, workers=workers))

    def test_fits_in_several_threads_take_turns(self, two):
        counts, found = [choice_counts(drifting(seed=seed)) for seed in range(3)], {}

        def work(k):
            found[k] = draws_of(counts[k], RandomWalk(), workers=two)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for k in range(3):
            assert_same(draws_of(counts[k], RandomWalk()), found[k])


SCRIPT = """
import os
import numpy as np
from polarbear.inference import RandomWalk, Workers, fit
from polarbear.rankings import choice_counts

class Mine(RandomWalk):
    pass

counts = choice_counts(np.random.default_rng(0).random((10, 6, 3)))
draws = lambda workers: fit(counts, model=Mine(), draws=100, rng=np.random.default_rng(1), workers=workers).draws
"""


def run(tmp_path, code):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + code)
    return subprocess.Popen([sys.executable, "-W", "error", script], stdout=subprocess.PIPE, text=True)


def test_scripts_need_no_guard_and_may_define_models(tmp_path):
    with run(tmp_path, "print(np.array_equal(draws(1), draws(2)))") as process:
        assert process.communicate()[0] == "True\n"
    assert process.returncode == 0


def test_a_forked_process_starts_helpers_of_its_own(tmp_path):
    code = """
workers = Workers(2)
first = draws(workers)
if not (child := os.fork()):
    os._exit(0 if np.array_equal(first, draws(workers)) else 1)
print(os.waitpid(child, 0)[1], np.array_equal(first, draws(workers)))
"""
    with run(tmp_path, code) as process:
        assert process.communicate()[0] == "0 True\n"


def test_helpers_end_with_a_process_that_was_killed(tmp_path):
    code = """
workers = Workers(2)
draws(workers)
print("up", flush=True)
while True:
    draws(workers)
"""
    with run(tmp_path, code) as process:
        assert process.stdout.readline() == "up\n"
        helpers = psutil.Process(process.pid).children()
        assert len(helpers) == 1
        process.kill()
    _, alive = psutil.wait_procs(helpers, timeout=20)
    assert not alive


def threads():
    """Of the libraries for linear algebra."""
    return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_as_long_as_a_fit_lasts(monkeypatch):
    seen, sample = [], dirichlet.sample
    monkeypatch.setattr(dirichlet, "sample", lambda *args, **more: seen.append(threads()) or sample(*args, **more))
    with threadpoolctl.threadpool_limits(2, "blas"):
        draws_of(choice_counts(drifting()), None)
        assert threads() == {2}
    assert seen == [{1}] * 8


def test_linear_algebra_has_one_thread_while_priors_and_predictions_are_drawn(monkeypatch):
    seen = []

    def noting(made):
        return lambda *args, **more: seen.append(threads()) or made(*args, **more)

    monkeypatch.setattr(RandomWalk, "draw_prior", noting(RandomWalk.draw_prior))
    monkeypatch.setattr(prediction, "predicted", noting(prediction.predicted))
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
        recalled = draws_of(choice_counts(second), None, recall=recall)
        assert len(sampled) == 8 + 3
        np.testing.assert_array_equal(recalled.draws, draws_of(choice_counts(second), None).draws)
        draws_of(choice_counts(second), None, recall=recall)
        assert len(sampled) == 8 + 3 + 8, "the fit without recall alone sampled"

    def test_what_helpers_computed_is_taken_up(self, sampled, two):
        counts, recall = choice_counts(drifting()), Recall()
        first = draws_of(counts, None, recall=recall, workers=two)
        assert len(sampled) == 4, "the helper sampled the other half"
        again = draws_of(counts, None, recall=recall)
        assert len(sampled) == 4
        np.testing.assert_array_equal(first.draws, again.draws)

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

"""Warm-up: what is loaded before the clock starts, how often, and that the run does not notice."""

import signal
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from polarbear.experiment import execute
from polarbear.experiment.warm_up import warm_up_optimizer
from polarbear.problems import Traits
from polarbear.records import Reason


@pytest.fixture
def heavy(tmp_path, monkeypatch):
    """The name of a module that takes 0.4 s to import, and notes that."""
    name = f"heavy_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text("import time\ntime.sleep(0.4)\nimports = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


@pytest.mark.parametrize("warm_up", [False, True])
def test_first_imports_are_off_the_clock(task, heavy, warm_up):
    def optimizer(objective, rng):
        __import__(heavy)
        objective(np.ones(2))

    run = execute(replace(task(optimizer, evaluations=3), warm_up=warm_up))
    assert (run.outcome.seconds < 0.4) == warm_up
    assert run.trajectory.seconds.tolist() == [run.trajectory.seconds[0]]
    assert (run.trajectory.seconds[0] < 0.4) == warm_up


@pytest.mark.parametrize("warm_up", [False, True])
def test_what_a_problem_loads_at_its_first_evaluation_is_off_the_clock(task, of, heavy, warm_up):
    def function(x):
        __import__(heavy)
        return 1.0

    run = execute(replace(task(problem=of(function), evaluations=3), warm_up=warm_up))
    assert (run.outcome.seconds < 0.4) == warm_up


def test_a_problem_is_warmed_up_once_in_the_middle_of_its_box_and_reset_afterwards(task, functional):
    events = []

    class Spec:
        name = "spec"

        def build(self):
            problem = functional(lambda x: events.append(x.tolist()) or 1.0)
            problem.lower = np.array([-5.0, 1.0])
            problem.reset = lambda: events.append("reset")
            return problem

    spec = Spec()

    def optimizer(objective, rng):
        objective(np.full(2, 4.0))

    for seed in range(2):
        run = execute(replace(task(optimizer, spec, seed, evaluations=5), warm_up=True))
        assert (run.outcome.evaluations, run.outcome.reason) == (1, Reason.STOPPED)
    assert events == [[0.0, 3.0], "reset", [4.0, 4.0], "reset", [4.0, 4.0]]


def test_an_optimizer_is_started_once_for_each_size_and_does_not_touch_the_problem(functional):
    started = []

    def optimizer(objective, rng):
        started.append((objective.dimension, objective.traits.objectives, rng.normal()))
        while True:
            started.append(np.asarray(objective(np.zeros((7, objective.dimension)))).shape)

    problem = functional(lambda x: 1.0)
    for one in (problem, functional(lambda x: 2.0), functional(lambda x: 1.0, dimension=3)):
        warm_up_optimizer(optimizer, one)
    assert [entry[:2] for entry in started] == [(2, 1), (3, 1)]
    problem.traits = Traits(np.array([True, False]), objectives=2, constraints=3, noisy=True)
    warm_up_optimizer(optimizer, problem)
    assert started[-1][:2] == (2, 2)
    assert not problem.calls


class Unhashable:
    name = "unhashable"
    __hash__ = None

    def __init__(self):
        self.calls = 0

    def __call__(self, objective, rng):
        self.calls += 1
        objective(np.zeros(objective.dimension))


def test_an_optimizer_without_a_hash_is_started_each_time(functional):
    optimizer = Unhashable()
    for _ in range(2):
        warm_up_optimizer(optimizer, functional(lambda x: 1.0))
    assert optimizer.calls == 2


def test_warming_up_changes_nothing_in_the_run(task):
    plain, warm = (execute(replace(task(evaluations=200, seed=3), warm_up=warm_up)) for warm_up in (False, True))
    assert plain.trajectory.values.tolist() == warm.trajectory.values.tolist()
    assert plain.trajectory.evaluations.tolist() == warm.trajectory.evaluations.tolist()


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_what_fails_in_the_warm_up_fails_in_the_run(task, of, error):
    def optimizer(objective, rng):
        raise error

    run = execute(replace(task(optimizer, evaluations=3), warm_up=True))
    assert (run.outcome.reason, run.outcome.message) == (Reason.FAILED, f"{type(error).__name__}: {error}")

    def function(x):
        raise error

    run = execute(replace(task(problem=of(function), evaluations=3), warm_up=True))
    assert (run.outcome.reason, run.outcome.message) == (Reason.FAILED, f"{type(error).__name__}: {error}")


def test_ctrl_c_in_the_warm_up_is_no_outcome(task, of, hears_ctrl_c):
    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(replace(task(interrupted), warm_up=True))
    with pytest.raises(KeyboardInterrupt):
        execute(replace(task(problem=of(interrupted)), warm_up=True))


def test_a_problem_that_hangs_is_interrupted_in_the_warm_up_too(task, of):
    begun = time.monotonic()
    run = execute(replace(task(problem=of(lambda x: time.sleep(60)), timeout=0.2), warm_up=True))
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.TIMED_OUT, 0)
    assert 0.4 <= time.monotonic() - begun < 20
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_optimizer_that_evaluates_nothing_is_interrupted_in_the_warm_up_too(task):
    def optimizer(objective, rng):
        while True:
            pass

    run = execute(replace(task(optimizer, timeout=0.2), warm_up=True))
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.TIMED_OUT, 0)
    assert run.outcome.seconds < 10

"""One run: every way in which an optimizer and an objective can behave has its outcome."""

import re
import signal
import sys
import threading
import time
import warnings
from contextlib import suppress
from fractions import Fraction

import cloudpickle
import numpy as np
import pytest

from polarbear.experiment import execute
from polarbear.experiment import run as run_module
from polarbear.problems import FunctionProblem
from polarbear.records import Reason
from tests.experiment.misbehaving import hang_in_python

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def stubborn(then):
    """An optimizer that catches everything the objective raises, then goes on with `then`."""

    def optimizer(objective, rng):
        try:
            while True:
                objective(rng.uniform(objective.lower, objective.upper))
        except BaseException:
            pass
        return then(objective)

    return optimizer


def raise_something(objective):
    raise ValueError("hidden")


def evaluate_on(objective):
    for _ in range(1000):
        with suppress(BaseException):
            objective(np.zeros(2))


def exit_process(objective):
    sys.exit(3)


def test_the_same_key_gives_the_same_run(task):
    runs = [execute(task(evaluations=200, seed=seed)) for seed in (0, 0, 1)]
    found = [(run.trajectory.evaluations.tolist(), run.trajectory.values.tolist()) for run in runs]
    assert found[0] == found[1] != found[2]
    assert runs[0].outcome.reason is Reason.BUDGET
    assert runs[0].outcome.evaluations == 200
    assert runs[0].target is None


def test_an_optimizer_that_returns_has_stopped(task):
    run = execute(task(lambda objective, rng: objective(np.ones(2)), evaluations=100))
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.STOPPED, 1)
    assert run.trajectory.values.tolist() == [2.0]


def test_an_optimizer_that_never_evaluates_has_stopped_with_nothing(task):
    run = execute(task(lambda objective, rng: None, evaluations=100))
    assert (run.outcome.reason, run.outcome.evaluations, run.trajectory.values.size) == (Reason.STOPPED, 0, 0)


def test_a_target_is_reached(task, of):
    run = execute(task(problem=of(lambda x: 3 + float(x @ x), optimum=3.0), target_precision=1.0, evaluations=10_000))
    assert run.outcome.reason is Reason.TARGET
    assert run.target == 4.0
    assert run.trajectory.best <= 4.0
    assert (run.trajectory.values[:-1] > 4.0).all()


@pytest.mark.parametrize("then", [lambda objective: None, raise_something, evaluate_on, exit_process])
def test_what_an_optimizer_does_after_the_stop_does_not_change_the_outcome(task, then):
    run = execute(task(stubborn(then), evaluations=50))
    assert (run.outcome.reason, run.outcome.evaluations, run.outcome.message) == (Reason.BUDGET, 50, "")


def test_a_stop_wrapped_in_another_exception_is_a_stop(task):
    def optimizer(objective, rng):
        try:
            while True:
                objective(np.ones(2))
        except BaseException as error:
            raise RuntimeError("wrapped") from error

    assert execute(task(optimizer, evaluations=5)).outcome.reason is Reason.BUDGET


def test_except_exception_does_not_keep_a_run_alive(task):
    def optimizer(objective, rng):
        while True:
            with suppress(Exception):
                objective(np.ones(2))

    assert execute(task(optimizer, evaluations=5)).outcome.evaluations == 5


def test_a_failure_keeps_what_was_found_and_says_what_happened(task):
    def optimizer(objective, rng):
        objective(np.ones(2))
        raise ZeroDivisionError("by nothing")

    run = execute(task(optimizer, evaluations=100))
    assert run.outcome.reason is Reason.FAILED
    assert run.outcome.message == "ZeroDivisionError: by nothing"
    assert 'raise ZeroDivisionError("by nothing")' in run.outcome.traceback
    assert run.trajectory.values.tolist() == [2.0]
    assert run.outcome.evaluations == 1


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (GeneratorExit(), "GeneratorExit"),
        (MemoryError(), "MemoryError"),
        (Mute(), "Mute: (its text cannot be shown)"),
        (ValueError("x" * 10**6), "ValueError: " + "x" * (20_000 - 12)),
    ],
)
def test_anything_raised_is_a_failure_with_its_name(task, error, message):
    def optimizer(objective, rng):
        raise error

    run = execute(task(optimizer, evaluations=100))
    assert (run.outcome.reason, run.outcome.message) == (Reason.FAILED, message)


def test_endless_recursion_is_a_failure(task):
    def optimizer(objective, rng):
        return optimizer(objective, rng)

    assert execute(task(optimizer, evaluations=1)).outcome.message.startswith("RecursionError: ")


def test_ctrl_c_is_no_outcome(task, hears_ctrl_c):
    def optimizer(objective, rng):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(task(optimizer, evaluations=100, timeout=60))
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "TypeError: the objective returned NoneType (None); it has to return one real number"),
        (1j, "TypeError: the objective returned complex (1j); it has to return one real number"),
        (np.zeros(2), "TypeError: the objective returned ndarray of shape (2,) (array([0., 0.]));"),
    ],
)
def test_an_objective_without_a_number_fails_the_run_and_is_named(task, of, result, message):
    run = execute(task(problem=of(lambda x: result), evaluations=100))
    assert run.outcome.reason is Reason.FAILED
    assert run.outcome.message.startswith(message)


@pytest.mark.parametrize("real", [2**64, Fraction(1, 2), np.float32(0.5)])
def test_any_real_number_is_a_value_of_ones_own_function_and_of_any_problem(task, of, real):
    own = FunctionProblem(lambda x: real, lower=-5, upper=5, dimension=2, name="own")
    for problem in (own, of(lambda x: real)):
        run = execute(task(problem=problem, evaluations=1))
        assert run.outcome.ok, run.outcome.message
        assert run.trajectory.values.tolist() == [float(real)]


MASKS = [np.ma.masked, np.ma.array(2.0, mask=True), np.ma.array([2.0], mask=[True])]


@pytest.mark.parametrize("masked", MASKS)
def test_a_masked_value_is_no_number(task, of, masked):
    run = execute(task(problem=of(lambda x: masked), evaluations=100))
    said = "TypeError: the objective returned masked values; return NaN where there is no value"
    assert (run.outcome.reason, run.outcome.message) == (Reason.FAILED, said)
    assert run.trajectory.values.size == 0
    own = FunctionProblem(lambda x: masked, lower=-5, upper=5, dimension=2, name="own")
    whole = FunctionProblem(lambda x: masked, lower=-5, upper=5, dimension=2, name="own", integers=True)
    for each in (own, whole):
        run = execute(task(problem=each, evaluations=100))
        assert run.outcome.message == said.replace("the objective", "own: the function")
        assert run.trajectory.values.size == 0


def in_batches(objective, rng):
    while True:
        objective(rng.uniform(-5, 5, (3, 2)))


def test_masked_values_of_batches_are_no_numbers(task, functional):
    def masked(points):
        return np.ma.array(points[:, 0], mask=[False, True, False])

    own = FunctionProblem(masked, lower=-5, upper=5, dimension=2, name="own", vectorized=True)
    run = execute(task(in_batches, own, evaluations=9))
    assert run.outcome.message.startswith("TypeError: own: the vectorized function returned masked values; return NaN")
    assert run.trajectory.values.size == 0

    class Batched(type(functional(masked))):
        def __call__(self, x):
            return masked(x)

    run = execute(task(in_batches, Counted(Batched(masked)), evaluations=9))
    assert run.outcome.message.startswith("TypeError: the objective returned masked values; return NaN")
    assert run.trajectory.values.size == 0


def test_an_array_of_which_nothing_is_masked_is_numbers(task):
    own = FunctionProblem(lambda x: np.ma.array([3.0], mask=[False]), lower=-5, upper=5, dimension=2)
    assert execute(task(problem=own, evaluations=2)).trajectory.values.tolist() == [3.0]


def test_nan_and_inf_are_worst_and_nan_is_counted(task, of):
    values = iter([np.nan, np.inf, 5.0, np.nan, -np.inf])
    run = execute(task(problem=of(lambda x: next(values)), evaluations=5))
    assert run.outcome.invalid_evaluations == 2
    assert run.trajectory.evaluations.tolist() == [3, 5]
    assert run.trajectory.values.tolist() == [5.0, -np.inf]


# Time limits


def sleep(objective, rng):
    objective(np.ones(2))
    time.sleep(60)


def hang_in_a_regular_expression(objective, rng):
    objective(np.ones(2))
    re.match(r"(a+)+$", "a" * 64 + "b")


class Careless:
    """Its destructor takes long: an exception raised there is ignored by Python."""

    def __del__(self):
        time.sleep(0.5)


def destroy(objective, rng):
    objective(np.ones(2))
    Careless()
    while True:
        pass


@pytest.mark.parametrize("optimizer", [sleep, hang_in_python, hang_in_a_regular_expression])
def test_a_hang_ends_at_the_time_limit_with_what_was_found(task, optimizer):
    begun = time.monotonic()
    run = execute(task(optimizer, evaluations=100, timeout=0.2))
    assert time.monotonic() - begun < 10
    assert run.outcome.reason is Reason.TIMED_OUT
    assert run.trajectory.values.tolist() == [2.0]
    assert 0.2 <= run.outcome.seconds < 10


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_alarm_lost_in_a_destructor_strikes_again(task):
    run = execute(task(destroy, evaluations=100, timeout=0.2))
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.TIMED_OUT, 1)


def test_an_optimizer_that_swallows_the_alarm_meets_it_at_the_next_evaluation(task):
    def optimizer(objective, rng):
        objective(np.ones(2))
        with suppress(BaseException):
            time.sleep(60)
        objective(np.zeros(2))

    run = execute(task(optimizer, evaluations=100, timeout=0.2))
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.TIMED_OUT, 1)
    assert run.trajectory.values.tolist() == [2.0]


def test_the_clock_and_handler_of_before_come_back(task):
    struck = []
    before = signal.signal(signal.SIGALRM, lambda *_: struck.append(1))
    mine = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 50.0)
    try:
        execute(task(evaluations=10, timeout=5.0))
        execute(task(sleep, timeout=0.1))
        assert signal.getsignal(signal.SIGALRM) is mine
        assert 40 < signal.getitimer(signal.ITIMER_REAL)[0] <= 50.0
        assert not struck
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_no_alarm_is_left_behind_however_the_run_ends(task):
    """Runs that end just as the alarm strikes: none of 300 lets the stop escape, and no timer stays on."""
    for i in range(300):

        def optimizer(objective, rng):
            until = time.perf_counter() + 0.002
            while time.perf_counter() < until:
                pass

        run = execute(task(optimizer, timeout=1e-6 + i * 1e-5))
        assert run.outcome.reason in {Reason.TIMED_OUT, Reason.STOPPED}
        assert 0 <= run.outcome.seconds < 5
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_outside_the_main_thread_the_time_limit_holds_at_evaluations(task):
    found = []

    def optimizer(objective, rng):
        while True:
            time.sleep(0.01)
            objective(np.ones(2))

    thread = threading.Thread(target=lambda: found.append(execute(task(optimizer, timeout=0.1))))
    thread.start()
    thread.join(30)
    assert found[0].outcome.reason is Reason.TIMED_OUT
    assert found[0].outcome.seconds >= 0.1


def test_a_seconds_budget_is_a_budget_even_with_a_time_limit(task):
    run = execute(task(seconds=0.05, timeout=20.0))
    assert run.outcome.reason is Reason.BUDGET
    assert 0.05 <= run.outcome.seconds < 10


# Problems


class Counted:
    """A specification that counts how often it is built and its problem reset."""

    name = "counted"

    def __init__(self, problem):
        self.problem, self.built, self.resets = problem, 0, 0
        problem.reset = self.count_reset

    def count_reset(self):
        self.resets += 1

    def build(self):
        self.built += 1
        return self.problem


def test_a_problem_is_built_once_and_reset_for_each_run(task, functional):
    spec = Counted(functional(lambda x: 1.0))
    for seed in range(3):
        execute(task(problem=spec, seed=seed, evaluations=3))
    assert (spec.built, spec.resets) == (1, 3)


def test_few_problems_stay_in_memory(task, functional):
    specs = [Counted(functional(lambda x: 1.0)) for _ in range(run_module.CACHED_PROBLEMS + 1)]
    for spec in [*specs, *specs]:
        execute(task(problem=spec, evaluations=1))
    assert [spec.built for spec in specs] == [2] * len(specs)


def test_a_specification_without_a_hash_is_built_each_time(task, functional):
    class Unhashable(Counted):
        __hash__ = None

    spec = Unhashable(functional(lambda x: 1.0))
    assert [execute(task(problem=spec, evaluations=3)).outcome.evaluations for _ in range(2)] == [3, 3]
    assert spec.built == 2


def test_a_problem_that_cannot_be_built_is_a_failure(task):
    class Broken:
        name = "broken"

        def build(self):
            raise FileNotFoundError("no data")

    run = execute(task(problem=Broken(), evaluations=1))
    assert (run.outcome.reason, run.outcome.message) == (Reason.FAILED, "FileNotFoundError: no data")
    assert "in build" in run.outcome.traceback
    assert run.outcome.evaluations == 0


@pytest.mark.parametrize(("error", "message"), [(SystemExit(3), "SystemExit: 3"), (GeneratorExit(), "GeneratorExit")])
def test_whatever_the_construction_of_a_problem_raises_is_a_failure(task, error, message):
    class Leaving:
        name = "leaving"

        def build(self):
            raise error

    run = execute(task(problem=Leaving(), evaluations=1))
    assert (run.outcome.reason, run.outcome.message, run.outcome.evaluations) == (Reason.FAILED, message, 0)


def test_ctrl_c_while_a_problem_is_built_is_no_outcome(task, hears_ctrl_c):
    class Interrupted:
        name = "interrupted"

        def build(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(task(problem=Interrupted(), evaluations=1))


def test_a_time_limit_that_no_timer_can_hold_is_none(task):
    run = execute(task(evaluations=20, timeout=1e300))
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.BUDGET, 20)


def test_building_is_not_part_of_the_run(task, sphere):
    class Slow:
        name = "slow"

        def build(self):
            time.sleep(0.3)
            return sphere.build()

    assert execute(task(problem=Slow(), evaluations=1)).outcome.seconds < 0.3


def test_warnings_of_a_users_code_are_its_own(task):
    def optimizer(objective, rng):
        warnings.warn("look", stacklevel=1)

    with pytest.warns(UserWarning, match="look"):
        assert execute(task(optimizer)).outcome.reason is Reason.STOPPED

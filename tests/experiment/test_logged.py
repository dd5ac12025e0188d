"""What is logged of an optimizer: what it was at each evaluation; and what could not be logged, and is reported."""

import math
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from unittest import mock

import cloudpickle
import numpy as np
import pytest

from polarbear import store
from polarbear.experiment import Limits, Recorder, Stop, Task, Watch, WorkerPool, execute, run_tasks
from polarbear.problems import BBOBProblem, Traits
from polarbear.records import Reason, RunKey

cloudpickle.register_pickle_by_value(sys.modules[__name__])

EVERY_TIME = Watch(every=1)


def watched(function, watch, functional, *, evaluations=None, optimum=0.0, **more):
    return Recorder(functional(function, optimum=optimum), Limits(evaluations=evaluations), watch=watch, **more)


# Values


def adaptive(exposed):
    """A (1+1) evolution strategy that exposes its step size; it notes what that was at each evaluation."""

    def optimizer(problem, rng):
        x, step, best = np.full(2, 3.0), 1.0, math.inf
        problem.expose(step_size=lambda: step, successes=lambda: successes)
        problem.recommend(lambda: x)
        successes = 0
        while True:
            trial = x + step * rng.normal(size=2)
            exposed.append((step, successes, x.copy()))
            value = problem(trial)
            if value < best:
                x, best, step, successes = trial, value, step * 1.5, successes + 1
            else:
                step *= 1.5**-0.25

    return optimizer


def run_of(optimizer, problem, watch, **limits):
    return execute(Task(RunKey(problem.name, "optimizer", 1), problem, optimizer, Limits(**limits), watch=watch))


def test_rows_hold_what_the_optimizer_was_when_it_chose_the_point(sphere):
    exposed = []
    watch = Watch(every=7, on_improvement=True, at=(1, 2, 30), recommendations=True)
    run = run_of(adaptive(exposed), sphere, watch, evaluations=100)
    parameters = run.parameters
    at = parameters.evaluations
    assert set(at.tolist()) == {*range(7, 101, 7), 1, 2, 30, *run.trajectory.evaluations.tolist()}
    assert list(parameters.values) == ["step_size", "successes", "recommendation"]
    assert parameters.values["step_size"].tolist() == [exposed[i - 1][0] for i in at]
    assert parameters.values["successes"].tolist() == [exposed[i - 1][1] for i in at]
    assert parameters.values["recommendation"].tolist() == [float(exposed[i - 1][2] @ exposed[i - 1][2]) for i in at]
    assert run.outcome.message == ""


@pytest.mark.parametrize("minimize", [True, False])
def test_watching_changes_nothing_in_the_run(of, minimize):
    problem = of(lambda x: float(x @ x) * (1 if minimize else -1), minimize=minimize, optimum=0.0)
    plain = run_of(adaptive([]), problem, None, evaluations=300)
    run = run_of(adaptive([]), problem, Watch(every=3, targets_per_decade=5, recommendations=True), evaluations=300)
    assert run.trajectory.evaluations.tolist() == plain.trajectory.evaluations.tolist()
    assert run.trajectory.values.tolist() == plain.trajectory.values.tolist()
    assert (run.outcome.evaluations, run.outcome.reason) == (300, Reason.BUDGET)
    assert plain.parameters is None
    assert (run.parameters.values["recommendation"] >= 0).all()  # minimized


def test_a_choice_of_parameters_is_kept_in_its_order(sphere):
    run = run_of(adaptive([]), sphere, Watch(every=5, parameters=["successes", "step_size"]), evaluations=10)
    assert list(run.parameters.values) == ["successes", "step_size"]
    run = run_of(adaptive([]), sphere, Watch(every=5, parameters=("successes",)), evaluations=10)
    assert list(run.parameters.values) == ["successes"]
    run = run_of(adaptive([]), sphere, Watch(every=5, parameters=(), recommendations=True), evaluations=10)
    assert list(run.parameters.values) == ["recommendation"]


def test_a_parameter_exposed_later_is_nan_before_and_one_exposed_again_is_replaced(functional):
    recorder = watched(lambda x: 1.0, EVERY_TIME, functional)
    x = np.ones(2)
    recorder.objective(x)
    recorder.objective.expose(a=lambda: 1)
    recorder.objective(x)
    recorder.objective.expose(b=lambda: np.float32(2.5))
    recorder.objective(x)
    recorder.objective.expose(a=lambda: np.array(7))
    recorder.objective(x)
    np.testing.assert_equal(recorder.parameters.values["a"], [math.nan, 1.0, 1.0, 7.0])
    np.testing.assert_equal(recorder.parameters.values["b"], [math.nan, math.nan, 2.5, 2.5])
    assert recorder.trajectory().outcome.message == ""


@dataclass(frozen=True)
class Counting:
    """Each build is a problem of its own that counts its evaluations and changes with them."""

    built: list
    name: str = "counting"

    __hash__ = object.__hash__

    def build(self):
        problem = CountingProblem()
        self.built.append(problem)
        return problem


class CountingProblem:
    name, dimension, minimize, optimum = "counting", 2, True, None
    lower, upper, traits = np.full(2, -5.0), np.full(2, 5.0), Traits(noisy=True)

    def __init__(self):
        self.calls = 0
        self.told = []

    def raw(self, x):
        self.calls += 1
        return float(x @ x)

    def __call__(self, x):
        return np.array([self.raw(row) for row in x])

    def diagnose(self, x):
        pass

    def trial(self, rng):
        problem = self

        class Trial:
            batch = None

            def __call__(self, x):
                value = problem.raw(x)
                problem.told.append(value + rng.normal())
                return problem.told[-1], value

        return Trial()


def test_recommendations_touch_neither_the_noise_nor_the_problem_nor_the_count():
    plain, seen = Counting([]), Counting([])
    run_of(adaptive([]), plain, None, evaluations=50)
    exposed = []
    run = run_of(adaptive(exposed), seen, Watch(every=1, recommendations=True), evaluations=50)
    assert plain.built[0].told == seen.built[0].told
    assert [problem.calls for problem in plain.built] == [50]
    assert [problem.calls for problem in seen.built] == [50, 50]
    assert run.outcome.evaluations == 50
    assert run.parameters.values["recommendation"].tolist() == [float(x @ x) for _, _, x in exposed]  # no noise


def test_recommendations_are_evaluated_for_rows_alone():
    """For a noisy problem the optimizer is asked each time, so that being asked tells it nothing."""
    seen = Counting([])
    run = run_of(adaptive([]), seen, Watch(on_improvement=True, recommendations=True), evaluations=50)
    assert [problem.calls for problem in seen.built] == [50, run.parameters.evaluations.size]
    assert run.parameters.evaluations.tolist() == run.trajectory.evaluations.tolist()


def test_the_recommendation_for_several_objectives_is_the_indicator_of_its_points_alone():
    class Given:
        name, dimension, minimize, optimum = "given", 2, True, None
        lower, upper, traits = np.zeros(2), np.ones(2), Traits(objectives=2)
        ideal, nadir = np.zeros(2), np.ones(2)
        raw = staticmethod(np.array)
        __call__ = staticmethod(np.array)

        def diagnose(self, x):
            pass

    recorder = Recorder(Given(), Limits(), watch=Watch(every=1, recommendations=True))
    points = iter([np.array([0.5, 0.5]), [[0.5, 0.5], [0.25, 0.75]], [4.0, 5.0], np.empty((0, 2))])
    recorder.objective.recommend(lambda: next(points))
    for _ in range(4):
        recorder.objective(np.zeros(2))
    np.testing.assert_equal(recorder.parameters.values["recommendation"], [-0.25, -0.3125, 5.0, math.nan])


def test_asking_stops_the_clock(functional):
    now = 100.0

    def evaluate(x):
        nonlocal now
        now += 1.0
        return -now

    def slow():
        nonlocal now
        now += 50.0
        return 1.0

    with mock.patch("polarbear.experiment.recorder.perf_counter", lambda: now):  # noqa: PT008 - it changes
        recorder = Recorder(
            functional(evaluate, optimum=None), Limits(seconds=5.0), watch=Watch(every=2, on_improvement=True)
        )
        recorder.objective.expose(slow=slow)
        recorder.start()
        with suppress(Stop):
            for _ in range(2):
                recorder.objective(np.ones(2))
            recorder.objective(np.ones((2, 2)))
            recorder.objective(np.ones(2))
            recorder.objective(np.ones(2))
        trajectory = recorder.trajectory()
    assert trajectory.seconds.tolist() == [1.0, 2.0, 4.0, 4.0, 5.0]
    assert (trajectory.outcome.reason, trajectory.outcome.evaluations) == (Reason.BUDGET, 5)
    assert trajectory.outcome.seconds == 5.0
    assert recorder.parameters.evaluations.tolist() == [1, 2, 3, 4, 5]


# What cannot be logged


def broken():
    raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize(
    ("getter", "said"),
    [
        (broken, "raised ZeroDivisionError: by nothing"),
        (lambda: math.nan, "is NaN"),
        (lambda: None, "raised TypeError: the function returned NoneType; it has to return one real number"),
        (lambda: "1.0", "the function returned str"),
        (lambda: 1j, "the function returned complex"),
        (lambda: np.ones(1), "the function returned ndarray"),
        (lambda: 1 / np.zeros(3), "the function returned ndarray|raised RuntimeWarning"),
    ],
)
def test_a_getter_without_a_number_leaves_nan_and_is_reported(functional, getter, said):
    recorder = watched(lambda x: 1.0, Watch(every=2), functional)
    recorder.objective.expose(fine=lambda: 4.0, bad=getter)
    for _ in range(5):
        recorder.objective(np.ones(2))
    assert recorder.parameters.evaluations.tolist() == [2, 4]
    assert recorder.parameters.values["fine"].tolist() == [4.0, 4.0]
    assert np.isnan(recorder.parameters.values["bad"]).all()
    message = recorder.trajectory().outcome.message
    assert message.startswith("watch: parameter 'bad' ")
    assert message.endswith(" at evaluation 2; number of values logged as NaN: 2")
    assert any(one in message for one in said.split("|"))
    assert recorder.trajectory().outcome.ok


@pytest.mark.parametrize(
    ("point", "said"),
    [
        (np.ones(3), r"the recommended point has shape \(3,\); give \(2,\)"),
        (np.ones((1, 2)), r"has shape \(1, 2\)"),
        (None, r"has shape \(\)"),
        ([1.0, math.inf], "is not finite"),
        ("here", "could not convert"),
    ],
)
def test_a_recommendation_that_is_no_point_leaves_nan_and_is_reported(functional, point, said):
    recorder = watched(lambda x: 1.0, Watch(every=2, recommendations=True), functional)
    recorder.objective.recommend(lambda: point)
    recorder.objective(np.ones((2, 2)))
    assert np.isnan(recorder.parameters.values["recommendation"]).all()
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(recorder.trajectory().outcome.message)


def test_only_the_first_failure_is_told_and_all_are_counted(functional):
    recorder = watched(lambda x: 1.0, EVERY_TIME, functional)
    recorder.objective.expose(a=lambda: math.nan if recorder.evaluations > 2 else 1.0, b=lambda: broken())
    for _ in range(2):
        recorder.objective(np.ones(2))
    recorder.objective(np.ones((3, 2)))
    assert recorder.trajectory().outcome.message == (
        "watch: parameter 'b' raised ZeroDivisionError: by nothing at evaluation 1; number of values logged as NaN: 8"
    )


@pytest.mark.parametrize("how", ["point", "batch", "list", "constraints"])
def test_a_getter_may_not_evaluate(functional, how):
    problem = functional(lambda x: float(x @ x))
    recorder = Recorder(problem, Limits(evaluations=3), watch=EVERY_TIME)
    ask = {
        "point": lambda: recorder.objective(np.zeros(2)),
        "batch": lambda: recorder.objective(np.zeros((1, 2)))[0],
        "list": lambda: recorder.objective([0.0, 0.0]),
        "constraints": lambda: recorder.objective.constraints(np.zeros(2)),
    }[how]
    recorder.objective.expose(cheat=ask)
    with suppress(Stop):
        while True:
            recorder.objective(np.ones(2))
    assert len(problem.calls) == recorder.trajectory().outcome.evaluations == 3
    assert recorder.trajectory().values.tolist() == [2.0]
    assert np.isnan(recorder.parameters.values["cheat"]).all()
    if how != "constraints":  # there are none
        assert "must not evaluate the problem" in recorder.trajectory().outcome.message


def test_what_was_never_offered_is_reported(functional):
    recorder = watched(lambda x: 1.0, Watch(every=1, parameters=("sigma", "c"), recommendations=True), functional)
    recorder.objective(np.ones(2))
    assert recorder.trajectory().outcome.message == (
        "watch: the optimizer never exposed 'sigma', 'c'; it exposed nothing; watch: the optimizer recommended no point"
    )
    np.testing.assert_equal(
        dict(recorder.parameters.values), {"sigma": [math.nan], "c": [math.nan], "recommendation": [math.nan]}
    )
    recorder = watched(lambda x: 1.0, Watch(every=1, parameters=("sigma",)), functional)
    recorder.objective.expose(Sigma=lambda: 1.0)
    recorder.objective(np.ones(2))
    assert "did you mean 'Sigma'? choose from: Sigma" in recorder.trajectory().outcome.message


def test_a_run_that_fails_keeps_its_own_message_and_its_rows(task):
    def optimizer(problem, rng):
        problem.expose(bad=broken, good=lambda: 2.0)
        problem(np.ones(2))
        raise KeyError("mine")

    ready = task(optimizer, evaluations=9)
    run = execute(Task(ready.key, ready.problem, ready.optimizer, ready.limits, EVERY_TIME))
    assert (run.outcome.reason, run.outcome.message) == (Reason.FAILED, "KeyError: 'mine'")
    assert run.parameters.values["good"].tolist() == [2.0]


def test_a_time_limit_interrupts_a_getter_that_hangs(task):
    def optimizer(problem, rng):
        problem.expose(slow=lambda: time.sleep(60))
        while True:
            problem(np.ones(2))

    ready = task(optimizer, timeout=0.2)
    run = execute(Task(ready.key, ready.problem, ready.optimizer, ready.limits, EVERY_TIME))
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.TIMED_OUT, 1)
    assert run.trajectory.values.tolist() == [2.0]


@pytest.mark.parametrize("watch", [None, EVERY_TIME])
def test_what_is_exposed_is_checked_whether_anybody_watches_or_not(functional, watch):
    objective = Recorder(functional(lambda x: 1.0), Limits(), watch=watch).objective
    with pytest.raises(TypeError, match=r"expose: sigma is 0\.5; give a function that returns it"):
        objective.expose(sigma=0.5)
    with pytest.raises(ValueError, match=r"the name 'recommendation' is reserved for problem\.recommend"):
        objective.expose(recommendation=lambda: 1.0)
    with pytest.raises(TypeError, match=r"recommend: .* cannot be called"):
        objective.recommend(np.ones(2))


# Kept


def test_a_study_keeps_what_was_logged(tmp_path):
    problem = BBOBProblem(function=8, instance=1, dimension=2)
    watch = Watch(per_decade=5, targets_per_decade=1, recommendations=True)
    runs = [run_of(adaptive([]), problem, watch, evaluations=200), run_of(half_broken, problem, watch, evaluations=20)]
    runs[1] = replace(runs[1], key=RunKey(problem.name, "broken", 1))
    with store.create(tmp_path / "s", {"kind": "test"}) as study:
        study.extend(runs)
        study.commit()
    with store.open(tmp_path / "s") as study:
        kept = {run.key: run for run in study.runs()}
    assert kept == {run.key: run for run in runs}
    assert np.isnan(runs[1].parameters.values["b"]).all()
    assert kept[runs[1].key].outcome.message.startswith("watch: parameter 'b' raised")


def half_broken(problem, rng):
    problem.expose(a=lambda: 1.0, b=broken)
    problem.recommend(lambda: np.zeros(2))
    while True:
        problem(rng.uniform(-5, 5, 2))


def test_what_was_logged_comes_back_from_a_worker():
    problem = BBOBProblem(function=1, instance=1, dimension=2)
    watch = Watch(every=10, parameters=("a",), recommendations=True)
    one = Task(RunKey(problem.name, "half", 1), problem, half_broken, Limits(evaluations=30), watch, warm_up=True)
    with WorkerPool(1) as pool:
        (run,) = run_tasks([one], pool)
    assert run.parameters == execute(one).parameters
    assert run.parameters.evaluations.tolist() == [10, 20, 30]
    assert set(run.parameters.values["recommendation"]) == {problem.build()(np.zeros(2))}

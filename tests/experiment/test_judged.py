"""Constraints and several objectives: told as they are, judged by one number; by hand and by the assessment's own."""

import math
from itertools import pairwise

import numpy as np
import pytest

from polarbear.assess import hypervolume_indicator
from polarbear.experiment import Limits, Recorder, Stop, Watch
from polarbear.problems import Traits
from polarbear.records import Reason
from tests.experiment.fakes import Box, NoisySphere, rng

# Constraints


class Constrained(Box):
    """Minimize x0 where x0 >= 1 and x1 <= 2: the optimum is 1."""

    name, traits, optimum = "constrained", Traits(constraints=2), 1.0

    def __init__(self):
        self.evaluated, self.asked = [], []

    def raw(self, x):
        return float(x[0])

    def trial(self, rng):
        return ConstrainedTrial(self)


class ConstrainedTrial:
    def __init__(self, problem):
        self.problem = problem

    def constraints(self, x):
        self.problem.asked.append(x.tolist())
        return np.array([1.0 - x[0], x[1] - 2.0])

    def __call__(self, x):
        self.problem.evaluated.append(x.tolist())
        violation = max(1.0 - x[0], 0.0) + max(x[1] - 2.0, 0.0)
        return float(x[0]), 1.0 + max(x[0] - 1.0, 0.0) + violation

    def batch(self, points):
        told, values = zip(*[self(x) for x in points], strict=True)
        return np.array(told), np.array(values)


BY_HAND = [  # point, told f, recorded 1 + |f - 1|+ + |g1|+ + |g2|+
    ((4.0, 3.0), 4.0, 5.0),  # f 3 above the optimum, g2 = 1
    ((0.0, 0.0), 0.0, 2.0),  # f below the optimum counts as the optimum, g1 = 1
    ((2.0, 2.0), 2.0, 2.0),  # feasible
    ((1.5, 1.0), 1.5, 1.5),
    ((0.75, 2.25), 0.75, 1.5),  # g1 = 0.25, g2 = 0.25
    ((1.0, 2.0), 1.0, 1.0),  # the optimum
]


@pytest.mark.parametrize("batch", [False, True])
def test_constrained_runs_are_judged_as_computed_by_hand(batch):
    points = np.array([point for point, _, _ in BY_HAND])
    recorder = Recorder(Constrained(), Limits(target_precision=1e-9), noise=rng())
    with pytest.raises(Stop):
        recorder.objective(points) if batch else [recorder.objective(x) for x in points]
    trajectory = recorder.trajectory()
    assert trajectory.evaluations.tolist() == [1, 2, 4, 6]
    assert trajectory.values.tolist() == [5.0, 2.0, 1.5, 1.0]
    assert trajectory.outcome.reason is Reason.TARGET
    fresh = Recorder(Constrained(), Limits(), noise=rng())
    assert fresh.objective(points).tolist() == [f for _, f, _ in BY_HAND]
    assert [fresh.objective(x) for x in points] == [f for _, f, _ in BY_HAND]


def test_constraints_are_free_for_what_was_evaluated_last_and_cost_one_evaluation_elsewhere():
    recorder = Recorder(Constrained(), Limits(), noise=rng())
    objective = recorder.objective
    assert objective.traits.constraints == 2
    x = np.array([0.0, 3.0])
    objective(x)
    assert objective.constraints(x).tolist() == [1.0, 1.0]
    assert objective.constraints([0.0, 3.0]).tolist() == [1.0, 1.0]
    assert recorder.evaluations == 1
    x[0] = 2.0  # the optimizer's own array: another point now
    assert objective.constraints(x).tolist() == [-1.0, 1.0]
    assert recorder.evaluations == 2
    assert objective.constraints(x).tolist() == [-1.0, 1.0]  # asked for last
    assert recorder.evaluations == 2
    objective(x)
    assert recorder.evaluations == 3
    points = np.array([[1.0, 2.0], [3.0, 4.0]])
    objective(points)
    assert objective.constraints(points[::-1]).tolist() == [[-2.0, 2.0], [0.0, 0.0]]
    assert [objective.constraints(x).tolist() for x in points] == [[0.0, 0.0], [-2.0, 2.0]]
    assert recorder.evaluations == 5
    assert objective.constraints(np.array([[1.0, 2.0], [9.0, 9.0]])).shape == (2, 2)  # one of them is new
    assert recorder.evaluations == 6
    assert recorder.trajectory().evaluations.tolist() == [1, 4]  # recorded 3, 3 and 1; constraints improve nothing


def test_constraints_spend_the_budget_and_stop_the_run():
    problem = Constrained()
    recorder = Recorder(problem, Limits(evaluations=3), noise=rng())
    recorder.objective(np.ones(2))
    recorder.objective.constraints(np.zeros(2))
    with pytest.raises(Stop):
        recorder.objective.constraints(np.full((4, 2), 2.0))
    assert recorder.trajectory().outcome.evaluations == 3
    assert recorder.trajectory().outcome.reason is Reason.BUDGET
    for x in (np.full(2, 2.0), np.ones(2)):
        with pytest.raises(Stop):
            recorder.objective.constraints(x)
    assert problem.asked == [[0.0, 0.0], [2.0, 2.0]]
    assert problem.evaluated == [[1.0, 1.0]]


def test_a_getter_may_not_ask_for_constraints():
    problem = Constrained()
    recorder = Recorder(problem, Limits(), noise=rng(), watch=Watch(every=1))
    recorder.objective.expose(cheat=lambda: recorder.objective.constraints(np.zeros(2))[0])
    recorder.objective(np.ones(2))
    assert "must not evaluate the problem" in recorder.trajectory().outcome.message
    assert (recorder.evaluations, problem.asked) == (1, [])
    recorder.objective.constraints(np.zeros(2))  # logged as the evaluation it is
    assert recorder.parameters.evaluations.tolist() == [1, 2]


def test_constraints_of_bad_points_are_raised_and_not_counted():
    recorder = Recorder(Constrained(), Limits(), noise=rng())
    for bad in (np.ones(3), np.array([np.nan, 1.0]), np.ones((2, 3))):
        with pytest.raises(ValueError, match="x is"):
            recorder.objective.constraints(bad)
    assert recorder.evaluations == 0


def test_constraints_that_raise_are_spent_and_of_wrong_shape_are_named(monkeypatch):
    for answer, error in ((ZeroDivisionError("no"), ZeroDivisionError), (np.ones(3), TypeError)):

        def constraints(self, x, answer=answer):
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(ConstrainedTrial, "constraints", constraints)
        recorder = Recorder(Constrained(), Limits(evaluations=1), noise=rng())
        with pytest.raises(error, match=r"no|the constraints returned shape \(3,\); constrained has 2"):
            recorder.objective.constraints(np.ones(2))
        with pytest.raises(Stop):
            recorder.objective.constraints(np.ones(2))
        assert recorder.trajectory().outcome.evaluations == 1


def test_a_constraint_that_is_nan_counts_as_violated(monkeypatch):
    monkeypatch.setattr(ConstrainedTrial, "constraints", lambda self, x: [math.nan, -1.0])
    recorder = Recorder(Constrained(), Limits(), noise=rng())
    assert recorder.objective.constraints(np.ones(2)).tolist() == [math.inf, -1.0]


def test_problems_without_constraints_say_so(functional):
    assert Recorder(functional(lambda x: 1.0), Limits()).objective.constraints is None
    assert Recorder(NoisySphere(), Limits(), noise=rng()).objective.constraints is None


# Several objectives


class TwoSpheres(Box):
    """Distances to (0, 0) and (1, 0), squared: the ideal point is (0, 0), the nadir point (1, 1)."""

    name, traits = "two-spheres", Traits(objectives=2)
    ideal, nadir = np.zeros(2), np.ones(2)

    def raw(self, x):
        return np.array([x @ x, (x[0] - 1) ** 2 + x[1] ** 2])


class TwoNegated(TwoSpheres):
    minimize, ideal, nadir = False, -np.zeros(2), -np.ones(2)

    def raw(self, x):
        return -super().raw(x)


@pytest.mark.parametrize("problem", [TwoSpheres(), TwoNegated()])
def test_two_objectives_are_told_and_judged_by_the_hypervolume_of_the_sequence(problem):
    points = np.random.default_rng(5).uniform(-1.5, 2.0, (200, 2)) * np.linspace(1, 0.3, 200)[:, None]
    recorder = Recorder(problem, Limits(evaluations=200))
    told = [recorder.objective(x) for x in points[:50]]
    told += [*recorder.objective(points[50:120]), *recorder.objective(points[120:199])]
    with pytest.raises(Stop):
        recorder.objective(points[199:])
    expected = np.stack([TwoSpheres().raw(x) for x in points])
    np.testing.assert_array_equal(told, expected[:199])
    indicator = hypervolume_indicator(expected, [0, 0], [1, 1])
    trajectory = recorder.trajectory()
    assert trajectory.value_at(np.arange(1, 201)).tolist() == indicator.tolist()
    assert [later < earlier for earlier, later in pairwise([math.inf, *indicator])].count(
        True
    ) == trajectory.values.size
    assert indicator[-1] < -0.5  # well inside: the unit square less what lies below the front


def test_the_indicator_by_hand():
    class Given(TwoSpheres):
        raw = staticmethod(lambda x: x)  # objectives are the variables

    recorder = Recorder(Given(), Limits())
    for x, indicator in (
        ((4.0, 5.0), 5.0),  # 3 and 4 above the nadir point
        ((2.0, 0.5), 1.0),
        ((0.5, 0.5), -0.25),
        ((0.25, 0.75), -0.3125),  # and a square of 0.25
    ):
        recorder.objective(np.array(x))
        assert recorder.trajectory().best == indicator


def test_a_point_with_an_objective_that_is_no_number_is_told_as_worst_and_not_judged():
    class Partly(TwoSpheres):
        raw = staticmethod(lambda x: np.where(x > 4, np.nan, x))

    recorder = Recorder(Partly(), Limits())
    assert recorder.objective(np.array([4.5, 0.1])).tolist() == [math.inf, 0.1]
    assert recorder.trajectory().values.size == 0
    assert recorder.objective(np.array([[0.5, 0.5], [4.5, 0.1]])).tolist() == [[0.5, 0.5], [math.inf, 0.1]]
    trajectory = recorder.trajectory()
    assert trajectory.values.tolist() == [-0.25]
    assert (trajectory.outcome.evaluations, trajectory.outcome.invalid_evaluations) == (3, 2)


@pytest.mark.parametrize("result", [1.0, None, np.ones(3), np.array([1j, 1.0]), np.array(["a", "b"])])
def test_anything_but_as_many_numbers_as_objectives_is_named(result):
    class Wrong(TwoSpheres):
        raw = staticmethod(lambda x: result)

    recorder = Recorder(Wrong(), Limits(evaluations=3))
    with pytest.raises(TypeError, match=r"it has to return real numbers of shape \(2,\)"):
        recorder.objective(np.ones(2))
    with pytest.raises(TypeError, match=r"it has to return real numbers of shape \(2, 2\)|shape"):
        recorder.objective(np.ones((2, 2)))
    assert recorder.evaluations == 3


# What cannot be judged


class Both(NoisySphere):
    traits = Traits(objectives=2, noisy=True)


class Untold(NoisySphere):
    traits = Traits(constraints=1)


class Silent(Box):
    traits = Traits(constraints=1)
    raw = staticmethod(float)


@pytest.mark.parametrize(
    ("problem", "arguments", "error", "message"),
    [
        (
            NoisySphere(),
            {},
            ValueError,
            r"noisy-sphere has a method `trial`, which needs random numbers; give the recorder "
            r"noise=key\.generator\('noise'\)",
        ),
        (Both(), {"noise": rng()}, ValueError, "several objectives and a method `trial`"),
        (Untold(), {"noise": rng()}, TypeError, "has 1 constraints, but its trial has no method `constraints`"),
        (Silent(), {}, TypeError, "fake has constraints, but no method `trial`"),
    ],
)
def test_problems_that_cannot_be_judged_are_named(problem, arguments, error, message):
    with pytest.raises(error, match=message):
        Recorder(problem, Limits(), **arguments)


def test_a_target_precision_for_two_objectives_is_an_error():
    with pytest.raises(ValueError, match="optimum of two-spheres is unknown"):
        Recorder(TwoSpheres(), Limits(target_precision=0.1))

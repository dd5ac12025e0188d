"""The noisy tasks: their dynamics, their noise, and what a run is judged by."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polarbear as pb
from polarbear.problems.functions.control import LQR, CartPole, cart_pole_step, pendulum_step, perceptron
from polarbear.problems.suite.noisy_tasks import TASKS

DIMENSIONS = {
    "lqr": 40,
    "cartpole": 43,
    "cartpole-ht": 43,
    "pendulum": 41,
    "breast-cancer": 5,
    "digits": 5,
    "mlp-16": 265,
}


def _built(function: str) -> pb.problems.Problem:
    if function in ("breast-cancer", "digits") or function.startswith("mlp"):
        pytest.importorskip("sklearn")
    return pb.problems.NoisyTaskProblem(function).build()


@pytest.mark.parametrize("function", TASKS)
def test_noise_is_the_trials_own_and_the_value_has_none(function):
    problem = _built(function)
    assert problem.dimension == DIMENSIONS.get(function, 265)
    assert problem.traits.noisy
    points = np.random.default_rng(1).uniform(-0.2, 0.2, (3, problem.dimension)) * problem.upper
    told, values = problem.trial(np.random.default_rng(5)).batch(points)
    again, same = problem.trial(np.random.default_rng(5)).batch(points)
    assert told.tolist() == again.tolist()
    assert values.tolist() == same.tolist()
    assert values == pytest.approx(problem(points), abs=0)
    assert values[1] == pytest.approx(problem(points[1]), rel=1e-12)
    other, _ = problem.trial(np.random.default_rng(6)).batch(points)
    assert (function == "mlp-256") == np.allclose(told, other)


def test_the_expected_cost_of_a_linear_system_is_the_mean_of_its_rollouts():
    """Within five standard errors, by 20,000 rollouts; of no controller, and of one that stabilizes."""
    system = LQR(3)
    a, b = system.system
    for gain in (np.zeros((4, 10)), np.linalg.lstsq(b, a, rcond=None)[0]):
        point = gain.reshape(1, -1)
        observed = system.observe(np.repeat(point, 20_000, axis=0), np.random.default_rng(2))
        error = observed.std() / math.sqrt(len(observed))
        assert abs(observed.mean() - system.value(point)[0]) < 5 * error


def test_a_controller_lowers_the_cost_and_an_unstable_one_is_bounded():
    system = LQR(1)
    a, b = system.system
    gain = np.linalg.lstsq(b, a, rcond=None)[0].reshape(-1)
    none, good, bad = system.value(np.stack([0 * gain, gain, 100 * gain]))
    assert good < none < bad == LQR.worst


def test_the_cart_and_the_pole_follow_their_equations_of_motion():
    """The accelerations of Lagrange's equations, solved as a linear system, over one Euler step of 0.02 s."""

    def motion(_, state):  # the accelerations from the 2 x 2 system of Lagrange's equations
        _, speed, angle, turning = state
        matrix = np.array([[1.1, 0.1 * 0.5 * np.cos(angle)], [np.cos(angle), 4 / 3 * 0.5]])
        right = np.array([10.0 + 0.1 * 0.5 * turning**2 * np.sin(angle), 9.8 * np.sin(angle)])
        acceleration, turned = np.linalg.solve(matrix, right)
        return [speed, acceleration, turning, turned]

    state = np.array([0.1, -0.2, 0.15, 0.3])
    after = cart_pole_step(state, np.asarray(10.0))
    assert (after - state) / 0.02 == pytest.approx(motion(0, state), rel=1e-12)


@pytest.mark.parametrize("torque", [0.0, -1.5, 2.0])
def test_a_step_of_the_pendulum_is_semi_implicit(torque):
    """θ'' = 15 sin θ + 3 u over 0.05 s, and the angle moves with the new speed; the cost is that before the step."""
    (angle, speed), cost = pendulum_step(np.array([0.4, -0.1]), np.asarray(torque))
    assert (speed + 0.1) / 0.05 == pytest.approx(15 * np.sin(0.4) + 3 * torque, rel=1e-12)
    assert (angle - 0.4) / 0.05 == pytest.approx(speed, rel=1e-12)
    assert cost == pytest.approx(0.4**2 + 0.1 * 0.1**2 + 0.001 * torque**2)
    assert pendulum_step(np.array([2 * np.pi, 0.0]), np.asarray(2.0))[1] == pytest.approx(0.004)


def test_perceptrons_are_computed_as_one_by_one():
    rng = np.random.default_rng(3)
    points, inputs = rng.standard_normal((5, 4 * 3 + 2 * 3 + 1)), rng.standard_normal((5, 7, 4))
    batch = perceptron(points, inputs, 3)
    for weights, given, outputs in zip(points, inputs, batch, strict=True):
        first, offsets, second, last = np.split(weights, [12, 15, 18])
        for row, output in zip(given, outputs, strict=True):
            assert output == pytest.approx(second @ np.tanh(row @ first.reshape(4, 3) + offsets) + last[0])


def test_a_balancing_policy_survives_and_a_constant_one_falls():
    weights = np.zeros((2, CartPole.dimension))
    weights[0, [2 * 7, 3 * 7]] = 1.0, 1.0  # pushes toward the side to which the pole leans and turns
    weights[0, 4 * 7 + 7] = 1.0
    weights[1, -1] = 1.0
    _, values = CartPole().evaluate(weights, np.random.default_rng(1))
    assert values[0] < -0.9
    assert -0.05 < values[1] < 0


def test_a_race_of_noisy_optimizers_runs_on_a_task(tmp_path):
    noisy = pb.optimizers.noisy
    optimizers = [noisy.CMAES(), noisy.RBPEM.paper()]
    race = pb.Race(optimizers, times=[40, 120], seed=1, smallest_batch=2, batch=2, largest_batch=4)
    instances = pb.problems.as_instances([pb.problems.NoisyTaskProblem("lqr", i) for i in range(1, 5)])
    result = pb.study.race(race, instances, path=tmp_path / "noisy.study")
    assert result.posterior.draws.shape[1:] == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"functions": "lqrr"}, "did you mean 'lqr'"),
        ({"instances": 0}, "instances is 0"),
        ({"functions": ()}, "functions"),
    ],
)
def test_what_is_no_task_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        pb.problems.NoisyTasks(**arguments)

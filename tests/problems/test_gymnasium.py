"""Cart and pole, and the pendulum, move as in gymnasium, whose environments they are."""

import gymnasium
import numpy as np
import pytest

from polarbear.problems.functions.control import CartPole, Pendulum, cart_pole_step, pendulum_step


@pytest.fixture(params=range(5))
def rng(request):
    return np.random.default_rng(request.param)


def test_the_cart_and_the_pole_move_alike(rng):
    """Until the pole falls or the cart leaves, within rounding to single precision of what is observed."""
    environment = gymnasium.make("CartPole-v1").unwrapped
    seen, _ = environment.reset(seed=1)
    state = environment.state = rng.uniform(-0.05, 0.05, 4)
    fallen = steps = 0
    while not fallen:
        action = int(rng.integers(2))
        seen, _, fallen, _, _ = environment.step(action)
        state = cart_pole_step(state, np.asarray(10.0 if action else -10.0))
        np.testing.assert_allclose(state, seen, rtol=1e-5, atol=1e-7)
        steps += 1
    assert steps > 5
    assert abs(state[0]) > 2.4 or abs(state[2]) > environment.theta_threshold_radians


def test_a_policy_survives_as_many_steps(rng):
    """The steps until the first state beyond the limits, which is not counted."""
    environment = gymnasium.make("CartPole-v1").unwrapped
    weights = rng.normal(size=CartPole.dimension)
    start = rng.uniform(-0.05, 0.05, 4)
    environment.reset(seed=1)
    environment.state, steps, fallen = start, 0, False
    problem = CartPole()
    while not fallen and steps < problem.steps:
        hidden = np.tanh(np.asarray(environment.state) @ weights[:28].reshape(4, 7) + weights[28:35])
        _, _, fallen, _, _ = environment.step(int(hidden @ weights[35:42] + weights[42] > 0))
        steps += not fallen
    assert problem._survived(weights[None], start[None, None])[0, 0] * problem.steps == steps


def test_the_pendulum_moves_and_costs_alike(rng):
    environment = gymnasium.make("Pendulum-v1").unwrapped
    environment.reset(seed=1)
    state = environment.state = rng.uniform([-np.pi, -1], [np.pi, 1])
    for _ in range(Pendulum.steps):
        torque = rng.uniform(-2, 2)
        _, reward, *_ = environment.step(np.array([torque]))
        state, cost = pendulum_step(state, np.asarray(torque))
        np.testing.assert_allclose(state, environment.state, rtol=1e-9, atol=1e-9)
        assert cost == pytest.approx(-reward, rel=1e-9)

import numpy as np
import pytest

from polarbear import RunKey
from polarbear.simulate import Truth, dirichlet_truth


def test_win_rates_are_the_ratings():
    """The Thurstonian view: Gumbel noise gives win probabilities θ exactly; tolerance is 4 standard errors."""
    times = np.array([1.0, 5.0, 6.0])
    truth = dirichlet_truth(times, 3, np.random.default_rng(4))
    instances = 4000
    values = np.stack(
        [
            [truth.run(RunKey("i", name, seed), 6).trajectory.value_at(times) for name in truth.names]
            for seed in range(instances)
        ]
    )
    wins = np.stack([(values.argmin(axis=1) == a).mean(axis=0) for a in range(3)], axis=1)
    error = np.sqrt(truth.ratings * (1 - truth.ratings) / instances)
    assert (np.abs(wins - truth.ratings) < 4 * error + 1e-12).all()


def test_the_pareto_set_is_equation_4():
    ratings = np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]])
    assert Truth(np.array([1.0, 2.0]), ratings, ("a", "b", "c")).pareto_set == ("a", "b")
    assert Truth(np.array([1.0]), ratings[:1], ("a", "b", "c")).pareto_set == ("a",)


def test_a_run_cut_early_is_the_beginning_of_the_whole_run():
    truth = dirichlet_truth([1, 2, 3], 2, np.random.default_rng(0))
    key = RunKey("i", "A0", 5)
    short, whole = truth.run(key, 2).trajectory, truth.run(key, 3).trajectory
    np.testing.assert_array_equal(short.values, whole.values[:2])
    assert np.isnan(short.value_at(3))


def test_ratings_must_be_on_the_simplex():
    with pytest.raises(ValueError, match="sum to 1"):
        Truth(np.array([1.0]), np.array([[0.5, 0.6]]), ("a", "b"))
    with pytest.raises(ValueError, match=r"need \(1, 3\)"):
        Truth(np.array([1.0]), np.array([[0.5, 0.5]]), ("a", "b", "c"))


def test_times_are_whole_evaluations_or_any_seconds():
    truth = Truth(np.array([0.01, 0.5]), np.full((2, 2), 0.5), ("a", "b"))
    run = truth.run(RunKey("i", "a", 0), 0.5, "seconds")
    assert np.isfinite(run.trajectory.value_at([0.01, 0.5], "seconds")).all()
    with pytest.raises(ValueError, match="whole numbers of evaluations"):
        truth.run(RunKey("i", "a", 0), 0.5)

"""f0: uniform values, which depend on nothing but the run."""

import numpy as np
import pytest
from scipy import stats

import polarbear as pb
from polarbear.experiment import Limits, Task, execute
from polarbear.optimizers import RandomSearch
from polarbear.records import RunKey

SPEC = pb.problems.RandomValuesProblem(3, lower=-5, upper=5)


@pytest.mark.statistical(rate=0.002)
def test_values_are_uniform_and_independent_of_the_point_and_of_each_other():
    points = np.random.default_rng(7).uniform(-5, 5, (20_000, 3))
    values, _ = SPEC.build().trial(np.random.default_rng(1)).batch(points)
    assert stats.kstest(values, "uniform").pvalue > 0.001
    assert stats.spearmanr(values[1:], values[:-1]).pvalue > 0.001


def test_one_by_one_and_in_batches_a_trial_tells_the_same_numbers():
    points = np.random.default_rng(7).uniform(-6, 6, (50, 3))
    told, judged = SPEC.build().trial(np.random.default_rng(4)).batch(points)
    single = SPEC.build().trial(np.random.default_rng(4))
    assert [single(point) for point in points] == list(zip(told, judged, strict=True))
    np.testing.assert_array_equal(np.isinf(told), (abs(points) > 5).any(axis=1))
    assert 0 < np.isinf(told).sum() < 50


def test_points_with_nan_have_no_value():
    problem = SPEC.build()
    assert np.isnan(problem.trial(np.random.default_rng(0))(np.array([0, np.nan, 9]))[0])
    assert np.isnan(problem.trial(np.random.default_rng(0)).batch(np.array([[0, np.nan, 9]]))[0])
    with pytest.raises(ValueError, match=r"x\[1\] is NaN"):
        problem([0, np.nan, 9])
    with pytest.raises(ValueError, match="shape"):
        problem(np.zeros(2))


def test_runs_repeat_and_differ_by_their_key_and_end_inside_the_box():
    def run(seed):
        task = Task(RunKey(SPEC.name, "random search", seed), SPEC, RandomSearch(), Limits(evaluations=200))
        return execute(task)

    first, again, other = run(1), run(1), run(2)
    np.testing.assert_array_equal(first.trajectory.values, again.trajectory.values)
    np.testing.assert_array_equal(first.solution, again.solution)
    assert first.trajectory.values[-1] != other.trajectory.values[-1]
    assert (abs(first.solution) <= 5).all()


def test_study_files_name_it():
    suite = pb.problems.from_description({"suite": "random-values", "dimensions": [2, 3], "lower": -1.0})
    names = [f"random-values-f0_-1.0_1.0-i1-d{d}" for d in (2, 3)]
    assert [spec.name for spec in suite.grid()] == names
    assert pb.problems.from_description(pb.problems.describe(suite)) == suite
    assert pb.problems.RandomValuesProblem(5).name == "random-values-f0-i1-d5"
    with pytest.raises(ValueError, match=r"lower is 2\.0, which is not below upper"):
        pb.problems.RandomValues(lower=2)

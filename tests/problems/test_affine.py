"""Pairwise affine combinations of BBOB functions: against the printed formula, and the functions at their ends."""

import json
import math
import pickle
from collections import Counter

import ioh
import numpy as np
import pytest
from scipy import stats

from polarbear import problems
from polarbear.records import Instance


def bbob(function, instance, dimension):
    return ioh.get_problem(function, instance, dimension, ioh.ProblemClass.BBOB)


def thesis_value(first, second, alpha, x):
    """Section 6.1.1, as printed, over two plain `ioh` functions."""
    o1, o2 = np.array(first.optimum.x), np.array(second.optimum.x)
    here = max(first(x) - first.optimum.y, 0)
    there = max(second(x - o1 + o2) - second.optimum.y, 0)
    with np.errstate(divide="ignore"):  # the linear slope is solved in a corner
        return 10 ** (alpha * np.log10(here) + (1 - alpha) * np.log10(there))


@pytest.mark.parametrize("function", range(1, 25))
@pytest.mark.parametrize("place", ["first", "second"])
def test_values_are_the_printed_formula(function, place):
    rng = np.random.default_rng(function)
    for dimension, alpha in ((2, 0.25), (5, 0.5), (20, 0.9)):
        other = int(rng.integers(1, 25))
        pair = (function, other) if place == "first" else (other, function)
        instances = [int(i) for i in rng.integers(1, 100, size=2)]
        problem = problems.AffineBBOBProblem(*pair, alpha, instances[0], dimension, instances[1]).build()
        parts = [bbob(*which, dimension) for which in zip(pair, instances, strict=True)]
        points = rng.uniform(-7, 7, size=(20, dimension))
        points[0], points[1] = 5, -5
        expected = [thesis_value(*parts, alpha, x) for x in points]
        np.testing.assert_allclose([problem(x) for x in points], expected, rtol=1e-9)
        np.testing.assert_array_equal(problem(points), [problem(x) for x in points])


@pytest.mark.parametrize(("first", "second"), [(1, 16), (5, 7), (17, 9), (20, 21), (24, 4)])
def test_values_are_the_printed_formula_in_many_dimensions(first, second):
    """Above 144 variables, where the functions are not those of `ioh`."""
    rng = np.random.default_rng(first)
    problem = problems.AffineBBOBProblem(first, second, 0.25, 7, 150, 3).build()
    points = np.vstack([rng.uniform(-width, width, size=(10, 150)) for width in (5, 10, 30)])
    parts = bbob(first, 7, 150), bbob(second, 3, 150)
    expected = [thesis_value(*parts, 0.25, x) for x in points]
    np.testing.assert_allclose(problem(points), expected, rtol=1e-9)
    np.testing.assert_allclose([problem(x) for x in points], expected, rtol=1e-9)
    assert 0 <= problem(np.array(parts[0].optimum.x)) < 1e-6
    assert problem(points[:0]).shape == (0,)


@pytest.mark.parametrize("function", range(1, 25))
def test_the_optimum_is_0_where_the_first_function_s_is(function):
    rng = np.random.default_rng(function)
    for alpha in (0.0, 0.25, 1.0):
        problem = problems.AffineBBOBProblem(function, 21, alpha, 3, 5).build()
        location = np.array(bbob(function, 3, 5).optimum.x)
        assert problem.optimum == 0
        assert 0 <= problem(location) < 1e-6  # some of ioh's own functions are 1e-8 above their optimum there
        nearby = location + rng.normal(size=(50, 5)) * 10.0 ** rng.uniform(-3, 0, size=(50, 1))
        assert (problem(nearby) >= 0).all()
        assert problem(location + 1) > problem(location)


def test_at_the_ends_one_function_remains():
    x = np.random.default_rng(0).uniform(-5, 5, size=(30, 3))
    first, second = bbob(10, 7, 3), bbob(21, 1, 3)
    np.testing.assert_allclose(
        problems.AffineBBOBProblem(10, 21, 1, 7, 3).build()(x), np.array(first(x)) - first.optimum.y, rtol=1e-9
    )
    shift = np.array(second.optimum.x) - np.array(first.optimum.x)
    np.testing.assert_allclose(
        problems.AffineBBOBProblem(10, 21, 0, 7, 3).build()(x),
        np.array(second(x + shift)) - second.optimum.y,
        rtol=1e-9,
    )


def test_a_solved_function_makes_the_combination_0():
    """The linear slope is flat beyond its corner: there the geometric mean is 0, whatever the other function is."""
    problem = problems.AffineBBOBProblem(5, 1, 0.5, 1, 2).build()
    corner = np.array(bbob(5, 1, 2).optimum.x)
    assert problem(2 * corner) == 0
    np.testing.assert_array_equal(problem(np.array([2 * corner, corner])), [0, 0])
    assert problem(-corner) > 1


def test_extreme_input():
    problem = problems.AffineBBOBProblem(1, 1, 0.5, 1, 2, 2).build()
    assert not np.isfinite(problem(np.array([np.inf, 0])))  # as ioh's sphere
    assert problem(np.full(2, 1e150)) == pytest.approx(2e300, rel=1e-9)
    assert problem(np.full(2, 1e200)) == np.inf
    assert math.isnan(problem.raw(np.ones(3)))
    assert math.isnan(problem.raw(np.array([0, np.nan])))
    assert problem(np.empty((0, 2))).shape == (0,)
    with pytest.raises(ValueError, match=r"x\[0\] is NaN"):
        problem(np.array([np.nan, 0]))
    with pytest.raises(ValueError, match="shape"):
        problem(np.ones((2, 3)))


@pytest.mark.statistical
def test_names_and_streams():
    stream = problems.PairwiseAffine(
        functions=[3, 21],
        second_functions=(1, 8),
        alphas=(0.1, 1),
        dimensions=[2, 3],
        instances="1-2",
        second_instances=2,
    )
    grid = stream.grid()
    assert len(grid) == len({spec.name for spec in grid}) == 32
    assert [spec.dimension for spec in grid] == sorted(spec.dimension for spec in grid)
    assert [spec.instance for spec in grid] == [1, 2] * 16
    assert grid[0].name == "affine-bbob-f3_1_a0.1_j2-i1-d2"
    assert Instance.parse(grid[0].name) == Instance("affine-bbob", "3_1_a0.1_j2", 2, "1")
    assert problems.AffineBBOBProblem(3, 1, 0.5, 4, 5).name == "affine-bbob-f3_1_a0.5-i4-d5"
    drawn = Counter(stream[i] for i in range(1600))
    assert set(drawn) == set(grid)
    assert stats.chisquare(list(drawn.values())).pvalue > 0.001
    assert stream.size is None
    assert stream[5] == pickle.loads(pickle.dumps(stream))[5]


def test_descriptions_come_back():
    for stream in (problems.PairwiseAffine(), problems.PairwiseAffine(alphas=0.3, dimensions="2-4", seed=2)):
        description = json.loads(json.dumps(problems.describe(stream)))
        assert description["suite"] == "affine-bbob"
        assert problems.from_description(description) == stream
    single = problems.FiniteInstances([problems.AffineBBOBProblem(3, 1, 0.5, 4, 5)])
    assert problems.from_description(json.loads(json.dumps(problems.describe(single)))) == single
    problem = single[0].build()
    x = np.ones(5)
    assert pickle.loads(pickle.dumps(problem))(x) == problem(x)
    assert hash(single[0]) == hash(problems.AffineBBOBProblem(3, 1, 0.5, 4, 5, 1))


@pytest.mark.parametrize(
    ("keywords", "error", "complaint"),
    [
        ({"functions": 25}, ValueError, "functions is 25; it must be from 1 to 24"),
        ({"second_functions": 0}, ValueError, "second_functions is 0"),
        ({"alphas": 1.1}, ValueError, "alphas is 1.1; it must be from 0 to 1"),
        ({"alphas": (0.5, 0.5)}, ValueError, "alphas is .* contains an entry twice"),
        ({"alphas": ()}, ValueError, "alphas is empty"),
        ({"alphas": "half"}, TypeError, "alphas is 'half'"),
        ({"alphas": True}, TypeError, "alphas is True"),
        ({"dimensions": 1}, ValueError, "dimensions is 1; it must be 2 or more"),
        ({"instances": 0}, ValueError, "instances is 0"),
        ({"second_instances": 200_001}, ValueError, "second_instances is 200001"),
        ({"seed": -1}, ValueError, "seed is -1"),
    ],
)
def test_the_stream_refuses(keywords, error, complaint):
    with pytest.raises(error, match=complaint):
        problems.PairwiseAffine(**keywords)


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ((0, 1, 0.5, 1, 2), ValueError, "first is 0"),
        ((1, 25, 0.5, 1, 2), ValueError, "second is 25"),
        ((1, 1, -0.5, 1, 2), ValueError, "alpha is -0.5; it must be from 0 to 1"),
        ((1, 1, math.nan, 1, 2), ValueError, "alpha is nan"),
        ((1, 1, None, 1, 2), TypeError, "alpha is None"),
        ((1, 1, 0.5, 0, 2), ValueError, "instance is 0"),
        ((1, 1, 0.5, 1, 1), ValueError, "dimension is 1"),
        ((1, 1, 0.5, 1, 2, 1.5), TypeError, "second_instance is 1.5"),
    ],
)
def test_a_problem_refuses(arguments, error, complaint):
    with pytest.raises(error, match=complaint):
        problems.AffineBBOBProblem(*arguments)

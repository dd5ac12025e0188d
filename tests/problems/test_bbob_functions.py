"""The 24 functions on arrays against `ioh`, inside and outside the box; and the random numbers behind them."""

import itertools

import ioh
import numpy as np
import pytest

from polarbear.problems.functions import bbob as bbob_functions
from polarbear.problems.functions import coco_random
from polarbear.problems.functions.bbob import GREATEST_FOR_IOH, BBOBFunction

# Relative errors of precisions, up to 100 away from the middle. f16 to f19 and f23 magnify rounding a million times.
ACCURACY = dict.fromkeys(range(1, 25), 1e-11) | dict.fromkeys((16, 17, 18, 19, 23), 1e-9)


def points_around(rng, dimension, points):
    """Inside the box, outside, and far outside; and corners of the box."""
    widths = np.repeat([5.0, 15.0, 100.0], points)[:, np.newaxis]
    corners = rng.choice([-5.0, 5.0], size=(3, dimension))
    return np.vstack([widths * rng.uniform(-1, 1, size=(3 * points, dimension)), corners])


def assert_precisions_are_those_of_ioh(functions, dimension, instances, points):
    rng = np.random.default_rng(dimension)
    x = points_around(rng, dimension, points)
    for function, instance in itertools.product(functions, instances):
        reference = ioh.get_problem(function, instance, dimension, ioh.ProblemClass.BBOB)
        ours, optimum = BBOBFunction(function, instance, dimension), np.array(reference.optimum.x)
        assert ours.best == reference.optimum.y
        np.testing.assert_allclose(ours.optimum, optimum, rtol=0, atol=1e-12)
        assert ours(optimum) == pytest.approx(reference(optimum), rel=1e-12, abs=1e-12)
        expected = np.array(reference(x)) - ours.best
        corner = expected < 1e-9  # the linear slope is solved there
        assert not corner.any() or function == 5
        np.testing.assert_array_less(np.abs(ours(x)[corner] - ours.best), 1e-9)
        for found in (ours(x), np.array([ours(one) for one in x])):
            apart = (found - ours.best)[~corner] / expected[~corner] - 1
            # the best value is added and subtracted again, which costs digits of small precisions
            rounding = 4 * np.spacing(np.abs(ours.best)) / expected[~corner]
            assert (np.abs(apart) < ACCURACY[function] + rounding).all(), (function, instance, np.abs(apart).max())
        distances = 10.0 ** rng.uniform(-6, 0, size=(20, 1))
        nearby = optimum + distances * rng.normal(size=(20, dimension))
        expected = np.array(reference(nearby))
        scale = np.maximum(np.abs(expected), 1)
        assert (np.abs(ours(nearby) - expected) / scale).max() < ACCURACY[function], (function, instance)


@pytest.mark.parametrize(("dimension", "instances"), [(2, (1, 2, 999)), (5, (5, 77)), (20, (3,)), (41, (9,))])
def test_precisions_are_those_of_ioh(dimension, instances):
    assert_precisions_are_those_of_ioh(range(1, 25), dimension, instances, 40)


@pytest.mark.parametrize(("function", "instance"), [(16, 72), (17, 52), (19, 35), (23, 95)])
def test_nearly_dependent_columns_do_not_spoil_functions_that_magnify_rounding(function, instance):
    """Of the first 149 instances with 120 variables these have the least diagonal in a triangular factor."""
    assert_precisions_are_those_of_ioh([function], 120, [instance], 10)


@pytest.mark.slow  # `ioh` takes 5 s to build its 24 functions
def test_precisions_are_those_of_ioh_in_240_dimensions():
    assert_precisions_are_those_of_ioh(range(1, 25), 240, [17], 20)


def assert_strict_values_are_those_of_ioh(dimension, instances, points):
    rng = np.random.default_rng(dimension)
    inside = np.vstack([rng.uniform(-5, 5, size=(points, dimension)), rng.choice([-5.0, 5.0], size=(3, dimension))])
    for function, instance in itertools.product(range(1, 25), instances):
        reference = ioh.get_problem(function, instance, dimension, ioh.ProblemClass.SBOX)
        ours, optimum = BBOBFunction(function, instance, dimension, strict=True), np.array(reference.optimum.x)
        nearby = optimum + 1e-3 * np.sign(-optimum) * rng.uniform(size=(3, dimension))
        for x in (inside, inside[:1], nearby):
            expected = np.array(reference(x))
            scale = np.maximum(np.abs(expected), 1.0)
            assert (np.abs(ours(x) - expected) / scale).max() < ACCURACY[function], (function, instance)


@pytest.mark.parametrize(("dimension", "instances"), [(2, (1, 2, 999)), (3, (5, 77)), (41, (3,))])
def test_strict_values_are_those_of_ioh(dimension, instances):
    assert_strict_values_are_those_of_ioh(dimension, instances, 100)


@pytest.mark.slow  # `ioh` takes 5 s to build its 24 functions
def test_strict_values_are_those_of_ioh_in_240_dimensions():
    assert_strict_values_are_those_of_ioh(240, (17,), 50)


@pytest.mark.parametrize("function", range(1, 25))
def test_many_points_are_evaluated_in_blocks(function, monkeypatch):
    ours = BBOBFunction(function, 1, 3)
    x = np.random.default_rng(function).uniform(-6, 6, size=(25, 3))
    whole = ours(x)
    monkeypatch.setattr(bbob_functions, "ROWS", 10)
    np.testing.assert_allclose(ours(x), whole, rtol=1e-10)
    assert ours(x[:0]).shape == (0,)
    assert type(ours(x[0])) is float


@pytest.mark.parametrize("function", range(1, 25))
def test_extreme_input_has_the_value_of_ioh(function):
    """NaN where it is; what overflows there may here be finite, but huge."""
    ours, reference = BBOBFunction(function, 3, 5), ioh.get_problem(function, 3, 5, ioh.ProblemClass.BBOB)
    for extreme in (1e3, 1e6, -1e9, 1e20, np.inf, -np.inf, np.nan):
        for x in (np.full(5, extreme), np.array([0, extreme, 0, 0, 0]), np.array([0, -extreme, 0, 0, 0])):
            expected = reference(x)
            for found in (ours(x), ours(np.array([x]))[0]):
                if np.isinf(expected):
                    assert found > 1e20
                else:
                    assert found == pytest.approx(expected, rel=1e-6, nan_ok=True)


def test_the_functions_of_ioh_are_used_where_they_are_faster():
    theirs, optimum, best = bbob_functions.objective(8, 3, GREATEST_FOR_IOH)
    assert not isinstance(theirs, BBOBFunction)
    ours, here, least = bbob_functions.objective(8, 3, GREATEST_FOR_IOH + 1)
    assert isinstance(ours, BBOBFunction)
    assert least == best
    np.testing.assert_array_equal(here[:-1], optimum)


def test_random_numbers_are_those_of_the_generator_written_out():
    """Park and Miller's generator with Bays and Durham's table, step by step."""
    for seed in (1, 7, 30_019, 1_990_024):
        state, table, expected = seed, [0] * 32, []
        for i in range(39, -1, -1):
            state = 16_807 * state % (2**31 - 1)
            if i < 32:
                table[i] = state
        last = table[0]
        for _ in range(300):
            state = 16_807 * state % (2**31 - 1)
            place = last // 67_108_865
            last, table[place] = table[place], state
            expected.append(last / 2.147483647e9)
        np.testing.assert_array_equal(coco_random.uniforms(300, seed), expected)


@pytest.mark.parametrize("dimension", [2, 5, 40])
def test_a_rotation_is_the_same_however_it_is_summed(dimension):
    seed = 40_019
    summed, plain = coco_random.rotation_as_summed(dimension, seed), coco_random.rotation(dimension, seed)
    np.testing.assert_allclose(summed, plain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(summed @ summed.T, np.eye(dimension), rtol=0, atol=1e-12)
    # `ioh` places the optimum of f19 at half the sums of the columns
    reference = ioh.get_problem(19, 4, dimension, ioh.ProblemClass.BBOB)
    np.testing.assert_allclose(summed.sum(axis=0) / 2, reference.optimum.x, rtol=0, atol=2e-15)

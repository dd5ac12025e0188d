"""Python functions as problems, lists of instances, and descriptions."""

import json
import math
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

from polarbear import problems
from polarbear.problems import suite
from polarbear.problems.number_sets import numbers


def sphere(x):
    return float(x @ x)


def spheres(x):
    return np.sum(x**2, axis=1)


def broken(x):
    return math.nan


REFERENCE = {"suite": "function", "function": "math:dist", "lower": [0.0, 1.0], "upper": 2.0}


def test_function_problem_is_specification_and_problem():
    problem = problems.FunctionProblem(sphere, [-1, -2], [3, 4], optimum=0)
    assert problem.name == "sphere-d2"
    assert (problem.dimension, problem.optimum, problem.minimize) == (2, 0.0, True)
    np.testing.assert_array_equal(problem.lower, [-1, -2])
    np.testing.assert_array_equal(problem.upper, [3, 4])
    assert problem.build() is problem
    assert problem([1, 2]) == 5.0
    np.testing.assert_array_equal(problem([[1, 2], [0, 3]]), [5.0, 9.0])
    with pytest.raises(AttributeError):
        problem.name = "other"
    with pytest.raises(ValueError, match="read-only"):
        problem.lower[0] = 7


def test_vectorized_functions_see_batches_and_single_points():
    problem = problems.FunctionProblem(spheres, -1, 1, dimension=3, vectorized=True)
    assert problem([1.0, 2.0, 3.0]) == 14.0
    assert type(problem.raw(np.ones(3))) is float
    np.testing.assert_array_equal(problem(np.ones((4, 3))), np.full(4, 3.0))
    wrong = problems.FunctionProblem(lambda x: x, -1, 1, dimension=3, vectorized=True, name="wrong")
    with pytest.raises(TypeError, match=r"wrong: the vectorized function returned shape \(4, 3\)"):
        wrong(np.ones((4, 3)))


@pytest.mark.parametrize("value", [3, np.float32(3), np.array(3.0), np.array([3.0]), True + 2])
def test_any_real_number_may_be_returned(value):
    problem = problems.FunctionProblem(lambda x: value, 0, 1, dimension=2, name="constant")
    assert problem([0, 0]) == 3.0
    assert type(problem([0, 0])) is float


@pytest.mark.parametrize("value", [None, "3", [1.0, 2.0], 1j, np.ones(2)])
def test_anything_else_returned_is_named(value):
    problem = problems.FunctionProblem(lambda x: value, 0, 1, dimension=2, name="mine")
    with pytest.raises(TypeError, match="mine: the function returned"):
        problem([0, 0])


def test_nan_from_the_objective_is_returned():
    problem = problems.FunctionProblem(broken, 0, 1, dimension=2)
    assert math.isnan(problem([0, 0]))
    assert math.isnan(problem.raw(np.zeros(2)))
    assert problem.diagnose(np.zeros(2)) is None
    assert np.isnan(problem(np.zeros((3, 2)))).all()


def test_raw_of_a_function_checks_its_input():
    hiding = problems.FunctionProblem(np.nansum, 0, 1, dimension=2)
    with pytest.raises(ValueError, match=r"x\[1\] is NaN"):
        hiding.raw(np.array([0.0, np.nan]))
    problem = problems.FunctionProblem(sphere, 0, 1, dimension=2)
    assert problem.raw([3, 4]) == 25.0
    for x in (np.ones(3), np.ones((2, 2))):
        with pytest.raises(ValueError, match="shape"):
            problem.raw(x)


def test_the_function_s_own_errors_pass():
    problem = problems.FunctionProblem(lambda x: 1 / 0, 0, 1, dimension=2, name="f")
    with pytest.raises(ZeroDivisionError):
        problem([0, 0])


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        (("math:nothing", 0, 1, 2), ValueError, "cannot be imported"),
        ((3, 0, 1, 2), TypeError, "cannot be called"),
        ((sphere, 0, 1), ValueError, "give the dimension"),
        ((sphere, [0, 0], [1, 1], 3), ValueError, r"lower has shape \(2,\); dimension 3"),
        ((sphere, [0, 2], [1, 1]), ValueError, r"lower\[1\] is 2 and upper\[1\] is 1"),
        ((sphere, -np.inf, 1, 2), ValueError, "finite"),
        ((sphere, "0", 1, 2), TypeError, "lower is '0'; it must be a number"),
        ((sphere, 0, [1, "2"], 2), TypeError, r"upper\[1\] is '2'; it must be a number"),
        ((sphere, False, True, 2), TypeError, "lower is False; it must be a number"),
        ((sphere, 0, np.array([True, True]), 2), TypeError, r"upper\[0\] is True"),
        ((sphere, None, 1, 2), TypeError, "lower is None"),
        ((sphere, {0, 1}, 2, 2), TypeError, "lower is {0, 1}"),
        ((sphere, 0, 1, 2, "it", "x"), TypeError, "optimum is 'x'; it must be a number"),
        ((sphere, 0, 1, 2, "it", np.inf), ValueError, "optimum is inf; it must be finite"),
        ((sphere, 0, 1, 0), ValueError, "dimension is 0"),
    ],
)
def test_function_problem_refuses(arguments, error, complaint):
    with pytest.raises(error, match=complaint):
        problems.FunctionProblem(*arguments)


@pytest.mark.parametrize("end", [1, 1.0, np.float32(1), np.array(1), range(1, 3), np.array([1, 2]), (Fraction(1), 2)])
def test_bounds_are_any_real_numbers(end):
    expected = [1.0, 1.0 if np.ndim(end) == 0 else 2.0]
    assert problems.FunctionProblem(sphere, -1, end, dimension=2).upper.tolist() == expected


def test_function_problems_compare_and_travel():
    problem = problems.FunctionProblem(sphere, [0, 0], 1, optimum=0.0, minimize=False)
    same = problems.FunctionProblem(sphere, 0, [1, 1], optimum=0.0, minimize=False)
    assert problem == same
    assert hash(problem) == hash(same)
    assert problem != problems.FunctionProblem(sphere, 0, 2, dimension=2, optimum=0.0, minimize=False)
    again = pickle.loads(cloudpickle.dumps(problem))
    assert again([1, 2]) == 5.0
    assert (again.name, again.minimize, again.optimum) == (problem.name, False, 0.0)
    assert not again.lower.flags.writeable


def test_finite_lists_end():
    instances = problems.FiniteInstances([problems.BBOBProblem(1, i, 2) for i in (1, 2)])
    assert (instances.size, len(instances)) == (2, 2)
    assert instances[1].name == "bbob-f1-i2-d2"
    for index in (2, -1):
        with pytest.raises(IndexError):
            instances[index]
    assert len(list(instances)) == 2


def test_repeated_lists_start_over():
    instances = problems.FiniteInstances([problems.BBOBProblem(1, i, 2) for i in (1, 2)], repeat=True)
    assert instances.size is None
    assert [instances[i].name for i in (0, 2, 5)] == ["bbob-f1-i1-d2", "bbob-f1-i1-d2", "bbob-f1-i2-d2"]
    assert instances[5].build()([0, 0]) == instances[1].build()([0, 0])
    with pytest.raises(IndexError):
        instances[-1]


@pytest.mark.parametrize(
    ("entries", "error", "complaint"),
    [
        ([], ValueError, "empty"),
        (
            [problems.FunctionProblem(sphere, 0, 1, d, name="it") for d in (2, 3)],
            ValueError,
            "two problems are called 'it'",
        ),
        ([3], TypeError, "3 is not a problem"),
        ([sphere], TypeError, "FunctionProblem"),
    ],
)
def test_lists_refuse(entries, error, complaint):
    with pytest.raises(error, match=complaint):
        problems.FiniteInstances(entries)


def test_as_instances_takes_what_people_have():
    class Bounded:
        lower, upper, optimum = np.zeros(2), np.ones(2), 0.0

        def __call__(self, x):
            return sphere(x)

    stream = problems.MABBOB()
    spec = problems.BBOBProblem(1, 1, 2)
    assert problems.as_instances(stream) is stream
    assert problems.as_instances([spec, (sphere, [0, 0], [1, 1])]).size == 2
    assert problems.as_instances((spec, problems.BBOBProblem(2, 1, 2))).size == 2
    for single in (spec, spec.build(), (sphere, [0, 0], [1, 1]), Bounded()):
        repeated = problems.as_instances(single)
        assert repeated.size is None
        assert repeated[0].build().dimension == 2
        assert repeated[3].name == repeated[0].name
    assert problems.as_instances(Bounded())[0].build().optimum == 0.0
    with pytest.raises(TypeError, match="is not a problem"):
        problems.as_instances(sphere)
    with pytest.raises(TypeError, match="is not a problem"):
        problems.as_instances(None)


@pytest.mark.parametrize(
    "instances",
    [
        problems.BBOB(functions=[1, 3], dimensions="2-5", instances=(1, 7, 9), seed=3),
        problems.SBOX(),
        problems.MABBOB(dimension=(2, 40), threshold=0.5, seed=9),
        problems.MABBOB(dimension=[2, 40]),
        problems.FiniteInstances([problems.BBOBProblem(1, 1, 2), problems.MABBOB()[3]], repeat=True),
        problems.FiniteInstances([problems.BBOB(functions=1, instances=1, dimensions=2)[1]]),
        problems.as_instances(problems.FunctionProblem(math.hypot, 0, [1, 2], optimum=0, name="hypot")),
    ],
)
def test_descriptions_come_back_through_json(instances):
    description = json.loads(json.dumps(problems.describe(instances)))
    again = problems.from_description(description)
    assert again == instances
    assert again[0] == instances[0]
    assert problems.describe(again) == description


def test_descriptions_are_short_and_say_where_functions_are():
    assert problems.describe(problems.MABBOB()) == {
        "suite": "ma-bbob",
        "dimension": 5,
        "seed": 0,
        "threshold": 0.85,
        "instances": "1-999",
    }
    described = problems.describe(problems.FunctionProblem(math.hypot, 0, 1, dimension=2))
    assert described["suite"] == "function"
    assert described["function"] == "math:hypot"
    assert problems.from_description(REFERENCE)[0].name == "dist-d2"


@pytest.mark.parametrize(
    ("description", "complaint"),
    [
        ({"suite": "ma-bob"}, "did you mean 'ma-bbob'.*choose from: affine-bbob, bbob, bbob-biobj.*, ma-bbob, .*pbo"),
        ({"suite": "bbob", "function": [1]}, "no argument 'function'; did you mean 'functions'"),
        ({"suite": "bbob", "functions": [99]}, "suite 'bbob': functions is 99; it must be from 1 to 24"),
        ({"suite": "ma-bbob", "dimension": "many"}, "suite 'ma-bbob': dimension is 'many'"),
        ({"suite": "list", "problems": [{"problem": "bbob", "function": 1}]}, "problem 'bbob'.*instance"),
        ({"suite": "list", "problems": [{"problem": "cec"}]}, "problem 'cec' is unknown"),
        ({"suite": "function", "function": "sphere", "lower": 0, "upper": 1}, "write it as 'module:name'"),
        ({"functions": [1]}, "does not say which suite"),
        ("bbob", "does not describe a suite"),
    ],
)
def test_wrong_descriptions_are_named(description, complaint):
    with pytest.raises(ValueError, match=complaint):
        problems.from_description(description)


def test_listing_a_suite_makes_it_public():
    listed = {cls.__name__ for cls in (*suite.SUITES.values(), *suite.PROBLEMS.values())}
    assert listed <= set(problems.__all__)
    assert all(getattr(problems, name) is getattr(suite, name) for name in suite.__all__)


def test_suites_are_all_described():
    described = (Path(__file__).parents[2] / "docs" / "reference" / "problems.md").read_text("utf-8")
    assert [name for name in problems.suites() if f"`{name}`" not in described] == []


def test_sets_of_numbers():
    assert numbers("1-3,7", "n", 1) == (1, 2, 3, 7)
    assert numbers("2-5", "n", 1) == range(2, 6)
    assert numbers([5, 3], "n", 1) == range(5, 1, -2)
    assert list(numbers([5, 3], "n", 1)) == [5, 3]
    assert list(numbers(np.array([4, 5, 9]), "n", 1)) == [4, 5, 9]


def test_importing_the_room_loads_no_heavy_library():
    code = "import sys, polarbear.problems; print({'ioh', 'scipy', 'polars', 'matplotlib'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"

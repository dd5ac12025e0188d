"""Every kind of bad input raises and is named; good input passes; for ioh problems and for functions."""

import numpy as np
import pytest

from polarbear import problems


def sphere(x):
    return float(np.sum(np.asarray(x) ** 2))


def spheres(x):
    return np.sum(x**2, axis=1)


SPECS = {
    "bbob": problems.BBOBProblem(1, 1, 3),
    "sbox": problems.SBOXProblem(5, 1, 3),
    "ma-bbob": problems.MABBOB(dimension=3)[0],
    "function": problems.FunctionProblem(sphere, -5, 5, dimension=3),
    "vectorized": problems.FunctionProblem(spheres, -5, 5, dimension=3, vectorized=True),
}

BAD = {
    "short": (np.ones(2), ValueError, r"shape \(2,\)"),
    "one": (np.ones(1), ValueError, r"shape \(1,\)"),
    "long": (np.ones(4), ValueError, r"shape \(4,\)"),
    "empty": ([], ValueError, r"shape \(0,\)"),
    "scalar": (1.0, ValueError, r"shape \(\)"),
    "zero-d": (np.array(1.0), ValueError, r"shape \(\)"),
    "numpy scalar": (np.float64(1.0), ValueError, r"shape \(\)"),
    "three-d": (np.ones((1, 2, 3)), ValueError, r"shape \(1, 2, 3\)"),
    "wide batch": (np.ones((3, 4)), ValueError, r"shape \(3, 4\)"),
    "narrow batch": (np.ones((3, 1)), ValueError, r"shape \(3, 1\)"),
    "ragged": ([[1.0, 2.0, 3.0], [1.0]], ValueError, "unequal length"),
    "nan": (np.array([0.0, np.nan, 0.0]), ValueError, r"x\[1\] is NaN"),
    "nan list": ([0.0, 0.0, float("nan")], ValueError, r"x\[2\] is NaN"),
    "nan batch": (np.array([[0.0, 0, 0], [0, np.nan, 0]]), ValueError, r"x\[1, 1\] is NaN"),
    "string": ("abc", TypeError, "x is 'abc'"),
    "strings": (["1", "2", "3"], TypeError, "data type <U1"),
    "none": (None, TypeError, "x is None"),
    "complex": (np.ones(3) * 1j, TypeError, "complex128"),
    "complex batch": (np.ones((2, 3)) * 1j, TypeError, "complex128"),
    "objects": (np.array([1.0, 2.0, 3.0], dtype=object), TypeError, "object"),
    "object batch": (np.ones((2, 3), dtype=object), TypeError, "object"),
    "none inside": ([1.0, None, 2.0], TypeError, "object"),
    "dict": ({"x": 1}, TypeError, "x is"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("kind", SPECS)
def test_bad_input_raises_and_is_named(kind, bad):
    problem = SPECS[kind].build()
    x, error, complaint = BAD[bad]
    with pytest.raises(error, match=complaint) as caught:
        problem(x)
    if "is NaN" not in complaint and "rows" not in complaint:
        assert problem.name in str(caught.value)
    with pytest.raises(error, match=complaint):
        problem.diagnose(x)


@pytest.mark.parametrize("kind", SPECS)
def test_good_input_is_evaluated_and_diagnosed_as_good(kind):
    problem = SPECS[kind].build()
    expected = problem(np.array([1.0, 2.0, 3.0]))
    for x in ([1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3]), np.array([1, 2, 3], dtype=np.float32)):
        assert problem(x) == expected
        assert problem.diagnose(x) is None
    strided = np.array([1.0, 9, 2, 9, 3, 9])[::2]
    assert problem(strided) == expected
    np.testing.assert_array_equal(problem([[1, 2, 3], [1, 2, 3]]), [expected, expected])


@pytest.mark.parametrize("kind", SPECS)
def test_infinite_input_is_evaluated(kind):
    problem = SPECS[kind].build()
    x = np.array([0.0, np.inf, 0.0])
    assert problem.diagnose(x) is None
    assert not np.isfinite(problem(x)) or kind == "ma-bbob"
    assert len(problem(np.array([x, x]))) == 2


@pytest.mark.parametrize("kind", ["bbob", "sbox", "ma-bbob"])
def test_raw_answers_nan_where_it_does_not_look(kind):
    raw = SPECS[kind].build().raw
    for x in (np.ones(2), np.ones(4), np.ones(1), np.array([0.0, np.nan, 0.0])):
        assert np.isnan(raw(x))

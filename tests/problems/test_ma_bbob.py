"""MA-BBOB against an independent formula, `ioh`, and the stated distribution."""

import numpy as np
import pytest
from scipy import stats

from polarbear import problems

# Table 6.1 of the thesis, typed again.
TABLE_6_1 = "11.0 17.5 12.3 12.6 11.5 15.3 12.1 15.3 15.2 17.4 13.4 20.4 12.9 10.4 12.3 10.3 9.8 10.6 10.0 14.7 10.7 10.8 9.0 12.1"  # noqa: E501


def thesis_value(spec, x, cap):
    """Section 6.1.2, over plain BBOB functions: sum of rescaled log-precisions, scaled back."""
    scale = np.array(TABLE_6_1.split(), dtype=float)
    logs = np.zeros(24)
    for i in range(24):
        component = problems.BBOBProblem(i + 1, spec.instances[i], spec.dimension).build()
        optimum = np.array(component.raw.optimum.x)
        precision = component(np.asarray(x) - np.array(spec.location) + optimum) - component(optimum)
        logs[i] = max(np.log10(max(precision, 1e-300)), cap)
    return 10 ** (10 * np.sum(np.array(spec.weights) * (logs + 8) / scale) - 8)


@pytest.mark.parametrize("dimension", [2, 5, 10])
def test_values_are_the_thesis_formula(dimension):
    rng = np.random.default_rng(dimension)
    stream, with_f5 = problems.MABBOB(dimension=dimension, seed=3), 0
    for i in range(12):
        spec = stream[i]
        with_f5 += spec.weights[4] > 0
        problem = spec.build()
        for x in rng.uniform(-5, 5, size=(5, dimension)):
            assert problem(x) == pytest.approx(thesis_value(spec, x, cap=-12), rel=1e-9)
    assert with_f5 > 0


def test_the_cap_only_matters_where_a_component_is_solved():
    """f5 is flat at its optimum beyond the box's corner: there `ioh` (1e-12) and the thesis (1e-8) differ."""
    weights = np.zeros(24)
    weights[[0, 4]] = 0.5
    spec = problems.MABBOBProblem(weights, [1] * 24, [0.0, 0.0])
    corner = np.sign(problems.BBOBProblem(5, 1, 2).build().raw.optimum.x)
    problem = spec.build()
    for x in (corner, 2 * corner):
        assert problem(x) == pytest.approx(thesis_value(spec, x, cap=-12), rel=1e-9)
        assert problem(x) < 0.2 * thesis_value(spec, x, cap=-8)
    for x in (-corner, np.array([corner[0], -corner[1]])):
        assert problem(x) == pytest.approx(thesis_value(spec, x, cap=-8), rel=1e-9)


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_values_are_those_of_ioh_bit_for_bit(dimension):
    import ioh

    rng = np.random.default_rng(dimension)
    stream = problems.MABBOB(dimension=dimension, seed=8)
    for i in range(15):
        spec = stream[i]
        problem = spec.build()
        reference = ioh.problem.ManyAffine(list(spec.location), list(spec.weights), list(spec.instances), dimension)
        assert problem.optimum == reference.optimum.y
        for x in [np.array(spec.location), *rng.uniform(-7, 7, size=(20, dimension))]:
            assert problem(x) == reference(x)


@pytest.mark.parametrize("dimension", [2, 30])
def test_a_batch_is_its_points_one_by_one_bit_for_bit(dimension):
    rng = np.random.default_rng(dimension)
    for spec in [problems.MABBOB(dimension=dimension, seed=5)[i] for i in range(8)]:
        problem = spec.build()
        points = np.vstack([spec.location, np.full(dimension, 5.0), rng.uniform(-7, 7, size=(30, dimension))])
        np.testing.assert_array_equal(problem(points), [problem(point) for point in points])
        np.testing.assert_array_equal(problem(np.asfortranarray(points)), problem(points))
        assert problem(points[:0]).shape == (0,)


def test_values_are_those_of_ioh_with_all_24_components():
    import ioh

    rng = np.random.default_rng(24)
    for dimension in (2, 30):
        spec = problems.MABBOB(dimension=dimension, threshold=0.0)[1]
        assert sum(weight > 0 for weight in spec.weights) >= 23
        reference = ioh.problem.ManyAffine(list(spec.location), list(spec.weights), list(spec.instances), dimension)
        points = rng.uniform(-6, 6, size=(100, dimension))
        np.testing.assert_array_equal(spec.build()(points), [reference(point) for point in points])


def assert_values_are_those_of_ioh(spec, rng, points):
    """To 1e-9, in and outside the box; one point is a little apart from the optimum, where precisions are small."""
    import ioh

    d = spec.dimension
    reference = ioh.problem.ManyAffine(list(spec.location), list(spec.weights), list(spec.instances), d)
    x = np.vstack([rng.uniform(-width, width, size=(points, d)) for width in (5, 10, 30)])
    x[0] = np.array(spec.location) + rng.normal(size=d)
    expected, problem = [reference(point) for point in x], spec.build()
    np.testing.assert_allclose(problem(x), expected, rtol=1e-9)
    np.testing.assert_allclose([problem(point) for point in x], expected, rtol=1e-9)
    assert problem.optimum == pytest.approx(reference.optimum.y, rel=1e-9)
    assert problem(x[:0]).shape == (0,)


@pytest.mark.parametrize("threshold", [0.0, 0.85])
def test_values_are_those_of_ioh_in_many_dimensions(threshold):
    """Above 144 variables, where the components are not those of `ioh`; without a threshold all 24 take part."""
    spec = problems.MABBOB(dimension=150, seed=3, threshold=threshold)[0]
    assert sum(weight > 0 for weight in spec.weights) >= (23 if threshold == 0 else 2)
    assert_values_are_those_of_ioh(spec, np.random.default_rng(150), 20)


@pytest.mark.slow  # `ioh` takes 5 s to build each
def test_values_are_those_of_ioh_in_240_dimensions():
    rng = np.random.default_rng(240)
    for i in range(4):
        assert_values_are_those_of_ioh(problems.MABBOB(dimension=240, seed=9)[i], rng, 20)


@pytest.mark.parametrize("dimension", [144, 145])
def test_extreme_input_in_many_dimensions(dimension):
    """As with fewer: precisions are capped, NaN among the numbers is refused, a wrong length is seen."""
    problem = problems.MABBOBProblem([1.0] * 8 + [0.0] * 16, [1] * 24, [0.5] * dimension).build()
    x = np.zeros(dimension)
    capped = 10 ** (10 * np.mean(28 / np.array(TABLE_6_1.split()[:8], dtype=float)) - 8)
    assert problem.optimum < problem(x) < problem(np.full(dimension, -1e40)) == pytest.approx(capped, rel=1e-9)
    x[7] = np.inf
    assert np.isnan(problem(x))
    x[7] = np.nan
    with pytest.raises(ValueError, match=r"x\[7\] is NaN"):
        problem(x)
    with pytest.raises(ValueError, match="shape"):
        problem(np.zeros(dimension - 1))


def test_the_optimum_is_the_best_value_and_where_it_is_said_to_be():
    rng = np.random.default_rng(5)
    for i in range(10):
        spec = problems.MABBOB(dimension=3, seed=1)[i]
        problem = spec.build()
        location = np.array(spec.location)
        assert problem(location) == problem.optimum
        assert 0 < problem.optimum < 1e-8
        nearby = location + rng.normal(size=(50, 3)) * 10.0 ** rng.uniform(-9, 0, size=(50, 1))
        assert (problem(nearby) >= problem.optimum).all()


@pytest.mark.statistical
def test_weights_follow_the_threshold_rule():
    rng = np.random.default_rng(0)
    drawn = rng.uniform(size=(20_000, 24))
    weights = np.array([problems.threshold_weights(u, 0.85) for u in drawn])
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    positive = (weights > 0).sum(axis=1)
    assert positive.min() == 2
    # Binomial(24, 0.15) raised to at least 2: mean 3.6 + 2 P(0) + P(1) = 3.726; standard error 0.012
    exact = 3.6 + 2 * stats.binom.pmf(0, 24, 0.15) + stats.binom.pmf(1, 24, 0.15)
    assert positive.mean() == pytest.approx(exact, abs=4 * 0.012)
    # the kept weights are the uniform ones less the threshold, in proportion
    u = np.linspace(0, 0.99, 24)
    kept = np.maximum(u - 0.85, 0)
    np.testing.assert_allclose(problems.threshold_weights(u, 0.85), kept / kept.sum())
    # all below the threshold: the third-highest is subtracted, two remain
    low = problems.threshold_weights(np.linspace(0, 0.5, 24), 0.85)
    np.testing.assert_allclose(low[-2:], [1 / 3, 2 / 3])
    assert not low[:-2].any()


@pytest.mark.statistical
def test_the_stream_draws_as_stated():
    """Three Kolmogorov–Smirnov and chi-square tests at 0.001."""
    stream = problems.MABBOB(dimension=(2, 6), seed=2)
    specs = [stream[i] for i in range(1500)]
    dimensions = np.bincount([spec.dimension for spec in specs], minlength=7)[2:]
    assert stats.chisquare(dimensions).pvalue > 0.001
    locations = np.concatenate([spec.location for spec in specs])
    assert stats.kstest(locations, stats.uniform(-5, 10).cdf).pvalue > 0.001
    instances = np.array([spec.instances for spec in specs]).ravel()
    assert (instances.min(), instances.max()) == (1, 999)
    assert stats.chisquare(np.bincount(instances, minlength=1000)[1:]).pvalue > 0.001
    used = np.array([spec.weights for spec in specs]) > 0
    assert used.sum(axis=1).mean() == pytest.approx(3.726, abs=4 * 1.7 / np.sqrt(1500))
    assert used.mean(axis=0).min() > 0.1


def test_the_stream_is_the_same_in_any_order_and_whatever_else_is_drawn():
    stream = problems.MABBOB(dimension=(2, 40), seed=7)
    backwards = {i: stream[i] for i in reversed(range(30))}
    assert [problems.MABBOB(dimension=(2, 40), seed=7)[i] for i in range(30)] == [backwards[i] for i in range(30)]
    assert len({spec.name for spec in backwards.values()}) == 30
    for i, spec in backwards.items():
        fixed = problems.MABBOB(dimension=spec.dimension, seed=7)[i]
        assert fixed == spec, "the same name must mean the same problem"
    assert problems.MABBOB(seed=1)[0] != problems.MABBOB(seed=2)[0]
    assert problems.MABBOB()[17].name == "ma-bbob-d5-s0-17"


def test_other_distributions_have_other_names():
    names = {
        problems.MABBOB()[0].name,
        problems.MABBOB(threshold=0.5)[0].name,
        problems.MABBOB(instances=range(1, 100))[0].name,
        problems.MABBOB(seed=1)[0].name,
        problems.MABBOB(dimension=6)[0].name,
    }
    assert len(names) == 5


@pytest.mark.parametrize(
    ("dimension", "expected"), [((2, 4), {2, 3, 4}), ([2, 4], {2, 4}), ("2-4,9", {2, 3, 4, 9}), (7, {7})]
)
def test_dimensions_are_drawn_from_what_is_given(dimension, expected):
    stream = problems.MABBOB(dimension=dimension)
    assert {stream[i].dimension for i in range(60)} == expected
    again = problems.from_description(problems.describe(stream))
    assert again == stream


@pytest.mark.parametrize(
    ("keywords", "error", "complaint"),
    [
        ({"dimension": 1}, ValueError, "dimension is 1; it must be 2 or more"),
        ({"dimension": (40, 2)}, ValueError, "must not be above"),
        ({"dimension": 2.5}, TypeError, "whole number"),
        ({"threshold": 1.5}, ValueError, "threshold is 1.5; it must be from 0 to 1"),
        ({"threshold": "high"}, TypeError, "threshold is .high.; it must be a number"),
        ({"instances": "0-3"}, ValueError, "instances is 0"),
        ({"seed": "a"}, TypeError, "whole number"),
    ],
)
def test_the_stream_refuses(keywords, error, complaint):
    with pytest.raises(error, match=complaint):
        problems.MABBOB(**keywords)


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [([1.0] * 23, "combines 24"), ([-1.0] + [1.0] * 23, "negative"), ([0.0] * 24, "one must be positive")],
)
def test_a_problem_refuses_bad_weights(weights, complaint):
    with pytest.raises(ValueError, match=complaint):
        problems.MABBOBProblem(weights, [1] * 24, [0.0, 0.0])


@pytest.mark.parametrize(
    ("location", "error", "complaint"),
    [
        ([0.0, "1"], TypeError, r"location\[1\] is '1'; it must be a number"),
        ([np.nan, 0.0], ValueError, r"location\[0\] is nan; it must be finite"),
        (0.0, TypeError, "location is 0.0; it must be a list of numbers"),
        ("12", TypeError, "location is '12'; it must be a list of numbers"),
    ],
)
def test_a_problem_refuses_a_location_that_is_none(location, error, complaint):
    with pytest.raises(error, match=complaint):
        problems.MABBOBProblem([1.0] * 24, [1] * 24, location)


def test_a_problem_of_ones_own_is_named_by_its_contents():
    spec = problems.MABBOBProblem([1.0] * 24, [1] * 24, [0.0, 0.0])
    assert sum(spec.weights) == pytest.approx(1)
    assert spec.name == problems.MABBOBProblem([2.0] * 24, [1] * 24, (0.0, 0.0)).name
    assert spec.name != problems.MABBOBProblem([2.0] * 24, [2] * 24, (0.0, 0.0)).name

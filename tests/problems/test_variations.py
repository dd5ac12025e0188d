"""Instances of any problem by random transformations of its domain and range."""

import json
import pickle

import numpy as np
import pytest
from scipy import stats

from polarbear import problems
from polarbear.problems import FunctionProblem, Traits, Variation, Variations
from polarbear.problems.evaluation import BuiltProblem


def sphere(x):
    return float(x @ x)


def sphere_of_many(x):
    return np.sum(x**2, axis=1)


def weighted(x):
    """Not symmetric in anything."""
    return float(np.arange(1, x.size + 1) @ (x - 0.3) ** 2 + x[0])


def test_nothing_changes_unasked():
    spec = FunctionProblem(weighted, -1, 3, 4, optimum=-2.0)
    made = Variations(spec)[5].build()
    points = np.random.default_rng(1).uniform(-1, 3, (20, 4))
    np.testing.assert_allclose(made(points), [spec(point) for point in points], rtol=1e-13)
    assert (made.name.rpartition("-v")[0], made.optimum) == ("weighted-d4-s0-5", -2.0)


def test_an_index_always_names_the_same_instance_and_others_differ():
    stream = Variations(FunctionProblem(weighted, -1, 3, 4), shift=0.3, rotate=True, factor=(0.1, 10), seed=3)
    x = np.ones(4)
    first = pickle.loads(pickle.dumps(stream[2])).build()(x)
    assert first == stream[2].build()(x)
    values = [stream[k].build()(x) for k in range(10)]
    assert len(set(values)) == 10
    other = Variations(stream.problem, shift=0.3, rotate=True, factor=(0.1, 10), seed=4)
    assert other[2].build()(x) != first


def test_permuting_and_flipping_keep_the_box_and_its_corners_values():
    spec = FunctionProblem(weighted, -1, 3, 3, optimum=-0.5)
    corners = np.stack(np.meshgrid(*[[-1.0, 3.0]] * 3), axis=-1).reshape(-1, 3)
    expected = np.sort([spec(corner) for corner in corners])
    for k in range(5):
        made = Variations(spec, flip=True, permute=True, seed=1)[k].build()
        np.testing.assert_allclose(np.sort(made(corners)), expected, rtol=1e-12)
        assert made.optimum == -0.5


def test_a_rotation_keeps_distances_from_the_centre_in_its_own_units():
    """Of (x - centre) / half width; the box is not a cube, so rotating x itself would not."""
    lower, upper = np.array([-1.0, 0.0, 5.0]), np.array([1.0, 10.0, 6.0])

    def radius(x):
        return float(np.linalg.norm((x - (lower + upper) / 2) / (upper - lower) * 2))

    spec = FunctionProblem(radius, lower, upper)
    points = np.random.default_rng(2).uniform(lower, upper, (50, 3))
    made = Variations(spec, rotate=True)[0].build()
    np.testing.assert_allclose(made(points), [radius(point) for point in points], rtol=1e-12)
    turned = Variations(FunctionProblem(lambda x: x[0], lower, upper), rotate=True)[0].build()
    assert not np.allclose(turned(points), points[:, 0])


@pytest.mark.statistical
def test_the_optimum_goes_where_it_can_be_found_and_keeps_its_value():
    """Its place is uniform in the middle part of the box (Kolmogorov and Smirnov; wrong once in 1,000 if right)."""
    best = (0.3, -0.2, 0.7)

    def bowl(x):
        return float(((x - best) ** 2 * [1, 4, 9]).sum()) - 3.0

    spec = FunctionProblem(bowl, -2, 2, 3, optimum=-3.0)
    settings = {"shift": 0.8, "rotate": True, "flip": True, "permute": True, "stretch": 1.5, "location": best}
    stream = Variations(spec, **settings, factor=(0.5, 2.0), offset=(-10, 10), seed=2)
    places = []
    from scipy.optimize import minimize

    for k in range(40):
        made = stream[k].build()
        found = minimize(made, np.zeros(3), method="BFGS", options={"gtol": 1e-10})
        assert found.fun == pytest.approx(made.optimum, abs=1e-7)
        places.append(found.x)
    places = np.array(places)
    assert np.abs(places).max() <= 1.6 + 1e-6
    assert stats.kstest(places.ravel(), stats.uniform(-1.6, 3.2).cdf).pvalue > 1e-3


def test_an_optimum_that_may_leave_the_box_is_not_claimed():
    spec = FunctionProblem(sphere, -1, 1, 2, optimum=0.0)
    assert Variations(spec, shift=0.2)[0].build().optimum is None
    assert Variations(spec, rotate=True)[0].build().optimum is None
    assert Variations(spec, rotate=True, location=(0.0, 0.0))[0].build().optimum == 0.0
    far = FunctionProblem(lambda x: sphere(x - 1), -1, 1, 2, optimum=0.0)
    corner = Variations(far, rotate=True, location=(1.0, 1.0), seed=1)
    assert {corner[k].build().optimum for k in range(20)} == {None}  # a corner turned leaves the box


def test_the_best_value_is_that_at_the_location_where_no_optimum_is_told():
    calls = []

    def noted(x):
        calls.append(x)
        return sphere(x - 1) - 3

    stream = Variations(FunctionProblem(noted, -5, 5, 2), shift=0.8, location=(1, 1), factor=(2, 2), offset=(7, 7))
    assert [stream[k].build().optimum for k in range(3)] == [1.0] * 3
    assert len(calls) == 3
    maximized = FunctionProblem(lambda x: -sphere(x - 7), -5, 5, 2, minimize=False)
    assert Variations(maximized, shift=0.5, location=(7, 7))[0].build().optimum == 0.0
    assert Variations(maximized, rotate=True, location=(7, 7))[0].build().optimum is None  # outside the box


@pytest.mark.parametrize(
    ("optimum", "location", "message"),
    [
        (0.0, (0.0, 0.5), r"location is \[0.0, 0.5\], where .* has the value 0.25, but its optimum is 0.0; "),
        (-1.0, (0.0, 0.0), "has the value 0.0, but its optimum is -1.0"),
        (None, (3.0, 0.0), r"has the value inf; it must be where the best value is"),
    ],
)
def test_a_location_without_the_best_value_is_refused(optimum, location, message):
    def walled(x):
        return sphere(x) if np.abs(x).max() <= 1 else np.inf

    stream = Variations(FunctionProblem(walled, -1, 1, 2, optimum=optimum), shift=0.5, location=location)
    with pytest.raises(ValueError, match=message):
        stream[0].build()


def test_an_optimum_may_be_rounded():
    spec = FunctionProblem(lambda x: sphere(x) + 1 / 3, -1, 1, 2, optimum=0.3333333)
    assert Variations(spec, shift=0.5, location=(0, 0))[0].build().optimum == 0.3333333


@pytest.mark.statistical
def test_factors_are_log_uniform_and_offsets_uniform():
    """Kolmogorov and Smirnov; each wrong once in 1,000 if right."""
    stream = Variations(FunctionProblem(lambda x: x[0], 0, 1, 1), factor=(0.01, 100), offset=(-5, 5))
    made = [stream[k].build() for k in range(400)]
    offsets = np.array([each([0.0]) for each in made])
    factors = np.array([each([1.0]) for each in made]) - offsets
    assert stats.kstest(offsets, stats.uniform(-5, 10).cdf).pvalue > 1e-3
    assert stats.kstest(np.log10(factors), stats.uniform(-2, 4).cdf).pvalue > 1e-3


def test_whole_variables_stay_whole():
    spec = FunctionProblem(sphere, 0, 4, 3, integers=True)
    made = Variations(spec, flip=True, permute=True)[1].build()
    assert problems.traits_of(made).integers.all()
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=-1).reshape(-1, 3)
    np.testing.assert_array_equal(np.sort(made(grid)), np.sort([spec(point) for point in grid]))


def test_maximized_problems_stay_so():
    made = Variations(FunctionProblem(sphere, -1, 1, 2, optimum=2.0, minimize=False), flip=True, offset=(3, 3))[0]
    assert (made.build().minimize, made.build().optimum) == (False, 5.0)


@pytest.mark.parametrize(
    ("problem", "settings", "message"),
    [
        (FunctionProblem(sphere, -1, 1, 2, integers=True), {"shift": 0.1}, "can only be permuted and reflected"),
        (FunctionProblem(sphere, [0, 0], [1, 2]), {"permute": True}, "differ in bounds"),
        (FunctionProblem(sphere, -1, 1, 2), {"location": [0.0]}, "location has length 1"),
    ],
)
def test_what_does_not_suit_a_function_is_refused_by_name(problem, settings, message):
    with pytest.raises(ValueError, match=message):
        Variations(problem, **settings)


def test_what_does_not_suit_another_problem_is_refused_when_it_is_built():
    varied = Variations(problems.BBOBNoisyProblem(101, 1, 2), flip=True)
    with pytest.raises(ValueError, match="is noisy"):
        varied[0].build()


def test_whole_variables_with_other_bounds_cannot_be_reflected():
    class Halved:
        name = "halved"

        def build(self):
            bounds, traits = (np.full(2, 0.5), np.full(2, 2.0)), Traits(integers=np.array([True, False]))
            return BuiltProblem(self, sphere, sphere_of_many, bounds, None, traits=traits)

    assert Variations(Halved(), offset=(1, 1))[0].build()([1.0, 1.0]) == 3.0
    with pytest.raises(ValueError, match="halved has integer variables with bounds that are not integers"):
        Variations(Halved(), flip=True)[0].build()


@pytest.mark.parametrize(
    ("stream", "index", "message"),
    [
        (Variations(FunctionProblem(sphere, -1, 1, 2)), -1, "index is -1; it must be 0 or more"),
        (Variations(FunctionProblem(sphere, -1, 1, 2)), "1", "index is '1'; it must be a whole number"),
        (problems.BBOB(), 1, "stream is BBOB.*; it must be of type Variations"),
    ],
)
def test_a_single_one_is_named_by_stream_and_index(stream, index, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Variation(stream, index)


@pytest.mark.parametrize(
    "settings",
    [
        {"shift": 1.5}, {"stretch": 0.5}, {"factor": (0, 1)}, {"factor": (2, 1)}, {"offset": (0, np.inf)},
        {"factor": 2}, {"shift": "a"}, {"stretch": np.inf}, {"flip": "false"}, {"rotate": 1}, {"offset": ["a", 1]},
    ],
)  # fmt: skip
def test_impossible_settings_are_named(settings):
    with pytest.raises((ValueError, TypeError), match=f"{next(iter(settings))} is "):
        Variations(FunctionProblem(sphere, -1, 1, 2), **settings)


@pytest.mark.parametrize(
    ("location", "error", "message"),
    [
        (0.0, TypeError, "location is 0.0; it must be a list of numbers"),
        ([0.0, "a"], TypeError, r"location\[1\] is 'a'; it must be a number"),
        ([0.0, np.nan], ValueError, r"location\[1\] is nan; it must be finite"),
    ],
)
def test_a_location_that_is_none_is_named(location, error, message):
    with pytest.raises(error, match=message):
        Variations(FunctionProblem(sphere, -1, 1, 2), location=location)


def test_each_setting_makes_another_name():
    spec = FunctionProblem(sphere, -1, 1, 2)
    settings = [{}, {"shift": 0.5}, {"rotate": True}, {"flip": True}, {"factor": (1, 2)}, {"location": (0, 0)}]
    names = {Variations(spec, **each)[0].name for each in settings}
    assert len(names) == len(settings)
    assert Variations(spec, shift=1)[3].name == Variations(spec, shift=1.0)[3].name


def test_they_are_described_and_come_back():
    stream = Variations(problems.BBOBProblem(3, 1, 5), rotate=True, offset=(0, 1), location=[0.0] * 5, seed=7)
    described = json.loads(json.dumps(problems.describe(stream)))
    assert described["problem"] == {"problem": "bbob", "function": 3, "instance": 1, "dimension": 5}
    assert problems.from_description(described) == stream
    some = problems.as_instances([stream[0], stream[4]])
    assert problems.from_description(json.loads(json.dumps(problems.describe(some)))) == some

"""Constraints, whole variables, variations and registration of a user's own functions."""

import json
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from polarbear import problems
from polarbear.problems import Constraint, FunctionProblem, Variations, descriptions


def sphere(x):
    return float(x @ x)


def sphere_of_many(x):
    return np.sum(x**2, axis=1)


def weighted(x):
    """Not symmetric in anything."""
    return float(np.arange(1, x.size + 1) @ (x - 0.3) ** 2 + x[0])


def below_one(x):
    return float(x.sum() - 1.0)


def never_negative(x):
    return -float(x.min())


class TestConstraints:
    def test_a_hard_constraint_makes_the_worst_value_and_nothing_is_evaluated(self):
        calls = []

        def noted(x):
            calls.append(x)
            return sphere(x)

        for minimize, worst in ((True, np.inf), (False, -np.inf)):
            problem = FunctionProblem(noted, -5, 5, 2, minimize=minimize, constraints=[below_one])
            assert problem([2.0, 2.0]) == worst
            assert problem([0.5, 0.25]) == 0.3125
        assert len(calls) == 2

    def test_soft_constraints_add_weight_times_violation_to_the_power_of_the_exponent(self):
        """f = 13, violations 4 and 3, so 13 + 2 * 4 ** 1.5 + 1 * 3 ** 1; nothing where they hold."""
        limits = [Constraint(below_one, "soft", weight=2.0, exponent=1.5), Constraint(lambda x: x[1], "soft")]
        for vectorized, function in ((False, sphere), (True, sphere_of_many)):
            low = FunctionProblem(function, -5, 5, 2, constraints=limits, vectorized=vectorized)
            high = FunctionProblem(function, -5, 5, 2, constraints=limits, vectorized=vectorized, minimize=False)
            assert low([2.0, 3.0]) == 13 + 16 + 3
            assert high([2.0, 3.0]) == 13 - 16 - 3
            np.testing.assert_array_equal(low([[2.0, 3.0], [-1.0, -1.0]]), [32.0, 2.0])

    def test_a_batch_is_as_its_points(self):
        rng = np.random.default_rng(0)
        points = rng.uniform(-3, 3, (200, 3))
        limits = [Constraint(below_one, "soft", 3.0, 2.0), Constraint(never_negative)]
        one = FunctionProblem(sphere, -5, 5, 3, constraints=limits, integers=[1])
        many = FunctionProblem(sphere_of_many, -5, 5, 3, constraints=limits, integers=[1], vectorized=True)
        expected = [one(point) for point in points]
        assert 0 < np.isfinite(expected).sum() < 200
        np.testing.assert_allclose(many(points), expected, rtol=1e-15)

    def test_nan_of_a_constraint_is_nan(self):
        problem = FunctionProblem(sphere, -5, 5, 2, constraints=lambda x: np.nan)
        assert np.isnan(problem([1.0, 1.0]))

    @pytest.mark.parametrize(
        ("returned", "message"),
        [
            (np.ma.masked, "masked values; there is no number behind a mask"),
            (None, "NoneType None; it must return one real number"),
            ("1", "str '1'; it must return one real number"),
            (np.ones(2), "it must return one real number"),
            (Decimal("0.5"), "it must return one real number"),  # nor may an objective
        ],
    )
    @pytest.mark.parametrize("kind", ["hard", "soft", "told"])
    def test_a_constraint_that_returns_no_number_is_named(self, returned, message, kind):
        def limit(x):
            return returned

        problem = FunctionProblem(sphere, -5, 5, 2, constraints=[Constraint(limit, kind)]).build()
        with pytest.raises(TypeError, match=f"the constraint limit returned .*{message}"):
            problem.constraints(np.ones(2)) if kind == "told" else problem(np.ones(2))

    @pytest.mark.parametrize("real", [10**30, 2**64, Fraction(1, 2), np.float32(0.5), True])
    def test_any_real_number_will_do(self, real):
        constraint = Constraint(lambda x: real, "soft")
        assert constraint(np.ones(2)) == float(real)
        assert type(constraint(np.ones(2))) is float
        assert FunctionProblem(lambda x: real, -5, 5, 2)([1.0, 1.0]) == float(real)
        assert FunctionProblem(sphere, -5, 5, 2, constraints=constraint)([1.0, 1.0]) == 2.0 + float(real)

    def test_told_constraints_leave_the_value_alone_and_judge_the_run(self):
        spec = FunctionProblem(sphere, -5, 5, 2, optimum=0.5, constraints=[Constraint(below_one, "told")])
        problem = spec.build()
        assert problems.traits_of(problem).constraints == 1
        assert problem([2.0, 2.0]) == 8.0
        trial = problem.trial(np.random.default_rng(0))
        assert trial(np.array([2.0, 2.0])) == (8.0, 8.0 + 3.0)
        np.testing.assert_array_equal(trial.constraints(np.array([2.0, 2.0])), [3.0])
        with pytest.raises(ValueError, match="sphere-d2 tells constraints and is maximized"):
            FunctionProblem(sphere, -5, 5, 2, minimize=False, constraints=[Constraint(below_one, "told")])

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"kind": "soft"}, "names no function"),
            ({"function": sphere, "weigth": 1}, "no field 'weigth'; did you mean 'weight'"),
            ({"function": sphere, "kind": "sof"}, "kind of a constraint is 'sof'; did you mean 'soft'"),
            ({"function": sphere, "exponent": 0}, "exponent 0"),
            ({"function": sphere, "weight": -1.0}, "weight -1.0"),
            ({"function": "no_such_module:g"}, "function of a constraint is 'no_such_module:g'"),
        ],
    )
    def test_bad_constraints_are_named(self, given, message):
        with pytest.raises(ValueError, match=message):
            FunctionProblem(sphere, -5, 5, 2, constraints=[given])

    @pytest.mark.parametrize("field", ["weight", "exponent"])
    def test_weights_and_exponents_are_finite_numbers(self, field):
        with pytest.raises(TypeError, match=f"the {field} of a constraint is '2'; it must be a number"):
            Constraint(sphere, "soft", **{field: "2"})
        with pytest.raises(ValueError, match=f"the {field} of a constraint is inf; it must be finite"):
            Constraint(sphere, "soft", **{field: np.inf})


class TestWholeVariables:
    @pytest.mark.parametrize("integers", [[0, 2], [True, False, True]])
    def test_they_are_rounded(self, integers):
        problem = FunctionProblem(lambda x: float(x @ [1, 10, 100]), -5, 5, 3, integers=integers)
        assert problem([1.4, 1.4, -1.6]) == pytest.approx(1 + 14 - 200, abs=1e-12)
        np.testing.assert_array_equal(problems.traits_of(problem).integers, [True, False, True])

    def test_all_or_none(self):
        assert FunctionProblem(sphere, -5, 5, 2, integers=True)([1.4, 0.6]) == 2.0
        assert problems.traits_of(FunctionProblem(sphere, -5, 5, 2, integers=False)).integers is None

    @pytest.mark.parametrize("integers", [[2], [-1], [True], "all", [0.5]])
    def test_others_are_refused(self, integers):
        with pytest.raises(ValueError, match="true or false, 2 of these, or a list of indices from 0 to 1"):
            FunctionProblem(sphere, -5, 5, 2, integers=integers)


def test_what_limits_a_function_is_described_and_comes_back():
    given = {
        "suite": "function", "function": "math:prod", "lower": [0.0, 0.0], "upper": [4.0, 4.0],
        "integers": [True, False],
        "constraints": [{"function": "math:fsum", "kind": "soft", "weight": 2.0, "exponent": 2.0}],
    }  # fmt: skip
    made = problems.from_description(given)
    again = problems.from_description(json.loads(json.dumps(problems.describe(made))))
    assert again[0] == made[0] == pickle.loads(pickle.dumps(made[0]))
    assert hash(again[0]) == hash(made[0])
    assert made[0]([1.4, 3.0]) == 1 * 3 + 2 * (1 + 3) ** 2


def test_a_function_without_limits_is_described_as_ever():
    described = problems.describe(FunctionProblem(sphere, -1, 1, 2))
    assert not {"constraints", "integers"} & set(described)


class TestVariations:
    def test_nothing_changes_unasked(self):
        spec = FunctionProblem(weighted, -1, 3, 4, optimum=-2.0)
        made = Variations(spec)[5].build()
        points = np.random.default_rng(1).uniform(-1, 3, (20, 4))
        np.testing.assert_allclose(made(points), [spec(point) for point in points], rtol=1e-13)
        assert (made.name.rpartition("-v")[0], made.optimum) == ("weighted-d4-s0-5", -2.0)

    def test_an_index_always_names_the_same_instance_and_others_differ(self):
        stream = Variations(FunctionProblem(weighted, -1, 3, 4), shift=0.3, rotate=True, factor=(0.1, 10), seed=3)
        x = np.ones(4)
        first = pickle.loads(pickle.dumps(stream[2])).build()(x)
        assert first == stream[2].build()(x)
        values = [stream[k].build()(x) for k in range(10)]
        assert len(set(values)) == 10
        other = Variations(stream.problem, shift=0.3, rotate=True, factor=(0.1, 10), seed=4)
        assert other[2].build()(x) != first

    def test_permuting_and_flipping_keep_the_box_and_its_corners_values(self):
        spec = FunctionProblem(weighted, -1, 3, 3, optimum=-0.5)
        corners = np.stack(np.meshgrid(*[[-1.0, 3.0]] * 3), axis=-1).reshape(-1, 3)
        expected = np.sort([spec(corner) for corner in corners])
        for k in range(5):
            made = Variations(spec, flip=True, permute=True, seed=1)[k].build()
            np.testing.assert_allclose(np.sort(made(corners)), expected, rtol=1e-12)
            assert made.optimum == -0.5

    def test_a_rotation_keeps_distances_from_the_centre_in_its_own_units(self):
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

    def test_the_optimum_goes_where_it_can_be_found_and_keeps_its_value(self):
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

    def test_an_optimum_that_may_leave_the_box_is_not_claimed(self):
        spec = FunctionProblem(sphere, -1, 1, 2, optimum=0.0)
        assert Variations(spec, shift=0.2)[0].build().optimum is None
        assert Variations(spec, rotate=True)[0].build().optimum is None
        assert Variations(spec, rotate=True, location=(0.0, 0.0))[0].build().optimum == 0.0
        corner = Variations(spec, rotate=True, location=(1.0, 1.0), seed=1)
        assert {corner[k].build().optimum for k in range(20)} == {None}  # a corner turned leaves the box

    def test_factors_are_log_uniform_and_offsets_uniform(self):
        """Kolmogorov and Smirnov; each wrong once in 1,000 if right."""
        stream = Variations(FunctionProblem(lambda x: x[0], 0, 1, 1), factor=(0.01, 100), offset=(-5, 5))
        made = [stream[k].build() for k in range(400)]
        offsets = np.array([each([0.0]) for each in made])
        factors = np.array([each([1.0]) for each in made]) - offsets
        assert stats.kstest(offsets, stats.uniform(-5, 10).cdf).pvalue > 1e-3
        assert stats.kstest(np.log10(factors), stats.uniform(-2, 4).cdf).pvalue > 1e-3

    def test_whole_variables_stay_whole(self):
        spec = FunctionProblem(sphere, 0, 4, 3, integers=True)
        made = Variations(spec, flip=True, permute=True)[1].build()
        assert problems.traits_of(made).integers.all()
        grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=-1).reshape(-1, 3)
        np.testing.assert_array_equal(np.sort(made(grid)), np.sort([spec(point) for point in grid]))

    def test_maximized_problems_stay_so(self):
        made = Variations(FunctionProblem(sphere, -1, 1, 2, optimum=2.0, minimize=False), flip=True, offset=(3, 3))[0]
        assert (made.build().minimize, made.build().optimum) == (False, 5.0)

    @pytest.mark.parametrize(
        ("problem", "settings", "message"),
        [
            (FunctionProblem(sphere, -1, 1, 2, integers=True), {"shift": 0.1}, "permuted and reflected only"),
            (FunctionProblem(sphere, 0.5, 1, 2, integers=True), {"flip": True}, "bounds are not whole"),
            (FunctionProblem(sphere, [0, 0], [1, 2]), {"permute": True}, "differ in bounds"),
            (FunctionProblem(sphere, -1, 1, 2), {"location": [0.0]}, "location has 1 numbers"),
        ],
    )
    def test_what_does_not_suit_a_function_is_refused_by_name(self, problem, settings, message):
        with pytest.raises(ValueError, match=message):
            Variations(problem, **settings)

    def test_what_does_not_suit_another_problem_is_refused_when_it_is_built(self):
        varied = Variations(problems.BBOBNoisyProblem(101, 1, 2), flip=True)
        with pytest.raises(ValueError, match="is noisy"):
            varied[0].build()

    @pytest.mark.parametrize(
        "settings",
        [
            {"shift": 1.5}, {"stretch": 0.5}, {"factor": (0, 1)}, {"factor": (2, 1)}, {"offset": (0, np.inf)},
            {"factor": 2}, {"shift": "a"}, {"stretch": np.inf}, {"flip": "false"}, {"rotate": 1}, {"offset": ["a", 1]},
        ],
    )  # fmt: skip
    def test_impossible_settings_are_named(self, settings):
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
    def test_a_location_that_is_none_is_named(self, location, error, message):
        with pytest.raises(error, match=message):
            Variations(FunctionProblem(sphere, -1, 1, 2), location=location)

    def test_each_setting_makes_another_name(self):
        spec = FunctionProblem(sphere, -1, 1, 2)
        settings = [{}, {"shift": 0.5}, {"rotate": True}, {"flip": True}, {"factor": (1, 2)}, {"location": (0, 0)}]
        names = {Variations(spec, **each)[0].name for each in settings}
        assert len(names) == len(settings)
        assert Variations(spec, shift=1)[3].name == Variations(spec, shift=1.0)[3].name

    def test_they_are_described_and_come_back(self):
        stream = Variations(problems.BBOBProblem(3, 1, 5), rotate=True, offset=(0, 1), location=[0.0] * 5, seed=7)
        described = json.loads(json.dumps(problems.describe(stream)))
        assert described["problem"] == {"problem": "bbob", "function": 3, "instance": 1, "dimension": 5}
        assert problems.from_description(described) == stream
        some = problems.as_instances([stream[0], stream[4]])
        assert problems.from_description(json.loads(json.dumps(problems.describe(some)))) == some


class TestRegistering:
    @pytest.fixture(autouse=True)
    def _registry(self, monkeypatch):
        monkeypatch.setattr(descriptions, "_OWN", {})

    def test_a_function_by_its_name(self):
        problems.register("my-bowl", sphere, lower=-5, upper=5, dimension=10)
        assert "my-bowl" in problems.suites()
        assert problems.suite_parameters("my-bowl")["dimension"] == 10
        (made,) = {problems.from_description({"suite": "my-bowl", "dimension": 3})[k] for k in range(2)}
        assert (made.name, made.dimension, made([1.0, 2.0, 2.0])) == ("my-bowl-d3", 3, 9.0)
        assert problems.from_description({"suite": "my-bowl", "name": "mine"})[0].name == "mine"
        problems.register("my-bowl", sphere, lower=-5, upper=5, dimension=10)  # once more is fine

    def test_parameters_of_what_nobody_has_registered(self):
        with pytest.raises(ValueError, match="suite 'bbop' is unknown; did you mean 'bbob'"):
            problems.suite_parameters("bbop")

    def test_a_suite_by_its_name(self):
        problems.register("my-bbob", problems.BBOB, dimensions=[2], functions=[1])
        assert problems.from_description({"suite": "my-bbob", "seed": 3}) == problems.BBOB([1], [2], seed=3)

    def test_inside_a_list(self):
        problems.register("my-bowl", sphere, lower=-5, upper=5, dimension=2)
        listed = {"suite": "list", "problems": [{"problem": "my-bowl"}, {"problem": "bbob", "function": 1,
                  "instance": 1, "dimension": 2}]}  # fmt: skip
        assert [spec.name for spec in problems.from_description(listed).problems] == ["my-bowl-d2", "bbob-f1-i1-d2"]

    @pytest.mark.parametrize(
        ("name", "what", "defaults", "message"),
        [
            ("bbob", sphere, {}, "'bbob' is taken"),
            ("a:b", sphere, {}, "colon"),
            ("mine", sphere, {"lowr": -1}, "no argument 'lowr'; did you mean 'lower'"),
            ("mine", 3, {}, "3 cannot be registered"),
            ("mine", dict, {}, "cannot be registered"),
        ],
    )
    def test_what_cannot_be_is_named(self, name, what, defaults, message):
        with pytest.raises((ValueError, TypeError), match=message):
            problems.register(name, what, **defaults)

    def test_an_unknown_name_is_answered_with_ones_own_too(self):
        problems.register("my-bowl", sphere)
        with pytest.raises(ValueError, match="did you mean 'my-bowl'"):
            problems.from_description({"suite": "my-bowel"})


@pytest.mark.parametrize(
    "description",
    [
        {"suite": "function", "function": "math:prod", "lower": 0, "upper": 1, "dimension": 2, "minimize": "false"},
        {
            "suite": "list",
            "repeat": "no",
            "problems": [{"problem": "bbob", "function": 1, "instance": 1, "dimension": 2}],
        },
        {"suite": "list", "problems": 5},
        {"suite": ["bbob"]},
    ],
)
def test_wrong_types_in_descriptions_are_errors_of_value_that_name_the_field(description, monkeypatch):
    monkeypatch.setattr(descriptions, "_OWN", {})
    problems.register("my-bowl", sphere, lower=-5, upper=5, dimension=2)
    wrong = [value for value in description.values() if value in ("false", "no", 5, ["bbob"])]
    with pytest.raises(ValueError, match=str(wrong[0]).strip("[]")):
        problems.from_description(description)


@pytest.mark.parametrize("instances", [range(1, 7, 2), range(5, 6), "1-3", [4, 2]])
def test_streams_keep_their_names_when_described(instances):
    for stream in (problems.MABBOB(5, instances=instances), problems.GPBBOB(dimension=3, instances=instances)):
        again = problems.from_description(json.loads(json.dumps(problems.describe(stream))))
        assert (again, again[0].name) == (stream, stream[0].name)


def test_registering_again_with_arrays_is_fine(monkeypatch):
    monkeypatch.setattr(descriptions, "_OWN", {})
    for _ in range(2):
        problems.register("boxed", sphere, lower=np.array([-1.0, -1.0]), upper=1)
    assert problems.from_description({"suite": "boxed"})[0].name == "boxed-d2"

"""Constraints, whole variables and registration of a user's own functions."""

import copy
import dataclasses
import json
import pickle
import traceback
from decimal import Decimal
from fractions import Fraction

import cloudpickle
import numpy as np
import pytest

from polarbear import problems
from polarbear.optimizers import RandomSearch, ScipyDifferentialEvolution
from polarbear.problems import Constraint, FunctionProblem, descriptions


def sphere(x):
    return float(x @ x)


def sphere_of_many(x):
    return np.sum(x**2, axis=1)


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
            (np.ma.masked, "masked values; return NaN where there is no value"),
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
        with pytest.raises(ValueError, match="sphere-d2 is maximized and has constraints of the kind 'told'"):
            FunctionProblem(sphere, -5, 5, 2, minimize=False, constraints=[Constraint(below_one, "told")])

    def test_a_problem_tells_its_constraints_of_points_and_batches(self):
        """Whole variables are rounded first, and only constraints that are told count."""
        limits = [Constraint(below_one, "told"), never_negative, Constraint(lambda x: x[0], "told")]
        problem = FunctionProblem(sphere, -5, 5, 2, constraints=limits, integers=[0])
        copies = problem.build(), copy.deepcopy(problem), dataclasses.replace(problem, name="other")
        for same in (problem, *copies, pickle.loads(cloudpickle.dumps(problem))):
            np.testing.assert_array_equal(same.constraints([1.4, 2.0]), [2.0, 1.0])
            np.testing.assert_array_equal(same.constraints(np.array([[1.4, 2.0], [0.0, 0.0]])), [[2, 1], [-1, 0]])
            assert same.constraints(np.empty((0, 2))).shape == (0, 2)
        assert (len(problem.constraints), problem.constraints[1].kind) == (3, "hard")
        for x in ([1.0], [1.0, np.nan]):
            with pytest.raises(ValueError, match=r"x has shape|x\[1\] is NaN"):
                problem.constraints(x)
        assert FunctionProblem(sphere, -5, 5, 2, constraints=never_negative).constraints([1.0, 1.0]).shape == (0,)

    @pytest.mark.parametrize("optimizer", [RandomSearch(), ScipyDifferentialEvolution()], ids=lambda one: one.name)
    def test_an_optimizer_can_be_tried_on_it(self, optimizer):
        class Enough(Exception):
            pass

        calls = []

        def ending(x):
            calls.append(x)
            if len(calls) == 50:
                raise Enough
            return sphere(x)

        problem = FunctionProblem(ending, -5, 5, 2, integers=[0], constraints=[Constraint(below_one, "told")])
        with pytest.raises(Enough):
            optimizer(problem, np.random.default_rng(1))

    def test_an_error_of_a_constraint_names_it_and_how_it_was_called(self):
        def of_a_batch(x):
            return x[:, 0]

        for vectorized, function in ((False, sphere), (True, sphere_of_many)):
            problem = FunctionProblem(function, -5, 5, 2, constraints=of_a_batch, vectorized=vectorized)
            with pytest.raises(IndexError) as caught:
                problem(np.ones((3, 2)))
            said = "".join(traceback.format_exception(caught.value))
            assert "in the constraint of_a_batch, called with one point, an array of shape (2,)" in said
            assert "return x[:, 0]" in said

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"kind": "soft"}, "a constraint lacks function"),
            ({"function": sphere, "weigth": 1}, "a constraint has no argument 'weigth'; did you mean 'weight'"),
            ({"function": sphere, "kind": "sof"}, "a constraint: kind is 'sof'; did you mean 'soft'"),
            ({"function": sphere, "exponent": 0}, "exponent is 0.0; it must be above 0"),
            ({"function": sphere, "weight": -1.0}, "weight is -1.0; it must be 0 or more"),
            ({"function": "no_such_module:g"}, "a constraint: function is 'no_such_module:g'"),
        ],
    )
    def test_bad_constraints_are_named(self, given, message):
        with pytest.raises(ValueError, match=message):
            FunctionProblem(sphere, -5, 5, 2, constraints=[given])

    @pytest.mark.parametrize("field", ["weight", "exponent"])
    def test_weights_and_exponents_are_finite_numbers(self, field):
        with pytest.raises(TypeError, match=f"{field} is '2'; it must be a number"):
            Constraint(sphere, "soft", **{field: "2"})
        with pytest.raises(ValueError, match=f"{field} is inf; it must be finite"):
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

    @pytest.mark.parametrize(
        ("lower", "upper", "message"),
        [
            (
                -2.7,
                2.7,
                r"lower\[0\] is -2.7, but variable 0 takes whole .*; give the nearest whole number inside the box, -2",
            ),
            ([0.5, -3], [7, 2.5], r"upper\[1\] is 2.5, but variable 1 takes whole .*number inside the box, 2$"),
            (
                0.2,
                0.8,
                r"lower\[0\] is 0.2, .*; there are fewer than two whole numbers from 0.2 to 0.8; widen the box$",
            ),
            (
                [0, 1],
                [1, 1.5],
                r"upper\[1\] is 1.5, .*; there are fewer than two whole numbers from 1.0 to 1.5; widen the box$",
            ),
        ],
    )
    def test_their_bounds_have_to_be_whole(self, lower, upper, message):
        integers = [1] if np.ndim(lower) else True
        with pytest.raises(ValueError, match=message):
            FunctionProblem(sphere, lower, upper, 2, integers=integers)
        assert FunctionProblem(sphere, [0.5, -3], [7.5, 2], 2, integers=[1]).upper.tolist() == [7.5, 2.0]

    @pytest.mark.parametrize("integers", [[2], [-1], [True], "all", [0.5]])
    def test_others_are_refused(self, integers):
        with pytest.raises(ValueError, match="true or false, a list of 2 of these, or a list of indices from 0 to 1"):
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


class TestRegistering:
    @pytest.fixture(autouse=True)
    def _registry(self, monkeypatch):
        monkeypatch.setattr(descriptions, "OWN", {})

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
            ("mine", FunctionProblem(sphere, -1, 1, dimension=2), {}, "sphere-d2 is already a problem; register its f"),
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
    monkeypatch.setattr(descriptions, "OWN", {})
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
    monkeypatch.setattr(descriptions, "OWN", {})
    for _ in range(2):
        problems.register("boxed", sphere, lower=np.array([-1.0, -1.0]), upper=1)
    assert problems.from_description({"suite": "boxed"})[0].name == "boxed-d2"

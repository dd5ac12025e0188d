"""COCO's suites against `cocoex` itself: values, constraints, best values, ideal and nadir points."""

import pickle
import sys
import threading

import numpy as np
import pytest

from polarbear import problems
from polarbear.problems.functions.coco_random import location, normals, rotation, uniforms
from polarbear.problems.suite.coco import COCO_SUITES

cocoex = pytest.importorskip("cocoex")

LARGESCALE = "bbob-largescale"
ID = {"bbob-largescale": "bbob_f{:03}_i{:02}_d{:04}", "bbob-biobj": "bbob-biobj_f{:02}_i{:02}_d{:02}"}
ID |= {"coco-bbob": "bbob_f{:03}_i{:02}_d{:02}", "bbob-biobj-ext": ID["bbob-biobj"]}
ID |= {"bbob-biobj-mixint": "bbob-biobj-mixint_f{:03}_i{:02}_d{:03}"}
BIOBJECTIVE = [name for name in COCO_SUITES if "biobj" in name]
SINGLE = [name for name in COCO_SUITES if "biobj" not in name]


def dimensions_of(suite):
    return COCO_SUITES[suite].dimensions or (2, 3, 5)


def points_for(problem, count, seed=0, beyond=0.0):
    width = problem.upper - problem.lower
    low, high = problem.lower - beyond * width, problem.upper + beyond * width
    return np.random.default_rng(seed).uniform(low, high, (count, problem.dimension))


@pytest.mark.parametrize("suite", list(COCO_SUITES))
def test_values_bounds_and_kinds_of_variables_are_those_of_cocoex(suite):
    extent = COCO_SUITES[suite]
    for dimension in dimensions_of(suite)[:2]:
        whole = cocoex.Suite(suite.removeprefix("coco-"), "instances: 1-3", f"dimensions: {dimension}")
        for function in range(1, extent.functions + 1):
            theirs = whole.get_problem(ID.get(suite, suite + "_f{:03}_i{:02}_d{:02}").format(function, 3, dimension))
            ours = problems.COCOProblem(suite, function, 3, dimension).build()
            np.testing.assert_array_equal(ours.lower, theirs.lower_bounds)
            np.testing.assert_array_equal(ours.upper, theirs.upper_bounds)
            assert (ours.traits.objectives, ours.traits.constraints) == (
                theirs.number_of_objectives,
                theirs.number_of_constraints,
            )
            integers = 0 if ours.traits.integers is None else int(ours.traits.integers.sum())
            assert integers == theirs.number_of_integer_variables
            points = points_for(ours, 3, seed=function, beyond=0.1)
            np.testing.assert_array_equal(ours(points), [theirs(point) for point in points])
            np.testing.assert_array_equal(ours(points[0]), theirs(points[0]))
            if ours.traits.constraints:
                np.testing.assert_array_equal(ours.constraints(points[0]), theirs.constraint(points[0]))


def test_bbob_through_cocoex_is_bbob_through_ioh():
    for function in range(1, 25):
        for instance, dimension in ((1, 2), (7, 5), (1234, 7), (77, 40)):
            theirs = problems.COCOProblem("coco-bbob", function, instance, dimension).build()
            ours = problems.BBOBProblem(function, instance, dimension).build()
            points = points_for(ours, 5, seed=function, beyond=0.2)
            np.testing.assert_allclose(theirs(points), ours(points), rtol=1e-9)
            assert theirs.optimum == pytest.approx(ours.optimum, rel=1e-12)
            np.testing.assert_array_equal(theirs.lower, ours.lower)


def best_parameters(theirs, path):
    """Where `cocoex` says the optimum is: it writes it to a file in the current folder."""
    theirs._best_parameter("print")
    (written,) = path.glob("._bbob*")
    found = np.loadtxt(written)
    written.unlink()
    return found


@pytest.mark.parametrize("suite", SINGLE)
def test_best_values_are_those_at_the_points_cocoex_tells_and_its_final_targets(suite, tmp_path, monkeypatch):
    """A final target is the best value + 1e-8: f_opt reaches it, and would not if it were 2e-8 higher."""
    monkeypatch.chdir(tmp_path)
    extent = COCO_SUITES[suite]
    for dimension in dimensions_of(suite)[:3]:
        for function in range(1, extent.functions + 1):
            instance = 1 + function % 40
            select = f"dimensions: {dimension} function_indices: {function}"
            theirs = cocoex.Suite(suite.removeprefix("coco-"), f"instances: {instance}", select).get_problem(0)
            ours = problems.COCOProblem(suite, function, instance, dimension).build()
            at = best_parameters(theirs, tmp_path)
            assert not theirs.final_target_hit
            assert theirs(at) == pytest.approx(ours.optimum, rel=1e-13, abs=1e-8)
            assert theirs.final_target_hit
            assert ours(at) == theirs(at)
            if ours.traits.constraints:
                assert theirs.constraint(at).max() <= 0
                assert ours.trial(np.random.default_rng(0))(at)[1] == ours.optimum


@pytest.mark.parametrize("suite", BIOBJECTIVE)
def test_ideal_and_nadir_points_are_those_of_the_two_optima(suite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    extent = COCO_SUITES[suite]
    for dimension in (extent.dimensions[0], extent.dimensions[4]):
        for function in range(1, extent.functions + 1):
            instance = 1 + function % 15
            select = f"dimensions: {dimension} function_indices: {function}"
            theirs = cocoex.Suite(suite.removeprefix("coco-"), f"instances: {instance}", select).get_problem(0)
            ours = problems.COCOProblem(suite, function, instance, dimension).build()
            first, second = ours(best_parameters(theirs, tmp_path))
            np.testing.assert_allclose([first[0], second[1]], ours.ideal, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose([second[0], first[1]], ours.nadir, rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(ours.nadir, theirs.largest_fvalues_of_interest)
            assert (ours.ideal < ours.nadir).all()
            assert ours.optimum is None
            assert ours(points_for(ours, 4)).shape == (4, 2)
            assert ours(np.empty((0, dimension))).shape == (0, 2)
            assert problems.traits_of(ours).objectives == 2


def test_constrained_trials_tell_f_and_are_judged_by_its_excess_and_the_violations():
    problem = problems.COCOProblem("bbob-constrained", 4, 2, 5).build()
    theirs = cocoex.Suite("bbob-constrained", "instances: 2", "dimensions: 5 function_indices: 4").get_problem(0)
    trial = problem.trial(np.random.default_rng(0))
    points = location(5, 4 + 10_000 * 2) + np.random.default_rng(0).normal(scale=0.3, size=(40, 5))
    told, judged = trial.batch(points)
    f = np.array([theirs(point) for point in points])
    g = np.array([theirs.constraint(point) for point in points])
    best = problem.optimum
    np.testing.assert_array_equal(told, f)
    np.testing.assert_allclose(judged, best + np.maximum(f - best, 0) + np.maximum(g, 0).sum(axis=1), rtol=1e-13)
    assert (f < best).any(), "some infeasible point should be better than the best feasible one"
    np.testing.assert_allclose([trial(point)[1] for point in points], judged, rtol=1e-13)
    feasible = theirs.initial_solution
    assert trial(feasible) == (theirs(feasible), theirs(feasible))


def test_constraints_of_the_point_evaluated_last_are_not_computed_again():
    computed = []

    def constraints(x):
        computed.append(x)
        return np.array([x[0] - 1])

    trial = problems.ConstrainedTrial(lambda x: float(x.sum()), constraints, None)
    x = np.array([1.5, 0.0])
    assert trial(x) == (1.5, np.inf)
    trial.constraints(x)[0] = 99  # the caller's own
    assert trial.constraints(x.copy()) == [0.5]
    assert len(computed) == 1
    assert trial.constraints(np.zeros(2)) == [-1]
    assert len(computed) == 2
    x[0] = 0.5  # the array evaluated is the caller's, too
    assert trial.constraints(x) == [-0.5]
    assert trial(x) == (0.5, 0.5)
    assert np.isnan(trial(np.array([np.nan, 0.0]))[1])


def test_integer_variables_come_first_and_are_rounded():
    problem = problems.COCOProblem("bbob-mixint", 3, 1, 10).build()
    np.testing.assert_array_equal(problem.traits.integers, [True] * 8 + [False] * 2)
    np.testing.assert_array_equal(problem.upper, [1, 1, 3, 3, 7, 7, 15, 15, 5, 5])
    x = np.floor(points_for(problem, 1)[0])
    near = x + np.where(problem.traits.integers, 0.4, 0.0)
    assert problem(near) == problem(x)
    assert problem(x + 0.4) != problem(x)


def test_boxed_functions_are_those_of_sbox_over_ioh_infinite_outside():
    for function in range(1, 25):
        boxed, sbox = problems.COCOProblem("bbob-boxed", function, 3, 5).build(), problems.SBOXProblem(function, 3, 5)
        points = points_for(boxed, 50, seed=function, beyond=0.05)
        inside = (np.abs(points) <= 5).all(axis=1)
        assert 0 < inside.sum() < 50
        np.testing.assert_array_equal(np.isinf(boxed(points)), ~inside)
        np.testing.assert_allclose(boxed(points), sbox.build()(points), rtol=1e-9)


def test_points_of_the_wrong_length_are_named_not_read_past_their_end():
    for suite in COCO_SUITES:
        problem = problems.COCOProblem(suite, 1, 1, dimensions_of(suite)[-1]).build()
        d = problem.dimension
        for wrong in (np.zeros(d - 1), np.zeros(d + 1)):
            assert np.isnan(problem.raw(wrong)).all()
            with pytest.raises(ValueError, match=rf"x has shape \({len(wrong)},\); {problem.name} takes one point"):
                problem(wrong)
        with pytest.raises(ValueError, match="NaN"):
            problem(np.full(d, np.nan))
        points = np.asfortranarray(points_for(problem, 3))
        np.testing.assert_array_equal(problem(points), [problem(list(point)) for point in points])


@pytest.mark.parametrize("suite", list(COCO_SUITES))
def test_what_cocoex_raises_is_not_taken_for_a_value(suite):
    problem = problems.COCOProblem(suite, 1, 1, dimensions_of(suite)[0]).build()
    words = np.full(problem.dimension, "a")
    with pytest.raises(ValueError, match="could not convert string to float"):
        problem.raw(words)


def test_grids_run_through_dimensions_then_functions_then_instances():
    suite = problems.BBOBBiobj(functions=(3, 4), dimensions="5,10", instances=(1, 2))
    names = [spec.name for spec in suite.grid()]
    assert names[:5] == [f"bbob-biobj-f{f}-i{i}-d5" for f, i in ((3, 1), (3, 2), (4, 1), (4, 2))] + [
        "bbob-biobj-f3-i1-d10"
    ]
    assert len(names) == 8
    drawn = {suite[i].name for i in range(100)}
    assert drawn == set(names)
    assert suite.size is None
    assert [suite[i] for i in range(9)] == [problems.BBOBBiobj((3, 4), (5, 10), "1-2")[i] for i in range(9)]
    with pytest.raises(IndexError, match="counted from 0"):
        suite[-1]


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        (("bbob-mixin", 1, 1, 5), ValueError, "suite 'bbob-mixin' is unknown; did you mean 'bbob-mixint'"),
        (("bbob-mixint", 25, 1, 5), ValueError, "function is 25; it must be from 1 to 24"),
        (("bbob-biobj", 1, 16, 5), ValueError, "instance is 16; it must be from 1 to 15"),
        (("bbob-mixint", 1, 1, 7), ValueError, "dimension is 7; it must be one of 5, 10, 20, 40, 80, 160"),
        (("coco-bbob", 1, 1, 1), ValueError, "dimension is 1; it must be 2 or more"),
        (("bbob-boxed", True, 1, 5), TypeError, "function is True; it must be a whole number"),
        (("bbob-boxed", 1, "1", 5), TypeError, "instance is '1'; it must be a whole number"),
    ],
)
def test_what_a_suite_does_not_have_is_refused(arguments, error, complaint):
    with pytest.raises(error, match=complaint):
        problems.COCOProblem(*arguments)


def test_streams_refuse_what_their_suite_does_not_have():
    with pytest.raises(ValueError, match="dimensions is 5; it must be one of 20, 40"):
        problems.BBOBLargescale(dimensions=5)
    with pytest.raises(ValueError, match="functions is 55; it must be from 1 to 54"):
        problems.BBOBConstrained(functions="50-55")


def test_suites_and_problems_are_described_and_travel():
    for name in COCO_SUITES:
        suite = problems.from_description({"suite": name})
        assert suite.suite == name
        assert suite.functions == range(1, COCO_SUITES[name].functions + 1)
        assert problems.from_description(problems.describe(suite)) == suite
        listed = problems.describe([suite[0], suite[1]])
        assert list(problems.from_description(listed)) == [suite[0], suite[1]]
        assert suite[0].name.startswith(f"{name}-f")
        built = suite[3].build()
        again = pickle.loads(pickle.dumps(built))
        x = points_for(built, 1)[0]
        np.testing.assert_array_equal(again(x), built(x))


def test_building_says_nothing_and_leaves_nothing_behind(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for suite, extent in COCO_SUITES.items():
        problem = problems.COCOProblem(suite, extent.functions, 15, dimensions_of(suite)[0]).build()
        problem(points_for(problem, 2))
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_threads_may_build_and_evaluate_at_once():
    specs = [problems.COCOProblem(suite, 1 + i, 2, dimensions_of(suite)[0]) for suite in COCO_SUITES for i in range(4)]
    expected = {spec: spec.build()(np.full(spec.dimension, 0.3)) for spec in specs}
    found, start = [], threading.Barrier(4)

    def build_all():
        start.wait()
        found.extend((spec, spec.build()(np.full(spec.dimension, 0.3))) for spec in specs)

    threads = [threading.Thread(target=build_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 * len(specs)
    for spec, value in found:
        np.testing.assert_array_equal(value, expected[spec])


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cocoex", None)
    spec = problems.COCOProblem("bbob-mixint", 1, 1, 5)
    with pytest.raises(ImportError, match=r"bbob-mixint needs cocoex; .* pip install 'polarbear-race\[coco\]'"):
        spec.build()


def test_random_numbers_are_those_of_the_first_bbob():
    """Against the numbers of its Python code, which pycma carries."""
    theirs = pytest.importorskip("cma.bbobbenchmarks")
    for seed in (1, 31, 10_001, 1_000_010, 2_000_000_007):
        np.testing.assert_array_equal(uniforms(40, seed), theirs.unif(40, seed))
        np.testing.assert_allclose(normals(40, seed), theirs.gauss(40, seed), rtol=1e-14)
        np.testing.assert_array_equal(location(40, seed), theirs.compute_xopt(seed, 40))
        np.testing.assert_allclose(rotation(20, seed), theirs.compute_rotation(seed, 20).T, atol=1e-12)

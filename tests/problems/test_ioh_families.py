"""PBO, W-model, star discrepancy, submodular graph problems and CEC: against `ioh`, exhaustive search and formulas."""

import itertools
import json
import math
import pickle
from collections import Counter
from pathlib import Path

import ioh
import numpy as np
import pytest
from scipy import optimize, stats

from polarbear import problems
from polarbear.problems.suite.submodular import DIMENSIONS
from polarbear.records import Instance

STATIC = Path(ioh.__file__).parent / "static"
"""Values of reference that come with `ioh`, made by other implementations than its own."""

INSTANCES = (1, 2, 17, 50, 51, 77, 100)


def reference(family, number, instance, dimension):
    return getattr(ioh.problem, ioh.ProblemClass[family].value).create(number, instance, dimension)


def all_bits(dimension):
    return np.array(list(itertools.product((0, 1), repeat=dimension)))


def squares(function, dimensions):
    return [4, 9] if function in {21, 23} else dimensions


# --- PBO ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", range(1, 26))
def test_pbo_gives_the_values_of_ioh_and_its_optimum_is_the_best_of_all_points(function):
    for dimension in squares(function, [2, 5, 6, 9]):
        bits = all_bits(dimension)
        for instance in INSTANCES:
            problem = problems.PBOProblem(function, instance, dimension).build()
            theirs = reference("PBO", function, instance, dimension)
            values = np.array([theirs(point) for point in bits])
            np.testing.assert_array_equal(problem(bits), values)
            assert [problem(point) for point in bits[:3]] == list(values[:3])
            if problem.optimum is not None:
                assert problem.optimum == pytest.approx(values.max(), rel=1e-12), (dimension, instance)
            unknown = function in {18, 25} or (function == 24 and dimension in {6, 9})
            assert (problem.optimum is None) == unknown
            assert (problem.minimize, problem.dimension) == (False, dimension)
            assert problem.traits.integers.all()


def test_the_best_independent_sets_in_larger_dimensions_are_stated():
    """Functions 22 and 24 by enumeration; `ioh` itself states another optimum of 22 in all instances but 1."""
    for function, dimension in ((22, 15), (22, 16), (24, 15)):
        bits = all_bits(dimension)
        for instance in (1, 3, 60):
            theirs = reference("PBO", function, instance, dimension)
            problem = problems.PBOProblem(function, instance, dimension).build()
            assert problem.optimum == pytest.approx(max(theirs(point) for point in bits), rel=1e-12)


@pytest.mark.parametrize("size", [16, 100])
def test_pbo_gives_the_values_of_the_published_file(size):
    compared, built = Counter(), {}
    for line in (STATIC / f"pbofitness{size}.in").read_text().splitlines():
        function, instance, point, value = line.split()
        key = (int(function), int(instance))
        if key not in built:
            built[key] = problems.PBOProblem(*key, len(point)).build()
        bits = np.array(list(point), dtype=float)
        assert built[key](bits) == pytest.approx(float(value), rel=1e-5, abs=1e-4), key
        compared[key[0]] += 1
    assert len(compared) >= 20
    assert sum(compared.values()) > 100


BINARY = [
    *(problems.PBOProblem(function, 3, 9) for function in range(1, 26)),
    problems.WModelProblem("OneMax", 3, 9, 0.8, 2, 2, 0),
    problems.WModelProblem("LeadingOnes", 60, 9, ruggedness_gamma=2),
    problems.StarDiscrepancyProblem(31, 1, 4, integer=True),
    problems.SubmodularProblem(2000),
    problems.SubmodularProblem(2130),
    problems.SubmodularProblem(2200),
    problems.SubmodularProblem(2300),
]


@pytest.mark.parametrize("spec", BINARY, ids=lambda spec: spec.name)
def test_integer_problems_round_and_are_worst_outside_their_box(spec):
    problem = spec.build()
    d = problem.dimension
    point = np.zeros(d)
    point[::40] = 1
    expected = problem(point)
    assert problem(point + np.tile([0.49, -0.49], d)[:d]) == expected
    assert problem(point.astype(int).tolist()) == expected
    assert problem(point > 0.5) == expected
    for outside in (-1, problem.upper[0] + 1, np.inf, -np.inf, 1e300):
        bad = point.copy()
        bad[-1] = outside
        assert problem(bad) == -np.inf
        np.testing.assert_array_equal(problem(np.array([bad, point])), [-np.inf, expected])
    assert problem(np.empty((0, d))).shape == (0,)
    missing = point.copy()
    missing[1] = np.nan
    assert math.isnan(problem.raw(missing))
    assert math.isnan(problem.raw(point[:-1]))
    with pytest.raises(ValueError, match=r"x\[1\] is NaN"):
        problem(missing)
    with pytest.raises(ValueError, match="shape"):
        problem(np.zeros(d + 1))


# --- W-model --------------------------------------------------------------------------------------------------------

LAYERS = [
    dict(zip(("dummy_select_rate", "epistasis_block_size", "neutrality_mu", "ruggedness_gamma"), layers, strict=True))
    for layers in itertools.product((0.0, 0.5, 0.7, 1.0), (0, 2, 3), (0, 1, 2, 3), (0, 1))
]


@pytest.mark.parametrize("function", ["OneMax", "LeadingOnes"])
def test_w_model_gives_the_values_of_ioh_and_its_optimum_is_the_best_of_all_points(function):
    bits, built = all_bits(7), 0
    for layers, instance in itertools.product(LAYERS, (1, 2, 11, 63, 100)):
        try:
            spec = problems.WModelProblem(function, instance, 7, **layers)
        except ValueError:
            continue
        built += 1
        problem = spec.build()
        theirs = getattr(ioh.problem, f"WModel{function}")(instance, 7, **layers)
        values = np.array([theirs(point.tolist()) for point in bits])
        np.testing.assert_array_equal(problem(bits), values)
        assert problem.optimum == pytest.approx(values.max(), rel=1e-12), spec
    assert built > 200


def test_w_model_without_layers_counts_ones():
    bits = all_bits(6)
    np.testing.assert_array_equal(problems.WModelProblem("OneMax", 1, 6).build()(bits), bits.sum(axis=1))
    leading = np.cumprod(bits, axis=1).sum(axis=1)
    np.testing.assert_array_equal(problems.WModelProblem("LeadingOnes", 1, 6).build()(bits), leading)


def test_ruggedness_permutes_the_counts_wherever_it_is_allowed():
    """`ioh` silently leaves the counts in order where γ · d is too large."""
    for dimension in range(3, 12):
        counts = [np.repeat([1, 0], [k, dimension - k]) for k in range(dimension + 1)]
        greatest = (dimension - 1) // 2
        for gamma in range(1, greatest + 1):
            problem = problems.WModelProblem("OneMax", 1, dimension, ruggedness_gamma=gamma).build()
            values = [problem(point) for point in counts]
            assert sorted(values) == list(range(dimension + 1))
            assert values != sorted(values)
        with pytest.raises(ValueError, match=f"ruggedness_gamma is {greatest + 1}; it must be from 0 to {greatest}"):
            problems.WModelProblem("OneMax", 1, dimension, ruggedness_gamma=greatest + 1)


# --- star discrepancy -----------------------------------------------------------------------------------------------


def local_discrepancy(points, x):
    """Clément et al. 2023, section 2: the larger of the open and the closed box's differences."""
    volume = np.prod(x)
    return max(volume - np.mean((points < x).all(axis=1)), np.mean((points <= x).all(axis=1)) - volume)


@pytest.mark.parametrize("function", range(30, 60))
def test_star_discrepancy_is_its_formula_over_real_and_integer_variables(function):
    rng = np.random.default_rng(function)
    sizes = [10, 25, 50, 100, 150, 200, 250, 500, 750, 1000]
    for dimension, instance in ((1, 1), (3, 2), (7, 5)):
        points = np.array(reference("STAR_REAL", function, instance, dimension).grid)
        assert points.shape == (sizes[function % 10], dimension)
        real = problems.StarDiscrepancyProblem(function, instance, dimension).build()
        inside = [*rng.uniform(size=(20, dimension)) ** 0.3, points[0], points.max(axis=0), np.ones(dimension)]
        for x in inside:
            assert real(x) == pytest.approx(local_discrepancy(points, x), rel=1e-12, abs=1e-15)
        for x in (np.full(dimension, -0.01), np.full(dimension, 1.01), np.full(dimension, np.inf)):
            assert real(x) == -np.inf
        assert (real.optimum, real.minimize, real.traits.integers) == (None, False, None)
        whole = problems.StarDiscrepancyProblem(function, instance, dimension, integer=True).build()
        coordinates = np.vstack([np.sort(points, axis=0), np.ones(dimension)])
        np.testing.assert_array_equal(whole.upper, np.full(dimension, len(points)))
        for k in [*rng.integers(0, len(points) + 1, size=(20, dimension)), np.zeros(dimension, dtype=int)]:
            x = coordinates[k, np.arange(dimension)]
            assert whole(k) == pytest.approx(local_discrepancy(points, x), rel=1e-12, abs=1e-15)


def test_star_discrepancy_s_point_sets_are_those_named():
    for instance in (1, 2, 3):
        points = np.array(reference("STAR_REAL", 51, instance, 4).grid)
        with np.errstate(all="ignore"):
            halton = stats.qmc.Halton(4, scramble=False).random(30)
        np.testing.assert_allclose(points, halton[instance : instance + 25], atol=1e-12)
    sobol = np.array(reference("STAR_REAL", 43, 1, 3).grid)
    assert all(np.bincount((4 * column).astype(int)).min() >= 24 for column in sobol.T), "a net: a quarter in each"


# --- submodular -----------------------------------------------------------------------------------------------------


SMALL = [function for function, dimension in DIMENSIONS.items() if dimension < 5000 and function // 100 != 22]


@pytest.mark.parametrize("function", SMALL)
def test_graph_problems_give_the_values_of_ioh(function):
    rng = np.random.default_rng(function)
    spec = problems.SubmodularProblem(function)
    problem, theirs = spec.build(), reference("GRAPH", function, 1, 1)
    assert (problem.dimension, problem.optimum, problem.minimize) == (theirs.meta_data.n_variables, None, False)
    assert not problem.traits.noisy
    for share in (0, 0.002, 0.01, 0.1, 0.5, 1):
        x = (rng.uniform(size=problem.dimension) < share).astype(int)
        assert problem(x) == theirs(x)


@pytest.mark.slow
@pytest.mark.parametrize("function", [f for f, dimension in DIMENSIONS.items() if dimension > 5000])
def test_large_packing_problems_give_the_values_of_ioh(function):
    problem, theirs = problems.SubmodularProblem(function).build(), reference("GRAPH", function, 1, 1)
    assert problem.dimension == theirs.meta_data.n_variables
    for share in (0, 0.001, 0.3, 1):
        x = (np.random.default_rng(1).uniform(size=problem.dimension) < share).astype(int)
        assert problem(x) == theirs(x)


def test_cuts_and_coverage_are_their_definitions():
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, size=800)
    lines = (STATIC / "example_graphs" / "G1").read_text().split("\n")[1:]
    edges = np.array([line.split()[:2] for line in lines if line.strip()], dtype=int) - 1
    assert problems.SubmodularProblem(2000).build()(x) == np.sum(x[edges[:, 0]] != x[edges[:, 1]])


# --- CEC ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", range(1, 21))
def test_cec2013_gives_the_values_of_ioh_and_its_optimum_is_attained_and_not_surpassed(function):
    problem, theirs = problems.CEC2013Problem(function).build(), reference("CEC2013", 1100 + function, 1, 1)
    assert problem.dimension == theirs.meta_data.n_variables
    np.testing.assert_array_equal(problem.lower, theirs.bounds.lb)
    np.testing.assert_array_equal(problem.upper, theirs.bounds.ub)
    rng = np.random.default_rng(function)
    width = problem.upper - problem.lower
    points = rng.uniform(problem.lower - 0.5 * width, problem.upper + 0.5 * width, size=(200, problem.dimension))
    values = np.array([theirs(point) for point in points])
    values[np.isnan(values)] = -np.inf
    np.testing.assert_array_equal(problem(points), values)
    assert [problem(point) for point in points] == list(values)
    best = []
    for optimum in theirs.optima[:4]:
        found = optimize.minimize(lambda x: -problem(x), optimum.x, method="Nelder-Mead", options={"xatol": 1e-10})
        best.append(-found.fun)
    assert max(best) == pytest.approx(problem.optimum, rel=1e-12, abs=1e-9)
    assert problem.optimum >= theirs.optimum.y
    inside = rng.uniform(problem.lower, problem.upper, size=(2000, problem.dimension))
    assert problem(inside).max() <= problem.optimum
    assert not problem.minimize


def test_cec2013_s_optima_that_ioh_rounds():
    def camel(x):  # Li et al. 2013, F5
        a, b = x
        return -4 * ((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2)

    def uneven(x):  # F3
        return math.exp(-2 * math.log(2) * ((x - 0.08) / 0.854) ** 2) * math.sin(5 * math.pi * (x**0.75 - 0.05)) ** 6

    found = optimize.minimize(lambda x: -camel(x) / 4, [0.09, -0.71], method="Nelder-Mead", options={"xatol": 1e-12})
    assert problems.CEC2013Problem(5).build().optimum == pytest.approx(-found.fun, rel=1e-14)
    found = optimize.minimize_scalar(lambda x: -uneven(x), bounds=(0.07, 0.09), options={"xatol": 1e-12})
    assert problems.CEC2013Problem(3).build().optimum == pytest.approx(-found.fun, rel=1e-14)


@pytest.mark.parametrize("function", range(1, 13))
def test_cec2022_gives_the_values_of_ioh_and_its_optimum_is_attained(function):
    rng = np.random.default_rng(function)
    for dimension in (2, 10, 20):
        if dimension == 2 and function in {6, 7, 8}:
            continue
        problem = problems.CEC2022Problem(function, 1, dimension).build()
        theirs = reference("CEC2022", 1000 + function, 1, dimension)
        points = rng.uniform(-150, 150, size=(100, dimension))
        np.testing.assert_array_equal(problem(points), [theirs(point) for point in points])
        assert problem(np.array(theirs.optimum.x)) == pytest.approx(problem.optimum, abs=1e-9)
        assert (problem(points) > problem.optimum).all()
        corner = np.where(rng.uniform(size=dimension) < 0.5, -100.0, 100.0)
        assert problem(corner) == problem.raw(corner) == theirs(corner)
        np.testing.assert_array_equal(problem.lower, np.full(dimension, -100))
        np.testing.assert_array_equal(problem.upper, np.full(dimension, 100))
        assert problem.minimize


@pytest.mark.parametrize(("file", "suite"), [("cec_problem2013.in", "cec2013"), ("cec_problem2022.in", "cec2022")])
def test_cec_gives_the_values_of_the_published_files(file, suite):
    compared = Counter()
    for line in (STATIC / file).read_text().splitlines():
        number, _, point, value = line.split()
        x = np.array(point.split(","), dtype=float)
        function = int(number) % 100
        spec = problems.CEC2013Problem(function) if suite == "cec2013" else problems.CEC2022Problem(function, 1, len(x))
        assert spec.build()(x) == pytest.approx(float(value), rel=1e-6, abs=1e-6), (number, point)
        compared[function] += 1
    assert set(compared) == set(range(1, 21 if suite == "cec2013" else 13))


@pytest.mark.parametrize("spec", [problems.CEC2013Problem(7), problems.CEC2022Problem(6, 1, 10)], ids=lambda s: s.name)
def test_cec_is_worst_where_it_is_not_defined(spec):
    problem = spec.build()
    worst = np.inf if problem.minimize else -np.inf
    x = np.full(problem.dimension, np.inf)
    assert problem(x) == problem.raw(x) == worst
    np.testing.assert_array_equal(problem(np.array([x, x])), [worst, worst])
    assert math.isnan(problem.raw(np.full(problem.dimension, np.nan)))
    assert math.isnan(problem.raw(np.ones(problem.dimension + 1)))
    with pytest.raises(ValueError, match="NaN"):
        problem(np.full(problem.dimension, np.nan))


# --- suites ---------------------------------------------------------------------------------------------------------

SUITES = {
    "pbo": problems.PBO(functions="1-3", dimensions=[4, 9], instances="1-4", seed=3),
    "w-model": problems.WModel(
        functions="OneMax", dimensions=[16, 32], instances=[1, 5], dummy_select_rate=[0, 0.5], neutrality_mu="1-2"
    ),
    "star-discrepancy": problems.StarDiscrepancy(functions=[30, 55], dimensions="2-3", instances=(1, 4), integer=True),
    "submodular": problems.Submodular(functions="2000-2004,2130", seed=1),
    "cec2013": problems.CEC2013(functions="1-5"),
    "cec2022": problems.CEC2022(functions=[1, 12], dimensions=[10, 20]),
}

SIZES = {"pbo": 24, "w-model": 16, "star-discrepancy": 8, "submodular": 6, "cec2013": 5, "cec2022": 4}


@pytest.mark.statistical
@pytest.mark.parametrize("suite", SUITES)
def test_a_stream_draws_from_its_grid_alike(suite):
    """Chi-square over the grid; 1 in 1,000 seeds would fail."""
    stream = SUITES[suite]
    grid = stream.grid()
    assert len(grid) == len({spec.name for spec in grid}) == SIZES[suite]
    drawn = Counter(stream[i] for i in range(60 * len(grid)))
    assert set(drawn) == set(grid)
    assert stats.chisquare(list(drawn.values())).pvalue > 0.001
    assert [stream[i] for i in range(9)] == [stream[i] for i in reversed(range(9))][::-1]
    assert stream.size is None
    with pytest.raises(IndexError, match="counted from 0"):
        stream[-1]


@pytest.mark.parametrize("suite", SUITES)
def test_a_grid_goes_by_dimension_function_and_instance(suite):
    told = [Instance.parse(spec.name) for spec in SUITES[suite].grid()]
    key = [(instance.dimension, instance.function, int(instance.instance)) for instance in told]
    if suite != "cec2022":  # whose functions are 1 and 12
        assert key == sorted(key)
    assert [spec.dimension for spec in SUITES[suite].grid()] == [instance.dimension for instance in told]


@pytest.mark.parametrize("suite", SUITES)
def test_suites_and_problems_travel_and_are_described(suite):
    stream = SUITES[suite]
    assert pickle.loads(pickle.dumps(stream)) == stream
    description = json.loads(json.dumps(problems.describe(stream)))
    assert description["suite"] == suite
    assert problems.from_description(description) == stream
    assert problems.from_description({"suite": suite}) == type(stream)()
    assert set(problems.suite_parameters(suite)) >= {"functions", "seed"}
    specs = problems.FiniteInstances([stream[0], stream.grid()[-1]])
    assert problems.from_description(json.loads(json.dumps(problems.describe(specs)))) == specs
    spec = stream[0]
    problem = spec.build()
    x = np.round((problem.lower + problem.upper) / 2)
    assert pickle.loads(pickle.dumps(problem))(x) == problem(x)
    assert problem.name == spec.name
    assert hash(pickle.loads(pickle.dumps(spec))) == hash(spec)


BAD = [
    (
        problems.PBOProblem,
        {"function": 26, "instance": 1, "dimension": 4},
        ValueError,
        "function is 26; .*25",
    ),
    (
        problems.PBOProblem,
        {"function": 1, "instance": 101, "dimension": 4},
        ValueError,
        "instance is 101",
    ),
    (
        problems.PBOProblem,
        {"function": 1, "instance": 1, "dimension": 1},
        ValueError,
        "dimension is 1",
    ),
    (problems.PBOProblem, {"function": 23, "instance": 1, "dimension": 10}, ValueError, r"NQueens.* such as 9 or 16"),
    (
        problems.PBO,
        {"dimensions": [16, 20]},
        ValueError,
        "function 21 .IsingTriangular. does not exist in dimension 20; .* 16 or 25",
    ),
    (problems.PBO, {"functions": "0-3"}, ValueError, "functions is 0"),
    (problems.PBO, {"seed": 0.5}, TypeError, "seed is 0.5"),
    (
        problems.WModelProblem,
        {"function": "onemax", "instance": 1, "dimension": 9},
        ValueError,
        "mean 'OneMax'",
    ),
    (problems.WModel, {"functions": []}, ValueError, "functions is empty"),
    (problems.WModel, {"functions": ["OneMax", "OneMax"]}, ValueError, "contains an entry twice"),
    (problems.WModel, {"dummy_select_rate": 1.5}, ValueError, "dummy_select_rate is 1.5; it must be from 0 to 1"),
    (problems.WModel, {"dummy_select_rate": [0.5, math.nan]}, ValueError, "dummy_select_rate is nan"),
    (problems.WModel, {"dummy_select_rate": "all"}, TypeError, "dummy_select_rate is 'all'"),
    (problems.WModel, {"dummy_select_rate": 0.01}, ValueError, "selects none of 64 bits"),
    (problems.WModel, {"epistasis_block_size": 65}, ValueError, "epistasis_block_size is 65; it must be from 0 to 64"),
    (problems.WModel, {"epistasis_block_size": 33, "neutrality_mu": 2}, ValueError, "it must be from 0 to 32"),
    (
        problems.WModel,
        {"neutrality_mu": 33, "dummy_select_rate": 0.5},
        ValueError,
        "mu is 33; it must be from 0 to 32",
    ),
    (problems.WModel, {"ruggedness_gamma": 32}, ValueError, "ruggedness_gamma is 32; it must be from 0 to 31"),
    (problems.StarDiscrepancy, {"functions": 29}, ValueError, "functions is 29; it must be from 30 to 59"),
    (problems.StarDiscrepancy, {"dimensions": 1112}, ValueError, "at most 1111"),
    (problems.StarDiscrepancy, {"integer": 1}, TypeError, "integer is 1; it must be true or false"),
    (problems.SubmodularProblem, {"function": 2005}, ValueError, "function is 2005; it must be in 2000-2004"),
    (problems.Submodular, {"functions": [2000, 2140]}, ValueError, "functions is 2140"),
    (problems.CEC2013Problem, {"function": 21}, ValueError, "function is 21; it must be from 1 to 20"),
    (problems.CEC2013, {"functions": "1,1"}, ValueError, "twice"),
    (problems.CEC2022, {"dimensions": 5}, ValueError, "dimension is 5; it must be 2, 10 or 20"),
    (problems.CEC2022, {"dimensions": 2}, ValueError, "function 6 does not exist in dimension 2"),
    (
        problems.CEC2022Problem,
        {"function": 1, "instance": 2, "dimension": 10},
        ValueError,
        "instance is 2",
    ),
]


@pytest.mark.parametrize(("kind", "arguments", "error", "complaint"), BAD)
def test_bad_arguments_are_named(kind, arguments, error, complaint):
    with pytest.raises(error, match=complaint):
        kind(**arguments)


def test_a_flag_may_come_from_numpy():
    spec = problems.StarDiscrepancyProblem(30, 1, 3, integer=np.True_)
    assert spec == problems.StarDiscrepancyProblem(30, 1, 3, integer=True)
    stream = problems.StarDiscrepancy(integer=np.True_)
    assert json.loads(json.dumps(problems.describe(stream)))["integer"] is True


@pytest.mark.parametrize("stream", [problems.BBOB, problems.SBOX])
def test_bbob_and_sbox_list_their_grids(stream):
    grid = stream(functions="1-2", dimensions=[2, 3], instances="4-5").grid()
    told = [(spec.dimension, spec.function, spec.instance) for spec in grid]
    assert told == list(itertools.product((2, 3), (1, 2), (4, 5)))
    assert {type(spec) for spec in grid} == {stream.problem}

"""Features that evaluate the function further: closed forms, published values in rank, and counts of evaluations."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import polarbear as pb
from polarbear.landscape import EVALUATED, diversity, explore, run_diversity
from polarbear.landscape.evaluated.optima_network import network_features
from polarbear.problems import BBOBProblem, FunctionProblem
from tests.landscape.published import FUNCTIONS, published


def quadratic(weights, **settings):
    d = len(weights)
    return FunctionProblem(lambda x: float(np.dot(weights, np.square(x))), [-5.0] * d, [5.0] * d, **settings)


def test_evaluations_are_counted_and_seeds_repeat():
    calls = []

    def sphere(x):
        calls.append(x)
        return float(np.sum(np.square(x)))

    for name in EVALUATED:
        calls.clear()
        found = explore((sphere, [-5.0, -5.0], [5.0, 5.0]), name, seed=3)
        assert found[f"{name}.additional_function_eval"] == len(calls)
        inside = np.abs(np.array(calls)).max()
        assert inside <= 5
        again = explore(quadratic([1.0, 1.0]), name, seed=3)
        np.testing.assert_allclose(found.array(), again.array(), rtol=1e-6, atol=1e-9)


def test_maximizing_is_minimizing_the_negative():
    high = FunctionProblem(lambda x: -float(np.sum(np.square(x))), [-5.0] * 2, [5.0] * 2, minimize=False)
    for name in ("ela_conv", "hill_climbing", "gradient"):
        np.testing.assert_allclose(explore(high, name).array(), explore(quadratic([1.0, 1.0]), name).array())


def test_curvature_of_a_quadratic_function():
    weights = np.array([1.0, 4.0, 25.0])
    points = np.random.default_rng(0).uniform(-4, 4, (50, 3))
    found = explore(quadratic(weights), "ela_curv", points=points)
    gradients = 2 * weights * points
    assert found["ela_curv.hessian_cond.max"] == pytest.approx(25, rel=1e-5)
    assert found["ela_curv.grad_norm.mean"] == pytest.approx(np.linalg.norm(gradients, axis=1).mean(), rel=1e-6)
    scale = np.abs(gradients).max(axis=1) / np.abs(gradients).min(axis=1)
    assert found["ela_curv.grad_scale.med"] == pytest.approx(np.median(scale), rel=1e-6)


def test_convexity_of_simple_functions():
    assert explore(quadratic([1.0, 1.0]), "ela_conv")["ela_conv.conv_prob"] > 0.98
    assert explore(quadratic([-1.0, -1.0]), "ela_conv")["ela_conv.conv_prob"] == 0
    linear = explore((lambda x: float(x[0] - 2 * x[1]), [-5.0] * 2, [5.0] * 2), "ela_conv")
    assert linear["ela_conv.lin_prob"] == 1
    assert linear["ela_conv.lin_dev_abs"] < 1e-14


def test_sobol_indices_of_ishigami():
    """Ishigami & Homma 1990: the interaction is 1 - S₁ - S₂ - S₃, a = 7, b = 0.1."""
    problem = FunctionProblem(
        lambda x: float(np.sin(x[0]) + 7 * np.sin(x[1]) ** 2 + 0.1 * x[2] ** 4 * np.sin(x[0])),
        [-np.pi] * 3,
        [np.pi] * 3,
    )
    found = explore(problem, "sobol")
    variance = 49 / 8 + 0.1 * np.pi**4 / 5 + 0.01 * np.pi**8 / 18 + 0.5
    first = 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2, 49 / 8, 0
    shared = 8 * 0.01 * np.pi**8 / 225
    total = np.array([first[0] + shared, first[1], shared]) / variance
    assert found["fla_metrics.sobol_indices.degree_of_variable_interaction"] == pytest.approx(
        1 - sum(first) / variance, abs=0.05
    )
    assert found["fla_metrics.sobol_indices.coeff_var_x_sensitivy"] == pytest.approx(
        total.std() / total.mean(), rel=0.1
    )


def test_gradients_of_a_linear_walk():
    """On f = x the walk of one variable goes up and down with the same slope: width/step · step/range."""
    found = explore((lambda x: float(x[0]), [-5.0], [5.0]), "gradient")
    assert found["gradient.g_avg"] == pytest.approx(1)
    assert found["gradient.g_std"] == pytest.approx(0, abs=1e-9)


def test_length_scales_of_a_slope():
    found = explore((lambda x: 3 * float(x[0]), [-5.0], [5.0]), "length_scale")
    assert found["length_scale.mean"] == pytest.approx(3)
    assert np.isnan(found["length_scale.shanon_entropy"])
    assert found.reasons == {"length_scale.shanon_entropy": found.reasons["length_scale.shanon_entropy"]}


def test_a_network_by_hand():
    """4 → 0 and 3 → 2 → 1 → 0, of which 1 and 2 are equally good; 5 stands alone."""
    values = np.array([0.0, 1.0, 1.0, 2.0, 3.0, 4.0])
    found = network_features(values, {(4, 0), (3, 2), (2, 1), (1, 0)})
    assert found == {
        "lon.n_optima": 5,
        "lon.neutral_nodes_proportion": pytest.approx(2 / 6),
        "lon.n_funnels": 2,
        "lon.global_funnel_strength_norm": pytest.approx(4 / 5),
    }


def test_local_searches_find_the_optima():
    """(x² - 9)² in one variable has two optima, at ±3."""
    found = explore((lambda x: float((x[0] ** 2 - 9) ** 2), [-5.0], [5.0]), ["hill_climbing", "lon"])
    share = 0.5
    assert found["hill_climbing.avg_dist_between_opt"] == pytest.approx(6 * 2 * share * (1 - share), rel=0.1)
    assert found["lon.n_optima"] in {1, 2}


@pytest.mark.slow
def test_functions_stand_in_the_published_order():
    """Other random starts and walks, so only the order of the 24 functions can agree."""
    classical, other = published("classical_ela.csv", 2), published("misc_ela.csv", 2)
    compared = {
        "ela_conv": ("ela_conv.conv_prob", "ela_conv.lin_dev_abs"),
        "ela_local": ("ela_local.fun_evals.mean",),
        "hill_climbing": ("hill_climbing.avg_dist_between_opt", "hill_climbing.avg_dist_local_to_global"),
        "sobol": ("fla_metrics.fitness_variance", "fla_metrics.fitness_skewness"),
    }
    for chosen, names in compared.items():
        ours = [explore(BBOBProblem(f, 1, 2), chosen) for f in FUNCTIONS]
        for name in names:
            assert spearmanr([found[name] for found in ours], (classical | other)[name]).statistic > 0.85, name


@pytest.mark.slow
def test_networks_of_optima_order_functions_as_published():
    """Both are by chance; where optima are hundreds, ten runs of 100 hops see some of them."""
    theirs = published("lon.csv", 2)
    ours = [explore(BBOBProblem(f, 1, 2), ["lon"]) for f in FUNCTIONS]
    for name in ("lon.n_optima", "lon.neutral_nodes_proportion", "lon.n_funnels"):
        assert spearmanr([found[name] for found in ours], theirs[name]).statistic > 0.75, name


def test_diversity_of_populations():
    population = [[0.0, 0.0], [2.0, 6.0]]
    np.testing.assert_allclose(diversity([population, np.multiply(population, 3)]), [2.0, 6.0])
    with pytest.raises(ValueError, match="give"):
        diversity([1.0, 2.0])


def run_with(points, values, evaluations=None):
    """A run that kept these points."""
    count = len(values)
    end = pb.records.Outcome("budget", count, 0.0)
    best = pb.records.Trajectory([1], [0.0], [min(values)], end)
    kept = pb.records.Samples(evaluations or range(1, count + 1), points, values)
    return pb.records.Run(pb.RunKey("p", "A", 0), best, samples=kept)


def test_diversity_of_a_run():
    """Section 5.4 of the thesis: the mean component-wise standard deviation of points, and that of their values."""
    points, values = np.random.default_rng(1).normal(size=(11, 3)), [*range(10), 7.0]
    found = run_diversity(run_with(points, values), 5)
    assert found.evaluations.tolist() == [5, 10]
    expected = [np.mean([np.std(column) for column in points[i : i + 5].T]) for i in (0, 5)]
    np.testing.assert_allclose(found.pop_div, expected, rtol=1e-12)
    np.testing.assert_allclose(found.fit_div, [np.std(range(5))] * 2, rtol=1e-12)
    unknown = run_diversity(run_with(points, [np.inf, *values[1:]]), 5).fit_div
    assert np.isnan(unknown).tolist() == [True, False]


def test_diversity_needs_every_point():
    points = np.ones((3, 2))
    with pytest.raises(ValueError, match="has only 3 recorded points; record all"):
        run_diversity(run_with(points, [1.0, 2.0, 3.0], [1, 2, 4]), 2)
    with pytest.raises(ValueError, match="size"):
        run_diversity(run_with(points, [1.0, 2.0, 3.0]), 4)


def test_faults_are_named():
    with pytest.raises(ValueError, match="did you mean 'ela_conv'"):
        explore(quadratic([1.0]), "ela_con")
    with pytest.raises(ValueError, match="lies outside the box"):
        explore(quadratic([1.0]), "ela_conv", points=[[0.0], [7.0]])


def test_a_flat_function_has_reasons():
    flat = FunctionProblem(lambda _: 1.0, [-5.0] * 2, [5.0] * 2)
    found = explore(flat, [name for name in EVALUATED if name != "lon"])
    assert {name for name in found if np.isnan(found[name])} == set(found.reasons)

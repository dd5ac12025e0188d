"""Instances compared: exact tests, designs that are kept, and what is known of simple cases."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ks_2samp

from polarbear.landscape import features, instances, latin_hypercube, mean_precision, one_against_rest, two_samples
from polarbear.landscape.design import Design
from polarbear.problems import BBOB, BBOBProblem, FunctionProblem


@pytest.mark.parametrize("size", [1, 2, 7, 30, 100])
def test_p_values_are_scipys(size):
    rng = np.random.default_rng(size)
    samples = rng.normal(size=(6, size)) + np.arange(6)[:, None] / 3
    samples[5] = samples[4]
    samples[3] = np.round(samples[3])  # ties within a sample
    expected = [ks_2samp(samples[a], samples[b], method="exact").pvalue for a in range(6) for b in range(a + 1, 6)]
    np.testing.assert_allclose(two_samples.p_values(samples), expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(two_samples.rejections(samples), false_discovery_control(expected) <= 0.05)


def test_samples_have_to_be_finite():
    with pytest.raises(ValueError, match="give"):
        two_samples.p_values([[1.0, np.nan], [1.0, 2.0]])


def test_designs_are_shared_kept_and_read_again(tmp_path, monkeypatch):
    problems = BBOB("1,15", 2, "1-3").grid()
    settings = {"designs": 3, "points": 60, "sets": ["ela_meta", "disp"]}
    found = instances(problems, **settings, path=tmp_path)
    design = Design(latin_hypercube(np.full(2, -5.0), np.full(2, 5.0), 60, 1), -5, 5)
    index = found.instances.index(BBOBProblem(15, 2, 2).name)
    expected = features(design, BBOBProblem(15, 2, 2).build()(design.points), settings["sets"])
    np.testing.assert_allclose(found.values[index, 1], expected.array(), rtol=1e-9)
    with ThreadPoolExecutor(2) as executor:
        np.testing.assert_array_equal(instances(problems, **settings, executor=executor).values, found.values)
    (tmp_path / "design-00002.npz").unlink()
    made = []
    compute = instances.__globals__["features_on_design"]
    monkeypatch.setitem(
        instances.__globals__, "features_on_design", lambda *call: made.append(call[-1]) or compute(*call)
    )
    np.testing.assert_array_equal(instances(problems, **settings, path=tmp_path).values, found.values)
    assert made == [2]
    with pytest.raises(ValueError, match="choose another directory"):
        instances(problems, designs=3, points=61, sets=settings["sets"], path=tmp_path)


def test_equal_instances_do_not_differ_and_shifted_ones_do():
    same = [FunctionProblem(_sphere, [-5.0] * 2, [5.0] * 2, name=f"bbob-f1-i{i}-d2") for i in range(1, 5)]
    alike = instances(same, designs=20, points=50, sets=["ela_meta"])
    assert np.nansum(alike.rejection_rates()[1]) == 0
    functions, rates = instances(BBOB("1", 2, "1-4").grid(), designs=20, points=50, sets=["ela_meta"]).rejection_rates()
    assert functions == ("bbob-f1-d2",)
    assert rates[0, alike.names.index("ela_meta.lin_simple.intercept")] == 1


def _sphere(x):
    return float(np.sum(np.square(x)))


def test_embedding_tells_functions_apart():
    found = instances(BBOB("1,23", 2, "1-8").grid(), designs=4, points=100, sets=["ela_meta", "ela_distr", "nbc"])
    placed = found.embedding()
    first = np.array(found.functions) == found.functions[0]
    distances = np.linalg.norm(placed[:, None] - placed, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (first[distances.argmin(axis=1)] == first).mean() > 0.9


def test_boxes_have_to_be_the_same():
    with pytest.raises(ValueError, match="another box"):
        instances([BBOBProblem(1, 1, 2), BBOBProblem(1, 1, 3)], designs=1, points=50)


def test_mean_precision_is_a_geometric_mean():
    problems = [BBOBProblem(1, i, 2).build() for i in (1, 2)]
    found = mean_precision(problems, 11)
    place = np.array([-5 + 3, -5 + 7], dtype=float)
    expected = np.sqrt(np.prod([problem(place) - problem.optimum for problem in problems]))
    assert found[7, 3] == pytest.approx(expected)
    with pytest.raises(ValueError, match="3 variables"):
        mean_precision([BBOBProblem(1, 1, 3).build()])


def test_one_instance_that_differs_is_found():
    rng = np.random.default_rng(0)
    precisions = rng.random((2, 20, 30))
    precisions[1, 4] += 10
    np.testing.assert_allclose(one_against_rest(precisions), [0, 1 / 20])
    with pytest.raises(ValueError, match="instances"):
        one_against_rest(precisions[0])

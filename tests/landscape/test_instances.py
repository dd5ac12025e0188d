"""Instances compared: exact tests, designs that are kept, and what is known of simple cases."""

import importlib.util
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from scipy.stats import false_discovery_control, ks_2samp

from polarbear.extras import ExtraMissing
from polarbear.landscape import (
    by_box,
    compare_instances,
    features,
    instances,
    latin_hypercube,
    mean_precision,
    one_against_rest,
    optimum_location,
    performance,
    two_samples,
)
from polarbear.landscape.design import Design
from polarbear.problems import BBOB, MABBOB, BBOBProblem, FunctionProblem, PBOProblem, SBOXProblem
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory


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
    with pytest.raises(ValueError, match="differ in their boxes"):
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


def test_table_of_features():
    problems = BBOB("1,5", 2, "1-2").grid()
    found = instances(problems, designs=3, points=60, sets=["nbc"])
    table = found.frame()
    assert table.columns == ["function", "instance", "design", *found.names]
    row = table.row(by_predicate=(pl.col("instance") == "bbob-f5-i2-d2") & (pl.col("design") == 1), named=True)
    assert row["function"] == "bbob-f5-d2"
    assert [row[name] for name in found.names] == found.values[found.instances.index("bbob-f5-i2-d2"), 1].tolist()
    assert (
        instances(problems, designs=1, points=20, sets=["ela_level"]).frame()["ela_level.mmce_lda_10"].null_count() == 4
    )


def test_embeddings_need_instances_and_umap():
    found = instances(BBOB("1", 2, "1-3").grid(), designs=2, points=50, sets=["nbc"])
    with pytest.raises(ValueError, match="3 instances with 5 varying features"):
        found.embedding()
    more = instances(BBOB("1,5", 2, "1-5").grid(), designs=2, points=50, sets=["nbc"])
    if importlib.util.find_spec("umap"):
        assert more.embedding("umap").shape == (10, 2)
    else:
        with pytest.raises(ExtraMissing, match=r"polarbear-race\[umap\]"):
            more.embedding("umap")


def test_problems_of_one_box_belong_together():
    five, two = BBOB("1", 5, "1-2").grid(), BBOB("1,2", 2, "1").grid()
    assert by_box([*two, *five]) == [two, five]
    with pytest.raises(ValueError, match="integer variables"):
        by_box([PBOProblem(1, 1, 16)])


def test_optima_of_bbob_lie_where_its_report_says():
    """Hansen et al. 2009: in [-4, 4]^d, but for f5 in a corner, f8 in [-3, 3]^d, f20 and f24 on few points."""
    largest = {f: np.max([np.abs(optimum_location(BBOBProblem(f, i, 2))) for i in range(1, 60)]) for f in range(1, 25)}
    assert largest[5] == 5
    assert 2.8 < largest[8] <= 3
    assert largest[20] == pytest.approx(4.2096874633 / 2)
    assert largest[24] == 1.25
    for f in (9, 19):
        assert np.linalg.norm(optimum_location(BBOBProblem(f, 3, 2))) == pytest.approx(np.sqrt(0.5))
    assert all(3.8 < largest[f] <= 4 for f in {*range(1, 25)} - {4, 5, 8, 9, 19, 20, 24})
    strict = np.array([optimum_location(SBOXProblem(1, i, 2)) for i in range(1, 60)])
    assert (np.abs(strict).max(axis=1) > 4).any()


def test_an_optimum_counts_if_the_best_value_is_there():
    assert optimum_location(MABBOB(dimension=3)[0]) is not None
    assert optimum_location(FunctionProblem(_sphere, [-5.0] * 2, [5.0] * 2)) is None
    problem = BBOBProblem(1, 1, 2)

    class Wrong:
        name, location, build = problem.name, (0.0, 0.0), problem.build

    assert optimum_location(Wrong()) is None


def _run(instance, algorithm, seed, value, optimum=10.0):
    values = [optimum + 1 + value, optimum + value]
    trajectory = Trajectory([1, 50], [0.0, 0.1], values, Outcome(Reason.BUDGET, 60, 0.2))
    return Run(RunKey(instance, algorithm, seed), trajectory, optimum=optimum)


def test_performance_is_that_of_one_against_the_rest():
    rng = np.random.default_rng(2)
    values = rng.random((2, 6, 12))
    values[1, 3] += 5
    names = ["B", "A"]
    runs = [
        _run(f"bbob-f3-i{i + 1}-d5", names[a], seed, values[a, i, seed], optimum=100.0 * i)
        for a, i, seed in np.ndindex(values.shape)
    ]
    found = performance([*runs, _run("bbob-f4-i1-d5", "A", 0, 1.0)], 50)
    assert (found.algorithms, found.functions) == (("A", "B"), ("bbob-f3-d5",))
    np.testing.assert_array_equal(found.rates[:, 0], one_against_rest(values)[::-1])
    assert found.rates[0, 0] >= 1 / 6 > found.rates[1, 0]
    np.testing.assert_array_equal(performance(runs, 49).rates, found.rates)
    assert found.as_dict()["rates"]["B"] == {"bbob-f3-d5": 0.0}
    with pytest.raises(ValueError, match="two instances"):
        performance(runs[:1], 50)


def test_instances_compared():
    problems = BBOB("1,24", 2, "1-4").grid()
    found = instances(problems, designs=20, points=60, sets=["ela_meta", "ela_level"])
    compared = compare_instances(found, problems)
    assert compared.functions == ("bbob-f1-d2", "bbob-f24-d2")
    assert compared.embedding.shape == (8, 2)
    np.testing.assert_array_equal(np.abs(compared.optima["bbob-f24-d2"]), 1.25)
    np.testing.assert_array_equal(
        compared.mean_landscapes["bbob-f1-d2"], mean_precision([spec.build() for spec in problems[:4]], 41)
    )
    plain = compared.as_dict()
    assert plain["features"]["ela_meta.lin_simple.intercept"] == compared.rates[:, 1].mean()
    assert plain["features"]["ela_level.mmce_lda_10"] is None
    with pytest.raises(ValueError, match="other problems"):
        compare_instances(found, problems[::-1])
    with pytest.raises(ValueError, match="has one instance"):
        compare_instances(instances(problems[:1], designs=2, points=50, sets=["nbc"]), problems[:1])

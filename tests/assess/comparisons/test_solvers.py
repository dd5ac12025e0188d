"""Virtual and single best solvers: definitions by hand, bounds, and the published reference best-2009."""

import csv
import gzip
import os
import tarfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polarbear.assess.comparisons import gap_closed, single_best, solver_gap, static_virtual_best, virtual_best

INF = np.inf
#                   a    b    c
ERT = np.array([[10.0, 20, INF], [400, 100, 300], [5, 50, 4], [INF, 900, INF]])
PERFORMANCE = hnp.arrays(
    float, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.sampled_from([1.0, 2.0, 5.0, 7.0, INF])
)


def test_by_hand():
    virtual = virtual_best(ERT, names="abc")
    assert virtual.choice.tolist() == [0, 1, 2, 1]
    assert virtual.performance.tolist() == [10, 100, 4, 900]
    assert virtual.chosen == {"a": 1, "b": 2, "c": 1}
    by_rank = single_best(ERT, names="abc")
    # ranks: 1 2 3 / 3 1 2 / 2 3 1 / 2.5 1 2.5
    assert by_rank.scores.tolist() == [8.5 / 4, 7 / 4, 8.5 / 4]
    assert by_rank.solver == "b"
    by_mean = single_best(ERT, names="abc", aggregate="mean")
    assert by_mean.solver == "b"
    assert by_mean.scores.tolist() == [INF, 1070 / 4, INF]
    assert solver_gap(by_mean.performance, virtual.performance) == pytest.approx((1070 - 1014) / 4)


def test_rank_and_mean_may_disagree():
    performance = [[1.0, 2.0], [1.0, 2.0], [1000.0, 3.0]]
    assert single_best(performance, aggregate="mean rank").solver == "0"
    assert single_best(performance, aggregate="mean").solver == "1"


@given(PERFORMANCE)
def test_nobody_beats_the_virtual_best(performance):
    virtual = virtual_best(performance)
    assert (virtual.performance[:, None] <= performance).all()
    solved = virtual.choice >= 0
    assert (solved == np.isfinite(performance).any(axis=1)).all()
    rows = np.flatnonzero(solved)
    np.testing.assert_array_equal(performance[rows, virtual.choice[rows]], virtual.performance[rows])


@given(PERFORMANCE, st.data())
def test_names_follow_the_algorithms(performance, data):
    order = data.draw(st.permutations(range(performance.shape[1])))
    one = single_best(performance)
    other = single_best(performance[:, list(order)], names=[str(i) for i in order])
    np.testing.assert_allclose(other.scores, one.scores[list(order)])
    assert one.scores[int(other.solver)] == pytest.approx(one.scores.min())


@given(hnp.arrays(float, (3, 4, 2), elements=st.sampled_from([1.0, 2.0, 5.0, INF])), st.integers(-4, 3))
def test_static_is_bounded_by_per_target_and_meets_it_at_its_target(performance, target):
    per_target, static = virtual_best(performance), static_virtual_best(performance, target=target)
    assert per_target.performance.shape == static.performance.shape == (3, 4)
    assert (per_target.performance <= static.performance).all()
    np.testing.assert_array_equal(per_target.performance[:, target], static.performance[:, target])


def test_unsolved_functions_choose_nobody():
    performance = np.array([[[1.0, 2.0], [INF, INF]]])
    assert static_virtual_best(performance).choice.tolist() == [-1]
    assert static_virtual_best(performance).performance.tolist() == [[INF, INF]]
    assert virtual_best(performance).choice.tolist() == [[0, -1]]


def test_gap_closed_is_0_for_the_single_and_1_for_the_virtual_best():
    single, virtual = np.array([10.0, 40, 90]), np.array([10.0, 10, 10])
    for aggregate in ("mean", "geometric mean"):
        options = {"single": single, "virtual": virtual, "aggregate": aggregate}
        assert gap_closed(single, **options) == 0
        assert gap_closed(virtual, **options) == pytest.approx(1)
        assert gap_closed(single * 2, **options) < 0
    assert gap_closed([10, 20, 60], single=single, virtual=virtual) == pytest.approx(50 / 110)
    assert gap_closed(np.sqrt(single * virtual), single=single, virtual=virtual, aggregate="geometric mean") == (
        pytest.approx(0.5)
    )
    assert solver_gap(single, virtual, aggregate="geometric mean") == pytest.approx(36 ** (1 / 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: virtual_best([[1.0, np.nan]]), r"performance\[0, 1\] is NaN"),
        (lambda: virtual_best([[1.0, 2.0]], names=["a"]), "a different name for each of 2 algorithms"),
        (lambda: virtual_best([]), "its last axis holds the algorithms"),
        (lambda: single_best([1.0, 2.0]), r"shape \(2,\)"),
        (lambda: single_best([[INF, 1.0], [1.0, INF]], aggregate="mean"), "every algorithm is infinite"),
        (lambda: single_best([[1.0, 2.0]], aggregate="sum"), "aggregate is 'sum'"),
        (lambda: single_best([[0.0, 2.0]], aggregate="geometric mean"), "performance has the value 0; a geometric"),
        (lambda: static_virtual_best(np.ones((2, 3, 2)), target=3), "target is 3"),
        (lambda: solver_gap([1.0], [1.0, 2.0]), "must all be"),
        (lambda: solver_gap([INF], [1.0]), "the mean of single is infinite"),
        (lambda: gap_closed([1.0], single=[1.0], virtual=[1.0]), "no gap to close"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


SHARED = Path(os.environ.get("POLARBEAR_SHARED", Path(__file__).parents[4] / "shared")) / "data"


@pytest.mark.skipif(not SHARED.exists(), reason=f"no shared data at {SHARED}")
@pytest.mark.parametrize("dimension", [2, 3, 5, 10, 20, 40])
def test_virtual_best_of_2009_is_the_published_reference(dimension):
    """From the runs of 30 algorithms: best-2009 names the same algorithm and its ERT to 1e-8, as an integer.

    IPOP-SEP-CMA-ES took part in best-2009 and is not among the runs; where it is named, it has to be better.
    """
    spent, hits = defaultdict(float), defaultdict(int)
    with gzip.open(SHARED / "coco_runs" / "runs_2009_target1e-8.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if int(row["dimension"]) == dimension and int(row["function"]) <= 24:
                key = row["algorithm"], int(row["function"])
                spent[key] += float(row["evals_to_target"] or row["maxevals"])
                hits[key] += bool(row["evals_to_target"])
    names = sorted({algorithm for algorithm, _ in spent})
    ert = np.array([[spent[a, f] / hits[a, f] if hits.get((a, f)) else INF for a in names] for f in range(1, 25)])
    virtual, agreed = virtual_best(ert, names=names), 0
    with tarfile.open(SHARED / "coco_refalgs" / "best2009-bbob.tar.gz") as archive:
        for function, (choice, performance) in enumerate(zip(virtual.choice, virtual.performance, strict=True), 1):
            member = archive.extractfile(f"best2009-bbob/bbob-bestalg_f{function:02d}_d{dimension:02d}.dat")
            evaluations, precision, _, source, *_ = member.read().decode().split("\n")[-2].split()
            solved = float(precision) <= 1.001e-8
            if source.startswith("IPOP-SEP-CMA-ES_"):
                assert performance > float(evaluations)
                continue
            assert solved == (choice >= 0)
            if solved:
                assert performance == pytest.approx(float(evaluations), abs=0.5)
                assert source.startswith(f"{names[choice]}_")
                agreed += 1
    assert agreed >= 20

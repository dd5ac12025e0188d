"""BBOB, SBOX and their streams: published values, optima, determinism."""

import csv
import gzip
import itertools
import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from polarbear import problems

FVALUES = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data" / "fvalues"
needs_data = pytest.mark.skipif(not FVALUES.is_dir(), reason=f"no reference values at {FVALUES}")


@needs_data
@pytest.mark.parametrize(("file", "dimension"), [("bbobfitness5.in", 5), ("bbobfitness20.in", 20)])
def test_bbob_gives_the_published_values(file, dimension):
    built, compared = {}, 0
    for line in (FVALUES / file).read_text().splitlines():
        function, instance, point, value = line.split()
        key = (int(function), int(instance))
        if key not in built:
            built[key] = problems.BBOBProblem(*key, dimension).build()
        x = np.array(point.split(","), dtype=float)
        assert x.shape == (dimension,)
        assert built[key](x) == pytest.approx(float(value), rel=2e-4, abs=2e-4), (key, x)
        compared += 1
    assert {function for function, _ in built} == set(range(1, 25))
    assert compared > 500


@needs_data
def test_bbob_optima_are_the_published_ones_and_are_attained():
    with gzip.open(FVALUES / "bbob_optima_ioh-0.3.22.csv.gz", "rt") as lines:
        rows = [row for row in csv.DictReader(lines) if int(row["dimension"]) <= 10]
    assert len(rows) > 800
    for row in rows:
        problem = problems.BBOBProblem(int(row["function"]), int(row["instance"]), int(row["dimension"])).build()
        assert problem.optimum == pytest.approx(float(row["fopt"]))
        at_optimum = problem(np.array(row["xopt"].split(), dtype=float))
        assert at_optimum == pytest.approx(problem.optimum, abs=1e-6), row


def test_bbob_problem_has_its_box_and_goes_on_outside():
    problem = problems.BBOBProblem(3, 7, 5).build()
    assert problem.name == "bbob-f3-i7-d5"
    assert (problem.dimension, problem.minimize) == (5, True)
    np.testing.assert_array_equal(problem.lower, np.full(5, -5.0))
    np.testing.assert_array_equal(problem.upper, np.full(5, 5.0))
    assert np.isfinite(problem(np.full(5, 6.0)))


def test_sbox_is_infinite_outside_the_box_and_finite_inside():
    problem = problems.SBOXProblem(1, 1, 3).build()
    assert problem(np.array([5.01, 0, 0])) == np.inf
    np.testing.assert_array_equal(np.isfinite(problem([[5.01, 0, 0], [5.0, 0, 0], [0, -6, 0]])), [False, True, False])


def test_a_batch_is_its_points_one_by_one():
    points = np.random.default_rng(1).uniform(-5, 5, size=(7, 4))
    for spec in (problems.BBOBProblem(24, 2, 4), problems.SBOXProblem(3, 1, 4), problems.MABBOB(dimension=4)[0]):
        problem = spec.build()
        batch = problem(np.asfortranarray(points))
        assert batch.dtype == np.float64
        np.testing.assert_array_equal(batch, [problem(point) for point in points])
        assert problem(points[:1]).shape == (1,)
        assert problem(np.empty((0, 4))).shape == (0,)
        assert type(problem(points[0])) is float
        assert problem(list(points[0])) == problem(points[0])
        assert problem([1, 2, 3, 4]) == problem(np.array([1.0, 2, 3, 4]))


def test_raw_is_the_bare_ioh_object():
    assert type(problems.BBOBProblem(1, 1, 5).build().raw).__module__.startswith("ioh")


@pytest.mark.parametrize(
    "spec", [problems.BBOBProblem(1, 2, 3), problems.SBOXProblem(5, 1, 2), problems.MABBOB(dimension=3)[4]]
)
def test_specs_and_built_problems_travel(spec):
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert hash(again) == hash(spec)
    x = np.full(spec.dimension, 0.3)
    assert pickle.loads(pickle.dumps(spec.build()))(x) == spec.build()(x)


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ((0, 1, 5), ValueError, "function is 0; it must be from 1 to 24"),
        ((25, 1, 5), ValueError, "it must be from 1 to 24"),
        ((1, 0, 5), ValueError, "instance is 0"),
        ((1, 300_000, 5), ValueError, "1 to 200000"),
        ((1, 1, 1), ValueError, "dimension is 1; it must be 2 or more"),
        ((1.5, 1, 5), TypeError, "whole number"),
        ((True, 1, 5), TypeError, "whole number"),
        (("1", 1, 5), TypeError, "whole number"),
    ],
)
def test_bbob_problem_refuses(arguments, error, complaint):
    with pytest.raises(error, match=complaint):
        problems.BBOBProblem(*arguments)


def test_the_stream_is_the_same_in_any_order():
    stream = problems.BBOB(dimensions="2-6", instances="1-15", seed=4)
    forwards = [stream[i] for i in range(50)]
    again = problems.BBOB(dimensions=[2, 3, 4, 5, 6], instances=range(1, 16), seed=4)
    assert [again[i] for i in reversed(range(50))][::-1] == forwards
    assert [problems.BBOB(dimensions="2-6", instances="1-15", seed=5)[i] for i in range(50)] != forwards


@pytest.mark.statistical
def test_the_stream_draws_all_combinations_alike():
    """Chi-square over 12 combinations; 1 in 1000 seeds would fail."""
    stream = problems.BBOB(functions=[1, 8], dimensions=(2, 3), instances="1-3")
    drawn = Counter((spec.function, spec.instance, spec.dimension) for spec in (stream[i] for i in range(2400)))
    assert set(drawn) == set(itertools.product([1, 8], [1, 2, 3], [2, 3]))
    assert stats.chisquare(list(drawn.values())).pvalue > 0.001


@pytest.mark.statistical
def test_the_stream_draws_functions_evenly():
    stream = problems.BBOB(seed=1)
    counts = np.bincount([stream[i].function for i in range(2400)], minlength=25)[1:]
    assert stats.chisquare(counts).pvalue > 0.001
    assert stream.size is None


def test_sbox_stream_gives_sbox():
    spec = problems.SBOX(functions=(3,), instances=5, dimensions=2)[0]
    assert isinstance(spec, problems.SBOXProblem)
    assert spec.name == "sbox-f3-i5-d2"


@pytest.mark.parametrize(
    ("keywords", "complaint"),
    [
        ({"functions": [1, 1]}, "twice"),
        ({"functions": []}, "empty"),
        ({"functions": [25]}, "1 to 24"),
        ({"dimensions": "2-x"}, "write it like"),
        ({"dimensions": 1}, "2 or more"),
        ({"instances": range(5)}, "instances is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_the_stream_refuses(keywords, complaint):
    with pytest.raises(ValueError, match=complaint):
        problems.BBOB(**keywords)


@pytest.mark.parametrize("stream", [problems.BBOB(), problems.MABBOB()])
def test_streams_start_at_0(stream):
    with pytest.raises(IndexError, match="counted from 0"):
        stream[-1]


def test_two_threads_may_build_their_first_problems_at_once():
    """`ioh` alone deadlocks here most of the time, so a process of its own is given a minute."""
    program = """
import threading
from polarbear import problems
start = threading.Barrier(4)
def build(spec):
    start.wait()
    spec.build()
specs = [problems.BBOBProblem(f, 1, 2) for f in (1, 2)] + [problems.MABBOB(dimension=2)[i] for i in (0, 1)]
threads = [threading.Thread(target=build, args=(spec,)) for spec in specs]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

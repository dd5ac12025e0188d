"""Quasi-random search, beside `scipy.stats.qmc` called directly."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

from polarbear.optimizers import QuasiRandomSearch, RandomSearch, describe, from_description
from polarbear.optimizers.search import SEQUENCES, in_box
from polarbear.records import Reason
from tests.optimizers.seen import Seen, check_reproducible, failing, fragile, half_plane, run_task, sphere


@pytest.mark.parametrize("batch", [1, 3, 64, 100])
@pytest.mark.parametrize("sequence", ["SOBOL", "HALTON"])
def test_the_points_are_those_of_the_sequence_whatever_the_batch(sequence, batch):
    run = Seen(sphere, 3, 256).run(QuasiRandomSearch(sequence=sequence, batch=batch), seed=7)
    more = {"bits": 53} if sequence == "SOBOL" else {}
    direct = getattr(qmc, SEQUENCES[sequence])(3, rng=np.random.default_rng(7), **more).random(256)
    np.testing.assert_allclose(run.points, -5 + 10 * direct, rtol=0, atol=1e-14)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_it_spreads_better_than_random_points(sequence):
    """The centred discrepancy of 64 points in 2 variables, in each of 20 runs below the least of 20 random runs."""
    boxes = [
        (np.array(Seen(sphere, 2, 64).run(optimizer, seed).points) + 5) / 10
        for optimizer in (QuasiRandomSearch(sequence=sequence), RandomSearch())
        for seed in range(20)
    ]
    found = [qmc.discrepancy(box) for box in boxes]
    assert max(found[:20]) < min(found[20:])


@pytest.mark.statistical
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_each_point_alone_is_uniform(sequence):
    """The first points of 400 runs, by Kolmogorov and Smirnov: a right sequence fails once in a thousand seeds."""
    for variable in range(2):
        firsts = [
            Seen(sphere, 2, 1).run(QuasiRandomSearch(sequence=sequence), seed).points[0][variable]
            for seed in range(400)
        ]
        assert stats.kstest(firsts, stats.uniform(-5, 10).cdf).pvalue > 0.0005


def test_a_latin_hypercube_has_one_point_in_each_row_of_cells():
    run = Seen(sphere, 4, 60).run(QuasiRandomSearch(sequence="LHS", batch=30))
    for batch in (run.points[:30], run.points[30:]):
        cells = np.floor((np.array(batch) + 5) * 3).astype(int)
        for variable in range(4):
            assert sorted(cells[:, variable]) == list(range(30))
    assert not np.array_equal(run.points[:30], run.points[30:])


@pytest.mark.parametrize("dimension", [1, 1_000])
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_it_stops_at_the_budget_in_the_box_and_is_reproducible(sequence, dimension):
    check_reproducible(QuasiRandomSearch(sequence=sequence), dimension, 100)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_runs_of_a_study_end_by_their_budget(sequence):
    for function in (sphere, fragile):
        outcome = run_task(QuasiRandomSearch(sequence=sequence), function, budget=100).trajectory.outcome
        assert (outcome.reason, outcome.evaluations) == (Reason.BUDGET, 100), outcome.message
    outcome = run_task(QuasiRandomSearch(sequence=sequence), failing).trajectory.outcome
    assert outcome.reason == Reason.FAILED
    assert "OSError: the simulator is down" in outcome.message


@pytest.mark.statistical
def test_whole_variables_take_each_value_alike():
    """Of 1024 Sobol points in 4 equal parts each has 256; rounding would give the ends half as much."""
    run = Seen(sphere, 2, 1_024, integers=np.array([True, False]), width=3.0)
    run.lower, run.upper = np.array([-1.0, -1.5]), np.array([2.0, 1.5])
    points = np.array(run.run(QuasiRandomSearch()).points)
    values, counts = np.unique(points[:, 0], return_counts=True)
    np.testing.assert_array_equal(values, [-1, 0, 1, 2])
    np.testing.assert_array_equal(counts, 256)
    assert len(np.unique(points[:, 1])) == 1_024


def test_whole_variables_stay_between_ends_that_are_not_whole():
    units = np.linspace(0, 1, 500, endpoint=False)[:, None]
    found = in_box(units, np.array([-0.5]), np.array([2.5]), np.array([True]))
    np.testing.assert_array_equal(np.unique(found), [0, 1, 2])


def test_problems_with_constraints_are_evaluated_point_by_point():
    run = Seen(sphere, 2, 50, half_plane).run(QuasiRandomSearch())
    assert len(run.points) == 50


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: QuasiRandomSearch(sequence="sobl"), ValueError, "did you mean 'SOBOL'"),
        (lambda: QuasiRandomSearch(batch=0), ValueError, "batch is 0"),
        (lambda: QuasiRandomSearch(scramble=1), TypeError, "scramble is 1"),
        (lambda: QuasiRandomSearch(bach=1), TypeError, "did you mean 'batch'"),
        (lambda: Seen(sphere, 21_202).run(QuasiRandomSearch()), ValueError, "at most 21201 variables.*HALTON"),
    ],
)
def test_wrong_arguments_are_named(make, error, complaint):
    with pytest.raises(error, match=complaint):
        make()


def test_descriptions_come_back():
    for optimizer in (QuasiRandomSearch(), QuasiRandomSearch(sequence="lhs", batch=7, scramble=False, name="x")):
        assert from_description(json.loads(json.dumps(describe(optimizer)))) == optimizer
    assert QuasiRandomSearch(sequence="lhs", batch=7).name == "QuasiRandomSearch-LATIN_HYPERCUBE-batch=7"

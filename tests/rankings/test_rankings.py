"""Rankings of values and of runs, against ranks by SciPy, and what is derived from them."""

import numpy as np
import pytest
from scipy.stats import rankdata

from polarbear import inference
from polarbear.rankings import NOT_RUN, InstanceRanks, Rankings, choice_counts, count_choices
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory


def some_values(n, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(12, 3, n)).round(1)
    values[rng.random(values.shape) < 0.3] = np.nan
    return values


def run(instance, algorithm, seed, values, *, target=None, reason=Reason.BUDGET, spent=100):
    evaluations = 10 * np.arange(1, len(values) + 1)
    return Run(
        RunKey(instance, algorithm, seed),
        Trajectory(evaluations, evaluations / 10, values, Outcome(reason, spent, 10.0)),
        target=target,
    )


@pytest.mark.parametrize("n", [1, 4, 90])
def test_ranks_are_the_number_of_better_algorithms(n):
    values = some_values(n)
    expected = rankdata(values, "min", axis=2, nan_policy="omit") - 1
    rankings = Rankings.of(values)
    np.testing.assert_array_equal(rankings.ranks, np.where(np.isnan(values), NOT_RUN, expected))
    np.testing.assert_array_equal(rankings.sizes, (~np.isnan(values)).sum(axis=2))
    values[values > 0] = np.inf
    unordered = Rankings.of(values, tail="unordered")
    assert ((unordered.ranks == unordered.unordered) == np.isposinf(values)).all()
    np.testing.assert_array_equal(np.isposinf(unordered.values()), np.isposinf(values))


@pytest.mark.parametrize("n", [3, 70])
def test_ranks_taken_for_values_give_the_same_rankings_and_counts(n):
    values = some_values(n)
    values[values > 1] = np.inf
    rankings = Rankings.of(values, tail="unordered", groups=np.arange(12) // 4, weights=np.arange(1.0, 13.0))
    again = Rankings.of(rankings.values(), tail="unordered", groups=rankings.groups, weights=rankings.weights)
    np.testing.assert_array_equal(again.ranks, rankings.ranks)
    assert (
        count_choices(again)
        == count_choices(rankings)
        == choice_counts(values, tail="unordered", weights=np.arange(1.0, 13.0))
    )


def test_instances_keep_their_names_groups_and_weights():
    values = some_values(4)
    names = [f"f{i}" for i in range(12)]
    weights = np.where(np.arange(12) == 3, 0.0, 2.0)
    rankings = Rankings.of(
        values, instances=names, groups=list("abcdabcdabcd"), weights=weights, algorithms=list("wxyz")
    )
    assert rankings.instances == tuple(name for name in names if name != "f3")
    assert rankings.units == 4
    assert rankings.algorithms == ("w", "x", "y", "z")
    some = rankings.among([1, 4, 8])
    assert (some.instances, some.groups.tolist()) == (("f1", "f5", "f9"), [0, 0, 0])
    np.testing.assert_array_equal(some.ranks, rankings.ranks[[1, 4, 8]])
    of_even = rankings.among(np.arange(11) % 2 == 0)
    np.testing.assert_array_equal(of_even.ranks, rankings.ranks[::2])
    sums = rankings.group_sums(np.arange(11.0)[:, np.newaxis])
    assert sums[:, 0].tolist() == [2 * (0 + 3 + 7), 2 * (1 + 4 + 8), 2 * (2 + 5 + 9), 2 * (6 + 10)]
    both = rankings.merged(some)
    assert both.instances[-3:] == some.instances
    assert both.groups[-3:].tolist() == [4, 4, 4]
    assert rankings.padded(6).algorithms == ("w", "x", "y", "z", "algorithm 4", "algorithm 5")


def test_runs_are_ranked_by_instance_and_seed():
    runs = [
        run("sphere", "A", 1, [3.0, 1.0]),
        run("sphere", "B", 1, [2.0, 1.5]),
        run("sphere", "A", 2, [3.0]),
        run("sphere", "B", 2, [9.0], reason=Reason.TIMED_OUT, spent=15),
        run("cigar", "B", 1, [2.0, 0.5, 0.1], target=1.0),
        run("cigar", "A", 1, [2.0, 1.0], target=1.0),
    ]
    rankings = Rankings.of_runs(runs, [5, 10, 20, 30], groups=lambda run: run.key.instance)
    assert rankings.instances == ("sphere", "sphere", "cigar")
    assert rankings.algorithms == ("A", "B")
    assert rankings.groups.tolist() == [0, 0, 1]
    assert rankings.times.tolist() == [5, 10, 20, 30]
    assert rankings.ranks.tolist() == [
        [[0, 0], [1, 0], [0, 1], [0, 1]],
        [[0, 0], [0, 1], [0, -1], [0, -1]],
        [[0, 0]] * 4,
    ]
    with pytest.raises(ValueError, match="there are two runs of"):
        Rankings.of_runs([*runs, runs[0]], [10])
    with pytest.raises(ValueError, match="there are 0 algorithms"):
        Rankings.of_runs([], [10])


def test_fits_scores_and_checks_start_from_rankings_as_from_values():
    values = np.random.default_rng(1).gumbel(size=(20, 3, 4)).round(2)
    rankings = Rankings.of(values, times=[1, 10, 100], algorithms=list("ABCD"), precision=0.1)
    model, rng = inference.IndependentDirichlet(), np.random.default_rng

    posterior = inference.fit(rankings, model=model, draws=200, rng=rng(0))
    of_counts = inference.fit(choice_counts(values, precision=0.1), model=model, draws=200, rng=rng(0))
    assert posterior.names == ("A", "B", "C", "D")
    assert posterior.times.tolist() == [1, 10, 100]
    np.testing.assert_array_equal(posterior.draws, of_counts.draws)
    for statistic in (inference.overconfidence, lambda *args, **kwargs: inference.leave_one_out(*args, **kwargs).elpd):
        by_values = statistic(posterior, values, precision=0.1)
        assert statistic(posterior) == statistic(posterior, rankings) == by_values
    assert inference.check(posterior, rng=rng(2), replicates=100) == inference.check(
        posterior, values, precision=0.1, rng=rng(2), replicates=100
    )
    with pytest.raises(ValueError, match=r"precision is 0\.1, but these are rankings already"):
        inference.overconfidence(posterior, rankings, precision=0.1)
    weighted = inference.fit(Rankings.of(values, weights=np.full(20, 0.5)), model=model, draws=100, rng=rng(0))
    with pytest.raises(ValueError, match="the rankings have weights"):
        inference.leave_one_out(weighted)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [1, 2]}, r"times has shape \(2,\); there are 3 timepoints"),
        ({"times": [3, 2, 1]}, "times must be finite and strictly increasing"),
        ({"instances": ["f1"]}, "there are 1 names for 12 instances"),
        ({"algorithms": ["A"]}, r"there are 1 names \(A\) for 4 algorithms"),
        ({"algorithms": list("AABB")}, "two algorithms are named 'A'; give names that differ"),
    ],
)
def test_names_and_times_have_to_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        Rankings.of(some_values(4), **arguments)


def test_fields_have_to_fit_and_cannot_be_changed():
    rankings = Rankings.of(some_values(4))
    with pytest.raises(
        ValueError, match=r"ranks has shape \(12, 3\); it must be \(instances, timepoints, algorithms\)"
    ):
        Rankings(rankings.ranks[:, :, 0], rankings.weights, rankings.groups, rankings.times, rankings.instances, ())
    with pytest.raises(ValueError, match="algorithms are 12, 11, 12, 3 and 4"):
        Rankings(
            rankings.ranks,
            rankings.weights[1:],
            rankings.groups,
            rankings.times,
            rankings.instances,
            rankings.algorithms,
        )
    with pytest.raises(ValueError, match="read-only"):
        rankings.ranks[0, 0, 0] = 1
    assert InstanceRanks is Rankings

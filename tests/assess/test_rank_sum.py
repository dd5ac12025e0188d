import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from polarbear.assess.rank_sum import common_budgets, rank_sum, rank_sum_statistic, stars
from polarbear.assess.trials import group_trials
from tests.assess.coco_data import ARCHIVES, archived_trials, computed_by_cocopp, make_run


def trials(algorithm, runs):
    made = [make_run(f"bbob-f1-i{i}-d2", hits, end, algorithm=algorithm) for i, (hits, end) in enumerate(runs)]
    (group,) = group_trials(made)
    return group


def random_trials(algorithm, seed, runs):
    rng = np.random.default_rng(seed)
    listed = []
    for _ in range(runs):
        times = np.unique(rng.integers(1, 40, 4)).tolist()
        values = np.sort(rng.choice(np.arange(1, 30), len(times), replace=False))[::-1].astype(float).tolist()
        listed.append((dict(zip(times, values, strict=True)), int(rng.integers(40, 60))))
    return trials(algorithm, listed)


def footnote_28(first, second, target):
    """The test's scores spelled out: -1/runtime of trials still successful at the budget, exp(value) of all others."""
    hits = [one.runtimes([target])[:, 0] for one in (first, second)]
    ends = [one.evaluations[~np.isfinite(times)] for one, times in zip((first, second), hits, strict=True)]
    budget = np.concatenate(ends).min(initial=np.inf)
    scores = []
    for one, times in zip((first, second), hits, strict=True):
        values = one.best_at([budget])[:, 0]
        scores.append([-1 / t if t <= budget and t < np.inf else np.exp(v) for t, v in zip(times, values, strict=True)])
    return stats.ranksums(*scores)


@settings(deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 28), st.integers(1, 12), st.integers(1, 12))
def test_is_footnote_28(seed, target, runs, other_runs):
    first, second = random_trials("A", seed, runs), random_trials("B", seed + 1, other_runs)
    found = rank_sum(first, second, [float(target)])
    expected = footnote_28(first, second, float(target))
    assert found.z[0] == pytest.approx(-expected.statistic, abs=1e-12)
    assert found.p_ranks[0] == pytest.approx(expected.pvalue, abs=1e-12)
    swapped = rank_sum(second, first, [float(target)])
    assert swapped.z[0] == pytest.approx(-found.z[0], abs=1e-12)
    assert swapped.budgets == found.budgets


def test_data_are_truncated_to_the_shortest_failure():
    first = trials("A", [({1: 9.0, 80: 0.5}, 90), ({1: 9.0, 30: 5.0}, 90)])
    second = trials("B", [({1: 9.0, 45: 2.0}, 50), ({1: 9.0, 10: 0.5}, 20)])
    found = rank_sum(first, second, [1.0])
    assert found.budgets.tolist() == [50]
    values = [one.best_at([50])[:, 0].tolist() for one in (first, second)]
    assert values == [[9, 5], [2, 0.5]]
    assert found.z[0] < 0, "the success of the first at 80 evaluations comes after the budget"


def test_all_successful_ranks_by_runtime_alone():
    first = trials("A", [({3 + i: 1.0}, 100) for i in range(15)])
    second = trials("B", [({30 + i: 1.0}, 100) for i in range(15)])
    found = rank_sum(first, second, [1.0])
    assert found.budgets.tolist() == [np.inf]
    assert found.z[0] == pytest.approx(112.5 / np.sqrt(15 * 15 * 31 / 12))
    assert stars(found.p, tests=24).tolist() == [4], "as the complete separations in Table I"


def test_significance_needs_the_erts_to_agree():
    """Better ranks, since 14 of 15 trials are faster, but one failure that cost a million evaluations."""
    first = trials("A", [({3 + i: 1.0}, 100) for i in range(14)] + [({1: 5.0}, 10**6)])
    second = trials("B", [({30 + i: 1.0}, 100) for i in range(15)])
    found = rank_sum(first, second, [1.0])
    assert found.z[0] > 3
    assert found.p_ranks[0] < 0.001
    assert not found.confirmed[0]
    assert found.p[0] == 1.0


def test_statistic_takes_mean_ranks_for_ties():
    z = rank_sum_statistic([[5.0], [np.inf]], [[0.0], [3.0]], [[5.0], [np.inf]], [[0.0], [3.0]], [10.0])
    assert z[0] == 0.0


def test_common_budgets():
    found = common_budgets([[3.0, np.inf], [4.0, np.inf]], [10, 20], [[1.0, 2.0], [np.inf, 2.0]], [15, 16])
    assert found.tolist() == [16, 10]


def test_stars_are_powers_of_ten_after_bonferroni():
    assert stars([0.06, 0.049, 0.011, 0.0099, 1e-3, 9.9e-4, 0.0]).tolist() == [0, 1, 1, 2, 3, 3, 9]
    assert stars([0.0021, 0.002], tests=24).tolist() == [0, 1]
    with pytest.raises(ValueError, match="tests is 0"):
        stars([0.1], tests=0)


def test_refuses_different_problems():
    other = group_trials([make_run("bbob-f2-i1-d2", {1: 1.0}, 2)])[0]
    with pytest.raises(ValueError, match="function bbob 1 in 2-D and on bbob 2 in 2-D"):
        rank_sum(trials("A", [({1: 1.0}, 2)]), other, [1.0])


def test_agrees_with_cocopp_on_two_published_archives():
    compared = 0
    for (names, *problem), rows in computed_by_cocopp("ranksum").items():
        first, second = (archived_trials(ARCHIVES[name])[tuple(problem)] for name in names)
        found = rank_sum(first, second, [float(row["target"]) for row in rows])
        np.testing.assert_allclose(found.z, [float(row["statistic_z"]) for row in rows], atol=1e-6)
        np.testing.assert_allclose(found.p, [float(row["p"]) for row in rows], atol=1e-6)
        compared += len(rows)
    assert compared == 1080

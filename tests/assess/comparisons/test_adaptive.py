"""Adaptive configurations: the thesis' definitions, all pairs there are, published data, and truths that are known."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from polarbear.analyzer.assessment.page import adaptive_table
from polarbear.assess import (
    Policy,
    adaptive_configurations,
    best_policy,
    policy_ert,
    second_stage,
    select_adaptive,
    shared_durations,
)
from polarbear.assess.report import Assessment, adaptive, subject_of
from tests.analyzer.recorded import runs

INF = np.inf
DATA = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data" / "adaptive_cma"


def random_ahts(count=40):
    rng = np.random.default_rng(8)
    for _ in range(count):
        n, m = rng.integers(2, 6), rng.integers(2, 6)
        table = 10.0 + np.cumsum(rng.gamma(1.0, 50, (n, m)), axis=1)
        table[rng.random((n, m)).cumsum(axis=1) > 2.2] = INF
        if np.isfinite(table[:, -1]).any():
            yield table, [f"c{i}" for i in range(n)], 10.0 ** -np.arange(m)


def theoretical(table, first, second, at):
    """TH of section 5.2.1, with C2's criterion as it is meant."""
    return table[first, at] - table[second, at] + table[second, -1]


class TestSelection:
    def test_is_the_best_of_all_pairs_and_targets(self):
        checked = 0
        for table, names, targets in random_ahts():
            costs = {
                (a, b): min(theoretical(table, a, b, j) for j in range(len(targets) - 1) if np.isfinite(table[b, j]))
                for a, b in itertools.permutations(range(len(names)), 2)
                if np.isfinite(table[b, -1])
            }
            chosen = select_adaptive(table, names, targets, count=100, most=100)
            found = [policy_ert(each, table, names, targets) for each in chosen]
            assert found == sorted(found)
            assert found == pytest.approx(sorted(cost for cost in costs.values() if np.isfinite(cost)))
            checked += len(found)
        assert checked > 100

    def test_of_the_single_best_pair_is_that_of_the_dynamic_virtual_best_solver(self):
        for table, names, targets in random_ahts():
            (pair,) = select_adaptive(table, names, targets, count=1)
            best = best_policy(table, names, targets, 1)
            cost = policy_ert(best, table, names, targets)
            if best.targets:
                assert policy_ert(pair, table, names, targets) == pytest.approx(cost)
            else:  # nobody gains by a switch
                assert policy_ert(pair, table, names, targets) >= cost

    def test_takes_each_configuration_thrice_at_most_in_each_place(self):
        rng = np.random.default_rng(2)
        table = np.cumsum(rng.gamma(2.0, 50, (12, 6)), axis=1)
        chosen = select_adaptive(table, [str(i) for i in range(12)], 10.0 ** -np.arange(6), count=30)
        for place in (0, 1):
            used = [policy.algorithms[place] for policy in chosen]
            assert max(map(used.count, used)) == 3
        assert len(chosen) == 30

    def test_the_second_stage_fills_up_with_those_that_come_nearly_as_far(self):
        table = np.array([[5.0, 50, INF], [9, 90, 900], [1, 80, INF], [2, INF, INF]])
        again = second_stage(table, ["near", "far", "slower", "lost"], [1.0, 0.1, 0.01], count=3)
        assert again[:3] == ("far", "near", "slower")


@pytest.mark.skipif(not DATA.exists(), reason=f"the published data are not at {DATA}; set POLARBEAR_SHARED")
class TestPublishedData:
    def test_of_one_stage(self):
        from benchmarks.adaptive_published import one_stage

        found = one_stage(DATA)
        better = found.realised > 0
        assert len(found.functions) == 23
        assert np.median(found.predicted) == pytest.approx(0.133, abs=5e-4)
        assert (found.predicted.min(), found.predicted.max()) == pytest.approx((0.024, 0.869), abs=5e-4)
        assert better.sum() == 6
        assert (better & found.significant).sum() == 1
        assert ((found.realised < 0) & found.significant).sum() == 9

    def test_of_two_stages(self):
        from benchmarks.adaptive_published import two_stage

        found = two_stage(DATA)
        ratios = {function: np.median(each.achieved / each.predicted) for function, each in found.items()}
        orders = {function: spearmanr(each.predicted, each.achieved).statistic for function, each in found.items()}
        assert len(found) == 24
        assert np.median(list(ratios.values())) == pytest.approx(1.05, abs=0.005)
        assert [ratios[function] for function in (17, 18, 21)] == pytest.approx([4.47, 4.33, 2.11], abs=0.005)
        assert np.median(list(orders.values())) == pytest.approx(0.48, abs=0.005)
        assert [orders[function] for function in (10, 2, 12)] == pytest.approx([0.855, 0.949, -0.47], abs=0.005)

    def test_ratios_of_other_functions_allow_for_most_handovers(self):
        from benchmarks.adaptive_published import coverage, two_stage

        held = {function: share for function, (share, *_) in coverage(two_stage(DATA)).items()}
        assert np.mean(list(held.values())) > 0.8
        assert held[18] < 0.1

    def test_were_selected_by_the_same_limit(self):
        from benchmarks.adaptive_published import two_stage

        for each in two_stage(DATA).values():
            assert len(set(each.pairs)) == len(each.pairs) <= 50
            for used in zip(*each.pairs, strict=True):
                assert max(map(used.count, used)) == 3


def recorded(rng, count=20, repetitions=10, noise=0.6, failing=0.0):
    """Runs of alike configurations to four targets, their settings, and the true expected runtime of a policy."""
    settings = rng.integers(0, 2, (count, 4))
    parts = np.exp(np.log(200) + settings @ rng.normal(0, 0.05, (4, 4)) + rng.normal(0, 0.02, (count, 4)))
    success = 1 - failing * rng.random(count)
    spread = rng.normal(-(noise**2) / 2, noise, (count, repetitions, 4))
    hits = np.cumsum(parts[:, None] * np.exp(spread), axis=2)
    lost = np.cumsum(rng.random((count, repetitions, 4)) > success[:, None, None], axis=2) > 0
    hits[lost] = INF
    spent = np.where(np.isfinite(hits[..., -1]), hits[..., -1], 5000.0)

    def truth(policy, targets):
        (first, *second), at = map(int, policy.algorithms), len(targets)
        if second:
            at = 1 + targets.tolist().index(policy.targets[0])
        means = np.concatenate([parts[first, :at], *(parts[each, at : len(targets)] for each in second)])
        chance = success[first] ** at * np.prod([success[each] ** (len(targets) - at) for each in second])
        return means.sum() + (1 - chance) / chance * 5000

    tables = ({str(i): each[i] for i in range(count)} for each in (hits, spent))
    return *tables, np.concatenate([settings, 1 - settings], axis=1), truth


@pytest.mark.statistical(rate=0.001)
def test_what_the_best_of_many_promise_is_too_much_and_shrunk_it_is_not():
    rng, told = np.random.default_rng(6), []
    for _ in range(8):
        runtimes, spent, settings, truth = recorded(rng)
        found = adaptive_configurations(
            runtimes, spent, 10.0 ** -np.arange(4), count=1, settings=settings, draws=400, rng=rng
        )
        cost = truth(found.policies[0], found.targets)
        alone, safe = (truth(Policy((each,)), found.targets) for each in (found.static, found.safe))
        (low, high), gain = found.intervals()[0], 1 - cost / safe
        told.append((found.promised[0] - (1 - cost / alone), found.expected[0] - gain, low <= gain <= high))
    naive, shrunk, covered = np.mean(told, axis=0)
    assert naive > 0.05
    assert abs(shrunk) < naive / 2
    assert covered > 0.6


class TestSharedDurations:
    def test_are_the_posterior_of_normal_means(self):
        """Quadrature over the standard deviation, by the formulas of Gelman et al. (2013), section 5.4."""
        means, run = np.array([60.0, 90, 100, 110, 130, 150]), np.array([0.6, 0.8, 1.0, 1.2, 1.4])
        y, noise = np.log(means), run.var(ddof=1) / run.size
        deviation = np.linspace(1e-3, 3, 4000)[:, None]
        total = deviation**2 + noise
        center = y.mean()
        weights = np.exp(
            -(deviation[:, 0] ** 2) / 2 - 2.5 * np.log(total[:, 0]) - ((y - center) ** 2 / total / 2).sum(1)
        )
        weights /= weights.sum()
        expected = weights @ (center + (y - center) * deviation**2 / total)
        own = weights @ (deviation[:, 0] ** 2 * noise / total[:, 0] + (noise / total[:, 0]) ** 2 * total[:, 0] / 6)
        error = np.sqrt(own + weights @ ((center + (y - center) * deviation**2 / total) - expected) ** 2)
        starts = [np.zeros(5)] * 6
        found = np.log(
            shared_durations(starts, [each * run for each in means], draws=8000, rng=np.random.default_rng(3)).means
        )
        assert np.max(np.abs(found.mean(axis=0) - expected) / error) < 0.25
        np.testing.assert_allclose(found.std(axis=0), error, rtol=0.2)
        assert np.min(np.abs(y - expected)[[0, -1]] / error[[0, -1]]) > 0.3, "shrinks"

    def test_the_only_one_without_a_failure_may_still_fail(self):
        hits = np.random.default_rng(4).binomial(25, 0.8, 30)
        hits[0] = 25
        ends = [np.where(np.arange(25) < each, 100.0 + np.arange(25), INF) for each in hits]
        success = shared_durations([np.zeros(25)] * 30, ends, rng=np.random.default_rng(4)).success
        assert 0.8 < success[:, 0].mean() < 0.92
        assert np.all(success[:, 1:].mean(axis=0) < success[:, 0].mean())

    def test_count_from_where_runs_begin(self):
        begin, end = [np.array([10.0, 20, INF])] * 2, [np.array([110.0, 122, INF])] * 2
        found = shared_durations(begin, end, rng=np.random.default_rng(1))
        assert np.median(found.means) == pytest.approx(101, rel=0.01)
        assert np.median(found.success) > 0.8, "a run that never began has not failed"

    @pytest.mark.parametrize(
        ("ends", "message"),
        [([INF, INF], "no run of any configuration reaches"), ([5.0, INF], "no configuration has two runs")],
    )
    def test_of_nothing_are_refused(self, ends, message):
        with pytest.raises(ValueError, match=message):
            shared_durations([[0.0, 0.0]], [ends], rng=np.random.default_rng(1))

    def test_settings_of_other_configurations_are_refused(self):
        with pytest.raises(ValueError, match=r"settings have shape \(2, 1\); give 3 rows, one per configuration"):
            shared_durations([[0.0]] * 3, [[1.0]] * 3, settings=np.ones((2, 1)), rng=np.random.default_rng(1))

    def test_on_the_same_instances_only_what_differs_within_them_is_chance(self):
        ends = [np.array([100.0, 102, 900, 904]) * each for each in (1, 1.1, 1.3)]
        labels, starts = [["a", "a", "b", "b"]] * 3, [np.zeros(4)] * 3
        alike, within = (
            np.log(shared_durations(starts, ends, instances=each, rng=np.random.default_rng(1)).means).std(axis=0)
            for each in (None, labels)
        )
        assert np.all(10 * within < alike)


class TestAdaptiveConfigurations:
    def test_end_where_all_runs_of_one_still_arrive_and_leave_baselines_alone(self):
        table = {"A": [[1.0, 100, INF], [2, 110, 300]], "B": [[50.0, 60, 80], [51, 63, INF]]}
        table["restarts"] = [[1.0, 40, 60], [1, 45, 62]]
        spent = {name: np.array([400.0, 400]) for name in table}
        found = adaptive_configurations(
            table, spent, [1, 0.1, 0.01], baselines=["restarts"], rng=np.random.default_rng(2)
        )
        assert found.targets.tolist() == [1, 0.1]
        assert [str(each) for each in found.policies] == ["A → B at 1", "B → A at 1"]
        np.testing.assert_allclose(found.predicted, [1.5 + 61.5 - 50.5, 50.5 + 105 - 1.5])
        assert found.static == found.safe == "restarts"
        assert found.promised[0] == pytest.approx(1 - 12.5 / 42.5)
        assert found.rows()[0]["first"] == "A"

    def test_need_two_targets(self):
        runtimes = {"A": [[1.0, INF]] * 2, "B": [[2.0, INF]] * 2}
        assert adaptive_configurations(runtimes, {}, [1, 0.1], rng=np.random.default_rng(1)) is None

    def test_targets_that_are_not_those_of_the_runtimes_are_refused(self):
        with pytest.raises(ValueError, match=r"runtimes of A have shape \(1, 2\); they must be \(runs, 3\)"):
            adaptive_configurations({"A": [[1.0, 2.0]]}, {}, [1, 2, 3], rng=np.random.default_rng(1))

    def test_after_handovers_that_take_half_as_long_again(self):
        tables = {name: np.array([[10.0, 100 * i], [11, 102 * i]]) for i, name in enumerate("AB", 1)}
        spent = {name: each[:, 1] for name, each in tables.items()}
        found = adaptive_configurations(tables, spent, [1, 0.1], draws=100, rng=np.random.default_rng(3))
        later = found.after_handovers([1.5], rng=np.random.default_rng(3))
        np.testing.assert_allclose(1 - later.gains, 1.5 * (1 - found.gains))
        with pytest.raises(ValueError, match="ratios are array"):
            found.after_handovers([0.0], rng=np.random.default_rng(3))

    def test_of_recorded_runs_are_told_problem_by_problem(self):
        told = [run for run in runs() if run.key.instance.endswith("-d2")]
        found = adaptive(Assessment(subject_of(told)), count=2)
        assert [cell.function for cell in found] == ["1", "2"]
        assert all(best.static == "fast" and best.expected[0] < 0.05 for best in found.values())
        table = adaptive_table(found)
        assert len(table.rows) == sum(len(best.policies) for best in found.values())
        assert table.rows[0][2] == "fast"

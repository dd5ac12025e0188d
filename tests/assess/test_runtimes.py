import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from polarbear.assess.runtimes import (
    average_effort,
    effort,
    ert,
    first_hits,
    instance_weights,
    par,
    runtimes,
    success_rate,
    treat_misses,
)
from tests.assess.coco_data import (
    ARCHIVES,
    archived_trials,
    computed_by_cocopp,
    hits_of,
    make_run,
    published_runs,
    shared,
)

MISSED = np.inf
runtime_tables = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.one_of(st.integers(1, 10**6).map(float), st.just(MISSED)),
)


class TestFirstHits:
    @given(arrays(np.int64, st.integers(0, 30), elements=st.integers(-5, 5)), st.lists(st.integers(-6, 6), max_size=5))
    def test_is_the_first_time_at_or_below_the_target(self, values, targets):
        times = np.cumsum(np.ones(values.size)) * 3
        expected = [next((t for t, v in zip(times, values, strict=True) if v <= target), MISSED) for target in targets]
        assert first_hits(times, values, targets).tolist() == expected

    def test_keeps_the_shape_of_targets_and_real_times(self):
        hits = first_hits([0.5, 0.75], [2.0, 1.0], [[2.0, 1.5], [1.0, 0.0]])
        assert hits.tolist() == [[0.5, 0.75], [0.75, MISSED]]

    def test_refuses_unequal_lengths_and_nan(self):
        with pytest.raises(ValueError, match=r"shape \(2,\) and values \(1,\)"):
            first_hits([1, 2], [1.0], [0.0])
        with pytest.raises(ValueError, match=r"NaN in targets at entry \(1,\)"):
            first_hits([1], [1.0], [0.0, np.nan])


class TestRuntimes:
    def test_precisions_are_counted_above_each_runs_optimum(self):
        runs = [
            make_run("bbob-f1-i1-d2", {2: 10.5, 7: 10.0}, 9, optimum=10.0),
            make_run("bbob-f1-i2-d2", {1: -1.0, 4: -2.0}, 9, optimum=-3.0),
        ]
        assert runtimes(runs, [2.0, 1.0, 0.5, 0.0]).tolist() == [[2, 2, 2, 7], [1, 4, MISSED, MISSED]]
        assert runtimes(runs, [10.2, -1.5], absolute=True).tolist() == [[7, MISSED], [1, 4]]

    def test_each_run_may_have_its_own_targets(self):
        runs = [make_run("f-d2", {2: 5.0, 7: 1.0}, 9), make_run("f-d2", {3: 5.0}, 9)]
        assert runtimes(runs, [[5.0, 1.0], [6.0, 5.0]]).tolist() == [[2, 7], [3, 3]]

    def test_seconds_are_another_axis(self):
        assert runtimes([make_run("f-d2", {2: 5.0}, 9)], [5.0], axis="seconds").tolist() == [[0.2]]

    def test_needs_an_optimum_for_precisions_and_fitting_targets(self):
        run = make_run("f-d2", {2: 5.0}, 9, optimum=None)
        with pytest.raises(ValueError, match=r"A on f-d2 \(seed 0\): its optimum is not known.*absolute=True"):
            runtimes([run], [1.0])
        with pytest.raises(ValueError, match=r"targets have shape \(2, 1\)"):
            runtimes([run], [[1.0], [2.0]], absolute=True)

    def test_matches_published_hitting_times_exactly(self):
        for function, dimension in [(1, 2), (3, 5), (12, 20), (24, 40)]:
            frame = hits_of("CMA-ES-CSA")[function, dimension]
            targets = frame["target_precision"].unique().sort(descending=True).to_numpy()
            published = frame["evals_to_target"].cast(pl.Float64).to_numpy().reshape(-1, targets.size)
            found = runtimes(published_runs("CMA-ES-CSA", function, dimension), targets)
            missed = np.isnan(published)
            np.testing.assert_array_equal(found[~missed], published[~missed])


class TestErt:
    def test_without_failures_it_is_the_mean(self):
        times = np.array([[3.0, 8.0], [5.0, 10.0]])
        assert ert(times, [100, 100]).tolist() == [4.0, 9.0]

    @given(runtime_tables)
    def test_both_forms_of_the_paper_agree(self, times):
        spent = np.where(np.isfinite(times), times, 0).max(axis=1) + 7
        found = ert(times, spent)
        for column, value in zip(times.T, found, strict=True):
            hit = np.isfinite(column)
            if not hit.any():
                assert value == MISSED
                continue
            chance = hit.mean()
            failure = spent[~hit].mean() if not hit.all() else 0.0
            assert value == pytest.approx(column[hit].mean() + (1 - chance) / chance * failure, rel=1e-12)

    @given(runtime_tables, st.floats(0.01, 100), st.randoms(use_true_random=False))
    def test_scales_with_cost_and_ignores_order(self, times, factor, random):
        spent = np.where(np.isfinite(times), times, 0).max(axis=1) + 7
        order = random.sample(range(len(times)), len(times))
        scaled = ert(times[order] * factor, spent[order] * factor)
        np.testing.assert_allclose(scaled, ert(times, spent) * factor, rtol=1e-12)

    @given(runtime_tables)
    def test_is_average_effort_per_success_rate(self, times):
        spent = np.where(np.isfinite(times), times, 0).max(axis=1) + 7
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(average_effort(times, spent) / success_rate(times), ert(times, spent))
        assert np.isfinite(effort(times, spent)).all()

    def test_matches_the_recomputed_cells_of_table_1(self):
        cells = json.loads(shared("coco_runs/bipop_bfgs_table1.json").read_text())["BIPOP_recomputed"]
        compared = 0
        for function, by_target in cells.items():
            runs = published_runs("BIPOP-CMA-ES", int(function), 5)
            spent = [run.outcome.evaluations for run in runs]
            for target, cell in by_target.items():
                times = runtimes(runs, [float(target)])
                assert ert(times, spent)[0] == pytest.approx(cell["ert"], rel=1e-12)
                assert np.isfinite(times).sum() == cell["n_success"]
                compared += 1
        assert compared == 21

    def test_ert_and_successes_of_four_archives_are_those_of_cocopp(self):
        compared = 0
        for (name, *problem), rows in computed_by_cocopp("ert").items():
            trials = archived_trials(ARCHIVES[name])[tuple(problem)]
            times = trials.runtimes([float(row["target"]) for row in rows])
            found = ert(times, trials.evaluations, weights=trials.weights)
            np.testing.assert_allclose(found, [float(row["ert"]) for row in rows], rtol=1e-9)
            assert np.isfinite(times).sum(axis=0).tolist() == [int(row["n_success"]) for row in rows]
            assert {len(trials.runs)} == {int(row["n_runs"]) for row in rows}
            compared += len(rows)
        assert compared == 4536

    def test_refuses_what_cannot_be_a_table_of_runtimes(self):
        with pytest.raises(ValueError, match="at least one run"):
            ert(np.empty((0, 3)), [])
        with pytest.raises(ValueError, match=r"NaN in runtimes at entry \(0, 1\)"):
            ert([[1.0, np.nan]], [3])
        with pytest.raises(ValueError, match="one number per run, 2 in all"):
            ert([[1.0], [2.0]], [3])
        with pytest.raises(ValueError, match="one finite positive number per run, 2 in all"):
            ert([[1.0], [2.0]], [3, 3], weights=[1, 0])


class TestInstanceWeights:
    @pytest.mark.parametrize("layout", [[1, 2, 3, 4, 5] * 3, list(range(15))])
    def test_both_layouts_of_15_runs_weigh_all_alike(self, layout):
        assert instance_weights(layout).tolist() == [1.0] * 15

    def test_is_the_same_as_repeating_runs_until_instances_occur_equally_often(self):
        instances = ["1", "1", "1", "2", "3", "3"]
        times = np.array([[4.0], [9.0], [MISSED], [7.0], [MISSED], [30.0]])
        spent = np.array([50, 60, 70, 80, 90, 100])
        rows = [0, 0, 1, 1, 2, 2, *[3] * 6, *[4] * 3, *[5] * 3]
        weights = instance_weights(instances)
        assert ert(times, spent, weights=weights)[0] == pytest.approx(ert(times[rows], spent[rows])[0], rel=1e-12)
        assert success_rate(times, weights=weights)[0] == pytest.approx(success_rate(times[rows])[0], rel=1e-12)

    @given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=20))
    def test_every_instance_has_the_same_say(self, instances):
        weights = instance_weights(instances)
        shares = {each: sum(w for w, i in zip(weights, instances, strict=True) if i == each) for each in instances}
        assert max(shares.values()) == pytest.approx(min(shares.values()))
        assert weights.mean() == pytest.approx(1.0)

    def test_no_runs_no_weights(self):
        assert instance_weights([]).size == 0


class TestPar:
    def test_missed_targets_count_the_penalty_times_the_budget(self):
        assert par([[10.0], [MISSED]], 100, 10).tolist() == [505.0]
        assert par([[10.0], [MISSED]], [100, 50], 2).tolist() == [55.0]

    @given(runtime_tables)
    def test_par_1_is_the_average_effort_under_one_budget(self, times):
        np.testing.assert_allclose(par(times, 1e6, 1), average_effort(times, np.full(len(times), 1e6)))

    def test_refuses_a_penalty_below_1(self):
        with pytest.raises(ValueError, match=r"penalty is 0\.5"):
            par([[1.0]], 10, 0.5)


class TestMisses:
    TIMES, SPENT = (10.0, MISSED, 30.0, MISSED), (100, 50, 60, 80)

    @pytest.mark.parametrize(
        ("misses", "expected"),
        [
            ("last", [10, MISSED, 30, MISSED]),
            ("par-1", [10, 50, 30, 80]),
            ("par-10", [10, 500, 30, 800]),
            ("ert", [10, 85, 30, 85]),  # (10 + 50 + 30 + 80) / 2
            ("remove", [10, 30]),
        ],
    )
    def test_become_what_is_asked_for(self, misses, expected):
        assert treat_misses(self.TIMES, self.SPENT, misses).tolist() == expected

    def test_of_all_runs(self):
        nothing = (MISSED, MISSED)
        assert treat_misses(nothing, (40, 60), "ert").tolist() == [100, 100]
        assert treat_misses(nothing, (40, 60), "remove").size == 0

    def test_par_is_their_mean(self):
        assert treat_misses(self.TIMES, self.SPENT, "par-10").mean() == par(np.array([self.TIMES]).T, self.SPENT)[0]

    def test_other_words_are_refused(self):
        with pytest.raises(ValueError, match="misses is 'par-2'; it must be one of last, par-1, par-10, ert, remove"):
            treat_misses(self.TIMES, self.SPENT, "par-2")

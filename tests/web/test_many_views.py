"""Views of many functions, of distributions and of attainment functions have the numbers the runs were made with."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import gmean, kendalltau

from polarbear import store
from polarbear.records import Parameters, Reference
from polarbear.web import Sources, View, coco
from tests.analyzer.recorded import runs

FAST, SLOW = (6.5, 12.5), (42.5, 102.5)
"""Mean runtimes to a precision of 1, in 2-D and 5-D."""


def data(sources, kind, **params):
    return View(kind, "runs", params).data(sources)


def column(table, name):
    at = table.columns.index(name)
    return [row[at] for row in table.rows]


class TestManyFunctions:
    def test_statistics_at_a_target(self, sources):
        table = data(sources, "runtimes-on-all", dimension="2", target="1")
        assert column(table, "function") == ["1", "1", "2", "2"]
        assert column(table, "ert") == [FAST[0], SLOW[0]] * 2
        hits = data(sources, "hits-on-all", dimension="5", target="1")
        assert np.mean([row[-1] for row in hits.rows if row[3] == "slow"]) == SLOW[1]

    def test_expected_runtimes_to_a_target(self, sources):
        rows = data(sources, "expected-runtimes", dimension="2", target="1").rows
        assert rows == (("fast", FAST[0] / 2, FAST[0] / 2), ("slow", SLOW[0] / 2, SLOW[0] / 2))

    def test_average_runtimes_under_a_budget_of_ones_own(self, sources):
        """The fast runs reach a precision of 1 after 10 to 15 evaluations in 5-D."""
        where = {"problem": "bbob f1 in 5-D", "budget": "12"}
        for statistic, expected in (
            ("ERT", (10 + 11 + 12 + 3 * 12) / 3),
            ("SP1", 2 * 11),
            ("PAR-c", (10 + 11 + 12 + 3 * 10 * 12) / 6),
        ):
            rows = data(sources, "average-runtime", statistic=statistic, **where).rows
            assert [row[2] for row in rows if row[:2] == ("fast", 1.0)] == [pytest.approx(expected)]
        with pytest.raises(ValueError, match="budget is '0'; give a number of evaluations, at least 1"):
            data(sources, "average-runtime", budget="0")

    def test_tables_are_computed_once_for_all_references(self, sources, monkeypatch):
        undivided = data(sources, "table", dimension="2")
        monkeypatch.setattr(coco, "runtime_tables", None)
        assert data(sources, "table", dimension="2").rows == undivided.rows
        ones = np.ones(1, dtype=int)
        best = Reference(np.array([1.0]), np.array([2.0]), ("best",), ones, ones)
        runs = sources.get("runs", "Assessment")
        rows = coco.table(runs, dimension="2", reference={("1", 2): best, ("1", 5): best}).data.frame().rows(named=True)
        assert [row["reference"] for row in rows if row["target"] == 1] == [2.0, 2.0, None, None]
        shown = {(row["function"], row["algorithm"]): row["shown"] for row in rows if row["target"] == 1}
        fast, slow = FAST[0], SLOW[0]
        assert shown == {("1", "fast"): fast / 2, ("1", "slow"): slow / 2, ("2", "fast"): fast, ("2", "slow"): slow}

    def test_so_many_targets_as_are_asked_for(self, sources):
        assert len(data(sources, "targets", targets="log", count="3").rows) == 3 * 4

    def test_one_function_over_dimensions(self, sources):
        rows = data(sources, "runtimes-over-dimensions", function="bbob f2", target="1").rows
        assert rows == (("fast", FAST[0] / 2, FAST[1] / 5), ("slow", SLOW[0] / 2, SLOW[1] / 5))
        with pytest.raises(ValueError, match="target is '1 2'; give one number"):
            data(sources, "runtimes-over-dimensions", target="1 2")

    @pytest.mark.parametrize("chart", ["lines", "ranks"])
    def test_final_values_over_functions(self, sources, chart):
        rows = data(sources, "values-over-functions", dimension="2", chart=chart).rows
        assert {row[0]: row[1:] for row in rows}["slow"] == pytest.approx((1e-3, 1e-3))

    @pytest.mark.parametrize(
        ("grid", "single"), [("runtime-grid", "expected-runtime"), ("value-grid", "average-value")]
    )
    def test_side_by_side_are_the_single_views(self, sources, grid, single):
        rows = [row[1:] for row in data(sources, grid, dimension="5").rows if row[0] == "f2"]
        assert tuple(rows) == data(sources, single, problem="bbob f2 in 5-D").rows
        assert len(View(grid, "runs").figure(sources).panels) == 2

    def test_algorithms_on_each_problem(self, sources):
        table = data(sources, "by-algorithm", dimension="2")
        assert column(table, "successes") == [6, 0, 6, 0]
        assert column(table, "longest run") == [200] * 4
        assert len(data(sources, "by-algorithm").rows) == 8


class TestDistributions:
    def test_of_runtimes_to_one_target(self, sources):
        shown = View("target-ecdf", "runs", {"problem": "bbob f1 in 5-D", "target": "1"}).show(sources)
        steps = [row[1:] for row in shown.data.rows if row[0] == "fast"]
        assert steps == [(pytest.approx((10 + k) / 5), pytest.approx((k + 1) / 6)) for k in range(6)]

    def test_of_values_at_one_of_several_budgets(self, sources):
        where = {"problem": "bbob f1 in 5-D"}
        several = data(sources, "values-ecdf", budgets="20", **where).rows
        assert several == data(sources, "value-ecdf", budget="20", **where).rows
        both = data(sources, "values-ecdf", budgets="20 500", **where).rows
        caption = View("values-ecdf", "runs", {**where, "budgets": "20 500"}).show(sources).figure.caption
        assert caption.startswith("The share of pairs of a run and a budget whose best value after 2 budgets")
        assert max(row[2] for row in both if row[0] == "slow") == 1

    def test_are_made_of_runs_and_targets(self, sources):
        rows = data(sources, "construction", problem="bbob f1 in 5-D", targets="12").rows
        assert {(run, runtime) for run, target, runtime in rows if target == pytest.approx(1.0)} == {
            (k + 1, 10.0 + k) for k in range(6)
        }

    def test_areas_are_those_of_the_distributions(self, sources):
        rows = data(sources, "areas-below", dimension="2").rows
        assert rows[-1][0] == "mean"
        assert rows[-1][1:] == pytest.approx(np.mean([row[1:] for row in rows[:-1]], axis=0))
        assert all(fast > slow for _, fast, slow in rows)

    def test_ratios_and_profiles(self, sources):
        ratio = SLOW[0] / FAST[0]
        rows = data(sources, "runtime-ratios", dimension="2").rows
        assert {row[:2]: row[2] for row in rows}["slow", "fast"] == pytest.approx(ratio)
        steps = [share for *_, share in data(sources, "performance-profile", dimension="2").rows]
        assert steps == [1, 1, 0, 1], "slow takes this many times as long on every function"
        assert data(sources, "performance-profile", dimension="2").rows[-1][1] == pytest.approx(ratio)
        rows = data(sources, "performance-profile", dimension="2", profile="data").rows
        assert [row[2] for row in rows] == [1, 1, 0, 1]
        assert [row[1] for row in rows] == pytest.approx([FAST[0] / 3, SLOW[0] / 3] * 2)


class TestAttainment:
    def test_lines_and_grid_are_those_asked_for(self, sources):
        """Six fast runs reach a precision of 1 in 5-D at 10 to 15 evaluations, so that a third of them do within 11."""
        where = {"problem": "bbob f1 in 5-D", "algorithm": "fast"}
        shown = View("attainment", "runs", {**where, "lines": "0.1 0.9", "points": "20"}).show(sources)
        assert len(set(column(shown.data, "value"))) == 20
        assert "attained by 10% and 90% of the runs" in shown.figure.caption
        assert shown.figure.panels[0].x.scale == "log"
        shown = View("difference", "runs", {**where, "level": "0.3"}).show(sources)
        solid, _ = (mark for mark in shown.figure.panels[0].marks if mark.name == "level")
        reached = np.asarray(solid.x)[np.asarray(solid.y) <= 1.0].min()
        before = max(at for at in solid.x if at < reached)
        assert before < 11 <= reached
        with pytest.raises(ValueError, match="lines contains 25; shares of the runs must be above 0 and at most 1"):
            data(sources, "pooled-attainment", algorithm="fast", lines="25 50 75")

    def test_differences_of_pooled_surfaces(self, sources):
        where = {"dimension": "2"}
        fast, slow = (
            np.array([row[2] for row in data(sources, "pooled-attainment", algorithm=name, **where).rows])
            for name in ("fast", "slow")
        )
        found = [row[2] for row in data(sources, "pooled-difference", **where).rows]
        np.testing.assert_allclose(found, fast - slow, atol=1e-12)
        assert fast.max() == 1

    def test_a_portfolio_of_one_is_a_pair(self, sources):
        pair = data(sources, "difference", problem="bbob f1 in 5-D")
        assert data(sources, "portfolio-difference", problem="bbob f1 in 5-D").rows == pair.rows

    def test_what_all_attain_changes_nothing_of_second_order(self, sources):
        where = {"problem": "bbob f1 in 5-D", "algorithm": "slow"}
        plain = data(sources, "attainment", **where).rows
        assert data(sources, "second-order", budget="500", value="1000", **where).rows == plain
        nobody = data(sources, "second-order", budget="2", value="1e-8", **where).rows
        assert not any(row[2] for row in nobody)
        with pytest.raises(ValueError, match="no run attains"):
            data(
                sources, "second-order", budget="2", value="1e-8", condition="runs that attain the given point", **where
            )

    def test_level_curves_lie_in_their_bands(self, sources):
        table = data(sources, "levels", problem="bbob f1 in 5-D", level="0.5")
        for _, _, value, lower, upper in table.rows:
            assert lower <= value <= upper
        best = data(sources, "levels", problem="bbob f1 in 5-D", level="0").rows
        assert [row[2] for row in best] <= [row[2] for row in table.rows]

    def test_ranks_change_as_their_distance_says(self, sources):
        rows = data(sources, "rank-changes").rows
        assert rows == (("fast", *[1.0] * 5), ("slow", *[2.0] * 5))


class TestTests:
    def test_two_algorithms_are_told_apart_by_wilcoxon(self, sources):
        shown = View("omnibus", "runs", {"test": "wilcoxon"}).show(sources)
        assert "wilcoxon, statistic 0, p = 0.0455" in shown.text, "four equal differences: z = 5 / √(7.5 - 1.25) = 2"
        shown = View("post-hoc", "runs").show(sources)
        assert shown.data.rows[0][0] == "slow"
        assert "fast differs significantly from" in shown.text

    def test_other_ranks_than_friedmans(self, sources):
        """The fast one is first on all four functions: by aligned ranks 2.5 to 6.5, with a deviation of 2."""
        assert (
            "aligned ranks, statistic 4, p = 0.0455"
            in View("omnibus", "runs", {"test": "aligned ranks"}).show(sources).text
        )
        assert "quade, statistic inf, p = 0.125" in View("omnibus", "runs", {"test": "quade"}).show(sources).text, "2⁻³"
        assert column(data(sources, "post-hoc", test="aligned ranks"), "statistic") == [2]

    def test_missed_targets_and_draws_of_the_deep_comparison(self, sources):
        """No slow run reaches 1e-4, so that medians are infinite."""
        how = {"compared": "runtimes to a target", "at": "0.0001", "epsilon": "1e3"}
        with pytest.raises(ValueError, match="a median is infinite"):
            data(sources, "deep", **how)
        assert column(data(sources, "deep", **how, draws="20"), "slow") == [2, 2, 2, 2]
        how |= {"misses": "par-10", "draws": "20"}
        assert "misses: par-10" in View("deep", "runs", how).show(sources).text
        assert column(data(sources, "deep", **how), "slow") == [2, 2, 2, 2], "1,000 d: more than ε later in 2-D and 5-D"
        assert column(data(sources, "deep", **how | {"epsilon": "1e4"}), "slow") == [1.5] * 4
        with pytest.raises(ValueError, match=r"no run of slow reached 0\.0001"):
            data(sources, "omnibus", **how | {"misses": "remove"})
        with pytest.raises(ValueError, match="draws is 20 but epsilon is 0"):
            data(sources, "post-hoc", draws="20")

    def test_portfolios_of_limited_size(self, sources):
        alone = data(sources, "portfolio", largest="1")
        assert column(alone, "shapley") == pytest.approx(column(alone, "alone"))


def is_first(run):
    """Whether it is one of `fast` on the first function in five dimensions."""
    return (run.key.algorithm, run.problem.function, run.problem.dimension) == ("fast", "1", 5)


def test_parameters_of_runs(tmp_path):
    with store.create(tmp_path / "logged.study", {"kind": "test"}) as kept:
        for number, made in enumerate(runs()):
            at = made.trajectory.evaluations
            step = np.random.default_rng(number).random(at.size)
            points = np.full(made.problem.dimension, number / 10)
            logged = Parameters(at, {"step": step, "other": step**3, "temperature": -step})
            kept.append(replace(made, parameters=logged, solution=points))
    open_ = Sources([tmp_path / "logged.study"])
    found = View("parameter-correlation", "logged", {"problem": "bbob f1 in 5-D"}).data(open_)
    known = [row[1] for row in found.rows if row[1] is not None]
    assert known == pytest.approx([1] * len(known)), "one rises with the other"
    at = {"read_at": "targets", "at": "1", "problem": "bbob f1 in 5-D"}
    statistics = View("parameters", "logged", at).data(open_)
    of_runs = View("parameters-of-runs", "logged", at).data(open_)
    mean = np.mean([row[-1] for row in of_runs.rows if row[0] == "fast"])
    assert statistics.rows[0][statistics.columns.index("mean")] == pytest.approx(mean)
    for statistic, average in (("mean", np.mean), ("median", np.median), ("geometric mean", gmean)):
        given = {"problem": at["problem"], "statistic": statistic, "around": "quartiles"}
        shown = View("average-parameter", "logged", given | {"read_at": "targets"}).show(open_)
        row = next(row for row in shown.data.rows if row[0] == "fast" and row[1] == pytest.approx(1))
        assert row[2:] == (pytest.approx(average([row[-1] for row in of_runs.rows if row[0] == "fast"])), 6)
        shown = View("average-parameter", "logged", given).show(open_)
        own = [np.random.default_rng(number).random(9)[0] for number, made in enumerate(runs()) if is_first(made)]
        assert shown.data.rows[0] == ("fast", 1.0, pytest.approx(average(own)), 6)
        assert shown.data.rows[-1][-1] == 6, "runs of 500 evaluations"
        assert [mark.name for mark in shown.figure.panels[0].marks if "band" in mark.name] == ["band-0", "band-1"]
    with pytest.raises(
        ValueError, match=r"temperature has no geometric mean on bbob f1 in 5-D at any of these budgets"
    ):
        View("average-parameter", "logged", given | {"logged": "temperature"}).show(open_)
    for wrong, said in ({"second": "speed"}, "no 'speed'"), ({"window": "2"}, "must be odd"):
        with pytest.raises(ValueError, match=said):
            View("parameter-correlation", "logged", wrong).data(open_)
    positions = View("final-positions", "logged", {"problem": "bbob f1 in 5-D"}).data(open_)
    assert positions.columns[2:] == ("x1", "x2", "x3", "x4", "x5")
    assert len(positions.rows) == 12
    assert kendalltau([row[2] for row in positions.rows if row[0] == "fast"], range(6)).statistic == pytest.approx(1)


def test_other_data_stand_in_the_background(sources, tmp_path, monkeypatch):
    view = View("runtime-distributions", "runs", {"background": "runs"})
    assert "Thin and grey: 2 further algorithms" in view.figure(sources).caption
    monkeypatch.chdir(tmp_path)
    made = {}
    exec(view.code(sources), made)
    assert made["shown"].data == view.data(sources)
    with pytest.raises(ValueError, match="holds no COCO reference algorithm"):
        View("runtime-distributions", "runs", {"reference": "runs"}).show(sources)


def test_several_data_sets_stand_in_the_background(folder, tmp_path, monkeypatch):
    lacking, third = tmp_path / "lacking.study", tmp_path / "third.study"
    for path, kept in ((lacking, lambda run: run.problem.function == "1"), (third, lambda run: "slow" in str(run.key))):
        with store.create(path, {}) as study:
            for run in filter(kept, runs()):
                study.append(run)
    sources = Sources([folder / "runs.study", third, lacking])

    def grey(background):
        figure = View("runtime-distributions", "runs", {"background": background}).figure(sources)
        return [mark.y.tolist() for mark in figure.panels[0].marks if mark.name.startswith("background")], figure

    (one, _), (other, _) = grey("runs"), grey('["third"]')
    both, figure = grey('["runs", "third"]')
    assert both == one + other
    assert len(both) == 3
    assert "Thin and grey: 3 further algorithms" in figure.caption
    partly, figure = grey('["runs", "lacking"]')
    assert partly == one
    assert figure.caption.endswith("Of 2 data sets for the background 1 lacks some of these functions.")
    monkeypatch.chdir(tmp_path)
    made, view = {}, View("runtime-distributions", "runs", {"background": '["runs", "third"]'})
    exec(view.code(sources), made)
    assert made["shown"].figure.svg() == view.figure(sources).svg()


@pytest.mark.parametrize(
    ("background", "complaint"),
    [
        ("[3]", r"grey background \(several\) is \[3\]; give names"),
        ('["runs"', r"is '\[\"runs\"'; give names, such as \[\"A\", \"B\"\]"),
        ('["runs", "rnus"]', "no study 'rnus' is open; did you mean 'runs'"),
    ],
)
def test_backgrounds_that_are_none_are_said(background, complaint, sources):
    with pytest.raises(ValueError, match=complaint):
        View("runtime-distributions", "runs", {"background": background}).show(sources)

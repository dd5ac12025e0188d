"""Recorded runs, assessed: numbers that follow from how the runs were made."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from polarbear.analyzer import Data, Table
from polarbear.analyzer.assessment import charts, write_assessment
from polarbear.analyzer.assessment.page import cautions, headline
from polarbear.analyzer.assessment.pictures import plates
from polarbear.analyzer.assessment.verdict import answer_of, verdict
from polarbear.assess import ert, pool, runtime_distribution
from polarbear.assess.report import Assessment, compare, runtime_tables, subject_of, table_rows
from polarbear.records import Outcome, Parameters, Reason, Reference, Run, RunKey, Trajectory
from tests.analyzer.recorded import run, runs


def test_runs_are_grouped_and_chosen():
    subject = subject_of(runs())
    assert subject.algorithms == ("fast", "slow")
    assert subject.dimensions == (2, 5)
    assert subject.functions == ("1", "2")
    assert len(subject.cells) == 4
    assert len(subject.runs) == 48
    chosen = subject_of(runs(), algorithms=["slow"], functions=["2"], dimensions=[5])
    assert {one.key.algorithm for one in chosen.runs} == {"slow"}
    assert [cell.name for cell in chosen.cells] == ["bbob f2 in 5-D"]


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ({"algorithms": ["medium"]}, "no runs of algorithm 'medium'; choose from fast, slow"),
        ({"functions": ["3"]}, "no runs of function '3'; choose from 1, 2"),
        ({"dimensions": [3]}, "no runs of dimension 3; choose from 2, 5"),
    ],
)
def test_what_is_not_there_is_said(wanted, complaint):
    with pytest.raises(ValueError, match=complaint):
        subject_of(runs(), **wanted)


def test_nothing_to_assess_is_said():
    with pytest.raises(ValueError, match="no runs to assess"):
        subject_of([])


def test_expected_runtimes_are_those_the_runs_were_made_with():
    found = Assessment(subject_of(runs(), targets=[10, 1, 1e-3, 1e-4, 1e-8]))
    rows = [dict(zip(found.runtime_data.columns, row, strict=True)) for row in found.runtime_data.rows]
    ert = {(row["algorithm"], row["function"], row["dimension"], row["target"]): row["ert"] for row in rows}
    assert ert["fast", "1", 5, 1.0] == 2 * 5 + 2.5
    assert ert["fast", "2", 2, 1e-8] == 10 * 2 + 2.5
    assert ert["slow", "1", 5, 1e-3] == 5 * 50 + 2.5
    assert ert["slow", "1", 5, 1e-4] == "inf"
    assert next(row for row in rows if row["algorithm"] == "slow" and row["target"] == 1e-4)["successes"] == 0


def test_standings_put_the_better_one_first():
    standings = Assessment(subject_of(runs())).standings
    assert [(one.dimension, one.algorithm) for one in standings] == [(2, "fast"), (2, "slow"), (5, "fast"), (5, "slow")]
    fast, slow = standings[:2]
    assert fast.first == 2
    assert slow.first == 0
    assert fast.solved == pytest.approx(1.0)
    assert slow.solved == pytest.approx(26 / 51)  # the targets 100 to 1e-3
    assert fast.aocc > slow.aocc


@pytest.mark.parametrize("optimum", [0.0, None])
def test_an_assessment_is_a_page_with_tables(tmp_path, optimum):
    subject = subject_of(runs(optimum))
    found = Assessment(subject)
    page = write_assessment(found, tmp_path / "out", comparison=compare(Assessment(subject)))
    text = page.read_text(encoding="utf-8")
    assert "fast attains most over the budget" in text
    assert ("Not all optima are known" in text) == (optimum is None)
    assert "Significant wins" in text
    with (tmp_path / "out/tables/standings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["algorithm"] for row in rows] == ["fast", "slow", "fast", "slow"]
    assert json.loads(json.dumps(found.as_dict()))["runs"] == 48
    scaling = {"bbob-f1-scaling.svg", "bbob-f2-scaling.svg"}  # both functions are of one group
    assert {path.name for path in (tmp_path / "out/figures").iterdir()} == scaling


@pytest.mark.parametrize("optimum", [0.0, None])
def test_every_function_can_be_drawn(tmp_path, optimum):
    logged = Parameters([1, 5, 20], {"sigma": [1.0, 0.5, 0.1]})
    made = [replace(one, parameters=logged) for one in runs(optimum)]
    titles = []
    write_assessment(Assessment(subject_of(made, functions=["1"])), tmp_path, every_figure=True, progress=titles.append)
    drawn = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert len(drawn) == len(titles)
    expected = {"runtime-distributions", "convergence", "attainment-ecdf", "attainment-fast", "difference-fast-slow"}
    assert {f"bbob-f1-d5-{kind}" for kind in (*expected, "sigma-slow")} <= drawn
    assert "bbob-f1-scaling" in drawn
    assert ("bbob-f1-d5-ert" in drawn) == (optimum is not None)


def test_each_of_three_algorithms_is_compared_with_the_best_of_the_others(tmp_path):
    third = [replace(one, key=replace(one.key, algorithm="twin")) for one in runs() if one.key.algorithm == "slow"]
    found = Assessment(subject_of([*runs(), *third], functions=["1"], dimensions=[5]))
    drawn = {plate.name: plate.picture for plate in plates(found, every_function=True)}
    (surface,) = drawn["bbob-f1-d5-difference-twin-portfolio"].data
    shares = np.array([row[surface.columns.index("share")] for row in surface.rows], dtype=float)
    assert shares.max() == 0  # slow attains as much as its twin
    assert shares.min() < 0
    (pair,) = drawn["bbob-f1-d5-difference-fast-slow"].data
    assert drawn["bbob-f1-d5-difference-fast-portfolio"].data[0].rows == pair.rows
    assert "95% confidence intervals" in drawn["bbob-f1-d5-attainment-ecdf"].caption


def test_a_page_takes_tables_from_outside_the_package(tmp_path):
    found = Assessment(subject_of(runs()))
    failures = Data.of("failures-by-hand", ("algorithm", "failures"), [("<fast>", 0), ("slow", 3)])
    table = Table(
        "Failures, counted by hand.", ("algorithm", "failures"), (("<fast>", "0"), ("slow", "3")), (failures,)
    )
    text = write_assessment(found, tmp_path, tables=[table]).read_text(encoding="utf-8")
    assert text.index("AOCC: mean area") < text.index("<caption>Failures, counted by hand.</caption>")
    assert '<th scope="row">&lt;fast&gt;</th><td>0</td>' in text
    assert (tmp_path / "tables/failures-by-hand.csv").read_text() == "algorithm,failures\n<fast>,0\nslow,3\n"
    other = replace(table, data=(replace(failures, name="standings"),))
    with pytest.raises(ValueError, match="two tables to download are called 'standings'"):
        write_assessment(found, tmp_path, tables=[other])


def test_the_same_runs_give_the_same_page(tmp_path):
    pages = [write_assessment(Assessment(subject_of(runs())), tmp_path / name).read_bytes() for name in "ab"]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("measure", [{}, {"target": 1e-3}, {"budget": 50}])
def test_a_comparison_finds_the_better_one(measure):
    found = compare(Assessment(subject_of(runs())), **measure)
    assert found.wins.tolist() == [[0, 4], [0, 0]]
    assert found.single_best.solver == "fast"
    assert found.ratings.rows()[0]["algorithm"] == "fast"
    assert found.deep.ranking.mean_ranks.tolist() == [1, 2]
    assert found.orders["bbob f1 in 2-D"].unbeaten == ("fast",)
    assert found.contributions.shapley.sum() == pytest.approx(found.contributions.whole)
    assert json.loads(json.dumps(found.as_dict()))["algorithms"] == ["fast", "slow"]


def test_parts_of_a_comparison_are_computed_when_asked_for():
    found = compare(Assessment(subject_of(runs())))
    assert found.wins.tolist() == [[0, 4], [0, 0]]
    assert not {"contributions", "ratings", "deep", "ranking"} & set(vars(found))
    assert found.portfolio(1).shapley == pytest.approx(found.contributions.alone)


def test_algorithms_are_ranked_as_their_standings():
    found = Assessment(subject_of(runs()))
    for dimension in (2, 5):
        assert found.ranked(dimension) == [s.algorithm for s in found.standings if s.dimension == dimension]


def test_a_comparison_without_optima_is_one_of_values():
    subject = subject_of(runs(None))
    found = compare(Assessment(subject), budget=50)
    assert found.measure == "best value after 50 evaluations"
    with pytest.raises(ValueError, match="not all optima are known; compare at a budget"):
        compare(Assessment(subject), target=1.0)
    per_variable = compare(Assessment(subject), budget="10*d")
    assert per_variable.measure == "best value after 10*d evaluations"
    for cell in per_variable.cells:
        alone = compare(Assessment(subject_of(runs(None), dimensions=[cell.dimension])), budget=10.0 * cell.dimension)
        for name, values in alone.samples[cell.name].items():
            np.testing.assert_array_equal(per_variable.samples[cell.name][name], values)


def test_what_cannot_be_compared_is_said():
    with pytest.raises(ValueError, match="at least 2 algorithms; there is only fast"):
        compare(Assessment(subject_of(runs(), algorithms=["fast"])))
    with pytest.raises(ValueError, match="not both"):
        compare(Assessment(subject_of(runs())), target=1.0, budget=10)
    with pytest.raises(ValueError, match="misses is 'ert', which applies only to runtimes; give a target"):
        compare(Assessment(subject_of(runs())), budget=10, misses="ert")
    with pytest.raises(ValueError, match=r"no run of slow reached 0\.0001 on bbob f1 in 2-D"):
        compare(Assessment(subject_of(runs())), target=1e-4, misses="remove")
    with pytest.raises(ValueError, match=r"'100\*e' is not a budget; write a positive number, or a multiple of d"):
        compare(Assessment(subject_of(runs())), budget="100*e")
    with pytest.raises(ValueError, match=r"budget is '0\.1'; it must be a number of evaluations, at least 1"):
        compare(Assessment(subject_of(runs())), budget="0.1")
    with pytest.raises(ValueError, match="test is 'anova'"):
        compare(Assessment(subject_of(runs())), test="anova")
    apart = [one for one in runs() if (one.key.algorithm == "fast") == ("-f1-" in one.key.instance)]
    with pytest.raises(ValueError, match="no problem that all of fast, slow ran on"):
        compare(Assessment(subject_of(apart)))


def test_tables_of_expected_runtimes():
    tables = runtime_tables(subject_of(runs()))
    assert [one.dimension for one in tables] == [2, 5]
    rows = table_rows(tables)
    one = next(r for r in rows if (r["algorithm"], r["dimension"], r["function"], r["target"]) == ("fast", 5, "1", 0.1))
    assert one["ert"] == 3 * 5 + 2.5
    assert (one["successes"], one["runs"]) == (6, 6)
    with pytest.raises(ValueError, match="not all optima are known"):
        runtime_tables(subject_of(runs(None)))


def test_unknown_optima_take_no_target_precisions():
    with pytest.raises(ValueError, match="leave the targets out"):
        subject_of(runs(None), targets=[1.0])


def short(algorithm, instance, values, *, spent=10, reason=Reason.BUDGET, optimum=None):
    """A run whose k-th evaluation finds the k-th value."""
    steps = np.arange(1, len(values) + 1)
    trajectory = Trajectory(steps, np.zeros(steps.size), values, Outcome(reason, spent, 0.0))
    return Run(RunKey(instance, algorithm, 0), trajectory, optimum=optimum)


ODD = {
    "one value": lambda name, instance: short(name, instance, [5.0], spent=1),
    "one large value": lambda name, instance: short(name, instance, [1e300], spent=1),
    "a penalty at first": lambda name, instance: short(name, instance, [np.finfo(float).max, 5.0, -1.0]),
    "no value": lambda name, instance: short(name, instance, [], reason=Reason.FAILED),
    "no value on one instance": lambda name, instance: short(name, instance, [] if "i2" in instance else [2.0, 1.0]),
    "infinite at first": lambda name, instance: short(name, instance, [np.inf, 5.0, 1.0]),
    "infinite": lambda name, instance: short(name, instance, [np.inf]),
    "negative": lambda name, instance: short(name, instance, [-3.0, -50.0]),
    "solved at once": lambda name, instance: short(name, instance, [0.0], spent=1, optimum=0.0),
    "an optimum that is beaten": lambda name, instance: short(name, instance, [1.0, -1e-4], optimum=0.0),
    "some optima": lambda name, instance: short(name, instance, [2.0, 1.0], optimum=0.0 if "f1" in instance else None),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_runs_are_assessed_compared_and_drawn(tmp_path, case):
    instances = [f"x-f{function}-i{number}-d2" for function in (1, 2) for number in range(1, 11)]
    subject = subject_of([ODD[case](name, instance) for instance in instances for name in ("A", "B")])
    found = Assessment(subject)
    assert all(0 <= row.aocc <= 1 and 0 <= row.solved <= 1 for row in found.standings)
    assert headline(found) == "A and B attain most over the budget"
    json.dumps(found.as_dict(), allow_nan=False)
    compared = compare(Assessment(subject))
    json.dumps(compared.as_dict(), allow_nan=False)
    assert verdict(compared)[0].endswith(": A and B.")
    write_assessment(Assessment(subject_of(subject.runs, functions=["1"])), tmp_path, every_figure=True)


def test_shares_between_first_and_best_value_do_not_count_what_is_infinite():
    runs = [short("A", "x-f1-i1-d2", [np.inf, 9.0, 1.0]), short("B", "x-f1-i1-d2", [5.0])]
    (cell,) = subject_of(runs).cells
    assert [(bound.low, bound.high) for bound in cell.value_bounds("B")] == [(1.0, 9.0)]
    assert cell.runtimes("A")[0, 0] == 3
    assert np.isinf(cell.runtimes("B")[0, -1])


def test_one_unknown_optimum_holds_all_runs_to_one_yardstick():
    mixed = [replace(one, optimum=None) if "-f1-" in one.key.instance else one for one in runs()]
    subject = subject_of(mixed)
    assert not subject.knows_optima
    assert {cell.targets is None for cell in subject.cells} == {True}


def test_areas_are_those_under_a_curve_drawn_by_hand():
    runs = [short("A", "x-f1-i1-d2", [10.0, 1e-3], spent=100, optimum=0.0)]
    (area,) = Assessment(subject_of(runs)).areas.values()
    first, then = np.log(2) / np.log(100), 1 - np.log(2) / np.log(100)
    assert area[0] == pytest.approx(first * 0.1 + then * 0.5, rel=1e-12)  # 10 is a tenth of the way from 100 to 1e-8


def test_the_mean_area_counts_instances_alike_however_often_they_were_run():
    """A's areas are 0.1, 0.5 and 1 on the one instance, 0.1 on the other; B's are 0.35 on both."""
    first = [short("A", "x-f1-i1-d2", [value], spent=100, optimum=0.0) for value in (10.0, 1e-3, 1e-8)]
    first = [replace(one, key=replace(one.key, seed=seed)) for seed, one in enumerate(first)]
    other = short("A", "x-f1-i2-d2", [10.0], spent=100, optimum=0.0)
    steady = [short("B", f"x-f1-i{number}-d2", [10**-1.5], spent=100, optimum=0.0) for number in (1, 2)]
    found = Assessment(subject_of([*first, other, *steady]))
    (cell,) = found.subject.cells
    assert sorted(found.areas[cell, "A"]) == pytest.approx([0.1, 0.1, 0.5, 1.0])
    assert found.area(cell, "A") == pytest.approx((1.6 / 3 + 0.1) / 2, rel=1e-12)  # 0.317; 0.425 if runs counted alike
    assert found.area(cell, "B") == pytest.approx(0.35, rel=1e-12)
    assert [(one.algorithm, one.first) for one in found.standings] == [("B", 1), ("A", 0)]
    assert found.standings[1].aocc == found.area(cell, "A")


def test_the_headline_compares_those_that_ran_on_every_function():
    everywhere = [one for one in runs() if one.key.algorithm == "slow"]
    easy = [one for one in runs() if one.key.algorithm == "fast" and "-f1-" in one.key.instance]
    found = Assessment(subject_of(everywhere + easy))
    assert headline(found) == "2 algorithms that ran on different functions"
    assert [one.algorithm for one in found.standings] == ["slow", "fast"] * 2
    assert "fast in 2-D and fast in 5-D" in cautions(found)[0]
    assert headline(Assessment(subject_of(easy))) == "fast on 1 function"


def test_runs_cut_short_early_are_pointed_out():
    runs = [short(name, "x-f1-i1-d2", [5.0], spent=spent, optimum=0.0) for name, spent in (("A", 10), ("B", 1000))]
    assert "1 of 2 runs ended before half" in cautions(Assessment(subject_of(runs)))[0]
    assert not cautions(Assessment(subject_of([replace(one, key=replace(one.key, algorithm="A")) for one in runs[1:]])))


def test_a_twin_adds_nothing_to_a_portfolio():
    twins = [replace(one, key=replace(one.key, algorithm=name)) for one in runs() for name in ("A", "B")]
    twins = [one for one in twins if "-i1-" in one.key.instance]
    alike = compare(Assessment(subject_of([one for one in twins if one.trajectory.best < 1e-5])))
    np.testing.assert_allclose(alike.contributions.marginal, 0, atol=1e-12)
    np.testing.assert_allclose(alike.contributions.shapley, alike.contributions.whole / 2)


def test_every_figure_has_a_file_that_links_find(tmp_path):
    names = ["A/B", "a_b", "50% #1?&<b>$\\frac [x]", "ü" * 200]
    made = [short(name, f"Ellip/soid-d{d}", [9.0, 1.0], optimum=0.0) for name in names for d in (2, 3)]
    titles = []
    page = write_assessment(Assessment(subject_of(made)), tmp_path, every_figure=True, progress=titles.append)
    linked = re.findall(r'<a href="(figures/[^"]+)">', page.read_text(encoding="utf-8"))
    assert len({link.lower() for link in linked}) == len(titles)
    assert {tmp_path / link for link in linked} == set((tmp_path / "figures").iterdir())
    assert not any(sign in link for link in linked for sign in "%#?&; ")


def test_heat_maps_show_a_target_that_was_reached(tmp_path):
    """`slow` reaches 1e-3, and on one function of three a lucky algorithm reaches all targets."""
    lucky = run("lucky", 3, 2, 0, np.arange(2, 12), 100)
    found = Assessment(subject_of([*(one for one in runs() if one.key.algorithm == "slow"), lucky]))
    assert "Expected runtimes to precision 0.001" in write_assessment(found, tmp_path / "lucky").read_text("utf-8")
    hard = [one for one in runs() if one.key.algorithm == "slow"]
    assert "Expected runtimes to precision 0.001" in write_assessment(Assessment(subject_of(hard)), tmp_path).read_text(
        "utf-8"
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_targets_and_budgets_are_numbers(number):
    for wrong in ({"target": number}, {"budget": number}, {"budget": 0}):
        with pytest.raises(ValueError, match=r"(target|budget) is (nan|inf|0); it must be a"):
            compare(Assessment(subject_of(runs())), **wrong)
    with pytest.raises(ValueError, match="each must be a finite number"):
        subject_of(runs(), targets=[1.0, number])
    with pytest.raises(ValueError, match="each must be a finite precision"):
        runtime_tables(subject_of(runs()), [1.0, number])


def test_equal_targets_count_once():
    assert subject_of(runs(), targets=[1, 10, 1]).cells[0].targets.tolist() == [10, 1]


def test_two_objectives_have_targets_of_their_own():
    both = [
        replace(one, key=replace(one.key, instance=one.key.instance.replace("bbob", "bbob-biobj"))) for one in runs()
    ]
    cell = subject_of(both).cells[0]
    assert cell.targets.size == 68
    assert (cell.precisions.low, cell.precisions.high) == (1e-5, 10)
    with pytest.raises(ValueError, match="one objective and with two"):
        subject_of([*runs(), *both])


def test_groups_of_functions_have_figures_of_their_own(tmp_path):
    made = [
        run(name, f, 5, seed, 5 * np.arange(1, 11), 100) for f in (1, 8, 9, 24) for name in "AB" for seed in range(3)
    ]
    page = write_assessment(Assessment(subject_of(made)), tmp_path).read_text("utf-8")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"bbob-{group}-in-5-D-runtime-distributions.svg"
        for group in ("separable", "moderate-conditioning", "weakly-structured")
    }
    assert "Function groups (3)" in page
    assert 'loading="lazy" src="figures/' in page


def test_the_best_of_all_takes_the_runs_of_the_smallest_expected_runtime_at_each_target():
    """A is faster up to precision 1e-2, B beyond."""
    made = [run("A", 1, 2, seed, np.append(np.arange(2, 6), 100 * np.arange(1, 5)), 1000) for seed in range(3)]
    made += [run("B", 1, 2, seed, 20 * np.arange(1, 9), 1000) for seed in range(3)]
    found = Assessment(subject_of(made, targets=[1.0, 1e-2, 1e-4]))
    (cell,) = found.subject.cells
    assert [ert(found.hits[cell, name], cell.trials[name].evaluations).tolist() for name in "AB"] == [
        [3.0, 5.0, 200.0],
        [40.0, 80.0, 120.0],
    ]
    best = found.best_of_all([cell])
    expected = pool(
        [
            runtime_distribution(found.hits[cell, "A"][:, :2], cell.trials["A"].evaluations),
            runtime_distribution(found.hits[cell, "B"][:, 2:], cell.trials["B"].evaluations),
        ]
    )
    np.testing.assert_array_equal(best.runtimes, expected.runtimes)
    np.testing.assert_array_equal(best.proportions, expected.proportions)


def test_archived_algorithms_are_grey_and_have_no_place_in_the_standings(tmp_path):
    own = [one for one in runs() if one.key.algorithm == "fast"]
    archived = Assessment(subject_of(one for one in runs() if one.key.algorithm == "slow"))
    page = write_assessment(Assessment(subject_of(own)), tmp_path, background=archived).read_text("utf-8")
    assert "Thin and grey: 1 further algorithm." in page
    assert "slow" not in re.sub(r'="data:[^"]*"', "", page)
    other = Assessment(subject_of(runs(), targets=[1.0]))
    with pytest.raises(ValueError, match="in the background have other targets"):
        write_assessment(Assessment(subject_of(own)), tmp_path, background=other)


def test_a_published_reference_is_the_pale_line(tmp_path):
    found = Assessment(subject_of(runs(), targets=[1.0, 0.1, 0.01]))
    best = {
        (cell.function, cell.dimension): Reference(
            targets=np.array([1.0, 0.1, 0.01]),
            ert=np.array([4.0, 6.0, np.inf]) * cell.dimension,
            algorithms=("a", "b", ""),
            successes=np.zeros(3, dtype=int),
            runs=np.zeros(3, dtype=int),
            name="best of all times",
        )
        for cell in found.subject.cells
    }
    page = write_assessment(found, tmp_path, best=best).read_text("utf-8")
    assert "Broad pale line: best of all times (ERT)." in page
    assert "best of these" not in page
    cells = found.subject.within(5)
    drawn = charts.runtime_distributions(found, cells, "5-D", charts.Backdrop(best=best)).figure
    (line,) = [mark for mark in drawn.panels[0].marks if getattr(mark, "name", "") == "reference"]
    assert list(zip(line.x, line.y, strict=True))[1:3] == [(4.0, pytest.approx(1 / 3)), (6.0, pytest.approx(2 / 3))]
    assert line.y[-1] == pytest.approx(2 / 3), "nothing reaches the third target"
    with pytest.raises(ValueError, match="the reference has none of the functions and dimensions assessed"):
        write_assessment(found, tmp_path, best={("77", 5): best["1", 5]})


def test_mean_area_and_mean_rank_are_explained_where_they_disagree():
    """B is a little ahead on three functions, A far ahead on the fourth."""
    quick, later, never = np.arange(2, 12), np.arange(3, 13), np.array([90])
    times = {"A": (later, later, later, quick), "B": (quick, quick, quick, never)}
    where = [(function, name, seed) for function in range(4) for name in "AB" for seed in range(15)]
    made = [run(name, function + 1, 2, seed, times[name][function], 100) for function, name, seed in where]
    found = Assessment(subject_of(made))
    said = " ".join(answer_of(found, compare(found)))
    assert "By mean area A is ahead, by mean rank B." in said
    agreed = Assessment(subject_of(runs()))
    assert "fast has the largest mean area and the best mean rank as well" in answer_of(agreed, compare(agreed))[0]


@pytest.mark.parametrize("test", ["kolmogorov-smirnov", "mann-whitney"])
def test_no_verdict_is_given_where_runs_are_too_few(tmp_path, test):
    """With 3 runs of each of two algorithms one order in 20 is the most extreme: p = 1/20 on each side, 2 sides."""
    few = Assessment(subject_of(one for one in runs() if one.key.instance.split("-")[2] in {"i1", "i2", "i3"}))
    compared = compare(few, test=test)
    assert not compared.decisive
    assert compared.smallest_p == pytest.approx(0.1 if test == "kolmogorov-smirnov" else 0.0808556, rel=1e-4)
    page = write_assessment(few, tmp_path, comparison=compared).read_text("utf-8")
    assert "Significant wins" not in page
    assert "No difference on a single problem can be significant" in page
    assert compare(Assessment(subject_of(runs())), test=test).decisive

"""Commands on recorded runs, run as a user runs them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from polarbear import store
from polarbear.records import Outcome, Reason, Run, RunKey, Samples, Trajectory
from polarbear.study import load
from tests.analyzer.recorded import runs
from tests.analyzer.test_failures import broken
from tests.cli.commands import polarbear
from tests.study.test_replay import timed

CUT = Trajectory([1], [0.0], [500.0], Outcome(Reason.BUDGET, 1, 0.0))


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The runs in COCO's format."""
    return store.export(runs(), tmp_path_factory.mktemp("recorded") / "coco", "coco")


@pytest.fixture(scope="module")
def study(archive):
    path = archive.parent / "imported.study"
    out, _ = polarbear("import", archive, "--into", path, "--rename", "slow=sluggish")
    assert "48 runs imported: fast, sluggish on 24 instances" in out
    return path


def test_importing_again_adds_nothing(archive, study):
    found = json.loads(polarbear("import", archive, "--into", study, "--rename", "slow=sluggish", "--json")[0])
    assert (found["added"], found["known"]) == (0, 48)


def test_what_cannot_be_read_is_listed_and_the_rest_is_kept(archive, tmp_path):
    folder = tmp_path / "damaged"
    store.export(runs(), folder, "coco")
    data = next(path for path in sorted(folder.rglob("*.dat")) if path.stat().st_size)
    data.write_bytes(data.read_bytes()[:-40] + b"garbage\n")
    out, err = polarbear("import", folder, "--into", tmp_path / "some.study")
    assert data.name in err
    assert "runs imported" in out


def test_assess_prints_standings_and_writes_a_page(study, tmp_path):
    out, _ = polarbear("assess", study, "--into", tmp_path / "out", "--dimension", "5")
    assert "fast attains most over the budget." in out
    assert (tmp_path / "out" / "index.html").is_file()
    found = json.loads(polarbear("assess", study, "--into", tmp_path / "out", "--target", "1", "--json")[0])
    assert {row["target"] for row in found["runtimes"]} == {1.0}
    assert found["standings"][0]["algorithm"] == "fast"


def test_an_imported_study_is_checked_on_all_its_runs(study):
    found = json.loads(polarbear("check", study, "--final-target", "1e-8", "--json")[0])
    assert found["comparison"]["instances"] == 24
    assert len(found["checks"]) == 6
    assert "win rates" in polarbear("check", study, "--dimension", "5")[0]
    assert "no runs of" in polarbear("check", study, "--algorithm", "nobody", code=2)[1]


def test_the_same_runs_at_two_paths_count_once(archive, tmp_path):
    found = json.loads(polarbear("assess", archive, archive, "--into", tmp_path / "out", "--json")[0])
    assert found["runs"] == 48
    other = store.export([replace(one, trajectory=CUT) for one in runs()], tmp_path / "other.csv", "csv")
    _, err = polarbear("compare", archive, other, code=2)
    assert "contain different runs of fast on bbob-f1-i1-d2 (seed 0); import both into one study" in err


def test_long_names_and_names_in_brackets_are_printed_whole(tmp_path):
    long = "Ord-N-DTS-CMA-ES-with-a-long-name-of-its-own"
    renamed = {"fast": "[bold]", "slow": long}
    made = [replace(one, key=replace(one.key, algorithm=renamed[one.key.algorithm])) for one in runs()]
    data = store.export(made, tmp_path / "runs.csv", "csv")
    out, _ = polarbear("compare", data)
    assert "[bold]" in out
    assert long in out


def test_a_rename_that_fits_no_algorithm_is_said(archive, tmp_path):
    _, err = polarbear("import", archive, "--into", tmp_path / "x.study", "--rename", "quick=q")
    assert "not renamed: there is no algorithm 'quick'" in err


def test_switches_name_the_best_policy_and_what_it_keeps(archive):
    out, _ = polarbear("switches", archive, "--target", "1e-2")
    assert "held out" in out
    found = json.loads(polarbear("switches", archive, "--target", "1e-2", "--in-sample", "--json")[0])
    assert all(best["targets"][-1] == 1e-2 and best["held_out"] == [] for best in found["problems"].values())


def test_switches_tell_who_is_good_to_begin_and_to_end_with(archive):
    only = ("--target", "1e-2", "--dimension", "2", "--in-sample")
    assert "Shapley" in polarbear("switches", archive, *only)[0]
    found = json.loads(polarbear("switches", archive, *only, "--json")[0])
    for best in found["problems"].values():
        assert len(best["first"]) == len(best["second"]) == len(best["contributions"]) == len(best["names"])
    fast = next(row for row in found["algorithms"] if row["algorithm"] == "fast")
    assert (fast["dimension"], fast["functions"], fast["missing"], fast["first"], fast["second"]) == (2, 2, 0, 1, 1)
    assert sum(row["contribution"] for row in found["algorithms"]) == pytest.approx(1)


def test_switches_name_pairs_and_what_may_be_expected_of_them(archive):
    only = ("--function", "1", "--dimension", "2")
    out, _ = polarbear("switches", archive, "--adaptive", "1", *only)
    assert "P(gain)" in out
    found = json.loads(polarbear("switches", archive, "--adaptive", "1", *only, "--json")[0])
    assert len(found) == 1
    assert all(row["low"] <= row["expected"] <= row["high"] for rows in found.values() for row in rows)


def crossing_runs():
    """Of "early" and "late" on 30 instances: the first is better until 100 evaluations, the second afterwards."""
    rng = np.random.default_rng(0)
    for instance in range(30):
        for name, values in (("early", [5.0, 4.0]), ("late", [9.0, 1.0])):
            kept = np.array(values) + 0.1 * rng.random(2)
            outcome = Outcome(Reason.BUDGET, 1000, 0.0)
            yield Run(RunKey(f"p{instance}", name, 0), Trajectory([1, 100], [0.0, 0.0], kept, outcome))


def test_switches_after_evaluations_need_no_optimum(tmp_path):
    data = store.export(list(crossing_runs()), tmp_path / "runs.csv", "csv")
    (found,) = json.loads(polarbear("switches", data, "--posterior", "--json")[0]).values()
    (pair,) = found["takeovers"]
    assert (pair["first"], pair["second"], found["best"]["first"], found["best"]["second"]) == ("early", "late") * 2
    assert 100 <= pair["time"] == found["best"]["time"] < 120
    assert found["best"]["share"] > 0.99 > found["best"]["share_alone"]
    out, _ = polarbear("switches", data, "--posterior")
    assert "early → late" in out
    assert "takes no --adaptive" in polarbear("switches", data, "--posterior", "--target", "1", code=2)[1]


def test_switches_after_evaluations_name_none_where_one_is_always_the_best(archive):
    out, _ = polarbear("switches", archive, "--posterior", "--function", "1", "--dimension", "2")
    assert "none" in out
    assert "No algorithm takes over from another one with enough probability" in out


def test_compare_names_the_better_one(archive):
    out, _ = polarbear("compare", archive, "--target", "1e-3")
    assert "Single best solver by evaluations to precision 0.001: fast." in out
    assert json.loads(polarbear("compare", archive, "--json")[0])["wins"] == [[0, 4], [0, 0]]
    assert "misses: par-10" in polarbear("compare", archive, "--target", "1e-4", "--misses", "par-10")[0]
    assert "nothing is left" in polarbear("compare", archive, "--target", "1e-4", "--misses", "remove", code=2)[1]


def test_tables_are_text_latex_or_html(archive):
    assert "#succ" in polarbear("table", archive, "--function", "1", "--dimension", "5")[0]
    assert "\\begin{longtable" in polarbear("table", archive, "--format", "latex")[0]
    assert "<table" in polarbear("table", archive, "--format", "html")[0]
    rows = json.loads(polarbear("table", archive, "--json")[0])
    assert {row["dimension"] for row in rows} == {2, 5}


def test_a_race_on_recorded_runs_says_what_it_saves(archive, tmp_path):
    (tmp_path / "race.toml").write_text(
        "[race]\ntimes = [5, 10, 20, 40]\nalpha = 0.9\nbatch = 8\n[anything]\nelse = 1\n"
    )
    pooled = ["race", tmp_path / "race.toml", "--from", archive, "--pool", "function", "--pool", "dimension"]
    found = json.loads(polarbear(*pooled, "--json")[0])
    assert found["pareto_set"] == found["pareto_set_of_all_runs"] == ["fast"]
    assert 0 <= found["saved"] < 1
    out, _ = polarbear(*pooled)
    assert f"({found['saved']:.0%} saved)" in out.splitlines()[-2]
    assert found["saved"] == 1 - found["spent"] / found["recorded"]


def test_races_on_an_archive_are_by_function_and_dimension_and_kept_as_studies(archive, tmp_path):
    some = ["race", "--from", archive, "--budget", "2*d..20*d", "--alpha", "0.9", "--epsilon", "0.1"]
    found = json.loads(polarbear(*some, "--into", tmp_path / "raced", "--json")[0])
    assert [(race["function"], race["dimension"]) for race in found["races"]] == [
        ("1", 2),
        ("1", 5),
        ("2", 2),
        ("2", 5),
    ]
    assert found["who_wins_where"]["fast"] == {"2": {"best": 2, "member": 2, "races": 2}} | {
        "5": {"best": 2, "member": 2, "races": 2}
    }
    assert found["blocks"] == 24
    view = load(tmp_path / "raced/bbob-f2-d5.study")
    assert (view.result.settings.alpha, view.result.settings.epsilon) == (0.9, 0.1)
    assert (view.result.posterior.times[0], view.result.posterior.times[-1]) == (10, 100)
    path = found["races"][3]["study"]
    assert "fast" in polarbear("show", path)[0]
    assert "fast" in polarbear("select", path)[0]
    assert "report: " in polarbear("report", path)[0]
    assert "passed" in polarbear("check", path)[0]
    assert "contains a race on recorded runs, so there is nothing to run" in polarbear("resume", path, code=3)[1]
    out, _ = polarbear(*some, "--pool", "function")
    assert "fast  1, 1 of 1  1, 1 of 1" in out


def test_races_on_an_archive_are_by_group(archive, tmp_path):
    some = ["race", "--from", archive, "--budget", "2*d..20*d", "--json"]
    table = tmp_path / "groups.csv"
    table.write_text("instance,group\n" + "".join(f"{run.key.instance},A & B\n" for run in runs()))
    separable, grouped, pooled = (
        json.loads(polarbear(*some, *options, cwd=tmp_path)[0])["races"]
        for options in (["--apart", "group"], ["--groups", table, "--into", "raced"], ["--pool", "function"])
    )
    assert [(race["name"], race["group"]) for race in grouped] == [
        ("bbob A & B in 2-D", "A & B"),
        ("bbob A & B in 5-D", "A & B"),
    ]
    assert [race["study"] for race in grouped] == ["raced/bbob-A___B-d2.study", "raced/bbob-A___B-d5.study"]
    where = {"name", "group", "study"}
    told = [
        [{key: value for key, value in race.items() if key not in where} for race in races]
        for races in (separable, grouped, pooled)
    ]
    assert told[0] == told[1] == told[2]
    assert [race["group"] for race in separable] == ["separable"] * 2


def test_a_race_on_recorded_runs_is_not_held_where_one_algorithm_ran(archive, tmp_path):
    rest = [one for one in runs() if one.key.algorithm == "fast" or one.problem.function == "2"]
    data = store.export(rest, tmp_path / "runs.csv", "csv")
    _, err = polarbear("race", "--from", data, "--dimension", "5")
    assert "left out: bbob f1 in 5-D: a race needs at least 2 algorithms" in err
    assert "no race is possible on these runs: " in polarbear("race", "--from", data, "--function", "1", code=2)[1]


def test_an_export_of_a_study_as_parquet_holds_the_points_that_its_runs_evaluated(tmp_path):
    points = Samples([1, 3], [[0.5, 1.0], [0.25, 2.0]], [3.0, 1.0])
    with store.create(tmp_path / "study", {}) as study:
        study.extend(replace(run, samples=points) for run in runs())
    polarbear("export", tmp_path / "study", "--to", tmp_path / "out.parquet", "--format", "parquet")
    assert [run.samples for run in store.read(tmp_path / "out.parquet")] == [points] * len(runs())


@pytest.mark.parametrize("form", ["iohprofiler", "csv", "parquet"])
def test_an_export_can_be_read_again(archive, tmp_path, form):
    out, _ = polarbear("export", archive, "--to", tmp_path / f"out.{form}", "--format", form, "--algorithm", "fast")
    assert out.startswith("24 runs")
    again = store.read(tmp_path / f"out.{form}")
    assert [run.trajectory.values.tolist() for run in again] == [
        run.trajectory.values.tolist()
        for run in sorted(store.read(archive), key=lambda run: run.key)
        if run.key.algorithm == "fast"
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["assess", "{}", "--algorithm", "medium"], "there are no runs of algorithm 'medium'"),
        (["compare", "{}", "--algorithm", "fast"], "needs at least 2 algorithms"),
        (["compare", "{}", "--budget", "0"], "'0' is not a budget; write a positive number"),
        (["table", "{}", "--target", "inf"], "target is inf; it must be a finite precision above 0"),
        (["table", "{}", "--target", "0"], "target is 0; it must be a finite precision above 0"),
        (["assess", "{}", "--target", "0"], "target is 0; it must be a finite precision above 0"),
        (["compare", "{}", "--target", "0"], "target is 0; it must be a finite precision above 0"),
        (["race", "--from", "{}", "--function", "7"], "no runs of function '7'"),
        (["race", "--from", "{}", "--alpha", "5"], "polarbear: alpha is 5.0; it must be above 0.5 and at most 1\n"),
        (["race", "--from", "{}", "--budget", "90..20"], "polarbear: the range of budgets 90..20 is empty; give the"),
        (["race", "--from", "{}", "--budget", "9*d..2*d"], "polarbear: the range of budgets 18..4 is empty; give the"),
        (
            ["race", "--from", "{}", "--budget", "final"],
            "polarbear: budget is 'final'; give one up to which to compare",
        ),
        (
            ["race", "--from", "{}", "--algorithm", "fast"],
            "a race needs at least 2 algorithms, got ['fast']; pool them",
        ),
        (["race"], "give a study file, or recorded runs with --from"),
        (["race", "--from", "{}", "--apart", "function"], "these races are apart unless --pool is given"),
        (["race", "--from", "{}", "--seconds", "1"], "cannot be used with --from"),
        (["race", "--from", "{}", "--budget", "soon"], "budget 'soon' is unknown"),
        (["race", "x.toml", "--alpha", "0.9"], "--alpha: only for races on recorded runs, with --from"),
        (["race", "x.toml", "--algorithm", "fast"], "they need --from"),
        (["import", "{}", "--into", "x", "--rename", "fast"], "write it as OLD=NEW"),
        (["export", "{}", "--to", "{}"], "is not empty"),
    ],
)
def test_what_is_wrong_is_one_line(archive, arguments, complaint, tmp_path):
    code = 3 if "export" in arguments else 2
    _, err = polarbear(*(argument.replace("{}", str(archive)) for argument in arguments), code=code, cwd=tmp_path)
    assert complaint in err
    assert "Traceback" not in err


def test_nothing_there_is_said(tmp_path):
    assert "no such directory, file or archive" in polarbear("assess", tmp_path / "nowhere", code=3)[1]


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A study in which runs failed, and two left nothing behind."""
    path = tmp_path_factory.mktemp("failing") / "failing.study"
    with store.create(path, {}) as study:
        study.extend(broken())
    return path


@pytest.mark.parametrize("command", ["assess", "compare"])
def test_failed_runs_are_told(failing, command, tmp_path):
    arguments = [command, failing] + (["--into", tmp_path / "out"] if command == "assess" else [])
    said = (
        "Runs failed, timed out or were killed: of slow 4 of 24 (most often failed: ValueError: <b>no 0</b>) and fast 2"
    )
    out, _ = polarbear(*arguments)
    assert said in out
    assert "The others count as runs that stopped where they did" in out
    found = json.loads(polarbear(*arguments, "--json")[0])
    assert found["cautions"][0].startswith(said)
    assert [(one["algorithm"], one["runs"], one["failed"], one["left_out"]) for one in found["failures"]] == [
        ("slow", 24, 4, 0),
        ("fast", 24, 2, 2),
    ]


@pytest.mark.parametrize("command", ["assess", "compare"])
def test_nothing_is_told_where_nothing_failed(archive, command, tmp_path):
    arguments = [command, archive] + (["--into", tmp_path / "out"] if command == "assess" else [])
    found = json.loads(polarbear(*arguments, "--json")[0])
    assert found["failures"] == found["cautions"] == []


def test_what_an_export_leaves_out_is_told(failing, tmp_path):
    out, err = polarbear("export", failing, "--to", tmp_path / "coco", "--format", "coco")
    assert out.startswith("46 runs")
    why = "2 runs that found no value are left out, as COCO's format cannot represent them"
    told = f"{why}: 2 of fast (killed: its worker was "
    assert f"left out: {told}killed by SIGKILL)" in err
    found = json.loads(polarbear("export", failing, "--to", tmp_path / "c", "--format", "coco", "--json")[0])
    assert (found["runs"], len(found["left_out"])) == (46, 2)
    assert found["why"].startswith(told)
    out, err = polarbear("export", failing, "--to", tmp_path / "all.parquet", "--format", "parquet")
    assert (out[:7], err) == ("48 runs", "")
    assert store.read(tmp_path / "all.parquet") == store.read(failing)


def test_a_race_on_a_study_of_seconds_is_over_seconds_unless_a_study_file_says_otherwise(tmp_path):
    made = timed(2.0)
    with store.create(tmp_path / "timed.study", {"plan": {"axis": "seconds", "budget": 2.0}}) as study:
        study.extend(made)
    out, _ = polarbear("race", "--from", tmp_path / "timed.study")
    assert "seconds spent: " in out
    assert " of 120 recorded" in out
    (tmp_path / "race.toml").write_text("[race]\ntimes = [5, 10, 20]\n")
    out, _ = polarbear("race", tmp_path / "race.toml", "--from", tmp_path / "timed.study")
    assert "evaluations spent: " in out
    data = store.export(made, tmp_path / "runs.csv", "csv")
    assert "evaluations spent: " in polarbear("race", "--from", data)[0]


def test_assess_takes_targets_of_each_function_from_a_file_or_from_budgets(study, tmp_path):
    budgets = json.loads(polarbear("assess", study, "--into", tmp_path / "a", "--targets", "budget", "--json")[0])
    targets = {row["target"] for row in budgets["runtimes"]}
    assert 1 < len(targets) <= 31
    rows = {(row["suite"], row["function"], row["dimension"]) for row in budgets["runtimes"]}
    path = tmp_path / "targets.csv"
    lines = (f"{suite},{function},{dimension},{target}" for suite, function, dimension in rows for target in (3, 0.5))
    path.write_text("\n".join(["suite,function,dimension,target", *lines]))
    found = json.loads(polarbear("assess", study, "--into", tmp_path / "b", "--targets", path, "--json")[0])
    assert {row["target"] for row in found["runtimes"]} == {3, 0.5}

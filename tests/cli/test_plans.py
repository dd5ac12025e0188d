"""Plans and merges, run as a user runs them."""

import io
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from rich.console import Console

import polarbear as pb
from polarbear import store
from polarbear.cli.commands.run import print_estimate
from polarbear.progress.plans import PlanProgress
from polarbear.quantities import duration
from polarbear.study import AlgorithmCost, Estimate, StopRules, StudyFileError, race, read_plan, read_spec, run_plan
from polarbear.study.files import RunLimitsSection
from polarbear.study.plan_spec import PlanSection, PlanSpec
from tests.cli.commands import polarbear, start
from tests.cli.test_cli import OWN, SMALL, check_documented
from tests.study.entrants import guess
from tests.study.test_plan import Immediate

ROOT = Path(__file__).parents[2]
PLAN = """# a plan
[plan]
budget = "40*d"
repetitions = 3

[instances]
suite = "bbob"
functions = [1, 8]
dimensions = [2, 3]
instances = "1-2"

[limits]
target_precision = 1e-8

[log]
per_decade = 2

[[algorithms]]
name = "stroll"
optimizer = "function"
function = "tests.study.entrants:descend"

[[algorithms]]
name = "random search"
optimizer = "random-search"
"""
CRAWL = """
[[algorithms]]
optimizer = "function"
function = "tests.study.entrants:crawl"
"""


def folder_with(folder, text=PLAN):
    (folder / "plan.toml").write_text(text)
    return folder


def made(folder, text=PLAN, name="plan"):
    """The study of a plan, run in this process."""
    (folder / f"{name}.toml").write_text(text)
    run_plan(read_plan(folder / f"{name}.toml"), folder / f"{name}.study", executor=Immediate())
    return folder / f"{name}.study"


def recorded(path):
    return {run.key: store.parts.storable(run) for run in store.read(path)}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = folder_with(tmp_path_factory.mktemp("plans"))
    out, err = polarbear("run", "plan.toml", "--workers", "2", cwd=folder)
    return folder / "plan.study", out, err


def test_run_says_what_it_will_do_and_what_was_done(study):
    path, out, err = study
    assert "48 runs of 2 algorithms on 8 problems" in err
    assert "48 of 48 runs" in out
    assert "study: plan.study" in out
    assert "stroll" in out
    assert len(recorded(path)) == 48


def test_running_again_runs_nothing_and_show_and_resume_say_the_same(study):
    path, _, _ = study
    before = recorded(path)
    again = json.loads(polarbear("run", path.with_suffix(".toml"), "--json")[0])
    assert (again["finished"], again["runs"], again["ran"], again["failures"]) == (True, 48, 0, [])
    shown = json.loads(polarbear("show", path, "--json")[0])
    assert shown["algorithms"] == again["algorithms"]
    assert "48 of 48 runs" in polarbear("show", path)[0]
    assert "48 of them already done" in polarbear("resume", path, *OWN)[1]
    assert "--evaluations and --withdraw are for races" in polarbear("resume", path, "--instances", 5, code=2)[1]
    assert recorded(path) == before


@pytest.mark.slow
def test_recorded_runs_of_a_plan_can_be_assessed_compared_tabulated_exported_and_raced_on(study, tmp_path):
    path, _, _ = study
    assert "page: " in polarbear("assess", path, "--into", tmp_path / "out")[0]
    assert "stroll" in (tmp_path / "out/index.html").read_text()
    assert json.loads(polarbear("compare", path, "--json")[0])["wins"]
    assert "stroll" in polarbear("table", path)[0]
    assert polarbear("export", path, "--to", tmp_path / "ioh")[0].startswith("48 runs")
    assert len(store.read(tmp_path / "ioh")) == 48
    raced = json.loads(polarbear("race", "--from", path, "--pool", "all", "--json")[0])
    assert "first places" in {one["name"] for one in raced["checks"]}
    assert raced["blocks"] == 24
    assert "stroll" in raced["pareto_set"]
    assert f"page: {tmp_path / 'page'}" in polarbear("report", path, "--into", tmp_path / "page")[0]
    beside = path.with_suffix(".assessment")
    assert f"page: {beside}" in polarbear("report", path)[0]
    assert (tmp_path / "page/index.html").is_file()
    assert "runs of a plan, not a race" in polarbear("select", path, code=3)[1]


def test_a_dry_run_tells_the_cost_and_writes_nothing(tmp_path):
    folder_with(tmp_path, PLAN + CRAWL)
    out, _ = polarbear("run", "plan.toml", "--dry-run", "--workers", 2, cwd=tmp_path)
    assert "72 runs: 3 algorithms × 8 problems × 3 repetitions, 7,200 evaluations at most" in out
    assert "with 2 workers, " in out
    assert re.search(r"with 2 workers, including .* to start them$", out, re.MULTILINE)
    assert "This is estimated from the first part of" in out
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


def test_a_dry_run_with_more_workers_than_cores_says_so_and_warns_where_seconds_are_measured(tmp_path):
    begin, end = PLAN.index("[[algorithms]]"), PLAN.rindex("[[algorithms]]")
    folder_with(
        tmp_path, PLAN[:begin].replace("[plan]", '[plan]\naxis = "seconds"').replace('"40*d"', "0.1") + PLAN[end:]
    )
    out, err = polarbear("run", "plan.toml", "--dry-run", "--workers", 10_000, cwd=tmp_path)
    assert re.search(r"with 10,000 workers, which share \d+ cores?, ", out)
    assert err.count("polarbear: warning: 10000 workers share") == 1
    out, err = polarbear("run", "plan.toml", "--dry-run", "--workers", 10_000, "--cluster", "tcp://a:1", cwd=tmp_path)
    assert re.search(r"with 10,000 workers, including [\d.]+ \w+ (\d+ s )?to start them", out)
    assert "10000 workers share" not in err


def test_a_dry_run_on_a_study_counts_what_is_left(study, tmp_path):
    path, _, _ = study
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    folder_with(tmp_path, PLAN + CRAWL)
    told = json.loads(polarbear("run", tmp_path / "plan.toml", "--into", path, "--dry-run", "--json")[0])
    assert (told["total"], told["there"]) == (72, 48)
    assert {name: one["runs"] for name, one in told["algorithms"].items()} == {
        "stroll": 0,
        "random search": 0,
        "crawl": 24,
    }
    assert told["evaluations"] == 12 * 40 * 2 + 12 * 40 * 3
    assert told["seconds"] > 0
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before
    folder_with(tmp_path, PLAN.replace('"40*d"', "40"))
    _, err = polarbear("run", tmp_path / "plan.toml", "--into", path, "--dry-run", code=2)
    assert "plan.budget was '40*d' and is now 40" in err


def test_algorithms_may_be_added_and_other_settings_are_refused(tmp_path):
    before = recorded(made(tmp_path))
    folder_with(tmp_path, PLAN.replace("repetitions = 3", "repetitions = 4") + CRAWL)
    added = json.loads(polarbear("run", "plan.toml", "--json", cwd=tmp_path)[0])
    assert (added["runs"], added["ran"]) == (96, 48)
    after = recorded(tmp_path / "plan.study")
    assert {key: after[key] for key in before} == before
    folder_with(tmp_path, PLAN.replace("repetitions = 3", "repetitions = 4\nseed = 2"))
    _, err = polarbear("run", "plan.toml", code=2, cwd=tmp_path)
    assert "plan.seed was 0 and is now 2" in err
    assert "algorithms.crawl is gone" in err


def test_ctrl_c_keeps_what_was_run_and_says_how_to_go_on(study, tmp_path):
    slow = PLAN + CRAWL.replace("crawl", "dawdle").replace("tests.", "tests.", 1)
    folder_with(tmp_path, slow.replace("repetitions = 3", "repetitions = 2"))
    process = start("run", "plan.toml", "--into", "my study", cwd=tmp_path, start_new_session=True)
    path = tmp_path / "my study"
    deadline = time.monotonic() + 60
    while not (store.exists(path) and list((path / "runs").glob("*.parquet"))):
        assert time.monotonic() < deadline, "no run was committed"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Continue with: polarbear run plan.toml --into 'my study'" in err
    kept = recorded(path)
    assert 0 < len(kept) < 48
    told = json.loads(polarbear("show", path, "--json")[0])
    assert (told["finished"], told["runs"], told["total"]) == (False, len(kept), 48)


@pytest.mark.slow
def test_a_time_limit_stops_a_plan_that_can_be_gone_on_with(study, tmp_path):
    """A run of `dawdle` takes 80 evaluations of 0.02 s at least, and there are 8 of them: 12.8 s."""
    folder_with(tmp_path, PLAN.replace("repetitions = 3", "repetitions = 1") + CRAWL.replace("crawl", "dawdle"))
    out, _ = polarbear("run", "plan.toml", "--into", "my study", "--seconds", 10, cwd=tmp_path)
    assert "Stopped: time limit: 10 s have passed.\nContinue with: polarbear run plan.toml --into 'my study'\n" in out
    kept = recorded(tmp_path / "my study")
    assert 0 < len(kept) < 24
    assert all(run.outcome.ok for run in store.read(tmp_path / "my study"))
    told = json.loads(polarbear("resume", "my study", *OWN, "--seconds", 0.001, "--json", cwd=tmp_path)[0])
    assert (told["finished"], told["ran"], told["stopped"]) == (False, 0, "time limit: 0.001 s have passed")
    told = json.loads(
        polarbear("resume", "my study", *OWN, "--workers", 2, "--seconds", 1000, "--json", cwd=tmp_path)[0]
    )
    assert (told["finished"], told["runs"], told["stopped"]) == (True, 24, "")
    assert {key: run for key, run in recorded(tmp_path / "my study").items() if key in kept} == kept


def test_messages_of_runs_that_are_ok_are_counted(tmp_path):
    folder_with(tmp_path, PLAN.replace("per_decade = 2", 'per_decade = 2\nparameters = ["damping"]'))
    out, _ = polarbear("run", "plan.toml", cwd=tmp_path)
    assert "48 runs are ok but have a message:\n" in out
    for name in ("stroll", "random search"):
        assert re.search(rf"  {name}: 24 runs; bbob-f.*, seed 0: watch: the optimizer never exposed 'damping'; ", out)
    shown = json.loads(polarbear("show", "plan.study", "--json", cwd=tmp_path)[0])
    assert [(one["algorithm"], one["count"]) for one in shown["remarks"]] in (
        [("stroll", 24), ("random search", 24)],
        [("random search", 24), ("stroll", 24)],
    )
    assert "48 runs are ok but have a message:" in polarbear("show", "plan.study", cwd=tmp_path)[0]


def test_show_counts_a_plan_whose_modules_are_gone_and_says_why_it_cannot_count_one_of_an_earlier_version(tmp_path):
    (tmp_path / "gone.py").write_text("def go(problem, rng):\n    problem(problem.lower)\n")
    folder_with(tmp_path, PLAN + '[[algorithms]]\noptimizer = "function"\nfunction = "gone:go"\n')
    polarbear("run", "plan.toml", cwd=tmp_path)
    (tmp_path / "gone.py").unlink()
    assert "72 of 72 runs" in polarbear("show", "plan.study", cwd=tmp_path)[0]
    with store.open(tmp_path / "plan.study", write=True) as study:
        settings = {name: value for name, value in study.spec["plan"].items() if name != "problems"}
        study.replace_spec(study.spec | {"plan": settings})
    out, _ = polarbear("show", "plan.study", cwd=tmp_path)
    assert "72 runs, " in out
    assert "the number of runs in the plan is unknown: the study was created by an earlier" in out
    shown = json.loads(polarbear("show", "plan.study", "--json", cwd=tmp_path)[0])
    assert (shown["total"], shown["finished"]) == (None, False)
    (tmp_path / "gone.py").write_text("def go(problem, rng):\n    problem(problem.lower)\n")
    polarbear("run", "plan.toml", cwd=tmp_path)
    assert "72 of 72 runs" in polarbear("show", "plan.study", cwd=tmp_path)[0]


def test_failures_are_told_at_the_end_with_the_way_to_their_tracebacks(tmp_path):
    folder_with(tmp_path, PLAN + CRAWL.replace("crawl", "crash"))
    out, err = polarbear("run", "plan.toml", cwd=tmp_path)
    assert "24 runs failed, timed out or were killed:" in out
    assert "crash: 24 runs failed; bbob-f" in out
    assert "RuntimeError: out of ideas" in out
    assert "Tracebacks: polarbear show plan.study" in out
    assert err.count("out of ideas") == 3
    assert "further ones are counted" in err
    shown, _ = polarbear("show", "plan.study", cwd=tmp_path)
    assert 'raise RuntimeError("out of ideas")' in shown


def test_what_says_nothing_tells_how_far_it_came_and_no_traceback_is_promised_where_there_is_none(tmp_path):
    begin = PLAN.index("[[algorithms]]")
    text = PLAN[:begin].replace("target_precision = 1e-8", "timeout = 0.3").replace('"40*d"', "1_000_000_000")
    text = text.replace("[1, 8]", "[1]").replace("[2, 3]", "[2]").replace('"1-2"', "[1]").replace(" = 3", " = 1")
    folder_with(tmp_path, text + '[[algorithms]]\noptimizer = "random-search"\n')
    out, err = polarbear("run", "plan.toml", cwd=tmp_path, code=1)
    told = r"after 0\.\d+ s and [\d,]+\s+evaluations\n"
    assert re.search(r"timed out: RandomSearch on bbob-f1-i1-d2 \(seed 0\): " + told, err)
    assert re.search("RandomSearch: 1 run timed out; bbob-f1-i1-d2, seed 0: " + told, out)
    assert "Tracebacks" not in out


def test_numbers_too_long_to_read_are_told_in_few_digits(capsys):
    problem = pb.problems.FunctionProblem(abs, lower=-1, upper=1, dimension=1)
    plan = pb.study.Plan({"guess": guess}, [problem], repetitions=10**12, budget=2**53)
    cost = AlgorithmCost(runs=plan.size, evaluations=plan.evaluations, seconds=1e27, per_evaluation={}, trouble="")
    found = Estimate(plan.size, 0, 1, {"guess": cost}, 1, 2, 0.5, 1, 10, 1.0, (1,))
    print_estimate(found, plan)
    out = capsys.readouterr().out
    assert "9.0e+27 evaluations at most" in out
    assert "about 3.2e+19 years with 1 worker, including 0.5 s to start them" in out
    assert not re.search(r"\d{6}|(,\d{3}){4}", out)


def test_if_every_run_fails_the_exit_code_says_so(tmp_path):
    begin = PLAN.index("[[algorithms]]")
    folder_with(tmp_path, PLAN[:begin] + CRAWL.replace("crawl", "stillborn"))
    out, _ = polarbear("run", "plan.toml", cwd=tmp_path, code=1)
    assert "ImportError: no such solver" in out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('budget = "40*d"', "", "line 2: plan.budget is missing"),
        ('budget = "40*d"', 'budget = "40*n"', "line 3: '40*n' is not a budget; write a positive number"),
        ('budget = "40*d"', "budget = -40", "line 3: budget is -40"),
        ('budget = "40*d"', "budget = true", "line 3: budget is True"),
        ("repetitions = 3", 'repetitions = "three"', "line 4: plan.repetitions is 'three'; it must be a whole number"),
        ("repetitions = 3", "repetitions = 0", "line 4: plan.repetitions is 0; it must be 1 or more"),
        (
            "repetitions = 3",
            "repetition = 3",
            "line 4: plan.repetition is not a field of a plan; did you mean 'repetitions'?",
        ),
        (
            "repetitions = 3",
            'repetitions = 3\naxis = "hours"',
            "line 5: plan.axis is 'hours'; choose from: evaluations, seconds",
        ),
        ("[plan]", "[pan]", "line 2: pan is not a field of a plan; did you mean 'plan'?"),
        ('suite = "bbob"', 'suite = "bob"', "line 7: suite 'bob' is unknown"),
        ("functions = [1, 8]", "functions = [1, 25]", "line 8: suite 'bbob': "),
        ("dimensions = [2, 3]", "dimensoins = [2, 3]", "line 9: suite 'bbob' has no argument 'dimensoins'"),
        ('instances = "1-2"', "draws = 0", "line 10: draws is 0"),
        ("target_precision = 1e-8", "target_precision = -1", "line 13: limits.target_precision is -1"),
        ("target_precision = 1e-8", "seconds = 10", "line 13: limits.seconds is not a field of a plan"),
        ("per_decade = 2", "per_decade = 0", "line 16: log.per_decade is 0"),
        ("per_decade = 2", "", "line 15: watch does not say when to log"),
        ("per_decade = 2", 'every = 5\nparameters = ["a", "a"]', "line 17: "),
        ('optimizer = "random-search"', 'optimizer = "random"', "line 25: optimizer 'random' is unknown"),
        (
            'optimizer = "random-search"',
            'optimizer = "random-search"\nstep = 3',
            "line 26: optimizer 'random-search' has no argument 'step'",
        ),
        ('name = "random search"', 'name = "stroll"', "line 24: two algorithms are named 'stroll'"),
        (
            'optimizer = "random-search"',
            'optimizer = "growing-budgets"\n[algorithms.family]\noptimizer = "modular-de"\nrestrts = 3',
            "line 28: optimizer 'growing-budgets': optimizer 'modular-de' has no argument 'restrts'",
        ),
        ("repetitions = 3", "repetitions = 3 3", "at line 4"),
        ("[[algorithms]]", "[[algorithm]]", "line 18: algorithm is not a field of a plan"),
    ],
)
def test_faults_of_a_plan_are_named_with_their_line(tmp_path, old, new, message):
    assert old in PLAN
    file = folder_with(tmp_path, PLAN.replace(old, new, 1 if old != "[[algorithms]]" else 2)) / "plan.toml"
    with pytest.raises(StudyFileError) as caught:
        read_plan(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)


def test_plans_and_races_are_told_apart(tmp_path):
    plan = folder_with(tmp_path) / "plan.toml"
    (tmp_path / "race.toml").write_text(SMALL)
    assert (
        f"line 2: this is a plan, not a race, which has a table [race]; run it with: polarbear run {plan}"
        in polarbear("race", plan, code=2)[1]
    )
    assert (
        "this is a race, not a plan, which has a table [plan]; race it with"
        in polarbear("run", tmp_path / "race.toml", code=2)[1]
    )
    assert "there is no plan at" in polarbear("run", tmp_path / "none.toml", code=2)[1]


def test_the_example_is_a_plan():
    plan = read_plan(ROOT / "examples/plan.toml")
    assert plan.size == 4 * 24 * 3 * 3 * 5
    assert plan.watch.per_decade == 5


def test_merge_unites_studies_and_the_result_can_be_gone_on_with(study, tmp_path):
    path, _, _ = study
    begin, end = PLAN.index("[[algorithms]]"), PLAN.rindex("[[algorithms]]")
    for name, text in (("stroll", PLAN[:end]), ("random", PLAN[:begin] + PLAN[end:])):
        made(tmp_path, text, name)
    told = json.loads(polarbear("merge", "stroll.study", "random.study", "--into", "both", "--json", cwd=tmp_path)[0])
    assert (told["runs"], told["taken"]) == (48, {"stroll.study": 24, "random.study": 24})
    folder_with(tmp_path)
    assert json.loads(polarbear("run", "plan.toml", "--into", "both", "--json", cwd=tmp_path)[0])["ran"] == 0
    assert recorded(tmp_path / "both").keys() == recorded(path).keys()

    out, err = polarbear("merge", "both", path, "--into", "again", cwd=tmp_path)
    assert "48 runs are the same in several studies (48 except for clocks or error texts, kept" in err
    assert "48 runs: 48 of both, 0 of " in out


def test_merge_lists_conflicts_and_writes_nothing(study, tmp_path):
    path, _, _ = study
    made(tmp_path, PLAN.replace('"40*d"', '"30*d"'))
    out, err = polarbear("merge", path, "plan.study", "--into", "both", "--json", cwd=tmp_path, code=2)
    assert "differ between the studies; nothing was written" in err
    assert "it ended differently (budget after 80 evaluations, budget after 60 evaluations)" in err
    assert len(json.loads(out)["conflicts"]) >= 24
    assert not (tmp_path / "both").exists()
    _, err = polarbear("merge", path, "plan.study", "--into", "both", "--keep-first", cwd=tmp_path)
    assert "runs differ, kept as in the first study: " in err
    assert "settings differ, so the new study has no plan: plan.budget is '40*d' in" in err
    assert recorded(tmp_path / "both") == recorded(path)
    assert "give at least two different studies" in polarbear("merge", path, "--into", "x", code=2, cwd=tmp_path)[1]
    assert "is already a study" in polarbear("merge", path, "both", "--into", "both", code=3, cwd=tmp_path)[1]


def test_merge_says_that_rounds_are_left_behind(tmp_path):
    for seed in (1, 2):
        begin, end = SMALL.index('[[algorithms]]\nname = "CMA-ES"'), SMALL.index('[[algorithms]]\nname = "random')
        (tmp_path / "race.toml").write_text((SMALL[:begin] + SMALL[end:]).replace("seed = 1", f"seed = {seed}"))
        spec = read_spec(tmp_path / "race.toml")
        stop = StopRules(instances=1)
        race(spec.build_race(), spec.build_instances(), tmp_path / f"r{seed}", executor=Immediate(), stop=stop)
    _, err = polarbear("merge", "r1", "r2", "--into", "both", cwd=tmp_path)
    assert "2 rounds of races are not merged; race on the runs with: polarbear race --from both" in err
    assert json.loads(polarbear("race", "--from", "both", "--json", cwd=tmp_path)[0])["blocks"] >= 16


def test_every_option_is_documented():
    page = (ROOT / "docs/reference/cli.md").read_text()
    for command in ("run", "merge"):
        section = page.partition(f"## `polarbear {command} ")[2].partition("\n## ")[0]
        for option in set(re.findall(r"--[a-z-]+", polarbear(command, "--help")[0])) - {"--help", "--json"}:
            assert f"`{option}" in section, f"{command} {option} is not documented"


@pytest.mark.parametrize("section", [PlanSpec, PlanSection, RunLimitsSection])
def test_every_field_of_a_plan_is_documented(section):
    page = (ROOT / "docs/reference/study-file.md").read_text().partition("# Plans")[2]
    check_documented(section, page)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0123, "0.012 s"),
        (0.96, "0.96 s"),
        (8.4, "8.4 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3599.7, "60 min"),
        (7500, "2 h 5 min"),
        (273_600, "3 d 4 h"),
        (31_536_000, "1 year"),
        (31_536_000 * 2.5, "2 years 182 d"),
        (9e27, "2.9e+20 years"),
    ],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_a_terminal_shows_the_time_left_or_what_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("polarbear.study.time_left._FIRST_WORD", 0.0)
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    shown = []
    with PlanProgress(console) as progress:
        words = progress._words
        progress._words = lambda: shown.append(words()) or shown[-1]
        plan = read_plan(folder_with(tmp_path) / "plan.toml")
        run_plan(plan, tmp_path / "plan.study", executor=Immediate(), observer=progress)
    assert shown[0] == "time left unknown: no run of stroll is in"
    assert re.fullmatch(r"about .* s left", shown[-2])
    assert shown[-1] == "about 0 s left"
    assert "48/48 runs" in re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())


def test_modules_that_a_plan_names_are_imported_and_may_register_problems(tmp_path):
    """Workers and a later resume find the function by its module, without the registration."""
    (tmp_path / "bowls.py").write_text(
        "import polarbear as pb\n\ndef bowl(x):\n    return float(x @ x)\n\n"
        'pb.problems.register("bowl", bowl, lower=-5, upper=5, dimension=10)\n'
    )
    plan = '[plan]\nrepetitions = {}\nbudget = 50\n[instances]\nsuite = "bowl"\ndimension = 3\n'
    (tmp_path / "plan.toml").write_text(
        'imports = ["bowls"]\n' + plan.format(1) + '[[algorithms]]\noptimizer = "random-search"\n'
    )
    polarbear("run", "plan.toml", "--workers", "2", cwd=tmp_path)
    assert {run.key.instance for run in store.read(tmp_path / "plan.study")} == {"bowl-d3"}
    polarbear("resume", "plan.study", "--import", "bowls", cwd=tmp_path)
    (tmp_path / "plan.toml").write_text('\nimports = ["bowlz"]\n' + plan.format(1) + "[[algorithms]]\n")
    _, err = polarbear("run", "plan.toml", cwd=tmp_path, code=2)
    assert "line 2: " in err
    assert "'bowlz' cannot be imported: ModuleNotFoundError" in err


def test_an_algorithm_that_never_evaluates_does_not_keep_others_from_being_assessed_and_runs_alone_are_shown(tmp_path):
    (tmp_path / "mine.py").write_text("def boom(problem, rng):\n    raise RuntimeError('no')\n")
    (tmp_path / "mix.toml").write_text(
        '[plan]\nbudget = 50\n[instances]\nsuite = "bbob"\nfunctions = 1\ndimensions = 2\ninstances = 1\n'
        '[[algorithms]]\noptimizer = "function"\nfunction = "mine:boom"\n[[algorithms]]\noptimizer = "random-search"\n'
    )
    polarbear("run", "mix.toml", cwd=tmp_path)
    assert "RandomSearch" in polarbear("assess", "mix.study", cwd=tmp_path)[0]
    polarbear("import", "mix.study", "--into", "imported.study", cwd=tmp_path)
    assert "RuntimeError: no" in polarbear("show", "imported.study", cwd=tmp_path)[0]
    assert "contains only runs" in polarbear("resume", "imported.study", cwd=tmp_path, code=3)[1]

"""The command line, run as a user runs it."""

import ast
import inspect
import io
import json
import os
import re
import shutil
import signal
import time
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from polarbear import store
from polarbear.progress import LiveProgress
from polarbear.racing import Race
from polarbear.records import Reason, lost
from polarbear.simulate import Truth
from polarbear.study import load
from polarbear.study.files import Root
from tests.cli.commands import ROOT, polarbear, start

SMALL = """
[race]
times = { first = 10, last = 300, count = 8 }
alpha = 0.9
epsilon = 0.15
resolution = "crossing"
seed = 1

[instances]
suite = "bbob"
functions = [1, 8, 15]
dimensions = [2]

[[algorithms]]
name = "CMA-ES"
optimizer = "modular-cmaes-anytime"

[[algorithms]]
name = "random search"
optimizer = "random-search"

[[algorithms]]
name = "crawl"
optimizer = "function"
function = "tests.study.entrants:crawl"
"""

OWN = ("--import", "tests.study.entrants")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "small.toml").write_text(SMALL)
    out, err = polarbear("race", "small.toml", "--workers", "2", cwd=folder)
    return folder / "small.study", out, err


def test_race_prints_the_pareto_set_and_a_line_per_round(study):
    _, out, err = study
    assert "CMA-ES" in out
    assert re.search(r"round 1: 8 instances, 7,200 evaluations", err)


def test_show_says_the_same_to_people_and_machines(study):
    path, out, _ = study
    assert polarbear("show", path)[0].strip() in out
    shown = json.loads(polarbear("show", path, "--json")[0])
    assert shown["finished"] is True
    assert "CMA-ES" in shown["pareto_set"]
    assert shown["study"] == str(path)
    assert 0 < shown["saved"] < 1
    assert {"win rates", "first places"} <= {one["name"] for one in shown["checks"]}


def test_racing_a_finished_study_again_runs_nothing_and_says_the_same(study):
    path, out, _ = study
    again, err = polarbear("race", path.with_suffix(".toml"))
    assert again == out
    assert "round" not in err.replace("after round", "")


@pytest.mark.parametrize("criterion", ["p2bb", "expected", "quantile"])
def test_select(study, criterion):
    path, _, _ = study
    selection = json.loads(polarbear("select", path, "--criterion", criterion, "--size", 2, "--json")[0])
    assert selection["criterion"] == criterion
    assert all(len(choice["members"]) == 2 for choice in selection["choices"])
    assert "best under a log-uniform preference" in polarbear("select", path, "--budget", "log-uniform")[0]


def test_budgets_may_be_multiples_of_the_dimension(study):
    path, _, _ = study
    dimension = load(path).result.problems[0].dimension
    assert dimension > 1
    times = load(path).result.posterior.times
    budget = f"{times[-1] / dimension:g}*d"
    assert polarbear("select", path, "--budget", budget) == polarbear("select", path, "--budget", f"{times[-1]:g}")


def test_check(study):
    path, _, _ = study
    told = json.loads(polarbear("check", path, "--model", "hierarchical-dirichlet", "--json")[0])
    names = [model["name"] for model in told["comparison"]["models"]]
    assert sorted(names) == ["hierarchical-dirichlet", "instance-bootstrap"]
    assert told["model"] == "instance-bootstrap"
    assert len(told["checks"]) == 6
    text = polarbear("check", path)[0]
    assert "random-walk" in text
    assert all(check["name"] in text for check in told["checks"])
    assert "for studies without a race" in polarbear("check", path, "--dimension", 5, code=2)[1].replace("\n", " ")
    assert "there is no model 'spline'" in polarbear("check", path, "--model", "spline", code=2)[1]


def test_report(study, tmp_path):
    path, _, _ = study
    page = tmp_path / "page.html"
    assert json.loads(polarbear("report", path, "--output", page, "--json")[0]) == {"report": str(page)}
    assert "CMA-ES" in page.read_text()
    assert "report.html" in polarbear("report", path)[0]
    assert (path / "report.html").exists()


def test_suites_and_optimizers_are_listed():
    assert "ma-bbob" in json.loads(polarbear("suites", "--json")[0])
    assert "modular-cmaes-anytime" in json.loads(polarbear("optimizers", "--json")[0])
    assert "dimension" in polarbear("suites")[0]
    assert "step_size_adaptation" in polarbear("optimizers", "--fields")[0]


def test_version():
    assert polarbear("--version")[0].startswith("polarbear 0.")


def test_ctrl_c_leaves_a_study_that_resumes_to_the_same_answer(study, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    path = tmp_path / "small.study"
    process = start("race", "small.toml", cwd=tmp_path, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (store.exists(path) and list((path / "runs").glob("*.parquet"))):
        assert time.monotonic() < deadline, "no run was committed"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Continue with: polarbear resume" in err
    resumed = json.loads(polarbear("resume", path, *OWN, "--json")[0])
    whole = json.loads(polarbear("show", study[0], "--json")[0])
    for field in ("pareto_set", "eliminated", "evaluations", "finished"):
        assert resumed[field] == whole[field]


def test_an_algorithm_is_withdrawn_by_name_and_a_name_that_is_none_is_refused(study, tmp_path):
    path = shutil.copytree(study[0], tmp_path / "a.study")
    _, err = polarbear("resume", path, *OWN, "--withdraw", "CMA", code=2)
    assert "no algorithm of the race is named 'CMA'; did you mean 'CMA-ES'" in err
    out, err = polarbear("resume", path, *OWN, "--withdraw", "CMA-ES")
    assert "CMA-ES was withdrawn" in out
    assert "CMA-ES withdrawn" in err
    (tmp_path / "a.toml").write_text(SMALL)
    again = json.loads(polarbear("race", "a.toml", "--json", cwd=tmp_path)[0])
    assert again["pareto_set"]
    assert "CMA-ES" not in again["pareto_set"]
    _, err = polarbear("race", "--from", path, "--withdraw", "crawl", code=2)
    assert "--accept-damage and --take-over cannot be used with --from" in err


def test_a_limit_stops_with_a_valid_answer_and_says_how_to_go_on(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL.replace("alpha = 0.9", "alpha = 0.9999"))
    out, _ = polarbear("race", "small.toml", "--seconds", "0.001", cwd=tmp_path)
    assert "Stopped: time limit" in out
    assert "Continue with: polarbear resume small.study --import tests.study.entrants\n" in out
    assert json.loads(polarbear("show", "small.study", "--json", cwd=tmp_path)[0])["finished"] is False


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("alpha = 0.9", "alhpa = 0.9", "line 4: race.alhpa is not a field of a study file"),
        ("alpha = 0.9", "alpha = 0.4", "line 4: race.alpha is 0.4; it must be above 0.5 and at most 1"),
        ("alpha = 0.9", 'alpha = "high"', "line 4: race.alpha is 'high'"),
        ('suite = "bbob"', 'suite = "bob"', "line 10: suite 'bob' is unknown"),
        ("functions = [1, 8, 15]", "functions = [1, 8, 25]", "line 11: "),
        ('optimizer = "random-search"', 'optimizer = "random"', "line 20: optimizer 'random' is unknown"),
        ('"modular-cmaes-anytime"', '"modular-cmaes-anytime"\nstep_size = "CSA"', "step_size_adaptation"),
        ("seed = 1", "seed = 1 1", "line 7"),
        ("seed = 1", "seed = 1\n[model]\nmodel = 'spline'", "line 9: "),
        ("seed = 1", "seed = 1\n[log]\nper_decade = 0", "line 9: log.per_decade is 0"),
        ("seed = 1", "seed = 1\n[log]\nrecommendations = true", "line 8: watch does not say when to log"),
        (
            "seed = 1",
            "seed = 1\n[log]\neveri = 5",
            "line 9: log.everi is not a field of a study file; did you mean 'every'",
        ),
        (
            "seed = 1",
            "seed = 1\nsmallest_batch = 9\nlargest_batch = 5",
            "line 8: smallest_batch is 9, batch 8, largest_",
        ),
        ("[race]", "[rice]", "rice is not a field"),
        (
            "resolution",
            "resolutions",
            "resolutions is not a field of a study file; did you mean 'resolution'? choose from",
        ),
        ("first = 10, last = 300", "first = 300, last = 10", "line 3: log_times needs 0 < first < last"),
        ("count = 8", "cuont = 8", "line 3: race.times.cuont is not a field of a study file; did you mean 'count'?"),
        ("times = {", "times = 5 #", "race.times is 5"),
        ('"tests.study.entrants:crawl"', '"brokenly:f"', "SyntaxError"),
    ],
)
def test_faults_of_a_study_file_are_named(tmp_path, old, new, message):
    assert old in SMALL
    (tmp_path / "brokenly.py").write_text("def f(:")
    file = tmp_path / "faulty.toml"
    file.write_text(SMALL.replace(old, new, 1))
    out, err = polarbear("race", file, code=2)
    assert out == ""
    assert f"polarbear: {file}: " in err
    assert message in err
    assert "Traceback" not in err
    assert not file.with_suffix(".study").exists()


def test_a_race_logs_what_its_file_asks_for_and_goes_on_with_it(tmp_path):
    text = (
        SMALL.replace("alpha = 0.9", "alpha = 0.9999") + '[log]\nevery = 100\nparameters = ["step_size", "damping"]\n'
    )
    (tmp_path / "small.toml").write_text(text)
    _, err = polarbear("race", "small.toml", "--seconds", "0.001", cwd=tmp_path)
    assert "24 runs have messages: polarbear show small.study" in err
    polarbear("resume", "small.study", *OWN, "--instances", 16, cwd=tmp_path)
    runs = store.read(tmp_path / "small.study")
    assert len(runs) > 24
    for run in runs:
        assert run.parameters.evaluations.tolist() == [100, 200, 300][: run.outcome.evaluations // 100]
        assert list(run.parameters.values) == ["step_size", "damping"]
    assert any((run.parameters.values["step_size"] > 0).all() for run in runs if run.key.algorithm == "CMA-ES")
    out, _ = polarbear("show", "small.study", cwd=tmp_path)
    assert f"{len(runs)} runs are ok but have a message:" in out
    assert re.search(r"  crawl: \d+ runs; bbob-.*: watch: the optimizer never exposed 'step_size', 'damping'", out)
    shown = json.loads(polarbear("show", "small.study", "--json", cwd=tmp_path)[0])
    assert sum(one["count"] for one in shown["remarks"]) == len(runs)
    (tmp_path / "small.toml").write_text(text.replace("every = 100", "every = 50"))
    assert "log.every was 100 and is now 50" in polarbear("race", "small.toml", code=2, cwd=tmp_path)[1]
    (tmp_path / "small.toml").write_text(text.partition("[log]")[0])
    assert "log is gone" in polarbear("race", "small.toml", code=2, cwd=tmp_path)[1]


def test_other_settings_and_missing_files_are_named(study, tmp_path):
    path, _, _ = study
    other = tmp_path / "other.toml"
    other.write_text(SMALL.replace("alpha = 0.9", "alpha = 0.95"))
    assert "race.alpha was 0.9 and is now 0.95" in polarbear("race", other, "--into", path, code=2)[1]
    assert "no study file at" in polarbear("race", tmp_path / "none.toml", code=2)[1]
    assert "none.study" in polarbear("show", tmp_path / "none.study", code=3)[1]


def test_a_broken_objective_is_an_error_and_not_an_answer(tmp_path):
    file = tmp_path / "boom.toml"
    problem = 'suite = "function"\nfunction = "tests.study.entrants:boom"\nlower = 0\nupper = 1\ndimension = 2'
    begin, end = SMALL.index('suite = "bbob"'), SMALL.index("\n\n[[algorithms]]")
    file.write_text(SMALL[:begin] + problem + SMALL[end:])
    out, err = polarbear("race", file, code=1)
    assert out == ""
    assert "RuntimeError: boom" in err
    assert "no round is complete" in polarbear("select", tmp_path / "boom.study", code=3)[1]
    assert "has too few results yet" in polarbear("check", tmp_path / "boom.study", code=3)[1]


def test_modules_are_found_beside_the_study_file(tmp_path):
    (tmp_path / "beside_the_file.py").write_text("def f(x):\n    return float(x @ x)\n")
    file = tmp_path / "own.toml"
    problem = 'suite = "function"\nfunction = "beside_the_file:f"\nlower = -1\nupper = 1\ndimension = 2'
    begin, end = SMALL.index('suite = "bbob"'), SMALL.index("\n\n[[algorithms]]")
    file.write_text("\ufeff" + SMALL[:begin] + problem + SMALL[end:], encoding="utf-8")
    polarbear("race", file, "--seconds", "0.001")
    assert json.loads(polarbear("resume", tmp_path / "own.study", "--instances", 16, "--trust", "--json")[0])[
        "pareto_set"
    ]


def test_a_directory_is_no_study_file(study):
    assert "polarbear resume" in polarbear("race", study[0], code=2)[1]


def test_a_locked_study_names_its_holder(study):
    path, _, _ = study
    with store.open(path, write=True):
        assert str(os.getpid()) in polarbear("resume", path, *OWN, code=3)[1]


def test_every_option_and_exit_code_is_documented():
    page = (ROOT / "docs/reference/cli.md").read_text()
    commands = ("race", "run", "merge", "resume", "show", "select", "check", "report", "suites", "optimizers")
    for command in (
        *commands,
        "import",
        "export",
        "assess",
        "compare",
        "table",
        "models",
        "conform",
        "verify",
        "landscape",
    ):
        assert f"polarbear {command}" in page
        text = polarbear(command, "--help")[0]
        for option in set(re.findall(r"--[a-z-]+", text)) - {"--help"}:
            assert f"`{option}" in page, f"{command} {option} is not documented"


def test_every_field_of_a_study_file_is_documented():
    from polarbear.study.spec import LimitsSection, LogSection, RaceSection, StudySpec, TimesSection

    page = (ROOT / "docs/reference/study-file.md").read_text().partition("# Plans")[0]
    assert descriptions(TimesSection).keys() == {"first", "last", "count", "spacing"}  # they are found
    for section in (StudySpec, RaceSection, TimesSection, LimitsSection, LogSection):
        check_documented(section, page)


def check_documented(section, page):
    """Each field of a table has a row with its default, and with its description if the code has one."""
    described = descriptions(section)
    for name, field in section.model_fields.items():
        start = f"| `{name}` |"
        if not issubclass(section, Root):
            default = "none" if field.default in (None, ()) else f"`{json.dumps(field.default, default=str)}`"
            start += f" {'required' if field.is_required() else default} |"
        rows = [line for line in page.splitlines() if line.startswith(start)]
        assert any(described.get(name, "") in row for row in rows), f"{section.__name__}.{name} is not documented"


def descriptions(section):
    """The strings below the fields of a table's class, by field."""
    body = ast.parse(inspect.getsource(section)).body[0].body
    return {
        field.target.id: inspect.cleandoc(below.value.value)
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr)
    }


def test_progress_tells_the_withdrawn_from_those_set_aside_and_nothing_of_rivals_before_the_first_run():
    truth, out = Truth(np.array([10.0]), np.array([[0.5, 0.3, 0.2]]), ("A", "B", "C")), io.StringIO()
    live, race = LiveProgress(Console(file=out, width=120)), Race(truth.names, times=truth.times)
    live.round_finished(race, race.withdraw("C"))
    live._console.print(live._table(race))
    line, _, *rows = out.getvalue().splitlines()
    assert line.endswith("; C withdrawn")
    assert [row.split() for row in rows] == [
        ["A", "racing", *"–––"],
        ["B", "racing", *"–––"],
        ["C", "withdrawn", *"–––"],
    ]
    requests = race.ask()
    runs = [truth.run(one.key, one.until) for one in requests if one.key.algorithm == "A"]
    this = race.tell([*runs, *(lost(one.key, Reason.KILLED, "") for one in requests if one.key.algorithm == "B")])
    live.round_finished(race, this)
    live._console.print(live._table(race))
    assert "; B set aside\n" in out.getvalue()
    assert out.getvalue().splitlines()[-2].split()[:3] == ["B", "set", "aside"]

"""Studies and files made by somebody who means harm, opened by the commands as a user runs them."""

import copy
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from distributed import Client, LocalCluster, Security
from typer.testing import CliRunner

import polarbear as pb
from polarbear import machine, store
from polarbear.cli.app import app
from polarbear.descriptions import own_object, printable
from polarbear.experiment import DaskExecutor, run_tasks
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory
from polarbear.store.atomic import write_atomically

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("polarbear")
LOOKING = (
    "show",
    "select",
    "check",
    "report",
    "assess",
    "compare",
    "table",
    "export",
    "merge",
    "verify",
    "race --from",
)
PLAN = """
[plan]
budget = 5
[instances]
suite = "bbob"
functions = 1
dimensions = 2
instances = 1
[[algorithms]]
"""
HARM = "\x1b]0;harm\x07\x9b31m\u202e=cmd"


def polarbear(*arguments, cwd, code=0, **environment):
    """The installed command, in a process and a folder of its own."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def here(*arguments):
    """A command in this process."""
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert isinstance(done.exception, SystemExit | ValueError | OSError | store.StudyError | None), done.exception
    return f"{done.output}{done.exception or ''}"


def look(command, study, into):
    """One of the commands that run nothing, on a study."""
    more = {
        "report": ["--output", into / "report.html"],
        "assess": ["--into", into / "assessment"],
        "export": ["--to", into / "runs.csv", "--format", "csv"],
        "merge": [study.with_name("plan.study"), "--into", into / "merged.study"],
    }
    return here(*command.split(), study, *more.get(command, []))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A plan and a race, both small, and honestly run."""
    folder = tmp_path_factory.mktemp("trust")
    entrants = [pb.optimizers.RandomSearch(), pb.optimizers.QuasiRandomSearch()]
    pb.study.run_plan(
        pb.study.Plan(entrants, pb.problems.BBOB(functions=[1], dimensions=[2]), budget=20, draws=4),
        folder / "plan.study",
    )
    race = pb.Race(entrants, times=[5, 20], seed=1, smallest_batch=2, batch=2, draws=200)
    pb.study.race(
        race,
        pb.problems.BBOB(functions=[1], dimensions=[2]),
        folder / "race.study",
        stop=pb.study.StopRules(instances=2),
    )
    return folder


def forged(study, path, **parts):
    """A study like another one, with parts of its specification replaced."""
    with store.open(study) as honest, store.create(path, copy.deepcopy(honest.spec) | parts) as made:
        made.extend(honest.runs())
        for content in honest.rounds():
            made.append_round(content)
    return path


def attacks(canary):
    """Parts of specifications that run code if anything is built from them."""
    touch, evil = f"touch {canary}", "harmful:function"
    shell = {"optimizer": "os:system", "command": touch}
    problem = {"problem": "function", "function": evil, "lower": -1, "upper": 1, "dimension": 2}
    optimizers = {
        "system": shell,
        "Popen": {"optimizer": "subprocess:Popen", "args": ["touch", str(canary)]},
        "an optimizer within another": {"optimizer": "growing-budgets", "family": shell},
        "a function": {"optimizer": "function", "function": evil},
    }
    for name, description in optimizers.items():
        yield name, {"algorithms": {"RandomSearch": description, "QuasiRandomSearch": description}}
    instances = {
        "a suite": {"suite": "os:system", "command": touch},
        "a list": {"suite": "list", "problems": [{"problem": "os:system", "command": touch}]},
        "a function to optimize": {"suite": "list", "problems": [problem]},
        "a constraint": {
            "suite": "list",
            "problems": [problem | {"function": "math:fsum", "constraints": [{"function": evil}]}],
        },
        "a variation": {"suite": "variations", "stream": {"suite": "list", "problems": [problem]}},
    }
    for name, description in instances.items():
        yield name, {"instances": description}


@pytest.mark.parametrize("name", [name for name, _ in attacks("")])
@pytest.mark.parametrize("kind", ["plan", "race"])
def test_looking_at_a_study_runs_none_of_its_code(folder, tmp_path, monkeypatch, name, kind):
    canary = tmp_path / "canary"
    (tmp_path / "harmful.py").write_text(f"open({str(canary)!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.study").symlink_to(folder / "plan.study")
    study = forged(folder / f"{kind}.study", tmp_path / "strange.study", **dict(attacks(canary))[name])
    for command in LOOKING if name in {"system", "a suite"} else ("show",):
        look(command, study, tmp_path)
    assert "harmful" not in sys.modules
    assert not canary.exists()
    assert "for all of it (imports=… in Python)" in here("resume", study)
    assert "harmful" not in sys.modules
    assert not canary.exists()


def test_a_study_is_gone_on_with_only_if_its_modules_are_named(folder, tmp_path):
    own = {"optimizer": "tests.attacks.own:Guess"}
    algorithms = {"RandomSearch": {"optimizer": "random-search"}, "QuasiRandomSearch-SOBOL": own | {"name": "guess"}}
    mine = forged(folder / "plan.study", tmp_path / "mine.study", algorithms=algorithms)
    for named in ((), ("--import", "tests.attack")):
        said = here("resume", mine, *named)
        assert "asks to import and run code that is not part of polarbear: tests.attacks.own:Guess" in said
        assert "--import tests.attacks.own, or use --trust" in said
    assert f"importing the modules that {mine} names: tests.attacks.own\n" in polarbear(
        "resume", mine, "--trust", cwd=tmp_path
    )
    for named in ("tests.attacks.own", "tests"):
        assert "8 of 8 runs" in here("resume", mine, "--import", named)


def test_trust_makes_no_command_of_what_is_no_optimizer(folder, tmp_path):
    canary = tmp_path / "canary"
    for name, parts in attacks(canary):
        if "os:system" in json.dumps(parts) or "Popen" in json.dumps(parts):
            study = forged(folder / "plan.study", tmp_path / f"{name}.study", **parts)
            assert "does not name a class of" in here("resume", study, "--trust")
    (tmp_path / "plan.toml").write_text(PLAN + f'optimizer = "os:system"\ncommand = "touch {canary}"\n')
    assert "'os:system' does not name a class of optimizers" in here("run", tmp_path / "plan.toml")
    assert "subprocess:Popen does not name a class of optimizers" in here("conform", "subprocess:Popen")
    assert not canary.exists()


@pytest.mark.parametrize(
    "place", ["os:system", "subprocess:Popen", "shelve:open", "pathlib:Path", "builtins:eval", "threading:Thread"]
)
def test_only_classes_of_the_kind_are_called_when_something_is_built(place):
    for kind in ("optimizer", "suite"):
        with pytest.raises(ValueError, match=f"does not name a class of {kind}s"):
            own_object({kind: place}, kind)


def test_the_name_of_an_algorithm_asks_for_no_import(folder, tmp_path):
    named = {"optimizer": "random-search", "name": "os:system"}
    study = forged(folder / "plan.study", tmp_path / "named.study", algorithms={"os:system": named})
    assert pb.study.modules_of(store.open(study).spec) == ()


def test_modules_beside_a_study_are_not_imported(folder, tmp_path):
    forged(folder / "race.study", tmp_path / "race.study")
    for name in ("polars", "numpy", "rich", "typer", "json", "matplotlib", "nevergrad", "jinja2", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w').write({name!r})\n")
    polarbear("show", "race.study", cwd=tmp_path)
    polarbear("assess", "race.study", cwd=tmp_path)
    assert not (tmp_path / "canary").exists()


def test_commands_that_run_code_look_in_the_current_folder_last(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def guess(problem, rng):\n    import polars, scipy\n"
        "    while True:\n        problem(rng.uniform(problem.lower, problem.upper))\n"
    )
    for name in ("polars", "scipy", "nlopt"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w').write({name!r})\n")
    (tmp_path / "plan.toml").write_text(PLAN + 'optimizer = "function"\nfunction = "mine:guess"\n')
    assert "1 of 1 runs, 5 evaluations" in polarbear("run", "plan.toml", cwd=tmp_path)
    assert not (tmp_path / "canary").exists()


def test_no_folder_is_looked_in_for_a_study_that_names_no_modules(folder, tmp_path, monkeypatch):
    """Otherwise ``nlopt.py`` beside it would take the place of a package that is not installed."""
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    here("resume", folder / "plan.study", "--trust")
    assert sys.path == before


def test_settings_of_matplotlib_in_the_current_folder_change_no_figure(folder, tmp_path):
    here("report", folder / "race.study", "--output", tmp_path / "one.html")
    (tmp_path / "matplotlibrc").write_text(
        "backend: module://harmful\nsvg.fonttype: none\nsavefig.bbox: tight\nsavefig.facecolor: red\ntext.usetex: yes\n"
    )
    (tmp_path / "harmful.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w')\n")
    polarbear("report", folder / "race.study", "--output", "two.html", cwd=tmp_path)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert not (tmp_path / "canary").exists()


# Links


@pytest.fixture
def victim(tmp_path):
    file = tmp_path / "victim.txt"
    file.write_text("precious")
    yield file
    assert file.read_text() == "precious"


def test_a_report_writes_through_no_link(folder, tmp_path, victim):
    study = forged(folder / "race.study", tmp_path / "strange.study")
    for name in ("report.html", f".tmp-report.html-{os.getpid()}"):
        (study / name).symlink_to(victim)
    here("report", study)
    assert not (study / "report.html").is_symlink()
    assert "polarbear report" in (study / "report.html").read_text()


def test_names_of_unfinished_files_cannot_be_guessed(tmp_path, monkeypatch):
    opened = []
    really = Path.open
    monkeypatch.setattr(Path, "open", lambda path, mode: opened.append((path.name, mode)) or really(path, mode))
    for _ in range(2):
        write_atomically(tmp_path / "page.html", b"text")
    assert len({name for name, _ in opened}) == 2
    for name, mode in opened:
        assert re.fullmatch(r"\.tmp-page\.html-[0-9a-f]{16}", name)
        assert mode == "xb", "only a file that is not there yet"


def test_locks_are_taken_through_no_link(folder, tmp_path, victim):
    study = forged(folder / "plan.study", tmp_path / "strange.study")
    (study / "lock").unlink(missing_ok=True)
    (study / "lock").symlink_to(victim)
    assert "strange.study cannot be opened for writing" in here("resume", study)
    (study / "lock").unlink()
    (study / "lock.json").symlink_to(victim)
    assert "8 of 8 runs" in here("resume", study)
    assert not (study / "lock.json").exists()


def test_locks_of_cores_are_taken_through_no_link(tmp_path, victim, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for core in os.sched_getaffinity(0):
        (tmp_path / f"polarbear-{os.getuid()}-core-{core}.lock").symlink_to(victim)
    lock, why = machine.take_core()
    assert lock is None
    assert "no core could be reserved" in why


@pytest.mark.parametrize("name", ["runs", "rounds"])
def test_folders_of_a_study_that_are_links_are_read_and_not_written(folder, tmp_path, name):
    study, outside = forged(folder / "plan.study", tmp_path / "strange.study"), tmp_path / "outside"
    (study / name).rename(outside)
    (study / name).symlink_to(outside)
    (outside / ".tmp-precious").write_text("kept")
    before = sorted(outside.iterdir())
    assert "8 of 8 runs" in here("show", study)
    said = here("resume", study)
    why = "the directory is a symbolic link, which polarbear does not write through; give the directory itself"
    assert f"{why}: '{study / name}'" in said
    assert sorted(outside.iterdir()) == before


def test_tables_of_an_assessment_are_written_through_no_link(folder, tmp_path):
    (tmp_path / "assessment").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "assessment/tables").symlink_to(tmp_path / "outside")
    assert "is a symbolic link" in look("assess", folder / "race.study", tmp_path)
    (tmp_path / "assessment/tables").unlink()
    (tmp_path / "assessment").rename(tmp_path / "other")
    (tmp_path / "assessment").symlink_to(tmp_path / "outside")
    assert "is a symbolic link" in look("assess", folder / "race.study", tmp_path)
    assert not list((tmp_path / "outside").iterdir())


def test_a_study_that_leads_elsewhere_tells_nothing_of_what_lies_there(folder, tmp_path, victim):
    study = forged(folder / "race.study", tmp_path / "strange.study")
    files = [path for path in study.rglob("*") if path.is_file() and path.name != "study.json"]
    for file in (*files, study / "study.json"):
        file.unlink()
        file.symlink_to(victim)
        for command in ("show", "assess"):
            assert "precious" not in look(command, study, tmp_path)


# Names


def run_of(algorithm, message="", reason=Reason.BUDGET):
    ended = Outcome(reason, 3, 0.0, message, traceback=message)
    return Run(RunKey("bbob-f1-i1-d2", algorithm, 0), Trajectory([1, 2], [0.0, 0.0], [3.0, 1.0], ended))


_OWN_CODES = re.compile(r"\x1b\[(\?25[lh]|2K|1A|[\d;]*m)")
"""Those of `rich`: the cursor, lines, colours."""


def test_no_name_or_message_steers_the_terminal(tmp_path, monkeypatch):
    with store.create(tmp_path / "strange.study", {"algorithms": {HARM: {"optimizer": HARM}}}) as study:
        study.extend([run_of(HARM, HARM, Reason.FAILED), run_of("[bold red]other[/]", HARM)])
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    for command in ("show", "show --json", "assess", "compare", "table", "resume", "export"):
        said = look(command, study.path, tmp_path)
        assert not set(_OWN_CODES.sub("", said)) & set("\x1b\x07\x9b\u202e"), command
        if "json" in command:
            assert HARM in json.loads(said)["algorithms"]
        elif command == "show":
            assert "\\u001b]0;harm\\u0007" in said
            assert "[bold red]other[/]" in said
    said = polarbear("show", "strange.study", cwd=tmp_path)
    assert not set(_OWN_CODES.sub("", said)) & set("\x1b\x07\x9b\u202e")


def test_what_is_printable_stays_as_it_is():
    for text in ("a\tb\nc", "ε ≤ 1e-8 → ∞", "日本語", "👩‍🔬", ""):
        assert printable(text) == text


FORMULAS = ["=cmd|' /C calc'!A0", "+CMA", "-CMA", "@SUM(1)", "＝1+1", "'+CMA", "''=1", "'plain", "plain", "+1", "-inf"]


def test_spreadsheets_execute_no_cell_and_names_come_back_from_csv(tmp_path):
    runs = [run_of(name, name) for name in FORMULAS]
    store.export(runs, tmp_path / "runs.csv", "csv")
    with (tmp_path / "runs.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            for column in ("algorithm", "instance", "message"):
                assert row[column][0] not in "=+-@＝" or float(row[column])
    again = store.read(tmp_path / "runs.csv")
    assert {run.key.algorithm for run in again} == set(FORMULAS)
    assert {run.outcome.message for run in again} == set(FORMULAS)
    store.export(again, tmp_path / "again.csv", "csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "runs.csv").read_bytes()


def test_tables_of_an_assessment_hold_no_formulas(tmp_path):
    store.export([run_of("=HYPERLINK(1)"), run_of("+CMA")], tmp_path / "runs.csv", "csv")
    here("assess", tmp_path / "runs.csv", "--into", tmp_path / "out")
    tables = [list(csv.reader(file.read_text().splitlines())) for file in (tmp_path / "out/tables").iterdir()]
    cells = {cell for table in tables for row in table for cell in row}
    assert {"'=HYPERLINK(1)", "'+CMA"} <= cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]


SCRIPT = "<script>alert(1)</script>--><img src=x onerror=alert(1)>\"'&amp;"


def test_pages_and_figures_hold_no_foreign_markup_and_carry_a_policy(tmp_path):
    store.export([run_of(SCRIPT), run_of("other")], tmp_path / "runs.csv", "csv")
    here("assess", tmp_path / "runs.csv", "--into", tmp_path / "out", "--figures")
    page = (tmp_path / "out/index.html").read_text()
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert policy.startswith("default-src 'none'; ")
    assert "script-src" not in policy
    figures = list((tmp_path / "out/figures").iterdir())
    assert figures
    for text in (page, *(file.read_text() for file in figures)):
        assert "<script" not in text
        assert "<img src=x" not in text
    assert "<script" not in here("table", tmp_path / "runs.csv", "--format", "html")


# Clusters


@pytest.fixture
def certified(tmp_path):
    """A certificate that signs itself, and its key."""
    files = {name: str(tmp_path / f"{name}.pem") for name in ("cert", "key")}
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 "
        f"-keyout {files['key']} -out {files['cert']}".split(),
        check=True,
        capture_output=True,
    )
    return files


def test_a_cluster_runs_over_tls_and_takes_nobody_without_the_certificate(certified, tmp_path):
    ends = {
        f"tls_{end}_{what}": certified[what] for end in ("scheduler", "worker", "client") for what in ("cert", "key")
    }
    security = Security(tls_ca_file=certified["cert"], require_encryption=True, **ends)
    (tmp_path / "plan.toml").write_text(PLAN + 'optimizer = "random-search"\n')
    with LocalCluster(
        n_workers=1, threads_per_worker=1, protocol="tls://", security=security, dashboard_address=":0", silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        plan = pb.study.Plan([pb.optimizers.RandomSearch()], pb.problems.BBOBProblem(1, 1, 2), budget=5)
        with DaskExecutor(address, security=security) as executor:
            (run,) = run_tasks(plan.tasks(), executor)
        assert run.outcome.ok
        options = ["--tls-ca-file", certified["cert"], "--tls-cert", certified["cert"], "--tls-key", certified["key"]]
        assert "1 of 1 runs" in here("run", tmp_path / "plan.toml", "--cluster", address, *options)
        assert f"cannot connect to a Dask scheduler at {address}: " in here(
            "run", tmp_path / "plan.toml", "--cluster", address
        )
        with Client(cluster) as client, pytest.raises(ValueError, match="security is given with a client"):
            DaskExecutor(client, security=security)


def test_files_of_tls_are_refused_where_they_would_encrypt_nothing(certified, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    said = here("run", tmp_path / "plan.toml", "--cluster", "tcp://localhost:1", "--tls-cert", certified["cert"])
    assert "are for --cluster tls://" in said

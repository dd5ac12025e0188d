"""What the consoles of README and how-tos show works as it stands, on small data by the names that stand there."""

import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.main import get_command

import polarbear as pb
from polarbear.cli.app import app
from tests.assess.coco_data import shared
from tests.cli.commands import polarbear

DOCS = Path(__file__).parents[2] / "docs"
BEST = "best2009-bbob.tar.gz"
"""An archive of COCO that is not made for these tests."""
QUICK = ["how-to/import-runs.md", "how-to/merge-studies.md"]
LONG = [
    "../README.md",
    "how-to/ask-many-studies.md",
    "how-to/assess-recorded-runs.md",
    "how-to/check-an-optimizer.md",
    "how-to/choose-a-model.md",
    "how-to/ask-whether-to-switch.md",
    "how-to/compare-algorithms.md",
    "how-to/race-from-a-study-file.md",
    "how-to/race-recorded-runs.md",
    "how-to/read-the-report.md",
    "how-to/run-a-plan.md",
]
ELSEWHERE = ("--cluster", "serve ")
"""What marks lines that need other machines, or go on until they are interrupted."""
PLAN = """
[plan]
budget = "60*d"
repetitions = {repetitions}
seed = {seed}

[instances]
suite = "bbob"
functions = [1, 8]
dimensions = [5, 20]
instances = "1-2"
"""
STUDY_FILE = re.compile(r"^```toml\n(\[(?:race|plan)\]\n.*?)^```", re.DOTALL | re.MULTILINE)
RACE = """
[race]
times = { first = 10, last = 300, count = 6 }
alpha = 0.9
epsilon = 0.15
draws = 500

[instances]
suite = "ma-bbob"
dimension = 2

[limits]
instances = 16
"""
TWO = """
[[algorithms]]
name = "{first}"
optimizer = "modular-cmaes-anytime"

[[algorithms]]
name = "{second}"
optimizer = "random-search"
"""
CLIMB = """
import numpy as np

def climb(problem, rng):
    here = rng.uniform(problem.lower, problem.upper)
    value = problem(here)
    while True:
        there = np.clip(here + 0.1 * rng.normal(size=here.size), problem.lower, problem.upper)
        if (found := problem(there)) <= value:
            here, value = there, found
"""


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """A folder with everything that the pages name and do not make themselves."""
    folder = tmp_path_factory.mktemp("material")

    def write(name, *parts):
        (folder / name).write_text("".join(parts))
        return name

    pair = TWO.format(first="CMA-ES", second="random search")
    for seed, name in enumerate(("here", "there")):
        write(f"{name}.toml", PLAN.format(repetitions=1, seed=seed), pair)
        polarbear("run", f"{name}.toml", cwd=folder)
    for name in ("archive.study", "mine.study", "configurations.study"):
        polarbear("merge", "here.study", "there.study", "--into", name, cwd=folder)
    runs = pb.store.read(folder / "archive.study")
    for archive in ("BIPOP-CMA-ES", "BFGS", "DIRECT", "RANDOMSEARCH"):
        kind = "random search" if archive in {"BFGS", "RANDOMSEARCH"} else "CMA-ES"
        pb.store.export([run for run in runs if run.key.algorithm == kind], folder / archive, "coco")
        shutil.make_archive(str(folder / archive), "gztar", folder, archive)
        (folder / f"{archive}.tar.gz").rename(folder / f"{archive}.tgz")
    pb.store.export(runs, folder / "runs.csv", "csv")
    own = [replace(run, key=replace(run.key, algorithm="mine")) for run in runs]
    pb.store.export(own, folder / "results.csv", "csv")
    write("plan.toml", PLAN.format(repetitions=1, seed=0), pair)
    for name in ("demo", "small", "study"):
        write(f"{name}.toml", RACE, pair)
    write("settings.toml", "[race]\ntimes = [10, 50, 100]\nalpha = 0.9\ndraws = 500\n")
    write("groups.csv", "function,group\n1,smooth\n8,smooth\n15,rugged\n")
    write("my_optimizers.py", CLIMB)
    polarbear("race", "demo.toml", cwd=folder)
    shutil.copytree(folder / "demo.study", folder / "small.study")
    return folder


def commands(page, leaving_out=ELSEWHERE):
    """The commands that its consoles show, with two workers, whose start takes a second each."""
    for console in re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        for line in re.findall(r"^\$ polarbear (.*)$", console.replace("\\\n", " "), re.MULTILINE):
            if not any(mark in line for mark in leaving_out):
                yield shlex.split(re.sub(r"--workers \d+", "--workers 2", line), comments=True)


@pytest.mark.parametrize("name", [*QUICK, *LONG])
def test_every_command_of_a_page_is_one_with_such_options(name):
    group = get_command(app)
    for arguments in commands(DOCS / name, leaving_out=()):
        context = group.make_context("polarbear", list(arguments))
        _, command, rest = group.resolve_command(context, arguments)
        command.make_context(arguments[0], rest, parent=context)


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_the_commands_of_a_page_work_one_after_the_other(name, material, tmp_path, monkeypatch):
    page = DOCS / name
    folder = tmp_path / "here"
    shutil.copytree(material, folder)
    monkeypatch.setenv("POLARBEAR_LIBRARY", str(tmp_path / "library"))
    for written in STUDY_FILE.findall(page.read_text(encoding="utf-8")):
        (folder / "small.toml").write_text(written)
        shutil.rmtree(folder / "small.study")
    for arguments in commands(page):
        if arguments[0] in {"import", "merge"}:  # into what is not there yet
            shutil.rmtree(folder / arguments[-1], ignore_errors=True)
        if BEST not in arguments:
            polarbear(*arguments, cwd=folder)


def test_tables_and_figures_stand_beside_the_best_of_2009(material):
    """The archive of COCO by the name on the pages."""
    shutil.copy(shared("coco_refalgs/best2009-bbob.tar.gz"), material / BEST)
    shown = [a for name in (*QUICK, *LONG) for a in commands(DOCS / name) if BEST in a]
    assert [command for command, *_ in shown] == ["table", "table", "assess"]
    for command, _, *options in shown:
        out, _ = polarbear(command, "archive.study", *options, cwd=material)
        assert command == "assess" or "of the reference algorithm" in out
    assert "Broad pale line: best2009-bbob (ERT)." in (material / "assessment/index.html").read_text("utf-8")

"""Another package's optimizer, suite, format, model, command and view are listed, raced, imported, called, shown."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polarbear as pb
from polarbear.plugins import load_plugin, plugin_names
from tests.cli.commands import start

DOCS = Path(__file__).parents[1] / "docs" / "how-to"
MODULE = '''
from dataclasses import dataclass
import numpy as np
import polarbear as pb

@dataclass(frozen=True)
class CoinFlips:
    """Steps to either side of the best point so far."""
    step: float = 0.1
    name: str = "coin flips"

    def __call__(self, problem, rng):
        best = (problem.lower + problem.upper) / 2
        value = problem(best)
        while True:
            trial = best + self.step * rng.choice([-1.0, 0.0, 1.0], problem.dimension)
            if (found := problem(trial)) < value:
                best, value = trial, found

@dataclass(frozen=True)
class Ridge:
    slope: float
    name: str

    def build(self):
        ridge = lambda x: float(x[0] + self.slope * abs(x[1]))
        return pb.problems.FunctionProblem(ridge, -5, 5, dimension=2, name=self.name)

@dataclass(frozen=True)
class Ridges:
    steepest: float = 9.0
    size = None

    def __getitem__(self, index):
        return Ridge(float(np.random.default_rng(index).uniform(1, self.steepest)), f"ridges-f1-d2-i{index}")
'''
STUDY = """
[race]
times = { first = 10, last = 100, count = 3 }
epsilon = 0.0

[model]
model = "constant-dirichlet"

[instances]
suite = "ridges"
steepest = 3

[limits]
instances = 8

[[algorithms]]
optimizer = "coin-flips"
step = 0.5

[[algorithms]]
name = "the same once more"
optimizer = "coin-flips"
step = 0.5
"""

SORTED = """
from polarbear.assess.report import Assessment
from polarbear.web import Shown, view
from polarbear.web.kind import Algorithm

@view("overview", "Bears")
def bears(assessment: Assessment, sort: Algorithm) -> Shown: ...
"""


def blocks(page):
    """The Python examples of a page."""
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with one of each, as pip would leave it; the model and the reader are those of the how-tos."""
    groups = re.search(r"```toml\n(.*?)```", (DOCS / "offer-a-plugin.md").read_text(), re.DOTALL)[1]
    entries = re.sub(r'\[project\.entry-points\."(.*?)"\]', r"[\1]", groups).replace('"', "")
    metadata = tmp_path / "site" / "my_package-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entries)
    model = "\n".join(blocks("add-a-model.md")).split("\nvalues = ")[0]
    command, views, reader = blocks("offer-a-plugin.md")
    (tmp_path / "site" / "my_package.py").write_text("\n".join([MODULE, command, reader, model]))
    (tmp_path / "site" / "my_package_views.py").write_text(views)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    return tmp_path


def command(folder, *arguments):
    """What a command prints, in a process that starts with the package installed."""
    process = start(*arguments, cwd=folder)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return printed


def refusal(folder, *arguments):
    """What a command says that ends with the exit code of bad input."""
    process = start(*arguments, cwd=folder)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    return said


def offer(folder, entries):
    """Install another package that offers these entry points."""
    other = folder / "site" / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text(entries)


def test_names_are_listed_and_nothing_is_imported_for_it(installed):
    assert "coin-flips" in pb.optimizers.families()
    assert "ridges" in pb.problems.suites()
    (installed / "site" / "my_package.py").write_text("raise RuntimeError('imported')")
    assert plugin_names("models") == ("constant-dirichlet",)
    with pytest.raises(ValueError, match=r"'lines', which the package my-package offers as my_package:Lines.*imported"):
        load_plugin("formats", "lines")


def test_an_optimizer_is_described_by_the_name_it_is_offered_by(installed):
    optimizer = pb.optimizers.from_description({"optimizer": "coin-flips", "step": 0.5})
    assert (type(optimizer).__module__, optimizer.step) == ("my_package", 0.5)
    described = {"optimizer": "coin-flips", "step": 0.5, "name": "coin flips"}
    assert pb.optimizers.describe(optimizer) == described
    assert pb.optimizers.from_description(described) == optimizer
    assert pb.optimizers.family_parameters("coin-flips") == {"step": 0.1, "name": "coin flips"}


def test_the_commands_list_race_and_resume(installed):
    def polarbear(*arguments):
        return command(installed, *arguments)

    listed = json.loads(polarbear("optimizers", "--json"))
    assert listed["coin-flips"] == {"step": 0.1, "name": "coin flips"}
    assert json.loads(polarbear("suites", "--json"))["ridges"] == {"steepest": 9.0}
    (installed / "ridges.toml").write_text(STUDY)
    polarbear("race", "ridges.toml")
    spec = json.loads((installed / "ridges.study" / "study.json").read_text())
    described = json.dumps(spec)
    assert '"optimizer": "coin-flips"' in described
    assert '"suite": "ridges"' in described
    assert "my_package" not in described
    polarbear("resume", "ridges.study", "--instances", "16")
    result = pb.study.load(installed / "ridges.study").result
    assert len(result.values) > 8, "it goes on where it was stopped"
    assert result.posterior.model.name == "constant-dirichlet"


def test_a_format_is_read(installed):
    folder = installed / "data"
    folder.mkdir()
    for i in (1, 2):
        (folder / f"sphere-d3-i{i}.lines").write_text("1 9.0\n5 4.0\n7 6.0\n")
    command(installed, "import", "data", "--into", "data.study")
    first, second = pb.store.read(installed / "data.study")
    assert (first.key.instance, second.key.instance) == ("lines-fsphere-i1-d3", "lines-fsphere-i2-d3")
    np.testing.assert_array_equal(first.trajectory.values, [9, 4])
    assert first.trajectory.outcome.evaluations == 7


def test_a_name_that_two_packages_offer_is_refused(installed):
    offer(installed, "[polarbear.optimizers]\ncoin-flips = other:Coins\n")
    with pytest.raises(ValueError, match="'coin-flips' is offered by several packages: my-package, other; uninstall"):
        pb.optimizers.from_description({"optimizer": "coin-flips"})


@pytest.fixture
def study(installed):
    """A study of three runs."""
    outcome = pb.Outcome(pb.Reason.BUDGET, evaluations=9, seconds=0.1)
    found = pb.Trajectory(np.array([1]), np.array([0.1]), np.array([3.0]), outcome)
    with pb.store.create(installed / "a.study", {}) as study:
        study.extend(pb.Run(pb.RunKey(f"sphere-d2-i{i}", name, 0), found) for i, name in enumerate(["A", "B", "B"]))
    return "a.study"


def test_a_command_is_listed_described_and_called(installed, study):
    assert re.search(r"^  count +From the package my-package\.$", command(installed, "--help"), re.MULTILINE)
    assert "Count the runs of every algorithm." in command(installed, "count", "--help")
    assert sorted(command(installed, "count", study).splitlines()) == ["A: 1", "B: 2"]


def test_a_command_may_have_commands_of_its_own(installed):
    (installed / "site" / "other.py").write_text(
        "import typer\nbears = typer.Typer(help='Of bears.')\n"
        "@bears.command()\ndef sing(): print('brumm')\n@bears.command()\ndef sleep(): print('...')\n"
    )
    offer(installed, "[polarbear.commands]\nbears = other:bears\n")
    assert "Of bears." in command(installed, "bears", "--help")
    assert command(installed, "bears", "sing") == "brumm\n"


def test_a_broken_command_breaks_no_other(installed, study):
    (installed / "site" / "other.py").write_text("print('imported')\nlair = 5\nshow = print\nraise OSError('no bears')")
    offer(installed, "[polarbear.commands]\nbears = other:bears\nshow = other:show\n")
    listed = command(installed, "--help")
    assert "bears" in listed
    assert "imported" not in listed
    assert "A: 1" in command(installed, "count", study)
    assert "imported" not in command(installed, "show", study), "our own commands come first"
    said = refusal(installed, "bears")
    assert "'bears', which the package other offers as other:bears, cannot be imported: OSError: no bears" in said


def test_what_is_no_command_is_refused(installed):
    (installed / "site" / "other.py").write_text("bears = 5\n")
    offer(installed, "[polarbear.commands]\nbears = other:bears\n")
    assert "is 5; it must be a function or a typer.Typer" in " ".join(refusal(installed, "bears").split())
    assert "No such command 'beans'" in refusal(installed, "beans")


def test_a_view_is_on_its_page_answers_and_is_made_again_by_its_python(installed, study):
    command(installed, "report", study, "--full", "--output", "site-of-it")
    shown = (installed / "site-of-it" / "overview" / "runs-of-each.html").read_text()
    assert "Runs of every algorithm" in shown
    (installed / "asked.py").write_text(
        "from pathlib import Path\nfrom polarbear.web import Sources, View\n"
        "sources = Sources([Path('a.study')])\n"
        "print(View.at('/overview/runs-of-each?study=a').code(sources))\n"
    )
    python = subprocess.run([sys.executable, "asked.py"], cwd=installed, capture_output=True, text=True, check=True)
    (installed / "again.py").write_text(python.stdout)
    again = subprocess.run([sys.executable, "again.py"], cwd=installed, capture_output=True, text=True, check=True)
    assert again.stdout.split() == ["algorithm,runs", "A,1", "B,2"]


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        ("bears = 5", "is 5; offer a function 'bears' that polarbear.web.view decorates"),
        ("from polarbear.web import view\n@view('lair', 'x')\ndef bears(): ...", "there is no page 'lair'"),
        (SORTED, "'sort', a parameter of 'bears', means something else in addresses; rename it"),
    ],
)
def test_what_is_no_view_is_refused(installed, study, module, complaint):
    (installed / "site" / "other.py").write_text(module)
    offer(installed, "[polarbear.views]\nbears = other:bears\n")
    said = " ".join(refusal(installed, "report", study, "--full", "--output", "site-of-it").split())
    assert "'bears', which the package other offers as" in said
    assert complaint in said

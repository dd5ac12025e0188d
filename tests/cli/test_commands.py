"""What all commands have in common: their order, their help, and the names of their options."""

import json
import re

import pytest

from polarbear import inference, optimizers, store
from polarbear.cli.commands import GROUPS, commands
from polarbear.cli.console import print_columns
from polarbear.cli.options import exit_codes
from tests.analyzer.recorded import runs
from tests.cli.commands import polarbear


def test_the_help_lists_all_commands_in_the_order_in_which_one_works():
    out, _ = polarbear("--help")
    headings = re.findall(r"^(\w+):$", out, re.MULTILINE)
    assert headings == ["Options", *GROUPS]
    listed = re.findall(r"^  ([a-z]+)  ", out.partition("Run:")[2], re.MULTILINE)
    assert listed == [command.name for command in commands()] == [name for names in GROUPS.values() for name in names]
    assert "..." not in out.partition("Run:")[2]


@pytest.mark.parametrize("command", list(commands()), ids=lambda command: command.name)
def test_every_help_has_an_example_whose_options_there_are_and_the_exit_codes(command):
    out, _ = polarbear(command.name, "--help")
    words = " ".join(out.split())
    assert f"Example: {command.example}" in words
    assert f"Exit codes: {exit_codes(command.name)}." in words
    assert command.example.split()[:2] == ["polarbear", command.name]
    for option in re.findall(r"--[a-z-]+", command.example):
        assert f" {option} " in out
    for old in command.renamed:
        assert f"--{old} " not in out


def test_exit_codes_are_those_of_the_command():
    assert exit_codes("race").startswith("0 done, 1 all runs failed, 2 bad input")
    assert "4 an optimizer does not conform" in exit_codes("conform")
    assert "1 " not in exit_codes("show").split(", ")[1]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return store.export(runs(), tmp_path_factory.mktemp("commands") / "runs.csv", "csv")


def test_old_names_of_options_are_taken(data, tmp_path):
    assert polarbear("export", data, "--to", tmp_path / "again.csv", "--format", "csv")[0].startswith("48 runs")
    new = json.loads(polarbear("compare", data, "--significance", "0.2", "--json")[0])
    assert json.loads(polarbear("compare", data, "--alpha", "0.2", "--json")[0]) == new


def test_models_are_listed_with_what_they_are():
    assert set(json.loads(polarbear("models", "--json")[0])) == set(inference.models())
    out, _ = polarbear("models")
    assert "instance-bootstrap  θ(t) ~ Dirichlet(α, …, α) at each timepoint" in out
    assert "  alpha = 1.0" in out


def test_optimizers_are_listed_and_found_by_a_word():
    assert set(json.loads(polarbear("optimizers", "--json")[0])) == set(optimizers.families())
    out, _ = polarbear("optimizers", "cobyla")
    assert [line.split()[0] for line in out.splitlines() if "-COBYLA" in line] == ["nlopt-COBYLA", "scipy-COBYLA"]
    out, _ = polarbear("optimizers", "random-search", "--fields")
    assert "random-search  Evaluates independent points, uniform in the box" in out
    out, _ = polarbear("optimizers", "cmaes-")
    assert "cmaes with separable = true" in " ".join(out.split()), "a preset is told by what differs"
    assert "no optimizer's name or description contains 'xyz'" in polarbear("optimizers", "xyz", code=2)[1]


def test_tables_of_any_columns_are_imported(tmp_path):
    (tmp_path / "mine.csv").write_text("solver,problem,calls,best\nA,f1,1,3.0\nA,f1,10,4.0\nB,f1,1,3.5\n")
    columns = ["--columns", "evaluations=calls, value=best", "--columns", "algorithm=solver,instance=problem"]
    polarbear("import", "mine.csv", "--into", "mine.study", *columns, "--maximize", cwd=tmp_path)
    found = {run.key.algorithm: run.trajectory.values.tolist() for run in store.read(tmp_path / "mine.study")}
    assert found == {"A": [-3.0, -4.0], "B": [-3.5]}
    assert "write it as OURS=THEIRS" in polarbear("import", "x", "--into", "y", "--columns", "best", code=2)[1]


@pytest.mark.parametrize("command", [["import", "--into", "x.study"], ["assess"], ["race", "--from"]])
def test_nothing_is_fetched_from_the_web(command, tmp_path):
    _, err = polarbear(*command, "https://example.org/a.tgz", code=2, cwd=tmp_path)
    assert "https://example.org/a.tgz is a web address, and polarbear downloads nothing" in " ".join(err.split())
    assert list(tmp_path.iterdir()) == []


def test_an_import_of_nothing_recognizable_makes_no_study(tmp_path):
    (tmp_path / "notes.txt").write_text("hello\n")
    assert (
        "holds no data that polarbear can read"
        in polarbear("import", "notes.txt", "--into", "x", code=2, cwd=tmp_path)[1]
    )
    assert not (tmp_path / "x").exists()


LONG = """[plan]
budget = 500
axis = "seconds"
[instances]
suite = "bbob"
functions = [1]
[[algorithms]]
optimizer = "random-search"
"""


def test_a_plan_that_takes_long_is_run_on_demand_alone(tmp_path):
    (tmp_path / "plan.toml").write_text(LONG)
    _, err = polarbear("run", "plan.toml", code=2, cwd=tmp_path)
    assert "15 runs will take about 2 h 5 min with 1 worker; confirm with --yes" in " ".join(err.split())
    assert not (tmp_path / "plan.study").exists()
    out, _ = polarbear("run", "plan.toml", "--seconds", "0.5", cwd=tmp_path)
    assert "0 of 15 runs" in out


def test_narrow_tables_break_no_words(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    print_columns(["name", "count", "what it is"], [["a-name-of-its-own", "1,000", "some longer words"]], words=(2,))
    words = capsys.readouterr().out.split()
    assert sorted(words) == sorted(
        ["a-name-of-its-own", "1,000", *["name", "count", "what", "it", "is", "some", "longer", "words"]]
    )

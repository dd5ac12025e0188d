"""One race for each function or dimension: each is the race that it would be by itself."""

import json

import numpy as np
import pytest

import polarbear as pb
from tests.cli.commands import polarbear

FILE = """
[race]
times = {{ first = 5, last = 40, count = 4 }}
alpha = 0.9

[instances]
suite = {suite}

[limits]
instances = 8

[[algorithms]]
optimizer = "random-search"

[[algorithms]]
optimizer = "quasi-random-search"
"""


@pytest.fixture
def folder(tmp_path):
    def write(name, suite):
        (tmp_path / name).write_text(FILE.format(suite=suite))

    write("both.toml", '"bbob"\nfunctions = [1, 8]\ndimensions = [2, 3]')
    write("f8.toml", '"bbob"\nfunctions = [8]\ndimensions = [2, 3]')
    write("mixed.toml", '"ma-bbob"\ndimension = 2')
    return tmp_path


def test_each_is_the_race_on_that_function_alone(folder):
    printed, _ = polarbear("race", "both.toml", "--apart", "function", cwd=folder)
    rows = [line.split() for line in printed.splitlines() if line.startswith(("f1 ", "f8 "))]
    assert [row[0] for row in rows] == ["f1", "f8"]
    assert "Stopped: f1, f8: instance limit" in printed
    assert "polarbear race both.toml --apart function --into both.studies" in printed
    polarbear("race", "f8.toml", cwd=folder)
    apart, alone = (pb.load(folder / name) for name in ("both.studies/f8.study", "f8.study"))
    np.testing.assert_array_equal(apart.values, alone.values)
    of_first = pb.store.read(folder / "both.studies" / "f1.study")
    assert {run.problem.function for run in of_first} == {"1"}
    assert {run.problem.dimension for run in of_first} == {2, 3}


def test_by_two_choices_as_json_and_it_goes_on(folder):
    arguments = ("race", "both.toml", "--apart", "function", "--apart", "dimension", "--into", "here", "--json")
    first = json.loads(polarbear(*arguments, cwd=folder)[0])
    assert [race["name"] for race in first["races"]] == ["f1-d2", "f1-d3", "f8-d2", "f8-d3"]
    assert set(first["races"][0]["pareto_set"]) <= {"RandomSearch", "QuasiRandomSearch-SOBOL"}
    more = json.loads(polarbear(*arguments, "--instances", "16", cwd=folder)[0])
    assert more["study"] == "here"
    before, after = (sum(race["evaluations"] for race in each["races"]) for each in (first, more))
    assert after > before


def test_what_cannot_be_divided_is_refused(folder):
    said = polarbear("race", "mixed.toml", "--apart", "function", code=2, cwd=folder)[1]
    assert "mixed.toml" in said
    assert "has no function to divide by" in " ".join(said.split())
    said = polarbear("race", "both.toml", "--apart", "function", "--withdraw", "RandomSearch", code=2, cwd=folder)[1]
    assert "--withdraw names an algorithm of one race" in " ".join(said.split())
    (folder / "cec.toml").write_text(FILE.format(suite='"cec2013"'))
    said = polarbear("race", "cec.toml", "--apart", "dimension", code=2, cwd=folder)[1]
    assert "there is no dimension to divide by; the suite has function" in " ".join(said.split())


def test_suites_divide_as_said():
    parts = pb.problems.BBOB(functions="1-3", dimensions=[2, 5], seed=7).parts(["dimension"])
    assert list(parts) == ["d2", "d5"]
    assert parts["d5"] == pb.problems.BBOB(functions="1-3", dimensions=[5], seed=7)

"""One race for each function, dimension or group: each is the race that it would be by itself."""

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
    write("three.toml", '"bbob"\nfunctions = [1, 2, 8]\ndimensions = [2]')
    write("separable.toml", '"bbob"\nfunctions = [1, 2]\ndimensions = [2]')
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


@pytest.mark.slow
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
    assert "--withdraw is for a single race" in " ".join(said.split())
    (folder / "cec.toml").write_text(FILE.format(suite='"cec2013"'))
    said = polarbear("race", "cec.toml", "--apart", "dimension", code=2, cwd=folder)[1]
    assert "the suite has no dimension to divide by; it has function" in " ".join(said.split())


@pytest.mark.slow
def test_each_group_is_the_race_on_its_functions_alone(folder):
    printed, _ = polarbear("race", "three.toml", "--apart", "group", cwd=folder)
    table = [line.split("  ")[0] for line in printed.splitlines()[1:3]]
    assert [*table, *sorted(path.name for path in folder.glob("three.studies/*"))] == [
        *("separable", "moderate conditioning"),
        *("moderate_conditioning.study", "separable.study"),
    ]
    polarbear("race", "separable.toml", cwd=folder)
    apart, alone = (pb.load(folder / name) for name in ("three.studies/separable.study", "separable.study"))
    np.testing.assert_array_equal(apart.values, alone.values)


@pytest.mark.slow
def test_groups_of_a_table_go_on_and_must_be_the_same(folder):
    table = folder / "my groups.csv"
    table.write_text("function,group\n1,smooth\nbbob-f2-d2,smooth\n8,a/b\n9,other\n")
    command = ("race", "three.toml", "--groups", table.name, "--into", "here")
    printed, _ = polarbear(*command, cwd=folder)
    assert "polarbear race three.toml --groups 'my groups.csv' --into here" in printed
    before = {name: pb.store.read(folder / "here" / f"{name}.study") for name in ("smooth", "a_b")}
    functions = {name: {run.problem.function for run in runs} for name, runs in before.items()}
    assert functions == {"smooth": {"1", "2"}, "a_b": {"8"}}
    more = json.loads(polarbear(*command, "--instances", "16", "--json", cwd=folder)[0])
    assert [(race["name"], race["study"]) for race in more["races"]] == [
        ("smooth", "here/smooth.study"),
        ("a/b", "here/a_b.study"),
    ]
    assert sum(race["evaluations"] for race in more["races"]) > 40 * sum(map(len, before.values()))
    table.write_text("function,group\n1,smooth\n2,a/b\n8,a/b\n")
    assert "here/smooth.study was made with other settings" in polarbear(*command, code=2, cwd=folder)[1]


def test_instances_of_a_table_are_raced_on_again_and_again(folder):
    (folder / "ma.csv").write_text("instance,group\nma-bbob-d2-s0-3,one\nma-bbob-d2-s0-0,two\nma-bbob-d2-s0-5,two\n")
    polarbear("race", "mixed.toml", "--groups", "ma.csv", cwd=folder)
    drawn = {name: pb.store.read(folder / f"mixed.studies/{name}.study") for name in ("one", "two")}
    assert {run.key.instance for run in drawn["one"]} == {"ma-bbob-d2-s0-3"}
    assert {run.key.instance for run in drawn["two"]} == {"ma-bbob-d2-s0-0", "ma-bbob-d2-s0-5"}
    assert {len({run.key.seed for run in runs}) for runs in drawn.values()} == {8}


def test_groups_that_are_not_known_or_incomplete_are_refused(folder):
    said = polarbear("race", "mixed.toml", "--apart", "group", code=2, cwd=folder)[1]
    assert "no groups are known for MABBOB; give a table" in " ".join(said.split())
    (folder / "short.csv").write_text("function,group\n1,a\n2,b\n")
    said = polarbear("race", "three.toml", "--groups", "short.csv", code=2, cwd=folder)[1]
    assert "three.toml: line 7: the table of groups, which begins with '1', has no row for bbob-f8-d2" in said
    (folder / "short.csv").write_text("function,cluster\n1,a\n")
    said = polarbear("race", "three.toml", "--groups", "short.csv", code=2, cwd=folder)[1]
    assert "short.csv has the columns function, cluster" in said
    assert "none.csv" in polarbear("race", "three.toml", "--groups", "none.csv", code=3, cwd=folder)[1]


def test_suites_divide_as_said():
    parts = pb.problems.BBOB(functions="1-3", dimensions=[2, 5], seed=7).parts(["dimension"])
    assert list(parts) == ["d2", "d5"]
    assert parts["d5"] == pb.problems.BBOB(functions="1-3", dimensions=[5], seed=7)

"""Groups of instances, against suites and lists that are divided by hand."""

import itertools
from collections import Counter

import numpy as np
import pytest

import polarbear as pb
from polarbear.problems import BBOB, MABBOB, BBOBNoisy, BBOBProblem, FiniteInstances, WModel
from polarbear.study import StudyFileError, group_instances, instance_groups, read_groups, read_parts

FIVE = {
    "separable": range(1, 6),
    "moderate conditioning": range(6, 10),
    "high conditioning": range(10, 15),
    "multi-modal": range(15, 20),
    "weakly structured": range(20, 25),
}


def test_the_groups_of_bbob_are_suites_with_the_same_seed():
    found = group_instances(BBOB(dimensions=[2, 10], seed=3))
    assert found == {group: BBOB(functions=each, dimensions=[2, 10], seed=3) for group, each in FIVE.items()}
    noisy = group_instances(BBOBNoisy(functions="106,107,122-124"))
    assert [suite.functions for suite in noisy.values()] == [(106,), (107,), range(122, 125)]
    assert list(group_instances(pb.problems.COCOBBOB())) == list(FIVE)


def test_listed_problems_stay_as_they_are_listed():
    problems = [BBOBProblem(f, i, 2) for i, f in itertools.product((2, 1), (20, 3))]
    found = group_instances(problems)
    assert found == {
        "weakly structured": FiniteInstances((problems[0], problems[2])),
        "separable": FiniteInstances((problems[1], problems[3])),
    }
    assert group_instances(FiniteInstances(problems, repeat=True))["separable"].repeat


def test_a_function_goes_by_its_longest_name():
    suite = BBOB(functions="1-3", dimensions=[2, 3], seed=1)
    found = group_instances(suite, {"3": "b", "f2": "b", "bbob-f1": "a", "f1": "never", "bbob-f7-d2": "other"})
    assert found == {
        "a": BBOB(functions=1, dimensions=[2, 3], seed=1),
        "b": BBOB(functions="2-3", dimensions=[2, 3], seed=1),
    }
    assert list(found) == ["b", "a"]


def test_numbers_count_as_their_text():
    found = group_instances(BBOB(functions="1-3"), dict(zip(range(1, 4), np.array([0, 1, 0]), strict=True)))
    assert found == {"0": BBOB(functions=[1, 3]), "1": BBOB(functions=2)}


def test_groups_that_are_no_suite_hold_all_their_instances_in_random_order():
    suite = BBOB(functions="1-3", dimensions=[2, 3], instances="1-9", seed=1)
    found = group_instances(suite, {"f1": "a", "f2": "b", "bbob-f3-d2": "a", "bbob-f3-d3": "b"})["a"]
    expected = [p for p in suite.grid() if p.function == 1 or (p.function, p.dimension) == (3, 2)]
    assert Counter(found.problems) == Counter(expected)
    assert found.repeat
    assert {p.function for p in found.problems[:9]} == {1, 3}
    assert {p.function for p in expected[:9]} == {1}


def test_instances_are_told_apart():
    suite = BBOB(functions="1-2", instances="1-4")
    odd = {p.name: f"odd {p.instance % 2}" for p in suite.grid()}
    found = group_instances(suite, odd)
    assert found == {
        "odd 1": BBOB(functions="1-2", instances=[1, 3]),
        "odd 0": BBOB(functions="1-2", instances=[2, 4]),
    }
    alone = group_instances(suite, odd | {"bbob-f1-i1-d5": "alone"})
    assert alone["alone"] == BBOB(functions=1, instances=1)
    assert {p.name for p in alone["odd 1"].problems} == {"bbob-f1-i3-d5", "bbob-f2-i1-d5", "bbob-f2-i3-d5"}


def test_choices_besides_functions_are_divided_as_well():
    suite = WModel(dimensions=[8], ruggedness_gamma=[0, 3], instances="1-5")
    one_each = {p.identity.function: str(p.ruggedness_gamma) for p in suite.grid()}
    found = group_instances(suite, one_each)
    assert found["3"] == WModel(dimensions=[8], ruggedness_gamma=[3], instances="1-5")


def test_instances_of_an_endless_stream_are_those_that_are_named(monkeypatch):
    monkeypatch.setattr(instance_groups, "_MOST_DRAWS", 20)
    stream = MABBOB(dimension=2, seed=4)
    found = group_instances(stream, {stream[7].name: "a", stream[0].name: "b", stream[2].name: "a"})
    assert found["a"] == FiniteInstances((stream[2], stream[7]), repeat=True)
    assert found["b"] == FiniteInstances((stream[0],), repeat=True)
    with pytest.raises(ValueError, match=r"'f1' is not among the first 20 instances of MABBOB.*'ma-bbob-d2-s4-0'"):
        group_instances(stream, {stream[0].name: "a", "f1": "b"})


@pytest.mark.parametrize(
    ("instances", "groups", "said"),
    [
        (
            pb.problems.PBO(),
            "known",
            r"no groups are known for pbo-f1-d\d+, pbo-f2-d\d+, pbo-f3-d\d+ and 22 more; give",
        ),
        (MABBOB(dimension=2), "known", "no groups are known for MABBOB; give a table"),
        ([BBOBProblem(1, 1, 2), (sum, [0], [1])], "known", "no groups are known for sum"),
        (
            BBOB(functions="1-9"),
            {"F1": "a"},
            r"begins with 'F1', has no row for bbob-f1-d5, bbob-f2-d5, .* and 6 more; add",
        ),
        (
            BBOB(functions=1),
            {"bbob-f1-i1-d5": "a"},
            "has no row for bbob-f1-i2-d5, bbob-f1-i3-d5, bbob-f1-i4-d5 and 995 more",
        ),
        (BBOB(dimensions=range(2, 8)), {"bbob-f1-i1-d5": "a"}, "143,856 problems, .* can be made of at most 100,000"),
    ],
)
def test_instances_without_a_group_are_named(instances, groups, said):
    with pytest.raises(ValueError, match=said):
        group_instances(instances, groups)


def test_a_table_is_read_by_instance_if_it_has_them(tmp_path):
    (tmp_path / "a.csv").write_text("function,design,group\nbbob-f1-d2,0,1\nbbob-f1-d2,1,1\nbbob-f2-d2,0,x y\n")
    assert read_groups(tmp_path / "a.csv") == {"bbob-f1-d2": "1", "bbob-f2-d2": "x y"}
    (tmp_path / "means.csv").write_text("function,instance,group\nbbob-f1-d2,,1\nbbob-f2-d2,,0\n")
    assert read_groups(tmp_path / "means.csv") == {"bbob-f1-d2": "1", "bbob-f2-d2": "0"}
    (tmp_path / "b.csv").write_text("group,function,instance\na,bbob-f1-d2,bbob-f1-i1-d2\nb,bbob-f1-d2,bbob-f1-i2-d2\n")
    assert read_groups(tmp_path / "b.csv") == {"bbob-f1-i1-d2": "a", "bbob-f1-i2-d2": "b"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("function,cluster\n1,a\n", "has the columns function, cluster; a table of groups needs a column group, and"),
        ("group,suite\na,bbob\n", "a column function or instance"),
        ("function,group\n", "has no rows"),
        ("", "is not a table of groups"),
        ("function,group\n1,a\n2,\n", r"row 3 of .*t.csv has no group"),
        ("function,group\n,a\n", r"row 2 of .*t.csv has no function"),
        (
            "function,group\n1,a\n2,a\n1,b\n",
            r"row 4 of .*t.csv puts 1 in the group 'b', but an earlier row puts it in 'a'",
        ),
        ("function,group\n1,a b\n2,A_b\n", r"the groups 'a b' and 'A_b' of .* would have the same file name"),
    ],
)
def test_what_is_no_table_of_groups_is_refused(tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=said):
        read_groups(tmp_path / "t.csv")


FILE = """
[race]
times = ["1*d", "10*d"]
[instances]
suite = "bbob"
functions = [1, 3, 21]
dimensions = [2, 5]
[[algorithms]]
optimizer = "random-search"
[[algorithms]]
optimizer = "quasi-random-search"
"""


def test_a_study_file_is_divided_by_groups_and_choices(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(FILE.replace('["1*d", "10*d"]', "[5, 50]"))
    parts = read_parts(path, ["group"])
    assert {name: part.build_instances().functions for name, part in parts.items()} == {
        "separable": range(1, 4, 2),
        "weakly structured": (21,),
    }
    path.write_text(FILE)  # timepoints by dimension need one dimension
    parts = read_parts(path, ["dimension"], {"21": "b", "bbob-f3-d5": "b", "f1": "a", "f3": "a"})
    assert {name: list(part.build_instances().functions) for name, part in parts.items()} == {
        "b-d2": [21],
        "b-d5": [3, 21],
        "a-d2": [1, 3],
        "a-d5": [1],
    }
    assert parts["a-d5"].build_race().times.tolist() == [5, 50]
    with pytest.raises(StudyFileError, match=r"study.toml: line 5: the table of groups.* has no row for bbob-f3-d2"):
        read_parts(path, ["dimension"], {"1": "a", "21": "a"})

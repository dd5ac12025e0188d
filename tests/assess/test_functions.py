"""Names and groups of BBOB's functions, against those that COCO's post-processing ships."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from polarbear.assess.functions import function_group, function_name


def cocopp(name):
    return (Path(find_spec("cocopp").origin).parent / name).read_text(encoding="utf-8")


def test_names_are_those_of_coco():
    """But for Büche, whose umlaut COCO spells out, Schaffers, and what COCO adds to two names."""
    said = dict(line.split(" ", 1) for line in cocopp("bbob-benchmarkshortinfos.txt").splitlines() if line.strip())
    spelled = {"4": "Skew Rastrigin-Büche", "19": "Griewank-Rosenbrock", "20": "Schwefel"}
    for number, name in said.items():
        expected = spelled.get(number, name.strip().replace("Schaffer ", "Schaffers "))
        assert function_name("bbob", number) == f"f{number} {expected}"


def test_noisy_functions_are_grouped_as_by_coco():
    group, found = "", {}
    for line in cocopp("bbob-noisy-benchmarkinfos.txt").splitlines():
        if line.startswith("%"):
            group = line.strip("% ").lower()
        elif line.strip():
            found[line.split()[0]] = group
    ours = {number: function_group("bbob-noisy", number) for number in found}
    shortened = {"severe noise highly multi-modal": "severe noise, multi-modal"}
    assert ours == {number: shortened.get(group, group) for number, group in found.items()}
    assert len(ours) == 30


@pytest.mark.parametrize(("suite", "function"), [("bbob-biobj", "3"), ("mine", "3"), ("bbob", "sphere"), ("bbob", "0")])
def test_functions_of_other_suites_have_neither(suite, function):
    assert function_group(suite, function) == ""
    assert function_name(suite, function) in {"f3", "sphere", "f0"}


def test_the_five_groups_of_bbob():
    sizes = {}
    for number in range(1, 25):
        sizes.setdefault(function_group("bbob", str(number)), []).append(number)
    assert [(group, members[0], members[-1]) for group, members in sizes.items()] == [
        ("separable", 1, 5),
        ("moderate conditioning", 6, 9),
        ("high conditioning", 10, 14),
        ("multi-modal", 15, 19),
        ("weakly structured", 20, 24),
    ]

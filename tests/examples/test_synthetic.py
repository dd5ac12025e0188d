"""The synthetic studies: their truths are what they claim to be, and their commands draw."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def example():
    # not run as a script: its functions and studies
    return runpy.run_path(str(ROOT / "examples" / "synthetic.py"))


MEMBERS = {"crossing": "AB", "winner": "A", "equivalence": "ACDH"}


@pytest.mark.parametrize("name", MEMBERS)
def test_truths_have_the_papers_pareto_sets_and_the_character_they_were_searched_for(example, name):
    study = example["STUDIES"][name]
    truth = study.truth(study.seed)
    assert "".join(truth.pareto_set) == MEMBERS[name]
    assert study.character(truth)
    assert truth.times.size == study.timepoints
    assert not study.character(study.truth(study.seed + 1))


def test_near_equivalents_are_dominated_by_less_than_epsilon(example):
    study = example["STUDIES"]["equivalence"]
    truth = study.truth(study.seed)
    better = truth.better.all(axis=0)
    advantage = example["advantage"](truth)
    for name in "GJ":
        column = truth.names.index(name)
        assert better[0, column]
        assert 0 < advantage[0, column] < example["EPSILON"]
    for name in "BEFI":
        assert advantage[:, truth.names.index(name)].max() > 3 * example["EPSILON"]


def test_the_command_races_and_draws(example, tmp_path, capsys):
    example["show"]("crossing", tmp_path)
    said = capsys.readouterr().out
    assert "true Pareto set A, B; recovered A, B" in said
    for what in ("recovery", "dominance"):
        picture = tmp_path / f"crossing-{what}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 150_000


def test_the_search_finds_the_truth(example, capsys, monkeypatch):
    study = example["STUDIES"]["winner"]
    seeds = [study.seed - 1, study.seed]
    monkeypatch.setitem(example["search"].__globals__, "range", lambda stop: seeds)
    example["search"]("winner", 3000)
    assert capsys.readouterr().out == f"{study.seed} Pareto set A\n"


def test_a_wrong_command_says_what_there_is(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["synthetic.py", "nonsense"])
    with pytest.raises(SystemExit, match=r"examples/synthetic\.py crossing"):
        runpy.run_path(str(ROOT / "examples" / "synthetic.py"), run_name="__main__")

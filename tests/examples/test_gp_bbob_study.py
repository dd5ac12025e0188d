"""The paper's third case study is what section 5.3 says, a tenth as long, and races on any such study side by side."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import polarbear as pb
from polarbear.problems import GPBBOB
from polarbear.study import read_plan, read_spec
from tests.cli.commands import polarbear

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example():
    return runpy.run_path(str(EXAMPLES / "gp_bbob.py"))


def test_it_is_the_study_of_section_5_3_with_a_tenth_of_the_seconds(example):
    plan, race = read_plan(EXAMPLES / "gp_bbob_whole.toml"), read_spec(EXAMPLES / "gp_bbob.toml").build_race()
    assert dict(plan.algorithms) == dict(race.algorithms)
    assert (plan.axis, plan.draws, plan.instances) == ("seconds", 128, GPBBOB())
    assert plan.budget.at(240, plan.axis) > example["TIMES"][-1]
    np.testing.assert_allclose(example["TIMES"], np.linspace(0.1, 30, 30) / 10, atol=0.1)


@pytest.mark.slow
def test_it_races_by_each_model_on_any_such_study(example, tmp_path, monkeypatch, capsys):
    text = (EXAMPLES / "gp_bbob_whole.toml").read_text()
    for old, new in {"3.1": "0.3", "draws = 128": "draws = 4\ndimension = 3"}.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "small.toml").write_text(text)
    polarbear("run", "small.toml", cwd=tmp_path)
    monkeypatch.setitem(example["race"].__globals__, "TIMES", np.linspace(0.1, 0.3, 3))
    runs = pb.store.read(tmp_path / "small.study")
    drawn = {}
    for name, model in example["MODELS"].items():
        found = example["race"](runs, model)
        settings = found.result.settings
        assert (settings.alpha, settings.epsilon) == (0.99, 0.05)
        assert (settings.axis, settings.elimination, settings.resolution) == ("seconds", "joint", "crossing")
        assert found.blocks == 4
        example["tell"](name, found)
        drawn |= example["draw"](name, found.result, found.result.posterior.names)
    example["save"](drawn, tmp_path)
    assert len(list(tmp_path.glob("gp-bbob-*.png"))) == len(drawn) == 9
    assert set(example["MODELS"]) <= set(capsys.readouterr().out.replace(":", " ").split())

"""The paper's second case study at full size is what section 5.2 says, and its figures come out of small studies."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import polarbear as pb
from polarbear.optimizers import ModularCMAES, RandomSearch
from polarbear.problems import MABBOB
from polarbear.study import read_plan, read_spec
from tests.cli.commands import polarbear

EXAMPLES = Path(__file__).parents[2] / "examples"
STEP_SIZES = ("CSA", "MSR", "TPA", "XNES", "MXNES", "LPXNES")


def test_it_is_the_study_of_section_5_2():
    spec = read_spec(EXAMPLES / "ma_bbob.toml")
    race, settings = spec.build_race(), spec.build_race().settings
    cmaes = {name: ModularCMAES.anytime(step_size_adaptation=name, name=name) for name in STEP_SIZES}
    assert dict(race.algorithms) == cmaes | {"random search": RandomSearch(name="random search")}
    assert (race.times.size, race.times[0], race.times[-1]) == (200, 100, 2000 * 30)
    np.testing.assert_allclose(np.diff(np.log(race.times)), np.log(600) / 199, atol=0.01)
    assert (settings.alpha, settings.epsilon) == (0.99, 0.05)
    assert (settings.elimination, settings.resolution, settings.batches) == ("pointwise", "strict", "doubling")
    assert spec.build_instances() == MABBOB(dimension=30)


def test_all_run_to_the_end_are_the_same_algorithms_with_other_seeds():
    plan, race = read_plan(EXAMPLES / "ma_bbob_whole.toml"), read_spec(EXAMPLES / "ma_bbob.toml").build_race()
    text = (EXAMPLES / "ma_bbob_whole.toml").read_text()
    assert {"draws = 200", "budget = 60_000"} <= set(text.splitlines())
    assert dict(plan.algorithms) == dict(race.algorithms)
    assert plan.seed not in {race.seed_of(draw) for draw in range(10_000)}


@pytest.mark.slow
def test_the_figures_are_drawn_from_any_such_studies(tmp_path, monkeypatch):
    of_race = {"first = 100, last = 60_000, count = 200": "first = 10, last = 200, count = 6"}
    of_race |= {"dimension = 30": "dimension = 2", "[instances]": "[limits]\ninstances = 8\n\n[instances]"}
    of_plan = {"budget = 60_000": "budget = 200", "draws = 200": "draws = 3", "dimension = 30": "dimension = 2"}
    for name, smaller in (("ma_bbob.toml", of_race), ("ma_bbob_whole.toml", of_plan)):
        text = (EXAMPLES / name).read_text()
        for old, new in smaller.items():
            assert old in text
            text = text.replace(old, new)
        (tmp_path / name).write_text(text)
    polarbear("race", "ma_bbob.toml", cwd=tmp_path)
    polarbear("run", "ma_bbob_whole.toml", cwd=tmp_path)
    result, script = pb.study.load(tmp_path / "ma_bbob.study").result, runpy.run_path(str(EXAMPLES / "ma_bbob.py"))
    drawn = script["of_race"](result) | script["of_rounds"](tmp_path / "ma_bbob.study")
    drawn |= script["of_plan"](pb.store.read(tmp_path / "ma_bbob_whole.study"), result.posterior)
    script["save"](drawn, tmp_path)
    assert len(list(tmp_path.glob("ma-bbob-*.png"))) == len(drawn) == 8
    monkeypatch.setattr("sys.argv", ["ma_bbob.py"])
    with pytest.raises(SystemExit, match=r"examples/ma_bbob\.py ma_bbob\.study"):
        runpy.run_path(str(EXAMPLES / "ma_bbob.py"), run_name="__main__")

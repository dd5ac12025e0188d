"""Verdicts on recorded runs on f0, and the command that makes and judges them."""

import json
from dataclasses import replace

import numpy as np
import pytest

import polarbear as pb
from polarbear.bias import judge_runs
from polarbear.problems import RandomValues
from polarbear.store import read
from tests.cli.commands import polarbear

FEW = 5_000
PLAN = """
[plan]
budget = 40
repetitions = 50

[instances]
suite = "{suite}"
dimensions = [3]
{more}

[[algorithms]]
name = "random search"
optimizer = "random-search"

[[algorithms]]
name = "center"
optimizer = "function"
function = "clinging:cling"
"""
CLING = """
import numpy as np

def cling(problem, rng):
    middle = (problem.lower + problem.upper) / 2
    while True:
        problem(middle + (problem.upper - problem.lower) * 0.1 * rng.uniform(-1, 1, middle.size))
"""


def cling(problem, rng):
    """An optimizer that stays near the middle of the box."""
    middle = (problem.lower + problem.upper) / 2
    while True:
        problem(middle + (problem.upper - problem.lower) * 0.1 * rng.uniform(-1, 1, middle.size))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    path = tmp_path_factory.mktemp("bias") / "f0.study"
    suite = RandomValues(dimensions=(2, 4), lower=-5.0, upper=5.0)
    plan = pb.study.Plan({"center": cling, "random search": "random-search"}, suite, budget=30, repetitions=40, draws=6)
    pb.study.run_plan(plan, path)
    return read(path)


def test_random_search_is_not_biased_and_what_clings_to_the_middle_is(runs):
    found = {(each.algorithm, each.dimension): each for each in judge_runs(runs, alpha=1e-3, samples=FEW)}
    assert {d for _, d in found} == {2, 4}
    assert [found[name, d].bias.biased for name in ("center", "random search") for d in (2, 4)] == [
        True,
        True,
        False,
        False,
    ]
    assert np.abs(found["center", 4].points).max() <= 1.0
    assert found["center", 4].sentence.startswith("center: Structurally biased: ")
    np.testing.assert_allclose(-5 + 10 * found["center", 4].positions, found["center", 4].points, atol=1e-12)


def test_runs_that_found_nothing_are_counted(runs):
    some = [run for run in runs if run.problem.dimension == 2 and run.key.algorithm == "center"]
    worst = replace(
        some[0].trajectory,
        values=np.full_like(some[0].trajectory.values, np.inf)[:1],
        evaluations=some[0].trajectory.evaluations[:1],
        seconds=some[0].trajectory.seconds[:1],
    )
    (verdict,) = judge_runs([replace(some[0], trajectory=worst), *some[1:]], samples=FEW)
    assert verdict.lost == 1
    assert verdict.sentence.endswith(" 1 run found no finite value.")


def test_what_cannot_be_judged_is_said(runs):
    with pytest.raises(ValueError, match="no run on f0; run optimizers on the suite 'random-values'"):
        judge_runs([])
    with pytest.raises(ValueError, match=r"center in 2 dimensions has 5 runs on f0 .* at least 10"):
        judge_runs([run for run in runs if run.key.algorithm == "center" and run.problem.dimension == 2][:5])
    with pytest.raises(ValueError, match="runs without a recorded best point"):
        judge_runs([replace(run, solution=None) for run in runs])


def test_the_command_runs_a_plan_and_judges_it(tmp_path):
    (tmp_path / "clinging.py").write_text(CLING)
    (tmp_path / "f0.toml").write_text(PLAN.format(suite="random-values", more=""))
    told, _ = polarbear("bias", "f0.toml", "--samples", FEW, "--significance", "0.001", cwd=tmp_path)
    assert "center: Structurally biased: " in told
    assert "random search: No evidence of structural bias" in told
    assert told.endswith("page: f0.bias/index.html\n")
    page = (tmp_path / "f0.bias" / "index.html").read_text()
    assert "<h1>1 of 2 optimizers is structurally biased</h1>" in page
    assert page.count("<figure>") == 2
    some = ("bias", "f0.study", "--samples", FEW, "--page", "other", "--json")
    verdicts = json.loads(polarbear(*some, cwd=tmp_path)[0])
    assert (tmp_path / "other" / "index.html").is_file()
    assert [(v["algorithm"], v["dimension"], v["runs"]) for v in verdicts] == [
        ("center", 3, 50),
        ("random search", 3, 50),
    ]
    assert verdicts[0]["biased"]
    assert verdicts[0]["tests"]


def test_a_plan_on_other_problems_is_refused(tmp_path):
    (tmp_path / "clinging.py").write_text(CLING)
    (tmp_path / "bbob.toml").write_text(PLAN.format(suite="bbob", more="functions = [1]\ninstances = [1]"))
    assert (
        "structural bias can only be measured on suite 'random-values'"
        in polarbear("bias", "bbob.toml", code=2, cwd=tmp_path)[1]
    )
    assert not (tmp_path / "bbob.study").exists()

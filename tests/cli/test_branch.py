"""`polarbear branch`: from a plan's study to what became of its runs, and refusals."""

import json
from concurrent.futures import ThreadPoolExecutor

from polarbear.study import read_plan, run_plan
from tests.cli.commands import polarbear

PLAN = """[plan]
budget = 100
[instances]
suite = "bbob"
functions = "1,8"
dimensions = [2]
instances = [1]
[[algorithms]]
optimizer = "modular-cmaes-anytime"
name = "CMA-ES"
[[algorithms]]
optimizer = "random-search"
name = "random"
"""


def test_from_a_study_to_its_branches(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    with ThreadPoolExecutor(1) as executor:
        run_plan(read_plan(tmp_path / "plan.toml"), tmp_path / "plan.study", executor=executor)
    settings = ("branch", "plan.study", "--at", "20*d", "--horizon", 30, "--repeats", 2, "--function", 1)
    said, _ = polarbear(*settings, cwd=tmp_path)
    assert "random → CMA-ES: better than staying within 30 evaluations in" in said
    assert "study: plan.branches.study" in said
    out, _ = polarbear(*settings, "--json", cwd=tmp_path)
    told = json.loads(out)
    assert (told["finished"], told["ran"], told["runs"], told["skipped"]) == (True, 0, 8, 0)
    assert set(told["wins"]) == {"CMA-ES", "random"}
    assert 0 <= told["wins"]["random"]["CMA-ES"] <= 1
    assert "--at is missing" in polarbear("branch", "plan.study", code=2, cwd=tmp_path)[1]
    told = " ".join(polarbear("branch", "--help")[0].split())
    assert "Required: evaluations after which to branch" in told
    assert "Wall-clock limit: stop then; unfinished runs start afresh" in told
    assert "continue with polarbear branch" in polarbear("resume", "plan.branches.study", code=2, cwd=tmp_path)[1]

"""`polarbear selector`: from a plan and its runs to advice on another plan's problems."""

import json

from tests.cli.commands import polarbear

PLAN = """[plan]
budget = "50*d"
repetitions = 2
[instances]
suite = "bbob"
functions = "{functions}"
dimensions = [2]
instances = "1-2"
[[algorithms]]
optimizer = "random-search"
[[algorithms]]
optimizer = "scipy-minimize"
"""
FEATURES = ("--points", 20, "--set", "ela_meta", "--set", "nbc")


def test_from_runs_to_advice(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.format(functions="1,8,16,21"))
    (tmp_path / "new.toml").write_text(PLAN.format(functions="2"))
    polarbear("run", "plan.toml", cwd=tmp_path)
    runs = ("--runs", "plan.study", "--budget", 100)
    said, _ = polarbear("selector", "train", "plan.toml", *runs, *FEATURES, "--into", "s.npz", cwd=tmp_path)
    assert "ratings from 8 cases of 4 functions: s.npz" in said
    out, _ = polarbear("selector", "ask", "s.npz", "new.toml", "--json", cwd=tmp_path)
    advices = json.loads(out)
    assert set(advices) == {"bbob-f2-i1-d2", "bbob-f2-i2-d2"}
    assert all(advice["evaluations"] == 40 for advice in advices.values())
    said, _ = polarbear("selector", "ask", "s.npz", "new.toml", cwd=tmp_path)
    assert "[40 evaluations]" in said
    (tmp_path / "alone.toml").write_text(
        '[instances]\nsuite = "bbob"\nfunctions = "2"\ndimensions = [2]\ninstances = "1-2"\n'
    )
    assert polarbear("selector", "ask", "s.npz", "alone.toml", cwd=tmp_path)[0] == said
    (tmp_path / "empty.toml").write_text("")
    assert "instances is missing" in polarbear("selector", "ask", "s.npz", "empty.toml", code=2, cwd=tmp_path)[1]
    judged = ("--kind", "ratings", "--folds", 2)
    out, _ = polarbear("selector", "evaluate", "plan.toml", *runs, *FEATURES, *judged, "--json", cwd=tmp_path)
    scores = json.loads(out)["scores"]
    assert set(scores) == {"ratings", "single best"}
    assert (
        "give recorded runs on its problems with --runs"
        in polarbear("selector", "train", "plan.toml", code=2, cwd=tmp_path)[1]
    )
    assert "ask needs problems after the selector" in polarbear("selector", "ask", "s.npz", code=2, cwd=tmp_path)[1]


def test_tables_are_judged_on_tables(tmp_path):
    rows = [f"f{i},{0.1 + 0.8 * (i % 2)},0.5,{i % 2 + 0.01 * i}" for i in range(40)]
    for name, part in (("a", rows[:20]), ("b", rows[20:])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["function,loss:one,loss:two,x", *part]) + "\n")
    said, _ = polarbear("selector", "evaluate", "a.csv", "--test", "b.csv", "--kind", "ratings", cwd=tmp_path)
    assert "ratings" in said
    assert "unlike all other functions" in said
    said, _ = polarbear("selector", "train", "a.csv", cwd=tmp_path)
    assert "features by their share in the variance of ratings" in said
    assert "x: 100% [100%, 100%]; the largest with probability 1.00" in said
    two = ("--kind", "ratings", "--kind", "single-best")
    assert "train takes only one" in polarbear("selector", "train", "a.csv", *two, code=2, cwd=tmp_path)[1]


def test_where_the_single_best_is_the_best_everywhere_there_is_no_gap(tmp_path):
    rows = [f"f{i},0,1,{i}" for i in range(3)]
    (tmp_path / "a.csv").write_text("\n".join(["function,loss:one,loss:two,x", *rows]) + "\n")
    command = ("selector", "evaluate", "a.csv", "--kind", "single-best", "--folds", 3)
    assert "[+0.0000, +0.0000]           –  " in polarbear(*command, cwd=tmp_path)[0]
    assert json.loads(polarbear(*command, "--json", cwd=tmp_path)[0])["scores"]["single best"]["gap closed"] is None


def test_asking_about_problems_unlike_those_of_the_training_warns(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.format(functions="1-6").replace('"1-2"', "1"))
    polarbear("run", "plan.toml", cwd=tmp_path)
    runs = ("--runs", "plan.study", "--budget", 100)
    polarbear("selector", "train", "plan.toml", *runs, *FEATURES, "--into", "s.npz", cwd=tmp_path)
    for functions, unlike in (("1-6", False), ("16-24", True)):
        (tmp_path / "new.toml").write_text(
            f'[instances]\nsuite = "bbob"\nfunctions = "{functions}"\ndimensions = [2]\ninstances = 2\n'
        )
        _, told = polarbear("selector", "ask", "s.npz", "new.toml", "--json", cwd=tmp_path)
        assert ("Caution: the problems differ from those of the training" in told) == unlike


def test_a_selector_of_a_table_is_asked_by_a_table(tmp_path):
    rows = [f"f{i},f{i}-i{j},{i},{10 - i}" for i in range(20) for j in range(2)]
    values = [f"{row},{i // 2 - 9.5}" for i, row in enumerate(rows)]
    (tmp_path / "a.csv").write_text("\n".join(["function,instance,loss:early,loss:late,x", *values]) + "\n")
    polarbear("selector", "train", "a.csv", "--into", "s.npz", "--confidence", 0.5, cwd=tmp_path)
    (tmp_path / "new.csv").write_text("instance,x\nlow,-9\nhigh,9\nunknown,\n")
    told = json.loads(polarbear("selector", "ask", "s.npz", "new.csv", "--json", cwd=tmp_path)[0])
    assert {name: told[name]["algorithm"] for name in ("low", "high")} == {"low": "early", "high": "late"}
    assert set(told) == {"low", "high", "unknown"}
    assert told["low"]["evaluations"] == 0
    (tmp_path / "new.csv").write_text("y\n1\n")
    assert "new.csv has no column 'x'" in polarbear("selector", "ask", "s.npz", "new.csv", code=2, cwd=tmp_path)[1]
    (tmp_path / "new.csv").write_text("x\nmuch\n")
    assert "is not a table of features" in polarbear("selector", "ask", "s.npz", "new.csv", code=2, cwd=tmp_path)[1]

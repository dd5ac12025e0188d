"""`polarbear landscape`: tables of features, comparisons of instances, and going on where it was ended."""

import json
from importlib.util import find_spec

import polars as pl
import pytest

from polarbear.landscape import features, latin_hypercube
from polarbear.problems import BBOBProblem
from tests.cli.commands import polarbear

PLAN = """[plan]
budget = "50*d"
repetitions = 4
[instances]
suite = "bbob"
functions = "1,24"
dimensions = [2, 3]
instances = "1-3"
[[algorithms]]
optimizer = "random-search"
"""
SMALL = ("--designs", 6, "--points", 40, "--set", "ela_meta", "--set", "nbc")


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_the_table_has_the_features_of_each_instance_on_shared_designs(plan):
    said = json.loads(polarbear("landscape", "features", "plan.toml", *SMALL, "--json", cwd=plan)[0])
    assert said == {"table": "plan.landscape/features.csv"}
    table = pl.read_csv(plan / "plan.landscape" / "features.csv")
    assert table.shape == (12 * 6, 3 + 9 + 5)
    points = latin_hypercube([-5.0] * 3, [5.0] * 3, 40, 4)
    expected = features(points, BBOBProblem(24, 2, 3).build()(points), ["ela_meta", "nbc"])
    row = table.row(by_predicate=(pl.col("instance") == "bbob-f24-i2-d3") & (pl.col("design") == 4), named=True)
    assert {name: row[name] for name in expected} == pytest.approx(dict(expected), rel=1e-9)
    polarbear("landscape", "features", "plan.toml", *SMALL, "--format", "parquet", "--into", "other", cwd=plan)
    assert pl.read_parquet(plan / "other" / "features.parquet").equals(table, null_equal=True)


def test_instances_are_compared_on_a_page_with_their_runs(plan):
    polarbear("run", "plan.toml", cwd=plan)
    out, _ = polarbear("landscape", "compare", "plan.toml", *SMALL, "--runs", "plan.study", "--json", cwd=plan)
    said = json.loads(out)
    assert [box["instances"] for box in said["boxes"]] == [6, 6]
    assert said["boxes"][0]["functions"].keys() == {"bbob-f1-d2", "bbob-f24-d2"}
    assert [each["budget"] for each in said["performance"]] == [100, 150]
    assert said["performance"][0]["rates"]["RandomSearch"].keys() == {
        f"bbob-f{function}-d{dimension}" for function in (1, 24) for dimension in (2, 3)
    }
    page = (plan / "plan.landscape" / "index.html").read_text()
    assert f"<h1>{said['headline']}</h1>" in page
    for title in ("Instances by their features, 2 variables", "Locations of optima, 3 variables", "Mean landscapes, 2"):
        assert title in page
    assert page.count("<figure>") == 4 + 3 + 2


def test_designs_that_are_there_are_not_computed_again(plan):
    polarbear("landscape", "features", "plan.toml", *SMALL, cwd=plan)
    designs = sorted((plan / "plan.landscape" / "designs").rglob("*.npz"))
    assert len(designs) == 2 * 6
    written = [(file, file.stat().st_mtime_ns) for file in designs]
    table = (plan / "plan.landscape" / "features.csv").read_bytes()
    designs[3].unlink()
    polarbear("landscape", "features", "plan.toml", *SMALL, "--workers", 2, cwd=plan)
    kept = [(file, file.stat().st_mtime_ns) for file in designs]
    assert [a == b for a, b in zip(kept, written, strict=True)] == [number != 3 for number in range(12)]
    assert (plan / "plan.landscape" / "features.csv").read_bytes() == table
    _, err = polarbear("landscape", "features", "plan.toml", *SMALL, "--points", 41, code=2, cwd=plan)
    assert "holds features of other problems, points or sets; choose another directory" in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--set", "ela_metta"), 2, "did you mean 'ela_meta'"),
        (("--set", "nbc", "--runs", "plan.study"), 3, "plan.study"),
        pytest.param(
            ("--set", "nbc", "--embedding", "umap"),
            2,
            "pip install 'polarbear-race[umap]'",
            marks=pytest.mark.skipif(find_spec("umap") is not None, reason="umap-learn is installed"),
        ),
    ],
)
def test_faults_are_told_in_a_line(plan, arguments, code, message):
    settings = ("--designs", 2, "--points", 40, *arguments)
    _, err = polarbear("landscape", "compare", "plan.toml", *settings, cwd=plan, code=code)
    assert message in err
    assert "Traceback" not in err


def test_whole_variables_have_no_features(plan):
    (plan / "plan.toml").write_text(PLAN.replace('"bbob"', '"pbo"').replace("[2, 3]", "16").replace("1,24", "1"))
    _, err = polarbear("landscape", "features", "plan.toml", code=2, cwd=plan)
    assert "features need one noise-free objective of continuous variables" in " ".join(err.split())


def test_problems_may_stand_alone_and_a_race_is_told_so(plan):
    alone = PLAN[PLAN.index("[instances]") :].partition("[[algorithms]]")[0]
    (plan / "alone.toml").write_text(alone)
    tables = []
    for file in ("plan.toml", "alone.toml"):
        polarbear("landscape", "features", file, *SMALL, "--into", "table", cwd=plan)
        tables.append((plan / "table" / "features.csv").read_text())
    assert tables[0] == tables[1]
    race = plan / "race.toml"
    race.write_text(alone + "[race]\ntimes = [10, 100]\n")
    told = polarbear("landscape", "features", race, code=2, cwd=plan)[1]
    assert "this is a race, not a plan; give a plan, or a file with only [instances]" in told

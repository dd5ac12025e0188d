"""IOHprofiler's layouts: JSON and the first one; published files as iohinspector reads them."""

import json
import math

import numpy as np
import pytest

from polarbear import store
from polarbear.records import Reason, RunKey


@pytest.fixture
def ioh(tmp_path):
    """Write a JSON file with its data file: ``ioh([run, …], text, **fields)``."""

    def write(runs, text, folder="alg", **fields):
        root = tmp_path / folder
        (root / "data_f1").mkdir(parents=True, exist_ok=True)
        (root / "data_f1" / "f1_DIM5.dat").write_text(text)
        content = {
            "version": "0.3.17", "suite": "unknown_suite", "function_id": 1, "function_name": "Sphere",
            "maximization": False, "algorithm": {"name": "ES", "info": ""}, "attributes": ["evaluations", "raw_y"],
            "scenarios": [{"dimension": 5, "path": "data_f1/f1_DIM5.dat", "runs": runs}],
        }  # fmt: skip
        (root / "IOHprofiler_f1.json").write_text(json.dumps(content | fields))
        return root

    return write


def listed(evals, at, y, instance=1, **more):
    return {"instance": instance, "evals": evals, "best": {"evals": at, "y": y, "x": [0.0] * 5}} | more


def test_json(ioh):
    text = (
        "evaluations raw_y x0 x1\n1 4.5000000000 1 2\n7 0.2500000000 1 2\nevaluations raw_y x0 x1\n1 9.0000000000 1 2\n"
    )
    one, two = store.read(ioh([listed(100, 7, 0.25), listed(50, 1, 9.0, instance=3)], text))
    assert one.key == RunKey("unknown_suite-f1-i1-d5", "ES", 0)
    assert two.key == RunKey("unknown_suite-f1-i3-d5", "ES", 0)
    assert one.trajectory.evaluations.tolist() == [1, 7]
    assert one.trajectory.values.tolist() == [4.5, 0.25]
    assert (one.outcome.reason, one.outcome.evaluations, one.parameters) == (Reason.BUDGET, 100, None)
    assert (one.optimum, one.target) == (None, None)


def test_the_best_point_is_that_of_the_json_file_or_of_the_row(ioh):
    """The row has fewer digits; where the JSON file tells no point, or one of another value, it is the row's."""
    text = (
        "evaluations raw_y sigma x0 x1 x2 x3 x4\n1 4.5000000000 1 1 2 3 4 5\n7 0.2500000000 1 0.5 1 1.5 2 2.5\n"
        "9 0.3000000000 1 6 6 6 6 6\n"
    )
    exact = [0.51, 1.01, 1.51, 2.01, 2.51]
    for best, expected in (
        ({"evals": 7, "y": 0.25, "x": exact}, exact),
        ({"evals": 7, "y": 0.25, "x": []}, [0.5, 1.0, 1.5, 2.0, 2.5]),
        ({"evals": 7, "y": 1e-3, "x": exact}, [0.5, 1.0, 1.5, 2.0, 2.5]),  # the rows contradict it
        ({}, [0.5, 1.0, 1.5, 2.0, 2.5]),
    ):
        (run,) = store.read(ioh([{"instance": 1, "evals": 20, "best": best}], text))
        assert run.solution.tolist() == expected
        assert list(run.parameters.values) == ["sigma"]


@pytest.mark.parametrize(
    ("header", "rows", "expected"),
    [
        ("raw_y_best x0 x1 x2 x3 x4", "1 4.5 1 1 1 1 1\n7 0.25 2 2 2 2 2", None),  # it may have been one before
        ("raw_y_best x0 x1 x2 x3 x4", "6 4.5 1 1 1 1 1\n7 0.25 2 2 2 2 2", 2.0),
        ("raw_y_best raw_y x0 x1 x2 x3 x4", "1 4.5 4.5 1 1 1 1 1\n7 0.25 0.25 2 2 2 2 2", 2.0),
        ("raw_y_best raw_y x0 x1 x2 x3 x4", "1 4.5 4.5 1 1 1 1 1\n7 0.25 3.0 2 2 2 2 2", None),
        ("raw_y x0 x1", "1 4.5 1 1\n7 0.25 2 2", None),  # two coordinates of five
        ("raw_y x0 x1 x2 x3 x4", "1 4.5 1 1 1 1 1\n7 0.25 2 2 2 None 2", None),
        ("raw_y sigma", "1 4.5 1\n7 0.25 1", None),
    ],
)
def test_a_row_tells_the_best_point_only_if_the_value_is_its_own(ioh, header, rows, expected):
    (run,) = store.read(ioh([{"instance": 1, "evals": 20}], f"evaluations {header}\n{rows}\n"))
    assert run.trajectory.best == 0.25
    assert (None if run.solution is None else run.solution.tolist()) == (expected and [expected] * 5)


@pytest.mark.parametrize("x", [[1.0, 2.0], ["a"] * 5, [[1.0], [2.0, 3.0]], "point", [None] * 5, {"x": 1}])
def test_what_is_no_point_is_named_and_the_run_kept(ioh, x):
    root = ioh([{"instance": 1, "evals": 9, "best": {"evals": 1, "y": 4.5, "x": x}}], "evaluations raw_y\n1 4.5\n")
    reading = store.read_checked(root)
    assert [run.solution for run in reading.runs] == [None]
    (told,) = reading.skipped
    assert ("the best point of a run is" in told.why, told.kept) == (True, True)


def test_the_exact_best_value_replaces_the_rounded_one(ioh):
    """Ten decimals show 3e-11 as zero: what is known is that the value was at most half a unit."""
    text = "evaluations raw_y\n1 4.5000000000\n7 0.0000000000\n8 0.0000000000\n9 0.0000000000\n12 1.0000000000\n"
    (run,) = store.read(ioh([listed(20, 9, 1.2345678901234567e-13)], text))
    assert run.trajectory.evaluations.tolist() == [1, 7, 9]
    assert run.trajectory.values.tolist() == [4.5, 5e-11, 1.2345678901234567e-13]


def test_a_best_value_that_the_rows_contradict_is_left_out(ioh):
    (run,) = store.read(ioh([listed(20, 7, 1e-3)], "evaluations raw_y\n1 4.5000000000\n7 0.2500000000\n"))
    assert run.trajectory.values.tolist() == [4.5, 0.25]


def test_maximization_flips_signs(ioh):
    text = "evaluations raw_y raw_y_best\n1 8.0 8.0\n2 14.0 14.0\n60 7.0 14.0\n"
    (run,) = store.read(ioh([listed(60, 2, 14)], text, maximization=True, suite="PBO", function_id="one-max"))
    assert run.key.instance == "pbo-fone-max-i1-d5"
    assert run.trajectory.values.tolist() == [-8.0, -14.0]
    assert run.outcome.evaluations == 60


def test_attributes_become_parameters(ioh):
    text = (
        "evaluations raw_y sigma operator x0\n1 5.0 0.5 swap 1\n2 6.0 None swap 2\n4 1.0 0.25 nan 1\n"
        "evaluations raw_y sigma operator x0\n1 5.0 0.5 swap\n"
    )
    fields = {"run_attributes": ["restarts"], "experiment_attributes": [{"popsize": "10"}], "attributes": []}
    one, two = store.read(ioh([listed(9, 4, 1.0, restarts=3), listed(9, 1, 5.0)], text, **fields))
    assert one.parameters.evaluations.tolist() == [1, 4, 9]
    assert list(one.parameters.values) == ["sigma", "operator", "restarts"]
    assert one.parameters.values["sigma"].tolist()[:2] == [0.5, 0.25]
    assert math.isnan(one.parameters.values["sigma"][2])
    assert one.parameters.values["restarts"].tolist()[2] == 3.0
    assert two.trajectory.values.tolist() == [5.0]


def test_two_objectives_are_kept_beside_each_other(ioh):
    text = "evaluations raw_y F2\n1 0.5 6.0\n2 0.75 5.0\n3 0.25 7.0\n"
    (run,) = store.read(ioh([listed(0, 2010, 0.75)], text))
    assert run.trajectory.values.tolist() == [0.5, 0.25]
    assert run.parameters.values["F1"].tolist() == [0.5, 0.75, 0.25]
    assert run.parameters.values["F2"].tolist() == [6.0, 5.0, 7.0]
    assert run.outcome.evaluations == 2010


def test_missing_fields_and_runs_that_never_began(ioh):
    text = "evaluations raw_y\n1 4.5\n"
    root = ioh([{"instance": 1, "evals": 0, "best": {"evals": 0, "y": 1e308, "x": []}}, listed(5, 1, 4.5)], text)
    file = root / "IOHprofiler_f1.json"
    content = json.loads(file.read_text())
    for name in ("version", "suite", "function_name", "maximization", "attributes"):
        del content[name]
    file.write_text(json.dumps(content))
    (run,) = store.read(root)
    assert (run.key.instance, run.outcome.evaluations) == ("unknown_suite-f1-i1-d5", 5)


def test_the_first_layout(tmp_path):
    header = '"function evaluation" "current f(x)" "best-so-far f(x)" "current af(x)+b"  "best af(x)+b" '
    header += '"mutation rate" "l"\n'
    for name, suite, more, rows in (
        ("up", "", "", "1 3.0 3.0 9 9 0.01 1\n2 2.0 3.0 9 9 0.02 2\n5 7.0 7.0 9 9 0.03 3\n"),
        ("down", "", "", "1 3.0 3.0 9 9 0.01 1\n2 4.0 3.0 9 9 0.02 2\n5 -7.0 -7.0 9 9 0.03 3\n"),
        ("flat", "suite = 'PBO', ", "", "1 3.0 3.0 9 9 0.01 1\n"),
        ("told", "suite = 'PBO', ", ", maximization = 'F'", "1 3.0 3.0 9 9 0.01 1\n"),
    ):
        (tmp_path / f"data_f{name}").mkdir()
        (tmp_path / f"data_f{name}" / "x.dat").write_text(header + rows + header + rows)
        (tmp_path / f"f{name}.info").write_text(
            f"{suite}funcId = {name}, DIM = 100, algId = 'EA', algInfo = 'x'{more}\n%\n"
            f"data_f{name}\\x.dat, 1:50|7.0, 1:60|7.0\n"
        )
    runs = {(run.key.instance, run.key.seed): run for run in store.read(tmp_path)}
    assert len(runs) == 8
    up, down = runs["unknown_suite-fup-i1-d100", 1], runs["unknown_suite-fdown-i1-d100", 0]
    assert (up.trajectory.values.tolist(), up.outcome.evaluations) == ([-3.0, -7.0], 60)
    assert (down.trajectory.values.tolist(), down.outcome.evaluations) == ([3.0, -7.0], 50)
    assert runs["pbo-fflat-i1-d100", 0].trajectory.values.tolist() == [-3.0]
    assert runs["pbo-ftold-i1-d100", 0].trajectory.values.tolist() == [3.0]
    assert up.parameters.evaluations.tolist() == [1, 2, 5]
    assert up.parameters.values["mutation rate"].tolist() == [0.01, 0.02, 0.03]


def test_damage_is_named_and_the_rest_kept(ioh):
    text = "evaluations raw_y sigma\n1 4.5 1\n7 spam 1\n9 0.5 1\nevaluations raw_y sigma\n1 9.0 1\n3 0.2"
    root = ioh([listed(100, 9, 0.5), listed(50, 3, 0.25)], text)
    reading = store.read_checked(root)
    assert [run.trajectory.values.tolist() for run in reading.runs] == [[4.5, 0.5], [9.0]]
    assert [skipped.line for skipped in reading.skipped] == [3, 7]
    file = root / "IOHprofiler_f1.json"
    file.write_text(file.read_text()[:-40])
    reading = store.read_checked(root)
    assert reading.runs == ()
    assert "damaged" in reading.skipped[0].why
    with pytest.raises(ValueError, match="no run can be read from"):
        store.read(root)


def test_a_run_that_the_data_file_lacks(ioh):
    text = "evaluations raw_y\n1 9.0\nevaluations raw_y\n1 4.5\n3 0.25\n"
    reading = store.read_checked(ioh([listed(8, 1, 9.0), listed(9, 3, 0.125), listed(9, 3, 0.25)], text))
    assert [run.trajectory.values.tolist() for run in reading.runs] == [[9.0]]  # the second one is another run
    assert any("it holds 2 runs, but the .json file lists 3" in skipped.why for skipped in reading.skipped)


def in_inspector(folder):
    """Every run of a folder as iohinspector reads it: function, dimension, instance, evaluations and best values."""
    import polars as pl
    from iohinspector import DataManager

    manager = DataManager()
    manager.add_folder(str(folder))
    runs = []
    for one in manager.data_sets:
        up = one.function.maximization
        for scenario in one.scenarios:
            rows = scenario.load(monotonic=False, maximize=up)
            for run in scenario.runs:
                own = rows.filter(pl.col("run_id") == run.id)
                values = own["raw_y"].to_numpy() * (-1 if up else 1)
                best = np.minimum.accumulate(values)
                first = np.append(True, best[1:] < best[:-1])
                at, values = own["evaluations"].to_numpy()[first].tolist(), best[first].tolist()
                place = (one.algorithm.name, one.function.id, scenario.dimension, run.instance)
                runs.append((*place, tuple(at), tuple(values), run.evals, run.best.y))
    return runs


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    "folder", ["inspector/examples/SO_Data", "inspector/examples/MO_Data", "inspector/tests/test_data"]
)
def test_published_folders_are_read_as_iohinspector_reads_them(shared, folder):
    root = shared("ioh_text", *folder.split("/"))
    theirs = sorted(in_inspector(root))
    ours = store.read(root)
    assert len(ours) == len(theirs)
    unmatched = []
    for run in ours:
        at, values = run.trajectory.evaluations, run.trajectory.values
        for other in theirs:
            count = len(other[4])  # an exact best value may follow what is rounded to the same there
            same = other[0] == run.key.algorithm and count in (at.size, at.size - 1) and tuple(at[:count]) == other[4]
            if same and np.allclose(other[5], values[:count], rtol=0, atol=5.1e-11):
                assert values[-1] == other[7] or (count == at.size and "MO" in folder)
                break
        else:
            unmatched.append(run.key)
    assert unmatched == []


def test_all_published_files_are_read(shared):
    reading = store.read_checked(shared("ioh_text"))
    assert reading.skipped == ()
    assert reading.formats == ("coco", "iohprofiler")
    assert len(reading.runs) == 150
    bfgs = [run for run in reading.runs if run.key.algorithm == "BFGS-scipy-2019"]
    assert [run.outcome.evaluations for run in bfgs][:5] == [13, 25, 17, 13, 17]
    ea = [run for run in reading.runs if run.key.instance == "unknown_suite-fblubb-i1-d100"]
    assert len(ea) == 10
    assert all(run.trajectory.best == -100.0 for run in ea)
    assert list(ea[0].parameters.values) == ["mutation_rate", "lambda", "l"]


@pytest.mark.parametrize("folder", ["SO_Data/HC", "SO_Data/RS"])
def test_published_best_points_have_the_published_values(shared, folder):
    """Every run of IOHinspector's examples: the JSON file tells its point, which the row of its value has as well."""
    root = shared("ioh_text", "inspector", "examples", *folder.split("/"))
    told = {}
    for file in root.glob("*.json"):
        content = json.loads(file.read_text())
        for one in content["scenarios"][0]["runs"]:
            told[content["function_id"], one["instance"]] = one["best"]
    runs = store.read(root)
    assert len(runs) == len(told)
    sections = [text.splitlines() for path in root.rglob("*.dat") for text in path.read_text().split("evaluations")[1:]]
    rounded = {tuple(line.split()) for section in sections for line in section[1:]}
    for run in runs:
        _, function, instance, _ = run.key.instance.rsplit("-", 3)
        best = told[int(function[1:]), int(instance[1:])]
        assert run.solution.tolist() == best["x"]
        row = (str(best["evals"]), f"{best['y']:.10f}", *(f"{x:.6f}" for x in best["x"]))
        assert row in rounded

"""CSV and Parquet with named columns, nevergrad's CSV, SOS's text files."""

import math

import numpy as np
import polars as pl
import pytest

from polarbear import store
from polarbear.records import Reason, RunKey


def test_csv_with_named_columns(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(
        "algorithm,suite,function,dimension,instance,seed,evaluations,value,evaluations_spent,optimum\n"
        "CMA,bbob,3,5,1,7,1,10.5,100,0.0\nCMA,bbob,3,5,1,7,2,11.5,100,0.0\nCMA,bbob,3,5,1,7,9,1e-13,100,0.0\n"
        "CMA,bbob,3,5,1,8,1,3,,\n"
    )
    one, two = store.read(path)
    assert one.key == RunKey("bbob-f3-i1-d5", "CMA", 7)
    assert one.trajectory.evaluations.tolist() == [1, 9]
    assert one.trajectory.values.tolist() == [10.5, 1e-13]
    assert (one.outcome.evaluations, one.outcome.reason, one.optimum, one.target) == (100, Reason.BUDGET, 0.0, None)
    assert (two.key.seed, two.outcome.evaluations, two.optimum) == (8, 1, None)


def test_columns_may_have_other_names(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("problem;nfe;f(x);value\nsphere;1;-4,0;x\nsphere;3;5;x\n".replace(",0", ".0"))
    columns = {"evaluations": "nfe", "value": "f(x)", "instance": "problem"}
    (run,) = store.read_checked(path, columns=columns, maximize=True).runs
    assert run.key == RunKey("sphere", "mine", 0)
    assert run.trajectory.values.tolist() == [4.0, -5.0]
    with pytest.raises(ValueError, match=r"holds no data that polarbear can read: it holds 1 \.csv file"):
        store.read(path)
    reading = store.read_checked(path, columns={"evaluations": "calls"})
    assert "columns maps 'evaluations' to 'calls', but the columns are problem, nfe" in reading.skipped[0].why
    with pytest.raises(ValueError, match="columns maps 'fitness'; choose from algorithm"):
        store.read_checked(path, columns={"fitness": "f(x)"})


def test_rows_that_are_no_numbers_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("evaluations,value,seed\n1,5.0,0\n2,spam,0\n2.5,1,0\n0,1,0\n4,0.5,0\n5,0.25,x\n6\n7,0.125,0\n")
    reading = store.read_checked(path)
    assert sorted(skipped.line for skipped in reading.skipped) == [3, 4, 5, 7, 8]
    assert reading.runs[0].trajectory.values.tolist() == [5.0, 0.5, 0.125]


def test_large_whole_numbers_and_special_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"evaluations,value\n1,inf\n2,1e308\n3,nan\n{2**53},-inf\n")
    (run,) = store.read(path)
    assert run.trajectory.evaluations.tolist() == [2, 2**53]
    assert run.trajectory.values.tolist() == [1e308, -math.inf]


def test_parquet_tables_and_parts_of_studies(tmp_path, run):
    frame = pl.DataFrame({"algorithm": ["a", "a"], "instance": ["x", "x"], "evaluations": [1, 5], "value": [2.0, 0.1]})
    frame.write_parquet(tmp_path / "table.parquet")
    (table,) = store.read(tmp_path / "table.parquet")
    assert (table.key, table.trajectory.values.tolist()) == (RunKey("x", "a", 0), [2.0, 0.1])
    runs = [run(seed) for seed in range(5)]
    with store.create(tmp_path / "study", {}) as study:
        study.extend(runs)
    (part,) = (tmp_path / "study" / "runs").glob("*.parquet")
    assert store.read(part) == runs
    data = part.read_bytes()
    part.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match="it cannot be read as Parquet"):
        store.read(part)


def test_two_rows_of_one_run_key_from_two_files_must_agree(tmp_path):
    for name, value in (("a", 1.0), ("b", 2.0)):
        (tmp_path / f"{name}.csv").write_text(f"algorithm,instance,seed,evaluations,value\nA,x,0,1,{value}\n")
    with pytest.raises(ValueError, match=r"more than one run of A on x \(seed 0\)"):
        store.read(tmp_path)
    (tmp_path / "b.csv").write_bytes((tmp_path / "a.csv").read_bytes())
    assert len(store.read(tmp_path)) == 1


def test_nevergrad(shared):
    reading = store.read_checked(shared("ranking", "nevergrad_sphere_perf_example.csv"))
    assert reading.formats == ("nevergrad",)
    assert reading.skipped == ()
    assert len(reading.runs) == 937  # one per row
    runs = [run for run in reading.runs if run.key.algorithm == "NM" and run.outcome.evaluations == 200]
    quiet = [run for run in runs if run.key.instance == "nevergrad-fsphere-i1-d2"]
    noisy = [run for run in runs if run.key.instance == "nevergrad-fsphere-inoise_level=0.2-d2"]
    assert 4e-10 in [run.trajectory.best for run in quiet]
    assert len(quiet) + len(noisy) == len(runs)
    assert all(run.trajectory.evaluations.tolist() == [200] for run in runs)
    assert math.isinf(runs[0].trajectory.value_at(199))


def test_nevergrad_of_later_versions(tmp_path):
    path = tmp_path / "experiment.csv"
    path.write_text(
        "name,optimizer_name,budget,loss,dimension,rotation,num_workers\n"
        "ellipsoid,CMA,100,0.5,50,True,1\nellipsoid,CMA,100,nan,50,False,10\nellipsoid,CMA,x,1,50,False,10\n"
    )
    reading = store.read_checked(path)
    assert [run.key.instance for run in reading.runs] == [
        "nevergrad-fellipsoid-inum_workers=10-d50",
        "nevergrad-fellipsoid-irotation=True-d50",
    ]
    assert reading.runs[0].trajectory.values.size == 0
    assert [skipped.line for skipped in reading.skipped] == [4]


def test_sos(tmp_path):
    (tmp_path / "DEroe1D2.txt").write_text(
        "# function 0 dim 2 F 0.5 CR 0.9 \n0 -1 -1 5.5 1 -1 0.1 0.2\n1 -1 -1 7.5 2 -1 0.3 0.4\n"
        "2 0 1 0.25 9 0 0.5 0.6\nbad row\n"
    )
    (tmp_path / "corrections.txt").write_text("DEroe1D2 0.5 0.5 0.9\n")
    reading = store.read_checked(tmp_path)
    (run,) = reading.runs
    assert run.key == RunKey("SOS-f0-i1-d2", "DEroe1", 0)
    assert run.trajectory.evaluations.tolist() == [1, 9]
    assert run.trajectory.values.tolist() == [5.5, 0.25]
    assert run.solution.tolist() == [0.5, 0.6]
    assert [(skipped.line, reading.formats) for skipped in reading.skipped] == [(5, ("sos",))]


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 2000, b"PAR1nonsensePAR1", b"evaluations,value", b"{}", b"a,b\n1,2\n"]
)
def test_files_that_hold_nothing_of_use_are_said_to(tmp_path, content):
    for name in ("x.csv", "x.parquet", "x.json", "x.info", "x.txt", "x"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"holds no data that polarbear can read|no run can be read"):
            store.read(tmp_path / name)


def test_random_bytes_never_break_reading(tmp_path):
    rng = np.random.default_rng(1)
    sound = b"evaluations,value,seed\n" + b"".join(b"%d,%f,0\n" % (n, 1 / n) for n in range(1, 40))
    for trial in range(200):
        data = bytearray(sound)
        for position in rng.integers(0, len(data), rng.integers(1, 6)):
            data[position] = rng.integers(0, 256)
        path = tmp_path / f"{trial}.csv"
        path.write_bytes(data)
        try:
            reading = store.read_checked(path)
        except ValueError:
            continue
        assert all(run.trajectory.values.size <= 39 for run in reading.runs)

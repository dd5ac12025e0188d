"""COCO's layouts, old and new, sound and damaged."""

import math

import numpy as np
import pytest

from polarbear import store
from polarbear.records import Reason, RunKey
from tests.store.formats.conftest import NEW_COLUMNS, OLD_COLUMNS


def test_both_files_make_one_trajectory(coco, two_runs):
    first, second = store.read(coco(two_runs))
    assert first.key == RunKey("bbob-f1-i1-d2", "CMA", 0)
    assert first.trajectory.evaluations.tolist() == [1, 3, 4, 9]
    assert first.trajectory.values.tolist() == [50.0, 40.5, 3.5, 1e-13]
    assert first.outcome.evaluations == 12
    assert (first.optimum, first.target) == (0.0, 1e-8)
    assert first.outcome.reason is Reason.TARGET
    assert first.trajectory.value_at(1000) == 1e-13  # it solved the problem: later values are known
    assert second.key.instance == "bbob-f1-i2-d2"
    assert second.outcome == type(second.outcome)(Reason.BUDGET, 30, 0.0)
    assert math.isnan(second.trajectory.value_at(31))


def test_repetitions_of_an_instance_are_numbered_in_file_order(coco):
    runs = [(i, [(1, 9.0 + n)], [(1, 9.0 + n)], 1) for n, i in enumerate([1, 1, 2, 1, 2])]
    read = store.read(coco({(3, 5): runs}))
    assert [(run.key.instance, run.key.seed, run.trajectory.best) for run in read] == [
        ("bbob-f3-i1-d5", 0, 9.0),
        ("bbob-f3-i1-d5", 1, 10.0),
        ("bbob-f3-i1-d5", 2, 12.0),
        ("bbob-f3-i2-d5", 0, 11.0),
        ("bbob-f3-i2-d5", 1, 13.0),
    ]


def test_a_value_that_rounds_to_a_target_does_not_hit_it_before_the_logger_says_so(coco):
    """At evaluation 11 the logger knew a value above 10, which ten digits show as 10."""
    dat, tdat = [(1, 15.0), (13, 1.0)], [(1, 15.0), (11, 10.0), (13, 1.0), (20, 1.0)]
    run = store.read(coco({(5, 2): [(1, dat, tdat, 20)]}))[0].trajectory
    assert run.evaluations[run.values <= 10.0][0] == 13
    assert run.evaluations[run.values <= 10.0 * (1 + 1e-8)][0] == 11
    beyond = [(1, 15.0), (5, 9e-9), (8, 1e-11)]  # past the final target the logger counts no hits
    run = store.read(coco({(6, 2): [(1, [(1, 15.0), (5, 9e-9)], beyond, 8)]}, folder=coco({}) / "beyond"))[0]
    assert run.trajectory.values.tolist() == [15.0, 9e-9, 1e-11]


@pytest.mark.parametrize(
    ("header", "function", "suite"),
    [
        ("", 24, "bbob"),
        ("", 101, "bbob-noisy"),
        (", suite = 'bbob-largescale'", 1, "bbob-largescale"),
        (", suite = 'sbox-cost'", 1, "bbob-boxed"),
    ],
)
def test_the_suite_is_named_as_coco_names_it(coco, header, function, suite):
    (run,) = store.read(coco({(function, 40): [(7, [(1, 1.0)], [(1, 1.0)], 1)]}, header=header))
    assert run.key.instance == f"{suite}-f{function}-i7-d40"


def test_the_layout_since_2019_counts_evaluations_of_constraints(tmp_path):
    (tmp_path / "d").mkdir()
    header = "% f evaluations | g evaluations | best noise-free fitness - Fopt (1.0) + sum g_i+ | measured | best\n"
    (tmp_path / "d" / "a.dat").write_text(header + "1 1 5.0 6.0 6\n3 4 0.5 1.5 0\n")
    (tmp_path / "d" / "a.tdat").write_text(header + "1 1 5.0 6.0 6\n10 12 0.5 1.5 0\n")
    (tmp_path / "d" / "a.rdat").write_text(header + "4 5 0.5 1.5 0\n8 9 0.5 1.5 0\n")
    (tmp_path / "f1.info").write_text(
        "suite = 'bbob-constrained', funcId = 1, DIM = 2, Precision = 1.000e-06, algId = 'A, the \"first\"', "
        "coco_version = '2.6', logger = 'bbob', data_format = 'bbob-new2'\n% c\nd/a.dat, 3:10|5e-1"
    )
    (run,) = store.read(tmp_path)
    assert run.key == RunKey("bbob-constrained-f1-i3-d2", 'A, the "first"', 0)
    assert run.trajectory.evaluations.tolist() == [2, 7]
    assert run.outcome.evaluations == 22
    assert run.target == 1e-6
    assert run.parameters.evaluations.tolist() == [9, 17]
    assert run.parameters.values["restarts"].tolist() == [1.0, 2.0]


def test_two_objectives(tmp_path):
    block = (
        "%\n% index = 0, name = x\n% instance = {}, reference value = 9.4e-001\n% function evaluation | indicator value"
    )
    (tmp_path / "group").mkdir()
    for ending, more in (("dat", " | target hit"), ("tdat", "")):
        rows = ["1\t4.5e+003{0}\n7\t2.5e-013{0}\n", "1\t8.0{0}\n5\t-1.5e-006{0}\n"]
        text = "".join(
            block.format(number) + more + "\n" + row.format("\t1.0" if more else "")
            for number, row in zip((4, 2), rows, strict=True)
        )
        (tmp_path / "group" / f"f01.{ending}").write_text(text)
    (tmp_path / "a_hyp.info").write_text(
        "algorithm = 'MAT-SMS', indicator = 'hyp', folder = 'group', coco_version = '1.1'\n% c\n"
        "function =  1, dim =  20, f01.dat, 4:7|2.5e-13, 2:5|-1.5e-006\n"
        "function =  2, dim =  20, missing.dat, 4:7|2.5e-13\n"
    )
    reading = store.read_checked(tmp_path)
    one, two = reading.runs
    assert (one.key.instance, two.key.instance) == ("bbob-biobj-f1-i2-d20", "bbob-biobj-f1-i4-d20")
    assert one.trajectory.values.tolist() == [8.0, -1.5e-6]
    assert two.trajectory.values.tolist() == [4500.0, 2.5e-13]
    assert (two.target, two.optimum) == (None, 0.0)
    assert [(skipped.line, "missing.dat" in skipped.why) for skipped in reading.skipped] == [(4, True)]


def test_an_entry_may_name_several_data_files(coco, two_runs):
    root = coco(two_runs)
    (root / "data_f1-01").mkdir()
    for ending in ("dat", "tdat"):
        (root / "data_f1-01" / f"x.{ending}").write_bytes((root / "data_f1" / f"bbobexp_f1_DIM2.{ending}").read_bytes())
    info = root / "bbobexp_f1.info"
    info.write_text(info.read_text().rstrip() + ", data_f1-01\\x.dat, 3:12|1e-13, 4\n")
    runs = store.read(root)
    assert [run.key.instance for run in runs] == [f"bbob-f1-i{i}-d2" for i in (1, 2, 3, 4)]
    assert runs[2].trajectory == runs[0].trajectory
    assert runs[3].trajectory == runs[1].trajectory  # not finished properly: its rows tell how long it took


def test_the_same_data_in_two_folders_are_read_once(coco, two_runs, tmp_path):
    coco(two_runs, folder=tmp_path / "all" / "a")
    coco(two_runs, folder=tmp_path / "all" / "b")
    coco({(1, 2): [(3, [(1, 9.0)], [(1, 9.0)], 1)]}, folder=tmp_path / "all" / "c")
    reading = store.read_checked(tmp_path / "all")
    assert [run.key.instance for run in reading.runs] == [f"bbob-f1-i{i}-d2" for i in (1, 2, 3)]
    (skipped,) = reading.skipped
    assert skipped.path.endswith("b/bbobexp_f1.info")
    assert "duplicates the data of" in skipped.why


def test_a_truncated_data_file_keeps_all_that_is_sound(coco, two_runs):
    """The file is cut at every byte: no run that is read differs from the whole one, but for being shorter."""
    root = coco(two_runs)
    whole = {run.key: run.trajectory for run in store.read(root)}
    for ending in ("dat", "tdat"):
        file = root / "data_f1" / f"bbobexp_f1_DIM2.{ending}"
        data = file.read_bytes()
        for length in range(0, len(data) - 14, 3):  # the last coordinates alone may be cut without harm
            file.write_bytes(data[:length])
            reading = store.read_checked(root)
            assert reading.skipped, length
            for run in reading.runs:
                known = whole[run.key]
                at = run.trajectory.evaluations
                assert (run.trajectory.values >= known.value_at(at)).all()
                assert set(run.trajectory.values) <= set(known.values)
                assert run.outcome.evaluations <= known.outcome.evaluations
        file.write_bytes(data)


@pytest.mark.parametrize("ending", ["dat", "tdat"])
@pytest.mark.parametrize("columns", [OLD_COLUMNS, NEW_COLUMNS])
def test_the_only_row_of_a_file_is_held_against_the_columns_that_its_comment_names(coco, ending, columns):
    root = coco({(1, 2): [(1, [(1, 50.25)], [(1, 50.25)], 1)]})
    file = root / "data_f1" / f"bbobexp_f1_DIM2.{ending}"
    for row in (b"1 0 50", b"1 0 50.25", b"1 0 50.25 50.25"):
        file.write_bytes(b"%s\n%s\n" % (columns.encode(), row))
        reading = store.read_checked(root)
        cut = [skipped for skipped in reading.skipped if "of 5 columns: the line is cut off" in skipped.why]
        assert [(skipped.path[-len(file.name) :], skipped.line) for skipped in cut] == [(file.name, 2)], row
        assert not any(50.0 in run.trajectory.values for run in reading.runs)
    file.write_bytes(columns.encode() + b"\n1 0 50.25 50.25 50.25\n")  # of many variables, coordinates are not logged
    assert not [skipped for skipped in store.read_checked(root).skipped if "cut off" in skipped.why]


def test_damage_is_named_by_file_and_line(coco, two_runs):
    root = coco(two_runs)
    file = root / "data_f1" / "bbobexp_f1_DIM2.dat"
    lines = file.read_text().splitlines()
    lines[2] = "4 \x00\x01 garbage"
    file.write_text("\n".join(lines) + "\n")
    with pytest.warns(store.IncompleteData, match=r"bbobexp_f1_DIM2\.dat, line 3: not a row of numbers"):
        runs = store.read(root)
    assert runs[0].trajectory.values.tolist() == [50.0, 40.5, 3.5, 1e-13]  # the .tdat file has the row as well
    info = root / "bbobexp_f1.info"
    info.write_text("junk\n" + info.read_text() + "data_f2/x.dat, 1:3|4\nfuncId = 3\ndata_f3/y.dat, 1:3|4\n")
    found = [(skipped.path[-15:], skipped.line) for skipped in store.read_checked(root).skipped]
    assert {("bbobexp_f1.info", line) for line in (1, 5, 7)} <= set(found)


def test_a_data_file_nobody_tells_of_is_named(coco, two_runs):
    root = coco(two_runs)
    (root / "orphan.tdat").write_text("% f\n1 2 3\n")
    (skipped,) = store.read_checked(root).skipped
    assert skipped.path.endswith("orphan.tdat")
    assert "no .info or .json file" in skipped.why


def test_runs_are_not_mixed_up_when_one_is_missing(coco, two_runs):
    root = coco(two_runs)
    for ending, last in (("dat", 5), ("tdat", 7)):  # the first run is gone, the second one stands in its place
        file = root / "data_f1" / f"bbobexp_f1_DIM2.{ending}"
        lines = file.read_text().splitlines()
        start = next(i for i, line in enumerate(lines) if i and line.startswith("%"))
        file.write_text("\n".join(lines[start:]) + "\n")
        assert start < last
    reading = store.read_checked(root)
    assert reading.skipped
    assert not any(run.key.instance == "bbob-f1-i1-d2" and 0.25 in run.trajectory.values for run in reading.runs)


def test_paths_in_an_info_file_stay_within_the_data(coco, two_runs, tmp_path):
    coco(two_runs, folder=tmp_path / "secret")
    root = tmp_path / "data"
    root.mkdir()
    text = (tmp_path / "secret" / "bbobexp_f1.info").read_text().replace("data_f1", "..\\secret\\data_f1")
    (root / "a.info").write_text(text)
    reading = store.read_checked(root)
    assert reading.runs == ()
    assert "lies outside" in reading.skipped[0].why


def test_an_info_file_alone_is_read_with_its_data(coco, two_runs):
    root = coco(two_runs)
    assert store.read(root / "bbobexp_f1.info") == store.read(root)


def test_values_of_every_size_survive(coco):
    values = np.array([1.7e308, 1e10, 0.1 + 0.2, 1e-13, 5e-324, 0.0, -1e-15])
    rows = [(at, float(value)) for at, value in enumerate(values, start=1)]
    (run,) = store.read(coco({(1, 2): [(1, rows, rows, 7)]}))
    assert run.trajectory.values.tobytes() == values.tobytes()

"""Tables that are cut, damaged or hostile: what they do not tell is named, with its line, and never made up."""

import math
import warnings

import numpy as np
import polars as pl
import pytest

from polarbear import store
from polarbear.assess import as_text
from polarbear.assess.report import Assessment, left_out, runtime_tables, subject_of
from polarbear.records import Instance, Outcome, Reason, Run, RunKey, Trajectory
from polarbear.study import recorded_race, replay
from tests.assess.coco_data import shared
from tests.cli.test_cli import polarbear

HEADER = "algorithm,instance,seed,evaluations,value\n"
SOUND = "CMA,bbob-f1-i1-d2,0,1,80.5\nCMA,bbob-f1-i1-d2,0,7,0.0001\n"


@pytest.fixture
def read(tmp_path):
    """What comes of a file with this content."""

    def reading(content, **options):
        path = tmp_path / "a.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return store.read_checked(path, **options)

    return reading


def values(reading):
    return [run.trajectory.values.tolist() for run in reading.runs]


def lines(reading):
    return sorted((one.line, one.kept) for one in reading.skipped)


def test_a_value_that_is_cut_off_is_named(read):
    whole = HEADER + SOUND
    cut = read(whole[: whole.rindex(".0001")])
    assert cut.runs[0].trajectory.best == 0  # read as it stands …
    assert lines(cut) == [(3, True)]  # … with a word
    assert "may be cut off" in cut.skipped[0].why
    assert read(whole).skipped == ()


def test_a_line_that_lacks_fields_is_damage_wherever_it_stands(read):
    cut = read(HEADER + SOUND[:-8])
    assert (values(cut), lines(cut)) == ([[80.5]], [(3, False)])
    within = read(HEADER + "CMA,bbob-f1-i1-d2,0,5\n" + SOUND)
    assert (values(within), lines(within)) == ([[80.5, 0.0001]], [(2, False)])
    assert "4 of 5 fields" in within.skipped[0].why


def test_every_cut_of_a_file_is_named_unless_it_is_between_lines(read):
    content = HEADER + SOUND + 'CMA,"bbob-f1-i2-d2",0,3,12.5\nCMA,bbob-f1-i2-d2,0,4,11.25\n'
    sound = {(run.key, *run.trajectory.values.tolist()) for run in read(content).runs}
    for end in range(len(HEADER), len(content)):
        cut = read(content[:end])
        if content[end - 1] != "\n":
            assert cut.skipped, content[:end]
        if any(one.kept for one in cut.skipped):
            continue  # read with a word
        for run in cut.runs:
            found = run.trajectory.values.tolist()
            assert any(key == run.key and found == list(whole[: len(found)]) for key, *whole in sound)


def test_long_lines_are_damage(read):
    found = read(HEADER + SOUND + "CMA,bbob-f1-i1-d2,0,9,0,00001\n")
    assert (values(found), lines(found)) == ([[80.5, 0.0001]], [(4, False)])


@pytest.mark.parametrize("quote", ['CMA,"bbob-f1-i2-d2,0,1,5\n', 'CMA,bbob-f1-i2-d2,0,1,"5\n', '"CMA,x\n'])
@pytest.mark.parametrize("after", ["", SOUND, '"CMA","bbob-f1-i3-d2",0,1,3.5\n', '"CMA",bbob-f1-i3-d2,0,1,3.5'])
def test_quotes_that_are_not_closed_are_damage_of_their_line_alone(read, quote, after):
    found = read(HEADER + SOUND + quote + after)
    assert (4, False) in lines(found)
    assert found.runs[0].trajectory.values.tolist() == [80.5, 0.0001]
    assert len(found.runs) == 1 + ("i3" in after)
    assert all(one.line == 4 or one.kept for one in found.skipped)


def test_cells_may_hold_line_breaks_quotes_and_separators(read):
    text = '"message ""one""\r\nand, two"'
    content = HEADER.strip() + ",reason,message\n" + f"CMA,x,0,1,5.5,failed,{text}\nCMA,x,1,1,6.5,failed,b\n"
    first, second = read(content).runs
    assert first.outcome.message == 'message "one"\r\nand, two'
    assert second.outcome.message == "b"


def test_latin_1_names_do_not_merge(read):
    content = HEADER + "".join(f"M{letter}ller,x,0,1,{k}.5\n" for k, letter in enumerate("üöä"))
    found = read(content.encode("latin-1"))
    assert [run.key.algorithm for run in found.runs] == ["Mäller", "Möller", "Müller"]
    assert [(one.kept, "Windows-1252" in one.why) for one in found.skipped] == [(True, True)]
    assert [run.key for run in read(content).runs] == [run.key for run in found.runs]
    assert [run.key for run in read(content.encode("utf-16")).runs] == [run.key for run in found.runs]


def test_a_damaged_byte_in_utf_8_is_not_taken_for_another_encoding(read):
    content = (HEADER + "Müller,x,0,1,5.5\nMöller,x,0,1,5.5\n").encode()
    found = read(content.replace("ö".encode(), b"\xf6"))
    assert found.runs == ()
    assert "line 3 is not UTF-8" in found.skipped[0].why
    assert "neither UTF-8 nor Windows-1252" in read(HEADER.encode() + b"M\x81ller,x,0,1,5\n").skipped[0].why


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        *(("dimension", cell) for cell in ("-3", "1e30", "2.5")),
        *(("evaluations_spent", cell) for cell in ("-5", "4e18")),
        *(("optimum", cell) for cell in ("inf", "-inf", "x")),
        *(("target", cell) for cell in ("inf", "1e999")),
        *(("seconds_spent", cell) for cell in ("-1", "inf")),
        *(("invalid_evaluations", cell) for cell in ("-1", "9e99")),
        *(("reason", cell) for cell in ("null", "None", "solved")),
        *(("suite", cell) for cell in ("bb\x1b[31mob", "bb\x00ob", "bb\u202eob")),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_line(read, column, cell):
    content = f"algorithm,function,evaluations,value,{column}\n"
    found = read(f"{content}A,1,1,3.5,\nB,1,1,3.5,{cell}\n")
    assert [run.key.algorithm for run in found.runs] == ["A"]
    assert lines(found) == [(3, False)]
    assert column in found.skipped[0].why or repr(cell) in found.skipped[0].why


@pytest.mark.parametrize("evaluations", ["-5", "0", "4e18", "9223372036854775807", "inf", "nan", "1.5", "7" * 5000])
def test_evaluations_that_are_no_counts_are_named(read, evaluations):
    found = read(HEADER + SOUND + f"CMA,bbob-f1-i1-d2,0,{evaluations},1e-5\n")
    assert (values(found), lines(found)) == ([[80.5, 0.0001]], [(4, False)])


def test_control_characters_in_names_are_refused(read):
    found = read(HEADER + SOUND + "C\x1b[2JMA,x,0,1,5.5\n")
    assert [run.key.algorithm for run in found.runs] == ["CMA"]
    assert "'C\\x1b[2JMA'" in found.skipped[0].why


def test_values_below_a_known_optimum_are_refused_but_for_rounding_and_two_objectives(read):
    rows = "A,bbob-f1-i1-d2,0,1,79,79.48\nB,bbob-f1-i1-d2,0,1,79.4799999999,79.48\nC,bbob-biobj-f1-i1-d2,0,1,-0.01,0\n"
    found = read(HEADER.strip() + ",optimum\n" + rows)
    assert sorted(run.key.algorithm for run in found.runs) == ["B", "C"]
    assert lines(found) == [(2, False)]
    assert "79, which is below the optimum, 79.48" in found.skipped[0].why


def test_a_run_that_ended_before_its_rows_is_named(read):
    found = read(HEADER.strip() + ",evaluations_spent\nA,x,0,1,5.5,3\nA,x,0,9,4.5,3\n")
    assert [run.outcome.evaluations for run in found.runs] == [9]
    assert lines(found) == [(2, True)]


def test_runs_without_outcome_are_named(read, tmp_path):
    runs = read(HEADER + "".join(f"CMA,x,{seed},1,5.5\n" for seed in range(3))).runs
    frame = pl.read_parquet(store.export(runs, tmp_path / "sound.parquet", "parquet"))
    for column in ("reason", "evaluations_spent", "seconds_spent", "message", "invalid_evaluations"):
        none = pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise(pl.col(column)).alias(column)
        frame.with_columns(none).write_parquet(tmp_path / "part.parquet")
        found = store.read_checked(tmp_path / "part.parquet")
        assert [one.key.seed for one in found.runs] == [0, 2]
        assert "run 2 lacks" in found.skipped[0].why


def test_columns_of_one_name_are_refused(read):
    found = read("evaluations,value,value\n1,2,3\n")
    assert (found.runs, "two columns are named 'value'" in found.skipped[0].why) == ((), True)
    assert len(read("evaluations,value,,\n1,2,,\n").runs) == 1  # columns without a name are passed over


def test_line_ends_of_windows_byte_order_marks_and_blank_lines(read):
    expected = [[80.5, 0.0001]]
    content = (HEADER + SOUND).replace("\n", "\r\n").encode()
    for sound in (content, b"\xef\xbb\xbf" + content, content.replace(b"0.0001\r", b"0.0001"), content + b"\r\n\n"):
        found = read(sound)
        assert (values(found), found.skipped) == (expected, ())
        assert found.runs[0].key.instance == "bbob-f1-i1-d2"
    assert values(read(content.decode().encode("utf-16"))) == expected


def test_mixed_delimiters_are_damage(read):
    found = read(HEADER + SOUND + "CMA;bbob-f1-i1-d2;0;9;0.00001\n")
    assert (values(found), lines(found)) == ([[80.5, 0.0001]], [(4, False)])


def test_nul_bytes_are_damage(read):
    found = read(HEADER.encode() + SOUND.encode() + b"CMA,bbob-f1-i1-d2,0,9,0\x00\n" + b"\x00" * 5000 + b"\n")
    assert (values(found), lines(found)) == ([[80.5, 0.0001]], [(4, False), (5, False)])


def test_a_million_damaged_lines_are_counted_not_listed(read):
    found = read(HEADER + SOUND + "x\n" * 1_000_000)
    assert (values(found), len(found.skipped)) == ([[80.5, 0.0001]], 101)
    assert "999,900 more lines" in found.skipped[-1].why


def test_quotes_everywhere_take_no_longer(read):
    """An opening quote in every line must not be looked for its end again and again."""
    found = read(HEADER + SOUND + '"x,\n' * 200_000)
    assert (values(found), len(found.skipped)) == ([[80.5, 0.0001]], 101)


def test_nevergrad_rows_that_are_cut_are_named(read):
    header = "name,optimizer_name,budget,dimension,loss\n"
    found = read(header + "sphere,CMA,100,2,0.5\nsphere,CMA,100,2,0.0\nsphere,CMA,100\nsphere,CMA,200,2,0")
    assert sorted(run.trajectory.best for run in found.runs) == [0, 0.5]
    assert lines(found) == [(4, False), (5, False)]
    assert not any(math.isnan(run.trajectory.best) for run in found.runs)


# COCO


ROW = "{} {} {} 0 0 +1.0 +1.0\n"


def coco_data(folder, dat, tdat):
    """A run on f1 in 2-D in COCO's first layout, from the rows of its two files."""
    (folder / "data_f1").mkdir(parents=True)
    header = "% function evaluation | noise-free fitness - Fopt (0) | best noise-free fitness - Fopt | …\n"
    for ending, rows in (("dat", dat), ("tdat", tdat)):
        text = header + "".join(ROW.format(at, value, value) for at, value in rows)
        (folder / "data_f1" / f"bbobexp_f1_DIM2.{ending}").write_text(text)
    (folder / "bbobexp_f1.info").write_text(
        f"funcId = 1, DIM = 2, Precision = 1e-8, algId = 'A'\n%\ndata_f1/bbobexp_f1_DIM2.dat, 1:{tdat[-1][0]}|1e0\n"
    )
    return folder


def test_hits_come_from_dat_rows_and_what_contradicts_them_is_named(tmp_path):
    dat = [(1, 150.0), (7, 80.0), (9, 5.0)]
    found = store.read_checked(coco_data(tmp_path / "a", dat, [(1, 3.5), (2, 3.5), (8, 80.0), (9, 5.0), (20, 5.0)]))
    (run,) = found.runs
    assert run.trajectory.evaluations.tolist() == [1, 7, 9]
    assert run.trajectory.values.tolist() == [150, 80, 5]
    assert [(one.line, one.path.endswith("bbobexp_f1_DIM2.tdat")) for one in found.skipped] == [(2, True)]
    assert "at evaluation 1 the best value is 3.5" in found.skipped[0].why
    assert "1 more row of this run" in found.skipped[0].why
    sound = store.read_checked(coco_data(tmp_path / "b", dat, [(1, 150.0), (5, 101.0), (9, 5.0), (20, 4.9)]))
    assert sound.skipped == ()
    assert sound.runs[0].trajectory.values.tolist() == [150, 101, 80, 5, 4.9]


def cocopp_of(folder):
    """What cocopp reads, by function and dimension."""
    cocopp = pytest.importorskip("cocopp")
    from cocopp import testbedsettings

    testbedsettings.current_testbed = None  # that of the data it read before would count
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it misses instances
        return {(one.funcId, one.dim): one for one in cocopp.load(str(folder))}


def test_constrained_data_of_cocos_own_logger_go_there_and_back(tmp_path, monkeypatch, capfd):
    """Also where the constraints are evaluated before the function, so that the first value comes later."""
    cocoex = pytest.importorskip("cocoex")
    monkeypatch.chdir(tmp_path)
    observer = cocoex.Observer("bbob-constrained", "result_folder: random algorithm_name: random")
    rng = np.random.default_rng(1)
    for number, problem in enumerate(cocoex.Suite("bbob-constrained", "instances: 1-2", "dimensions: 2,5")):
        if number % 17:
            continue
        problem.observe_with(observer)
        for scale in 3 * 0.97 ** np.arange(60):
            point = problem.initial_solution + scale * rng.normal(size=problem.dimension)
            if number % 2 or (problem.constraint(point) <= 0).all():
                problem(point)
        problem.free()
    runs = store.read(tmp_path / "exdata" / "random")
    assert {Instance.parse(run.key.instance).suite for run in runs} == {"bbob-constrained"}
    assert max(run.trajectory.evaluations[0] for run in runs) > 1
    store.export(runs, tmp_path / "out", "coco")
    back = store.read_checked(tmp_path / "out")
    assert (list(back.runs), back.skipped) == (runs, ())
    ours, theirs = cocopp_of(tmp_path / "out"), cocopp_of(tmp_path / "exdata" / "random")
    capfd.readouterr()
    assert ours.keys() == theirs.keys()
    for place, one in theirs.items():
        np.testing.assert_array_equal(ours[place]._evals, one._evals)  # of function and constraints together
        np.testing.assert_array_equal(ours[place].maxevals, one.maxevals)


# Assessment


def made(name, rows, spent, *, algorithm="A", optimum=0.0, reason=Reason.BUDGET, seed=0):
    at, best = zip(*rows, strict=True)
    trajectory = Trajectory(at, np.zeros(len(at)), best, Outcome(reason, spent, 0.0))
    return Run(RunKey(name, algorithm, seed), trajectory, optimum=optimum)


def indicator_runs(instances):
    """Every second run misses the harder targets."""
    return [
        made(f"bbob-biobj-f1-i{i}-d2", [(1, 0.9), (10 + i, 1e-3), *([(50 + i, 1e-6)] if i % 2 else [])], 100)
        for i in instances
    ]


def test_two_objectives_get_no_simulated_restarts():
    assessment = Assessment(subject_of(indicator_runs(range(1, 11))))
    ((cell, name),) = assessment.distributions
    found = assessment.distributions[cell, name]
    assert not found.simulated.any()
    assert found.runtimes.max() == 59  # what was measured, and nothing beyond
    hits = assessment.hits[cell, name]
    assert found.solved == pytest.approx(np.isfinite(hits).mean())
    one_objective = [made(run.key.instance.replace("-biobj", ""), [(1, 50.0), *([(9, 1e-9)] if n % 2 else [])], 100)
                     for n, run in enumerate(indicator_runs(range(1, 11)))]  # fmt: skip
    assert any(one.simulated.any() for one in Assessment(subject_of(one_objective)).distributions.values())


def test_tables_of_two_objectives_are_as_cocos():
    """Targets to 1e-5, whose successes are counted; of bbob-biobj instances 1 to 10, as best-2016 has them."""
    cocopp = pytest.importorskip("cocopp.testbedsettings")
    theirs = cocopp.GECCOBiObjBBOBTestbed.settings
    subject = subject_of(indicator_runs(range(1, 16)))
    references = store.read_reference(shared("coco_refalgs/best2016-bbob-biobj.tar.gz"))
    (table,) = runtime_tables(subject, references=references)
    assert tuple(table.targets) == theirs["pptable_targetsOfInterest"]
    assert table.final_target == theirs["pptable_ftarget"]
    (row,) = table.blocks[0].rows
    assert (row.runs, row.successes) == (len(theirs["instancesOfInterest"]), 5)
    assert "only instances 1 to 10 of bbob-biobj count" in left_out(subject)
    assert left_out(subject).endswith("runs left out: 5 of 15")
    assert left_out(subject_of(indicator_runs(range(1, 11)))) == ""
    # 10 of 10 runs of the reference reached 1e-5: its last row at or below it tells so
    assert table.blocks[0].reference_successes == (10, 10)


def test_absolute_targets_need_no_optimum(tmp_path):
    runs = [
        made(f"unknown_suite-f1-i{i}-d2", [(1, 90.0), (factor * i, 20.0), (30 * factor, -5.0)], 100, algorithm=name,
             optimum=None)
        for name, factor in (("A", 2), ("B", 3))
        for i in range(1, 6)
    ]  # fmt: skip
    with pytest.raises(ValueError, match="give values as absolute targets"):
        runtime_tables(subject_of(runs))
    subject = subject_of(runs, absolute=[20.0, -5.0, -6.0])
    (table,) = runtime_tables(subject)
    assert table.targets.tolist() == [20, -5, -6]
    np.testing.assert_array_equal(table.blocks[0].rows[0].erts, [6, 60, np.inf])
    assert "-5" in as_text(table)
    path = store.export(runs, tmp_path / "runs.csv", "csv")
    assert '"ert": 6.0' in polarbear("table", path, "--absolute", "20", "--absolute", "-5", "--json")[0]
    compared = polarbear("compare", path, "--absolute", "20", "--json")[0]
    assert '"measure": "evaluations to value 20"' in compared
    assessed = polarbear("assess", path, "--absolute", "20", "--into", tmp_path / "page", "--json")[0]
    assert "Targets are objective values" in assessed
    assert '"ert": 9.0' in assessed


def test_a_race_says_what_is_unknown_and_takes_a_final_target(tmp_path):
    """A solves early and stops, which looks like being cut short; B needs longer and is known for longer."""
    rng = np.random.default_rng(2)
    runs = []
    for i in range(1, 41):
        early, late = (int(n) for n in rng.integers((11, 40), (39, 90)))
        runs += [made(f"sphere-f1-i{i}-d2", [(1, 9.0), (early, 1e-9)], early, algorithm="A", optimum=None)]
        runs += [made(f"sphere-f1-i{i}-d2", [(1, 9.0), (late, 1e-9)], 100, algorithm="B", optimum=None)]
    times = np.array([10.0, 50.0, 100.0])
    plain = replay(recorded_race(runs, times=times, draws=300, seed=1), runs)
    assert plain.unknown == {"A": pytest.approx(2 / 3), "B": 0}
    assert "timepoints: A 66.7%" in str(plain)
    assert "--final-target" in str(plain)
    told = replay(recorded_race(runs, times=times, draws=300, seed=1), runs, final_target=1e-8)
    assert told.unknown == {"A": 0, "B": 0}
    assert "--final-target" not in str(told)
    assert plain.result.posterior.mean()[1, 0] < 0.6  # at 50 evaluations nothing is known of A …
    assert told.result.posterior.mean()[1, 0] > 0.8  # … or it has solved all, B some
    path = store.export(runs, tmp_path / "runs.csv", "csv")
    assert '"A": 0.0' in polarbear("race", "--from", path, "--final-target", "1e-8", "--json")[0]

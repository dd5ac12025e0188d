"""What is exported comes back, bit by bit, and the tools it is meant for read the same from it."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polarbear import store
from polarbear.records import Instance, Outcome, Parameters, Reason, Run, RunKey, Trajectory, lost
from polarbear.store.formats.exporting import export_checked

FINITE = st.floats(allow_nan=False, allow_infinity=False)
HIDDEN = ["Cc", "Cf", "Cs", "Zl", "Zp"]
"""Characters that names on import must not hold."""
NAMES = st.text(st.characters(exclude_categories=HIDDEN), min_size=1, max_size=12).filter(str.strip)
MESSAGES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), min_size=1, max_size=12)
SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


def trajectory_of(draw, values, outcome, seconds=False):
    """A trajectory with these values."""
    evaluations = sorted(draw(st.sets(st.integers(1, 2**52), min_size=len(values), max_size=len(values))))
    times = sorted(draw(st.lists(st.floats(0, 1e6), min_size=len(values), max_size=len(values)))) if seconds else []
    spent = draw(st.integers(evaluations[-1] if evaluations else 0, 2**53))
    return Trajectory(
        np.array(evaluations, np.int64), np.array(times or [0.0] * len(values)), np.array(values), outcome(spent)
    )


@st.composite
def any_run(draw, instance, algorithm, seed):
    """A run as CSV and IOHprofiler hold it."""
    values = sorted(draw(st.sets(FINITE, max_size=6)), reverse=True)

    def outcome(spent):
        return Outcome(
            draw(st.sampled_from(Reason)), spent, draw(st.floats(0, 1e9)), draw(MESSAGES), "", draw(st.integers(0, 9))
        )

    target = st.one_of(st.none(), FINITE)
    optimum = st.one_of(
        st.none(), st.floats(max_value=values[-1] if values else None, allow_nan=False, allow_infinity=False)
    )
    key = RunKey(instance, algorithm, seed)
    return Run(key, trajectory_of(draw, values, outcome, seconds=True), draw(target), draw(optimum))


@st.composite
def runs_of(draw, instances, make):
    """Some runs with different keys."""
    keys = draw(st.sets(st.tuples(instances, NAMES, st.integers(0, 2**40)), min_size=1, max_size=4))
    return [draw(make(*key)) for key in sorted(keys)]


STANDARD = st.builds(
    lambda f, i, d: f"bbob-f{f}-i{i}-d{d}", st.integers(1, 24), st.integers(1, 99), st.sampled_from([2, 40])
)

SMALL = STANDARD.filter(lambda name: name.endswith("-d2"))


def back(runs, path, kind):
    store.export(runs, path, kind)
    reading = store.read_checked(path)
    assert reading.skipped == ()
    return sorted(reading.runs, key=lambda run: run.key)


@SETTINGS
@given(runs=runs_of(NAMES.filter(str.strip), any_run))
def test_csv_and_parquet_hold_every_run(tmp_path_factory, runs):
    folder = tmp_path_factory.mktemp("export")
    expected = sorted(runs, key=lambda run: run.key)
    assert back(runs, folder / "a.csv", "csv") == expected
    assert back(runs, folder / "a.parquet", "parquet") == expected


@st.composite
def logged_run(draw, *key):
    """A run that logged parameters until its end."""
    run = draw(any_run(*key))
    if not run.outcome.evaluations or draw(st.booleans()):
        return run
    at = sorted(draw(st.sets(st.integers(1, run.outcome.evaluations), min_size=1, max_size=4)))
    column = st.lists(st.one_of(FINITE, st.just(math.nan)), min_size=len(at), max_size=len(at))
    logged = {"sigma": draw(st.lists(FINITE, min_size=len(at), max_size=len(at))), "λ": draw(column)}
    return replace(run, parameters=Parameters(np.array(at), logged))


@st.composite
def solved_run(draw, instance, algorithm, seed):
    """A run that may have logged parameters, with a best point, or several, of as many variables as its name tells."""
    run = draw(logged_run(instance, algorithm, seed))
    shape = (*draw(st.sampled_from([(), (1,), (3,)])), Instance.parse(instance).dimension or 2)
    numbers = draw(st.lists(st.floats(allow_nan=False), min_size=math.prod(shape), max_size=math.prod(shape)))
    return replace(run, solution=draw(st.sampled_from([None, np.array(numbers).reshape(shape)])))


@SETTINGS
@given(runs=runs_of(st.one_of(SMALL, st.just("rover"), st.just("rover-d6")), solved_run))
def test_iohprofiler_holds_every_run_its_parameters_and_its_best_points(tmp_path_factory, runs):
    assert back(runs, tmp_path_factory.mktemp("export"), "iohprofiler") == sorted(runs, key=lambda run: run.key)


@st.composite
def coco_run(draw, suite, problem, algorithm):
    """A run as COCO holds it: precisions from the first evaluation on, and no seconds."""
    single = "biobj" not in suite
    lowest = 0.0 if single else None
    precisions = st.floats(lowest, allow_nan=False, allow_infinity=False)
    values = sorted(draw(st.sets(precisions, min_size=1, max_size=6)), reverse=True)
    target = 1e-8 if single else None
    reason = Reason.TARGET if single and values[-1] <= 1e-8 else Reason.BUDGET
    drawn = trajectory_of(draw, values, lambda spent: Outcome(reason, spent, 0.0))
    first = np.concatenate(([1], drawn.evaluations[1:]))
    trajectory = Trajectory(first, drawn.seconds, drawn.values, drawn.outcome)
    function, instance, dimension, seed = problem
    name = Instance(suite, str(function), dimension, str(instance)).name
    return Run(RunKey(name, algorithm, seed), trajectory, target, 0.0)


@st.composite
def coco_runs(draw):
    suite = draw(st.sampled_from(["bbob", "bbob-noisy", "bbob-biobj", "bbob-largescale"]))
    problems = draw(
        st.sets(st.tuples(st.integers(1, 3), st.integers(1, 5), st.sampled_from([2, 5])), min_size=1, max_size=4)
    )
    repetitions = draw(st.integers(1, 3))
    algorithm = draw(st.sampled_from(["CMA-ES", "a, b = 'c'".replace("'", ""), "x/../y"]))
    return [
        draw(coco_run(suite, (*problem, seed), algorithm))
        for problem in sorted(problems)
        for seed in range(repetitions)
    ]


@SETTINGS
@given(runs=coco_runs())
def test_coco_holds_precisions_and_evaluations(tmp_path_factory, runs):
    assert back(runs, tmp_path_factory.mktemp("export"), "coco") == sorted(runs, key=lambda run: run.key)


@pytest.fixture
def runs():
    """Runs of two algorithms on two functions in two dimensions, some of which hit 1e-8, with tiny precisions."""
    rng = np.random.default_rng(4)
    made = []
    for algorithm in ("A", "B"):
        for function in (1, 8):
            for dimension in (2, 5):
                for instance in range(1, 16):
                    count = int(rng.integers(3, 40))
                    at = np.unique(np.concatenate(([1], rng.integers(2, 3000, count))))
                    values = 10.0 ** np.sort(rng.uniform(-14, 3, at.size))[::-1]
                    reason = Reason.TARGET if values[-1] <= 1e-8 else Reason.BUDGET
                    outcome = Outcome(reason, int(at[-1] + rng.integers(0, 500)), 0.0)
                    name = f"bbob-f{function}-i{instance}-d{dimension}"
                    trajectory = Trajectory(at, np.zeros(at.size), values, outcome)
                    made.append(Run(RunKey(name, algorithm, 0), trajectory, 1e-8, 0.0))
    return made


def expected_runtimes(runs, targets):
    """ERT of eq. (5) of the COCO paper, from the definition alone."""
    hits = [[next((at for at, v in zip(*pair, strict=True) if v <= t), None) for t in targets] for pair in
            ((run.trajectory.evaluations.tolist(), run.trajectory.values.tolist()) for run in runs)]  # fmt: skip
    found = []
    for k in range(len(targets)):
        spent = sum(run.outcome.evaluations if hit[k] is None else hit[k] for run, hit in zip(runs, hits, strict=True))
        successes = sum(hit[k] is not None for hit in hits)
        found.append(spent / successes if successes else math.inf)
    return found


@pytest.mark.filterwarnings("ignore")
def test_cocopp_computes_the_same_expected_runtimes(runs, tmp_path, capsys):
    import cocopp
    from cocopp import genericsettings, testbedsettings

    genericsettings.verbose = False
    testbedsettings.current_testbed = None
    store.export(runs, tmp_path / "out", "coco")
    targets = [10.0 ** (k / 5) for k in range(10, -40, -3)]
    for algorithm in ("A", "B"):
        data = cocopp.load(str(tmp_path / "out" / algorithm))
        assert len(data) == 4
        for one in data:
            own = [
                run for run in runs
                if run.key.algorithm == algorithm and f"-f{one.funcId}-" in run.key.instance
                and run.key.instance.endswith(f"-d{one.dim}")
            ]  # fmt: skip
            assert sorted(one.instancenumbers) == list(range(1, 16))
            np.testing.assert_allclose(one.detERT(targets), expected_runtimes(own, targets), rtol=1e-12)
    capsys.readouterr()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["iohprofiler", "coco"])
def test_iohinspector_reads_the_same_trajectories(runs, tmp_path, kind):
    from iohinspector import DataManager

    store.export(runs, tmp_path / "out", kind)
    manager = DataManager()
    manager.add_folder(str(tmp_path / "out"))
    assert manager.n_runs == len(runs)
    read = manager.load(monotonic=False, include_meta_data=True)
    by_place = {}
    for run in runs:
        one = Instance.parse(run.key.instance)
        by_place[run.key.algorithm, int(one.function), one.dimension, int(one.instance)] = run
    keys = ["algorithm_name", "function_id", "dimension", "run_id"]
    groups = read.partition_by(keys, as_dict=True)
    assert len(groups) == len(runs)
    for (algorithm, function, dimension, number), rows in groups.items():
        run = by_place[algorithm, function, dimension, number]  # the runs stand in the order of their instances
        rows = rows.sort("evaluations").filter(pl.col("evaluations") <= run.trajectory.evaluations[-1])
        assert rows["evaluations"].to_list() == run.trajectory.evaluations.tolist()
        assert rows["raw_y"].to_numpy().tobytes() == run.trajectory.values.tobytes()
        assert rows["evals"].to_list() == [run.outcome.evaluations] * rows.height


def test_what_cannot_be_exported(runs, tmp_path, run):
    with pytest.raises(ValueError, match="format is 'xml'; it must be one of iohprofiler, coco, csv, parquet"):
        store.export(runs, tmp_path / "a", "xml")
    with pytest.raises(ValueError, match="there are no runs"):
        store.export([], tmp_path / "a", "csv")
    with pytest.raises(ValueError, match=r"cma on f1 \(seed 1\) cannot be exported to COCO: its instance needs a name"):
        store.export([run(1)], tmp_path / "a", "coco")
    named = run(1, instance="bbob-f1-i1-d2")
    with pytest.raises(ValueError, match="its optimum is not known"):
        store.export([named], tmp_path / "b", "coco")
    late = Run(
        named.key, Trajectory(np.array([2]), np.zeros(1), np.ones(1), Outcome(Reason.BUDGET, 5, 0.0)), optimum=0.0
    )
    with pytest.raises(ValueError, match="the value of its first evaluation is not known"):
        store.export([late], tmp_path / "c", "coco")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(FileExistsError, match="is not empty"):
        store.export(runs, tmp_path / "full", "coco")
    with pytest.raises(FileExistsError, match="is a file"):
        store.export(runs, tmp_path / "full" / "x", "iohprofiler")


def test_algorithms_whose_names_differ_little_get_folders_of_their_own(tmp_path, run):
    names = ["CMA/ES", "CMA ES", "cma_es", "..", "CON?"]
    runs = [run(0, algorithm=name, size=3) for name in names]
    assert {one.key.algorithm for one in back(runs, tmp_path / "out", "iohprofiler")} == set(names)
    assert all(path.parent == tmp_path / "out" for path in (tmp_path / "out").iterdir())
    assert len(list((tmp_path / "out").iterdir())) == len(names)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_is_never_replaced(tmp_path, form):
    path = tmp_path / "precious"
    path.write_text("mine")
    run = Run(RunKey("f", "a", 0), Trajectory.empty(Outcome(Reason.STOPPED, 1, 0.0)))
    with pytest.raises(FileExistsError, match="precious exists; choose a new file"):
        store.export([run], path, form)
    assert path.read_text() == "mine"


def nothing_found(algorithm):
    """Runs of 5-D function 8 that hold no value: one that failed at once, one that was killed, one that saw NaN."""
    keys = [RunKey(f"bbob-f8-i{number}-d5", algorithm, 1) for number in (1, 2, 3)]
    ends = [Outcome(Reason.FAILED, 0, 0.0, "ValueError: no"), Outcome(Reason.BUDGET, 40, 0.0, invalid_evaluations=40)]
    return [
        Run(keys[0], Trajectory.empty(ends[0])),
        lost(keys[1], Reason.KILLED, "its worker died"),
        Run(keys[2], Trajectory.empty(ends[1]), optimum=0.0),
    ]


LEFT_OUT = (
    "3 runs that found no value are left out, as COCO's format cannot represent them: 1 of A (budget), 1 of A (failed: "
    "ValueError), 1 of A (killed: its worker died); this omits 40 evaluations"
)


@pytest.mark.filterwarnings("ignore")
def test_runs_that_found_nothing_are_left_out_of_coco_data_and_told(runs, tmp_path, capsys):
    import cocopp
    from cocopp import genericsettings, testbedsettings

    genericsettings.verbose = False
    testbedsettings.current_testbed = None
    empty = nothing_found("A")
    done = export_checked([*empty, *runs], tmp_path / "out", "coco")
    assert done.runs == len(runs)
    assert done.left_out == tuple(run.key for run in empty)
    assert done.why == LEFT_OUT
    assert sorted(store.read(tmp_path / "out"), key=lambda run: run.key) == sorted(runs, key=lambda run: run.key)
    data = cocopp.load(str(tmp_path / "out" / "A"))
    assert sorted((one.funcId, one.dim, one.nbRuns()) for one in data) == [(f, d, 15) for f in (1, 8) for d in (2, 5)]
    capsys.readouterr()


def test_export_warns_of_what_it_leaves_out(runs, tmp_path):
    with pytest.warns(store.IncompleteData) as told:
        assert store.export([*nothing_found("A"), *runs], tmp_path / "out", "coco") == tmp_path / "out"
    assert [str(one.message) for one in told] == [LEFT_OUT]
    assert told[0].filename == __file__


def test_where_no_run_found_anything_there_is_nothing_to_export_to_coco(tmp_path):
    with pytest.raises(
        ValueError, match=r"no run can be exported to COCO, as none of them found a value: 1 of A \(budget\), 1 of A"
    ):
        store.export(nothing_found("A"), tmp_path / "out", "coco")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["iohprofiler", "csv", "parquet"])
def test_other_formats_hold_runs_that_found_nothing(tmp_path, kind):
    empty = nothing_found("A")
    done = export_checked(empty, tmp_path / f"out.{kind}", kind)
    assert (done.runs, done.left_out, done.why) == (3, (), "")
    assert [run.key for run in store.read(done.path)] == [run.key for run in empty]

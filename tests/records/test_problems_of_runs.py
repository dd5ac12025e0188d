"""Suite, function, dimension and instance are fields of a run: told by problems and data, else read from names."""

import json
from dataclasses import astuple, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polarbear as pb
from polarbear import store
from polarbear.analyzer.assessment import pictures
from polarbear.assess import group_trials
from polarbear.assess.report import Assessment, subject_of
from polarbear.experiment import Limits, Task, run_tasks
from polarbear.problems.suite import SUITES
from polarbear.protocols import identity_of
from polarbear.records import Instance, Outcome, Reason, Run, RunKey, Trajectory
from polarbear.store import parts
from polarbear.store.formats.parsed_run import identified, instance_name

TELLING = Instance("mine", "f3", 5, "a-1")


def run(problem, algorithm="a", seed=0, name=None, best=1.0):
    values = np.array([10.0, best])
    trajectory = Trajectory(np.array([1, 5]), np.zeros(2), values, Outcome(Reason.BUDGET, 10, 0.0))
    return Run(RunKey(name or problem.name, algorithm, seed), trajectory, optimum=0.0, identity=problem)


def test_without_being_told_it_is_what_the_name_tells_and_shared():
    runs = [run(Instance.parse("bbob-f3-i1-d5"), seed=seed) for seed in range(2)]
    untold = [Run(one.key, one.trajectory) for one in runs]
    assert untold[0].problem == Instance("bbob", "3", 5, "1")
    assert untold[0].problem is untold[1].problem
    told = run(TELLING, name="whatever")
    assert (told.problem, replace(told, target=1.0).problem) == (TELLING, TELLING)
    assert told != replace(told, identity=None)
    renamed = replace(untold[0], key=RunKey("bbob-f4-i1-d5", "a", 0))
    assert renamed.problem.function == replace(runs[0], key=renamed.key).problem.function == "4"


SIZES = {"ma-bbob": {"dimension": 3}, "gp-bbob": {"dimension": 2}}


@pytest.mark.parametrize("suite", sorted(SUITES.keys() - {"function", "list", "variations"}))
def test_every_suite_tells_what_its_names_told_so_that_studies_of_before_go_on(suite):
    stream = SUITES[suite](**SIZES.get(suite, {}))
    for index in range(30):
        assert identity_of(stream[index]) == Instance.parse(stream[index].name)


def test_a_problem_that_says_which_it_is_gives_its_runs_that_also_where_they_are_lost(tmp_path):
    spec = Telling()
    tasks = [Task(RunKey(spec.name, name, 0), spec, optimizer, Limits(evaluations=3, timeout=20.0))
             for name, optimizer in (("good", evaluate), ("failing", fail), ("dying", die))]  # fmt: skip
    with pb.experiment.WorkerPool(1) as pool:
        runs = sorted(run_tasks(tasks, pool, retry_killed=0), key=lambda run: run.key)
    assert [one.outcome.reason for one in runs] == [Reason.KILLED, Reason.FAILED, Reason.BUDGET]
    assert {one.problem for one in runs} == {TELLING}
    with store.create(tmp_path / "study", {}) as study:
        study.extend(runs)
        assert study.find(function="f3") == [one.key for one in runs]
    assert store.read(tmp_path / "study") == runs


class Telling:
    """A problem of a suite that its name does not tell."""

    name, identity = "sphere", TELLING

    def __eq__(self, other):
        return isinstance(other, Telling)

    __hash__ = None

    def build(self):
        return pb.problems.FunctionProblem(lambda x: float(x @ x), lower=[-1] * 5, upper=[1] * 5, name="sphere").build()


def evaluate(problem, rng):
    while True:
        problem(rng.random(5))


def fail(problem, rng):
    raise ValueError("no")


def die(problem, rng):
    import os

    os._exit(7)


@settings(max_examples=60)
@given(
    told=st.lists(
        st.tuples(
            st.sampled_from(["bbob", "my-suite", "s-f1"]),
            st.sampled_from(["3", "f3", "a-i1", "a_i1", "f-f3"]),
            st.integers(0, 9),
            st.sampled_from(["1", "a-b"]),
        ),
        min_size=1,
        max_size=8,
        unique=True,
    )
)
def test_whatever_is_told_is_stored_found_and_grouped(tmp_path_factory, told):
    """Also where two instances have one name: then they are told apart by their fields alone."""
    runs = [run(problem, seed=n, name=name) for n, (name, problem) in enumerate(identified(*each) for each in told)]
    path = tmp_path_factory.mktemp("told") / "study"
    with store.create(path, {}) as study:
        study.extend(runs)
        for one in runs:
            wanted = dict(zip(("suite", "function", "dimension", "instance"), astuple(one.problem), strict=True))
            assert study.find(**wanted) == [one.key]
        study.commit()
    with store.open(path) as study:
        for one in runs:
            wanted = dict(zip(("suite", "function", "dimension", "instance"), astuple(one.problem), strict=True))
            assert study.find(**wanted) == [one.key]
        assert {one.key: one.problem for one in study.runs()} == {one.key: one.problem for one in runs}
        groups = {(trials.suite, trials.function, trials.dimension): len(trials.runs) for trials in
                  group_trials(study.runs())}  # fmt: skip
    expected = {}
    for one in runs:
        place = one.problem.suite, one.problem.function, one.problem.dimension
        expected[place] = expected.get(place, 0) + 1
    assert groups == expected


def test_parts_of_earlier_versions_are_read_by_their_names(tmp_path):
    import io

    runs = [run(Instance.parse(name), name=name) for name in ("bbob-f3-i1-d5", "ma-bbob-d5-s1-0", "rover")]
    table = pl.read_parquet(io.BytesIO(parts.encode(runs)))
    assert table.select("suite", "function", "dimension", "function_instance").rows() == [
        ("bbob", "3", 5, "1"), ("", "ma-bbob", 5, "s1-0"), ("", "rover", 0, "")]  # fmt: skip
    table.drop("suite", "function", "dimension", "function_instance").write_parquet(old := io.BytesIO())
    assert parts.runs_of(parts.decode_table(old.getvalue()), [0, 1, 2]) == runs
    assert parts.decode_unnamed_problems(old.getvalue()) == parts.decode_unnamed_problems(parts.encode(runs)) == {}


# Functions "3" and "f3" of one suite


@pytest.fixture
def alike(tmp_path):
    """CSV with functions 3 and f3, of which an archive of IOHprofiler is made."""
    rows = ["algorithm,suite,function,dimension,instance,evaluations,value,optimum"]
    for algorithm, pace in (("A", 1), ("B", 3)):
        for function, factor in (("3", 1), ("f3", 7)):
            for dimension in (2, 5):
                for instance in (1, 2, 3):
                    for k, value in enumerate((50.0, 1e-1, 1e-5, 1e-9)):
                        at = 1 + k * pace * factor * dimension * (10 + instance)
                        rows.append(f"{algorithm},mine,{function},{dimension},{instance},{at},{value},0")
    (tmp_path / "alike.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "alike.csv"


@pytest.mark.parametrize("form", ["csv", "iohprofiler", "parquet", "study"])
def test_functions_3_and_f3_are_two_in_every_format(alike, tmp_path, form):
    runs, out = store.read(alike), tmp_path / f"out.{form}"
    if form == "study":
        store.import_runs(alike, out)
    else:
        store.export(runs, out, form)
    again = store.read(out)
    assert {one.key: one.problem for one in again} == {one.key: one.problem for one in runs}
    assert {one.problem.function for one in again} == {"3", "f3"}
    assert [(one.function, len(one.runs)) for one in group_trials(again)] == [("3", 3)] * 4 + [("f3", 3)] * 4
    if form == "study":
        with store.open(out) as study:
            found = {name: study.find(function=name) for name in ("3", "f3")}
        assert {name: len(keys) for name, keys in found.items()} == {"3": 12, "f3": 12}
        assert not set(found["3"]) & set(found["f3"])


def test_functions_3_and_f3_are_told_apart_in_tables_and_figures(alike):
    found = Assessment(subject_of(store.read(alike)))
    names = [cell.name for cell in found.subject.cells]
    assert len(set(names)) == len(names) == 4
    assert {cell.label for cell in found.subject.cells} == {"f3", "function 'f3'"}
    drawn = {plate.name: plate.picture for plate in pictures.plates(found, every_function=True)}
    assert {"mine-f3-scaling", "mine-function 'f3'-scaling"} < drawn.keys()
    scaled = [drawn[name].data[0] for name in ("mine-f3-scaling", "mine-function 'f3'-scaling")]
    assert scaled[0].name != scaled[1].name
    assert scaled[0].rows != scaled[1].rows
    names = [data.name for picture in drawn.values() for data in picture.data]
    assert len(set(names)) == len(names)


def test_an_archive_of_iohprofiler_tells_functions_by_text_and_by_number(tmp_path):
    """Two JSON files of one suite, whose functions have the number 3 and, as old files have it, the text f3."""
    for function, folder in ((3, "number"), ("f3", "text")):
        (tmp_path / folder).mkdir()
        content = {
            "version": "0.3.17", "suite": "mine", "function_id": function, "function_name": "x", "maximization": False,
            "algorithm": {"name": "ES", "info": ""}, "attributes": ["evaluations", "raw_y"],
            "scenarios": [{"dimension": 2, "path": "a.dat", "runs": [
                {"instance": 1, "evals": 9, "best": {"evals": 1, "y": 4.5, "x": [0.0, 1.0]}}]}],
        }  # fmt: skip
        (tmp_path / folder / "IOHprofiler_a.json").write_text(json.dumps(content))
        (tmp_path / folder / "a.dat").write_text("evaluations raw_y\n1 4.5\n")
    one, other = sorted(store.read(tmp_path), key=lambda run: run.problem.function)
    assert (one.problem, other.problem) == (Instance("mine", "3", 2, "1"), Instance("mine", "f3", 2, "1"))
    assert (one.key.instance, other.key.instance) == ("mine-f3-i1-d2", "mine-ff3-i1-d2")


def test_names_of_keys_are_what_they_were():
    """All randomness of a run derives from them."""
    assert instance_name("BBOB", "3", 5, "") == "bbob-f3-i1-d5"
    assert instance_name("", "f3", 5, "a-1") == "unknown_suite-ff3-ia_1-d5"
    assert instance_name("my-suite", "a-f3", 5, "1") == "my_suite-fa_f3-i1-d5"
    assert identified("s", "a-f3", 5, "a-1") == ("s-fa_f3-ia_1-d5", Instance("s", "a-f3", 5, "a-1"))

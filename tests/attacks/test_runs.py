"""Attacks by runs: on each other, on their own records, and on the processes that make them."""

import asyncio
import functools
import os
import random
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

import polarbear as pb
from polarbear import store
from polarbear.experiment import DaskExecutor, Isolated, Limits, Task, execute
from polarbear.records import Reason, RunKey
from polarbear.store.folders import file_number
from polarbear.study import Plan, RunFailureWarning, run_plan
from tests.attacks import offenders
from tests.attacks.offenders import (
    BROKEN,
    OFFENDERS,
    bystander,
    closes_everything,
    dies,
    dies_at_first,
    forks_and_returns_twice,
    globally_random,
    never_dies,
    sets_numpy,
    sets_process,
    sphere,
    steps,
)
from tests.study.test_plan import found
from tests.study.test_racing import decisions

ROOT = Path(__file__).parents[2]
PROBLEM = pb.problems.FunctionProblem(sphere, lower=-2, upper=2, dimension=3)
KILLED = "its worker process was killed by SIGKILL"
AGAIN = f"an earlier try was killed: {KILLED}"


def plan(algorithms, repetitions=3, **settings):
    return Plan(algorithms, [PROBLEM], repetitions=repetitions, budget=30, **settings)


def race(path, algorithms, **options):
    contest = pb.Race(algorithms, times=pb.log_times(2, 30, 4), alpha=0.9, epsilon=0.2, seed=2, draws=400)
    stop = pb.study.StopRules(instances=8)
    return pb.study.race(contest, PROBLEM, path, stop=stop, **options)


def task_of(optimizer):
    key = RunKey(PROBLEM.name, optimizer.__name__, 0)
    return Task(key, PROBLEM, pb.optimizers.as_optimizer(optimizer), Limits(evaluations=30))


def polarbear(*command):
    command = [str(Path(sys.executable).parent / "polarbear"), *map(str, command)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}  # before the packages called `tests` that others install
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)


# Runs do not touch each other


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the others find with no offender aboard."""
    path = tmp_path_factory.mktemp("undisturbed") / "a.study"
    assert not run_plan(plan((bystander, globally_random)), path).failed
    return found(path)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_what_runs_change_in_their_process_does_not_fail_others(tmp_path, workers):
    crew = [one for offender in OFFENDERS for one in (offender, bystander)]
    mixed = {f"{place}-{one.__name__}": one for place, one in enumerate([*crew, globally_random])}
    summary = run_plan(plan(mixed), tmp_path / "a.study", workers=workers)
    assert not summary.failed, summary.failures


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_with_every_offender_aboard_all_runs_are_those_of_each_alone(undisturbed, tmp_path, workers):
    path = tmp_path / "a.study"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunFailureWarning)
        run_plan(plan((*OFFENDERS, bystander, *BROKEN, globally_random)), path, workers=workers)
    aboard = found(path)
    assert {key: aboard[key] for key in undisturbed} == undisturbed


def test_a_race_with_offenders_decides_the_same_with_1_2_and_4_workers(tmp_path):
    crew = (bystander, sets_numpy, globally_random, sets_process)
    raced = [race(tmp_path / f"{workers}.study", crew, workers=workers) for workers in (1, 2, 4)]
    assert not raced[0].rounds[-1].failures
    assert decisions(raced[0]) == decisions(raced[1]) == decisions(raced[2])


@pytest.mark.parametrize(
    "offender", [offenders.sets_numpy, sets_process, offenders.sets_signals, offenders.sets_interpreter]
)
def test_a_run_in_this_process_leaves_it_as_it_was(offender):
    def state():
        return {
            "environment": dict(os.environ),
            "folder": Path.cwd(),
            "NumPy": (np.geterr(), np.geterrcall(), np.get_printoptions(), np.random.get_state()[1].tolist()),  # noqa: NPY002
            "chance": random.getstate(),
            "handlers": [signal.getsignal(number) for number in (1, 2, 10, 14, 15)],
            "filters": list(warnings.filters),
            "path": list(sys.path),
            "depth": sys.getrecursionlimit(),
            "streams": (os.fstat(1).st_ino, os.fstat(2).st_ino),
        }

    before = state()
    assert execute(task_of(offender)).outcome.ok
    assert state() == before


def test_what_cannot_be_put_back_is_said_and_a_worker_hands_its_run_over_and_ends(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.warns(
        UserWarning, match=r"changes to this process .* cannot be undone: the current folder .*No such file"
    ):
        assert execute(task_of(offenders.removes_the_folder)).outcome.ok
    here.mkdir()
    os.chdir(here)
    handed_over = []
    with pytest.warns(UserWarning, match="cannot be undone"):  # this hand_over returns, and a worker's ends the process
        run = execute(task_of(offenders.removes_the_folder), hand_over=handed_over.append)
    assert handed_over == [run]


@pytest.mark.filterwarnings("ignore::polarbear.study.RunFailureWarning")
def test_runs_go_on_where_the_current_folder_was_removed(tmp_path, monkeypatch):
    path, here = tmp_path / "a.study", tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    run_plan(plan((offenders.removes_the_folder, steps)), path)
    assert [run.outcome.ok for run in store.read(path) if run.key.algorithm == "steps"] == [True] * 3


# A run that breaks its record fails alone


@pytest.mark.parametrize("workers", [1, 2])
def test_whatever_goes_wrong_with_a_run_is_its_own_failure(undisturbed, tmp_path, workers):
    path = tmp_path / "a.study"
    with pytest.warns(RunFailureWarning):
        summary = run_plan(plan((*BROKEN, bystander), repetitions=1), path, workers=workers)
    assert summary.finished
    for run in store.read(path):
        if run.key.algorithm == "bystander":
            assert run.outcome.ok
        else:
            wanted = next(text for one, text in BROKEN.items() if one.__name__ == run.key.algorithm)
            assert run.outcome.reason is Reason.FAILED
            assert wanted in run.outcome.message
            assert len(run.outcome.message) <= 21_000


@pytest.mark.parametrize("culprit", [forks_and_returns_twice, closes_everything])
def test_whatever_ends_a_worker_is_the_runs_own(tmp_path, culprit):
    path = tmp_path / "a.study"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunFailureWarning)
        assert run_plan(plan((culprit, steps), repetitions=2), path, workers=2).finished
    assert all(run.outcome.ok for run in store.read(path) if run.key.algorithm == "steps")


async def asynchronous(*_):
    return 1.0


async def asynchronous_generator(*_):
    yield 1.0


def generator(*_):
    yield 1.0


class Asynchronous:
    name = "Asynchronous"

    async def __call__(self, *_):
        return 1.0


DEFERRED = [
    (asynchronous, "asynchronous is an async function"),
    (asynchronous_generator, "asynchronous_generator is an async generator function"),
    (generator, "generator is a generator function"),
    (functools.partial(generator, 1), "generator is a generator function"),
    (Asynchronous(), "Asynchronous is an async function"),
    (Asynchronous().__call__, "__call__ is an async function"),
    (functools.partial(Asynchronous()), "Asynchronous is an async function"),
]


@pytest.mark.parametrize(("function", "told"), DEFERRED)
def test_generator_and_async_functions_are_refused_by_name(tmp_path, function, told):
    with pytest.raises(TypeError, match=f"the optimizer {told}, so calling it runs none of its code.*plain function"):
        plan({"a": function})
    with pytest.raises(TypeError, match=f"the optimizer {told}"):
        race(tmp_path / "a.study", {"a": function, "b": steps})
    with pytest.raises(TypeError, match=f"function {told}.*plain function"):
        pb.problems.FunctionProblem(function, lower=0, upper=1, dimension=2)
    with pytest.raises(TypeError, match=f"a constraint: function {told}"):
        pb.problems.FunctionProblem(sphere, lower=0, upper=1, dimension=2, constraints=[function])


def test_a_plain_function_around_an_async_one_is_taken(tmp_path):
    @functools.wraps(asynchronous)
    def runs_it(problem, rng):
        asyncio.run(asynchronous())
        steps(problem, rng)

    assert not run_plan(plan({"a": runs_it}, repetitions=1), tmp_path / "a.study").failed


def test_a_study_file_that_names_a_generator_function_is_refused_by_name(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(
        '[plan]\nbudget = 10\n[instances]\nsuite = "bbob"\nfunctions = 1\ndimensions = 2\ninstances = 1\n'
        '[[algorithms]]\noptimizer = "function"\nfunction = "searching_lazily:search"\n'
    )
    (tmp_path / "searching_lazily.py").write_text("def search(problem, rng):\n    yield problem(rng.uniform(size=2))\n")
    done = polarbear("run", file)
    assert done.returncode == 2
    assert "search is a generator function" in done.stderr
    assert "Traceback" not in done.stderr


# Runs that are killed are tried again


@pytest.fixture(scope="module")
def never_killed(tmp_path_factory):
    path = tmp_path_factory.mktemp("never") / "a.study"
    run_plan(plan({"victim": never_dies, "steps": steps}), path)
    return found(path)


@pytest.fixture
def marks(tmp_path, monkeypatch):
    """Where the tries that were killed are marked."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv("MARKS", str(folder))
    return folder


@pytest.mark.parametrize("workers", [2, *(pytest.param(workers, marks=pytest.mark.slow) for workers in (1, 4))])
def test_a_run_that_was_killed_is_tried_again_and_comes_out_the_same(never_killed, tmp_path, marks, workers):
    path = tmp_path / "a.study"
    summary = run_plan(plan({"victim": dies_at_first, "steps": steps}), path, workers=workers)
    assert not summary.failed
    assert found(path) == never_killed
    messages = [run.outcome.message for run in store.read(path)]
    assert messages.count(AGAIN) == len(list(marks.iterdir())) > 0
    assert messages.count("") == len(messages) - messages.count(AGAIN)
    assert [remark.count for remark in summary.remarks] == [messages.count(AGAIN)]


def test_so_it_is_with_any_executor_whose_runs_have_a_process_each(never_killed, tmp_path, marks):
    path = tmp_path / "a.study"
    with Isolated(ThreadPoolExecutor(2)) as executor:
        assert not run_plan(plan({"victim": dies_at_first, "steps": steps}), path, executor=executor).failed
    assert found(path) == never_killed


@pytest.mark.slow
def test_so_it_is_on_a_dask_cluster(never_killed, tmp_path, marks):
    path = tmp_path / "a.study"
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        summary = run_plan(plan({"victim": dies_at_first, "steps": steps}), path, executor=DaskExecutor(client))
    assert not summary.failed
    assert found(path) == never_killed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::polarbear.study.RunFailureWarning")
def test_an_optimizer_that_kills_itself_twice_stays_killed_and_every_try_is_told(tmp_path):
    for tries, said in ((0, KILLED), (1, f"{KILLED}; {AGAIN}"), (2, f"{KILLED}; {AGAIN}; {AGAIN}")):
        path = tmp_path / f"{tries}.study"
        summary = run_plan(plan({"dies": dies, "steps": steps}, 1), path, workers=2, retry_killed=tries)
        outcomes = {run.key.algorithm: run.outcome for run in store.read(path)}
        assert (outcomes["dies"].reason, outcomes["dies"].message) == (Reason.KILLED, said)
        assert outcomes["steps"].ok
        assert run_plan(plan({"dies": dies, "steps": steps}, 1), path).ran == 0
        assert summary.failed == 1


@pytest.mark.filterwarnings("ignore::polarbear.study.RunFailureWarning")
def test_memory_that_runs_out_in_python_is_the_runs_own_doing_and_is_not_tried_again(tmp_path):
    path = tmp_path / "a.study"
    run_plan(plan((offenders.out_of_memory,), 1), path)
    (run,) = store.read(path)
    assert run.outcome.reason is Reason.FAILED
    assert (
        run.outcome.message.startswith("_ArrayMemoryError: Unable to allocate") or "MemoryError" in run.outcome.message
    )


@pytest.mark.filterwarnings("ignore::polarbear.study.RunFailureWarning")
def test_resume_retry_runs_again_what_the_study_holds_as_killed(never_killed, tmp_path, marks):
    path = tmp_path / "a.study"
    crew = {"victim": dies_at_first, "steps": steps}
    failed = run_plan(plan(crew), path, retry_killed=0).failed
    assert run_plan(plan(crew), path).failed == failed > 0  # not unless it is asked for
    done = polarbear("resume", path, "--retry", "--json", "--import", "tests.attacks.offenders")
    assert done.returncode == 0, done.stderr
    assert found(path) == never_killed
    with store.open(path) as study:
        assert len(study) == len(study.keys()) == len(never_killed)
        assert [outcome.message for _, outcome in study.outcomes()].count(AGAIN) == failed
    assert run_plan(plan(crew), path, retry=True).ran == 0


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_race_of_which_runs_were_killed_and_tried_again_decides_as_if_none_had_been(tmp_path, marks, workers):
    whole = race(tmp_path / "whole.study", {"victim": never_dies, "steps": steps})
    raced = race(tmp_path / "a.study", {"victim": dies_at_first, "steps": steps}, workers=workers)
    assert not raced.rounds[-1].failures
    assert decisions(raced) == decisions(whole)


@pytest.mark.filterwarnings("ignore::polarbear.study.RunFailureWarning")
def test_a_race_takes_up_runs_of_completed_rounds_that_were_killed(tmp_path, marks, monkeypatch):
    path, crew = tmp_path / "a.study", {"victim": dies_at_first, "steps": steps}
    before = race(path, crew, retry_killed=0)
    assert before.rounds[-1].failures
    after = race(path, crew, retry=True, workers=2)
    assert not any(run.outcome.reason is Reason.KILLED for run in store.read(path))
    assert after.rounds[: len(before.rounds)] == before.rounds  # what was decided stays
    index = list(after.posterior.names).index("victim")
    assert np.isnan(before.values[:, :, index]).any()
    assert not np.isnan(after.values[: len(before.values), 0, index]).any()


@pytest.mark.filterwarnings("ignore::polarbear.study.RunFailureWarning")
def test_a_later_try_counts_wherever_a_kill_strikes(tmp_path):
    path = tmp_path / "a.study"
    run_plan(plan({"victim": dies}, 1), path, retry_killed=0)
    key = RunKey(PROBLEM.name, "victim", 0)
    (old,) = (path / "runs").glob("*.parquet")
    kept = old.read_bytes()
    made = replace(execute(task_of(steps)), key=key)
    with store.open(path, write=True) as study:
        study.replace_killed(made)
        assert study.run(key).outcome.ok
        assert (len(study), len(list(study)), len(list(study.outcomes()))) == (1, 1, 1)
        with pytest.raises(ValueError, match=r"holds no killed run of .* to replace"):
            study.replace_killed(made)
    with store.open(path, write=True) as study:  # both parts are there
        assert len(list((path / "runs").glob("*.parquet"))) == 2
        assert study.run(key).outcome.ok
        study.compact()
    assert not old.exists()
    old.write_bytes(kept)  # a kill while parts were merged
    assert [run.outcome.ok for run in store.read(path)] == [True]
    later = max((path / "runs").glob("*.parquet"))
    assert file_number(later.name) > file_number(old.name)
    later.unlink()
    with store.open(path) as study:
        assert [damage.path for damage in study.damaged] == [later]

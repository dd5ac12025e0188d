"""Optimizers that catch whatever the objective raises and never end: their runs are those of polite ones."""

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest import mock

import cloudpickle
import numpy as np
import pytest
from distributed import Client, LocalCluster

from polarbear.experiment import DaskExecutor, Isolated, Limits, Recorder, Stop, WorkerPool, execute, run_tasks
from polarbear.experiment.recorder import REFUSALS
from polarbear.records import Reason
from tests.experiment.misbehaving import unheeding

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def unheeding_with_batches(objective, rng):
    while True:
        try:  # noqa: SIM105
            objective(rng.uniform(objective.lower, objective.upper, (7, objective.dimension)))
        except BaseException:
            pass


def batches(objective, rng):
    while True:
        objective(rng.uniform(objective.lower, objective.upper, (7, objective.dimension)))


def deaf(objective, rng):
    """Evaluates ten points, then never again, whatever strikes it."""
    for _ in range(10):
        objective(rng.uniform(objective.lower, objective.upper))
    while True:
        try:  # noqa: SIM105
            time.sleep(60)
        except BaseException:
            pass


def leaving_a_thread_behind(objective, rng):
    threading.Thread(target=unheeding, args=(objective, rng), daemon=True).start()
    time.sleep(0.3)


def found(run):
    """All of a run but what a clock measured."""
    trajectory, outcome = run.trajectory, replace(run.outcome, seconds=0.0)
    return run.key, outcome, trajectory.evaluations.tolist(), trajectory.values.tolist(), run.target, run.optimum


@pytest.fixture(scope="module")
def executors(tmp_path_factory):
    """With cores of their own to take, whatever other tests run beside these."""
    with (
        mock.patch.dict(os.environ, TMPDIR=str(tmp_path_factory.mktemp("cores"))),
        LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
        WorkerPool(2) as pool,
        Isolated(ThreadPoolExecutor(2)) as isolated,
    ):
        yield {"pool": pool, "dask": DaskExecutor(client), "isolated": isolated}


@pytest.mark.parametrize("where", ["pool", "dask", "isolated"])
@pytest.mark.parametrize(("timeout", "warm_up"), [(None, False), (20.0, True)])
def test_their_runs_end_and_are_those_of_polite_ones(executors, task, where, timeout, warm_up):
    polite = [task(seed=seed, evaluations=30, timeout=timeout) for seed in range(2)]
    polite += [task(batches, evaluations=30, timeout=timeout)]
    others = {"random_search": unheeding, "batches": unheeding_with_batches}
    tasks = [replace(each, optimizer=others[each.key.algorithm], warm_up=warm_up) for each in polite]
    tasks += [task(seed=seed, evaluations=30) for seed in range(100, 110)]  # none of these may be lost on the way
    runs = {run.key: found(run) for run in run_tasks(tasks, executors[where])}
    wanted = [found(execute(each)) for each in [*polite, *tasks[len(polite) :]]]
    assert [runs[each.key] for each in tasks] == wanted
    assert {outcome.reason for _, outcome, *_ in wanted} == {Reason.BUDGET}


@pytest.mark.parametrize("where", ["pool", "dask"])
def test_a_time_limit_that_strikes_them_loses_nothing(executors, task, where):
    tasks = [replace(task(seed=seed, timeout=0.2), optimizer=unheeding) for seed in range(2)]
    with WorkerPool(2, timeout=0.2) as pool:
        for run in run_tasks(tasks, pool if where == "pool" else executors[where]):
            assert (run.outcome.reason, run.outcome.message) == (Reason.TIMED_OUT, "")
            assert run.outcome.seconds < 2
            polite = execute(task(seed=run.key.seed, evaluations=run.outcome.evaluations))
            assert run.trajectory.evaluations.tolist() == polite.trajectory.evaluations.tolist()
            assert run.trajectory.values.tolist() == polite.trajectory.values.tolist()
            assert len(run.trajectory.values) > 1


@pytest.mark.slow
def test_one_that_swallows_alarm_after_alarm_and_evaluates_nothing_loses_nothing(task):
    with WorkerPool(1, timeout=0.2) as pool:
        (run,) = run_tasks([replace(task(timeout=0.2), optimizer=deaf)], pool)
    assert (run.outcome.reason, run.outcome.evaluations, run.outcome.message) == (Reason.TIMED_OUT, 10, "")
    assert run.trajectory.values.tolist() == execute(task(evaluations=10)).trajectory.values.tolist()


def test_a_thread_that_goes_on_after_its_run_answers_for_no_other(task):
    tasks = [task(leaving_a_thread_behind, evaluations=30), *(task(seed=seed, evaluations=3000) for seed in range(30))]
    with WorkerPool(1) as pool:
        runs = {run.key: found(run) for run in run_tasks(tasks, pool)}
    assert [runs[each.key] for each in tasks[1:]] == [found(execute(each)) for each in tasks[1:]]
    assert runs[tasks[0].key][1].evaluations == 30


def test_without_anybody_to_take_it_the_run_goes_on_until_its_optimizer_ends(task):
    refused, taken = [], []

    def optimizer(objective, rng):
        while len(refused) < REFUSALS + 10:
            try:
                objective(np.ones(2))
            except Stop:
                refused.append(len(taken))

    runs = [execute(task(optimizer, evaluations=5))]
    assert len(refused) == REFUSALS + 10
    refused.clear()
    runs.append(execute(task(optimizer, evaluations=5), hand_over=taken.append))
    assert refused == [0] * REFUSALS + list(range(1, 11))
    assert {found(run)[1:] == found(runs[0])[1:] for run in [*runs, *taken]} == {True}


@pytest.mark.parametrize("moment", [1, 2])
def test_an_alarm_in_the_midst_of_the_stop_stops_as_well(functional, moment):
    """The clock is read once for the improvement and once for the stop: the alarm strikes there."""
    recorder = Recorder(functional(lambda x: 1.0), Limits(evaluations=1))
    recorder.start()
    reads, clock = [], time.perf_counter

    def struck():
        reads.append(1)
        if len(reads) == moment:
            recorder.stop(Reason.TIMED_OUT)
        return clock()

    with mock.patch("polarbear.experiment.recorder.perf_counter", struck), pytest.raises(Stop):
        recorder.objective(np.ones(2))
    assert recorder.reason is Reason.TIMED_OUT
    for _ in range(3):
        with pytest.raises(Stop):
            recorder.objective(np.zeros(2))
    assert recorder.trajectory().outcome.evaluations == 1

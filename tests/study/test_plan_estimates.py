"""How long a plan will take: foretold by a pilot, and while it runs."""

import os
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace

import cloudpickle
import numpy as np
import pytest

import polarbear as pb
from polarbear.experiment.process import WorkerDied
from polarbear.machine import OversubscriptionWarning
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory, lost
from polarbear.study import Plan, TimeLeft
from tests.experiment.misbehaving import die, hang_in_c, unheeding
from tests.study.entrants import crash, crawl, descend, guess
from tests.study.test_plan import FIVE, TWO

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import test modules


def times(plan, cost, workers, *, watch):
    """Run a plan on simulated workers; call `watch` with the time, the estimate and the whole time after each run."""
    clock = [0.0]
    left = TimeLeft(plan, lambda: clock[0])
    free, done = [0.0] * workers, []
    for key, place in plan.order():
        worker = int(np.argmin(free))
        free[worker] += cost(key.algorithm, plan.dimensions[place])
        done.append((free[worker], key, cost(key.algorithm, plan.dimensions[place])))
    total = max(free)
    for end, key, seconds in sorted(done, key=lambda one: one[0]):
        clock[0] = end
        left.finished(Run(key, Trajectory([1], [0.0], [1.0], Outcome(Reason.BUDGET, 100, seconds))))
        watch(end, left, total)


def test_the_time_left_is_right_once_it_is_told_and_not_told_before():
    suite = pb.problems.BBOB(functions=range(1, 13), dimensions=(2, 5, 20), instances=range(1, 4))
    plan = Plan([guess, descend, crawl], suite, budget=100, repetitions=2)
    seconds = {"guess": 0.01, "descend": 0.3, "crawl": 4.0}
    errors, untold = [], []

    def watch(now, left, total):
        told = left.seconds()
        if told is None:
            untold.append((now, left.unheard()))
        else:
            errors.append((now / total, now + told, total))

    times(plan, lambda name, d: seconds[name] * (1 + d / 10), 4, watch=watch)
    assert untold[0][1] == ("descend", "crawl") or untold[0][1] == ("crawl", "descend")
    assert max(now for now, _ in untold) < 15  # the slowest algorithm's first run takes 4.8 s to 12 s
    for share, predicted, total in errors:
        assert 0.5 * total < predicted < 2 * total
        if share > 0.25:
            assert 0.85 * total < predicted < 1.2 * total
    assert errors[-1][1] == pytest.approx(errors[-1][2])


def test_what_was_not_run_yet_is_judged_by_evaluations_in_the_nearest_dimension():
    plan = Plan([guess], [TWO, FIVE], budget="100*d", repetitions=1)
    now = [0.0]
    left = TimeLeft(plan, lambda: now[0])
    assert left.unheard() == ("guess",)
    assert left.seconds() is None
    now[0] = 4.0
    left.finished(Run(RunKey("sphere-d2", "guess", 0), Trajectory.empty(Outcome(Reason.BUDGET, 200, 4.0))))
    assert left.seconds() == pytest.approx(10.0)
    now[0] = 6.0
    assert left.seconds() == pytest.approx(8.0)
    left.finished(Run(RunKey("sphere-d5", "guess", 0), Trajectory.empty(Outcome(Reason.BUDGET, 500, 2.0))))
    assert left.seconds() == 0


def costing(monkeypatch, per_evaluation, *, ends=None, seen=None):
    """Execute nothing: each evaluation costs as said, by a clock that stands still between runs."""
    clock = [0.0]

    def run_tasks(tasks, executor, *, until):
        for task in tasks:
            dimension = int(task.key.instance.rpartition("d")[2])
            each = per_evaluation(task.key.algorithm, dimension)
            count = min(task.limits.evaluations, max(1, int(task.limits.seconds / each)), ends or 10**9)
            reason = Reason.TARGET if count == ends else Reason.BUDGET
            if seen is not None:
                seen.append((task.key, count * each))
            clock[0] += count * each
            yield Run(task.key, Trajectory([1], [0.0], [1.0], Outcome(reason, count, count * each)))

    monkeypatch.setattr("polarbear.study.costs.run_tasks", run_tasks)
    clocks = dict.fromkeys(("monotonic", "perf_counter"), lambda: clock[0])
    monkeypatch.setattr("polarbear.study.costs.time", SimpleNamespace(**clocks))


def test_costs_are_carried_to_all_dimensions_and_runs(monkeypatch):
    suite = pb.problems.BBOB(functions=(1, 2), dimensions=(2, 3, 5, 10, 20), instances=(1, 2, 3))
    plan = Plan([guess, descend], suite, budget="1000*d", repetitions=10)
    seen = []
    costing(monkeypatch, lambda name, d: (1e-6 if name == "guess" else 1e-5) * d**2, seen=seen)
    found = pb.study.estimate(plan, workers=2, seconds=1.0)
    runs = 2 * 3 * 10
    expected = sum(runs * 1e3 * d * 1e-6 * d**2 for d in (2, 3, 5, 10, 20))
    assert found.algorithms["guess"].seconds == pytest.approx(expected, rel=0.02)
    assert found.algorithms["descend"].seconds == pytest.approx(10 * expected, rel=0.02)
    assert found.seconds == pytest.approx(11 * expected / 2, rel=0.02)
    assert found.evaluations == plan.evaluations == sum(2 * runs * 1000 * d for d in (2, 3, 5, 10, 20))
    assert found.dimensions == (2, 5, 20)
    assert sum(seconds for _, seconds in seen) < 1.2  # a small share of the time, and no run of the plan itself
    assert {key.seed for key, _ in seen} == {-1}


def test_runs_that_end_by_themselves_in_the_pilot_are_counted_so(monkeypatch):
    costing(monkeypatch, lambda name, d: 1e-5, ends=50)
    plan = Plan([guess], [TWO], budget=1000, repetitions=7)
    found = pb.study.estimate(plan, seconds=1.0)
    assert found.algorithms["guess"].seconds == pytest.approx(7 * 50 * 1e-5, rel=0.05)


def test_what_is_there_already_costs_nothing(monkeypatch):
    costing(monkeypatch, lambda name, d: 1e-5)
    plan = Plan([guess, descend], [TWO], budget=1000, repetitions=4)
    whole = {key for key, _ in plan.order()}
    there = {key for key in whole if key.algorithm == "guess" or key.seed < 3} | {RunKey("sphere-d2", "guess", 9)}
    found = pb.study.estimate(plan, seconds=1.0, there=there)
    assert (found.total, found.there) == (8, 7)
    assert found.algorithms["guess"].seconds == 0
    assert found.seconds == pytest.approx(1000 * 1e-5, rel=0.05)
    assert pb.study.estimate(plan, seconds=1.0, there=whole).seconds == 0


def test_no_more_runs_go_on_at_a_time_than_there_are_cores_unless_their_seconds_are_measured(monkeypatch):
    costing(monkeypatch, lambda name, d: 1e-5)
    monkeypatch.setattr("polarbear.machine.cores", lambda *_: 2)
    plan = Plan([guess], [TWO], budget=1000, repetitions=600)
    work = 600 * 1000 * 1e-5
    found = pb.study.estimate(plan, workers=8, seconds=1.0)
    assert (found.workers, found.cores) == (8, 2)
    assert found.seconds - found.starting == pytest.approx(work / 2, rel=0.2)
    far = pb.study.estimate(plan, workers=8, cores=8, seconds=1.0)
    assert far.seconds - far.starting == pytest.approx(work / 8, rel=0.2)
    with pytest.raises(ValueError, match="workers is 0; it must be 1 or more"):
        pb.study.estimate(plan, workers=0)
    with pytest.raises(ValueError, match="cores is 0; it must be 1 or more"):
        pb.study.estimate(plan, cores=0)


def test_more_workers_than_cores_are_warned_of_where_seconds_are_measured(monkeypatch):
    costs = {"guess": pb.study.AlgorithmCost(8, None, 8 * 3.0, {}, "")}
    found = pb.study.Estimate(8, 0, 1, costs, 8, 2, 0.5, 1, 1, 1.0, (2,))
    assert found.seconds == 0.5 + 3.0  # each run takes its 3 s whatever else goes on
    plan = Plan([still], [TWO], budget=0.01, axis="seconds", repetitions=8)
    monkeypatch.setattr("polarbear.study.costs._LOADING", 0.1)
    with pytest.warns(OversubscriptionWarning, match="10000 workers share"):
        pb.study.estimate(plan, workers=10_000, seconds=0.1)


def test_runs_are_counted_not_gone_through(monkeypatch):
    costing(monkeypatch, lambda name, d: 1e-5)
    monkeypatch.setattr(Plan, "order", lambda _: pytest.fail("the runs were gone through"))
    plan = Plan([guess, descend], [TWO, FIVE], budget="1000*d", repetitions=10**12)
    there = {RunKey("sphere-d5", "guess", 10**11), RunKey("sphere-d5", "guess", 10**12)}  # the second is none of it
    found = pb.study.estimate(plan, seconds=0.1, there=there)
    assert (found.total, found.there, found.algorithms["guess"].runs) == (4 * 10**12, 1, 2 * 10**12 - 1)
    assert found.evaluations == plan.evaluations - 5000


def test_a_real_pilot_names_what_fails_and_what_cannot_be_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("polarbear.study.costs._LOADING", 1.0)
    mute = pb.optimizers.FunctionOptimizer(still, name="mute")
    plan = Plan([guess, crash, mute], [TWO, FIVE], budget="1000*d", repetitions=2, timeout=0.3)
    found = pb.study.estimate(plan, seconds=0.5)
    assert "RuntimeError: out of ideas" in found.algorithms["crash"].trouble
    assert found.algorithms["mute"].seconds is None
    assert found.algorithms["mute"].trouble.startswith("evaluated nothing in 1")
    assert found.starting + 1 < found.pilot_seconds  # what hangs is no start
    assert found.algorithms["guess"].seconds > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_catches_all_hangs_or_kills_costs_the_pilot_its_worker_and_nothing_else(monkeypatch):
    monkeypatch.setattr("polarbear.study.costs._LOADING", 1.0)
    plan = Plan([guess, unheeding, hang_in_c, die, descend], [TWO], budget=10**6, repetitions=2)
    found = pb.study.estimate(plan, seconds=0.5).algorithms
    assert found["guess"].seconds > 0
    assert found["descend"].seconds > 0
    assert found["unheeding"].seconds > 0
    assert found["hang_in_c"].seconds is None
    assert "no result within" in found["hang_in_c"].trouble
    assert found["die"].seconds is None
    assert "killed" in found["die"].trouble
    assert {name for name, one in found.items() if one.trouble} == {"hang_in_c", "die"}


def load(problem, rng):
    import slow_to_load

    assert slow_to_load.whole
    guess(problem, rng)


def test_what_an_algorithm_loads_is_no_cost_of_its_evaluations_but_of_the_start(tmp_path, monkeypatch):
    """Nor is it interrupted, long as it takes for a pilot as short as this."""
    (tmp_path / "slow_to_load.py").write_text("import time\nfor _ in range(25):\n    time.sleep(0.1)\nwhole = True")
    monkeypatch.syspath_prepend(tmp_path)
    loading = pb.optimizers.FunctionOptimizer(load, name="load")
    found = pb.study.estimate(Plan([loading, die], [TWO], budget=1000, repetitions=100), workers=4, seconds=0.5)
    assert found.starting > 2.5 - found.algorithms["load"].seconds / 100  # a run once loaded is all that is taken off
    assert not found.algorithms["load"].trouble
    assert found.algorithms["load"].seconds < 100 * 2.5 / 4  # loaded anew in the worker that came after one died


@pytest.fixture
def in_this_process(monkeypatch):
    """The pilot's worker comes up at once, and dies as often as one says instead of telling its process."""
    deaths = []

    class Worker(ThreadPoolExecutor):
        def submit(self, function, /, *arguments):
            if function is os.getpid and deaths:
                future = Future()
                future.set_exception(deaths.pop())
                return future
            return super().submit(function, *arguments)

    monkeypatch.setattr("polarbear.study.costs.WorkerPool", lambda *_, **__: Worker(1))
    return deaths


@pytest.mark.usefixtures("in_this_process")
def test_evaluations_and_hangs_of_first_runs_are_no_start(monkeypatch):
    each, load = 0.2, {"guess": 0.3, "descend": 0.0}
    begun, now = set(), [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=lambda: now[0])
    monkeypatch.setattr("polarbear.study.costs.time", clock)

    def run_tasks(tasks, executor, *, until):
        for task in tasks:
            name = task.key.algorithm
            if name == "crawl":
                now[0] += 0.5
                yield lost(task.key, Reason.TIMED_OUT, "hangs", 0.5)
                continue
            now[0] += each + load[name] * (name not in begun)
            begun.add(name)
            yield Run(task.key, Trajectory([1], [0.0], [1.0], Outcome(Reason.BUDGET, 1, each)))

    monkeypatch.setattr("polarbear.study.costs.run_tasks", run_tasks)
    found = pb.study.estimate(Plan([guess, descend, crawl], [TWO], budget=10, repetitions=1), seconds=0.5)
    assert found.starting == pytest.approx(0.3)
    assert found.algorithms["guess"].seconds == pytest.approx(10 * each)
    assert (found.algorithms["crawl"].seconds, found.algorithms["crawl"].trouble) == (None, "hangs")


def test_a_worker_that_dies_between_two_runs_is_replaced(in_this_process, monkeypatch):
    def run_tasks(tasks, executor, *, until):
        for task in tasks:
            in_this_process.append(WorkerDied("of what the run left behind"))
            yield Run(task.key, Trajectory([1], [0.0], [1.0], Outcome(Reason.BUDGET, 10, 1e-3)))

    monkeypatch.setattr("polarbear.study.costs.run_tasks", run_tasks)
    plan = Plan([guess, descend], [TWO], budget=1000, repetitions=1)
    found = pb.study.estimate(plan, seconds=0.5)
    assert all(one.seconds > 0 and not one.trouble for one in found.algorithms.values())
    in_this_process.extend([WorkerDied("always")] * 50)
    with pytest.raises(WorkerDied, match="always"):
        pb.study.estimate(plan, seconds=0.5)


def still(problem, rng):
    time.sleep(60)

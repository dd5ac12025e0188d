"""Fixed plans of real functions, run by real worker processes, interrupted by real kills."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import polarbear as pb
from polarbear import store
from polarbear.experiment.logging_schedule import Watch
from polarbear.records import Reason, RunKey
from polarbear.study import OtherSettings, Plan, PlanObserver, RunFailureWarning, run_plan
from tests.study.entrants import boom, crash, crawl, dawdle, descend, guess, idle, jump, sphere

ROOT = Path(__file__).parents[2]
TWO, FIVE = (pb.problems.FunctionProblem(sphere, lower=-2, upper=2, dimension=d) for d in (2, 5))
KEYS = {
    RunKey(name, algorithm, seed)
    for name in ("sphere-d2", "sphere-d5")
    for algorithm in ("guess", "descend", "crawl")
    for seed in range(4)
}


def new_plan(algorithms=(guess, descend, crawl), problems=(TWO, FIVE), **settings):
    return Plan(algorithms, list(problems), **({"repetitions": 4, "budget": "30*d"} | settings))


def found(path):
    """All that was found, without what a clock measured."""
    return {
        run.key: (
            run.outcome.reason,
            run.outcome.evaluations,
            run.trajectory.evaluations.tolist(),
            run.trajectory.values.tolist(),
        )
        for run in store.read(path)
    }


def stored(path):
    """Everything in the study, clocks too."""
    return {run.key: store.parts.storable(run) for run in store.read(path)}


class Count(PlanObserver):
    """Notes what is run, and interrupts after so many runs."""

    def __init__(self, most=None):
        self.ran, self.known, self.there, self.most = [], [], None, most

    def started(self, plan, there):
        self.there = there

    def run_known(self, key, outcome):
        self.known.append(key)

    def run_finished(self, run):
        self.ran.append(run.key)
        if self.most is not None and len(self.ran) >= self.most:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The plan of these tests, never interrupted."""
    path = tmp_path_factory.mktemp("whole") / "a.study"
    summary = run_plan(new_plan(), path, workers=2)
    return path, summary


def test_every_algorithm_runs_on_every_problem_so_many_times_and_so_far(whole):
    path, summary = whole
    runs = {run.key: run for run in store.read(path)}
    assert runs.keys() == KEYS
    for key, run in runs.items():
        assert run.outcome.reason is Reason.BUDGET
        assert run.outcome.evaluations == 30 * int(key.instance[-1])
    assert (summary.total, summary.ran, summary.there, summary.failed) == (24, 24, 24, 0)
    assert summary.finished
    assert summary.evaluations == 12 * 30 * 2 + 12 * 30 * 5 == new_plan().evaluations
    assert summary.algorithms["guess"].runs == 8


def test_a_run_finds_what_its_own_generator_makes_it_find(whole):
    path, _ = whole
    key = RunKey("sphere-d5", "guess", 3)
    points = key.generator().uniform(-2, 2, size=(150, 5))
    best = np.minimum.accumulate([sphere(point) for point in points])
    with store.open(path) as study:
        trajectory = study.run(key).trajectory
    np.testing.assert_array_equal(trajectory.value_at(np.arange(1, 151)), best)


def test_any_executor_will_do(whole, tmp_path):
    with ProcessPoolExecutor(2, get_context("forkserver")) as executor:
        run_plan(new_plan(), tmp_path / "a.study", executor=executor)
    assert found(tmp_path / "a.study") == found(whole[0])


@pytest.mark.filterwarnings("ignore::polarbear.study.OversubscriptionWarning")
def test_seconds_are_budgets_too(tmp_path):
    summary = run_plan(new_plan([guess], [TWO], repetitions=2, budget=0.05, axis="seconds"), tmp_path / "a.study")
    assert summary.there == 2
    assert all(0.05 <= run.outcome.seconds < 1 for run in store.read(tmp_path / "a.study"))
    assert new_plan(budget="1*d", axis="seconds").evaluations is None


def test_what_is_watched_is_logged(tmp_path):
    def tell(problem, rng):
        steps = itertools.count(1)
        problem.expose(step=lambda: next(steps))
        guess(problem, rng)

    run_plan(new_plan([tell], [TWO], repetitions=1, watch=Watch(at=(10, 20))), tmp_path / "a.study")
    (run,) = store.read(tmp_path / "a.study")
    assert run.parameters.evaluations.tolist() == [10, 20]
    assert run.parameters.values["step"].tolist() == [1, 2]


# Order


def test_after_any_while_all_algorithms_are_equally_far_and_problems_are_mixed():
    suite = pb.problems.BBOB(functions=range(1, 25), dimensions=(2, 3, 5, 10), instances=range(1, 11))
    plan = Plan([guess, descend, crawl, jump], suite, repetitions=3, budget=10)
    assert plan.size == len(list(plan.order())) == 4 * 24 * 4 * 10 * 3
    counts = Counter()
    for done, (key, _) in enumerate(plan.order(), 1):
        counts[key.algorithm] += 1
        assert max(counts.values()) - min([counts[name] for name in plan.algorithms]) <= 1
        if done == 400:
            dimensions = Counter(int(key.instance.rpartition("d")[2]) for key, _ in itertools.islice(plan.order(), 400))
            assert min(dimensions[d] for d in (2, 3, 5, 10)) > 50
    assert {key.seed for key, _ in plan.order()} == {0, 1, 2}


class Immediate(Executor):
    """Runs a call when it is submitted."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_tasks_are_made_as_they_are_needed(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(Plan, "task", lambda plan, *given, task=Plan.task: made.append(1) or task(plan, *given))
    with pytest.raises(KeyboardInterrupt):
        run_plan(new_plan(repetitions=100_000, budget=1), tmp_path / "a.study", executor=Immediate(), observer=Count(1))
    assert len(made) <= 257


# Going on


def test_a_finished_plan_runs_nothing_again(whole):
    path, summary = whole
    before, count = stored(path), Count()
    again = run_plan(new_plan(), path, observer=count)
    assert (count.there, count.ran, set(count.known)) == (24, [], KEYS)
    assert stored(path) == before
    assert (again.ran, again.algorithms) == (0, summary.algorithms)
    loaded = pb.study.load_plan(path)
    assert (loaded.total, loaded.algorithms, loaded.failures) == (24, summary.algorithms, ())


def test_ctrl_c_keeps_every_finished_run(whole, tmp_path):
    first = Count(5)
    with pytest.raises(KeyboardInterrupt):
        run_plan(new_plan(), tmp_path / "a.study", workers=2, observer=first)
    second = Count()
    run_plan(new_plan(), tmp_path / "a.study", workers=2, observer=second)
    assert set(second.known) == set(first.ran)
    assert set(second.ran) == KEYS - set(first.ran)
    assert found(tmp_path / "a.study") == found(whole[0])


def slow_plan(kills):
    """Two seconds of runs of 0.1 s on two workers for each kill."""
    return new_plan([dawdle, guess], repetitions=20 * kills, budget=5)


@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_killed_in_the_middle_it_loses_no_committed_run_and_ends_the_same(tmp_path, kills):
    path, straight = tmp_path / "a.study", tmp_path / "b.study"
    code = f"from tests.study.test_plan import *; run_plan(slow_plan({kills}), {str(path)!r}, workers=2)"
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, start_new_session=True)
        before = len(list(path.glob("runs/*.parquet")))
        deadline = time.monotonic() + 60
        while len(list(path.glob("runs/*.parquet"))) <= before and process.poll() is None:
            assert time.monotonic() < deadline, "no run was committed"
            time.sleep(0.01)
        seen = stored(path)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        after = stored(path)
        assert {key: after[key] for key in seen} == seen
    assert 0 < len(after) < slow_plan(kills).size
    count = Count()
    run_plan(slow_plan(kills), path, workers=2, observer=count)
    assert count.there == len(after)
    assert {key: run for key, run in stored(path).items() if key in after} == after
    run_plan(slow_plan(kills), straight, workers=2)
    assert found(path) == found(straight)


def test_algorithms_repetitions_and_draws_may_be_added(whole, tmp_path):
    path = tmp_path / "a.study"
    run_plan(new_plan(), path)
    before, count = stored(path), Count()
    run_plan(new_plan((guess, descend, crawl, jump), repetitions=5), path, observer=count)
    assert (
        set(count.ran)
        == {
            RunKey(f"sphere-d{d}", name, seed)
            for d in (2, 5)
            for name in ("guess", "descend", "crawl", "jump")
            for seed in range(5)
        }
        - KEYS
    )
    assert {key: run for key, run in stored(path).items() if key in KEYS} == before

    stream = pb.problems.BBOB(functions=(1, 2), instances=range(1, 200), seed=3)
    for draws, there in ((3, 0), (5, 3)):
        count = Count()
        run_plan(Plan([guess], stream, draws=draws, budget=5), tmp_path / "b.study", observer=count)
        assert (count.there, len(count.ran)) == (there, draws - there)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"budget": "31*d"}, r"plan.budget was '30\*d' and is now '31\*d'"),
        ({"seed": 1}, "plan.seed was 0 and is now 1"),
        ({"repetitions": 3}, "plan.repetitions was 4 and is now 3"),
        ({"algorithms": (guess, descend)}, "algorithms.crawl is gone"),
        ({"problems": [TWO]}, "instances.problems was"),
        ({"timeout": 7.0}, "limits.timeout was None and is now 7.0"),
        ({"watch": Watch(every=3)}, "log was None and is now {'every': 3}"),
        ({"algorithms": {"guess": guess, "descend": jump, "crawl": crawl}}, "algorithms.descend"),
    ],
)
def test_going_on_with_other_settings_is_refused_by_name(whole, changed, message):
    before = stored(whole[0])
    with pytest.raises(OtherSettings, match=message):
        run_plan(new_plan(**changed), whole[0])
    assert stored(whole[0]) == before


def test_an_argument_added_to_an_algorithm_is_another_setting(tmp_path):
    def plan(**arguments):
        return new_plan({"cma": pb.optimizers.ModularCMAES(**arguments)}, [TWO], repetitions=1)

    run_plan(plan(), tmp_path / "a.study")
    with pytest.raises(OtherSettings, match=r"algorithms.cma.active is new"):
        run_plan(plan(active=True), tmp_path / "a.study")


def test_a_race_and_a_plan_do_not_mix(whole, tmp_path):
    with pytest.raises(OtherSettings, match=r"plan is gone.*race is new"):
        pb.study.race(pb.Race([guess, descend], times=[10, 20]), TWO, whole[0])
    with pytest.raises(store.StudyError, match="runs of a plan, not a race"):
        pb.study.load(whole[0])


def test_runs_of_damaged_files_are_run_again_if_that_is_accepted(whole, tmp_path):
    path = tmp_path / "a.study"
    run_plan(new_plan(), path)
    parts = list(path.glob("runs/*.parquet"))
    for part in parts:
        part.write_bytes(part.read_bytes()[:-10])
    with pytest.raises(store.StudyError, match=f"{parts[0].name}.*--accept-damage"):
        run_plan(new_plan(), path)
    summary = run_plan(new_plan(), path, accept_damage=True)
    assert (summary.ran, len(summary.damaged)) == (24, len(parts))
    with store.open(path) as study:
        again = {run.key: run.trajectory.values.tolist() for run in study.runs()}
    with store.open(whole[0]) as study:
        assert again == {run.key: run.trajectory.values.tolist() for run in study.runs()}


# Failures


def test_failures_are_told_together_and_are_not_run_again(tmp_path):
    nan = pb.problems.FunctionProblem(lambda x: float("nan"), -1, 1, 2, name="nan-d2")
    broken = pb.problems.FunctionProblem(boom, -1, 1, 2)
    plan = new_plan([guess, crash], [TWO, nan, broken], repetitions=2, budget=10)
    with pytest.warns(RunFailureWarning, match="8 of 12 runs"):
        summary = run_plan(plan, tmp_path / "a.study", workers=2)
    told = {(one.algorithm, one.kind, one.count) for one in summary.failures}
    assert sum(one.count for one in summary.failures) == summary.failed == 8
    assert {("crash", "RuntimeError", 6), ("guess", "RuntimeError", 2)} == told
    assert summary.invalid == 4
    assert "crash: 6 runs failed; " in str(summary)
    assert "in boom" in next(one.traceback for one in summary.failures if one.algorithm == "guess")
    with pytest.warns(RunFailureWarning, match="8 of 12 runs"):
        again = run_plan(plan, tmp_path / "a.study")
    assert (again.ran, again.failed) == (0, 8)
    assert {(one.algorithm, one.kind, one.count) for one in pb.study.load_plan(tmp_path / "a.study").failures} == told


def test_a_hanging_optimizer_is_interrupted(tmp_path):
    with pytest.warns(RunFailureWarning):
        summary = run_plan(new_plan([idle], [TWO], repetitions=1, timeout=0.3), tmp_path / "a.study")
    assert [(one.reason, one.count) for one in summary.failures] == [(Reason.TIMED_OUT, 1)]


# What a plan is made of


def test_problems_are_the_grid_the_first_draws_or_the_list():
    suite = pb.problems.BBOB(functions=(1, 2), dimensions=(2, 3), instances=(4, 5), seed=1)
    grid = {f"bbob-f{f}-i{i}-d{d}" for f in (1, 2) for i in (4, 5) for d in (2, 3)}
    assert {problem.name for problem in Plan([guess], suite, budget=1).problems} == grid
    drawn = Plan([guess], suite, budget=1, draws=6).problems
    assert [problem.name for problem in drawn] == list(dict.fromkeys(suite[draw].name for draw in range(6)))
    assert len(Plan([guess], suite, budget=1, draws=500).problems) == 8
    assert Plan([guess], [TWO, FIVE], budget=1).problems == (TWO, FIVE)
    assert Plan([guess], TWO, budget=1).problems == (TWO,)
    assert Plan([guess], pb.problems.MABBOB(3), budget=1, draws=2).dimensions == (3, 3)


def test_a_dimension_that_no_name_tells_is_asked_of_the_problem():
    class Secret:
        name = "secret"

        def build(self):
            return FIVE

    assert Plan([guess], [Secret()], budget="2*d").dimensions == (5,)


@pytest.mark.parametrize(
    ("budget", "axis", "at"),
    [
        (100, "evaluations", 100),
        (1e4, "evaluations", 10_000),
        ("1000*d", "evaluations", 7_000),
        (" 1e3 * d ", "evaluations", 7_000),
        ("1000", "evaluations", 1_000),
        ("1_000.5*d", "evaluations", 7_003),
        ("0.1*d", "evaluations", 1),
        (0.5, "seconds", 0.5),
        ("0.5*d", "seconds", 3.5),
        (np.int64(3), "evaluations", 3),
    ],
)
def test_budgets(budget, axis, at):
    read = pb.study.Budget.of(budget, axis)
    assert read.at(7, axis) == at
    assert pb.study.Budget.of(read.plain, axis) == read


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("d*1000", r"'d\*1000' is not a budget; write a positive number, or a multiple of d such as 1000\*d"),
        ("__import__('os')*d", "is not a budget"),
        ("1.2.3*d", r"'1.2.3\*d' is not a budget"),
        ("1__0*d", r"'1__0\*d' is not a budget"),
        ("1e999*d", "positive number"),
        (0, "above 0"),
        ("0*d", "positive number"),
        (-5, "above 0"),
        (float("nan"), "finite number"),
        (2.5, "must be a whole number of evaluations"),
    ],
)
def test_budgets_that_are_none(budget, message):
    with pytest.raises(ValueError, match=message):
        pb.study.Budget.of(budget, "evaluations")


@pytest.mark.parametrize("budget", [None, True, [5], {"d": 5}])
def test_budgets_of_a_wrong_type(budget):
    with pytest.raises(TypeError, match="give a number, or a string"):
        pb.study.Budget.of(budget, "evaluations")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithms": []}, "algorithms is empty"),
        ({"algorithms": [guess, guess]}, "two algorithms are named 'guess'"),
        ({"repetitions": 0}, "repetitions is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"axis": "hours"}, "axis is 'hours'"),
        ({"draws": 5}, "all problems of a list are run"),
        ({"target_precision": 0.1}, "optimum of sphere-d2 is not known"),
        ({"timeout": 0}, "timeout is 0"),
        ({"problems": [TWO, pb.problems.FunctionProblem(boom, 0, 1, 3, name="sphere-d2")]}, "two problems are called"),
    ],
)
def test_plans_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        new_plan(**settings)


def test_an_endless_stream_without_a_grid_needs_draws():
    with pytest.raises(ValueError, match="MABBOB is an endless stream; set draws"):
        Plan([guess], pb.problems.MABBOB(3), budget=1)


def test_a_plan_is_made_again_from_what_the_study_keeps():
    plan = Plan(
        [pb.optimizers.RandomSearch(), pb.optimizers.ModularCMAES(active=True)],
        pb.problems.BBOB(functions=(1, 3), dimensions=(2,), instances=(1, 2)),
        repetitions=3,
        budget="10*d",
        target_precision=1e-8,
        timeout=60,
        watch=Watch(per_decade=3, parameters=("sigma",)),
        seed=100,
    )
    again = pb.study.plan_from_spec(plan.describe())
    assert again.describe() == plan.describe()
    assert list(again.tasks()) == list(plan.tasks())
    assert next(iter(plan.tasks())).limits.target_precision == 1e-8


def test_a_target_needs_optima_that_are_known_also_where_only_the_built_problem_tells():
    for suite in (pb.problems.BBOBBiobj(functions=1, dimensions=2, instances=1), pb.problems.PBO(functions=18)):
        with pytest.raises(ValueError, match=r"target_precision is 0\.1, but the optimum of .* is not known"):
            Plan([guess], suite, budget=10, draws=1, target_precision=0.1)
    Plan([guess], pb.problems.BBOB(dimensions=2, instances=1), budget=10, target_precision=0.1)

"""Real races of real functions, run by real worker processes, interrupted by real kills."""

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import polarbear as pb
from polarbear import store
from polarbear.racing import CannotWithdraw
from polarbear.study import Observer, RunFailureWarning, StopRules
from tests.study.entrants import boom, crash, crawl, dawdle, descend, guess, idle, jump, sphere, stillborn, suicidal

ROOT = Path(__file__).parents[2]
PROBLEM = pb.problems.FunctionProblem(sphere, lower=-2, upper=2, dimension=3)


class Listener(Observer):
    reason = None

    def stopped(self, race, reason):
        self.reason = reason


def new_race(algorithms=(guess, descend, crawl), **settings):
    return pb.Race(algorithms, times=pb.log_times(5, 200, 8), **({"alpha": 0.95, "epsilon": 0.1, "seed": 2} | settings))


def race(path, algorithms=(guess, descend, crawl), settings=None, instances=PROBLEM, **options):
    return pb.study.race(new_race(algorithms, **(settings or {})), instances, path, **options)


def decisions(result):
    """Everything decided, without what a clock measured."""
    rounds = [dataclasses.replace(r, seconds=0.0, inference_seconds=0.0) for r in result.rounds]
    return rounds, result.pareto_set, result.eliminated, result.posterior.draws.tobytes()


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """The study of the same race, never interrupted, in one process; and what it found."""
    path = tmp_path_factory.mktemp("whole") / "a.study"
    return path, race(path)


@pytest.fixture
def whole(raced):
    """What the race found."""
    return raced[1]


@pytest.fixture
def path(raced, tmp_path):
    """A copy of its study, to go on with."""
    return Path(shutil.copytree(raced[0], tmp_path / "a.study"))


def test_the_race_is_resolved_and_saves_evaluations(whole):
    assert whole.finished
    assert len(whole.rounds) > 1
    assert "descend" in whole.pareto_set
    assert "crawl" not in whole.pareto_set
    assert 0 < whole.saved < 1
    assert sum(whole.evaluations_by_algorithm.values()) == whole.evaluations == whole.rounds[-1].evaluations


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_nothing(whole, tmp_path, workers):
    assert decisions(race(tmp_path / "a.study", workers=workers)) == decisions(whole)


@pytest.mark.slow
def test_any_executor_will_do(whole, tmp_path):
    with ProcessPoolExecutor(2, get_context("forkserver")) as executor:
        assert decisions(race(tmp_path / "a.study", executor=executor)) == decisions(whole)


def test_a_finished_study_is_read_and_runs_nothing_again(whole, path):
    class NoRun(Observer):
        def round_started(self, race, requests):
            pytest.fail("a round was started")

    assert decisions(race(path, observer=NoRun())) == decisions(whole)
    assert decisions(pb.study.load(path).result) == decisions(whole)


def test_a_study_is_looked_at_after_an_earlier_round_as_if_it_had_stopped_there(whole, path, tmp_path):
    first = whole.rounds[0]
    stopped = race(tmp_path / "b.study", stop=StopRules(instances=first.instances))
    seen = pb.study.load(path, after=1).result
    assert decisions(seen) == decisions(stopped) != decisions(whole)
    np.testing.assert_array_equal(seen.posterior.draws, stopped.posterior.draws)
    assert decisions(pb.study.load(path, after=len(whole.rounds)).result) == decisions(whole)
    with pytest.raises(ValueError, match=r"after is 0; .*a\.study has the completed rounds \[1, 2"):
        pb.study.load(path, after=0)


@pytest.mark.parametrize("kind", ["instances", pytest.param("evaluations", marks=pytest.mark.slow)])
def test_limits_stop_between_rounds_and_resuming_ends_the_same(whole, tmp_path, kind):
    path, stops = tmp_path / "a.study", 0
    total = whole.evaluations if kind == "evaluations" else whole.rounds[-1].instances
    while not (part := race(path, stop=StopRules(**{kind: max(1, total * (stops + 1) // 5)}))).finished:
        stops += 1
    assert stops > 1
    assert decisions(part) == decisions(whole)


@pytest.mark.slow
def test_each_limit_says_that_it_stopped_the_race(tmp_path):
    for limit, value, reason in (
        ("instances", 8, "instance limit of 8 reached: 8 instances drawn"),
        ("instances", 3, "instance limit of 3 reached: 8 instances drawn (limits are checked between rounds)"),
        ("evaluations", 10, "evaluation limit of 10 reached: "),
    ):
        listener = Listener()
        race(tmp_path / f"{limit}-{value}.study", stop=StopRules(**{limit: value}), observer=listener)
        assert listener.reason.startswith(reason)
    listener = Listener()
    race(tmp_path / "list.study", instances=[PROBLEM] * 8, observer=listener)
    assert listener.reason == "all 8 problem instances have been used"


class Interrupt(Observer):
    """Ctrl-C after so many runs."""

    def __init__(self, runs):
        self.left = runs

    def run_finished(self, run):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_interrupted_while_an_added_algorithm_catches_up_it_loads_and_resumes(whole, path, tmp_path):
    straight = shutil.copytree(path, tmp_path / "b.study")
    four = (guess, descend, crawl, jump)
    with pytest.raises(KeyboardInterrupt):
        race(path, algorithms=four, observer=Interrupt(3))
    assert pb.study.load(path).result.rounds[-1].number == len(whole.rounds)
    assert decisions(race(path, algorithms=four)) == decisions(race(straight, algorithms=four))


def test_the_time_limit_lets_the_first_round_run_and_says_why_it_stopped(tmp_path):
    listener = Listener()
    part = race(tmp_path / "a.study", stop=StopRules(seconds=1e-6), observer=listener)
    assert len(part.rounds) == 1
    assert listener.reason.startswith("time limit")
    assert part.undecided


def run_script(path, *, wait=True, workers=2):
    """The race of these tests in a process of its own."""
    code = f"from tests.study.test_racing import race; race({str(path)!r}, workers={workers})"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, start_new_session=True)
    if wait:
        assert process.wait(120) == 0
    return process


def kill_and_resume(path, kills, seed, how):
    """Kill the race's driver at random moments; return how many runs were seen committed and are still there."""
    rng = np.random.default_rng(seed)
    seen = set()
    for _ in range(kills):
        process = run_script(path, wait=False)
        time.sleep(rng.uniform(0.4, 2.2))
        if store.exists(path):
            with store.open(path) as reader:
                seen |= set(reader.keys())
        os.killpg(process.pid, how)
        process.wait()
        if store.exists(path):
            with store.open(path) as reader:
                assert reader.damaged == ()
                assert seen <= set(reader.keys())
    run_script(path)
    return seen


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_killed_at_random_moments_it_loses_no_committed_run_and_ends_the_same(whole, tmp_path, how):
    kill_and_resume(tmp_path / "a.study", kills=2, seed=1, how=how)
    assert decisions(pb.study.load(tmp_path / "a.study").result) == decisions(whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_killed_often_it_loses_no_committed_run_and_ends_the_same(whole, tmp_path, seed):
    kill_and_resume(tmp_path / "a.study", kills=10, seed=100 + seed, how=signal.SIGKILL)
    assert decisions(pb.study.load(tmp_path / "a.study").result) == decisions(whole)


RACES = """
import os, signal, sys
from concurrent.futures import ThreadPoolExecutor
from tests.study.test_racing import race

for path in sys.stdin:
    driver = os.fork()
    if not driver:
        with ThreadPoolExecutor(1) as executor:
            race(path.strip(), executor=executor)
        os._exit(0)
    if sys.stdin.readline() == "terminate\\n":
        os.kill(driver, signal.SIGTERM)
    print(os.waitstatus_to_exitcode(os.waitpid(driver, 0)[1]), flush=True)
"""


@pytest.mark.slow
def test_terminated_mid_commit_it_loses_nothing_and_ends_the_same(whole, tmp_path):
    """One race after the other, each resumed until it is done; drivers are forked, so that they begin at once."""
    rng, terminations, races, struck, seen = np.random.default_rng(7), 200, 0, 0, set()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", RACES], cwd=ROOT, text=True, **pipes) as drivers:
        while struck < terminations or seen:
            path = tmp_path / f"{races}.study"
            print(path, file=drivers.stdin, flush=True)
            time.sleep(rng.exponential(0.4))
            print("terminate" if struck < terminations else "wait", file=drivers.stdin, flush=True)
            code = int(drivers.stdout.readline())
            assert code in {0, -signal.SIGTERM}
            struck += code != 0
            if store.exists(path):
                with store.open(path) as reader:
                    assert reader.damaged == ()
                    assert seen <= set(reader.keys())
                    seen = set(reader.keys())
            if code == 0:
                assert decisions(pb.study.load(path).result) == decisions(whole)
                races, seen = races + 1, set()
        drivers.stdin.close()
    assert races >= terminations // 40


def test_an_algorithm_added_later_joins_on_the_cached_instances(whole, path):
    after = race(path, algorithms=(guess, descend, crawl, jump))
    assert after.rounds[: len(whole.rounds)] == whole.rounds
    assert set(after.rounds[len(whole.rounds)].horizon) == {"jump"}
    assert after.evaluations_by_algorithm["jump"] > 0
    assert race(path, algorithms=(guess, descend, crawl, jump)).pareto_set == after.pareto_set


def test_an_algorithm_withdrawn_stays_out_and_what_it_had_eliminated_races_on(whole, path, tmp_path):
    ((loser, winner),) = whole.eliminated.items()
    after = race(path, withdraw=[winner])
    assert after.withdrawn == (winner,)
    assert after.rounds[: len(whole.rounds)] == whole.rounds
    first, *others = after.rounds[len(whole.rounds) :]
    assert (first.batch, first.withdrawn) == (0, (winner,))
    assert not any(winner in each.horizon for each in others)
    assert after.finished
    assert after.pareto_set == ("descend",)
    assert after.eliminated == {loser: "descend"}
    assert decisions(race(path)) == decisions(pb.study.load(path).result) == decisions(after)
    words = pb.analyzer.answer(after).text
    assert f"{winner} was withdrawn" in words
    assert f"eliminated by {winner}" not in words
    page = pb.analyzer.report(pb.study.load(path), tmp_path / "page.html").read_text()
    assert "withdrawn" in page


def test_who_cannot_be_withdrawn_is_named_and_nothing_is_lost(tmp_path):
    path = tmp_path / "a.study"
    race(path, stop=StopRules(instances=8))
    with pytest.raises(CannotWithdraw, match="no algorithm of the race is named 'ges'; did you mean 'guess'"):
        race(path, withdraw=["guess", "ges"])
    with pytest.raises(CannotWithdraw, match="last candidate"):
        race(path, withdraw=["guess", "descend", "crawl"])
    assert not pb.study.load(path).result.withdrawn


def test_a_single_name_to_withdraw_needs_no_list(tmp_path):
    path = tmp_path / "a.study"
    assert race(path, withdraw="crawl", stop=StopRules(instances=8)).withdrawn == ("crawl",)
    assert pb.study.load(path).result.withdrawn == ("crawl",)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"settings": {"alpha": 0.9}}, r"race.alpha was 0.95 and is now 0.9"),
        ({"algorithms": (guess, descend)}, r"algorithms.crawl is gone"),
        ({"timeout": 7.0}, r"limits.timeout was None and is now 7.0"),
        ({"instances": [PROBLEM]}, r"instances.repeat"),
    ],
)
def test_resuming_with_other_settings_is_refused_by_name(tmp_path, changed, message):
    path = tmp_path / "a.study"
    race(path, stop=StopRules(instances=8))
    with pytest.raises(ValueError, match=message):
        race(path, **changed)


def test_a_crashing_optimizer_is_an_outcome_and_the_race_goes_on(tmp_path):
    path = tmp_path / "a.study"
    with pytest.warns(RunFailureWarning, match="runs failed"):
        result = race(path, algorithms=(guess, descend, crash))
    assert result.finished
    assert "descend" in result.pareto_set
    view = pb.study.load(path)
    assert view.failures
    for run in view.failures:
        assert run.key.algorithm == "crash"
        assert run.outcome.message == "RuntimeError: out of ideas"
        assert "entrants.py" in run.outcome.traceback
        assert run.outcome.evaluations == 5
    assert result.rounds[-1].failures == len(view.failures)


@pytest.mark.slow
def test_an_algorithm_of_which_nothing_comes_back_is_set_aside_and_the_race_goes_on(tmp_path):
    path = tmp_path / "a.study"
    with pytest.warns(RunFailureWarning, match="8 of"):
        result = race(path, algorithms=(guess, descend, crawl, suicidal))
    assert result.finished
    assert result.withdrawn == result.rounds[0].withdrawn == ("suicidal",)
    assert "suicidal" not in (*result.pareto_set, *result.eliminated)
    assert "descend" in result.pareto_set
    assert all("suicidal" not in round_.horizon for round_ in result.rounds[1:])
    view = pb.study.load(path)
    assert view.result.withdrawn == ("suicidal",)
    assert {run.outcome.reason for run in view.failures} == {pb.Reason.KILLED}
    words = pb.analyzer.answer(result).text
    assert "suicidal was set aside" in words
    assert "suicidal: " not in words


def test_when_every_run_fails_there_is_no_answer_but_an_error_with_the_first_failure(tmp_path):
    path = tmp_path / "a.study"
    broken = pb.problems.FunctionProblem(boom, lower=-2, upper=2, dimension=3)
    with pytest.raises(pb.study.EveryRunFailed, match=r"all 24 runs .*RuntimeError: boom.*start a new study"):
        race(path, instances=broken)
    assert pb.study.load(path).result.rounds == ()
    assert len(store.read(path)) == 24


def test_impossible_limits_of_runs_are_refused_before_a_study_is_made(tmp_path):
    for options in ({"timeout": float("inf")}, {"target_precision": -1.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            race(tmp_path / "a.study", **options)
    assert not store.exists(tmp_path / "a.study")


def test_an_algorithm_that_fails_at_once_has_nothing_to_show_and_is_eliminated(tmp_path):
    with pytest.warns(RunFailureWarning, match="8 of 16 runs"):
        result = race(tmp_path / "a.study", algorithms=(guess, stillborn))
    assert result.eliminated == {"stillborn": "guess"}
    failures = pb.study.load(tmp_path / "a.study").failures
    assert {run.outcome.message for run in failures} == {"ImportError: no such solver"}


def test_a_race_in_which_no_run_gets_as_far_as_asked_stops_and_says_so(tmp_path):
    listener = Listener()
    with pytest.warns(RunFailureWarning, match="16 of 16 runs"):
        race(tmp_path / "a.study", algorithms=(dawdle, idle), observer=listener, timeout=0.05)
    assert re.search(r"none of the 16 runs of the round got as far .*timed out", listener.reason)


def test_a_race_object_is_good_for_one_study(tmp_path):
    used = new_race()
    pb.study.race(used, PROBLEM, tmp_path / "a.study")
    with pytest.raises(ValueError, match="has already run elsewhere"):
        pb.study.race(used, PROBLEM, tmp_path / "b.study")


def test_a_target_needs_a_known_optimum(tmp_path):
    with pytest.raises(ValueError, match="optimum of sphere-d3 is not known"):
        race(tmp_path / "a.study", target_precision=1e-8)


def test_a_study_whose_runs_are_damaged_is_named_and_can_go_on_without_them(tmp_path):
    path = tmp_path / "a.study"
    race(path, stop=StopRules(instances=16))
    part = sorted((path / "runs").glob("*.parquet"))[0]
    part.write_bytes(b"not parquet")
    view = pb.study.load(path)
    assert [damage.path.name for damage in view.damaged] == [part.name]
    with pytest.raises(store.StudyError, match=rf"{part.name} cannot be used: .*--accept-damage"):
        race(path)
    assert race(path, accept_damage=True).finished


@pytest.mark.filterwarnings("ignore::polarbear.study.OversubscriptionWarning")
def test_a_race_over_seconds_measures_wall_clock_time(tmp_path):
    fast = pb.Race([guess, descend], times=[0.01, 0.05], axis="seconds", alpha=0.9, epsilon=0.2)
    result = pb.study.race(fast, PROBLEM, tmp_path / "s.study", stop=StopRules(instances=8))
    with store.open(tmp_path / "s.study") as study:
        for run in study.runs():
            assert run.outcome.reason == pb.Reason.BUDGET
            assert run.outcome.seconds >= 0.05
            assert not np.isnan(run.trajectory.value_at([0.01, 0.05], "seconds")).any()
    assert np.isnan(result.evaluations_to_the_end)


def first(x):
    return float(x[0])


def where(problem, rng):
    """Evaluates the number of the core it may run on; -1 if there are several."""
    cores = list(os.sched_getaffinity(0))
    while True:
        problem(np.full(3, float(cores[0]) if len(cores) == 1 else -1.0))


def test_over_seconds_each_worker_keeps_to_a_core_and_too_many_are_warned_of(tmp_path, all_cores):
    cores = len(all_cores)
    problem = pb.problems.FunctionProblem(first, lower=-2, upper=1000, dimension=3)
    timed = pb.Race([where, guess], times=[0.01, 0.02], axis="seconds")
    with pytest.warns(pb.study.OversubscriptionWarning, match=f"{cores + 1} workers share"):
        pb.study.race(timed, problem, tmp_path / "s.study", workers=cores + 1, stop=StopRules(instances=8))
    runs = [run for run in store.read(tmp_path / "s.study") if run.key.algorithm == "where"]
    assert {run.trajectory.best for run in runs} <= {-1.0, *all_cores}


def test_solved_runs_tie(tmp_path):
    solvable = pb.problems.FunctionProblem(sphere, lower=-2, upper=2, dimension=1, optimum=0.0)
    result = pb.study.race(
        pb.Race({"one": descend, "other": jump}, times=[200], alpha=0.95, epsilon=0.1),
        solvable,
        tmp_path / "t.study",
        target_precision=0.5,
        stop=StopRules(instances=8),
    )
    with store.open(tmp_path / "t.study") as study:
        assert {run.outcome.reason for run in study.runs()} == {pb.Reason.TARGET}
    assert result.posterior.mean()[0].tolist() == pytest.approx([0.5, 0.5], abs=0.02)


@pytest.mark.parametrize("limit", [{"seconds": 0}, {"instances": -1}, {"evaluations": 0.0}])
def test_impossible_limits_are_refused(limit):
    with pytest.raises(ValueError, match=r"is (0\.0|-1); it must be (above 0|1 or more)"):
        StopRules(**limit)


@pytest.mark.parametrize("infinity", [float("inf"), np.float32("inf")])
def test_infinity_is_no_limit(whole, tmp_path, infinity):
    stop = StopRules(seconds=infinity, instances=infinity, evaluations=infinity)
    assert decisions(race(tmp_path / "a.study", stop=stop)) == decisions(whole)
    with pytest.raises(ValueError, match=r"instances is 2\.5; it must be a whole number"):
        StopRules(instances=2.5)
    for impossible in (float("nan"), -infinity):
        with pytest.raises(ValueError, match=r"evaluations is (nan|-inf); it must be finite"):
            StopRules(evaluations=impossible)

"""Runs are repeated in a second process."""

import os
import subprocess
import sys
import time

import pytest

from polarbear.conformance import CHECKS, examine
from polarbear.conformance.checks import TIMEOUT
from polarbear.conformance.repetition import call_elsewhere, end_second_process, repeat_elsewhere, repeat_here
from polarbear.optimizers import RandomSearch, as_optimizer
from tests.conformance import differing


@pytest.fixture
def fresh(monkeypatch):
    """No second process, and one to come has random hashes and knows which process is the test's."""
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.setenv(differing.HOME, str(os.getpid()))
    end_second_process()
    yield
    end_second_process()


def repeated(function, timeout=TIMEOUT):
    optimizer = as_optimizer(function)
    points, wrong = repeat_here(optimizer)
    assert wrong == ""
    return repeat_elsewhere(optimizer, points, timeout)


def gone(process):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    "optimizer", [differing.draws_when_imported, pytest.param(differing.hashes_a_text, marks=pytest.mark.slow)]
)
def test_what_differs_between_processes_is_found(fresh, optimizer):
    message = "in another process, a run repeated with the same seed differs from point 1 on; hash() of a string"
    assert message in CHECKS["seed"](as_optimizer(optimizer))
    assert message in examine(optimizer, checks=["seed"]).findings[0].wrong


def test_what_does_not_differ_passes(fresh):
    assert repeated(differing.at_random) == ""
    assert examine(differing.at_random, checks=["seed"]).passed


@pytest.mark.parametrize(
    ("optimizer", "timeout", "message"),
    [
        (differing.dies_elsewhere, 30.0, "which repeats its run, was lost: its worker process exited with code 3"),
        (differing.hangs_elsewhere, 1.0, "which repeats its run, was lost: not done after 1 s"),
        (differing.fails_elsewhere, 30.0, "ends differently: it fails with LookupError: no place like home after 0"),
    ],
)
def test_death_hang_and_failure_elsewhere_are_told(fresh, optimizer, timeout, message):
    assert message in repeated(optimizer, timeout)


def test_what_cannot_travel_is_told(fresh):
    told = CHECKS["seed"](differing.Locked())
    assert told == (
        "its run cannot be repeated in another process (see 'travel'): TypeError: cannot pickle '_thread.lock' object"
    )
    assert (
        CHECKS["travel"](differing.Locked()) == "it cannot be pickled: TypeError: cannot pickle '_thread.lock' object"
    )


def test_one_process_serves_all_optimizers(fresh):
    process = call_elsewhere(TIMEOUT, os.getpid)
    assert examine(RandomSearch(), checks=["seed"]).passed
    assert CHECKS["seed"](RandomSearch()) == ""
    assert call_elsewhere(TIMEOUT, os.getpid) == process != os.getpid()
    end_second_process()
    assert gone(process)


def test_a_disturbed_process_does_not_decide(fresh):
    assert call_elsewhere(TIMEOUT, differing.disturb) == call_elsewhere(TIMEOUT, os.getpid)
    assert repeated(differing.minds_disturbance) == ""


def test_a_module_found_later_is_found_there_too(fresh, tmp_path, monkeypatch):
    call_elsewhere(TIMEOUT, os.getpid)
    (tmp_path / "also_later.py").write_text(
        "def climb(problem, rng):\n    while True:\n        problem(rng.uniform(problem.lower, problem.upper))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import also_later

    assert repeated(also_later.climb) == ""


def test_nothing_stays_behind_at_exit():
    script = (
        "import os, polarbear as pb; from polarbear.conformance.repetition import call_elsewhere\n"
        "found = pb.conformance.examine(pb.optimizers.RandomSearch(), checks=['seed'])\n"
        "print(found.passed, call_elsewhere(60.0, os.getpid))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stderr == ""
    passed, process = ended.stdout.split()
    assert passed == "True"
    assert gone(int(process))

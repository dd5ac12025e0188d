"""What plans and races survive: ``python -m benchmarks.reliability [TIMES] [WORD]``; docs/background/reliability.md.

Each fault is tried TIMES times, by default 20, at random moments of a plan or a race; with WORD only those whose name
contains it. A trial is survived if the same call, made again, ends with bit by bit the result obtained without a fault.
A run is lost if it was finished more than two seconds before the fault, or was on disk after it, and is then missing or
changed.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import polarbear as pb
from polarbear import store
from polarbear.cli.termination import terminable
from polarbear.study import Observer, Plan, PlanObserver, StopRules, run_plan

TIMES = 20
WORKERS = 2
COMMITTED = 2.0
"""Seconds after which a finished run has to be on disk."""
_FULL = 64
"""Bytes a file may have on a disk that is full."""


class Tried(NamedTuple):
    """What came of one try."""

    survived: bool
    lost: int


Fault = Callable[[Path, np.random.Generator], Tried]


# Targets of faults


def sphere(x: Any) -> float:
    """An evaluation that takes a while."""
    time.sleep(0.002)
    return float(x @ x)


def descend(problem: Any, rng: np.random.Generator) -> None:
    """A random local search."""
    best = rng.uniform(problem.lower, problem.upper)
    value = problem(best)
    while True:
        trial = best + 0.3 * rng.normal(size=best.size)
        if (found := problem(trial)) < value:
            best, value = trial, found


class Aloud:
    """Says when each run is finished; after so many the disk is full."""

    def __init__(self, room: int) -> None:
        self._room = room

    def run_finished(self, run: pb.Run) -> None:
        """Say it."""
        print(time.time(), run.key, sep="\t", flush=True)
        self._room -= 1
        if self._room == 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (_FULL, resource.RLIM_INFINITY))


class AloudPlan(Aloud, PlanObserver):
    """Of a plan."""


class AloudRace(Aloud, Observer):
    """Of a race."""


def drive(kind: str, path: str, room: int = -1, crew: dict[str, Any] | None = None) -> None:
    """Make the plan or the race, or go on with it."""
    algorithms = crew or {"descend": descend, "random search": pb.optimizers.RandomSearch()}
    problem = pb.problems.FunctionProblem(sphere, lower=-2, upper=2, dimension=3)
    with terminable(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "plan":
            run_plan(
                Plan(algorithms, [problem], repetitions=16, budget=60), path, workers=WORKERS, observer=AloudPlan(room)
            )
        else:
            race = pb.Race(algorithms, times=pb.log_times(3, 60, 5), alpha=0.9, epsilon=0.2, draws=500, batch=8)
            pb.study.race(race, problem, path, workers=WORKERS, observer=AloudRace(room), stop=StopRules(instances=24))


def found(path: Path) -> dict[Any, Any]:
    """What each run found and what the rounds decided, without clocks and messages."""
    there: dict[Any, Any] = {}
    with store.open(path) as study:
        for run in study.runs():
            at, values = run.trajectory.evaluations.tobytes(), run.trajectory.values.tobytes()
            there[run.key] = run.outcome.reason, run.outcome.evaluations, at, values
        for content in study.rounds():
            clocks = {"seconds": 0.0, "inference_seconds": 0.0}
            there[content["round"]["number"]] = content | {"round": content["round"] | clocks}
    return there


class Driver:
    """A process that makes the plan or the race."""

    def __init__(self, kind: str, path: Path, room: int = -1) -> None:
        code = f"from benchmarks.reliability import drive; drive({kind!r}, {str(path)!r}, {room})"
        self.finished: list[tuple[float, str]] = []
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.id = self._process.pid

    def first(self) -> None:
        """Wait for the first run."""
        self._note(self._process.stdout.readline() if self._process.stdout else "")

    def end(self) -> int:
        """Wait for its end; its exit code."""
        for line in self._process.stdout or ():
            self._note(line)
        return self._process.wait()

    def workers(self) -> list[int]:
        """The processes that make runs for it."""
        children = Path(f"/proc/{self.id}/task/{self.id}/../../task").glob("*/children")
        ids = [int(word) for file in children for word in file.read_text().split()]
        return [one for one in ids if b"experiment.worker" in Path(f"/proc/{one}/cmdline").read_bytes()]

    def _note(self, line: str) -> None:
        if "\t" in line:
            when, key = line.rstrip("\n").split("\t")
            self.finished.append((float(when), key))


def whole(kind: str) -> dict[Any, Any]:
    """What is found without a fault."""
    if kind not in _WHOLE:
        with tempfile.TemporaryDirectory() as folder:
            if ended := Driver(kind, path := Path(folder) / "a.study").end():
                raise RuntimeError(f"without a fault the {kind} ended with code {ended}")
            _WHOLE[kind] = found(path)
    return _WHOLE[kind]


_WHOLE: dict[str, dict[Any, Any]] = {}


def resumed(kind: str, path: Path, driver: Driver, struck: float) -> Tried:
    """Make the same call again, and compare."""
    right, there = whole(kind), found(path) if store.exists(path) else {}
    known = {str(key) for key in there if isinstance(key, pb.RunKey)}
    lost = sum(when < struck - COMMITTED and key not in known for when, key in driver.finished)
    lost += sum(right.get(key) != one for key, one in there.items())
    return Tried(Driver(kind, path).end() == 0 and found(path) == right, lost)


# Faults


def signalled(kind: str, number: int) -> Fault:
    """The driver gets a signal at a random moment after its first run."""

    def fault(folder: Path, rng: np.random.Generator) -> Tried:
        driver = Driver(kind, path := folder / "a.study")
        driver.first()
        time.sleep(rng.uniform(0, 2.5))
        struck = time.time()
        with contextlib.suppress(ProcessLookupError):
            os.kill(driver.id, number)
        driver.end()
        return resumed(kind, path, driver, struck)

    return fault


def workers_killed(kind: str) -> Fault:
    """Workers are killed at random moments, each kill some other time; nothing has to be resumed."""

    def fault(folder: Path, rng: np.random.Generator) -> Tried:
        driver = Driver(kind, path := folder / "a.study")
        driver.first()
        for _ in range(3):
            time.sleep(rng.uniform(0.1, 1.0))
            with contextlib.suppress(OSError, ValueError):  # it has just ended, or there is none
                os.kill(int(rng.choice(driver.workers())), signal.SIGKILL)
        ended, right, there = driver.end(), whole(kind), found(path)
        return Tried(ended == 0 and there == right, sum(there.get(key) != one for key, one in right.items()))

    return fault


def full_disk(kind: str) -> Fault:
    """After some runs no file can be written any more; then there is room again."""

    def fault(folder: Path, rng: np.random.Generator) -> Tried:
        driver = Driver(kind, path := folder / "a.study", room=int(rng.integers(1, 30)))
        driver.end()
        return resumed(kind, path, driver, 0.0)  # what could not be written is in no file; only what is there counts

    return fault


def offenders_aboard(folder: Path, rng: np.random.Generator) -> Tried:
    """Optimizers that change their process, break their record or end their worker run beside one that does not."""
    from tests.attacks.offenders import BROKEN, OFFENDERS, bystander, closes_everything, dies

    crew = [*OFFENDERS, *BROKEN, closes_everything, dies]
    chosen = [crew[place] for place in rng.permutation(len(crew))[:8]]
    alone, aboard = folder / "alone.study", folder / "aboard.study"
    for path, others in ((alone, []), (aboard, chosen)):
        plan = Plan([*others, bystander], [pb.problems.BBOB()[0]], repetitions=4, budget=30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run_plan(plan, path, workers=WORKERS)
    right, there = found(alone), found(aboard)
    lost = sum(there.get(key) != one for key, one in right.items())
    return Tried(not lost and len(there) == len(plan.algorithms) * 4, lost)


def file_harmed(kind: str, pattern: str, harm: Callable[[Path, np.random.Generator], object]) -> Fault:
    """A file of a study is harmed: that is to be named, and all else to be read as it was; a copy mends it."""

    def fault(folder: Path, rng: np.random.Generator) -> Tried:
        Driver(kind, path := folder / "a.study").end()
        files, right, there = sorted(path.glob(pattern)), whole(kind), {}
        file = files[int(rng.integers(len(files)))]
        sound = file.read_bytes()
        harm(file, rng)
        try:
            with store.open(path) as study:
                named = file in [one.path for one in study.damaged]
            there = found(path)
        except store.StudyError as error:
            named = str(file) in str(error)
        file.write_bytes(sound)
        return Tried(named and found(path) == right, sum(right.get(key) != one for key, one in there.items()))

    return fault


def flip(file: Path, rng: np.random.Generator) -> None:
    """Flip a bit."""
    data = bytearray(file.read_bytes())
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    file.write_bytes(data)


def delete(file: Path, _: np.random.Generator) -> None:
    """Remove a file."""
    file.unlink()


FAULTS: dict[str, Fault] = {
    "`kill -9` of the driver of a plan": signalled("plan", signal.SIGKILL),
    "`kill -9` of the driver of a race": signalled("race", signal.SIGKILL),
    "SIGTERM to the driver of a plan": signalled("plan", signal.SIGTERM),
    "SIGTERM to the driver of a race": signalled("race", signal.SIGTERM),
    "Ctrl-C in a plan": signalled("plan", signal.SIGINT),
    "Ctrl-C in a race": signalled("race", signal.SIGINT),
    "`kill -9` of three workers of a plan": workers_killed("plan"),
    "`kill -9` of three workers of a race": workers_killed("race"),
    "a disk that is full during a plan": full_disk("plan"),
    "a disk that is full during a race": full_disk("race"),
    "eight offending optimizers beside one that is not": offenders_aboard,
    "a bit flipped in a part": file_harmed("plan", "runs/*", flip),
    "a bit flipped in a round": file_harmed("race", "rounds/*", flip),
    "a bit flipped in `study.json`": file_harmed("race", "study.json", flip),
    "a bit flipped in the manifest": file_harmed("race", "manifest.txt", flip),
    "a part deleted": file_harmed("race", "runs/*", delete),
    "a round deleted": file_harmed("race", "rounds/*", delete),
    "the manifest deleted": file_harmed("plan", "manifest.txt", delete),
}


def main() -> None:
    """Print the table."""
    times, word = int([*sys.argv, TIMES][1]), [*sys.argv, "", ""][2]
    print("| fault | tried | survived | runs lost |\n|---|---|---|---|")
    for name, fault in FAULTS.items():
        if word not in name:
            continue
        tries = []
        for number in range(times):
            folder = Path(tempfile.mkdtemp())
            tries.append(fault(folder, np.random.default_rng([number, *name.encode()])))
            if tries[-1] == (True, 0):
                shutil.rmtree(folder)
            else:
                print(f"{name}: see {folder}", file=sys.stderr)
        survived, lost = sum(one.survived for one in tries), sum(one.lost for one in tries)
        print(f"| {name} | {len(tries)} | {survived} | {lost} |", flush=True)


if __name__ == "__main__":
    main()

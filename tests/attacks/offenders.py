"""Optimizers that change their process, break their record, or end their worker; worker processes can import them."""

import builtins
import decimal
import functools
import gc
import locale
import os
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import polarbear.experiment.recorder


def sphere(x):
    return float(np.sum((x - 0.5) ** 2))


def noisy_sphere(x):
    return sphere(x)


def steps(problem, rng, count=20):
    for _ in range(count):
        problem(rng.uniform(problem.lower, problem.upper))


def globally_random(problem, rng):
    """All its chance comes from the generators that the whole process shares."""
    for _ in range(15):
        problem(np.random.uniform(problem.lower, problem.upper))  # noqa: NPY002
        problem(problem.lower + random.random() * (problem.upper - problem.lower))


def bystander(problem, rng):
    """Its run depends on all that an optimizer may leave behind."""
    tiny = float(np.multiply(1e-300, 1e-300))  # raises where underflow does
    shift = (
        ("OFFENDED" in os.environ)
        + 2 * ("HOME" in os.environ)
        + len(Path.cwd().parts)
        + sys.getrecursionlimit()
        + len(warnings.filters)
    )
    shift += float(decimal.Decimal(1) / decimal.Decimal(3)) + os.umask(0o077) + gc.isenabled() + len(sys.path)
    shift += len(str(np.array([1 / 3]))) + len(locale.setlocale(locale.LC_ALL)) + len(os.sched_getaffinity(0))
    shift += signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
    sys.stdout.write("a word\n")
    print("a word", file=sys.stderr)  # noqa: T201 - what is tried
    os.write(2, b"")
    os.write(1, b"")
    descend = signal.getsignal(signal.SIGALRM)
    assert not callable(descend) or descend.__name__ != "steps"
    warnings.warn("harmless", RuntimeWarning, stacklevel=1)
    time.sleep(0)
    for _ in range(30):
        problem(np.clip(rng.uniform(problem.lower, problem.upper) + tiny + 1e-9 * shift, problem.lower, problem.upper))


def sets_numpy(problem, rng):
    steps(problem, rng)
    np.seterr(all="raise")
    np.seterrcall(steps)
    np.set_printoptions(precision=1)
    np.random.seed(3)  # noqa: NPY002
    random.seed(3)


def sets_process(problem, rng):
    steps(problem, rng)
    os.environ["OFFENDED"] = "yes"
    os.environ.pop("HOME", None)
    os.chdir("/")
    os.umask(0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    if len(cores := os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(0, {min(cores)})


def sets_signals(problem, rng):
    steps(problem, rng)
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM, signal.SIGINT):
        signal.signal(number, steps)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)


def sets_interpreter(problem, rng):
    steps(problem, rng)
    warnings.simplefilter("error")
    warnings.showwarning = None
    decimal.getcontext().prec = 2
    locale.setlocale(locale.LC_ALL, "C.UTF-8")
    gc.disable()
    sys.path.insert(0, "/nowhere")
    sys.setrecursionlimit(60)


def replaces_functions(problem, rng):
    steps(problem, rng)
    for module in (time, polarbear.experiment.recorder):  # as packages do that freeze time
        vars(module)["perf_counter"] = lambda: 0.0
    time.sleep = random.uniform = builtins.print = builtins.isinstance = None


def closes_streams(problem, rng):
    steps(problem, rng)
    sys.stdout.close()
    sys.stderr.close()
    os.close(1)
    os.close(2)


def leaves_a_removed_folder(problem, rng):
    steps(problem, rng)
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)
    folder.rmdir()


def removes_the_folder(problem, rng):
    """Takes away what it would have to be put back to."""
    steps(problem, rng)
    folder = Path.cwd()
    os.chdir("/")
    folder.rmdir()


OFFENDERS = (
    sets_numpy,
    sets_process,
    sets_signals,
    sets_interpreter,
    replaces_functions,
    closes_streams,
    leaves_a_removed_folder,
)


# Those that break their record


def frozen_clock(problem, rng):
    steps(problem, rng, 5)
    vars(polarbear.experiment.recorder)["perf_counter"] = lambda: 0.0
    problem(np.full(problem.dimension, 0.5))


def backward_clock(problem, rng):
    """Breaks its own record: a time below the one before."""
    steps(problem, rng, 5)
    recorder = next(
        cell.cell_contents
        for cell in problem.__closure__
        if isinstance(cell.cell_contents, polarbear.experiment.recorder.Recorder)
    )
    recorder._improvements.append((6, -1.0, -5.0))


class UnspeakableError(Exception):
    def __str__(self):
        raise SystemExit(3)


class Quoting(str):
    __slots__ = ()

    def __format__(self, spec):
        raise RuntimeError("no text")

    def __reduce__(self):
        return os._exit, (9,)


class QuotingError(Exception):
    def __str__(self):
        return Quoting("quoted")

    def __reduce__(self):
        return os._exit, (9,)


class OutsideError(BaseException):
    pass


def unspeakable(problem, rng):
    steps(problem, rng)
    raise UnspeakableError


def quoting(problem, rng):
    steps(problem, rng)
    raise QuotingError


def outside(problem, rng):
    steps(problem, rng)
    raise OutsideError("\udc80 half a character")


def leaves(problem, rng):
    steps(problem, rng)
    sys.exit(0)


def interrupts(problem, rng):
    steps(problem, rng)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    raise KeyboardInterrupt


def endless_message(problem, rng):
    steps(problem, rng)
    raise ValueError("x" * 50_000_000)


def recurses(problem, rng):
    steps(problem, rng)
    sys.setrecursionlimit(60)
    _recurse()


def _recurse():
    _recurse()


def out_of_memory(problem, rng):
    steps(problem, rng)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
    np.ones(1 << 32)


def sneaks_a_generator(problem, rng):
    return functools.partial(_generator, problem, rng)()


def _generator(problem, rng):
    yield problem(rng.uniform(problem.lower, problem.upper))


def sneaks_a_coroutine(problem, rng):
    async def optimize():
        steps(problem, rng)

    return optimize()


BROKEN = {
    frozen_clock: "seconds decreases",
    backward_clock: "seconds decreases",
    unspeakable: "UnspeakableError: (its text cannot be shown)",
    quoting: "QuotingError: quoted",
    outside: "OutsideError: \\udc80 half a character",
    leaves: "SystemExit: 0",
    interrupts: "KeyboardInterrupt",
    endless_message: "ValueError: xxx",
    recurses: "RecursionError",
    out_of_memory: "MemoryError",
    sneaks_a_generator: "returned an unstarted generator",
    sneaks_a_coroutine: "returned an unstarted coroutine",
}


# Those that end their worker


def forks_and_returns_twice(problem, rng):
    steps(problem, rng)
    os.fork()


def closes_everything(problem, rng):
    steps(problem, rng)
    os.closerange(0, 256)


def dies(problem, rng):
    steps(problem, rng, 3)
    os.kill(os.getpid(), signal.SIGKILL)


def dies_at_first(problem, rng):
    """Half of its runs is killed at the first try, as by a machine that is out of memory."""
    marks = Path(os.environ["MARKS"])
    steps(problem, rng, 3)
    if (number := rng.integers(2**62)) % 2 and not (mark := marks / f"{number}").exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    steps(problem, rng)


def never_dies(problem, rng):
    """What `dies_at_first` does when it is not killed."""
    steps(problem, rng, 3)
    rng.integers(2**62)
    steps(problem, rng)

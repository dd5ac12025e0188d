"""Optimizers that differ from one process to the next. Workers import them."""

import builtins
import os
import threading
import time

import numpy as np

HOME = "PROCESS_OF_THE_TEST"
DRAWN = int.from_bytes(os.urandom(4))


def at_random(problem, rng):
    while True:
        problem(rng.uniform(problem.lower, problem.upper))


def draws_when_imported(problem, rng):
    at_random(problem, np.random.default_rng([DRAWN, *rng.integers(2**32, size=2)]))


def hashes_a_text(problem, rng):
    at_random(problem, np.random.default_rng([abs(hash("a text")), *rng.integers(2**32, size=2)]))


def dies_elsewhere(problem, rng):
    if os.environ.get(HOME) != str(os.getpid()):
        os._exit(3)
    at_random(problem, rng)


def hangs_elsewhere(problem, rng):
    if os.environ.get(HOME) != str(os.getpid()):
        time.sleep(60)
    at_random(problem, rng)


def fails_elsewhere(problem, rng):
    if os.environ.get(HOME) != str(os.getpid()):
        raise LookupError("no place like home")
    at_random(problem, rng)


def disturb():
    """Leave something behind in this process."""
    builtins.disturbed = True
    return os.getpid()


def minds_disturbance(problem, rng):
    if hasattr(builtins, "disturbed"):
        raise RuntimeError("disturbed")
    at_random(problem, rng)


class Locked:
    """Cannot be pickled."""

    name = "locked"

    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, problem, rng):
        at_random(problem, rng)

"""Optimizers that do what no run should."""

import os
import signal
import sys
from collections import deque
from itertools import repeat

import cloudpickle
import numpy as np

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import test modules


def die(objective, rng):
    objective(np.ones(2))
    os.kill(os.getpid(), signal.SIGKILL)


def hang_in_python(objective, rng):
    objective(np.ones(2))
    while True:
        pass


def hang_in_c(objective, rng):
    """Holds the interpreter in C for ever: no signal handler of Python's can run."""
    objective(np.ones(2))
    deque(repeat(0), maxlen=0)


def unheeding(objective, rng):
    """Random search that nothing the objective raises ends."""
    while True:
        try:  # noqa: SIM105
            objective(rng.uniform(objective.lower, objective.upper))
        except BaseException:
            pass

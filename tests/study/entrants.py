"""Optimizers and problems that worker processes can import."""

import os
import signal
import time

import numpy as np


def guess(problem, rng):
    while True:
        problem(rng.uniform(problem.lower, problem.upper))


def descend(problem, rng, step=0.3):
    here = rng.uniform(problem.lower, problem.upper)
    value = problem(here)
    while True:
        there = np.clip(here + step * rng.normal(size=here.size), problem.lower, problem.upper)
        if (better := problem(there)) <= value:
            here, value = there, better


def crawl(problem, rng):
    descend(problem, rng, step=0.01)


def jump(problem, rng):
    descend(problem, rng, step=1.0)


def crash(problem, rng):
    for _ in range(5):
        problem(rng.uniform(problem.lower, problem.upper))
    raise RuntimeError("out of ideas")


def sphere(x):
    return float(np.sum((x - 0.5) ** 2))


def stillborn(problem, rng):
    raise ImportError("no such solver")


def suicidal(problem, rng):
    os.kill(os.getpid(), signal.SIGKILL)


def dawdle(problem, rng):
    while True:
        problem(rng.uniform(problem.lower, problem.upper))
        time.sleep(0.02)


def idle(problem, rng):
    problem(rng.uniform(problem.lower, problem.upper))
    time.sleep(60)


def boom(x):
    raise RuntimeError("boom")

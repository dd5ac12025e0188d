"""Restart strategies of population-based optimizers."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from polarbear.validation import choice

STRATEGIES = ("STOP", "RESTART", "IPOP", "BIPOP")
"""STOP: no restart; RESTART: the same population size; IPOP: twice the population size; BIPOP: see `Restarts`."""


Strategy = Annotated[str, choice(*STRATEGIES)]
"""One of `STRATEGIES`."""


class Restarts:
    """The settings of each start under a restart strategy.

    With BIPOP (Hansen, 2009, with the sizes of pycma's `fmin2`), the next start is large or small, whichever kind has
    spent fewer evaluations so far; the first start counts as small. The k-th large population is 2ᵏ times the first
    one. A small one is (2ᵏ)^(u²) times the first, with a step size 100^(-v) times the usual one, where u and v are
    uniform in [0, 1]; it may spend half the evaluations that all large starts have spent.

    Args:
        strategy: One of `STRATEGIES`.
        rng: The random generator that u and v are drawn from.

    Attributes:
        population: Points per generation; 0 for the first start, which takes the default.
        step_size_factor: Factor on the initial step size.
        evaluations: Maximum number of evaluations of the start.
    """

    def __init__(self, strategy: str, rng: np.random.Generator) -> None:
        self.population = 0
        self.step_size_factor = 1.0
        self.evaluations = math.inf
        self._strategy, self._rng = strategy, rng
        self._first = 0.0
        self._doublings = 0
        self._small = True
        self._spent = {True: 0, False: 0}

    def next(self, population: float, spent: int) -> bool:
        """Proceed to the next start; return False if there is none.

        Args:
            population: Points per generation of the start that has ended; as it is multiplied, it may be a fraction.
            spent: Evaluations spent by that start.
        """
        self._first = self._first or population
        self._spent[self._small] += spent
        if self._strategy == "STOP":
            return False
        self._small = self._strategy == "BIPOP" and self._spent[True] < max(1, self._spent[False])
        if self._small:
            self.step_size_factor = 0.01 ** self._rng.uniform()
            self.population = int(self._first * (2**self._doublings) ** (self._rng.uniform() ** 2))
            self.evaluations = self._spent[False] / 2
        else:
            self._doublings += self._strategy != "RESTART"
            self.step_size_factor, self.evaluations = 1.0, math.inf
            self.population = int(self._first * 2**self._doublings)
        return True

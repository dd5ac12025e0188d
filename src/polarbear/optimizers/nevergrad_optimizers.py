"""The optimizers of nevergrad that work, by ask and tell.

How `nevergrad` 1.0.12 is used:

- Each start is a new optimizer over a bounded array, from a uniformly random point of the box.
- Its random state is seeded from the run's generator. Some of its optimizers draw from NumPy's and Python's global
  generators instead; these are seeded as well while a run lasts, and put back at its end.
- Values above 1e20 count as 1e20; it clips at 5e20 with a warning.
- It runs optimizers of other packages, SciPy's say, in a thread each. They compute while it is asked, not while the
  problem is evaluated, so that their warnings can be told from the problem's.
- On one variable its CMA-ES asks for a further package, and does so for the rest of the process on any problem; a
  second variable that has no effect keeps it from that.
- Its warnings, about its own settings, are not shown.
"""

from __future__ import annotations

import difflib
import gc
import json
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.adapters import OwnGenerators, finite, integers, seed_from
from polarbear.optimizers.arguments import checked_keywords, flag, number, set_fields, told_name
from polarbear.optimizers.native import Native, Space, State

if TYPE_CHECKING:
    from polarbear.records import FloatArray

NAMES = Path(__file__).with_name("nevergrad_names.json")
"""What was found of each name in nevergrad's registry; ``python -m benchmarks.nevergrad_names`` makes it."""

GREATEST = 1e20
"""What greater values count as."""


@dataclass(frozen=True, slots=True)
class Registry:
    """The names in nevergrad's registry, and what was found of each.

    Attributes:
        works: Those that are offered.
        needs_budget: Of these the ones that have to be given a budget.
        paired: Of these the ones that do not run on one variable, as they have a CMA-ES of `cma` in them; they get a
            second one that has no effect.
        left_out: For each other name why it is not offered.
    """

    works: tuple[str, ...]
    needs_budget: frozenset[str]
    paired: frozenset[str]
    left_out: dict[str, str]


@cache
def registry() -> Registry:
    """What was found of nevergrad's registry."""
    found = json.loads(NAMES.read_text(encoding="utf-8"))
    left_out = {name: reason for reason, names in found["left_out"].items() for name in names}
    return Registry(tuple(found["works"]), frozenset(found["needs_budget"]), frozenset(found["paired"]), left_out)


class _Box:
    """A problem's box as a parametrization of nevergrad, with the real variables before the integer ones.

    Attributes:
        center: (d,) the box's centre.
    """

    def __init__(self, problem: Space) -> None:
        self._lower = np.array(problem.lower, dtype=np.float64)
        self._upper = np.array(problem.upper, dtype=np.float64)
        self.center: FloatArray = (self._lower + self._upper) / 2
        mask = integers(problem)
        whole = np.zeros(problem.dimension, dtype=np.bool_) if mask is None else mask
        self._groups = [group for group in (np.flatnonzero(~whole), np.flatnonzero(whole)) if len(group)]
        self._whole = [bool(whole[group[0]]) for group in self._groups]

    def parametrization(self, nevergrad: Any, start: FloatArray, *, paired: bool) -> Any:
        """A bounded array that starts at `start` (d,), or a pair of such arrays; `paired` doubles an only variable."""
        arrays: list[Any] = []
        for group, whole in zip(self._groups, self._whole, strict=True):
            if paired and len(start) == 1:
                group = np.repeat(group, 2)
            array = nevergrad.p.Array(init=start[group], lower=self._lower[group], upper=self._upper[group])
            arrays.append(array.set_integer_casting() if whole else array)
        return arrays[0] if len(arrays) == 1 else nevergrad.p.Tuple(*arrays)

    def point(self, candidate: Any) -> FloatArray:
        """(d,) the point of a candidate."""
        values = [candidate.value] if len(self._groups) == 1 else candidate.value
        point = np.empty_like(self._lower)
        for group, value in zip(self._groups, values, strict=True):
            point[group] = value[: len(group)]
        return np.clip(point, self._lower, self._upper)


@dataclass(kw_only=True, eq=False)
class _State(State):
    """Where a run stands.

    Attributes:
        rng: Where starts draw from.
        box: The parametrization.
        last: What was recommended last.
        generators: Where its optimizers draw from beside the parametrization's random state.
        optimizer: That of the present start.
        candidate: What it has asked for.
        since_start: Points evaluated since the start.
    """

    rng: np.random.Generator
    box: _Box
    last: FloatArray
    generators: OwnGenerators
    optimizer: Any = None
    candidate: Any = None
    since_start: int = 0

    def recommended(self) -> FloatArray:
        """What nevergrad recommends, with several objectives (m, d) the points of its Pareto front.

        Before the first value of a start it is what it was before, or the box's centre.
        """
        if self.optimizer is not None and self.optimizer.num_tell:
            with _silence():
                if self.space.traits.objectives > 1:
                    self.last = np.array([self.box.point(one) for one in self.optimizer.pareto_front()])
                else:
                    self.last = self.box.point(self.optimizer.recommend())
        return self.last


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class Nevergrad(Native[_State]):
    """An optimizer of nevergrad, in the problem's box.

    What it does may depend on `budget`: with different budgets the runs are a family A(b) of algorithms. Integer
    variables are cast by nevergrad's own parametrization. Values of several objectives are given to nevergrad as they
    are, which minimizes a hypervolume, and so are the constraints' violations. It recommends what nevergrad does, with
    several objectives its Pareto front; it exposes ``asked``, the points asked since it last started.

    Attributes:
        algorithm: Which one of the names in ``registry().works``; upper or lower case.
        budget: Evaluations that nevergrad is told it has, and after which the optimizer ends; None: not told.
        restarts: Whether to start again, from a new random point, when the budget is spent, endlessly; else the run
            ends then. Without a budget no optimizer ends.
        name: What it is called; by default "nevergrad", the algorithm, and what is given.

    Raises:
        TypeError: If a keyword is unknown or has the wrong type.
        ValueError: If the algorithm is unknown or does not work, or has to be given a budget.
    """

    requires: ClassVar = Extra("nevergrad", "nevergrad")
    one_at_a_time: ClassVar = True
    takes_constraints = True

    algorithm: str = "OnePlusOne"
    budget: int | None = None
    restarts: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        algorithm = _offered(self.algorithm)
        budget = number(self.budget, "budget", 1, 10**12, whole=True)
        if budget is None and algorithm in registry().needs_budget:
            raise ValueError(f"budget is None; nevergrad's {algorithm} has to know how many evaluations it has")
        set_fields(self, {"algorithm": algorithm, "budget": budget, "restarts": flag(self.restarts, "restarts")})

    def _default_name(self) -> str:
        return told_name(self, f"nevergrad-{self.algorithm}", "algorithm")

    @property
    def paired(self) -> bool:
        """Whether an only variable gets a second one that has no effect."""
        return self.algorithm in registry().paired

    def _begin(self, space: Space, rng: np.random.Generator) -> _State:
        optional("nevergrad", "nevergrad", "this optimizer")
        box = _Box(space)
        state = _State(space=space, rng=rng, box=box, last=box.center, generators=OwnGenerators(seed_from(rng)))
        with state.generators:
            self._start(state)
        return state

    def _start(self, state: _State) -> None:
        """Begin with a new optimizer."""
        nevergrad, rng = optional("nevergrad", "nevergrad", "this optimizer"), state.rng
        state.recommended()  # keep what the last one recommends
        start = rng.uniform(state.space.lower, state.space.upper)
        parametrization = state.box.parametrization(nevergrad, start, paired=self.paired)
        parametrization.random_state = np.random.RandomState(seed_from(rng))
        state.since_start = 0
        with _silence():
            made = nevergrad.optimizers.registry[self.algorithm]
            state.optimizer = made(parametrization=parametrization, budget=self.budget)
            state.candidate = state.optimizer.ask()

    def _next(self, state: _State) -> FloatArray:
        return state.box.point(state.candidate)

    def _take(self, state: _State, values: Any) -> None:
        told = finite(values, GREATEST)
        violations = None if state.constraints is None else finite(state.constraints, GREATEST)
        state.since_start += 1
        optimizer = state.optimizer
        with state.generators:
            with _silence():
                optimizer.tell(state.candidate, told if told.ndim else float(told), violations)
                left = optimizer.budget is None or state.since_start < optimizer.budget
                if left or getattr(optimizer, "recast", False):
                    state.candidate = optimizer.ask()  # at a thread's end as well: its warnings come now
            if self.budget is not None and state.since_start >= self.budget:
                state.ended = not self.restarts
                if self.restarts:
                    self._start(state)

    @contextmanager
    def running(self, state: _State) -> Generator[None]:
        """For the time of a run: NumPy's and Python's global generators apart, and no thread that outlives it."""
        threads = threading.active_count()
        with state.generators:
            try:
                yield
            finally:
                state.recommended()
                state.optimizer = state.candidate = None
                if threading.active_count() > threads:
                    gc.collect()

    def diagnostics(self, state: _State) -> dict[str, Callable[[_State], float]]:  # noqa: ARG002 - the protocol
        """What reads ``asked``, the points evaluated since the last start."""
        return {"asked": lambda state: float(state.since_start)}

    def recommendation(self, state: _State) -> FloatArray:
        """(d,) what nevergrad recommends, with several objectives (m, d) its Pareto front."""
        return state.recommended()


def _offered(word: Any) -> str:
    """The name in nevergrad's registry that a word is, ignoring case; an error says why another one is left out."""
    if not isinstance(word, str):
        raise TypeError(f"algorithm is {word!r}; it must be a word, such as 'OnePlusOne'")
    known = registry()
    folded = {name.lower(): name for name in known.works}
    if word in known.works or word.lower() in folded:
        return word if word in known.works else folded[word.lower()]
    place = f"{len(folded)} names are offered, see polarbear.optimizers.nevergrad_optimizers.registry().works"
    reasons = {name.lower(): why for name, why in known.left_out.items()} | known.left_out
    if why := reasons.get(word, reasons.get(word.lower())):
        raise ValueError(f"algorithm is {word!r}, which is left out: {why}; {place}")
    close = difflib.get_close_matches(word.lower(), folded, n=1)  # all of them are too many to list
    guess = f" did you mean {folded[close[0]]!r}?" if close else ""
    raise ValueError(f"algorithm is {word!r};{guess} {place}")


@contextmanager
def _silence() -> Generator[None]:
    """Without nevergrad's warnings; nothing of the problem's is called here."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield

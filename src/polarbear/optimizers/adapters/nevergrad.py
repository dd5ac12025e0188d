"""The optimizers of nevergrad that work, by ask and tell.

How `nevergrad` 1.0.12 is used:

- Each start is a new optimizer over a bounded array, from a uniformly random point of the box.
- Its random state is seeded from the run's generator. Some of its optimizers draw from NumPy's and Python's global
  generators instead; during a run these are seeded as well, and restored at its end.
- Values above 1e20 count as 1e20; it clips at 5e20 with a warning.
- It runs optimizers of other packages, such as SciPy's, in one thread each. They compute while it is asked, not while
  the problem is evaluated, so that their warnings are separate from the problem's.
- On one variable its CMA-ES asks for another package, from then on for any problem of the process; a second variable
  without effect prevents that.
- Its warnings, about its own are not shown.
"""

from __future__ import annotations

import difflib
import gc
import json
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.archives import center_of
from polarbear.optimizers.generators import OwnGenerators, seed_from
from polarbear.optimizers.native import Continuable, Space, State, clip_values
from polarbear.optimizers.settings import family
from polarbear.optimizers.transfer import known_points
from polarbear.protocols import WarmStart
from polarbear.records import FloatArray
from polarbear.validation import Checked, Flag, whole

NAMES = Path(__file__).with_name("nevergrad_names.json")
"""The verdict on each name in nevergrad's registry; ``python -m benchmarks.nevergrad_names`` makes it."""

GREATEST = 1e20
"""Bound on absolute values."""


@dataclass(frozen=True, slots=True)
class Registry:
    """The names in nevergrad's registry.

    Attributes:
        works: Those that are offered.
        needs_budget: The offered ones that need a budget.
        paired: The offered ones that contain a CMA-ES of `cma` and so do not run on one variable; they get a second
            one without effect.
        left_out: For each other name why it is not offered.
    """

    works: tuple[str, ...]
    needs_budget: frozenset[str]
    paired: frozenset[str]
    left_out: dict[str, str]


@cache
def registry() -> Registry:
    """The names in nevergrad's registry that work, and why the others do not."""
    verdict = json.loads(NAMES.read_text(encoding="utf-8"))
    left_out = {name: reason for reason, names in verdict["left_out"].items() for name in names}
    return Registry(tuple(verdict["works"]), frozenset(verdict["needs_budget"]), frozenset(verdict["paired"]), left_out)


_TOLD = 100
"""Points of another optimizer that nevergrad is told."""


class _Parametrization:
    """A problem's box in nevergrad's terms: bounded arrays, of the real variables and of the integer ones."""

    def __init__(self, space: Space) -> None:
        self._lower, self._upper = space.lower, space.upper
        mask = space.traits.integer_mask
        integers = np.zeros(space.dimension, dtype=np.bool_) if mask is None else mask
        groups = ((np.flatnonzero(~integers), False), (np.flatnonzero(integers), True))
        self._groups = [(indices, integer) for indices, integer in groups if len(indices)]

    def at(self, nevergrad: Any, start: FloatArray, *, paired: bool) -> Any:
        """The array, or the pair of arrays, that starts at `start` (d,); `paired` doubles a single variable."""
        arrays: list[Any] = []
        for indices, integer in self._groups:
            if paired and len(start) == 1:
                indices = np.repeat(indices, 2)
            array = nevergrad.p.Array(init=start[indices], lower=self._lower[indices], upper=self._upper[indices])
            arrays.append(array.set_integer_casting() if integer else array)
        return arrays[0] if len(arrays) == 1 else nevergrad.p.Tuple(*arrays)

    def candidate(self, parametrization: Any, point: FloatArray) -> Any:
        """The candidate at a point (d,)."""
        values = [point[indices] for indices, _ in self._groups]
        if len(values) > 1:
            return parametrization.spawn_child(new_value=tuple(values))
        return parametrization.spawn_child(new_value=np.resize(values[0], len(parametrization.value)))

    def point(self, candidate: Any) -> FloatArray:
        """(d,) the point of a candidate."""
        values = [candidate.value] if len(self._groups) == 1 else candidate.value
        point = np.empty_like(self._lower)
        for (indices, _), value in zip(self._groups, values, strict=True):
            point[indices] = value[: len(indices)]
        return np.clip(point, self._lower, self._upper)


@dataclass(kw_only=True, eq=False)
class _State(State):
    """A run's progress.

    Attributes:
        rng: The source of starts.
        box: The parametrization.
        last: The last recommendation.
        generators: What its optimizers draw from besides the parametrization's random state.
        optimizer: That of the current start.
        candidate: What it has asked for.
        since_start: Points evaluated since the start.
    """

    rng: np.random.Generator
    box: _Parametrization
    last: FloatArray
    generators: OwnGenerators
    optimizer: Any = None
    candidate: Any = None
    since_start: int = 0

    def recommended(self) -> FloatArray:
        """What nevergrad recommends; before the first value of a start what it did before, or the box's centre."""
        if self.optimizer is not None and self.optimizer.num_tell:
            with _silence():
                if self.space.traits.objectives > 1:
                    self.last = np.array([self.box.point(candidate) for candidate in self.optimizer.pareto_front()])
                else:
                    self.last = self.box.point(self.optimizer.recommend())
        return self.last


def _offered(word: Any, name: str) -> str:
    """The name in nevergrad's registry that a word is, ignoring case; an error says why another one is left out."""
    if not isinstance(word, str):
        raise TypeError(f"{name} is {word!r}; it must be a word, such as 'OnePlusOne'")
    works, left_out = registry().works, registry().left_out
    lowered = {each.lower(): each for each in works}
    if word in works or word.lower() in lowered:
        return word if word in works else lowered[word.lower()]
    listing = f"{len(lowered)} names are offered, see polarbear.optimizers.nevergrad_optimizers.registry().works"
    reasons = {each.lower(): reason for each, reason in left_out.items()} | left_out
    if reason := reasons.get(word, reasons.get(word.lower())):
        raise ValueError(f"{name} is {word!r}, which is left out: {reason}; {listing}")
    close = difflib.get_close_matches(word.lower(), lowered, n=1)  # all of them are too many to list
    guess = f" did you mean {lowered[close[0]]!r}?" if close else ""
    raise ValueError(f"{name} is {word!r};{guess} {listing}")


@family("nevergrad", "nevergrad-{algorithm}", algorithms=("nevergrad", "algorithm", lambda: registry().works))
class Nevergrad(Continuable[_State]):
    """An optimizer of nevergrad, in the problem's box.

    Its behaviour may depend on `budget`: with different budgets the runs are a family A(b) of algorithms. Integer
    variables are cast by nevergrad's own parametrization. nevergrad gets the constraint values, and the values of
    several objectives, of which it minimizes a hypervolume. It recommends what nevergrad does, with several
    objectives its Pareto front; it exposes ``asked``, the number of points since it last started.

    Attributes:
        algorithm: Which one of the names in ``registry().works``; upper or lower case.
        budget: Number of evaluations announced to nevergrad, after which the optimizer ends; None: not announced.
        restarts: Whether to start again, from a new random point, when the budget is spent, endlessly; else the run
            ends then. Without a budget no optimizer ends.
        name: Its name; by default "nevergrad", the algorithm, and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    requires = Extra("nevergrad", "nevergrad")
    one_at_a_time = True
    switch_cost = "all"
    takes_constraints = True

    algorithm: Annotated[str, Checked(_offered)] = "OnePlusOne"
    budget: Annotated[int, whole(1, 10**12)] | None = None
    restarts: Flag = True
    name: str = ""

    def __post_init__(self) -> None:
        if self.budget is None and self.algorithm in registry().needs_budget:
            raise ValueError(f"budget is None; nevergrad's {self.algorithm} has to know how many evaluations it has")

    @property
    def paired(self) -> bool:
        """Whether a single variable gets a second one without effect."""
        return self.algorithm in registry().paired

    def _init(self, space: Space, rng: np.random.Generator) -> _State:
        optional(*self.requires, "this optimizer")
        box, generators = _Parametrization(space), OwnGenerators(seed_from(rng))
        state = _State(space=space, rng=rng, box=box, last=center_of(space), generators=generators)
        with state.generators:
            self._start(state)
        return state

    def _start(self, state: _State) -> None:
        nevergrad, rng = optional(*self.requires, "this optimizer"), state.rng
        state.recommended()  # keeps what the last one recommends
        start = rng.uniform(state.space.lower, state.space.upper)
        parametrization = state.box.at(nevergrad, start, paired=self.paired)
        parametrization.random_state = np.random.RandomState(seed_from(rng))
        state.since_start = 0
        with _silence():
            make = nevergrad.optimizers.registry[self.algorithm]
            state.optimizer = make(parametrization=parametrization, budget=self.budget)
            state.candidate = state.optimizer.ask()

    def run_from(self, problem: Any, rng: np.random.Generator, start: WarmStart) -> None:
        """Optimize from the points that another optimizer has left; one of equal settings has let go of its state."""
        super().run_from(problem, rng, replace(start, optimizer=None, state=None))

    def _warm(self, state: _State, start: WarmStart) -> None:
        """Tell nevergrad the latest points, at most `_TOLD`, as points that it has not asked for."""
        nevergrad = optional(*self.requires, "this optimizer")
        points, values = known_points(start, state.space)
        optimizer = state.optimizer
        reason = f"nevergrad's {self.algorithm} takes no points that it has not asked for; set transfer='nothing'"
        if getattr(optimizer, "recast", False):  # it would wait for the one it has asked for
            raise ValueError(reason)
        try:
            with state.generators, _silence():
                for point, value in zip(points[-_TOLD:], clip_values(values[-_TOLD:]), strict=True):
                    optimizer.tell(state.box.candidate(optimizer.parametrization, point), float(value))
        except nevergrad.errors.TellNotAskedNotSupportedError as error:
            raise ValueError(reason) from error

    def reseed(self, state: _State, rng: np.random.Generator) -> None:
        """Seed its random states anew; the point that it has asked for stays."""
        state.generators.reseed(seed_from(rng))
        state.optimizer.parametrization.random_state.seed(seed_from(rng))

    def _ask(self, state: _State) -> FloatArray:
        return state.box.point(state.candidate)

    def _tell(self, state: _State, values: Any) -> None:
        loss = clip_values(values, GREATEST)
        violations = None if state.constraints is None else clip_values(state.constraints, GREATEST)
        state.since_start += 1
        optimizer = state.optimizer
        with state.generators:
            with _silence():
                optimizer.tell(state.candidate, loss if loss.ndim else float(loss), violations)
                going = optimizer.budget is None or state.since_start < optimizer.budget
                if going or getattr(optimizer, "recast", False):
                    state.candidate = optimizer.ask()  # at a thread's end as well: its warnings come now
            if self.budget is not None and state.since_start >= self.budget:
                state.ended = not self.restarts
                if self.restarts:
                    self._start(state)

    @contextmanager
    def running(self, state: _State) -> Generator[None]:
        """The context of a run: NumPy's and Python's global generators apart, and no thread that outlives it."""
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
        """Reads ``asked``, the number of points evaluated since the last start."""
        return {"asked": lambda state: float(state.since_start)}

    def recommendation(self, state: _State) -> FloatArray:
        """(d,) what nevergrad recommends, with several objectives (m, d) its Pareto front."""
        return state.recommended()


@contextmanager
def _silence() -> Generator[None]:
    """Without nevergrad's warnings; the problem is not called within."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield

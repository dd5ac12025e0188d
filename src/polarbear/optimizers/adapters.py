"""What the adapters of optimization packages share: a problem as a package wants it, and the best point seen."""

from __future__ import annotations

import importlib
import math
import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polarbear.descriptions import did_you_mean
from polarbear.protocols import traits_of

if TYPE_CHECKING:
    from polarbear.protocols import Objective, Particular, Traits
    from polarbear.records import FloatArray

FRONT_BLOCK = 256
"""After how many evaluations dominated points are let go."""

GREATEST = 1e100
"""What greater values count as, for most packages: squares of differences of two of them are finite."""


class OneObjective:
    """An optimizer that minimizes one objective; see `polarbear.protocols.Particular`."""

    def refuses(self, traits: Traits, dimension: int, /) -> str:  # noqa: ARG002 - other optimizers need it
        """Why it takes no problem of these traits and so many variables; empty if it takes them."""
        return several(traits, type(self).__name__)


def several(traits: Traits, taker: str) -> str:
    """Why `taker`, which minimizes one objective, takes no problem of these traits; empty if it does."""
    if traits.objectives == 1:
        return ""
    told = f"{taker} minimizes one objective; the problem has {traits.objectives}"
    return f"{told}; take one for several, such as pymoo's NSGA2"


def check_taken(optimizer: Particular, problem: Objective) -> None:
    """Raise a ValueError unless an optimizer takes a problem."""
    if why := optimizer.refuses(traits_of(problem), problem.dimension):
        raise ValueError(why)


class Incumbent:
    """A problem of one objective, with the best point it was evaluated at.

    Args:
        problem: What is evaluated, point by point.
        taker: Who evaluates it, for messages.

    Attributes:
        evaluations: How many evaluations went through here.
        value: The lowest value the optimizer was told, +inf before the first.
        point: (d,) where it was; the box's centre while there is none below +inf.

    Raises:
        ValueError: The problem has several objectives.
    """

    __slots__ = ("_problem", "evaluations", "point", "value")

    def __init__(self, problem: Objective, taker: str) -> None:
        if why := several(traits_of(problem), taker):
            raise ValueError(why)
        self._problem = problem
        self.evaluations = 0
        self.value = math.inf
        self.point: FloatArray = (np.asarray(problem.lower) + np.asarray(problem.upper)) / 2

    def __call__(self, x: FloatArray) -> float:
        """Evaluate one point (d,)."""
        self.evaluations += 1
        value: float = self._problem(x)
        if value < self.value:
            self.value, self.point = value, np.array(x)
        return value

    def recommended(self) -> FloatArray:
        """The best point."""
        return self.point


class Best:
    """The best point that an optimizer was told of, on a problem of one objective.

    A point at which all constraints hold is better than any other; of two others the one at which they are violated
    less, added up (Deb, 2000).

    Args:
        problem: What is evaluated, elsewhere.
        feasible_first: Whether constraints count.

    Attributes:
        bar: Only points of lower values can be better; +inf while no constraints hold.
    """

    __slots__ = ("_constraints", "_point", "_worth", "bar")

    def __init__(self, problem: Objective, *, feasible_first: bool = True) -> None:
        self._constraints = constraints(problem) if feasible_first else None
        self._point: FloatArray = (np.asarray(problem.lower) + np.asarray(problem.upper)) / 2
        self._worth = math.inf, math.inf
        self.bar = math.inf

    def keep(self, x: FloatArray, value: Any) -> None:
        """Take a point (d,), or the best of a batch (m, d), if it is better.

        With constraints it is the point evaluated last, as those are asked for.
        """
        if np.ndim(value):
            row = value.argmin()
            x, value = x[row], float(value[row])
        if not value < self.bar:
            return
        violated = 0.0
        if self._constraints is not None:
            violated = float(np.maximum(self._constraints[1](x), 0.0).sum())
        if (violated, value) < self._worth:
            self._worth, self._point = (violated, value), np.array(x)
            self.bar = math.inf if violated else value

    def recommended(self, _: object = None) -> FloatArray:
        """(d,) the best point; the box's centre while there is none of a value below +inf."""
        return self._point


class Front:
    """The points that an optimizer was told of and that no other one dominates, on a problem of several objectives.

    Points at which constraints are violated are left out; until there is another one the one at which they are
    violated least, added up, stands for all. So are points with an objective that is not finite.

    Args:
        problem: What is evaluated, elsewhere.
    """

    __slots__ = ("_bar", "_center", "_constraints", "_new", "_points", "_values")
    bar = math.inf

    def __init__(self, problem: Objective) -> None:
        self._constraints = constraints(problem)
        self._center: FloatArray = (np.asarray(problem.lower) + np.asarray(problem.upper)) / 2
        self._bar = math.inf
        self._points = np.empty((0, problem.dimension))
        self._values = np.empty((0, objectives(problem)))
        self._new: list[tuple[FloatArray, FloatArray]] = []

    def keep(self, x: FloatArray, values: Any) -> None:
        """Take points (d,) or (m, d) of values (k,) or (m, k); with constraints one by one, right after evaluation."""
        if self._constraints is not None and self._bar:
            violated = float(np.maximum(self._constraints[1](x), 0.0).sum())
            if not violated < self._bar:
                return
            self._new, self._bar = [], violated
            self._points, self._values = self._points[:0], self._values[:0]
        elif self._constraints is not None and (self._constraints[1](x) > 0).any():
            return
        self._new.append((np.array(x, ndmin=2), np.array(values, dtype=np.float64, ndmin=2)))
        if len(self._new) >= FRONT_BLOCK:
            self._filter()

    def recommended(self, _: object = None) -> FloatArray:
        """(m, d) the points; the (d,) box's centre while there are none."""
        self._filter()
        return self._points if len(self._points) else self._center

    def _filter(self) -> None:
        moocore: Any = importlib.import_module("moocore")
        points = np.concatenate([self._points, *(point for point, _ in self._new)])
        values = np.concatenate([self._values, *(value for _, value in self._new)])
        self._new = []
        finite = np.isfinite(values).all(axis=1)
        points, values = points[finite], values[finite]
        if len(points):
            best = moocore.is_nondominated(values)
            points, values = points[best], values[best]
        self._points, self._values = points, values


class Paired:
    """A problem with constraints, whose value and constraints' values at a point are one evaluation together.

    Args:
        objective: What gives a point's value.
        values: What gives the (c,) values of the constraints at the point evaluated last.
        dimension: Number of variables d.
    """

    __slots__ = ("_objective", "_size", "_unasked", "_values", "_violations")

    def __init__(
        self, objective: Callable[[FloatArray], float], values: Callable[[FloatArray], FloatArray], dimension: int
    ) -> None:
        self._objective, self._values = objective, values
        self._size = 4 * (dimension + 1)  # enough for the points of a gradient by central differences
        self._violations: dict[bytes, FloatArray] = {}
        self._unasked: dict[bytes, float] = {}

    def __call__(self, x: FloatArray) -> float:
        """The value at a point (d,)."""
        key = np.array(x, dtype=np.float64).tobytes()
        if key in self._unasked:
            return self._unasked.pop(key)
        return self._evaluated(key, x)

    def violations(self, x: FloatArray) -> FloatArray:
        """(c,) the values of the constraints at a point (d,); finite."""
        key = np.array(x, dtype=np.float64).tobytes()
        if key not in self._violations:
            value = self._evaluated(key, x)
            self._unasked[key] = value
            _shorten(self._unasked, self._size)
        return self._violations[key]

    def _evaluated(self, key: bytes, x: FloatArray) -> float:
        value = self._objective(x)
        self._violations[key] = finite(self._values(x))
        _shorten(self._violations, self._size)
        return value


def _shorten(kept: dict[bytes, Any], size: int) -> None:
    while len(kept) > size:
        del kept[next(iter(kept))]


def has_nan(values: FloatArray) -> bool:
    """Whether a value is NaN; the least of them is NaN then."""
    return bool(values.size) and math.isnan(values.flat[values.argmin()])


def finite(values: Any, greatest: float = GREATEST) -> FloatArray:
    """`values` as an array without NaN, which becomes `greatest`, and with absolute values up to `greatest`.

    For packages that fail at infinite values.
    """
    array = np.nan_to_num(np.array(values, dtype=np.float64), nan=greatest)
    return np.clip(array, -greatest, greatest)


def named(value: Any, what: str, valid: Iterable[str]) -> str:
    """The one of the names `valid` that `value` is, ignoring case.

    Raises:
        TypeError: `value` is no word.
        ValueError: There is no such name; the message lists all of them.
    """
    names = {name.lower(): name for name in valid}
    if not isinstance(value, str):
        raise TypeError(f"{what} is {value!r}; it must be one of the words {', '.join(sorted(names.values()))}")
    if value.lower() not in names:
        raise ValueError(f"{what} is {value!r};{did_you_mean(value, names.values())}")
    return names[value.lower()]


def seed_from(rng: np.random.Generator) -> int:
    """A seed for a library with a random state of its own, from 1 to 2³¹ - 1."""
    return int(rng.integers(1, 2**31))


class OwnGenerators:
    """NumPy's and Python's global generators as an optimizer's package draws from them, apart from everybody else's.

    A context: within it they are the optimizer's, where it left them, and afterwards what they were before. To enter it
    again within itself does nothing. It can be pickled.

    Args:
        seed: What they are seeded with at first, from 0 to 2³² - 1; None: they are not.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._seed, self._depth = seed, 0
        self._own: Any = None
        self._others: Any = None

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._others = _global_states()
        if self._own is not None:
            _set_global_states(*self._own)
        elif self._seed is not None:
            np.random.seed(self._seed)  # noqa: NPY002 - what the packages draw from
            random.seed(self._seed)

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._own = _global_states()
            _set_global_states(*self._others)

    def __getstate__(self) -> dict[str, Any]:
        own = _global_states() if self._depth else self._own
        return {"_seed": self._seed, "_depth": 0, "_own": own, "_others": None}


def _global_states() -> tuple[Any, Any]:
    return np.random.get_state(), random.getstate()  # noqa: NPY002 - what the packages draw from


def _set_global_states(numpy: Any, python: Any) -> None:
    np.random.set_state(numpy)  # noqa: NPY002 - the same
    random.setstate(python)


def objectives(problem: Any) -> int:
    """How many objectives an evaluation gives."""
    return traits_of(problem).objectives


def any_whole(traits: Traits) -> bool:
    """Whether problems of these traits have variables that take whole numbers only."""
    return traits.integers is not None and bool(traits.integers.any())


def integers(problem: Any) -> NDArray[np.bool_] | None:
    """(d,) which variables take whole numbers only; None: none."""
    traits = traits_of(problem)
    return traits.integers if any_whole(traits) else None


def constraints(problem: Any) -> tuple[int, Callable[[FloatArray], FloatArray]] | None:
    """How many constraints c there are, and what gives their (c,) values at a point, <= 0 where they hold.

    None: there are none.
    """
    count = traits_of(problem).constraints
    values = getattr(problem, "constraints", None)
    return (count, values) if count and values is not None else None

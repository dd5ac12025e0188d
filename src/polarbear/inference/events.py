"""Events: statements about the ratings that hold in some draws of a posterior and not in others.

The probability of an event is the share of the draws in which it holds: `Posterior.probability`. Events are joined by
``&`` (both), ``|`` (at least one) and ``~`` (not). Algorithms are given by name or index, timepoints by their value.
Comparisons are strict: two algorithms with equal ratings are neither better nor worse. An event at several timepoints
needs draws that are joint over time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import FloatArray

BoolArray = NDArray[np.bool_]
Algorithm = str | int
"""The name or index of an algorithm."""
Algorithms = Algorithm | Iterable[Algorithm]
"""One or several algorithms."""


class Ratings(Protocol):
    """The part of a `Posterior` that events use."""

    @property
    def draws(self) -> FloatArray:
        """(D, T, n) draws."""
        ...

    @property
    def times(self) -> FloatArray:
        """(T,) timepoints."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The n algorithms' names."""
        ...

    @property
    def joint(self) -> bool:
        """Whether the draws are joint over time."""
        ...

    def index(self, algorithm: Algorithm) -> int:
        """The position of an algorithm."""
        ...

    def timepoint(self, time: float) -> int:
        """The position of a timepoint."""
        ...

    def portfolio_rating(self, portfolio: Algorithms) -> FloatArray:
        """(D, T) draws of the rating of a portfolio."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A statement about the ratings.

    Attributes:
        holds: Function from a posterior to (D,) booleans: whether the statement holds in each draw.
        times: The timepoints the statement is about; None for all.
    """

    holds: Callable[[Ratings], BoolArray]
    times: frozenset[float] | None = None

    def __and__(self, other: Event) -> Event:
        return Event(lambda posterior: self.holds(posterior) & other.holds(posterior), self._times_with(other))

    def __or__(self, other: Event) -> Event:
        return Event(lambda posterior: self.holds(posterior) | other.holds(posterior), self._times_with(other))

    def __invert__(self) -> Event:
        return Event(lambda posterior: ~self.holds(posterior), self.times)

    def __bool__(self) -> NoReturn:
        raise TypeError("an event has no truth value of its own; combine events with & (and), | (or) and ~ (not)")

    def _times_with(self, other: Event) -> frozenset[float] | None:
        return None if self.times is None or other.times is None else self.times | other.times

    def outcomes(self, posterior: Ratings) -> BoolArray:
        """(D,) whether the event holds in each draw of `posterior`.

        Raises:
            ValueError: If an algorithm or a timepoint is unknown, the event is about several timepoints and the
                posterior is not joint over time, or `holds` does not return one boolean for each draw.
        """
        timepoints = posterior.times if self.times is None else {posterior.timepoint(time) for time in self.times}
        if len(timepoints) > 1 and not posterior.joint:
            refuse_several_timepoints()
        outcomes = np.asarray(self.holds(posterior))
        if outcomes.shape != posterior.draws.shape[:1] or outcomes.dtype != np.bool_:
            raise ValueError(
                f"the event returns an array of {outcomes.dtype} of shape {outcomes.shape}; "
                f"it must return one boolean for each of the {len(posterior.draws)} draws"
            )
        return outcomes


def where(function: Callable[[FloatArray], ArrayLike]) -> Event:
    """The event at all timepoints that holds in the draws for which `function`, (D, T, n) -> (D,), is true."""
    return Event(lambda posterior: np.asarray(function(posterior.draws)))


def better(a: Algorithm, b: Algorithm, *, at: ArrayLike) -> Event:
    """θ_a(t) > θ_b(t) (eq. 2 of Wurth et al. 2026) at one timepoint, or at each of several."""
    return _at(at, lambda posterior, here: _of(posterior, a)[:, here] > _of(posterior, b)[:, here])


def best(a: Algorithm, *, at: ArrayLike) -> Event:
    """The rating of `a` is above those of all other algorithms at one timepoint, or at each of several."""

    def holds(posterior: Ratings, here: list[int]) -> BoolArray:
        others = [i for i in range(len(posterior.names)) if i != posterior.index(a)]
        ratings = posterior.draws[:, here]
        return _of(posterior, a)[:, here] > ratings[:, :, others].max(axis=2, initial=-np.inf)

    return _at(at, holds)


def equivalent(a: Algorithm, b: Algorithm, epsilon: float, *, at: ArrayLike) -> Event:
    """`a` beats `b` with a probability in [0.5 − ε, 0.5 + ε] (eq. 26) at one timepoint, or at each of several.

    Raises:
        ValueError: If `epsilon` is not in [0, 0.5).
    """
    odds = largest_odds(epsilon)

    def holds(posterior: Ratings, here: list[int]) -> BoolArray:
        first, second = _of(posterior, a)[:, here], _of(posterior, b)[:, here]
        return (first <= odds * second) & (second <= odds * first)

    return _at(at, holds)


def portfolio_beats(first: Algorithms, second: Algorithms, *, at: ArrayLike) -> Event:
    """The best of the first portfolio beats the best of the second with a probability above 0.5 (eq. 8 and 36).

    At one timepoint, or at each of several. Compare portfolios of equal size. The win probability itself is
    `Posterior.portfolio_win_probability`.

    Raises:
        ValueError: If a portfolio is empty.
    """
    ours, theirs = members(first), members(second)

    def holds(posterior: Ratings, here: list[int]) -> BoolArray:
        return posterior.portfolio_rating(ours)[:, here] > posterior.portfolio_rating(theirs)[:, here]

    return _at(at, holds)


def dominates(a: Algorithm, b: Algorithm) -> Event:
    """θ_a(t) > θ_b(t) at all timepoints (eq. 3): the event behind anytime α-dominance (eq. 24)."""
    return Event(lambda posterior: _above(posterior, a, b))


def crossing(a: Algorithm, b: Algorithm) -> Event:
    """`a` is better at some timepoint, and `b` at another."""

    def holds(posterior: Ratings) -> BoolArray:
        first, second = _of(posterior, a), _of(posterior, b)
        return np.logical_or.reduce(first > second, axis=1) & np.logical_or.reduce(first < second, axis=1)

    return Event(holds)


def dominated(a: Algorithm, by: Algorithms | None = None) -> Event:
    """Some other algorithm is better than `a` at all timepoints.

    Args:
        a: The algorithm.
        by: The algorithms that may be better; None for all.
    """
    rivals = None if by is None else _listed(by)

    def holds(posterior: Ratings) -> BoolArray:
        candidates = range(len(posterior.names)) if rivals is None else map(posterior.index, rivals)
        never = np.zeros(len(posterior.draws), dtype=bool)
        return np.logical_or.reduce([never, *(_above(posterior, rival, a) for rival in candidates)])

    return Event(holds)


def in_pareto_set(a: Algorithm) -> Event:
    """`a` is in the anytime Pareto set: no other algorithm is better at all timepoints (eq. 4)."""
    return ~dominated(a)


def false_elimination(eliminated: Algorithms, by: Algorithms | None = None) -> Event:
    """At least one eliminated algorithm belongs to the anytime Pareto set: at least one elimination is erroneous.

    Its posterior probability replaces corrections for multiple comparisons (section 3.1). If no algorithm is
    eliminated, it never holds.

    Args:
        eliminated: The eliminated algorithms, such as `RaceResult.eliminated`.
        by: The algorithms that may be better, such as all that were not withdrawn; None for all.
    """
    event, rivals = _NEVER, None if by is None else _listed(by)
    for name in _listed(eliminated):
        event |= ~dominated(name, rivals)
    return event


_NEVER = Event(lambda posterior: np.zeros(len(posterior.draws), dtype=bool), frozenset())


def members(algorithms: Algorithms) -> tuple[Algorithm, ...]:
    """One or several algorithms as a tuple, repetitions included.

    Raises:
        ValueError: If none is given.
    """
    listed = _listed(algorithms)
    if not listed:
        raise ValueError("no algorithms are given; give at least one")
    return listed


def largest_odds(epsilon: float) -> float:
    """The odds of a win whose probability is 0.5 + ε.

    Raises:
        ValueError: If `epsilon` is not in [0, 0.5).
    """
    if not 0 <= epsilon < 0.5:
        raise ValueError(f"epsilon is {epsilon!r}; it must be at least 0 and below 0.5")
    return (0.5 + epsilon) / (0.5 - epsilon)


def _listed(algorithms: Algorithms) -> tuple[Algorithm, ...]:
    if isinstance(algorithms, str) or not isinstance(algorithms, Iterable):
        return (algorithms,)
    return tuple(algorithms)


def _at(times: ArrayLike, holds: Callable[[Ratings, list[int]], BoolArray]) -> Event:
    """The event that a statement holds at each of t timepoints; `holds` gives (D, t) booleans."""
    chosen = np.atleast_1d(np.asarray(times, dtype=np.float64)).ravel().tolist()
    if not chosen or not np.isfinite(chosen).all():
        raise ValueError(f"at is {times!r}; give one or more finite timepoints")

    def at_each(posterior: Ratings) -> BoolArray:
        return np.logical_and.reduce(holds(posterior, [posterior.timepoint(time) for time in chosen]), axis=1)

    return Event(at_each, frozenset(chosen))


def _of(posterior: Ratings, algorithm: Algorithm) -> FloatArray:
    """(D, T) draws of one rating."""
    return posterior.draws[:, :, posterior.index(algorithm)]


def _above(posterior: Ratings, a: Algorithm, b: Algorithm) -> BoolArray:
    """(D,) whether the rating of `a` is above that of `b` at all timepoints."""
    return np.logical_and.reduce(_of(posterior, a) > _of(posterior, b), axis=1)


def refuse_several_timepoints() -> NoReturn:
    """Raise the ValueError that a posterior is not joint over time."""
    raise ValueError(
        "a statement about several timepoints at once needs a joint posterior over time, and this one is not joint; "
        'fit pb.inference.InstanceBootstrap(), or judge each timepoint by itself (in a race, elimination="pointwise"; '
        "Posterior.at extracts the posterior at one timepoint)"
    )

"""CMA-ES of the package `cmaes` (Nomura and Shibata), restarted endlessly.

How `cmaes` 0.13 is used:

- It works in coordinates in which the box is [0, 1] in every variable.
- Its random state is its own, seeded from the run's generator.
- A distribution that has become infinite or NaN is a reason to restart, beside its own.
- It multiplies two (d, d) matrices for each draw, up to 101 times for one point. They are the same for a whole
  generation: here the product is formed once, for the same points.
- Its separable variant refuses one variable, where the full one is the same: that is taken.
- NumPy's warnings in its update are silenced: it divides by differences that infinite and equal values make zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.adapters import OneObjective, any_whole, integers
from polarbear.optimizers.arguments import checked_keywords, flag, label, number, option, set_fields, told_name
from polarbear.optimizers.distributions import Distributed, Distribution
from polarbear.optimizers.native import Space, State
from polarbear.optimizers.restarts import STRATEGIES, Restarts

if TYPE_CHECKING:
    from polarbear.protocols import Traits
    from polarbear.records import FloatArray


@dataclass(kw_only=True, eq=False)
class _State(State):
    rng: np.random.Generator
    restarts: Restarts
    strategy: Any
    spent: int = 0
    told: list[tuple[FloatArray, float]] = field(default_factory=list[Any])
    sampled: Any = None

    def __post_init__(self) -> None:
        self.whole = integers(self.space)

    def __getstate__(self) -> dict[str, Any]:
        held = _inner(self)
        return vars(self) | {"left_out": {key: held[key] for key in ("_rng", "_C")}}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        left_out = kept.pop("left_out")  # what `cmaes` leaves out, and what it keeps the half of
        vars(self).update(kept)
        _inner(self).update(left_out)


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class CMAES(Distributed[_State], OneObjective):
    """CMA-ES of the package `cmaes`, from uniformly random points of the box, restarted with larger populations.

    All points are in the box: points outside are drawn again, and brought to its border after `max_resampling` draws.
    Variables that the problem says are integers take whole numbers only, by CMA-ES with margin (Hamano et al., 2022).

    Attributes:
        learning_rate_adaptation: Whether the learning rates adapt to the noise in the updates (LRA-CMA-ES; Nomura,
            Akimoto and Ono, 2023), for multimodal and noisy problems; not with integer variables.
        separable: Whether the covariance matrix is diagonal (sep-CMA-ES); not with learning rate adaptation or
            integer variables.
        restart_strategy: What to do when `cmaes` says to stop: IPOP starts again with twice the population, BIPOP now
            with a large and now with a small one, RESTART with the same; STOP ends then. See `Restarts`.
        relative_sigma0: The initial step size as a fraction of the box's width, in each variable.
        population_size: Points per generation, from 4; by default 4 + ⌊3 ln d⌋.
        max_resampling: How often a point is drawn again that lies outside the box. With many variables hardly any
            lies inside at first, and a lower number saves time.
        margin: With integer variables, the least probability of leaving the present whole number; by default 1 / (d λ).
        name: What it is called; by default "cmaes", and what differs from the defaults.

    Raises:
        TypeError: If a keyword is unknown or a value has the wrong type; valid ones are listed.
        ValueError: If a number is out of its range, or `separable` comes with `learning_rate_adaptation`.
    """

    requires: ClassVar = Extra("cmaes", "cmaes")

    learning_rate_adaptation: bool = False
    separable: bool = False
    restart_strategy: str = "IPOP"
    relative_sigma0: float = 0.2
    population_size: int | None = None
    max_resampling: int = 100
    margin: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "learning_rate_adaptation": flag(self.learning_rate_adaptation, "learning_rate_adaptation"),
            "separable": flag(self.separable, "separable"),
            "restart_strategy": option(self.restart_strategy, "restart_strategy", STRATEGIES),
            "relative_sigma0": number(self.relative_sigma0, "relative_sigma0", 1e-12, 10.0),
            "population_size": number(self.population_size, "population_size", 4, 10**6, whole=True),
            "max_resampling": number(self.max_resampling, "max_resampling", 1, 10**6, whole=True),
            "margin": number(self.margin, "margin", 1e-12, 0.5),
        }
        if self.separable and self.learning_rate_adaptation:
            raise ValueError("separable and learning_rate_adaptation are both True; cmaes has them one at a time")
        set_fields(self, checked)

    def _default_name(self) -> str:
        return told_name(self, "cmaes", labelled=_labelled)

    def _begin(self, space: Space, rng: np.random.Generator) -> _State:
        restarts = Restarts(self.restart_strategy, rng)
        return _State(space=space, restarts=restarts, rng=rng, strategy=self.start(space, rng, restarts))

    def _next(self, state: _State) -> FloatArray:
        space = state.space
        with np.errstate(all="ignore"):
            sampled = state.strategy.ask()
        inside, state.sampled = sampled if hasattr(state.strategy, "_cma") else (sampled, sampled)
        point = np.clip(space.lower + inside * (space.upper - space.lower), space.lower, space.upper)
        if state.whole is not None:
            point[state.whole] = np.rint(point[state.whole])
        return point

    def _take(self, state: _State, values: Any) -> None:
        state.told.append((state.sampled, values))
        size = state.strategy.population_size
        if len(state.told) < size:
            return
        state.spent += size
        with np.errstate(all="ignore"):
            going = _told(state.strategy, state.told)
        state.told = []
        if not going or state.spent >= state.restarts.evaluations:
            state.ended = not state.restarts.next(size, state.spent)
            if not state.ended:
                state.strategy, state.spent = self.start(state.space, state.rng, state.restarts), 0

    def _distribution(self, _: _State) -> Distribution:
        return _DISTRIBUTION

    def diagnostics(self, state: _State) -> dict[str, Callable[[_State], float]]:
        """What `Distribution.readers` reads, the paths as ``ps_norm`` and ``pc_norm``.

        With learning rate adaptation also ``learning_rate_mean`` and ``learning_rate_covariance``.
        """
        readers = super().diagnostics(state)
        if self.learning_rate_adaptation:
            readers["learning_rate_mean"] = lambda state: float(_inner(state)["_eta_mean"])
            readers["learning_rate_covariance"] = lambda state: float(_inner(state)["_eta_Sigma"])
        return readers

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """Why it takes no problem of these traits and so many variables; empty if it takes them."""
        if any_whole(traits) and (self.separable or self.learning_rate_adaptation):
            variant = "separable" if self.separable else "learning_rate_adaptation"
            return f"{variant} is True, but the problem has integer variables; cmaes has no such variant"
        return super().refuses(traits, dimension)

    def start(self, problem: Space, rng: np.random.Generator, restarts: Restarts) -> Any:
        """`cmaes`'s optimizer for the box [0, 1]^d.

        Args:
            problem: Where it searches.
            rng: Where its seed and then the (d,) mean to start from are drawn.
            restarts: Which population and step size to start with.
        """
        cmaes = optional("cmaes", "cmaes", "this optimizer")
        seed = int(rng.integers(2**32))
        given: dict[str, Any] = {
            "mean": rng.uniform(size=problem.dimension),
            "sigma": self.relative_sigma0 * restarts.step_size_factor,
            "bounds": np.tile([0.0, 1.0], (problem.dimension, 1)),
            "n_max_resampling": self.max_resampling,
            "seed": seed,
            "population_size": max(4, restarts.population) if restarts.population else self.population_size,
        }
        mask = integers(problem)
        if mask is not None:
            bounds, steps = _lattice(problem, mask)
            strategy = cmaes.CMAwM(**(given | {"bounds": bounds, "steps": steps, "margin": self.margin}))
        elif self.separable and problem.dimension > 1:
            return cmaes.SepCMA(**given)
        else:
            strategy = cmaes.CMA(**given, lr_adapt=self.learning_rate_adaptation)
        _held(strategy)["_sample_solution"] = _Draws(getattr(strategy, "_cma", strategy))
        return strategy


def _labelled(field: str, value: Any) -> str:
    return value if field == "restart_strategy" else label(field, value)


def _lattice(problem: Space, whole: Any) -> tuple[FloatArray, FloatArray]:
    """The box [0, 1]^d cut to whole numbers where variables are whole, (d, 2), and their distances (d,), else 0.

    A variable with one whole number in its box is left as it is: the problem rounds it.
    """
    width = problem.upper - problem.lower
    least, greatest = np.ceil(problem.lower), np.floor(problem.upper)
    stepped = whole & (greatest > least)
    bounds = np.tile([0.0, 1.0], (problem.dimension, 1))
    bounds[stepped, 0] = ((least - problem.lower) / width)[stepped]
    bounds[stepped, 1] = ((greatest - problem.lower) / width)[stepped]
    return bounds, np.where(stepped, 1 / width, 0.0)


def _told(strategy: Any, solutions: list[tuple[FloatArray, float]]) -> bool:
    """Tell a strategy its generation; False if it has to start again."""
    try:
        strategy.tell(solutions)
    except np.linalg.LinAlgError:
        return False
    state = _held(strategy)
    finite = np.isfinite(state["_mean"]).all() and np.isfinite(state["_C"]).all() and 0 < state["_sigma"] < math.inf
    return bool(finite) and not strategy.should_stop()


class _Draws:
    """Draws of a strategy with a full matrix, as its own method makes them, with their matrix kept for a generation."""

    def __init__(self, strategy: Any) -> None:
        self._strategy, self._held = strategy, _held(strategy)
        self._decomposition = attrgetter("_eigen_decomposition")(strategy)
        self._axes: Any = None
        self._root: Any = None

    def __reduce__(self) -> tuple[type[_Draws], tuple[Any]]:
        return _Draws, (self._strategy,)

    def __call__(self) -> FloatArray:
        axes, lengths = self._decomposition()
        if axes is not self._axes:
            self._axes, self._root = axes, axes.dot(np.diag(lengths))
        step = self._root.dot(self._held["_rng"].randn(len(lengths)))
        return self._held["_mean"] + self._held["_sigma"] * step


def _held(strategy: Any) -> dict[str, Any]:
    """What a strategy, or the one inside the strategy with margin, holds; as it changes."""
    return cast("dict[str, Any]", vars(getattr(strategy, "_cma", strategy)))


def _axes(state: _State) -> FloatArray:
    matrix: FloatArray = _inner(state)["_C"]
    squares = matrix if matrix.ndim == 1 else np.linalg.eigvalsh(matrix)
    return np.sqrt(np.maximum(np.asarray(squares, dtype=np.float64), 0.0))


def _covariance(state: _State) -> FloatArray:
    matrix: FloatArray = _inner(state)["_C"]
    return np.diag(matrix) if matrix.ndim == 1 else matrix


def _inner(state: _State) -> dict[str, Any]:
    return _held(state.strategy)


_DISTRIBUTION = Distribution(
    mean=lambda state: state.space.lower + _inner(state)["_mean"] * (state.space.upper - state.space.lower),
    step_size=lambda state: _inner(state)["_sigma"],
    axes=_axes,
    covariance=_covariance,
    population_size=lambda state: state.strategy.population_size,
    paths={"ps": lambda state: _inner(state)["_p_sigma"], "pc": lambda state: _inner(state)["_pc"]},
)

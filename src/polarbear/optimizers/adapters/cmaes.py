"""CMA-ES of the package `cmaes` (Nomura and Shibata), restarted endlessly.

How `cmaes` 0.13 is used:

- It works in coordinates in which the box is [0, 1] in every variable.
- It has its own random state, seeded from the run's generator.
- In addition to its own criteria, it is restarted when the distribution becomes infinite or NaN.
- It multiplies two (d, d) matrices for each draw, up to 101 times per point. They stay the same for a whole generation:
  here their product is computed once, which yields the same points.
- Its separable variant refuses a single variable; the full variant, equivalent there, is used instead.
- NumPy's warnings in its update are silenced: it divides by differences that infinite and equal values make zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, cast

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.distributions import Distributed, Distribution
from polarbear.optimizers.native import SingleObjective, Space, State
from polarbear.optimizers.restarts import Restarts, Strategy
from polarbear.optimizers.settings import Size, family
from polarbear.optimizers.transfer import distribution_of
from polarbear.protocols import Traits, WarmStart
from polarbear.records import FloatArray
from polarbear.validation import Flag, real, whole


@dataclass(kw_only=True, eq=False)
class _State(State):
    rng: np.random.Generator
    restarts: Restarts
    strategy: Any
    spent: int = 0
    generation: list[tuple[FloatArray, float]] = field(default_factory=list[Any])
    sampled: Any = None
    generations: int = 0

    def __post_init__(self) -> None:
        self.integers = self.space.traits.integer_mask

    @property
    def inner(self) -> dict[str, Any]:
        """The attributes of the `cmaes` strategy."""
        return _attributes(self.strategy)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"unpickled": {key: self.inner[key] for key in ("_rng", "_C")}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        unpickled = state.pop("unpickled")  # `cmaes` omits the generator and half of C when pickled
        vars(self).update(state)
        self.inner.update(unpickled)


@family(
    "cmaes",
    "cmaes",
    presets={"cmaes-lra": {"learning_rate_adaptation": True}, "cmaes-separable": {"separable": True}},
    restart_strategy="{}",
)
class CMAES(Distributed[_State], SingleObjective):
    """CMA-ES of the package `cmaes`, from uniformly random points of the box, restarted with larger populations.

    All points lie in the box: points outside are drawn again and, after `max_resampling` draws, clipped to the box.
    Integer variables are handled by CMA-ES with margin (Hamano et al., 2022).

    Attributes:
        learning_rate_adaptation: Whether the learning rates adapt to the noise in the updates (LRA-CMA-ES; Nomura,
            Akimoto and Ono, 2023), for multimodal and noisy problems; not available with integer variables.
        separable: Whether the covariance matrix is diagonal (sep-CMA-ES); not available with learning rate adaptation
            or integer variables.
        restart_strategy: What follows when `cmaes` says to stop: IPOP restarts with twice the population, BIPOP with a
            large or a small one, RESTART with the same one; STOP ends the run. See `Restarts`.
        relative_sigma0: The initial step size as a fraction of the box's width in each variable.
        population_size: Points per generation, at least 4; by default 4 + ⌊3 ln d⌋.
        max_resampling: Maximum number of draws for a point outside the box. With many variables hardly any point lies
            inside at first, and a lower number saves time.
        margin: With integer variables, the minimum probability of leaving the current integer; by default 1 / (d λ).
        name: The optimizer's name; by default "cmaes" and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    requires = Extra("cmaes", "cmaes")

    learning_rate_adaptation: Flag = False
    separable: Flag = False
    restart_strategy: Strategy = "IPOP"
    relative_sigma0: Annotated[float, real(ge=1e-12, le=10.0)] = 0.2
    population_size: Annotated[int, whole(4, 10**6)] | None = None
    max_resampling: Size = 100
    margin: Annotated[float, real(ge=1e-12, le=0.5)] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.separable and self.learning_rate_adaptation:
            raise ValueError("separable and learning_rate_adaptation are both True; cmaes supports only one at a time")

    def _init(self, space: Space, rng: np.random.Generator) -> _State:
        restarts = Restarts(self.restart_strategy, rng)
        return _State(space=space, restarts=restarts, rng=rng, strategy=self.start(space, rng, restarts))

    def _warm(self, state: _State, start: WarmStart) -> None:
        space = state.space
        mean, step_size, covariance = distribution_of(start, space)
        inside = np.clip((mean - space.lower) / (space.upper - space.lower), 0.0, 1.0)
        begin: dict[str, Any] = {"mean": inside, "sigma": step_size}
        if not (self.separable or space.traits.integer_mask is not None):
            begin["cov"] = covariance
        state.strategy = self.start(space, state.rng, state.restarts, begin)

    def reseed(self, state: _State, rng: np.random.Generator) -> None:
        """Reseed the random state of `cmaes`."""
        state.inner["_rng"].seed(int(rng.integers(2**32)))

    def _ask(self, state: _State) -> FloatArray:
        space = state.space
        with np.errstate(all="ignore"):
            sampled = state.strategy.ask()
        inside, state.sampled = sampled if hasattr(state.strategy, "_cma") else (sampled, sampled)
        point = np.clip(space.lower + inside * (space.upper - space.lower), space.lower, space.upper)
        if state.integers is not None:
            point[state.integers] = np.rint(point[state.integers])
        return point

    def _tell(self, state: _State, values: Any) -> None:
        state.generation.append((state.sampled, values))
        size = state.strategy.population_size
        if len(state.generation) < size:
            return
        state.spent += size
        state.generations += 1
        with np.errstate(all="ignore"):
            going = _update(state.strategy, state.generation)
        state.generation = []
        if not going or state.spent >= state.restarts.evaluations:
            state.ended = not state.restarts.next(size, state.spent)
            if not state.ended:
                state.strategy, state.spent = self.start(state.space, state.rng, state.restarts), 0

    def _distribution(self, _: _State) -> Distribution:
        return _DISTRIBUTION

    def diagnostics(self, state: _State) -> dict[str, Callable[[_State], float]]:
        """The readers of `Distribution.readers`, with the paths ``ps_norm`` and ``pc_norm``, and ``generations``.

        With learning rate adaptation, there are also ``learning_rate_mean`` and ``learning_rate_covariance``.
        """
        readers = super().diagnostics(state)
        readers["generations"] = lambda state: float(state.generations)
        if self.learning_rate_adaptation:
            readers["learning_rate_mean"] = lambda state: float(state.inner["_eta_mean"])
            readers["learning_rate_covariance"] = lambda state: float(state.inner["_eta_Sigma"])
        return readers

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """The reason why it refuses problems of these traits and this dimension; empty if it accepts them."""
        if traits.integer_mask is not None and (self.separable or self.learning_rate_adaptation):
            variant = "separable" if self.separable else "learning_rate_adaptation"
            return f"{variant} is True, but the problem has integer variables; cmaes does not support both"
        return super().refuses(traits, dimension)

    def start(
        self,
        space: Space,
        rng: np.random.Generator,
        restarts: Restarts,
        begin: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        """`cmaes`'s optimizer for the box [0, 1]^d.

        Args:
            space: The search space.
            rng: The random generator for the seed and then the (d,) initial mean.
            restarts: The population size and step size of the start.
            begin: Further arguments of `cmaes`, such as the initial distribution.
        """
        cmaes = optional(*self.requires, "this optimizer")
        seed = int(rng.integers(2**32))
        arguments: dict[str, Any] = {
            "mean": rng.uniform(size=space.dimension),
            "sigma": self.relative_sigma0 * restarts.step_size_factor,
            "bounds": np.tile([0.0, 1.0], (space.dimension, 1)),
            "n_max_resampling": self.max_resampling,
            "seed": seed,
            "population_size": max(4, restarts.population) if restarts.population else self.population_size,
        }
        arguments |= begin
        if space.traits.integer_mask is not None:
            bounds, steps = _lattice(space, space.traits.integer_mask)
            strategy = cmaes.CMAwM(**(arguments | {"bounds": bounds, "steps": steps, "margin": self.margin}))
        elif self.separable and space.dimension > 1:
            return cmaes.SepCMA(**arguments)
        else:
            strategy = cmaes.CMA(**arguments, lr_adapt=self.learning_rate_adaptation)
        _attributes(strategy)["_sample_solution"] = _Sampler(getattr(strategy, "_cma", strategy))
        return strategy


def _lattice(space: Space, mask: Any) -> tuple[FloatArray, FloatArray]:
    """The bounds (d, 2) of the integers within the box [0, 1]^d, and their spacings (d,), 0 for real variables.

    A variable with a single integer in its box is left unchanged: the problem rounds it.
    """
    width = space.upper - space.lower
    least, greatest = np.ceil(space.lower), np.floor(space.upper)
    stepped = mask & (greatest > least)
    bounds = np.tile([0.0, 1.0], (space.dimension, 1))
    bounds[stepped, 0] = ((least - space.lower) / width)[stepped]
    bounds[stepped, 1] = ((greatest - space.lower) / width)[stepped]
    return bounds, np.where(stepped, 1 / width, 0.0)


def _update(strategy: Any, generation: list[tuple[FloatArray, float]]) -> bool:
    """Tell a strategy the values of its generation; return False if it must be restarted."""
    try:
        strategy.tell(generation)
    except np.linalg.LinAlgError:
        return False
    inner = _attributes(strategy)
    finite = np.isfinite(inner["_mean"]).all() and np.isfinite(inner["_C"]).all() and 0 < inner["_sigma"] < math.inf
    return bool(finite) and not strategy.should_stop()


class _Sampler:
    """Draws from a strategy with a full matrix as its own method does, computing C's root once per generation."""

    def __init__(self, strategy: Any) -> None:
        self._strategy, self._inner = strategy, _attributes(strategy)
        self._decomposition = attrgetter("_eigen_decomposition")(strategy)
        self._axes: Any = None
        self._root: Any = None

    def __reduce__(self) -> tuple[type[_Sampler], tuple[Any]]:
        return _Sampler, (self._strategy,)

    def __call__(self) -> FloatArray:
        axes, lengths = self._decomposition()
        if axes is not self._axes:
            self._axes, self._root = axes, axes.dot(np.diag(lengths))
        step = self._root.dot(self._inner["_rng"].randn(len(lengths)))
        return self._inner["_mean"] + self._inner["_sigma"] * step


def _attributes(strategy: Any) -> dict[str, Any]:
    """The attributes of a strategy, or of the one inside a strategy with margin, as a live view."""
    return cast("dict[str, Any]", vars(getattr(strategy, "_cma", strategy)))


def _axes(state: _State) -> FloatArray:
    matrix: FloatArray = state.inner["_C"]
    squares = matrix if matrix.ndim == 1 else np.linalg.eigvalsh(matrix)
    return np.sqrt(np.maximum(np.asarray(squares, dtype=np.float64), 0.0))


def _covariance(state: _State) -> FloatArray:
    matrix: FloatArray = state.inner["_C"]
    return np.diag(matrix) if matrix.ndim == 1 else matrix


_DISTRIBUTION = Distribution(
    mean=lambda state: state.space.lower + state.inner["_mean"] * (state.space.upper - state.space.lower),
    step_size=lambda state: state.inner["_sigma"],
    axes=_axes,
    covariance=_covariance,
    population_size=lambda state: state.strategy.population_size,
    paths={"ps": lambda state: state.inner["_p_sigma"], "pc": lambda state: state.inner["_pc"]},
)

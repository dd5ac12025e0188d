"""Instances of any problem by random transformations of its domain and range.

An instance is F = T_y ∘ f ∘ T_x (Vermetten 2025, section 3.1.1). In coordinates u in which the box is [-1, 1]^d, T_x
maps u to R diag(s) P (u - t), with a shift t, a permutation and reflection P of the variables, stretches s and a
rotation R. T_y maps y to a y + b.
"""

from __future__ import annotations

import math
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np

from polarbear.descriptions import FieldError
from polarbear.problems.evaluation import BuiltProblem, read_only
from polarbear.problems.function import FunctionProblem
from polarbear.problems.instances import as_spec
from polarbear.problems.suite.base import EndlessStream, digest
from polarbear.protocols import ProblemSpec, traits_of
from polarbear.validation import Checked, Flag, Natural, Reals, Share, real, real_number, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.protocols import Problem
    from polarbear.records import FloatArray

ROUNDING = 1e-6
"""Absolute or relative tolerance between the value at `location` and the optimum."""


def _range(value: Any, name: str, gt: float | None = None) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(cast("list[Any]", value)) != 2:
        raise FieldError((name,), f"{name} is {value!r}; give a range, [low, high]")
    low, high = (real_number(end, name, gt=gt) for end in cast("list[Any]", value))
    if low > high:
        raise FieldError((name,), f"{name} is {value!r}; the lower end must come first")
    return low, high


@settings
class Variations(EndlessStream["Variation"]):
    """An endless stream of instances of one problem, transformed only as the fields say.

    Points of an instance's box may fall outside the problem's own box if it is shifted, stretched or rotated. The best
    value stays known if the box is at most permuted and reflected, or if `location` is given and stays in the box. With
    `location`, the problem is evaluated there once whenever an instance is built.

    Attributes:
        problem: The problem to transform: a specification, or a function with bounds.
        shift: In [0, 1]: the centre is moved uniformly within this fraction of the box in each variable; with
            `location`, the optimum is.
        flip: Whether variables are reflected at the box's centre, each with probability 1/2.
        permute: Whether variables are randomly permuted; requires the same bounds for all of them.
        stretch: At least 1: variables are stretched by log-uniform factors between this and its inverse.
        rotate: Whether the box is rotated at random, uniformly (Haar).
        factor: Range of a, log-uniform, above 0.
        offset: Range of b, uniform.
        location: (d,) the location of the problem's best value, including points outside its box, if known.
        seed: Seed of the stream.

    Raises:
        FieldError: If `problem` is not one, a field is not a number or out of range, or the transformations do not suit
            a `FunctionProblem`; for any other problem, this is checked when an instance is built.
    """

    problem: Annotated[ProblemSpec, Checked(lambda value, _: as_spec(value))]
    shift: Share = 0.0
    flip: Flag = False
    permute: Flag = False
    stretch: Annotated[float, real(ge=1)] = 1.0
    rotate: Flag = False
    factor: Annotated[tuple[float, float], Checked(partial(_range, gt=0))] = (1.0, 1.0)
    offset: Annotated[tuple[float, float], Checked(_range)] = (0.0, 0.0)
    location: Reals | None = None
    seed: Natural = 0

    def __post_init__(self) -> None:
        if isinstance(self.problem, FunctionProblem):  # others have to be built first
            _check(self, self.problem)

    def _at(self, index: int) -> Variation:
        return Variation(self, index)

    @property
    def label(self) -> str:
        """A digest of the transformations, for the names of instances."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        del settings["problem"], settings["seed"]
        return digest(settings, 6)

    @property
    def keeps_box(self) -> bool:
        """Whether every instance maps its box onto the problem's own."""
        return not (self.shift or self.rotate or self.stretch > 1)


@settings
class Variation:
    """One instance of a problem.

    Attributes:
        stream: The stream that the instance belongs to.
        index: The instance's position in the stream, from 0.

    Raises:
        FieldError: If `stream` is not a `Variations`, or `index` is not a whole number from 0.
    """

    stream: Variations
    index: Natural

    @property
    def name(self) -> str:
        """The name, such as ``"sphere-d5-s0-17-v3f0a91"``, whose end stands for the transformations."""
        return f"{self.stream.problem.name}-s{self.stream.seed}-{self.index}-v{self.stream.label}"

    def build(self) -> BuiltProblem:
        """Construct the problem.

        Raises:
            ValueError: If the transformations do not suit the problem: it is noisy, has several objectives or tells
                constraints; its integer variables would not stay whole; permuted variables have different bounds; or
                `location` has another dimension or is not where the optimum is.
        """
        base = self.stream.problem.build()
        _check(self.stream, base)
        domain = _Domain(self.stream, base, np.random.default_rng([self.stream.seed, self.index, 0]))
        rng = np.random.default_rng([self.stream.seed, self.index, 1])
        low, high = map(math.log, self.stream.factor)
        factor = math.exp(rng.uniform(low, high))
        offset = float(rng.uniform(*self.stream.offset))
        base_raw: Callable[[FloatArray], float] = base.raw

        def raw(x: FloatArray) -> float:
            return factor * base_raw(domain(x)) + offset

        def batch(points: FloatArray) -> FloatArray:
            return factor * np.asarray(base(domain(points)), dtype=np.float64) + offset

        best = _best(self.stream, base)
        optimum = factor * best + offset if domain.reaches_optimum and best is not None else None
        return BuiltProblem(self, raw, batch, (base.lower, base.upper), optimum, base.minimize, traits_of(base))


class _Domain:
    """The transformation T_x of one instance, drawn at random."""

    def __init__(self, stream: Variations, base: Problem, rng: np.random.Generator) -> None:
        d = base.dimension
        self._centre, self._half = 0.5 * (base.lower + base.upper), 0.5 * (base.upper - base.lower)
        order = rng.permutation(d) if stream.permute else np.arange(d)
        signs = rng.choice([-1.0, 1.0], d) if stream.flip else np.ones(d)
        stretches = np.exp(rng.uniform(-1, 1, d) * np.log(stream.stretch))
        self._order, self._factors = order, signs * stretches
        self._rotation = _rotation(d, rng) if stream.rotate else None
        self._shift = stream.shift * rng.uniform(-1, 1, d)
        self.reaches_optimum = stream.keeps_box
        if stream.location is not None:
            best = self._back((read_only(stream.location) - self._centre) / self._half)
            if stream.shift:
                self._shift -= best
            self.reaches_optimum = bool((np.abs(best + self._shift) <= 1).all())

    def __call__(self, x: FloatArray) -> FloatArray:
        """The problem's points that correspond to points (d,) or (m, d) of the instance."""
        u = ((x - self._centre) / self._half - self._shift)[..., self._order] * self._factors
        u = u if self._rotation is None else u @ self._rotation.T
        return self._centre + self._half * u

    def _back(self, u: FloatArray) -> FloatArray:
        """The instance's coordinates, except for the shift, of a point of the problem."""
        u = u if self._rotation is None else u @ self._rotation
        result = np.empty_like(u)
        result[self._order] = u / self._factors
        return result


def _rotation(d: int, rng: np.random.Generator) -> FloatArray:
    """(d, d) a uniformly random rotation or reflection."""
    from scipy.stats import ortho_group

    return np.asarray(ortho_group.rvs(d, random_state=rng)) if d > 1 else np.ones((1, 1))


def _check(stream: Variations, base: Problem) -> None:
    traits: Any = traits_of(base)
    if traits.noisy or traits.objectives > 1 or traits.constraints:
        raise ValueError(
            f"{base.name} is noisy, has several objectives or has constraints that optimizers observe; "
            "it cannot be varied"
        )
    if stream.location is not None and len(stream.location) != base.dimension:
        raise ValueError(f"location has length {len(stream.location)}, but {base.name} has dimension {base.dimension}")
    whole = traits.integers if traits.integers is not None else np.zeros(base.dimension, dtype=bool)
    if whole.any() and not stream.keeps_box:
        raise ValueError(f"{base.name} has integer variables, which can only be permuted and reflected")
    middle = (base.lower + base.upper)[whole]
    if stream.flip and not np.array_equal(middle, np.rint(middle)):
        raise ValueError(
            f"{base.name} has integer variables with bounds that are not integers; they cannot be reflected"
        )
    if stream.permute and any(np.unique(bound).size > 1 for bound in (base.lower, base.upper, whole)):
        raise ValueError(f"the variables of {base.name} differ in bounds or kind; they cannot be permuted")


def _best(stream: Variations, base: Problem) -> float | None:
    """The problem's best value: its optimum, or else the value at `location`; None if it is unknown."""
    if stream.location is None:
        return base.optimum
    value, optimum = float(base.raw(read_only(stream.location))), base.optimum
    there = f"location is {list(stream.location)!r}, where {base.name} has the value {value!r}"
    if not math.isfinite(value):
        raise ValueError(f"{there}; it must be where the best value is")
    if optimum is None:
        return value
    if not math.isclose(value, optimum, rel_tol=ROUNDING, abs_tol=ROUNDING):
        raise ValueError(f"{there}, but its optimum is {optimum!r}; correct one of the two, or leave it out")
    return optimum

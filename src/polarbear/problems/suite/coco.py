"""The suites of COCO, from the package coco-experiment (module `cocoex`), with best values, which COCO does not give.

The best values of bbob, -boxed and -largescale are those of bbob's functions, the same in all dimensions; those of
-mixint are scaled like the function; -constrained has its optimum at a point drawn from the instance's seed; and
-biobj pairs functions and instances of bbob that the problem names.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np

from polarbear.descriptions import FieldError, did_you_mean
from polarbear.extras import Extra, optional
from polarbear.problems.constraints import ConstrainedProblem
from polarbear.problems.evaluation import BuiltProblem, MultiObjectiveProblem, evaluated_in_turn
from polarbear.problems.functions.coco_random import SEEDS_PER_INSTANCE, location
from polarbear.problems.functions.ioh import best_bbob_value
from polarbear.problems.number_sets import Numbers, NumbersLike, numbers
from polarbear.problems.suite.base import ProductStream, SuiteProblem
from polarbear.problems.suite.bbob import LAST_INSTANCE
from polarbear.protocols import Traits
from polarbear.validation import Checked, Natural, Whole, set_fields, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.records import FloatArray

_LOCK = threading.Lock()
"""COCO keeps a log level and random numbers in global variables while it constructs a suite."""

MIXINT_SCALES = (
    1, 1e-3, 1e-1, 1e-1, 1, 1e-2, 1, 1e-2, 1e-2, 1e-3, 1e-2, 1e-4,
    1e-1, 1, 1e-1, 1, 10, 1, 10, 1e-1, 1, 1, 10, 1e-1,
)  # fmt: skip
"""The factors by which bbob-mixint multiplies the functions of bbob (Tušar et al. 2019)."""

_PART = re.compile(r"bbob_f(\d+)_i(\d+)_d")


class Extent(NamedTuple):
    """The contents of a suite of COCO.

    Attributes:
        functions: Number of functions, which are numbered from 1.
        dimensions: The available numbers of variables; empty if any from 2.
        last_instance: The largest instance number.
    """

    functions: int
    dimensions: tuple[int, ...]
    last_instance: int = LAST_INSTANCE


SMALL = (2, 3, 5, 10, 20, 40)
MIXED = (5, 10, 20, 40, 80, 160)
BIOBJECTIVE_INSTANCES = 15
"""COCO recomposes further instances depending on which others are requested together."""

COCO_SUITES = {
    "coco-bbob": Extent(24, ()),
    "bbob-largescale": Extent(24, (20, 40, 80, 160, 320, 640)),
    "bbob-constrained": Extent(54, SMALL),
    "bbob-mixint": Extent(24, MIXED),
    "bbob-boxed": Extent(24, SMALL),
    "bbob-biobj": Extent(55, SMALL, BIOBJECTIVE_INSTANCES),
    "bbob-biobj-ext": Extent(92, SMALL, BIOBJECTIVE_INSTANCES),
    "bbob-biobj-mixint": Extent(92, MIXED, BIOBJECTIVE_INSTANCES),
}
"""The suites by name. Names are COCO's own except for bbob, which is the name of the suite based on `ioh`."""


def _suite(value: Any, name: str) -> str:
    if value not in COCO_SUITES:
        raise FieldError((name,), f"suite {value!r} is unknown;{did_you_mean(str(value), COCO_SUITES)}")
    return value


def _in_suite(suite: str, value: Any, name: str) -> Numbers:
    """One or several functions, dimensions or instances of a suite, depending on `name`."""
    extent = COCO_SUITES[suite]
    if name.startswith("dimension"):
        dimensions = numbers(value, name, 2)
        if extent.dimensions and (missing := [d for d in dimensions if d not in extent.dimensions]):
            raise FieldError(
                (name,), f"{name} is {missing[0]}; it must be one of {', '.join(map(str, extent.dimensions))}"
            )
        return dimensions
    return numbers(value, name, 1, extent.functions if name.startswith("function") else extent.last_instance)


@settings
class COCOProblem(SuiteProblem):
    """One problem of a suite of COCO; see https://coco-platform.org.

    Building it requires the package coco-experiment and resets the noise of that package's own suite bbob-noisy (unless
    the suite is coco-bbob).

    Attributes:
        suite: One of `COCO_SUITES`.
        function: The function's number, from 1.
        instance: The instance's number, from 1; at most 15 in suites with two objectives.
        dimension: Number of variables, one of those available in the suite.

    Raises:
        FieldError: If the suite is unknown, or has no such function, instance or dimension.
    """

    requires: ClassVar = Extra("cocoex", "coco")

    suite: Annotated[str, Checked(_suite)]
    function: Whole
    instance: Whole
    dimension: Whole

    def __post_init__(self) -> None:
        for name in ("function", "instance", "dimension"):
            _in_suite(self.suite, getattr(self, name), name)

    def build(self) -> BuiltProblem:
        """Construct the problem, possibly a `ConstrainedProblem` or a `MultiObjectiveProblem`.

        Raises:
            ImportError: If the package coco-experiment is missing.
        """
        library = optional("cocoex", "coco", f"the suite {self.suite}")
        return _bare(self, library) if self.suite == "coco-bbob" else _from_suite(self, library)


@settings
class COCOSuite(ProductStream):
    """An endless stream of problems of one suite: function, instance and dimension are drawn uniformly.

    The numbers are given as ints, ranges, sequences, or in COCO's notation ``"1-5,8"``.

    Attributes:
        functions: The functions' numbers; by default all of the suite.
        dimensions: Numbers of variables available in the suite.
        instances: Instance numbers, from 1.
        seed: Seed of the stream.

    Raises:
        FieldError: If a field holds no whole number, one that is not in the suite, or one twice, or is empty.
    """

    functions: NumbersLike = range(1, 25)
    dimensions: NumbersLike = (5,)
    instances: NumbersLike = range(1, 16)
    seed: Natural = 0

    suite: ClassVar[str]
    problem: ClassVar[Any] = COCOProblem

    def __post_init__(self) -> None:
        for name in ("functions", "dimensions", "instances"):
            set_fields(self, **{name: _in_suite(self.suite, getattr(self, name), name)})

    def _fixed(self) -> dict[str, Any]:
        return {"suite": self.suite}


@settings
class COCOBBOB(COCOSuite):
    """The 24 functions of bbob, as COCO computes them; see `COCOSuite`. `BBOB` has the same functions from `ioh`."""

    suite: ClassVar[str] = "coco-bbob"


@settings
class BBOBLargescale(COCOSuite):
    """The 24 functions of bbob-largescale, with 20 to 640 variables (Elhara et al. 2019); see `COCOSuite`."""

    dimensions: NumbersLike = (20,)
    suite: ClassVar[str] = "bbob-largescale"


@settings
class BBOBConstrained(COCOSuite):
    """The 54 functions of bbob-constrained: 9 objectives, each with 6 numbers of constraints; see `COCOSuite`."""

    functions: NumbersLike = range(1, 55)
    suite: ClassVar[str] = "bbob-constrained"


@settings
class BBOBMixint(COCOSuite):
    """The 24 functions of bbob-mixint: 4 of 5 variables are integers (Tušar et al. 2019); see `COCOSuite`."""

    suite: ClassVar[str] = "bbob-mixint"


@settings
class BBOBBoxed(COCOSuite):
    """The 24 functions of bbob-boxed: bbob with optima anywhere in the box, and +inf outside; see `COCOSuite`.

    `SBOX` has the same functions from `ioh`.
    """

    suite: ClassVar[str] = "bbob-boxed"


@settings
class BBOBBiobj(COCOSuite):
    """The 55 functions of bbob-biobj: pairs of functions of bbob (Brockhoff et al. 2022); see `COCOSuite`."""

    functions: NumbersLike = range(1, 56)
    suite: ClassVar[str] = "bbob-biobj"


@settings
class BBOBBiobjExt(COCOSuite):
    """The 92 functions of bbob-biobj-ext: those of bbob-biobj and 37 further pairs; see `COCOSuite`."""

    functions: NumbersLike = range(1, 93)
    suite: ClassVar[str] = "bbob-biobj-ext"


@settings
class BBOBBiobjMixint(COCOSuite):
    """The 92 functions of bbob-biobj-mixint: pairs of functions of bbob-mixint; see `COCOSuite`."""

    functions: NumbersLike = range(1, 93)
    suite: ClassVar[str] = "bbob-biobj-mixint"


def _from_suite(spec: COCOProblem, library: Any) -> BuiltProblem:
    with _LOCK:
        options = f"function_indices: {spec.function} dimensions: {spec.dimension}"
        suite = library.Suite(spec.suite, f"instances: {spec.instance}", options)
        problem = suite.get_problem(0)
    integers = problem.number_of_integer_variables  # integer variables come first in COCO
    traits = Traits(
        integers=np.arange(spec.dimension) < integers if integers else None,
        objectives=problem.number_of_objectives,
        constraints=problem.number_of_constraints,
    )
    shape, bounds = (spec.dimension,), (problem.lower_bounds, problem.upper_bounds)
    if traits.objectives > 1:
        parts = [(int(function), int(instance)) for function, instance in _PART.findall(problem.name)]
        ideal = np.array([_best(function, instance, scaled=bool(integers)) for function, instance in parts])
        objectives = _guarded(problem, shape, np.full(traits.objectives, np.nan))
        return MultiObjectiveProblem(spec, objectives, bounds, (ideal, problem.largest_fvalues_of_interest), traits)

    def raw(x: FloatArray) -> float:
        return float(problem(x)) if x.shape == shape else np.nan

    if traits.constraints:
        best = raw(location(spec.dimension, spec.function + SEEDS_PER_INSTANCE * spec.instance))
        constraints = _guarded(problem.constraint, shape, np.full(traits.constraints, np.nan))
        return ConstrainedProblem(spec, raw, constraints, bounds, best, traits)
    best = _best(spec.function, spec.instance, scaled=bool(integers))
    return BuiltProblem(spec, raw, evaluated_in_turn(raw), bounds, best, traits=traits)


def _bare(spec: COCOProblem, library: Any) -> BuiltProblem:
    """A function of bbob without a suite, guarded since it would read past the end of points that are too short."""
    function = library.BareProblem("bbob", spec.function, spec.dimension, spec.instance)
    shape = (spec.dimension,)

    def raw(x: FloatArray) -> float:
        return function(np.ascontiguousarray(x)) if x.shape == shape else np.nan

    def batch(points: FloatArray) -> FloatArray:
        return function(np.ascontiguousarray(points))

    box = np.full(spec.dimension, 5.0)
    return BuiltProblem(spec, raw, batch, (-box, box), function.best_value())


def _guarded(function: Any, shape: tuple[int], undefined: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """A function of one point that returns NaN for points of another shape."""
    return lambda x: function(x) if x.shape == shape else undefined.copy()


def _best(function: int, instance: int, *, scaled: bool) -> float:
    best = best_bbob_value(function, instance)
    return best * MIXINT_SCALES[function - 1] if scaled else best

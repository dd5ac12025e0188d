"""Building COCO's problems over `cocoex`, with what COCO knows of them but does not tell: the best values.

Best values of bbob, -boxed and -largescale are those of bbob's functions, the same in all dimensions; those of -mixint
are scaled along with the function; -constrained has its optimum at a point drawn from the instance's seed, and -biobj
pairs functions and instances of bbob that the problem names.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.extras import optional
from polarbear.problems.coco_random import SEEDS_PER_INSTANCE, location
from polarbear.problems.coco_suites import COCO_SUITES
from polarbear.problems.constrained import ConstrainedProblem
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.ioh_suites import BBOBProblem, one_by_one
from polarbear.problems.several import MultiObjectiveProblem
from polarbear.problems.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.problems.coco_suites import COCOProblem
    from polarbear.records import FloatArray

_ONE_AT_A_TIME = threading.Lock()
"""COCO keeps a log level and random numbers in global variables while it makes a suite."""

MIXINT_SCALES = (
    1, 1e-3, 1e-1, 1e-1, 1, 1e-2, 1, 1e-2, 1e-2, 1e-3, 1e-2, 1e-4,
    1e-1, 1, 1e-1, 1, 10, 1, 10, 1e-1, 1, 1, 10, 1e-1,
)  # fmt: skip
"""What bbob-mixint multiplies the functions of bbob with (Tušar et al. 2019)."""

_PART = re.compile(r"bbob_f(\d+)_i(\d+)_d")


def build(spec: COCOProblem) -> BuiltProblem:
    """Construct the problem; a `ConstrainedProblem` or a `MultiObjectiveProblem` where it is one."""
    library = optional("cocoex", "coco", f"the suite {spec.suite}")
    if spec.suite == "coco-bbob":
        return _bare(spec, library)
    with _ONE_AT_A_TIME:
        options = f"function_indices: {spec.function} dimensions: {spec.dimension}"
        suite = library.Suite(COCO_SUITES[spec.suite].library, f"instances: {spec.instance}", options)
        problem = suite.get_problem(0)
    bounds = (problem.lower_bounds, problem.upper_bounds)
    traits = Traits(
        integers=_integers(problem.number_of_integer_variables, spec.dimension),
        objectives=problem.number_of_objectives,
        constraints=problem.number_of_constraints,
    )
    if traits.objectives > 1:
        interest = (_ideal(problem.name, scaled=traits.integers is not None), problem.largest_fvalues_of_interest)
        raw = _vectors(problem, spec.dimension, traits.objectives)
        return MultiObjectiveProblem(spec, raw, bounds, interest, traits)
    raw = _numbers(problem, spec.dimension)
    if traits.constraints:
        best = raw(location(spec.dimension, spec.function + SEEDS_PER_INSTANCE * spec.instance))
        constraints = _vectors(problem.constraint, spec.dimension, traits.constraints)
        return ConstrainedProblem(spec, raw, constraints, bounds, best, traits)
    best = _best(spec.function, spec.instance, scaled=traits.integers is not None)
    return BuiltProblem(spec, raw, one_by_one(raw), bounds, best, traits=traits)


def _bare(spec: COCOProblem, library: Any) -> BuiltProblem:
    """A function of bbob without a suite; it would read past the end of points that are too short."""
    function = library.BareProblem("bbob", spec.function, spec.dimension, spec.instance)
    shape = (spec.dimension,)

    def raw(x: FloatArray) -> float:
        return function(np.ascontiguousarray(x)) if x.shape == shape else np.nan

    def batch(points: FloatArray) -> FloatArray:
        return function(np.ascontiguousarray(points))

    box = np.full(spec.dimension, 5.0)
    return BuiltProblem(spec, raw, batch, (-box, box), function.best_value())


def _numbers(problem: Any, dimension: int) -> Callable[[FloatArray], float]:
    shape = (dimension,)

    def raw(x: FloatArray) -> float:
        return float(problem(x)) if x.shape == shape else np.nan

    return raw


def _vectors(function: Any, dimension: int, length: int) -> Callable[[FloatArray], FloatArray]:
    shape = (dimension,)

    def raw(x: FloatArray) -> FloatArray:
        return function(x) if x.shape == shape else np.full(length, np.nan)

    return raw


def _integers(count: int, dimension: int) -> Any:
    """COCO's integer variables come first."""
    return np.arange(dimension) < count if count else None


def _best(function: int, instance: int, *, scaled: bool) -> float:
    """The best value of a function of bbob, which does not depend on the dimension."""
    best = float(BBOBProblem(function, instance, 2).build().raw.optimum.y)
    return best * MIXINT_SCALES[function - 1] if scaled else best


def _ideal(name: str, *, scaled: bool) -> FloatArray:
    """The ideal point of a problem whose name tells its two functions of bbob and their instances."""
    parts = [(int(function), int(instance)) for function, instance in _PART.findall(name)]
    return np.array([_best(function, instance, scaled=scaled) for function, instance in parts])

"""Submodular problems on graphs from `ioh`: cuts, coverage, influence, and packing while travelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

import numpy as np

from polarbear.descriptions import FieldError
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.influence_maximization import Edges, InfluenceProblem
from polarbear.problems.functions.ioh import integer_problem, ioh_problem, with_ioh
from polarbear.problems.number_sets import NumbersLike, numbers
from polarbear.problems.suite.base import ProductStream, SuiteProblem
from polarbear.validation import Checked, Natural, settings, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polarbear.records import FloatArray

_COVERAGE = (*(450, 450, 595, 760) * 7, 425, 425, 204, 204, 379, 379, 615, 615, 715, 715, 500, 500)
_PACKING = (279, 1395, 2790, 4460, 22300, 44600, 33809, 169045, 338090)

INFLUENCE = range(2200, 2224)

DIMENSIONS: Mapping[int, int] = (
    dict.fromkeys(range(2000, 2005), 800)
    | dict(enumerate(_COVERAGE, 2100))
    | dict.fromkeys(INFLUENCE, 4039)
    | dict(enumerate(_PACKING, 2300))
)
"""Number of variables of each function: nodes of the graph or items to pack."""

VALID = "2000-2004,2100-2139,2200-2223,2300-2308"


def _known(functions: Iterable[int], name: str) -> Any:
    for function in functions:
        if function not in DIMENSIONS:
            raise FieldError((name,), f"{name} is {function}; it must be in {VALID}")
    return functions


@settings
class SubmodularProblem(SuiteProblem):
    """A submodular problem on a graph (Neumann et al. 2023), to be maximized over {0, 1}^d; the best value is unknown.

    The value of a selection that is too heavy is minus the excess weight, and lower still than any other value in
    packing while travelling; hence the weight is not a separate constraint. Coordinates are rounded to the nearest
    integer, and the value is -inf outside the box. The graphs come with `ioh`.

    Attributes:
        function: The graph and the weights: MaxCut 2000 to 2004, MaxCoverage 2100 to 2139, MaxInfluence 2200 to 2223,
            which is noisy (see `InfluenceProblem`), and PackWhileTravel 2300 to 2308; each has one dimension, from 204
            to 338,090, and one instance.

    Raises:
        FieldError: If there is no such function.
    """

    function: Annotated[int, Checked(lambda value, name: _known((whole_number(value, name),), name)[0])]

    suite: ClassVar[str] = "submodular"
    instance: ClassVar[int] = 1

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return DIMENSIONS[self.function]

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem; MaxInfluence takes only its graph and weights from `ioh`."""
        problem, box = ioh_problem("GRAPH", self.function, 1, self.dimension)
        if self.function not in INFLUENCE:
            return integer_problem(self, problem, box, None)
        return InfluenceProblem(self, *with_ioh(lambda _: _graph(problem.graph)))


def _graph(graph: Any) -> tuple[Edges, FloatArray, float, float]:
    """The graph's edges, the nodes' weights, the limit of their sum, and the deviation of a node's weight."""
    sources, targets, chances = (np.array(column) for column in zip(*graph.edges, strict=True))
    deviation = float(graph.meta.constraint_variances or 0)
    weights = np.array(graph.constraint_weights)
    return (sources, targets, chances), weights, float(graph.meta.constraint_limit), deviation


def _functions(value: Any, name: str) -> Any:
    return _known(numbers(value, name, min(DIMENSIONS), max(DIMENSIONS)), name)


@settings
class Submodular(ProductStream):
    """An endless stream of submodular problems on graphs, drawn uniformly.

    Attributes:
        functions: The functions' numbers, of 2000 to 2004, 2100 to 2139, 2200 to 2223 and 2300 to 2308; by default all
            78.
        seed: Seed of the stream.

    Raises:
        FieldError: If there is no such function, or a number occurs twice.
    """

    functions: Annotated[NumbersLike, Checked(_functions)] = VALID
    seed: Natural = 0

    problem: ClassVar[Any] = SubmodularProblem
    choices: ClassVar[Mapping[str, str]] = {"function": "functions"}

    def grid(self) -> tuple[SubmodularProblem, ...]:
        """All problems of the suite: by dimension, then by function."""
        specs = cast("tuple[SubmodularProblem, ...]", super().grid())
        return tuple(sorted(specs, key=lambda spec: (spec.dimension, spec.function)))

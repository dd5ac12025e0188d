"""The W-model: OneMax and LeadingOnes with adjustable dummies, neutrality, epistasis and ruggedness, from `ioh`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.ioh import Box, box_of, integer_problem, with_ioh
from polarbear.problems.number_sets import NumbersLike, distinct, number_set, shares
from polarbear.problems.suite.base import ProductStream, SuiteProblem
from polarbear.records import Instance
from polarbear.validation import Checked, Natural, Positive, Share, settings, whole, whole_number

FUNCTIONS = ("OneMax", "LeadingOnes")
LAST_INSTANCE = 100
LAYERS = ("dummy_select_rate", "epistasis_block_size", "neutrality_mu", "ruggedness_gamma")


@settings
class WModelProblem(SuiteProblem):
    """One function of the W-model (Weise and Wu 2018), as in `ioh`, to be maximized over {0, 1}^d.

    The layers act in this order: a share of the bits is selected and the others are dummies; blocks of `neutrality_mu`
    bits become the bit that the majority has; blocks of `epistasis_block_size` bits are mapped so that neighbours
    become distant; the ones, or leading ones, are counted; and these counts are permuted. Coordinates are rounded to
    the nearest integer, and the value is -inf outside the box.

    Attributes:
        function: ``"OneMax"`` or ``"LeadingOnes"``.
        instance: 1 is the function itself; 2 to 50 flip bits, 51 to 100 permute them; both scale and shift values. In
            instances 11, 26, 60, 63 and 78 the scale is negative, so that fewer ones are better.
        dimension: Number of bits, from 1.
        dummy_select_rate: The share of the bits that count, from 0 to 1; both 0 and 1 switch the layer off.
        epistasis_block_size: Length of the blocks, at most the number of bits left by the layers before; 0 for none.
        neutrality_mu: Length of the blocks, at most the number of selected bits; 0 for none.
        ruggedness_gamma: Degree of permutation of the counts, 0 for none; `ioh` multiplies it by the dimension d, and
            the product must not exceed s(s - 1)/2 if s bits are left by the layers before.

    Raises:
        FieldError: If a field is not a number or out of range, or no bit is left.
    """

    function: Literal["OneMax", "LeadingOnes"]
    instance: Annotated[int, whole(1, LAST_INSTANCE)]
    dimension: Positive
    dummy_select_rate: Share = 0.0
    epistasis_block_size: Natural = 0
    neutrality_mu: Natural = 0
    ruggedness_gamma: Natural = 0

    suite: ClassVar[str] = "w-model"

    def __post_init__(self) -> None:
        d, rate, selected = self.dimension, self.dummy_select_rate, self._selected
        if not selected:
            raise ValueError(f"dummy_select_rate is {rate}, which selects none of {d} bits; raise it or the dimension")
        whole_number(self.neutrality_mu, "neutrality_mu", 0, selected)
        whole_number(self.epistasis_block_size, "epistasis_block_size", 0, self.bits)
        whole_number(self.ruggedness_gamma, "ruggedness_gamma", 0, self.bits * (self.bits - 1) // 2 // d)

    @property
    def _selected(self) -> int:
        return int(self.dimension * self.dummy_select_rate) if self.dummy_select_rate else self.dimension

    @property
    def bits(self) -> int:
        """Number of bits that are counted, those left by dummies and neutrality."""
        return self._selected // max(self.neutrality_mu, 1)

    @property
    def identity(self) -> Instance:
        """The identity, as in ``"w-model-fOneMax-i1-d16"`` or ``"w-model-fOneMax_s0.5_e4_n2_r1-i1-d64"``."""
        layers = zip("senr", self._layers, strict=True)
        function = self.function + "".join(f"_{letter}{value!r}" for letter, value in layers if value)
        return Instance(self.suite, function, self.dimension, str(self.instance))

    @property
    def _layers(self) -> list[Any]:
        return [getattr(self, layer) for layer in LAYERS]

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem; the optimum is derived here, as `ioh` states that of instance 1 for all."""
        return integer_problem(self, *with_ioh(self._made))

    def _made(self, ioh: Any) -> tuple[Any, Box, float]:
        problem = getattr(ioh.problem, f"WModel{self.function}")(self.instance, self.dimension, *self._layers)
        # the values of this instance at a count of 0 and, over one bit, of 1
        zero = float(ioh.problem.WModelOneMax(self.instance, 1, 0.0, 0, 2, 0)([0]))
        one_bit = ioh.problem.WModelOneMax(self.instance, 1)
        one = max((float(one_bit([bit])) for bit in (0, 1)), key=lambda value: abs(value - zero))
        return problem, box_of(problem), zero + max(0.0, (one - zero) * self.bits)


def _functions(value: Any, name: str) -> tuple[str, ...]:
    return distinct((value,) if isinstance(value, str) else value, name)


@settings
class WModel(ProductStream):
    """An endless stream of W-model problems: all parameters are drawn uniformly and independently.

    Attributes:
        functions: ``"OneMax"``, ``"LeadingOnes"``, or both.
        dimensions: Numbers of bits, from 1.
        instances: Instance numbers, of 1 to 100.
        dummy_select_rate: One or several shares of bits that count.
        epistasis_block_size: One or several block lengths.
        neutrality_mu: One or several block lengths.
        ruggedness_gamma: One or several degrees of permutation.
        seed: Seed of the stream.

    Raises:
        FieldError: If a field holds no number or one twice, or is empty, or `WModelProblem` refuses a combination.
    """

    functions: Annotated[str | Sequence[str], Checked(_functions)] = FUNCTIONS
    dimensions: Annotated[NumbersLike, number_set(1)] = (64,)
    instances: Annotated[NumbersLike, number_set(1, LAST_INSTANCE)] = range(1, LAST_INSTANCE + 1)
    dummy_select_rate: Annotated[float | Sequence[float], Checked(shares)] = (0.0,)
    epistasis_block_size: Annotated[NumbersLike, number_set(0)] = (0,)
    neutrality_mu: Annotated[NumbersLike, number_set(0)] = (0,)
    ruggedness_gamma: Annotated[NumbersLike, number_set(0)] = (0,)
    seed: Natural = 0

    problem: ClassVar[Any] = WModelProblem
    choices: ClassVar[Mapping[str, str]] = {
        "function": "functions",
        **dict(zip(LAYERS, LAYERS, strict=True)),
        "instance": "instances",
        "dimension": "dimensions",
    }

    def __post_init__(self) -> None:
        names = [name for name in self.choices if name != "instance"]
        for values in itertools.product(*(getattr(self, self.choices[name]) for name in names)):
            WModelProblem(instance=1, **dict(zip(names, values, strict=True)))

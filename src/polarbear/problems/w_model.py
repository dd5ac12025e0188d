"""The W-model: OneMax and LeadingOnes with dummies, neutrality, epistasis and ruggedness at will, over `ioh`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.ioh_suites import Box, box_of, constructed, integer_problem
from polarbear.problems.number_sets import NumbersLike, distinct, number_set, shares
from polarbear.problems.streams import ProductStream, SuiteProblem
from polarbear.records import Instance
from polarbear.validation import Checked, Natural, Positive, Share, settings, whole, whole_number

FUNCTIONS = ("OneMax", "LeadingOnes")
LAST_INSTANCE = 100


def _functions(value: Any, name: str) -> tuple[str, ...]:
    return distinct((value,) if isinstance(value, str) else value, name)


@settings
class WModelProblem(SuiteProblem):
    """One function of the W-model (Weise and Wu 2018), as `ioh` has it, to be maximized over {0, 1}^d.

    The layers, in the order in which they act: a share of the bits is selected and the others are dummies; blocks of
    `neutrality_mu` bits become the one bit most of them have; blocks of `epistasis_block_size` bits are mapped so that
    neighbours turn into strangers; the ones, or leading ones, are counted; and these counts are permuted. Coordinates
    are rounded to the nearest integer, and the value is -inf outside the box.

    Attributes:
        function: ``"OneMax"`` or ``"LeadingOnes"``.
        instance: 1 is the function itself; 2 to 50 flip bits, 51 to 100 permute them; both scale and shift values. In
            instances 11, 26, 60, 63 and 78 the scale is negative, so that fewer ones are better.
        dimension: Number of bits, from 1.
        dummy_select_rate: The share of the bits that count, from 0 to 1; 0 switches the layer off, as does 1.
        epistasis_block_size: Length of the blocks, at most the bits left by the layers before; 0 for none.
        neutrality_mu: Length of the blocks, at most the bits selected; 0 for none.
        ruggedness_gamma: How much counts are permuted; `ioh` multiplies it by the dimension d, and this must not exceed
            s(s - 1)/2 if s bits are left by the layers before; 0 for not at all.

    Raises:
        TypeError: If something is no number.
        ValueError: If something is out of its range, or no bit is left.
    """

    function: Literal["OneMax", "LeadingOnes"]
    instance: Annotated[int, whole(1, LAST_INSTANCE)]
    dimension: Positive
    dummy_select_rate: Share = 0.0
    epistasis_block_size: Natural = 0
    neutrality_mu: Natural = 0
    ruggedness_gamma: Natural = 0

    def __post_init__(self) -> None:
        d, rate = self.dimension, self.dummy_select_rate
        selected = int(d * rate) if rate else d
        if not selected:
            raise ValueError(f"dummy_select_rate is {rate}, which selects none of {d} bits; raise it or the dimension")
        whole_number(self.neutrality_mu, "neutrality_mu", 0, selected)
        whole_number(self.epistasis_block_size, "epistasis_block_size", 0, self.bits)
        whole_number(self.ruggedness_gamma, "ruggedness_gamma", 0, self.bits * (self.bits - 1) // 2 // d)

    @property
    def bits(self) -> int:
        """How many bits the count is made of: what dummies and neutrality leave."""
        selected = int(self.dimension * self.dummy_select_rate) if self.dummy_select_rate else self.dimension
        return selected // max(self.neutrality_mu, 1)

    @property
    def identity(self) -> Instance:
        """As in ``"w-model-fOneMax-i1-d16"`` or ``"w-model-fOneMax_s0.5_e4_n2_r1-i1-d64"``."""
        layers = {
            "s": self.dummy_select_rate,
            "e": self.epistasis_block_size,
            "n": self.neutrality_mu,
            "r": self.ruggedness_gamma,
        }
        function = self.function + "".join(f"_{letter}{value!r}" for letter, value in layers.items() if value)
        return Instance("w-model", function, int(self.dimension), str(self.instance))

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem; the optimum is derived here, as `ioh` states that of instance 1 in all."""
        return integer_problem(self, *constructed(self._made))

    def _made(self, ioh: Any) -> tuple[Any, Box, float]:
        layers = (self.dummy_select_rate, self.epistasis_block_size, self.neutrality_mu, self.ruggedness_gamma)
        problem = getattr(ioh.problem, f"WModel{self.function}")(self.instance, self.dimension, *layers)
        # what a count of 0 and, over one bit, of 1 becomes in this instance
        nothing = float(ioh.problem.WModelOneMax(self.instance, 1, 0.0, 0, 2, 0)([0]))
        one_bit = ioh.problem.WModelOneMax(self.instance, 1)
        one = max((float(one_bit([bit])) for bit in (0, 1)), key=lambda value: abs(value - nothing))
        return problem, box_of(problem), nothing + max(0.0, (one - nothing) * self.bits)


@settings
class WModel(ProductStream):
    """An endless stream of W-model problems: all choices drawn uniformly and independently.

    Attributes:
        functions: ``"OneMax"``, ``"LeadingOnes"``, or both.
        dimensions: Numbers of bits, from 1.
        instances: Which of 1 to 100.
        dummy_select_rate: One or several shares of bits that count.
        epistasis_block_size: One or several lengths.
        neutrality_mu: One or several lengths.
        ruggedness_gamma: One or several degrees.
        seed: Which stream.

    Raises:
        TypeError: If something is no number.
        ValueError: If something is empty or named twice, or a combination is none that `WModelProblem` takes.
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
    drawn: ClassVar[Mapping[str, str]] = {
        "function": "functions",
        "dummy_select_rate": "dummy_select_rate",
        "epistasis_block_size": "epistasis_block_size",
        "neutrality_mu": "neutrality_mu",
        "ruggedness_gamma": "ruggedness_gamma",
        "instance": "instances",
        "dimension": "dimensions",
    }

    def __post_init__(self) -> None:
        varied = [argument for argument in self.drawn if argument != "instance"]
        for values in itertools.product(*(getattr(self, self.drawn[argument]) for argument in varied)):
            WModelProblem(instance=1, **dict(zip(varied, values, strict=True)))

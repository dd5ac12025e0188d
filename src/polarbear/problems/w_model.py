"""The W-model: OneMax and LeadingOnes with dummies, neutrality, epistasis and ruggedness at will, over `ioh`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from polarbear.descriptions import did_you_mean
from polarbear.problems.arguments import NumbersLike, numbers, set_fields, whole_number
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.ioh_suites import Box, box_of, constructed, integer_problem
from polarbear.problems.streams import ProductStream, distinct, share, shares
from polarbear.records import Instance

FUNCTIONS = ("OneMax", "LeadingOnes")
LAST_INSTANCE = 100


@dataclass(frozen=True)
class WModelProblem:
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

    function: str
    instance: int
    dimension: int
    dummy_select_rate: float = 0.0
    epistasis_block_size: int = 0
    neutrality_mu: int = 0
    ruggedness_gamma: int = 0

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise ValueError(f"w-model function is {self.function!r};{did_you_mean(str(self.function), FUNCTIONS)}")
        d = whole_number(self.dimension, "w-model dimension", 1)
        rate = share(self.dummy_select_rate, "dummy_select_rate")
        selected = int(d * rate) if rate else d
        if not selected:
            raise ValueError(f"dummy_select_rate is {rate}, which selects none of {d} bits; raise it or the dimension")
        mu = whole_number(self.neutrality_mu, "neutrality_mu", 0, selected)
        left = selected // max(mu, 1)
        set_fields(
            self,
            instance=whole_number(self.instance, "w-model instance", 1, LAST_INSTANCE),
            dimension=d,
            dummy_select_rate=rate,
            epistasis_block_size=whole_number(self.epistasis_block_size, "epistasis_block_size", 0, left),
            neutrality_mu=mu,
            ruggedness_gamma=whole_number(self.ruggedness_gamma, "ruggedness_gamma", 0, left * (left - 1) // 2 // d),
        )

    @property
    def bits(self) -> int:
        """How many bits the count is made of: what dummies and neutrality leave."""
        selected = int(self.dimension * self.dummy_select_rate) if self.dummy_select_rate else self.dimension
        return selected // max(self.neutrality_mu, 1)

    @property
    def identity(self) -> Instance:
        """Its suite, function with its layers, dimension and instance."""
        layers = {
            "s": self.dummy_select_rate,
            "e": self.epistasis_block_size,
            "n": self.neutrality_mu,
            "r": self.ruggedness_gamma,
        }
        function = self.function + "".join(f"_{letter}{value!r}" for letter, value in layers.items() if value)
        return Instance("w-model", function, int(self.dimension), str(self.instance))

    @property
    def name(self) -> str:
        """Such as ``"w-model-fOneMax-i1-d16"``, or ``"w-model-fOneMax_s0.5_e4_n2_r1-i1-d64"``."""
        return self.identity.name

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


@dataclass(frozen=True)
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

    functions: str | Sequence[str] = FUNCTIONS
    dimensions: NumbersLike = (64,)
    instances: NumbersLike = range(1, LAST_INSTANCE + 1)
    dummy_select_rate: float | Sequence[float] = (0.0,)
    epistasis_block_size: NumbersLike = (0,)
    neutrality_mu: NumbersLike = (0,)
    ruggedness_gamma: NumbersLike = (0,)
    seed: int = 0

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
        named = (self.functions,) if isinstance(self.functions, str) else self.functions
        set_fields(
            self,
            functions=distinct(named, "functions"),
            dimensions=numbers(self.dimensions, "dimensions", 1),
            instances=numbers(self.instances, "instances", 1, LAST_INSTANCE),
            dummy_select_rate=shares(self.dummy_select_rate, "dummy_select_rate"),
            epistasis_block_size=numbers(self.epistasis_block_size, "epistasis_block_size", 0),
            neutrality_mu=numbers(self.neutrality_mu, "neutrality_mu", 0),
            ruggedness_gamma=numbers(self.ruggedness_gamma, "ruggedness_gamma", 0),
            seed=whole_number(self.seed, "seed", 0),
        )
        varied = [argument for argument in self.drawn if argument != "instance"]
        for values in itertools.product(*(getattr(self, self.drawn[argument]) for argument in varied)):
            WModelProblem(instance=1, **dict(zip(varied, values, strict=True)))

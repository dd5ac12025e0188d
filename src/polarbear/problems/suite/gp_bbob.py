"""GP-BBOB: mixtures of the SBOX-BBOB functions with weights that vary over the space, drawn from priors.

The generator is that of Wurth et al. (2026), appendix C, equations 39 to 45 and table 3.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any, cast

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.bbob import HALF_WIDTH
from polarbear.problems.functions.gp_bbob import Mixture
from polarbear.problems.functions.ioh import FUNCTIONS
from polarbear.problems.number_sets import Numbers
from polarbear.problems.suite.base import EndlessStream, digest
from polarbear.problems.suite.bbob import BBOBInstances, Dimension, InstanceOfEach
from polarbear.problems.suite.priors import STANDARD, Prior
from polarbear.protocols import PLAIN, Traits
from polarbear.validation import Checked, Finite, Natural, Positive, real, set_fields, settings

SPARSITY = "Trunc(LN(1.1, 0.5); [2, 24])"
"""The distribution F_K of table 3."""


def _sparsity(value: Any, name: str) -> str | float:
    prior = Prior.parse(value, name)
    low, high = prior.support
    if low < 1 or high >= FUNCTIONS + 1:
        raise ValueError(
            f"{name} is {value!r}, which allows {low:g} to {high:g} active components; "
            f"it must allow only 1 to {FUNCTIONS}"
        )
    return prior.written


Sparsity = Annotated[str | float, Checked(_sparsity)]
"""The notation of F_K, checked to give valid numbers of components."""


@settings(kw_only=True)
class GPBBOBProblem:
    """One GP-BBOB function in the box [-5, 5]^d; the value outside is +inf. Its best value is unknown.

    Attributes:
        dimension: Number of variables d, from 2.
        instances: (24,) instance numbers of the SBOX-BBOB functions, i_1 to i_24.
        seed: Seed of the features of both random fields.
        offset: y_0, added to all values.
        temperature: T, positive; the lower it is, the more the largest logit dominates.
        features: m, the number of random Fourier features of the logits.
        lengthscale: ℓ of the logits, positive, in the units of the box.
        amplitude: σ of the logits, non-negative.
        sparsity: F_K, the distribution whose integer part is the number k(x) of active components; or that number.
        sparsity_features: m_k, the number of features of the field behind k(x).
        sparsity_lengthscale: ℓ_k of that field, positive.
        sparsity_amplitude: σ_k of that field, non-negative; if it is 1, k(x) has the distribution F_K.
        label: The instance's name; by default derived from the contents.

    Raises:
        FieldError: If a field is not a number or out of range, or there are not 24 instances.
    """

    dimension: Dimension
    instances: InstanceOfEach
    seed: Natural = 0
    offset: Finite = 0.0
    temperature: Annotated[float, real(gt=0)] = 1.0
    features: Positive = 128
    lengthscale: Annotated[float, real(gt=0)] = 5.0
    amplitude: Annotated[float, real(ge=0)] = 1.0
    sparsity: Sparsity = SPARSITY
    sparsity_features: Positive = 64
    sparsity_lengthscale: Annotated[float, real(gt=0)] = 5.0
    sparsity_amplitude: Annotated[float, real(ge=0)] = 1.0
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            contents = [getattr(self, field) for field in self.__dataclass_fields__ if field != "label"]
            set_fields(self, label=f"gp-bbob-d{self.dimension}-x{digest(contents, 10)}")

    @property
    def traits(self) -> Traits:
        """No traits beyond a function over a box."""
        return PLAIN

    @property
    def name(self) -> str:
        """The label, such as ``"gp-bbob-d240-s0-17"``."""
        return self.label

    def mixture(self) -> Mixture:
        """The function itself, with weights and sparsity; builds all 24 components."""
        return Mixture(self, sparsity_thresholds(Prior.parse(self.sparsity, "sparsity")))

    def build(self) -> BuiltProblem:
        """Draw the fields and build all components."""
        function = self.mixture()
        box = np.full(self.dimension, HALF_WIDTH)
        return BuiltProblem(self, function, function.batch, (-box, box), None)


def sparsity_thresholds(prior: Prior) -> list[float]:
    """The values of h at which k(x) = F_K⁻¹(Φ(h)) grows by one: k is 1 plus the number of these that are at most h.

    K is the integer part of a number with the given distribution.

    Returns:
        The h at which k becomes 2, 3, …, 24; infinite where that happens for no h, or for all.
    """
    return [_probit(prior.below(float(k))) for k in range(2, FUNCTIONS + 1)]


def _probit(u: float) -> float:
    """Φ⁻¹(u), infinite at 0 and 1."""
    return -math.inf if u <= 0 else math.inf if u >= 1 else STANDARD.inv_cdf(u)


COUNTS = ("dimension", "features", "sparsity_features")
"""Fields whose values are rounded down to integers."""


def _prior(value: Any, name: str, least: float = -math.inf, positive: bool = False) -> str | float:
    prior = Prior.parse(value, name)
    lowest = prior.support[0]
    strictly = positive and prior.kind == "fixed"
    if lowest < least or (strictly and lowest == 0):
        limit = f"above {least:g}" if strictly else f"{least:g} or more"
        raise ValueError(
            f"{name} is {value!r}; it must be {limit}"
            if prior.kind == "fixed"
            else f"{name} is {value!r}, which allows {lowest:g}; it must allow only {limit}: truncate it as in "
            "'Trunc(N(240, 30); [2, 320])'"
        )
    if name in COUNTS and prior.kind == "fixed" and not lowest.is_integer():
        raise ValueError(f"{name} is {value!r}; it must be a whole number")
    return prior.written


AnyPrior = Annotated[str | float, Checked(_prior)]
AtLeast0 = Annotated[str | float, Checked(partial(_prior, least=0))]
AtLeast1 = Annotated[str | float, Checked(partial(_prior, least=1))]
AtLeast2 = Annotated[str | float, Checked(partial(_prior, least=2))]
Above0 = Annotated[str | float, Checked(partial(_prior, least=0, positive=True))]
"""Notations of priors without values below a limit."""


@settings
class GPBBOB(EndlessStream[GPBBOBProblem]):
    """An endless stream of random GP-BBOB functions (Wurth et al. 2026, appendix C); the defaults are its table 3.

    Each prior is a number, for a fixed value, or a distribution in the table's notation: ``"N(mean, sd)"``,
    ``"LN(mean, sd)"``, ``"Cauchy(location, scale)"``, ``"U(low, high)"``, ``"DU{low, ..., high}"``, any but the last
    inside ``"Trunc(…; [low, high])"``, and with a factor in front, ``"1000 * Cauchy(0, 1)"``. Values of counts are
    rounded down to integers. No prior affects the values drawn from the others.

    Attributes:
        dimension: Prior of d.
        seed: Seed of the stream.
        instances: Prior of i: the instance numbers of the SBOX-BBOB functions to draw from, uniformly.
        offset: Prior of y_0.
        temperature: Prior of T.
        features: Prior of m.
        lengthscale: Prior of ℓ.
        amplitude: Prior of σ.
        sparsity: F_K, which is not drawn from but used directly: k(x) = ⌊F_K⁻¹(Φ(h(x)))⌋.
        sparsity_features: Prior of m_k.
        sparsity_lengthscale: Prior of ℓ_k.
        sparsity_amplitude: Prior of σ_k.

    Raises:
        FieldError: If a field is neither a number nor a distribution, or allows impossible values.
    """

    dimension: AtLeast2 = "Trunc(N(240, 30); [2, 320])"
    seed: Natural = 0
    instances: BBOBInstances = range(1, 1000)
    offset: AnyPrior = "1000 * Cauchy(0, 1)"
    temperature: Above0 = "LN(-0.5, 0.5)"
    features: AtLeast1 = "DU{32, ..., 128}"
    lengthscale: Above0 = "LN(2, 1)"
    amplitude: AtLeast0 = "LN(0, 0.7)"
    sparsity: Sparsity = SPARSITY
    sparsity_features: AtLeast1 = "DU{16, ..., 64}"
    sparsity_lengthscale: Above0 = "LN(0, 1)"
    sparsity_amplitude: AtLeast0 = "LN(0, 0.7)"

    def _at(self, index: int) -> GPBBOBProblem:
        for_fields, for_instances, *others = map(
            np.random.default_rng, np.random.SeedSequence([self.seed, index]).spawn(2 + len(DRAWN))
        )
        parameters: dict[str, Any] = {}
        for name, rng in zip(DRAWN, others, strict=True):
            value = Prior.parse(getattr(self, name), name).draw(rng)
            parameters[name] = math.floor(value) if name in COUNTS else value
        choices = cast("Numbers", self.instances)
        return GPBBOBProblem(
            **parameters,
            instances=[choices[int(i)] for i in for_instances.integers(len(choices), size=FUNCTIONS)],
            sparsity=self.sparsity,
            seed=int(for_fields.integers(2**53)),
            label=f"gp-bbob-d{parameters['dimension']}-s{self.seed}-{index}{self._suffix()}",
        )

    def _suffix(self) -> str:
        """The part of names that distinguishes streams other than table 3's; the dimension is in the name anyway."""
        fields = [field for name, field in GPBBOB.__dataclass_fields__.items() if name not in {"dimension", "seed"}]
        values = [getattr(self, field.name) for field in fields]
        return "" if values == [field.default for field in fields] else f"-p{digest(values, 6)}"


DRAWN = tuple(name for name in GPBBOB.__dataclass_fields__ if name not in {"seed", "instances", "sparsity"})
"""Fields that are drawn for each problem, in this order."""

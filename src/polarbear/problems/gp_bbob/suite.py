"""GP-BBOB as a problem and as a stream of problems drawn from priors."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, cast

import numpy as np

from polarbear.problems.arguments import Numbers, NumbersLike, numbers, set_fields, whole_number
from polarbear.problems.bbob_functions import HALF_WIDTH
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.gp_bbob.mixture import Mixture
from polarbear.problems.gp_bbob.priors import Prior
from polarbear.problems.ioh_suites import FUNCTIONS, LAST_INSTANCE
from polarbear.problems.streams import EndlessStream
from polarbear.problems.traits import PLAIN, Traits

SPARSITY = "Trunc(LN(1.1, 0.5); [2, 24])"
"""F_K of table 3."""

LEAST: dict[str, float] = {
    "dimension": 2,
    "offset": -math.inf,
    "temperature": 0,
    "features": 1,
    "lengthscale": 0,
    "amplitude": 0,
    "sparsity_features": 1,
    "sparsity_lengthscale": 0,
    "sparsity_amplitude": 0,
}
"""What is drawn for each problem, in this order, and the least value it may take."""

COUNTS = ("dimension", "features", "sparsity_features")
"""What is cast to a whole number."""


@dataclass(frozen=True, kw_only=True)
class GPBBOBProblem:
    """One GP-BBOB function in the box [-5, 5]^d; the value outside is +inf. Its best value is not known.

    Attributes:
        dimension: Number of variables d, from 2.
        instances: (24,) instance numbers of the SBOX-BBOB functions, i_1 to i_24.
        seed: From which the features of both fields derive.
        offset: y_0, added to all values.
        temperature: T, positive: the lower, the more the greatest logit prevails.
        features: m, how many random Fourier features the logits have.
        lengthscale: ℓ of the logits, positive, in the units of the box.
        amplitude: σ of the logits, not negative.
        sparsity: F_K, the distribution whose whole part is k(x), the number of active components; or that number.
        sparsity_features: m_k, how many features the field behind k(x) has.
        sparsity_lengthscale: ℓ_k of that field, positive.
        sparsity_amplitude: σ_k of that field, not negative; at 1, k(x) has the distribution F_K.
        label: The instance's name; by default made from the contents.

    Raises:
        TypeError: If something is no number.
        ValueError: If something is out of its range, or there are not 24 instances.
    """

    dimension: int
    instances: Sequence[int]
    seed: int = 0
    offset: float = 0.0
    temperature: float = 1.0
    features: int = 128
    lengthscale: float = 5.0
    amplitude: float = 1.0
    sparsity: str | float = SPARSITY
    sparsity_features: int = 64
    sparsity_lengthscale: float = 5.0
    sparsity_amplitude: float = 1.0
    label: str = ""

    def __post_init__(self) -> None:
        given = tuple(self.instances)
        if len(given) != FUNCTIONS:
            raise ValueError(f"instances holds {len(given)} numbers; GP-BBOB mixes {FUNCTIONS} functions")
        drawn = {
            name: whole_number(getattr(self, name), name, int(least)) if name in COUNTS else self._real(name, least)
            for name, least in LEAST.items()
        }
        instances = tuple(
            whole_number(i, f"instance of function {f}", 1, LAST_INSTANCE) for f, i in enumerate(given, 1)
        )
        seed = whole_number(self.seed, "seed", 0)
        set_fields(self, **drawn, instances=instances, seed=seed, sparsity=_sparsity(self.sparsity))
        if not self.label:
            contents = repr([getattr(self, field) for field in self.__dataclass_fields__ if field != "label"])
            digest = hashlib.sha256(contents.encode()).hexdigest()[:10]
            set_fields(self, label=f"gp-bbob-d{self.dimension}-x{digest}")

    def _real(self, name: str, least: float) -> float:
        value: object = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{name} is {value!r}; it must be a number")
        value = float(value)
        positive = name == "temperature" or name.endswith("lengthscale")
        if not math.isfinite(value) or value < least or (positive and value == 0):
            valid = "positive" if positive else "finite" if least < 0 else "0 or more"
            raise ValueError(f"{name} is {value!r}; it must be {valid}")
        return value

    @property
    def traits(self) -> Traits:
        """It is nothing beyond a function over a box."""
        return PLAIN

    @property
    def name(self) -> str:
        """The label, such as ``"gp-bbob-d240-s0-17"``."""
        return self.label

    def mixture(self) -> Mixture:
        """The function itself, which also tells weights and sparsity; builds all 24 components."""
        return Mixture(self)

    def build(self) -> BuiltProblem:
        """Draw the fields and build all components."""
        function = self.mixture()
        box = np.full(self.dimension, HALF_WIDTH)
        return BuiltProblem(self, function, function.batch, (-box, box), None)


@dataclass(frozen=True)
class GPBBOB(EndlessStream[GPBBOBProblem]):
    """An endless stream of random GP-BBOB functions (Wurth et al. 2026, appendix C); the defaults are its table 3.

    Each prior is a number, for a fixed value, or a distribution as the table writes them: ``"N(mean, sd)"``,
    ``"LN(mean, sd)"``, ``"Cauchy(location, scale)"``, ``"U(low, high)"``, ``"DU{low, ..., high}"``, any but the last
    inside ``"Trunc(…; [low, high])"``, and with a factor in front, ``"1000 * Cauchy(0, 1)"``. What counts something is
    cast to a whole number, downwards. No prior changes what the others give.

    Attributes:
        dimension: d.
        seed: Which stream.
        instances: Which instance numbers of the SBOX-BBOB functions to draw from, uniformly: i.
        offset: y_0.
        temperature: T.
        features: m.
        lengthscale: ℓ.
        amplitude: σ.
        sparsity: F_K, not drawn but used as it is: k(x) = ⌊F_K⁻¹(Φ(h(x)))⌋.
        sparsity_features: m_k.
        sparsity_lengthscale: ℓ_k.
        sparsity_amplitude: σ_k.

    Raises:
        TypeError: If something is neither a number nor a distribution.
        ValueError: If a distribution is malformed or allows impossible values.
    """

    dimension: str | float = "Trunc(N(240, 30); [2, 320])"
    seed: int = 0
    instances: NumbersLike = range(1, 1000)
    offset: str | float = "1000 * Cauchy(0, 1)"
    temperature: str | float = "LN(-0.5, 0.5)"
    features: str | float = "DU{32, ..., 128}"
    lengthscale: str | float = "LN(2, 1)"
    amplitude: str | float = "LN(0, 0.7)"
    sparsity: str | float = SPARSITY
    sparsity_features: str | float = "DU{16, ..., 64}"
    sparsity_lengthscale: str | float = "LN(0, 1)"
    sparsity_amplitude: str | float = "LN(0, 0.7)"

    def __post_init__(self) -> None:
        set_fields(
            self,
            **{name: _prior(getattr(self, name), name, least) for name, least in LEAST.items()},
            seed=whole_number(self.seed, "seed", 0),
            instances=numbers(self.instances, "instances", 1, LAST_INSTANCE),
            sparsity=_sparsity(self.sparsity),
        )

    def _at(self, index: int) -> GPBBOBProblem:
        for_fields, for_instances, *others = map(
            np.random.default_rng, np.random.SeedSequence([self.seed, index]).spawn(2 + len(LEAST))
        )
        drawn: dict[str, Any] = {
            name: Prior.parse(getattr(self, name), name).draw(rng) for name, rng in zip(LEAST, others, strict=True)
        }
        drawn |= {name: math.floor(drawn[name]) for name in COUNTS}
        choices = cast("Numbers", self.instances)
        return GPBBOBProblem(
            **drawn,
            instances=[choices[int(i)] for i in for_instances.integers(len(choices), size=FUNCTIONS)],
            sparsity=self.sparsity,
            seed=int(for_fields.integers(2**53)),
            label=f"gp-bbob-d{drawn['dimension']}-s{self.seed}-{index}{self._suffix()}",
        )

    def _suffix(self) -> str:
        """Tells streams apart that draw differently from the usual; the dimension has its place in the name."""
        usual = GPBBOB.__dataclass_fields__
        settings = [getattr(self, field) for field in usual if field not in {"dimension", "seed"}]
        if settings == [usual[field].default for field in usual if field not in {"dimension", "seed"}]:
            return ""
        return f"-p{hashlib.sha256(repr(settings).encode()).hexdigest()[:6]}"


def _prior(value: Any, what: str, least: float) -> str | float:
    """A prior as it is written, checked to give no value below `least`."""
    prior = Prior.parse(value, what)
    lowest = prior.support[0]
    strictly = prior.kind == "fixed" and (what == "temperature" or what.endswith("lengthscale"))
    if lowest < least or (strictly and lowest == 0):
        raise ValueError(
            f"{what} is {value!r}, which allows {lowest:g}; valid is {least:g} or more"
            + (" (above 0)" if strictly else "")
            + "; a distribution is cut off as in 'Trunc(N(240, 30); [2, 320])'"
        )
    if what in COUNTS and prior.kind == "fixed" and not lowest.is_integer():
        raise ValueError(f"{what} is {value!r}; it must be a whole number")
    return prior.written


def _sparsity(value: Any) -> str | float:
    """F_K as it is written, checked to lie where there are components."""
    prior = Prior.parse(value, "sparsity")
    low, high = prior.support
    if low < 1 or high >= FUNCTIONS + 1:
        raise ValueError(
            f"sparsity is {value!r}, which allows {low:g} to {high:g} active components; valid is 1 to {FUNCTIONS}"
        )
    return prior.written

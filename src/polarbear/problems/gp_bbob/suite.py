"""GP-BBOB as a stream of problems drawn from priors."""

from __future__ import annotations

import hashlib
import math
from functools import partial
from typing import Annotated, Any, cast

import numpy as np

from polarbear.problems.gp_bbob.priors import Prior
from polarbear.problems.gp_bbob.problem import SPARSITY, GPBBOBProblem, Sparsity
from polarbear.problems.ioh_suites import FUNCTIONS, LAST_INSTANCE
from polarbear.problems.number_sets import Numbers, NumbersLike, number_set
from polarbear.problems.streams import EndlessStream
from polarbear.validation import Checked, Natural, settings

DRAWN = (
    "dimension",
    "offset",
    "temperature",
    "features",
    "lengthscale",
    "amplitude",
    "sparsity_features",
    "sparsity_lengthscale",
    "sparsity_amplitude",
)
"""Fields that are drawn for each problem, in this order."""

COUNTS = ("dimension", "features", "sparsity_features")
"""Fields whose values are rounded down to whole numbers."""


def _prior(value: Any, name: str, least: float = -math.inf, positive: bool = False) -> str | float:
    prior = Prior.parse(value, name)
    lowest = prior.support[0]
    strictly = positive and prior.kind == "fixed"
    if lowest < least or (strictly and lowest == 0):
        raise ValueError(
            f"{name} is {value!r}, which allows {lowest:g}; valid is {least:g} or more"
            + (" (above 0)" if strictly else "")
            + "; a distribution is cut off as in 'Trunc(N(240, 30); [2, 320])'"
        )
    if name in COUNTS and prior.kind == "fixed" and not lowest.is_integer():
        raise ValueError(f"{name} is {value!r}; it must be a whole number")
    return prior.written


def prior(least: float = -math.inf, *, positive: bool = False) -> Checked:
    """A prior as it is written, checked to give no value below `least`; if `positive`, no fixed value of 0 either."""
    return Checked(partial(_prior, least=least, positive=positive))


@settings
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

    dimension: Annotated[str | float, prior(2)] = "Trunc(N(240, 30); [2, 320])"
    seed: Natural = 0
    instances: Annotated[NumbersLike, number_set(1, LAST_INSTANCE)] = range(1, 1000)
    offset: Annotated[str | float, prior()] = "1000 * Cauchy(0, 1)"
    temperature: Annotated[str | float, prior(0, positive=True)] = "LN(-0.5, 0.5)"
    features: Annotated[str | float, prior(1)] = "DU{32, ..., 128}"
    lengthscale: Annotated[str | float, prior(0, positive=True)] = "LN(2, 1)"
    amplitude: Annotated[str | float, prior(0)] = "LN(0, 0.7)"
    sparsity: Sparsity = SPARSITY
    sparsity_features: Annotated[str | float, prior(1)] = "DU{16, ..., 64}"
    sparsity_lengthscale: Annotated[str | float, prior(0, positive=True)] = "LN(0, 1)"
    sparsity_amplitude: Annotated[str | float, prior(0)] = "LN(0, 0.7)"

    def _at(self, index: int) -> GPBBOBProblem:
        for_fields, for_instances, *others = map(
            np.random.default_rng, np.random.SeedSequence([self.seed, index]).spawn(2 + len(DRAWN))
        )
        drawn: dict[str, Any] = {
            name: Prior.parse(getattr(self, name), name).draw(rng) for name, rng in zip(DRAWN, others, strict=True)
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

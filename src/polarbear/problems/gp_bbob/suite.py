"""GP-BBOB as a stream of problems drawn from priors."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from polarbear.problems.arguments import Numbers, NumbersLike, numbers, set_fields, whole_number
from polarbear.problems.gp_bbob.priors import Prior
from polarbear.problems.gp_bbob.problem import COUNTS, LEAST, SPARSITY, GPBBOBProblem, checked_sparsity
from polarbear.problems.ioh_suites import FUNCTIONS, LAST_INSTANCE
from polarbear.problems.streams import EndlessStream


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
            sparsity=checked_sparsity(self.sparsity),
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

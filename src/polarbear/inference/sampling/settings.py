"""How a posterior is to be computed: what `polarbear.inference.fit` passes on to a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polarbear.inference.sampling.cache import FitCache

NLIS = "nlis"
"""Nested Laplace importance sampling, and whatever it falls back on."""
HMC = "hmc"
"""Hamiltonian Monte Carlo of our own."""
EXACT_GIBBS = "gibbs"
"""Gibbs sampling of the Dirichlet models."""
NUTS = "nuts"
"""The No-U-Turn sampler by NumPyro; needs the extra ``nuts``."""
PATHFINDER = "pathfinder"
"""Pathfinder by BlackJAX; needs the extra ``nuts``."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What makes a random generator, in any process.

    Attributes:
        kind: The algorithm that makes random bits.
        sequence: What it is seeded with.
    """

    kind: type[np.random.BitGenerator]
    sequence: np.random.SeedSequence

    def generator(self) -> np.random.Generator:
        """A generator that begins anew."""
        return np.random.Generator(self.kind(self.sequence))


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """How a posterior is to be computed.

    Attributes:
        draws: How many posterior draws.
        rng: The source of all randomness.
        method: One of the model's `methods`.
        cache: What the last fit computed, for models that can take it up.

    Raises:
        ValueError: If `draws` is below 1.
        TypeError: If `rng` is no numpy Generator.
    """

    draws: int
    rng: np.random.Generator
    method: str = NLIS
    cache: FitCache = field(default_factory=FitCache)

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise ValueError(f"draws is {self.draws!r}; at least 1 posterior draw is needed")
        if not isinstance(self.rng, np.random.Generator):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"rng is {self.rng!r}; give a generator such as numpy.random.default_rng(1)")

    def seeds(self, number: int) -> list[Seed]:
        """The seeds of the generators that ``rng.spawn(number)`` would return."""
        bits = self.rng.bit_generator
        sequences: Any = bits.seed_seq
        return [Seed(type(bits), sequence) for sequence in sequences.spawn(number)]

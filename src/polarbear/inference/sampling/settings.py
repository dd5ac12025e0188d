"""Settings of the computation of a posterior, which `polarbear.inference.fit` passes to a model."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NLIS = "nlis"
"""Nested Laplace importance sampling, with its fallbacks."""
HMC = "hmc"
"""polarbear's own Hamiltonian Monte Carlo."""
EXACT_GIBBS = "gibbs"
"""Gibbs sampling of the Dirichlet models."""
NUTS = "nuts"
"""The No-U-Turn sampler by NumPyro; needs the extra ``nuts``."""
PATHFINDER = "pathfinder"
"""Pathfinder by BlackJAX; needs the extra ``nuts``."""


class FitCache:
    """Results of the last fit at each timepoint, keyed by all their inputs, for reuse by the next fit."""

    def __init__(self) -> None:
        self._last: dict[bytes, Any] = {}
        self._now: dict[bytes, Any] = {}

    def begin(self) -> None:
        """Begin a fit, and drop results from before the last one."""
        self._last, self._now = self._now, {}

    @staticmethod
    def key(*causes: Any) -> bytes:
        """The key of a result: everything it depends on, as bytes."""
        return pickle.dumps(causes)

    def known(self, key: bytes) -> Any | None:
        """The last fit's result for this key, or None."""
        return self._last.get(key)

    def keep(self, key: bytes, result: object) -> None:
        """Remember a result for the next fit."""
        self._now[key] = result


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed that gives the same random generator in any process.

    Attributes:
        kind: The class of the bit generator.
        sequence: The seed of the bit generator.
    """

    kind: type[np.random.BitGenerator]
    sequence: np.random.SeedSequence

    def generator(self) -> np.random.Generator:
        """A generator in its initial state."""
        return np.random.Generator(self.kind(self.sequence))


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """Settings of the computation of a posterior.

    Attributes:
        draws: Number of posterior draws.
        rng: The source of all randomness.
        method: One of the model's `methods`.
        cache: Results of the last fit, for models that can reuse them.

    Raises:
        ValueError: If `draws` is below 1.
        TypeError: If `rng` is not a NumPy Generator.
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

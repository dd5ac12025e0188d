"""How a posterior is computed: what `polarbear.inference.fit` passes on to a model."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NLIS = "nlis"
"""Nested Laplace importance sampling, and what it falls back on."""
HMC = "hmc"
"""Our own Hamiltonian Monte Carlo."""
EXACT_GIBBS = "gibbs"
"""Gibbs sampling of the Dirichlet models."""
NUTS = "nuts"
"""The No-U-Turn sampler by NumPyro; needs the extra ``nuts``."""
PATHFINDER = "pathfinder"
"""Pathfinder by BlackJAX; needs the extra ``nuts``."""


class FitCache:
    """What the last fit computed at each timepoint, keyed by all that it depends on, for the next fit."""

    def __init__(self) -> None:
        self._last: dict[bytes, Any] = {}
        self._now: dict[bytes, Any] = {}

    def begin(self) -> None:
        """Begin a fit: results from before the last fit are forgotten."""
        self._last, self._now = self._now, {}

    @staticmethod
    def key(*causes: Any) -> bytes:
        """All that a result depends on, as bytes."""
        return pickle.dumps(causes)

    def known(self, key: bytes) -> Any | None:
        """The last fit's result, or None if it had none by this key."""
        return self._last.get(key)

    def keep(self, key: bytes, result: object) -> None:
        """Remember a result for the next fit."""
        self._now[key] = result


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed that makes the same random generator in any process.

    Attributes:
        kind: The algorithm that generates random bits.
        sequence: Its seed.
    """

    kind: type[np.random.BitGenerator]
    sequence: np.random.SeedSequence

    def generator(self) -> np.random.Generator:
        """A generator in its initial state."""
        return np.random.Generator(self.kind(self.sequence))


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """How a posterior is computed.

    Attributes:
        draws: Number of posterior draws.
        rng: The source of all randomness.
        method: One of the model's `methods`.
        cache: What the last fit computed, for models that can use it.

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

"""How a posterior is to be computed: what `polarbear.inference.fit` passes on to a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NLIS = "nlis"
"""Nested Laplace importance sampling, and whatever it falls back on."""
HMC = "hmc"
"""Hamiltonian Monte Carlo of our own."""
EXACT_GIBBS = "gibbs"
"""Gibbs sampling of the independent Dirichlet model."""


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """How a posterior is to be computed.

    Attributes:
        draws: How many posterior draws.
        rng: The source of all randomness.
        method: One of the model's `methods`.

    Raises:
        ValueError: If `draws` is below 1.
        TypeError: If `rng` is no numpy Generator.
    """

    draws: int
    rng: np.random.Generator
    method: str = NLIS

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise ValueError(f"draws is {self.draws!r}; at least 1 posterior draw is needed")
        if not isinstance(self.rng, np.random.Generator):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"rng is {self.rng!r}; give a generator such as numpy.random.default_rng(1)")

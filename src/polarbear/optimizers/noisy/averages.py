"""The recommendation of a run under noise: an average of its means, from the start that reached the lowest values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from polarbear.records import FloatArray

DECAY = 8.0
"""η of polynomial-decay averaging (Shamir and Zhang, 2013, section 4), which forgets all but the last part of a start:
half of the weight lies on the last 1 - 2^(-1/(η+1)) = 7 %."""
WINDOW = 20
"""Number of generations whose values show how low a start has come; before that, an earlier start is preferred."""


@dataclass(kw_only=True, eq=False)
class Average:
    """The averaged mean of the generations since a start, and the level of their values.

    Attributes:
        mean: (d,) the averaged mean; None before the first generation.
        generations: Number of generations averaged.
        medians: The median value of each of the last `WINDOW` generations.
    """

    mean: FloatArray | None = None
    generations: int = 0
    medians: list[float] = field(default_factory=list[float])

    def add(self, mean: FloatArray, values: FloatArray) -> None:
        """Add a generation: the mean (d,) after it and the values (λ,) of its candidates."""
        self.generations += 1
        share = (DECAY + 1) / (DECAY + self.generations)
        self.mean = mean if self.mean is None else self.mean + share * (mean - self.mean)
        self.medians.append(float(np.median(values)))
        del self.medians[:-WINDOW]

    @property
    def level(self) -> float:
        """The median of the median values of the last generations; +inf after fewer than `WINDOW` generations."""
        return float(np.median(self.medians)) if len(self.medians) == WINDOW else math.inf

"""Where paths are drawn: a value of the hyperparameters with a Gaussian for the path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polarbear.inference.modes import Centre
from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A value of the hyperparameters, and the Gaussian that approximates the posterior of the path there.

    Attributes:
        hyperparameters: (p,) their logarithms.
        centre: The Gaussian's centre and precision.
        offset: What does not depend on the path in the log-ratio of posterior to proposal density.
    """

    hyperparameters: FloatArray
    centre: Centre
    offset: float

    @classmethod
    def at(cls, hyperparameters: FloatArray, centre: Centre, log_prior: float) -> Node:
        """A node, given the log-ratio of prior to proposal density of its hyperparameters."""
        height = -0.5 * float(np.vdot(centre.path, centre.pull)) - centre.conditioned.half_log_det
        return cls(hyperparameters, centre, log_prior + height)

    def path(self, moves: FloatArray) -> FloatArray:
        """(T, q, D) the paths that differ from the centre by `moves`."""
        return self.centre.path[:, :, np.newaxis] + moves

    def log_ratio(self, moves: FloatArray) -> FloatArray:
        """(D,) log of posterior over proposal density for moves (T, q, D), the log-likelihood left out.

        With x = m + d, J m = Aᵀ α and δ = A d, what remains of −½ xᵀ J x + ½ dᵀ H d is −½ mᵀ J m − α · δ + ½ δᵀ C δ.
        """
        bent = self.centre.curvature @ moves
        bent *= 0.5
        bent -= self.centre.pull[:, :, np.newaxis]
        return self.offset + np.einsum("tqd,tqd->d", moves, bent)

    def log_ratio_slope(self, moves: FloatArray) -> FloatArray:
        """(T, q, D) the gradient of `log_ratio` in the moves."""
        return self.centre.curvature @ moves - self.centre.pull[:, :, np.newaxis]

"""Exact PEM: expected rank weights for a given noise distribution (Wang and Lu, 2026, section 4.1)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from polarbear.optimizers.noisy.expected_weights import rank_probabilities, superpose
from polarbear.optimizers.noisy.posterior import posterior_means
from polarbear.optimizers.noisy.selection import Generation, Selection, rank, stage
from polarbear.records import FloatArray
from polarbear.validation import real, whole


@stage("known-noise")
class KnownNoise(Selection):
    """Expected rank weights under noise of a given distribution around the observed values, without reevaluation.

    They are exact up to quadrature: no residuals have to be collected and no rankings drawn. In a generation with an
    infinite value, or with noise of scale 0, the weights follow from the observed ranks.

    Attributes:
        law: The distribution of the standardized noise: with standard deviation 1, or Cauchy with scale 1.
        scale: The noise's scale at the value 0, in units of the objective.
        relative: The increase of the scale per unit of the value's magnitude.
        nodes: Number of quantiles that represent the distribution.
    """

    law: Literal["normal", "laplace", "uniform", "cauchy"] = "normal"
    scale: Annotated[float, real(ge=0)] = 1.0
    relative: Annotated[float, real(ge=0)] = 0.0
    nodes: Annotated[int, whole(8, 10_000)] = 64

    def weigh(self, memory: Any, generation: Generation, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        """See `Selection`."""
        values, table = generation.values[:, 0], generation.parameters.rank_weights
        scales = self.scale + self.relative * np.abs(values)
        if not (np.isfinite(values) & (scales > 0)).all():
            return table[:, rank(values)]
        return superpose(self.rank_probabilities(values, scales), table)

    @property
    def knows_noise(self) -> bool:
        """Whether the noise distribution has a variance."""
        return self.law != "cauchy"

    def posterior(self, memory: Any, generation: Generation) -> FloatArray:  # noqa: ARG002
        """See `Selection`."""
        values = generation.values[:, 0]
        return posterior_means(values, np.square(self.scale + self.relative * np.abs(values)))

    def rank_probabilities(self, values: FloatArray, scales: FloatArray) -> FloatArray:
        """(λ, λ) for each candidate and each k, the probability of rank k, with noise of scales (λ,)."""
        law = _law(self.law)
        quantiles = law.ppf((np.arange(self.nodes) + 0.5) / self.nodes)
        nodes: FloatArray = values[:, np.newaxis] + scales[:, np.newaxis] * quantiles
        below = law.cdf((nodes[:, :, np.newaxis] - values) / scales)
        return rank_probabilities(below, np.full(nodes.shape, 1 / self.nodes))


def _law(name: str) -> Any:
    from scipy import stats

    if name == "uniform":
        return stats.uniform(-np.sqrt(3), 2 * np.sqrt(3))
    return {"normal": stats.norm(), "laplace": stats.laplace(scale=np.sqrt(0.5)), "cauchy": stats.cauchy()}[name]

"""Comparison of the instances of functions (Vermetten 2025, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polarbear.assess.functions import function_of
from polarbear.landscape.instances import Embedding, InstanceFeatures
from polarbear.landscape.properties import mean_precision, optimum_location
from polarbear.protocols import ProblemSpec, identity_of
from polarbear.records import FloatArray

GRID = 41
"""Number of grid points along each variable of a mean landscape."""


@dataclass(frozen=True, eq=False)
class InstanceComparison:
    """How the instances of functions in one box differ.

    Attributes:
        features: Features of the instances, on common designs.
        lower: (d,) lower bounds of the box.
        upper: (d,) upper bounds of the box.
        functions: (f,) names of the functions, such as ``"bbob-f1-d5"``.
        rates: (f, m) share of pairs of instances whose features differ; NaN for features that some instance lacks.
        embedding: (k, 2) embedding of the instances by their features; None if they are too few.
        method: Embedding method.
        optima: For each function, (i, d) locations of the optima of those instances that provide them.
        mean_landscapes: For each function of two variables with known optima, (g, g) geometric mean precision.
    """

    features: InstanceFeatures
    lower: FloatArray
    upper: FloatArray
    functions: tuple[str, ...]
    rates: FloatArray
    embedding: FloatArray | None
    method: Embedding
    optima: dict[str, FloatArray]
    mean_landscapes: dict[str, FloatArray]

    def as_dict(self) -> dict[str, Any]:
        """The mean rates by function and by feature as plain values; None for features that some instance lacks."""
        return {
            "instances": len(self.features.instances),
            "designs": self.features.values.shape[1],
            "functions": dict(zip(self.functions, map(_known_mean, self.rates), strict=True)),
            "features": dict(zip(self.features.names, map(_known_mean, self.rates.T), strict=True)),
        }


def _known_mean(rates: FloatArray) -> float | None:
    known = rates[np.isfinite(rates)]
    return float(known.mean()) if known.size else None


def compare_instances(
    features: InstanceFeatures,
    problems: Sequence[ProblemSpec],
    *,
    alpha: float = 0.05,
    method: Embedding = "t-sne",
    seed: int = 0,
) -> InstanceComparison:
    """Compare the instances of functions: their features, their optima and, in two variables, their mean landscapes.

    Args:
        features: Features of `problems`, as computed by `polarbear.landscape.instances`.
        problems: Instances, in the same order.
        alpha: False discovery rate allowed over the pairs of a function and feature.
        method: Embedding method.
        seed: Seed of the embedding.

    Raises:
        ValueError: If a function has fewer than two instances, or the features are those of other problems.
        ExtraMissing: If a required package is not installed.
    """
    if features.instances != tuple(problem.name for problem in problems):
        raise ValueError(
            "the features are of other problems, or in another order; give the problems they were computed for"
        )
    functions, rates = features.rejection_rates(alpha=alpha)
    first = problems[0].build()
    return InstanceComparison(
        features=features,
        lower=first.lower,
        upper=first.upper,
        functions=functions,
        rates=rates,
        embedding=features.embedding(method, seed=seed) if features.embeddable else None,
        method=method,
        optima=_optima(problems),
        mean_landscapes=_mean_landscapes(problems) if first.dimension == 2 else {},
    )


def _by_function(problems: Sequence[ProblemSpec]) -> dict[str, list[ProblemSpec]]:
    groups: dict[str, list[ProblemSpec]] = {}
    for spec in problems:
        groups.setdefault(function_of(identity_of(spec)), []).append(spec)
    return groups


def _optima(problems: Sequence[ProblemSpec]) -> dict[str, FloatArray]:
    known = {
        function: [location for spec in specs if (location := optimum_location(spec)) is not None]
        for function, specs in _by_function(problems).items()
    }
    return {function: np.array(locations) for function, locations in known.items() if locations}


def _mean_landscapes(problems: Sequence[ProblemSpec]) -> dict[str, FloatArray]:
    built = {function: [spec.build() for spec in specs] for function, specs in _by_function(problems).items()}
    return {
        function: mean_precision(some, GRID)
        for function, some in built.items()
        if all(problem.optimum is not None for problem in some)
    }

"""What it would take to resolve the pairs that are still open."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from polarbear.inference import Posterior
from polarbear.race.relations import BoolArray, unresolved_pairs
from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True)
class OpenPair:
    """A pair of candidates whose relation is not resolved at every timepoint.

    Attributes:
        first: One algorithm.
        second: The other.
        from_time: First timepoint at which the pair is unresolved.
        to_time: Last timepoint at which the pair is unresolved.
        more_instances: About how many more instances it would take to resolve the pair, +inf if no number of
            instances is in sight. A rough forecast: the posterior's centre is kept and its spread shrinks with the
            root of the number of instances.
    """

    first: str
    second: str
    from_time: float
    to_time: float
    more_instances: float

    def as_dict(self) -> dict[str, Any]:
        """The pair as plain values."""
        return asdict(self)


def open_pairs(
    posterior: Posterior,
    resolved: BoolArray,
    instances: int,
    *,
    alpha: float,
    epsilon: float,
    use_crossing: bool,
) -> tuple[OpenPair, ...]:
    """The unresolved pairs, the cheapest to resolve first.

    Args:
        posterior: The posterior after `instances` instances.
        resolved: (T, n, n) as in `RaceState`.
        instances: Instances drawn so far.
        alpha: Decision threshold.
        epsilon: Half-width of the region of practical equivalence.
        use_crossing: Whether a confident crossing resolves a pair.
    """
    found: list[OpenPair] = []
    still_open = unresolved_pairs(resolved)
    for i, j in combinations(range(len(posterior.names)), 2):
        if not still_open[i, j]:
            continue
        unresolved = ~resolved[:, i, j]
        when = posterior.times[unresolved]
        growth = _growth(posterior, i, j, unresolved, alpha=alpha, epsilon=epsilon, use_crossing=use_crossing)
        more = np.ceil(instances * max(growth - 1.0, 0.0)) if np.isfinite(growth) else np.inf
        pair = OpenPair(posterior.names[i], posterior.names[j], float(when[0]), float(when[-1]), float(more))
        found.append(pair)
    return tuple(sorted(found, key=lambda pair: pair.more_instances))


def _growth(
    posterior: Posterior,
    i: int,
    j: int,
    unresolved: BoolArray,
    *,
    alpha: float,
    epsilon: float,
    use_crossing: bool,
) -> float:
    """The factor by which the number of instances would have to grow, under a normal log θ_i/θ_j."""
    from scipy.special import ndtri

    tiny = np.finfo(np.float64).tiny
    log_ratio = np.log(posterior.draws[:, :, i] + tiny) - np.log(posterior.draws[:, :, j] + tiny)
    centre, spread = log_ratio.mean(axis=0), log_ratio.std(axis=0)
    confidence = ndtri(min(alpha, 1.0 - 0.5 / log_ratio.shape[0]))
    rope = np.log((0.5 + epsilon) / (0.5 - epsilon))

    def factor(distance: FloatArray) -> FloatArray:
        """How much the number of instances must grow for the spread to fall to the distance."""
        return np.divide(confidence * spread, distance, out=np.full_like(spread, np.inf), where=distance > 0) ** 2

    dominance = factor(np.abs(centre))
    equivalence = factor(rope - np.abs(centre))
    strict = float(np.minimum(dominance, equivalence)[unresolved].max())
    if not use_crossing:
        return strict
    ahead = np.min(dominance, where=centre > 0, initial=np.inf)
    behind = np.min(dominance, where=centre < 0, initial=np.inf)
    tie = equivalence.min()
    crossing = max(min(ahead, behind), min(max(ahead, behind), tie))
    return float(min(strict, crossing))

"""Forecast how many instances it takes to resolve the pairs that are still open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from polarbear.inference import Posterior, Wins
from polarbear.racing.relations import BoolArray, unresolved_pairs
from polarbear.racing.settings import RaceSettings
from polarbear.rankings import NOT_RUN
from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True)
class OpenPair:
    """A pair of candidates whose relation is not resolved at every timepoint.

    Attributes:
        first: Name of one algorithm.
        second: Name of the other algorithm.
        from_time: First timepoint at which the pair is unresolved.
        to_time: Last timepoint at which the pair is unresolved.
        more_instances: Approximate number of further instances needed to resolve the pair; +inf if no number will do.
            The forecast keeps the posterior's centre and shrinks its spread with the root of the number of instances.
        until_shorter: Approximate number of further instances until runs of this pair may be shorter, because the last
            timepoint at which it is unresolved is decided; at most `more_instances`.
    """

    first: str
    second: str
    from_time: float
    to_time: float
    more_instances: float
    until_shorter: float

    def as_dict(self) -> dict[str, Any]:
        """The pair as plain values."""
        return asdict(self)


def open_pairs(
    beliefs: Posterior | Wins,
    names: Sequence[str],
    times: FloatArray,
    resolved: BoolArray,
    shared: FloatArray,
    *,
    alpha: float,
    epsilon: float,
    use_crossing: bool,
    joint: bool = False,
) -> tuple[OpenPair, ...]:
    """The unresolved pairs, the cheapest to resolve first.

    Args:
        beliefs: The posterior of the ratings, or of who beats whom.
        names: The n algorithms' names.
        times: (T,) timepoints.
        resolved: (T, n, n) resolved relations, as in `RaceState`.
        shared: (T, n, n) number of instances on which both of a pair were observed at each timepoint.
        alpha: Decision threshold.
        epsilon: Half-width of the region of practical equivalence.
        use_crossing: Whether a confident crossing resolves a pair.
        joint: Whether elimination considers all timepoints jointly, and a pair without crossing or tie waits for it.
    """
    log_ratios = beliefs.log_ratios()
    pairs: list[OpenPair] = []
    for i, j in np.argwhere(unresolved_pairs(resolved)).tolist():
        log_ratio, both = log_ratios(i, j), np.maximum(shared[:, i, j], 1.0)
        for_dominance, for_equivalence = _until_resolved(log_ratio, both, alpha, epsilon)
        unresolved = ~resolved[:, i, j]
        at_each = np.minimum(for_dominance, for_equivalence)[unresolved]
        more = float(at_each.max())
        if joint:
            more = max(more, min(_until_joint_dominance(log_ratio, both, alpha), float(for_equivalence.min())))
        if use_crossing:
            more = min(more, _until_crossing(log_ratio.mean(axis=0), for_dominance, for_equivalence))
        open_times = times[unresolved]
        shorter = min(more, float(at_each[-1]) or more)  # 0 where only the joint probability keeps the pair open
        pairs.append(OpenPair(names[i], names[j], float(open_times[0]), float(open_times[-1]), more, shorter))
    return tuple(sorted(pairs, key=lambda pair: pair.more_instances))


def open_pairs_of(
    posterior: Posterior, times: FloatArray, resolved: BoolArray, settings: RaceSettings
) -> tuple[OpenPair, ...]:
    """`open_pairs` for a race's posterior and settings; `resolved` covers the algorithms that the posterior rates."""
    observed = (posterior.known_wins.instances.ranks != NOT_RUN).astype(np.float64)
    return open_pairs(
        settings.compared(posterior),
        posterior.names,
        times,
        resolved,
        np.einsum("pti,ptj->tij", observed, observed),
        alpha=settings.alpha,
        epsilon=settings.epsilon,
        use_crossing=settings.resolution == "crossing",
        joint=settings.elimination == "joint",
    )


def plan_instances(
    beliefs: Posterior | Wins,
    decided: Sequence[tuple[int, int]],
    dominated: Sequence[tuple[int, int]],
    shared: FloatArray,
    *,
    alpha: float,
    epsilon: float,
    use_crossing: bool,
) -> float:
    """Approximate number of instances that a fixed plan needs to be sure of some pairs; +inf if no number will do.

    This is the forecast of `OpenPair.more_instances` reversed: with fewer instances the centre stays and the spread
    grows.

    Args:
        beliefs: The posterior of the ratings, or of who beats whom, after a race.
        decided: Pairs whose relation must be resolved.
        dominated: Pairs of which the first must be better at every timepoint.
        shared: (T, n, n) number of shared instances, as for `open_pairs`.
        alpha: Decision threshold.
        epsilon: Half-width of the region of practical equivalence.
        use_crossing: Whether a confident crossing resolves a pair.
    """
    log_ratios, most = beliefs.log_ratios(), 1.0
    for i, j in decided:
        log_ratio = log_ratios(i, j)
        for_dominance, for_equivalence = (shared[:, i, j] * growth for growth in _growth(log_ratio, alpha, epsilon))
        needed = float(np.minimum(for_dominance, for_equivalence).max())
        if use_crossing:
            needed = min(needed, _until_crossing(log_ratio.mean(axis=0), for_dominance, for_equivalence))
        most = max(most, needed)
    for i, j in dominated:
        log_ratio = log_ratios(i, j)
        behind = log_ratio.mean(axis=0) <= 0
        most = max(most, float(np.where(behind, np.inf, shared[:, i, j] * _growth(log_ratio, alpha, epsilon)[0]).max()))
    return float(np.ceil(most))


def batch_by_forecast(pairs: Sequence[OpenPair], *, smallest: int, largest: int) -> int:
    """A quarter of the instances forecast until the next pair is resolved or needs shorter runs, within limits.

    A forecast may be twice the number needed, and runs beyond that are wasted.
    """
    soonest = min((pair.until_shorter for pair in pairs), default=0.0)
    return int(np.clip(np.ceil(soonest / 4), smallest, largest))


def _until_resolved(
    log_ratio: FloatArray, shared: FloatArray, alpha: float, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """(T,) further instances until one of two algorithms dominates, and until they are equivalent."""
    for_dominance, for_equivalence = _growth(log_ratio, alpha, epsilon)

    def more(growth: FloatArray) -> FloatArray:
        return np.ceil(shared * np.maximum(growth - 1.0, 0.0))

    return more(for_dominance), more(for_equivalence)


def _growth(log_ratio: FloatArray, alpha: float, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """(T,) factors by which instances must grow until one of two algorithms dominates, and until they are equivalent.

    Assumes that log θ_i/θ_j, or the log-odds of i against j, is normal, with a spread that falls with the root of the
    number of shared instances.
    """
    from scipy.special import ndtri

    draws = log_ratio.shape[0]
    centre, spread = np.abs(log_ratio.mean(axis=0)), log_ratio.std(axis=0)
    attainable = min(alpha, 1.0 - 0.5 / draws)
    rope = np.log((0.5 + epsilon) / (0.5 - epsilon))

    def until(target: FloatArray) -> FloatArray:
        return np.divide(spread, target, out=np.full_like(spread, np.inf), where=target > 0) ** 2

    return until(centre / ndtri(attainable)), until((rope - centre) / ndtri((1.0 + attainable) / 2))


def _until_crossing(centre: FloatArray, for_dominance: FloatArray, for_equivalence: FloatArray) -> float:
    """Further instances until eq. 31 holds: each dominates somewhere, or one does and they tie elsewhere."""
    ahead = np.min(for_dominance, where=centre > 0, initial=np.inf)
    behind = np.min(for_dominance, where=centre < 0, initial=np.inf)
    return float(min(max(ahead, behind), max(min(ahead, behind), for_equivalence.min())))


def _until_joint_dominance(log_ratio: FloatArray, shared: FloatArray, alpha: float) -> float:
    """Further instances until one of two algorithms is better at all timepoints jointly with probability α.

    0 if the centre implies that they cross. A draw favours the leader at all timepoints once the spread falls below a
    certain share of its current value.
    """
    centre = log_ratio.mean(axis=0)
    if not ((centre > 0).all() or (centre < 0).all()):
        return 0.0
    furthest_behind = np.maximum(1.0 - log_ratio / centre, 1e-12).max(axis=1)
    attainable = min(alpha, 1.0 - 0.5 / len(log_ratio))
    share = float(np.quantile(1.0 / furthest_behind, 1.0 - attainable))
    return float(np.ceil(shared.max() * max(share**-2 - 1.0, 0.0)))

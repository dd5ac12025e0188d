"""Measures of the assumptions of residual bootstrapping, for logging (Wang and Lu, 2026, table 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polarbear.records import Run

ENOUGH = 40
"""Minimum number of residuals in the pool for comparing its halves."""


def clip_rate(memory: Any) -> float:
    """The share of residuals that were winsorized."""
    clipped, seen = memory.clipped
    return clipped / seen if seen else math.nan


def shape_distance(memory: Any) -> float:
    """W₁ between standardized residuals at small and at large |f|; 0 if their distribution is the same everywhere."""
    residuals, sizes = memory.pool.T
    if len(residuals) < ENOUGH:
        return math.nan
    small = sizes <= np.median(sizes)
    return _distance(residuals[small], residuals[~small])


def drift(memory: Any) -> float:
    """W₁ between the older and the newer half of the pool; 0 if the noise distribution stays the same."""
    residuals = memory.pool[:, 0]
    if len(residuals) < ENOUGH:
        return math.nan
    return _distance(residuals[: len(residuals) // 2], residuals[len(residuals) // 2 :])


def scale_fit(memory: Any) -> float:
    """R² of the scale s0 + s1 |f| on recent residuals, the share of the variance of their sizes that it explains."""
    if len(memory.residuals) < 2:
        return math.nan
    residuals, sizes = memory.residuals.T
    total = float(np.square(residuals - residuals.mean()).sum())
    left = float(np.square(residuals - memory.scale[0] - memory.scale[1] * sizes).sum())
    return 1 - left / total if total > 0 else math.nan


def near_ties(memory: Any) -> float:
    """The share of pairs of finite estimated values that differ by less than a tenth of the noise's scale."""
    if memory.center is None:
        return math.nan
    center = memory.center[np.isfinite(memory.center)]
    if len(center) < 2:
        return math.nan
    gaps = np.abs(np.subtract.outer(center, center))[np.triu_indices(len(center), 1)]
    scale = memory.scale[0] + memory.scale[1] * float(np.median(np.abs(center)))
    return float((gaps < scale / 10).mean())


READERS: Mapping[str, Callable[[Any], float]] = {
    "pool_size": lambda memory: float(len(memory.pool)),
    "rank_disagreement": lambda memory: float(memory.disagreement),
    "noise_scale_constant": lambda memory: float(memory.scale[0]),
    "noise_scale_slope": lambda memory: float(memory.scale[1]),
    "clip_rate": clip_rate,
    "shape_distance": shape_distance,
    "drift": drift,
    "scale_fit": scale_fit,
    "near_ties": near_ties,
    "center_stability": lambda memory: float(memory.stability),
}
"""Readers of the logged parameters from the memory of `ResidualBootstrap`."""

LIMITS = {"clip_rate": 0.05, "shape_distance": 0.5, "drift": 0.5, "near_ties": 0.5, "center_stability": 1.0}
"""Limits above which an assumption counts as violated; W₁ = 0.5 is half a standard deviation of the residuals."""

ASSUMPTIONS = {
    "clip_rate": "the tails of the noise are so heavy that results for winsorized residuals may not apply",
    "shape_distance": "the shape of the noise depends on the value",
    "drift": "the noise changes during the run",
    "near_ties": "most candidates are too close to each other to be ranked",
    "center_stability": "the centres of the bootstrap depend on which half of the candidates they are fitted to",
}


def violated(run: Run) -> list[str]:
    """The assumptions that a run violated at its end, in words and numbers.

    Args:
        run: A run whose parameters were logged (`polarbear.experiment.Watch`); nothing is known of others.

    Returns:
        A sentence for each violated assumption; none if nothing is known, as in runs of other optimizers.
    """
    if run.parameters is None:
        return []
    last = {name: values[-1] for name, values in run.parameters.values.items()}
    return [
        f"{ASSUMPTIONS[name]} ({name} {last[name]:.2g}, above {limit:g})"
        for name, limit in LIMITS.items()
        if last.get(name, 0.0) > limit
    ]


def _distance(first: Any, second: Any) -> float:
    from scipy.stats import wasserstein_distance

    return float(wasserstein_distance(first, second))

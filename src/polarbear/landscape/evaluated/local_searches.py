"""ela_local (Mersmann et al. 2011, section 3.6) and hill_climbing (Abell et al. 2013): results of local searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform

from polarbear.landscape.evaluated.counted import Counted, summary
from polarbear.records import FloatArray

_SEARCHES_PER_VARIABLE = 50
_CUT = 0.1
"""Quantile of the heights of the optima's dendrogram at which it is cut (flacco's default)."""
_CLIMBS = 100
_STATISTICS = ("min", "lq", "mean", "median", "uq", "max", "sd")


def ela_local(function: Counted, points: FloatArray, rng: np.random.Generator) -> dict[str, float]:
    """Local optima found by L-BFGS-B from up to 50 · d of the points, merged where they are close."""
    count = min(_SEARCHES_PER_VARIABLE * function.dimension, len(points))
    optima, costs = _search(function, points[rng.choice(len(points), count, replace=False)])
    tree = linkage(optima, method="single")
    basin = fcluster(tree, np.quantile(tree[:, 2], _CUT), criterion="distance")
    sizes = np.bincount(basin)[1:] / count
    centers = np.array([optima[basin == i].mean(axis=0) for i in range(1, basin.max() + 1)])
    values = function.batch(centers)
    best, worst = values == values.min(), values == values.max()
    with np.errstate(divide="ignore", invalid="ignore"):
        contrast = values.min() / values.mean(), (values.mean() - values.min()) / np.ptp(values)
    features: dict[str, Any] = {
        "n_loc_opt.abs": len(centers),
        "n_loc_opt.rel": len(centers) / count,
        "best2mean_contr.orig": contrast[0],
        "best2mean_contr.ratio": contrast[1],
        "basin_sizes.avg_best": sizes[best].mean(),
        "basin_sizes.avg_non_best": 0.0 if best.all() else sizes[~best].mean(),
        "basin_sizes.avg_worst": sizes[worst].mean(),
        **summary(costs, [f"fun_evals.{name}" for name in _STATISTICS]),
    }
    return {f"ela_local.{name}": float(value) for name, value in features.items()}


def hill_climbing(function: Counted, points: FloatArray, rng: np.random.Generator) -> dict[str, float]:  # noqa: ARG001
    """Distances between the ends of 100 local searches from random points, and to the nearest of the best ones."""
    ends, _ = _search(function, function.uniform(rng, _CLIMBS))
    values = function.batch(ends)
    distances = pdist(ends)
    to_best = squareform(distances)[values == values.min()].min(axis=0)
    return {
        "hill_climbing.avg_dist_between_opt": float(distances.mean()),
        "hill_climbing.std_dist_between_opt": float(distances.std(ddof=1)),
        "hill_climbing.avg_dist_local_to_global": float(to_best.mean()),
        "hill_climbing.std_dist_local_to_global": float(to_best.std(ddof=1)),
    }


def _search(function: Counted, starts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """End points of L-BFGS-B from each start, (m, d), and numbers of evaluations (m,)."""
    ends: list[FloatArray] = []
    costs: list[float] = []
    for start in starts:
        result: Any = minimize(function, start, method="L-BFGS-B", bounds=function.bounds)
        ends.append(result.x)
        costs.append(result.nfev)
    return np.array(ends), np.array(costs, dtype=np.float64)

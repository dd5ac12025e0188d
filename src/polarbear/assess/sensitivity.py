"""Sensitivity to the choice of targets: ECDFs with increasing numbers of targets against the EAF, and rank changes.

López-Ibáñez et al. 2024, section IV: figures 7 to 10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.aocc import attainment_ecdf
from polarbear.assess.arrays import floats
from polarbear.assess.step_functions import Bounds, Curve, StepFunction, pointwise_mean, step_functions
from polarbear.records import FloatArray
from polarbear.validation import whole_number


@dataclass(frozen=True, slots=True, eq=False)
class TargetSensitivity:
    """EAF-based ECDFs of n algorithms, and target-based ones with different numbers of targets.

    Attributes:
        names: The n algorithms' names.
        counts: (k,) numbers of targets.
        times: (T,) times.
        exact: (n, T) EAF-based ECDF (eq. 4).
        by_targets: (k, n, T) target-based ECDFs (eq. 1).
        exact_area: (n,) normalized area below the EAF-based ECDF.
        areas: (k, n) normalized areas below the target-based ECDFs.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    times: FloatArray
    exact: FloatArray
    by_targets: FloatArray
    exact_area: FloatArray
    areas: FloatArray

    @property
    def differences(self) -> FloatArray:
        """(k, n, T) target-based minus EAF-based ECDF; figure 8 shows their mean and standard deviation over n."""
        return self.by_targets - self.exact

    @property
    def area_differences(self) -> FloatArray:
        """(k, n) area below the EAF-based ECDF minus that below the target-based ones, as in figure 9."""
        return self.exact_area - self.areas

    @property
    def ranks(self) -> FloatArray:
        """(k + 1, n) ranks by area, 1 for the largest; the last row is for the EAF. Equal areas share a rank."""
        from scipy.stats import rankdata

        return floats(rankdata(-np.vstack([self.areas, self.exact_area]), axis=1))

    @property
    def rank_changes(self) -> FloatArray:
        """(k,) differences between the ranking for each number of targets and that for the EAF; see `rank_changes`."""
        ranks = self.ranks
        return np.array([rank_changes(row, ranks[-1]) for row in ranks[:-1]])


def target_sensitivity(
    runs: Mapping[str, Sequence[Sequence[Curve]]],
    *,
    times: Bounds,
    values: Bounds,
    counts: Sequence[int] = (5, 10, 25, 51),
    steps: int = 100,
) -> TargetSensitivity:
    """Compare target-based ECDFs with the EAF-based one, over several functions with equal weights.

    Args:
        runs: The runs on each function, by algorithm, in any form that `step_functions` accepts; known up to
            `times.high`.
        times: Bounds of the times and their scale, over which areas are taken.
        values: Bounds of the values and their scale, on which the targets are evenly spaced, both ends included.
        counts: Numbers of targets, from 2.
        steps: Number of times at which curves are evaluated.

    Raises:
        ValueError: If there are no algorithms or runs, or a number of targets is below 2.
    """
    if not runs:
        raise ValueError("there are no algorithms; give the runs of at least one")
    sizes = tuple(whole_number(count, "counts", 2) for count in counts)
    at = times.spaced(steps)
    functions = {name: [step_functions(group) for group in groups] for name, groups in runs.items()}
    exact = [pointwise_mean([attainment_ecdf(g, values=values) for g in groups]) for groups in functions.values()]
    targets = [values.spaced(size) for size in sizes]
    curves = list(zip(*(_target_ecdfs(groups, targets) for groups in functions.values()), strict=True))
    return TargetSensitivity(
        tuple(runs),
        sizes,
        at,
        np.array([curve(at) for curve in exact]),
        np.array([[curve(at) for curve in row] for row in curves]),
        np.array([curve.mean(times) for curve in exact]),
        np.array([[curve.mean(times) for curve in row] for row in curves]),
    )


def rank_changes(first: ArrayLike, second: ArrayLike) -> float:
    """Half the sum of absolute differences of two rankings (section IV-B): each change counts for two algorithms.

    Args:
        first: (n,) ranks.
        second: (n,) ranks of the same algorithms.

    Raises:
        ValueError: If they differ in length or a rank is NaN.
    """
    old, new = floats(first), floats(second)
    if old.ndim != 1 or old.shape != new.shape or np.isnan([old, new]).any():
        raise ValueError(f"rankings have shapes {old.shape} and {new.shape}; both must be (n,), without NaN")
    return float(np.abs(old - new).sum() / 2)


def _target_ecdfs(groups: Sequence[Sequence[StepFunction]], targets: Sequence[FloatArray]) -> list[StepFunction]:
    """Share of pairs of a run and a target reached over time (eq. 1), for each set of targets; groups weigh equally."""
    wanted = -np.concatenate(targets)
    hits = np.array([np.append(run.x, np.inf)[np.searchsorted(-run.y, wanted)] for group in groups for run in group])
    weights = np.array([1 / (len(groups) * len(group)) for group in groups for _ in group])
    until = min(run.until for group in groups for run in group)
    return [_ecdf(part, weights, until) for part in np.split(hits, np.cumsum([each.size for each in targets])[:-1], 1)]


def _ecdf(hits: FloatArray, weights: FloatArray, until: float) -> StepFunction:
    """The weighted share of first hits (runs, targets) at or before each time."""
    runs, targets = np.nonzero(np.isfinite(hits))
    x, where = np.unique(hits[runs, targets], return_inverse=True)
    shares = np.cumsum(np.bincount(where, weights=weights[runs] / hits.shape[1], minlength=x.size))
    return StepFunction(x, np.minimum(shares, 1.0), before=0.0, until=until)

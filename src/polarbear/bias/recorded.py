"""Verdicts on recorded runs on f0: one for each optimizer and dimension."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polarbear.bias.judge import Bias, judge
from polarbear.bias.null import SAMPLES
from polarbear.bias.uniformity import SMALLEST_SAMPLE
from polarbear.quantities import plural
from polarbear.records import FloatArray, Run

SUITE = "random-values"
"""The suite of f0."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The verdict on an optimizer's bias in one dimension.

    Attributes:
        algorithm: The optimizer's name.
        dimension: Number of variables d.
        points: (n, d) the best points of its runs.
        bias: The verdict on these points.
        lost: Number of runs that found nothing and take no part.
        box: Lower and upper bound of all variables.
    """

    algorithm: str
    dimension: int
    points: FloatArray
    bias: Bias
    lost: int
    box: tuple[float, float] = (0.0, 1.0)

    @property
    def positions(self) -> FloatArray:
        """(n, d) the points in coordinates in which the box is [0, 1]^d."""
        lower, upper = self.box
        return np.clip((self.points - lower) / (upper - lower), 0.0, 1.0)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        without = f" {plural(self.lost, 'run')} found no finite value." if self.lost else ""
        return f"{self.algorithm}: {self.bias.sentence}{without}"


def judge_runs(runs: Iterable[Run], *, alpha: float = 0.01, samples: int = SAMPLES) -> list[Verdict]:
    """Judge recorded runs on f0 by their best points; other runs are ignored.

    Args:
        runs: The runs; those on f0 are on `polarbear.problems.RandomValues`.
        alpha: As for `judge`, for each verdict.
        samples: As for `judge`.

    Returns:
        A verdict for each optimizer and dimension (and box), sorted by name and dimension.

    Raises:
        ValueError: If there is no run on f0, an optimizer has fewer than ten that found anything, or their points were
            not recorded.
    """
    groups: defaultdict[tuple[str, int, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.problem.suite == SUITE:
            groups[run.key.algorithm, run.problem.dimension, run.problem.function].append(run)
    if not groups:
        raise ValueError(f"there is no run on f0; run optimizers on the suite {SUITE!r}")
    return [_judged(*where, group, alpha, samples) for where, group in sorted(groups.items())]


def _judged(name: str, dimension: int, function: str, runs: list[Run], alpha: float, samples: int) -> Verdict:
    successful = [run for run in runs if run.trajectory.values.size and np.isfinite(run.trajectory.values[-1])]
    points = [run.solution for run in successful if run.solution is not None]
    where = f"{name} in {plural(dimension, 'dimension')}"
    if len(points) < len(successful):
        lost = plural(len(successful) - len(points), "run")
        raise ValueError(f"{where}: {lost} without a recorded best point; run the optimizer on f0 again")
    if len(points) < SMALLEST_SAMPLE:
        few = f"{where} has {plural(points, 'run')} on f0 with a finite value"
        raise ValueError(f"{few}; at least {SMALLEST_SAMPLE} are needed, and 50 are usual")
    array = np.array(points)
    _, *box = function.split("_")
    lower, upper = map(float, box) if box else (0.0, 1.0)
    bias = judge(array, lower=lower, upper=upper, alpha=alpha, samples=samples)
    return Verdict(name, dimension, array, bias, len(runs) - len(successful), (lower, upper))

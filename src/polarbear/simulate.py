"""Synthetic races whose truth is known: Plackett–Luce ratings, rankings by Gumbel noise (Wurth et al. 2026, 5.1).

On each instance every algorithm realizes the utility log θ*(t) plus independent standard Gumbel noise at each
timepoint; ranking the utilities gives rankings with win probabilities θ* exactly (the Thurstonian view, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import Axis, FloatArray, Outcome, Reason, Run, RunKey, Trajectory, check_axis


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True ratings over time, and runs drawn from them.

    Attributes:
        times: (T,) strictly increasing positive timepoints.
        ratings: (T, n) θ*; each row is positive and sums to 1.
        names: n names.

    Raises:
        ValueError: If the shapes do not fit or the ratings are not on the simplex.
    """

    times: FloatArray
    ratings: FloatArray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.ratings.shape != (self.times.size, len(self.names)):
            raise ValueError(
                f"ratings have shape {self.ratings.shape}; {self.times.size} timepoints and {len(self.names)} names "
                f"need {(self.times.size, len(self.names))}"
            )
        if not ((self.ratings > 0).all() and np.allclose(self.ratings.sum(axis=1), 1.0)):
            raise ValueError("ratings must be positive and sum to 1 at every timepoint")

    @property
    def better(self) -> NDArray[np.bool_]:
        """(T, n, n) whether i is truly better than j at t (eq. 2)."""
        return self.ratings[:, :, np.newaxis] > self.ratings[:, np.newaxis, :]

    @property
    def pareto_set(self) -> tuple[str, ...]:
        """The true anytime Pareto set (eq. 3 and 4)."""
        dominated = np.logical_or.reduce(np.logical_and.reduce(self.better))
        return tuple(self.names[index] for index in np.flatnonzero(~dominated))

    def run(self, key: RunKey, until: float, axis: Axis = "evaluations") -> Run:
        """The run of one algorithm on one instance, cut at `until`; the same for the same key.

        A trajectory must fall over time while its ranking does not depend on what all runs share: every timepoint
        adds the same large step down.
        """
        if check_axis(axis) == "evaluations" and (self.times != np.rint(self.times)).any():
            raise ValueError("times must be whole numbers of evaluations, or the axis seconds")
        reached = self.times <= until
        mean = np.log(self.ratings[reached, self.names.index(key.algorithm)])
        utility = mean + key.generator().gumbel(size=self.times.size)[reached]
        steps = np.arange(1, np.count_nonzero(reached) + 1)
        evaluations = self.times[reached].astype(np.int64) if axis == "evaluations" else steps
        values = -utility - 1e4 * steps
        spent = int(until) if axis == "evaluations" else steps.size
        outcome = Outcome(Reason.BUDGET, evaluations=spent, seconds=float(until))
        return Run(key, Trajectory(evaluations, self.times[reached], values, outcome))


def dirichlet_truth(
    times: ArrayLike, algorithms: int, rng: np.random.Generator, *, concentration: float = 1.0
) -> Truth:
    """Ratings drawn independently at each timepoint from Dirichlet(concentration, …): the independent model's prior."""
    at = np.asarray(times, dtype=np.float64)
    ratings = rng.dirichlet(np.full(algorithms, concentration), size=at.size)
    floor = np.finfo(np.float64).tiny
    ratings = np.maximum(ratings, floor)
    names = tuple(f"A{index}" for index in range(algorithms))
    return Truth(at, ratings / ratings.sum(axis=1, keepdims=True), names)

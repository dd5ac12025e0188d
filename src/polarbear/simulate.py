"""Synthetic races whose truth is known: Plackett–Luce ratings, rankings by Gumbel noise (Wurth et al. 2026, 5.1).

On each instance every algorithm realizes the utility log θ*(t) plus independent standard Gumbel noise at each
timepoint; ranking the utilities gives rankings with win probabilities θ* exactly (the Thurstonian view, section 3).
Other noise shows what a race does when its assumptions fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product
from string import ascii_uppercase
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.inference import Model, prior
from polarbear.records import Axis, FloatArray, Outcome, Reason, Run, RunKey, Trajectory, check_axis

Noise = Literal["gumbel", "reversed-gumbel", "normal", "lasting-gumbel"]
"""What is added to the log-ratings log θ*(t), always with variance π²/6 and the same for all algorithms:

- "gumbel": standard Gumbel noise, independent at each timepoint. Rankings follow the Plackett–Luce model.
- "reversed-gumbel": its negative. i beats j with the same probability θ*_i / (θ*_i + θ*_j), but of three or more, each
  is best with another probability than θ*.
- "normal": Thurstone's model. i beats j with probability Φ(√3 log(θ*_i / θ*_j) / π).
- "lasting-gumbel": Gumbel noise drawn once per run and kept at all timepoints. Rankings at each timepoint follow the
  Plackett–Luce model, those of successive timepoints are not independent.

With all of them i beats j more often than not where θ*_i > θ*_j, so the Pareto set is the same.
"""


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

    def run(self, key: RunKey, until: float, axis: Axis = "evaluations", *, noise: Noise = "gumbel") -> Run:
        """The run of one algorithm on one instance, cut at `until`; the same for the same key and noise.

        A trajectory must fall over time while its ranking does not depend on what all runs share: every timepoint
        adds the same large step down.

        Raises:
            ValueError: If the truth has no such algorithm, the noise is unknown, or timepoints are no whole
                evaluations on the axis "evaluations".
        """
        if check_axis(axis) == "evaluations" and (self.times != np.rint(self.times)).any():
            raise ValueError("times must be whole numbers of evaluations, or the axis seconds")
        reached = self.times <= until
        if key.algorithm not in self.names:
            raise ValueError(f"there is no algorithm {key.algorithm!r} in the truth; it has {', '.join(self.names)}")
        mean = np.log(self.ratings[reached, self.names.index(key.algorithm)])
        utility = mean + _noise(noise, self.times.size, key.generator())[reached]
        steps = np.arange(1, np.count_nonzero(reached) + 1)
        evaluations = self.times[reached].astype(np.int64) if axis == "evaluations" else steps
        values = -utility - 1e4 * steps
        spent = int(until) if axis == "evaluations" else steps.size
        outcome = Outcome(Reason.BUDGET, evaluations=spent, seconds=float(until))
        return Run(key, Trajectory(evaluations, self.times[reached], values, outcome))


def prior_truth(
    model: Model,
    times: ArrayLike,
    algorithms: int | Sequence[str],
    rng: np.random.Generator,
    *,
    hyperparameters: Mapping[str, float] | None = None,
) -> Truth:
    """A truth drawn from a model's prior, as a race with that model expects.

    The synthetic studies of Wurth et al. (2026, section 5.1) draw theirs from ``GaussianProcess(ell_scale=3.0)``.

    Args:
        model: Whose prior.
        times: (T,) strictly increasing positive timepoints.
        algorithms: Their names, or their number; then they are named A, B, ….
        rng: The source of all randomness.
        hyperparameters: Those to be held at a value instead of being drawn, such as ``{"sigma": 1.0, "ell": 0.3}``.

    Raises:
        ValueError: If names repeat, or as `polarbear.inference.prior`.
        TypeError: If `rng` is no numpy Generator, or the model cannot draw from its prior.
    """
    names = _letters(algorithms) if isinstance(algorithms, int) else tuple(algorithms)
    ratings = prior(model, times=times, names=names, draws=1, rng=rng, hyperparameters=hyperparameters)
    positive = np.maximum(ratings.draws[0], np.finfo(np.float64).tiny)
    return Truth(ratings.times, positive / positive.sum(axis=1, keepdims=True), ratings.names)


def _letters(algorithms: int) -> tuple[str, ...]:
    """A to Z, then AA, AB, …."""
    pairs = ("".join(pair) for pair in product(ascii_uppercase, repeat=2))
    return tuple(islice(chain(ascii_uppercase, pairs), algorithms))


def _noise(noise: Noise, timepoints: int, rng: np.random.Generator) -> FloatArray:
    """(T,) the noise of one run."""
    if noise == "gumbel":
        return rng.gumbel(size=timepoints)
    if noise == "reversed-gumbel":
        return -rng.gumbel(size=timepoints)
    if noise == "normal":
        return rng.normal(scale=np.pi / np.sqrt(6.0), size=timepoints)
    if noise == "lasting-gumbel":
        return np.full(timepoints, rng.gumbel())
    raise ValueError(f"noise is {noise!r}; choose one of {', '.join(get_args(Noise))}")

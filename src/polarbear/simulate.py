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
"""Distribution of the noise added to the log-ratings log θ*(t), with variance π²/6 and the same for all algorithms:

- "gumbel": standard Gumbel noise, independent at each timepoint. Rankings follow the Plackett–Luce model.
- "reversed-gumbel": its negative. i still beats j with probability θ*_i / (θ*_i + θ*_j), but among three or more
  algorithms the probability of being best is no longer proportional to θ*.
- "normal": Thurstone's model. i beats j with probability Φ(√3 log(θ*_i / θ*_j) / π).
- "lasting-gumbel": Gumbel noise drawn once per run and kept at all timepoints. Rankings at each timepoint follow the
  Plackett–Luce model, but rankings at successive timepoints are dependent.

Under each of them i beats j more often than not where θ*_i > θ*_j, so the Pareto set is the same.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True ratings over time, from which runs can be drawn.

    Attributes:
        times: (T,) strictly increasing positive timepoints.
        ratings: (T, n) true ratings θ*; each row is positive and sums to 1.
        names: The n algorithms' names.

    Raises:
        ValueError: If the shapes do not match or the ratings are not on the simplex.
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
        """Simulate the run of one algorithm on one instance, truncated at `until`.

        Equal keys and noise give equal runs. A trajectory must decrease over time, so every timepoint subtracts the
        same large step from all runs, which leaves their ranking unchanged.

        Raises:
            ValueError: If the truth has no such algorithm, the noise is unknown, or timepoints on the axis
                "evaluations" are not whole numbers.
        """
        if check_axis(axis) == "evaluations" and (self.times != np.rint(self.times)).any():
            raise ValueError('times must be whole numbers of evaluations; round them, or use the axis "seconds"')
        reached = self.times <= until
        if key.algorithm not in self.names:
            raise ValueError(f"the truth has no algorithm {key.algorithm!r}; it has {', '.join(self.names)}")
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
    """Draw true ratings from a model's prior, as a race with that model assumes them.

    The synthetic studies of Wurth et al. (2026, section 5.1) draw theirs from ``GaussianProcess(ell_scale=3.0)``.

    Args:
        model: The model from whose prior the ratings are drawn.
        times: (T,) strictly increasing positive timepoints.
        algorithms: The algorithms' names; or their number, which names them A, B, ….
        rng: The source of all randomness.
        hyperparameters: Values of hyperparameters that are fixed instead of drawn, such as
            ``{"sigma": 1.0, "ell": 0.3}``.

    Raises:
        ValueError: If names repeat, or for the same reasons as in `polarbear.inference.prior`.
        TypeError: If `rng` is not a NumPy Generator, or the model cannot draw from its prior.
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
    """(T,) noise of one run."""
    if noise == "gumbel":
        return rng.gumbel(size=timepoints)
    if noise == "reversed-gumbel":
        return -rng.gumbel(size=timepoints)
    if noise == "normal":
        return rng.normal(scale=np.pi / np.sqrt(6.0), size=timepoints)
    if noise == "lasting-gumbel":
        return np.full(timepoints, rng.gumbel())
    raise ValueError(f"noise is {noise!r}; choose one of {', '.join(get_args(Noise))}")

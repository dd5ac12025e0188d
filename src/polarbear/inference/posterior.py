"""What is believed about all ratings over time, as draws."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.inference.diagnostics import Diagnostics
from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Draws of the Plackett–Luce ratings θ of n algorithms at T timepoints.

    Algorithm i beats algorithm j at time t with probability θ_i(t) / (θ_i(t) + θ_j(t)) (eq. 5 of Wurth et al. 2026).
    Algorithms are named or given by their index; each probability is the share of the draws in which the event holds.

    Attributes:
        draws: (D, T, n) float64, each non-negative and summing to 1 over the algorithms.
        times: (T,) float64, strictly increasing.
        names: The n algorithms' names.
        joint: Whether one draw belongs together over time. If not, only the draws at one timepoint do, and
            nothing can be said of several timepoints at once.
        diagnostics: How far the draws can be trusted.
        hyperparameters: (D,) draws of each of the model's hyperparameters, by name; they belong to `draws` one by one.

    Raises:
        ValueError: If the shapes do not fit together, names repeat, or the draws are not ratings.
    """

    draws: FloatArray
    times: FloatArray
    names: tuple[str, ...]
    joint: bool
    diagnostics: Diagnostics
    hyperparameters: Mapping[str, FloatArray] = field(default_factory=dict[str, FloatArray])

    def __post_init__(self) -> None:
        draws = _view(self.draws)
        if draws.ndim != 3 or draws.shape[0] == 0:
            raise ValueError(f"draws has shape {draws.shape}; it needs (draws, timepoints, algorithms)")
        times = checked_times(self.times, draws.shape[1])
        names = checked_names(self.names, draws.shape[2])
        if len(self.diagnostics.method) != times.size:
            raise ValueError(f"diagnostics tell of {len(self.diagnostics.method)} timepoints, draws of {times.size}")
        sums = draws.sum(axis=2)
        if not (np.abs(sums - 1.0) < 1e-6).all() or not (draws >= 0).all():
            raise ValueError("draws must be non-negative and sum to 1 over the algorithms")
        hyperparameters = {name: _view(values) for name, values in self.hyperparameters.items()}
        for name, values in hyperparameters.items():
            if values.shape != draws.shape[:1]:
                raise ValueError(f"hyperparameter {name!r} has shape {values.shape}; there are {draws.shape[0]} draws")
        prepared = {"draws": draws, "times": times, "names": names, "hyperparameters": hyperparameters}
        for name, value in prepared.items():
            object.__setattr__(self, name, value)

    def index(self, algorithm: str | int) -> int:
        """The position of an algorithm, given by name or by index.

        Raises:
            ValueError: If there is no such algorithm; the message lists the names.
        """
        if isinstance(algorithm, str):
            if algorithm in self.names:
                return self.names.index(algorithm)
        elif 0 <= algorithm < len(self.names):
            return int(algorithm)
        raise ValueError(f"there is no algorithm {algorithm!r}; there are {', '.join(self.names)}")

    def mean(self) -> FloatArray:
        """(T, n) posterior mean of each rating."""
        return self.draws.mean(axis=0)

    def interval(self, level: float = 0.95) -> FloatArray:
        """(2, T, n) lower and upper end of the central credible interval of each rating.

        Raises:
            ValueError: If `level` is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise ValueError(f"level is {level!r}; a credible interval holds a share between 0 and 1")
        tail = (1.0 - level) / 2
        return np.quantile(self.draws, [tail, 1.0 - tail], axis=0)

    def win_probability(self, a: str | int, b: str | int) -> FloatArray:
        """(D, T) draws of the probability that `a` beats `b` on a new instance (eq. 5); 0.5 where both are 0."""
        first, second = self.draws[:, :, self.index(a)], self.draws[:, :, self.index(b)]
        both = first + second
        return np.divide(first, both, out=np.full(both.shape, 0.5), where=both > 0)

    def log_ratio(self, a: str | int, b: str | int) -> FloatArray:
        """(D, T) draws of log(θ_a / θ_b), the log-odds of `a` against `b`."""
        tiny = np.finfo(np.float64).tiny
        first, second = self.draws[:, :, self.index(a)], self.draws[:, :, self.index(b)]
        return np.log(np.maximum(first, tiny)) - np.log(np.maximum(second, tiny))

    def probability_better(self, a: str | int, b: str | int) -> FloatArray:
        """(T,) P(θ_a(t) > θ_b(t)) at each timepoint; equal draws count half."""
        first, second = self.draws[:, :, self.index(a)], self.draws[:, :, self.index(b)]
        return 0.5 * ((first > second).mean(axis=0) + (first >= second).mean(axis=0))

    def pairwise_probabilities(self) -> FloatArray:
        """(T, n, n) P(θ_i(t) > θ_j(t)); equal draws count half, so [t, i, j] + [t, j, i] = 1."""
        number, timepoints, algorithms = self.draws.shape
        result = np.full((timepoints, algorithms, algorithms), 0.5)
        for t in range(timepoints):
            ratings = self._at(t)
            for i in range(algorithms - 1):
                others = ratings[i + 1 :]
                above = np.count_nonzero(ratings[i] > others, axis=1)
                below = np.count_nonzero(ratings[i] < others, axis=1)
                result[t, i, i + 1 :] = 0.5 + (above - below) / (2 * number)
                result[t, i + 1 :, i] = 0.5 - (above - below) / (2 * number)
        return result

    def equivalence_probabilities(self, epsilon: float) -> FloatArray:
        """(T, n, n) posterior probability that the win probability of i against j lies in [0.5 − ε, 0.5 + ε] (eq. 26).

        Raises:
            ValueError: If `epsilon` is not in [0, 0.5).
        """
        if not 0 <= epsilon < 0.5:
            raise ValueError(f"epsilon is {epsilon!r}; the region of equivalence needs 0 <= epsilon < 0.5")
        odds = (0.5 + epsilon) / (0.5 - epsilon)
        number, timepoints, algorithms = self.draws.shape
        result = np.ones((timepoints, algorithms, algorithms))
        for t in range(timepoints):
            ratings = self._at(t)
            larger = odds * ratings
            for i in range(algorithms - 1):
                near = (ratings[i] <= larger[i + 1 :]) & (ratings[i + 1 :] <= larger[i])
                result[t, i, i + 1 :] = result[t, i + 1 :, i] = np.count_nonzero(near, axis=1) / number
        return result

    def probability_dominates(self, a: str | int, b: str | int) -> float:
        """P(θ_a(t) > θ_b(t) at all timepoints) (eq. 24).

        Raises:
            ValueError: If the posterior is not joint over time.
        """
        self._require_joint()
        first, second = self.draws[:, :, self.index(a)], self.draws[:, :, self.index(b)]
        return float((first > second).all(axis=1).mean())

    def dominance_probabilities(self) -> FloatArray:
        """(n, n) P(θ_i(t) > θ_j(t) at all timepoints) (eq. 24).

        Raises:
            ValueError: If the posterior is not joint over time.
        """
        algorithms = range(len(self.names))
        return np.array([[self.probability_dominates(i, j) for j in algorithms] for i in algorithms])

    def to_arviz(self) -> Any:
        """The draws as ArviZ data with a posterior group: variable ``theta`` over chain, draw, time, algorithm.

        Raises:
            ImportError: If ArviZ is not installed.
        """
        try:
            arviz: Any = importlib.import_module("arviz")
        except ImportError as error:
            raise ImportError("to_arviz needs ArviZ; install it with: pip install 'polarbear[arviz]'") from error
        return arviz.from_dict(
            posterior={"theta": np.ascontiguousarray(self.draws)[np.newaxis]},
            coords={"time": self.times, "algorithm": list(self.names)},
            dims={"theta": ["time", "algorithm"]},
        )

    def _at(self, t: int) -> FloatArray:
        """(n, D) the draws at one timepoint, one algorithm after the other in memory."""
        return np.ascontiguousarray(self.draws[:, t, :].T)

    def _require_joint(self) -> None:
        if self.joint:
            return
        from polarbear.inference.model import models

        able = [name for name, kind in models().items() if kind.joint]
        advice = f"fit {', '.join(able)}" if able else "no model here has one yet"
        raise ValueError(
            "dominance at all timepoints at once needs a joint posterior over time, which this one is not; "
            f'{advice}, or judge each timepoint by itself (elimination="pointwise")'
        )


def checked_times(times: ArrayLike | None, count: int) -> FloatArray:
    """The timepoints (count,), read-only; their indices if None.

    Raises:
        ValueError: If there are not `count` strictly increasing finite timepoints.
    """
    checked = np.arange(count, dtype=np.float64) if times is None else np.array(times, dtype=np.float64)
    if checked.shape != (count,):
        raise ValueError(f"times has shape {checked.shape}; there are {count} timepoints")
    if not np.isfinite(checked).all() or not (np.diff(checked) > 0).all():
        raise ValueError("times must be finite and strictly increasing")
    checked.flags.writeable = False
    return checked


def checked_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """The algorithms' names; "algorithm 0", "algorithm 1", … if None.

    Raises:
        ValueError: If there are not `count` names, or two are equal.
    """
    checked = tuple(f"algorithm {i}" for i in range(count)) if names is None else tuple(names)
    if len(checked) != count:
        raise ValueError(f"there are {len(checked)} names ({', '.join(checked)}) for {count} algorithms")
    repeated = sorted({name for name in checked if checked.count(name) > 1})
    if repeated:
        raise ValueError(f"two algorithms are named {repeated[0]!r}; give names that differ")
    return checked


def _view(array: NDArray[Any]) -> FloatArray:
    view = np.asarray(array, dtype=np.float64).view()
    view.flags.writeable = False
    return view

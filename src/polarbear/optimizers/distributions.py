"""The search distribution N(m, σ²C) of an optimizer, for logging and for warm-starting another one."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from polarbear.optimizers.archives import center_of
from polarbear.optimizers.native import Continuable, S
from polarbear.optimizers.telemetry import components, expose_readers, offer_warm_start, recommend
from polarbear.protocols import Box, Objective, WarmStart
from polarbear.records import FloatArray


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Functions that read a search distribution N(m, σ²C) from an optimizer's state.

    All except `mean` use coordinates in which the box has width 1 in every variable.

    Attributes:
        mean: Reader of m (d,), in the problem's coordinates.
        step_size: Reader of σ.
        axes: Reader of the square roots (d,) of C's eigenvalues, in any order.
        covariance: Reader of C (d, d).
        population_size: Reader of the number of points per generation.
        paths: Readers of the evolution paths (d,), by name.
    """

    mean: Callable[[Any], FloatArray]
    step_size: Callable[[Any], float]
    axes: Callable[[Any], FloatArray]
    covariance: Callable[[Any], FloatArray]
    population_size: Callable[[Any], int]
    paths: dict[str, Callable[[Any], FloatArray]]

    def readers(self, box: Box) -> dict[str, Callable[[Any], float]]:
        """Functions that read the distribution's parameters from a state.

        They are ``step_size`` σ, ``population_size``, ``largest_eigenvalue``, ``smallest_eigenvalue`` and
        ``condition_number`` of C, ``mean_distance``, the distance of m from the box's centre in box widths, and the
        Euclidean norm of each path, such as ``ps_norm``. Available on request only are C's eigenvalues, from
        ``eigenvalue_1``, the largest, to ``eigenvalue_d``, and the components of each path, such as ``ps_1``.
        """
        center, width = center_of(box), np.asarray(box.upper) - np.asarray(box.lower)

        def eigenvalues(state: Any) -> FloatArray:
            return np.sort(np.square(self.axes(state)))[::-1]

        def condition_number(state: Any) -> float:
            largest, smallest = eigenvalues(state)[[0, -1]].tolist()
            return largest / smallest if smallest else math.nan if math.isnan(largest) else math.inf

        readers: dict[str, Callable[[Any], float]] = {
            "step_size": self.step_size,
            "population_size": self.population_size,
            "largest_eigenvalue": lambda state: np.square(self.axes(state)).max(),
            "smallest_eigenvalue": lambda state: np.square(self.axes(state)).min(),
            "condition_number": condition_number,
            "mean_distance": lambda state: float(np.linalg.norm((self.mean(state) - center) / width)),
            **{f"{name}_norm": _norm_of(path) for name, path in self.paths.items()},
        }
        for name, vector in {"eigenvalue": eigenvalues, **self.paths}.items():
            readers |= components(name, box.dimension, vector)
        return readers

    def recommended(self, box: Box, state: Any) -> FloatArray:
        """(d,) m, clipped to the box; the box's centre while m is not finite."""
        mean = self.mean(state)
        return np.clip(mean, box.lower, box.upper) if np.isfinite(mean).all() else center_of(box)

    def warm_start(self, box: Box, state: Any) -> WarmStart:
        """A warm start with m, σ and C, in the problem's coordinates."""
        width = np.asarray(box.upper) - np.asarray(box.lower)
        covariance = np.asarray(self.covariance(state)) * np.outer(width, width)
        return WarmStart(
            evaluations=0,
            mean=self.mean(state),
            step_size=float(self.step_size(state)),
            covariance=covariance,
        )


def expose_distribution(problem: Objective, distribution: Distribution, state: Any) -> None:
    """Offer the parameters of a state that is modified in place, m as the recommendation, and a warm start."""
    expose_readers(problem, distribution.readers(problem), lambda: state)
    recommend(problem, lambda: distribution.recommended(problem, state))
    offer_warm_start(problem, lambda: distribution.warm_start(problem, state))


class Distributed(Continuable[S]):
    """An optimizer that samples from a normal distribution, which is part of its state."""

    @abstractmethod
    def _distribution(self, state: S, /) -> Distribution:
        """The readers of the distribution, valid for this state and others of the same run."""

    def diagnostics(self, state: S) -> dict[str, Callable[[S], float]]:
        """The readers of the distribution's parameters; see `Distribution.readers`."""
        return self._distribution(state).readers(state.space)

    def recommendation(self, state: S) -> FloatArray:
        """(d,) the distribution's mean, clipped to the box."""
        return self._distribution(state).recommended(state.space, state)

    def warm_start(self, state: S) -> WarmStart:
        """What another optimizer can start from: the best point and the distribution."""
        own, distribution = super().warm_start(state), self._distribution(state).warm_start(state.space, state)
        return replace(
            own, mean=distribution.mean, step_size=distribution.step_size, covariance=distribution.covariance
        )


def _norm_of(path: Callable[[Any], FloatArray]) -> Callable[[Any], float]:
    return lambda state: float(np.linalg.norm(path(state)))


def axes_of(root: FloatArray) -> FloatArray:
    """(d,) the square roots of the eigenvalues of RRᵀ, for a (d, d) matrix R; NaN if R is not finite."""
    if not np.isfinite(root).all():
        return np.full(len(root), math.nan)
    return _singular_values(np.ascontiguousarray(root, dtype=np.float64).tobytes(), len(root))


@lru_cache(maxsize=1)  # a logged row reads many eigenvalues of one matrix
def _singular_values(root: bytes, size: int) -> FloatArray:
    return np.asarray(np.linalg.svd(np.frombuffer(root).reshape(size, size), compute_uv=False), dtype=np.float64)

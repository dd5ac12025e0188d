"""What optimizers that sample from a normal distribution N(m, σ²C) tell about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from polarbear.optimizers.telemetry import components, expose, recommend

if TYPE_CHECKING:
    from polarbear.protocols import Objective
    from polarbear.records import FloatArray


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Functions that give the present state of a search distribution N(m, σ²C).

    All but `mean` are in coordinates in which the box is 1 wide in every variable.

    Attributes:
        mean: Gives m (d,), in the problem's coordinates.
        step_size: Gives σ.
        axes: Gives (d,) the square roots of C's eigenvalues, in any order.
        population_size: Gives the points per generation.
        paths: For the name of each evolution path what gives it (d,).
    """

    mean: Callable[[], FloatArray]
    step_size: Callable[[], float]
    axes: Callable[[], FloatArray]
    population_size: Callable[[], int]
    paths: dict[str, Callable[[], FloatArray]]


def expose_distribution(problem: Objective, distribution: Distribution) -> None:
    """Offer a search distribution's parameters for logging, and its mean as what is recommended.

    The parameters are ``step_size`` σ, ``population_size``, ``largest_eigenvalue``, ``smallest_eigenvalue`` and
    ``condition_number`` of C, ``mean_distance``, that of m from the box's centre in box widths, and the Euclidean norm
    of each path, as ``ps_norm``. On request there are also C's eigenvalues, ``eigenvalue_1`` the largest to
    ``eigenvalue_d``, and the components of each path, as ``ps_1`` to ``ps_d``.
    The recommendation is m, brought into the box; while m is not finite, the centre.
    """
    lower, upper = np.asarray(problem.lower), np.asarray(problem.upper)
    center, width = (lower + upper) / 2, upper - lower

    def extremes() -> tuple[float, float]:
        squares = np.square(distribution.axes())
        return float(squares.min()), float(squares.max())

    def eigenvalues() -> FloatArray:
        return np.sort(np.square(distribution.axes()))[::-1]

    def condition_number() -> float:
        smallest, largest = extremes()
        return largest / smallest if smallest else math.nan if math.isnan(largest) else math.inf

    def mean_distance() -> float:
        return float(np.linalg.norm((distribution.mean() - center) / width))

    def recommended() -> FloatArray:
        mean = distribution.mean()
        return np.clip(mean, lower, upper) if np.isfinite(mean).all() else center

    expose(
        problem,
        step_size=lambda: float(distribution.step_size()),
        population_size=lambda: float(distribution.population_size()),
        largest_eigenvalue=lambda: extremes()[1],
        smallest_eigenvalue=lambda: extremes()[0],
        condition_number=condition_number,
        mean_distance=mean_distance,
        **{f"{name}_norm": _norm_of(path) for name, path in distribution.paths.items()},
    )
    for name, vector in {"eigenvalue": eigenvalues, **distribution.paths}.items():
        expose(problem, **components(name, problem.dimension, vector))
    recommend(problem, recommended)


def _norm_of(path: Callable[[], FloatArray]) -> Callable[[], float]:
    return lambda: float(np.linalg.norm(path()))


def axes_of(root: FloatArray) -> FloatArray:
    """(d,) the square roots of the eigenvalues of RRᵀ, for a (d, d) matrix R; NaN if R is not finite."""
    if not np.isfinite(root).all():
        return np.full(len(root), math.nan)
    return _singular_values(np.ascontiguousarray(root, dtype=np.float64).tobytes(), len(root))


@lru_cache(maxsize=1)  # a row asks for many eigenvalues of one matrix
def _singular_values(root: bytes, size: int) -> FloatArray:
    found = np.linalg.svd(np.frombuffer(root).reshape(size, size), compute_uv=False)
    return np.asarray(found, dtype=np.float64)

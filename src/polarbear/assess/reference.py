"""Reference algorithms, by whose expected runtimes others are divided (Hansen et al. 2022, section VI-B, Table I)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.assess.distributions import RuntimeDistribution, pool, runtime_distribution
from polarbear.assess.runtimes import ert
from polarbear.assess.trials import Trials
from polarbear.records import FloatArray, Reference


def best_reference(trials: Sequence[Trials], targets: ArrayLike, *, whole: bool = False) -> Reference:
    """Build a reference in the style of best-2009: the algorithm with the smallest ERT for each target.

    Args:
        trials: The trials of each algorithm on one function in one dimension.
        targets: (targets,) strictly decreasing precisions.
        whole: Whether to round ERTs to whole evaluations, as the published references do.

    Raises:
        ValueError: If there are no trials, they are not of one function and dimension, or targets do not decrease.
    """
    levels = floats(targets)
    hits, best, smallest = _choose(trials, levels)
    successes = np.array([np.isfinite(times).sum(axis=0) for times in hits])
    number = np.array([len(group.runs) for group in trials])
    return Reference(
        targets=levels,
        ert=np.rint(smallest) if whole else smallest,
        algorithms=tuple(trials[int(row)].algorithm if row >= 0 else "" for row in best),
        successes=np.where(best >= 0, successes[best, np.arange(levels.size)], 0),
        runs=number[best],
    )


def reference_distribution(
    trials: Sequence[Trials], targets: ArrayLike, *, restarts: int = 100, rng: np.random.Generator | None = None
) -> RuntimeDistribution:
    """The runtime distribution of the best portfolio (the curve "best 2009" in figures 3 and 4).

    For each target it takes the runs of the algorithm with the smallest ERT. It need not lie above all its members'
    curves: single short runtimes of an algorithm with a larger ERT may precede it (footnote 27).

    Args:
        trials: The trials of each algorithm on one function in one dimension.
        targets: (targets,) precisions.
        restarts: Number of runtimes to simulate for each target; see `runtime_distribution`.
        rng: The source of randomness of the simulation; None derandomizes it.

    Raises:
        ValueError: If there are no trials, or they are not of one function and dimension.
    """
    hits, best, _ = _choose(trials, floats(targets))
    chosen = np.maximum(best, 0)
    return pool(
        [
            runtime_distribution(
                hits[row][:, chosen == row],
                trials[row].evaluations,
                restarts=restarts,
                rng=rng,
                weights=trials[row].weights,
            )
            for row in sorted(set(map(int, chosen)))
        ]
    )


def best_ert(erts: ArrayLike) -> tuple[NDArray[np.intp], FloatArray]:
    """The algorithm with the smallest ERT for each target, and that ERT.

    Args:
        erts: (algorithms, targets) ERTs, inf where an algorithm missed the target.

    Returns:
        (targets,) row of the algorithm, the first among equals, -1 where none reached the target; and (targets,)
        smallest ERTs.
    """
    table = floats(erts)
    smallest = table.min(axis=0)
    return np.where(np.isfinite(smallest), table.argmin(axis=0), -1), smallest


def ert_ratios(erts: ArrayLike, reference: ArrayLike) -> FloatArray:
    """ERTs divided by the reference's (Table I).

    Published references have ERTs rounded to whole evaluations, and published tables divide by these.

    Args:
        erts: (..., targets) ERTs, inf where missed.
        reference: (targets,) positive ERTs of the reference, inf where it missed the target.

    Returns:
        (..., targets) ratios, inf where only the algorithm missed the target, NaN where the reference did.

    Raises:
        ValueError: If a reference ERT is not positive.
    """
    needed, base = floats(erts), floats(reference)
    if not (base > 0).all():
        raise ValueError(f"reference ERTs are {base!r}; they must be positive")
    return np.where(np.isfinite(base), needed / np.where(np.isfinite(base), base, 1.0), np.nan)


def _choose(trials: Sequence[Trials], targets: FloatArray) -> tuple[list[FloatArray], NDArray[np.intp], FloatArray]:
    """Each algorithm's runtimes, and the row and ERT of the best algorithm for each target."""
    if len({(group.suite, group.function, group.dimension) for group in trials}) != 1:
        raise ValueError("a reference is built from trials on one function in one dimension; group them by both")
    hits = [group.runtimes(targets) for group in trials]
    erts = [ert(times, group.evaluations, weights=group.weights) for times, group in zip(hits, trials, strict=True)]
    return hits, *best_ert(erts)

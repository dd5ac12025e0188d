"""The EAF-based ECDF, which needs no targets: the EAF averaged over all values between two bounds.

López-Ibáñez et al. 2024, section II-C. By eq. 6 the average may be taken run by run: the share of the values between
the bounds that a run has reached is one less its scaled best-so-far value. The target-based ECDF tends to it as targets
become dense.
"""

from __future__ import annotations

from collections.abc import Sequence

from polarbear.assess.step_functions import Bounds, Curve, StepFunction, pointwise_mean, step_functions


def attained_share(runs: Sequence[Curve], *, values: Bounds | Sequence[Bounds]) -> tuple[StepFunction, ...]:
    """Each run's share of the values between the bounds that it has reached, as a function of time.

    The inner integral of eq. 6: from 0, at or above the upper bound, to 1, at or below the lower.

    Args:
        runs: As `step_functions` takes them.
        values: Bounds of the values and their scale: one for all runs, or one for each (say, that of its instance).

    Raises:
        ValueError: If there are not as many bounds as runs.
    """
    functions = step_functions(runs)
    bounds = [values] * len(functions) if isinstance(values, Bounds) else list(values)
    if len(bounds) != len(functions):
        raise ValueError(
            f"there are {len(bounds)} bounds for {len(functions)} runs; give one for each, or a single one"
        )
    return tuple(
        StepFunction(run.x, 1 - bound.scaled(run.y), before=float(1 - bound.scaled(run.before)), until=run.until)
        for run, bound in zip(functions, bounds, strict=True)
    )


def attainment_ecdf(runs: Sequence[Curve], *, values: Bounds | Sequence[Bounds]) -> StepFunction:
    """The EAF-based ECDF (eq. 4) at all times, exactly.

    Runs of several instances or functions may be given together, each then weighs the same; for equal weights of groups
    of unequal size take `pointwise_mean` of their ECDFs.

    Args:
        runs: As `step_functions` takes them.
        values: As in `attained_share`. COCO's convention is `Bounds(1e-8, 100, log=True)` for precisions.

    Returns:
        A step function of time from 0 to 1. Its `mean` between bounds of time is its normalized area (eq. 7), which
        equals the mean of `aocc`. It is unknown from where the first run is.
    """
    return pointwise_mean(attained_share(runs, values=values))

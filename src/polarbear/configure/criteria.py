"""The quality of runs as a single number, for comparing configurations by a mean (Vermetten 2025, ch. 4)."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from polarbear.assess import Bounds, StepFunction
from polarbear.records import FloatArray, Run
from polarbear.validation import choice, real, settings

CriterionName = Literal["mean-aocc", "final", "ert"]

PRECISIONS = Bounds(1e-8, 100, log=True)
"""Range of precisions for the area over the convergence curve, as in section 2.4 of the thesis."""

PRIOR_INSTANCES = 4
"""Weight of the pool in `bootstrap_means`, in instances."""


class UnknownOptimum(ValueError):  # noqa: N818 - states what is wrong
    """A criterion needs an optimum that is unknown."""


@settings
class Criterion:
    """A single number for each configuration, over its runs; lower is better.

    Attributes:
        name: "mean-aocc": the mean of one minus the area over the convergence curve, between precisions of 100 and 1e-8
            on a logarithmic scale; "final": the mean precision at the end; "ert": the expected running time.
        target: Target precision of "ert".
    """

    name: Annotated[CriterionName, choice("mean-aocc", "final", "ert")] = "mean-aocc"
    target: Annotated[float, real()] = 1e-8

    def terms(self, run: Run, until: float) -> tuple[float, float]:
        """The run's terms of the criterion's numerator and denominator; the latter counts runs, or successes.

        A run that ended by itself, even by failing, keeps what it found, as in a race. For a run that was cut short,
        e.g. by a time limit, a race leaves the unknown rest out. A single number needs a value, however, and slow
        algorithms must not gain: from then on, such a run counts as having found nothing, and its final value is
        infinite.

        Args:
            run: The run.
            until: Number of evaluations requested.

        Raises:
            UnknownOptimum: If the optimum is needed but unknown.
        """
        if run.optimum is None and self.name != "final":
            raise UnknownOptimum(
                f"criterion {self.name!r} needs the optimum, which is unknown on {run.key.instance}; use criterion "
                "'final', or strategy 'race', which compares ranks"
            )
        evaluations = run.trajectory.evaluations.astype(float)
        precisions = run.trajectory.values - (run.optimum or 0.0)
        lost = run.outcome.cut_short and run.outcome.evaluations < until
        if self.name == "final":
            return (float(precisions[-1]) if precisions.size and not lost else np.inf), 1.0
        if self.name == "ert":
            hit = precisions <= self.target
            return (float(evaluations[np.argmax(hit)]) if hit.any() else until), float(hit.any())
        reached = 1 - PRECISIONS.scaled(precisions)
        if lost:
            evaluations, reached = np.append(evaluations, run.outcome.evaluations + 1.0), np.append(reached, 0.0)
        return 1.0 - float(StepFunction(evaluations, reached, before=0.0).mean(Bounds(1, until + 1))), 1.0


def bootstrap_means(
    terms: FloatArray, rng: np.random.Generator, draws: int = 2000, *, pool: FloatArray | None = None
) -> FloatArray:
    """Draws of the criterion of each configuration, by the Bayesian bootstrap over instances (Rubin 1981).

    With a pool, the posterior is that of a Dirichlet process whose base measure is the pool, with a weight of four
    instances (Ferguson 1973). Thus a few runs do not count as certainty, and the mean of the best configuration, which
    was partly lucky, is shrunk towards the others'.

    Args:
        terms: (P, n, 2) terms of each configuration's run on each instance, see `Criterion.terms`.
        rng: Random generator for the weights.
        draws: Number of draws D.
        pool: (m, 2) terms of similar configurations' runs, from which the prior draws.

    Returns:
        (D, n) draws; +inf where no run succeeded.
    """
    weights = np.maximum(rng.standard_exponential((draws, len(terms))), 1e-12)
    sums = np.tensordot(weights, terms, axes=1)
    if pool is not None:
        picked = pool[rng.integers(len(pool), size=(draws, terms.shape[1], PRIOR_INSTANCES))]
        sums += (rng.standard_exponential((*picked.shape[:3], 1)) * picked).sum(axis=2)
    above, below = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore"):
        return np.where(below > 0, above / below, np.inf)

"""Rankings of drifting algorithms, the models fitted to them, and when two posteriors are the same."""

import numpy as np

from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HierarchicalDirichlet,
    HilbertSpaceGaussianProcess,
    IndependentDirichlet,
    InstanceBootstrap,
    RandomWalk,
    SparseGaussianProcess,
    as_published,
    fit,
)
from polarbear.rankings import ChoiceCounts, choice_counts

_OVER_TIME = [
    RandomWalk(),
    BSpline(),
    GaussianProcess(),
    GaussianProcess("matern-5/2"),
    GaussianProcess("squared-exponential"),
    HilbertSpaceGaussianProcess(),
    SparseGaussianProcess(),
]
TEMPORAL = [as_published(model) for model in _OVER_TIME]
MODELS = [IndependentDirichlet(), HierarchicalDirichlet(), InstanceBootstrap(), *TEMPORAL]


def label(model):
    return f"{model.name} {getattr(model, 'kernel', '')}".strip()


def gumbel_values(instances, utilities, seed):
    """Values (P, T, n) ranked by a Plackett–Luce model with log-ratings (T, n)."""
    return -(np.asarray(utilities) + np.random.default_rng(seed).gumbel(size=(instances, *np.shape(utilities))))


def drifting(timepoints=8, algorithms=4, instances=12, seed=0):
    return gumbel_values(instances, np.linspace(0, 1, timepoints)[:, None] * np.linspace(-1, 1, algorithms), seed)


def fitted(values, model, draws=2000, seed=0, times=None):
    counts = values if isinstance(values, ChoiceCounts) else choice_counts(values)
    return fit(counts, times=times, model=model, draws=draws, rng=np.random.default_rng(seed))


def contrast(posterior, i, j):
    """(D, T) draws of log θ_i − log θ_j."""
    return posterior.log_ratio(i, j)


def alike(first, second, functional=lambda posterior: np.log(posterior.draws)):
    """Assert that two posteriors are the same but for Monte Carlo error.

    Means of a functional (D, T, …) within 4.5 standard errors, standard deviations within 12 %, which is 4.5 standard
    errors from an effective size of 1,400 on, and means of the hyperparameters.
    """
    error = 4.5 * np.sqrt(1 / first.diagnostics.ess + 1 / second.diagnostics.ess)
    a, b = functional(first), functional(second)
    a, b = (x.reshape(*x.shape[:2], -1) for x in (a, b))
    assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < error[:, np.newaxis] * a.std(axis=0)).all()
    np.testing.assert_allclose(a.std(axis=0) / b.std(axis=0), 1.0, atol=0.12)
    for name, values in first.hyperparameters.items():
        u, v = np.log(values), np.log(second.hyperparameters[name])
        assert abs(u.mean() - v.mean()) < error.max() * u.std()

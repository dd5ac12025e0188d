"""Multi-path Pathfinder (Zhang et al. 2022, algorithm 2) by BlackJAX: for comparison, not for use."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from polarbear.inference.posterior import Model, Posterior
from polarbear.inference.reference.numpyro_models import LOG_THETA, library, program
from polarbear.inference.sampling.diagnostics import PATHFINDER_DRAWS, Diagnostics
from polarbear.inference.sampling.psis import ratings_in_order, resample, smooth
from polarbear.inference.sampling.settings import Sampling
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_PATHS = 4
_LONGEST_PATH = 200
_ELBO_DRAWS = 25
_BATCH = 64
"""Number of draws whose densities are computed together."""
_SEEDS = 1 << 32
_ONE_AFTER_THE_OTHER = {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}
"""Option of XLA. If it factorizes two batches of matrices at a time, each waits in a thread of its pool for other
threads of that pool, and on two cores there is a deadlock (jaxlib 0.10.2, `ParallelBatchMap`)."""
_WARNING = (
    "Pathfinder's draws are unreliable: for models over time its posterior means were off by 0.65 to 2.1 "
    "posterior standard deviations and its pair probabilities by 0.2 to 0.33; even for the independent Dirichlet model "
    "its standard deviations were up to twice too large or too small. Use the default method, or nuts to check it"
)


def pathfinder(
    model: Model, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling
) -> Posterior:
    """An approximation to the posterior by Pathfinder; see `polarbear.inference.fit`.

    L-BFGS climbs to the mode four times. Draws from each climb's best Gaussian are weighted, Pareto-smoothed and
    resampled. All timepoints are approximated jointly. The diagnostics call every draw doubtful.

    Raises:
        ValueError: If there are no timepoints or fewer than two algorithms.
        TypeError: If the model is not one of polarbear's own.
        ImportError: If NumPyro or BlackJAX is not installed.
    """
    proposals, log_weights = _proposals(model, counts, times, sampling.draws, int(sampling.rng.integers(_SEEDS)))
    warnings.warn(_WARNING, UserWarning, stacklevel=3)
    weights, k_hat = smooth(log_weights)
    chosen = resample(weights, sampling.draws, sampling.rng)
    ess = min(1.0 / float(weights @ weights), float(sampling.draws))
    return Posterior(
        draws=ratings_in_order(proposals.pop(LOG_THETA)[chosen]),
        times=times,
        names=names,
        joint=model.joint,
        diagnostics=Diagnostics.shared(counts.timepoints, PATHFINDER_DRAWS, ess, k_hat=k_hat),
        hyperparameters={name: values[chosen] for name, values in proposals.items()},
        model=model,
    )


def _proposals(
    model: Model, counts: ChoiceCounts, times: FloatArray, draws: int, seed: int
) -> tuple[dict[str, FloatArray], FloatArray]:
    """`draws` values of log-ratings and hyperparameters from each path, and their log-weights."""
    jax, util, single = library("jax"), library("numpyro.infer.util"), library("blackjax.vi.pathfinder")
    with jax.enable_x64(True):
        posterior = program(model, counts, times)
        keys = jax.random.split(jax.random.PRNGKey(seed), 2 * _PATHS)
        ready = util.initialize_model(keys[_PATHS:], posterior.run)

        def log_density(unknowns: Any) -> Any:
            return -ready.potential_fn(unknowns)

        def computed(unknowns: Any) -> tuple[Any, Any]:
            return log_density(unknowns), ready.postprocess_fn(unknowns)

        def path(start: tuple[Any, Any]) -> tuple[Any, Any]:
            along, at_end = jax.random.split(start[0])
            gaussian, _ = single.approximate(along, log_density, start[1], _ELBO_DRAWS, maxiter=_LONGEST_PATH)
            unknowns, log_proposed = single.sample(at_end, gaussian, draws)
            density, values = jax.lax.map(computed, unknowns, batch_size=_BATCH)
            return density - log_proposed, values

        paths = jax.jit(partial(jax.lax.map, path), compiler_options=_ONE_AFTER_THE_OTHER)
        log_weights, values = paths((keys[:_PATHS], ready.param_info.z))
        proposals = {name: np.asarray(values[name]) for name in (LOG_THETA, *posterior.hyperparameters)}
    return {name: array.reshape(-1, *array.shape[2:]) for name, array in proposals.items()}, np.asarray(
        log_weights
    ).ravel()

"""The No-U-Turn sampler (Hoffman and Gelman 2014) by NumPyro: the gold standard against which to check other methods.

It samples programs that share no code with the models (see `inference.reference.numpyro_models`), in double precision,
and leaves JAX's settings unchanged. It takes seconds to compile and seconds to hours to sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.posterior import Model, Posterior
from polarbear.inference.reference.numpyro_models import LOG_THETA, Program, library, program
from polarbear.inference.reference.nuts_metric import laplace_covariance
from polarbear.inference.sampling.chain_order import ChainOrder, choose_evenly
from polarbear.inference.sampling.diagnostics import NO_U_TURN, Diagnostics
from polarbear.inference.sampling.psis import ratings_in_order
from polarbear.inference.sampling.settings import Sampling
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_CHAINS = 4
_WARM_UP = 1000
_FEWEST_SAMPLES = 250
_TARGET_ACCEPTANCE = 0.95
_MAX_LEARNED, _MAX_DENSE = 120, 2000
"""Maximum number of unknowns with a dense metric learned while warming up, and with a dense metric at all."""
_SEEDS = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """Draws from the chains.

    Attributes:
        log_theta: (chains, samples, T, n) log-ratings.
        hyperparameters: (chains, samples) of each hyperparameter, by name.
        diverging: (chains, samples) whether the transition diverged.
    """

    log_theta: FloatArray
    hyperparameters: Mapping[str, FloatArray]
    diverging: NDArray[np.bool_]

    @property
    def divergences(self) -> int:
        """Number of transitions that diverged."""
        return int(self.diverging.sum())

    def diagnostics(self, draws: int) -> Diagnostics:
        """The smallest effective sample size and largest split R-hat at each timepoint, including hyperparameters.

        Args:
            draws: Number of samples used, which limits the effective sample size.
        """
        measures = library("numpyro.diagnostics")
        timepoints = self.log_theta.shape[2]
        ess = np.minimum(measures.effective_sample_size(self.log_theta).min(axis=1), draws)
        r_hat = measures.split_gelman_rubin(self.log_theta).max(axis=1)
        for values in self.hyperparameters.values():
            ess = np.minimum(ess, measures.effective_sample_size(values))
            r_hat = np.maximum(r_hat, measures.split_gelman_rubin(values))
        unknown = np.full(timepoints, np.nan)
        return Diagnostics((NO_U_TURN,) * timepoints, ess, unknown, r_hat, self.divergences)


def chains(model: Model, counts: ChoiceCounts, times: FloatArray, *, samples: int, seed: int) -> Chains:
    """Run four chains, one after the other, each with 1,000 warm-up steps and `samples` samples.

    Args:
        model: One of the models of `polarbear.inference.models`.
        counts: The rankings.
        times: (T,) timepoints.
        samples: Number of samples that each chain keeps.
        seed: The seed of JAX's generator.

    Raises:
        ValueError: If there are no timepoints or fewer than two algorithms.
        TypeError: If the model is not one of polarbear's own.
        ImportError: If NumPyro is not installed.
    """
    jax, infer = library("jax"), library("numpyro.infer")

    def one_after_another(chain: Any) -> Any:
        """Use one compiled program for all chains: NumPyro's "sequential" recompiles it for each."""
        return partial(jax.lax.map, chain)

    with jax.enable_x64(True):
        posterior = program(model, counts, times)
        at_pilot, at_chains = jax.random.split(jax.random.PRNGKey(seed))
        sampler = infer.MCMC(
            infer.NUTS(posterior.run, target_accept_prob=_TARGET_ACCEPTANCE, **_metric(posterior, at_pilot)),
            num_warmup=_WARM_UP,
            num_samples=samples,
            num_chains=_CHAINS,
            chain_method=one_after_another,
            progress_bar=False,
        )
        sampler.run(at_chains, extra_fields=("diverging",))
        samples_by_name = sampler.get_samples(group_by_chain=True)
        return Chains(
            log_theta=np.asarray(samples_by_name[LOG_THETA]),
            hyperparameters={name: np.asarray(samples_by_name[name]) for name in posterior.hyperparameters},
            diverging=np.asarray(sampler.get_extra_fields(group_by_chain=True)["diverging"], dtype=bool),
        )


def _metric(posterior: Program, key: Any) -> dict[str, Any]:
    """Settings of the sampler.

    The weights of basis functions fade at frequencies that depend on the length-scale: there a diagonal metric learned
    while warming up gave no divergence in 24,000 steps, the covariance of `laplace_covariance` 1,191.
    """
    if posterior.unknowns <= _MAX_LEARNED or posterior.unknowns > _MAX_DENSE or posterior.uneven:
        return {"dense_mass": posterior.unknowns <= _MAX_LEARNED}
    covariance = laplace_covariance(posterior, key)
    return {"dense_mass": True, "inverse_mass_matrix": covariance, "adapt_mass_matrix": False}


def nuts(
    model: Model, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling
) -> Posterior:
    """The posterior by the No-U-Turn sampler; see `polarbear.inference.fit`, and `chains` for the errors."""
    samples = max(_FEWEST_SAMPLES, -(-sampling.draws // _CHAINS))
    sampled = chains(model, counts, times, samples=samples, seed=int(sampling.rng.integers(_SEEDS)))
    chain, step = choose_evenly(_CHAINS, samples, sampling.draws, sampling.rng)
    return Posterior(
        draws=ratings_in_order(sampled.log_theta[chain, step]),
        times=times,
        names=names,
        joint=model.joint,
        diagnostics=sampled.diagnostics(sampling.draws),
        hyperparameters={name: values[chain, step] for name, values in sampled.hyperparameters.items()},
        model=model,
        chains=ChainOrder(chain, step, sampled.diverging[chain, step]),
    )

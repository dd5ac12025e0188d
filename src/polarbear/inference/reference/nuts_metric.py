"""A metric for the No-U-Turn sampler when there are too many unknowns to learn one while warming up.

It is the covariance of Laplace's approximation, at the means of a short pilot run. With paths z, the other unknowns φ,
and the Hessian H of the negative log-density, paths respond to φ by J = −H_zz⁻¹ H_zφ, and the covariance is that of
(e + J φ, φ) with e ~ N(0, H_zz⁻¹) and φ as in the pilot run. The metric does not change the sampler's target.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.reference.numpyro_models import Program, library
from polarbear.records import FloatArray

_PILOT_WARM_UP, _PILOT_SAMPLES = 400, 200
_PILOT_DEPTH = 7
_RIDGE = 0.01
"""Added to H_zz, so that no standard deviation exceeds 10."""


def laplace_covariance(posterior: Program, key: Any) -> FloatArray:
    """(d, d) approximate posterior covariance of the unconstrained unknowns, in the order in which JAX ravels them.

    Args:
        posterior: The program.
        key: The key of JAX's generator.
    """
    jax, infer = library("jax"), library("numpyro.infer")
    ravel = library("jax.flatten_util").ravel_pytree
    ready = library("numpyro.infer.util").initialize_model(key, posterior.run)
    pilot = infer.MCMC(
        infer.NUTS(potential_fn=ready.potential_fn, max_tree_depth=_PILOT_DEPTH),
        num_warmup=_PILOT_WARM_UP,
        num_samples=_PILOT_SAMPLES,
        progress_bar=False,
    )
    pilot.run(key, init_params=ready.param_info.z)
    samples = pilot.get_samples()
    mean, restored = ravel({name: values.mean(axis=0) for name, values in samples.items()})
    mask = {name: np.full(values.shape[1:], float(name == posterior.paths)) for name, values in samples.items()}
    paths = np.asarray(ravel(mask)[0]) > 0
    others = [np.asarray(samples[name]) for name in sorted(samples) if name != posterior.paths]

    def potential(unknowns: Any) -> Any:
        return ready.potential_fn(restored(unknowns))

    def column(unit: Any) -> Any:
        return jax.jvp(jax.grad(potential), (mean,), (unit,))[1]

    hessian = np.asarray(jax.jit(partial(jax.lax.map, column))(np.eye(mean.size)))
    return _joint(hessian, paths, np.stack([np.zeros(_PILOT_SAMPLES), *others], axis=1)[:, 1:])


def _joint(hessian: FloatArray, paths: NDArray[np.bool_], others: FloatArray) -> FloatArray:
    """The covariance of paths and others, from the Hessian of all and samples (S, k) of the others."""
    inverse = np.linalg.inv(hessian[np.ix_(paths, paths)] + _RIDGE * np.eye(int(paths.sum())))
    response = -inverse @ hessian[np.ix_(paths, ~paths)]
    spread = np.cov(others.T, ddof=0).reshape(others.shape[1], -1)
    covariance = np.empty_like(hessian)
    covariance[np.ix_(paths, paths)] = inverse + response @ spread @ response.T
    covariance[np.ix_(paths, ~paths)] = response @ spread
    covariance[np.ix_(~paths, paths)] = (response @ spread).T
    covariance[np.ix_(~paths, ~paths)] = spread
    return 0.5 * (covariance + covariance.T)

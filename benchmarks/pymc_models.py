"""Every model as users would write it today, in PyMC with NumPyro's sampler, compared with ours in the same run.

``python -m benchmarks.pymc_models MODEL T [--draws WARM_UP SAMPLES]`` (needs the extra ``bench``). n = 5 algorithms and
P = 30 instances, but n = 7 and P = 1,000 for the independent model; one core, processor time. The likelihood is that of
eq. 7 of Wurth et al. (2026), ranking by ranking; models over time are whitened; chains run one after the other, as they
would on one core. With fewer draws than 4 × (1,000 + 2,000), the time is extrapolated from the mean time of a
transition over warm-up and sampling, so it is approximate; the time of a run with 1 + 1 draws, mostly compilation, is
not scaled. R-hat refers to the draws that were made.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if any(argument.startswith("sparse") for argument in sys.argv):
    # With XLA's fusion emitters, the compiled gradient with respect to the length-scale is wrong, and no chain moves
    # (jaxlib 0.10.2).
    os.environ["XLA_FLAGS"] += " --xla_cpu_use_fusion_emitters=false"

import numpy as np
from scipy.interpolate import BSpline as SciPySpline

from benchmarks.models import DRAWS, MODELS
from polarbear.inference import IndependentDirichlet, Model, fit
from polarbear.inference.likelihood.path_likelihood import helmert
from polarbear.inference.model.hilbert_space import HilbertSpaceGaussianProcess
from polarbear.rankings import choice_counts

CHAINS, WARM_UP, SAMPLES = 4, 1000, 2000
ALL: dict[str, Model] = {
    "independent Dirichlet": IndependentDirichlet(),
    **{name: m for name, (m, _) in MODELS.items()},
}


def values(timepoints: int, algorithms: int, instances: int) -> np.ndarray:
    """(P, T, n) values ranked by a Plackett–Luce model whose log-ratings walk at random."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(timepoints, algorithms)) / np.sqrt(timepoints)
    mean = np.cumsum(steps, axis=0) + 0.7 * rng.normal(size=algorithms)
    return -(mean + rng.gumbel(size=(instances, timepoints, algorithms)))


def pymc_model(name: str, observed: np.ndarray) -> Any:
    """The model of rankings (P, T, n) by value."""
    import pymc as pm
    import pytensor.tensor as pt

    _, timepoints, algorithms = observed.shape
    order = np.argsort(observed, axis=2)
    at, q = np.linspace(0.0, 1.0, timepoints), algorithms - 1

    def kernel(ell: Any) -> Any:
        kinds: dict[str, Callable[..., Any]] = {"3/2": pm.gp.cov.Matern32, "5/2": pm.gp.cov.Matern52}
        kind = next((kinds[key] for key in kinds if key in name), pm.gp.cov.ExpQuad)
        return kind(1, ls=ell)

    def contrasts() -> Any:
        sigma = pm.LogNormal("sigma", 0.0, 0.5)
        if name == "random walk":
            steps = sigma * np.sqrt(np.diff(at))[:, np.newaxis] * pm.Normal("steps", shape=(timepoints - 1, q))
            return pt.cumsum(pt.concatenate([pm.Normal("first", shape=(1, q)), steps]), axis=0)
        if name.startswith("B-spline"):
            inner = np.quantile(at, np.linspace(0, 1, timepoints // 2 - 2)[1:-1])
            basis = SciPySpline.design_matrix(at, np.concatenate([np.zeros(4), inner, np.ones(4)]), 3).toarray()
            return sigma * (basis @ pm.Normal("beta", shape=(basis.shape[1], q)))
        ell = pm.InverseGamma("ell", 5.0, 2.0)
        if name.startswith("HSGP"):
            functions, extension = HilbertSpaceGaussianProcess().domain()
            process = pm.gp.HSGP(m=[functions], c=extension, cov_func=kernel(ell))
            phi, deviation = process.prior_linearized(X=at[:, np.newaxis])
            return sigma * (phi @ (pm.Normal("beta", shape=(functions, q)) * deviation[:, np.newaxis]))
        if name.startswith("sparse"):
            inducing = np.quantile(at, np.linspace(0, 1, 10))[:, np.newaxis]
            factor = pt.linalg.cholesky(kernel(ell)(inducing) + 1e-6 * np.eye(10))
            white = pm.Normal("u", shape=(10, q))
            across = kernel(ell)(at[:, np.newaxis], inducing)
            return sigma * (across @ pt.linalg.solve_triangular(factor.T, white, lower=False))
        return sigma * pm.gp.Latent(cov_func=kernel(ell)).prior("f", X=at[:, np.newaxis], n_outputs=q).T

    with pm.Model() as model:
        if "Dirichlet" in name:
            kappa = pm.Exponential("kappa", 1.0 / algorithms) if "hierarchical" in name else float(algorithms)
            concentration = kappa / algorithms * np.ones((timepoints, algorithms))
            theta = pm.Dirichlet("theta", concentration, shape=(timepoints, algorithms))
            utility = pt.log(theta)
        else:
            utility = pm.Deterministic("utility", contrasts() @ helmert(algorithms).T)
        ranked = utility[np.arange(timepoints)[:, np.newaxis], order]
        top = ranked.max(axis=-1, keepdims=True)
        behind = pt.log(pt.cumsum(pt.exp(ranked - top)[..., ::-1], axis=-1)[..., ::-1]) + top
        pm.Potential("rankings", (ranked - behind).sum())
    return model


def sampled(name: str, observed: np.ndarray, warm_up: int, samples: int) -> tuple[float, Any]:
    """Seconds, and what PyMC found."""
    import pymc as pm

    began = time.process_time()
    with pymc_model(name, observed):
        data = pm.sample(
            nuts_sampler="numpyro",
            chains=CHAINS,
            tune=warm_up,
            draws=samples,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
    return time.process_time() - began, data


def main() -> None:
    import arviz

    arguments = sys.argv[1:]
    warm_up, samples = WARM_UP, SAMPLES
    if "--draws" in arguments:
        place = arguments.index("--draws")
        warm_up, samples = int(arguments[place + 1]), int(arguments[place + 2])
        del arguments[place : place + 3]
    name, timepoints = arguments[0], int(arguments[1])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    model = ALL[name]
    observed = values(timepoints, 7, 1000) if name.startswith("indep") else values(timepoints, 5, 30)
    counts = choice_counts(observed)
    ours = []
    for repetition in range(6):
        began = time.process_time()
        posterior = fit(counts, model=model, draws=DRAWS, rng=np.random.default_rng(repetition))
        ours.append(time.process_time() - began)
    seconds = float(np.median(ours[1:]))
    warnings.simplefilter("ignore")
    sampled(name, observed, 1, 1)
    fixed = 0.0 if (warm_up, samples) == (WARM_UP, SAMPLES) else sampled(name, observed, 1, 1)[0]
    theirs, data = sampled(name, observed, warm_up, samples)
    scale = (WARM_UP + SAMPLES) / (warm_up + samples)
    theirs = fixed + (theirs - fixed) * scale
    summary = arviz.summary(data, kind="diagnostics")
    log_theta = np.log(posterior.draws)
    name_of = "theta" if "theta" in data.posterior else "utility"
    found = np.log(data.posterior[name_of].values) if name_of == "theta" else data.posterior[name_of].values
    found = found.reshape(-1, *found.shape[2:])
    found = found - np.log(np.exp(found).sum(axis=-1, keepdims=True))
    apart = np.abs(log_theta.mean(axis=0) - found.mean(axis=0)) / log_theta.std(axis=0)
    how = "run in full" if scale == 1 else f"extrapolated from {CHAINS} x ({warm_up} + {samples})"
    print(
        f"| {name} | {timepoints} | {seconds:.2f} | {theirs:.0f} ({how}) | {theirs / seconds:.0f} "
        f"| {summary['r_hat'].max():.3f} | {summary['ess_bulk'].min():.0f} "
        f"| {int(data.sample_stats['diverging'].sum())} | {apart.max():.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()

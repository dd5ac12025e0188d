"""Long runs of the No-U-Turn sampler that the temporal models' posteriors are tested against.

``python -m benchmarks.references [case ...]`` (needs the extra ``bench``) writes one small file of summaries for each
case to tests/inference/references. The models are written down a second time here, plainly: covariance matrices are
built from the formulas and factorized whole, splines and basis functions come from SciPy or the textbook. Paths are
whitened (η = L z with standard normal z). A run is kept only if all R-hat are below 1.01 and all effective sample sizes
above 400, for the ratings as for the hyperparameters.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np

from polarbear.inference import Model
from polarbear.inference.bspline import BSpline
from polarbear.inference.gaussian_process import GaussianProcess
from polarbear.inference.hierarchical import HierarchicalDirichlet
from polarbear.inference.hilbert_space import HilbertSpaceGaussianProcess
from polarbear.inference.random_walk import RandomWalk
from polarbear.inference.sparse_gaussian_process import SparseGaussianProcess
from polarbear.rankings import ChoiceCounts, choice_counts, membership

FOLDER = Path(__file__).parents[1] / "tests" / "inference" / "references"
CHAINS, WARM_UP, SAMPLES = 4, 1000, 3000
LARGEST_R_HAT, SMALLEST_ESS = 1.01, 400
SEEDS = 3
"""Runs of which one has to pass: NUTS gets stuck in some."""


@dataclass(frozen=True)
class Case:
    """A data set and a model.

    Attributes:
        counts: The rankings.
        times: (T,) timepoints.
        model: The model.
    """

    counts: ChoiceCounts
    times: np.ndarray
    model: Model


def smooth(timepoints: int, algorithms: int, instances: int, seed: int, *, swing: float = 1.0) -> np.ndarray:
    """(instances, T, n) values ranked by a Plackett–Luce model whose log-ratings are sums of slow waves."""
    rng = np.random.default_rng(seed)
    at = np.linspace(0.0, 1.0, timepoints)[:, np.newaxis]
    waves = sum(rng.normal(size=algorithms) * np.cos(np.pi * k * at) / (1 + k) for k in range(4))
    return -(swing * waves + rng.gumbel(size=(instances, timepoints, algorithms)))


def with_holes(values: np.ndarray, seed: int) -> np.ndarray:
    """Values of which a third is missing, and all at some timepoints, and with ties."""
    holes = np.random.default_rng(seed).random(values.shape) < 1 / 3
    holes[:, 3:5] = True
    return np.where(holes, np.nan, np.round(values, 1))


def cases() -> dict[str, Case]:
    """All cases by name."""
    even, uneven = np.linspace(0.0, 1.0, 20), np.linspace(0.3, 1.0, 20) ** 3
    plain = choice_counts(smooth(20, 5, 30, 1))
    few = choice_counts(smooth(20, 5, 2, 2))
    holes = choice_counts(with_holes(smooth(20, 4, 25, 3), 4))
    never = smooth(15, 4, 20, 5)
    never[:, :, 3] = 99.0
    return {
        "random-walk": Case(plain, even, RandomWalk()),
        "random-walk-few": Case(few, even, RandomWalk()),
        "random-walk-holes": Case(holes, uneven, RandomWalk(sigma_log_mean=0.5, initial_sd=2.0)),
        "random-walk-agreement": Case(choice_counts(np.tile(np.arange(3.0), (8, 5, 1))), even[:5], RandomWalk()),
        "b-spline": Case(plain, even, BSpline()),
        "b-spline-holes": Case(holes, uneven, BSpline(degree=2, coefficients=7)),
        "b-spline-few": Case(few, even, BSpline()),
        "matern-3-2": Case(plain, even, GaussianProcess()),
        "matern-3-2-holes": Case(holes, uneven, GaussianProcess(ell_scale=3.0)),
        "matern-3-2-few": Case(few, even, GaussianProcess()),
        "matern-3-2-never": Case(choice_counts(never), even[:15], GaussianProcess()),
        "matern-5-2": Case(plain, even, GaussianProcess("matern-5/2")),
        "squared-exponential": Case(plain, even, GaussianProcess("squared-exponential")),
        "hilbert-space": Case(plain, even, HilbertSpaceGaussianProcess()),
        "hilbert-space-holes": Case(holes, uneven, HilbertSpaceGaussianProcess("matern-5/2")),
        "hierarchical": Case(plain, even, HierarchicalDirichlet()),
        "hierarchical-holes": Case(holes, uneven, HierarchicalDirichlet(rate=0.5)),
        "sparse": Case(plain, even, SparseGaussianProcess()),
        "sparse-holes": Case(holes, uneven, SparseGaussianProcess("squared-exponential", inducing=6)),
        **scaled_cases(),
    }


def scaled_cases() -> dict[str, Case]:
    """Every model on more timepoints and more algorithms, and on small data sets that are hard for it."""
    hundred, fifty, ten = (np.linspace(0.0, 1.0, timepoints) for timepoints in (100, 50, 10))
    long, wide = choice_counts(smooth(100, 5, 30, 6)), choice_counts(smooth(50, 10, 100, 7))
    crowd = choice_counts(smooth(5, 30, 20, 8))
    hard = {
        "two": choice_counts(smooth(10, 4, 2, 9)),
        "dominance": choice_counts(np.tile(np.arange(4.0), (8, 10, 1))),
        "equal": choice_counts(smooth(10, 4, 40, 10, swing=0.0)),
        "ties": choice_counts(np.round(smooth(10, 4, 20, 11) / 2)),
    }
    models: dict[str, Model] = {
        "random-walk": RandomWalk(),
        "b-spline": BSpline(),
        "matern-3-2": GaussianProcess(),
        "matern-5-2": GaussianProcess("matern-5/2"),
        "squared-exponential": GaussianProcess("squared-exponential"),
        "hilbert-space": HilbertSpaceGaussianProcess(),
        "sparse": SparseGaussianProcess(),
        "hierarchical": HierarchicalDirichlet(),
    }
    small = {f"{name}-{kind}": Case(counts, ten, model) for kind, counts in hard.items() for name, model in models.items()}
    return {
        **small,
        **{f"{name}-long": Case(long, hundred, model) for name, model in models.items()},
        **{f"{name}-wide": Case(wide, fifty, model) for name, model in models.items()},
        **{f"{name}-crowd": Case(crowd, ten[:5], model) for name, model in models.items()},
    }


def loading(case: Case) -> tuple[int, Callable[[Any], Any]]:
    """The number of standard normal numbers in a path, and the function from hyperparameters to L (T, that number)."""
    import jax.numpy as jnp

    model: Any = case.model
    at = (case.times - case.times[0]) / (case.times[-1] - case.times[0])
    if isinstance(model, RandomWalk):
        first = jnp.zeros((at.size, at.size)).at[:, 0].set(model.initial_sd)
        steps = jnp.asarray(np.tril(np.ones((at.size, at.size)))[:, 1:] * np.sqrt(np.diff(at)))
        return at.size, lambda h: first.at[:, 1:].set(h["sigma"] * steps)
    if isinstance(model, BSpline):
        from scipy.interpolate import BSpline as SciPySpline

        count = model.coefficients or max(model.degree + 1, at.size // 2)
        inner = np.quantile(at, np.linspace(0, 1, count - model.degree + 1)[1:-1])
        knots = np.concatenate([np.zeros(model.degree + 1), inner, np.ones(model.degree + 1)])
        basis = jnp.asarray(SciPySpline.design_matrix(at, knots, model.degree).toarray())
        return count, lambda h: h["sigma"] * basis
    if isinstance(model, HilbertSpaceGaussianProcess):
        functions, extension = model.domain()
        root = np.pi * np.arange(1, functions + 1) / extension
        values = jnp.asarray(np.sqrt(2 / extension) * np.sin(root * (at[:, np.newaxis] - 0.5 + extension / 2)))
        return functions, lambda h: h["sigma"] * values * jnp.sqrt(density(model.kernel, root, h["ell"]))
    apart = np.abs(at[:, np.newaxis] - at)
    if isinstance(model, SparseGaussianProcess):
        points = np.quantile(at, np.linspace(0, 1, min(model.inducing, at.size)))
        across, inner_apart = np.abs(at[:, np.newaxis] - points), np.abs(points[:, np.newaxis] - points)

        def sparse(h: Any) -> Any:
            inner = kernel(model.kernel, inner_apart, h["ell"]) + 1e-6 * jnp.eye(points.size)
            weights = jnp.linalg.solve(jnp.linalg.cholesky(inner), kernel(model.kernel, across, h["ell"]).T)
            return h["sigma"] * weights.T

        return points.size, sparse
    jitter = 1e-8 * jnp.eye(at.size)
    return at.size, lambda h: h["sigma"] * jnp.linalg.cholesky(kernel(model.kernel, apart, h["ell"]) + jitter)


def kernel(name: str, distance: Any, length: Any) -> Any:
    """The covariance at some distances."""
    import jax.numpy as jnp

    if name == "squared-exponential":
        return jnp.exp(-0.5 * (distance / length) ** 2)
    root = (3 if name == "matern-3/2" else 5) ** 0.5 * distance / length
    return (1 + root if name == "matern-3/2" else 1 + root + root**2 / 3) * jnp.exp(-root)


def density(name: str, frequency: Any, length: Any) -> Any:
    """The spectral density of a Matérn kernel."""
    if name == "matern-3/2":
        return 12 * 3**0.5 / length**3 * (3 / length**2 + frequency**2) ** -2
    return 16 / 3 * 5**2.5 / length**5 * (5 / length**2 + frequency**2) ** -3


def sample(case: Case, seed: int = 0) -> tuple[dict[str, np.ndarray], float]:
    """Draws (chains, samples, ...) of log θ and the hyperparameters, and the seconds it took."""
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    counts, model = case.counts, case.model
    n = counts.algorithms
    union, place = np.unique(counts.sets, return_inverse=True)
    amounts = np.zeros((counts.timepoints, union.size))
    amounts[np.repeat(np.arange(counts.timepoints), np.diff(counts.offsets)), place] = counts.counts
    members = membership(union, counts.algorithms)
    contrasts = np.linalg.qr(np.eye(counts.algorithms) - 1 / counts.algorithms)[0][:, :-1]
    hierarchical = isinstance(model, HierarchicalDirichlet)
    size, load = (0, None) if hierarchical else loading(case)
    plain: Any = model

    def dirichlet() -> None:
        kappa = numpyro.sample("kappa", dist.Exponential(plain.rate or 1 / n))
        log_gamma = numpyro.sample("v", LogGamma(kappa / n).expand((counts.timepoints, n)).to_event(2))
        weigh(log_gamma)

    def weigh(mu: Any) -> None:
        mu = mu - mu.max(axis=1, keepdims=True)
        theta = jnp.exp(mu)
        numpyro.factor("rankings", (counts.wins * mu).sum() - (amounts * jnp.log(theta @ members.T)).sum())
        numpyro.deterministic("log_theta", mu - jnp.log(theta.sum(axis=1, keepdims=True)))

    class LogGamma(dist.Distribution):
        """The logarithm of a gamma variable; normalized, these are Dirichlet."""

        support = dist.constraints.real

        def __init__(self, shape: Any) -> None:
            self.shape_parameter = shape
            super().__init__(jnp.shape(shape))

        def log_prob(self, value: Any) -> Any:
            return self.shape_parameter * value - jnp.exp(value) - jax.scipy.special.gammaln(self.shape_parameter)

        def sample(self, key: Any, sample_shape: Any = ()) -> Any:
            return jnp.log(jax.random.gamma(key, self.shape_parameter, sample_shape + self.batch_shape))

    def joint() -> None:
        h = {"sigma": jnp.exp(numpyro.sample("u", dist.Normal(plain.sigma_log_mean, plain.sigma_log_sd)))}
        numpyro.deterministic("sigma", h["sigma"])
        if hasattr(model, "ell_shape"):
            h["ell"] = numpyro.sample("ell", dist.InverseGamma(plain.ell_shape, plain.ell_scale))
        z = numpyro.sample("z", dist.Normal().expand((size, counts.algorithms - 1)).to_event(2))
        weigh(load(h) @ z @ contrasts.T)

    start = time.perf_counter()
    sampler = NUTS(
        dirichlet if hierarchical else joint, dense_mass=size * (counts.algorithms - 1) <= 120, target_accept_prob=0.9
    )
    mcmc = MCMC(sampler, num_warmup=WARM_UP, num_samples=SAMPLES, num_chains=CHAINS, chain_method="sequential",
                progress_bar=False)  # fmt: skip
    mcmc.run(jax.random.PRNGKey(seed))
    found = {k: np.asarray(v) for k, v in mcmc.get_samples(group_by_chain=True).items() if k not in ("z", "u", "v")}
    return found, time.perf_counter() - start


def summary(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is kept of a run: see `make`."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    log_theta = found["log_theta"].reshape(-1, *found["log_theta"].shape[2:])
    above = log_theta[:, :, :, np.newaxis] > log_theta[:, :, np.newaxis, :]
    kept: dict[str, np.ndarray] = {
        "mean": log_theta.mean(axis=0),
        "sd": log_theta.std(axis=0),
        "better": above.mean(axis=0),
        "dominates": above.all(axis=1).mean(axis=0),
        "r_hat": np.array(max(float(np.max(split_gelman_rubin(v))) for v in found.values())),
        "ess": effective_sample_size(found["log_theta"]),
    }
    for name in found.keys() - {"log_theta"}:
        ess = float(effective_sample_size(found[name]))
        kept[name] = np.array([np.log(found[name]).mean(), np.log(found[name]).std(), ess])
    return kept


def make(name: str, case: Case) -> None:
    """Run one case until a run passes, and write its summaries.

    They are the means and standard deviations (T, n) of log θ, the probabilities (T, n, n) that one algorithm is better
    and (n, n) that it is at all timepoints, the largest R-hat, the effective sample sizes (T, n) of log θ, and for each
    hyperparameter the mean and standard deviation of its logarithm with their effective sample size.
    """
    for seed in range(SEEDS):
        found, seconds = sample(case, seed)
        kept = summary(found)
        smallest = min(float(kept["ess"].min()), *(float(kept[h][2]) for h in found.keys() - {"log_theta"}))
        good = float(kept["r_hat"]) < LARGEST_R_HAT and smallest > SMALLEST_ESS
        verdict = "kept" if good else "NOT KEPT"
        print(
            f"{name}: {seconds:.0f} s, R-hat {float(kept['r_hat']):.4f}, smallest ESS {smallest:.0f}: {verdict}",
            flush=True,
        )
        if good:
            FOLDER.mkdir(exist_ok=True)
            np.savez_compressed(FOLDER / f"{name}.npz", **{k: v.astype(np.float32) for k, v in kept.items()})
            return


def main() -> None:
    every = cases()
    for name in sys.argv[1:] or every:
        make(name, every[name])


if __name__ == "__main__":
    main()

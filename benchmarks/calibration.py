"""Simulation-based calibration (Talts et al. 2018) of every model: ``python -m benchmarks.calibration [replicates]``.

Hyperparameters and ratings are drawn from the prior, rankings are drawn given these, and the model is fitted to them.
If the posterior is that of the prior, the rank of the truth among posterior draws is uniform, and 95 % bands contain it
in 95 of 100 cases. The truths share no code with the models: SciPy draws hyperparameters; paths come from covariance
matrices by formula (Matérn kernels by Bessel functions), from SciPy's splines, and from textbook basis functions.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import stats
from scipy.interpolate import BSpline as SciPySpline
from scipy.linalg import helmert
from scipy.special import gamma, kv, log_softmax

from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HierarchicalDirichlet,
    HilbertSpaceGaussianProcess,
    IndependentDirichlet,
    Model,
    Posterior,
    RandomWalk,
    SparseGaussianProcess,
    as_published,
    fit,
)
from polarbear.rankings import choice_counts

DRAWS, RANKED, BINS = 1000, 99, 10
"""Draws of each posterior, those that the truth is ranked among, and the bins of a test of uniformity."""
ALGORITHMS, TIMEPOINTS, INSTANCES, PARTIAL = 4, 12, 10, 3
"""The size of each data set; in so many of the instances the last algorithm was not run."""
LEVEL, LEAST_P, DEVIATIONS, LEAST_RELIABLE = 0.95, 1e-4, 4.0, 0.98
"""Of bands; bounds of p-values, of counts of bands in standard deviations, and of the share of reliable posteriors."""
SMALLEST = 1e-300
"""Smaller ratings are ranked as equal, in random order, since posterior draws cannot tell them apart."""
NU = {"matern-3/2": 1.5, "matern-5/2": 2.5}
MODELS: tuple[Model, ...] = (
    IndependentDirichlet(),
    HierarchicalDirichlet(),
    RandomWalk(),
    BSpline(),
    GaussianProcess(),
    GaussianProcess("matern-5/2"),
    GaussianProcess("squared-exponential"),
    HilbertSpaceGaussianProcess(),
    SparseGaussianProcess(inducing=6),
)
Truth = tuple[dict[str, float], np.ndarray]
"""Hyperparameters by name, and logarithms of ratings (T, n)."""


@dataclass(frozen=True)
class Calibration:
    """Truths beside the posteriors from their rankings.

    Attributes:
        ranks: (replicates, functionals) ranks of functionals of the true ratings among 99 draws.
        hyperparameter_ranks: The same of each hyperparameter.
        held: (replicates, bands) whether the 95 % band of each rating at each timepoint holds it.
        hyperparameter_held: (replicates, hyperparameters) the same of these.
        reliable: (replicates,) the share of the timepoints at which the posterior calls itself reliable.
    """

    ranks: np.ndarray
    hyperparameter_ranks: np.ndarray
    held: np.ndarray
    hyperparameter_held: np.ndarray
    reliable: np.ndarray

    def faults(self) -> list[str]:
        """What does not agree, in words."""
        found = []
        for what, ranks in (("functional", self.ranks), ("hyperparameter", self.hyperparameter_ranks)):
            found += [f"ranks of {what} {k}: p = {p:.1e}" for k, p in enumerate(p_values(ranks)) if not p > LEAST_P]
        for what, held in (("band", self.held), ("hyperparameter", self.hyperparameter_held)):
            shares, (least, most) = held.mean(axis=0), allowed(len(held))
            found += [
                f"{what} {k} contains {s:.3f} of the truths" for k, s in enumerate(shares) if not least < s < most
            ]
        if not self.reliable.mean() >= LEAST_RELIABLE:
            found.append(f"{self.reliable.mean():.3f} of the posteriors report themselves as reliable")
        return found


def p_values(ranks: np.ndarray) -> np.ndarray:
    """The p-value of a chi-squared test of uniformity of each column of ranks among 99 draws."""
    bins = ranks * BINS // (RANKED + 1)
    return np.array([stats.chisquare(np.bincount(column, minlength=BINS)).pvalue for column in bins.T])


def allowed(replicates: int) -> tuple[float, float]:
    """The share of so many truths that one band may hold: 0.95 ± 4 standard deviations of a binomial share."""
    room = DEVIATIONS * np.sqrt(LEVEL * (1 - LEVEL) / replicates)
    return LEVEL - room, LEVEL + room


def calibrated(model: Model, replicates: int, seed: int, *, prior: Model | None = None) -> Calibration:
    """Truths from the model's prior, or from another's, beside posteriors of the model."""
    if isinstance(model, IndependentDirichlet):
        return of_independent(model, replicates, seed, prior=prior)
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(replicates):
        hyperparameters, logs = truth(prior or model, rng)
        posterior = fit(
            choice_counts(ranked(logs, INSTANCES, PARTIAL, rng)), model=as_published(model), draws=DRAWS, rng=rng
        )
        rows.append(one(hyperparameters, np.exp(logs), posterior, rng))
    return Calibration(*(np.array(column) for column in zip(*rows, strict=True)))


def one(
    hyperparameters: dict[str, float], theta: np.ndarray, posterior: Posterior, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """A row of each attribute of `Calibration`. Models that are not joint are asked of single timepoints alone."""
    functionals = [
        lambda x: x[..., 3, 0],
        lambda x: x[..., -1, -1],
        lambda x: np.log(x[..., 6, 1] / x[..., 6, 2]),
        lambda x: x[..., 4, :].max(axis=-1),
    ]
    if posterior.joint:
        functionals += [
            lambda x: np.log(x[..., 0] / x[..., 1]).min(axis=-1),
            lambda x: np.log(x[..., 9, 0] / x[..., 2, 0]),
        ]
    lower, upper = posterior.interval(LEVEL)
    draws, true, held = np.maximum(posterior.draws[:RANKED], SMALLEST), np.maximum(theta, SMALLEST), []
    for name, value in hyperparameters.items():
        low, high = np.quantile(posterior.hyperparameters[name], [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
        held.append(low <= value <= high)
    return (
        np.array([rank(f(draws), f(true), rng) for f in functionals]),
        np.array([(posterior.hyperparameters[name][:RANKED] < v).sum() for name, v in hyperparameters.items()], int),
        ((lower <= theta) & (theta <= upper)).ravel(),
        np.array(held, dtype=bool),
        1.0 - posterior.diagnostics.doubtful.mean(),
    )


def of_independent(
    model: IndependentDirichlet,
    replicates: int,
    seed: int,
    *,
    prior: Model | None = None,
    algorithms: int = ALGORITHMS,
    instances: int = INSTANCES,
) -> Calibration:
    """The independent model at one timepoint, all replicates as timepoints of one fit."""
    rng = np.random.default_rng(seed)
    alpha = getattr(prior or model, "alpha")  # noqa: B009
    logs = log_dirichlet(alpha, (replicates, algorithms), rng)
    theta, values = np.exp(logs), ranked(logs, instances, instances // 3, rng)
    posterior = fit(choice_counts(values), model=as_published(model), draws=DRAWS, rng=rng)
    functionals = [lambda x, i=i: x[..., i] for i in range(algorithms)]
    functionals += [lambda x: x[..., 0] / (x[..., 0] + x[..., 1]), lambda x: x.max(axis=-1)]
    draws, none = posterior.draws[:RANKED], np.empty((replicates, 0))
    lower, upper = posterior.interval(LEVEL)
    return Calibration(
        np.array([rank(f(draws), f(theta), rng) for f in functionals]).T,
        none.astype(int),
        (lower <= theta) & (theta <= upper),
        none.astype(bool),
        1.0 - posterior.diagnostics.doubtful,
    )


def rank(draws: np.ndarray, true: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How many of the draws, along the first axis, are below the truth; of those that equal it any number."""
    return (draws < true).sum(axis=0) + rng.integers((draws == true).sum(axis=0) + 1)


def ranked(logs: np.ndarray, instances: int, partial: int, rng: np.random.Generator) -> np.ndarray:
    """(instances, T, n) values ranked by a Plackett–Luce model; in some the last algorithm was not run."""
    values = -(logs + rng.gumbel(size=(instances, *logs.shape)))
    values[:partial, :, -1] = np.nan
    return values


def truth(model: Model, rng: np.random.Generator) -> Truth:
    """A truth from the prior of a model, at 12 times from 0 to 1."""
    if isinstance(model, HierarchicalDirichlet):
        kappa = rng.exponential(ALGORITHMS if model.rate is None else 1 / model.rate)
        return {"kappa": kappa}, log_dirichlet(kappa / ALGORITHMS, (TIMEPOINTS, ALGORITHMS), rng)
    plain: Any = model
    sigma = stats.lognorm(plain.sigma_log_sd, scale=np.exp(plain.sigma_log_mean)).rvs(random_state=rng)
    hyperparameters, length = {"sigma": sigma}, np.nan
    if hasattr(model, "ell_shape"):
        length = hyperparameters["ell"] = stats.invgamma(plain.ell_shape, scale=plain.ell_scale).rvs(random_state=rng)
    covariance = path_covariance(model, np.linspace(0.0, 1.0, TIMEPOINTS), sigma, length)
    values, vectors = np.linalg.eigh(covariance)
    noise = rng.normal(size=(TIMEPOINTS, ALGORITHMS - 1))
    paths = (vectors * np.sqrt(np.maximum(values, 0.0))) @ noise
    return hyperparameters, log_softmax(paths @ helmert(ALGORITHMS), axis=-1)


def log_dirichlet(alpha: float, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Logarithms of Dirichlet(α, …, α) variables: Gamma(α) is Gamma(α + 1) U^(1 / α), which may be too small."""
    return log_softmax(np.log(rng.standard_gamma(alpha + 1, shape)) - rng.exponential(size=shape) / alpha, axis=-1)


def path_covariance(model: Model, at: np.ndarray, sigma: float, length: float) -> np.ndarray:
    """(T, T) covariance of a path at times (T,) from 0 to 1, given the hyperparameters."""
    if isinstance(model, RandomWalk):
        return model.initial_sd**2 + sigma**2 * np.minimum(at[:, np.newaxis], at)
    if isinstance(model, BSpline):
        count = model.coefficients or max(model.degree + 1, at.size // 2)
        inner = np.quantile(at, np.linspace(0, 1, count - model.degree + 1)[1:-1])
        knots = np.concatenate([np.zeros(model.degree + 1), inner, np.ones(model.degree + 1)])
        basis = SciPySpline.design_matrix(at, knots, model.degree).toarray()
        return sigma**2 * basis @ basis.T
    if isinstance(model, HilbertSpaceGaussianProcess):
        functions, extension = model.domain()
        root = np.arange(1, functions + 1) * np.pi / extension
        basis = np.sqrt(2 / extension) * np.sin(root * (at[:, np.newaxis] - 0.5 + extension / 2))
        return sigma**2 * (basis * density(model.kernel, root, length)) @ basis.T
    if isinstance(model, SparseGaussianProcess):
        points = np.quantile(at, np.linspace(0, 1, min(model.inducing, at.size)))
        across = kernel(model.kernel, at, points, length)
        inner = kernel(model.kernel, points, points, length) + 1e-6 * np.eye(points.size)
        return sigma**2 * across @ np.linalg.solve(inner, across.T)
    if isinstance(model, GaussianProcess):
        return sigma**2 * kernel(model.kernel, at, at, length)
    raise TypeError(f"no truths of {model.name} are recorded")


def kernel(name: str, first: np.ndarray, second: np.ndarray, length: float) -> np.ndarray:
    """The covariance of unit variance between two sets of times."""
    distance = np.abs(first[:, np.newaxis] - second) / length
    if name == "squared-exponential":
        return np.exp(-0.5 * distance**2)
    scaled = np.maximum(np.sqrt(2 * NU[name]) * distance, 1e-10)
    return np.where(
        distance > 0, 2 ** (1 - NU[name]) / gamma(NU[name]) * scaled ** NU[name] * kv(NU[name], scaled), 1.0
    )


def density(name: str, frequency: np.ndarray, length: float) -> np.ndarray:
    """The spectral density of a kernel (Rasmussen and Williams 2006, eqs. 4.11 and 4.15, one dimension)."""
    if name == "squared-exponential":
        return np.sqrt(2 * np.pi) * length * np.exp(-0.5 * (length * frequency) ** 2)
    nu = NU[name]
    scale = 2 * np.sqrt(np.pi) * gamma(nu + 0.5) * (2 * nu) ** nu / (gamma(nu) * length ** (2 * nu))
    return scale * (2 * nu / length**2 + frequency**2) ** -(nu + 0.5)


def label(model: Model) -> str:
    """The name of a model, and of its kernel."""
    return f"{model.name} {getattr(model, 'kernel', '')}".strip()


def smallest(ranks: np.ndarray) -> str:
    """The smallest p-value, and of how many."""
    found = p_values(ranks)
    return f"{found.min():.3f} of {found.size}" if found.size else "–"


def coverage(held: np.ndarray) -> str:
    """The share of all bands that hold the truth, and those of the worst."""
    if not held.size:
        return "–"
    shares = held.mean(axis=0)
    return f"{held.mean():.3f} ({shares.min():.3f} to {shares.max():.3f} of {shares.size})"


def main() -> None:
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print("| model | truths | reliable | smallest p, ratings | smallest p, hyperparameters |", end="")
    print(" bands of ratings | bands of hyperparameters | allowed for one band |\n|---|---|---|---|---|---|---|---|")
    for number, model in enumerate(MODELS):
        start, replicates = time.process_time(), asked * (10 if isinstance(model, IndependentDirichlet) else 1)
        found = calibrated(model, replicates, seed=1000 + number)
        cells = [
            smallest(found.ranks),
            smallest(found.hyperparameter_ranks),
            coverage(found.held),
            coverage(found.hyperparameter_held),
            " to ".join(f"{share:.3f}" for share in allowed(replicates)),
        ]
        print(f"| {label(model)} | {replicates:,} | {found.reliable.mean():.1%} | {' | '.join(cells)} |", flush=True)
        print(f"{label(model)}: {time.process_time() - start:.0f} s", *found.faults(), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

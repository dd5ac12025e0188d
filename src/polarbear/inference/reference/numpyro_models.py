"""Every model as a NumPyro program for independent samplers.

The programs are written from the definitions and share no code with the models: covariance matrices are built from the
formulas and factorized as a whole, splines come from SciPy, basis functions from the textbook, and contrasts from
another basis. Paths are whitened (η = L z with standard normal z). They are slow and plain, and need the extra
``nuts``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polarbear.extras import optional
from polarbear.inference.gaussian.time_axis import unit_times
from polarbear.inference.model.bspline import BSpline
from polarbear.inference.model.gaussian_process import GaussianProcess, KernelModel
from polarbear.inference.model.hierarchical import HierarchicalDirichlet
from polarbear.inference.model.hilbert_space import HilbertSpaceGaussianProcess
from polarbear.inference.model.independent import IndependentDirichlet
from polarbear.inference.model.random_walk import RandomWalk
from polarbear.inference.model.sparse_gaussian_process import SparseGaussianProcess
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.posterior import Model
from polarbear.rankings import ChoiceCounts, membership
from polarbear.records import FloatArray

LOG_THETA = "log_theta"
"""Name of the log-ratings (T, n), which every program computes."""
_JITTER = 1e-8
_SPARSE_JITTER = 1e-6
"""Part of the sparse model: the variance added to inducing values, relative to σ²."""
_TIE_NODES = 240
_FIRST_LOG_U, _FADED = -40.0, 4.0
"""The integral of a tie runs from log u = −40, where the integrand vanishes, to 4 − log x for the smallest x."""


@dataclass(frozen=True, slots=True)
class Program:
    """A posterior as a NumPyro program.

    Attributes:
        run: The program.
        paths: Name of its unknown paths, or log-ratings; apart from these it samples only hyperparameters.
        unknowns: Number of variables it samples.
        hyperparameters: Names of the hyperparameters that it computes.
        uneven: Whether the unknowns' covariance differs much between values of the hyperparameters.
    """

    run: Callable[[], None]
    paths: str
    unknowns: int
    hyperparameters: tuple[str, ...]
    uneven: bool = False


def library(module: str) -> Any:
    """Import a module that the extra ``nuts`` installs.

    Raises:
        ImportError: If the module is not installed; the message names the extra.
    """
    return optional(module, "nuts", "method nuts or pathfinder")


def program(model: Model, counts: ChoiceCounts, times: FloatArray) -> Program:
    """The posterior of a model given rankings.

    Args:
        model: One of the models of `polarbear.inference.models`.
        counts: The rankings.
        times: (T,) timepoints.

    Raises:
        ValueError: If there are no timepoints or fewer than two algorithms.
        TypeError: If the model is not one of polarbear's own.
        ImportError: If NumPyro or JAX is not installed.
    """
    if counts.timepoints < 1 or counts.algorithms < 2:
        raise ValueError(
            "methods nuts and pathfinder need at least 1 timepoint and 2 algorithms; there are "
            f"{counts.timepoints} and {counts.algorithms}"
        )
    if isinstance(model, IndependentDirichlet):
        return _dirichlet(counts, None, model.alpha)
    if isinstance(model, HierarchicalDirichlet):
        return _dirichlet(counts, 1.0 / counts.algorithms if model.rate is None else model.rate, 0.0)
    if isinstance(model, TemporalModel) and (loading := _loading(model, unit_times(times, model.time_scale))):
        return _gaussian(model, counts, *loading)
    raise TypeError(f"{model.name} has no NumPyro program; methods nuts and pathfinder are for polarbear's own models")


def _dirichlet(counts: ChoiceCounts, rate: float | None, alpha: float) -> Program:
    """θ(t) ~ Dirichlet(α, …, α): normalized gamma variables, with α given, or α = κ / n and κ ~ Exponential(rate)."""
    jnp, gammaln = library("jax.numpy"), library("jax.scipy.special").gammaln
    numpyro, dist = library("numpyro"), library("numpyro.distributions")
    add_rankings, n = _likelihood(counts), counts.algorithms

    def run() -> None:
        shape = alpha if rate is None else numpyro.sample("kappa", dist.Exponential(rate)) / n
        log_gamma = numpyro.sample("v", dist.ImproperUniform(dist.constraints.real, (), counts.wins.shape))
        log_density = shape * log_gamma - jnp.exp(log_gamma) - gammaln(shape)
        numpyro.factor("gamma", log_density.sum())
        add_rankings(log_gamma)

    hyperparameters = () if rate is None else ("kappa",)
    return Program(run, "v", counts.wins.size + len(hyperparameters), hyperparameters)


def _gaussian(model: TemporalModel, counts: ChoiceCounts, size: int, loading: Callable[[Any], Any]) -> Program:
    """μ(t) = C η(t) with orthonormal contrasts C and n − 1 Gaussian paths η_q = L z_q."""
    jnp, numpyro, dist = library("jax.numpy"), library("numpyro"), library("numpyro.distributions")
    add_rankings, n = _likelihood(counts), counts.algorithms
    contrasts = np.linalg.qr(np.eye(n) - 1 / n)[0][:, :-1]
    plain: Any = model

    def run() -> None:
        parameters = {"sigma": jnp.exp(numpyro.sample("u", dist.Normal(plain.sigma_log_mean, plain.sigma_log_sd)))}
        numpyro.deterministic("sigma", parameters["sigma"])
        if isinstance(model, KernelModel):
            parameters["ell"] = numpyro.sample("ell", dist.InverseGamma(model.ell_shape, model.ell_scale))
        z = numpyro.sample("z", dist.Normal().expand((size, n - 1)).to_event(2))
        add_rankings(loading(parameters) @ z @ contrasts.T)

    hyperparameters = ("sigma", "ell") if isinstance(model, KernelModel) else ("sigma",)
    uneven = isinstance(model, HilbertSpaceGaussianProcess)
    return Program(run, "z", size * (n - 1) + len(hyperparameters), hyperparameters, uneven)


def _likelihood(counts: ChoiceCounts) -> Callable[[Any], None]:
    """Function of log-ratings (T, n), up to a constant at each timepoint, that adds the rankings to the program."""
    jnp, numpyro, add_ties = library("jax.numpy"), library("numpyro"), _ties(counts)
    most = int(np.diff(counts.offsets).max())
    amounts = np.zeros((counts.timepoints, most))
    members = np.ones((counts.timepoints, most, counts.algorithms))
    for t in range(counts.timepoints):
        _, sets, chosen_from = counts.at(t)
        amounts[t, : len(sets)], members[t, : len(sets)] = chosen_from, membership(sets, counts.algorithms)

    def add_rankings(mu: Any) -> None:
        mu = mu - mu.max(axis=1, keepdims=True)
        theta = jnp.exp(mu)
        chosen_from = jnp.einsum("tsn,tn->ts", members, theta)
        numpyro.factor("rankings", (counts.wins * mu).sum() - (amounts * jnp.log(chosen_from)).sum() + add_ties(mu))
        numpyro.deterministic(LOG_THETA, mu - jnp.log(theta.sum(axis=1, keepdims=True)))

    return add_rankings


def _ties(counts: ChoiceCounts) -> Callable[[Any], Any]:
    """Function from log-ratings (T, n), none above 0, to the log-likelihood of ties not listed as choice sets.

    A tie adds Σ log θ_i over the tied, minus the integral of `polarbear.rankings.tie_integral`, computed here by the
    trapezoidal rule in log u, and by enough Gauss–Legendre nodes in p to be exact.
    """
    jax, jnp, ties, n = library("jax"), library("jax.numpy"), counts.ties, counts.algorithms
    when = np.repeat(np.arange(counts.timepoints), np.diff(ties.offsets))
    tied, below = membership(ties.tied, n), membership(ties.below, n)
    roots, weights = np.polynomial.legendre.leggauss(n // 2 + 1)
    share = 0.5 * (1.0 + roots)

    def add(tie: Any) -> Any:
        mu, members, others = tie
        ratings, rest, k = members * jnp.exp(mu), others @ jnp.exp(mu), members.sum()
        smallest = rest + jnp.exp(jnp.where(members > 0, mu, 0.0).min())
        last = jax.lax.stop_gradient(_FADED - jnp.log(jnp.minimum(smallest, 1.0)))
        u = jnp.exp(jnp.linspace(_FIRST_LOG_U, last, _TIE_NODES))[:, np.newaxis]
        absent = -jnp.expm1(-u * ratings)
        mean = jnp.exp(jnp.log1p(-absent[:, np.newaxis] * share[:, np.newaxis]).sum(axis=2)) @ (0.5 * weights)
        integrand = k * jnp.exp(-u[:, 0]) - jnp.exp(-u[:, 0] * rest) * ((k + 1) * mean - 1)
        return (members * mu).sum() - integrand.sum() * (last - _FIRST_LOG_U) / (_TIE_NODES - 1)

    def add_all(mu: Any) -> Any:
        return ties.amounts @ jax.lax.map(jax.checkpoint(add), (mu[when], tied, below))

    return add_all if when.size else lambda _: 0.0


def _loading(model: TemporalModel, at: FloatArray) -> tuple[int, Callable[[Any], Any]] | None:
    """Number of standard normal variables in a path, and the function from hyperparameters to L (T, that number)."""
    jnp = library("jax.numpy")
    if isinstance(model, RandomWalk):
        start = jnp.zeros((at.size, at.size)).at[:, 0].set(model.initial_sd)
        steps = jnp.asarray(np.tril(np.ones((at.size, at.size)))[:, 1:] * np.sqrt(np.diff(at)))
        return at.size, lambda parameters: start.at[:, 1:].set(parameters["sigma"] * steps)
    if isinstance(model, BSpline):
        return _splines(model, at)
    if isinstance(model, HilbertSpaceGaussianProcess):
        functions, extension = model.domain()
        root = np.arange(1, functions + 1, dtype=np.float64) * (np.pi / extension)
        values = np.sqrt(2 / extension) * np.sin(root * (at[:, np.newaxis] - 0.5 + extension / 2))
        return (
            functions,
            lambda parameters: parameters["sigma"] * values * _amplitude(model.kernel, root, parameters["ell"]),
        )
    if isinstance(model, SparseGaussianProcess):
        return _inducing(model, at)
    if isinstance(model, GaussianProcess):
        apart, jitter = np.abs(at[:, np.newaxis] - at), _JITTER * np.eye(at.size)
        return (
            at.size,
            lambda parameters: (
                parameters["sigma"] * jnp.linalg.cholesky(_kernel(model.kernel, apart, parameters["ell"]) + jitter)
            ),
        )
    return None


def _splines(model: BSpline, at: FloatArray) -> tuple[int, Callable[[Any], Any]]:
    from scipy.interpolate import BSpline as SciPySpline

    count = model.coefficients or max(model.degree + 1, at.size // 2)
    inner = np.quantile(at, np.linspace(0, 1, count - model.degree + 1)[1:-1])
    knots = np.concatenate([np.zeros(model.degree + 1), inner, np.ones(model.degree + 1)])
    basis = library("jax.numpy").asarray(SciPySpline.design_matrix(at, knots, model.degree).toarray())
    return count, lambda parameters: parameters["sigma"] * basis


def _inducing(model: SparseGaussianProcess, at: FloatArray) -> tuple[int, Callable[[Any], Any]]:
    jnp = library("jax.numpy")
    points = np.quantile(at, np.linspace(0, 1, min(model.inducing, at.size)))
    across, apart = np.abs(at[:, np.newaxis] - points), np.abs(points[:, np.newaxis] - points)

    def loading(parameters: Any) -> Any:
        inner = _kernel(model.kernel, apart, parameters["ell"]) + _SPARSE_JITTER * jnp.eye(points.size)
        weights = jnp.linalg.solve(jnp.linalg.cholesky(inner), _kernel(model.kernel, across, parameters["ell"]).T)
        return parameters["sigma"] * weights.T

    return points.size, loading


def _kernel(name: str, distance: FloatArray, length: Any) -> Any:
    """The covariance at some distances."""
    jnp = library("jax.numpy")
    if name == "squared-exponential":
        return jnp.exp(-0.5 * (distance / length) ** 2)
    root = (3 if name == "matern-3/2" else 5) ** 0.5 * distance / length
    return (1 + root if name == "matern-3/2" else 1 + root + root**2 / 3) * jnp.exp(-root)


def _amplitude(name: str, frequency: FloatArray, length: Any) -> Any:
    """The square root of the kernel's spectral density."""
    jnp = library("jax.numpy")
    if name == "squared-exponential":
        return (2 * np.pi) ** 0.25 * jnp.sqrt(length) * jnp.exp(-0.25 * (length * frequency) ** 2)
    if name == "matern-3/2":
        return jnp.sqrt(12 * 3**0.5 / length**3) / (3 / length**2 + frequency**2)
    return jnp.sqrt(16 / 3 * 5**2.5 / length**5) * (5 / length**2 + frequency**2) ** -1.5

"""Durations of many similar configurations from one target to another, with shrinkage.

The best of many configurations with few runs each was partly lucky: its mean is too good. Means are shrunk towards
those of configurations with similar settings, as far as their own runs allow (empirical Bayes; Efron 2011, section 2,
on the winner's curse). Probabilities that a run gets that far are treated in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.records import FloatArray

_PRIOR_RUNS = 4
"""Weight, in runs, of the spread of all configurations relative to a configuration's own."""
_STATES, _THIN, _STEP = 40, 10, 0.8
"""Number of states of the Markov chain of log-variances, number of steps between them, and step size."""
_VAGUE = 100.0
"""Prior variance of the mean logarithm of durations."""
_HYPERPRIOR = 2.0
"""Prior standard deviation, around 0, of the logarithms of the beta distribution's parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedDurations:
    """Posterior draws of the durations of n configurations from one target to another.

    Attributes:
        means: (draws, n) mean number of evaluations of a run that reaches the second target.
        success: (draws, n) probability that a run that has reached the first target reaches the second.
    """

    means: FloatArray
    success: FloatArray


def shared_durations(
    begin: Sequence[ArrayLike],
    end: Sequence[ArrayLike],
    *,
    settings: ArrayLike | None = None,
    instances: Sequence[ArrayLike] | None = None,
    draws: int = 1000,
    rng: np.random.Generator,
) -> SharedDurations:
    """Jointly infer the durations of configurations from their beginning to a target.

    The logarithm of a configuration's mean duration is normal around a common mean; with `settings` its variance is
    the sum of parts explained by single settings, by pairs of settings and by the configuration itself. Probabilities
    of success are beta distributed over configurations. The variances and the beta distribution are estimated from all
    configurations. A duration is at least one evaluation.

    Args:
        begin: (runs,) time at which each run begins, for each of n configurations; inf where it never does.
        end: (runs,) time at which each run reaches the target, for each configuration; inf where it does not.
        settings: (n, k) settings of each configuration, 1 for those that it has; None if unknown.
        instances: (runs,) instance of each run, for each configuration, if later runs are on the same instances; None
            if runs are exchangeable.
        draws: Number of posterior draws.
        rng: The source of randomness.

    Raises:
        ValueError: If no run reaches the target, or no two runs of a configuration do (on one instance, if `instances`
            are given); or if `settings` do not match the configurations.
    """
    labels: Sequence[ArrayLike | None] = [None] * len(begin) if instances is None else instances
    spells = [_Spells.of(*each) for each in zip(begin, end, labels, strict=True)]
    if not any(spell.times.size for spell in spells):
        raise ValueError("no run of any configuration reaches the target; give an easier target")
    means = np.exp(_normal_draws(spells, _kernels(len(spells), settings), draws, rng))
    hits, trials = np.array([(spell.times.size, spell.begun) for spell in spells], dtype=float).T
    alpha, beta = _beta_prior(hits, trials)
    return SharedDurations(means, rng.beta(alpha + hits, beta + trials - hits, size=(draws, len(spells))))


@dataclass(frozen=True)
class _Spells:
    """Durations (hits,) of the runs that reached the target, their instances, and the number of runs that had begun."""

    times: FloatArray
    instances: Any
    begun: int

    @classmethod
    def of(cls, begin: ArrayLike, end: ArrayLike, instances: ArrayLike | None) -> _Spells:
        first, last = floats(begin), floats(end)
        hit = np.isfinite(last)
        labels = np.zeros(len(last)) if instances is None else np.asarray(instances)
        return cls(np.maximum(last[hit] - first[hit], 1.0), labels[hit], int(np.isfinite(first).sum()))

    @property
    def spread(self) -> tuple[float, int]:
        """The sum of squared deviations within instances, relative to the squared mean, and its degrees of freedom."""
        kinds = np.unique(self.instances)
        own = [self.times[self.instances == kind] for kind in kinds]
        squares = sum(float(((each - each.mean()) ** 2).sum()) for each in own)
        return squares / float(self.times.mean()) ** 2, self.times.size - kinds.size


def _kernels(count: int, settings: ArrayLike | None) -> FloatArray:
    """(kinds, n, n) covariances by shared settings, by shared pairs of settings, and of each configuration alone."""
    alone = np.eye(count)
    if settings is None:
        return alone[np.newaxis]
    given = floats(settings)
    if given.shape[:1] != (count,) or given.ndim != 2 or not given.any(axis=1).all():
        raise ValueError(f"settings have shape {given.shape}; give {count} rows, one per configuration, none all zero")
    share = given @ given.T
    share = share / np.sqrt(np.outer(share.diagonal(), share.diagonal()))
    return np.stack([share, share**2, alone])


def _normal_draws(spells: Sequence[_Spells], kernels: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws, n) posterior draws of the logarithms of mean durations."""
    from scipy.linalg import solve_triangular  # slow to import, as scipy.stats and scipy.optimize are

    seen = np.array([index for index, spell in enumerate(spells) if spell.times.size])
    able = [spell for spell in spells if spell.times.size]
    logs = np.log([float(spell.times.mean()) for spell in able])
    noise = np.diag(_noise(able))
    center, among = logs.mean(), kernels[:, seen[:, np.newaxis], seen]

    def loss(parameters: FloatArray) -> float:
        """Negative log-posterior of the log-variances; standard deviations have a half-normal prior."""
        variances = np.exp(parameters)
        factor = np.linalg.cholesky(_VAGUE + np.tensordot(variances, among, axes=1) + noise)
        white = np.asarray(solve_triangular(factor, logs - center, lower=True, check_finite=False), dtype=np.float64)
        prior = float((variances - parameters).sum()) / 2
        return float(np.log(factor.diagonal()).sum() + white @ white / 2) + prior

    begin = np.full(len(kernels), np.log(max(float(logs.var()), 1e-4) / len(kernels)))
    parts = list[FloatArray]()
    for parameters, share in zip(_chain(loss, begin, rng), np.array_split(np.arange(draws), _STATES), strict=True):
        prior = _VAGUE + np.tensordot(np.exp(parameters), kernels, axes=1)
        gain = np.linalg.solve(prior[seen[:, np.newaxis], seen] + noise, prior[seen])
        values, vectors = np.linalg.eigh(prior - prior[:, seen] @ gain)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        parts.append(center + (logs - center) @ gain + rng.standard_normal((share.size, len(spells))) @ root.T)
    return np.concatenate(parts)


def _chain(loss: Callable[[FloatArray], float], begin: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(states, k) states of a random-walk Metropolis chain from the mode, with density exp(-loss)."""
    from scipy.optimize import minimize

    found: Any = minimize(loss, begin, method="L-BFGS-B", bounds=[(-16.0, 5.0)] * len(begin))
    state, level = np.asarray(found.x, dtype=np.float64), float(found.fun)
    kept = list[FloatArray]()
    for _ in range(_STATES):
        for _ in range(_THIN):
            there = state + rng.normal(0, _STEP, len(state))
            if (ahead := loss(there)) < level + rng.exponential():
                state, level = there, ahead
        kept.append(state)
    return np.array(kept)


def _noise(spells: Sequence[_Spells]) -> FloatArray:
    """(n,) variance of the logarithm of each mean duration, from its own spread and that of all."""
    squares, freedom = np.array([spell.spread for spell in spells]).T
    if not (known := float(freedom.sum())):
        raise ValueError(
            "no configuration has two runs (on one instance, if instances are given) from which to estimate "
            "the variance of durations; give more runs of each"
        )
    hits = np.array([spell.times.size for spell in spells])
    spread = (squares + _PRIOR_RUNS * squares.sum() / known) / (freedom + _PRIOR_RUNS)
    return np.maximum(spread / hits, 1e-8)


def _beta_prior(hits: FloatArray, trials: FloatArray) -> tuple[float, float]:
    """Posterior mode of the parameters of the beta distribution of success."""
    from scipy import stats
    from scipy.optimize import minimize

    def loss(logs: FloatArray) -> float:
        alpha, beta = np.exp(logs)
        likelihood: Any = stats.betabinom.logpmf(hits, trials, alpha, beta)
        return float(-likelihood.sum() + logs @ logs / (2 * _HYPERPRIOR**2))

    found: Any = minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=[(-8.0, 8.0)] * 2)
    alpha, beta = np.exp(found.x).tolist()
    return alpha, beta

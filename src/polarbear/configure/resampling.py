"""The role of chance in comparing configurations, by resampling recorded losses.

Vermetten 2025, section 4.3.1. Losses are an array (n, R), R of each of n configurations, to be minimized. Their means
are taken as the truth; samples are drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from polarbear.configure.contests import Rule
from polarbear.records import FloatArray
from polarbear.validation import whole_number


@dataclass(frozen=True, slots=True, eq=False)
class SampleSizes:
    """The result of choosing the configuration with the least sample mean; made by `sample_sizes`.

    Attributes:
        sizes: (S,) sample sizes.
        loss: (S, repeats) relative excess of the chosen configuration's true mean over the least true mean.
        underestimation: (S, repeats) relative amount by which its sample mean is below its true mean.
    """

    sizes: tuple[int, ...]
    loss: FloatArray
    underestimation: FloatArray


def sample_sizes(
    losses: ArrayLike, sizes: Sequence[int] = (2, 5, 10, 15, 25, 50), *, repeats: int = 5000, rng: np.random.Generator
) -> SampleSizes:
    """Simulate choosing the configuration with the least sample mean, figures 4.21 and 4.22.

    Args:
        losses: (n, R) losses, see the module.
        sizes: Sample sizes.
        repeats: Number of samples of each size.
        rng: Random generator for all draws.

    Raises:
        ValueError: If losses are not such an array, or a mean is not positive.
    """
    values = _checked(losses)
    truth = _means(values)
    loss, under = np.empty((len(sizes), repeats)), np.empty((len(sizes), repeats))
    for row, size in enumerate(sizes):
        means = np.stack([_resample(each, size, repeats, rng).mean(axis=1) for each in values])
        chosen = means.argmin(axis=0)
        loss[row] = truth[chosen] / truth.min() - 1
        under[row] = (truth[chosen] - means.min(axis=0)) / truth[chosen]
    return SampleSizes(tuple(sizes), loss, under)


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """How often procedures correctly decide between two configurations; made by `decide_pairs`.

    Attributes:
        difference: (m,) relative difference of the true means of each pair.
        right: For each procedure, (m,) share of correct decisions: ``"means"``, ``"means of normal samples"``,
            ``"t-test"`` and ``"rank-sum test"``.
        wrong: For each procedure, (m,) share of wrong decisions; the rest is inconclusive.
    """

    difference: FloatArray
    right: Mapping[str, FloatArray]
    wrong: Mapping[str, FloatArray]


def decide_pairs(
    losses: ArrayLike, *, size: int = 15, repeats: int = 500, level: float = 0.05, rng: np.random.Generator
) -> Decisions:
    """How often samples of two configurations lead to the correct decision, for all pairs; figures 4.24 and 4.25.

    Means always decide. Tests decide if one of the two one-sided tests rejects. Normal samples have the mean and
    standard deviation of the recorded losses.

    Args:
        losses: (n, R) losses, see the module.
        size: Sample size for each configuration.
        repeats: Number of samples.
        level: Level of each one-sided test.
        rng: Random generator for all draws.

    Raises:
        ValueError: If losses are not such an array, or a mean is not positive.
    """
    values = _checked(losses)
    truth, deviation = _means(values), values.std(axis=1)
    pairs = [(a, b) if truth[a] < truth[b] else (b, a) for a, b in combinations(range(len(values)), 2)]
    right = {name: np.empty(len(pairs)) for name in ("means", "means of normal samples", "t-test", "rank-sum test")}
    wrong = {name: np.empty(len(pairs)) for name in right}
    for index, (a, b) in enumerate(pairs):
        first, second = (_resample(values[each], size, repeats, rng) for each in (a, b))
        normal = [rng.normal(truth[each], deviation[each] / np.sqrt(size), repeats) for each in (a, b)]
        better = {
            "means": first.mean(axis=1) - second.mean(axis=1),
            "means of normal samples": normal[0] - normal[1],
            "t-test": _signed(stats.ttest_ind, first, second, level),
            "rank-sum test": _signed(stats.mannwhitneyu, first, second, level),
        }
        for name, signs in better.items():
            right[name][index], wrong[name][index] = np.mean(signs < 0), np.mean(signs > 0)
    better_mean, worse_mean = truth[np.array(pairs).reshape(-1, 2)].T
    return Decisions((worse_mean - better_mean) / better_mean, right, wrong)


def race_samples(
    losses: ArrayLike, rule: Rule, steps: Iterable[int], *, leave: int = 1, most: int = 10_000, rng: np.random.Generator
) -> tuple[int, int]:
    """Race configurations on resampled losses.

    Args:
        losses: (n, R) losses, see the module.
        rule: Rule applied after each step, see `polarbear.configure.contests`.
        steps: Number of losses per configuration after each step.
        leave: Number of remaining configurations at which the race ends.
        most: Maximum number of sampled losses; the race ends before exceeding it.
        rng: Random generator for all draws.

    Returns:
        Index of the remaining configuration with the least sample mean, and number of losses sampled.

    Raises:
        ValueError: If losses are not such an array, or the first step samples more than `most`.
    """
    values = _checked(losses)
    alive, seen, sampled = np.arange(len(values)), np.empty((0, len(values))), 0
    for before, after in pairwise(chain((0,), steps)):
        if sampled + (after - before) * alive.size > most:
            break
        drawn = values[alive, rng.integers(values.shape[1], size=(after - before, alive.size))]
        seen, sampled = np.concatenate([seen, drawn]), sampled + drawn.size
        kept = rule(np.stack([seen, np.ones_like(seen)], axis=-1)) >= 0
        alive, seen = alive[kept], seen[:, kept]
        if alive.size <= leave:
            break
    if not sampled:
        raise ValueError(f"the first step samples more than {most} losses; make it smaller, or increase `most`")
    return int(alive[seen.mean(axis=0).argmin()]), sampled


def _checked(losses: ArrayLike) -> FloatArray:
    values = np.asarray(losses, dtype=np.float64)
    if values.ndim != 2 or min(values.shape) < 2 or not np.isfinite(values).all():
        raise ValueError(
            f"losses have shape {values.shape}; they must be finite, at least 2 for each of at least 2 configurations"
        )
    return values


def _means(values: FloatArray) -> FloatArray:
    """(n,) mean of each configuration's losses (n, R), which must be positive since results are relative to it."""
    means = values.mean(axis=1)
    if not (means > 0).all():
        raise ValueError(f"a configuration has mean loss {means.min():g}; it must be above 0, as errors are relative")
    return means


def _resample(values: FloatArray, size: int, repeats: int, rng: np.random.Generator) -> FloatArray:
    """(repeats, size) values, drawn with replacement."""
    return values[rng.integers(values.size, size=(repeats, whole_number(size, "size", 1)))]


def _signed(test: Callable[..., Any], first: FloatArray, second: FloatArray, level: float) -> FloatArray:
    """(repeats,) -1 where the first is significantly lower, +1 where it is significantly higher, else 0."""
    lower, higher = (np.asarray(test(first, second, axis=1, alternative=each).pvalue) for each in ("less", "greater"))
    return np.where(lower < level, -1.0, 0.0) + (higher < level)

"""Distance of every model's posterior from long reference runs: ``python -m benchmarks.accuracy [case ...]``.

The references are the summaries in tests/inference/references (see `benchmarks.references`). The tests check every case
against the same bounds, with the same functions.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.references import FOLDER, LEVELS, Case, cases, logarithms
from polarbear.inference import Posterior, fit
from polarbear.inference.sampling.diagnostics import HAMILTONIAN

DRAWS = 40_000
RUNS = 16
"""Fits that are put together where Markov chains answer, each of which is worth a few hundred draws."""
MEAN, SPREAD, PAIR, JOINT = 0.1, 0.07, 0.03, 0.02
"""Bounds: means by standard deviations, logarithm of the ratio of these, probabilities of pairs, and at all times."""
TAIL = 0.016
"""Bound of the share of a tail of 0.1: so much does a normal distribution gain that is wider by `SPREAD`."""
ROUNDING = 1e-6, 1e-12
"""Relative and absolute distance of log-ratings that are not told apart: those near 0 are those of ratings near 1."""
ERRORS = 2.0
"""Standard errors of each difference that are added to its bound, as both sides have Monte Carlo error."""
TOGETHER, ALONE = 2.0, 4.0
"""Bounds in standard errors: of the root mean square of all differences of means, and of that of a hyperparameter."""
HEAVY = 9.0
"""Kurtosis, that of an exponential distribution, from which a standard deviation hangs on a few draws far out."""


@dataclass(frozen=True)
class Difference:
    """Some numbers of a posterior beside those of its reference.

    Attributes:
        what: What they are, in words.
        values: The differences.
        bound: The largest that is allowed.
        error: The standard error of each.
    """

    what: str
    values: np.ndarray
    bound: float
    error: np.ndarray

    def excess(self) -> Iterator[str]:
        """A line about the value farthest beyond its bound, if one is."""
        sizes, allowed = np.abs(self.values), self.bound + ERRORS * self.error
        over = sizes - allowed
        if over.size and not over.max() <= 0:
            worst = int(np.argmax(over))
            size, limit = np.ravel(sizes)[worst], np.ravel(allowed)[worst]
            yield f"{self.what} off by {size:.3f}, allowed {limit:.3f}, at entry {worst}"

    def errors(self) -> float:
        """The root mean square of the differences, by their standard errors: about 1 if only chance made them."""
        return float(np.sqrt(np.mean(np.square(self.values / self.error))))

    def largest(self) -> float:
        """The largest size; 0 if there are no numbers."""
        return float(np.abs(self.values).max(initial=0.0))


@dataclass(frozen=True)
class Comparison:
    """A posterior beside its reference.

    Attributes:
        method: The methods that answered.
        reliable: Whether the posterior calls itself reliable.
        mean: (T, n) differences of the means of log θ, in standard deviations.
        spread: (T, n) logarithms of the ratios of the standard deviations of log θ; 0 where `tail` compares.
        tail: (2, T, n) differences of the shares below the reference's quantiles, where log θ is heavy-tailed and the
            reference has these: no sample has the standard deviation then.
        pair: (T, n, n) differences of the probabilities that one algorithm is better.
        joint: (n, n) differences of the probabilities that it is at all times; empty if the model is not joint.
        hyperparameters: Differences of the means of their logarithms, in standard deviations, and logarithms of the
            ratios of these, by turns.
    """

    method: tuple[str, ...]
    reliable: bool
    mean: Difference
    spread: Difference
    tail: Difference
    pair: Difference
    joint: Difference
    hyperparameters: tuple[Difference, ...]

    def excesses(self) -> list[str]:
        """What is out of bounds, in words."""
        found = [] if self.reliable else ["the posterior reports itself as unreliable"]
        every = (self.mean, self.spread, self.tail, self.pair, self.joint, *self.hyperparameters)
        found += [line for difference in every for line in difference.excess()]
        means = [(self.mean, TOGETHER), *((difference, ALONE) for difference in self.hyperparameters[::2])]
        return found + [
            f"{difference.what} off by {difference.errors():.2f} standard errors, allowed {bound:g}"
            for difference, bound in means
            if not difference.errors() <= bound
        ]


def compared(posterior: Posterior, path: Path) -> Comparison:
    """A posterior beside the reference in a file."""
    reference, found = np.load(path), posterior.diagnostics
    log_theta = logarithms(posterior.draws)
    mean, sd = log_theta.mean(axis=0), log_theta.std(axis=0)
    error = np.sqrt(1 / found.ess[:, np.newaxis] + 1 / reference["ess"])
    both = np.maximum(error[:, :, np.newaxis], error[:, np.newaxis, :])
    pair = Difference("pair probability", *shares(posterior.pairwise_probabilities(), reference["better"], PAIR, both))
    joint = Difference("joint probability", np.empty(0), JOINT, np.empty(0))
    if posterior.joint:
        dominates = shares(posterior.dominance_probabilities(), reference["dominates"], JOINT, both.max(axis=0))
        joint = replace(joint, values=dominates[0], error=dominates[2])
    scale, tail = spread(log_theta, sd, reference, error)
    return Comparison(
        method=tuple(dict.fromkeys(found.method)),
        reliable=found.reliable,
        mean=Difference("mean (sd)", (mean - reference["mean"]) / reference["sd"], MEAN, error),
        spread=scale,
        tail=tail,
        pair=pair,
        joint=joint,
        hyperparameters=tuple(of_hyperparameters(posterior, reference)),
    )


def shares(
    found: np.ndarray, expected: np.ndarray, bound: float, error: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Differences of probabilities, their bound, and standard errors √(p (1 − p)) of that of a mean.

    The last two axes are pairs of algorithms; one of an algorithm with itself is no difference.
    """
    others = ~np.eye(found.shape[-1], dtype=bool)
    p = 0.5 * (found + expected)
    return np.where(others, found - expected, 0.0), bound, np.sqrt(p * (1 - p)) * error


def spread(
    log_theta: np.ndarray, sd: np.ndarray, reference: Mapping[str, np.ndarray], error: np.ndarray
) -> tuple[Difference, Difference]:
    """Scales and tails: see `Comparison`. What the one compares the other does not."""
    kurtosis = moment(log_theta)
    heavy = (kurtosis > HEAVY) & ("quantiles" in reference)
    ratios, ratio_errors = np.log(sd / reference["sd"]), 0.5 * np.sqrt(kurtosis - 1.0) * error
    levels, tails = np.reshape(LEVELS, (2, 1, 1)), np.zeros((2, *error.shape))
    if heavy.any():
        quantiles = reference["quantiles"].astype(float)[:, np.newaxis]
        same = ROUNDING[0] * np.abs(quantiles) + ROUNDING[1]
        least, most = ((log_theta < quantiles - same).mean(axis=1), (log_theta <= quantiles + same).mean(axis=1))
        tails = np.where(heavy, np.clip(levels, least, most) - levels, 0.0)
    return (
        Difference("log of the scale ratio", np.where(heavy, 0.0, ratios), SPREAD, ratio_errors),
        Difference("share in a tail", tails, TAIL, np.sqrt(levels * (1 - levels)) * error),
    )


def of_hyperparameters(posterior: Posterior, reference: Mapping[str, np.ndarray]) -> Iterator[Difference]:
    """Means and standard deviations of their logarithms: see `Comparison`."""
    for name, values in posterior.hyperparameters.items():
        logs, (mean, sd, ess) = np.log(values), reference[name].tolist()
        error = np.sqrt(1 / posterior.diagnostics.ess.min() + 1 / ess)
        yield Difference(f"{name}: mean (sd)", (logs.mean() - mean) / sd, MEAN, error)
        ratio, spread_error = np.log(logs.std() / sd), 0.5 * np.sqrt(moment(logs) - 1.0) * error
        yield Difference(f"{name}: log of the sd ratio", ratio, SPREAD, spread_error)


def moment(values: np.ndarray) -> np.ndarray:
    """The kurtosis along the first axis, 3 for a normal distribution."""
    squares = np.square(values - values.mean(axis=0))
    return np.square(squares).mean(axis=0) / np.square(squares.mean(axis=0))


def answered(case: Case, *, draws: int = DRAWS, runs: int = RUNS) -> Posterior:
    """The posterior of a case; where Markov chains answer, so many fits with different seeds put together."""

    def run(number: int, seed: int) -> Posterior:
        rng = np.random.default_rng(seed)
        return fit(case.counts, times=case.times, model=case.model, draws=number, rng=rng)

    each = DRAWS // RUNS
    first = run(each, 0)
    if HAMILTONIAN not in first.diagnostics.method:
        return run(draws, 0)
    return together([first, *(run(each, seed) for seed in range(1, runs))])


def together(every: list[Posterior]) -> Posterior:
    """The draws of independent fits as one posterior."""
    first, found = every[0], [posterior.diagnostics for posterior in every]
    joined = replace(
        first.diagnostics,
        ess=np.sum([one.ess for one in found], axis=0),
        k_hat=np.fmax.reduce([one.k_hat for one in found]),
        r_hat=np.fmax.reduce([one.r_hat for one in found]),
    )
    return Posterior(
        draws=np.concatenate([posterior.draws for posterior in every]),
        hyperparameters={
            name: np.concatenate([posterior.hyperparameters[name] for posterior in every])
            for name in first.hyperparameters
        },
        times=first.times,
        names=first.names,
        joint=first.joint,
        diagnostics=joined,
    )


def main() -> None:
    groups: dict[str, list[Comparison]] = {}
    every_case = cases()
    for name in sys.argv[1:] or every_case:
        case, path = every_case[name], FOLDER / f"{name}.npz"
        found = compared(answered(case), path)
        label = f"{case.model.name} {getattr(case.model, 'kernel', '')}".strip()
        groups.setdefault(label, []).append(found)
        print(f"{name}: {', '.join(found.method)}; {cells([found])}", *found.excesses(), flush=True)
    print(
        "\n| model | cases | mean off by (sd) | by standard errors | scale ratio | pair off by | joint off by |", end=""
    )
    print(" hyperparameter off by (sd) | its sd ratio | methods |\n|---|---|---|---|---|---|---|---|---|---|")
    for label, every in groups.items():
        methods = Counter(method for found in every for method in found.method)
        by = ", ".join(f"{method} ×{count}" for method, count in methods.most_common())
        print(f"| {label} | {len(every)} | {cells(every)} | {by} |")


def cells(every: list[Comparison]) -> str:
    """The worst of all comparisons, as cells of a table."""
    joint = [found.joint.largest() for found in every if found.joint.values.size]
    means = [difference.largest() for found in every for difference in found.hyperparameters[::2]]
    found = [
        f"{max(found.mean.largest() for found in every):.3f}",
        f"{max(found.mean.errors() for found in every):.2f}",
        ratios([found.spread for found in every]),
        f"{max(found.pair.largest() for found in every):.3f}",
        f"{max(joint):.3f}" if joint else "–",
        f"{max(means):.3f}" if means else "–",
        ratios([difference for found in every for difference in found.hyperparameters[1::2]]),
    ]
    return " | ".join(found)


def ratios(every: list[Difference]) -> str:
    """The least and largest of some ratios, which are kept as logarithms."""
    values = np.exp(np.concatenate([np.ravel(difference.values) for difference in every] or [np.empty(0)]))
    return f"{values.min():.3f} to {values.max():.3f}" if values.size else "–"


if __name__ == "__main__":
    main()

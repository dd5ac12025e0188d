"""How far every model's posterior is from long reference runs: ``python -m benchmarks.accuracy [case ...]``.

The references are the summaries in tests/inference/references (see `benchmarks.references`). The tests hold every case
to the same bounds, by the same functions.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.references import FOLDER, Case, cases, logarithms
from polarbear.inference import Posterior, fit

DRAWS = 4000
MEAN, SPREAD, PAIR, JOINT = 0.1, 0.07, 0.03, 0.02
"""Bounds: means by standard deviations, logarithm of the ratio of these, probabilities of pairs, and at all times."""
ERRORS = 4.0
"""Standard errors by which the bounds are widened, as both sides have Monte Carlo error."""


@dataclass(frozen=True)
class Comparison:
    """A posterior beside its reference.

    Attributes:
        method: The methods that answered.
        reliable: Whether the posterior calls itself reliable.
        mean: (T, n) differences of the means of log θ, in standard deviations.
        spread: (T, n) ratios of the standard deviations of log θ.
        pair: (T, n, n) differences of the probabilities that one algorithm is better.
        joint: (n, n) differences of the probabilities that it is at all times; empty if the model is not joint.
        hyperparameters: Difference of means in standard deviations, and ratio of these, of each logarithm.
        error: (T, n) standard error of the difference of two means, in standard deviations.
        spread_error: (T, n) standard error of the logarithm of the ratio.
        hyperparameter_error: The same of each hyperparameter.
    """

    method: tuple[str, ...]
    reliable: bool
    mean: np.ndarray
    spread: np.ndarray
    pair: np.ndarray
    joint: np.ndarray
    hyperparameters: dict[str, tuple[float, float]]
    error: np.ndarray
    spread_error: np.ndarray
    hyperparameter_error: dict[str, float]

    def excesses(self) -> list[str]:
        """What is out of bounds, in words."""
        slack = ERRORS * self.error
        found = [] if self.reliable else ["the posterior calls itself unreliable"]
        found += beyond("mean off by (sd)", np.abs(self.mean), MEAN + slack)
        found += beyond("log of the sd ratio", np.abs(np.log(self.spread)), SPREAD + ERRORS * self.spread_error)
        found += beyond("pair probability off by", np.abs(self.pair), PAIR + 0.5 * slack.max())
        found += beyond("joint probability off by", np.abs(self.joint), JOINT + 0.5 * slack.max())
        for name, (mean, spread) in self.hyperparameters.items():
            room = ERRORS * self.hyperparameter_error[name]
            found += beyond(f"{name}: mean off by (sd)", np.abs(mean), MEAN + room)
            found += beyond(f"{name}: log of the sd ratio", np.abs(np.log(spread)), SPREAD + room)
        return found


def beyond(what: str, values: np.ndarray | float, bounds: np.ndarray | float) -> Iterator[str]:
    """A line about the value farthest beyond its bound, if one is."""
    over = np.subtract(values, bounds)
    if over.size and not over.max() <= 0:
        worst = int(np.argmax(over))
        yield f"{what} {np.ravel(values)[worst]:.3f}, {over.max():.3f} beyond the bound, at entry {worst}"


def compared(posterior: Posterior, path: Path) -> Comparison:
    """A posterior beside the reference in a file."""
    reference, found = np.load(path), posterior.diagnostics
    log_theta = logarithms(posterior.draws)
    pair = posterior.pairwise_probabilities() - reference["better"]
    pair[:, np.eye(pair.shape[1], dtype=bool)] = 0.0
    hyperparameters, hyperparameter_error = {}, {}
    for name, values in posterior.hyperparameters.items():
        mean, sd, ess = reference[name].tolist()
        hyperparameters[name] = ((np.log(values).mean() - mean) / sd, np.log(values).std() / sd)
        hyperparameter_error[name] = np.sqrt(1 / values.size + 1 / ess)
    error = np.sqrt(1 / found.ess[:, np.newaxis] + 1 / reference["ess"])
    centred = log_theta - log_theta.mean(axis=0)
    kurtosis = (centred**4).mean(axis=0) / (centred**2).mean(axis=0) ** 2
    return Comparison(
        method=tuple(dict.fromkeys(found.method)),
        reliable=found.reliable,
        mean=(log_theta.mean(axis=0) - reference["mean"]) / reference["sd"],
        spread=log_theta.std(axis=0) / reference["sd"],
        pair=pair,
        joint=posterior.dominance_probabilities() - reference["dominates"] if posterior.joint else np.empty(0),
        hyperparameters=hyperparameters,
        error=error,
        spread_error=0.5 * np.sqrt(kurtosis - 1.0) * error,
        hyperparameter_error=hyperparameter_error,
    )


def answered(case: Case, method: str | None = None) -> Posterior:
    """The posterior of a case."""
    rng = np.random.default_rng(0)
    return fit(case.counts, times=case.times, model=case.model, draws=DRAWS, rng=rng, method=method)


def main() -> None:
    groups: dict[str, list[Comparison]] = {}
    every_case = cases()
    for name in sys.argv[1:] or every_case:
        case, path = every_case[name], FOLDER / f"{name}.npz"
        if not path.exists():
            print(f"{name}: no reference")
            continue
        found = compared(answered(case), path)
        label = f"{case.model.name} {getattr(case.model, 'kernel', '')}".strip()
        groups.setdefault(label, []).append(found)
        print(f"{name}: {', '.join(found.method)}; mean off by {np.abs(found.mean).max():.3f} sd", *found.excesses())
    print(
        "\n| model | cases | mean off by (sd) | sd ratio | pair off by | joint off by | hyperparameter off by (sd) |",
        end="",
    )
    print(" answered by |\n|---|---|---|---|---|---|---|---|")
    for label, every in groups.items():
        print(f"| {label} | {len(every)} | {row(every)} |")


def row(every: list[Comparison]) -> str:
    """The worst of all comparisons, as cells of a table."""
    spreads = np.concatenate([found.spread.ravel() for found in every])
    joint = [np.abs(found.joint).max() for found in every if found.joint.size]
    hyperparameters = [abs(mean) for found in every for mean, _ in found.hyperparameters.values()]
    methods = Counter(method for found in every for method in found.method)
    cells = [
        f"{max(np.abs(found.mean).max() for found in every):.3f}",
        f"{spreads.min():.3f} to {spreads.max():.3f}",
        f"{max(np.abs(found.pair).max() for found in every):.3f}",
        f"{max(joint):.3f}" if joint else "–",
        f"{max(hyperparameters):.3f}" if hyperparameters else "–",
        ", ".join(f"{method} ×{count}" for method, count in methods.most_common()),
    ]
    return " | ".join(cells)


if __name__ == "__main__":
    main()

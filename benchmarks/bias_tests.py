"""Which tests of uniformity detect which structural bias: shares of samples, Shapley values, correlations.

Run with ``python -m benchmarks.bias_tests [n] [figure.png]``; it takes some seconds, and another minute when the null
distribution for n values is simulated for the first time. 200 samples of every biased scenario, level 0.01 without
correction, as in equations 3.2 and 3.3 of Vermetten (2025). For each scenario, over all its parameters, the table has
the share of samples that any test rejects, the three tests with the largest Shapley values, and the share that the best
single test rejects.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import kendalltau

from polarbear.bias import STATISTICS, contributions, per_dimension, uniformity_statistics
from polarbear.bias.null import null_distribution
from polarbear.figures import heat_map

LEVEL, SAMPLES, CLOSE = 0.01, 200, 0.8


def rejections(n: int) -> dict[str, np.ndarray]:
    """By scenario, (36, m) whether tests reject its samples of n values."""
    null, found = null_distribution(n), dict[str, list[np.ndarray]]()
    for index, scenario in enumerate(per_dimension()[1:]):
        x = scenario.sample(n, SAMPLES, np.random.default_rng([n, index])).T
        p_values = null.p_values_of(uniformity_statistics(np.ascontiguousarray(x)))
        found.setdefault(scenario.name, []).append(p_values <= LEVEL)
    return {name: np.concatenate(parts, axis=1) for name, parts in found.items()}


def main() -> None:
    """Print the table and the correlations; write the figure if a file is named."""
    n, tests = int(sys.argv[1]) if len(sys.argv) > 1 else 100, list(STATISTICS)
    found = rejections(n)
    values = {name: contributions(rejected) for name, rejected in found.items()}
    print(f"n = {n}\n\n| scenario | found by any test | largest Shapley values | by the best test alone |")
    print("|---|---|---|---|")
    for name, rejected in found.items():
        best = ", ".join(f"{tests[j]} {values[name][j]:.3f}" for j in np.argsort(-values[name])[:3])
        alone = rejected.mean(axis=1)
        top = f"{tests[int(alone.argmax())]} {alone.max():.1%}"
        print(f"| {name} | {rejected.any(axis=0).mean():.1%} | {best} | {top} |")
    every = np.concatenate(list(found.values()), axis=1)
    whole = contributions(every)
    order = np.argsort(-whole)
    print(f"| all | {every.any(axis=0).mean():.1%} | {', '.join(f'{tests[j]} {whole[j]:.3f}' for j in order[:3])} | |")
    least = ", ".join(f"{tests[j]} {whole[j]:.4f}" for j in order[:-6:-1])
    print(f"\nsmallest over all: {least}")
    tau = {(a, b): kendalltau(every[a], every[b]).statistic for a in range(len(tests)) for b in range(a)}
    close = [f"{tests[b]} and {tests[a]} {value:.2f}" for (a, b), value in tau.items() if value > CLOSE]
    print(f"of {len(tau)} pairs, Kendall's tau exceeds {CLOSE} for {len(close)}: {'; '.join(close)}")
    print(f"median {np.median(list(tau.values())):.2f}")
    if len(sys.argv) > 2:
        shares = np.array([values[name] for name in found]).T
        label = "Shapley value: share of samples that a test adds"
        heat_map(shares, tests, list(found), label=label, height=6.4).save(sys.argv[2])


if __name__ == "__main__":
    main()

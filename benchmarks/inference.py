"""The independent Dirichlet model: its time compared with the same model in NumPyro, and its accuracy in hard cases.

Run with ``python -m benchmarks.inference`` (needs the extra ``bench``; leave NumPyro out with ``--without-numpyro``).
The process is bound to one core, and times are processor time, so that other load on the machine does not count. The
No-U-Turn sampler takes long for T=200 timepoints, n=7 algorithms and P=1,000 instances, so it is run at a few random
timepoints and its time is extrapolated. It is given the collapsed likelihood, which helps it as much as it helps us,
and runs its chains vectorized, which is its fastest way on one core. Its compilation time is reported separately and
not extrapolated.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import numpy as np
from scipy import stats

from polarbear.inference import IndependentDirichlet, Posterior, fit
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.sampling.gibbs import gibbs
from polarbear.rankings import ChoiceCounts, choice_counts

TIMEPOINTS, ALGORITHMS, INSTANCES = 200, 7, 1000
SUBSET = 6
CHAINS, WARM_UP, SAMPLES = 4, 1000, 2000
LEVEL = 1e-3
"""Chance that the largest of all z-scores exceeds its bound although both samplers are right."""


def rankings(instances: int, utilities: np.ndarray, seed: int) -> np.ndarray:
    """(instances, T, n) values ranked by a Plackett–Luce model whose log-ratings are `utilities` (T, n)."""
    return -(utilities + np.random.default_rng(seed).gumbel(size=(instances, *utilities.shape)))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def median_time(work: Callable[[], Any], repetitions: int = 5) -> tuple[float, Any]:
    runs = [timed(work) for _ in range(repetitions)]
    return float(np.median([seconds for seconds, _ in runs])), runs[-1][1]


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    utilities = np.cumsum(np.random.default_rng(0).normal(scale=0.05, size=(TIMEPOINTS, ALGORITHMS)), axis=0)
    values = rankings(INSTANCES, utilities, seed=1)
    count_seconds, counts = median_time(lambda: choice_counts(values))
    fit_seconds, posterior = median_time(lambda: fit(counts, rng=np.random.default_rng(2)))
    pair_seconds, _ = median_time(posterior.pairwise_probabilities)
    print(f"T={TIMEPOINTS}, n={ALGORITHMS}, P={INSTANCES}, 4,000 draws, one core, median of 5, processor time:")
    print(f"  choice counts {count_seconds:.2f} s, posterior {fit_seconds:.2f} s, all pairs {pair_seconds:.3f} s")
    print(f"  {posterior.diagnostics.summary()}")
    scaling()
    if "--without-numpyro" not in sys.argv:
        beside_numpyro(counts, posterior, fit_seconds)
    hard_cases()


def scaling() -> None:
    """Other sizes, one repetition each."""
    print("\n| T | n | P | choice counts (s) | posterior (s) | smallest ESS | largest k-hat |")
    print("|---|---|---|---|---|---|---|")
    for t, n, p in ((1, 10, 100), (200, 7, 100), (1000, 5, 1000), (20, 30, 100), (20, 30, 1000), (20, 64, 100)):
        values = rankings(p, np.tile(np.linspace(0, 2, n), (t, 1)), seed=3)
        count_seconds, counts = timed(lambda values=values: choice_counts(values))
        fit_seconds, posterior = timed(lambda counts=counts: fit(counts, rng=np.random.default_rng(4)))
        found = posterior.diagnostics
        print(
            f"| {t} | {n} | {p} | {count_seconds:.2f} | {fit_seconds:.2f} | {found.ess.min():.0f} "
            f"| {found.k_hat.max():.2f} |"
        )


def beside_numpyro(counts: ChoiceCounts, posterior: Posterior, fit_seconds: float) -> None:
    """The same model by NUTS at some timepoints."""
    chosen = np.sort(np.random.default_rng(5).choice(TIMEPOINTS, SUBSET, replace=False))
    data = [padded_choices(counts, t) for t in chosen]
    sampler = nuts()
    first, _ = timed(lambda: sampler(*data[0]))
    runs = [timed(lambda one=one: sampler(*one)) for one in data]
    seconds = np.array([seconds for seconds, _ in runs])
    total = seconds.mean() * TIMEPOINTS
    print(f"\nNumPyro NUTS, {CHAINS} chains of {WARM_UP} + {SAMPLES}, at {SUBSET} of {TIMEPOINTS} timepoints:")
    print(f"  compilation {first - seconds[0]:.1f} s once; sampling {seconds.mean():.2f} s per timepoint", end=" ")
    print(f"({seconds.min():.2f} to {seconds.max():.2f}); extrapolated to all: {total:.0f} s")
    print(f"  ratio of the sampling times: {total / fit_seconds:.0f}")
    agreement(posterior, chosen, [draws for _, draws in runs])


def padded_choices(counts: ChoiceCounts, t: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Wins, membership and counts of all 2^n − 1 sets, so that every timepoint has the same shape."""
    wins, sets, amounts = counts.at(t)
    every = np.zeros(2**ALGORITHMS - 1)
    every[sets.astype(np.int64) - 1] = amounts
    bits = np.arange(1, 2**ALGORITHMS)[:, np.newaxis] >> np.arange(ALGORITHMS) & 1
    return wins, bits.astype(np.float64), every


def nuts() -> Callable[..., np.ndarray]:
    """A function from wins, membership and counts to draws (chains, samples, n) of θ."""
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)

    def model(wins: Any, members: Any, amounts: Any) -> None:
        theta = numpyro.sample("theta", distributions.Dirichlet(jnp.ones(ALGORITHMS)))
        numpyro.factor("rankings", wins @ jnp.log(theta) - amounts @ jnp.log(members @ theta))

    mcmc = MCMC(
        NUTS(model),
        num_warmup=WARM_UP,
        num_samples=SAMPLES,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
        jit_model_args=True,
    )

    def run(*data: np.ndarray) -> np.ndarray:
        mcmc.run(jax.random.PRNGKey(0), *(jnp.asarray(array) for array in data))
        return np.asarray(mcmc.get_samples(group_by_chain=True)["theta"])

    return run


def agreement(posterior: Posterior, chosen: np.ndarray, runs: list[np.ndarray]) -> None:
    """z-scores of the differences between both samplers' estimates."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    scores: dict[str, list[float]] = {"means": [], "variances": [], "pairwise probabilities": []}
    reference_ess, r_hat = [], []
    for t, chains in zip(chosen, runs, strict=True):
        reference_ess.append(effective_sample_size(chains).min())
        r_hat.append(split_gelman_rubin(chains).max())
        mine, theirs = posterior.draws[:, t], chains.reshape(-1, ALGORITHMS)
        sizes = posterior.diagnostics.ess[t], min(reference_ess[-1], len(theirs))
        scores["means"] += z_scores(mine, theirs, sizes)
        squares = [(draws - draws.mean(axis=0)) ** 2 for draws in (mine, theirs)]
        scores["variances"] += z_scores(*squares, sizes)
        pairs = np.triu_indices(ALGORITHMS, k=1)
        above = [(draws[:, pairs[0]] > draws[:, pairs[1]]).astype(float) for draws in (mine, theirs)]
        scores["pairwise probabilities"] += z_scores(*above, sizes)
    print(f"  NUTS: smallest ESS {min(reference_ess):.0f}, largest split R-hat {max(r_hat):.4f}")
    print("\n| agreement with NUTS | compared | largest z-score | bound | largest difference of probabilities |")
    print("|---|---|---|---|---|")
    better = posterior.pairwise_probabilities()
    gap = max(
        float(np.abs(better[t] - np.triu(p := pairwise(chains), 1) - np.tril(p, -1) - 0.5 * np.eye(len(p))).max())
        for t, chains in zip(chosen, runs, strict=True)
    )
    for name, found in scores.items():
        bound = stats.norm.isf(LEVEL / 2 / max(1, len(found)))
        shown = f"{gap:.4f}" if name.startswith("pairwise") else ""
        print(f"| {name} | {len(found)} | {np.max(np.abs(found)):.2f} | {bound:.2f} | {shown} |")


def pairwise(chains: np.ndarray) -> np.ndarray:
    draws = chains.reshape(-1, chains.shape[-1])
    return (draws[:, :, np.newaxis] > draws[:, np.newaxis, :]).mean(axis=0)


def z_scores(mine: np.ndarray, theirs: np.ndarray, sizes: tuple[float, float]) -> list[float]:
    """Differences of column means over their Monte Carlo errors; columns that are constant in both are left out."""
    error = np.sqrt(mine.var(axis=0) / sizes[0] + theirs.var(axis=0) / sizes[1])
    vary = error > 0
    return ((mine.mean(axis=0) - theirs.mean(axis=0))[vary] / error[vary]).tolist()


def cases() -> Iterator[tuple[str, np.ndarray, float]]:
    """Names, values (P, 1, n) and α of posteriors that are far from normal."""

    def random(instances: int, low: float, high: float, n: int) -> np.ndarray:
        return rankings(instances, np.linspace(low, high, n)[np.newaxis], seed=n + instances)

    yield "one ranking, n=7", random(1, 0, 0, 7), 1.0
    yield "two rankings, n=5", random(2, 0, 0, 5), 1.0
    yield "two rankings, n=30", random(2, 0, 0, 30), 1.0
    yield "total dominance, 8 rankings, n=8", np.tile(np.arange(8.0), (8, 1, 1)), 1.0
    yield "two opposite orders, 4 each, n=8", np.array([[np.arange(8.0)], [7 - np.arange(8.0)]] * 4), 1.0
    never = np.concatenate([random(100, 0, 0, 6), np.full((100, 1, 1), 1e3)], axis=2)
    yield "one never wins, 100 rankings, n=7", never, 1.0
    yield "all tied, 8 rankings, n=7", np.zeros((8, 1, 7)), 1.0
    yield "many ties, 20 rankings, n=6", np.round(random(20, 0, 2, 6)), 1.0
    holes = random(30, 0, 3, 7)
    holes[np.random.default_rng(0).random(holes.shape) < 0.5] = np.nan
    yield "half missing, 30 rankings, n=7", holes, 1.0
    bridged = random(121, 0, 0, 6)
    bridged[:60, :, 3:] = np.nan
    bridged[60:120, :, :3] = np.nan
    yield "two groups joined by one ranking, n=6", bridged, 1.0
    yield "α=0.1, two rankings, n=10", random(2, 0, 5, 10), 0.1
    yield "α=100, 30 rankings, n=6", random(30, 0, 5, 6), 100.0
    yield "100 rankings, n=30", random(100, 0, 3, 30), 1.0


def hard_cases() -> None:
    """Our draws beside a long run of the exact Gibbs sampler."""
    print("\n| case | method | ms | ESS | k-hat | mean off by (sd) | sd ratio | pair off by | Gibbs ESS | R-hat |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, values, alpha in cases():
        counts = choice_counts(values)
        model = IndependentDirichlet(alpha)
        fit(counts, model=model, rng=np.random.default_rng(0))
        seconds, posterior = timed(lambda m=model, c=counts: fit(c, model=m, rng=np.random.default_rng(0)))
        rng, n = np.random.default_rng(1), counts.algorithms
        start = rng.dirichlet(np.ones(n), size=80)
        exact = gibbs(Choices.at(counts, 0, alpha), start=start, draws=20_000, enough=15_000, rng=rng)
        mine, theirs = np.log(posterior.draws[:, 0].T), np.log(exact.theta)
        spread = theirs.std(axis=1)
        off = np.abs(mine.mean(axis=1) - theirs.mean(axis=1)) / spread
        ratio = mine.std(axis=1) / spread
        better = np.array([[(a > b).mean() for b in exact.theta] for a in exact.theta]) + 0.5 * np.eye(n)
        pair = np.abs(posterior.pairwise_probabilities()[0] - better).max()
        found = posterior.diagnostics
        print(
            f"| {name} | {found.method[0]} | {1e3 * seconds:.0f} | {found.ess[0]:.0f} | {found.k_hat[0]:.2f} "
            f"| {off.max():.3f} | {ratio.min():.3f} to {ratio.max():.3f} | {pair:.3f} | {exact.ess:.0f} "
            f"| {exact.r_hat:.4f} |"
        )


if __name__ == "__main__":
    main()

"""Long runs of the No-U-Turn sampler, and exact ones where available, as references for tests of posteriors.

``python -m benchmarks.references [case ...]`` (needs the extra ``bench``) writes one small file of summaries for each
case to tests/inference/references. Temporal models and the hierarchical Dirichlet are sampled by ``method="nuts"``, for
which they are implemented a second time (see `inference.reference.numpyro_models`); the independent Dirichlet by the
exact Gibbs sampler; and both Dirichlet models directly where all rankings are the same. A run is kept only if, for
ratings and hyperparameters alike, all R-hat are below 1.01 and all effective sample sizes above 400, and if no
transition diverged, except in the cases in `DIVERGENCES`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np
from scipy.special import betaln

from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HierarchicalDirichlet,
    HilbertSpaceGaussianProcess,
    IndependentDirichlet,
    Model,
    RandomWalk,
    SparseGaussianProcess,
    as_published,
    fit,
)
from polarbear.inference.reference.nuts import chains
from polarbear.rankings import ChoiceCounts, choice_counts

FOLDER = Path(__file__).parents[1] / "tests" / "inference" / "references"
SAMPLES = 3000
"""Draws kept of each of the four chains of NUTS."""
EXACT_DRAWS = 20_000
LARGEST_R_HAT, SMALLEST_ESS = 1.01, 400
DIVERGENCES: dict[str, int] = {"hilbert-space-dominance": 12, "squared-exponential-dominance": 12}
"""Cases that may keep a run with divergences, and how many: no seed has none, and these are one in a thousand."""
SEEDS = 3
"""Runs of which one has to pass: NUTS gets stuck in some."""
LEVELS = (0.1, 0.9)
"""Quantiles of log θ that are kept: their distance is a scale that a few draws far out do not change."""
SMALLEST = np.exp(-690.0)
"""Smaller ratings are in their order, but no more than that."""


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


def always(seed: int) -> np.random.Generator:
    """What ``np.random.default_rng(seed)`` is, also under other seeds: the references belong to the same data sets."""
    return np.random.Generator(np.random.PCG64(seed))


def smooth(timepoints: int, algorithms: int, instances: int, seed: int, *, swing: float = 1.0) -> np.ndarray:
    """(instances, T, n) values ranked by a Plackett–Luce model whose log-ratings are sums of slow waves."""
    rng = always(seed)
    at = np.linspace(0.0, 1.0, timepoints)[:, np.newaxis]
    waves = sum(rng.normal(size=algorithms) * np.cos(np.pi * k * at) / (1 + k) for k in range(4))
    return -(swing * waves + rng.gumbel(size=(instances, timepoints, algorithms)))


def with_holes(values: np.ndarray, seed: int) -> np.ndarray:
    """Values of which a third is missing, and all at some timepoints, and with ties."""
    holes = always(seed).random(values.shape) < 1 / 3
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
    every = {
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
        "independent": Case(plain, even, IndependentDirichlet()),
        "independent-few": Case(few, even, IndependentDirichlet(0.3)),
        "independent-holes": Case(holes, uneven, IndependentDirichlet(2.0)),
        "independent-never": Case(choice_counts(never), even[:15], IndependentDirichlet()),
        **scaled_cases(),
    }
    return {name: replace(case, model=as_published(case.model)) for name, case in every.items()}


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
        "independent": IndependentDirichlet(),
    }
    small = {
        f"{name}-{kind}": Case(counts, ten, model) for kind, counts in hard.items() for name, model in models.items()
    }
    return {
        **small,
        **{f"{name}-long": Case(long, hundred, model) for name, model in models.items()},
        **{f"{name}-wide": Case(wide, fifty, model) for name, model in models.items()},
        **{f"{name}-crowd": Case(crowd, ten[:5], model) for name, model in models.items()},
    }


@dataclass(frozen=True)
class Run:
    """A long run.

    Attributes:
        log_theta: (draws, T, n).
        ess: (T, n) how many independent draws they are worth.
        hyperparameters: (draws,) of each, and how many independent ones they are worth.
        r_hat: The largest of all.
        divergences: Transitions that diverged.
    """

    log_theta: np.ndarray
    ess: np.ndarray
    hyperparameters: dict[str, tuple[np.ndarray, float]]
    r_hat: float
    divergences: int

    def faults(self, divergences: int = 0) -> list[str]:
        """Why it may not be kept, in words, if so many divergences are allowed."""
        smallest = min(float(self.ess.min()), *(ess for _, ess in self.hyperparameters.values()), np.inf)
        found = [] if self.r_hat < LARGEST_R_HAT else [f"R-hat {self.r_hat:.4f}; it must be below {LARGEST_R_HAT}"]
        if not smallest > SMALLEST_ESS:
            found.append(f"smallest ESS {smallest:.0f}; it must be above {SMALLEST_ESS}")
        if self.divergences > divergences:
            found.append(f"{self.divergences} divergences; allowed: {divergences}")
        return found


def by_gibbs(case: Case, seed: int) -> Run:
    """A run of Gibbs sampling, at each timepoint by itself."""
    rng = np.random.default_rng(seed)
    posterior = fit(case.counts, times=case.times, model=case.model, draws=EXACT_DRAWS, rng=rng, method="gibbs")
    found = posterior.diagnostics
    ess = np.repeat(found.ess[:, np.newaxis], case.counts.algorithms, axis=1)
    return Run(logarithms(posterior.draws), ess, {}, float(np.nanmax(found.r_hat)), 0)


def by_sticks(case: Case, seed: int) -> Run:
    """Independent draws from a Dirichlet model's posterior after R rankings at each of T timepoints, all the same.

    Under Dirichlet(a, …, a) the share B of an algorithm in the sum of its own rating and those of the m after it is
    Beta(a, m a), independently of the other shares in that order, and each ranking multiplies the density by all these
    shares. So B ~ Beta(a + R, m a), and the rankings have the probability (Π_m Beta(a + R, m a) / Beta(a, m a))^T.
    """
    timepoints, n = case.counts.wins.shape
    rankings, left = int(case.counts.rankings[0]), np.arange(n - 1, 0, -1)
    rng = np.random.default_rng(seed)
    concentration = np.full(EXACT_DRAWS, getattr(case.model, "alpha", np.nan))
    hyperparameters = {}
    if isinstance(case.model, HierarchicalDirichlet):
        rate = case.model.rate or 1 / n
        u = np.linspace(-20.0, 8.0, 40_001)
        a = np.exp(u)[:, np.newaxis] / n
        log_density = (
            u - rate * np.exp(u) + timepoints * (betaln(a + rankings, left * a) - betaln(a, left * a)).sum(axis=1)
        )
        cumulative = np.cumsum(np.exp(log_density - log_density.max()))
        log_kappa = np.interp(rng.random(EXACT_DRAWS) * cumulative[-1], cumulative, u)
        concentration, hyperparameters = np.exp(log_kappa) / n, {"kappa": (np.exp(log_kappa), float(EXACT_DRAWS))}
    a = concentration[:, np.newaxis, np.newaxis]
    own = np.log(rng.standard_gamma(a + rankings, (EXACT_DRAWS, timepoints, n - 1)))
    shape = np.broadcast_to(left * a, own.shape)
    others = np.log(rng.standard_gamma(shape + 1.0)) + np.log(rng.random(own.shape)) / shape
    both = np.logaddexp(own, others)
    log_theta = np.zeros((EXACT_DRAWS, timepoints, n))
    log_theta[:, :, :-1] += own - both
    log_theta[:, :, 1:] += np.cumsum(others - both, axis=2)
    order = np.lexsort((-case.counts.wins[0], case.counts.select([0]).membership().sum(axis=0)))
    return Run(
        log_theta[:, :, np.argsort(order)], np.full((timepoints, n), float(EXACT_DRAWS)), hyperparameters, 1.0, 0
    )


def by_nuts(case: Case, seed: int) -> Run:
    """A run of NUTS."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    found = chains(case.model, case.counts, case.times, samples=SAMPLES, seed=seed)
    every = [found.log_theta, *found.hyperparameters.values()]
    return Run(
        log_theta=found.log_theta.reshape(-1, *case.counts.wins.shape),
        ess=effective_sample_size(found.log_theta),
        hyperparameters={
            name: (values.ravel(), float(effective_sample_size(values)))
            for name, values in found.hyperparameters.items()
        },
        r_hat=max(float(np.max(split_gelman_rubin(values))) for values in every),
        divergences=found.divergences,
    )


def logarithms(theta: np.ndarray) -> np.ndarray:
    """Logarithms of ratings, held to the least that is right."""
    return np.log(np.maximum(theta, SMALLEST))


def summary(run: Run) -> dict[str, np.ndarray]:
    """What is kept of a run: see `make`."""
    above = run.log_theta[:, :, :, np.newaxis] > run.log_theta[:, :, np.newaxis, :]
    log_theta = np.maximum(run.log_theta, np.log(SMALLEST))
    kept = {
        "mean": log_theta.mean(axis=0),
        "sd": log_theta.std(axis=0),
        "better": above.mean(axis=0),
        "dominates": above.all(axis=1).mean(axis=0),
        "r_hat": np.array(run.r_hat),
        "ess": run.ess,
        "quantiles": np.quantile(log_theta, LEVELS, axis=0),
        "divergences": np.array(run.divergences),
    }
    for name, (values, ess) in run.hyperparameters.items():
        kept[name] = np.array([np.log(values).mean(), np.log(values).std(), ess])
    return kept


def make(name: str, case: Case) -> None:
    """Run one case until a run passes, and write its summaries.

    They are the means and standard deviations (T, n) of log θ, none below −690, its quantiles (2, T, n) at `LEVELS`,
    the probabilities (T, n, n) that one algorithm is better and (n, n) that it is at all timepoints, the largest R-hat,
    the effective sample sizes (T, n) of log θ, for each hyperparameter the mean and standard deviation of its logarithm
    with their effective sample size, and the divergences, the seed and the seconds of the run. Older files lack these
    three and the quantiles.
    """
    for seed in range(SEEDS):
        start = time.perf_counter()
        run = runner(case)(case, seed)
        seconds = time.perf_counter() - start
        faults = run.faults(DIVERGENCES.get(name, 0))
        found = f"R-hat {run.r_hat:.4f}, smallest ESS {run.ess.min():.0f}, {run.divergences} divergences"
        print(f"{name}: {seconds:.0f} s, {found}: {'; '.join(['NOT KEPT', *faults]) if faults else 'kept'}", flush=True)
        if not faults:
            kept = {**summary(run), "seed": np.array(seed), "seconds": np.array(seconds)}
            FOLDER.mkdir(exist_ok=True)
            np.savez_compressed(FOLDER / f"{name}.npz", **{k: v.astype(np.float32) for k, v in kept.items()})
            return


def runner(case: Case) -> Callable[[Case, int], Run]:
    """How to sample a case."""
    counts = case.counts
    alike = counts.timepoints * (counts.algorithms - 1) == counts.sets.size and np.all(
        counts.counts == counts.rankings[0]
    )
    if alike and isinstance(case.model, IndependentDirichlet | HierarchicalDirichlet):
        return by_sticks
    return by_gibbs if isinstance(case.model, IndependentDirichlet) else by_nuts


def main() -> None:
    every = cases()
    for name in sys.argv[1:] or every:
        make(name, every[name])


if __name__ == "__main__":
    main()

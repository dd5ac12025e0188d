"""Do posteriors and races keep their word on real runs?

A population consists of the results of many algorithms on many instances, kept as rankings. Posteriors and races on
samples of it are compared with the whole: the Plackett–Luce fit of all rankings at each timepoint.

python -m benchmarks.honesty [samples] [timepoints] [model]   posteriors; 20 timepoints and all models draw honesty.png
python -m benchmarks.honesty races [races] [kind]             whole races, such as those of kind "wins joint"
python -m benchmarks.honesty wins [samples]                   win probabilities
python -m benchmarks.honesty repeats                          how often orders persist
python -m benchmarks.honesty --level 0.99 …                   at a level other than 0.95
python -m benchmarks.honesty make NAME [STUDY]                make a population from new runs (minutes), or from those
                                                              of a study; keeps ranks; coco-d5 from POLARBEAR_SHARED
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

import polarbear as pb
from polarbear import inference
from polarbear.inference.likelihood.newton import mode
from polarbear.inference.likelihood.timepoint_likelihood import Choices

FOLDER = Path(__file__).parent / "populations"
FIGURE = Path("honesty.png")
TIMEPOINTS = 50
WEAK_PRIOR = 1e-6
DRAWS = 1000
SIZES = (8, 30, 120)
LEVEL = 0.95
MOST_INSTANCES = 2000
Values = NDArray[np.float64]
INDEPENDENT, BOOTSTRAP = inference.IndependentDirichlet(), inference.InstanceBootstrap()
WALK, PROCESS = inference.RandomWalk(time_scale="log"), inference.GaussianProcess(time_scale="log")
MODELS = (INDEPENDENT, inference.as_published(WALK), WALK, PROCESS, BOOTSTRAP)
CONTESTS = (
    (INDEPENDENT, "ratings", "pointwise", "crossing", "doubling"),
    (inference.as_published(WALK), "ratings", "joint", "crossing", "doubling"),
    (WALK, "ratings", "joint", "crossing", "doubling"),
    (BOOTSTRAP, "ratings", "pointwise", "crossing", "doubling"),
    (BOOTSTRAP, "ratings", "joint", "crossing", "doubling"),
    (BOOTSTRAP, "ratings", "joint", "crossing", "forecast"),
    (BOOTSTRAP, "ratings", "pointwise", "strict", "doubling"),
    (BOOTSTRAP, "ratings", "pointwise", "strict", "forecast"),
    (INDEPENDENT, "wins", "pointwise", "crossing", "doubling"),
    (INDEPENDENT, "wins", "joint", "crossing", "doubling"),
)


def bbob(dimension: int) -> pb.study.Plan:
    """Six families of optimizers on 24 functions with 21 instances each."""
    optimizers = pb.optimizers
    algorithms = {
        "pycma": optimizers.PyCMA(),
        "modular CMA-ES": optimizers.ModularCMAES.anytime(),
        "DE": optimizers.ScipyDifferentialEvolution(),
        "(1+1)-ES": optimizers.Nevergrad(algorithm="OnePlusOne"),
        "Nelder–Mead": optimizers.ScipyMinimize(method="Nelder-Mead"),
        "random search": optimizers.RandomSearch(),
    }
    suite = pb.problems.BBOB(functions=range(1, 25), dimensions=(dimension,), instances=range(1, 22))
    return pb.study.Plan(algorithms, suite, budget=120 * dimension)


def ma_bbob() -> pb.study.Plan:
    """Variants of one optimizer and random search on 500 instances: neighbours are hard to tell apart."""
    variants = ("CSA", "MSR", "TPA", "XNES", "MXNES", "LPXNES")
    algorithms = {name: pb.optimizers.ModularCMAES.anytime(step_size_adaptation=name) for name in variants}
    suite = pb.problems.MABBOB(dimension=5)
    return pb.study.Plan(algorithms | {"random search": pb.optimizers.RandomSearch()}, suite, budget=1000, draws=500)


def gp_bbob() -> pb.study.Plan:
    """Seven variants of one optimizer and random search by the clock, on functions of some 240 variables."""
    return pb.study.read_plan("examples/gp_bbob_whole.toml")


POPULATIONS: dict[str, Callable[[], pb.study.Plan]] = {
    "bbob-d5": lambda: bbob(5),
    "bbob-d20": lambda: bbob(20),
    "ma-bbob-d5": ma_bbob,
    "gp-bbob": gp_bbob,
}


def make(name: str, study: str) -> None:
    """Make a population's runs, or take those of a study, and keep their ranks at its timepoints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(study or Path(folder, "a.study"))
        values, times, names = archived() if name == "coco-d5" else run(POPULATIONS[name](), path)
    FOLDER.mkdir(exist_ok=True)
    ranks = stats.rankdata(values, method="min", axis=2).astype(np.int8)
    np.savez_compressed(FOLDER / f"{name}.npz", ranks=ranks, times=times, names=names)


def run(plan: pb.study.Plan, path: Path) -> tuple[Values, Values, list[str]]:
    """Values (P, T, n) of a plan's runs from a hundredth of the budget on, the timepoints and the algorithms."""
    names, last = list(plan.algorithms), plan.budget.at(plan.dimensions[0], plan.axis)
    seconds = plan.axis == "seconds"
    times = np.linspace(last / TIMEPOINTS, last, TIMEPOINTS) if seconds else pb.log_times(last // 100, last, TIMEPOINTS)
    pb.study.run_plan(plan, path, workers=2)
    runs = pb.store.read(path)
    instances: dict[tuple[str, int], int] = {}
    for one in runs:
        instances.setdefault((one.key.instance, one.key.seed), len(instances))
    values = np.full((len(instances), times.size, len(names)), np.nan)
    for one in runs:
        row = instances[one.key.instance, one.key.seed]
        values[row, :, names.index(one.key.algorithm)] = one.trajectory.value_at(times, plan.axis)
    return values, times, names


def archived() -> tuple[Values, Values, list[str]]:
    """How many of 51 targets four algorithms of COCO's archive have not reached, on 24 functions in 5 dimensions.

    Their runs on a function are taken together in their order: not all ran on the same instances.
    """
    folder = Path(os.environ.get("POLARBEAR_SHARED", "../shared"), "data", "coco_runs")
    hits = pl.concat(pl.read_csv(path) for path in sorted(folder.glob("*_hits.csv.gz")))
    times, values = pb.log_times(50, 50_000, TIMEPOINTS), []
    algorithms = hits.filter(pl.col("dimension") == 5).partition_by("algorithm", as_dict=True, maintain_order=True)
    for own in algorithms.values():
        each = own.sort("function", "instance", "run").partition_by("function", "instance", "run", maintain_order=True)
        reached = [one["evals_to_target"].drop_nulls().to_numpy() for one in each]
        values.append([51.0 - np.searchsorted(np.sort(evaluations), times, side="right") for evaluations in reached])
    return np.stack(values, axis=2), times, [name for (name,) in algorithms]


@dataclass(frozen=True)
class Population:
    """Rankings and what is true of them.

    Attributes:
        values: (P, T, n) ranks.
        times: (T,) evaluations, or milliseconds.
        names: The n algorithms.
        truth: (T, n) ratings of the Plackett–Luce fit of all rankings at each timepoint.
    """

    values: Values
    times: Values
    names: tuple[str, ...]
    truth: Values

    @classmethod
    def read(cls, name: str, timepoints: int) -> Population:
        """A population at evenly spaced ones of its timepoints."""
        kept = np.load(FOLDER / f"{name}.npz")
        at = np.unique(np.linspace(0, kept["times"].size - 1, timepoints).round().astype(int))
        values = kept["ranks"][:, at].astype(np.float64)
        counts = pb.rankings.choice_counts(values)
        truth = [np.exp(mode(Choices.at(counts, t, WEAK_PRIOR))[0]) for t in range(at.size)]
        times = kept["times"] if kept["times"][0] >= 1 else np.rint(1000 * kept["times"])
        return cls(values, times[at], tuple(kept["names"].tolist()), np.array(truth))

    @property
    def win_rates(self) -> Values:
        """(T, n, n) share of the instances on which one beats another, ties as halves."""
        first, second = self.values[..., np.newaxis], self.values[:, :, np.newaxis]
        return ((first < second) + 0.5 * (first == second)).mean(axis=0)

    @property
    def persistence(self) -> float:
        """How often the order of two algorithms on an instance is the same at neighbouring timepoints."""
        first, second = np.triu_indices(len(self.names), 1)
        order = np.sign(self.values[..., first] - self.values[..., second])
        return float((order[:, 1:] == order[:, :-1]).mean())

    def sample(self, instances: int, rng: np.random.Generator) -> Values:
        """Rankings of so many instances, drawn with replacement."""
        return self.values[rng.integers(len(self.values), size=instances)]


@dataclass
class Kept:
    """How often what a posterior says of several samples is so.

    Attributes:
        level: What intervals and bands are to hold, and from which probability on a claim is sure.
        bands: Shares of the bands that hold the true log-rating at a timepoint.
        paths: Shares of the bands of whole paths that hold the true path.
        values: Shares of the intervals that hold the value under log-uniform budgets, the mean rating over time.
        portfolios: The same of the values of two algorithms in parallel.
        pairs: Of the sure orders of two ratings at a timepoint: how many are wrong, there are, and should be wrong by
            their own probabilities.
        orders: The same of the orders of two values.
        best: The same of who has the highest value (P2BB).
        dominances: The same of "better at all timepoints".
    """

    level: float = LEVEL
    bands: list[float] = field(default_factory=list)
    paths: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    portfolios: list[float] = field(default_factory=list)
    pairs: Values = field(default_factory=lambda: np.zeros(3))
    orders: Values = field(default_factory=lambda: np.zeros(3))
    best: Values = field(default_factory=lambda: np.zeros(3))
    dominances: Values = field(default_factory=lambda: np.zeros(3))

    def add(self, posterior: inference.Posterior, truth: Values) -> None:
        """Count what one posterior says."""
        log_theta, log_truth = np.log(np.maximum(posterior.draws, 1e-300)), np.log(truth)
        self.bands.append(_held(log_theta, log_truth, self.level))
        self.paths.append(float(_path_held(log_theta, log_truth, self.level).mean()))
        value, true_value = posterior.draws.mean(axis=1), truth.mean(axis=0)
        self.values.append(_held(value, true_value, self.level))
        i, j = np.triu_indices(truth.shape[1], 1)
        self.portfolios.append(_held(value[:, i] + value[:, j], true_value[i] + true_value[j], self.level))
        highest = np.bincount(value.argmax(axis=1), minlength=true_value.size) / len(value)
        self.best += _claims(highest, true_value == true_value.max(), self.level)
        for i, j in np.argwhere(~np.eye(truth.shape[1], dtype=bool)):
            better, truly = posterior.draws[..., i] > posterior.draws[..., j], truth[:, i] > truth[:, j]
            self.pairs += _claims(better.mean(axis=0), truly, self.level)
            self.orders += _claims((value[:, i] > value[:, j]).mean(), true_value[i] > true_value[j], self.level)
            self.dominances += _claims(better.all(axis=1).mean(), truly.all(), self.level)

    @property
    def shares(self) -> tuple[float, float, float]:
        """The mean shares of bands, paths and values."""
        return float(np.mean(self.bands)), float(np.mean(self.paths)), float(np.mean(self.values))

    def row(self) -> str:
        """Entries of a table, with standard errors over samples."""
        shares = (self.bands, self.paths, self.values, self.portfolios)
        held = " | ".join(f"{np.mean(share):.3f} ± {np.std(share) / np.sqrt(len(share)):.3f}" for share in shares)
        every = (self.pairs, self.orders, self.best, self.dominances)
        claims = (f"{wrong:.0f} of {count:,.0f} ({own:.1f})" for wrong, count, own in every)
        return f"{held} | {' | '.join(claims)}"


def _held(draws: Values, truth: Values, level: float) -> float:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return float(((low <= truth) & (truth <= high)).mean())


def _path_held(draws: Values, truth: Values, level: float) -> NDArray[np.bool_]:
    """(K,) whether bands around all of draws (D, T, K) at once hold the true paths (T, K)."""
    centre, spread = draws.mean(axis=0), draws.std(axis=0)
    farthest = np.quantile(np.abs((draws - centre) / spread).max(axis=1), level, axis=0)
    return np.abs((truth - centre) / spread).max(axis=0) <= farthest


def _claims(probability: ArrayLike, right: ArrayLike, level: float) -> Values:
    """(3,) how many sure claims are wrong, there are, and should be wrong."""
    chance, holds = np.atleast_1d(probability), np.atleast_1d(right)
    sure = chance >= level
    return np.array([(sure & ~holds).sum(), sure.sum(), (1 - chance)[sure].sum()])


def posteriors(
    name: str, instances: int, timepoints: int, samples: int, only: str = "", level: float = LEVEL
) -> Iterator[tuple[str, Kept]]:
    """For each model, or those that have `only` in their names, what its posteriors of samples are worth."""
    population = Population.read(name, timepoints)
    for model in (model for model in MODELS if only in label(model)):
        kept = Kept(level)
        for number in range(samples):
            rng = np.random.default_rng([number, instances, timepoints])
            counts = pb.rankings.choice_counts(population.sample(instances, rng))
            kept.add(inference.fit(counts, times=population.times, model=model, draws=DRAWS, rng=rng), population.truth)
        yield label(model), kept


def held_wins(name: str, instances: int, samples: int) -> str:
    """Entries of a table: shares of win probabilities that are held, and of those always between 0.02 and 0.98."""
    population = Population.read(name, 20)
    pairs = list(zip(*np.triu_indices(len(population.names), 1), strict=True))
    truth = np.stack([population.win_rates[:, i, j] for i, j in pairs], axis=1)
    inner = ((truth > 0.02) & (truth < 0.98)).all(axis=0)
    shares: list[tuple[float, ...]] = []
    for number in range(samples):
        rng = np.random.default_rng([number, instances, 20])
        counts = pb.rankings.choice_counts(population.sample(instances, rng))
        wins = inference.fit(counts, draws=DRAWS, rng=rng).known_wins
        draws = np.stack([wins.log_ratio(int(i), int(j)) for i, j in pairs], axis=2)
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        log_odds = np.clip(special.logit(truth), -30, 30)
        bands, paths = ((low <= log_odds) & (log_odds <= high)).mean(axis=0), _path_held(draws, log_odds, LEVEL)
        shares.append((bands.mean(), bands[inner].mean(), paths.mean(), paths[inner].mean()))
    bands, own_bands, paths, own_paths = np.mean(shares, axis=0)
    return f"{bands:.3f} ({own_bands:.3f}) | {paths:.3f} ({own_paths:.3f})"


@dataclass(frozen=True)
class Raced:
    """What one race found, what is so, and how many instances, evaluations and rounds it took."""

    pareto_set: tuple[str, ...]
    true_set: frozenset[str]
    instances: int
    evaluations: int
    rounds: int

    @property
    def wrong(self) -> bool:
        """Whether a member of the true set was eliminated."""
        return not self.true_set <= set(self.pareto_set)

    @property
    def exact(self) -> bool:
        """Whether it is the true set."""
        return self.true_set == set(self.pareto_set)


def race(
    population: Population,
    model: inference.Model,
    elimination: str,
    seed: int,
    *,
    relations: str = "ratings",
    resolution: str = "crossing",
    batches: str = "doubling",
    alpha: float = LEVEL,
) -> Raced:
    """Race on instances drawn from a population until every pair is resolved."""
    n = len(population.names)
    contest = pb.Race(
        population.names,
        times=population.times,
        model=model,
        alpha=alpha,
        epsilon=0.05,
        elimination=elimination,
        resolution=resolution,
        relations=relations,
        batches=batches,
        draws=DRAWS,
        seed=seed,
    )
    rows = np.random.default_rng(seed).integers(len(population.values), size=MOST_INSTANCES)
    falling = n * np.arange(population.times.size)[:, np.newaxis]
    while requests := contest.ask(available=MOST_INSTANCES):
        contest.tell(_run(request, population, population.values[rows[request.draw]] - falling) for request in requests)
    instances, spent, rounds = contest.state.instances, contest.rounds[-1].evaluations, len(contest.rounds)
    return Raced(contest.pareto_set, _pareto_set(population, relations), instances, spent, rounds)


def _run(request: pb.racing.Request, population: Population, values: Values) -> pb.Run:
    """A run whose values compare as the ranks do at each timepoint, and fall from one to the next."""
    reached = population.times <= request.until
    outcome = pb.Outcome(pb.Reason.BUDGET, int(request.until), 0.0)
    own = values[reached, population.names.index(request.key.algorithm)]
    times = population.times[reached].astype(np.int64)
    return pb.Run(request.key, pb.Trajectory(times, np.zeros(times.size), own, outcome))


def _pareto_set(population: Population, relations: str) -> frozenset[str]:
    """The algorithms that no other one is better than at all timepoints."""
    ratings = population.truth[:, :, np.newaxis] > population.truth[:, np.newaxis]
    better = population.win_rates > 0.5 if relations == "wins" else ratings
    dominated = better.all(axis=0).any(axis=0)
    return frozenset(name for name, worse in zip(population.names, dominated, strict=True) if not worse)


def persistent_values(
    seed: int, *, instances: int, timepoints: int, algorithms: int, persistence: float = 0.95
) -> tuple[Values, Values]:
    """Values (P, T, n) of runs that persist, Plackett–Luce at each timepoint, and the centred true log-ratings (n,)."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=algorithms)
    noise = rng.normal(size=(instances, timepoints, algorithms))
    for t in range(1, timepoints):
        noise[:, t] = persistence * noise[:, t - 1] + np.sqrt(1 - persistence**2) * noise[:, t]
    return -(truth + stats.gumbel_r.ppf(stats.norm.cdf(noise))), truth - truth.mean()


def draw(shares: dict[tuple[str, int, str], tuple[float, float, float]], path: Path) -> None:
    """Draw how often bands, whole paths and values hold the truth, by population, instances and model."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
    names = list(dict.fromkeys(name for name, _, _ in shares))
    for k, (panel, what) in enumerate(zip(panels, ("bands at a timepoint", "whole paths", "values"), strict=True)):
        panel.axhspan(0.93, 0.97, color="0.9", lw=0)
        panel.axhline(LEVEL, color="0.5", lw=1)
        for m, model in enumerate(MODELS):
            for size, marker in zip(SIZES, "osD", strict=True):
                here = [shares[name, size, label(model)][k] for name in names]
                x = m + 0.22 * (SIZES.index(size) - 1) + 0.05 * (np.arange(len(here)) - 1)
                panel.plot(x, here, marker, ms=5, color=f"C{m}", label=f"{size} instances" if m == 0 else None)
        ticks = [label(model).replace("-", "\n").replace(" ", "\n", 1) for model in MODELS]
        panel.set_xticks(range(len(MODELS)), ticks, fontsize=8)
        panel.set_title(f"95 %: {what}", fontsize=10)
    panels[0].set_ylabel("share that contains the truth")
    panels[0].set_ylim(0.4, 1.0)
    panels[0].legend(frameon=False, fontsize=8, loc="lower left")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)


def race_all(names: list[str], races: int, only: str, level: float) -> None:
    """Print what so many races on each population came to, if the kind of race has the text `only` in its words."""
    columns = (
        "population",
        "model",
        "compared by",
        "elimination",
        "resolution",
        "batches",
        "races",
        "a false elimination",
        "exact set",
        "instances",
        "evaluations",
        "rounds",
    )
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name in names:
        population = Population.read(name, 20)
        for model, relations, elimination, resolution, batches in CONTESTS:
            words = name, label(model), relations, elimination, resolution, batches
            if only not in " ".join(words):
                continue
            how = {"relations": relations, "resolution": resolution, "batches": batches, "alpha": level}
            found = [race(population, model, elimination, seed, **how) for seed in range(races)]
            wrong = sum(one.wrong for one in found)
            low, high = stats.binomtest(wrong, races).proportion_ci(method="wilson")
            each = [(one.exact, one.instances, one.evaluations, one.rounds) for one in found]
            exact, instances, spent, rounds = np.mean(each, axis=0)
            print(
                f"| {' | '.join(words)} | {races} | {wrong / races:.1%} ({low:.1%} to {high:.1%}) | {exact:.0%} "
                f"| {instances:.0f} | {spent:,.0f} | {rounds:.1f} |",
                flush=True,
            )


def label(model: inference.Model) -> str:
    """A model's name, and whether it is the published one."""
    return f"{model.name} as published" if model.pooled and not model.adjusted else model.name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--level", type=float, default=LEVEL, help="of intervals and claims; α of races")
    given = parser.parse_args()
    what, number, only, *_ = [*given.words, "", "", ""]
    if what == "make":
        make(number, only)
        return
    kept = sorted(path.stem for path in FOLDER.glob("*.npz"))
    if what == "races":
        race_all(kept, int(number or 20), only, given.level)
        return
    if what == "wins":
        print("| population | P | bands | whole paths |\n|---|---|---|---|")
        for name in kept:
            for instances in SIZES:
                print(f"| {name} | {instances} | {held_wins(name, instances, int(number or 20))} |", flush=True)
        return
    if what == "repeats":
        for name in kept:
            print(f"{name}: {Population.read(name, TIMEPOINTS).persistence:.3f}")
        return
    timepoints = int(number or 20)
    held, sure = ("bands", "whole paths", "values", "portfolios"), ("pairs", "orders", "best", "dominances")
    print(f"| population | P | T | model | {' | '.join(held)} | {' | '.join(f'sure {one}, wrong' for one in sure)} |")
    print("|---" * (4 + len(held) + len(sure)) + "|")
    shares: dict[tuple[str, int, str], tuple[float, float, float]] = {}
    for name in kept:
        for instances in SIZES:
            for model, found in posteriors(name, instances, timepoints, int(what or 20), only, given.level):
                print(f"| {name} | {instances} | {timepoints} | {model} | {found.row()} |", flush=True)
                shares[name, instances, model] = found.shares
    if timepoints == 20 and not only and given.level == LEVEL:
        draw(shares, FIGURE)


if __name__ == "__main__":
    main()

"""Adaptive configurations: what runs of single configurations predict, and what switching between them achieves.

    python -m benchmarks.adaptive_configurations --into FOLDER [--figures FOLDER] [--workers 2] [--quick]

Modular CMA-ES on six BBOB functions in five dimensions, after the IOHprofiler thesis, section 5.2, with 128 of 1,728
configurations instead of 1,536. Stage one: 25 runs of each. Stage two: 50 runs of the best ones, of the members of the
best adaptive ones, of those that the effects of modules suggest, tried or not, and of the best three with restarts.
Stage three: 100 fresh runs of what either stage predicted to be good, adaptive or not. Everything is kept in FOLDER, so
that the same command resumes after an interruption. See docs/studies/adaptive.md.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count, product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import polarbear as pb
from benchmarks.adaptive_published import TwoStage, two_stage
from polarbear.assess import (
    AdaptiveConfigurations,
    Policy,
    adaptive_configurations,
    average_hitting_times,
    dynamic_virtual_best,
    ert,
    ert_draws,
    log_targets,
    runtimes,
    second_stage,
)
from polarbear.configure import Configuration, Criterion, Space, contests, fit_effects, spaces
from polarbear.optimizers import ModularCMAES, Switch
from polarbear.rankings import Rankings
from polarbear.records import Run

FUNCTIONS = (2, 10, 11, 14, 22, 24)
DIMENSION, BUDGET, INSTANCES = 5, 5000, (1, 2, 3, 4, 5)
TARGETS = log_targets()
DRAWS, LEVEL = 2000, 0.9
LIMIT = 0.6
"""Of the axes; what lies beyond is drawn at the edge."""
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


@dataclass(frozen=True)
class Size:
    """How much is run."""

    configurations: int = 128
    one: int = 5
    two: int = 10
    three: int = 20
    kept: int = 8
    promised: int = 4


QUICK = Size(configurations=12, one=2, two=2, three=2, kept=2, promised=1)


@cache
def space() -> Space:
    """The 1,728 configurations of table 4.2's baseline without restarts; the default has none."""
    return spaces.modular_cmaes("baseline").without("restart_strategy")


def code(configuration: Configuration) -> str:
    """A configuration as digits, the number of each option, modules in alphabetical order."""
    options = space().space
    return "".join(str(options[name].choices.index(value)) for name, value in configuration.items())


def decoded(digits: str) -> Configuration:
    """The configuration of a code."""
    options = space().space
    return {name: options[name].choices[int(digit)] for name, digit in zip(space().names, digits, strict=True)}


def configuration_of(name: str) -> Configuration:
    """The configuration of a code, or of one with a restart strategy before it, such as ``"IPOP-000000000"``."""
    strategy, _, digits = name.rpartition("-")
    return decoded(digits) | {"restart_strategy": strategy or "NONE"}


def optimizer_of(name: str) -> ModularCMAES:
    """The optimizer of such a name."""
    return ModularCMAES(**configuration_of(name))


def sampled(size: int) -> list[str]:
    """The codes of the default and of other configurations."""
    drawn = [space().default, *space().sample(np.random.default_rng(20), 2 * size)]
    return list(dict.fromkeys(map(code, drawn)))[:size]


@dataclass(frozen=True)
class Recorded:
    """Runs by name: (runs, targets) runtimes, (runs,) evaluations and instances; the same order for all."""

    runs: dict[str, list[Run]]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Recorded:
        found = dict[str, list[Run]]()
        for run in sorted(runs, key=lambda run: (run.key.instance, run.key.seed)):
            found.setdefault(run.key.algorithm, []).append(run)
        return cls(found)

    def hits(self) -> dict[str, np.ndarray]:
        return {name: runtimes(each, TARGETS) for name, each in self.runs.items()}

    def spent(self) -> dict[str, np.ndarray]:
        return {name: np.array([run.outcome.evaluations for run in each], float) for name, each in self.runs.items()}

    def instances(self) -> dict[str, list[str]]:
        return {name: [run.key.instance for run in each] for name, each in self.runs.items()}


def record(
    path: Path, function: int, entrants: Mapping[str, Any], runs: int, seed: int, workers: int, instances: Any = None
) -> list[Run]:
    """Runs of entrants on instances of a function, `runs` on each."""
    chosen = list(instances or INSTANCES)
    problems = pb.problems.BBOB(functions=[function], dimensions=[DIMENSION], instances=chosen)
    plan = pb.study.Plan(entrants, problems, repetitions=runs, budget=BUDGET, target_precision=1e-8, seed=seed)
    pb.study.run_plan(plan, path, workers=workers)
    with pb.store.open(path) as study:
        return [run for run in study.runs() if run.key in plan]


def promised(recorded: Recorded, kept: int, *, seed: int) -> AdaptiveConfigurations:
    """What runs of single configurations promise, by themselves and drawn towards others of alike modules."""
    found = adaptive_configurations(
        recorded.hits(),
        recorded.spent(),
        TARGETS,
        count=kept,
        baselines=[name for name in recorded.runs if "-" in name],
        settings=spaces.modular_cmaes("baseline").encode([configuration_of(name) for name in recorded.runs]),
        instances=recorded.instances(),
        draws=DRAWS,
        rng=np.random.default_rng(seed),
    )
    if found is None:
        raise RuntimeError("no configuration reaches a second target with all runs; give more evaluations")
    return found


def suggested(recorded: Recorded, until: int, kept: int, rng: np.random.Generator) -> list[str]:
    """The configurations of the whole space with the highest ratings to and from `kept` targets, by module effects."""
    hits, names = np.stack(list(recorded.hits().values()), axis=1), list(recorded.runs)  # (runs, n, targets)
    digits = (range(len(space().space[name].choices)) for name in space().names)
    whole = {(name := "".join(map(str, each))): decoded(name) for each in product(*digits)}
    columns = np.unique(np.linspace(0, until, kept + 2).astype(int))[1:-1]
    with np.errstate(invalid="ignore"):
        rest = hits[..., [until]] - hits[..., columns]
    chosen = list[str]()
    for values in (hits[..., columns], np.where(np.isnan(rest), np.inf, rest)):
        instances = recorded.instances()[names[0]]
        ordered = Rankings.of(values.transpose(0, 2, 1), algorithms=names, groups=instances, tail="unordered")
        effects = fit_effects(space(), {name: decoded(name) for name in names}, ordered, draws=200, rng=rng)
        ratings = effects.predict(list(whole.values())).mean(axis=0)
        chosen += [list(whole)[best] for best in ratings.argmax(axis=1)]
    return list(dict.fromkeys(chosen))


def entrants_two(recorded: Recorded, size: Size, function: int) -> dict[str, list[str]]:
    """Who runs in stage two: by the thesis' rule, by the effects of modules, and the best with restarts."""
    ahts, names = average_hitting_times(recorded.hits()), list(recorded.runs)
    until = int(np.flatnonzero(np.isfinite(ahts).any(axis=0))[-1])
    thesis = second_stage(ahts[:, : until + 1], names, TARGETS[: until + 1], count=size.kept)
    effects = suggested(recorded, until, size.kept, np.random.default_rng([21, function]))
    restarts = [f"{kind}-{name}" for name in thesis[:3] for kind in ("IPOP", "BIPOP")]
    return {"runs": list(thesis), "effects": effects, "restarts": restarts}


def name_of(policy: Policy) -> str:
    """A policy as the name of an entrant."""
    first, second = policy.algorithms
    return f"{first}-to-{second}-at-{np.log10(policy.targets[0]):.1f}"


def record_three(
    folder: Path, function: int, policies: Sequence[Policy], static: Sequence[str], runs: int, workers: int
) -> Recorded:
    """Fresh runs of policies and of configurations; on each instance a policy's target is its value there."""
    found = list[Run]()
    for instance in INSTANCES:
        problem = pb.problems.BBOBProblem(function=function, instance=instance, dimension=DIMENSION)
        optimum = float(problem.build().optimum or 0.0)
        entrants: dict[str, Any] = {name: optimizer_of(name) for name in static}
        for policy in policies:
            first, second = map(optimizer_of, policy.algorithms)
            entrants[name_of(policy)] = Switch(first, second, value=policy.targets[0] + optimum)
        path = folder / f"f{function}-three-i{instance}.study"
        found += record(path, function, entrants, runs, 2000, workers, [instance])
    return Recorded.of(found)


@dataclass(frozen=True)
class Studied:
    """A function: what both stages promise, the fresh runs, and what else there is to tell.

    Attributes:
        function: Its number.
        stages: What is promised, by stage.
        third: The fresh runs.
        restart: The best static configuration with restarts, by stage two.
        notes: Entrants, untried ones, what is kept on runs held out, the race, and numbers of runs.
    """

    function: int
    stages: dict[str, AdaptiveConfigurations]
    third: Recorded
    restart: str
    notes: dict[str, Any]


def studied(folder: Path, function: int, size: Size, workers: int) -> Studied:
    """All three stages on a function."""
    codes, chosen = sampled(size.configurations), folder / f"of-{size.configurations}"  # it determines the later runs
    chosen.mkdir(exist_ok=True)
    first = Recorded.of(record(folder / f"f{function}-one.study", function, optimizers(codes), size.one, 0, workers))
    one = promised(first, size.promised, seed=function)
    entrants = entrants_two(first, size, function)
    every = list(dict.fromkeys(name for group in entrants.values() for name in group))
    second = Recorded.of(
        record(chosen / f"f{function}-two.study", function, optimizers(every), size.two, 1000, workers)
    )
    two = promised(second, size.promised, seed=100 + function)
    last = target_index(two)
    restarts = {name: expected(second, name, last) for name in entrants["restarts"]}
    restart = min(restarts, key=restarts.__getitem__)
    policies = list(dict.fromkeys([*one.policies, *two.policies]))
    static = list(dict.fromkeys([one.static, one.safe, two.static, two.safe, restart]))
    third = record_three(chosen, function, policies, static, size.three, workers)
    rng = np.random.default_rng([22, function])
    notes = {
        "entrants": {name: len(group) for name, group in entrants.items()},
        "untried": [name for name in entrants["effects"] if name not in first.runs],
        "held out": held_out(first, target_index(one), rng),
        "race": raced(third, last, rng),
        "runs": [sum(map(len, each.runs.values())) for each in (first, second, third)],
        "expected runtimes": {name: round(expected(third, name, last)) for name in third.runs},
    }
    return Studied(function, {"one": one, "two": two}, third, restart, notes)


def target_index(found: AdaptiveConfigurations) -> int:
    """Which target is φmin."""
    return len(found.targets) - 1


def optimizers(names: Iterable[str]) -> dict[str, ModularCMAES]:
    """The optimizers of codes, by code."""
    return {name: optimizer_of(name) for name in names}


def expected(recorded: Recorded, name: str, last: int) -> float:
    """The expected runtime to a target."""
    return float(ert(recorded.hits()[name][:, : last + 1], recorded.spent()[name])[last])


def share_saved(third: Recorded, name: str, static: str, last: int, rng: np.random.Generator) -> np.ndarray:
    """The share by which an expected runtime is below another's by fresh runs, and (draws,) from its posterior."""
    hits, spent = third.hits(), third.spent()
    one, other = (ert_draws(hits[each][:, [last]], spent[each], draws=DRAWS, rng=rng)[:, 0] for each in (name, static))
    return np.array([1 - expected(third, name, last) / expected(third, static, last), *(1 - one / other)])


@dataclass(frozen=True)
class Promise:
    """One adaptive configuration: draws of the gain that was told, and the realised one with draws of it."""

    name: str
    told: np.ndarray
    gain: float
    realised: np.ndarray

    @property
    def interval(self) -> list[float]:
        """The median told, and the ends of the interval."""
        return np.quantile(self.told, [0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()

    @property
    def fresh(self) -> list[float]:
        """The realised gain, and the ends of its interval."""
        return [self.gain, *np.quantile(self.realised, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()]

    @property
    def inside(self) -> bool:
        """Whether the realised gain is in the interval told."""
        return self.interval[1] <= self.gain <= self.interval[2]

    @property
    def agrees(self) -> bool:
        """Whether the interval of the difference, with the uncertainty of the fresh runs, holds 0."""
        low, high = np.quantile(self.told - self.realised, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return bool(low <= 0 <= high)

    @property
    def ratio(self) -> float:
        """By which factor it took longer than was expected, relative to what it is compared with."""
        return (1 - self.gain) / (1 - self.interval[0])


WAYS = ("naive", "shrunk", "after handovers")


def promises(
    results: Sequence[Studied], stage: str, published: Mapping[int, TwoStage]
) -> dict[str, dict[int, list[Promise]]]:
    """By way and function; handovers are as costly as on the other functions those of the same stage, or published."""
    found: dict[str, dict[int, list[Promise]]] = {way: {} for way in WAYS}
    for way in WAYS:
        for each in results:
            rng, stage_told = np.random.default_rng([23, each.function]), each.stages[stage]
            if way == WAYS[2]:
                others = [row.ratio for f, rows in found["shrunk"].items() if f != each.function for row in rows]
                for function, theirs in published.items():
                    others += [] if function == each.function else (theirs.achieved / theirs.predicted).tolist()
                if not others:
                    continue
                stage_told = stage_told.after_handovers(others, rng=rng)
            draws, static = (
                (stage_told.naive, stage_told.static) if way == "naive" else (stage_told.gains, stage_told.safe)
            )
            names = [name_of(policy) for policy in stage_told.policies]
            shares = [share_saved(each.third, name, static, target_index(stage_told), rng) for name in names]
            found[way][each.function] = [
                Promise(name, told, float(share[0]), share[1:])
                for name, told, share in zip(names, draws.T, shares, strict=True)
            ]
    return found


def held_out(recorded: Recorded, last: int, rng: np.random.Generator) -> list[float]:
    """The median gain that half of the runs promise for the best policy, and its median on the other half."""
    hits = {name: each[:, : last + 1] for name, each in recorded.hits().items()}
    found = dynamic_virtual_best(hits, recorded.spent(), TARGETS[: last + 1], rng=rng)
    return [] if found is None else [float(np.median(1 - 1 / each)) for each in (found.promised, found.held_out)]


def raced(third: Recorded, last: int, rng: np.random.Generator) -> dict[str, Any]:
    """A race on the fresh runs, by expected runtime: who is left, and how many runs it took of all there are."""
    total = min(map(len, third.runs.values()))
    order = rng.permutation(total)
    contest = contests.RankedContest(
        list(third.runs),
        criterion=Criterion("ert", target=float(TARGETS[last])),
        rule=partial(contests.keep_credible, alpha=0.95, rng=rng),
        steps=count(5),
        until=BUDGET,
        seed_of=lambda draw: draw,
    )
    spent = 0
    while (requests := contest.ask()) and max(request.draw for request in requests) < total:
        spent += len(requests)
        contest.tell(
            replace(third.runs[request.key.algorithm][order[request.draw]], key=request.key) for request in requests
        )
    return {"left": list(contest.survivors(len(third.runs))), "runs": spent, "of": total * len(third.runs)}


def percent(values: Sequence[float]) -> str:
    """A value with its interval."""
    middle, low, high = (f"{100 * value:+.1f}" for value in values)
    return f"{middle} ({low} to {high})"


def report(
    results: Sequence[Studied], published: Mapping[int, TwoStage]
) -> dict[str, dict[str, dict[int, list[Promise]]]]:
    """Print the tables of the page; all promises, by stage."""
    found = {stage: promises(results, stage, published) for stage in ("one", "two")}
    print("\nThe adaptive configuration with the greatest expected gain, in %, with 90 % intervals\n")
    print(
        "| | stage | φmin | safe | pair | naive | shrunk | P | after handovers | P | realised | relative to restarts |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for each in results:
        for stage, ways in found.items():
            told = each.stages[stage]
            best = int(told.expected.argmax())
            shrunk = ways[WAYS[1]][each.function][best]
            after = ways[WAYS[2]].get(each.function)
            later = (percent(after[best].interval), f"{np.mean(after[best].told > 0):.2f}") if after else ("", "")
            beside = share_saved(each.third, shrunk.name, each.restart, target_index(told), np.random.default_rng(1))
            cells = (stage, f"{told.targets[-1]:.1g}", told.safe, shrunk.name, f"{100 * told.promised[best]:+.1f}")
            cells += (percent(shrunk.interval), f"{told.probability[best]:.2f}", *later)
            cells += (percent(shrunk.fresh), percent([beside[0], *np.quantile(beside[1:], [0.05, 0.95])]))
            print(f"| f{each.function} | " + " | ".join(cells) + " |")
    print(
        "\n| | stage | pairs | realised inside | agrees | promised minus realised, median |\n|---|---|---|---|---|---|"
    )
    for way in WAYS:
        for stage, ways in found.items():
            if not (rows := [row for rows in ways[way].values() for row in rows]):
                continue
            gap = np.median([row.interval[0] - row.gain for row in rows])
            inside, agrees = (np.mean([getattr(row, word) for row in rows]) for word in ("inside", "agrees"))
            print(f"| {way} | {stage} | {len(rows)} | {inside:.0%} | {agrees:.0%} | {100 * gap:+.1f} |")
    for each in results:
        print(f"\nf{each.function}: {json.dumps(each.notes)}")
        for stage, ways in found.items():
            ratios = [f"{row.ratio:.2f}" for row in ways["shrunk"][each.function]]
            print(f"  stage {stage}: took longer than expected by {', '.join(ratios)}")
    return found


def draw(found: Mapping[str, Mapping[str, Mapping[int, Sequence[Promise]]]], folder: Path) -> None:
    """Promised against realised gains: circles of stage one, squares of stage two."""
    figure, panels = plt.subplots(1, len(WAYS), figsize=(12, 4.6), sharex=True, sharey=True, layout="constrained")
    for panel, way in zip(panels, WAYS, strict=True):
        for stage, marker in (("one", "o"), ("two", "s")):
            for (function, rows), color in zip(found[stage][way].items(), COLORS, strict=False):
                for number, row in enumerate(rows):
                    (x, *xs), (y, *ys) = np.clip([row.interval, row.fresh], -LIMIT, LIMIT)
                    panel.plot(xs, [y, y], color=color, linewidth=0.8, alpha=0.5)
                    panel.plot([x, x], ys, color=color, linewidth=0.8, alpha=0.5)
                    label = f"f{function}" if stage == "two" and not number else None
                    panel.plot(x, y, marker, color=color, markersize=4.5, label=label, clip_on=False)
        panel.axline((0, 0), slope=1, color="0.5", linewidth=0.8)
        panel.axhline(0, color="0.8", linewidth=0.8)
        panel.set(xlabel="predicted gain", xlim=(-LIMIT, LIMIT), ylim=(-LIMIT, LIMIT))
        panel.set_title(way, loc="left")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("gain realised on fresh runs")
    panels[0].legend(frameon=False, loc="lower left")
    figure.savefig(folder / "adaptive-gains.png", dpi=100)
    plt.close(figure)


def main() -> None:
    """Run, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--figures", type=Path, help="default: FOLDER")
    parser.add_argument("--functions", type=int, nargs="+", default=list(FUNCTIONS))
    parser.add_argument("--configurations", type=int, default=Size.configurations, help="in stage one")
    parser.add_argument("--quick", action="store_true", help="quick check with a hundredth of the runs")
    parser.add_argument(
        "--published", type=Path, help="data of benchmarks.adaptive_published, for the cost of handovers"
    )
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    size = QUICK if options.quick else Size(options.configurations)
    results = list[Studied]()
    for function in options.functions:
        began = time.monotonic()
        results.append(studied(options.into, function, size, options.workers))
        print(f"f{function}: {time.monotonic() - began:.0f} s", flush=True)
    published = two_stage(options.published) if options.published else {}
    figures = options.figures or options.into
    figures.mkdir(parents=True, exist_ok=True)
    draw(report(results, published), figures)


if __name__ == "__main__":
    main()

"""The result of a configurator: its configurations, and their performance as promised and on fresh instances."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polarbear.configure import Configuration, Configurator, Criterion, UnknownOptimum, bootstrap_means
from polarbear.configure.configurator import DEFAULT
from polarbear.configure.criteria import CriterionName
from polarbear.configure.recommendation import recommend, safety_of_means, safety_of_wins, win_probability
from polarbear.inference import Posterior, events
from polarbear.racing import RaceResult
from polarbear.records import FloatArray, Run


@dataclass(frozen=True, slots=True)
class Worth:
    """The performance of a configuration, as promised by the search and as found on fresh instances.

    Attributes:
        promised: The estimate from the runs by which it was chosen, which flatter it, shrunk towards the others:
            ratings by their prior, means by that of `polarbear.configure.bootstrap_means`.
        found: (3,) mean and 95 % interval on fresh instances.
    """

    promised: float
    found: tuple[float, float, float]

    @property
    def gap(self) -> float:
        """The mean on fresh instances minus the promised value."""
        return self.found[0] - self.promised

    def as_dict(self) -> dict[str, Any]:
        """The values as a dictionary."""
        return {**dataclasses.asdict(self), "gap": self.gap}


@dataclass(frozen=True, slots=True, eq=False)
class ConfigurationResult:
    """The result of a configurator.

    Attributes:
        configurator: The search, with all its configurations, iterations and rankings.
        race: The race of its elites and the default on fresh instances: the anytime Pareto set of configurations, and
            the posterior for all budgets. None if nothing but the default was left, or no race was requested.
        path: The path of the race's study, an ordinary one.
        wins: For each elite, the probability that a run of it beats one of the default, averaged over the logarithm of
            time, by ratings, which shrink towards equality where runs are few. Empty if the space has no valid default.
        means: For each elite and the default, the criterion by the Bayesian bootstrap over instances. Wins and means
            may disagree: a configuration that wins often may occasionally fail badly.
        criterion: The criterion of `means`: the configurator's; or "final", the value at the end, if the former needs
            an unknown optimum.
        recommended: The configuration to use if a single one is wanted for all budgets: the best elite that, by the
            fresh runs, is with probability α not worse than the default by more than ε, see
            `polarbear.configure.recommendation`; else the default. Without fresh runs, as `Configurator.recommended`.
    """

    configurator: Configurator
    race: RaceResult | None
    path: Path
    wins: dict[str, Worth]
    means: dict[str, Worth]
    criterion: CriterionName
    recommended: str

    @property
    def pareto_set(self) -> tuple[str, ...]:
        """The names of the configurations not found to be dominated over time by any other one."""
        return self.race.pareto_set if self.race else self.configurator.elites

    @property
    def configurations(self) -> dict[str, Configuration]:
        """The configurations in `pareto_set`, by name."""
        return {name: self.configurator.configurations[name] for name in self.pareto_set}

    @property
    def default(self) -> Configuration | None:
        """The default, if valid: the optimizer without the space, see `polarbear.configure.Space.default`."""
        return self.configurator.configurations.get(DEFAULT)

    @property
    def dominated(self) -> dict[str, float]:
        """For each configuration, the probability that another one in the race is better at all timepoints."""
        if self.race is None:
            return {}
        posterior = self.race.posterior
        return {name: posterior.probability(events.dominated(name)) for name in posterior.names}

    @property
    def remark(self) -> str:
        """A remark if `means` are not of the configurator's criterion; else empty."""
        wanted = self.configurator.settings.criterion
        if self.criterion == wanted:
            return ""
        return f"{wanted} needs the optimum, which is unknown, so means are of the value at the end, {self.criterion}"

    def default_in_words(self) -> str:
        """The default and what it leaves to the optimizer, in words."""
        if self.default is None:
            return "the space has no valid default"
        left = [name for name in self.configurator.space.left_to_optimizer if name not in self.default]
        said = [f"{key} = {value}" for key, value in self.default.items()]
        return f"the default: {', '.join([*said, *(f'{name} chosen by the optimizer' for name in left)])}"

    def recommendation_in_words(self) -> str:
        """The recommended configuration and the reason, in words."""
        alpha, epsilon = self.configurator.settings.alpha, self.configurator.settings.epsilon
        if self.default is None:
            return f"recommended: {self.recommended}; there is no default to compare with"
        if self.recommended == DEFAULT:
            return f"recommended: the default; no other is, with probability {alpha:.0%}, at most {epsilon:g} worse"
        return (
            f"recommended: {self.recommended}; with probability {alpha:.0%}, at most {epsilon:g} worse than the default"
        )

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values."""
        return {
            "pareto_set": list(self.pareto_set),
            "configurations": self.configurations,
            "default": self.default,
            "recommended": self.recommended,
            "dominated": self.dominated,
            "wins_against_default": {name: each.as_dict() for name, each in self.wins.items()},
            "criterion": self.criterion,
            "means": {name: each.as_dict() for name, each in self.means.items()},
            "iterations": [dataclasses.asdict(each) for each in self.configurator.iterations],
            "race": str(self.path),
        }

    def __str__(self) -> str:
        lines = [f"anytime Pareto set: {', '.join(self.pareto_set)}"]
        for name, configuration in self.configurations.items():
            said = ", ".join(f"{key} = {value}" for key, value in configuration.items())
            lines.append(f"{name}: {said}")
        lines += [self.default_in_words(), self.recommendation_in_words()]
        lines += [f"{name} is dominated with probability {each:.2f}" for name, each in self.dominated.items()]
        for name, each in self.wins.items():
            mean, low, high = each.found
            lines.append(
                f"{name} beats the default in {mean:.0%} of runs ({low:.0%} to {high:.0%}) on fresh instances; the "
                f"search promised {each.promised:.0%}"
            )
        for name, each in self.means.items():
            mean, low, high = each.found
            lines.append(
                f"{name} has {self.criterion} {mean:.4g} ({low:.4g} to {high:.4g}) on fresh instances; the search "
                f"promised {each.promised:.4g}, a gap of {each.gap:+.2g}"
            )
        lines += [self.remark] if self.remark else []
        return "\n".join(lines)


def mean_and_interval(draws: FloatArray) -> tuple[float, float, float]:
    """The mean and 95 % interval of draws."""
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(draws.mean()), float(low), float(high)


def wins_of(configurator: Configurator, raced: Posterior) -> dict[str, Worth]:
    """`ConfigurationResult.wins`, from the posterior of the race on fresh instances."""
    if DEFAULT not in configurator.configurations:
        return {}
    promised = configurator.posterior()

    def against_default(posterior: Posterior, name: str) -> FloatArray:
        mine, others = (posterior.draws[:, :, posterior.index(each)] for each in (name, DEFAULT))
        return win_probability(mine, others, raced.times)

    return {
        name: Worth(float(against_default(promised, name).mean()), mean_and_interval(against_default(raced, name)))
        for name in configurator.elites
        if name != DEFAULT
    }


def recommended_of(configurator: Configurator, raced: Posterior, runs: Sequence[Run]) -> str:
    """`ConfigurationResult.recommended`, from the race on fresh instances and its runs."""
    rivals, chosen = [name for name in configurator.elites if name != DEFAULT], configurator.settings
    if DEFAULT not in configurator.configurations or not rivals:
        return configurator.elites[0]
    if chosen.strategy == "race":
        safeties = {name: safety_of_wins(raced, name, DEFAULT, chosen.epsilon) for name in rivals}
    else:
        criterion, until = Criterion(chosen.criterion, chosen.target), float(configurator.times[-1])
        whole, rng = _whole(runs, until), np.random.default_rng([chosen.seed, 2])
        safeties = {
            name: safety_of_means(_terms(whole, [name, DEFAULT], criterion, until), chosen.epsilon, rng)
            for name in rivals
        }
    return recommend(safeties, DEFAULT, alpha=chosen.alpha, tried=len(rivals))


def _whole(runs: Sequence[Run], until: float) -> dict[tuple[str, int], Run]:
    """The runs whose value at time `until` is known, by algorithm and seed."""
    known = (run for run in runs if not np.isnan(run.trajectory.value_at(until)).any())
    return {(run.key.algorithm, run.key.seed): run for run in known}


def _terms(runs: Mapping[tuple[str, int], Run], names: Sequence[str], criterion: Criterion, until: float) -> FloatArray:
    """(P, n, 2) the contributions of runs to a criterion, on the seeds that all have run."""
    seeds = sorted(set[int].intersection(*({seed for each, seed in runs if each == name} for name in names)))
    rows = [[criterion.terms(runs[name, seed], until) for name in names] for seed in seeds]
    return np.array(rows).reshape(len(seeds), len(names), 2)


def means_of(
    configurator: Configurator, runs: Sequence[Run], names: Sequence[str]
) -> tuple[CriterionName, dict[str, Worth]]:
    """`ConfigurationResult.criterion` and `means`, from the runs of the race that reached the last timepoint."""
    until = float(configurator.times[-1])
    whole = _whole(runs, until)
    left = [name for name in names if any(name == each for each, _ in whole)]
    if not left:
        return configurator.settings.criterion, {}

    def worths(criterion: Criterion) -> dict[str, Worth]:
        after = _terms(whole, left, criterion, until)
        promised = promised_means(configurator, left, criterion)
        if not promised or not len(after):
            return {}
        found = bootstrap_means(after, np.random.default_rng([configurator.settings.seed, 1]))
        return {name: Worth(promised[name], mean_and_interval(found[:, index])) for index, name in enumerate(left)}

    criterion = Criterion(configurator.settings.criterion, configurator.settings.target)
    try:
        return criterion.name, worths(criterion)
    except UnknownOptimum:
        return "final", worths(Criterion("final"))


def promised_means(configurator: Configurator, names: Sequence[str], criterion: Criterion) -> dict[str, float]:
    """The values that a search promises of configurations, `Worth.promised`; empty if no instance was run by all.

    Raises:
        UnknownOptimum: If the criterion needs the optimum and it is unknown.
    """
    terms, pool = configurator.criterion_terms(names, criterion), configurator.peers_terms(criterion)
    if not len(terms):
        return {}
    means = bootstrap_means(terms, np.random.default_rng(configurator.settings.seed), pool=pool).mean(axis=0)
    return dict(zip(names, map(float, means), strict=True))

"""The configurator: iterations in which elites and newcomers compete on common instances and seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from polarbear.configure import contests
from polarbear.configure.criteria import Criterion
from polarbear.configure.effects import fit_effects
from polarbear.configure.proposals import most_promising, near
from polarbear.configure.recommendation import recommend, safety_of_means, safety_of_wins
from polarbear.configure.smac import SmacContest
from polarbear.configure.spaces import ATTEMPTS, Configuration, Space
from polarbear.descriptions import FieldError, plain_value
from polarbear.extras import Extra
from polarbear.inference import Posterior, fit
from polarbear.quantities import plural
from polarbear.racing import Race, RaceSettings, Request
from polarbear.rankings import Rankings
from polarbear.records import FloatArray, Run
from polarbear.validation import choice, real, settings, whole

Strategy = Literal["race", "bootstrap", "f-race", "t-race", "halving", "hyperband", "random", "smac"]
Unit = Literal["runs", "evaluations", "seconds"]

DEFAULT = "default"
"""Name of the space's default configuration, i.e. the optimizer's own settings."""
_ETA = 3
"""Number of configurations that successive halving reduces to one, as Hyperband's authors recommend."""
_MOST = 40
"""Maximum number of newcomers in an iteration."""
_PLANNED = ("halving", "hyperband", "random", "smac")
"""Strategies that plan their whole budget from the start."""


@settings(kw_only=True)
class ConfiguratorSettings:
    """Settings of a configurator's search.

    Attributes:
        budget: Budget of the search, in `unit`.
        unit: "runs", "evaluations" or "seconds"; seconds are those inside runs.
        strategy: How configurations are dropped, and where newcomers come from. "race" drops configurations that
            another one dominates over time, by the posterior of `polarbear.racing.Race`; newcomers are near the elites,
            and ever nearer. With the same newcomers, "bootstrap", "f-race" and "t-race" compare a single number, the
            criterion: by the Bayesian bootstrap whenever the instances have doubled, and by Friedman's test and paired
            t-tests after each instance. With newcomers from the whole space, "halving" keeps the best third and triples
            the instances, "hyperband" does so from several starts, and "random" compares all on the same number of
            instances. "smac" leaves the search to SMAC (`polarbear.configure.smac`), as a baseline.
        criterion: Number that all strategies except "race" compare.
        target: Target of the criterion "ert".
        newcomers: "near": children of elites, see `polarbear.configure.proposals.near`; "modelled": from many such
            children and random configurations, the best ones under draws from the posterior of `fit_effects`, one per
            draw, by their rating averaged over the logarithm of time.
        elites: Maximum number of configurations left by an iteration.
        first: Number of instances on which newcomers run before any configuration is dropped; each iteration adds one,
            up to five.
        alpha: Probability of being dominated at which a configuration is dropped; 1 - alpha is the level of tests.
        epsilon: As in `polarbear.racing.RaceSettings`.
        seed: Seed of newcomers, instances and runs.
    """

    budget: Annotated[float, real(gt=0)]
    unit: Annotated[Unit, choice("runs", "evaluations", "seconds")] = "runs"
    strategy: Annotated[Strategy, choice(*get_args(Strategy))] = "race"
    criterion: Annotated[Literal["mean-aocc", "final", "ert"], choice("mean-aocc", "final", "ert")] = "mean-aocc"
    target: Annotated[float, real()] = 1e-8
    newcomers: Annotated[Literal["near", "modelled"], choice("near", "modelled")] = "near"
    elites: Annotated[int, whole(1)] = 5
    first: Annotated[int, whole(2)] = 5
    alpha: Annotated[float, real(gt=0.5, lt=1)] = 0.95
    epsilon: Annotated[float, real(ge=0, lt=0.5)] = 0.05
    seed: Annotated[int, whole(0)] = 0


@dataclass(frozen=True, slots=True)
class Iteration:
    """A completed iteration.

    Attributes:
        number: Number of the iteration, from 1.
        entrants: Configurations that took part, elites first.
        elites: Configurations that were left, the best first.
        instances: Number of instances on which the elites have run.
        runs: Number of runs so far.
        spent: Budget spent by all runs so far, in its unit.
    """

    number: int
    entrants: tuple[str, ...]
    elites: tuple[str, ...]
    instances: int
    runs: int
    spent: float


class Configurator:
    """Searches a space for the configurations that are best at some time: ask for runs, execute them, tell the results.

    In each iteration, elites and newcomers compete from the first instance on and with the same seeds, so that runs
    that elites have already made cost nothing. The remaining budget is divided among iterations as in irace
    (López-Ibáñez et al. 2016, section 3.1). All runs go up to the last timepoint. The same runs lead to the same
    decisions.

    Args:
        space: Space of configurations, see `polarbear.configure.spaces`.
        times: (T,) strictly increasing timepoints at which configurations are compared, in evaluations.
        include: Configurations to start with besides the space's default.
        **options: See `ConfiguratorSettings`.

    Attributes:
        include: Configurations to start with besides the default.
        configurations: All configurations so far, by name.
        iterations: Completed iterations.

    Raises:
        ValueError: If a setting is out of range, the budget is too small for a first iteration, the space has no valid
            configuration, or a configuration to include is invalid.
    """

    def __init__(
        self, space: Space, *, times: ArrayLike, include: Iterable[Mapping[str, Any]] = (), **options: Any
    ) -> None:
        self.space = space
        self.settings = ConfiguratorSettings(**options)
        if self.settings.unit == "seconds" and not self._searching_near:
            raise FieldError(
                ("unit",),
                f"unit is 'seconds'; strategy {self.settings.strategy!r} plans all its runs in advance, so its budget "
                "must be in runs or evaluations",
            )
        if self.settings.strategy == "smac":
            Extra("smac", "smac").check("strategy 'smac'")
            if self.settings.criterion == "ert":
                raise FieldError(("criterion",), "criterion is 'ert'; SMAC needs a mean: use mean-aocc or final")
        self.times: FloatArray = RaceSettings().timepoints(times)
        self._criterion = Criterion(self.settings.criterion, self.settings.target)
        self.include = tuple(map(dict, include))
        for configuration in self.include:
            space.optimizer(configuration)
        self.begin_with(None if space.fault(space.default) else space.default)
        if self.settings.budget < (least := self._least_budget()):
            raise FieldError(
                ("budget",),
                f"a budget of {self.settings.budget:,.10g} {self.settings.unit} is too small: the strategy "
                f"{self.settings.strategy!r} needs at least {least:,.10g} with "
                f"{plural(self.configurations, 'configuration')} to start with and "
                f"{plural(len(space.names), 'parameter')}; increase budget, or set first below {self.settings.first}",
            )

    def begin_with(self, default: Configuration | None) -> None:
        """Restart with this configuration as the default, such as that of a stored study; None for no default.

        Raises:
            ValueError: If the space has no valid configuration.
        """
        self._rng = np.random.default_rng(np.random.SeedSequence([self.settings.seed, 0x636F6E66]))
        self.configurations: dict[str, Configuration] = {} if default is None else {DEFAULT: default}
        for configuration in self.include:
            self._enter(configuration)
        if not self.configurations:
            self._enter(self.space.sample(self._rng)[0])
        self.iterations: tuple[Iteration, ...] = ()
        self._runs: dict[tuple[str, int], Run] = {}
        self._draws: dict[tuple[str, int], int] = {}
        self._elites = tuple(self.configurations)
        self._entrants: tuple[str, ...] = ()
        self._contest: contests.Contest | None = None
        self._waiting: dict[tuple[str, int], Request] = {}
        self._share, self.spent, self.finished = 0.0, 0.0, False

    @property
    def elites(self) -> tuple[str, ...]:
        """The configurations left by the last iteration, the best first; before the first, those to start with."""
        return self._elites

    @property
    def planned(self) -> int:
        """Number of iterations among which the budget is divided: 2 + log2 of the number of parameters, as in irace."""
        return 2 + int(np.log2(max(1, len(self.space.names))))

    def ask(self) -> list[Request]:
        """The runs needed next; empty when the search is finished.

        Raises:
            ValueError: If the space has only one configuration.
        """
        while not self.finished and not self._waiting:
            if self._contest is None:
                self._begin()
                continue
            requests = self._contest.ask()
            unknown = {_identity(each): each for each in requests if _identity(each) not in self._runs}
            if not requests or (unknown and not self._affordable(len(unknown))):
                self._end()
            elif unknown:
                self._waiting = unknown
            else:
                self._contest.tell(self._runs[_identity(each)] for each in requests)
        return [self._to_the_end(each) for each in self._waiting.values()]

    def tell(self, runs: Iterable[Run]) -> None:
        """Take results of finished runs, in any order.

        Raises:
            ValueError: If a run was not requested, or the criterion cannot be computed.
        """
        for run in runs:
            identity = (run.key.algorithm, run.key.seed)
            if identity not in self._waiting:
                raise ValueError(
                    f"the run of {run.key} was not requested; tell() takes only the runs that ask() returned"
                )
            if self.settings.strategy != "race":
                self._criterion.terms(run, self.times[-1])
            self._runs[identity] = run
            self._draws[identity] = self._waiting.pop(identity).draw
            self.spent += _cost(run, self.settings.unit)

    def rankings(self, names: Iterable[str] | None = None) -> Rankings:
        """The rankings of all runs so far, restricted to the configurations `names` if given."""
        chosen = list(names or self.configurations)
        values = np.full((1 + max(self._draws.values(), default=0), self.times.size, len(chosen)), np.nan)
        columns = {name: index for index, name in enumerate(chosen)}
        for identity, run in self._runs.items():
            if identity[0] in columns:
                values[self._draws[identity], :, columns[identity[0]]] = run.trajectory.value_at(self.times)
        return Rankings.of(values, times=self.times, algorithms=chosen)

    def posterior(self, names: Iterable[str] | None = None) -> Posterior:
        """The posterior over time of some configurations, by default the elites and the default, from all their runs.

        It flatters elites, which were selected by these runs; run them on fresh instances for an unbiased estimate.
        """
        default = [DEFAULT] if DEFAULT in self.configurations else []
        chosen = list(names or dict.fromkeys((*self.elites, *default)))
        return fit(self.rankings(chosen), rng=np.random.default_rng(self.settings.seed))

    @property
    def recommended(self) -> str:
        """The configuration recommended by the runs of the search: the best elite that is safe, else the default.

        An elite is safe if it is not worse than the default by more than ε, with a probability that accounts for its
        selection by the same runs, see `polarbear.configure.recommendation`. This is strict; with fresh runs, as made
        by `polarbear.study.configure`, elites are recommended more readily. Without a valid default, the first elite is
        recommended.
        """
        rivals = [name for name in self.elites if name != DEFAULT]
        if DEFAULT not in self.configurations or not rivals:
            return self.elites[0]
        chosen, tried = self.settings, len(self.configurations) - 1
        if chosen.strategy == "race":
            posterior = self.posterior()
            safeties = {name: safety_of_wins(posterior, name, DEFAULT, chosen.epsilon) for name in rivals}
        else:
            rng = np.random.default_rng(chosen.seed)
            terms = {name: self.criterion_terms([name, DEFAULT], self._criterion) for name in rivals}
            safeties = {name: safety_of_means(each, chosen.epsilon, rng) for name, each in terms.items()}
        return recommend(safeties, DEFAULT, alpha=chosen.alpha, tried=tried)

    def criterion_terms(self, names: Iterable[str], criterion: Criterion) -> FloatArray:
        """(P, n, 2) terms of a criterion, see `Criterion.terms`, on the instances on which all of `names` have run."""
        chosen = list(names)
        shared = [{seed for name, seed in self._runs if name == each} for each in chosen]
        seeds = sorted(set[int].intersection(*shared))
        until = float(self.times[-1])
        rows = [[criterion.terms(self._runs[name, seed], until) for name in chosen] for seed in seeds]
        return np.array(rows).reshape(len(seeds), len(chosen), 2)

    def peers_terms(self, criterion: Criterion) -> FloatArray | None:
        """(m, 2) finite terms of a criterion for all runs of the last iteration's entrants; None if there are none."""
        peers = self.iterations[-1].entrants if self.iterations else tuple(self.configurations)
        until = float(self.times[-1])
        rows = np.array([criterion.terms(run, until) for (name, _), run in sorted(self._runs.items()) if name in peers])
        finite = rows[np.isfinite(rows).all(axis=-1)] if rows.size else rows
        return finite if len(finite) else None

    def describe(self) -> dict[str, Any]:
        """Timepoints, settings and configurations to include as plain values."""
        return {"times": self.times.tolist(), **asdict(self.settings), "include": plain_value(self.include)}

    def _begin(self) -> None:
        """Begin an iteration if the budget allows for newcomers, or if it is the first."""
        left, done = self.settings.budget - self.spent, len(self.iterations)
        self._share = left / max(1, self.planned - done) if self._searching_near else left
        first = self.settings.first + min(5, done)
        names = [self._enter(each) for each in self._newcomers(first)]
        alone = not done and len(self._elites) == 1 and self.settings.strategy != "smac"
        if alone and set(names) <= set(self._elites):
            names = [self._another()]
        self._entrants = tuple(dict.fromkeys([*self._elites, *names]))
        if done and len(self._entrants) == len(self._elites):
            self.finished = True
            return
        self._contest = self._contest_of(self._entrants, first)

    def _another(self) -> str:
        """Any configuration other than those to start with."""
        for _ in range(ATTEMPTS):
            if (name := self._enter(self.space.sample(self._rng)[0])) not in self._elites:
                return name
        raise ValueError(
            f"the space of {self.space.make.__name__} has only one configuration, so there is nothing to search; "
            "add options or ranges"
        )

    def _least_budget(self) -> float:
        """Minimum budget of a first iteration of the configurations to start with, or of a single one and newcomers."""
        strategy, count = self.settings.strategy, len(self.configurations)
        if count > 1:
            runs = count * (4 if strategy == "random" else 1)
        else:
            runs = {"halving": 4, "hyperband": 8, "random": 8, "smac": 4}.get(strategy, 4 * self.planned)
        return runs * self.settings.first * self._expected()

    @property
    def _searching_near(self) -> bool:
        return self.settings.strategy not in _PLANNED

    def _newcomers(self, first: int) -> list[Configuration]:
        """Newcomers for half of the iteration's runs; the other half decides among the configurations that are left."""
        done, rng = len(self.iterations), self._rng
        if self.settings.strategy == "smac":  # brings its own newcomers
            return []
        if not self._searching_near:
            starts = self._starts()
            size = starts[done][0] - (0 if done else len(self._elites)) if done < len(starts) else 0
            return self.space.sample(rng, size) if size > 0 else []
        cost = self._expected()
        size = min(int(self._share / (2 * first * cost)) if cost else 2 * first, _MOST) - len(self._elites) * (not done)
        if size < 1:
            return []
        if not done:
            return self.space.sample(rng, size)
        spread = float(np.clip(size ** (-done / max(1, len(self.space.names))), 0.05, 0.5))
        elites = [self.configurations[name] for name in self._elites]
        if self.settings.newcomers == "near":
            return near(self.space, elites, rng, size, spread=spread)
        pool = [*near(self.space, elites, rng, 10 * size, spread=spread), *self.space.sample(rng, 5 * size)]
        fitted = fit_effects(self.space, self.configurations, self.rankings(), draws=size, rng=rng)
        return most_promising(fitted, pool, self.configurations.values())

    def _starts(self) -> list[tuple[int, int]]:
        """Numbers of configurations and of instances with which each iteration of a halving strategy starts.

        Hyperband has several iterations, with fewer and fewer configurations on more and more instances (Li et al.
        2018, algorithm 1).
        """
        per_run = 1.0 if self.settings.unit == "runs" else float(self.times[-1])
        runs, first = int(self.settings.budget / per_run), self.settings.first
        if self.settings.strategy == "random":
            return [(runs // (4 * first), 4 * first)]
        most = max(1, int(np.log(max(1, runs // (4 * first))) / np.log(_ETA)))
        rungs = range(most, -1, -1) if self.settings.strategy == "hyperband" else [most]
        instances = [first * _ETA ** (most - rung) for rung in rungs]
        return [(runs // (len(rungs) * on * (rung + 1)), on) for on, rung in zip(instances, rungs, strict=True)]

    def _contest_of(self, names: tuple[str, ...], first: int) -> contests.Contest:
        chosen = self.settings
        race = Race(
            names if len(names) > 1 else [*names, "newcomers"],
            times=self.times,
            alpha=chosen.alpha,
            epsilon=chosen.epsilon,
            batches="forecast",
            batch=first,
            smallest_batch=min(2, first),
            largest_batch=max(10, first),
            draws=1000,
            seed=chosen.seed,
        )
        if chosen.strategy == "race":
            return contests.RaceContest(race)
        if chosen.strategy == "smac":
            return SmacContest(
                self.space,
                self.configurations,
                enter=self._enter,
                criterion=self._criterion,
                until=float(self.times[-1]),
                seed_of=race.seed_of,
                runs=int(chosen.budget / self._expected()),
                seed=chosen.seed,
            )
        rng = np.random.default_rng([chosen.seed, len(self.iterations)])
        level = 1 - chosen.alpha
        on = 0 if self._searching_near else self._starts()[len(self.iterations)][1]
        doubled = contests.geometric_steps(first, 2)  # few looks, as each may drop the best with 1 - alpha
        rules: dict[str, tuple[contests.Rule, Iterable[int]]] = {
            "bootstrap": (partial(contests.keep_credible, alpha=chosen.alpha, rng=rng), doubled),
            "f-race": (partial(contests.keep_by_friedman, level=level), count(first)),
            "t-race": (partial(contests.keep_by_t_test, level=level), count(first)),
            "halving": (partial(contests.keep_share, eta=_ETA), contests.geometric_steps(on, _ETA)),
            "random": (contests.keep_all, (on,)),
        }
        rules["hyperband"] = rules["halving"]
        rule, steps = rules[chosen.strategy]
        return contests.RankedContest(
            names, criterion=self._criterion, rule=rule, steps=steps, until=self.times[-1], seed_of=race.seed_of
        )

    def _expected(self) -> float:
        """Expected cost of a run; 0 if not yet known."""
        if self.settings.unit == "runs":
            return 1.0
        if self._runs:
            return self.spent / len(self._runs)
        return float(self.times[-1]) if self.settings.unit == "evaluations" else 0.0

    def _affordable(self, runs: int) -> bool:
        cost = runs * self._expected()
        left = self.settings.budget - self.spent
        before = self.iterations[-1].spent if self.iterations else 0.0
        return cost <= left and (self.spent + cost <= before + self._share or self.spent == before)

    def _end(self) -> None:
        """End the iteration with the configurations that are left, or the search if there was no budget for a run."""
        contest, self._contest = self._contest, None
        if contest is None or self.spent == (self.iterations[-1].spent if self.iterations else 0.0):
            self.finished = True
            return
        self._elites = contest.survivors(self.settings.elites)
        drawn = sum(name == self._elites[0] for name, _ in self._runs)
        number = len(self.iterations) + 1
        entrants = tuple(self.configurations) if self.settings.strategy == "smac" else self._entrants
        over = Iteration(number, entrants, self._elites, drawn, len(self._runs), self.spent)
        self.iterations = (*self.iterations, over)

    def _enter(self, configuration: Configuration) -> str:
        """Register a configuration, and return its name, which is the same in every study."""
        if configuration == self.configurations.get(DEFAULT):
            return DEFAULT
        text = json.dumps(configuration, sort_keys=True, default=str)
        name = hashlib.sha256(text.encode()).hexdigest()[:8]
        self.configurations[name] = configuration
        return name

    def _to_the_end(self, request: Request) -> Request:
        return Request(request.key, request.draw, float(self.times[-1]))


def _identity(request: Request) -> tuple[str, int]:
    return request.key.algorithm, request.key.seed


def _cost(run: Run, unit: Unit) -> float:
    if unit == "runs":
        return 1.0
    return float(run.outcome.evaluations if unit == "evaluations" else run.outcome.seconds)

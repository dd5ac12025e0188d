"""Configuration of an optimizer on real problems, with every run kept in a study."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polarbear import optimizers, problems, store
from polarbear.configure import (
    Configuration,
    Configurator,
    Effects,
    Space,
    fit_effects,
    spaces,
)
from polarbear.configure.configurator import DEFAULT
from polarbear.descriptions import plain_value, shortened
from polarbear.experiment import Limits, Task
from polarbear.racing import Race, RaceResult, Request
from polarbear.rankings import Rankings
from polarbear.records import Run
from polarbear.store.specification import SPEC
from polarbear.study.configuration_result import ConfigurationResult, means_of, recommended_of, wins_of
from polarbear.study.race_runner import EveryRunFailed, StopRules, race
from polarbear.study.resume import OtherSettings, RunMaker, executor_or_pool, opened
from polarbear.study.stored import check_spec
from polarbear.study.suitability import check_pairs, first_problems
from polarbear.validation import whole_number

VALIDATE = 50
"""Number of fresh instances on which the elites and the default are raced at the end."""


def effects_of(path: str | Path, *, pairs: Sequence[tuple[str, str]] = (), draws: int = 1000, seed: int = 0) -> Effects:
    """Which option matters when, according to all runs in a study of a configurator; see `fit_effects`.

    Nothing that the study describes is imported.

    Args:
        path: The study's directory.
        pairs: Pairs of modules whose options may interact.
        draws: Number of posterior draws.
        seed: The seed of all draws.

    Raises:
        polarbear.store.StudyError: If there is no study at `path`, or it is not one of a configurator.
        ValueError: If the runs are on fewer than two instances, or a pair is not of modules.
    """
    with store.open(path) as study:
        check_spec(study.spec, study.path / SPEC)
        if "configure" not in study.spec:
            raise store.StudyError(f"{path} is not the study of a configurator, so it has no space of modules")
        runs, spec = study.runs(), study.spec
    times, names = np.array(spec["configure"]["times"]), list(spec["configurations"])
    seeds = {seed: row for row, seed in enumerate(dict.fromkeys(run.key.seed for run in runs))}
    values = np.full((len(seeds), times.size, len(names)), np.nan)
    for run in runs:
        values[seeds[run.key.seed], :, names.index(run.key.algorithm)] = run.trajectory.value_at(times)
    rankings, rng = Rankings.of(values, times=times, algorithms=names), np.random.default_rng(seed)
    return fit_effects(
        spaces.from_stored(spec["space"]), spec["configurations"], rankings, pairs=pairs, draws=draws, rng=rng
    )


class ConfigureObserver:
    """An observer of the configuration of an optimizer; override the methods you need."""

    def asked(self, configurator: Configurator) -> None:
        """Called when the configurator waits for more runs."""

    def run_finished(self, configurator: Configurator) -> None:
        """Called when one of these runs has finished."""

    def validating(self, configurator: Configurator, path: Path) -> None:
        """Called when the search is over and its elites are raced on fresh instances, in a separate study."""


def configure(
    search: Configurator | Space,
    instances: object,
    path: str | Path,
    *,
    validate: int = VALIDATE,
    workers: int = 1,
    executor: Executor | None = None,
    timeout: float | None = None,
    retry_killed: int = 1,
    accept_damage: bool = False,
    observer: ConfigureObserver | None = None,
    **options: Any,
) -> ConfigurationResult:
    """Configure an optimizer on real problems; create the study at `path`, or resume it.

    The search repeats all its decisions from the runs in the study, so that nothing else needs to be kept, and requests
    the missing ones. Then its elites and the default are raced on fresh instances: draws from the same distribution
    with another seed, or the same problems with other seeds of the runs. That race is an ordinary study beside this
    one, with ``-race`` in its name.

    Args:
        search: A new configurator, or a space, for which one is constructed. It begins with the default that the study
            has; that of older studies is the middle of ranges that lack the optimizer's own value.
        instances: A distribution of problem instances (see `polarbear.problems`), or a list of problems. If they run
            out, they start over with other seeds.
        path: The study's directory.
        validate: Number of fresh instances on which the elites are raced; 0 for no race.
        workers: Number of worker processes, without an `executor`.
        executor: Any `concurrent.futures.Executor` to run on instead.
        timeout: Wall-clock seconds after which a run is interrupted.
        retry_killed: How often a run whose worker process died is retried before it counts as killed.
        accept_damage: Whether to repeat runs whose files are damaged.
        observer: An observer that is notified of everything that happens.
        **options: With a space: arguments of `polarbear.configure.Configurator`, such as `times` and `include`; the
            budget is given as `runs`, or as `budget` and `unit`.

    Raises:
        TypeError: If arguments for a space are missing, or given with a configurator, which has its own.
        ValueError: If the configurator has already been told runs.
        OtherSettings: If the study at `path` was made with other settings; the message names them.
        Unsuitable: If the optimizer does not suit the problems.
        EveryRunFailed: If all runs of the first instances failed; nothing is lost, and once the cause is fixed a new
            study is needed.
    """
    configurator = _configurator_of(search, options)
    if configurator.iterations or configurator.spent:
        raise ValueError(
            "this configurator has already been told runs; make a new Configurator, which takes those of the study"
        )
    validate = whole_number(validate, "validate", 0)
    stream, location, observer = problems.as_instances(instances), store.place(path), observer or ConfigureObserver()
    first = first_problems(stream)
    check_pairs({name: configurator.space.optimizer(each) for name, each in configurator.configurations.items()}, first)
    limits = Limits(timeout=timeout)
    spec = _specification(configurator, stream, location)
    spec["limits"] = {"target_precision": None, "timeout": timeout}
    with (
        opened(location, spec, accept_damage=accept_damage) as (study, _),
        executor_or_pool(executor, workers, timeout, "evaluations") as pool,
    ):
        _begin_as(study, configurator)
        maker = RunMaker(study, pool, set(), retry_killed)
        while requests := configurator.ask():
            observer.asked(configurator)
            _describe_newcomers(configurator, study, spec)
            _make(configurator, requests, maker, stream, limits, observer)
    final = race_beside(location)
    runs_on = {"workers": workers, "executor": executor, "timeout": timeout}
    raced = _validate(configurator, stream, final, validate, observer, **runs_on)
    if raced is None:
        criterion, recommended = configurator.settings.criterion, configurator.recommended
        return ConfigurationResult(configurator, None, final, {}, {}, criterion, recommended)
    with store.open(final) as study:
        runs = study.runs()
    criterion, means = means_of(configurator, runs, raced.posterior.names)
    wins, recommended = wins_of(configurator, raced.posterior), recommended_of(configurator, raced.posterior, runs)
    return ConfigurationResult(configurator, raced, final, wins, means, criterion, recommended)


def _configurator_of(search: Configurator | Space, options: Mapping[str, Any]) -> Configurator:
    """The configurator passed to `configure`, or a new one for a space."""
    if isinstance(search, Configurator):
        if options:
            raise TypeError(f"{min(options)} can only be given with a space; a Configurator has its own")
        return search
    budgets = [name for name in ("budget", "unit") if name in options]
    if "times" not in options or bool(budgets) == ("runs" in options) or budgets == ["unit"]:
        raise TypeError(f"a space needs times, and either runs or budget and unit; given: {sorted(options)}")
    settings = dict(options)
    if "runs" in options:
        settings |= {"budget": settings.pop("runs"), "unit": "runs"}
    return Configurator(search, **settings)


def _specification(configurator: Configurator, stream: problems.Instances, path: Path) -> dict[str, Any]:
    """The specification to create or resume a study with, including the configurations that it already describes."""
    stored: dict[str, Any] = {}
    if store.exists(path):
        with store.open(path) as study:
            stored = dict(study.spec)
    spec: dict[str, Any] = {
        "configure": configurator.describe(),
        "space": configurator.space.describe(),
        "instances": problems.describe(stream),
        **{field: dict(stored.get(field, {})) for field in ("algorithms", "configurations")},
        "initial": list(stored.get("initial", [])),
    }
    if stored and "initial" not in stored:  # an older study does not record it
        del spec["initial"]
    if "include" not in stored.get("configure", {"include": []}):  # an older study; `_begin_as` compares what it can
        del spec["configure"]["include"]
    return spec


def _begin_as(study: store.StudyStore, configurator: Configurator) -> None:
    """Begin with the default of an existing study.

    Raises:
        OtherSettings: If an older study, which does not record what its search included, did not begin like this one.
    """
    stored: dict[str, Configuration] = study.spec["configurations"]
    default = stored.get(DEFAULT)
    if stored and default != plain_value(configurator.configurations.get(DEFAULT)):
        configurator.begin_with(default)
        was = "without a default" if default is None else f"with another default, {shortened(default)}"
        warnings.warn(
            f"the study at {study.path} was started {was}, and continues that way; start a new study to compare "
            "with the optimizer's own default",
            stacklevel=3,
        )
    if stored and "include" not in study.spec["configure"]:
        configurator.ask()
        if others := [name for name in configurator.configurations if name not in stored]:
            raise OtherSettings(
                f"the search of the study at {study.path} did not start with "
                f"{shortened(configurator.configurations[others[0]])}, so it was made with another include. "
                "Resume with the same, or choose another path"
            )


def _describe_newcomers(configurator: Configurator, study: store.StudyStore, spec: dict[str, Any]) -> None:
    """Describe new configurations in the study before they run."""
    known: dict[str, Any] = spec["algorithms"]
    if new := [name for name in configurator.configurations if name not in known]:
        for name in new:
            spec["configurations"][name] = configurator.configurations[name]
            if "initial" in spec and not configurator.iterations:
                spec["initial"].append(name)
            known[name] = optimizers.describe(configurator.space.optimizer(configurator.configurations[name]))
        study.replace_spec(spec)


def _make(
    configurator: Configurator,
    requests: list[Request],
    runs: RunMaker,
    stream: problems.Instances,
    limits: Limits,
    observer: ConfigureObserver,
) -> None:
    """Execute the runs that the study lacks, and tell the configurator all runs that it requested."""
    size = stream.size
    names = {request.key.algorithm for request in requests}
    entrants = {name: configurator.space.optimizer(configurator.configurations[name]) for name in names}
    tasks: list[Task] = []
    for request in requests:
        problem = stream[request.draw if size is None else request.draw % size]
        key = replace(request.key, instance=problem.name)
        if runs.has(key):
            configurator.tell([runs.study.run(key)])
            continue
        tasks.append(
            Task(
                key=key,
                problem=problem,
                optimizer=entrants[key.algorithm],
                limits=limits.up_to(request.until, "evaluations"),
            )
        )
    made: list[Run] = []
    for run in runs.make(tasks):
        made.append(run)
        configurator.tell([run])
        observer.run_finished(configurator)
    if len(made) == len(requests) and not any(run.trajectory.values.size for run in made):
        raise EveryRunFailed(
            f"all {len(made)} runs ended before they found anything; the first: {made[0].key}: "
            f"{made[0].outcome.reason}: {made[0].outcome.message}. Fix the cause and start a new study"
        )


def _validate(
    configurator: Configurator,
    stream: problems.Instances,
    path: Path,
    validate: int,
    observer: ConfigureObserver,
    **runs_on: Any,
) -> RaceResult | None:
    """Race the elites and the default on fresh instances; None if there is nothing to race or no race is requested."""
    names = list(configurator.elites)
    if DEFAULT in configurator.configurations and DEFAULT not in names:
        names.append(DEFAULT)
    if len(names) < 2 or not validate:
        return None
    observer.validating(configurator, path)
    entrants = {name: configurator.space.optimizer(configurator.configurations[name]) for name in names}
    return race_on_fresh(entrants, stream, path, validate, rules_of(configurator), **runs_on)


def rules_of(configurator: Configurator) -> dict[str, Any]:
    """The arguments of `Race` that follow from a configurator's settings."""
    chosen = configurator.settings
    return {"times": configurator.times, "alpha": chosen.alpha, "epsilon": chosen.epsilon, "seed": chosen.seed}


def race_beside(path: Path) -> Path:
    """The path of the race on fresh instances that concludes the search at `path`."""
    return path.with_name(f"{path.stem}-race{path.suffix}")


def race_on_fresh(
    entrants: Mapping[str, object],
    stream: problems.Instances,
    path: Path,
    count: int,
    rules: Mapping[str, Any],
    *,
    workers: int = 1,
    executor: Executor | None = None,
    timeout: float | None = None,
) -> RaceResult:
    """Race what a search has left on at most `count` instances that it has not seen.

    Args:
        entrants: The optimizers by name.
        stream: The instances of the search.
        path: The path of the race's study.
        count: Number of instances.
        rules: Arguments of `Race` as in the search; the seed is changed.
        workers: As for `race`.
        executor: As for `race`.
        timeout: As for `race`.
    """
    stop = StopRules(instances=count)
    last = Race(dict(entrants), **{**rules, "seed": rules["seed"] + 1})
    return race(last, fresh(stream, count), path, workers=workers, executor=executor, timeout=timeout, stop=stop)


def fresh(stream: problems.Instances, count: int) -> problems.Instances:
    """New draws of a seeded distribution; otherwise the same problems, repeated if necessary."""
    if dataclasses.is_dataclass(stream) and isinstance(seed := getattr(stream, "seed", None), int):
        return replace(stream, seed=seed + 1)  # pyright: ignore[reportUnknownVariableType]
    if stream.size is None or stream.size >= count:
        return stream
    return problems.as_instances([stream[draw % stream.size] for draw in range(count)])

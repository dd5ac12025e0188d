"""Assessment of a new module: tune without it, tune with it, and race both results (Vermetten 2025, section 4.2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polarbear import problems, store
from polarbear.configure import Band, Configuration, Configurator
from polarbear.configure.configurator import DEFAULT
from polarbear.configure.recommendation import win_probability
from polarbear.racing import RaceResult
from polarbear.records import FloatArray
from polarbear.study.configuration_result import mean_and_interval
from polarbear.study.configuring import (
    VALIDATE,
    ConfigureObserver,
    configure,
    effects_of,
    race_beside,
    race_on_fresh,
    rules_of,
)
from polarbear.validation import whole_number


class NothingToCompare(ValueError):  # noqa: N818 - states what happened
    """Neither the search with a module nor the one without it found anything but the default."""


@dataclass(frozen=True, slots=True, eq=False)
class ModuleAssessment:
    """The assessment of a new module.

    Attributes:
        module: The module, or numeric parameter.
        configurations: The elites of both searches by their names in the race, ``"without-…"`` and ``"with-…"``; and
            the default.
        race: The race of these on fresh instances.
        path: The path of the race's study.
        better: (T,) the probability, at each timepoint, that the best rating with the module is above the best without
            it.
        wins: Mean and 95 % interval of the probability that a run of the best with it beats one of the best without it,
            averaged over the logarithm of time.
        effects: By option, the effects on log ratings in the search with the module.
    """

    module: str
    configurations: Mapping[str, Configuration]
    race: RaceResult
    path: Path
    better: FloatArray
    wins: tuple[float, float, float]
    effects: Mapping[str, Band]

    @property
    def options(self) -> dict[str, Any]:
        """The module's option in each elite of the search with it; None where the module is not active."""
        return {name: each.get(self.module) for name, each in self.configurations.items() if name.startswith("with-")}

    def as_dict(self) -> dict[str, Any]:
        """The assessment as plain values."""
        return {
            "module": self.module,
            "times": self.race.posterior.times.tolist(),
            "better": self.better.tolist(),
            "wins": list(self.wins),
            "options": self.options,
            "effects": {
                name: {key: each.tolist() for key, each in band._asdict().items()}
                for name, band in self.effects.items()
            },
            "pareto_set": list(self.race.pareto_set),
            "configurations": dict(self.configurations),
            "race": str(self.path),
        }


def assess_module(
    configurator: Configurator,
    module: str,
    instances: object,
    path: str | Path,
    *,
    validate: int = VALIDATE,
    workers: int = 1,
    executor: Executor | None = None,
    timeout: float | None = None,
    observer: ConfigureObserver | None = None,
) -> ModuleAssessment:
    """Assess a module that a space contains; create its studies, or resume them.

    The space is searched without the module, which stays at the optimizer's default, and then with it, both with the
    whole budget of `configurator` and its other settings. The configurations that it includes take part in both
    searches, in the first one without the module and what depends on it. The elites of both and the default are raced
    on instances that neither has seen. Searches differ by chance: repeat this with other seeds before you believe a
    small difference.

    Args:
        configurator: A new one, for the space with the module.
        module: The module, or numeric parameter.
        instances: As for `configure`.
        path: The study of the search with the module; the one without it is beside it with ``-without`` in its name,
            the race with ``-race``.
        validate: Number of fresh instances on which the elites are raced.
        workers: As for `configure`.
        executor: As for `configure`.
        timeout: As for `configure`.
        observer: As for `configure`; it is notified of both searches.

    Raises:
        ValueError: If the space has no such module, or nothing else, or an included configuration is not valid without
            the module.
        NothingToCompare: If neither search finds anything but the default.
        Exception: As for `configure`.
    """
    validate = whole_number(validate, "validate", 2)
    smaller = configurator.space.without(module)
    included = [{name: each[name] for name in each if name in smaller.names} for each in configurator.include]
    before = Configurator(smaller, times=configurator.times, include=included, **asdict(configurator.settings))
    location = store.place(path)
    settings: dict[str, Any] = {"workers": workers, "executor": executor, "timeout": timeout, "observer": observer}
    beside = location.with_name(f"{location.stem}-without{location.suffix}")
    searches = {
        "without": configure(before, instances, beside, validate=0, **settings).configurator,
        "with": configure(configurator, instances, location, validate=0, **settings).configurator,
    }
    return _compared(searches, module, problems.as_instances(instances), location, validate, settings)


def _compared(
    searches: Mapping[str, Configurator],
    module: str,
    stream: problems.Instances,
    location: Path,
    validate: int,
    settings: Mapping[str, Any],
) -> ModuleAssessment:
    """Race the elites of both searches, and compare the best of each at each timepoint."""
    named = {
        f"{side}-{name}": (search, search.configurations[name])
        for side, search in searches.items()
        for name in search.elites
        if name != DEFAULT
    }
    extended = searches["with"]
    for search in searches.values():
        if DEFAULT in search.configurations:
            named[DEFAULT] = (search, search.configurations[DEFAULT])
    if set(named) <= {DEFAULT}:
        raise NothingToCompare(
            f"neither search found anything but the default in {extended.spent:,.0f} {extended.settings.unit}, so "
            "there is nothing to compare; start a new study with a larger budget"
        )
    sides = {side: [name for name in named if name.startswith(f"{side}-")] or [DEFAULT] for side in searches}
    entrants = {name: search.space.optimizer(configuration) for name, (search, configuration) in named.items()}
    runs = {key: settings[key] for key in ("workers", "executor", "timeout")}
    raced = race_on_fresh(entrants, stream, race_beside(location), validate, rules_of(extended), **runs)
    posterior = raced.posterior
    with_it, without_it = (
        np.max([posterior.draws[:, :, posterior.index(name)] for name in sides[side]], axis=0)
        for side in ("with", "without")
    )
    return ModuleAssessment(
        module=module,
        configurations={name: configuration for name, (_, configuration) in named.items()},
        race=raced,
        path=race_beside(location),
        better=(with_it > without_it).mean(axis=0) + (with_it == without_it).mean(axis=0) / 2,
        wins=mean_and_interval(win_probability(with_it, without_it, posterior.times)),
        effects=effects_of(location).of(module),
    )

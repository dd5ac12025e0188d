"""SMAC, an external configurator, as a contest that brings its own entrants (Lindauer et al. 2022)."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from polarbear.configure.criteria import Criterion
from polarbear.configure.spaces import ATTEMPTS, Configuration, Space, plain
from polarbear.extras import optional
from polarbear.racing import Request
from polarbear.records import Run, RunKey

_WHAT = "strategy 'smac'"
_INSTANCES = 50
"""Maximum number of instances on which an incumbent of SMAC runs."""
_LOST = 1e10
"""Loss of a run without a value before any other run has one; SMAC's forest does not accept infinite losses."""


class SmacContest:
    """SMAC's facade for algorithm configuration: random forest, expected improvement, and a race against the incumbent.

    It minimizes the mean of the criterion over instances, whose only feature is their number, and asks for one run at a
    time. A run with an infinite loss, or an invalid configuration, is given the highest finite loss so far, or 1e10.
    SMAC is not reproducible from its seed.

    Args:
        space: Space of configurations; SMAC sees the middle of the range for what the default leaves to the optimizer.
        starts: Initial configurations by name.
        enter: Function that names a configuration.
        criterion: Number to minimize, not a ratio.
        until: Number of evaluations of each run.
        seed_of: Function that gives the seed of all runs on an instance.
        runs: Number of runs that SMAC plans for.
        seed: Seed of SMAC.

    Raises:
        polarbear.extras.ExtraMissing: If smac is not installed.
    """

    def __init__(
        self,
        space: Space,
        starts: Mapping[str, Configuration],
        *,
        enter: Callable[[Configuration], str],
        criterion: Criterion,
        until: float,
        seed_of: Callable[[int], int],
        runs: int,
        seed: int,
    ) -> None:
        import ConfigSpace

        smac = optional("smac", "smac", _WHAT)
        self._space, self._enter, self._criterion, self._until, self._seed_of = space, enter, criterion, until, seed_of
        full = {
            name: ConfigSpace.Configuration(space.space, values=space.in_full(each)) for name, each in starts.items()
        }
        self._names = {_key(plain(each)): name for name, each in full.items()}
        instances = {str(draw): [float(draw)] for draw in range(_INSTANCES)}
        facade = smac.AlgorithmConfigurationFacade
        with tempfile.TemporaryDirectory() as folder:  # SMAC writes its description there, and nothing else
            scenario = smac.Scenario(
                space.space,
                output_directory=folder,
                deterministic=True,  # each instance has its own seed
                instances=list(instances),
                instance_features=instances,
                n_trials=runs,
                seed=seed,
            )
            self._smac = facade(
                scenario,
                _never_called,
                initial_design=facade.get_initial_design(scenario, additional_configs=list(full.values())),
                intensifier=facade.get_intensifier(scenario, max_config_calls=_INSTANCES),
                logging_level=False,
                overwrite=True,
            )
        self._trial: Any = None
        self._highest = -math.inf

    def ask(self) -> Sequence[Request]:
        """As in `Contest`: a single run; none once SMAC has no configurations left.

        Raises:
            ValueError: If many configurations in a row are invalid.
        """
        exhausted = optional("smac.main.exceptions", "smac", _WHAT).ConfigurationSpaceExhaustedException
        fault = ""
        for _ in range(ATTEMPTS):
            try:
                self._trial = self._trial or self._smac.ask()
            except (StopIteration, exhausted):
                return []
            configuration = plain(self._trial.config)
            name = self._names.get(_key(configuration))
            if name or not (fault := self._space.fault(configuration)):
                name = name or self._enter(configuration)
                draw = int(self._trial.instance)
                return [Request(RunKey(f"instance-{draw}", name, self._seed_of(draw)), draw, self._until)]
            self._say(math.inf)
        raise ValueError(f"none of {ATTEMPTS} configurations proposed by SMAC is valid; the last one failed: {fault}")

    def tell(self, runs: Iterable[Run]) -> object:
        """As in `Contest`."""
        for run in runs:
            self._say(self._criterion.terms(run, self._until)[0])

    def survivors(self, most: int) -> tuple[str, ...]:
        """As in `Contest`: the incumbent, or the initial configurations while there is none."""
        incumbents = [plain(each) for each in self._smac.intensifier.get_incumbents()]
        named = [self._names.get(_key(each)) or self._enter(each) for each in incumbents]
        return tuple(named or self._names.values())[:most]

    def _say(self, loss: float) -> None:
        """Tell SMAC the loss of the run it is waiting for."""
        if math.isfinite(loss):
            self._highest = max(self._highest, loss)
        elif math.isfinite(self._highest):
            loss = self._highest
        else:
            loss = _LOST
        value = optional("smac.runhistory", "smac", _WHAT).TrialValue(cost=loss)
        self._smac.tell(self._trial, value, save=False)
        self._trial = None


def _key(configuration: Configuration) -> str:
    return json.dumps(configuration, sort_keys=True, default=str)


def _never_called(config: Any, instance: str, seed: int) -> float:
    """The function that SMAC would call if it executed runs itself."""
    raise NotImplementedError("SMAC is used by ask and tell; it runs nothing itself")

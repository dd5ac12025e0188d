"""Conditional configuration spaces of any optimizer, based on ConfigSpace (Lindauer et al. 2019)."""

from __future__ import annotations

import functools
import graphlib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from polarbear.configure.parameters import categorical, condition, declared_options, number
from polarbear.descriptions import (
    FieldError,
    did_you_mean,
    imported,
    own_class,
    parameters,
    plain_value,
    reference,
    shortened,
)
from polarbear.optimizers.adapters.modcma import ModularCMAES
from polarbear.optimizers.adapters.modde import VARIANTS, ModularDE
from polarbear.optimizers.descriptions import families, family_class, family_parameters
from polarbear.protocols import Optimizer
from polarbear.records import FloatArray
from polarbear.validation import chosen_word, whole_number

Configuration = dict[str, Any]
"""The active parameters of a configuration and their values."""

ATTEMPTS = 1000
"""Number of configurations drawn in search of a valid one before a space is considered contradictory."""


@dataclass(frozen=True, eq=False)
class Space:
    """The configurations of an optimizer that may be tried; made by `of`, `read` and related functions.

    Attributes:
        make: Class of the optimizer.
        fixed: Arguments that all configurations share.
        space: Parameters and their conditions, a ``ConfigSpace.ConfigurationSpace``.
    """

    make: type[Any]
    fixed: Mapping[str, Any]
    space: Any

    def describe(self) -> dict[str, Any]:
        """The space as plain values, which are equal for equal spaces.

        Options, ranges, defaults and conditions are represented as in ConfigSpace.
        """
        fixed = {name: plain_value(value) for name, value in self.fixed.items()}
        return {"optimizer": reference(self.make), "fixed": fixed, "space": self.space.to_serialized_dict()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters, in alphabetical order."""
        return tuple(sorted(self.space))

    def options(self, name: str) -> tuple[Any, ...]:
        """The options of a module; empty for a number."""
        return tuple(getattr(self.space[name], "choices", ()))

    @property
    def combinations(self) -> int:
        """Number of combinations of options, ignoring conditions and numbers."""
        return math.prod(len(options) for name in self.names if (options := self.options(name)))

    @property
    def default(self) -> Configuration:
        """The optimizer's own values of the space's parameters.

        A parameter is missing if the optimizer's own value is outside the space, such as a None that stands for a
        choice by dimension; no other configuration may lack active parameters.

        Raises:
            ValueError: If the space was read from a study, see `from_stored`.
        """
        return dict(self._default)

    @functools.cached_property
    def _default(self) -> Configuration:
        if self.make is object:
            raise ValueError(
                "a space read from a study does not know its optimizer's defaults; take the default from the study"
            )
        own = parameters(self.make) | dict(self.fixed)
        return {name: value for name, value in self._centre().items() if self._holds(name, own[name])}

    @property
    def left_to_optimizer(self) -> tuple[str, ...]:
        """The parameters missing from `default` because the optimizer's own value is outside the space."""
        return tuple(name for name in self._centre() if name not in self._default)

    def _centre(self) -> Configuration:
        """The default, completed by first options and middles of ranges."""
        return plain(self.space.get_default_configuration())

    def _holds(self, name: str, value: Any) -> bool:
        if options := self.options(name):
            return value in options
        return isinstance(value, (int, float)) and bool(self.space[name].lower <= value <= self.space[name].upper)

    def in_full(self, configuration: Mapping[str, Any]) -> Configuration:
        """The configuration; for the default, completed by middles of ranges for what it leaves to the optimizer."""
        return self._centre() if dict(configuration) == self._default else dict(configuration)

    def without(self, name: str) -> Space:
        """The space without a parameter, which keeps the optimizer's own default, and without those that depend on it.

        Raises:
            ValueError: If the space has no such parameter, or nothing else.
        """
        import ConfigSpace

        if name not in self.space:
            raise ValueError(f"the space has no parameter {name!r};{did_you_mean(name, self.space)}")
        left = {name} | {child.name for child in self.space.children_of[name]}
        while more := {child.name for each in left for child in self.space.children_of[each]} - left:
            left |= more
        if left == set(self.space):
            raise ValueError(
                f"the space has only {name!r} and what depends on it; there is nothing to search without it"
            )
        described = self.space.to_serialized_dict()
        described["hyperparameters"] = [each for each in described["hyperparameters"] if each["name"] not in left]
        described["conditions"] = [each for each in described["conditions"] if _child_of(each) not in left]
        smaller: Any = ConfigSpace.ConfigurationSpace.from_serialized_dict(described)
        return Space(self.make, self.fixed, smaller)

    def fault(self, configuration: Mapping[str, Any]) -> str:
        """What is wrong with a configuration, as far as is known without a run; empty if it is valid."""
        import ConfigSpace

        if unknown := set(configuration) - set(self.space):
            return f"the space has no parameter {min(unknown)!r};{did_you_mean(min(unknown), self.space)}"
        try:
            ConfigSpace.Configuration(self.space, values=self.in_full(configuration))
            self.make(**(dict(self.fixed) | dict(configuration)))
        except (ValueError, TypeError) as error:
            return str(error)
        return ""

    def optimizer(self, configuration: Mapping[str, Any]) -> Optimizer:
        """Make the optimizer of a configuration.

        Raises:
            ValueError: If the configuration is invalid, with the message of `fault`.
        """
        if fault := self.fault(configuration):
            raise ValueError(
                f"{shortened(dict(configuration))} is not a valid configuration of {self.make.__name__}: {fault}"
            )
        return self.make(**(dict(self.fixed) | dict(configuration)))

    def sample(self, rng: np.random.Generator, size: int = 1) -> list[Configuration]:
        """Draw valid configurations, each parameter uniformly on its scale.

        Raises:
            ValueError: If `ATTEMPTS` configurations in a row are invalid; the message says why the last one is.
        """
        self.space.seed(int(rng.integers(2**31)))
        return [self._draw() for _ in range(size)]

    def neighbours(self, configuration: Mapping[str, Any], rng: np.random.Generator) -> list[Configuration]:
        """Valid configurations that differ in one parameter, and in those that become active or inactive with it.

        All other options are tried, and some numbers near the present one, drawn with `rng`. What the default leaves to
        the optimizer is varied around the middle of its range.
        """
        import ConfigSpace
        from ConfigSpace.util import get_one_exchange_neighbourhood

        self.optimizer(configuration)
        centre = ConfigSpace.Configuration(self.space, values=self.in_full(configuration))
        neighbours = get_one_exchange_neighbourhood(centre, seed=int(rng.integers(2**31)))
        return [near for near in map(plain, neighbours) if not self.fault(near)]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `encode`: ``"name=option"`` or, for numbers, ``"name"``."""
        return tuple(
            column
            for name in self.names
            for column in ([f"{name}={option}" for option in self.options(name)] or [name])
        )

    def encode(self, configurations: Sequence[Mapping[str, Any]]) -> FloatArray:
        """Encode configurations for models.

        Returns:
            (n, columns) with the `columns` named there: 1 for the chosen option, numbers scaled to [0, 1], and 0 for
            parameters that a configuration lacks because they are inactive or left to the optimizer.
        """
        rows = [[entry for name in self.names for entry in self._encoded(name, each)] for each in configurations]
        return np.array(rows, dtype=float).reshape(len(rows), len(self.columns))

    def _encoded(self, name: str, configuration: Mapping[str, Any]) -> list[float]:
        if options := self.options(name):
            return [float(name in configuration and configuration[name] == option) for option in options]
        return [float(self.space[name].to_vector(configuration[name])) if name in configuration else 0.0]

    def _draw(self) -> Configuration:
        fault = ""
        for _ in range(ATTEMPTS):
            drawn = plain(self.space.sample_configuration())
            if not (fault := self.fault(drawn)):
                return drawn
        raise ValueError(
            f"the space of {self.make.__name__} is contradictory: none of {ATTEMPTS} sampled configurations is valid; "
            f"the last one failed: {fault}"
        )


def of(
    optimizer: type[Any] | str,
    /,
    modules: Sequence[str] | Mapping[str, Sequence[Any]] = (),
    *,
    when: Mapping[str, Mapping[str, Any]] | None = None,
    fixed: Mapping[str, Any] | None = None,
    **ranges: Any,
) -> Space:
    """Make the space of an optimizer's configurations.

    Args:
        optimizer: Class of optimizers, or a name as in study files, such as ``"modular-cmaes"``.
        modules: Names of arguments all of whose declared options are included; or the options of each argument, by
            name.
        when: For arguments that are only meaningful with certain options of others: these options, or lists of options,
            such as ``{"F": {"adaptation_method_F": "NONE"}}``.
        fixed: Arguments that all configurations share.
        **ranges: Smallest and largest value of numbers, both inclusive, such as ``c1=(0, 1)``; integers if the argument
            is declared as one. ``{"from": 1e-3, "to": 1, "log": True}`` is on a logarithmic scale.

    Raises:
        ValueError: If the space is empty, the optimizer has no such argument or does not accept an option or range, or
            conditions contradict each other.
    """
    return _space(optimizer, modules, when or {}, fixed or {}, ranges)


def _space(
    optimizer: type[Any] | str,
    modules: Any,
    when: Mapping[str, Any],
    fixed: Mapping[str, Any],
    ranges: Mapping[str, Any],
) -> Space:
    """The space of an optimizer; arguments and errors as in `of`."""
    import ConfigSpace

    make, preset = _class_of(optimizer)
    if isinstance(modules, str):
        raise FieldError(("modules",), f"modules is {modules!r}; it must be a list of names, such as [{modules!r}]")
    given: Mapping[str, Any] = (
        cast("Mapping[str, Any]", modules)
        if isinstance(modules, Mapping)
        else {name: declared_options(make, name) for name in modules}
    )
    if not given and not ranges:
        raise ValueError(f"the space of {make.__name__} is empty; name modules, or give ranges such as c1=(0, 1)")
    if twice := given.keys() & ranges.keys() | (given.keys() | ranges.keys()) & fixed.keys():
        raise FieldError((min(twice),), f"{min(twice)} is given twice; it must be either a module, a range or fixed")
    defaults = parameters(make, preset)
    for name in (*given, *ranges, *fixed):
        if name not in defaults:
            raise FieldError((name,), f"{make.__name__} has no argument {name!r};{did_you_mean(name, defaults)}")
    _check_order(when)
    space: Any = ConfigSpace.ConfigurationSpace()
    try:
        space.add(*(categorical(make, name, options, defaults[name]) for name, options in given.items()))
        space.add(*(number(make, name, limits, defaults[name]) for name, limits in ranges.items()))
        space.add(*(condition(space, name, needed) for name, needed in when.items()))
    except FieldError:
        raise
    except ValueError as error:
        raise ValueError(f"the space of {make.__name__} is contradictory: {error}") from error
    return Space(make, dict(preset) | dict(fixed), space)


def _check_order(when: Mapping[str, Mapping[str, Any]]) -> None:
    """Reject circular conditions."""
    try:
        graphlib.TopologicalSorter(when).prepare()
    except graphlib.CycleError as error:
        circle = " needs ".join(error.args[1])
        raise FieldError(("when",), f"conditions are circular: {circle}; leave one of them out") from error


def from_description(description: Mapping[str, Any]) -> Space:
    """The space described by a table with ``optimizer``, ``modules``, ``when``, ``fixed`` as in `of`, and ``ranges``.

    Raises:
        ValueError: If a key is unknown, the optimizer is missing, or `of` rejects the description.
    """
    valid = ("optimizer", "modules", "when", "fixed", "ranges")
    if unknown := set(description) - set(valid):
        raise FieldError((min(unknown),), f"a space has no key {min(unknown)!r};{did_you_mean(min(unknown), valid)}")
    if "optimizer" not in description:
        raise FieldError((), "the space names no optimizer; add one, such as optimizer = 'modular-cmaes'")
    tables = {key: description.get(key, {}) for key in ("when", "fixed", "ranges")}
    for key, table in tables.items():
        if not isinstance(table, Mapping):
            raise FieldError((key,), f"{key} is {shortened(table)}; it must be a table, [{key}]")
    return _space(description["optimizer"], description.get("modules", ()), **tables)


def from_stored(description: Mapping[str, Any]) -> Space:
    """The space described by `Space.describe`; the optimizer's class is not imported, so that it makes no optimizers.

    It has no default.
    """
    import ConfigSpace

    space: Any = ConfigSpace.ConfigurationSpace.from_serialized_dict(dict(description["space"]))
    return Space(object, dict(description["fixed"]), space)


def read(path: str | Path) -> Space:
    """Read a space from a TOML file, in the form of `from_description`.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not valid TOML or does not describe a space; the message names the file.
    """
    try:
        return from_description(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


_THESIS_SWITCHES = ("active", "elitist", "orthogonal", "sequential_selection", "threshold_convergence")
"""The switches of modular CMA-ES in table 4.2 of Vermetten (2025)."""

_STEP_SIZES = ("CSA", "TPA", "MSR", "PSR", "XNES", "MXNES", "LPXNES")
_BOUNDS = ("NONE", "UNIFORM_RESAMPLE", "MIRROR", "COTN", "SATURATE", "TOROIDAL")


def modular_cmaes(extent: Literal["baseline", "step sizes", "bounds", "all"] = "all", **ranges: Any) -> Space:
    """A space of modular CMA-ES, Vermetten (2025), section 4.2.2 and table 4.2.

    PSR, which all extents except "baseline" and "bounds" contain, is faulty in `modcma`, see
    `polarbear.optimizers.ModularCMAES`; configurations with it are valid and cause a warning.

    Args:
        extent: "baseline" has 5,184 combinations; with further step-size adaptations there are 18,144 ("step sizes"),
            with bound corrections 31,104 ("bounds"), and with both 108,864 ("all").
        **ranges: Ranges of numbers, as in `of`; the thesis does not print its ranges.

    Raises:
        ValueError: If there is no such extent, or `of` rejects a range.
    """
    chosen = chosen_word(extent, "extent", ("baseline", "step sizes", "bounds", "all"))
    modules: dict[str, Sequence[Any]] = dict.fromkeys(_THESIS_SWITCHES, (False, True))
    modules |= {name: declared_options(ModularCMAES, name) for name in ("mirrored", "sampler", "weights")}
    modules["restart_strategy"] = ("NONE", "IPOP", "BIPOP")
    modules["step_size_adaptation"] = _STEP_SIZES if chosen in ("step sizes", "all") else _STEP_SIZES[:2]
    if chosen in ("bounds", "all"):
        modules["bound_correction"] = _BOUNDS
    return of(ModularCMAES, modules, **ranges)


_DE_SWITCHES = ("oppositional_initialization", "mutation_use_weighted_F", "use_archive", "eigenvalue_crossover")
_DE_WORDS = ("mutation_base", "mutation_reference", "crossover", "bound_correction")
_ADAPTED = {"F": {"adaptation_method_F": "NONE"}, "CR": {"adaptation_method_CR": "NONE"}}
_MOST_POINTS = 100
"""Population size of jDE in table 4.3, which every range includes."""


def modular_de(dimension: int, *, budget: int | None = None, **ranges: Any) -> Space:
    """A space of modular differential evolution, Vermetten (2025), section 4.1.1.

    Table 4.1 with the options is missing from the available text. This space has the 14 modules that the section
    mentions, with the options of `modde` except Latin hypercubes, which gives the 30 single-module variants counted in
    section 4.2.1. The ranges of numbers are not printed either; those chosen here are [0.01, 2] for F and [0, 1] for CR
    where these do not adapt, and population sizes from 4 to 20 per variable, or to 100 if that is more, so that the
    space contains the variants of table 4.3.

    Args:
        dimension: Number of variables, which determines the population sizes.
        budget: Number of evaluations of runs, on which population size reduction, weighted F and the caps of jSO
            depend; default 10,000 per variable.
        **ranges: Other or further ranges, as in `of`.

    Raises:
        ValueError: If `of` rejects a range.
    """
    most = max(20 * whole_number(dimension, "dimension", 1), _MOST_POINTS)
    declared = (*_DE_SWITCHES, *_DE_WORDS, "adaptation_method_F", "adaptation_method_CR", "use_jso_caps", "lpsr")
    modules: dict[str, Sequence[Any]] = {name: declared_options(ModularDE, name) for name in declared}
    modules["base_sampler"] = ("UNIFORM", "GAUSSIAN", "SOBOL", "HALTON")
    modules["mutation_n_comps"] = (1, 2)
    numbers = {"F": (0.01, 2), "CR": (0, 1), "population_size": (4, most)} | ranges
    fixed = {} if budget is None else {"budget": whole_number(budget, "budget", 1)}
    return of(ModularDE, modules, when=_ADAPTED, fixed=fixed, **numbers)


def modular_de_variants(dimension: int) -> dict[str, Configuration]:
    """The variants of table 4.3 by name, as configurations of `modular_de`, e.g. to include them in a search."""
    space = modular_de(dimension)
    return {name: _variant(space, fields, dimension) for name, fields in VARIANTS.items()}


def _variant(space: Space, fields: Mapping[str, Any], dimension: int) -> Configuration:
    """A variant with all parameters of the space that are active with it."""
    values = parameters(ModularDE) | dict(fields)
    if values["population_size"] is None:
        values["population_size"] = max(4, dimension * values["population_per_variable"])
    adapts = [name for name, needed in _ADAPTED.items() if any(values[each] != needed[each] for each in needed)]
    return {name: values[name] for name in space.names if name not in adapts}


def _class_of(optimizer: type[Any] | str) -> tuple[type[Any], Mapping[str, Any]]:
    """A class of optimizers, and the arguments preset by its name in study files."""
    if not isinstance(optimizer, str):
        return own_class(optimizer, "optimizer", shortened(optimizer)), {}
    if ":" in optimizer:
        return own_class(imported(optimizer, "optimizer"), "optimizer", f"optimizer {optimizer!r}"), {}
    if optimizer not in families():
        raise FieldError(("optimizer",), f"optimizer {optimizer!r} is unknown;{did_you_mean(optimizer, families())}")
    make = family_class(optimizer)
    own, described = parameters(make), family_parameters(optimizer)
    return make, {name: value for name, value in described.items() if name in own and own[name] != value}


def _child_of(condition: Mapping[str, Any]) -> str:
    """The name of the parameter that a serialized condition applies to; each part of a conjunction has it."""
    return condition["child"] if "child" in condition else _child_of(condition["conditions"][0])


def plain(configuration: Any) -> Configuration:
    """A ConfigSpace configuration with values of Python's own types."""
    return {
        name: value.item() if isinstance(value, np.generic) else value for name, value in sorted(configuration.items())
    }

"""Proposals of new configurations: from the whole space, or near the best ones so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from polarbear.configure.effects import Effects
from polarbear.configure.spaces import ATTEMPTS, Configuration, Space
from polarbear.records import FloatArray
from polarbear.select import preference_weights


def near(
    space: Space, elites: Sequence[Mapping[str, Any]], rng: np.random.Generator, size: int, *, spread: float
) -> list[Configuration]:
    """Draw valid configurations near elites, the better ones more often (López-Ibáñez et al. 2016, section 3.1).

    A parent is drawn with a probability that decreases linearly with its rank. An option is the parent's with
    probability 1 - `spread`, else a random one; a number is normal around the parent's value, with a standard deviation
    of `spread` times half its range, truncated at the ends.

    Args:
        space: Space of configurations.
        elites: At least one configuration, the best first.
        rng: Random generator for all draws.
        size: Number of configurations.
        spread: From 0, for copies of the parent, to 1.

    Raises:
        ValueError: If no valid configuration is found near an elite.
    """
    parents = rng.choice(len(elites), size=size, p=_falling(len(elites)))
    return [_child(space, [elites[parent]], rng, spread) for parent in map(int, parents)]


def recombined(
    space: Space, elites: Sequence[Mapping[str, Any]], rng: np.random.Generator, size: int, *, spread: float
) -> list[Configuration]:
    """Draw valid configurations that take each parameter from one of two elites, and vary it as `near` does.

    Args and errors as in `near`; a single elite is both parents.
    """
    count = min(2, len(elites))
    couples = [rng.choice(len(elites), size=count, replace=False, p=_falling(len(elites))) for _ in range(size)]
    return [_child(space, [elites[int(parent)] for parent in couple], rng, spread) for couple in couples]


def _falling(count: int) -> FloatArray:
    """(count,) linearly decreasing probabilities."""
    falling = np.arange(count, 0, -1)
    return falling / falling.sum()


def most_promising(
    effects: Effects, pool: Sequence[Configuration], known: Iterable[Mapping[str, Any]]
) -> list[Configuration]:
    """For each draw of the effects, the configuration of the pool with the highest rating, each once (Thompson 1933).

    Ratings are averaged over the logarithm of time.
    """
    tried = list(known)
    untried = [each for index, each in enumerate(pool) if each not in tried and each not in pool[:index]]
    ratings = np.einsum("dtn,t->dn", effects.predict(untried), time_weights(effects.times)) if untried else np.empty(0)
    chosen = list[int]()
    for drawn in ratings:
        best = next((index for index in map(int, np.argsort(-drawn)) if index not in chosen), None)
        chosen += [] if best is None else [best]
    return [untried[index] for index in chosen]


def time_weights(times: FloatArray) -> FloatArray:
    """(T,) weights that are uniform over the logarithm of time."""
    return preference_weights("log-uniform", times) if times.size > 1 else np.ones(1)


def _child(
    space: Space, parents: Sequence[Mapping[str, Any]], rng: np.random.Generator, spread: float
) -> Configuration:
    from ConfigSpace import util

    deactivate: Any = cast("Any", util).deactivate_inactive_hyperparameters
    fault = ""
    for _ in range(ATTEMPTS):
        given = {name: parents[int(rng.integers(len(parents))) if len(parents) > 1 else 0] for name in space.names}
        values = {name: _varied(space.space[name], given[name].get(name), rng, spread) for name in space.names}
        child = {name: values[name] for name in deactivate(values, space.space)}
        if not (fault := space.fault(child)):
            return child
    raise ValueError(
        f"none of {ATTEMPTS} configurations near {dict(parents[0])} is valid; the last one failed: {fault}"
    )


def _varied(parameter: Any, value: Any, rng: np.random.Generator, spread: float) -> Any:
    """A parameter's value near its parent's; any legal value if the parent has none."""
    options = getattr(parameter, "choices", None)
    if options is not None:
        return value if value is not None and rng.random() >= spread else options[int(rng.integers(len(options)))]
    at = rng.random()
    if value is not None:
        at = float(np.clip(rng.normal(float(parameter.to_vector(value)), spread / 2), 0, 1))
    return np.asarray(parameter.to_value(at)).item()

"""Which option matters when: a Plackett–Luce model whose log ratings are sums of the effects of options.

The log rating of configuration c at time t is x_c β(t): an effect for each option, a line and a parabola for each
number, and products of options where pairs are asked for. All runs take part, whoever won, so that nothing rests on
counts of elites (Vermetten 2025, section 4.2, counts those).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polarbear.configure.spaces import Space
from polarbear.inference.model.regression import Band, regress
from polarbear.rankings import Rankings
from polarbear.records import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """The posterior of the effects of a space's options on log ratings; made by `fit_effects`.

    Attributes:
        space: The space.
        pairs: The pairs of modules whose options may help or hinder each other.
        times: (T,) the timepoints.
        draws: (D, T, k) the coefficients β, as `columns` names them; joint over time.
        columns: What each coefficient belongs to: ``(module, option)``, ``(number, "line")``, ``(number, "parabola")``
            or, for a pair, the names and options of both, ``("a & b", "x & y")``.
        scales: For each module, number and pair the standard deviation of the prior of its coefficients, as estimated,
            at the timepoint at which they are largest.
    """

    space: Space
    pairs: tuple[tuple[str, str], ...]
    times: FloatArray
    draws: FloatArray
    columns: tuple[tuple[str, str], ...]
    scales: Mapping[str, float]

    def of(self, name: str) -> dict[str, Band]:
        """The effect of each option of a module beside the mean of its options; of a number, of being at an end.

        Returns:
            By option; of a number ``"lowest"``, ``"middle"`` and ``"highest"``, beside their mean.

        Raises:
            ValueError: If the space has no such parameter.
        """
        levels, values = self._levels(name)
        values = values - values.mean(axis=-1, keepdims=True)
        return {level: Band.of(values[:, :, index]) for index, level in enumerate(levels)}

    def importance(self) -> dict[str, Band]:
        """The share of each module, number and pair in the variance of log ratings, over uniform configurations.

        Conditions are left aside: each is taken as if always active. ``positive`` is the probability that it has the
        largest share.
        """
        parts = {name: self._levels(name)[1].var(axis=-1) for name in self.space.names}
        for first, second in self.pairs:
            parts[f"{first} & {second}"] = self._products(first, second).var(axis=-1)
        total = np.maximum(np.sum(list(parts.values()), axis=0), np.finfo(float).tiny)
        return Band.of_shares({name: part / total for name, part in parts.items()})

    def contributions(self, configuration: Mapping[str, Any]) -> dict[str, FloatArray]:
        """(D, T) draws of what each parameter adds to a configuration's log rating, beside its module's mean option.

        A number adds what it does beside the mean over its range; pairs are left aside.
        """
        (row,) = _design(self.space, self.pairs, [configuration])
        contributions = dict[str, FloatArray]()
        for name in self.space.names:
            own = [index for index, (owner, _) in enumerate(self.columns) if owner == name]
            added = self.draws[:, :, own] @ row[own]
            numeric = self.columns[own[0]][1] == "line"
            beside = 0.0 if numeric or name not in configuration else self.draws[:, :, own].mean(axis=-1)
            contributions[name] = added - beside
        return contributions

    def predict(self, configurations: Sequence[Mapping[str, Any]]) -> FloatArray:
        """(D, T, n) draws of the log ratings of configurations, tried or not, up to a constant."""
        return self.draws @ _design(self.space, self.pairs, configurations).T

    def _levels(self, name: str) -> tuple[list[str], FloatArray]:
        """The levels of a parameter, and (D, T, levels) their contributions to log ratings."""
        indices = [index for index, (owner, _) in enumerate(self.columns) if owner == name]
        if not indices or " & " in name:
            raise ValueError(f"the space has no parameter {name!r}; it has {', '.join(self.space.names)}")
        labels = [self.columns[index][1] for index in indices]
        if labels == ["line", "parabola"]:
            at = np.array([0.0, 0.5, 1.0])
            return ["lowest", "middle", "highest"], self.draws[:, :, indices] @ np.stack(_curve(at))
        return labels, self.draws[:, :, indices]

    def _products(self, first: str, second: str) -> FloatArray:
        indices = [index for index, (owner, _) in enumerate(self.columns) if owner == f"{first} & {second}"]
        return self.draws[:, :, indices]


def fit_effects(
    space: Space,
    configurations: Mapping[str, Mapping[str, Any]],
    rankings: Rankings,
    *,
    pairs: Sequence[tuple[str, str]] = (),
    draws: int = 1000,
    rng: np.random.Generator,
) -> Effects:
    """Infer the effects of options from rankings of configurations.

    A regression (see `polarbear.inference.model.regression`): the scales of effects are estimated, those of a module,
    number or pair together, so that what does not matter shrinks to 0, and rankings which repeat themselves over time
    do not count as new. Ties count as all their orders; of ties of more than three, twelve orders take part.

    Args:
        space: The space of the configurations.
        configurations: By name; all that the rankings rank.
        rankings: At least two instances.
        pairs: Pairs of modules whose options may help or hinder each other.
        draws: How many draws, D.
        rng: For all draws.

    Raises:
        ValueError: If a configuration is missing, there are fewer than two instances, or a pair is not of modules.
    """
    if missing := [name for name in rankings.algorithms if name not in configurations]:
        raise ValueError(f"rankings have the configuration {missing[0]!r}, which configurations lacks")
    if len(rankings.ranks) < 2:
        raise ValueError(f"there are rankings on {len(rankings.ranks)} instance; effects need at least 2")
    columns = _columns(space, pairs)
    owners = [owner for owner, _ in columns]
    groups = np.array([list(dict.fromkeys(owners)).index(owner) for owner in owners])
    x = _design(space, pairs, [configurations[name] for name in rankings.algorithms])
    regression = regress(_Design(x, groups), rankings, rng)
    drawn = regression.draw(draws, rng)
    largest = (regression.precision.min(axis=0) ** -0.5).tolist()
    scales = {owner: largest[owners.index(owner)] for owner in dict.fromkeys(owners)}
    return Effects(space, tuple(pairs), rankings.times, drawn, columns, scales)


def _curve(at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A line and a parabola over [0, 1], both with mean 0."""
    return at - 0.5, (2 * at - 1) ** 2 - 1 / 3


def _split(space: Space) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Which columns of `Space.encode` belong to each module, and which to each number."""
    modules, numbers = dict[str, list[int]](), dict[str, int]()
    for index, column in enumerate(space.columns):
        name, option, _ = column.partition("=")
        if option:
            modules.setdefault(name, []).append(index)
        else:
            numbers[name] = index
    return modules, numbers


def _columns(space: Space, pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    modules, numbers = _split(space)
    option = {index: space.columns[index].partition("=")[2] for indices in modules.values() for index in indices}
    columns = [(name, option[index]) for name, indices in modules.items() for index in indices]
    columns += [(name, shape) for name in numbers for shape in ("line", "parabola")]
    for first, second in pairs:
        if absent := [name for name in (first, second) if name not in modules]:
            raise ValueError(f"{absent[0]!r} is no module of the space; pairs are of {', '.join(modules)}")
        columns += [
            (f"{first} & {second}", f"{option[i]} & {option[j]}") for i in modules[first] for j in modules[second]
        ]
    return tuple(columns)


def _design(space: Space, pairs: Sequence[tuple[str, str]], configurations: Sequence[Mapping[str, Any]]) -> FloatArray:
    """(n, k) x, as `_columns` names its columns; numbers that are not active count as in the middle."""
    encoded = space.encode(configurations)
    modules, numbers = _split(space)
    parts = [encoded[:, indices] for indices in modules.values()]
    for name, index in numbers.items():
        active = np.array([name in each for each in configurations])
        parts.append(np.where(active, np.stack(_curve(encoded[:, index])), 0.0).T)
    for first, second in pairs:
        left, right = encoded[:, modules[first]], encoded[:, modules[second]]
        parts.append((left[:, :, np.newaxis] * right[:, np.newaxis, :]).reshape(len(encoded), -1))
    return np.concatenate(parts, axis=1)


class _Design:
    """Log ratings x β, the same on all instances."""

    def __init__(self, x: FloatArray, kinds: IntArray) -> None:
        self._x, self.kinds = x, kinds

    def ratings(self, coefficients: FloatArray) -> FloatArray:
        """See `polarbear.inference.model.regression.Design`, as for all methods."""
        return (coefficients @ self._x.T)[:, np.newaxis]

    def scores(self, by_rating: FloatArray) -> FloatArray:
        return by_rating @ self._x

    def curvature(self, by_rating: FloatArray, weights: FloatArray) -> FloatArray:
        return self._x.T @ np.tensordot(weights, by_rating, axes=1) @ self._x

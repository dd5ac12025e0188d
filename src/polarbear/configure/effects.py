"""Which option matters when: a Plackett–Luce model whose log ratings are sums of effects of options.

The log rating of configuration c at time t is x_c β(t): one effect for each option, a line and a parabola for each
number, and, on request, products of options for pairs of modules. All runs are used, not only those of winners, rather
than counts of elites as in Vermetten 2025, section 4.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polarbear.configure.spaces import Space
from polarbear.descriptions import did_you_mean
from polarbear.inference.model.regression import Band, regress
from polarbear.quantities import plural
from polarbear.rankings import Rankings
from polarbear.records import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Group:
    """Coefficients with a common prior: those of a module's options, of a number, or of products of two modules.

    Attributes:
        names: Name of the parameter, or of both modules of a pair.
        options: Option that each coefficient belongs to, for a pair one of each module; empty for a number, which has a
            line and a parabola.
        columns: Columns of the coefficients.
    """

    names: tuple[str, ...]
    options: tuple[Any, ...]
    columns: slice

    @property
    def label(self) -> str:
        """The name of the parameter, or of both parameters of a pair."""
        return " & ".join(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """The posterior of the effects of a space's options on log ratings; made by `fit_effects`.

    Attributes:
        space: Space of configurations.
        times: (T,) timepoints.
        draws: (D, T, k) draws of the coefficients β, joint over time.
        groups: Groups of coefficients: each parameter, and each pair of modules whose options may interact.
        scales: For each module, number and pair, the estimated prior standard deviation of its coefficients, at the
            timepoint at which they are largest.
    """

    space: Space
    times: FloatArray
    draws: FloatArray
    groups: tuple[Group, ...]
    scales: Mapping[str, float]

    def of(self, name: str) -> dict[str, Band]:
        """The effect of each option of a module relative to their mean; for a number, of its ends and middle.

        Returns:
            Effects by option; for a number ``"lowest"``, ``"middle"`` and ``"highest"``, relative to their mean.

        Raises:
            ValueError: If the space has no such parameter.
        """
        if name not in self.space.names:
            raise ValueError(f"the space has no parameter {name!r};{did_you_mean(name, self.space.names)}")
        group = next(each for each in self.groups if each.names == (name,))
        levels = [str(option) for option in group.options] or ["lowest", "middle", "highest"]
        values = self._contributions(group)
        values = values - values.mean(axis=-1, keepdims=True)
        return {level: Band.of(values[:, :, index]) for index, level in enumerate(levels)}

    def importance(self) -> dict[str, Band]:
        """The share of each module, number and pair in the variance of log ratings, over uniform configurations.

        Conditions are ignored: each parameter is treated as always active. ``positive`` is the probability that it has
        the largest share.
        """
        parts = {group.label: self._contributions(group).var(axis=-1) for group in self.groups}
        total = np.maximum(np.sum(list(parts.values()), axis=0), np.finfo(float).tiny)
        return Band.of_shares({name: part / total for name, part in parts.items()})

    def contributions(self, configuration: Mapping[str, Any]) -> dict[str, FloatArray]:
        """(D, T) draws of each parameter's contribution to a configuration's log rating, relative to its mean option.

        The contribution of a number is relative to the mean over its range; pairs are ignored.
        """
        (row,) = _design(self.space, self.groups, [configuration])
        contributions = dict[str, FloatArray]()
        for group in self.groups:
            own = self.draws[:, :, group.columns]
            if len(group.names) == 1:
                beside = own.mean(axis=-1) if group.options and group.names[0] in configuration else 0.0
                contributions[group.names[0]] = own @ row[group.columns] - beside
        return contributions

    def predict(self, configurations: Sequence[Mapping[str, Any]]) -> FloatArray:
        """(D, T, n) draws of the log ratings of configurations, tried or not, up to a constant."""
        return self.draws @ _design(self.space, self.groups, configurations).T

    def _contributions(self, group: Group) -> FloatArray:
        """(D, T, levels) contribution of a group to log ratings: by option, or at a number's ends and middle."""
        own = self.draws[:, :, group.columns]
        return own if group.options else own @ np.stack(_curve(np.array([0.0, 0.5, 1.0])))


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

    This is a regression (see `polarbear.inference.model.regression`). The scales of effects are estimated, with a
    common one for a module, number or pair, so that irrelevant ones shrink to 0; rankings that repeat themselves over
    time do not count as new. Ties count as all their orders; for ties of more than three, twelve orders are used.

    Args:
        space: Space of the configurations.
        configurations: All ranked configurations, by name.
        rankings: Rankings on at least two instances.
        pairs: Pairs of modules whose options may interact.
        draws: Number of draws D.
        rng: Random generator for all draws.

    Raises:
        ValueError: If a configuration is missing, there are fewer than two instances, or a pair is not one of modules.
    """
    if missing := [name for name in rankings.algorithms if name not in configurations]:
        raise ValueError(f"rankings contain configuration {missing[0]!r}, which is missing from configurations")
    if len(rankings.ranks) < 2:
        raise ValueError(f"there are rankings on {plural(len(rankings.ranks), 'instance')}; effects need at least 2")
    groups = _groups(space, pairs)
    kinds = np.repeat(np.arange(len(groups)), [each.columns.stop - each.columns.start for each in groups])
    x = _design(space, groups, [configurations[name] for name in rankings.algorithms])
    regression = regress(_Design(x, kinds), rankings, rng)
    drawn = regression.draw(draws, rng)
    largest = (regression.precision.min(axis=0) ** -0.5).tolist()
    scales = {group.label: largest[group.columns.start] for group in groups}
    return Effects(space, rankings.times, drawn, groups, scales)


def _curve(at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A line and a parabola over [0, 1], both with mean 0."""
    return at - 0.5, (2 * at - 1) ** 2 - 1 / 3


def _groups(space: Space, pairs: Sequence[tuple[str, str]]) -> tuple[Group, ...]:
    """The groups of coefficients: one per parameter, then one per pair."""
    options = {name: space.options(name) for name in space.names}
    owned: list[tuple[tuple[str, ...], tuple[Any, ...]]] = [((name,), options[name]) for name in space.names]
    for pair in pairs:
        if absent := [name for name in pair if not options.get(name)]:
            modules = ", ".join(name for name in space.names if options[name])
            raise ValueError(f"{absent[0]!r} is not a module of the space; its modules are {modules}")
        owned.append((tuple(pair), tuple(itertools.product(*(options[name] for name in pair)))))
    ends = itertools.accumulate(len(each) or 2 for _, each in owned)
    return tuple(
        Group(names, each, slice(end - (len(each) or 2), end)) for (names, each), end in zip(owned, ends, strict=True)
    )


def _design(space: Space, groups: Sequence[Group], configurations: Sequence[Mapping[str, Any]]) -> FloatArray:
    """(n, k) design matrix x, with columns as in the groups; inactive numbers are treated as at their middle."""
    ends = np.cumsum([len(space.options(name)) or 1 for name in space.names])
    encoded = dict(zip(space.names, np.split(space.encode(configurations), ends[:-1], axis=1), strict=True))
    parts: list[FloatArray] = []
    for group in groups:
        first, *others = (encoded[name] for name in group.names)
        if not group.options:
            active = np.array([group.names[0] in each for each in configurations])
            parts.append(np.where(active, np.stack(_curve(first[:, 0])), 0.0).T)
            continue
        for other in others:
            first = (first[:, :, np.newaxis] * other[:, np.newaxis, :]).reshape(len(first), -1)
        parts.append(first)
    return np.concatenate(parts, axis=1)


class _Design:
    """Log ratings x β, which are the same on all instances."""

    def __init__(self, x: FloatArray, kinds: IntArray) -> None:
        self._x, self.kinds = x, kinds

    def ratings(self, coefficients: FloatArray) -> FloatArray:
        """As in `polarbear.inference.model.regression.Design`, like all methods."""
        return (coefficients @ self._x.T)[:, np.newaxis]

    def scores(self, by_rating: FloatArray) -> FloatArray:
        return by_rating @ self._x

    def curvature(self, by_rating: FloatArray, weights: FloatArray) -> FloatArray:
        return self._x.T @ np.tensordot(weights, by_rating, axes=1) @ self._x

"""Which option matters when: a Plackett–Luce model whose log ratings are sums of the effects of options.

The log rating of configuration c at time t is x_c β(t): an effect for each option, a line and a parabola for each
number, and products of options where pairs are asked for. All runs take part, whoever won, so that nothing rests on
counts of elites (Vermetten 2025, section 4.2, counts those).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polarbear.configure.spaces import Space
from polarbear.rankings import NOT_RUN, Rankings
from polarbear.records import FloatArray

_ORDERS = 4
"""How many random orders stand for the ties of an instance."""
_ROUNDS = 12
"""Rounds of estimating the scales of effects."""


class Band(NamedTuple):
    """An effect over time: posterior mean and 95 % interval, and the probability that it is positive; (T,) each."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    positive: FloatArray


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
        scales: For each module, number and pair the standard deviation of the prior of its coefficients, as estimated.
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
        return {level: _band(values[:, :, index]) for index, level in enumerate(levels)}

    def importance(self) -> dict[str, Band]:
        """The share of each module, number and pair in the variance of log ratings, over uniform configurations.

        Conditions are left aside: each is taken as if always active. ``positive`` is the probability that it has the
        largest share.
        """
        parts = {name: self._levels(name)[1].var(axis=-1) for name in self.space.names}
        for first, second in self.pairs:
            parts[f"{first} & {second}"] = self._products(first, second).var(axis=-1)
        shares = np.stack(list(parts.values()))
        shares = shares / np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
        largest = shares.argmax(axis=0)
        return {
            name: _band(shares[index])._replace(positive=(largest == index).mean(axis=0))
            for index, name in enumerate(parts)
        }

    def contributions(self, configuration: Mapping[str, Any]) -> dict[str, FloatArray]:
        """(D, T) draws of what each parameter adds to a configuration's log rating, beside its module's mean option.

        A number adds what it does beside the mean over its range; pairs are left aside.
        """
        (row,) = _design(self.space, self.pairs, [configuration])
        found = dict[str, FloatArray]()
        for name in self.space.names:
            own = [index for index, (owner, _) in enumerate(self.columns) if owner == name]
            added = self.draws[:, :, own] @ row[own]
            numeric = self.columns[own[0]][1] == "line"
            found[name] = added if numeric or name not in configuration else added - self.draws[:, :, own].mean(axis=-1)
        return found

    def predict(self, configurations: Sequence[Mapping[str, Any]]) -> FloatArray:
        """(D, T, n) draws of the log ratings of configurations, tried or not, up to a constant."""
        return self.draws @ _design(self.space, self.pairs, configurations).T

    def _levels(self, name: str) -> tuple[list[str], FloatArray]:
        """The levels of a parameter, and (D, T, levels) their contributions to log ratings."""
        found = [index for index, (owner, _) in enumerate(self.columns) if owner == name]
        if not found or " & " in name:
            raise ValueError(f"the space has no parameter {name!r}; it has {', '.join(self.space.names)}")
        labels = [self.columns[index][1] for index in found]
        if labels == ["line", "parabola"]:
            at = np.array([0.0, 0.5, 1.0])
            return ["lowest", "middle", "highest"], self.draws[:, :, found] @ np.stack(_curve(at))
        return labels, self.draws[:, :, found]

    def _products(self, first: str, second: str) -> FloatArray:
        found = [index for index, (owner, _) in enumerate(self.columns) if owner == f"{first} & {second}"]
        return self.draws[:, :, found]


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

    At each timepoint the coefficients' mode is found under a normal prior, whose scales are estimated, one for each
    module, number and pair over all timepoints, so that those that do not matter shrink to 0 (automatic relevance
    determination, MacKay 1992). Draws are one-step weighted likelihood bootstraps (Newton and Raftery 1994): each
    instance has one Exp(1) weight for all timepoints, so that rankings which repeat themselves over time do not count
    as new. Ties count as random orders of those that tie.

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
    orders = [_orders(rankings, rng) for _ in range(_ORDERS if _tied(rankings) else 1)]
    precision, modes = np.ones(len(columns)), np.zeros((rankings.times.size, len(columns)))
    curvatures = np.zeros((rankings.times.size, len(columns), len(columns)))
    for _ in range(_ROUNDS):
        for t in range(rankings.times.size):
            modes[t], curvatures[t] = _mode(x, orders, t, rankings.weights, precision, modes[t])
        spread = np.diagonal(np.linalg.inv(curvatures), axis1=1, axis2=2)
        second = np.array([np.bincount(groups, weights=each) for each in modes**2 + spread]) / np.bincount(groups)
        precision = 1 / np.maximum(second.max(axis=0)[groups], 1e-6)
    weights = rng.standard_exponential((draws, len(rankings.ranks))) - 1
    prior = rng.standard_normal((draws, len(columns))) * np.sqrt(precision)
    drawn = np.empty((draws, rankings.times.size, len(columns)))
    covariances = np.linalg.inv(curvatures)
    for t in range(rankings.times.size):
        _, scores, _ = _likelihood(x, orders, t, rankings.weights, modes[t])
        spent = len(columns) - float(precision @ np.diagonal(covariances[t]))  # degrees of freedom
        inflated = np.sqrt(len(scores) / max(len(scores) - spent, 1.0))  # scores at the mode vary too little
        drawn[:, t] = modes[t] + (inflated * weights @ scores + prior) @ covariances[t]
    scales = {owner: float(precision[owners.index(owner)] ** -0.5) for owner in dict.fromkeys(owners)}
    return Effects(space, tuple(pairs), rankings.times, drawn, columns, scales)


def _band(values: FloatArray) -> Band:
    low, high = np.quantile(values, (0.025, 0.975), axis=0)
    return Band(values.mean(axis=0), low, high, (values > 0).mean(axis=0))


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
    option = {index: space.columns[index].partition("=")[2] for found in modules.values() for index in found}
    columns = [(name, option[index]) for name, found in modules.items() for index in found]
    columns += [(name, shape) for name in numbers for shape in ("line", "parabola")]
    for first, second in pairs:
        if absent := [name for name in (first, second) if name not in modules]:
            raise ValueError(f"{absent[0]!r} is no module of the space; pairs are of {', '.join(modules)}")
        columns += [
            (f"{first} & {second}", f"{option[one]} & {option[other]}")
            for one in modules[first]
            for other in modules[second]
        ]
    return tuple(columns)


def _design(space: Space, pairs: Sequence[tuple[str, str]], configurations: Sequence[Mapping[str, Any]]) -> FloatArray:
    """(n, k) x, as `_columns` names its columns; numbers that are not active count as in the middle."""
    encoded = space.encode(configurations)
    modules, numbers = _split(space)
    parts = [encoded[:, found] for found in modules.values()]
    for name, index in numbers.items():
        active = np.array([name in each for each in configurations])
        parts.append(np.where(active, np.stack(_curve(encoded[:, index])), 0.0).T)
    for first, second in pairs:
        one, other = encoded[:, modules[first]], encoded[:, modules[second]]
        parts.append((one[:, :, np.newaxis] * other[:, np.newaxis, :]).reshape(len(encoded), -1))
    return np.concatenate(parts, axis=1)


def _tied(rankings: Rankings) -> bool:
    ranks = np.sort(rankings.ranks, axis=-1)
    return bool(((ranks[..., 1:] == ranks[..., :-1]) & (ranks[..., 1:] != NOT_RUN)).any())


def _orders(rankings: Rankings, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(P, T, n) configurations from the best to the worst, ties in a random order, and (P, T) how many ran."""
    ran = rankings.ranks != NOT_RUN
    keys = np.where(ran, rankings.ranks + rng.random(rankings.ranks.shape), np.inf)
    return np.argsort(keys, axis=-1), ran.sum(axis=-1)


def _likelihood(
    x: FloatArray,
    orders: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
    t: int,
    weights: FloatArray,
    beta: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """The log likelihood at a timepoint (eq. 6 of Wurth et al. 2026), (P, k) the instances' scores, the curvature."""
    value, scores = 0.0, np.zeros((len(weights), x.shape[1]))
    curvature = np.zeros((x.shape[1], x.shape[1]))
    rating = x @ beta
    strength = np.exp(rating - rating.max())
    for order, counts in orders:
        place: NDArray[np.intp] = order[:, t]
        size: NDArray[np.intp] = counts[:, t]
        share = weights / len(orders)
        behind = np.subtract.outer(size, np.arange(len(x)))  # how many are left, itself among them
        ran, stage = behind > 0, behind > 1  # the last has no choice left
        s = np.where(ran, strength[place], 0.0)
        left = np.cumsum(s[:, ::-1], axis=1)[:, ::-1]
        sums = np.cumsum((s[..., np.newaxis] * x[place])[:, ::-1], axis=1)[:, ::-1]
        inverse = np.where(stage, 1 / np.where(stage, left, 1.0), 0.0)
        expected = sums * inverse[..., np.newaxis]
        value += float(share @ np.where(stage, np.log(np.where(stage, s * inverse, 1.0)), 0.0).sum(axis=1))
        scores += share[:, np.newaxis] * (np.where(stage[..., np.newaxis], x[place], 0.0) - expected).sum(axis=1)
        chosen = share[:, np.newaxis] * s * np.cumsum(inverse, axis=1)
        mass = np.bincount(place.ravel(), weights=chosen.ravel(), minlength=len(x))
        flat = (np.sqrt(share)[:, np.newaxis, np.newaxis] * expected).reshape(-1, x.shape[1])
        curvature += (x.T * mass) @ x - flat.T @ flat
    return value, scores, curvature


def _mode(
    x: FloatArray,
    orders: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
    t: int,
    weights: FloatArray,
    precision: FloatArray,
    start: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """The mode of the coefficients at a timepoint, by Newton steps, halved until they climb, and its curvature."""
    beta = start.copy()
    value, scores, curvature = _likelihood(x, orders, t, weights, beta)
    height = value - precision @ beta**2 / 2
    for _ in range(50):
        slope: FloatArray = scores.sum(axis=0) - precision * beta
        step = np.asarray(np.linalg.solve(curvature + np.diag(precision), slope), dtype=np.float64)
        if (gain := float(slope @ step)) < 1e-9:
            break
        while True:
            value, scores, curvature = _likelihood(x, orders, t, weights, beta + step)
            reached = value - precision @ (beta + step) ** 2 / 2
            if reached >= height or gain < 1e-9:
                break
            step, gain = step / 2, gain / 2
        beta, height = beta + step, reached
    return beta, curvature + np.diag(precision)

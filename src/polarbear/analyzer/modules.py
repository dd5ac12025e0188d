"""Figures of a configurator's study: which module matters when, and what configurations have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polarbear import figures, store
from polarbear.configure import Band, Configuration, Effects
from polarbear.configure.proposals import time_weights
from polarbear.figures import Figure
from polarbear.records import FloatArray
from polarbear.study.configuring import race_beside

_BUDGETS = 3
"""How many budgets the importance is drawn at."""
_MODULES = 8
"""Of how many modules, the most important ones, effects are drawn."""
_LINES = 200
"""How many configurations are drawn as lines."""


def module_figures(path: str | Path, effects: Effects) -> dict[str, Figure]:
    """The figures of a study that `polarbear.study.configure` made, by name.

    Args:
        path: The study.
        effects: Its effects, see `polarbear.study.effects_of`.

    Returns:
        ``"importance"``, ``"effects"``, ``"configurations"`` and, if its elites were raced on fresh instances,
        ``"elites"``.

    Raises:
        polarbear.store.StudyError: If there is no study at `path`.
    """
    with store.open(path) as study:
        configurations: dict[str, Configuration] = dict(study.spec["configurations"])
    drawings = {"importance": _importance(effects), "effects": _effects(effects)}
    drawings["configurations"] = _configurations(effects, list(configurations.values()))
    if store.exists(race := race_beside(store.place(path))):
        with store.open(race) as raced:
            names = {name.removeprefix("with-"): None for name in raced.spec["algorithms"]}  # of `assess_module`, too
        drawings["elites"] = _elites(effects, {name: configurations[name] for name in names if name in configurations})
    return drawings


def _array(band: Band) -> FloatArray:
    """(3, T) mean, lower and upper end."""
    return np.stack([band.mean, band.low, band.high])


def _order(effects: Effects) -> list[str]:
    """The parameters, the most important ones first."""
    importance, weights = effects.importance(), time_weights(effects.times)
    return sorted(effects.space.names, key=lambda name: -float(importance[name].mean @ weights))


def _importance(effects: Effects) -> Figure:
    at = np.unique(np.linspace(0, effects.times.size - 1, _BUDGETS).round().astype(int))
    importance = effects.importance()
    pairs = [name for name in importance if name not in effects.space.names]
    shares = {name: _array(importance[name])[:, at] for name in [*_order(effects), *pairs]}
    return figures.module_importance(shares, [f"{time:,.0f} evaluations" for time in effects.times[at]])


def _effects(effects: Effects) -> Figure:
    return figures.effects_over_time(
        effects.times,
        {
            name: {option: _array(band) for option, band in effects.of(name).items()}
            for name in _order(effects)[:_MODULES]
        },
    )


def _elites(effects: Effects, finalists: Mapping[str, Configuration]) -> Figure:
    """Heat map of the elites' parameters, by what each adds to the log rating."""
    weights, order = time_weights(effects.times), _order(effects)
    added = [effects.contributions(each) for each in finalists.values()]
    values = [[float(each[name].mean(axis=0) @ weights) for each in added] for name in order]
    texts = [[_text(each.get(name)) for each in finalists.values()] for name in order]
    label = "added to the log rating"
    return figures.heat_map(values, order, list(finalists), label=label, texts=texts, center=0.0)


def _text(value: Any) -> str:
    return "–" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def _configurations(effects: Effects, configurations: Sequence[Configuration]) -> Figure:
    """The configurations with the highest log ratings as lines across their parameters."""
    ratings = effects.predict(configurations).mean(axis=0).T @ time_weights(effects.times)
    best = np.argsort(-ratings, kind="stable")[:_LINES]
    order, space = _order(effects), effects.space.space
    ticks: dict[str, dict[str, float]] = {}
    values = np.full((best.size, len(order)), np.nan)
    for column, name in enumerate(order):
        options = list(getattr(space[name], "choices", ()))
        ticks[name] = {_text(option): index / max(1, len(options) - 1) for index, option in enumerate(options)} or {
            _text(space[name].lower): 0.0,
            _text(space[name].upper): 1.0,
        }
        for row, index in enumerate(map(int, best)):
            if name in configurations[index]:
                value = configurations[index][name]
                values[row, column] = ticks[name][_text(value)] if options else float(space[name].to_vector(value))
    return figures.parallel_coordinates(values, ticks, ratings[best], label="log rating, mean over log budget")

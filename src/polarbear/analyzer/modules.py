"""Figures of a configurator's study: which modules matter when, and which options configurations have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polarbear import figures, store
from polarbear.configure import Band, Configuration, Criterion, Effects, spaces
from polarbear.configure.configurator import DEFAULT
from polarbear.configure.proposals import time_weights
from polarbear.figures import Figure
from polarbear.records import FloatArray
from polarbear.study.configuring import race_beside

Shares = dict[tuple[str, str], float]
"""Shares by module and option."""
_BUDGETS = 3
"""Number of budgets at which the importance is drawn."""
_MODULES = 8
"""Number of modules, the most important ones, whose effects are drawn."""
_LINES = 200
"""Number of configurations drawn as lines."""


def module_figures(path: str | Path, effects: Effects, beside: Sequence[str | Path] = ()) -> dict[str, Figure]:
    """The figures of a study that `polarbear.study.configure` made, by name.

    Args:
        path: Path of the study.
        effects: Effects of its parameters; see `polarbear.study.effects_of`.
        beside: Further studies of this kind, e.g. on other functions: columns of the figures of options.

    Returns:
        Figures named ``"importance"``, ``"effects"``, ``"configurations"``; if the elites were raced on fresh
        instances, also ``"elites"`` and ``"options"``, the share of elites that have each option (IOHprofiler thesis,
        figure 4.14), and after `polarbear.study.assess_module` ``"changes"``, that share minus the share without the
        module (figure 4.15); if the default was run and all optima are known, also ``"initial"``, the quality of the
        first configurations (figure 4.16).

    Raises:
        polarbear.store.StudyError: If there is no study at `path`.
    """
    with store.open(path) as study:
        configurations: dict[str, Configuration] = dict(study.spec["configurations"])
    drawings = {"importance": _importance(effects), "effects": _effects(effects)}
    drawings["configurations"] = _configurations(effects, list(configurations.values()))
    if store.exists(race := race_beside(store.place(path))):
        with store.open(race) as raced:
            names = {name.removeprefix("with-"): None for name in raced.spec["algorithms"]}  # or `assess_module`'s
        drawings["elites"] = _elites(effects, {name: configurations[name] for name in names if name in configurations})
    return drawings | _of_searches([store.place(each) for each in (path, *beside)])


def _array(band: Band) -> FloatArray:
    """(3, T) mean, lower and upper end."""
    return np.stack([band.mean, band.low, band.high])


def _order(effects: Effects) -> list[str]:
    """The parameters in decreasing order of importance."""
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
    """Heat map of the elites' parameters, coloured by what each adds to the log rating."""
    weights, order = time_weights(effects.times), _order(effects)
    added = [effects.contributions(each) for each in finalists.values()]
    values = [[float(each[name].mean(axis=0) @ weights) for each in added] for name in order]
    texts = [[_text(each.get(name)) for each in finalists.values()] for name in order]
    label = "contribution to the log rating"
    return figures.heat_map(values, order, list(finalists), label=label, texts=texts, center=0.0)


def _of_searches(paths: Sequence[Path]) -> dict[str, Figure]:
    """Options of the elites and gains of the first configurations, for searches with and without a module."""
    drawings, gains = dict[str, Figure](), dict[str, FloatArray]()
    shares, changes = dict[str, Shares](), dict[str, Shares]()
    alike = len({path.stem for path in paths}) < len(paths)
    for path in paths:
        called = str(path) if alike else path.stem
        without = path.with_name(f"{path.stem}-without{path.suffix}")
        elites = {side: _shares(path, side) for side in ("", "with-", "without-")}
        if own := elites[""] or elites["with-"]:
            shares[called] = own
        if before := elites["without-"]:
            changes[called] = {each: own.get(each, 0.0) - share for each, share in before.items()}
        for search in (path, without):
            if store.exists(search) and (gained := _initial_gains(search)).size:
                gains[called if search == path else f"{called}-without"] = gained
    if shares:
        drawings["options"] = _options(shares, "share of the elites")
    if changes:
        drawings["changes"] = _options(changes, "share with the module minus share without it", center=0.0)
    if gains:
        drawings["initial"] = figures.initial_gains(gains)
    return drawings


def _shares(path: Path, side: str) -> Shares:
    """The share of a search's elites that have each option; `side` is a side of an assessment, "" if there is none.

    If a search found nothing better than the default, its elite is the default.
    """
    race = race_beside(path)
    if not store.exists(race):
        return {}
    with store.open(race) as raced:
        raced_names = raced.spec["algorithms"]
    sided = any(name.startswith(("with-", "without-")) for name in raced_names)
    names = [name for name in raced_names if name != DEFAULT and name.startswith(side)]
    names = names or [DEFAULT] * (DEFAULT in raced_names)
    if sided != bool(side) or not names:
        return {}
    searched = path.with_name(f"{path.stem}-without{path.suffix}") if side == "without-" else path
    with store.open(searched) as study:
        space = spaces.from_stored(study.spec["space"])
        elites = [study.spec["configurations"][name.removeprefix(side)] for name in names]
    return {
        (name, _text(option)): float(np.mean([name in each and each[name] == option for each in elites]))
        for name in space.names
        for option in space.options(name)
    }


def _options(shares: Mapping[str, Shares], label: str, center: float | None = None) -> Figure:
    """Heat map of options over searches."""
    rows = list(dict.fromkeys(each for own in shares.values() for each in own))
    values = [[own.get(each, np.nan) for own in shares.values()] for each in rows]
    shades: dict[str, Any] = {"limits": (0.0, 1.0)} if center is None else {"center": center}
    names = [f"{name}: {option}" for name, option in rows]
    return figures.heat_map(values, names, list(shares), label=label, form="{:.2g}".format, **shades)


def _initial_gains(path: Path) -> FloatArray:
    """Relative reduction of loss by a search's first configurations against the default, on its first instances."""
    with store.open(path) as study:
        spec, runs = study.spec, study.runs()
    names, until = set(spec.get("initial", [])), float(spec["configure"]["times"][-1])
    if DEFAULT not in names or any(run.optimum is None for run in runs):
        return np.empty(0)
    criterion, losses = Criterion("mean-aocc"), dict[str, dict[int, float]]()
    for run in runs:
        if run.key.algorithm in names:
            losses.setdefault(run.key.algorithm, {})[run.key.seed] = criterion.terms(run, until)[0]
    first = set[int].intersection(*(set(own) for own in losses.values()))
    means = {name: float(np.mean([own[seed] for seed in first])) for name, own in losses.items()} if first else {}
    beside = means.pop(DEFAULT, 0.0)
    return np.array([1 - each / beside for each in means.values()]) if beside else np.empty(0)


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

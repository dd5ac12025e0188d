"""The findings of a race, even while it is running."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated

import numpy as np

from polarbear import figures
from polarbear.analyzer import datasets
from polarbear.analyzer.words import budget
from polarbear.assess.report.data import Data
from polarbear.descriptions import listed
from polarbear.figures.race_figures import shares_by_group
from polarbear.quantities import amount, duration, plural
from polarbear.racing.relations import relations
from polarbear.racing.settings import RaceSettings
from polarbear.results import Result
from polarbear.web.kind import Number, Shown, view

Alpha = Annotated[float, Number("α", 0.5, 1, 0.99)]
Epsilon = Annotated[float, Number("ε", 0, 0.49, 0.05)]

_COMPARED = 6
"""Number of algorithms whose pairs are drawn if the Pareto set has only one member."""


@view("race", "Ratings over the budget")
def ratings(result: Result) -> Shown:
    """The posterior of every algorithm's rating over the budget, with bands."""
    figure = result.plot.ratings()
    return Shown(datasets.ratings(result), figure, result.answer.headline)


@view("race", "Who is better when")
def pairs(result: Result) -> Shown:
    """State of each pair of the Pareto set at each timepoint: dominated, equivalent, or unresolved, and why."""
    if len(result.pareto_set) < 2:
        raise ValueError(f"{listed(result.pareto_set)} is the only member of the Pareto set; there are no pairs")
    reasons = reasons_of(result, result.pareto_set)
    open_ = "\n".join(pair.sentence for pair in result.answer.undecided)
    return Shown(datasets.relations_of_pairs(result), result.plot.relations(reasons=reasons), open_)


@view("race", "Dominance by round")
def dominance(result: Result) -> Shown:
    """Probability that each algorithm is dominated by its strongest rival, by round."""
    return Shown(datasets.dominance(result), result.plot.dominance())


@view("race", "Allocation of runs")
def allocation(result: Result) -> Shown:
    """Number of instances on which each algorithm was run, by how far."""
    return Shown(datasets.spending(result), result.plot.allocation())


@view("race", "Log of rounds")
def rounds(result: Result) -> Shown:
    """What happened in each round, what is known, and how long the race may still take."""
    return Shown(datasets.rounds(result), text=f"{result.answer.text}\n\n{time_left(result)}".rstrip())


@view("race", "Ratings round by round")
def ratings_by_round(result: Result) -> Shown:
    """Ratings after key rounds: how the answer came about."""
    return Shown(datasets.horizons(result), result.plot.rounds())


@view("race", "Who is best where")
def best_where(result: Result) -> Shown:
    """Number of instances on which each member of the Pareto set is best, by group of functions and dimension."""
    figure = result.plot.groups()
    shares = shares_by_group(result, result.pareto_set)
    return Shown(datasets.best_by_group(result, result.pareto_set, shares), figure)


@view("race", "Open pairs")
def open_pairs(result: Result) -> Shown:
    """Each unresolved pair: over which budgets, why, and how many more instances it may take."""
    if not result.begun:
        raise ValueError("nothing is known yet; the race has not completed a round")
    reasons = reasons_of(result, [name for name in result.pareto_set if name in result.posterior.names])
    times = result.posterior.times.tolist()
    rows: list[list[object]] = []
    for pair in result.undecided:
        known = reasons.get((pair.first, pair.second)) or reasons.get((pair.second, pair.first)) or ("",) * len(times)
        at = times.index(pair.from_time)
        rows.append([pair.first, pair.second, pair.from_time, pair.to_time, pair.more_instances, known[at]])
    columns = ("first", "second", "open from", "open to", "more instances", "why, where it is first open")
    return Shown(Data.of("open-pairs", columns, rows), text=time_left(result))


def reasons_of(result: Result, names: Sequence[str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """For each pair and timepoint, the state of the pair, and the reason if it is not resolved."""
    settings, posterior, known = result.settings, result.posterior, result.relations
    near = settings.compared(posterior).equivalence_probabilities(settings.epsilon)
    texts: dict[tuple[str, str], tuple[str, ...]] = {}
    for first, second in combinations(names, 2):
        i, j = posterior.names.index(first), posterior.names.index(second)
        texts[first, second] = tuple(
            f"{first} – {second} at {budget(time, settings.axis)}\n"
            + _state(datasets.relation(known, t, i, j), (first, second), known.better[t, i, j], near[t, i, j], settings)
            for t, time in enumerate(posterior.times.tolist())
        )
    return texts


def _state(relation: str, pair: tuple[str, str], better: float, near: float, settings: RaceSettings) -> str:
    first, second = pair
    if relation == "first":
        return f"{first} is better: P = {better:.3f}"
    if relation == "second":
        return f"{second} is better: P = {1 - better:.3f}"
    if relation == "equivalent":
        return f"equivalent: P = {near:.3f}"
    ahead, sure = (first, better) if better >= 0.5 else (second, 1 - better)
    return (
        f"not resolved: P({ahead} better) = {sure:.3f} < α = {settings.alpha:g}\n"
        f"and P(within ε = {settings.epsilon:g} of even) = {near:.3f} < α"
    )


def time_left(result: Result) -> str:
    """Rough forecast of instances, evaluations and seconds that a race still needs, at the cost of the last round."""
    if result.finished or not result.begun:
        return ""
    needed = [pair.more_instances for pair in result.undecided]
    known = [number for number in needed if np.isfinite(number)]
    if not known:
        return "The remaining effort cannot be forecast for any open pair."
    rounds = [each for each in result.rounds if each.batch]
    last, before = rounds[-1], rounds[-2] if len(rounds) > 1 else None
    evaluations = (last.evaluations - (before.evaluations if before else 0)) / last.batch
    seconds = (last.seconds - (before.seconds if before else 0.0)) / last.batch
    most = max(known)
    endless = len(needed) - len(known)
    rest = f", and {plural(endless, 'pair')} without a forecast" if endless else ""
    return (
        f"Remaining: roughly {plural(round(most), 'more instance')}{rest}. At the cost of the last round, this takes "
        f"{amount(round(most * evaluations))} evaluations and {duration(most * seconds)} in runs, to be divided by the "
        "number of workers. The forecast assumes that the present estimates hold; the cost falls as algorithms leave."
    )


@view("race", "What if α and ε were different")
def what_if(result: Result, alpha: Alpha, epsilon: Epsilon) -> Shown:
    """Pareto set and relations from the same runs under a different α and ε."""
    if not result.begun:
        raise ValueError("nothing is known yet; the race has not completed a round")
    settings, posterior = result.settings, result.posterior
    joint = settings.elimination == "joint"
    decided = relations(settings.compared(posterior), alpha=alpha, epsilon=epsilon, joint=joint)
    worst = decided.dominates_anytime.max(axis=0)
    names = posterior.names
    members = [name for name, sure in zip(names, worst, strict=True) if sure < alpha]
    rows = (
        [name, names[int(rivals.argmax())], float(rivals.max()), str(name in members)]
        for name, rivals in zip(names, decided.dominates_anytime.T, strict=True)
    )
    left = f"{listed(members)} ({len(members)} of {len(names)})"
    text = f"With α = {alpha:g} and ε = {epsilon:g}, the Pareto set would be {left}."
    compared = members if len(members) > 1 else names[:_COMPARED]
    figure = figures.relations_over_time(
        decided, posterior.times, names, alpha=alpha, epsilon=epsilon, algorithms=compared, order=result.names
    )
    data = Data.of("what-if", ("algorithm", "strongest rival", "probability", "stays"), rows)
    return Shown(data, figure, text)

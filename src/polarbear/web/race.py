"""What a race has found, also while it runs."""

from __future__ import annotations

from typing import Annotated

from polarbear import figures
from polarbear.analyzer import datasets
from polarbear.assess.report.data import Data
from polarbear.descriptions import listed
from polarbear.racing.relations import relations
from polarbear.results import Result
from polarbear.web.kind import Choice, Number, Shown, view

Alpha = Annotated[float, Number("α", 0.5, 1, 0.99)]
Epsilon = Annotated[float, Number("ε", 0, 0.49, 0.05)]

_COMPARED = 6
"""Algorithms whose pairs are drawn where one alone is left."""


def _rated(result: Result) -> tuple[str, ...]:
    return result.posterior.names if result.begun else ()


Member = Annotated[str, Choice("algorithm", _rated)]


@view("race", "Ratings over the budget")
def ratings(result: Result) -> Shown:
    """The posterior of every algorithm's rating over the budget, with bands."""
    figure = result.plot.ratings()
    return Shown(datasets.ratings(result), figure, result.answer.headline)


@view("race", "Who is better when")
def pairs(result: Result) -> Shown:
    """For each pair of the Pareto set and each timepoint: dominated, equivalent, or not resolved."""
    if len(result.pareto_set) < 2:
        raise ValueError(f"the Pareto set is {listed(result.pareto_set)} alone; there are no pairs")
    return Shown(datasets.relations_of_pairs(result), result.plot.relations())


@view("race", "Dominance by round")
def dominance(result: Result) -> Shown:
    """How surely each algorithm was dominated by its strongest rival, round by round."""
    return Shown(datasets.dominance(result), result.plot.dominance())


@view("race", "Allocation of runs")
def allocation(result: Result) -> Shown:
    """On how many instances each algorithm was run how far."""
    return Shown(datasets.spending(result), result.plot.allocation())


@view("race", "Log of rounds")
def rounds(result: Result) -> Shown:
    """What happened in each round."""
    return Shown(datasets.rounds(result), text=result.answer.text)


@view("race", "What if α and ε were others")
def what_if(result: Result, alpha: Alpha, epsilon: Epsilon) -> Shown:
    """The Pareto set and the relations on the recorded evidence, were α and ε others than the race's."""
    if not result.begun:
        raise ValueError("nothing is known yet; the race has not completed a round")
    settings, posterior = result.settings, result.posterior
    joint = settings.elimination == "joint"
    found = relations(settings.compared(posterior), alpha=alpha, epsilon=epsilon, joint=joint)
    worst = found.dominates_anytime.max(axis=0)
    names = posterior.names
    members = [name for name, sure in zip(names, worst, strict=True) if sure < alpha]
    rows = (
        [name, names[int(rivals.argmax())], float(rivals.max()), str(name in members)]
        for name, rivals in zip(names, found.dominates_anytime.T, strict=True)
    )
    left = f"{listed(members)} ({len(members)} of {len(names)})"
    text = f"With α = {alpha:g} and ε = {epsilon:g} the evidence leaves {left}."
    compared = members if len(members) > 1 else names[:_COMPARED]
    figure = figures.relations_over_time(
        found, posterior.times, names, alpha=alpha, epsilon=epsilon, algorithms=compared, order=result.names
    )
    data = Data.of("what-if", ("algorithm", "strongest rival", "probability", "stays"), rows)
    return Shown(data, figure, text)

"""The pages of the analyzer, in their order, and what stands on each."""

from __future__ import annotations

from typing import NamedTuple

from polarbear.web import (
    attainment,
    attainment_many,
    coco,
    comparisons,
    diagnostics,
    distributions,
    fixed_budget,
    fixed_target,
    knowledge,
    many_functions,
    overview,
    parameters,
    positions,
    race,
    select,
)
from polarbear.web.kind import KINDS, Kind


class Page(NamedTuple):
    """A page: its title, and what it is for."""

    title: str
    purpose: str


PAGES = {
    "overview": Page("Overview", "What is loaded, and what of it could not be read."),
    "fixed-target": Page("Fixed target", "How long algorithms take to reach targets."),
    "fixed-budget": Page("Fixed budget", "How good algorithms are after a budget."),
    "comparisons": Page("Comparisons", "How algorithms compare: tests, ratings, rankings, contributions."),
    "coco": Page("COCO", "Runtimes over functions, groups and dimensions."),
    "eaf": Page("EAF", "Which values are attained within which budgets."),
    "race": Page("Race", "What a race has found, also while it runs."),
    "select": Page("Select", "What to deploy."),
    "diagnostics": Page("Diagnostics", "Whether the posterior may be believed."),
    "knowledge": Page("Knowledge", "What many studies found: questions to a knowledge base."),
}
_MODULES = (
    *(overview, fixed_target, fixed_budget, comparisons, coco, attainment, attainment_many, distributions),
    *(many_functions, parameters, positions, race, select, diagnostics, knowledge),
)
_ORDER = {module.__name__: number for number, module in enumerate(_MODULES)}


def views_of(page: str) -> list[Kind]:
    """The kinds of views of a page, module by module."""
    here = [kind for kind in KINDS.values() if kind.page == page]
    return sorted(here, key=lambda kind: _ORDER.get(kind.make.__module__, len(_ORDER)))

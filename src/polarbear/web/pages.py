"""The pages of the analyzer, in their order, and what stands on each."""

from __future__ import annotations

from typing import NamedTuple

from polarbear.web import (
    attainment,
    coco,
    comparisons,
    diagnostics,
    fixed_budget,
    fixed_target,
    knowledge,
    overview,
    race,
    select,
)
from polarbear.web.kind import KINDS, Kind


class Page(NamedTuple):
    """A page: its title, the module of its views, and what it is for."""

    title: str
    module: str
    purpose: str


PAGES = {
    "overview": Page("Overview", "overview", "What is loaded, and what of it could not be read."),
    "fixed-target": Page("Fixed target", "fixed_target", "How long algorithms take to reach targets."),
    "fixed-budget": Page("Fixed budget", "fixed_budget", "How good algorithms are after a budget."),
    "comparisons": Page(
        "Comparisons", "comparisons", "How algorithms compare: tests, ratings, rankings, contributions."
    ),
    "coco": Page("COCO", "coco", "Runtimes over functions, groups and dimensions."),
    "eaf": Page("EAF", "attainment", "Which values are attained within which budgets."),
    "race": Page("Race", "race", "What a race has found, also while it runs."),
    "select": Page("Select", "select", "What to deploy."),
    "diagnostics": Page("Diagnostics", "diagnostics", "Whether the posterior may be believed."),
    "knowledge": Page("Knowledge", "knowledge", "What many studies found: questions to a knowledge base."),
}
_MODULES = attainment, coco, comparisons, diagnostics, fixed_budget, fixed_target, knowledge, overview, race, select


def views_of(page: str) -> list[Kind]:
    """The kinds of views of a page."""
    return [kind for kind in KINDS.values() if kind.page == page]

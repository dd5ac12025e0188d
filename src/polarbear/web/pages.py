"""The views on each page of the analyzer, in order."""

from __future__ import annotations

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
from polarbear.web.kind import Kind, kinds

_MODULES = (
    *(overview, fixed_target, fixed_budget, comparisons, coco, attainment, attainment_many, distributions),
    *(many_functions, parameters, positions, race, select, diagnostics, knowledge),
)
_ORDER = {module.__name__: number for number, module in enumerate(_MODULES)}


def views_of(page: str) -> list[Kind]:
    """The kinds of views on a page, module by module."""
    here = [kind for kind in kinds().values() if kind.page == page]
    return sorted(here, key=lambda kind: _ORDER.get(kind.make.__module__, len(_ORDER)))

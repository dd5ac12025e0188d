"""Figures, one function each: values in, matplotlib figure out. No statistic is computed here."""

from polarbear.figures import captions
from polarbear.figures.allocation import allocation
from polarbear.figures.dominance import dominance_over_rounds
from polarbear.figures.pairs import relations_over_time
from polarbear.figures.ratings import rating_over_time
from polarbear.figures.recovery import Snapshot, recovery
from polarbear.figures.style import svg
from polarbear.figures.values import preference_values

__all__ = [
    "Snapshot",
    "allocation",
    "captions",
    "dominance_over_rounds",
    "preference_values",
    "rating_over_time",
    "recovery",
    "relations_over_time",
    "svg",
]

"""Choosing algorithms from a posterior by preferences over budgets, risk and portfolios, without new experiments."""

from polarbear.select.preferences import BudgetDistribution, Preference, preference_values, preference_weights
from polarbear.select.selection import Choice, Criterion, Selection, best

__all__ = [
    "BudgetDistribution",
    "Choice",
    "Criterion",
    "Preference",
    "Selection",
    "best",
    "preference_values",
    "preference_weights",
]

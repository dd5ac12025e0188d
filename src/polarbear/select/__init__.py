"""Questions asked of a posterior: preferences over budgets, risk, portfolios. No new experiments are needed."""

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

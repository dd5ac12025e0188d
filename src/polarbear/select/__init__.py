"""Choose algorithms from a posterior by preferences over budgets, risk and portfolios, without new experiments."""

from polarbear.select.budget import BudgetDistribution, BudgetRange, budget_name, parse_budget, parse_number
from polarbear.select.preferences import Preference, preference_values, preference_weights
from polarbear.select.selection import Choice, Criterion, Selection, best

__all__ = [
    "BudgetDistribution",
    "BudgetRange",
    "Choice",
    "Criterion",
    "Preference",
    "Selection",
    "best",
    "budget_name",
    "parse_budget",
    "parse_number",
    "preference_values",
    "preference_weights",
]

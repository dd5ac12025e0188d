"""Assess recorded runs by runtimes, attainment and values at budgets, and compare algorithms."""

from polarbear.assess.report.comparison import Comparison, compare
from polarbear.assess.report.runtime_tables import divide_tables, left_out, runtime_tables, table_rows
from polarbear.assess.report.statistics import Assessment
from polarbear.assess.report.subject import Cell, Subject, subject_of
from polarbear.assess.report.switching import adaptive, switching, switching_data, switching_in_words, switching_roles
from polarbear.assess.report.tables import (
    parameter_samples,
    parameter_statistics,
    runtime_samples,
    runtime_statistics,
    value_samples,
    value_statistics,
)
from polarbear.assess.report.target_tables import (
    EXPENSIVE_BUDGETS,
    budget_based_targets,
    read_targets,
    suggest_targets,
    target_data,
    targets_of,
    with_targets,
)

__all__ = [
    "EXPENSIVE_BUDGETS",
    "Assessment",
    "Cell",
    "Comparison",
    "Subject",
    "adaptive",
    "budget_based_targets",
    "compare",
    "divide_tables",
    "left_out",
    "parameter_samples",
    "parameter_statistics",
    "read_targets",
    "runtime_samples",
    "runtime_statistics",
    "runtime_tables",
    "subject_of",
    "suggest_targets",
    "switching",
    "switching_data",
    "switching_in_words",
    "switching_roles",
    "table_rows",
    "target_data",
    "targets_of",
    "value_samples",
    "value_statistics",
    "with_targets",
]

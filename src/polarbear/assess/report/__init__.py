"""Recorded runs assessed in the field's own terms: runtimes, attainment, values at budgets; and compared."""

from polarbear.assess.report.comparison import Comparison, compare
from polarbear.assess.report.runtime_tables import left_out, runtime_tables, table_rows
from polarbear.assess.report.statistics import Assessment
from polarbear.assess.report.subject import Cell, Subject, subject_of

__all__ = [
    "Assessment",
    "Cell",
    "Comparison",
    "Subject",
    "compare",
    "left_out",
    "runtime_tables",
    "subject_of",
    "table_rows",
]

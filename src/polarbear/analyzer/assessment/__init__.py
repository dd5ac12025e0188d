"""Recorded runs assessed in the field's own terms: runtimes, attainment, values at budgets; and compared."""

from polarbear.analyzer.assessment.comparison import Comparison, compare
from polarbear.analyzer.assessment.page import write_assessment
from polarbear.analyzer.assessment.statistics import Assessment
from polarbear.analyzer.assessment.subject import Cell, Subject, subject_of
from polarbear.analyzer.assessment.tables import left_out, runtime_tables, table_rows

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
    "write_assessment",
]

"""Recorded runs assessed in the field's own terms, as a page; the numbers are those of `polarbear.assess.report`."""

from polarbear.analyzer.assessment.page import write_assessment
from polarbear.assess.report import (
    Assessment,
    Cell,
    Comparison,
    Subject,
    compare,
    left_out,
    runtime_tables,
    subject_of,
    table_rows,
)

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

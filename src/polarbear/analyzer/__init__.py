"""The findings of a race and of recorded runs as sentences, tables and web pages with their data to download."""

from polarbear.analyzer.answer import Answer, Member, Recommendation, answer
from polarbear.analyzer.assessment import write_assessment
from polarbear.analyzer.deciding_features import ratings_by_features
from polarbear.analyzer.examination import Examination, examine
from polarbear.analyzer.html import Table
from polarbear.analyzer.page import report
from polarbear.assess.report import Assessment, Comparison, Subject, compare, runtime_tables, subject_of
from polarbear.assess.report.data import Data

__all__ = [
    "Answer",
    "Assessment",
    "Comparison",
    "Data",
    "Examination",
    "Member",
    "Recommendation",
    "Subject",
    "Table",
    "answer",
    "compare",
    "examine",
    "ratings_by_features",
    "report",
    "runtime_tables",
    "subject_of",
    "write_assessment",
]

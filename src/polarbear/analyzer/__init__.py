"""What a race has found, in words and as a web page: one file with figures, tables and their data to download."""

from polarbear.analyzer.answer import Answer, Member, Recommendation, answer
from polarbear.analyzer.examination import Examination, examine
from polarbear.analyzer.page import report

__all__ = ["Answer", "Examination", "Member", "Recommendation", "answer", "examine", "report"]

"""Assessments of recorded runs in the field's own terms, as pages; `polarbear.assess.report` computes the numbers."""

from polarbear.analyzer.assessment.page import write_assessment

__all__ = ["write_assessment"]

"""Recorded runs assessed in the field's own terms, as a page; the numbers are those of `polarbear.assess.report`."""

from polarbear.analyzer.assessment.page import write_assessment

__all__ = ["write_assessment"]

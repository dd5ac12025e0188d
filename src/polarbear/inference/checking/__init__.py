"""How well a model predicts rankings, and whether rankings agree with the Plackett–Luce model."""

from polarbear.inference.checking.certainty import TOO_SURE, overconfidence, overconfidence_of
from polarbear.inference.checking.checks import check
from polarbear.inference.checking.comparison import ComparedModel, Comparison, compare
from polarbear.inference.checking.scores import LeaveOneOut, leave_one_out
from polarbear.inference.checking.verdicts import Check

__all__ = [
    "TOO_SURE",
    "Check",
    "ComparedModel",
    "Comparison",
    "LeaveOneOut",
    "check",
    "compare",
    "leave_one_out",
    "overconfidence",
    "overconfidence_of",
]

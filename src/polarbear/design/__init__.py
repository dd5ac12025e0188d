"""Automated design of optimizers: candidates from a proposer, verdicts on them, and two proposers."""

from polarbear.design.candidates import Candidate
from polarbear.design.history import History, Proposer, Verdict
from polarbear.design.recombination import ModuleRecombination
from polarbear.design.rules import RuleMutation

__all__ = ["Candidate", "History", "ModuleRecombination", "Proposer", "RuleMutation", "Verdict"]

"""What is optimized: problems, the specifications they are built from, and distributions of instances."""

from __future__ import annotations

from polarbear.problems.descriptions import describe, from_description, suite_parameters, suites
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.function import FunctionProblem
from polarbear.problems.instances import FiniteInstances, as_instances, as_spec
from polarbear.problems.ioh_suites import BBOB, SBOX, BBOBProblem, SBOXProblem
from polarbear.problems.ma_bbob import MABBOB, MABBOBProblem, threshold_weights
from polarbear.problems.protocol import Instances, Problem, ProblemSpec

__all__ = [
    "BBOB",
    "MABBOB",
    "SBOX",
    "BBOBProblem",
    "BuiltProblem",
    "FiniteInstances",
    "FunctionProblem",
    "Instances",
    "MABBOBProblem",
    "Problem",
    "ProblemSpec",
    "SBOXProblem",
    "as_instances",
    "as_spec",
    "describe",
    "from_description",
    "suite_parameters",
    "suites",
    "threshold_weights",
]

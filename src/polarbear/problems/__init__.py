"""Optimization problems, the specifications they are built from, and distributions of instances."""

from __future__ import annotations

from polarbear.problems import suite
from polarbear.problems.constraints import ConstrainedProblem, ConstrainedTrial, Constraint
from polarbear.problems.descriptions import describe, from_description, register, suite_class, suite_parameters, suites
from polarbear.problems.evaluation import BuiltProblem, MultiObjectiveProblem
from polarbear.problems.function import FunctionProblem
from polarbear.problems.functions.noise import CauchyNoise, GaussianNoise, NoisyProblem, NoisyTrial, UniformNoise
from polarbear.problems.instances import FiniteInstances, as_instances, as_spec
from polarbear.problems.suite import *  # noqa: F403 - all suites, as listed there
from polarbear.protocols import Instances, Problem, ProblemSpec, Traits, Trial, traits_of

__all__ = [
    "BuiltProblem",
    "CauchyNoise",
    "ConstrainedProblem",
    "ConstrainedTrial",
    "Constraint",
    "FiniteInstances",
    "FunctionProblem",
    "GaussianNoise",
    "Instances",
    "MultiObjectiveProblem",
    "NoisyProblem",
    "NoisyTrial",
    "Problem",
    "ProblemSpec",
    "Traits",
    "Trial",
    "UniformNoise",
    "as_instances",
    "as_spec",
    "describe",
    "from_description",
    "register",
    "suite_class",
    "suite_parameters",
    "suites",
    "traits_of",
]
__all__ += suite.__all__

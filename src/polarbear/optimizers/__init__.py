"""What is raced: anytime optimizers, each called as ``optimizer(problem, rng)`` until the problem stops it."""

from __future__ import annotations

from polarbear.optimizers.descriptions import describe, families, family_parameters, from_description
from polarbear.optimizers.function import FunctionOptimizer, as_optimizer
from polarbear.optimizers.modular_cmaes import ModularCMAES
from polarbear.optimizers.protocol import Objective, Optimizer
from polarbear.optimizers.random_search import RandomSearch
from polarbear.optimizers.scipy_optimizers import ScipyDifferentialEvolution, ScipyMinimize

__all__ = [
    "FunctionOptimizer",
    "ModularCMAES",
    "Objective",
    "Optimizer",
    "RandomSearch",
    "ScipyDifferentialEvolution",
    "ScipyMinimize",
    "as_optimizer",
    "describe",
    "families",
    "family_parameters",
    "from_description",
]

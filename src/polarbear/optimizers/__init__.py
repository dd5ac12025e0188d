"""What is raced: anytime optimizers, by ask and tell or as functions ``optimizer(problem, rng)``."""

from __future__ import annotations

from polarbear.optimizers.ask_tell import AskTell, as_ask_tell
from polarbear.optimizers.cmaes_library import CMAES
from polarbear.optimizers.descriptions import describe, families, family_parameters, from_description
from polarbear.optimizers.driver import drive
from polarbear.optimizers.function import FunctionOptimizer, as_optimizer
from polarbear.optimizers.growing_budgets import GrowingBudgets
from polarbear.optimizers.modular_cmaes import ModularCMAES
from polarbear.optimizers.modular_de import ModularDE
from polarbear.optimizers.native import Space
from polarbear.optimizers.nevergrad_optimizers import Nevergrad
from polarbear.optimizers.nlopt_optimizers import NLopt
from polarbear.optimizers.pycma import PyCMA
from polarbear.optimizers.pymoo_optimizers import Pymoo
from polarbear.optimizers.quasi_random import QuasiRandomSearch
from polarbear.optimizers.random_search import RandomSearch
from polarbear.optimizers.scipy_optimizers import ScipyDifferentialEvolution, ScipyDualAnnealing, ScipyMinimize
from polarbear.optimizers.telemetry import components, expose, recommend
from polarbear.protocols import (
    AskTellOptimizer,
    Objective,
    Optimizer,
    Particular,
    Resumable,
    Transferable,
    WarmStart,
    refusal,
)

__all__ = [
    "CMAES",
    "AskTell",
    "AskTellOptimizer",
    "FunctionOptimizer",
    "GrowingBudgets",
    "ModularCMAES",
    "ModularDE",
    "NLopt",
    "Nevergrad",
    "Objective",
    "Optimizer",
    "Particular",
    "PyCMA",
    "Pymoo",
    "QuasiRandomSearch",
    "RandomSearch",
    "Resumable",
    "ScipyDifferentialEvolution",
    "ScipyDualAnnealing",
    "ScipyMinimize",
    "Space",
    "Transferable",
    "WarmStart",
    "as_ask_tell",
    "as_optimizer",
    "components",
    "describe",
    "drive",
    "expose",
    "families",
    "family_parameters",
    "from_description",
    "recommend",
    "refusal",
]

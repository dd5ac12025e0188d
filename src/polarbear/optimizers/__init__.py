"""Optimizers to compare: ask-and-tell classes and functions ``optimizer(problem, rng)``."""

from __future__ import annotations

from polarbear.optimizers import nevergrad_optimizers, noisy
from polarbear.optimizers.adapters.cma import PyCMA
from polarbear.optimizers.adapters.cmaes import CMAES
from polarbear.optimizers.adapters.modcma import ModularCMAES
from polarbear.optimizers.adapters.modde import ModularDE
from polarbear.optimizers.adapters.nevergrad import Nevergrad
from polarbear.optimizers.adapters.nlopt import NLopt
from polarbear.optimizers.adapters.pymoo import Pymoo
from polarbear.optimizers.adapters.scipy import ScipyDifferentialEvolution, ScipyDualAnnealing, ScipyMinimize
from polarbear.optimizers.ask_tell import AskTell, as_ask_tell
from polarbear.optimizers.descriptions import (
    as_optimizer,
    describe,
    families,
    family_class,
    family_parameters,
    from_description,
    library_algorithms,
    preset,
)
from polarbear.optimizers.driver import drive
from polarbear.optimizers.function import FunctionOptimizer
from polarbear.optimizers.growing_budgets import GrowingBudgets
from polarbear.optimizers.native import Space
from polarbear.optimizers.search import QuasiRandomSearch, RandomSearch
from polarbear.optimizers.switch import Progress, Switch
from polarbear.optimizers.telemetry import components, end_step, expose, recommend
from polarbear.protocols import (
    AskTellOptimizer,
    Continuing,
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
    "Continuing",
    "FunctionOptimizer",
    "GrowingBudgets",
    "ModularCMAES",
    "ModularDE",
    "NLopt",
    "Nevergrad",
    "Objective",
    "Optimizer",
    "Particular",
    "Progress",
    "PyCMA",
    "Pymoo",
    "QuasiRandomSearch",
    "RandomSearch",
    "Resumable",
    "ScipyDifferentialEvolution",
    "ScipyDualAnnealing",
    "ScipyMinimize",
    "Space",
    "Switch",
    "Transferable",
    "WarmStart",
    "as_ask_tell",
    "as_optimizer",
    "components",
    "describe",
    "drive",
    "end_step",
    "expose",
    "families",
    "family_class",
    "family_parameters",
    "from_description",
    "library_algorithms",
    "nevergrad_optimizers",
    "noisy",
    "preset",
    "recommend",
    "refusal",
]

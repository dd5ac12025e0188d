"""Evolution strategies for noisy problems: CMA-ES with an exchangeable selection stage."""

from __future__ import annotations

from polarbear.optimizers.noisy.adaptation import (
    LearningRateAdaptation,
    PopulationSizeAdaptation,
    ReevaluationAdaptation,
)
from polarbear.optimizers.noisy.assumptions import violated
from polarbear.optimizers.noisy.cma_es import CMAES
from polarbear.optimizers.noisy.known_noise import KnownNoise
from polarbear.optimizers.noisy.probe import ProbeAndSwitch
from polarbear.optimizers.noisy.rb_pem import RBPEM
from polarbear.optimizers.noisy.residual_bootstrap import ResidualBootstrap
from polarbear.optimizers.noisy.selection import Ranks, Selection

__all__ = [
    "CMAES",
    "RBPEM",
    "KnownNoise",
    "LearningRateAdaptation",
    "PopulationSizeAdaptation",
    "ProbeAndSwitch",
    "Ranks",
    "ReevaluationAdaptation",
    "ResidualBootstrap",
    "Selection",
    "violated",
]

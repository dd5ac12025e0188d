"""RB-PEM: CMA-ES with residual-bootstrapped expected weights (Wang and Lu, 2026)."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from polarbear.optimizers.noisy.cma_es import CMAES
from polarbear.optimizers.noisy.residual_bootstrap import ResidualBootstrap
from polarbear.optimizers.noisy.selection import AnySelection
from polarbear.optimizers.settings import family

PAPER: dict[str, Any] = {"mass": "ranks", "active": False}
"""As described in section 4 and appendix B: expected weights replace those of the ranks, and nothing else changes."""

PUBLISHED: dict[str, Any] = {
    "selection": ResidualBootstrap(
        cap="adaptive", target="boundary", center="observed", own=True, power=True, weiszfeld=True
    ),
    "diagonal": True,
    "active": False,
    "relative_sigma0": 0.3,
    "start": "center",
    "patience": 80,
    "restart_strategy": "RESTART",
}
"""As in the runs published by the authors, which differ from the paper.

The effective number of selected candidates follows from the expected weights: this reproduces the medians of their
runs; with that of the ranks, the step size shrinks too fast.
"""


@family(
    "rb-pem",
    "rb-pem",
    presets={"rb-pem-paper": PAPER, "rb-pem-published": PUBLISHED},
    selection="{}",
    restart_strategy="{}",
)
class RBPEM(CMAES):
    """CMA-ES with expected rank weights; its attributes are those of `CMAES`, with another default selection stage."""

    selection: AnySelection = field(default_factory=ResidualBootstrap)
    name: str = ""

    @classmethod
    def paper(cls, name: str = "rb-pem-paper") -> RBPEM:
        """The method as the paper describes it."""
        return cls(**PAPER, name=name)

    @classmethod
    def published(cls, name: str = "rb-pem-published") -> RBPEM:
        """The method as in the authors' published runs."""
        return cls(**PUBLISHED, name=name)

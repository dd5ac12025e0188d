"""Find the black-box optimizers worth deploying when the budget is not known yet.

`polarbear` races anytime optimizers to their Pareto set over time: runs are ranked at every timepoint, a Bayesian
Plackett–Luce posterior says which optimizer is better when, and further runs go where they can still decide something.

Importing `polarbear` is cheap: every subpackage loads when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polarbear.version import __version__ as __version__

if TYPE_CHECKING:
    from polarbear import (
        analyzer,
        assess,
        bias,
        configure,
        conformance,
        design,
        experiment,
        figures,
        inference,
        knowledge,
        landscape,
        optimizers,
        problems,
        progress,
        racing,
        rankings,
        records,
        results,
        select,
        selectors,
        simulate,
        store,
        study,
    )
    from polarbear.racing import Race
    from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory, linear_times, log_times
    from polarbear.results import improves, load, race

__all__ = [
    "Outcome",
    "Race",
    "Reason",
    "Run",
    "RunKey",
    "Trajectory",
    "analyzer",
    "assess",
    "bias",
    "configure",
    "conformance",
    "design",
    "experiment",
    "figures",
    "improves",
    "inference",
    "knowledge",
    "landscape",
    "linear_times",
    "load",
    "log_times",
    "optimizers",
    "problems",
    "progress",
    "race",
    "racing",
    "rankings",
    "records",
    "results",
    "select",
    "selectors",
    "simulate",
    "store",
    "study",
]

_VALUES = {"Race": "polarbear.racing", "improves": "polarbear.results", "load": "polarbear.results"} | dict.fromkeys(
    ("Outcome", "Reason", "Run", "RunKey", "Trajectory", "linear_times", "log_times"), "polarbear.records"
)
"""Modules of the public names that are not subpackages. `polarbear.race` is a callable module."""


def __getattr__(name: str) -> Any:
    if name in _VALUES:
        return getattr(importlib.import_module(_VALUES[name]), name)
    if name in __all__:
        return importlib.import_module(f"polarbear.{name}")
    raise AttributeError(f"module 'polarbear' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

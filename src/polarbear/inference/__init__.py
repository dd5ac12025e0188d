"""Bayesian Plackett–Luce models over time: from choice-set counts to a posterior of the ratings.

All but the independent model load SciPy's linear algebra when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polarbear.inference import events
from polarbear.inference.diagnostics import Diagnostics
from polarbear.inference.dirichlet import IndependentDirichlet
from polarbear.inference.model import Model, fit, from_description, models
from polarbear.inference.posterior import Posterior
from polarbear.inference.prior_draws import prior
from polarbear.inference.recall import Recall
from polarbear.inference.sampling import Sampling
from polarbear.inference.wins import Wins

if TYPE_CHECKING:
    from polarbear.inference.bspline import BSpline
    from polarbear.inference.gaussian_process import GaussianProcess
    from polarbear.inference.hierarchical import HierarchicalDirichlet
    from polarbear.inference.hilbert_space import HilbertSpaceGaussianProcess
    from polarbear.inference.instance_bootstrap import InstanceBootstrap
    from polarbear.inference.predictive import (
        TOO_SURE,
        Check,
        Comparison,
        LeaveOneOut,
        check,
        compare,
        leave_one_out,
        overconfidence,
        overconfidence_of,
    )
    from polarbear.inference.published import as_published
    from polarbear.inference.random_walk import RandomWalk
    from polarbear.inference.sparse_gaussian_process import SparseGaussianProcess

__all__ = [
    "TOO_SURE",
    "BSpline",
    "Check",
    "Comparison",
    "Diagnostics",
    "GaussianProcess",
    "HierarchicalDirichlet",
    "HilbertSpaceGaussianProcess",
    "IndependentDirichlet",
    "InstanceBootstrap",
    "LeaveOneOut",
    "Model",
    "Posterior",
    "RandomWalk",
    "Recall",
    "Sampling",
    "SparseGaussianProcess",
    "Wins",
    "as_published",
    "check",
    "compare",
    "events",
    "fit",
    "from_description",
    "leave_one_out",
    "models",
    "overconfidence",
    "overconfidence_of",
    "prior",
]

_PLACES = {
    "BSpline": "bspline",
    "Check": "predictive",
    "Comparison": "predictive",
    "GaussianProcess": "gaussian_process",
    "HierarchicalDirichlet": "hierarchical",
    "HilbertSpaceGaussianProcess": "hilbert_space",
    "InstanceBootstrap": "instance_bootstrap",
    "LeaveOneOut": "predictive",
    "RandomWalk": "random_walk",
    "SparseGaussianProcess": "sparse_gaussian_process",
    "TOO_SURE": "predictive",
    "as_published": "published",
    "check": "predictive",
    "compare": "predictive",
    "leave_one_out": "predictive",
    "overconfidence": "predictive",
    "overconfidence_of": "predictive",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(f"polarbear.inference.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'polarbear.inference' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

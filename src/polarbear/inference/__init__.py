"""Bayesian Plackett–Luce models over time: from choice-set counts to a posterior of the ratings.

All but the independent model load SciPy's linear algebra when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polarbear.inference.diagnostics import Diagnostics
from polarbear.inference.dirichlet import IndependentDirichlet
from polarbear.inference.model import Model, fit, from_description, models
from polarbear.inference.posterior import Posterior
from polarbear.inference.sampling import Sampling

if TYPE_CHECKING:
    from polarbear.inference.bspline import BSpline
    from polarbear.inference.gaussian_process import GaussianProcess
    from polarbear.inference.hierarchical import HierarchicalDirichlet
    from polarbear.inference.hilbert_space import HilbertSpaceGaussianProcess
    from polarbear.inference.random_walk import RandomWalk
    from polarbear.inference.sparse_gaussian_process import SparseGaussianProcess

__all__ = [
    "BSpline",
    "Diagnostics",
    "GaussianProcess",
    "HierarchicalDirichlet",
    "HilbertSpaceGaussianProcess",
    "IndependentDirichlet",
    "Model",
    "Posterior",
    "RandomWalk",
    "Sampling",
    "SparseGaussianProcess",
    "fit",
    "from_description",
    "models",
]

_PLACES = {
    "BSpline": "bspline",
    "GaussianProcess": "gaussian_process",
    "HierarchicalDirichlet": "hierarchical",
    "HilbertSpaceGaussianProcess": "hilbert_space",
    "RandomWalk": "random_walk",
    "SparseGaussianProcess": "sparse_gaussian_process",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(f"polarbear.inference.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'polarbear.inference' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

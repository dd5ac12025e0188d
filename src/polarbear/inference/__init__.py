"""Bayesian Plackett–Luce models over time: from choice-set counts to a posterior of the ratings."""

from polarbear.inference import events
from polarbear.inference.checking import (
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
from polarbear.inference.fitting import as_model, as_published, fit, from_description, models, prior
from polarbear.inference.model.bspline import BSpline
from polarbear.inference.model.conditional import ConditionalRatings, fit_conditional
from polarbear.inference.model.gaussian_process import GaussianProcess
from polarbear.inference.model.hierarchical import HierarchicalDirichlet
from polarbear.inference.model.hilbert_space import HilbertSpaceGaussianProcess
from polarbear.inference.model.independent import IndependentDirichlet
from polarbear.inference.model.instance_bootstrap import InstanceBootstrap
from polarbear.inference.model.random_walk import RandomWalk
from polarbear.inference.model.sparse_gaussian_process import SparseGaussianProcess
from polarbear.inference.posterior import Model, Posterior
from polarbear.inference.sampling.diagnostics import Diagnostics
from polarbear.inference.sampling.settings import FitCache, Sampling
from polarbear.inference.takeovers import Handover, Takeover, best_handover, takeovers
from polarbear.inference.wins import Wins

__all__ = [
    "TOO_SURE",
    "BSpline",
    "Check",
    "Comparison",
    "ConditionalRatings",
    "Diagnostics",
    "FitCache",
    "GaussianProcess",
    "Handover",
    "HierarchicalDirichlet",
    "HilbertSpaceGaussianProcess",
    "IndependentDirichlet",
    "InstanceBootstrap",
    "LeaveOneOut",
    "Model",
    "Posterior",
    "RandomWalk",
    "Sampling",
    "SparseGaussianProcess",
    "Takeover",
    "Wins",
    "as_model",
    "as_published",
    "best_handover",
    "check",
    "compare",
    "events",
    "fit",
    "fit_conditional",
    "from_description",
    "leave_one_out",
    "models",
    "overconfidence",
    "overconfidence_of",
    "prior",
    "takeovers",
]

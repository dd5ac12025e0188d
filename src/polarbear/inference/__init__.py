"""Bayesian Plackett–Luce models over time: from choice-set counts to a posterior of the ratings."""

from polarbear.inference.diagnostics import Diagnostics
from polarbear.inference.dirichlet import IndependentDirichlet
from polarbear.inference.model import Model, fit, from_description, models
from polarbear.inference.posterior import Posterior

__all__ = ["Diagnostics", "IndependentDirichlet", "Model", "Posterior", "fit", "from_description", "models"]

"""GP-BBOB: mixtures of the SBOX-BBOB functions whose weights change from place to place.

The generator is that of Wurth et al. (2026), appendix C, equations 39 to 45 and table 3.
"""

from __future__ import annotations

from polarbear.problems.gp_bbob.fields import RandomField
from polarbear.problems.gp_bbob.priors import Prior
from polarbear.problems.gp_bbob.problem import Mixture
from polarbear.problems.gp_bbob.suite import GPBBOB, GPBBOBProblem

__all__ = ["GPBBOB", "GPBBOBProblem", "Mixture", "Prior", "RandomField"]

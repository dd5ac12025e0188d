"""What is optimized: problems, the specifications they are built from, and distributions of instances."""

from __future__ import annotations

from polarbear.problems.affine import AffineBBOBProblem, PairwiseAffine
from polarbear.problems.bbob_noisy import BBOBNoisy, BBOBNoisyProblem
from polarbear.problems.cec import CEC2013, CEC2022, CEC2013Problem, CEC2022Problem
from polarbear.problems.coco_suites import (
    COCOBBOB,
    BBOBBiobj,
    BBOBBiobjExt,
    BBOBBiobjMixint,
    BBOBBoxed,
    BBOBConstrained,
    BBOBLargescale,
    BBOBMixint,
    COCOProblem,
)
from polarbear.problems.constrained import ConstrainedProblem, ConstrainedTrial
from polarbear.problems.constraints import Constraint
from polarbear.problems.descriptions import describe, from_description, register, suite_parameters, suites
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.function import FunctionProblem
from polarbear.problems.gp_bbob import GPBBOB, GPBBOBProblem
from polarbear.problems.instances import FiniteInstances, as_instances, as_spec
from polarbear.problems.ioh_suites import BBOB, SBOX, BBOBProblem, SBOXProblem
from polarbear.problems.known import raw_optimum
from polarbear.problems.ma_bbob import MABBOB, MABBOBProblem, threshold_weights
from polarbear.problems.multiobjective import MultiObjectiveProblem
from polarbear.problems.noise import CauchyNoise, GaussianNoise, NoisyProblem, NoisyTrial, UniformNoise
from polarbear.problems.pbo import PBO, PBOProblem
from polarbear.problems.star_discrepancy import StarDiscrepancy, StarDiscrepancyProblem
from polarbear.problems.submodular import Submodular, SubmodularProblem
from polarbear.problems.variations import Variation, Variations
from polarbear.problems.w_model import WModel, WModelProblem
from polarbear.protocols import Instances, Problem, ProblemSpec, Traits, Trial, traits_of

__all__ = [
    "BBOB",
    "CEC2013",
    "CEC2022",
    "COCOBBOB",
    "GPBBOB",
    "MABBOB",
    "PBO",
    "SBOX",
    "AffineBBOBProblem",
    "BBOBBiobj",
    "BBOBBiobjExt",
    "BBOBBiobjMixint",
    "BBOBBoxed",
    "BBOBConstrained",
    "BBOBLargescale",
    "BBOBMixint",
    "BBOBNoisy",
    "BBOBNoisyProblem",
    "BBOBProblem",
    "BuiltProblem",
    "CEC2013Problem",
    "CEC2022Problem",
    "COCOProblem",
    "CauchyNoise",
    "ConstrainedProblem",
    "ConstrainedTrial",
    "Constraint",
    "FiniteInstances",
    "FunctionProblem",
    "GPBBOBProblem",
    "GaussianNoise",
    "Instances",
    "MABBOBProblem",
    "MultiObjectiveProblem",
    "NoisyProblem",
    "NoisyTrial",
    "PBOProblem",
    "PairwiseAffine",
    "Problem",
    "ProblemSpec",
    "SBOXProblem",
    "StarDiscrepancy",
    "StarDiscrepancyProblem",
    "Submodular",
    "SubmodularProblem",
    "Traits",
    "Trial",
    "UniformNoise",
    "Variation",
    "Variations",
    "WModel",
    "WModelProblem",
    "as_instances",
    "as_spec",
    "describe",
    "from_description",
    "raw_optimum",
    "register",
    "suite_parameters",
    "suites",
    "threshold_weights",
    "traits_of",
]

"""The suites: distributions of problem instances, by their names in study files.

To add a suite, write a file here, import its classes and list them below; describe it in `docs/reference/problems.md`.
"""

from __future__ import annotations

from typing import Any

from polarbear.problems.function import FunctionProblem
from polarbear.problems.instances import FiniteInstances
from polarbear.problems.suite.affine_bbob import AffineBBOBProblem, PairwiseAffine
from polarbear.problems.suite.bbob import BBOB, SBOX, BBOBProblem, SBOXProblem
from polarbear.problems.suite.bbob_noisy import BBOBNoisy, BBOBNoisyProblem
from polarbear.problems.suite.cec import CEC2013, CEC2022, CEC2013Problem, CEC2022Problem
from polarbear.problems.suite.coco import (
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
from polarbear.problems.suite.gp_bbob import GPBBOB, GPBBOBProblem
from polarbear.problems.suite.ma_bbob import MABBOB, MABBOBProblem, threshold_weights
from polarbear.problems.suite.noisy_tasks import NoisyTaskProblem, NoisyTasks
from polarbear.problems.suite.pbo import PBO, PBOProblem, raw_optimum
from polarbear.problems.suite.random_values import RandomValues, RandomValuesProblem
from polarbear.problems.suite.star_discrepancy import StarDiscrepancy, StarDiscrepancyProblem
from polarbear.problems.suite.submodular import Submodular, SubmodularProblem
from polarbear.problems.suite.variations import Variation, Variations
from polarbear.problems.suite.w_model import WModel, WModelProblem

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
    "CEC2013Problem",
    "CEC2022Problem",
    "COCOProblem",
    "GPBBOBProblem",
    "MABBOBProblem",
    "NoisyTaskProblem",
    "NoisyTasks",
    "PBOProblem",
    "PairwiseAffine",
    "RandomValues",
    "RandomValuesProblem",
    "SBOXProblem",
    "StarDiscrepancy",
    "StarDiscrepancyProblem",
    "Submodular",
    "SubmodularProblem",
    "Variation",
    "Variations",
    "WModel",
    "WModelProblem",
    "raw_optimum",
    "threshold_weights",
]

SUITES: dict[str, type[Any]] = {
    "bbob": BBOB,
    "sbox": SBOX,
    "ma-bbob": MABBOB,
    "affine-bbob": PairwiseAffine,
    "pbo": PBO,
    "w-model": WModel,
    "star-discrepancy": StarDiscrepancy,
    "submodular": Submodular,
    "cec2013": CEC2013,
    "cec2022": CEC2022,
    "gp-bbob": GPBBOB,
    "bbob-noisy": BBOBNoisy,
    "noisy-tasks": NoisyTasks,
    "random-values": RandomValues,
    "bbob-largescale": BBOBLargescale,
    "bbob-constrained": BBOBConstrained,
    "bbob-mixint": BBOBMixint,
    "bbob-boxed": BBOBBoxed,
    "bbob-biobj": BBOBBiobj,
    "bbob-biobj-ext": BBOBBiobjExt,
    "bbob-biobj-mixint": BBOBBiobjMixint,
    "coco-bbob": COCOBBOB,
    "variations": Variations,
    "list": FiniteInstances,
    "function": FunctionProblem,
}
"""Distributions of instances, by name."""

PROBLEMS: dict[str, type[Any]] = {
    "bbob": BBOBProblem,
    "sbox": SBOXProblem,
    "ma-bbob": MABBOBProblem,
    "affine-bbob": AffineBBOBProblem,
    "pbo": PBOProblem,
    "w-model": WModelProblem,
    "star-discrepancy": StarDiscrepancyProblem,
    "submodular": SubmodularProblem,
    "cec2013": CEC2013Problem,
    "cec2022": CEC2022Problem,
    "gp-bbob": GPBBOBProblem,
    "bbob-noisy": BBOBNoisyProblem,
    "noisy-tasks": NoisyTaskProblem,
    "random-values": RandomValuesProblem,
    "coco": COCOProblem,
    "variation": Variation,
    "function": FunctionProblem,
}
"""Single problems, as elements of a list."""

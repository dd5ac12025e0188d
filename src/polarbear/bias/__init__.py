"""Structural bias: tests of whether an optimizer's best points on f0, whose values are random, are uniform in the box.

Source: Vermetten (2025), section 3.3, after Vermetten et al. (2022), "BIAS: a toolbox for benchmarking structural bias
in the continuous domain", IEEE Transactions on Evolutionary Computation 26(6).
"""

from __future__ import annotations

from polarbear.bias.across import across_dimensions, across_statistics
from polarbear.bias.judge import Bias, judge
from polarbear.bias.null import critical_values
from polarbear.bias.recorded import SUITE, Verdict, judge_runs
from polarbear.bias.scenarios import Scenario, across_all, per_dimension
from polarbear.bias.shapley import contributions
from polarbear.bias.uniformity import STATISTICS, uniformity_statistics

__all__ = [
    "STATISTICS",
    "SUITE",
    "Bias",
    "Scenario",
    "Verdict",
    "across_all",
    "across_dimensions",
    "across_statistics",
    "contributions",
    "critical_values",
    "judge",
    "judge_runs",
    "per_dimension",
    "uniformity_statistics",
]

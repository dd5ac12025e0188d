"""Every optimizer that can be named in a study file, at its defaults, conforms; but for what is said here."""

import pytest

from polarbear import optimizers
from polarbear.conformance import CHECKS, examine

NEED_ARGUMENTS = {"growing-budgets", "function", "switch"}
FAMILIES = [name for name in optimizers.families() if name not in NEED_ARGUMENTS]
LEAVE_THE_BOX = {"modular-cmaes"}  # as modcma is by itself: nothing keeps its samples in the box
FURTHER = [
    {"optimizer": "growing-budgets", "family": {"optimizer": "modular-de-l-shade"}},
    {
        "optimizer": "switch",
        "first": {"optimizer": "modular-cmaes-anytime"},
        "second": {"optimizer": "modular-de"},
        "at": "20*d",
    },
    {"optimizer": "scipy-minimize", "method": "L-BFGS-B"},
    {"optimizer": "scipy-minimize", "method": "COBYQA"},
    {"optimizer": "nlopt", "algorithm": "GN_CRS2_LM"},
    {"optimizer": "nevergrad", "algorithm": "CMA"},
    {"optimizer": "pymoo", "algorithm": "DE"},
    {"optimizer": "pymoo", "algorithm": "NSGA2"},
    {"optimizer": "pymoo", "algorithm": "MOEAD"},
    {"optimizer": "pymoo", "algorithm": "CTAEA"},
    {"optimizer": "modular-cmaes-anytime", "matrix_adaptation": "SEPARABLE", "step_size_adaptation": "MSR"},
]


def wrong(description):
    found = examine(optimizers.from_description(description), workers=2, timeout=120)
    return {finding.check: finding.wrong for finding in found.findings if not finding.passed}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_conforms_at_its_defaults(family):
    found = wrong({"optimizer": family})
    if family in LEAVE_THE_BOX:
        assert "of its points lie outside" in found.pop("bounds")
    assert found == {}


@pytest.mark.slow
@pytest.mark.parametrize("description", FURTHER, ids=lambda each: "-".join(map(str, list(each.values())[:2])))
def test_others_conform(description):
    found = wrong(description)
    if description.get("step_size_adaptation") == "MSR":  # its steps outgrow the box; then COTN lets points out
        assert "of its points lie outside a box with the optimum in a corner" in found.pop("bounds")
    assert found == {}


def test_a_method_without_bounds_is_found_out():
    found = examine(optimizers.ScipyMinimize(method="BFGS"), checks=["bounds", "budget"])
    assert [finding.passed for finding in found.findings] == [False, True]


@pytest.mark.parametrize("family", ["modular-cmaes-anytime", "random-search"])
@pytest.mark.parametrize("check", CHECKS)
def test_the_ones_of_the_demo_conform(family, check):
    assert CHECKS[check](optimizers.from_description({"optimizer": family})) == ""

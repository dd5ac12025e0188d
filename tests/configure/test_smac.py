"""SMAC under the configurator's ask and tell; skipped where smac is not installed (the extra `smac`)."""

from importlib.util import find_spec

import numpy as np
import pytest

import polarbear as pb
from polarbear.configure import Configurator, spaces
from polarbear.descriptions import FieldError
from polarbear.extras import ExtraMissing
from tests.configure.test_configurator import TIMES, loss, run_of, searched, space

pytestmark = pytest.mark.filterwarnings("ignore:Please use:DeprecationWarning")  # SMAC of ConfigSpace
needs_smac = pytest.mark.skipif(find_spec("smac") is None, reason="smac is not installed; the extra smac brings it")


@pytest.mark.skipif(find_spec("smac") is not None, reason="smac is installed")
def test_without_smac_the_extra_is_named():
    with pytest.raises(ExtraMissing, match=r"strategy 'smac' needs smac; .*polarbear-race\[smac\]"):
        Configurator(space(), times=TIMES, budget=100, strategy="smac")


@needs_smac
def test_smac_refuses_a_ratio():
    with pytest.raises(FieldError, match="criterion is 'ert'; SMAC needs a mean"):
        Configurator(space(), times=TIMES, budget=100, strategy="smac", criterion="ert")


@needs_smac
@pytest.mark.slow
def test_smac_finds_what_is_better_than_the_default_and_starts_with_it():
    """The default's loss is 2, that of a random configuration 1.2 ± 0.7."""
    configurator, asked = searched(strategy="smac", budget=100)
    assert asked[0].key.algorithm == "default"
    assert configurator.spent == len(asked) == 100
    assert len({(each.key.algorithm, each.key.seed) for each in asked}) == 100
    assert all(not space().fault(each) for each in configurator.configurations.values())
    assert configurator.iterations[0].elites == configurator.elites
    assert loss(configurator.configurations[configurator.elites[0]]) < 1
    draws = {each.draw: each.key.seed for each in asked}
    assert len(set(draws.values())) == len(draws) > 1


@needs_smac
def test_smac_ends_with_a_small_space_and_is_told_of_runs_without_a_value():
    small = spaces.of(pb.optimizers.ModularCMAES, ["active"])
    configurator = Configurator(small, times=TIMES, budget=200, strategy="smac", criterion="final")
    asked = 0
    while requests := configurator.ask():
        (request,) = requests
        active, asked = configurator.configurations[request.key.algorithm]["active"], asked + 1
        run = run_of(request, {"mirrored": "NONE", "active": active})
        lost = pb.Trajectory([], [], [], pb.Outcome(pb.Reason.TIMED_OUT, 1, 0.5))
        configurator.tell([run if active else pb.Run(request.key, lost)])
    assert len(configurator.configurations) == 2
    assert configurator.configurations[configurator.elites[0]] == {"active": True}
    assert asked <= 200
    assert np.isfinite(configurator.spent)

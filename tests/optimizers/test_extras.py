"""Packages that may be missing."""

import sys

import pytest

from polarbear.extras import ExtraMissing
from polarbear.optimizers import CMAES, AskTell, ModularDE, Nevergrad, NLopt, PyCMA, Pymoo, RandomSearch
from tests.optimizers.seen import Seen

FAMILIES = {
    "cma": (PyCMA(), "cma"),
    "cmaes": (CMAES(), "cmaes"),
    "modde": (ModularDE(), "modde"),
    "nevergrad": (Nevergrad(), "nevergrad"),
    "nlopt": (NLopt(), "nlopt"),
    "pymoo": (Pymoo(), "pymoo"),
}


@pytest.mark.parametrize("module", FAMILIES)
def test_a_missing_package_names_its_extra(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    optimizer, extra = FAMILIES[module]
    assert optimizer.requires == (module, extra)
    with pytest.raises(
        ExtraMissing, match=rf"needs {module}; install it with: pip install 'polarbear-race\[{extra}\]'"
    ):
        Seen().run(optimizer)


def test_asking_and_telling_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "greenlet", None)
    with pytest.raises(ExtraMissing, match=r"needs greenlet; install it with: pip install 'polarbear-race\[asktell\]'"):
        AskTell(RandomSearch(), [0.0], [1.0], 1)

"""One declaration makes an optimizer known: by its name, its presets and its options."""

import importlib
import pkgutil
from dataclasses import field

import pytest

from polarbear import optimizers
from polarbear.optimizers import adapters, nevergrad_optimizers
from polarbear.optimizers.settings import FAMILIES, family


@pytest.fixture
def declared(monkeypatch):
    """A family that is declared as those of the package are."""
    for name in ("sketch", "sketch-fast"):
        monkeypatch.setitem(FAMILIES, name, None)

    @family("sketch", "Sketch-{kind}", presets={"sketch-fast": {"rate": 2.0}}, pace="at {}")
    class Sketch:
        kind: str = "plain"
        rate: float = 1.0
        pace: str = "walk"
        smooth: bool = True
        options: dict = field(default_factory=dict, hash=False)
        name: str = ""

        def __call__(self, problem, rng):
            problem(problem.lower)

    return Sketch


def test_a_family_and_its_presets_are_listed_and_described(declared):
    assert {"sketch", "sketch-fast"} <= set(optimizers.families())
    assert optimizers.family_parameters("sketch-fast")["rate"] == 2.0
    assert optimizers.describe(declared()) == {"optimizer": "sketch"}
    assert optimizers.describe(declared(rate=2.0, kind="round")) == {"optimizer": "sketch-fast", "kind": "round"}
    for description in ({"optimizer": "sketch-fast"}, {"optimizer": "sketch", "rate": 3.0, "name": "mine"}):
        assert optimizers.describe(optimizers.from_description(description)) == description


def test_names_follow_from_the_declaration(declared):
    assert declared().name == "Sketch-plain"
    assert declared(kind="round", pace="run", smooth=False, options={"a": 1, "b": 2}).name == (
        "Sketch-round-at run-not-smooth-a=1-b=2"
    )
    assert declared(rate=0.5, name="mine").name == "mine"


def test_a_misspelt_argument_is_answered_by_the_closest_one(declared):
    with pytest.raises(TypeError, match=r"Sketch has no argument 'rat'; did you mean 'rate'\? valid are: kind, name"):
        declared(rat=1)


def test_each_file_of_the_adapters_is_imported_and_declares_what_it_holds():
    files = {module.name for module in pkgutil.iter_modules(adapters.__path__)} - {"callbacks"}
    declaring = {cls.__module__.rpartition(".")[2] for cls, _ in FAMILIES.values()}
    assert len(files) > 7
    assert files <= declaring


def test_the_former_place_of_nevergrad_s_registry_is_still_there():
    assert importlib.import_module("polarbear.optimizers.nevergrad_optimizers") is nevergrad_optimizers
    assert "OnePlusOne" in nevergrad_optimizers.registry().works

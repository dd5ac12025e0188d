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
    with pytest.raises(TypeError, match=r"Sketch has no argument 'rat'; did you mean 'rate'\? choose from: kind, name"):
        declared(rat=1)


def test_each_file_of_the_adapters_is_imported_and_declares_what_it_holds():
    files = {module.name for module in pkgutil.iter_modules(adapters.__path__)} - {"callbacks"}
    declaring = {cls.__module__.rpartition(".")[2] for cls, _ in FAMILIES.values()}
    assert len(files) > 7
    assert files <= declaring


def test_the_former_place_of_nevergrad_s_registry_is_still_there():
    assert importlib.import_module("polarbear.optimizers.nevergrad_optimizers") is nevergrad_optimizers
    assert "OnePlusOne" in nevergrad_optimizers.registry().works


@pytest.mark.parametrize(
    ("name", "family", "fields"),
    [
        ("scipy-DE", "scipy-differential-evolution", {}),
        ("scipy-COBYLA", "scipy-minimize", {"method": "COBYLA"}),
        ("nlopt-COBYLA", "nlopt", {"algorithm": "LN_COBYLA"}),
        ("nlopt-LN_COBYLA", "nlopt", {"algorithm": "LN_COBYLA"}),
        ("pymoo-NSGA2", "pymoo", {"algorithm": "NSGA2"}),
    ],
)
def test_an_algorithm_of_a_library_goes_by_both_names(name, family, fields):
    made = optimizers.from_description({"optimizer": name})
    assert made == optimizers.from_description({"optimizer": family, **fields})
    assert optimizers.describe(made) == {"optimizer": family, **fields}


def test_names_with_a_library_that_say_nothing_are_refused():
    with pytest.raises(ValueError, match="algorithm is 'COBILA'; did you mean"):
        optimizers.from_description({"optimizer": "nlopt-COBILA"})
    with pytest.raises(ValueError, match="already names its method; leave out method = 'Powell'"):
        optimizers.from_description({"optimizer": "scipy-COBYLA", "method": "Powell"})
    with pytest.raises(ValueError, match="optimizer 'scipi-COBYLA' is unknown"):
        optimizers.from_description({"optimizer": "scipi-COBYLA"})


def test_every_listed_algorithm_of_a_library_can_be_made():
    for name, listed in optimizers.library_algorithms().items():
        if not name.startswith("nevergrad"):  # 359 of one kind
            assert optimizers.describe(optimizers.from_description({"optimizer": name}))["optimizer"] == listed

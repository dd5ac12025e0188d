"""Configuration spaces: what they contain, hold to be valid, and refuse."""

import numpy as np
import pytest

from polarbear.configure import spaces
from polarbear.optimizers import ModularCMAES, ModularDE

MIXED = {"modules": ["mirrored", "active"], "c1": (0, 1), "population_size": (4, 40), "when": {"c1": {"active": True}}}


@pytest.mark.parametrize(
    ("extent", "combinations"),
    [("baseline", 5_184), ("step sizes", 18_144), ("bounds", 31_104), ("all", 108_864)],
)
def test_the_spaces_of_the_thesis_have_the_printed_sizes(extent, combinations):
    assert spaces.modular_cmaes(extent).combinations == combinations


def test_samples_repeat_with_the_seed_and_are_valid():
    space = spaces.of(ModularCMAES, **MIXED)
    first, again, other = (space.sample(np.random.default_rng(seed), 60) for seed in (1, 1, 2))
    assert first == again != other
    assert all(("c1" in each) == each["active"] for each in first)
    assert not any(each["mirrored"] == "PAIRWISE" and each["population_size"] % 2 for each in first)
    assert any(each["population_size"] % 2 for each in first)
    assert space.optimizer(first[0]).population_size == first[0]["population_size"]


def test_a_configuration_is_faulty_before_any_run():
    space = spaces.of(ModularCMAES, **MIXED)
    odd = {"mirrored": "PAIRWISE", "active": False, "population_size": 5}
    assert "must be even" in space.fault(odd)
    assert space.fault(odd | {"mirrored": "NONE"}) == ""
    assert space.fault(odd | {"mirrored": "NONE", "c1": 0.5})  # c1 is not active
    assert "no parameter 'c2'" in space.fault(odd | {"c2": 1})
    with pytest.raises(ValueError, match="must be even"):
        space.optimizer(odd)


def test_neighbours_differ_in_one_parameter_and_what_depends_on_it():
    space = spaces.of(ModularCMAES, **MIXED)
    centre = {"mirrored": "NONE", "active": False, "population_size": 8}
    near = space.neighbours(centre, np.random.default_rng(1))
    changed = [{key for key in each.keys() | centre.keys() if each.get(key) != centre.get(key)} for each in near]
    assert {frozenset(keys - {"c1"}) for keys in changed} == {frozenset([name]) for name in centre}
    assert all(("c1" in each) == each["active"] for each in near)
    assert {each["mirrored"] for each in near} == {"NONE", "MIRRORED", "PAIRWISE"}


def test_configurations_are_encoded_by_column():
    space = spaces.of(ModularCMAES, ["active"], c1=(0, 2), cc={"from": 0.01, "to": 1, "log": True}, when=MIXED["when"])
    assert space.columns == ("active=False", "active=True", "c1", "cc")
    X = space.encode([{"active": True, "c1": 0.5, "cc": 0.1}, {"active": False, "cc": 1.0}])
    np.testing.assert_allclose(X, [[0, 1, 0.25, 0.5], [1, 0, 0, 1]])


def test_defaults_are_the_optimizers_own():
    space = spaces.of(ModularDE, ["mutation_base", "lpsr"], F=(0.1, 2), fixed={"CR": 0.7})
    assert space.default == {"F": 0.5, "lpsr": False, "mutation_base": "RAND"}
    assert space.optimizer(space.default).CR == 0.7


def test_what_the_optimizer_chooses_by_itself_is_missing_in_the_default():
    """The population size is None, by dimension, and c1 is, too; the sampler is Gaussian."""
    modules = {"sampler": ["HALTON", "SOBOL"], "active": [False, True]}
    space = spaces.of(ModularCMAES, modules, c1=(0, 1), population_size=(4, 40), fixed={"elitist": True})
    assert space.default == {"active": False}
    assert space.left_to_optimizer == ("c1", "population_size", "sampler")
    assert space.fault(space.default) == ""
    assert space.optimizer(space.default) == ModularCMAES(elitist=True)
    assert "c1" in space.fault({"active": True})  # only the default may lack parameters
    near = space.neighbours(space.default, np.random.default_rng(1))
    assert {frozenset(each) for each in near} == {frozenset(space.names)}
    np.testing.assert_array_equal(space.encode([space.default]), [[1, 0, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match="does not know its optimizer's defaults"):
        assert spaces.from_stored(space.describe()).default


def test_a_preset_keeps_its_arguments():
    space = spaces.of("modular-cmaes-anytime", ["active"])
    assert space.optimizer(space.default) == ModularCMAES.anytime()


def test_toml_describes_the_same_space(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(
        'optimizer = "modular-cmaes"\nmodules = ["mirrored", "active"]\n'
        "[ranges]\nc1 = [0, 1]\npopulation_size = [4, 40]\n[when]\nc1 = {active = true}\n"
    )
    rng = np.random.default_rng
    assert spaces.read(path).sample(rng(3), 9) == spaces.of(ModularCMAES, **MIXED).sample(rng(3), 9)
    path.write_text('optimizer = "modular-cmaes"\nmodulos = ["active"]\n')
    with pytest.raises(ValueError, match=r"space\.toml.*did you mean 'modules'"):
        spaces.read(path)


def test_a_table_of_the_wrong_kind_is_named(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text('optimizer = "modular-cmaes"\nranges = 3\n')
    with pytest.raises(ValueError, match=r"space\.toml.*ranges is 3; it must be a table"):
        spaces.read(path)


def test_a_range_may_have_the_name_of_an_option_of_this_function():
    with pytest.raises(ValueError, match="has no argument 'modules'"):
        spaces.from_description({"optimizer": "modular-cmaes", "ranges": {"modules": [0, 1]}})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "is empty"),
        ({"modules": ["activ"]}, "declares no options for 'activ'"),
        ({"modules": {"active": []}}, "at least 1 option"),
        ({"c2": (0, 1)}, "no argument 'c2'"),
        ({"c1": ("a", 1)}, "c1"),
        ({"c1": (0, float("nan"))}, "c1"),
        ({"c1": (1, 0)}, "the first must be below"),
        ({"c1": {"from": 0, "to": 1, "log": True}}, "above 0"),
        ({"c1": 3}, "lowest and the highest"),
        ({"population_size": (4.5, 9)}, "whole numbers"),
        ({"c1": (0, 1), "fixed": {"c1": 0.5}}, "given twice"),
        ({"c1": (0, 1), "when": {"c1": {"active": True}}}, "no parameter 'active'"),
        ({"modules": ["active"], "c1": (0, 1), "when": {"c1": {"active": "on"}}}, "on"),
        ({"modules": "active"}, "it must be a list of names, such as"),
        ({"modules": {"mirrored": ["NOPE"]}}, "mirrored has no option 'NOPE'"),
        (
            {"modules": ["active", "elitist"], "when": {"active": {"elitist": True}, "elitist": {"active": True}}},
            "are circular: .* needs .* needs",
        ),
    ],
)
def test_bad_spaces_are_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        spaces.of(ModularCMAES, **arguments)


def test_a_space_without_valid_configurations_says_why():
    space = spaces.of(ModularCMAES, {"mirrored": ["PAIRWISE"], "population_size": [5, 7]})
    with pytest.raises(ValueError, match=r"contradictory.*must be even"):
        space.sample(np.random.default_rng(1))


def test_a_space_without_a_parameter_has_nothing_that_depends_on_it():
    when = {"c1": {"active": True, "elitist": True}, "cmu": {"elitist": True}}
    space = spaces.of(ModularCMAES, ["active", "mirrored", "elitist"], c1=(0, 1), cmu=(0, 1), when=when)
    assert space.without("elitist").names == ("active", "mirrored")
    assert space.without("active").names == ("cmu", "elitist", "mirrored")
    assert space.without("c1").names == ("active", "cmu", "elitist", "mirrored")
    for name in space.names:
        (drawn,) = space.without(name).sample(np.random.default_rng(1))
        assert getattr(space.without(name).optimizer(drawn), name) == getattr(ModularCMAES(), name)
    with pytest.raises(ValueError, match="the space has only 'active' and what depends on it"):
        spaces.of(ModularCMAES, ["active"]).without("active")


def test_modular_de_has_the_modules_and_single_module_variants_that_the_thesis_counts():
    """Section 4.2.1 counts 30 single-module variants; table 4.3 has 11 variants."""
    space = spaces.modular_de(5, budget=10_000)
    modules = [name for name in space.names if hasattr(space.space[name], "choices")]
    assert len(modules) == 14
    assert sum(len(space.space[name].choices) - 1 for name in modules) == 30
    assert space.combinations == 4 * 2 * 3 * 4 * 2 * 2 * 2 * 2 * 2 * 10 * 4 * 3 * 2 * 2
    default = space.optimizer(space.default)
    assert default == ModularDE(budget=10_000)
    for drawn in space.sample(np.random.default_rng(1), 30):
        assert ("F" in drawn) == (drawn["adaptation_method_F"] == "NONE")
        assert 4 <= drawn["population_size"] <= 100


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_the_variants_of_the_thesis_are_configurations_of_modular_de(dimension):
    space, variants = spaces.modular_de(dimension), spaces.modular_de_variants(dimension)
    assert len(variants) == 11
    for name, configuration in variants.items():
        found, meant = (
            {key: np.asarray(value).tolist() for key, value in each.settings(dimension, 1).items()}
            for each in (space.optimizer(configuration), ModularDE.variant(name))
        )
        assert found == meant

"""Modular DE: every module reaches `modde` and takes effect; runs as `modde` makes them; the variants of table 4.3."""

import itertools
import json
import pickle
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

from polarbear.experiment import execute
from polarbear.optimizers import describe, from_description
from polarbear.optimizers.adapters.modde import OPTIONS, PRESETS, VARIANTS, ModularDE
from polarbear.protocols import PLAIN
from polarbear.records import Reason
from tests.optimizers.seen import STRANGE, Watcher, task

modde = pytest.importorskip("modde", reason="modde is not installed (extra modde)")

CHOICES = [(module, word) for module, words in OPTIONS.items() for word in words]
SWITCHES = [field.name for field in fields(ModularDE) if isinstance(field.default, bool) and field.name != "restarts"]
SWITCHED = [(switch, True) for switch in SWITCHES]
BOX = np.full(3, -2.0), np.full(3, 6.0)
FURTHER = [("mutation_n_comps", 2), ("oppositional_generation_probability", 0.5)]


class IohLike:
    """What `modde` needs of an `ioh` problem, written down anew: the reference to run it directly."""

    def __init__(self, function, dimension):
        self.meta_data = SimpleNamespace(n_variables=dimension)
        self.state = SimpleNamespace(evaluations=0, optimum_found=False)
        self.function, self.points = function, []

    def __call__(self, x):
        self.state.evaluations += 1
        self.points.append(np.array(x))
        return self.function(x)


def directly(seed, dimension, function, budget, **parameters):
    """The points of a run of `modde` in [0, 1]^d."""
    problem = IohLike(function, dimension)
    box = {"lb": np.zeros((dimension, 1)), "ub": np.ones((dimension, 1))}
    modde.ModularDE(problem, budget=budget, seed=seed, **box, **parameters).run()
    return np.array(problem.points)


def first_seed(seed):
    """What the optimizer draws first from its generator."""
    return int(np.random.default_rng(seed).integers(2**31))


def sphere_in_unit_box(u):
    return float(((u - 0.3) ** 2).sum())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"base_sampler": "LHC", "mutation_base": "best"}, {"base_sampler": "LHC", "mutation_base": "best"}),
        ({"base_sampler": "halton"}, {"base_sampler": "halton"}),
        ({"mutation_reference": "pbest"}, {"mutation_reference": "pbest"}),
        ({"bound_correction": "MIRROR", "F": 0.9}, {"bound_correction": "mirror", "F": np.array([0.9])}),
        ({"bound_correction": "expc-center", "F": 1.0}, {"bound_correction": "expc_center", "F": np.array([1.0])}),
        ({"crossover": "EXP", "CR": 0.8}, {"crossover": "exp", "CR": np.array([0.8])}),
        ({"eigenvalue_crossover": True}, {"eigenvalue_crossover": True}),
        ({"adaptation_method_F": "shade modified"}, {"adaptation_method_F": "shade_modified"}),
        ({"adaptation_method_F": "JDE", "adaptation_method_CR": "JDE"},
         {"adaptation_method_F": "jDE", "adaptation_method_CR": "jDE"}),
        ({"mutation_n_comps": 2, "use_jso_caps": True, "adaptation_method_F": "SHADE"},
         {"mutation_n_comps": 2, "use_jso_caps": True, "adaptation_method_F": "shade"}),
        ({"mutation_use_weighted_F": True, "oppositional_generation_probability": 0.3},
         {"mutation_use_weighted_F": True, "oppositional_generation_probability": 0.3}),
        ({"population_size": 17, "oppositional_initialization": True},
         {"lambda_": 17, "oppositional_initialization": True}),
        ({"memory_size": 5, "adaptation_method_CR": "SHADE"}, {"memory_size": 5, "adaptation_method_CR": "shade"}),
        (VARIANTS["L-SHADE"], {
            "mutation_base": "target", "mutation_reference": "pbest", "use_archive": True, "lpsr": True,
            "adaptation_method_F": "shade", "adaptation_method_CR": "shade", "lambda_": 18 * 4}),
        (VARIANTS["Gamperle1"], {
            "mutation_reference": "best", "mutation_n_comps": 2, "F": np.array([0.45]), "CR": np.array([0.4]),
            "lambda_": 2 * 4}),
    ],
)  # fmt: skip
def test_it_evaluates_the_points_that_modde_evaluates(ours, theirs, record):
    """In [0, 1]^4, given a budget: then the whole run is `modde`'s, to the bit."""
    optimizer = ModularDE(**ours, budget=600, restarts=False)
    run = record(sphere_in_unit_box, 10_000, 4, 0.0, 1.0).run(optimizer, 5)
    expected = directly(first_seed(5), 4, sphere_in_unit_box, 600, **theirs)
    assert not run.stopped
    assert len(expected) >= 600
    np.testing.assert_array_equal(run.points, expected)


def test_the_search_is_the_same_in_any_box(record):
    lower, width = np.array([3.0, -100.0, 0.0]), np.array([0.01, 1000.0, 7.0])
    for variant in VARIANTS:
        optimizer = ModularDE.variant(variant, oppositional_generation_probability=0.2, bound_correction="MIRROR")
        here = record(sphere_in_unit_box, 300, 3, 0.0, 1.0).run(optimizer)
        there = record(lambda x: sphere_in_unit_box((x - lower) / width), 300, 3, lower, lower + width).run(optimizer)
        np.testing.assert_allclose((np.array(there.points) - lower) / width, here.points, atol=1e-6)


def test_the_options_are_those_of_modde():
    own = modde.Parameters.__annotations__
    for module, words in OPTIONS.items():
        assert set(words.values()) == set(own[module]), module
    for switch in SWITCHES:
        assert own[switch] is bool
    assert set(modde.Parameters.__modules__) <= {*OPTIONS, *SWITCHES, "mutation_n_comps"}


def test_the_defaults_are_those_of_modde():
    own = modde.Parameters(5, budget=100)
    given = modde.Parameters(**ModularDE(budget=100).settings(5, 0))
    for name in (*OPTIONS, *SWITCHES, "mutation_n_comps", "lambda_", "oppositional_generation_probability"):
        assert getattr(given, name) == getattr(own, name), name
    np.testing.assert_array_equal(given.F, own.F)
    np.testing.assert_array_equal(given.CR, own.CR)
    assert modde.Parameters(**ModularDE().settings(5, 0)).budget == 10_000 * 5
    assert modde.Parameters(**ModularDE(lpsr=True).settings(5, 0)).lambda_ == 18 * 5


TABLE_4_3 = {  # mutation base, reference, differences, F, CR, λ at d = 7, reduction, archive, adaptation
    "L-SHADE": ("target", "pbest", 1, None, None, 126, True, True, "shade"),
    "SHADE": ("target", "pbest", 1, None, None, 70, False, True, "shade"),
    "DAS1": ("rand", None, 1, 0.8, 0.9, 70, False, False, None),
    "DAS2": ("target", "best", 1, 0.8, 0.9, 70, False, False, None),
    "Qin1": ("rand", None, 1, 0.9, 0.9, 50, False, False, None),
    "Qin2": ("rand", None, 1, 0.5, 0.3, 50, False, False, None),
    "Qin3": ("rand", "best", 1, 0.5, 0.3, 50, False, False, None),
    "Qin4": ("rand", "best", 2, 0.5, 0.3, 50, False, False, None),
    "Gamperle1": ("rand", "best", 2, 0.45, 0.4, 14, False, False, None),
    "Gamperle2": ("rand", "best", 2, 0.6, 0.9, 14, False, False, None),
    "jDE": ("rand", None, 1, None, None, 100, False, False, "jDE"),
}


@pytest.mark.parametrize("variant", TABLE_4_3)
def test_the_variants_are_those_of_table_4_3(variant):
    base, reference, differences, weight, rate, size, reduction, archive, adaptation = TABLE_4_3[variant]
    optimizer = ModularDE.variant(variant.lower())
    assert optimizer.name == variant
    assert optimizer == ModularDE(**PRESETS[f"modular-de-{variant.lower()}"])
    given = modde.Parameters(**optimizer.settings(7, 0))
    assert (given.mutation_base, given.mutation_reference, given.mutation_n_comps) == (base, reference, differences)
    assert (given.lambda_, given.lpsr, given.use_archive) == (size, reduction, archive)
    assert (given.adaptation_method_F, given.adaptation_method_CR) == (adaptation, adaptation)
    if weight is not None:
        assert (given.F[0], given.CR[0]) == (weight, rate)
    others = ("base_sampler", "oppositional_initialization", "crossover", "eigenvalue_crossover", "use_jso_caps",
              "mutation_use_weighted_F", "bound_correction", "oppositional_generation_probability")  # fmt: skip
    assert all(getattr(given, name) == getattr(modde.Parameters(7), name) for name in others)
    assert set(TABLE_4_3) == set(VARIANTS)


@pytest.mark.parametrize(("module", "word"), [*CHOICES, *SWITCHED, *FURTHER])
def test_every_option_runs_in_the_box_and_is_reproducible(module, word, record, functions):
    optimizer = ModularDE(**{module: word}, budget=150)
    box = (3, [0, -7, 2], [1, 30, 2.5])
    runs = [record(functions["rastrigin"], 400, *box).run(optimizer, seed) for seed in (3, 3, 4)]
    assert [len(run.points) for run in runs] == [400] * 3
    np.testing.assert_array_equal(runs[0].points, runs[1].points)
    assert not np.array_equal(runs[0].points, runs[2].points)
    assert word == "NONE" or not runs[0].outside.any()


EFFECTIVE = [(module, word) for module, word in (*CHOICES, *SWITCHED, *FURTHER) if word != getattr(ModularDE(), module)]


@pytest.mark.parametrize(("module", "word"), EFFECTIVE)
def test_every_option_changes_the_run(module, word, record, functions):
    """From a base in which CR adapts, so that its caps show, and steps are long, so that points leave the box."""
    base = {"F": 0.9, "budget": 400}
    base |= {} if module == "adaptation_method_CR" else {"adaptation_method_CR": "JDE"}
    runs = [
        record(functions["sphere"], 400, 4, -1, 1.0001).run(optimizer)
        for optimizer in (ModularDE(**base), ModularDE(**(base | {module: word})))
    ]
    assert not np.array_equal(runs[0].points, runs[1].points)


def test_without_correction_points_leave_the_box(record, functions):
    assert record(functions["rastrigin"], 500, 3, -1, 1).run(ModularDE(bound_correction="NONE")).outside.any()


def test_it_starts_again_after_its_budget_and_the_overshoot_is_evaluated(record):
    optimizer = ModularDE.variant("L-SHADE", budget=300)
    run = record(sphere_in_unit_box, 1_000, 5, 0.0, 1.0).run(optimizer)
    rng = np.random.default_rng(0)
    expected = [
        directly(int(rng.integers(2**31)), 5, sphere_in_unit_box, 300, mutation_base="target", lambda_=90,
                 mutation_reference="pbest", use_archive=True, lpsr=True, adaptation_method_F="shade",
                 adaptation_method_CR="shade")
        for _ in range(4)
    ]  # fmt: skip
    assert len(expected[0]) > 300
    np.testing.assert_array_equal(run.points, np.concatenate(expected)[:1_000])
    assert run.stopped


def test_the_population_shrinks_over_the_budget():
    sizes = {budget: sizes_at_the_end(budget) for budget in (1_000, 4_000)}
    assert sizes[1_000] < 20 < sizes[4_000]


def sizes_at_the_end(budget):
    seen = Watcher(lambda x: float(x @ x), 990, *BOX)
    with pytest.raises(KeyboardInterrupt):
        ModularDE.variant("L-SHADE", budget=budget)(seen, np.random.default_rng(0))
    return seen.getters["population_size"]()


def test_what_it_exposes_is_the_state_of_modde(monkeypatch):
    made = []
    init = modde.ModularDE.__init__

    def spied(self, *args, parameters):
        made.append(parameters)
        init(self, *args, parameters=parameters)

    monkeypatch.setattr(modde.ModularDE, "__init__", spied)
    values = []

    def function(x):
        own, shown = made[-1], {name: getter() for name, getter in problem.getters.items()}
        assert shown["population_size"] == own.lambda_
        assert shown["mean_F"] == pytest.approx(np.mean(own.F))
        assert shown["mean_CR"] == pytest.approx(np.mean(own.CR))
        if own.population is None:
            assert np.isnan(shown["spread"])
        else:
            assert shown["spread"] == pytest.approx(np.mean([np.std(row) for row in own.population.x]))
        if values:
            best = int(np.argmin(values))
            np.testing.assert_array_equal(problem.recommended(), problem.points[best])
        values.append(float((x - 1) @ (x - 1)))
        return values[-1]

    problem = Watcher(function, 700, *BOX)
    with pytest.raises(KeyboardInterrupt):
        ModularDE.variant("L-SHADE", budget=400)(problem, np.random.default_rng(2))
    assert len(made) == 2
    assert len(values) == 700


def test_global_random_states_are_left_alone(record, functions):
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    record(functions["sphere"], 300).run(ModularDE.variant("L-SHADE"))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("function", STRANGE)
@pytest.mark.parametrize("variant", VARIANTS)
def test_it_survives_strange_values(variant, function):
    optimizer = ModularDE.variant(variant, budget=300, oppositional_generation_probability=0.3, use_jso_caps=True)
    for dimension, seed in ((1, 1), (1, 2), (1, 3), (3, 1)):
        run = execute(task(optimizer, STRANGE[function], dimension, seed=seed))
        assert (run.outcome.reason, run.outcome.evaluations) == (Reason.BUDGET, 500), run.outcome.message


@pytest.mark.parametrize(("first", "second"), list(itertools.pairwise([*CHOICES, *SWITCHED, *FURTHER])))
def test_it_runs_in_one_variable(first, second):
    run = execute(
        task(ModularDE(**({"lpsr": True, "budget": 100} | dict([first, second]))), lambda x: float(x @ x), 1, 250)
    )
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.BUDGET, 250), run.outcome.traceback


@pytest.mark.parametrize(
    ("keywords", "least"),
    [
        ({}, 2),
        ({"lpsr": True}, 3),
        ({"lpsr": True, "mutation_base": "BEST"}, 2),
        ({"lpsr": True, "mutation_n_comps": 2, "mutation_reference": "RAND", "use_archive": True}, 7),
    ],
)
def test_the_population_is_never_another_than_told(keywords, least):
    """The least one is the size that `modde` reduces to."""
    if "lpsr" in keywords:
        settings = ModularDE(**keywords, population_size=least).settings(2, 0)
        assert modde.Parameters(**settings).min_lambda == settings["lambda_"] == least
    with pytest.raises(ValueError, match=f"population_size is {least - 1}"):
        ModularDE(**keywords, population_size=least - 1)
    for dimension in (1, 2, 3, 5):
        optimizer = ModularDE(**keywords, population_per_variable=1, budget=100)
        run = execute(task(optimizer, lambda x: float(x @ x), dimension, 250))
        if dimension < least:
            assert f"a population of {dimension} in dimension {dimension}" in optimizer.refuses(PLAIN, dimension)
            assert f"needs {least} or more" in run.outcome.message
        else:
            assert not optimizer.refuses(PLAIN, dimension)
            assert (run.outcome.reason, run.outcome.evaluations) == (Reason.BUDGET, 250), run.outcome.traceback


@pytest.mark.parametrize("variant", ["Gamperle2", "DAS2", "jDE"])
def test_it_runs_in_a_thousand_variables(variant):
    run = execute(task(ModularDE.variant(variant), lambda x: float(x @ x), 1000, 150))
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.BUDGET, 150), run.outcome.traceback


def test_an_error_of_the_objective_is_the_run_s_outcome():
    def failing(x):
        raise ArithmeticError("no value here")

    run = execute(task(ModularDE(), failing))
    assert run.outcome.reason is Reason.FAILED
    assert "no value here" in run.outcome.message


def test_it_solves_what_it_should(record, functions):
    for variant in ("L-SHADE", "SHADE", "DAS2"):
        run = record(functions["sphere"], 5_000, 5).run(ModularDE.variant(variant, budget=5_000))
        assert run.best < 1e-3, variant


@pytest.mark.parametrize(
    ("keywords", "error", "complaint"),
    [
        ({"base": "RAND"}, TypeError, "no argument 'base'.*mutation_base"),
        ({"mutation_base": "current"}, ValueError, "choose from: BEST, RAND, TARGET"),
        ({"mutation_reference": None}, TypeError, "one of the words BEST, NONE, PBEST, RAND"),
        ({"mutation_n_comps": 3}, ValueError, "mutation_n_comps is 3; it must be from 1 to 2"),
        ({"lpsr": "yes"}, TypeError, "true or false"),
        ({"F": 2.5}, ValueError, "F is 2.5; it must be from 0 to 2"),
        ({"CR": float("nan")}, ValueError, "CR is nan"),
        ({"budget": 0}, ValueError, "budget is 0"),
        ({"population_size": 10, "population_per_variable": 2}, ValueError, "give only one of them"),
        ({"pbest_value": 0.0}, ValueError, "pbest_value is 0.0; it must be from 1e-12"),
        (
            {"population_size": 4, "lpsr": True, "mutation_base": "rand", "mutation_n_comps": 2},
            ValueError,
            "population_size is 4; with lpsr, this mutation needs 5 or more",
        ),
    ],
)
def test_wrong_arguments_are_named(keywords, error, complaint):
    with pytest.raises(error, match=complaint):
        ModularDE(**keywords)


def test_an_unknown_variant_lists_all():
    with pytest.raises(ValueError, match=r"did you mean 'L-SHADE'\? choose from: DAS1, DAS2, Gamperle1"):
        ModularDE.variant("LSHADES")


def test_names_say_what_is_special():
    assert ModularDE().name == "ModDE"
    assert ModularDE(mutation_base="best", use_archive=True).name == "ModDE-mutation_base=BEST-use_archive"
    assert ModularDE.variant("SHADE", F=0.7).name == "SHADE-F=0.7"
    assert ModularDE.variant("L-SHADE", budget=500).name == "L-SHADE-budget=500"


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_come_back_from_their_descriptions(variant):
    name = f"modular-de-{variant.lower()}"
    assert from_description({"optimizer": name}) == ModularDE.variant(variant)
    assert describe(ModularDE.variant(variant, budget=70)) == {"optimizer": name, "budget": 70}


def test_it_is_a_frozen_value():
    optimizer = ModularDE.variant("jde", budget=10)
    assert pickle.loads(pickle.dumps(optimizer)) == optimizer
    assert hash(optimizer) == hash(ModularDE(**json.loads(json.dumps(VARIANTS["jDE"])), budget=10))
    with pytest.raises(AttributeError):
        optimizer.lpsr = True


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("given", "size"), [({"population_size": 43}, 43), ({"population_per_variable": 6}, 42)])
def test_a_size_given_takes_the_place_of_the_variant_s(variant, given, size):
    name, optimizer = f"modular-de-{variant.lower()}", ModularDE.variant(variant, **given)
    assert from_description({"optimizer": name} | given) == optimizer
    assert modde.Parameters(**optimizer.settings(7, 0)).lambda_ == size
    kept = {key: value for key, value in VARIANTS[variant].items() if not key.startswith("population_")}
    assert {key: getattr(optimizer, key) for key in kept} == kept
    described = describe(optimizer)
    assert None not in described.values()
    assert from_description(json.loads(json.dumps(described))) == optimizer


def test_names_and_descriptions_of_resized_variants_are_short():
    optimizer = ModularDE.variant("L-SHADE", population_size=40, F=0.7)
    assert optimizer.name == "L-SHADE-F=0.7-population_size=40"
    assert describe(optimizer) == {"optimizer": "modular-de-l-shade", "F": 0.7, "population_size": 40}
    assert ModularDE(F=0.9, CR=0.9).name == "Qin1-population_size=None"  # its size is 10 d
    with pytest.raises(ValueError, match="give only one of them"):
        ModularDE.variant("L-SHADE", population_size=40, population_per_variable=3)

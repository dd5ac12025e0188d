"""Optimizers that do not take the problems are refused before anything runs, and before a study is made."""

import sys
from dataclasses import dataclass, field

import numpy as np
import pytest

import polarbear as pb
from polarbear.optimizers import CMAES, GrowingBudgets, ModularCMAES, Nevergrad, NLopt, Pymoo, QuasiRandomSearch
from polarbear.problems import FunctionProblem, Traits
from polarbear.problems.evaluation import BuiltProblem
from polarbear.protocols import PLAIN
from polarbear.study import Plan, read_plan
from polarbear.study.suitability import DRAWS, MOST_BUILT, Unsuitable, check_pairs, first_problems


@dataclass(frozen=True, eq=False)
class Toy:
    """A specification that notes when it is built; its traits are known only then."""

    name: str
    traits_built: Traits = PLAIN
    fails: bool = False
    notes: list = field(default_factory=list)

    def build(self):
        self.notes.append(self.name)
        if self.fails:
            raise OSError("the file is missing")
        ones = np.ones(pb.records.Instance.parse(self.name).dimension or 3)
        return BuiltProblem(self, np.sum, lambda x: x.sum(axis=1), (-ones, ones), None, traits=self.traits_built)


def search(problem, rng):
    raise AssertionError("nothing may run")


TWO = Traits(objectives=2)


def test_a_plan_with_two_objectives_names_optimizer_problem_and_mend():
    pytest.importorskip("cocoex")
    suite = pb.problems.BBOBBiobj(functions=(3, 5), dimensions=(3, 2), instances=2)
    message = (
        r"^CMA-ES-CSA cannot run on bbob-biobj-f3-i2-d\d: ModularCMAES minimizes one objective; the problem has 2; "
        r"use one for several, such as pymoo's NSGA2; leave one of the two out, or choose another$"
    )
    with pytest.raises(Unsuitable, match=message):
        Plan([pb.optimizers.RandomSearch(), ModularCMAES.anytime()], suite, budget=10)
    takers = [pb.optimizers.RandomSearch(), QuasiRandomSearch(), Pymoo(algorithm="NSGA2"), Nevergrad(), search]
    assert Plan(takers, suite, budget=10).size == 20


def test_a_plan_file_is_refused_with_its_line(tmp_path):
    pytest.importorskip("cocoex")
    file = tmp_path / "a.toml"
    file.write_text(
        "[plan]\nbudget = 10\n[instances]\nsuite = 'bbob-biobj'\n[[algorithms]]\noptimizer = 'scipy-minimize'\n"
    )
    with pytest.raises(pb.study.StudyFileError, match=r"a\.toml: line 6: Nelder-Mead cannot run on bbob-biobj-f1-i"):
        read_plan(file)


def test_a_race_is_refused_before_a_study_is_made(tmp_path):
    pytest.importorskip("cocoex")
    race = pb.Race([search, NLopt()], times=[10, 20])
    with pytest.raises(Unsuitable, match=r"NLopt-LN_BOBYQA cannot run on bbob-biobj-f.*minimizes one objective"):
        pb.study.race(race, pb.problems.BBOBBiobj(), tmp_path / "a.study")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "message", "wrong"),
    [
        (
            "cma",
            r"line 7: pycma needs cma; install it with: pip install 'polarbear-race\[cma\]'",
            'optimizer = "pycma"',
        ),
        (
            "modde",
            r"line 7: growing-.* needs modde; install",
            'optimizer = "growing-budgets"\nfamily.optimizer = "modular-de"',
        ),
        ("cocoex", r"line 4: bbob-mixint-f1-i1-d5 needs cocoex; .*\[coco\]'", 'optimizer = "random-search"'),
    ],
)
def test_a_missing_package_is_named_before_a_study_is_made(module, message, wrong, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    file, suite = tmp_path / "a.toml", "bbob-mixint" if module == "cocoex" else "bbob"
    text = f"[plan]\nbudget = 10\n[instances]\nsuite = '{suite}'\ndimensions = 5\n[[algorithms]]\n{wrong}\n"
    file.write_text(text)
    with pytest.raises(pb.study.StudyFileError, match=message):
        read_plan(file)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("optimizer", "traits", "dimension", "message"),
    [
        (
            Pymoo(algorithm="NSGA2"),
            Traits(),
            3,
            "takes problems with several objectives; the problem has 1; use one of",
        ),
        (Pymoo(algorithm="GA"), TWO, 3, "takes problems with one objective; the problem has 2; use one of AGEMOEA"),
        (
            Pymoo(algorithm="SRES"),
            Traits(constraints=1),
            3,
            "SRES does not accept constraints here; use one of BIPOPCMAES",
        ),
        (CMAES(separable=True), Traits(np.array([True, False])), 2, "separable is True, but the problem has integer"),
        (NLopt(algorithm="GN_AGS"), Traits(), 11, "GN_AGS takes at most 10 variables; the problem has 11"),
        (NLopt(algorithm="LN_NEWUOA"), Traits(), 1, "takes at least 2 variables; the problem has 1"),
        (QuasiRandomSearch(), Traits(), 21_202, "the Sobol sequence has at most 21201 variables"),
        (ModularCMAES(x0=(1.0, 2.0)), Traits(), 3, "x0 has length 2; the problem has dimension 3"),
        (GrowingBudgets(pb.optimizers.ModularDE()), TWO, 3, "ModularDE minimizes one objective; the problem has 2"),
    ],
)
def test_each_family_says_what_it_does_not_take(optimizer, traits, dimension, message):
    assert message in pb.optimizers.refusal(optimizer, traits, dimension)
    with pytest.raises(Unsuitable, match="cannot run on toy-d"):
        check_pairs({"it": optimizer}, [Toy(f"toy-d{dimension}", traits)])


@pytest.mark.parametrize("family", pb.optimizers.families())
def test_every_family_takes_a_plain_problem(family):
    if family not in {"growing-budgets", "switch", "function"}:
        assert pb.optimizers.refusal(pb.optimizers.from_description({"optimizer": family}), Traits(), 5) == ""


def test_one_problem_of_each_function_is_built_and_all_numbers_of_variables_are_asked():
    notes, asked = [], []

    class Asks:
        name = "asks"

        def __call__(self, problem, rng):
            raise AssertionError

        def refuses(self, traits, dimension):
            asked.append((traits.objectives, dimension))
            return ""

    listed = [
        Toy(f"toys-f{function}-i{instance}-d{dimension}", Traits(objectives=function), notes=notes)
        for function in (1, 2)
        for dimension in (5, 2, 3)
        for instance in range(50)
    ]
    check_pairs({"asks": Asks()}, listed)
    assert notes == ["toys-f1-i0-d2", "toys-f2-i0-d2"]
    assert sorted(asked) == [(1, 2), (1, 3), (1, 5), (2, 2), (2, 3), (2, 5)]


def test_nothing_is_built_for_functions_nor_more_than_a_hundred():
    notes = []
    listed = [Toy(f"toy {i}", notes=notes) for i in range(300)]
    check_pairs({"search": pb.optimizers.as_optimizer(search), "random": pb.optimizers.RandomSearch()}, listed)
    assert notes == []
    check_pairs({"cma": ModularCMAES()}, listed)
    assert len(notes) == MOST_BUILT


def test_specifications_that_tell_and_those_known_to_be_plain_are_not_built(monkeypatch):
    def refused(self):
        raise AssertionError("it is built")

    monkeypatch.setattr(pb.problems.GPBBOBProblem, "build", refused)
    check_pairs({"cma": ModularCMAES()}, first_problems(pb.problems.GPBBOB()))
    whole = FunctionProblem(abs, 0, 9, 2, integers=True)
    monkeypatch.setattr(FunctionProblem, "build", refused)
    with pytest.raises(Unsuitable, match="integer variables"):
        check_pairs({"cma": CMAES(separable=True)}, [whole])


def test_that_gp_bbob_is_plain():
    assert pb.problems.GPBBOBProblem(dimension=2, instances=[1] * 24).build().traits is PLAIN


def test_a_problem_that_cannot_be_built_is_left_to_its_runs():
    check_pairs({"cma": ModularCMAES()}, [Toy("toy-d3", TWO, fails=True)])


NOISY = pb.problems.BBOBNoisyProblem(101, 1, 2)


def test_variations_that_do_not_suit_the_problem_are_refused_before_anything_runs(tmp_path):
    """Whatever the optimizers, each stream in a list, and in plans and races."""
    varied = [pb.problems.Variations(pb.problems.BBOBProblem(1, 1, 2), shift=0.1)[0]]
    check_pairs({"search": pb.optimizers.RandomSearch()}, varied)
    refused = r"bbob-noisy-f101-i1-d2-s0-\d-v\w+ cannot be made: bbob-noisy-f101-i1-d2 is noisy, .* cannot be varied"
    with pytest.raises(Unsuitable, match=refused):
        Plan([search], [*varied, pb.problems.Variations(NOISY, shift=0.1)[3]], budget=10)
    race = pb.Race([search, pb.optimizers.RandomSearch()], times=[10, 20])
    with pytest.raises(Unsuitable, match=refused):
        pb.study.race(race, pb.problems.Variations(NOISY, flip=True), tmp_path / "a.study")
    whole = pb.problems.PBOProblem(1, 1, 8)
    check_pairs({}, [pb.problems.Variations(whole, flip=True)[k] for k in range(3)])
    with pytest.raises(Unsuitable, match="can only be permuted and reflected"):
        check_pairs({}, [pb.problems.Variations(whole, flip=True)[0], pb.problems.Variations(whole, shift=0.1)[0]])
    assert list(tmp_path.iterdir()) == []


def test_a_plan_file_with_such_variations_is_refused_with_its_line(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(
        "[plan]\nbudget = 10\n[instances]\nsuite = 'variations'\nshift = 0.1\ndraws = 2\n"
        "problem = {problem = 'bbob-noisy', function = 101, instance = 1, dimension = 2}\n"
        "[[algorithms]]\noptimizer = 'random-search'\n"
    )
    with pytest.raises(pb.study.StudyFileError, match=r"a\.toml: line 4: .* is noisy"):
        read_plan(file)


def test_variations_whose_package_is_missing_are_refused_and_other_failures_left_to_the_runs(monkeypatch):
    check_pairs({}, [pb.problems.Variations(Toy("toy-d3", fails=True))[0]])
    monkeypatch.setitem(sys.modules, "cocoex", None)
    with pytest.raises(Unsuitable, match="needs cocoex; install it"):
        check_pairs({}, [pb.problems.Variations(pb.problems.COCOProblem("bbob-mixint", 1, 1, 5), flip=True)[0]])


def test_one_of_each_stream_of_variations_is_built():
    notes = []
    streams = [pb.problems.Variations(Toy("toy-d3", notes=notes), shift=shift) for shift in (0.1, 0.2)]
    check_pairs({"cma": ModularCMAES()}, [stream[k] for k in range(10) for stream in streams])
    assert notes == ["toy-d3"] * 2


def test_a_target_can_be_given_where_the_location_tells_the_best_value():
    spec = FunctionProblem(lambda x: float((x - 1) @ (x - 1)) - 3, -5, 5, 2)
    settings = {"budget": 100, "draws": 3, "target_precision": 0.1}
    stream = pb.problems.Variations(spec, shift=0.5, location=(1, 1))
    assert Plan([search], stream, **settings).size == 3
    with pytest.raises(ValueError, match=r"the optimum of .* is not known"):
        Plan([search], pb.problems.Variations(spec, shift=0.5), **settings)


def test_a_plan_is_read_back_without_building_anything():
    notes = []
    plan = Plan([ModularCMAES()], pb.problems.BBOB(functions=1, instances=1), budget=10)
    assert pb.study.plan_from_spec(plan.describe()).describe() == plan.describe()
    Plan([ModularCMAES()], [Toy("toy-d3", TWO, notes=notes)], budget=10, check=False)
    assert notes == []
    with pytest.raises(Unsuitable):
        Plan([ModularCMAES()], [Toy("toy-d3", TWO, notes=notes)], budget=10)
    assert notes == ["toy-d3"]


def test_of_a_stream_the_first_draws_are_looked_at_and_of_a_list_all():
    assert len(list(first_problems(pb.problems.BBOB()))) == DRAWS
    assert len(list(first_problems(pb.problems.as_instances([Toy(f"t-d{i}") for i in range(40)])))) == 40

"""`polarbear.race`: one call does what a race, a study and a loaded study do one after the other."""

import dataclasses
import inspect
import subprocess
import sys

import numpy as np
import pytest

import polarbear as pb
from polarbear.optimizers import QuasiRandomSearch, RandomSearch
from polarbear.problems import FunctionProblem
from polarbear.results import RaceOptions
from polarbear.results.entrants import as_algorithms, as_problems, as_times
from tests.study.entrants import crawl, descend, guess, sphere

SETTINGS = {"alpha": 0.9, "epsilon": 0.15, "draws": 500, "progress": False}
ENTRANTS = [RandomSearch, "quasi random-search", descend]
PROBLEM = (sphere, -1, 1)
STOP = pb.study.StopRules(instances=8)


@pytest.fixture(scope="module")
def result():
    return pb.race([guess, crawl, descend], PROBLEM, times=(5, 60), dimension=2, **SETTINGS)


def test_it_is_the_race_that_the_rooms_run_together(result, tmp_path):
    """The same draws, values and rounds, bit by bit; only clocks differ."""
    race = pb.Race([guess, crawl, descend], times=pb.log_times(5, 60, 50), alpha=0.9, epsilon=0.15, draws=500)
    there = pb.study.race(race, FunctionProblem(*PROBLEM, dimension=2), tmp_path / "a.study")
    np.testing.assert_array_equal(result.posterior.draws, there.posterior.draws)
    np.testing.assert_array_equal(result.values, there.values)
    assert [each.eliminated for each in result.rounds] == [each.eliminated for each in there.rounds]
    assert result.pareto_set == there.pareto_set
    assert result.path is None
    assert not result.study.path.exists()


def test_a_study_is_kept_resumed_and_loaded(result, tmp_path):
    path = tmp_path / "kept.study"
    first = pb.race([guess, descend], PROBLEM, (5, 60), dimension=2, path=path, **SETTINGS)
    again = pb.race([guess, descend], PROBLEM, (5, 60), dimension=2, path=path, **SETTINGS)
    loaded = pb.load(path)
    for other in (again, loaded):
        np.testing.assert_array_equal(first.posterior.draws, other.posterior.draws)
        assert len(other.rounds) == len(first.rounds)
        assert other.study.spec == first.study.spec
        assert str(other) == str(first)
        assert other.path == path
    assert [first.dimension, loaded.dimension, result.dimension] == [2, 2, 2]


def test_its_options_are_those_of_races_and_of_studies():
    settings = {field.name for field in dataclasses.fields(pb.racing.RaceSettings)}
    named = inspect.signature(pb.study.race).parameters.keys() - {"race", "instances", "path", "workers"}
    assert RaceOptions.__annotations__.keys() == settings | named


def test_runs_are_judged_by_what_they_recommend_where_that_is_asked_for():
    entrants = ["noisy-cma-es", "random-search"]
    found = pb.race(entrants, "bbob-noisy", (5, 30), dimension=2, judged_by="recommendation", stop=STOP, **SETTINGS)
    assert found.settings.judged_by == "recommendation"


def test_the_module_is_called_and_holds_its_names_whatever_was_imported_first():
    """Importing a module sets the attribute of its package, so that a function there would be replaced."""
    code = """
import polarbear as pb
assert callable(pb.race), "before"
import polarbear.race
from polarbear.race import Race, RaceResult, Request
import polarbear.racing
assert callable(pb.race) and pb.race.Race is pb.Race is Race is polarbear.racing.Race, "after"
assert pb.race.race is pb.results.race
assert set(polarbear.racing.__all__) <= set(polarbear.race.__all__)
try:
    pb.race([], None)
except TypeError as error:
    assert "times" in str(error), error
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_optimizers_by_class_name_and_function():
    made = as_algorithms(ENTRANTS)
    assert made[:2] == [RandomSearch(), QuasiRandomSearch()]
    assert made[2].function is descend
    assert as_algorithms({"mine": "Random_Search"}) == {"mine": RandomSearch()}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("random-search", TypeError, "algorithms is 'random-search'; give a list of at least two"),
        (3, TypeError, "algorithms is 3"),
        (["random-serch"], ValueError, "optimizer 'random-serch' is unknown; did you mean 'random-search'"),
        (
            [pb.optimizers.FunctionOptimizer],
            TypeError,
            r"FunctionOptimizer cannot be created .* give FunctionOptimizer\(",
        ),
        ([5], TypeError, "5 cannot be called; an optimizer is a function"),
    ],
)
def test_what_is_no_optimizer_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        as_algorithms(given)


def test_problems_by_name_with_bounds_and_as_they_are():
    assert as_problems("MA BBOB", 3) == pb.problems.MABBOB(dimension=3)
    assert as_problems("bbob", 3) == pb.problems.BBOB(dimensions=[3])
    problem = FunctionProblem(sphere, -1, 1, 4)
    assert as_problems(PROBLEM, 4) == as_problems(problem, None) == pb.problems.as_instances(problem)
    assert as_problems([problem, FunctionProblem(sphere, -1, 1, 2)], None).size == 2


@pytest.mark.parametrize(
    ("given", "dimension", "error", "message"),
    [
        ("ma-bob", 2, ValueError, "suite 'ma-bob' is unknown; did you mean 'ma-bbob'"),
        ("gp-bbob", 0, ValueError, "dimension is 0"),
        (sphere, 2, ValueError, "dimension is 2, but the problem has its own"),
        (sphere, None, TypeError, r"the function sphere has no bounds; give \(sphere, lower, upper\)"),
        (PROBLEM, None, ValueError, "give the dimension as well"),
        (7, None, TypeError, "7 is not a problem"),
    ],
)
def test_what_is_no_problem_is_refused(given, dimension, error, message):
    with pytest.raises(error, match=message):
        as_problems(given, dimension)


def test_timepoints_by_their_ends_or_one_by_one():
    np.testing.assert_array_equal(as_times((10, 1000), "evaluations", None), pb.log_times(10, 1000, 50))
    np.testing.assert_array_equal(as_times(("5*d", "50*d"), "evaluations", 4), pb.log_times(20, 200, 50))
    assert as_times([10, "3*d", 1000], "evaluations", 5).tolist() == [10, 15, 1000]
    assert as_times([10, 1000], "evaluations", None).tolist() == [10, 1000]
    np.testing.assert_array_equal(as_times((0.1, 2), "seconds", None), pb.log_times(0.1, 2, 50, "seconds"))
    for wrong in (1000, "10..1000"):
        with pytest.raises(TypeError, match=r"give \(first, last\)"):
            as_times(wrong, "evaluations", None)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alhpa": 0.9}, TypeError, "race has no argument 'alhpa'; did you mean 'alpha'"),
        ({"alpha": 3}, ValueError, "alpha is 3"),
        ({"model": "random-wlak"}, ValueError, "no model 'random-wlak'"),
        ({"model": pb.inference.RandomWalk}, TypeError, "model is RandomWalk; give a model such as RandomWalk()"),
        ({"seconds": 1, "stop": pb.study.StopRules(seconds=2)}, ValueError, "seconds and stop are both given"),
    ],
)
def test_options_are_checked_before_anything_runs(options, error, message, tmp_path):
    path = tmp_path / "no.study"
    with pytest.raises(error, match=message):
        pb.race([guess, descend], PROBLEM, (5, 60), dimension=2, path=path, **options)
    assert not path.exists()


def test_progress_goes_to_standard_error_and_says_why_a_race_stopped(capsys):
    stop = pb.study.StopRules(instances=8)
    settings = SETTINGS | {"progress": True, "alpha": 0.999}
    result = pb.race([guess, "random-search"], PROBLEM, (5, 60), dimension=2, stop=stop, **settings)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("round 1: 8 instances")
    assert err.splitlines()[-1] == "stopped: instance limit of 8 reached: 8 instances drawn"
    assert not result.finished


def test_models_go_by_name_wherever_one_is_taken():
    values = np.random.default_rng(1).normal(size=(12, 2, 3))
    counts = pb.rankings.choice_counts(values)
    by_name, made = (
        pb.inference.fit(counts, model=model, draws=50, rng=np.random.default_rng(2))
        for model in ("hierarchical-dirichlet", pb.inference.HierarchicalDirichlet())
    )
    np.testing.assert_array_equal(by_name.draws, made.draws)
    assert pb.Race([guess, descend], times=[1, 2], model="random-walk").model == pb.inference.RandomWalk()
    prior = pb.inference.prior(
        "independent-dirichlet", times=[1.0], algorithms=2, draws=5, rng=np.random.default_rng(1)
    )
    assert prior.draws.shape == (5, 1, 2)
    with pytest.raises(TypeError, match="model is 3; give a model"):
        pb.inference.fit(counts, model=3, rng=np.random.default_rng(2))


def test_what_belongs_elsewhere_is_refused_where_it_is_given(result, tmp_path):
    with pytest.raises(TypeError, match=r"study is 'x.study'; give polarbear.study.load"):
        pb.analyzer.report("x.study", tmp_path / "x.html")
    with pytest.raises(TypeError, match=r"result is a StudyView; give its .result"):
        pb.analyzer.answer(result.study)
    with pytest.raises(TypeError, match="race is a list; give a Race"):
        pb.study.race([guess, descend], PROBLEM, tmp_path / "x.study")
    with pytest.raises(TypeError, match=r"polarbear.store.read\('x.study'\)"):
        pb.analyzer.subject_of("x.study")
    with pytest.raises(TypeError, match=r"posterior is a Result; pass its .posterior, or call its best"):
        pb.select.best(result)

"""Optimizers that take several objectives only are checked on problems of two."""

import sys
from dataclasses import dataclass

import cloudpickle
import numpy as np
import pytest
from typer.testing import CliRunner

from polarbear import optimizers
from polarbear.cli.app import app
from polarbear.conformance import CHECKS, Inapplicable, examine
from polarbear.conformance.probes import Probe, objectives_of, sphere

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclass(frozen=True)
class Several:
    """An optimizer that takes several objectives only, around a function."""

    function: object

    @property
    def name(self):
        return self.function.__name__

    def __call__(self, problem, rng):
        self.function(problem, rng)

    def refuses(self, traits, dimension):
        return "" if traits.objectives > 1 else "it takes several objectives"


def at_random(problem, rng):
    while True:
        assert problem(rng.uniform(problem.lower, problem.upper)).shape == (2,)


def strays(problem, rng):
    while True:
        problem(problem.upper + rng.uniform(size=(10, problem.dimension)))


def goes_on(problem, rng):
    try:
        at_random(problem, rng)
    except BaseException:
        problem(problem.lower)


def unseeded(problem, rng):
    at_random(problem, np.random.default_rng())


def quits_if_any_is_infinite(problem, rng):
    while np.isfinite(problem(rng.uniform(problem.lower, problem.upper))).all():
        pass


def fails_if_equal(problem, rng):
    values = np.array([problem(rng.uniform(problem.lower, problem.upper)) for _ in range(20)])
    if (np.ptp(values, axis=0) == 0).any():
        raise ZeroDivisionError("no range")
    at_random(problem, rng)


def hides_exceptions(problem, rng):
    try:
        at_random(problem, rng)
    except Exception:
        raise RuntimeError("something went wrong") from None


def evaluates_nothing(problem, rng):
    return


def needs_two(problem, rng):
    assert problem.dimension > 1, "one variable"
    at_random(problem, rng)


def needs_few(problem, rng):
    assert problem.dimension < 100, "too many"
    at_random(problem, rng)


def sits(problem, rng):
    while True:
        problem(problem.lower)


def of_one(problem, rng):
    while True:
        float(problem(rng.uniform(problem.lower, problem.upper)))


@pytest.mark.parametrize("check", [name for name in CHECKS if name not in {"noise", "travel"}])
def test_a_good_one_passes(check):
    assert CHECKS[check](Several(at_random)) == ""


@pytest.mark.parametrize("check", [name for name in CHECKS if name != "noise"])
def test_one_of_pymoo_conforms(check):
    pytest.importorskip("pymoo")
    assert CHECKS[check](optimizers.Pymoo(algorithm="NSGA2")) == ""


@pytest.mark.parametrize(
    ("check", "function", "message"),
    [
        ("bounds", strays, "100.0% of its points lie outside"),
        ("budget", goes_on, "it asked for 1 more evaluation after"),
        ("seed", unseeded, "differs from point 1 on"),
        ("nan", quits_if_any_is_infinite, "but uses all 2,000 on the sphere itself"),
        ("infinity", quits_if_any_is_infinite, "but uses all 2,000 on the sphere itself"),
        ("plateau", fails_if_equal, "no range"),
        ("exceptions", hides_exceptions, "something went wrong"),
        ("exceptions", evaluates_nothing, "it evaluates nothing"),
        ("one-variable", needs_two, "one variable"),
        ("many-variables", needs_few, "too many"),
        ("progress", sits, "its best value was"),
        ("budget", of_one, "fails with TypeError"),
    ],
)
def test_each_check_finds_what_it_is_for(check, function, message):
    assert message in CHECKS[check](Several(function))


def test_which_problems_an_optimizer_gets():
    assert objectives_of(Several(at_random)) == 2
    assert objectives_of(optimizers.RandomSearch()) == objectives_of(optimizers.as_optimizer(at_random)) == 1


def test_two_objectives_are_the_function_moved_to_either_side():
    problem = Probe(sphere, 3, objectives=2).build()
    assert problem(np.ones(3)).tolist() == [0.0, 12.0]
    assert problem(-np.ones(3)).tolist() == [12.0, 0.0]
    assert (problem.ideal.tolist(), problem.nadir.tolist()) == ([0.0, 0.0], [12.0, 12.0])


def test_the_check_of_noise_says_nothing():
    with pytest.raises(Inapplicable, match="noisy problems have one"):
        CHECKS["noise"](Several(at_random))
    found = examine(Several(at_random), checks=["noise", "budget"])
    assert found.passed
    assert [finding.inapplicable != "" for finding in found.findings] == [True, False]
    assert "noisy problems have one" in found.as_dict()["findings"][0]["inapplicable"]


def test_the_command_says_that_it_was_skipped(tmp_path):
    pytest.importorskip("pymoo")
    file = tmp_path / "a.toml"
    file.write_text('[[algorithms]]\noptimizer = "pymoo"\nalgorithm = "NSGA2"\n')
    told = CliRunner().invoke(app, ["conform", str(file), "--check", "noise", "--check", "budget"])
    assert told.exit_code == 0, told.output
    assert "skipped" in told.output
    assert told.output.count("passed") == 1

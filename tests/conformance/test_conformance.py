"""Each check finds an optimizer that does not conform, and none that does."""

import gc
import json
import os
import signal
import sys
import time
from contextlib import suppress

import cloudpickle
import numpy as np
import pytest
from typer.testing import CliRunner

import polarbear as pb
from polarbear.cli.app import app
from polarbear.conformance import CHECKS, REMARKS, Inapplicable, examine
from polarbear.conformance.probes import NoisyProblem
from polarbear.experiment import Stop
from polarbear.optimizers.driver import ask_and_tell
from polarbear.optimizers.native import Native, State

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def good(problem, rng):
    best, width = rng.uniform(problem.lower, problem.upper), 0.3
    value = problem(best)
    while True:
        move = width * rng.normal(size=best.size) * (problem.upper - problem.lower)
        trial = np.clip(best + move, problem.lower, problem.upper)
        if (told := problem(trial)) <= value:
            best, value, width = trial, told, width * 1.5
        else:
            width = max(width * 0.9, 1e-12)


def strays(problem, rng):
    while True:
        problem(rng.uniform(problem.lower, problem.upper) * 1.1 + 0.1)


def goes_on(problem, rng):
    for _ in range(5000):
        with suppress(Stop):
            problem(rng.uniform(problem.lower, problem.upper))


def unseeded(problem, rng):
    while True:
        problem(np.random.uniform(problem.lower, problem.upper))  # noqa: NPY002


def always_the_same(problem, rng):
    good(problem, np.random.default_rng(0))


def spies(problem, rng):
    """Looks for the problem behind the objective."""
    found = [each for each in gc.get_objects() if issubclass(type(each), NoisyProblem)]  # isinstance asks dead proxies
    while True:
        x = rng.uniform(problem.lower, problem.upper)
        problem(x)
        for each in found:
            each.raw(x)


def trusts_numbers(problem, rng):
    while True:
        value = problem(rng.uniform(problem.lower, problem.upper))
        if not np.isfinite(value):
            raise ArithmeticError("infinite")


def quits_at_infinity(problem, rng):
    while np.isfinite(problem(rng.uniform(problem.lower, problem.upper))):
        pass


def converges_or_quits(problem, rng):
    for _ in range(300):
        if not np.isfinite(problem(rng.uniform(problem.lower, problem.upper))):
            return


def converges(problem, rng):
    """The sooner, the less there is to see."""
    seen = [problem(rng.uniform(problem.lower, problem.upper)) for _ in range(50)]
    for _ in range(300 * np.isfinite(seen).all()):
        problem(rng.uniform(problem.lower, problem.upper))


def takes_logarithms(problem, rng):
    while True:
        value = problem(rng.uniform(problem.lower, problem.upper))
        if value == -np.inf:
            raise OverflowError("too good")


def divides_by_improvement(problem, rng):
    last = problem(rng.uniform(problem.lower, problem.upper))
    while True:
        value = problem(rng.uniform(problem.lower, problem.upper))
        if value == last:
            raise ZeroDivisionError("no improvement")
        last = value


def hides_exceptions(problem, rng):
    try:
        good(problem, rng)
    except Exception:
        raise RuntimeError("something went wrong") from None


def hides_the_end(problem, rng):
    with suppress(Exception):
        good(problem, rng)


def needs_two(problem, rng):
    if problem.dimension < 2:
        raise IndexError("no second variable")
    good(problem, rng)


def needs_few(problem, rng):
    if problem.dimension > 100:
        raise MemoryError("too many")
    good(problem, rng)


def runs_full(problem, rng):
    for _ in range(500 if problem.dimension > 100 else 5000):
        problem(rng.uniform(problem.lower, problem.upper))
    raise MemoryError("no room for more")


def counts_wrong(problem, rng):
    while True:
        problem(rng.uniform(-1, 1, problem.dimension + 1))


def sits(problem, rng):
    x = rng.uniform(problem.lower, problem.upper)
    while True:
        problem(x)


def evaluates_nothing(problem, rng):
    return


def dies(problem, rng):
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(problem, rng):
    problem(problem.lower)
    time.sleep(60)


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "switch"])
def test_a_good_optimizer_passes(name):
    optimizer = pb.optimizers.RandomSearch() if name == "travel" else pb.optimizers.as_optimizer(good)
    assert CHECKS[name](optimizer) == ""


@pytest.mark.parametrize(
    ("check", "optimizer", "message"),
    [
        ("bounds", strays, "of its points lie outside"),
        ("budget", goes_on, "more evaluations after it had been stopped at 1"),
        ("seed", unseeded, "repeated with the same seed differs from point 1 on"),
        ("seed", always_the_same, "different seeds evaluate the same points"),
        ("noise", spies, "it asked for values without noise 399 times"),
        ("nan", trusts_numbers, "fails with ArithmeticError: infinite"),
        ("nan", quits_at_infinity, "of 400 evaluations, but uses all 2,000 on the sphere itself"),
        (
            "nan",
            converges_or_quits,
            "of 400 evaluations, at the first such value, but only after 300 on the sphere itself",
        ),
        ("infinity", trusts_numbers, "half of the box is inf, it fails with ArithmeticError"),
        ("infinity", quits_at_infinity, "half of the box is inf, it ends after "),
        ("infinity", takes_logarithms, "where the upper half of the box is -inf, it fails with OverflowError"),
        ("plateau", divides_by_improvement, "fails with ZeroDivisionError: no improvement after 2"),
        ("exceptions", hides_exceptions, "replaced by RuntimeError: something went wrong"),
        ("exceptions", hides_the_end, "it ends at the objective's exception as if it were done"),
        ("exceptions", evaluates_nothing, "it evaluates nothing"),
        ("one-variable", needs_two, "fails with IndexError"),
        ("many-variables", needs_few, "fails with MemoryError"),
        ("many-variables", runs_full, "fails with MemoryError: no room for more after 500 evaluations"),
        ("bounds", counts_wrong, "x has shape (6,); the problem takes one point of shape (5,)"),
        ("progress", sits, "its best value was"),
        ("budget", evaluates_nothing, "it evaluates nothing"),
    ],
)
def test_each_check_finds_what_it_is_for(check, optimizer, message):
    one = pb.optimizers.as_optimizer(optimizer)
    assert message in CHECKS[check](one)


class Climber(Native):
    """Random steps around the best point; what `run_from` takes over is said by each class."""

    ends_steps = True
    name = "climber"

    def _init(self, space, rng):
        state = State(space=space)
        state.rng, state.width = rng, 0.3
        return state

    def _ask(self, state):
        space = state.space
        if state.best is None:
            return state.rng.uniform(space.lower, space.upper)
        step = state.width * state.rng.normal(size=space.dimension) * (space.upper - space.lower)
        return np.clip(state.best + step, space.lower, space.upper)

    def _tell(self, state, values):
        state.width *= 1.5 if values <= state.value else 0.9


class TakesAll(Climber):
    def run_from(self, problem, rng, start):
        ask_and_tell(self, problem, rng, start.state)


class TakesTheBest(Climber):
    def run_from(self, problem, rng, start):
        state = self.init(problem, rng)
        state.best, state.value = start.best, start.value
        ask_and_tell(self, problem, rng, state)


class SaysLittle(TakesTheBest):
    switch_cost = "10*d"


class SaysNothingIsLost(Climber):
    """Begins in a corner, with steps that lead nowhere."""

    switch_cost = 0

    def run_from(self, problem, rng, start):
        while True:
            problem(problem.lower)


class Breaks(TakesAll):
    def run_from(self, problem, rng, start):
        raise LookupError("no state")


class TestSwitch:
    """Bit for bit, or no worse than what the switch is said to cost."""

    @pytest.mark.parametrize("optimizer", [TakesAll(), SaysLittle(), pb.optimizers.RandomSearch()])
    def test_nothing_is_lost_beyond_what_is_said(self, optimizer):
        assert CHECKS["switch"](optimizer) == ""

    @pytest.mark.parametrize(
        ("optimizer", "message"),
        [
            (TakesTheBest(), "changes the run from point 401 on; let run_from take over start.state"),
            (SaysNothingIsLost(), "worse in 10 of 10 runs, although these had 0 more evaluations, its switch_cost"),
            (Breaks(), "when switched to itself, it fails with LookupError: no state after 400 evaluations"),
        ],
    )
    def test_what_is_lost_is_found(self, optimizer, message):
        assert message in CHECKS["switch"](optimizer)

    def test_only_what_can_start_from_another_is_judged(self):
        with pytest.raises(Inapplicable, match=r"run_from\(problem, rng, start\)"):
            CHECKS["switch"](pb.optimizers.as_optimizer(good))

    def test_a_cost_that_is_none_is_named(self):
        optimizer = TakesAll()
        optimizer.switch_cost = "much"
        (found,) = examine(optimizer, checks=["switch"]).findings
        assert "'much' is not a budget" in found.wrong


def test_the_objectives_own_exception_may_be_what_ends_a_run():
    assert CHECKS["exceptions"](pb.optimizers.as_optimizer(good)) == ""


def converges_at_once(problem, rng):
    problem(np.tile(problem.lower, (3, 1)))


@pytest.mark.parametrize("optimizer", [converges, converges_at_once])
def test_an_optimizer_that_ends_by_itself_may_do_so_sooner_elsewhere(optimizer):
    one = pb.optimizers.as_optimizer(optimizer)
    assert {name: CHECKS[name](one) for name in ("nan", "infinity", "plateau", "exceptions")} == {
        "nan": "", "infinity": "", "plateau": "", "exceptions": ""
    }  # fmt: skip


class NeedsIntegers:
    """Says beforehand what it takes."""

    name = "needs-integers"

    def __call__(self, problem, rng):
        good(problem, rng)

    def refuses(self, traits, dimension):
        return "" if traits.integers is not None else "it takes integer variables only"


@pytest.mark.parametrize("check", [name for name in CHECKS if name not in {"travel", "switch"}])
def test_an_optimizer_that_refuses_the_problems_is_told_so(check):
    assert "it fails with ValueError: it takes integer variables only" in CHECKS[check](NeedsIntegers())


def test_a_crash_and_a_hang_are_findings_of_their_checks():
    crashed = examine(dies, checks=["plateau"])
    assert "was killed by SIGSEGV" in crashed.findings[0].wrong
    assert not crashed.passed
    hung = examine(hangs, checks=["plateau"], timeout=1.0)
    assert "its process was lost: not done after 1 s" in hung.findings[0].wrong


def test_an_unknown_check_and_no_optimizer_are_named():
    with pytest.raises(ValueError, match="check 'bound' is unknown; did you mean 'bounds'"):
        examine(good, checks=["bound"])
    with pytest.raises(ValueError, match="optimizer 'random' is unknown; did you mean"):
        examine("random")


def clings(problem, rng):
    middle, side = (problem.lower + problem.upper) / 2, problem.upper - problem.lower
    while True:
        problem(middle + 0.1 * side * rng.uniform(-1, 1, middle.size))


class TestBias:
    def test_it_is_told_and_fails_nothing(self):
        found = examine(clings, checks=["bias"])
        assert found.passed
        assert found.findings[0].remark.startswith("Structurally biased: ")
        assert found.as_dict()["findings"][0]["wrong"] == ""

    def test_points_that_are_drawn_evenly_are_not_biased(self):
        told = REMARKS["bias"](pb.optimizers.RandomSearch())
        assert told.startswith("No evidence of structural bias: none of 36 tests on 50 final points in 5 dimensions")

    def test_what_finds_nothing_in_the_box_has_no_verdict(self):
        def beyond(problem, rng):
            while True:
                problem(problem.upper + rng.random(problem.lower.size))

        with pytest.raises(Inapplicable, match="a run of 500 evaluations found no finite value in the box"):
            REMARKS["bias"](pb.optimizers.as_optimizer(beyond))

    def test_what_fails_is_told_as_a_fault(self):
        (found,) = examine(NeedsIntegers(), checks=["bias"]).findings
        assert "on random values, it fails with ValueError: it takes integer variables only" in found.wrong


class TestCommand:
    def test_it_says_what_passed(self):
        told = CliRunner().invoke(app, ["conform", "random-search", "--check", "budget", "--check", "travel"])
        assert told.exit_code == 0
        assert told.output.count("passed") == 2

    def test_what_does_not_conform_has_an_exit_code_and_a_reason(self):
        told = CliRunner().invoke(app, ["conform", "tests.conformance.strays:optimizer", "--json"])
        assert told.exit_code == 4, told.output
        (found,) = json.loads(told.stdout)
        wrong = {each["check"]: each["wrong"] for each in found["findings"]}
        assert "lie outside" in wrong.pop("bounds")
        assert set(wrong.values()) == {""}

    def test_all_optimizers_of_a_study_file(self, tmp_path):
        file = tmp_path / "a.toml"
        file.write_text('[[algorithms]]\noptimizer = "random-search"\n[[algorithms]]\noptimizer = "scipy-minimize"\n')
        told = CliRunner().invoke(app, ["conform", str(file), "--check", "one-variable", "--json"])
        assert [each["optimizer"] for each in json.loads(told.stdout)] == ["RandomSearch", "Nelder-Mead"]

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (["random-serch"], "did you mean 'random-search'"),
            (["no.such:thing"], "cannot be imported"),
            (["nowhere.toml"], "nowhere.toml"),
            (["random-search", "--check", "x"], "there is no check 'x'; choose from: bounds"),
        ],
    )
    def test_bad_input_is_named(self, given, message):
        told = CliRunner().invoke(app, ["conform", *given])
        assert told.exit_code == 2
        assert message in " ".join(told.output.replace("│", " ").split())

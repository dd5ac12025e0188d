"""Plans that are too large, and what is asked of problems whose optimum is not known: refused before anything runs."""

import time

import pytest

import polarbear as pb
from polarbear.experiment.logging_schedule import Watch
from polarbear.study import Plan, run_plan
from tests.study.entrants import descend, guess, sphere
from tests.study.test_plan import TWO, Immediate, new_plan

NINES = int("9" * 400)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": NINES}, r"^budget is 9{60}\.\.\.; give a finite number of evaluations above 0"),
        ({"budget": -NINES}, r"^budget is -9{59}\.\.\.; give a finite number"),
        ({"budget": "9" * 400 + "*d"}, r"^'9{59}\.\.\. is not a budget; write a positive number"),
        ({"budget": 1e300}, r"^budget is 1e\+300; a run may have at most 9007199254740992 evaluations"),
        ({"budget": 1e300, "axis": "seconds"}, r"^budget is 1e\+300; a run may have at most 9007199254740992 seconds"),
        (
            {"budget": "8e15*d"},
            r"^budget is '8e15\*d' and d is up to 5; a run may have at most 9007199254740992 evaluations",
        ),
        ({"repetitions": 10**23}, r"^repetitions is 10{23}; it must be from 1 to 1000000000000$"),
        (
            {"seed": 2**63 - 1, "repetitions": 3},
            r"^seed is 9223372036854775807; it must be from 0 to 9223372036854775804$",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused_by_the_field_s_name(settings, message):
    with pytest.raises(ValueError, match=message):
        new_plan(**settings)


def test_the_largest_plans_are_taken_and_begin_at_once(tmp_path):
    assert Plan([guess], [TWO], budget=2**53).task(*next(Plan([guess], [TWO], budget=2**53).order())).limits
    began = time.monotonic()
    plan = Plan([guess], [TWO], budget=5, repetitions=10**12)
    summary = run_plan(plan, tmp_path / "a.study", executor=Immediate(), seconds=1)
    assert time.monotonic() - began < 30
    assert 0 < summary.there < summary.total == 10**12


@pytest.mark.parametrize(
    ("suite", "draws", "message"),
    [
        (pb.problems.Submodular(), 99_999_999, "^draws is 99999999; it must be from 1 to 1000000$"),
        (pb.problems.BBOB(instances="1-200000"), None, "^BBOB has 4800000 problems; a plan may have at most 1000000"),
    ],
)
def test_plans_of_more_problems_than_fit_are_refused_at_once(suite, draws, message):
    with pytest.raises(ValueError, match=message):
        Plan([guess], suite, budget=1, draws=draws)


def test_no_more_is_drawn_once_every_problem_of_a_suite_has_been():
    suite = pb.problems.BBOB(functions=(1, 2), instances=(4, 5), seed=1)
    first = [problem.name for problem in Plan([guess], suite, budget=1, draws=60).problems]
    began = time.monotonic()
    assert [problem.name for problem in Plan([guess], suite, budget=1, draws=1_000_000).problems] == first
    assert time.monotonic() - began < 2
    assert len(first) == suite.combinations == len(suite.grid()) == 4


# Targets where the optimum is not known

TARGETS = Watch(targets_per_decade=5)


class Vague:
    """A specification that does not tell whether the optimum is known."""

    def __init__(self, built):
        self.name, self._built = "vague-d2", built

    def build(self):
        return self._built()


@pytest.mark.parametrize("problem", [TWO, Vague(TWO.build), Vague(lambda: type("P", (), {"optimum": float("inf")}))])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"watch": TARGETS},
            "^targets_per_decade is 5, but the optimum of {} is not known; leave targets_per_decade out",
        ),
        ({"target_precision": 0.1}, "^target_precision is 0.1, but the optimum of {} is not known; leave target_prec"),
    ],
)
def test_targets_without_an_optimum_are_refused_in_plans_and_races(tmp_path, problem, settings, message):
    told = message.format(problem.name)
    with pytest.raises(ValueError, match=told):
        Plan([pb.optimizers.RandomSearch()], [problem], budget=10, **settings)
    with pytest.raises(ValueError, match=told):
        pb.study.race(pb.Race([guess, descend], times=[10]), problem, tmp_path / "a.study", **settings)
    assert list(tmp_path.iterdir()) == []


def test_what_is_known_or_cannot_be_told_here_is_left_to_the_runs():
    known = pb.problems.FunctionProblem(sphere, -2, 2, dimension=2, optimum=0.0)
    for problem in (known, pb.problems.BBOBProblem(1, 1, 2), Vague(lambda: 1 / 0)):
        assert Plan([guess], [problem], budget=10, watch=TARGETS, target_precision=0.1).size == 1
    assert Plan([guess], [TWO], budget=10, watch=Watch(every=1)).size == 1

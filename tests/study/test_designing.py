"""Designing optimizers: proposals of all kinds are contained and told, the good ones win, and nothing is lost."""

from dataclasses import dataclass

import numpy as np
import pytest

import polarbear as pb
from polarbear import study
from polarbear.configure import spaces
from polarbear.design import Candidate, ModuleRecombination
from polarbear.experiment import WorkerPool
from polarbear.study.resume import built
from tests.study.entrants import crash, stillborn, suicidal

CLIMBER = """
import numpy as np

def optimize(problem, rng):
    x, step = rng.uniform(problem.lower, problem.upper), {step}
    value = problem(x)
    while True:
        y = np.clip(x + step * rng.normal(size=x.size), problem.lower, problem.upper)
        found = problem(y)
        if found < value:
            x, value = y, found
"""
GOOD, STUCK = CLIMBER.format(step=0.5), CLIMBER.format(step=1e-9)
BROKEN = {
    "ValueError: boom": "def optimize(problem, rng):\n    raise ValueError('boom')",
    "it has not finished on a sphere after 4 s": "def optimize(problem, rng):\n    while True: pass",
    "MemoryError": "def optimize(problem, rng):\n    eaten = [0.0] * 10**9",
    "is NaN": "def optimize(problem, rng):\n    while True: problem(problem.lower * float('nan'))",
    "it imports os; it may import __future__, abc": "import os\n" + GOOD,
    "it returns without evaluating": "def optimize(problem, rng):\n    return 1e-300",
    "it is not valid Python: invalid syntax in line 1": "def optimize(problem rng): pass",
    "it defines no function optimize": "def optimise(problem, rng): pass",
    "it fails the check 'bounds'": "def optimize(problem, rng):\n    while True: problem(2 * problem.upper)",
    "its worker process was killed by SIGSEGV": "import ctypes\ndef optimize(problem, rng):\n    ctypes.string_at(0)",
    "SystemExit": "raise SystemExit\ndef optimize(problem, rng): pass",
}
PRINTS = "print('hello' * 1000)\n" + GOOD.replace("0.5", "0.4")


class Stopped(Exception):
    """The proposer failed."""


class Scripted:
    """A proposer with a script, and what it was told."""

    def __init__(self, *generations):
        self.generations, self.told = generations, []

    def __call__(self, history):
        self.told.append(history)
        if history.generation > len(self.generations):
            return []
        if self.generations[history.generation - 1] is None:
            raise Stopped
        return [Candidate(code=code) for code in self.generations[history.generation - 1]]


def designed(propose, path, **options):
    settings = {"times": [20, 100], "generations": 2, "on": 12, "validate": 4, "checks": ["bounds"], "seed": 3}
    return study.design(propose, [pb.problems.BBOBProblem(1, 1, 3)], path, **settings | options)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A design with all kinds of proposals, its proposer, and its path."""
    path = tmp_path_factory.mktemp("design") / "d.study"
    proposer = Scripted([*BROKEN.values(), STUCK, PRINTS], [GOOD, STUCK])
    imports = [*study.DesignSettings().imports, "ctypes"]
    return designed(proposer, path, generations=9, imports=imports, timeout=4.0), proposer, path


def verdict(history, code):
    return next(each for each in history.verdicts if each.candidate.code == code)


@pytest.mark.parametrize("why", BROKEN)
def test_whatever_is_proposed_is_contained_and_told(first, why):
    told = verdict(first[0].history, BROKEN[why])
    assert told.status == "refused"
    assert why in told.reasons[0]


def test_verdicts_say_who_dominates_and_where_candidates_are_best(first):
    result, proposer, _ = first
    assert [each.generation for each in proposer.told] == [1, 2, 3]
    before, after = proposer.told[1], result.history
    assert verdict(before, PRINTS).status == "in the Pareto set"
    assert "its output, which is discarded, begins with 'hellohello" in str(verdict(before, PRINTS))
    assert len(str(verdict(before, PRINTS))) < 1000
    stuck = verdict(after, STUCK)
    assert stuck.status == "dominated"
    assert stuck.rival in {verdict(after, PRINTS).name, "RandomSearch"}
    assert stuck.dominated >= 0.95
    assert f"{stuck.rival} is better at all timepoints with probability" in stuck.reasons[0]
    good = verdict(after, GOOD)
    assert good.status == "in the Pareto set"
    assert good.best.shape == (2,)
    assert sum(each.best for each in after.elites)[0] <= 1 + 1e-9
    assert after.verdicts[-1].status == "repeated"
    assert GOOD in str(after)


def test_a_design_is_an_ordinary_study_whose_winners_are_raced_on_fresh_instances(first):
    result, _, path = first
    assert set(result.candidates) <= {verdict(result.history, code).name for code in (GOOD, PRINTS)}
    assert result.candidates
    assert set(pb.load(path).pareto_set) == set(result.history.pareto_set)
    assert pb.load(result.path).pareto_set == result.race.pareto_set
    seeds = {key.seed for key in pb.store.open(path)}
    assert not seeds & {key.seed for key in pb.store.open(result.path)}
    for each in (path, result.path):  # resume never runs it, whatever is trusted
        with pb.store.open(each) as kept, pytest.raises(ValueError, match="the study contains proposed code"):
            built(kept.spec, ["polarbear"])


def test_a_design_that_was_interrupted_goes_on_with_the_proposals_it_has(tmp_path):
    few = {"on": 6, "validate": 2, "checks": []}
    whole = designed(Scripted([STUCK, GOOD], [PRINTS]), tmp_path / "whole.study", **few)
    with pytest.raises(Stopped):
        designed(Scripted([STUCK, GOOD], None), tmp_path / "d.study", **few)
    again = Scripted(None, [PRINTS])
    resumed = designed(again, tmp_path / "d.study", **few)
    assert [each.generation for each in again.told] == [2]  # what is kept is not asked for again
    assert resumed.as_dict() | {"race": ""} == whole.as_dict() | {"race": ""}
    with pytest.raises(study.OtherSettings, match=r"design\.on was 6 and is now 7"):
        designed(again, tmp_path / "d.study", **few | {"on": 7})


@dataclass(frozen=True)
class Climber:
    """A climber of two modules; one of six combinations is good, and one breaks."""

    step: str = "none"
    start: str = "anywhere"
    name: str = "climber"

    def __call__(self, problem, rng):
        x = problem.upper if self.start == "corner" else rng.uniform(problem.lower, problem.upper)
        value, step = problem(x), {"none": 0.0, "small": 1e-3, "right": 0.7}[self.step]
        if (self.step, self.start) == ("small", "corner"):
            raise RuntimeError("it broke")
        while True:
            y = np.clip(x + step * rng.normal(size=x.size), problem.lower, problem.upper)
            if (found := problem(y)) < value:
                x, value = y, found


@pytest.mark.parametrize("rival", [stillborn, suicidal])
def test_a_rival_that_breaks_in_every_run_is_no_rival_wherever_it_stands(tmp_path, rival):
    """Those that raise have infinite values and are dominated; those whose worker dies have none and are set aside."""
    against = [rival, pb.optimizers.RandomSearch()]
    few = {"on": 6, "validate": 2, "generations": 1, "checks": []}
    with pytest.raises(study.EveryRunFailed, match=f"no run of {rival.__name__}, .* found a value; the first: "):
        designed(Scripted([GOOD]), tmp_path / "d.study", against=against, **few)


def test_a_rival_that_breaks_but_finds_something_before_is_one(tmp_path):
    few = {"on": 6, "validate": 2, "generations": 1, "checks": []}
    with pytest.warns(study.RunFailureWarning, match="runs failed"):
        result = designed(Scripted([GOOD]), tmp_path / "d.study", against=[crash], **few)
    assert result.history.verdicts[0].status == "in the Pareto set"


@pytest.mark.slow
def test_modules_are_recombined_to_the_best_design(tmp_path):
    space = spaces.of(Climber, {"step": ["none", "small", "right"], "start": ["anywhere", "corner"]})
    result = designed(ModuleRecombination(space, size=3), tmp_path / "d.study", space=space, checks=[], validate=2)
    assert result.history.elites[0].candidate.configuration == {"step": "right", "start": "anywhere"}
    broken = [each for each in result.history.verdicts if "it broke" in str(each)]
    assert [each.candidate.configuration for each in broken] in ([], [{"start": "corner", "step": "small"}])


def test_proposals_that_are_none_and_settings_that_cannot_be_are_told(tmp_path):
    path = tmp_path / "d.study"
    with pytest.raises(TypeError, match=r"the proposer returned 'code'; return polarbear\.design\.Candidate"):
        designed(lambda history: ["code"], path)
    with pytest.raises(TypeError, match="the proposer returned None; return a list"):
        designed(lambda history: None, path)
    with pytest.raises(ValueError, match="checks names 'bound'; did you mean 'bounds'"):
        designed(Scripted([]), path, checks=["bound"])
    with pytest.raises(ValueError, match="against is empty"):
        designed(Scripted([]), path, against=[])
    with pytest.raises(ValueError, match="two algorithms are named 'RandomSearch'"):
        designed(Scripted([]), path, against=[pb.optimizers.RandomSearch()] * 2)
    lost = designed(lambda history: [Candidate(configuration={"a": 1})], path, generations=1)
    assert "the design has no space" in str(lost)
    assert lost.candidates == {}


@pytest.mark.slow
def test_code_that_swallows_everything_and_code_that_starts_processes_end_with_their_worker(tmp_path):
    deaf = "def optimize(p, rng):\n    while True:\n        try: p(p.lower)\n        except BaseException: pass"
    forks = "import os, time\ndef optimize(problem, rng):\n    os.fork()\n    while True: time.sleep(1)"
    result = designed(Scripted([deaf, forks]), tmp_path / "d.study", imports=["os", "time"], timeout=4.0)
    assert {each.status for each in result.history.verdicts} == {"refused"}
    with WorkerPool(1) as pool:
        assert pool.submit(int, 3).result() == 3

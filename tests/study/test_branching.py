"""Branches of recorded runs: real runs, executed in threads of this process."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest

import polarbear as pb
from polarbear import store
from polarbear.experiment.logging_schedule import Watch
from polarbear.landscape import run_features
from polarbear.records import STAY, Branch, Run, RunKey
from polarbear.study import BranchPlan, NotRepeatable, OtherSettings, Plan, branch, branch_features, plan_branches
from tests.study.entrants import descend, sphere

BUDGET, HORIZON = 60, 25
PROBLEM = pb.problems.FunctionProblem(sphere, lower=-2, upper=2, dimension=3, optimum=0.0)


@dataclass(frozen=True)
class Fresh:
    """Points of its generator alone, whatever was left."""

    name: str = "fresh"

    def __call__(self, problem, rng):
        while True:
            problem(rng.uniform(problem.lower, problem.upper))

    def run_from(self, problem, rng, start):
        assert start.evaluations >= 10
        self(problem, rng)


@dataclass(frozen=True)
class Short(Fresh):
    """Ends by itself after 30 evaluations."""

    name: str = "short"

    def __call__(self, problem, rng):
        for _ in range(30):
            problem(rng.uniform(problem.lower, problem.upper))


ALGORITHMS = {"A": Fresh(), "B": Fresh(), "CMA-ES": pb.optimizers.ModularCMAES.anytime()}


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(1) as executor:
        yield executor


def recorded(path, threads, algorithms=ALGORITHMS, problems=(PROBLEM,), **settings):
    chosen = {"budget": BUDGET, "repetitions": 2, "watch": Watch(points="all")} | settings
    pb.study.run_plan(Plan(algorithms, list(problems), **chosen), path, executor=threads)
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory, threads):
    return recorded(tmp_path_factory.mktemp("recorded") / "runs.study", threads)


def made(source, path, threads, **settings):
    chosen = {"at": [20, "10*d"], "repeats": 2, "horizon": HORIZON, "imports": ["tests"]} | settings
    return branch(source, path, executor=threads, **chosen)


def of(path):
    with store.open(path) as study:
        return {Branch.of(run.key): run for run in study.runs()}


def until(run: Run, evaluations):
    kept = run.trajectory.evaluations <= evaluations
    return list(zip(run.trajectory.evaluations[kept].tolist(), run.trajectory.values[kept].tolist(), strict=True))


def test_every_run_is_left_at_every_point_by_every_way(source, threads, tmp_path):
    path = tmp_path / "b.study"
    summary = made(source, path, threads)
    runs = of(path)
    with store.open(source) as study:
        parents = {run.key: run for run in study.runs()}
    assert summary.finished
    assert set(runs) == {
        Branch(key, at, into, repeat)
        for key in parents
        for at in (20, 30)
        for into in (STAY, *(name for name in ALGORITHMS if name != key.algorithm))
        for repeat in (0, 1)
    }
    for leaf, run in runs.items():
        assert run.outcome.evaluations == leaf.at + HORIZON
        assert until(run, leaf.at) == until(parents[leaf.run], leaf.at)
    ends = {leaf: run.trajectory.values.tolist() for leaf, run in runs.items()}
    run = RunKey(PROBLEM.name, "CMA-ES", 0)
    repeats = [ends[Branch(run, 20, STAY, repeat)] for repeat in (0, 1)]
    assert repeats[0] != repeats[1]
    assert ends[Branch(run, 20, "A", 0)] == ends[Branch(run, 20, "B", 0)]  # one optimizer, one chance
    assert ends[Branch(run, 20, "A", 0)] != ends[Branch(run, 20, "A", 1)]
    # what stays draws the same points as what takes over and remembers nothing
    alone = RunKey(PROBLEM.name, "A", 1)
    assert ends[Branch(alone, 30, STAY, 1)] == ends[Branch(alone, 30, "B", 1)]


def test_a_further_call_goes_on_with_what_is_missing(source, threads, tmp_path):
    path = tmp_path / "b.study"
    first = made(source, path, threads, at=[20], repeats=1, into=["A"])
    before = of(path)
    more = made(source, path, threads, repeats=3)
    assert (first.ran, more.ran) == (10, 6 * 2 * 3 * 3 - 10)  # A has no switch to itself
    after = of(path)
    assert {leaf: after[leaf].trajectory.values.tolist() for leaf in before} == {
        leaf: run.trajectory.values.tolist() for leaf, run in before.items()
    }
    with pytest.raises(OtherSettings, match="horizon was 25 and is now 30"):
        made(source, path, threads, repeats=3, horizon=30)


def test_some_runs_are_chosen_and_other_optimizers_take_over(source, threads, tmp_path):
    chosen = {"runs": lambda key: key == RunKey(PROBLEM.name, "A", 1), "repeats": 1, "at": [20]}
    made(source, tmp_path / "b.study", threads, into={"DE": pb.optimizers.ModularDE()}, **chosen)
    assert {leaf.into for leaf in of(tmp_path / "b.study")} == {STAY, "DE"}


def test_one_point_and_one_optimizer_need_no_list(source):
    for at in (24, "24", "8*d", np.int64(24), np.array([24])):
        plan = plan_branches(source, at=at, into="B", imports=["tests"])
        assert set(map(tuple, plan.moments.values())) == {(24,)}
        assert {Branch.of(key).into for key, _ in plan.order()} == {STAY, "B"}
    plan = plan_branches(source, at=24, into=Fresh("A"), imports=["tests"])  # that is the plan's
    assert {Branch.of(key).into for key, _ in plan.order()} == {STAY, "A"}
    plan = plan_branches(source, at=24, into=Short("C"), imports=["tests"])
    assert {Branch.of(key).into for key, _ in plan.order()} == {STAY, "C"}


def test_runs_that_had_ended_are_passed_over(threads, tmp_path):
    source = recorded(tmp_path / "s.study", threads, {"short": Short(), "A": Fresh()}, repetitions=1)
    plan = plan_branches(source, at=[20, 30, BUDGET], repeats=1, horizon=5, imports=["tests"])
    assert plan.moments == {
        RunKey(PROBLEM.name, "A", 0): [20, 30, BUDGET],
        RunKey(PROBLEM.name, "short", 0): [20],
    }
    assert plan.skipped == 2
    assert plan.evaluations == 2 * (3 * 5 + 20 + 30 + BUDGET) + 2 * 25


def test_features_are_those_of_the_evaluations_until_then(source):
    plan = plan_branches(source, at=[20, 40], imports=["tests"])
    found = branch_features(source, plan, last=(15,), sets=("ela_distr",))
    key = RunKey(PROBLEM.name, "A", 0)
    with store.open(source) as study:
        (run,) = study.runs([key], samples=True)
    points = run.samples.points[5:20]
    assert len(found) == 6 * 2
    assert 10 ** found[key, 20]["pop_div@15"] == pytest.approx((points / 4).std(axis=0).mean())


def test_other_features_are_computed_of_runs_with_what_they_logged(threads, tmp_path):
    algorithms = {"CMA-ES": ALGORITHMS["CMA-ES"], "DE": pb.optimizers.ModularDE()}
    runs = recorded(tmp_path / "s.study", threads, algorithms, repetitions=1, watch=Watch(points="all", every=7))
    plan = plan_branches(runs, at=[40], runs=lambda key: key.algorithm == "CMA-ES", imports=["tests"])
    (key,) = plan.recorded
    settings = {"size": 7, "parameters": ["step_size"], "sets": ("ela_distr",)}
    found = branch_features(runs, plan, run_features, **settings)[key, 40]
    with store.open(runs) as study:
        (run,) = study.runs([key], samples=True)
    assert found == pytest.approx(run_features(run, [-2] * 3, [2] * 3, until=40, **settings), nan_ok=True)
    logged = run.parameters.values["step_size"][run.parameters.evaluations <= 40]
    assert found["step_size:last"] == pytest.approx(np.log10(logged[-1]))


def test_a_run_that_comes_out_otherwise_is_noticed(source):
    plan = plan_branches(source, at=[20], imports=["tests"])
    key, _ = next(plan.order())
    honest = plan.recorded[Branch.of(key).run]
    plan.check(replace(honest, key=key))
    altered = replace(honest.trajectory, values=honest.trajectory.values * (1 + 1e-6))
    with pytest.raises(NotRepeatable, match="record it again"):
        plan.check(replace(honest, key=key, trajectory=altered))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"at": [1_000]}, "every run had ended by then"),
        ({"at": [0]}, "at is 0"),
        ({"at": ["x"]}, "'x' is not a budget"),
        ({"at": []}, "at is empty"),
        ({"into": ["CMA"]}, "no algorithm 'CMA'; did you mean 'CMA-ES'"),
        ({"into": "AB"}, "no algorithm 'AB'; did you mean 'B'"),
        ({"into": [Fresh("x"), Short("x")]}, "two algorithms are named 'x'"),
        ({"into": ["B", Fresh("B")]}, "two algorithms are named 'B'"),
        ({"into": [Short("A")]}, "names an optimizer 'A', but the plan's algorithm of that name is a different one"),
        ({"into": {"A": Short()}}, "names an optimizer 'A', but the plan's"),
        ({"at": 0}, "at is 0"),
        ({"into": [descend]}, "descend cannot start from another optimizer"),
        ({"into": {"a@b": Fresh()}}, "does not contain @"),
        ({"repeats": 0}, "repeats is 0"),
        ({"horizon": 0}, "horizon is 0"),
        ({"runs": lambda _: False}, "no chosen run"),
        ({"imports": []}, "name each module"),
    ],
)
def test_bad_arguments_are_refused(source, tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        branch(source, tmp_path / "b.study", **({"at": [20], "imports": ["tests"]} | wrong))


def test_studies_that_cannot_be_left_are_refused(threads, tmp_path):
    timed = recorded(tmp_path / "timed.study", threads, axis="seconds", budget=0.01, repetitions=1)
    with pytest.raises(ValueError, match=r"the budget of .* is in seconds"):
        plan_branches(timed, at=[20], imports=["tests"])
    bare = tmp_path / "bare.study"
    with store.create(bare, {}):
        pass
    with pytest.raises(ValueError, match="contains no plan"):
        plan_branches(bare, at=[20])
    with_noise = pb.problems.BBOBNoisy(functions=[101], dimensions=[2], instances=[1])
    noisy_runs = recorded(tmp_path / "noisy.study", threads, problems=with_noise.grid(), repetitions=1)
    with pytest.raises(ValueError, match="is noisy; branching repeats"):
        plan_branches(noisy_runs, at=[20], imports=["tests"])
    thin = recorded(tmp_path / "thin.study", threads, watch=None, repetitions=1)
    plan = plan_branches(thin, at=[20], imports=["tests"])
    assert isinstance(plan, BranchPlan)
    with pytest.raises(ValueError, match='points = "all"'):
        branch_features(thin, plan)


def test_it_counts_itself(source):
    plan = plan_branches(source, at=[20], repeats=2, imports=["tests"])
    assert plan.size == sum(plan.counts().values()) == len(list(plan.tasks())) == 6 * 3 * 2
    assert all(key in plan for key, _ in plan.order())
    assert np.unique([task.optimizer.after for task in plan.tasks()]).size == 6 * 2

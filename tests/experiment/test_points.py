"""Which points a run keeps: its best one always, others if a watch asks for them; by brute force and by hand."""

import math
import pickle
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polarbear as pb
from polarbear import store
from polarbear.experiment import Limits, Recorder, Stop, Watch, execute
from polarbear.records import Reason
from polarbear.study import Plan, StudyFileError, read_spec, run_plan
from tests.experiment.fakes import Box, NoisySphere, rng
from tests.experiment.test_judged import TwoNegated, TwoSpheres


class Numbered(Box):
    """Its values are given; the i-th point is (i, -i)."""

    def __init__(self, values, minimize=True):
        self.minimize, self._values = minimize, iter(values)

    def raw(self, x):
        return next(self._values)


def told_apart(minimize):
    return lambda value: math.inf if math.isnan(value) else value if minimize else -value


@given(
    values=st.lists(st.floats(-9, 9) | st.sampled_from([math.nan, math.inf, -math.inf, 1.0]), max_size=40),
    cuts=st.lists(st.integers(0, 12), max_size=12),
    minimize=st.booleans(),
    every=st.none() | st.integers(1, 7),
    budget=st.none() | st.integers(1, 30),
)
def test_best_point_and_samples_are_those_of_the_definition_one_by_one_and_in_batches(
    values, cuts, minimize, every, budget
):
    watch = None if every is None else Watch(points=every)
    recorder = Recorder(Numbered(values, minimize), Limits(evaluations=budget), watch=watch)
    reused, number = np.zeros(2), 0
    try:
        for size in [*cuts, *[1] * len(values)]:
            size = min(size, len(values) - number)
            if size == 1:
                reused[:] = number + 1, -(number + 1)  # the optimizer's own array, which it changes
                recorder.objective(reused)
            elif size:
                numbers = np.arange(number + 1, number + size + 1.0)
                recorder.objective(np.column_stack((numbers, -numbers)))
            number += size
    except Stop:
        pass
    recorded = list(map(told_apart(minimize), values))[:budget]
    best = min(recorded, default=math.inf)
    expected = [recorded.index(best) + 1.0, -(recorded.index(best) + 1.0)] if best < math.inf else None
    assert (None if recorder.solution is None else recorder.solution.tolist()) == expected
    due = [n for n in range(1, len(recorded) + 1) if every and n % every == 0]
    if not due:
        assert recorder.samples is None
        return
    assert recorder.samples.evaluations.tolist() == due
    assert recorder.samples.points.tolist() == [[n, -n] for n in due]
    assert recorder.samples.values.tolist() == [recorded[n - 1] for n in due]


def test_keeping_points_changes_nothing_of_the_run(task):
    plain = execute(task(evaluations=300))
    for points in (1, 7, "all"):
        watched = execute(replace(task(evaluations=300), watch=Watch(points=points)))
        assert watched.trajectory.values.tolist() == plain.trajectory.values.tolist()
        assert watched.trajectory.evaluations.tolist() == plain.trajectory.evaluations.tolist()
        assert watched.solution.tolist() == plain.solution.tolist()
        assert float(plain.solution @ plain.solution) == pytest.approx(plain.trajectory.best, rel=1e-14)
        assert (plain.samples, watched.parameters, watched.outcome.message) == (None, None, "")
    assert watched.samples.evaluations.tolist() == list(range(1, 301))
    np.testing.assert_allclose(np.sum(watched.samples.points**2, axis=1), watched.samples.values, rtol=1e-14)


def test_rows_are_logged_when_they_are_due_beside_points(functional):
    watch = Watch(every=5, at=(7,), on_improvement=True, points=3)
    values = iter([9.0, 9.0, 8.0, *[9.0] * 13])
    recorder = Recorder(functional(lambda x: next(values)), Limits(), watch=watch)
    recorder.objective.expose(n=lambda: recorder.evaluations)
    for _ in range(16):
        recorder.objective(np.ones(2))
    assert recorder.parameters.evaluations.tolist() == [1, 3, 5, 7, 10, 15]
    assert recorder.samples.evaluations.tolist() == [3, 6, 9, 12, 15]


def test_the_best_point_of_a_noisy_run_is_that_of_the_best_recorded_value():
    recorder = Recorder(NoisySphere(), Limits(), noise=rng(), watch=Watch(points="all"))
    points = np.random.default_rng(3).normal(size=(60, 2))
    told = [recorder.objective(x) for x in points]
    truth = np.sum(points**2, axis=1)
    assert np.argmin(told) != np.argmin(truth)
    assert recorder.solution.tolist() == points[np.argmin(truth)].tolist()
    np.testing.assert_allclose(recorder.samples.values, truth)


@pytest.mark.parametrize("problem", [TwoSpheres, TwoNegated])
@pytest.mark.parametrize("batch", [False, True])
def test_of_several_objectives_the_points_are_kept_that_no_other_dominates(problem, batch):
    points = np.random.default_rng(1).uniform(-2, 2, (80, 2))
    made = problem()
    recorder = Recorder(made, Limits(), watch=Watch(points=2))
    recorder.objective(points) if batch else [recorder.objective(x.copy()) for x in points]
    objectives = np.array([made.raw(x) for x in points]) * (1 if made.minimize else -1)
    dominated = [((objectives <= y).all(axis=1) & (objectives < y).any(axis=1)).any() for y in objectives]
    front = points[~np.array(dominated)]
    order = np.lexsort(objectives[~np.array(dominated)].T[::-1])
    assert 1 < len(front) < 80
    np.testing.assert_array_equal(recorder.solution, front[order])
    assert recorder.samples.evaluations.tolist() == list(range(2, 81, 2))
    assert recorder.samples.values[-1] == recorder.trajectory().best  # the indicator of all points so far


def test_three_objectives_keep_their_points_too():
    """Two points that do not dominate each other, and one that dominates both."""
    from polarbear.assess import HypervolumeIndicator

    indicator = HypervolumeIndicator(np.zeros(3), np.ones(3))
    for objectives, name in (((0.5, 0.6, 0.5), "b"), ((0.4, 0.7, 0.5), "a"), ((0.5, 0.6, 0.5), "again")):
        indicator.add(objectives, name)
    assert (indicator.kept, indicator.archive[:, 0].tolist()) == (["a", "b"], [0.4, 0.5])
    indicator.add((0.3, 0.3, 0.3), "best")
    assert indicator.kept == ["best"]


def test_evaluations_that_raise_or_are_of_constraints_alone_are_not_sampled(functional):
    def sometimes(x):
        if x[0] == 2:
            raise RuntimeError("no value")
        return float(x[0])

    recorder = Recorder(functional(sometimes), Limits(), watch=Watch(points="all"))
    for n in (3.0, 2.0, 1.0):
        with suppress(RuntimeError):
            recorder.objective(np.full(2, n))
    assert recorder.samples.evaluations.tolist() == [1, 3]
    assert recorder.solution.tolist() == [1.0, 1.0]


def test_variations_give_the_point_that_was_asked_for():
    """The coordinates are those of the problem that is called, not of the one within."""
    spec = pb.problems.Variations(pb.problems.BBOBProblem(function=1, instance=1, dimension=3), seed=4)[0]
    run = execute(
        pb.experiment.Task(
            pb.RunKey(spec.name, "r", 1), spec, pb.optimizers.RandomSearch(), Limits(evaluations=50), Watch(points=1)
        )
    )
    problem = spec.build()
    assert problem(run.solution) == run.trajectory.best
    np.testing.assert_array_equal(problem(np.array(run.samples.points)), run.samples.values)


def test_a_run_that_found_nothing_or_was_lost_has_no_point(task):
    assert execute(task(lambda problem, rng: None)).solution is None
    lost = pb.records.lost(pb.RunKey("i", "a", 0), Reason.KILLED, "signal 9")
    assert (lost.solution, lost.samples) == (None, None)


@pytest.mark.parametrize("line", ["point", "improvement"])
def test_the_point_is_that_of_the_last_improvement_wherever_an_alarm_strikes(functional, monkeypatch, line):
    """Right after the point was copied the improvement is not entered yet: the one before is the best then."""
    recorder = Recorder(functional(lambda x: float(x[0])), Limits())
    recorder.objective(np.full(2, 5.0))

    class Struck(BaseException):
        pass

    class Alarmed(list):
        def append(self, item):
            if line == "improvement":
                super().append(item)
            raise Struck

    recorder._improvements = Alarmed(recorder._improvements)
    with pytest.raises(Struck):
        recorder.objective(np.full(2, 3.0))
    trajectory = recorder.trajectory()
    assert (trajectory.best, recorder.solution.tolist()) == {
        "point": (5.0, [5.0, 5.0]),
        "improvement": (3.0, [3.0, 3.0]),
    }[line]


def test_runs_with_points_can_be_pickled(task):
    run = execute(replace(task(evaluations=20), watch=Watch(points=4)))
    assert pickle.loads(pickle.dumps(run)) == run


@pytest.mark.parametrize(
    ("points", "error"), [(0, ValueError), ("some", TypeError), (True, TypeError), (1.5, TypeError), (-1, ValueError)]
)
def test_what_is_no_number_of_points_is_named(points, error):
    with pytest.raises(error, match=r"^points"):
        Watch(points=points)


def test_all_points_and_every_first_one_are_the_same():
    assert Watch(points="all") == Watch(points=1)
    assert Watch(points=3, parameters=()).points == 3


# Studies


def test_a_plan_keeps_points_from_workers_and_goes_on_with_them(tmp_path):
    problems = [pb.problems.BBOBProblem(function=f, instance=1, dimension=2) for f in (1, 8)]
    algorithms = {"random": pb.optimizers.RandomSearch(), "again": pb.optimizers.RandomSearch()}

    def plan(repetitions):
        return Plan(algorithms, problems, repetitions=repetitions, budget=40, watch=Watch(points=8))

    run_plan(plan(1), tmp_path / "a.study", workers=2)
    run_plan(plan(2), tmp_path / "a.study", workers=2)  # goes on
    runs = store.read(tmp_path / "a.study", samples=True)
    assert len(runs) == 8
    for run in runs:
        spec = next(spec for spec in problems if spec.name == run.key.instance)
        assert spec.build()(run.solution) == run.trajectory.best
        assert run.samples.evaluations.tolist() == [8, 16, 24, 32, 40]
        np.testing.assert_array_equal(spec.build()(np.array(run.samples.points)), run.samples.values)
    assert [replace(run, samples=None) for run in runs] == store.read(tmp_path / "a.study")
    with pytest.raises(ValueError, match="log"):
        run_plan(Plan(algorithms, problems, repetitions=2, budget=40), tmp_path / "a.study")


@pytest.mark.parametrize("points", ["0", '"some"', "true", "1.5", "[1]"])
def test_a_study_file_names_the_line_of_what_is_no_number_of_points(tmp_path, points):
    text = (
        '[race]\ntimes = [10, 20]\n[instances]\nsuite = "bbob"\nfunctions = [1]\ndimensions = [2]\n'
        '[[algorithms]]\noptimizer = "random-search"\nname = "a"\n[[algorithms]]\noptimizer = "random-search"\n'
        f'name = "b"\n[log]\npoints = {points}\n'
    )
    (tmp_path / "race.toml").write_text(text)
    with pytest.raises(
        StudyFileError, match=r'line 14: log\.points is .*: give a whole number of 1 or more, or "all"$'
    ):
        read_spec(tmp_path / "race.toml")
    (tmp_path / "race.toml").write_text(text.replace(f"points = {points}", 'points = "all"'))
    assert read_spec(tmp_path / "race.toml").run_settings()["watch"] == Watch(points=1)

"""The recorder against brute force: every evaluation written down, and the trajectory worked out from that."""

import math
import time
from contextlib import suppress
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.experiment import Limits, Recorder, Stop
from polarbear.records import Reason
from tests.experiment.fakes import brute_force

VALUES = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, 2.0, math.nan, math.inf, -math.inf]),
)


class Listed:
    """A problem whose n-th evaluation gives the n-th of some listed values."""

    dimension, name = 1, "listed"
    lower, upper = np.zeros(1), np.ones(1)

    def __init__(self, values, minimize=True, optimum=None):
        self.values, self.minimize, self.optimum = values, minimize, optimum
        self.calls = 0

    def raw(self, x):
        self.calls += 1
        return float(self.values[self.calls - 1])

    def diagnose(self, x):
        pass

    def __call__(self, x):
        return np.array([self.raw(row) for row in x])


@given(
    values=st.lists(VALUES, max_size=40),
    cuts=st.lists(st.integers(0, 8), max_size=60),
    minimize=st.booleans(),
    budget=st.one_of(st.none(), st.integers(1, 45)),
    precision=st.one_of(st.none(), st.sampled_from([0.0, 0.5, 10.0])),
)
def test_any_mix_of_points_and_batches_gives_the_brute_force_trajectory(values, cuts, minimize, budget, precision):
    problem = Listed(values, minimize, optimum=0.0)
    recorder = Recorder(problem, Limits(evaluations=budget, target_precision=precision))
    recorder.start()
    stopped = False
    left = len(values)
    try:
        for size in [*cuts, *[1] * left]:
            if size == 1 and left:
                recorder.objective(np.zeros(1) if left % 2 else np.zeros((1, 1)))
                left -= 1
            elif size <= left:
                recorder.objective(np.zeros((size, 1)))
                left -= size
    except Stop:
        stopped = True
    trajectory = recorder.trajectory()

    pairs = [(value, value) for value in values]
    improvements, number, reason, invalid = brute_force(pairs, minimize, budget, precision)
    assert list(zip(trajectory.evaluations.tolist(), trajectory.values.tolist(), strict=True)) == improvements
    assert trajectory.outcome.evaluations == number
    assert trajectory.outcome.reason is reason
    assert trajectory.outcome.invalid_evaluations == invalid
    assert stopped == (reason is not Reason.STOPPED)
    assert budget is None or problem.calls <= budget


@given(
    values=st.lists(VALUES, min_size=1, max_size=40),
    durations=st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=40, max_size=40),
    limit=st.one_of(st.none(), st.floats(0.1, 20)),
    at=st.lists(st.floats(0, 45), max_size=10),
)
def test_best_so_far_on_both_axes_is_that_of_all_values(values, durations, limit, at):
    now = 1000.0

    class Slow(Listed):
        def raw(self, x):
            nonlocal now
            now += durations[self.calls]
            return super().raw(x)

    problem = Slow(values)
    with mock.patch("polarbear.experiment.recorder.perf_counter", lambda: now):  # noqa: PT008 - it changes
        recorder = Recorder(problem, Limits(seconds=limit))
        recorder.start()
        with suppress(Stop):
            for _ in values:
                recorder.objective(np.zeros(1))
        trajectory = recorder.trajectory()
    ends = np.cumsum(durations)[: len(values)].tolist()
    spent = next((n for n, end in enumerate(ends, 1) if limit is not None and end >= limit), len(values))
    clean = [math.inf if math.isnan(value) else value for value in values[:spent]]
    assert (trajectory.outcome.evaluations, trajectory.outcome.seconds) == (spent, ends[spent - 1])
    assert trajectory.outcome.reason is (Reason.STOPPED if limit is None or ends[-1] < limit else Reason.BUDGET)
    for t in at:
        cut = trajectory.outcome.reason is Reason.BUDGET
        by_number = min(clean[: int(t)], default=math.inf)
        by_clock = min((value for value, end in zip(clean, ends, strict=False) if end <= t), default=math.inf)
        np.testing.assert_equal(trajectory.value_at(t), math.nan if cut and t > spent else by_number)
        np.testing.assert_equal(
            trajectory.value_at(t, "seconds"), math.nan if cut and t > ends[spent - 1] else by_clock
        )


def test_what_the_optimizer_sees(functional):
    problem = functional(lambda x: float(x @ x), minimize=False)
    objective = Recorder(problem, Limits(evaluations=10)).objective
    assert objective.dimension == 2
    assert objective.lower.tolist() == [-5, -5]
    assert objective.upper.tolist() == [5, 5]
    objective.lower[0] = 99  # its own copy
    assert problem.lower.tolist() == [-5, -5]
    assert objective(np.array([1.0, 2.0])) == -5.0
    assert objective(np.array([[1.0, 2.0], [0.0, 1.0]])).tolist() == [-5.0, -1.0]
    assert objective([1.0, 2.0]) == -5.0
    assert objective([[1.0, 2.0]]).tolist() == [-5.0]
    assert not any("evaluations" in name or "limit" in name or "budget" in name for name in vars(objective))


@pytest.mark.parametrize("batch", [False, True])
def test_the_call_that_spends_the_budget_raises_and_later_ones_evaluate_nothing(functional, batch):
    problem = functional(lambda x: float(x @ x))
    recorder = Recorder(problem, Limits(evaluations=10))
    recorder.start()
    spend = (lambda: recorder.objective(np.ones((4, 2)))) if batch else (lambda: recorder.objective(np.ones(2)))
    with suppress(Stop):
        for _ in range(100):
            spend()
    assert len(problem.calls) == recorder.evaluations == 10
    for call in (np.ones(2), np.ones((3, 2)), [1.0, 1.0]):
        with pytest.raises(Stop):
            recorder.objective(call)
    assert len(problem.calls) == 10
    assert recorder.trajectory().outcome.evaluations == 10
    assert recorder.trajectory().outcome.reason is Reason.BUDGET


def test_rows_after_the_target_are_not_part_of_the_run():
    values = [5.0, math.nan, 3.0, 0.5, math.nan, 0.1]
    recorder = Recorder(Listed(values, optimum=0.0), Limits(evaluations=6, target_precision=1.0))
    recorder.start()
    with pytest.raises(Stop):
        recorder.objective(np.zeros((6, 1)))
    trajectory = recorder.trajectory()
    assert trajectory.values.tolist() == [5.0, 3.0, 0.5]
    assert trajectory.evaluations.tolist() == [1, 3, 4]
    assert (trajectory.outcome.evaluations, trajectory.outcome.invalid_evaluations) == (4, 1)
    assert trajectory.outcome.reason is Reason.TARGET
    assert recorder.target == 1.0


def test_the_target_of_a_maximization_problem_is_below_its_optimum():
    recorder = Recorder(Listed([1.0, 8.5, 9.0], minimize=False, optimum=10.0), Limits(target_precision=1.0))
    recorder.start()
    assert recorder.target == -9.0
    assert recorder.optimum == -10.0
    assert recorder.objective(np.zeros(1)) == -1.0
    assert recorder.objective(np.zeros(1)) == -8.5
    with pytest.raises(Stop):
        recorder.objective(np.zeros(1))
    assert recorder.trajectory().values.tolist() == [-1.0, -8.5, -9.0]


@pytest.mark.parametrize("optimum", [None, math.inf])
def test_a_target_without_a_known_optimum_is_an_error_that_names_the_problem(optimum):
    with pytest.raises(ValueError, match=r"target_precision is 0\.1, but the optimum of listed is unknown"):
        Recorder(Listed([], optimum=optimum), Limits(target_precision=0.1))


def test_bad_input_is_raised_and_not_counted(functional):
    problem = functional(lambda x: float(x @ x))
    recorder = Recorder(problem, Limits(evaluations=2))
    recorder.start()
    for bad in (np.ones(3), np.array([np.nan, 0.0]), np.ones((2, 3)), np.ones((1, 2, 2)), np.float64(1.0), "text"):
        with pytest.raises(ValueError, match=r"shape|NaN|convert"):
            recorder.objective(bad)
    assert recorder.evaluations == recorder.invalid == 0
    assert not problem.calls
    assert recorder.objective(np.ones(2)) == 2.0


def test_nan_counts_as_the_worst_value():
    recorder = Recorder(Listed([math.nan, 1.0, math.nan]), Limits())
    recorder.start()
    assert [recorder.objective(np.zeros(1)) for _ in range(2)] == [math.inf, 1.0]
    assert recorder.objective(np.zeros((1, 1))).tolist() == [math.inf]
    assert recorder.trajectory().outcome.invalid_evaluations == 2
    assert recorder.trajectory().outcome.evaluations == 3


@pytest.mark.parametrize("minimize", [True, False])
@pytest.mark.parametrize(
    ("result", "named"),
    [
        (None, "NoneType"),
        (1 + 2j, "complex"),
        ("1.0", "str"),
        ([1.0], "list"),
        (np.ones(3), r"ndarray of shape \(3,\)"),
        (np.ones(1), r"ndarray of shape \(1,\)"),
        (np.complex128(1), "complex128"),
    ],
)
def test_a_result_that_is_no_number_is_named(functional, result, named, minimize):
    recorder = Recorder(functional(lambda x: result, minimize=minimize), Limits(evaluations=2))
    recorder.start()
    for _ in range(2):
        with pytest.raises(TypeError, match=f"the objective returned {named}"):
            recorder.objective(np.ones(2))
    with pytest.raises(Stop):  # the evaluations were spent all the same
        recorder.objective(np.ones(2))
    assert recorder.trajectory().outcome.evaluations == 2


@pytest.mark.parametrize("result", [1, True, np.float32(1), np.int64(1), np.float64(1), np.array(1.0), np.bool_(True)])
def test_any_kind_of_real_number_is_taken(functional, result):
    recorder = Recorder(functional(lambda x: result), Limits())
    recorder.start()
    recorder.objective(np.ones(2))
    assert recorder.trajectory().values.tolist() == [1.0]


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("batch", [False, True])
def test_evaluations_that_raise_are_spent(functional, batch, error):
    def broken(x):
        raise error("no")

    problem = functional(broken)
    recorder = Recorder(problem, Limits(evaluations=4))
    recorder.start()
    x = np.ones((2, 2)) if batch else np.ones(2)
    for _ in range(2 if batch else 4):
        with pytest.raises(error):
            recorder.objective(x)
    calls = len(problem.calls)
    with pytest.raises(Stop):
        recorder.objective(x)
    assert len(problem.calls) == calls
    assert recorder.trajectory().outcome.evaluations == 4


@pytest.mark.parametrize("raising", [False, True])
def test_a_seconds_limit_ends_the_run_and_records_the_evaluation_that_passed_it(functional, raising):
    def slow(x):
        time.sleep(0.02)
        if raising:
            raise ValueError("slow and wrong")
        return 1.0 / len(problem.calls)

    problem = functional(slow)
    recorder = Recorder(problem, Limits(seconds=0.05))
    recorder.start()
    with suppress(Stop):
        while True:
            with suppress(ValueError):
                recorder.objective(np.ones(2))
    trajectory = recorder.trajectory()
    assert trajectory.outcome.reason is Reason.BUDGET
    assert trajectory.outcome.seconds >= 0.05
    assert trajectory.outcome.evaluations == len(problem.calls)
    if not raising:
        assert trajectory.evaluations.size == len(problem.calls)
        assert trajectory.seconds[-1] >= 0.05
        assert trajectory.value_at(0.05, "seconds") > trajectory.best


def test_memory_grows_with_improvements_only(functional):
    recorder = Recorder(functional(lambda x: 1.0), Limits())
    recorder.start()
    for _ in range(1000):
        recorder.objective(np.ones(2))
    recorder.objective(np.ones((1000, 2)))
    assert recorder.trajectory().values.size == 1
    assert recorder.evaluations == 2000


def test_an_evaluation_in_which_the_run_is_stopped_is_not_spent(functional):
    recorder = Recorder(functional(lambda x: recorder.stop(Reason.TIMED_OUT)), Limits(evaluations=5))
    recorder.start()
    for _ in range(3):
        with pytest.raises(Stop):
            recorder.objective(np.ones(2))
    assert recorder.trajectory().outcome.evaluations == recorder.evaluations == 0


def test_ctrl_c_comes_through_whatever_the_input(functional):
    def interrupted(x):
        raise KeyboardInterrupt

    problem = functional(interrupted)
    problem.raw = interrupted
    with pytest.raises(KeyboardInterrupt):
        Recorder(problem, Limits()).objective(np.ones(5))


def test_stop_is_not_swallowed_by_except_exception():
    assert not issubclass(Stop, Exception)


@pytest.mark.parametrize(
    "limits",
    [
        {"evaluations": 0},
        {"evaluations": 1.5},
        {"evaluations": -1},
        {"seconds": 0},
        {"seconds": math.inf},
        {"seconds": math.nan},
        {"timeout": -1},
        {"target_precision": -1e-9},
    ],
)
def test_impossible_limits_are_named(limits):
    (name,) = limits
    with pytest.raises(ValueError, match=f"^{name} is .*; "):
        Limits(**limits)


def test_recorded_values_are_those_of_ioh():
    import ioh

    bare = ioh.get_problem(8, 1, 5, ioh.ProblemClass.BBOB)

    class Problem:
        name, dimension, minimize, optimum = "bbob", 5, True, bare.optimum.y
        lower, upper = bare.bounds.lb, bare.bounds.ub
        raw = staticmethod(bare)

        def diagnose(self, x):
            pass

        def __call__(self, x):
            return np.array(bare(x))

    points = np.random.default_rng(1).uniform(-5, 5, (300, 5))
    values = [bare(x) for x in points]
    scalar, batch = Recorder(Problem(), Limits()), Recorder(Problem(), Limits())
    scalar.start()
    batch.start()
    assert [scalar.objective(x) for x in points] == values
    assert batch.objective(points).tolist() == values
    best = np.minimum.accumulate(values)
    for recorder in (scalar, batch):
        assert recorder.trajectory().value_at(np.arange(1, 301)).tolist() == best.tolist()

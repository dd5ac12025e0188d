"""Noisy problems: the optimizer is told one value and judged by another; by hand, and by brute force."""

import math
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.experiment import Limits, Recorder, Stop, Watch, execute
from polarbear.problems import Traits
from polarbear.records import Reason
from tests.experiment.fakes import Box, NoisySphere, NoisyTrial, brute_force, rng


def noted(points, told):
    """An optimizer that evaluates points one by one and notes what it was told."""

    def optimizer(objective, rng):
        for x in points:
            told.append(np.inf)
            told[-1] = objective(x)

    return optimizer


POINTS = np.random.default_rng(3).uniform(-3, 3, (40, 2))


def test_a_noisy_run_is_told_the_noise_of_its_key_and_judged_without_it(task):
    told = []
    ready = task(noted(POINTS, told), NoisySphere())
    run = execute(ready)
    true = (POINTS**2).sum(axis=1)
    np.testing.assert_allclose(told - true, ready.key.generator("noise").normal(size=40), atol=1e-12)
    assert run.trajectory.value_at(np.arange(1, 41)).tolist() == pytest.approx(np.minimum.accumulate(true).tolist())
    assert run.optimum == 0.0


def test_the_noise_does_not_touch_the_optimizers_chance(task):
    seen = {}

    def optimizer(objective, rng):
        seen.setdefault(objective.traits.noisy, []).extend(
            x for _ in range(5) if (x := rng.normal(size=2).tolist()) and objective(np.array(x)) is not None
        )

    class Quiet(NoisySphere):
        traits, trial = Traits(), None

    execute(task(optimizer, NoisySphere()))
    execute(task(optimizer, Quiet()))
    assert seen[True] == seen[False]


def test_a_noisy_batch_is_told_and_judged_row_by_row():
    recorder = Recorder(NoisySphere(), Limits(evaluations=30), noise=rng())
    with pytest.raises(Stop):
        recorder.objective(POINTS)
    again = Recorder(NoisySphere(), Limits(evaluations=50), noise=rng())
    told = again.objective(POINTS[:30])
    true = (POINTS[:30] ** 2).sum(axis=1)
    np.testing.assert_allclose(told - true, rng().normal(size=30), atol=1e-12)
    assert recorder.trajectory().values.tolist() == again.trajectory().values.tolist()
    assert again.trajectory().value_at(np.arange(1, 31)).tolist() == np.minimum.accumulate(true).tolist()
    assert recorder.trajectory().outcome.evaluations == 30


def test_maximized_noise_has_both_values_flipped():
    recorder = Recorder(NoisySphere(minimize=False), Limits(), noise=rng())
    told = recorder.objective(np.ones(2))
    assert told == pytest.approx(2.0 - rng().normal(), abs=1e-12)  # -(-2 + noise)
    assert recorder.trajectory().values.tolist() == [2.0]
    recorder.objective(np.full((1, 2), 0.5))
    assert recorder.trajectory().values.tolist() == [2.0, 0.5]


def test_a_target_is_reached_by_the_value_without_noise_alone():
    """The observation falls below the target at once; the true value does so at the third point."""

    class LuckyTrial(NoisyTrial):
        def __call__(self, x):
            return -1e9, super().__call__(x)[1]

    class Lucky(NoisySphere):
        def trial(self, rng):
            return LuckyTrial(self, rng)

    recorder = Recorder(Lucky(), Limits(target_precision=0.1), noise=rng())
    assert [recorder.objective(x * np.ones(2)) for x in (2.0, 1.0)] == [-1e9, -1e9]
    with pytest.raises(Stop):
        recorder.objective(np.zeros(2))
    assert recorder.reason is Reason.TARGET
    assert recorder.trajectory().values.tolist() == [8.0, 2.0, 0.0]


def reachable(root):
    """All that public names lead to from an object: attributes, and items of containers."""
    found, waiting = [], [(root, 0)]
    while waiting:
        one, depth = waiting.pop()
        found.append(one)
        if depth == 3 or isinstance(one, (np.ndarray, float, int, str, bool, BuiltinFunctionType)):
            continue
        waiting += [(getattr(one, name), depth + 1) for name in dir(one) if not name.startswith("_")]
    return found


@pytest.mark.parametrize("watch", [None, Watch(every=1, recommendations=True)])
def test_no_public_name_leads_from_the_objective_to_a_true_value(watch):
    problem = NoisySphere()
    recorder = Recorder(problem, Limits(), noise=rng(), watch=watch)
    recorder.objective.recommend(lambda: np.full(2, 3.0))
    recorder.objective(np.full(2, 3.0))
    recorder.objective(np.full((2, 2), 3.0))
    found = reachable(recorder.objective)
    assert {name for name in dir(recorder.objective) if not name.startswith("_")} == {
        "constraints", "dimension", "expose", "lower", "recommend", "traits", "upper"
    }  # fmt: skip
    kinds = (FunctionType, np.ndarray, int, bool, type(None), Traits)
    assert all(isinstance(one, kinds) for one in found), [one for one in found if not isinstance(one, kinds)]
    assert not any(one is problem or one is recorder or one == 18.0 for one in found if not isinstance(one, np.ndarray))
    assert recorder.objective.expose(a=lambda: 1.0) is None
    assert recorder.objective.recommend(lambda: np.zeros(2)) is None


def test_being_asked_tells_nothing_about_improvements_of_a_noisy_problem():
    asked = []
    watch = Watch(on_improvement=True, targets_per_decade=2, recommendations=True)
    recorder = Recorder(NoisySphere(), Limits(), noise=rng(), watch=watch)
    recorder.objective.expose(a=lambda: asked.append("a") or 1.0)
    recorder.objective.recommend(lambda: asked.append("point") or np.zeros(2))
    for number, x in enumerate(POINTS, 1):
        recorder.objective(x)
        assert asked == ["a", "point"] * number
    recorder.objective(POINTS)
    assert asked == ["a", "point"] * 41
    rows = recorder.parameters.evaluations.tolist()
    assert rows == recorder.trajectory().evaluations.tolist()
    assert len(rows) < 40


@given(
    pairs=st.lists(
        st.tuples(*[st.floats(-9, 9) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0])] * 2), max_size=40
    ),
    cuts=st.lists(st.integers(0, 8), max_size=60),
    minimize=st.booleans(),
    budget=st.none() | st.integers(1, 45),
    precision=st.none() | st.sampled_from([0.0, 0.5, 5.0]),
    watched=st.booleans(),
)
def test_any_mix_of_points_and_batches_gives_the_brute_force_trajectory(
    pairs, cuts, minimize, budget, precision, watched
):
    class Listed(Box):
        dimension, optimum = 1, 0.0

        def __init__(self):
            self.left = list(pairs)
            self.minimize = minimize

        def trial(self, rng):
            return self

        def __call__(self, x):
            return self.left.pop(0)

        def batch(self, points):
            answers = np.array([self.left.pop(0) for _ in points]).reshape(-1, 2)
            return answers[:, 0], answers[:, 1]

    watch = Watch(every=3, on_improvement=True, targets_per_decade=1) if watched else None
    recorder = Recorder(Listed(), Limits(evaluations=budget, target_precision=precision), noise=rng(), watch=watch)
    told, left = [], len(pairs)
    with suppress(Stop):
        for size in [*cuts, *[1] * left]:
            if size == 1 and left:
                told.append(recorder.objective(np.zeros(1)))
            elif size <= left and size != 1:
                told.extend(recorder.objective(np.zeros((size, 1))).tolist())
            left = len(pairs) - len(told)

    improvements, number, reason, invalid = brute_force(pairs, minimize, budget, precision)
    trajectory = recorder.trajectory()
    assert list(zip(trajectory.evaluations.tolist(), trajectory.values.tolist(), strict=True)) == improvements
    outcome = trajectory.outcome
    assert (outcome.reason, outcome.evaluations, outcome.invalid_evaluations) == (reason, number, invalid)
    sign = 1.0 if minimize else -1.0
    assert told == [math.inf if math.isnan(seen) else sign * seen for seen, _ in pairs[: len(told)]]


@pytest.mark.parametrize("answer", [(None, 1.0), (1.0, None), ("1", 1.0), (1j, 1.0), (np.ones(2), 1.0)])
def test_an_answer_that_is_no_number_is_named_and_spent(answer):
    class WrongTrial(NoisyTrial):
        def __call__(self, x):
            return answer

    class Wrong(NoisySphere):
        def trial(self, rng):
            return WrongTrial(self, rng)

    recorder = Recorder(Wrong(), Limits(evaluations=1), noise=rng())
    with pytest.raises(TypeError, match="the objective returned"):
        recorder.objective(np.ones(2))
    with pytest.raises(Stop):
        recorder.objective(np.ones(2))


@pytest.mark.parametrize("told", [None, "1", 1j])
def test_what_is_told_is_looked_at_when_nothing_improves_too(told):
    answers = iter([(3.0, 1.0), (told, 2.0)])

    class ListedTrial(NoisyTrial):
        def __call__(self, x):
            return next(answers)

    class Listed(NoisySphere):
        def trial(self, rng):
            return ListedTrial(self, rng)

    recorder = Recorder(Listed(), Limits(), noise=rng())
    assert recorder.objective(np.ones(2)) == 3.0
    with pytest.raises(TypeError, match="the objective returned"):
        recorder.objective(np.ones(2))
    assert recorder.evaluations == 2


@pytest.mark.parametrize("watch", [None, Watch(every=1)])
def test_after_the_stop_nothing_is_evaluated(watch):
    class Counted(NoisySphere):
        calls = 0

        def raw(self, x):
            type(self).calls += 1
            return super().raw(x)

    recorder = Recorder(Counted(), Limits(evaluations=3), noise=rng(), watch=watch)
    for call in (np.ones((5, 2)), np.ones(2), np.ones((2, 2)), [1.0, 1.0]):
        with pytest.raises(Stop):
            recorder.objective(call)
    assert Counted.calls == recorder.trajectory().outcome.evaluations == 3

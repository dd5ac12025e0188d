"""When something is logged of an optimizer: the moments by brute force, the watch by its errors."""

import math
import pickle
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.experiment import Limits, Recorder, Stop, Watch

EVERY_TIME = Watch(every=1)


def watched(function, watch, functional, *, evaluations=None, optimum=0.0, **more):
    return Recorder(functional(function, optimum=optimum), Limits(evaluations=evaluations), watch=watch, **more)


# Moments


def due(watch, values, optimum=0.0):
    """Which evaluations are logged, by the definition of each moment."""
    found, best, reached = set(), math.inf, None
    decades = {round(10 ** (i / watch.per_decade)) for i in range(5 * watch.per_decade)} if watch.per_decade else set()
    for number, value in enumerate(values, 1):
        if (watch.every and number % watch.every == 0) or number in watch.at or number in decades:
            found.add(number)
        if value < best:
            best = value
            if watch.on_improvement:
                found.add(number)
            if watch.targets_per_decade:
                n = watch.targets_per_decade
                met = {i for i in range(-12 * n, 6 * n) if best - optimum <= 10.0 ** (i / n)}
                if met and (reached is None or met - reached):
                    found.add(number)
                    reached = met
    return sorted(found)


@given(
    values=st.lists(st.floats(1e-9, 1e4) | st.sampled_from([1.0, 10.0, 0.1, 1e-8]), max_size=60),
    cuts=st.lists(st.integers(0, 20), max_size=20),
    on_improvement=st.booleans(),
    every=st.none() | st.integers(1, 25),
    at=st.lists(st.integers(1, 70), max_size=5).map(tuple),
    per_decade=st.none() | st.integers(1, 30),
    targets_per_decade=st.none() | st.integers(1, 6),
)
def test_rows_stand_at_the_evaluations_of_the_definition_one_by_one_and_in_batches(values, cuts, **moments):
    if not any(moments.values()):
        moments["every"] = 7
    watch = Watch(**moments)
    numbers = iter(values)

    class Listed:
        name, dimension, minimize, optimum = "listed", 1, True, 0.0
        lower, upper = np.zeros(1), np.ones(1)
        raw = staticmethod(lambda x: next(numbers))

        def __call__(self, points):
            return np.array([next(numbers) for _ in points])

        def diagnose(self, x):
            pass

    recorder = Recorder(Listed(), Limits(), watch=watch)
    asked = []
    recorder.objective.expose(calls=lambda: asked.append(0) or recorder.evaluations)
    left, ends = len(values), {}
    for size in [*cuts, *[1] * left]:
        if size > left or (size == 0 and left == 0):
            continue
        recorder.objective(np.zeros(1) if size == 1 else np.zeros((size, 1)))
        ends.update(
            dict.fromkeys(range(len(values) - left + 1, len(values) - left + size + 1), len(values) - left + size)
        )
        left -= size
    expected = due(watch, values)
    parameters = recorder.parameters
    if not expected:
        assert parameters is None
        return
    assert parameters.evaluations.tolist() == expected
    assert parameters.values["calls"].tolist() == [ends[number] for number in expected]  # asked at the batch's end
    assert len(asked) == len({ends[number] for number in expected})  # and once for all rows of a batch


def test_the_numbers_on_a_log_scale():
    def numbers(watch, last):
        found = [watch.due_after(0)]
        while found[-1] < last:
            found.append(watch.due_after(found[-1]))
        return found

    assert numbers(Watch(per_decade=1), 10**7) == [1, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7]
    assert numbers(Watch(per_decade=3), 1000) == [1, 2, 5, 10, 22, 46, 100, 215, 464, 1000]
    assert numbers(Watch(per_decade=4, at=(7, 3), every=40), 100) == [1, 2, 3, 6, 7, 10, 18, 32, 40, 56, 80, 100]
    assert Watch(at=(3, 5)).due_after(5) > 10**15


def test_targets_are_passed_at_ten_to_a_fraction_exactly(functional):
    """The first evaluation meets its target; 1e-8 itself meets 1e-8; several targets passed at once give one row."""
    values = iter([3e9, 2.0, 1.5, 1.0, 0.5, 0.001, 0.0, -1.0])
    recorder = watched(lambda x: 5.0 + next(values), Watch(targets_per_decade=1), functional, optimum=5.0)
    recorder.objective.expose(a=lambda: 1.0)
    for _ in range(8):
        recorder.objective(np.ones(2))
    assert recorder.parameters.evaluations.tolist() == [1, 2, 4, 6, 7]
    values = iter([1.0000001e-8, 1e-8, 0.9e-8, 1e-9, 5e-324, 0.0])
    recorder = watched(lambda x: next(values), Watch(targets_per_decade=1), functional)
    recorder.objective.expose(a=lambda: 1.0)
    for _ in range(6):
        recorder.objective(np.ones(2))
    assert recorder.parameters.evaluations.tolist() == [1, 2, 4, 5, 6]


@pytest.mark.parametrize("per_decade", range(1, 13))
def test_a_target_is_met_at_its_very_value_and_not_a_bit_above(functional, per_decade):
    targets = [10.0 ** (i / per_decade) for i in range(40, -80, -1)]
    values = [
        value for target in targets for value in (np.nextafter(target, math.inf), target, np.nextafter(target, 0))
    ]
    numbers = iter(values)
    recorder = watched(lambda x: float(next(numbers)), Watch(targets_per_decade=per_decade), functional)
    recorder.objective.expose(a=lambda: 1.0)
    for _ in values:
        recorder.objective(np.ones(2))
    assert recorder.parameters.evaluations.tolist() == [1, *range(2, len(values), 3)]


def test_enormous_and_infinite_precisions_do_no_harm(functional):
    values = iter([math.inf, 1.7e308, 1e308, -math.inf])
    recorder = watched(lambda x: next(values), Watch(targets_per_decade=1), functional)
    recorder.objective.expose(a=lambda: 1.0)
    for _ in range(4):
        recorder.objective(np.ones(2))
    assert recorder.parameters.evaluations.tolist() == [2, 3, 4]


def test_the_evaluation_that_ends_the_run_is_logged(functional):
    for watch, limits, expected in (
        (Watch(every=5), {"evaluations": 10}, [5, 10]),
        (Watch(on_improvement=True), {"target_precision": 0.5}, [1, 2, 3]),
    ):
        values = iter([3.0, 2.0, 0.5, *[9.0] * 20])
        recorder = Recorder(functional(lambda x, values=values: next(values)), Limits(**limits), watch=watch)
        recorder.objective.expose(a=lambda: 1.0)
        with suppress(Stop):
            while True:
                recorder.objective(np.ones(2))
        assert recorder.reason is not None
        assert recorder.parameters.evaluations.tolist() == expected


def test_evaluations_that_raise_or_give_no_number_are_logged_too(functional):
    results = iter([1.0, ZeroDivisionError(), None, 2.0])

    def broken(x):
        result = next(results)
        if isinstance(result, Exception):
            raise result
        return result

    recorder = watched(broken, EVERY_TIME, functional)
    seen = []
    recorder.objective.expose(spent=lambda: recorder.evaluations)
    for _ in range(4):
        with suppress(ZeroDivisionError, TypeError):
            seen.append(recorder.objective(np.ones(2)))
    assert recorder.parameters.evaluations.tolist() == [1, 2, 3, 4]
    assert recorder.parameters.values["spent"].tolist() == [1, 2, 3, 4]
    assert seen == [1.0, 2.0]


# The watch itself


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "watch does not say when to log"),
        ({"recommendations": True}, ValueError, "watch does not say when to log"),
        ({"every": 0}, ValueError, "^every is 0; it must be 1 or more"),
        ({"every": 1.5}, TypeError, r"^every is 1\.5; it must be a whole number"),
        ({"per_decade": -1}, ValueError, "^per_decade is -1"),
        ({"targets_per_decade": True}, TypeError, "^targets_per_decade is True"),
        ({"at": (0,)}, ValueError, "^at is 0"),
        ({"at": 5}, TypeError, "^at is 5; give the numbers of evaluations"),
        ({"at": "12"}, TypeError, "^at is '12'"),
        ({"on_improvement": 1}, TypeError, "^on_improvement is 1; it must be true or false"),
        ({"every": 1, "parameters": "sigma"}, TypeError, "^parameters is 'sigma'; give names"),
        ({"every": 1, "parameters": (1,)}, TypeError, "^parameters contains 1"),
        ({"every": 1, "parameters": ("a", "b", "a")}, ValueError, "^parameters contains 'a' twice"),
        ({"every": 1, "parameters": ("recommendation",)}, ValueError, "request it with recommendations=True"),
        ({"every": 1, "parameters": ()}, ValueError, "^watch names nothing to log"),
    ],
)
def test_an_impossible_watch_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        Watch(**arguments)


def test_targets_without_a_known_optimum_are_an_error_that_says_what_to_do(functional):
    with pytest.raises(ValueError, match="watch targets_per_decade is 5, but the problem's optimum is unknown; leave"):
        watched(lambda x: 1.0, Watch(targets_per_decade=5), functional, optimum=None)


def test_a_watch_is_a_value_that_travels():
    watch = Watch(at=[100, 1, 10, 1], parameters=["a", "b"], every=np.int64(3))
    assert watch == Watch(at=(1, 10, 100), parameters=("a", "b"), every=3)
    assert hash(watch) == hash(pickle.loads(pickle.dumps(watch)))
    assert pickle.loads(pickle.dumps(watch)) == watch

"""Axes of values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polarbear.figures.scales import Scale, power_of_ten

finite = st.floats(-1e12, 1e12).filter(lambda number: number == 0 or abs(number) > 1e-12)


@given(st.lists(finite, min_size=1, max_size=30))
def test_every_number_lies_within_the_axis(numbers):
    scale = Scale.of([numbers])
    placed = scale.place(numbers)
    assert (placed >= scale.low).all()
    assert (placed <= scale.high).all()
    assert scale.low < scale.high
    if scale.log:
        assert scale.low > 0
        assert min(numbers) >= 0


@given(st.lists(st.floats(0, 1e9).filter(lambda number: number == 0 or number > 1e-9), min_size=2, max_size=30))
def test_placing_keeps_the_order_and_changes_nothing_but_zero(numbers):
    scale = Scale.of([numbers], "log")
    placed = scale.place(np.sort(numbers))
    assert (np.diff(placed) >= 0).all()
    positive = np.sort(numbers) > 0
    np.testing.assert_array_equal(placed[positive], np.sort(numbers)[positive])
    if positive.any() and not positive.all():
        assert placed[~positive].max() < placed[positive].min() / 9


@given(st.floats(1e-12, 1e9), st.floats(1.01, 1e15), st.booleans())
def test_log_axes_have_a_few_ticks_within_their_limits(low, ratio, zero):
    scale = Scale.of([[0.0] * zero, [low, low * ratio]], "log")
    major, minor, labels = scale.ticks()
    assert 1 <= len(major) <= 10
    assert len(labels) == len(set(labels)) == len(major)
    assert all(scale.low * (1 - 1e-9) <= tick <= scale.high * (1 + 1e-9) for tick in (*major, *minor))
    assert ("0" in labels) == zero


def test_unknown_numbers_have_no_say():
    assert Scale.of([[np.nan, 1.0, np.inf], [2.0]]) == Scale.of([[1.0, 2.0]])
    assert Scale.of([[np.nan]]) == Scale(0.0, 1.0, log=False)
    assert Scale.of([], "log") == Scale(1.0, 10.0, log=True)


def test_powers_of_ten():
    assert [power_of_ten(k) for k in (-8, 0, 12)] == ["10⁻⁸", "10⁰", "10¹²"]


def test_a_penalty_as_large_as_floats_go_leaves_room_for_the_rest():
    scale = Scale.of([[np.finfo(float).max, 5.0, -1.0]])
    assert -2 < scale.low < scale.high < 6

"""The relations of section 4.1 and what follows from them, checked against their definitions spelled out in loops."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.racing.relations import (
    Relations,
    crossing,
    eliminations,
    in_circles,
    last_unresolved,
    next_batch,
    relations,
    resolution,
    resolved_now,
    unresolved_pairs,
)


def posterior_from(better, near_even):
    """A stand-in with given pairwise probabilities."""
    return SimpleNamespace(
        pairwise_probabilities=lambda: better.copy(),
        equivalence_probabilities=lambda epsilon: near_even.copy(),
        dominance_probabilities=lambda: better.prod(axis=0),
    )


def random_relations(seed, timepoints=4, n=3):
    """Each pair at each time: i dominates, j dominates, equivalent, or nothing."""
    rng = np.random.default_rng(seed)
    dominates = np.zeros((timepoints, n, n), dtype=bool)
    equivalent = np.zeros_like(dominates)
    for t, (i, j) in itertools.product(range(timepoints), itertools.combinations(range(n), 2)):
        match rng.integers(4):
            case 0:
                dominates[t, i, j] = True
            case 1:
                dominates[t, j, i] = True
            case 2:
                equivalent[t, i, j] = equivalent[t, j, i] = True
    return Relations(dominates.astype(float), dominates, equivalent, dominates.all(axis=0).astype(float))


def test_dominance_takes_precedence_over_equivalence():
    better = np.full((1, 2, 2), 0.5)
    better[0, 0, 1], better[0, 1, 0] = 0.97, 0.03
    near_even = np.full((1, 2, 2), 0.99)
    found = relations(posterior_from(better, near_even), alpha=0.95, epsilon=0.1, joint=False)
    assert found.dominates[0].tolist() == [[False, True], [False, False]]
    assert not found.equivalent[0, 0, 1]
    assert not found.equivalent[0, 1, 0]


def test_pointwise_elimination_looks_at_the_worst_timepoint_and_joint_at_all_at_once():
    better = np.full((2, 2, 2), 0.5)
    better[:, 0, 1], better[:, 1, 0] = [0.96, 0.97], [0.04, 0.03]
    pointwise = relations(posterior_from(better, better), alpha=0.95, epsilon=0.1, joint=False)
    joint = relations(posterior_from(better, better), alpha=0.95, epsilon=0.1, joint=True)
    assert pointwise.dominates_anytime[0, 1] == 0.96
    assert joint.dominates_anytime[0, 1] == pytest.approx(0.96 * 0.97)
    assert eliminations(pointwise.dominates_anytime, np.ones(2, bool), 0.95) == {1: 0}
    assert eliminations(joint.dominates_anytime, np.ones(2, bool), 0.95) == {}


@given(st.integers(0, 10**6))
def test_crossing_is_equation_31(seed):
    found = random_relations(seed)
    timepoints, n, _ = found.dominates.shape
    expected = np.zeros((n, n), dtype=bool)
    for i, j in itertools.permutations(range(n), 2):
        expected[i, j] = any(
            (found.dominates[t, i, j] or found.equivalent[t, i, j])
            and (found.dominates[s, j, i] or found.equivalent[s, i, j])
            and (found.dominates[t, i, j] or found.dominates[s, j, i])
            for t, s in itertools.product(range(timepoints), repeat=2)
        )
    either_role = expected | expected.T
    np.testing.assert_array_equal(crossing(found), either_role)


@given(st.integers(0, 10**6))
def test_strict_resolution_is_equation_30_and_crossing_only_adds_to_it(seed):
    found = random_relations(seed)
    strict = resolved_now(found, use_crossing=False)
    for t, i, j in itertools.product(*map(range, strict.shape)):
        assert strict[t, i, j] == (found.dominates[t, i, j] or found.dominates[t, j, i] or found.equivalent[t, i, j])
    assert (resolved_now(found, use_crossing=True) >= strict).all()


@given(st.integers(0, 10**6))
def test_a_pair_closes_only_if_a_crossing_or_a_tie_says_that_both_stay(seed):
    found, rng = random_relations(seed, timepoints=2), np.random.default_rng([seed, 1])
    before = rng.random((2, 3, 3)) < 0.5
    before |= before.transpose(0, 2, 1) | np.eye(3, dtype=bool)
    now = resolved_now(found, use_crossing=bool(seed % 2))
    circular = np.eye(3, dtype=bool)[[1, 0, 2]] & bool(seed % 3)
    resolved = resolution(before, found, circular, use_crossing=bool(seed % 2))
    for i, j in itertools.product(range(3), repeat=2):
        pair = [(found.dominates[t, i, j], found.dominates[t, j, i], found.equivalent[t, i, j]) for t in range(2)]
        reason = any(tie for *_, tie in pair) or (any(win for win, *_ in pair) and any(loss for _, loss, _ in pair))
        closing = (before | now)[:, i, j].all() and not before[:, i, j].all()
        if reason or circular[i, j] or not closing:
            expected = before[:, i, j] | now[:, i, j]
        elif now[:, i, j].all():
            expected = np.zeros(2, dtype=bool)
        else:
            expected = now[:, i, j]
        np.testing.assert_array_equal(resolved[:, i, j], expected)


@given(st.integers(0, 10**6))
def test_last_unresolved_timepoint_is_equation_32(seed):
    rng = np.random.default_rng(seed)
    half = rng.random((5, 4, 4)) < 0.7
    resolved = half & half.transpose(0, 2, 1) | np.eye(4, dtype=bool)
    expected = [
        max((t for t in range(5) if any(not resolved[t, i, j] for j in range(4))), default=-1) for i in range(4)
    ]
    assert last_unresolved(resolved).tolist() == expected
    assert unresolved_pairs(resolved).sum() == sum(
        any(not resolved[t, i, j] for t in range(5)) for i, j in itertools.combinations(range(4), 2)
    )


def test_an_eliminated_algorithm_eliminates_no_other():
    chain = np.array([[0, 0.95, 0], [0, 0, 1.0], [0, 0, 0]])
    assert eliminations(chain, np.ones(3, bool), 0.9) == {1: 0}
    assert eliminations(chain[::-1, ::-1], np.ones(3, bool), 0.9) == {0: 1, 1: 2}


def test_in_a_circle_nobody_is_eliminated_but_by_those_outside():
    circle = np.zeros((4, 4))
    circle[[0, 1, 2], [1, 2, 0]] = 0.97
    everyone = np.ones(4, bool)
    assert eliminations(circle, everyone, 0.9) == {}
    assert in_circles(circle, everyone, 0.9).sum() == 6
    assert not in_circles(circle, everyone, 0.98).any()
    assert eliminations(circle, np.array([True, False, True, True]), 0.9) == {0: 2}
    circle[3, 0] = 1.0
    assert eliminations(circle, everyone, 0.9) == {0: 3}


@pytest.mark.parametrize(
    ("before", "after", "expected"), [(10, 10, 16), (10, 9, 8), (10, 8, 8), (10, 7, 4), (1, 0, 4), (0, 0, 16)]
)
def test_batches_double_when_nothing_resolves_and_halve_when_more_than_a_fifth_does(before, after, expected):
    assert next_batch(8, unresolved_before=before, unresolved_after=after, smallest=1, largest=99) == expected


def test_batches_are_clipped():
    assert next_batch(64, unresolved_before=5, unresolved_after=5, smallest=8, largest=100) == 100
    assert next_batch(8, unresolved_before=5, unresolved_after=0, smallest=8, largest=100) == 8

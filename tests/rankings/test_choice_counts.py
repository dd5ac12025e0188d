"""Choice-set counts against the Plackett–Luce likelihood written out order by order."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polarbear.rankings import ChoiceCounts, choice_counts

LEVELS = st.sampled_from([0.0, 1.0, 2.0, 3.0, np.inf, np.nan])
VALUES = st.integers(1, 5).flatmap(
    lambda n: arrays(np.float64, st.tuples(st.integers(0, 4), st.just(2), st.just(n)), elements=LEVELS)
)


def brute_force(values, theta):
    """Mean log-likelihood over all orders of the tied, summed over instances: (T,) from (P, T, n) and (T, n)."""
    total = np.zeros(values.shape[1])
    for row in values:
        for t, cells in enumerate(row):
            present = [i for i in range(cells.size) if not np.isnan(cells[i])]
            orders = [
                order
                for order in permutations(present)
                if all(np.diff([cells[i] for i in order if np.isfinite(cells[i])]) >= 0)
                and all(np.isfinite(cells[a]) or not np.isfinite(cells[b]) for a, b in pairwise(order))
            ]
            likelihoods = [
                sum(np.log(theta[t, i] / sum(theta[t, j] for j in order[k:])) for k, i in enumerate(order))
                for order in orders
            ]
            total[t] += np.mean(likelihoods)
    return total


def ratings(shape, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(shape[1]), size=shape[0])


@settings(deadline=None, max_examples=200, derandomize=True)
@given(VALUES)
def test_likelihood_is_the_mean_over_all_orders_of_the_tied(values):
    counts = choice_counts(values)
    theta = ratings(values.shape[1:])
    np.testing.assert_allclose(counts.log_likelihood(theta), brute_force(values, theta), rtol=1e-12, atol=1e-12)


def test_a_seven_way_tie_above_two_others():
    values = np.array([[[0.0] * 7 + [1.0, 2.0]]])
    theta = ratings((1, 9), seed=3)
    np.testing.assert_allclose(choice_counts(values).log_likelihood(theta), brute_force(values, theta), rtol=1e-12)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(VALUES)
def test_wins_add_up_to_counts_and_no_set_is_single(values):
    counts = choice_counts(values)
    for t in range(counts.timepoints):
        wins, sets, amounts = counts.at(t)
        assert wins.sum() == pytest.approx(amounts.sum(), abs=1e-12)
        assert (wins >= 0).all()
        assert (amounts > 0).all()
        assert (np.bitwise_count(sets) >= 2).all()
        assert (np.diff(sets.astype(object)) > 0).all()
    present = (~np.isnan(values)).sum(axis=2)
    np.testing.assert_array_equal(counts.rankings, (present >= 2).sum(axis=0))


@settings(deadline=None, max_examples=100, derandomize=True)
@given(VALUES, st.randoms(use_true_random=False))
def test_permuting_algorithms_permutes_the_likelihood(values, random):
    n = values.shape[2]
    order = random.sample(range(n), n)
    theta = ratings(values.shape[1:])
    there = choice_counts(values).log_likelihood(theta)
    np.testing.assert_allclose(choice_counts(values[:, :, order]).log_likelihood(theta[:, order]), there, atol=1e-12)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(VALUES)
def test_monotone_transformations_change_nothing(values):
    assert choice_counts(np.exp(values) - 7) == choice_counts(values)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(VALUES, st.integers(0, 4))
def test_merging_parts_is_counting_all(values, cut):
    whole, first, rest = choice_counts(values), choice_counts(values[:cut]), choice_counts(values[cut:])
    for merged in (first + rest, rest.merged(first)):
        np.testing.assert_array_equal(merged.sets, whole.sets)
        np.testing.assert_array_equal(merged.offsets, whole.offsets)
        np.testing.assert_array_equal(merged.rankings, whole.rankings)
        np.testing.assert_allclose(merged.counts, whole.counts, rtol=1e-12)
        np.testing.assert_allclose(merged.wins, whole.wins, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(VALUES)
def test_an_algorithm_that_was_never_run_is_padding(values):
    never_run = np.full((*values.shape[:2], 2), np.nan)
    assert choice_counts(np.concatenate([values, never_run], axis=2)) == choice_counts(values).padded(
        values.shape[2] + 2
    )


@settings(deadline=None, max_examples=50, derandomize=True)
@given(VALUES)
def test_a_weight_of_two_is_two_rankings(values):
    twice = choice_counts(np.repeat(values, 2, axis=0))
    weighted = choice_counts(values, weights=np.full(len(values), 2.0))
    np.testing.assert_array_equal(weighted.sets, twice.sets)
    np.testing.assert_allclose(weighted.counts, twice.counts, rtol=1e-12)
    np.testing.assert_allclose(weighted.wins, twice.wins, rtol=1e-12, atol=1e-12)


def test_three_algorithms_by_hand():
    counts = choice_counts([[[3.0, 1.0, 2.0]], [[np.inf, 1.0, np.inf]], [[np.nan, 1.0, np.nan]]])
    np.testing.assert_array_equal(counts.sets, [0b101, 0b111])
    np.testing.assert_array_equal(counts.counts, [2.0, 2.0])
    np.testing.assert_array_equal(counts.wins, [[0.5, 2.0, 1.5]])
    np.testing.assert_array_equal(counts.rankings, [2])
    np.testing.assert_array_equal(counts.membership(), [[1, 0, 1], [1, 1, 1]])


def test_precision_ties_values_that_round_alike():
    values = np.array([[[0.1, 0.2, 0.9, 1.1, np.inf, np.nan]]])
    assert choice_counts(values, precision=1.0) == choice_counts([[[0, 0, 1, 1, np.inf, np.nan]]])
    assert choice_counts(values, precision=0.1) == choice_counts(values)
    huge = np.array([[[1e300, np.inf]]])
    assert choice_counts(huge, precision=1e-20) == choice_counts(huge)


def test_values_at_or_below_the_target_tie():
    values = np.array([[[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]]])
    assert choice_counts(values, target=2.0) == choice_counts([[[2, 2, 3]], [[2, 2, 3]]])
    assert choice_counts(values, target=[3.0, np.nan]) == choice_counts([[[3, 3, 3]], [[1, 2, 3]]])


def test_large_ties_are_sampled_without_bias_and_seeded():
    k, below = 16, 4
    values = np.array([[[0.0] * k + [1.0] * below]])
    theta = ratings((1, k + below), seed=5)
    found = [choice_counts(values, rng=np.random.default_rng(seed), orders=200) for seed in range(30)]
    assert found[0] == choice_counts(values, rng=np.random.default_rng(0), orders=200)
    for counts in found:
        assert counts.wins.sum() == pytest.approx(counts.counts.sum())
        np.testing.assert_allclose(counts.wins[0, :k], 1.0)
    likelihoods = np.array([counts.log_likelihood(theta)[0] for counts in found])
    exact = exact_tie_likelihood(theta[0, :k], theta[0, k:])
    assert likelihoods.std() < 0.05
    assert abs(likelihoods.mean() - exact) < 4 * likelihoods.std() / np.sqrt(len(found))


def exact_tie_likelihood(tied, below):
    """A k-way tie of `tied` above a tie of `below`, subset sums enumerated by independent code."""
    total = np.log(tied).sum() + np.log(below).sum()
    for items, base in ((tied, below.sum()), (below, 0.0)):
        sums, sizes = np.zeros(1), np.zeros(1, dtype=int)
        for item in items:
            sums, sizes = np.concatenate([sums, sums + item]), np.concatenate([sizes, sizes + 1])
        logs = np.log(sums[1:] + base)
        total -= sum(logs[sizes[1:] == size].mean() for size in range(1, items.size + 1))
    return total


def test_orders_of_a_large_tie_do_not_depend_on_other_rankings():
    tie = np.zeros((1, 1, 14))
    other = np.random.default_rng(1).normal(size=(3, 1, 14))
    both = choice_counts(np.concatenate([other, tie]), rng=np.random.default_rng(2))
    apart = choice_counts(other, rng=np.random.default_rng(2)) + choice_counts(tie, rng=np.random.default_rng(2))
    np.testing.assert_array_equal(both.sets, apart.sets)
    np.testing.assert_allclose(both.counts, apart.counts)


def test_sixty_four_algorithms():
    values = np.arange(64.0)[np.newaxis, np.newaxis]
    counts = choice_counts(values)
    theta = ratings((1, 64))
    behind = np.cumsum(theta[0, ::-1])[::-1]
    assert counts.log_likelihood(theta)[0] == pytest.approx(np.log(theta[0] / behind).sum(), rel=1e-12)


def test_selecting_timepoints():
    values = np.random.default_rng(0).normal(size=(6, 5, 4))
    counts = choice_counts(values)
    assert counts.select(slice(1, 4)) == choice_counts(values[:, 1:4])
    assert counts.select([4, 0]) == choice_counts(values[:, [4, 0]])
    assert counts.select(np.arange(5) % 2 == 0) == choice_counts(values[:, ::2])
    assert counts.select([]) == ChoiceCounts.none(0, 4)
    assert ChoiceCounts.none(5, 4) + counts == counts


def test_log_likelihood_of_many_ratings():
    counts = choice_counts(np.random.default_rng(0).normal(size=(6, 3, 4)))
    theta = np.random.default_rng(1).dirichlet(np.ones(4), size=(10, 3))
    np.testing.assert_allclose(counts.log_likelihood(theta), [counts.log_likelihood(one) for one in theta])
    np.testing.assert_allclose(counts.log_likelihood(7 * theta), counts.log_likelihood(theta))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": np.zeros((2, 3))}, r"values has shape \(2, 3\)"),
        ({"values": np.zeros((2, 3, 65))}, "65 algorithms"),
        ({"values": np.zeros((2, 3, 2)), "precision": 0.0}, "precision is 0.0"),
        ({"values": np.zeros((2, 3, 2)), "target": [1.0]}, "target has shape"),
        ({"values": np.zeros((2, 3, 2)), "weights": [1.0]}, "weights has shape"),
        ({"values": np.zeros((2, 3, 2)), "weights": [1.0, -1.0]}, "not negative"),
        ({"values": np.zeros((2, 3, 2)), "orders": 0}, "orders is 0"),
    ],
)
def test_errors_name_the_argument(arguments, message):
    with pytest.raises(ValueError, match=message):
        choice_counts(**arguments)


def test_counts_that_do_not_fit_are_refused():
    counts = choice_counts(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="pad or select first"):
        counts + choice_counts(np.zeros((2, 3, 5)))
    with pytest.raises(ValueError, match="would be cut"):
        counts.padded(3)
    with pytest.raises(ValueError, match="theta has shape"):
        counts.log_likelihood(np.ones((3, 5)))
    with pytest.raises(ValueError, match="do not fit together"):
        ChoiceCounts(counts.wins, counts.sets[:-1], counts.counts, counts.offsets, counts.rankings)

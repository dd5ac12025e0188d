"""Choice-set counts against the Plackett–Luce likelihood written out order by order."""

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polarbear.rankings import ChoiceCounts, LargeTies, choice_counts, membership

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


@settings(max_examples=200, derandomize=True)
@given(VALUES)
def test_likelihood_is_the_mean_over_all_orders_of_the_tied(values):
    counts = choice_counts(values)
    theta = ratings(values.shape[1:])
    np.testing.assert_allclose(counts.log_likelihood(theta), brute_force(values, theta), rtol=1e-12, atol=1e-12)


def test_a_seven_way_tie_above_two_others():
    values = np.array([[[0.0] * 7 + [1.0, 2.0]]])
    theta = ratings((1, 9), seed=3)
    np.testing.assert_allclose(choice_counts(values).log_likelihood(theta), brute_force(values, theta), rtol=1e-12)


@settings(max_examples=100, derandomize=True)
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


@settings(max_examples=100, derandomize=True)
@given(VALUES, st.randoms(use_true_random=False))
def test_permuting_algorithms_permutes_the_likelihood(values, random):
    n = values.shape[2]
    order = random.sample(range(n), n)
    theta = ratings(values.shape[1:])
    there = choice_counts(values).log_likelihood(theta)
    np.testing.assert_allclose(choice_counts(values[:, :, order]).log_likelihood(theta[:, order]), there, atol=1e-12)


@settings(max_examples=100, derandomize=True)
@given(VALUES)
def test_monotone_transformations_change_nothing(values):
    assert choice_counts(np.exp(values) - 7) == choice_counts(values)


@settings(max_examples=100, derandomize=True)
@given(VALUES, st.integers(0, 4))
def test_merging_parts_is_counting_all(values, cut):
    whole, first, rest = choice_counts(values), choice_counts(values[:cut]), choice_counts(values[cut:])
    for merged in (first + rest, rest.merged(first)):
        np.testing.assert_array_equal(merged.sets, whole.sets)
        np.testing.assert_array_equal(merged.offsets, whole.offsets)
        np.testing.assert_array_equal(merged.rankings, whole.rankings)
        np.testing.assert_allclose(merged.counts, whole.counts, rtol=1e-12)
        np.testing.assert_allclose(merged.wins, whole.wins, rtol=1e-12, atol=1e-12)


@settings(max_examples=50, derandomize=True)
@given(VALUES)
def test_an_algorithm_that_was_never_run_is_padding(values):
    never_run = np.full((*values.shape[:2], 2), np.nan)
    assert choice_counts(np.concatenate([values, never_run], axis=2)) == choice_counts(values).padded(
        values.shape[2] + 2
    )


@settings(max_examples=50, derandomize=True)
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


@pytest.fixture
def keep_all_ties(monkeypatch):
    """Keep ties of two already as they are, so that all that is done to large ties can be enumerated."""
    monkeypatch.setattr("polarbear.rankings.choice.largest_expanded", lambda _: 1)


@pytest.mark.usefixtures("keep_all_ties")
def test_ties_kept_as_they_are_have_the_same_likelihood():
    @settings(max_examples=60, derandomize=True)
    @given(VALUES, st.integers(0, 4))
    def check(values, cut):
        counts = choice_counts(values)
        theta = ratings(values.shape[1:])
        exact = brute_force(values, theta)
        np.testing.assert_allclose(counts.log_likelihood(theta), exact, rtol=1e-9, atol=1e-9)
        merged = choice_counts(values[cut:]) + choice_counts(values[:cut])
        np.testing.assert_allclose(merged.log_likelihood(theta), exact, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(merged.ties.tied, counts.ties.tied)
        np.testing.assert_array_equal(merged.ties.below, counts.ties.below)
        np.testing.assert_array_equal(merged.ties.amounts, counts.ties.amounts)
        assert counts.select([1]).ties.at(0)[2].sum() == counts.ties.at(1)[2].sum()
        assert counts.select([1, 0]).select([1, 0]) == counts
        never_run = np.full((*values.shape[:2], 2), np.nan)
        padded = choice_counts(np.concatenate([values, never_run], axis=2))
        assert padded == counts.padded(values.shape[2] + 2)

    check()


def test_a_large_tie_above_a_small_one():
    k, below = 16, 4
    values = np.array([[[0.0] * k + [1.0] * below]])
    theta = ratings((1, k + below), seed=5)
    counts = choice_counts(np.repeat(values, 3, axis=0), weights=[1.0, 0.0, 0.5])
    np.testing.assert_array_equal(membership(counts.ties.tied, k + below), [[1] * k + [0] * below])
    np.testing.assert_array_equal(membership(counts.ties.below, k + below), [[0] * k + [1] * below])
    np.testing.assert_array_equal(counts.ties.amounts, [1.5])
    exact = exact_tie_likelihood(theta[0, :k], theta[0, k:])
    np.testing.assert_allclose(counts.log_likelihood(theta), 1.5 * exact, rtol=1e-11)
    assert counts != choice_counts(values)
    order = np.random.default_rng(0).permutation(k + below)
    permuted = choice_counts(values[:, :, order]).log_likelihood(theta[:, order])
    np.testing.assert_allclose(permuted, exact, rtol=1e-11)


def test_which_ties_are_listed_does_not_depend_on_algorithms_that_never_ran():
    values = np.zeros((1, 1, 12))
    listed, padded = choice_counts(values), choice_counts(np.concatenate([values, [[[np.nan]]]], axis=2))
    assert listed.sets.size == 2**12 - 1 - 12
    assert padded == listed.padded(13)
    kept = choice_counts(np.concatenate([values, [[[1.0]]]], axis=2))
    assert kept.sets.size == 0
    assert kept.ties.tied.tolist() == [2**12 - 1]


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


def test_sixty_four_algorithms():
    values = np.arange(64.0)[np.newaxis, np.newaxis]
    counts = choice_counts(values)
    theta = ratings((1, 64))
    behind = np.cumsum(theta[0, ::-1])[::-1]
    assert counts.log_likelihood(theta)[0] == pytest.approx(np.log(theta[0] / behind).sum(), rel=1e-12)


def test_sixty_four_equal_algorithms_that_tie():
    """All orders of equals have the probability 1 / 64!."""
    counts = choice_counts(np.full((1, 1, 64), np.inf))
    found = counts.log_likelihood(np.full((1, 64), 1 / 64))[0]
    assert found == pytest.approx(-np.log(np.arange(1, 65)).sum(), rel=1e-13)


def wide(kind, algorithms=100):
    rng = np.random.default_rng(5)
    values = rng.normal(size=(6, 2, algorithms))
    values[rng.random(values.shape) < 0.2] = np.nan
    if kind == "ties":
        values[:, :, ::7] = np.round(values[:, :, ::7])
    return values


def in_order(row, theta):
    """The log-likelihood of a ranking, choice by choice; in ties the mean over all orders, by their subsets."""
    total = 0.0
    for value in np.unique(row[~np.isnan(row)]):
        tied, behind = theta[row == value], theta[row > value].sum()
        total += np.log(tied).sum()
        for size in range(1, tied.size + 1):
            total -= np.mean([np.log(sum(some) + behind) for some in combinations(tied, size)])
    return total


@pytest.mark.parametrize("kind", ["strict", "ties"])
def test_more_than_sixty_four_algorithms(kind):
    values, theta = wide(kind), ratings((2, 100))
    counts = choice_counts(values)
    assert counts.sets.shape == (counts.counts.size, 2)
    direct = [sum(in_order(row[t], theta[t]) for row in values) for t in range(2)]
    np.testing.assert_allclose(counts.log_likelihood(theta), direct, rtol=1e-12)
    parts = choice_counts(values[:4]) + choice_counts(values[4:])
    np.testing.assert_array_equal(parts.sets, counts.sets)
    np.testing.assert_allclose(parts.counts, counts.counts, rtol=1e-12)
    np.testing.assert_allclose(counts.select([1]).log_likelihood(theta[1:]), direct[1:], rtol=1e-12)
    for t in range(2):
        np.testing.assert_allclose(counts.scores(theta[t])[t].sum(), 0.0, atol=1e-9)


@pytest.mark.parametrize("kind", ["strict", "ties"])
def test_few_algorithms_among_many_that_were_not_run(kind):
    values = wide(kind, 40)
    many = choice_counts(np.concatenate([values, np.full((6, 2, 160), np.nan)], axis=2))
    few = choice_counts(values).padded(200)
    assert many == few
    np.testing.assert_array_equal(many.instances.ranks, few.instances.ranks)
    np.testing.assert_array_equal(many.wins[:, :40], choice_counts(values).wins)


def test_unordered_tails_and_large_ties_of_more_than_sixty_four():
    rng = np.random.default_rng(0)
    values = np.where(rng.random((3, 1, 90)) < 0.8, np.inf, rng.normal(size=(3, 1, 90)))
    counts, theta = choice_counts(values, tail="unordered"), ratings((1, 90))
    direct = 0.0
    for row in values[:, 0]:
        for value in row[np.isfinite(row)]:
            direct += np.log(theta[0, row == value][0] / theta[0, row >= value].sum())
    np.testing.assert_allclose(counts.log_likelihood(theta), direct, rtol=1e-12)
    assert (counts.padded(150).instances.ranks[..., :90] == counts.instances.ranks).all()
    tied = choice_counts(values)
    assert tied.ties.tied.shape == (3, 2)
    order = rng.permutation(90)
    turned = choice_counts(values[:, :, order]).log_likelihood(theta[:, order])
    np.testing.assert_allclose(turned, tied.log_likelihood(theta), rtol=1e-12)
    equal = tied.log_likelihood(np.full((1, 90), 1 / 90))
    np.testing.assert_allclose(equal, -3 * np.log(np.arange(1, 91)).sum(), rtol=1e-12)  # all orders are alike


@settings(max_examples=50, derandomize=True)
@given(VALUES, st.lists(st.sampled_from([0.0, 0.25, 1.0, 7.5]), min_size=4, max_size=4))
def test_weights_multiply_each_rankings_log_likelihood(values, weights):
    share = weights[: len(values)]
    theta = ratings(values.shape[1:])
    alone = [weight * brute_force(row[np.newaxis], theta) for row, weight in zip(values, share, strict=True)]
    counts = choice_counts(values, weights=share)
    np.testing.assert_allclose(counts.log_likelihood(theta), np.sum(alone, axis=0), rtol=1e-12, atol=1e-12)


@settings(max_examples=50, derandomize=True)
@given(VALUES, st.lists(st.booleans(), min_size=4, max_size=4))
def test_a_weight_of_zero_leaves_a_ranking_out(values, kept):
    chosen = np.array(kept[: len(values)], bool)
    assert choice_counts(values, weights=np.where(chosen, 2.0, 0.0)) == choice_counts(
        values[chosen], weights=np.full(chosen.sum(), 2.0)
    )


def marginal(top, tail, theta):
    """The logarithm of the probability of the top places in this order, summed over all orders of the tail."""
    return np.log(
        sum(
            np.prod([theta[i] / sum(theta[j] for j in order[k:]) for k, i in enumerate(order)])
            for order in ([*top, *rest] for rest in permutations(tail))
        )
    )


@pytest.mark.parametrize("m", [1, 2, 3, 5, 6])
def test_only_the_top_places_observed(m):
    order = np.random.default_rng(m).permutation(6)
    places = np.argsort(order)
    values = np.where(places < m, places, np.inf)[np.newaxis, np.newaxis]
    theta = ratings((1, 6), seed=m)
    counts = choice_counts(values, tail="unordered")
    exact = marginal(order[:m], order[m:], theta[0])
    assert counts.log_likelihood(theta)[0] == pytest.approx(exact, rel=1e-12)
    assert counts.wins.sum() == counts.counts.sum() == min(m, 5)
    tied = choice_counts(values).log_likelihood(theta)[0]
    assert tied == pytest.approx(brute_force(values, theta)[0], rel=1e-12)
    assert (tied < exact - 0.1) == (m < 5)


def test_an_unordered_tail_says_nothing_of_itself():
    values = np.array([[[np.inf] * 20, [np.inf] * 19 + [1.0], [0.0] * 10 + [np.inf] * 10, [1.0, np.nan] * 10]])
    counts = choice_counts(values, tail="unordered")
    theta = ratings((4, 20))
    found = counts.log_likelihood(theta)
    assert found[0] == 0.0
    assert found[1] == pytest.approx(np.log(theta[1, 19]), rel=1e-12)
    finite = np.where(np.isposinf(values[:, 2:3]), 1.0, values[:, 2:3])
    of_tail = choice_counts(np.where(finite == 1.0, 1.0, np.nan))
    both = choice_counts(finite).log_likelihood(theta[2:3]) - of_tail.log_likelihood(theta[2:3])
    assert found[2] == pytest.approx(both[0], rel=1e-11)
    assert choice_counts(values[:, 3:], tail="unordered") == choice_counts(values[:, 3:])


def test_a_thousand_timepoints_of_two_algorithms():
    ahead = np.random.default_rng(0).random((30, 1000)) < 0.3
    counts = choice_counts(np.stack([~ahead, ahead], axis=2).astype(float))
    np.testing.assert_array_equal(counts.wins, np.stack([ahead.sum(axis=0), (~ahead).sum(axis=0)], axis=1))
    np.testing.assert_array_equal(counts.sets, 3)
    np.testing.assert_array_equal(counts.counts, 30.0)


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
        ({"values": np.zeros((2, 3, 0))}, "0 algorithms"),
        ({"values": np.zeros((1, 1, 32_768))}, "32768 algorithms"),
        ({"values": np.zeros((2, 3, 2)), "precision": 0.0}, "precision is 0.0"),
        ({"values": np.zeros((2, 3, 2)), "target": [1.0]}, "target has shape"),
        ({"values": np.zeros((2, 3, 2)), "weights": [1.0]}, "weights has shape"),
        ({"values": np.zeros((2, 3, 2)), "weights": [1.0, -1.0]}, "not negative"),
        ({"values": np.zeros((2, 3, 2)), "tail": "unknown"}, "tail is 'unknown'"),
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
    ties = choice_counts(np.zeros((1, 2, 20))).ties
    with pytest.raises(ValueError, match="timepoints is 2 in ties, but 3 in wins"):
        ChoiceCounts(counts.wins, counts.sets, counts.counts, counts.offsets, counts.rankings, ties)
    with pytest.raises(ValueError, match="one entry per tie"):
        LargeTies(ties.tied, ties.below[:1], ties.amounts, ties.offsets)
    with pytest.raises(ValueError, match=r"offsets are \[0, 1\]"):
        LargeTies(ties.tied, ties.below, ties.amounts, [0, 1])
    with pytest.raises(ValueError, match="none of which is also below"):
        LargeTies(ties.tied, ties.tied, ties.amounts, ties.offsets)

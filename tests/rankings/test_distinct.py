"""The score of each instance's ranking against differences of its likelihood, which others compute."""

import numpy as np
import pytest

from polarbear.rankings import ChoiceCounts, DistinctRankings, Rankings, choice_counts


def some(kind):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20, 4, 5))
    if kind == "ties":
        values = np.round(values)
    if kind == "partial":
        values[rng.random(values.shape) < 0.4] = np.nan
    if kind in {"unreached", "unordered"}:
        values[rng.random(values.shape) < 0.4] = np.inf
    if kind == "large":
        values = np.where(rng.random((6, 2, 14)) < 0.8, 1.0, rng.normal(size=(6, 2, 14)))
    if kind == "many":
        values = rng.normal(size=(6, 2, 70))
        values[rng.random(values.shape) < 0.3] = np.nan
        values[4:] = np.round(values[4:], 1)
    if kind == "many unordered":
        values = np.where(rng.random((5, 1, 130)) < 0.3, np.inf, rng.normal(size=(5, 1, 130)))
    return values


@pytest.mark.parametrize(
    "kind", ["strict", "ties", "partial", "unreached", "unordered", "large", "many", "many unordered"]
)
def test_scores_are_derivatives_and_rankings_add_up_to_the_counts(kind):
    values, tail = some(kind), "unordered" if "unordered" in kind else "tied"
    whole = choice_counts(values, tail=tail)
    rankings = DistinctRankings.of(whole.instances)
    n = values.shape[2]
    theta = np.random.default_rng(0).dirichlet(np.ones(n))
    step = 1e-6 * np.eye(n)
    for t in range(values.shape[1]):
        scores = rankings.scores(t, theta)
        for p, own in enumerate(scores):
            alone = choice_counts(values[p : p + 1, t : t + 1], tail=tail)
            above, under = (alone.log_likelihood(theta * np.exp(sign * step)[:, np.newaxis])[:, 0] for sign in (1, -1))
            np.testing.assert_allclose(own, (above - under) / 2e-6, atol=1e-7)
        np.testing.assert_allclose(scores.sum(axis=0), whole.select([t]).scores(theta)[0], atol=1e-9)
        np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-9)
        likelihood, which = rankings.log_likelihood(t, np.log(theta)[np.newaxis])
        total = likelihood[which[which >= 0]].sum()
        np.testing.assert_allclose(total, whole.select([t]).log_likelihood(theta[np.newaxis])[0], atol=1e-9)


def test_counts_know_their_instances_through_all_that_is_done_to_them():
    values = some("partial")
    counts = choice_counts(values, weights=np.arange(20.0), groups=["b", "a"] * 10)
    assert counts.instances.groups.tolist() == [0, *[1, 0] * 9]  # the one of weight 0 is left out
    np.testing.assert_array_equal(counts.instances.weights, np.arange(1.0, 20.0))
    np.testing.assert_array_equal(counts.select([2, 0]).instances.ranks, counts.instances.ranks[:, [2, 0]])
    padded = counts.padded(7).instances.ranks
    assert (padded[..., 5:] == -1).all()
    np.testing.assert_array_equal(padded[..., :5], counts.instances.ranks)
    both = counts + choice_counts(values[:3], groups=[5, 5, 6])
    assert both.instances.groups.tolist() == [*counts.instances.groups.tolist(), 2, 2, 3]
    assert both == choice_counts(np.concatenate([values, values[:3]]), weights=[*range(20), 1, 1, 1])
    assert ChoiceCounts.none(4, 5).merged(counts).instances.ranks.shape == (19, 4, 5)


def test_groups_and_ranks_have_to_fit():
    with pytest.raises(ValueError, match=r"groups has shape \(3,\); give one for each of 20 instances"):
        choice_counts(some("strict"), groups=[1, 2, 3])
    counts = choice_counts(some("strict"))
    with pytest.raises(ValueError, match=r"ranks of instances have shape \(1, 4, 3\), but wins has shape \(4, 5\)"):
        ChoiceCounts(
            counts.wins,
            counts.sets,
            counts.counts,
            counts.offsets,
            counts.rankings,
            instances=Rankings.of(np.zeros((1, 4, 3))),
        )

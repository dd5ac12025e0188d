"""The integral behind large ties against enumeration, closed forms and exact recursions."""

from math import comb

import numpy as np
import pytest

from polarbear.rankings import tie_expansion, tie_nodes, tie_slope, tie_value


def subsets(theta, below):
    """(2^k − 1, k) members, the sums chosen from, and 1 / C(k, size) of all non-empty subsets."""
    k = theta.size
    members = (np.arange(1, 1 << k)[:, np.newaxis] >> np.arange(k)) & 1
    share = 1.0 / np.array([comb(k, size) for size in range(k + 1)])[members.sum(axis=1)]
    return members, members @ theta + below, share


def enumerated(theta, below):
    """F over all subsets."""
    _, sums, share = subsets(theta, below)
    return share @ np.log(sums)


EXTREMES = [(0.0, 0.0), (0.1, 3.0), (1.0, 0.0), (1.0, 1e-9), (5.0, 1.0), (20.0, 0.0), (20.0, 1e-30), (20.0, 1e12)]
EXTREMES += [(100.0, 0.0), (100.0, 1e-100), (100.0, 1e120)]


@pytest.mark.parametrize(("spread", "below"), EXTREMES)
@pytest.mark.parametrize("k", [2, 3, 8, 13, 16])
def test_agrees_with_all_subsets(k, spread, below):
    log_theta = spread * np.random.default_rng(k).normal(size=k)
    theta = np.exp(np.clip(log_theta, -300, 300))
    exact = enumerated(theta, below)
    assert tie_value(theta[:, np.newaxis], np.array([below]))[0] == pytest.approx(exact, rel=1e-11, abs=1e-10)


@pytest.mark.parametrize(("spread", "below"), EXTREMES)
def test_derivatives_agree_with_all_subsets(spread, below):
    k = 11
    theta = np.exp(np.clip(spread * np.random.default_rng(1).normal(size=k), -150, 150))
    members, sums, share = subsets(theta, below)
    part = members * theta / sums[:, np.newaxis]
    rest = below / sums
    found = tie_expansion(theta[:, np.newaxis], np.array([below]))
    slope = tie_slope(theta[:, np.newaxis], np.array([below]))
    for value, by_tied, by_below in (slope, found[:3]):
        assert value[0] == pytest.approx(share @ np.log(sums), rel=1e-11, abs=1e-10)
        np.testing.assert_allclose(by_tied[:, 0], share @ part, atol=2e-10)
        np.testing.assert_allclose(by_below[0], share @ rest, atol=2e-10)
    apart = ~np.eye(k, dtype=bool)
    np.testing.assert_allclose(found.pairs[0][apart], (part.T @ (share[:, np.newaxis] * part))[apart], atol=1e-9)
    np.testing.assert_allclose(found.across[0], (share * rest) @ part, atol=1e-9)
    np.testing.assert_allclose(found.within[0], share @ rest**2, atol=1e-9)
    assert (found.pairs >= 0).all()


@pytest.mark.parametrize("k", [2, 13, 40, 64])
@pytest.mark.parametrize("below", [0.0, 1e-200, 0.3, 1e150])
def test_equal_ratings_have_a_closed_form(k, below):
    theta = np.full((k, 1), 1e-3)
    sums = 1e-3 * np.arange(1, k + 1) + below
    value, by_tied, by_below = tie_slope(theta, np.array([below]))
    assert value[0] == pytest.approx(np.log(sums).sum(), rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(by_tied, (1e-3 * np.arange(1, k + 1) / sums).sum() / k, atol=1e-10)
    np.testing.assert_allclose(by_below, (below / sums).sum(), atol=1e-9)


@pytest.mark.parametrize("strong", [1, 7, 32, 63])
@pytest.mark.parametrize("log_ratio", [1.0, 8.0, 40.0, 300.0])
@pytest.mark.parametrize("below", [0.0, 1e-5])
def test_two_kinds_of_ratings_follow_a_hypergeometric_distribution(strong, log_ratio, below):
    k, weak = 64, np.exp(-log_ratio)
    exact = expected_strong = 0.0
    for m in range(1, k + 1):
        for j in range(max(0, m - k + strong), min(strong, m) + 1):
            chance = comb(strong, j) * comb(k - strong, m - j) / comb(k, m)
            total = j + (m - j) * weak + below
            exact += chance * np.log(total)
            expected_strong += chance * j / total
    theta = np.where(np.arange(k) < strong, 1.0, weak)[:, np.newaxis]
    value, by_tied, _ = tie_slope(theta, np.array([below]))
    assert value[0] == pytest.approx(exact, rel=1e-11)
    assert tie_value(theta, np.array([below]))[0] == pytest.approx(exact, rel=1e-11)
    assert by_tied[:strong].sum() == pytest.approx(expected_strong, abs=1e-9)


@pytest.mark.parametrize("k", [9, 30, 64])
@pytest.mark.parametrize("spread", [0.3, 4.0, 60.0])
def test_the_first_choice_leaves_a_tie_of_one_less(k, spread):
    """Whoever of the tied comes first, each as likely, was chosen from all, and the others remain tied."""
    theta = np.exp(spread * np.random.default_rng(k).normal(size=k))
    below = np.array([theta.min()])
    without = np.array([np.delete(theta, i) for i in range(k)]).T
    expected = np.log(theta.sum() + below) + tie_value(without, np.repeat(below, k)).mean()
    np.testing.assert_allclose(tie_value(theta[:, np.newaxis], below), expected, rtol=1e-11, atol=1e-10)


def test_scale_and_order_do_not_matter():
    rng = np.random.default_rng(0)
    theta, below = np.exp(3 * rng.normal(size=(21, 50))), np.exp(rng.normal(size=50))
    value = tie_value(theta, below)
    np.testing.assert_allclose(tie_value(1e90 * theta, 1e90 * below), value + 21 * np.log(1e90), rtol=1e-13)
    np.testing.assert_allclose(tie_value(rng.permuted(theta, axis=0), below), value, rtol=1e-12)
    _, by_tied, by_below = tie_slope(theta, below)
    np.testing.assert_allclose(by_tied.sum(axis=0) + by_below, 21.0, rtol=1e-10)


def test_columns_do_not_depend_on_each_other():
    rng = np.random.default_rng(1)
    theta = np.exp(rng.normal(size=(30, 1500)) * rng.choice([0.1, 1.0, 30.0], size=1500))
    below = rng.choice([0.0, 1.0], size=1500)
    several, few = tie_expansion(theta[:, :60], below[:60]), slice(3, 60, 10)
    one = [tie_expansion(theta[:, [c]], below[[c]]) for c in range(3, 60, 10)]
    np.testing.assert_allclose(several.pairs[few], [each.pairs[0] for each in one], atol=1e-9)
    np.testing.assert_allclose(several.tied[:, few].T, [each.tied[:, 0] for each in one], atol=1e-9)
    values = tie_value(theta, below)
    alone = [tie_value(theta[:, [c]], below[[c]])[0] for c in range(0, 1500, 100)]
    np.testing.assert_allclose(values[::100], alone, rtol=1e-11)
    np.testing.assert_allclose(tie_slope(theta, below)[0], values, rtol=1e-12)


@pytest.mark.parametrize("k", [2, 9, 20, 64])
def test_nodes_for_all_at_once(k):
    theta = np.random.default_rng(k).dirichlet(np.ones(k + 1))
    tied, below = theta[:k], theta[k]
    nodes = tie_nodes(k, float(tied.min() + below))
    gone = -np.expm1(-tied[:, np.newaxis] * nodes.u)
    kept = np.prod(1 - nodes.p * gone, axis=0) - (1 - nodes.p) ** k
    total = nodes.constant - nodes.weights @ (np.exp(-nodes.u * below) * kept)
    assert total == pytest.approx(tie_value(tied[:, np.newaxis], np.array([below]))[0], rel=1e-10)

"""Shapley values: axioms, closed forms, all orders by brute force, and sampling against the exact values."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polarbear.assess.comparisons import contributions, shapley_values


@st.composite
def games(draw, players=None):
    n = players or draw(st.integers(1, 5))
    return np.array(draw(st.lists(st.integers(-9, 9), min_size=2**n, max_size=2**n)), dtype=float)


def by_orders(worth):
    n = worth.size.bit_length() - 1
    total = np.zeros(n)
    orders = list(itertools.permutations(range(n)))
    for order in orders:
        mask = 0
        for player in order:
            total[player] += worth[mask | 1 << player] - worth[mask]
            mask |= 1 << player
    return total / len(orders)


@given(games())
def test_is_the_mean_over_all_orders(worth):
    assert shapley_values(worth) == pytest.approx(by_orders(worth))


@given(games())
def test_efficiency(worth):
    assert shapley_values(worth).sum() == pytest.approx(worth[-1] - worth[0])


@given(games(players=4), games(players=4))
def test_additivity(first, second):
    assert shapley_values(first + second) == pytest.approx(shapley_values(first) + shapley_values(second))


@given(games(players=3), st.integers(-5, 5))
def test_null_and_dummy_player(worth, own):
    """A fourth player who always adds the same gets just that, and changes nothing for the others."""
    extended = np.concatenate((worth, worth + own))
    assert shapley_values(extended) == pytest.approx([*shapley_values(worth), own])


@pytest.mark.parametrize("members", [{0}, {1, 3}, {0, 2, 3, 4}])
def test_unanimity_games(members):
    need = sum(1 << i for i in members)
    worth = np.array([(mask & need) == need for mask in range(32)], dtype=float)
    assert shapley_values(worth) == pytest.approx([1 / len(members) if i in members else 0 for i in range(5)])


TIMES = np.array([1.0, 10, 100, 1000])


def curves(rng, n, problems=3, times=4):
    return np.sort(rng.random((n, problems, times)), axis=2)


@pytest.mark.parametrize("portfolio", ["parallel", "best"])
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_definition_by_brute_force(portfolio, scale):
    data = curves(np.random.default_rng(1), 4)
    lengths = np.diff(np.log(TIMES) if scale == "log" else TIMES)

    def worth(members):
        part = data[list(members)]
        joined = 1 - np.prod(1 - part, axis=0) if portfolio == "parallel" else part.max(axis=0, initial=0)
        return (joined[:, :-1] @ lengths).mean() / lengths.sum()

    table = np.array([worth([i for i in range(4) if mask >> i & 1]) for mask in range(16)])
    found = contributions(data, times=TIMES, portfolio=portfolio, scale=scale)
    assert found.shapley == pytest.approx(by_orders(table))
    assert found.alone == pytest.approx([table[1 << i] for i in range(4)])
    assert found.marginal == pytest.approx([table[15] - table[15 ^ 1 << i] for i in range(4)])
    assert found.whole == pytest.approx(table[15])
    assert found.shapley.sum() == pytest.approx(found.whole)
    assert not found.standard_error.any()


@pytest.mark.parametrize("portfolio", ["parallel", "best"])
def test_symmetry_and_null_player(portfolio):
    data = curves(np.random.default_rng(2), 3)
    data = np.concatenate((data, data[:1], np.zeros_like(data[:1])))  # 3 is 0's twin, 4 attains nothing
    found = contributions(data, times=TIMES, portfolio=portfolio)
    assert found.shapley[0] == pytest.approx(found.shapley[3])
    assert found.shapley[4] == pytest.approx(0, abs=1e-15)
    if portfolio == "best":
        assert found.marginal[[0, 3, 4]] == pytest.approx(np.zeros(3))  # a twin can be spared


def test_equal_algorithms_in_closed_form():
    """n equal algorithms that attain with probability p together attain with 1 - (1 - p)^n, and share it equally."""
    found = contributions(np.full((5, 2, 4), 0.3), times=TIMES)
    assert found.shapley == pytest.approx(np.full(5, (1 - 0.7**5) / 5))
    best = contributions(np.full((5, 2, 4), 0.3), times=TIMES, portfolio="best")
    assert best.shapley == pytest.approx(np.full(5, 0.3 / 5))


def test_separate_problems_are_not_shared():
    """Algorithms that attain different problems contribute what they attain alone."""
    data = np.zeros((3, 3, 2))
    for i in range(3):
        data[i, i] = (i + 1) / 3
    found = contributions(data, times=[1, 10])
    assert found.shapley == pytest.approx(np.array([1, 2, 3]) / 9)
    assert found.marginal == pytest.approx(found.shapley)
    assert found.alone == pytest.approx(found.shapley)


@pytest.mark.parametrize("portfolio", ["parallel", "best"])
def test_sampled_agrees_with_exact_within_its_error(portfolio):
    """8 values, each within 4.5 of its standard errors; the chance that one is not is below 1e-4."""
    data = curves(np.random.default_rng(3), 8, problems=20) ** 3
    exact = contributions(data, times=TIMES, portfolio=portfolio)
    sampled = contributions(data, times=TIMES, portfolio=portfolio, permutations=2000, rng=np.random.default_rng(4))
    assert (np.abs(sampled.shapley - exact.shapley) <= 4.5 * sampled.standard_error).all()
    assert (sampled.standard_error > 0).all()
    assert (sampled.standard_error < 0.05 * exact.shapley.max()).all()
    assert sampled.shapley.sum() == pytest.approx(exact.whole)
    assert sampled.permutations == 2000
    assert (sampled.whole, exact.permutations) == (pytest.approx(exact.whole), 0)
    np.testing.assert_allclose(sampled.marginal, exact.marginal)


@pytest.mark.statistical
def test_standard_error_is_that_of_repetitions():
    """Over 200 repetitions, standardized errors have variance 1 within 4.5 of its standard errors √(2/200)."""
    data = curves(np.random.default_rng(5), 5)
    exact = contributions(data, times=TIMES).shapley
    rng = np.random.default_rng(6)
    z = []
    for _ in range(200):
        sampled = contributions(data, times=TIMES, permutations=100, rng=rng)
        z.append((sampled.shapley[0] - exact[0]) / sampled.standard_error[0])
    assert np.var(z) == pytest.approx(1, abs=4.5 * np.sqrt(2 / 200))


@settings(max_examples=20)
@given(st.permutations(range(5)))
def test_permuting_algorithms_permutes_values(order):
    data = curves(np.random.default_rng(7), 5)
    first, second = contributions(data, times=TIMES), contributions(data[list(order)], times=TIMES)
    assert second.shapley == pytest.approx(first.shapley[list(order)])


def test_cells_are_chunked_without_loss():
    data = curves(np.random.default_rng(8), 3, problems=500)  # 1,500 cells in chunks of 64
    found = contributions(data, times=TIMES)
    parts = [contributions(data[:, i : i + 100], times=TIMES).shapley for i in range(0, 500, 100)]
    assert found.shapley == pytest.approx(np.mean(parts, axis=0))


@pytest.mark.parametrize("portfolio", ["parallel", "best"])
def test_any_number_of_algorithms_is_exact(portfolio):
    """20 algorithms: the values of all 2^20 portfolios at one cell, by brute force; and they sum to the whole."""
    p = np.random.default_rng(9).random(20)
    found = contributions(np.repeat(p[:, None, None], 2, axis=2), times=[1, 2], portfolio=portfolio)
    worth = np.zeros(1)
    for each in p:
        joined = 1 - (1 - worth) * (1 - each) if portfolio == "parallel" else np.maximum(worth, each)
        worth = np.concatenate([worth, joined])
    np.testing.assert_allclose(found.shapley, shapley_values(worth), rtol=1e-9)
    assert [found.shapley.sum(), found.whole] == pytest.approx([worth[-1]] * 2)
    many = contributions(curves(np.random.default_rng(1), 60), times=TIMES, portfolio=portfolio)
    assert many.shapley.sum() == pytest.approx(many.whole)
    assert not many.standard_error.any()


def test_groups_of_thirteen_algorithms_have_to_be_sampled():
    data = curves(np.random.default_rng(9), 13)
    with pytest.raises(ValueError, match=r"13 algorithms have 2\^13 portfolios.*set permutations"):
        contributions(data, times=TIMES, group_size=2)


def test_rows_and_json():
    found = contributions(curves(np.random.default_rng(10), 3), times=TIMES, names="abc")
    values = [row["shapley"] for row in found.rows()]
    assert values == sorted(values, reverse=True)
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["names"] == ["a", "b", "c"]


GOOD = {"attained": np.full((2, 1, 2), 0.5), "times": [1, 2]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attained": np.zeros((2, 2))}, r"attained has shape \(2, 2\)"),
        ({"attained": np.full((2, 1, 2), 1.5)}, r"attained\[0, 0, 0\] is 1.5"),
        ({"attained": np.full((2, 1, 2), np.nan)}, r"attained\[0, 0, 0\] is nan"),
        ({"times": [2, 1]}, "increase strictly"),
        ({"times": [0, 1]}, "positive on a log scale"),
        ({"times": [1, 2, 3]}, r"times \(3,\)"),
        ({"scale": "sqrt"}, "scale is 'sqrt'"),
        ({"portfolio": "worst"}, "portfolio is 'worst'"),
        ({"permutations": 10}, "rng is None"),
        ({"permutations": 1, "rng": np.random.default_rng(0)}, "permutations is 1"),
        ({"names": ["a", "a"]}, "a different name for each of 2 algorithms"),
    ],
)
def test_wrong_input_is_named(change, message):
    options = GOOD | change
    with pytest.raises(ValueError, match=message):
        contributions(options.pop("attained"), **options)
    with pytest.raises(ValueError, match="2\\^n entries"):
        shapley_values([1, 2, 3])

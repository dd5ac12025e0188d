"""Glicko-2: Glickman's worked example, invariances, the package where it is right, and games between runs."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polarbear.assess.comparisons import Newcomer, glicko2
from polarbear.assess.comparisons.rating import rate


def against(opponents, scores, player):
    """Ratings of a player after one game with each opponent, (rating, deviation, volatility)."""
    rating, deviation, volatility = (
        np.array([first, *column]) for first, column in zip(player, zip(*opponents, strict=True), strict=True)
    )
    games, points = (np.zeros((len(rating), len(rating))) for _ in range(2))
    games[0, 1:], points[0, 1:] = 1, scores
    return [float(column[0]) for column in rate(rating, deviation, volatility, games=games, points=points)]


def test_glickmans_worked_example():
    """Printed with two digits after intermediate rounding: 1464.06, 151.52, 0.05999."""
    opponents = [(1400, 30, 0.06), (1550, 100, 0.06), (1700, 300, 0.06)]
    rating, deviation, volatility = against(opponents, [1, 0, 0], (1500, 200, 0.06))
    assert rating == pytest.approx(1464.06, abs=0.01)
    assert deviation == pytest.approx(151.52, abs=0.005)
    assert volatility == pytest.approx(0.05999, abs=1e-5)


PLAYERS = st.lists(st.tuples(st.floats(1000, 2000), st.floats(30, 350), st.floats(0.03, 0.1)), min_size=1, max_size=4)


@settings(max_examples=40)
@given(PLAYERS, st.floats(30, 350), st.floats(0.03, 0.1), st.data())
def test_the_package_agrees_where_its_error_does_not_show(opponents, deviation, volatility, data):
    """It confuses rating and deviation in the volatility; they coincide for a player rated 1500 + deviation."""
    scores = data.draw(st.lists(st.sampled_from([0, 0.5, 1]), min_size=len(opponents), max_size=len(opponents)))
    player = pytest.importorskip("glicko2").Player(1500 + deviation, deviation, volatility)
    player.update_player([o[0] for o in opponents], [o[1] for o in opponents], scores)
    ours = against(opponents, scores, (1500 + deviation, deviation, volatility))
    assert ours == pytest.approx([player.rating, player.rd, player.vol], rel=1e-6)


@settings(max_examples=40)
@given(PLAYERS, st.floats(-400, 400), st.data())
def test_only_differences_of_ratings_matter(players, shift, data):
    scores = data.draw(st.lists(st.sampled_from([0, 0.5, 1]), min_size=len(players), max_size=len(players)))
    before = against(players, scores, (1500, 200, 0.06))
    after = against([(r + shift, d, v) for r, d, v in players], scores, (1500 + shift, 200, 0.06))
    assert after[0] - shift == pytest.approx(before[0], rel=1e-8)
    assert after[1:] == pytest.approx(before[1:], rel=1e-8)


def test_winner_and_loser_mirror_each_other():
    """A surprise: 40 wins of the weaker by 800 points. The package gives deviations of 273 and 32."""
    games, points = np.array([[0.0, 40], [40, 0]]), np.array([[0.0, 40], [0, 0]])
    rating, deviation, volatility = rate(
        np.array([1500.0, 2300]), np.full(2, 30.0), np.full(2, 0.06), games=games, points=points
    )
    assert rating[0] - 1500 == pytest.approx(2300 - rating[1])
    assert deviation[0] == pytest.approx(deviation[1])
    assert volatility[0] == pytest.approx(volatility[1])


def test_who_does_not_play_grows_uncertain():
    """Step 6 for players without games: only the deviation changes, to √(φ² + σ²)."""
    none = np.zeros((1, 1))
    rating, deviation, volatility = rate(
        np.array([1700.0]), np.array([50.0]), np.array([0.06]), games=none, points=none
    )
    assert (rating[0], volatility[0]) == (pytest.approx(1700), 0.06)
    assert deviation[0] == pytest.approx(np.hypot(50, 173.7178 * 0.06))


def test_games_between_runs():
    groups = {
        f"f{i}": {"best": np.arange(5.0), "middle": np.arange(4.0) + 10, "fails": np.full(3, np.inf)} for i in range(4)
    }
    ratings = glicko2(groups, rounds=10, rng=np.random.default_rng(1))
    assert ratings.games.tolist() == [[0, 40, 40], [40, 0, 40], [40, 40, 0]]
    assert ratings.points.tolist() == [[0, 40, 40], [0, 0, 40], [0, 0, 0]]
    assert ratings.history.shape == (10, 3)
    assert [row["algorithm"] for row in ratings.rows()] == ["best", "middle", "fails"]
    np.testing.assert_array_equal(ratings.history[-1], ratings.rating)
    assert json.loads(json.dumps(ratings.as_dict(), allow_nan=False))["names"] == ["best", "middle", "fails"]


def test_ties_are_half_points_and_equal_algorithms_stay_equal():
    groups = {"f": {"a": [np.inf], "b": [np.inf, np.inf], "c": [np.inf]}}
    ratings = glicko2(groups, rounds=5, rng=np.random.default_rng(1))
    assert (ratings.points + np.eye(3) * 2.5 == 2.5).all()
    assert ratings.rating == pytest.approx([1500] * 3)
    assert (ratings.deviation < 350).all()


@pytest.mark.statistical
def test_points_are_won_as_often_as_runs_are_lower():
    """With 2,000 games the share of points is within 4.5 standard errors of P(x < y) + P(x = y) / 2 = 5/12."""
    groups = {"f": {"x": [1.0, 3.0, 3.0], "y": [0.0, 2.0, 2.0, 3.0]}}
    points = glicko2(groups, rounds=2000, rng=np.random.default_rng(2)).points
    probability = 2 / 3 * (0.25 * 0.5) + 1 / 3 * 0.75
    assert points[0, 1] / 2000 == pytest.approx(probability, abs=4.5 * 0.5 / np.sqrt(2000))
    assert points[0, 1] + points[1, 0] == 2000


def test_same_generator_same_ratings():
    groups = {"f": {"x": np.arange(9.0), "y": np.arange(9.0) + 0.5}}
    first, second = (glicko2(groups, rng=np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.history, second.history)


def test_smaller_tau_keeps_volatility_steadier():
    groups = {"f": {"x": [0.0], "y": [1.0]}}
    moved = [
        abs(glicko2(groups, rounds=50, rng=np.random.default_rng(0), newcomer=Newcomer(tau=tau)).volatility[0] - 0.06)
        for tau in (0.3, 1.2)
    ]
    assert moved[0] < moved[1]


@pytest.mark.parametrize(
    ("groups", "rounds", "message"),
    [
        ({}, 5, "groups are empty"),
        ({"f": {"x": [1.0], "y": [2.0]}, "g": {"x": [1.0], "z": [2.0]}}, 5, "group 'g' differs .* in y, z"),
        ({"f": {"x": [1.0], "y": [np.nan]}}, 5, "run 0 of y on f is NaN"),
        ({"f": {"x": [1.0], "y": [2.0]}}, 0, "rounds is 0"),
    ],
)
def test_wrong_input_is_named(groups, rounds, message):
    with pytest.raises(ValueError, match=message):
        glicko2(groups, rounds=rounds, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"tau is 0.0; it must be above 0"):
        Newcomer(tau=0)

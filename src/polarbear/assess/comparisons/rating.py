"""Glicko-2 ratings of algorithms that play against each other with their runs.

In each round, on every group (a function in one dimension), every pair of algorithms plays one game: a random run of
one against a random run of the other, won by the lower value at a budget or runtime to a target (thesis, section
3.1.2, "Glicko2-based ranking" in tables 3.1 and 3.2). A round is one rating period.

Source: Glickman, Example of the Glicko-2 system (2013, revised 2022), steps 1 to 8. The package `glicko2` is not used:
its volatility (step 5) uses the squared rating in place of the squared deviation, so that ratings would depend on the
origin of their scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from polarbear.assess.comparisons.samples import Groups, Result, read_groups, rows_of
from polarbear.records import FloatArray, IntArray
from polarbear.validation import Finite, real, settings, whole_number

_SCALE = 173.7178  # ratings per unit of Glicko-2's own scale
_ORIGIN = 1500.0


@dataclass(frozen=True, slots=True, eq=False)
class Ratings(Result):
    """Ratings of n algorithms after R rounds.

    Attributes:
        names: The n algorithms' names.
        rating: (n,) ratings, higher is better; all start with the same.
        deviation: (n,) standard deviations of the ratings; rating ± 2 deviations is a 95 % interval.
        volatility: (n,) expected changes of the ratings from round to round.
        games: (n, n) number of games of the row against the column.
        points: (n, n) points the row won against the column, 1 for a game won and ½ for a tie.
        history: (R, n) ratings after each round.
    """

    names: tuple[str, ...]
    rating: FloatArray
    deviation: FloatArray
    volatility: FloatArray
    games: FloatArray
    points: FloatArray
    history: FloatArray

    def rows(self) -> list[dict[str, Any]]:
        """One row per algorithm, the best rating first."""
        order = np.argsort(-self.rating, kind="stable")
        return rows_of(
            algorithm=np.array(self.names)[order],
            rating=self.rating[order],
            deviation=self.deviation[order],
            volatility=self.volatility[order],
            games=self.games.sum(axis=1)[order],
            points=self.points.sum(axis=1)[order],
        )


@settings
class Newcomer:
    """The rating of a player before the first game, and how fast its volatility may change.

    Attributes:
        rating: Initial rating.
        deviation: Standard deviation of the rating.
        volatility: Expected change of the rating in a round.
        tau: Glickman's system constant, from 0.3 to 1.2; smaller values keep volatilities more stable.
    """

    rating: Finite = 1500.0
    deviation: Annotated[float, real(gt=0)] = 350.0
    volatility: Annotated[float, real(gt=0)] = 0.06
    tau: Annotated[float, real(gt=0)] = 0.5


def glicko2(groups: Groups, *, rounds: int = 25, rng: np.random.Generator, newcomer: Newcomer | None = None) -> Ratings:
    """Rate algorithms by games between their runs.

    A failed run (`inf`) ties with another failed run and loses to every success.

    Args:
        groups: One number per run for each function (in one dimension) and each algorithm, lower is better.
        rounds: Number of rating periods, with one game per group and pair in each.
        rng: The source of randomness that chooses the runs that play.
        newcomer: The initial rating of all algorithms.

    Raises:
        ValueError: If samples are invalid or `rounds` is below 1.
    """
    whole_number(rounds, "rounds", 1)
    samples = [sample for group in read_groups(groups).values() for sample in group.values()]
    sizes = np.array([sample.size for sample in samples]).reshape(len(groups), -1)
    begins = np.cumsum(sizes).reshape(sizes.shape) - sizes
    runs = np.concatenate(samples)
    names, start = tuple(next(iter(groups.values()))), newcomer or Newcomer()
    n = len(names)
    rating, deviation, volatility = np.full(n, start.rating), np.full(n, start.deviation), np.full(n, start.volatility)
    games = np.where(np.eye(n, dtype=bool), 0.0, float(len(groups)))
    total, history = np.zeros((n, n)), np.empty((rounds, n))
    for period in range(rounds):
        points = _play(runs, begins, sizes, rng)
        rating, deviation, volatility = rate(rating, deviation, volatility, games=games, points=points, tau=start.tau)
        total += points
        history[period] = rating
    return Ratings(names, rating, deviation, volatility, games * rounds, total, history)


def rate(
    rating: FloatArray,
    deviation: FloatArray,
    volatility: FloatArray,
    *,
    games: FloatArray,
    points: FloatArray,
    tau: float = 0.5,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Update the ratings of n players after one rating period, whose games count as simultaneous.

    Args:
        rating: (n,) ratings before the period.
        deviation: (n,) deviations before the period.
        volatility: (n,) volatilities before the period.
        games: (n, n) number of games of the row against the column; a player without games keeps rating and volatility.
        points: (n, n) points the row won against the column.
        tau: Glickman's system constant.

    Returns:
        (n,) ratings, deviations and volatilities after the period.
    """
    from scipy.special import expit  # slow to import

    mu, phi = (rating - _ORIGIN) / _SCALE, deviation / _SCALE  # step 2
    g = 1 / np.sqrt(1 + 3 * phi**2 / np.pi**2)
    expected = np.asarray(expit(g * (mu[:, None] - mu)))
    information = (games * g**2 * expected * (1 - expected)).sum(axis=1)  # step 3: 1 / v
    gain = (g * (points - games * expected)).sum(axis=1)  # step 4: Δ / v
    sigma = np.array(
        [
            _volatility(s, p, i, y, tau) if i else s
            for s, p, i, y in zip(volatility, phi, information, gain, strict=True)
        ]
    )
    variance = 1 / (1 / (phi**2 + sigma**2) + information)  # steps 6 and 7
    return _ORIGIN + _SCALE * (mu + variance * gain), _SCALE * np.sqrt(variance), sigma


def _volatility(sigma: float, phi: float, information: float, gain: float, tau: float) -> float:
    """The new volatility (step 5): the root of f, bracketed as in Glickman's algorithm."""
    from scipy.optimize import brentq  # slow to import

    v, a = 1 / information, 2 * math.log(sigma)
    delta = v * gain

    def f(x: float) -> float:
        spread = phi**2 + v + math.exp(x)
        return math.exp(x) * (delta**2 - spread) / (2 * spread**2) - (x - a) / tau**2

    excess = delta**2 - phi**2 - v
    if excess > 0:
        other = math.log(excess)
    else:
        other = a - tau
        while f(other) < 0:
            other -= tau
    return math.exp(brentq(f, a, other, xtol=1e-12) / 2)


def _play(runs: FloatArray, begins: IntArray, sizes: IntArray, rng: np.random.Generator) -> FloatArray:
    """(n, n) points of the row against the column, from one game of each pair on each group with randomly drawn runs.

    The runs of a player on a group are the `sizes` (groups, n) runs from `begins` (groups, n) on.
    """
    n = sizes.shape[1]
    drawn = rng.integers(sizes[:, :, None], size=(*sizes.shape, n))  # row's run against each column
    played = runs[begins[:, :, None] + drawn]
    against = played.transpose(0, 2, 1)
    points = ((played < against) + 0.5 * (played == against)).sum(axis=0)
    np.fill_diagonal(points, 0.0)
    return points

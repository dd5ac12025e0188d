"""The posterior of all ratings over time, as draws, and the interface of models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.descriptions import html_table
from polarbear.extras import optional
from polarbear.inference import events, pairs
from polarbear.inference.events import Algorithm, Algorithms, Event
from polarbear.inference.sampling.chain_order import ChainOrder
from polarbear.inference.sampling.diagnostics import Diagnostics
from polarbear.inference.sampling.settings import Sampling
from polarbear.inference.sampling.threads import one_thread
from polarbear.inference.wins import Wins
from polarbear.quantities import plural
from polarbear.rankings import ChoiceCounts
from polarbear.rankings.rankings import checked_names, checked_times
from polarbear.records import FloatArray

_SAME_TIME = 1e-9
"""Largest difference of equal times, as a share of the time itself and of the whole span."""


class Model(Protocol):
    """A prior of the ratings over time that can compute its posterior.

    Attributes:
        name: The model's name in studies, such as ``"independent-dirichlet"``.
        joint: Whether its posterior is joint over time.
        pooled: Whether timepoints inform each other. Such a model treats rankings of the same runs at several
            timepoints as independent evidence.
        methods: Names of the methods that compute the posterior, the default first.
    """

    name: ClassVar[str]
    joint: ClassVar[bool]
    pooled: ClassVar[bool]
    methods: ClassVar[tuple[str, ...]]

    @property
    def adjusted(self) -> bool:
        """Whether `polarbear.inference.fit` widens its posterior; see `polarbear.inference.model.adjustment`."""
        ...

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior given the rankings in `counts`, as in `polarbear.inference.fit`, which checks the arguments.

        It is not called with methods "nuts" and "pathfinder", which `polarbear.inference.fit` handles itself.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """The model as plain values: its name under "model", and every parameter."""
        ...


@runtime_checkable
class Predictive(Protocol):
    """A model that predicts ratings at times at which it was not fitted."""

    def predict(self, posterior: Posterior, times: FloatArray, rng: np.random.Generator) -> FloatArray:
        """(S, n, D) ratings at new times (S,), each continuing one draw of the posterior.

        Raises:
            ValueError: If the model cannot predict one of the times.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Draws of the Plackett–Luce ratings θ of n algorithms at T timepoints.

    Algorithm i beats algorithm j at time t with probability θ_i(t) / (θ_i(t) + θ_j(t)) (eq. 5 of Wurth et al. 2026).
    Algorithms are given by name or index; each probability is the share of the draws in which the event holds.

    Attributes:
        draws: (D, T, n) float64 draws, non-negative and summing to 1 over the algorithms.
        times: (T,) float64 timepoints, strictly increasing.
        names: The n algorithms' names.
        joint: Whether draws are joint over time. If not, draws at different timepoints are unrelated, and statements
            about several timepoints at once are impossible.
        diagnostics: How reliable the draws are.
        hyperparameters: (D,) draws of each of the model's hyperparameters, by name, joint with `draws`.
        model: The model, if known.
        excerpt: Whether `at` took this posterior from another one.
        tally: Who beat whom on each instance, if known; used by `wins` and `first`.
        chains: The chain and step of each draw, if the same Markov chains cover all timepoints.

    Raises:
        ValueError: If the shapes do not match, names repeat, or the draws are not ratings.
    """

    draws: FloatArray
    times: FloatArray
    names: tuple[str, ...]
    joint: bool
    diagnostics: Diagnostics
    hyperparameters: Mapping[str, FloatArray] = field(default_factory=dict[str, FloatArray])
    model: Model | None = None
    excerpt: bool = False
    chains: ChainOrder | None = None
    tally: Wins | None = None

    def __post_init__(self) -> None:
        draws = _view(self.draws)
        if draws.ndim != 3 or draws.shape[0] == 0:
            raise ValueError(f"draws has shape {draws.shape}; it must be (draws, timepoints, algorithms)")
        times = checked_times(self.times, draws.shape[1])
        names = checked_names(self.names, draws.shape[2])
        if len(self.diagnostics.method) != times.size:
            count = len(self.diagnostics.method)
            raise ValueError(f"diagnostics has {plural(count, 'timepoint')}; it must have {times.size}, like draws")
        sums = draws.sum(axis=2)
        if not (np.abs(sums - 1.0) < 1e-6).all() or not (draws >= 0).all():
            raise ValueError("draws must be non-negative and sum to 1 over the algorithms")
        hyperparameters = {name: _view(values) for name, values in self.hyperparameters.items()}
        for name, values in hyperparameters.items():
            if values.shape != draws.shape[:1]:
                raise ValueError(f"hyperparameter {name!r} has shape {values.shape}; it must be ({len(draws)},)")
        if self.chains is not None and len(self.chains) != len(draws):
            raise ValueError(f"chains has {plural(len(self.chains), 'draw')}; it must have {len(draws)}, like draws")
        prepared = {"draws": draws, "times": times, "names": names, "hyperparameters": hyperparameters}
        for name, value in prepared.items():
            object.__setattr__(self, name, value)

    @property
    def honest(self) -> bool:
        """Whether statements about several timepoints are calibrated when the same runs are ranked at all of them.

        True with a single timepoint. Otherwise the posterior must be joint over time, and its model must not count
        repeated rankings as new evidence or must be adjusted for that.
        """
        trusted = self.model is None or not self.model.pooled or self.model.adjusted
        return self.times.size == 1 or (self.joint and trusted)

    def index(self, algorithm: Algorithm) -> int:
        """The position of an algorithm, given by name or by index.

        Raises:
            ValueError: If there is no such algorithm; the message lists the names.
        """
        if isinstance(algorithm, str):
            if algorithm in self.names:
                return self.names.index(algorithm)
        elif 0 <= algorithm < len(self.names):
            return int(algorithm)
        raise ValueError(f"there is no algorithm {algorithm!r}; the algorithms are {', '.join(self.names)}")

    def timepoint(self, time: float) -> int:
        """The position of a timepoint, given by its value.

        Raises:
            ValueError: If there is no such timepoint; the message names the nearest.
        """
        index = int(matched(np.array([time], dtype=np.float64), self.times)[0])
        if index >= 0:
            return index
        if not self.times.size:
            raise ValueError(f"there is no timepoint {time:g}; the posterior has none")
        near = self.times[nearest(np.array([time], dtype=np.float64), self.times)[0]]
        raise ValueError(
            f"there is no timepoint {time:g} among the {self.times.size} from {self.times[0]:g} to "
            f"{self.times[-1]:g}; the nearest is {near:g}"
        )

    def at(self, times: ArrayLike, *, rng: np.random.Generator) -> Posterior:
        """The posterior at other times: fitted ones, where the draws are kept, or new ones.

        At new times each draw is continued given its path at all fitted timepoints and its hyperparameters, so the
        result is joint over all its times and, draw by draw, with this posterior. All temporal models can predict
        between timepoints, on the time axis of the fit; beyond them "random-walk", "gaussian-process" and, within its
        domain, "hilbert-space-gaussian-process" can. The further from the fitted timepoints, the more the prior
        matters.

        The cost is linear in the numbers of times and draws, but cubic in the number of new times for the squared
        exponential kernel and the Hilbert-space form. The prior is factorized once for each distinct length-scale, of
        which there are 64 to 256 after importance sampling and up to D after Markov chains: about a millisecond each
        at 200 times.

        Args:
            times: (S,) strictly increasing times, or a single time.
            rng: The source of randomness at the new times.

        Raises:
            ValueError: If the times do not increase strictly; or the model cannot predict one of them, as models
                without paths over time never can; or there are new times and `at` took this posterior from another.
        """
        if not np.size(times):
            raise ValueError("times is empty; give at least one")
        at = checked_times(np.atleast_1d(np.asarray(times, dtype=np.float64)), np.size(times))
        source = matched(at, self.times)
        new = source < 0
        draws = np.empty((len(self.draws), at.size, len(self.names)))
        draws[:, ~new] = self.draws[:, source[~new]]
        if new.any():
            with one_thread():
                draws[:, new] = self._predictive(at[new][0]).predict(self, at[new], rng).transpose(2, 0, 1)
        diagnostics = self.diagnostics.at(nearest(at, self.times))
        return replace(self, draws=draws, times=at, diagnostics=diagnostics, excerpt=True, tally=None)

    def _predictive(self, time: float) -> Predictive:
        """The model, if it can predict."""
        if self.excerpt:
            why = "this posterior was made by `at` from another one; call `at` on that one"
        elif not isinstance(self.model, Predictive):
            says = "the model is unknown" if self.model is None else f"{self.model.name} cannot predict at new times"
            why = f"{says}; fit a model over time, such as pb.inference.RandomWalk()"
        elif self.times.size < 2:
            why = "prediction needs at least two fitted timepoints; fit more"
        else:
            return self.model
        raise ValueError(f"there is no timepoint {time:g}, and it cannot be predicted: {why}")

    def _repr_html_(self) -> str:
        """An HTML table for notebooks: each rating and P(best) at the first, a middle and the last timepoint."""
        at = sorted({0, self.times.size // 2, self.times.size - 1})
        mean, (low, high), best = self.mean(), self.interval(), self.probability_best()
        columns = ("algorithm", *(f"{what} at {self.times[t]:g}" for t in at for what in ("rating (95 %)", "P(best)")))
        rows = (
            (
                name,
                *(
                    cell
                    for t in at
                    for cell in (f"{mean[t, i]:.3f} ({low[t, i]:.3f} to {high[t, i]:.3f})", f"{best[t, i]:.3f}")
                ),
            )
            for i, name in enumerate(self.names)
        )
        return html_table(columns, rows)

    def mean(self) -> FloatArray:
        """(T, n) posterior mean of each rating."""
        return self.draws.mean(axis=0)

    def interval(self, level: float = 0.95) -> FloatArray:
        """(2, T, n) lower and upper ends of the central credible interval of each rating.

        Raises:
            ValueError: If `level` is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise ValueError(f"level is {level!r}; it must be between 0 and 1")
        tail = (1.0 - level) / 2
        return np.quantile(self.draws, [tail, 1.0 - tail], axis=0)

    def win_probability(self, a: Algorithm, b: Algorithm) -> FloatArray:
        """(D, T) draws of the probability that `a` beats `b` on a new instance (eq. 5); 0.5 if both ratings are 0."""
        return self.portfolio_win_probability(a, b)

    def portfolio_rating(self, portfolio: Algorithms) -> FloatArray:
        """(D, T) draws of the sum of a portfolio's ratings (eq. 36); a member given twice counts twice.

        Raises:
            ValueError: If the portfolio is empty.
        """
        ratings = (self.draws[:, :, self.index(member)] for member in events.members(portfolio))
        return sum(ratings, np.zeros(()))

    def portfolio_win_probability(self, first: Algorithms, second: Algorithms) -> FloatArray:
        """(D, T) draws of the probability that the best of one portfolio beats the best of another (eq. 8).

        On a new instance all members of both portfolios run, each in a run of its own. The mean over the draws is the
        posterior predictive probability. If all ratings are 0 it is 0.5.

        Raises:
            ValueError: If a portfolio is empty.
        """
        ours, theirs = self.portfolio_rating(first), self.portfolio_rating(second)
        both = ours + theirs
        return np.divide(ours, both, out=np.full(both.shape, 0.5), where=both > 0)

    def wins(self, a: Algorithm, b: Algorithm) -> FloatArray:
        """(D, T) draws of the actual probability that `a` beats `b` on a new instance, a tie counting half.

        Unlike `win_probability` it is not derived from the ratings but directly from the instances on which both ran,
        without a model (see `polarbear.inference.wins`). Its draws are joint over time, and with those of `first`, but
        not with those of the ratings.

        Raises:
            ValueError: If there is no such algorithm, or the posterior does not know the instances.
        """
        return self.known_wins.probability(self.index(a), self.index(b))

    def first(self, names: Algorithms | None = None) -> FloatArray:
        """(D, T, k) draws of the actual probability that each of k algorithms, by default all, is the best of them.

        It is derived from the instances on which all of them ran up to the timepoint; ties share the first place. If
        rankings follow the Plackett–Luce model it is the rating; otherwise the rating may be far from it.

        Raises:
            ValueError: If there is no such algorithm, or the posterior does not know the instances.
        """
        chosen = events.members(self.names if names is None else names)
        return self.known_wins.first(np.array([self.index(name) for name in chosen]))

    @property
    def known_wins(self) -> Wins:
        """Who beat whom on each instance.

        Raises:
            ValueError: If that is unknown.
        """
        if self.tally is None:
            raise ValueError(
                "the posterior does not know the ranking of each instance; fit it with polarbear.inference.fit to "
                "counts from polarbear.rankings.choice_counts, at the timepoints in question"
            )
        return self.tally

    def log_ratio(self, a: Algorithm, b: Algorithm) -> FloatArray:
        """(D, T) draws of log(θ_a / θ_b), the log-odds of `a` against `b`."""
        first, second = self.draws[:, :, self.index(a)], self.draws[:, :, self.index(b)]
        return _log(first) - _log(second)

    def log_ratios(self) -> Callable[[int, int], FloatArray]:
        """`log_ratio` by indices, for many pairs."""
        logs = _log(self.draws)
        return lambda i, j: logs[:, :, i] - logs[:, :, j]

    def probability(self, event: Event | Callable[[FloatArray], ArrayLike]) -> float:
        """Posterior probability of an event: the share of the draws in which it holds.

        Its Monte Carlo standard error is √(p (1 − p) / ESS), where ESS is in `diagnostics`.

        Args:
            event: An event from `polarbear.inference.events`, possibly combined by ``&``, ``|`` and ``~``; or a
                function from draws (D, T, n) to (D,) booleans.

        Raises:
            ValueError: If the event is about several timepoints and the posterior is not joint over time, or if it
                names unknown algorithms or timepoints.
        """
        event = event if isinstance(event, Event) else events.where(event)
        return float(event.outcomes(self).mean())

    def probability_better(self, a: Algorithm, b: Algorithm) -> FloatArray:
        """(T,) P(θ_a(t) > θ_b(t)) at each timepoint; equal draws count half."""
        first, second = self.draws[:, :, self.index(a)], self.draws[:, :, self.index(b)]
        return 0.5 * ((first > second).mean(axis=0) + (first >= second).mean(axis=0))

    def probability_best(self, names: Algorithms | None = None) -> FloatArray:
        """(T, n) probability that each rating is the highest of all, or of those in `names`, in their order.

        Equal ratings share it, so that it sums to 1 at each timepoint.
        """
        chosen = [self.index(name) for name in events.members(self.names if names is None else names)]
        result = np.empty((self.times.size, len(chosen)))
        for t in range(self.times.size):
            ratings = self._at(t)[chosen]
            highest = ratings == ratings.max(axis=0)
            result[t] = (highest / np.count_nonzero(highest, axis=0)).mean(axis=1)
        return result

    def pairwise_probabilities(self) -> FloatArray:
        """(T, n, n) P(θ_i(t) > θ_j(t)); equal draws count half, so [t, i, j] + [t, j, i] = 1."""
        number, timepoints, n = self.draws.shape
        result = np.empty((timepoints, n, n))
        for t in range(timepoints):
            result[t] = 0.5 + pairs.net_wins(self._at(t)) / (2 * number)
        return result

    def equivalence_probabilities(self, epsilon: float) -> FloatArray:
        """(T, n, n) posterior probability that the win probability of i against j lies in [0.5 − ε, 0.5 + ε] (eq. 26).

        Raises:
            ValueError: If `epsilon` is not in [0, 0.5).
        """
        odds = events.largest_odds(epsilon)
        number, timepoints, n = self.draws.shape
        result = np.empty((timepoints, n, n))
        for t in range(timepoints):
            result[t] = pairs.near(self._at(t), odds) / number
        return result

    def probability_dominates(self, a: Algorithm, b: Algorithm) -> float:
        """P(θ_a(t) > θ_b(t) at all timepoints) (eq. 24).

        Raises:
            ValueError: If the posterior is not joint over time.
        """
        return self.probability(events.dominates(a, b))

    def dominance_probabilities(self) -> FloatArray:
        """(n, n) P(θ_i(t) > θ_j(t) at all timepoints) (eq. 24).

        Raises:
            ValueError: If the posterior is not joint over time.
        """
        if self.times.size > 1 and not self.joint:
            events.refuse_several_timepoints()
        return pairs.always_above(self.draws)

    def to_arviz(self) -> Any:
        """The draws as ArviZ data with a posterior group.

        Variable ``theta`` has dimensions chain, draw, time and algorithm; each hyperparameter, by its name, has chain
        and draw. If the posterior has `chains`, draws are arranged as the sampler made them, without repetitions and
        with all chains as long as the shortest, and ``sample_stats`` has ``diverging``. Otherwise all draws form one
        chain. The group's attributes are the model's name, its description as JSON, and the diagnostics in words.

        Raises:
            ImportError: If ArviZ is not installed.
        """
        arviz = optional("arviz", "arviz", "to_arviz")
        rows = np.arange(len(self.draws))[np.newaxis] if self.chains is None else self.chains.table()
        variables = {"theta": self.draws, **self.hyperparameters}
        statistics = {} if self.chains is None else {"sample_stats": {"diverging": self.chains.diverging[rows]}}
        model = self.model
        described = {} if model is None else {"model": model.name, "description": json.dumps(model.describe())}
        return arviz.from_dict(
            posterior={name: values[rows] for name, values in variables.items()},
            posterior_attrs={"inference_library": "polarbear", "diagnostics": self.diagnostics.summary(), **described},
            coords={"time": self.times, "algorithm": list(self.names)},
            dims={"theta": ["time", "algorithm"]},
            **statistics,
        )

    def _at(self, t: int) -> FloatArray:
        """(n, D) draws at one timepoint, contiguous in memory for each algorithm."""
        return np.ascontiguousarray(self.draws[:, t, :].T)


def matched(times: FloatArray, among: FloatArray) -> NDArray[np.intp]:
    """(S,) index of each time among increasing timepoints, −1 where none is equal."""
    if not among.size:
        return np.full(times.size, -1)
    near = nearest(times, among)
    scale = np.minimum(np.abs(times), among[-1] - among[0]) if among.size > 1 else np.abs(times)
    return np.where(np.abs(among[near] - times) <= _SAME_TIME * scale, near, -1)


def nearest(times: FloatArray, among: FloatArray) -> NDArray[np.intp]:
    """(S,) index of the timepoint nearest to each time."""
    return np.argmin(np.abs(times[:, np.newaxis] - among), axis=1)


def _log(ratings: FloatArray) -> FloatArray:
    """Logarithms of ratings, with 0 replaced by the smallest normal number."""
    return np.log(np.maximum(ratings, np.finfo(np.float64).tiny))


def _view(array: NDArray[Any]) -> FloatArray:
    view = np.asarray(array, dtype=np.float64).view()
    view.flags.writeable = False
    return view

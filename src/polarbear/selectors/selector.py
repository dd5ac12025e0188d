"""Selectors: trained on cases, and applied to problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from polarbear.descriptions import did_you_mean
from polarbear.inference import fit_conditional
from polarbear.inference.model.conditional import ConditionalRatings, Covariates
from polarbear.landscape import features, latin_hypercube
from polarbear.landscape.design import Design
from polarbear.problems import as_spec
from polarbear.quantities import plural
from polarbear.rankings import Rankings
from polarbear.records import FloatArray
from polarbear.selectors import forests
from polarbear.selectors.cases import Cases
from polarbear.selectors.forests import Arrays
from polarbear.selectors.shift import nearest_share, shift_probability

Kind = Literal[
    "ratings", "cautious forest", "regression forest", "classification forest", "shuffled labels", "single best"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
SETS = ("ela_meta", "ela_distr", "disp", "ic", "nbc")
"""Default sets of features that selectors use."""
NOVEL = 0.05
"""A problem is unlike the training if fewer than this share of its problems lie as far from the others."""
_DRAWS = 500
_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class _Forest:
    """Traits of a kind of forest.

    Attributes:
        of_losses: Whether it predicts losses rather than the best algorithm.
        cautious: Whether it leaves the default only where this paid off in cross-validation.
        shuffled: Whether it is trained on the losses of other cases.
    """

    of_losses: bool = False
    cautious: bool = False
    shuffled: bool = False


_FORESTS: Mapping[Kind, _Forest] = {
    "cautious forest": _Forest(of_losses=True, cautious=True),
    "regression forest": _Forest(of_losses=True),
    "classification forest": _Forest(),
    "shuffled labels": _Forest(shuffled=True),
}


@dataclass(frozen=True, slots=True)
class Advice:
    """A selector's answer for a problem.

    Attributes:
        algorithm: Algorithm to use.
        default: Safe choice, by default the single best algorithm of the training.
        probability: Probability that the best-looking algorithm is better there than the default: for ratings, that its
            rating is higher; for a cautious forest, that choices with such a predicted gain have a lower mean loss.
            None if the selector states no probabilities. If it is below the selector's confidence, the default is kept.
        best_looking: Algorithm with the highest expected rating, or that the forest predicts to be best.
        familiar: Share of training problems at least as far from all other functions' problems as this one is from all
            training problems. Below 0.05, the selector has not seen similar problems.
        evaluations: Number of evaluations spent on features.
    """

    algorithm: str
    default: str
    probability: float | None
    best_looking: str
    familiar: float
    evaluations: int = 0

    @property
    def novel(self) -> bool:
        """Whether the problem is unlike those of the training."""
        return self.familiar < NOVEL


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """A selector, made by `train`.

    Attributes:
        kind: One of `KINDS`.
        algorithms: Names of the algorithms.
        default: Safe choice, by default the single best algorithm of the training.
        confidence: Required probability that another algorithm is better.
        covariates: Standardization of the features, with their names.
        cases: (P, c) φ of the training cases, from which it knows what it has seen.
        groups: (P,) indices of their functions.
        arrays: Fitted parameters.
        trained_on: Description of the training in plain values.
        sampling: ``sets`` and ``points_per_variable`` for computing features; empty if they are not landscape features.
    """

    kind: Kind
    algorithms: tuple[str, ...]
    default: str
    confidence: float
    covariates: Covariates
    cases: FloatArray
    groups: NDArray[np.intp]
    arrays: Arrays
    trained_on: Mapping[str, Any]
    sampling: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def ratings(self) -> ConditionalRatings:
        """The fitted ratings: the posterior given features, their effects, and which features decide.

        The only timepoint stands for the losses of the training.

        Raises:
            ValueError: If the selector is of another kind.
        """
        if self.kind != "ratings":
            raise ValueError(f"the selector is of kind {self.kind!r}; only kind 'ratings' has a posterior")
        draws = self.arrays["draws"][:, np.newaxis]
        return ConditionalRatings.of(self.algorithms, np.ones(1), self.covariates, draws, self.cases)

    def choose(self, values: Mapping[str, float] | ArrayLike) -> list[Advice]:
        """Choose an algorithm for problems with these features.

        Args:
            values: (k, m) features, NaN where unknown, or those of one problem by name.

        Raises:
            ValueError: If the features do not match.
        """
        rows = self._rows(values)
        if not len(rows):
            return []
        phi = self.covariates.phi(rows)
        looking, probability = self._looking(rows)
        familiar = nearest_share(self.cases, self.groups, phi)
        default = self.algorithms.index(self.default)
        sure = np.isnan(probability) | (probability >= self.confidence)
        chosen = np.where(sure, looking, np.full_like(looking, default))
        return [
            Advice(
                self.algorithms[int(chosen[i])],
                self.default,
                None if np.isnan(probability[i]) else float(probability[i]),
                self.algorithms[int(looking[i])],
                float(familiar[i]),
            )
            for i in range(len(rows))
        ]

    def chances(self, values: Mapping[str, float] | ArrayLike) -> FloatArray:
        """(k, n) probability that each algorithm is the best one on problems with these features.

        For ratings, this is the Plackett–Luce probability of being first, averaged over the draws. For forests, it is
        the share of trees that predict it to be best (for classifiers, the mean share), with one additional tree per
        algorithm, so that none is 0. For the single best, it is the share of training cases in which each was best,
        with equal weight for all functions and one additional function per algorithm.

        Args:
            values: As in `choose`.

        Raises:
            ValueError: If the features do not match, or the selector was saved before shares were stored.
        """
        rows = self._rows(values)
        if not len(rows):
            return np.empty((0, len(self.algorithms)))
        if self.kind == "single best":
            if "shares" not in self.arrays:
                raise ValueError("the selector was saved before shares were stored; train it again")
            return np.tile(self.arrays["shares"], (len(rows), 1))
        if self.kind == "ratings":
            phi = self.covariates.phi(within(self.covariates, self.cases, rows))
            parts = [self.arrays["draws"] @ phi[i : i + _AT_ONCE].T for i in range(0, len(phi), _AT_ONCE)]
            return np.concatenate([softmax(part, axis=1).mean(axis=0).T for part in parts])
        found = forests.found_by_trees(self.arrays, _filled(self.covariates, rows))
        if _FORESTS[self.kind].of_losses:
            least = found == found.min(axis=2, keepdims=True)
            found = least / least.sum(axis=2, keepdims=True)
        return _never_none(found.mean(axis=0), len(found))

    def ask(self, problem: Any, *, seed: int = 0) -> Advice:
        """Choose an algorithm for a problem: evaluate it on a Latin hypercube, and compute its features.

        This costs ``points_per_variable`` · d evaluations (see `sampling`), which the advice states.

        Args:
            problem: A problem or its specification, or (function, lower, upper).
            seed: Seed of the design.

        Raises:
            ValueError: If the selector's features are not landscape features.
        """
        known, size = self.measure(problem, seed=seed)
        return replace(self.choose(known)[0], evaluations=size)

    def measure(self, problem: Any, *, seed: int = 0) -> tuple[dict[str, float], int]:
        """The features of a problem by name, and the evaluations spent on them; arguments and errors as in `ask`."""
        if not self.sampling:
            raise ValueError(
                "the selector does not know how to compute its features; compute them yourself and call choose"
            )
        built = as_spec(problem).build()
        size = int(self.sampling["points_per_variable"]) * built.dimension
        points = latin_hypercube(built.lower, built.upper, size, seed)
        y = np.asarray(built(points), dtype=np.float64) * (1 if built.minimize else -1)
        found = features(Design(points, built.lower, built.upper), y, tuple(self.sampling["sets"]))
        return {name: float(found[name]) for name in self.covariates.names}, size

    def shift(self, values: ArrayLike, functions: Sequence[str], *, seed: int = 0) -> float:
        """The p-value of the hypothesis that problems are like those of the training; see `shift_probability`.

        Args:
            values: (k, m) features of the problems, NaN where unknown.
            functions: (k,) function of each problem.
            seed: Seed of the permutations.

        Raises:
            ValueError: If the features do not match, or there are fewer than two functions.
        """
        groups = np.unique(np.array(functions), return_inverse=True)[1].reshape(-1)
        phi = self.covariates.phi(self._rows(values))
        return shift_probability(self.cases, self.groups, phi, groups, np.random.default_rng(seed))

    def _rows(self, values: Mapping[str, float] | ArrayLike) -> FloatArray:
        names = self.covariates.names
        if isinstance(values, Mapping):
            if missing := [name for name in names if name not in values]:
                raise ValueError(f"there is no value of feature {missing[0]!r}; give all features, NaN where unknown")
            return np.array([[values[name] for name in names]], dtype=np.float64)
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(names):
            raise ValueError(f"values have shape {rows.shape}; they must be (k, {len(names)})")
        return rows

    def _looking(self, rows: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """(k,) index of the best-looking algorithm, and the probability that it beats the default, NaN if unknown."""
        default = self.algorithms.index(self.default)
        if self.kind == "single best":
            return np.full(len(rows), default), np.full(len(rows), np.nan)
        return self._by_ratings(rows, default) if self.kind == "ratings" else self._by_forest(rows, default)

    def _by_forest(self, rows: FloatArray, default: int) -> tuple[NDArray[np.intp], FloatArray]:
        """`_looking` for a forest, which states a probability if it is cautious."""
        found, forest = forests.ask(self.arrays, _filled(self.covariates, rows)), _FORESTS[self.kind]
        best = (found.argmin(axis=1) if forest.of_losses else found.argmax(axis=1)).astype(np.intp)
        if not forest.cautious:
            return best, np.full(len(rows), np.nan)
        gain = found[:, default] - found.min(axis=1)
        pays = np.append(0.0, self.arrays["pays"])[np.searchsorted(self.arrays["gains"], gain, side="right")]
        return best, np.where(best == default, 1.0, pays)

    def _by_ratings(self, rows: FloatArray, default: int) -> tuple[NDArray[np.intp], FloatArray]:
        """`_looking` for ratings."""
        phi = self.covariates.phi(within(self.covariates, self.cases, rows))
        looking, probability = list[NDArray[np.intp]](), list[FloatArray]()
        for start in range(0, len(phi), _AT_ONCE):
            ratings = self.arrays["draws"] @ phi[start : start + _AT_ONCE].T  # (D, n, k)
            best = ratings.mean(axis=0).argmax(axis=0)
            theirs = np.take_along_axis(ratings, best[np.newaxis, np.newaxis], axis=1)[:, 0]
            looking.append(best)
            probability.append(np.where(best == default, 1.0, (theirs > ratings[:, default]).mean(axis=0)))
        return np.concatenate(looking), np.concatenate(probability)


def _filled(covariates: Covariates, rows: FloatArray) -> FloatArray:
    """Features (k, m) for forests, with unknown values replaced by the mean."""
    return np.where(np.isnan(rows), covariates.centre, rows)


def _never_none(shares: FloatArray, voices: int) -> FloatArray:
    """Shares (..., n) of `voices` votes after adding one vote for each of the n (Laplace's rule of succession)."""
    return (voices * shares + 1) / (voices + shares.shape[-1])


def within(covariates: Covariates, cases: FloatArray, rows: FloatArray) -> FloatArray:
    """Features (k, m) clipped to the range of the training, since their effect beyond it is unknown.

    Args:
        covariates: Standardization of features to φ.
        cases: (P, c) φ of the training cases.
        rows: (k, m) features, NaN where unknown.
    """
    varying = covariates.scale > 0
    centre, scale = covariates.centre[varying], covariates.scale[varying]
    seen = centre + scale * cases[:, 1 : 1 + centre.size]
    moved = rows.copy()
    moved[:, varying] = np.clip(rows[:, varying], seen.min(axis=0), seen.max(axis=0))
    return moved


def train(
    cases: Cases,
    kind: Kind = "ratings",
    *,
    confidence: float = 0.95,
    default: str | None = None,
    squares: bool = True,
    separate: bool = False,
    seed: int = 0,
    sampling: Mapping[str, Any] | None = None,
    source: str = "",
) -> Selector:
    """Learn from cases which algorithm to use.

    Args:
        cases: Training cases.
        kind: "ratings" are Plackett–Luce ratings conditional on the features (`polarbear.inference.fit_conditional`);
            they keep the single best algorithm unless another is better with high probability. A "cautious forest"
            predicts losses and leaves the single best algorithm only where gains of the predicted size were real, with
            high probability, on held-out functions (`forests.payoff`). The others serve comparison: a "regression
            forest" predicts losses, a "classification forest" the best algorithm (Vermetten 2025, chapters 5 and 6),
            and "shuffled labels" the best one of another case; "single best" needs no features.
        confidence: For ratings and cautious forests: required probability that another algorithm is better.
        default: Safe choice, which needs no justification; by default the single best algorithm.
        squares: For ratings: whether to include the squares of features.
        separate: For forests of losses: whether each algorithm has its own forest (Vermetten 2025, section 5.3), which
            takes longer, or a single forest predicts the losses of all.
        seed: Seed of all random choices.
        sampling: How features of new problems are computed; see `Selector`.
        source: Description of the cases, for the record.

    Raises:
        ValueError: If an argument is out of range, or there are fewer than two algorithms or functions.
        ExtraMissing: If a forest is requested and scikit-learn is not installed.
    """
    safe = _checked(cases, kind, confidence, default)
    if kind == "ratings":
        covariates, arrays = _ratings(cases, squares=squares, seed=seed)
    else:
        covariates = Covariates.of(cases.values, cases.features, squares=False)
        if kind == "single best":
            arrays: Arrays = {"shares": _never_none(cases.shares_of_best, len(set(cases.functions)))}
        else:
            arrays = _forest(kind, covariates, cases, cases.algorithms.index(safe), seed=seed, separate=separate)
    return Selector(
        kind,
        cases.algorithms,
        safe,
        confidence,
        covariates,
        covariates.phi(cases.values),
        cases.groups,
        arrays,
        {
            "source": source,
            "cases": len(cases.losses),
            "functions": sorted(set(cases.functions)),
            "mean losses": dict(zip(cases.algorithms, cases.losses.mean(axis=0).tolist(), strict=True)),
            "seed": seed,
        },
        dict(sampling or {}),
    )


def _checked(cases: Cases, kind: Kind, confidence: float, default: str | None) -> str:
    """The safe choice; arguments and errors as in `train`."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; choose one of {', '.join(KINDS)}")
    if not 0 <= confidence <= 1:
        raise ValueError(f"confidence is {confidence!r}; it must be a probability, from 0 to 1")
    safe = cases.single_best if default is None else default
    if safe not in cases.algorithms:
        raise ValueError(
            f"default is {safe!r}, which is not an algorithm of the cases;{did_you_mean(safe, cases.algorithms)}"
        )
    algorithms, functions = len(cases.algorithms), len(set(cases.functions))
    if min(algorithms, functions) < 2:
        counts = f"{plural(algorithms, 'algorithm')} and {plural(functions, 'function')}"
        raise ValueError(f"the cases have {counts}; a selector needs at least two of each")
    return safe


def _ratings(cases: Cases, *, squares: bool, seed: int) -> tuple[Covariates, Arrays]:
    """The standardization of the features, and the draws of the ratings."""
    fitted = fit_conditional(
        Rankings.of(cases.losses[:, np.newaxis], algorithms=cases.algorithms, groups=cases.groups),
        dict(zip(cases.features, cases.values.T, strict=True)),
        squares=squares,
        draws=_DRAWS,
        rng=np.random.default_rng(seed),
    )
    return fitted.covariates, {"draws": fitted.draws[:, 0]}


def _forest(kind: Kind, covariates: Covariates, cases: Cases, default: int, *, seed: int, separate: bool) -> Arrays:
    """The fitted parameters of a kind of forest; `default` is the index of the safe choice."""
    filled, losses, forest = _filled(covariates, cases.values), cases.losses, _FORESTS[kind]
    if forest.shuffled:
        losses = losses[np.random.default_rng(seed).permutation(len(losses))]
    arrays = forests.grow(filled, losses, classify=not forest.of_losses, seed=seed, separate=separate)
    if forest.cautious:
        arrays |= forests.payoff(filled, losses, cases.groups, default, seed=seed, separate=separate)
    return arrays

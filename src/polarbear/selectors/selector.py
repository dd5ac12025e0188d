"""Selectors: trained on cases, asked about problems."""

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
"""Sets of features that selectors ask for unless told otherwise."""
NOVEL = 0.05
"""A problem is unlike those of the training if fewer of them lie so far from the others."""
_DRAWS = 500
_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class _Forest:
    """What sets a kind of forest apart.

    Attributes:
        of_losses: Whether it predicts losses; else which algorithm is the best.
        cautious: Whether it leaves the default only where that was seen to pay.
        shuffled: Whether it is taught the losses of other cases.
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
    """What a selector says of a problem.

    Attributes:
        algorithm: What to use.
        default: The safe choice, by default the single best algorithm of the training.
        probability: That the best-looking algorithm is better there than the default: of ratings that it is rated
            higher; of a cautious forest that its choices lose less on the whole where it predicts such a gain. None if
            the selector knows no probabilities. It stays with the default unless it is at least its confidence.
        best_looking: The algorithm with the highest expected rating, or that the forest names.
        familiar: The share of problems of the training that lie as far or farther from all other functions' than this
            one lies from all of them. Below 0.05 the selector has not seen its like.
        evaluations: How many were spent on features.
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
    """A selector; made by `train`.

    Attributes:
        kind: One of `KINDS`.
        algorithms: The algorithms.
        default: The safe choice, by default the single best algorithm of the training.
        confidence: How probable it has to be that another one is better.
        covariates: How features are standardized; it names them.
        cases: (P, c) φ of the training, by which it knows what it has seen.
        groups: (P,) their functions, numbered.
        arrays: What was learnt.
        trained_on: In plain values, on what.
        sampling: Of features: ``sets`` and ``points_per_variable``; empty if they are no landscape features.
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
        """What ratings know: the posterior given features, their effects, and which of them decide.

        Its only timepoint stands for the losses of the training.

        Raises:
            ValueError: If the selector is of another kind.
        """
        if self.kind != "ratings":
            raise ValueError(f"the selector is a {self.kind}; only ratings have a posterior")
        draws = self.arrays["draws"][:, np.newaxis]
        return ConditionalRatings.of(self.algorithms, np.ones(1), self.covariates, draws, self.cases)

    def choose(self, values: Mapping[str, float] | ArrayLike) -> list[Advice]:
        """What to use on problems with such features.

        Args:
            values: (k, m), NaN where not known, or of one problem by name.

        Raises:
            ValueError: If features do not fit.
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
        """(k, n) how probable it is that each algorithm is the best one on problems with such features.

        Of ratings the mean over the draws of the Plackett–Luce probability of being first. Of forests the share of
        trees in whose eyes it is, or of classes the mean share, as if one further tree spoke for each algorithm, so
        that none is 0. Of the single best in which share of the cases of the training each was best, functions counting
        alike, as if one further function spoke for each.

        Args:
            values: As of `choose`.

        Raises:
            ValueError: If features do not fit, or the selector was saved before it kept shares.
        """
        rows = self._rows(values)
        if not len(rows):
            return np.empty((0, len(self.algorithms)))
        if self.kind == "single best":
            if "shares" not in self.arrays:
                raise ValueError("the selector was saved without shares of the training; train it again")
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
        """What to use on a problem: evaluates it on a Latin hypercube, and computes its features.

        It spends ``points_per_variable`` · d evaluations of `sampling`, and says so in the advice.

        Args:
            problem: A problem or its specification, or (function, lower, upper).
            seed: Of the design.

        Raises:
            ValueError: If the selector's features are not of landscapes.
        """
        known, size = self.measure(problem, seed=seed)
        return replace(self.choose(known)[0], evaluations=size)

    def measure(self, problem: Any, *, seed: int = 0) -> tuple[dict[str, float], int]:
        """The features of a problem by name, and how many evaluations they took; arguments and errors as of `ask`."""
        if not self.sampling:
            raise ValueError("the selector's features are not known to be of landscapes; compute them, and call choose")
        built = as_spec(problem).build()
        size = int(self.sampling["points_per_variable"]) * built.dimension
        points = latin_hypercube(built.lower, built.upper, size, seed)
        y = np.asarray(built(points), dtype=np.float64) * (1 if built.minimize else -1)
        found = features(Design(points, built.lower, built.upper), y, tuple(self.sampling["sets"]))
        return {name: float(found[name]) for name in self.covariates.names}, size

    def shift(self, values: ArrayLike, functions: Sequence[str], *, seed: int = 0) -> float:
        """The p-value that problems are like those of the training: of `shift_probability`, by functions.

        Args:
            values: (k, m) features of the problems, NaN where not known.
            functions: (k,) their functions.
            seed: Of the permutations.

        Raises:
            ValueError: If features do not fit, or there are fewer than two functions.
        """
        groups = np.unique(np.array(functions), return_inverse=True)[1].reshape(-1)
        phi = self.covariates.phi(self._rows(values))
        return shift_probability(self.cases, self.groups, phi, groups, np.random.default_rng(seed))

    def _rows(self, values: Mapping[str, float] | ArrayLike) -> FloatArray:
        names = self.covariates.names
        if isinstance(values, Mapping):
            if missing := [name for name in names if name not in values]:
                raise ValueError(f"there is no value of {missing[0]!r}; give all features, NaN where not known")
            return np.array([[values[name] for name in names]], dtype=np.float64)
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(names):
            raise ValueError(f"values have shape {rows.shape}; give (k, {len(names)})")
        return rows

    def _looking(self, rows: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """(k,) which algorithm looks best, and the probability that it is better than the default, NaN if unknown."""
        default = self.algorithms.index(self.default)
        if self.kind == "single best":
            return np.full(len(rows), default), np.full(len(rows), np.nan)
        return self._by_ratings(rows, default) if self.kind == "ratings" else self._by_forest(rows, default)

    def _by_forest(self, rows: FloatArray, default: int) -> tuple[NDArray[np.intp], FloatArray]:
        """`_looking` to a forest, which knows a probability if it is cautious."""
        found, forest = forests.ask(self.arrays, _filled(self.covariates, rows)), _FORESTS[self.kind]
        best = (found.argmin(axis=1) if forest.of_losses else found.argmax(axis=1)).astype(np.intp)
        if not forest.cautious:
            return best, np.full(len(rows), np.nan)
        gain = found[:, default] - found.min(axis=1)
        pays = np.append(0.0, self.arrays["pays"])[np.searchsorted(self.arrays["gains"], gain, side="right")]
        return best, np.where(best == default, 1.0, pays)

    def _by_ratings(self, rows: FloatArray, default: int) -> tuple[NDArray[np.intp], FloatArray]:
        """`_looking` by ratings."""
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
    """Features (k, m) for forests, which take the mean of what is not known."""
    return np.where(np.isnan(rows), covariates.centre, rows)


def _never_none(shares: FloatArray, voices: int) -> FloatArray:
    """Shares (..., n) of so many voices, and one further voice for each of the n (Laplace's rule of succession)."""
    return (voices * shares + 1) / (voices + shares.shape[-1])


def within(covariates: Covariates, cases: FloatArray, rows: FloatArray) -> FloatArray:
    """Features (k, m) moved into the range of the training: what they do beyond it is not known.

    Args:
        covariates: How features become φ.
        cases: (P, c) φ of the training.
        rows: (k, m) features, NaN where not known.
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
    """Learn which algorithm to use from cases.

    Args:
        cases: What is known.
        kind: "ratings" are Plackett–Luce ratings conditional on the features (`polarbear.inference.fit_conditional`),
            which stay with the single best algorithm unless another is surely better. A "cautious forest" predicts
            losses, and leaves the single best algorithm only where such gains as it predicts were surely real on
            functions left out of the training (`forests.payoff`). The others are there for comparison: a "regression
            forest" predicts losses, a "classification forest" the best algorithm (Vermetten 2025, chapters 5 and 6),
            that of "shuffled labels" the best one of another case; "single best" needs no features.
        confidence: Of ratings and cautious forests: how probable it has to be that another algorithm is better.
        default: The safe choice, that needs no reason; by default the single best algorithm.
        squares: Of ratings: whether features' squares take part.
        separate: Of forests of losses: whether each algorithm has its own (Vermetten 2025, section 5.3), which takes
            longer, or one predicts the losses of all.
        seed: Of all random choices.
        sampling: How features of new problems are computed; see `Selector`.
        source: What the cases are, for the record.

    Raises:
        ValueError: If an argument is out of range, or there are fewer than two algorithms or functions.
        ExtraMissing: If it is a forest, and scikit-learn is not installed.
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
    """The safe choice; arguments and errors are those of `train`."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; choose one of {', '.join(KINDS)}")
    if not 0 <= confidence <= 1:
        raise ValueError(f"confidence is {confidence!r}; it is a probability")
    safe = cases.single_best if default is None else default
    if safe not in cases.algorithms:
        raise ValueError(f"default is {safe!r}, which did not run;{did_you_mean(safe, cases.algorithms)}")
    algorithms, functions = len(cases.algorithms), len(set(cases.functions))
    if min(algorithms, functions) < 2:
        raise ValueError(f"there are {algorithms} algorithms on {functions} functions; a selector needs two of both")
    return safe


def _ratings(cases: Cases, *, squares: bool, seed: int) -> tuple[Covariates, Arrays]:
    """How features are standardized, and the draws of the ratings."""
    fitted = fit_conditional(
        Rankings.of(cases.losses[:, np.newaxis], algorithms=cases.algorithms, groups=cases.groups),
        dict(zip(cases.features, cases.values.T, strict=True)),
        squares=squares,
        draws=_DRAWS,
        rng=np.random.default_rng(seed),
    )
    return fitted.covariates, {"draws": fitted.draws[:, 0]}


def _forest(kind: Kind, covariates: Covariates, cases: Cases, default: int, *, seed: int, separate: bool) -> Arrays:
    """What a kind of forest learns; `default` is the number of the safe choice."""
    filled, losses, forest = _filled(covariates, cases.values), cases.losses, _FORESTS[kind]
    if forest.shuffled:
        losses = losses[np.random.default_rng(seed).permutation(len(losses))]
    arrays = forests.grow(filled, losses, classify=not forest.of_losses, seed=seed, separate=separate)
    if forest.cautious:
        arrays |= forests.payoff(filled, losses, cases.groups, default, seed=seed, separate=separate)
    return arrays

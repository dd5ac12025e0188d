"""Regret of selectors against the best algorithm of each problem, on problems outside their training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import FloatArray
from polarbear.selectors.cases import Cases
from polarbear.selectors.selector import KINDS, Kind, Selector, train
from polarbear.selectors.shift import shift_in_words
from polarbear.validation import whole_number

Split = Literal["function", "instance", "case"]
_RESAMPLES = 2000
_TINY = np.finfo(np.float64).tiny
_ALONE: Kind = "single best"


class Interval(NamedTuple):
    """A mean with a 95 % interval from resampling functions."""

    mean: float
    low: float
    high: float


class Reliability(NamedTuple):
    """Stated probabilities and observed frequencies, in bins of the former.

    Attributes:
        said: (b,) mean stated probability.
        came: (b,) observed frequency.
        number: (b,) number of statements.
    """

    said: FloatArray
    came: FloatArray
    number: NDArray[np.intp]


def clustered_mean(values: FloatArray, groups: NDArray[np.intp], *, seed: int = 0) -> Interval:
    """The mean over cases, and a 95 % interval from resampling functions with all their cases.

    Args:
        values: (P,) values of the cases.
        groups: (P,) indices of their functions, from 0.
        seed: Seed of the resampling.
    """
    sizes = np.bincount(groups)
    drawn = np.random.default_rng(seed).multinomial(sizes.size, np.full(sizes.size, 1 / sizes.size), _RESAMPLES)
    means = (drawn @ np.bincount(groups, weights=values)) / (drawn @ sizes)
    low, high = np.quantile(means, (0.025, 0.975)).tolist()
    return Interval(float(values.mean()), low, high)


def reliability(chances: ArrayLike, happened: ArrayLike, bins: int = 10) -> Reliability:
    """Compare stated probabilities with observed frequencies, in equal bins from 0 to 1; empty bins are left out.

    Args:
        chances: Stated probabilities.
        happened: Outcomes, of the same shape: 1 if it happened, 0 if not, and in between where ties share it.
        bins: Number of bins.

    Raises:
        ValueError: If shapes differ, a chance is not a probability, or there is no bin.
    """
    said, came = np.asarray(chances, dtype=np.float64), np.asarray(happened, dtype=np.float64)
    if said.shape != came.shape or not said.size:
        raise ValueError(
            f"chances have shape {said.shape} and happened has shape {came.shape}; they must be equal and not empty"
        )
    if not ((said >= 0) & (said <= 1)).all():
        raise ValueError(f"chances contain {said[~((said >= 0) & (said <= 1))][0]}; they must be from 0 to 1")
    whole_number(bins, "bins", 1)
    numbers = np.minimum((said.ravel() * bins).astype(np.intp), bins - 1)
    count = np.bincount(numbers, minlength=bins)
    some = count > 0
    of_said, of_came = (np.bincount(numbers, weights=each.ravel(), minlength=bins)[some] for each in (said, came))
    return Reliability(of_said / count[some], of_came / count[some], count[some])


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """Performance of one kind of selector.

    Attributes:
        regrets: (P,) loss of the chosen algorithm minus that of the best algorithm of the case (the virtual best).
        chosen: (P,) chosen algorithm.
        away: (P,) whether the chosen algorithm is not the single best algorithm of the training.
        beside_single_best: Mean regret minus that of the single best, with a 95 % interval from resampling functions.
        looking: (P,) algorithm that the selector considers the best.
        probability: (P,) stated probability that this algorithm is better than the single best; NaN if none is stated.
        chances: (P, n) stated probability that each algorithm is the best of the case.
        log_scores: (P,) minus the logarithm of the chance given to the best algorithm, to be minimized; averaged over
            ties.
    """

    regrets: FloatArray
    chosen: tuple[str, ...]
    away: NDArray[np.bool_]
    beside_single_best: Interval
    looking: tuple[str, ...]
    probability: FloatArray
    chances: FloatArray
    log_scores: FloatArray

    @property
    def regret(self) -> float:
        """The mean regret."""
        return float(self.regrets.mean())

    @property
    def log_score(self) -> float:
        """The mean log score."""
        return float(self.log_scores.mean())


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Performance of several kinds of selectors on the same cases.

    Attributes:
        scores: Scores by kind.
        shift: P-value of the hypothesis that test cases resemble training cases; None within one set of cases.
        novel: Share of the cases that, taken singly, are unlike those of the training.
        cases: Cases of the evaluation.
    """

    scores: dict[Kind, Score]
    shift: float | None
    novel: float
    cases: Cases

    def gap_closed(self, kind: Kind) -> float:
        """Share of the single best algorithm's regret that a kind of selector avoids; negative if it loses more.

        NaN if the single best algorithm is best in all cases, so that there is no gap.
        """
        gap = self.scores[_ALONE].regret
        return 1 - self.scores[kind].regret / gap if gap else math.nan

    def beside(self, kind: Kind, other: Kind, what: Literal["regrets", "log_scores"] = "regrets") -> Interval:
        """Difference of two kinds' mean regrets or log scores, with an interval from resampling functions.

        Args:
            kind: First kind of selector.
            other: Second kind, which is subtracted.
            what: The attribute of `Score` to compare.
        """
        ours, theirs = (getattr(self.scores[each], what) for each in (kind, other))
        return clustered_mean(ours - theirs, self.cases.groups)

    def reliability(self, kind: Kind, bins: int = 10) -> Reliability:
        """Compare the probabilities of being best that a kind of selector states with observed frequencies.

        Args:
            kind: Kind of selector.
            bins: Number of bins; see `polarbear.selectors.reliability`.
        """
        return reliability(self.scores[kind].chances, self.cases.best, bins)

    @property
    def warning(self) -> str | None:
        """A caution for use of a selector, if the cases are unlike those of the training."""
        return shift_in_words(self.shift)

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as plain values; the gap closed is None if there is no gap."""
        gap = self.scores[_ALONE].regret > 0
        scores = {
            kind: {
                "regret": score.regret,
                "beside single best": list(score.beside_single_best),
                "log score": score.log_score,
                "gap closed": self.gap_closed(kind) if gap else None,
                "away": float(score.away.mean()),
            }
            for kind, score in self.scores.items()
        }
        return {"scores": scores, "shift": self.shift, "novel": self.novel, "warning": self.warning}


def cross_validate(
    cases: Cases,
    kinds: Sequence[Kind] = KINDS,
    *,
    split: Split = "function",
    folds: int = 10,
    rated: Sequence[str] | None = None,
    separate: bool = False,
    default: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Evaluate selectors on each case after training without its function.

    Args:
        cases: Cases of at least as many functions as folds, and at least three.
        kinds: Kinds of selectors; "single best" is always included.
        split: Unit that is left out as a whole: a "function"; or an "instance" or "case", whose siblings stay in the
            training and reveal more than is known of a new problem. A case may be a run.
        folds: Number of folds.
        rated: Features that ratings use, whose fit takes time quadratic in their number; default all, which other kinds
            always use.
        separate: Option of forests of losses; see `train`.
        default: Safe choice, which replaces the single best algorithm; see `train`.
        confidence: Option of ratings and cautious forests; see `train`.
        seed: Seed of the folds and of the training.
        progress: Function called with the number of folds done, and of all folds.

    Raises:
        ValueError: If an argument is out of range, or a fold leaves only one function for training.
    """
    if split not in get_args(Split):
        raise ValueError(f"split is {split!r}; choose one of {', '.join(get_args(Split))}")
    labels = {
        "function": cases.functions,
        "instance": cases.instances,
        "case": tuple(map(str, range(len(cases.losses)))),
    }
    units = np.unique(np.array(labels[split]), return_inverse=True)[1].reshape(-1)
    if not 2 <= folds <= units.max() + 1:
        raise ValueError(
            f"folds is {folds}; it must be at least 2 and at most {units.max() + 1}, the number of {split}s"
        )
    fold = np.random.default_rng(seed).permutation(units.max() + 1)[units] % folds
    enough_left(fold, units, cases.groups)
    shown: dict[Kind, Cases] = {
        kind: cases if kind != "ratings" or rated is None else cases.knowing(rated) for kind in (*kinds, _ALONE)
    }
    learn = partial(train, confidence=confidence, default=default, separate=separate, seed=seed)
    answers: dict[Kind, list[_Answers]] = {kind: [] for kind in shown}
    for number in range(folds):
        test = fold == number
        for kind, selector in _trained({kind: known.among(~test) for kind, known in shown.items()}, learn).items():
            answers[kind].append(_Answers.of(selector, shown[kind].values[test]))
        if progress:
            progress(number + 1, folds)
    order = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    whole: dict[Kind, _Answers] = {kind: _Answers.joined(parts, order) for kind, parts in answers.items()}
    return _evaluation(cases, whole, None, seed)


def enough_left(fold: NDArray[np.intp], units: NDArray[np.intp], groups: NDArray[np.intp]) -> None:
    """Reject folds that leave only one function for training.

    Args:
        fold: (P,) fold of each case, from 0.
        units: (P,) unit that is left out as a whole, from 0.
        groups: (P,) function of each case, from 0.

    Raises:
        ValueError: If there is such a fold.
    """
    folds, most = int(fold.max()) + 1, int(units.max()) + 1
    if min(np.unique(groups[fold != number]).size for number in range(folds)) < 2:
        more = f"{most} folds, or " if folds < most else ""
        raise ValueError(
            f"folds is {folds}; one of them leaves a single function for training, which needs at least two; "
            f"use {more}cases of more functions"
        )


def transfer(
    training: Cases, test: Cases, kinds: Sequence[Kind] = KINDS, *, confidence: float = 0.95, seed: int = 0
) -> Evaluation:
    """Train selectors on one set of cases and evaluate them on another, and test whether the two are alike.

    Args:
        training: Cases for the training.
        test: Cases of the same algorithms with the same features.
        kinds: Kinds of selectors; "single best" is always included.
        confidence: Option of ratings and cautious forests; see `train`.
        seed: Seed of the training, and of the test of similarity.

    Raises:
        ValueError: If algorithms or features differ.
    """
    for what in ("algorithms", "features"):
        if getattr(training, what) != getattr(test, what):
            raise ValueError(f"{what} of training and test differ: {getattr(training, what)} and {getattr(test, what)}")
    selectors = _trained(dict.fromkeys((*kinds, _ALONE), training), partial(train, confidence=confidence, seed=seed))
    answers: dict[Kind, _Answers] = {kind: _Answers.of(selector, test.values) for kind, selector in selectors.items()}
    shift = selectors[_ALONE].shift(test.values, test.functions, seed=seed)
    return _evaluation(test, answers, shift, seed)


def _trained(training: dict[Kind, Cases], learn: Callable[[Cases, Kind], Selector]) -> dict[Kind, Selector]:
    """A selector of each kind; a cautious forest contains the regression forest, which is not grown again."""
    selectors: dict[Kind, Selector] = {
        kind: learn(known, kind)
        for kind, known in training.items()
        if kind != "regression forest" or "cautious forest" not in training
    }
    if "cautious forest" in training and "regression forest" in training:
        selectors["regression forest"] = replace(selectors["cautious forest"], kind="regression forest")
    return selectors


class _Answers(NamedTuple):
    """Answers of one kind of selector: for each case (P,) indices of algorithms, and otherwise as in `Score`."""

    chosen: NDArray[np.intp]
    looking: NDArray[np.intp]
    default: NDArray[np.intp]
    probability: FloatArray
    chances: FloatArray
    novel: NDArray[np.bool_]

    @classmethod
    def of(cls, selector: Selector, values: FloatArray) -> _Answers:
        advices, number = selector.choose(values), {name: i for i, name in enumerate(selector.algorithms)}
        return cls(
            np.array([number[advice.algorithm] for advice in advices], dtype=np.intp),
            np.array([number[advice.best_looking] for advice in advices], dtype=np.intp),
            np.full(len(advices), number[selector.default], dtype=np.intp),
            np.array([np.nan if advice.probability is None else advice.probability for advice in advices]),
            selector.chances(values),
            np.array([advice.novel for advice in advices]),
        )

    @classmethod
    def joined(cls, parts: Sequence[_Answers], order: NDArray[np.intp]) -> _Answers:
        """The answers of all folds, in the order of the cases."""
        return cls(*(np.concatenate(column)[order] for column in zip(*parts, strict=True)))


def _evaluation(cases: Cases, answers: dict[Kind, _Answers], shift: float | None, seed: int) -> Evaluation:
    rows, best = np.arange(len(cases.losses)), cases.best
    regrets = {kind: cases.losses[rows, each.chosen] - cases.losses.min(axis=1) for kind, each in answers.items()}
    scores = dict[Kind, Score]()
    for kind, each in answers.items():
        scores[kind] = Score(
            regrets[kind],
            tuple(cases.algorithms[int(i)] for i in each.chosen),
            each.chosen != each.default,
            clustered_mean(regrets[kind] - regrets[_ALONE], cases.groups, seed=seed),
            tuple(cases.algorithms[int(i)] for i in each.looking),
            each.probability,
            each.chances,
            -(best * np.log(np.maximum(each.chances, _TINY))).sum(axis=1),
        )
    return Evaluation(scores, shift, float(answers[_ALONE].novel.mean()), cases)

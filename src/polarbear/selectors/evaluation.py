"""What selectors lose beside the best algorithm of each problem, on problems that they have not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    """A mean, and a 95 % interval by resampling functions."""

    mean: float
    low: float
    high: float


class Reliability(NamedTuple):
    """Chances as they were said, and as they came true, in bins of what was said.

    Attributes:
        said: (b,) the mean chance said.
        came: (b,) the share of them that came true.
        number: (b,) how many.
    """

    said: FloatArray
    came: FloatArray
    number: NDArray[np.intp]


def clustered_mean(values: FloatArray, groups: NDArray[np.intp], *, seed: int = 0) -> Interval:
    """The mean of cases, and a 95 % interval by resampling functions, of which all cases come or none.

    Args:
        values: (P,) of the cases.
        groups: (P,) numbers of their functions, from 0.
        seed: Of the resampling.
    """
    sizes = np.bincount(groups)
    drawn = np.random.default_rng(seed).multinomial(sizes.size, np.full(sizes.size, 1 / sizes.size), _RESAMPLES)
    means = (drawn @ np.bincount(groups, weights=values)) / (drawn @ sizes)
    low, high = np.quantile(means, (0.025, 0.975)).tolist()
    return Interval(float(values.mean()), low, high)


def reliability(chances: ArrayLike, happened: ArrayLike, bins: int = 10) -> Reliability:
    """Whether chances come true: what was said in equal bins from 0 to 1, those that are empty left out.

    Args:
        chances: Probabilities.
        happened: Of the same shape: 1 if it came true, 0 if not, and between where ties share it.
        bins: How many bins.

    Raises:
        ValueError: If shapes differ, a chance is no probability, or there is no bin.
    """
    said, came = np.asarray(chances, dtype=np.float64), np.asarray(happened, dtype=np.float64)
    if said.shape != came.shape or not said.size:
        raise ValueError(f"chances have shape {said.shape}, what happened {came.shape}; give the same for both")
    if not ((said >= 0) & (said <= 1)).all():
        raise ValueError(f"a chance is {said[~((said >= 0) & (said <= 1))][0]}; give probabilities")
    whole_number(bins, "bins", 1)
    numbers = np.minimum((said.ravel() * bins).astype(np.intp), bins - 1)
    count = np.bincount(numbers, minlength=bins)
    some = count > 0
    of_said, of_came = (np.bincount(numbers, weights=each.ravel(), minlength=bins)[some] for each in (said, came))
    return Reliability(of_said / count[some], of_came / count[some], count[some])


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """How one kind of selector did.

    Attributes:
        regrets: (P,) loss of what it chose less that of the best algorithm of the case (the virtual best).
        chosen: (P,) what it chose.
        away: (P,) whether that was not the single best algorithm of its training.
        beside_single_best: Mean regret less that of the single best, and a 95 % interval by resampling functions.
        looking: (P,) which algorithm looked best to it.
        probability: (P,) how probable it said it is that this one is better than the single best; NaN if it does not.
        chances: (P, n) how probable it said it is that each algorithm is the best of the case.
        log_scores: (P,) minus the logarithm of the chance that it gave to the best one, low is good; the mean of those
            that tie.
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
    """How selectors did on the same cases.

    Attributes:
        scores: By kind.
        shift: P-value that the cases of the test are like those of the training; None within one set of cases.
        novel: Share of the cases that are unlike those of the training, one by one.
        cases: What they were judged on.
    """

    scores: dict[Kind, Score]
    shift: float | None
    novel: float
    cases: Cases

    def gap_closed(self, kind: Kind) -> float:
        """Which share of the single best algorithm's regret a kind of selector avoids; negative if it loses more.

        NaN if the single best algorithm is best in all cases, so that there is no gap.
        """
        gap = self.scores[_ALONE].regret
        return 1 - self.scores[kind].regret / gap if gap else math.nan

    def beside(self, kind: Kind, other: Kind, what: Literal["regrets", "log_scores"] = "regrets") -> Interval:
        """By how much one kind's mean regret or log score is above another's, with an interval by resampling functions.

        Args:
            kind: One kind of selector.
            other: Another.
            what: Which of a `Score`'s.
        """
        ours, theirs = (getattr(self.scores[each], what) for each in (kind, other))
        return clustered_mean(ours - theirs, self.cases.groups)

    def reliability(self, kind: Kind, bins: int = 10) -> Reliability:
        """Whether the chances of being best that a kind of selector gave to all algorithms came true.

        Args:
            kind: The kind of selector.
            bins: See `polarbear.selectors.reliability`.
        """
        return reliability(self.scores[kind].chances, self.cases.best, bins)

    @property
    def warning(self) -> str | None:
        """What to think of before a selector is trusted, if the cases are not like those of the training."""
        return shift_in_words(self.shift)

    def as_dict(self) -> dict[str, Any]:
        """Plain values; the gap closed is None if there is no gap."""
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
    """Each case judged by selectors that were trained without its function.

    Args:
        cases: At least as many functions as folds, and three or more.
        kinds: Kinds of selectors; "single best" is always there.
        split: What is left out together: a "function"; or an "instance" or "case", whose twins stay in the training,
            so that they tell more than is known of a new problem. A case may be a run.
        folds: How often is trained.
        rated: The features that ratings have, whose fit takes time with the square of their number; default all, as
            all other kinds have.
        separate: Of forests of losses; see `train`.
        default: The safe choice, which then stands in for the single best algorithm; see `train`.
        confidence: Of ratings and cautious forests; see `train`.
        seed: Of the folds and the training.
        progress: Called with the number of folds done, and of all.

    Raises:
        ValueError: If an argument is out of range, or a fold leaves a single function to train on.
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
        raise ValueError(f"folds is {folds}; there are {units.max() + 1} of a {split} to be shared out")
    fold = np.random.default_rng(seed).permutation(units.max() + 1)[units] % folds
    enough_left(fold, units, cases.groups)
    shown: dict[Kind, Cases] = {
        kind: cases if kind != "ratings" or rated is None else cases.knowing(rated) for kind in (*kinds, _ALONE)
    }
    learn = partial(train, confidence=confidence, default=default, separate=separate, seed=seed)
    answers: dict[Kind, list[_Answers]] = {kind: [] for kind in shown}
    for number in range(folds):
        test = fold == number
        for kind, known in shown.items():
            selector = learn(known.among(~test), kind)
            answers[kind].append(_Answers.of(selector, known.values[test]))
        if progress:
            progress(number + 1, folds)
    order = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    whole: dict[Kind, _Answers] = {kind: _Answers.joined(parts, order) for kind, parts in answers.items()}
    return _evaluation(cases, whole, None, seed)


def enough_left(fold: NDArray[np.intp], units: NDArray[np.intp], groups: NDArray[np.intp]) -> None:
    """Refuse folds of which one leaves a single function to train on.

    Args:
        fold: (P,) of the cases, numbered from 0.
        units: (P,) what is left out together, numbered from 0.
        groups: (P,) the functions, numbered from 0.

    Raises:
        ValueError: If there is such a fold.
    """
    folds, most = int(fold.max()) + 1, int(units.max()) + 1
    if min(np.unique(groups[fold != number]).size for number in range(folds)) < 2:
        more = f"{most}, or " if folds < most else ""
        raise ValueError(
            f"folds is {folds}; one of them leaves a single function to train on, and training takes two; "
            f"give {more}cases of more functions"
        )


def transfer(
    training: Cases, test: Cases, kinds: Sequence[Kind] = KINDS, *, confidence: float = 0.95, seed: int = 0
) -> Evaluation:
    """Selectors trained on one set of cases and judged on another, and whether the two are alike.

    Args:
        training: Cases to learn from.
        test: Cases of the same algorithms with the same features.
        kinds: Kinds of selectors; "single best" is always there.
        confidence: Of ratings and cautious forests; see `train`.
        seed: Of the training and the test of whether they are alike.

    Raises:
        ValueError: If algorithms or features differ.
    """
    for what in ("algorithms", "features"):
        if getattr(training, what) != getattr(test, what):
            raise ValueError(f"{what} differ: {getattr(training, what)} and {getattr(test, what)}")
    selectors: dict[Kind, Selector] = {
        kind: train(training, kind, confidence=confidence, seed=seed) for kind in dict.fromkeys((*kinds, _ALONE))
    }
    answers: dict[Kind, _Answers] = {kind: _Answers.of(selector, test.values) for kind, selector in selectors.items()}
    shift = selectors[_ALONE].shift(test.values, test.functions, seed=seed)
    return _evaluation(test, answers, shift, seed)


class _Answers(NamedTuple):
    """What selectors of one kind said: of each case (P,) numbers of algorithms, and as in `Score`."""

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
        """Of all folds, in the order of the cases."""
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

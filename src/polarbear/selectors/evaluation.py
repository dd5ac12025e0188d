"""What selectors lose beside the best algorithm of each problem, on problems that they have not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from polarbear.records import FloatArray
from polarbear.selectors.cases import Cases
from polarbear.selectors.selector import KINDS, Kind, Selector, train
from polarbear.selectors.shift import shift_probability

Split = Literal["function", "instance", "case"]
_RESAMPLES = 2000
_ALONE: Kind = "single best"


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """How one kind of selector did.

    Attributes:
        regrets: (P,) loss of what it chose less that of the best algorithm of the case (the virtual best).
        chosen: (P,) what it chose.
        away: (P,) whether that was not the single best algorithm of its training.
        beside_single_best: Mean regret less that of the single best, and a 95 % interval by resampling functions.
    """

    regrets: FloatArray
    chosen: tuple[str, ...]
    away: NDArray[np.bool_]
    beside_single_best: tuple[float, float, float]

    @property
    def regret(self) -> float:
        """The mean regret."""
        return float(self.regrets.mean())


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """How selectors did on the same cases.

    Attributes:
        scores: By kind.
        shift: P-value that the cases of the test are like those of the training; None within one set of cases.
        novel: Share of the cases that are unlike those of the training, one by one.
    """

    scores: dict[Kind, Score]
    shift: float | None
    novel: float

    def gap_closed(self, kind: Kind) -> float:
        """Which share of the single best algorithm's regret a kind of selector avoids; negative if it loses more."""
        return 1 - self.scores[kind].regret / self.scores["single best"].regret

    @property
    def warning(self) -> str | None:
        """What to think of before a selector is trusted, if the cases are not like those of the training."""
        if self.shift is not None and self.shift < 0.05:
            return (
                f"the problems are not like those of the training (p = {self.shift:.3g}): a selector that goes by "
                "features may lose more than the single best algorithm"
            )
        return None

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        scores = {
            kind: {
                "regret": score.regret,
                "beside single best": list(score.beside_single_best),
                "gap closed": self.gap_closed(kind),
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
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Each case judged by selectors that were trained without its function.

    Args:
        cases: At least as many functions as folds.
        kinds: Kinds of selectors; "single best" is always there.
        split: What is left out together: a "function"; or an "instance" or "case", whose twins stay in the training,
            so that they tell more than is known of a new problem.
        folds: How often is trained.
        confidence: Of ratings; see `train`.
        seed: Of the folds and the training.
        progress: Called with the number of folds done, and of all.

    Raises:
        ValueError: If an argument is out of range.
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
    chosen: dict[Kind, NDArray[np.intp]] = {kind: np.empty(len(units), np.intp) for kind in (*kinds, _ALONE)}
    default, novel = np.empty(len(units), dtype=np.intp), np.empty(len(units), dtype=np.bool_)
    for number in range(folds):
        test = fold == number
        for kind in chosen:
            selector = train(cases.among(~test), kind, confidence=confidence, seed=seed)
            chosen[kind][test], novel[test] = _chosen(selector, cases.values[test])
            default[test] = cases.algorithms.index(selector.default)
        if progress:
            progress(number + 1, folds)
    return _evaluation(cases, chosen, default, novel, None, seed)


def transfer(
    training: Cases, test: Cases, kinds: Sequence[Kind] = KINDS, *, confidence: float = 0.95, seed: int = 0
) -> Evaluation:
    """Selectors trained on one set of cases and judged on another, and whether the two are alike.

    Args:
        training: Cases to learn from.
        test: Cases of the same algorithms with the same features.
        kinds: Kinds of selectors; "single best" is always there.
        confidence: Of ratings; see `train`.
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
    found: list[tuple[Kind, NDArray[np.intp], NDArray[np.bool_]]] = [
        (kind, *_chosen(selector, test.values)) for kind, selector in selectors.items()
    ]
    last = selectors[_ALONE]
    default = np.full(len(test.losses), test.algorithms.index(last.default))
    rng = np.random.default_rng(seed)
    shift = shift_probability(last.cases, last.groups, last.covariates.phi(test.values), test.groups, rng)
    chosen = dict[Kind, NDArray[np.intp]]()
    for kind, each, _ in found:
        chosen[kind] = each
    return _evaluation(test, chosen, default, found[-1][2], shift, seed)


def _chosen(selector: Selector, values: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    advices = selector.choose(values)
    chosen = [selector.algorithms.index(advice.algorithm) for advice in advices]
    return np.array(chosen, dtype=np.intp), np.array([advice.novel for advice in advices])


def _evaluation(
    cases: Cases,
    chosen: dict[Kind, NDArray[np.intp]],
    default: NDArray[np.intp],
    novel: NDArray[np.bool_],
    shift: float | None,
    seed: int,
) -> Evaluation:
    rows, groups = np.arange(len(default)), cases.groups
    regrets = {kind: cases.losses[rows, each] - cases.losses.min(axis=1) for kind, each in chosen.items()}
    sizes = np.bincount(groups)
    drawn = np.random.default_rng(seed).multinomial(sizes.size, np.full(sizes.size, 1 / sizes.size), _RESAMPLES)

    def beside(kind: Kind) -> tuple[float, float, float]:
        differences = regrets[kind] - regrets["single best"]
        means = (drawn @ np.bincount(groups, weights=differences)) / (drawn @ sizes)
        low, high = np.quantile(means, (0.025, 0.975)).tolist()
        return float(differences.mean()), low, high

    return Evaluation(
        {
            kind: Score(regrets[kind], tuple(cases.algorithms[int(i)] for i in each), each != default, beside(kind))
            for kind, each in chosen.items()
        },
        shift,
        float(novel.mean()),
    )

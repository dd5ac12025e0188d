"""Gains from switching policies on functions outside their training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.model.conditional import Covariates
from polarbear.quantities import plural
from polarbear.records import FloatArray
from polarbear.selectors import forests
from polarbear.selectors.evaluation import enough_left
from polarbear.selectors.switching import SwitchPoints, train_policy
from polarbear.validation import whole_number


@dataclass(frozen=True, slots=True, eq=False)
class SwitchEvaluation:
    """Predictions at P points by policies trained without their functions, and what really happened.

    Attributes:
        points: The points.
        horizon: Number of evaluations after a point that are considered.
        chances: (P, T, n) probability, according to ratings, that a way beats staying, within each horizon.
        looking: (P,) index of the way with the highest mean rating within the horizon.
        sure: (P,) probability that its rating is above that of staying.
        forest: (P, n) benefit predicted by forests, one for each way; 0 for staying.
        constant: (P, n) mean benefit on the other functions.
    """

    points: SwitchPoints
    horizon: float
    chances: FloatArray
    looking: NDArray[np.intp]
    sure: FloatArray
    forest: FloatArray
    constant: FloatArray

    @property
    def benefits(self) -> FloatArray:
        """(P, k, n) benefits of eq. 5.1 within the horizon."""
        return self.points.benefits()[:, :, self._at]

    @property
    def _at(self) -> int:
        """Index of the horizon."""
        return self.points.horizons.tolist().index(self.horizon)

    @property
    def attainable(self) -> FloatArray:
        """(P, n) squared error of the best possible prediction of a mean benefit: the variance of a mean of k repeats.

        Raises:
            ValueError: If there is only one repeat.
        """
        return self.points.noise()[:, self._at] / self.points.values.shape[1]

    def errors(self, predicted: FloatArray) -> FloatArray:
        """(P, n) squared errors of predicted mean benefits."""
        return (predicted - self.benefits.mean(axis=1)) ** 2

    def chosen(self, confidence: float) -> NDArray[np.intp]:
        """(P,) index of the way that ratings choose: the best-looking one if its probability suffices, else staying."""
        return np.where(self.sure >= confidence, self.looking, 0)

    def gains(self, chosen: NDArray[np.intp]) -> FloatArray:
        """(P,) mean benefit of the chosen way at each point."""
        return self.benefits.mean(axis=1)[np.arange(len(chosen)), chosen]

    @property
    def by_repeats(self) -> FloatArray:
        """(P,) benefit of the way with the highest mean benefit in the other repeats of the same point.

        If a way were chosen and valued by the same repeats, its benefit would be biased upwards by selection.

        Raises:
            ValueError: If there is only one repeat.
        """
        self.points.need_repeats("choosing by the other repeats")
        benefits = self.benefits
        best = (benefits.sum(axis=1, keepdims=True) - benefits).argmax(axis=2)  # (P, k), without the repeat itself
        valued = np.take_along_axis(benefits, best[..., np.newaxis], axis=2)[..., 0]
        return valued.mean(axis=1)


def evaluate_policy(
    points: SwitchPoints,
    horizon: float,
    *,
    features: Sequence[str] | None = None,
    squares: bool = True,
    folds: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> SwitchEvaluation:
    """Evaluate ratings, forests and constants at points of functions outside their training.

    Args:
        points: Outcomes of branches.
        horizon: Number of evaluations after a point that are considered.
        features: Features of ratings, see `train_policy`; forests use all.
        squares: As in `train_policy`.
        folds: Number of folds; default one for each function.
        seed: Seed of all random choices.
        progress: Function called with the number of folds done, and of all folds.

    Raises:
        ValueError: If there are fewer than three functions or no features, folds are out of range or leave only one
            function for training, the horizon is unknown, or as in `train_policy`.
        ExtraMissing: If scikit-learn is not installed.
    """
    groups, ways = points.groups, len(points.ways)
    count = int(groups.max()) + 1
    if count < 3:
        raise ValueError(f"the points are on {plural(count, 'function')}; leaving one out needs at least three")
    if not points.features:
        raise ValueError("the points have no features; pass those of the runs at these points to switch_points")
    folds = count if folds is None else whole_number(folds, "folds", 2, count)
    if horizon not in points.horizons:
        raise ValueError(f"horizon is {horizon}; it must be one of {', '.join(f'{h:g}' for h in points.horizons)}")
    at = points.horizons.tolist().index(horizon)
    labels = points.benefits()[:, :, at].mean(axis=1)
    fold = np.random.default_rng(seed).permutation(count)[groups] % folds
    enough_left(fold, groups, groups)
    chances = np.empty((len(groups), len(points.horizons), ways))
    forest, constant = np.zeros((len(groups), ways)), np.zeros((len(groups), ways))
    looking, sure = np.zeros(len(groups), dtype=np.intp), np.ones(len(groups))
    for number in range(folds):
        test = fold == number
        training = points.among(~test)
        policy = train_policy(training, features=features, squares=squares, seed=seed)
        own = points.known[test][:, [points.features.index(name) for name in policy.ratings.covariates.names]]
        chances[test] = policy.chances(own)
        advice = policy.selector(horizon).choose(own)
        looking[test] = [points.ways.index(each.best_looking) for each in advice]
        sure[test] = [each.probability for each in advice]
        known = _usable(training.known, points.known)
        for way in range(1, ways):
            grown = forests.grow(known[~test], labels[~test, way : way + 1], classify=False, seed=seed)
            forest[test, way] = forests.ask(grown, known[test])[:, 0]
        sizes = np.bincount(groups[~test], minlength=count)[groups[~test]]
        constant[test] = np.average(labels[~test], axis=0, weights=1 / sizes)
        if progress:
            progress(number + 1, folds)
    return SwitchEvaluation(points, horizon, chances, looking, sure, forest, constant)


def _usable(training: FloatArray, known: FloatArray) -> FloatArray:
    """Standardized features that vary in the training and are known for at least a tenth of it; unknown ones are 0.

    This follows the thesis, which drops features that are NaN for more than 90 % of samples.
    """
    covariates = Covariates.of(training, tuple(map(str, range(training.shape[1]))), squares=False)
    kept = (covariates.scale > 0) & (np.isfinite(training).mean(axis=0) >= 0.1)
    z = (known[:, kept] - covariates.centre[kept]) / covariates.scale[kept]
    return np.where(np.isfinite(z), z, 0.0)

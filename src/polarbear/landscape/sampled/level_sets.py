"""ela_level: whether a line or a quadric separates the best points (Mersmann et al. 2011, section 3.4).

Linear and quadratic discriminant analysis depend only on sums over classes and folds, so all rows of values on a design
share one matrix of monomials.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Computed, FeatureSet
from polarbear.records import FloatArray

FOLDS = 10
_SHARES = (0.10, 0.25, 0.50)
_AT_ONCE = 64
"""Number of rows of values handled together, which bounds the memory."""


def _compute(design: Design, values: FloatArray) -> Computed:
    parts = [_of_rows(design, values[i : i + _AT_ONCE]) for i in range(0, len(values), _AT_ONCE)]
    rates = np.concatenate(parts, axis=-1)  # (shares, 2, k)
    features: dict[str, FloatArray | str] = {}
    for share, (linear, quadratic) in zip(_SHARES, rates, strict=True):
        percent = f"{share * 100:.0f}"
        ratio = linear / quadratic
        named = {"mmce_lda": linear, "mmce_qda": quadratic, "lda_qda": ratio}
        features |= {f"ela_level.{name}_{percent}": array for name, array in named.items()}
        if (best := int(np.ceil(share * (design.size - 1)))) < FOLDS:
            few = f"the best {share:.0%} of {design.size} points are only {best}; {FOLDS} folds need {FOLDS}"
            features |= {f"ela_level.{name}_{percent}": few for name in named}
    return features


def _of_rows(design: Design, values: FloatArray) -> FloatArray:
    """(shares, 2, k) mean cross-validated misclassification rate of linear and of quadratic discriminants."""
    scale = design.points.std(axis=0)
    scaled = (design.points - design.points.mean(axis=0)) / np.where(scale > 0, scale, 1)
    first, second = np.triu_indices(design.dimension)
    monomials = np.hstack([np.ones((design.size, 1)), scaled, scaled[:, first] * scaled[:, second]])
    classes = values < np.quantile(values, _SHARES, axis=1)[..., None]  # (shares, k, n)
    return np.array([_misclassified(monomials, design.dimension, best) for best in classes])


def _misclassified(monomials: FloatArray, dimension: int, best: NDArray[np.bool_]) -> FloatArray:
    folds = _folds(best)
    group = folds + FOLDS * best
    sums = np.stack([(group == g).astype(np.float64) @ monomials for g in range(2 * FOLDS)])
    sums = sums.reshape(2, FOLDS, len(best), -1)  # (class, fold, k, monomials)
    training = sums.sum(axis=1, keepdims=True) - sums
    enough = (training[..., 0] > dimension).all(axis=(0, 1)) & (sums[..., 0].sum(axis=1) >= FOLDS).all(axis=0)
    linear, quadratic, regular = _discriminants(training, dimension, enough)
    size = np.maximum(sums[..., 0].sum(axis=0), 1)  # (fold, k)
    rates: list[FloatArray] = []
    for weights in (linear, quadratic):
        chosen = np.take_along_axis(weights @ monomials.T, folds[None], axis=0)[0] > 0
        wrong = np.stack([((chosen != best) & (folds == fold)).sum(axis=1) for fold in range(FOLDS)])
        rates.append(np.where(regular, (wrong / size).mean(axis=0), np.nan))
    return np.array(rates)


def _folds(best: NDArray[np.bool_]) -> NDArray[np.intp]:
    """(k, n) fold of each point: stratified, with consecutive points of a class in a fold, as in scikit-learn."""
    rows, n = best.shape
    folds = np.empty((rows, n), dtype=np.intp)
    leads = best == best[:, :1]  # the class of the first point, which is assigned first
    count = leads.sum(axis=1)
    fold = np.arange(FOLDS)
    quota = np.maximum((count[:, None] - fold + FOLDS - 1) // FOLDS, 0)  # of the first class in each fold
    total = (n - fold + FOLDS - 1) // FOLDS
    for members, share in ((leads, quota), (~leads, total - quota)):
        rank = np.cumsum(members, axis=1) - 1
        ends = np.cumsum(share, axis=1)
        number = (rank[:, :, None] >= ends[:, None, :]).sum(axis=2)
        folds = np.where(members, number, folds)
    return folds


def _discriminants(
    sums: FloatArray, dimension: int, enough: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Weights of the monomials, (fold, k, monomials) each, positive for the best points; and where they are defined."""
    counts = np.where(enough, sums[..., 0], dimension + 2.0)
    means = sums[..., 1 : dimension + 1] / counts[..., None]
    scatter = _symmetric(sums[..., dimension + 1 :], dimension) - counts[..., None, None] * _outer(means)
    own = scatter / (counts - 1)[..., None, None]
    pooled = scatter.sum(axis=0) / (counts.sum(axis=0) - 2)[..., None, None]
    sign, logs = np.linalg.slogdet(own)
    regular = enough & (sign > 0).all(axis=(0, 1)) & (np.linalg.slogdet(pooled)[0] > 0).all(axis=0)
    unit = np.eye(dimension)
    own, pooled = (np.where(regular[:, None, None], matrix, unit) for matrix in (own, pooled))
    prior = np.log(counts[1] / counts[0])
    linear = _quadratic(np.broadcast_to(np.linalg.inv(pooled), own.shape), means)
    quadratic = _quadratic(np.linalg.inv(own), means)
    weights = [form[1] - form[0] for form in (linear, quadratic)]
    weights[0][..., 0] += prior
    weights[1][..., 0] += prior - 0.5 * (logs[1] - logs[0])
    return weights[0], weights[1], regular


def _quadratic(precision: FloatArray, means: FloatArray) -> FloatArray:
    """Weights of the monomials in -½ (x - μ)ᵀ P (x - μ)."""
    slope = (precision @ means[..., None])[..., 0]
    first, second = np.triu_indices(means.shape[-1])
    halves = np.where(first == second, -0.5, -1.0)
    constant = -0.5 * (slope * means).sum(axis=-1, keepdims=True)
    return np.concatenate([constant, slope, halves * precision[..., first, second]], axis=-1)


def _symmetric(upper: FloatArray, dimension: int) -> FloatArray:
    first, second = np.triu_indices(dimension)
    matrix = np.empty((*upper.shape[:-1], dimension, dimension))
    matrix[..., first, second] = matrix[..., second, first] = upper
    return matrix


def _outer(vectors: FloatArray) -> FloatArray:
    return vectors[..., :, None] * vectors[..., None, :]


LEVEL_SETS = FeatureSet(
    tuple(f"ela_level.{name}_{share * 100:.0f}" for share in _SHARES for name in ("mmce_lda", "mmce_qda", "lda_qda")),
    _compute,
    undefined="values are equal, a class has too few points or they lie in a plane, or nothing is misclassified",
)

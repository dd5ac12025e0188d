"""scikit-learn's random forests as plain arrays, which predict without scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.extras import optional
from polarbear.machine import cores
from polarbear.records import FloatArray

Arrays = dict[str, NDArray[Any]]
_FOLDS = 5
_SHARES = (0.0, 0.25, 0.5, 0.75)
"""Levels of the quantiles of predicted gains that are tried as thresholds for leaving the default."""
_RESAMPLES = 4000


def grow(values: FloatArray, targets: FloatArray, *, classify: bool, seed: int, separate: bool = False) -> Arrays:
    """Grow a forest with scikit-learn's defaults, in as many threads as this process may use cores.

    Args:
        values: (P, m) finite values of the features.
        targets: (P, n) outputs; for a classification, the class of a row is the column of its least entry.
        classify: Whether to predict the column with the least entry rather than all entries.
        seed: Seed of all random choices.
        separate: Whether a regression has a separate forest for each output, all with the same bootstrap samples.

    Returns:
        Nodes of all trees, one tree after another: the feature tested, negative in leaves; the threshold up to which to
        go left, and both children; (nodes, n) prediction, for classes their shares; and the root of each tree. For
        separate forests, ``outputs`` is their number, and each predicts 0 for the others' outputs.

    Raises:
        ExtraMissing: If scikit-learn is not installed.
    """
    ensemble = optional("sklearn.ensemble", "landscape", "a forest")
    n = targets.shape[1]
    if separate and n > 1 and not classify:
        return _joined([grow(values, targets[:, [i]], classify=False, seed=seed) for i in range(n)])
    if classify:
        forest = ensemble.RandomForestClassifier(random_state=seed, n_jobs=cores())
        forest.fit(values, targets.argmin(axis=1))
        known = np.zeros((forest.classes_.size, n))
        known[np.arange(len(known)), forest.classes_] = 1.0
    else:
        forest = ensemble.RandomForestRegressor(random_state=seed, n_jobs=cores())
        forest.fit(values, targets if n > 1 else targets[:, 0])
        known = np.eye(n)
    trees = [each.tree_ for each in forest.estimators_]
    roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
    shift = np.repeat(roots, [tree.node_count for tree in trees])
    found = np.concatenate([tree.value.reshape(tree.node_count, -1) for tree in trees]) @ known
    return {
        "feature": np.concatenate([tree.feature for tree in trees]).astype(np.int32),
        "threshold": np.concatenate([tree.threshold for tree in trees]),
        "left": (np.concatenate([tree.children_left for tree in trees]) + shift).astype(np.int32),
        "right": (np.concatenate([tree.children_right for tree in trees]) + shift).astype(np.int32),
        "found": found / found.sum(axis=1, keepdims=True) if classify else found,
        "roots": roots.astype(np.int32),
    }


def payoff(
    values: FloatArray, losses: FloatArray, groups: NDArray[np.intp], default: int, *, seed: int, separate: bool = False
) -> Arrays:
    """The probability that leaving an algorithm for the one that looks best pays off, given the predicted gain.

    Forests are grown without one fifth of the functions at a time, and predict these. Over all cases where they predict
    at least some gain, the mean real gain has a posterior by the Bayesian bootstrap (Rubin 1981) over functions; the
    probability is that this mean is positive. If m functions have such cases, it is at most 1 − 2^−m, the probability
    that m coins do not all show the same side. As k gains are tried, the complementary probability is multiplied by k
    (Bonferroni).

    Args:
        values: As in `grow`.
        losses: (P, n) losses.
        groups: (P,) function of each case, from 0.
        default: Index of the algorithm that is left.
        seed: Seed of all random choices.
        separate: As in `grow`.

    Returns:
        ``gains``, increasing, and ``pays``, for each of them the highest probability for it or any smaller gain.
    """
    rng, functions = np.random.default_rng(seed), int(groups.max()) + 1
    folds = min(_FOLDS, functions)
    fold = rng.permutation(functions)[groups] % folds
    predicted, real = np.empty(len(values)), np.empty(len(values))
    for number in range(folds):
        out, rest = np.flatnonzero(fold == number), fold != number
        found = ask(grow(values[rest], losses[rest], classify=False, seed=seed, separate=separate), values[out])
        predicted[out] = found[:, default] - found.min(axis=1)
        real[out] = losses[out, default] - losses[out, found.argmin(axis=1)]
    some = predicted[predicted > 0]
    gains = np.unique(np.quantile(some, _SHARES)) if some.size else some
    cases = predicted >= gains[:, np.newaxis]
    member = groups[:, np.newaxis] == np.arange(functions)
    weights = rng.dirichlet(np.ones(functions), _RESAMPLES)
    probability = (weights @ ((cases * real) @ member).T > 0).mean(axis=0)
    coins = (cases @ member > 0).sum(axis=1)
    surely = 1 - len(gains) * (1 - np.minimum(probability, 1 - 0.5**coins))
    return {"gains": gains, "pays": np.maximum.accumulate(np.maximum(surely, 0.0))}


def ask(forest: Arrays, values: FloatArray) -> FloatArray:
    """(k, n) predictions at values (k, m), averaged over the trees."""
    return np.asarray(found_by_trees(forest, values).mean(axis=0), dtype=np.float64)


def found_by_trees(forest: Arrays, values: FloatArray) -> FloatArray:
    """(trees, k, n) prediction of each tree at values (k, m); of separate forests, trees with one sample combined."""
    rows = np.arange(len(values))
    rounded = values.astype(np.float32)  # as scikit-learn does
    node = np.repeat(forest["roots"][:, np.newaxis], len(values), axis=1)
    while (inner := forest["feature"][node] >= 0).any():
        left = rounded[rows, np.maximum(forest["feature"][node], 0)] <= forest["threshold"][node]
        node = np.where(inner, np.where(left, forest["left"][node], forest["right"][node]), node)
    found = np.asarray(forest["found"][node], dtype=np.float64)
    outputs = int(forest["outputs"]) if "outputs" in forest else 1
    return found.reshape(outputs, -1, *found.shape[1:]).sum(axis=0) if outputs > 1 else found


def _joined(forests: list[Arrays]) -> Arrays:
    """Forests of one output each, one after another."""
    sizes = [len(forest["feature"]) for forest in forests]
    starts = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    found = np.zeros((sum(sizes), len(forests)))
    for output, (forest, start) in enumerate(zip(forests, starts, strict=True)):
        found[start : start + len(forest["found"]), output] = forest["found"][:, 0]
    shifted = {
        name: np.concatenate([forest[name] + start for forest, start in zip(forests, starts, strict=True)])
        for name in ("left", "right", "roots")
    }
    same = {name: np.concatenate([forest[name] for forest in forests]) for name in ("feature", "threshold")}
    return {**same, **shifted, "found": found, "outputs": np.array(len(forests))}

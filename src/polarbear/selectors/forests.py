"""Random forests of scikit-learn as plain arrays, which need no scikit-learn to answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.extras import optional
from polarbear.records import FloatArray

Arrays = dict[str, NDArray[Any]]


def grow(values: FloatArray, targets: FloatArray, *, classify: bool, seed: int) -> Arrays:
    """A forest with scikit-learn's defaults.

    Args:
        values: (P, m) finite.
        targets: (P, n) of a regression of all outputs at once, or where it classifies the classes, the least wins.
        classify: Whether it predicts which is least, or how large all are.
        seed: Of all random choices.

    Returns:
        Nodes of all trees in a row: the feature asked, negative in leaves; at how much at most to go on to the left,
        else to the right; (nodes, n) what is found there, of classes their shares; and the root of each tree.

    Raises:
        ExtraMissing: If scikit-learn is not installed.
    """
    ensemble = optional("sklearn.ensemble", "landscape", "a forest")
    n = targets.shape[1]
    if classify:
        forest = ensemble.RandomForestClassifier(random_state=seed).fit(values, targets.argmin(axis=1))
        known = np.zeros((forest.classes_.size, n))
        known[np.arange(len(known)), forest.classes_] = 1.0
    else:
        forest = ensemble.RandomForestRegressor(random_state=seed).fit(values, targets if n > 1 else targets[:, 0])
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


def ask(forest: Arrays, values: FloatArray) -> FloatArray:
    """(k, n) means over the trees of what they find at values (k, m)."""
    rows = np.arange(len(values))
    rounded = values.astype(np.float32)  # as scikit-learn does
    node = np.repeat(forest["roots"][:, np.newaxis], len(values), axis=1)
    while (inner := forest["feature"][node] >= 0).any():
        left = rounded[rows, np.maximum(forest["feature"][node], 0)] <= forest["threshold"][node]
        node = np.where(inner, np.where(left, forest["left"][node], forest["right"][node]), node)
    return np.asarray(forest["found"][node].mean(axis=0), dtype=np.float64)

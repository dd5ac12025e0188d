"""Train the random forest that predicts the type of a structural bias, and print how often it is right.

Run with ``python -m benchmarks.bias_kinds [--write]``; it takes about two minutes on one core, and needs scikit-learn.
As in section 3.3 of Vermetten (2025): samples of every scenario and size, without those that no test rejects at level
0.01, balanced classes, an 80-20 split. There, the features are whether tests reject at that level, and F1 is 0.56 for
scenarios and 0.79 for types; with the number of levels at which they reject, trees are right more often. The forest
that is written has small trees, to keep the file small.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from polarbear.bias.kinds import FOREST, LEVELS, strengths
from polarbear.bias.null import null_distribution
from polarbear.bias.scenarios import per_dimension
from polarbear.bias.uniformity import uniformity_statistics

SIZES = (30, 50, 100, 600)
SAMPLES = 200
"""Of each scenario and size; 1,500 in the thesis."""
SMALL: dict[str, Any] = {"n_estimators": 50, "max_leaf_nodes": 300}


def rejected_of(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of samples of n values that a test rejects: (m, n) values, (m, 36) at how many levels, scenarios, and types."""
    null, values, found, names, kinds = null_distribution(n), [], [], [], []
    for index, scenario in enumerate(per_dimension()[1:]):
        x = scenario.sample(n, SAMPLES, np.random.default_rng([n, index])).T
        p_values = null.p_values_of(uniformity_statistics(np.ascontiguousarray(x))).T
        rejected = (p_values <= LEVELS[1]).any(axis=1)
        values.append(x[rejected])
        found.append(strengths(p_values[rejected]))
        names += [scenario.name] * int(rejected.sum())
        kinds += [scenario.kind] * int(rejected.sum())
    return np.concatenate(values), np.concatenate(found), np.array(names), np.array(kinds)


def rejected_samples() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(m, 36) at how many levels tests reject samples of all sizes, with the names of their scenarios and types."""
    _, found, names, kinds = zip(*map(rejected_of, SIZES), strict=True)
    return np.concatenate(found), np.concatenate(names), np.concatenate(kinds)


def forest_for(x: np.ndarray, y: np.ndarray, **settings: Any) -> tuple[RandomForestClassifier, float, float]:
    """A forest trained on four fifths, and its macro and weighted F1 on the rest."""
    train_x, test_x, train_y, test_y = train_test_split(x, y, test_size=0.2, random_state=1, stratify=y)
    forest = RandomForestClassifier(class_weight="balanced", random_state=1, **settings).fit(train_x, train_y)
    guessed = forest.predict(test_x)
    return forest, *(float(f1_score(test_y, guessed, average=way)) for way in ("macro", "weighted"))


def packed(forest: RandomForestClassifier) -> dict[str, np.ndarray]:
    """The forest as arrays, as `polarbear.bias.kinds` reads them."""
    trees = [each.tree_ for each in forest.estimators_]
    roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
    left, right = (
        np.concatenate([getattr(t, side) + root for t, root in zip(trees, roots, strict=True)])
        for side in ("children_left", "children_right")
    )
    feature = np.concatenate([t.feature for t in trees])
    shares = np.concatenate([t.value[:, 0] / t.value[:, 0].sum(axis=1, keepdims=True) for t in trees])
    shares[feature >= 0] = 0
    return {
        "roots": roots.astype(np.uint16),
        "feature": np.maximum(feature, -1).astype(np.int8),
        "threshold": np.floor(np.concatenate([t.threshold for t in trees])).astype(np.int8),
        "left": np.where(feature < 0, 0, left).astype(np.uint16),
        "right": np.where(feature < 0, 0, right).astype(np.uint16),
        "shares": np.round(255 * shares).astype(np.uint8),
    }


def main() -> None:
    """Measure, and write the small forest if asked to."""
    x, names, kinds = rejected_samples()
    print(f"{len(x):,} samples that a test rejects")
    for told, given in (("whether tests reject", x >= 2), ("at how many levels", x)):
        for what, labels in (("scenarios", names), ("types", kinds)):
            _, macro, weighted = forest_for(given, labels, n_estimators=100)
            print(f"{what}, {told}, 100 full trees: F1 {macro:.3f} (macro), {weighted:.3f} (weighted)", flush=True)
    forest, macro, weighted = forest_for(x, kinds, **SMALL)
    print(f"types, at how many levels, small trees: F1 {macro:.3f} (macro), {weighted:.3f} (weighted)")
    if "--write" in sys.argv:
        np.savez_compressed(FOREST, kinds=forest.classes_.astype(str), **packed(forest))
        print(f"{FOREST}: {FOREST.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

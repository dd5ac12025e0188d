"""The type of a structural bias, by a random forest on how clearly the tests reject (Vermetten 2025, section 3.3).

``python -m benchmarks.bias_kinds --write`` trains the forest on the scenarios and saves it as arrays.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.bias.uniformity import STATISTICS
from polarbear.records import FloatArray

FOREST = Path(__file__).with_name("kinds.npz")
"""The nodes of all trees in sequence: the test to consult, -1 in leaves; the largest number of levels at which it
rejects for the left branch to be taken; in leaves the shares of types, in 255ths; and the root of each tree."""
DESCRIPTIONS = {
    "centre": "a pull towards the centre",
    "bounds": "a pull towards the bounds",
    "gaps": "gaps",
    "clusters": "clusters",
    "discretization": "discretization",
}
"""Descriptions of the types."""
LEVELS = (0.1, 0.01, 0.001, 0.0001)


def strengths(p_values: FloatArray) -> NDArray[np.int64]:
    """The number of `LEVELS` at which each test rejects."""
    return np.sum(p_values[..., np.newaxis] <= LEVELS, axis=-1)


def kind_probabilities(p_values: ArrayLike) -> dict[str, float]:
    """The probability of each type of bias, given the p-values of the tests.

    Args:
        p_values: (36, d) p-values of biased dimensions, in the order of `STATISTICS`; from at least 10,000 uniform
            samples, as the forest uses levels down to 1e-4.

    Returns:
        By type, the mean share over trees and dimensions, most likely first.

    Raises:
        ValueError: If there is no dimension, or there are not 36 p-values for each.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 2 or len(p) != len(STATISTICS) or not p.size:
        raise ValueError(
            f"p_values have shape {p.shape}; give ({len(STATISTICS)}, d), of the dimensions that are biased"
        )
    forest, inputs = _forest(), strengths(p)
    feature, threshold, shares = forest["feature"], forest["threshold"], forest["shares"].astype(np.float64)
    nodes = np.repeat(forest["roots"].astype(np.intp)[:, np.newaxis], p.shape[1], axis=1)  # (trees, d)
    while (inner := feature[nodes] >= 0).any():
        right = inputs[feature[nodes], np.arange(p.shape[1])] > threshold[nodes]
        nodes = np.where(inner, np.where(right, forest["right"][nodes], forest["left"][nodes]), nodes)
    mean = (shares[nodes] / shares[nodes].sum(axis=-1, keepdims=True)).mean(axis=(0, 1))
    return {str(forest["kinds"][k]): float(mean[k]) for k in np.argsort(-mean)}


@cache
def _forest() -> dict[str, NDArray[Any]]:
    with np.load(FOREST, allow_pickle=False) as arrays:
        return dict(arrays)

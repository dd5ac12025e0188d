"""ic: information content of a tour through the points (Muñoz, Kirley & Halgamuge 2015)."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Computed, FeatureSet
from polarbear.records import FloatArray

EPSILONS = np.concatenate([[0.0], 10 ** np.linspace(-5, 15, 1000)])
"""Slopes up to which neighbours on the tour count as equal."""
SETTLING = 0.05
"""Information content below which the landscape counts as flat."""
SENSITIVITY = 0.5
"""Share of the initial partial information at which `ic.eps_ratio` is read off."""

_FEWEST = 4
_NAMES = ("ic.h_max", "ic.eps_s", "ic.eps_max", "ic.eps_ratio", "ic.m0")
_BLOCKS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
"""Pairs of different consecutive symbols."""


def _compute(design: Design, values: FloatArray) -> Computed:
    if design.size < _FEWEST:
        return dict.fromkeys(_NAMES, f"a tour of {design.size} points is too short; at least {_FEWEST} are needed")
    tour = design.tour
    steps = design.distances[tour[:-1], tour[1:]]
    slopes = np.where(steps > 0, np.diff(values[:, tour]) / steps, 0.0)  # (k, n - 1)
    shown = np.where(slopes == 0, 0, np.searchsorted(EPSILONS, np.abs(slopes), side="right"))
    entropy = np.array([_entropies(*row) for row in zip(np.sign(slopes), shown, strict=True)])
    partial = _partial_information(slopes, shown)
    exponents = np.log10(EPSILONS)
    highest = entropy.max(axis=1)
    settled = _first(entropy < SETTLING, exponents)
    at_highest = [np.median(EPSILONS[row == top]) for row, top in zip(entropy, highest, strict=True)]
    halved = _first((partial > SENSITIVITY * partial[:, :1])[:, ::-1], exponents[::-1])
    return dict(zip(_NAMES, (highest, settled, np.array(at_highest), halved, partial[:, 0]), strict=True))


def _entropies(signs: FloatArray, shown: NDArray[np.intp]) -> FloatArray:
    """The information content at every ε (eq. 3), (1001,).

    Args:
        signs: (m,) signs of the slopes.
        shown: (m,) number of ε, from the smallest, up to which each slope counts; for larger ε its symbol is 0.
    """
    both, either = np.minimum(shown[:-1], shown[1:]), np.maximum(shown[:-1], shown[1:])
    later = shown[1:] > shown[:-1]  # the second symbol outlasts the first
    total = np.zeros(len(EPSILONS))
    for first, second in _BLOCKS:
        if first and second:
            chosen, begin, end = (signs[:-1] == first) & (signs[1:] == second), np.zeros_like(both), both
        else:
            lasting = signs[1:] == second if second else signs[:-1] == first
            chosen, begin, end = lasting & (later == bool(second)), both, either
        share = _covered(begin[chosen], end[chosen]) / len(both)
        total += np.where(share > 0, share * np.log(np.where(share > 0, share, 1)) / np.log(6), 0)
    return -total


def _covered(begin: NDArray[np.intp], end: NDArray[np.intp]) -> NDArray[np.intp]:
    """Number of the intervals [begin, end) of indices into `EPSILONS` that contain each index, (1001,)."""
    bins = len(EPSILONS) + 1
    return np.cumsum(np.bincount(begin, minlength=bins) - np.bincount(end, minlength=bins))[:-1]


def _partial_information(slopes: FloatArray, shown: NDArray[np.intp]) -> FloatArray:
    """The changes of sign that remain at every ε, as a share of those possible (eq. 8), (k, 1001).

    Slopes are removed from a linked list, the flattest first; each removal makes its neighbours adjacent.
    """
    rows, length = slopes.shape
    every = cast("NDArray[np.intp]", np.arange(rows))
    signs = np.zeros((rows, length + 2))
    signs[:, 1:-1] = np.sign(slopes)
    before = np.repeat(cast("NDArray[np.intp]", np.arange(-1, length + 1))[None], rows, axis=0)
    after = before + 2
    changes = np.zeros((rows, length + 1))
    for step, flattest in enumerate(np.argsort(np.abs(slopes), axis=1).T + 1):
        left, right = before[every, flattest], after[every, flattest]
        a, b, c = signs[every, left], signs[every, flattest], signs[every, right]
        changes[:, step + 1] = changes[:, step] + (a * c < 0) - 1.0 * (a * b < 0) - (b * c < 0)
        after[every, left], before[every, right] = right, left
    changes -= changes[:, -1:]  # nothing remains in the end
    flat = np.stack([np.bincount(row, minlength=len(EPSILONS) + 1)[: len(EPSILONS)].cumsum() for row in shown])
    return np.take_along_axis(changes, flat, axis=1) / (length - 1)


def _first(condition: NDArray[np.bool_], values: FloatArray) -> FloatArray:
    """The first of the values where a condition holds; NaN if it never does or the value is infinite."""
    first = np.where(condition.any(axis=1), values[condition.argmax(axis=1)], np.nan)
    return np.where(np.isfinite(first), first, np.nan)


INFORMATION_CONTENT = FeatureSet(
    _NAMES,
    _compute,
    undefined="no ε between 0 and 10¹⁵ meets the definition",
    changed=dict.fromkeys(_NAMES[:-1], "scale"),
)

"""Ties of many algorithms, kept as they are: they stand for too many choice sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.rankings.masks import MaskArray, chosen_entries, empty_sets, firsts, frozen, order_of, resized, set_sizes
from polarbear.records import FloatArray, IntArray

Ties = tuple[MaskArray, MaskArray, FloatArray]
"""Sets of tied algorithms, the sets ranked below them, and how often each of these ties occurred."""


@dataclass(frozen=True, slots=True, eq=False)
class LargeTies:
    """How often which algorithms tied above which others, at each timepoint.

    A tie stands for all orders of the tied, equally. It adds to the log-likelihood Σ log θ_i − F, where the sum is over
    the tied, and F is the mean over all orders of the logarithms of the sums chosen from (see
    `polarbear.rankings.tie_integral`).

    Attributes:
        tied: (M,) sets as those of `ChoiceCounts`, the tied algorithms.
        below: (M,) sets, the algorithms ranked below the tie.
        amounts: (M,) float64, how often the tie occurred.
        offsets: (T + 1,) int64, where each timepoint's ties begin. Within a timepoint they are distinct, in increasing
            order of `tied`, and of `below` where that is equal.

    Raises:
        ValueError: If the shapes do not fit together, a tie has fewer than two members, or one is also below.
    """

    tied: MaskArray
    below: MaskArray
    amounts: FloatArray
    offsets: IntArray

    def __post_init__(self) -> None:
        fields: dict[str, NDArray[Any]] = {
            "tied": frozen(self.tied, np.uint64),
            "below": frozen(self.below, np.uint64),
            "amounts": frozen(self.amounts, np.float64),
            "offsets": frozen(self.offsets, np.int64),
        }
        tied, below, offsets = fields["tied"], fields["below"], fields["offsets"]
        if tied.ndim not in {1, 2} or tied.shape != below.shape or tied.shape[:1] != fields["amounts"].shape:
            raise ValueError(
                f"tied, below and amounts have shapes {tied.shape}, {below.shape} and {fields['amounts'].shape}; they "
                "need one entry for each tie"
            )
        if offsets.ndim != 1 or offsets.size < 1 or offsets[0] != 0 or offsets[-1] != len(tied):
            raise ValueError(
                f"offsets are {offsets.tolist()}; they must lead from 0 to {len(tied)}, the number of ties"
            )
        if (set_sizes(tied) < 2).any() or (tied & below).any():
            raise ValueError("a tie needs two members or more, none of which is also below it")
        for name, array in fields.items():
            object.__setattr__(self, name, array)

    @property
    def timepoints(self) -> int:
        """Number of timepoints T."""
        return self.offsets.size - 1

    @classmethod
    def none(cls, timepoints: int, algorithms: int) -> LargeTies:
        """No tie at any timepoint."""
        empty = empty_sets((0,), algorithms)
        return cls(empty, empty, np.empty(0), np.zeros(timepoints + 1, np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Ties], empty: MaskArray) -> LargeTies:
        """The ties of all timepoints; those of one need not be distinct. Sets are of the same kind as in `empty`."""
        parts = [distinct_ties(*part) for part in parts]
        return cls(
            np.concatenate([empty, *(tied for tied, _, _ in parts)]),
            np.concatenate([empty, *(below for _, below, _ in parts)]),
            np.concatenate([np.empty(0), *(amounts for _, _, amounts in parts)]),
            np.cumsum([0, *(len(tied) for tied, _, _ in parts)]),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LargeTies):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("tied", "below", "amounts", "offsets")
        )

    def at(self, timepoint: int) -> Ties:
        """The ties at one timepoint, given by its index."""
        here = slice(self.offsets[timepoint], self.offsets[timepoint + 1])
        return self.tied[here], self.below[here], self.amounts[here]

    def select(self, timepoints: IntArray) -> LargeTies:
        """The ties at some timepoints, given by their indices."""
        entries, offsets = chosen_entries(self.offsets, timepoints)
        return LargeTies(self.tied[entries], self.below[entries], self.amounts[entries], offsets)

    def padded(self, algorithms: int) -> LargeTies:
        """The same ties of more algorithms."""
        return LargeTies(resized(self.tied, algorithms), resized(self.below, algorithms), self.amounts, self.offsets)

    def merged(self, other: LargeTies) -> LargeTies:
        """These ties and others at the same timepoints."""
        parts: list[Ties] = []
        for t in range(self.timepoints):
            (tied, below, amounts), (more_tied, more_below, more_amounts) = self.at(t), other.at(t)
            parts.append(
                (
                    np.concatenate([tied, more_tied]),
                    np.concatenate([below, more_below]),
                    np.concatenate([amounts, more_amounts]),
                )
            )
        return LargeTies.joined(parts, self.tied[:0])


def distinct_ties(tied: MaskArray, below: MaskArray, amounts: FloatArray) -> Ties:
    """The distinct ties in increasing order, and the sum of the amounts of each."""
    if not len(tied):
        return tied, below, amounts
    order = order_of(tied, below)
    tied, below = tied[order], below[order]
    first = firsts(tied, below)
    return tied[first], below[first], np.add.reduceat(amounts[order], first)

"""Record Markov chains until they have converged, and keep track of the chain and step of each draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.sampling.diagnostics import LARGEST_R_HAT
from polarbear.records import FloatArray, IntArray

CHAINS = 48
GROUPS = 4
"""Number of groups of chains that nested R-hat compares (Margossian et al. 2024)."""
_RECORDED = 80
"""Number of draws kept of each chain."""


class Sweeping(Protocol):
    """The state of C Markov chains."""

    def sweep(self, *, adapt: bool) -> None:
        """Advance all chains by one sweep."""
        ...

    def snapshot(self) -> Sequence[FloatArray]:
        """The arrays to record, whose last axis runs over the chains."""
        ...


def record(
    chains: Sweeping,
    mixing: Callable[[list[FloatArray]], tuple[FloatArray, FloatArray]],
    enough: float,
    lengths: int,
) -> tuple[list[FloatArray], FloatArray, FloatArray]:
    """Record 80 draws of each chain.

    Until they converge, the chains are continued to twice their length, keeping every other draw.

    Args:
        chains: The chains, warmed up.
        mixing: Function from the recorded arrays to effective sample sizes and R-hats.
        enough: The target effective sample size.
        lengths: Maximum number of lengths; at the last, 2^(lengths − 1) sweeps lie between two draws.

    Returns:
        The recorded arrays (..., 80, C) of `snapshot`, effective sample sizes, and R-hats.
    """
    recorded = [np.empty((*array.shape[:-1], _RECORDED, array.shape[-1])) for array in chains.snapshot()]
    first = 0
    for length in range(lengths):
        for step in range(first, _RECORDED):
            for _ in range(1 << length):
                chains.sweep(adapt=False)
            for record, array in zip(recorded, chains.snapshot(), strict=True):
                record[..., step, :] = array
        ess, r_hat = mixing(recorded)
        if length == lengths - 1 or converged(ess, r_hat, enough):
            return recorded, ess, r_hat
        first = _RECORDED // 2
        for record in recorded:
            for step in range(first):  # in place: a copy would take half the memory again
                record[..., step, :] = record[..., 2 * step + 1, :]
    raise ValueError(f"lengths is {lengths}; it must be at least 1")


def converged(ess: float | FloatArray, r_hat: float | FloatArray, enough: float) -> bool:
    """Whether effective sample sizes are large enough, and R-hats small enough."""
    return bool(np.min(ess) >= enough and np.max(r_hat) < LARGEST_R_HAT)


@dataclass(frozen=True, slots=True, eq=False)
class ChainOrder:
    """The chain and the step in it of each of D draws.

    Attributes:
        chain: (D,) number of the chain, from 0.
        step: (D,) position of the draw among those kept from its chain, from 0.
        diverging: (D,) whether a transition between the previously kept draw and this one diverged.
    """

    chain: IntArray
    step: IntArray
    diverging: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.chain)

    def table(self) -> IntArray:
        """(chains, length) indices of draws, chain by chain in the order of their steps.

        Repeated draws appear once, and longer chains lose their first draws, so that all have the same length.
        """
        _, first = np.unique(np.stack([self.chain, self.step]), axis=1, return_index=True)
        rows = np.split(first, np.flatnonzero(np.diff(self.chain[first])) + 1)
        length = min(row.size for row in rows)
        return np.stack([row[row.size - length :] for row in rows]).astype(np.int64)


def choose_evenly(chains: int, length: int, draws: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """The chain and step of each of `draws` draws, in random order.

    Every chain contributes about equally many, evenly spaced; if there are fewer than `draws`, some are repeated.
    """
    each = min(length, -(-draws // chains))
    steps = (np.arange(1, each + 1) * length) // each - 1
    size = chains * each
    chosen = np.concatenate([rng.permutation(size) for _ in range(-(-draws // size))])[:draws]
    return (chosen // each).astype(np.int64), steps[chosen % each].astype(np.int64)

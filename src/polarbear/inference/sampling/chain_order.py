"""Where in Markov chains the draws of a posterior come from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.records import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class ChainOrder:
    """The chain and the step in it of each of D draws.

    Attributes:
        chain: (D,) the chain's number, from 0.
        step: (D,) the draw's place among those that its chain kept, from 0.
        diverging: (D,) whether the trajectory of a transition to it, from the draw kept before, diverged.
    """

    chain: IntArray
    step: IntArray
    diverging: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.chain)

    def table(self) -> IntArray:
        """(chains, length) indices of draws, chain by chain in the order of their steps.

        A draw that is there twice is taken once, and all chains are as long as the shortest, to which the first draws
        of longer ones are left out.
        """
        _, first = np.unique(np.stack([self.chain, self.step]), axis=1, return_index=True)
        rows = np.split(first, np.flatnonzero(np.diff(self.chain[first])) + 1)
        length = min(row.size for row in rows)
        return np.stack([row[row.size - length :] for row in rows]).astype(np.int64)


def choose_evenly(chains: int, length: int, draws: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """The chain and step of each of so many draws, in random order.

    From every chain about as many are taken, evenly spaced; where more are wanted than there are, some again.
    """
    each = min(length, -(-draws // chains))
    steps = (np.arange(1, each + 1) * length) // each - 1
    size = chains * each
    chosen = np.concatenate([rng.permutation(size) for _ in range(-(-draws // size))])[:draws]
    return (chosen // each).astype(np.int64), steps[chosen % each].astype(np.int64)

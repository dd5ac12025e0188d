"""One process's share of the work of `polarbear.inference.nested`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.annealing import annealed
from polarbear.inference.likelihood import Likelihood, ratings
from polarbear.inference.modes import Centre, near_modes
from polarbear.inference.nodes import Node
from polarbear.inference.sampling import Seed
from polarbear.inference.surface import PathModel, Peak, field_at, peaks
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_PAIRS = 4
"""Antithetic pairs of paths at each node that tell how far the mean is from the mode."""
_ENTRIES_AT_ONCE = 1 << 17


class Points(NamedTuple):
    """Points (K, p) to look for peaks at, and paths to start from."""

    points: FloatArray
    starts: Sequence[FloatArray | None]


class Places(NamedTuple):
    """A piece of the nodes, by its number: points (K, p), and weights (K, G) that interpolate from grid points."""

    piece: int
    points: FloatArray
    blend: FloatArray


class Pushes(NamedTuple):
    """For each of a piece's nodes a seed, and its column (terms, K) in the least squares solution for a plane."""

    piece: int
    seeds: Sequence[Seed]
    solution: FloatArray


class Shifts(NamedTuple):
    """For each of a piece's nodes its place on the plane (K, terms), and the log-ratio of prior to proposal density."""

    piece: int
    plane: FloatArray
    log_ratio: FloatArray


class Columns(NamedTuple):
    """For each of a piece's nodes a seed, and the first column of the memory that the piece's draws go to."""

    piece: int
    seeds: Sequence[Seed]
    first: int


class PathShare:
    """The nodes of some pieces, and what is drawn there.

    Args:
        counts: The rankings, of at least two algorithms.
        model: The prior.

    Attributes:
        likelihood: That of the rankings.
    """

    def __init__(self, counts: ChoiceCounts, model: PathModel) -> None:
        self.likelihood, self._model = Likelihood(counts), model
        self._points: dict[int, FloatArray] = {}
        self._centres: dict[int, list[Centre]] = {}
        self._nodes: dict[int, list[Node]] = {}
        self._theta = np.empty((0, 0, 0))

    def lend(self, memory: FloatArray) -> None:
        """Take the memory for ratings (T, n, S)."""
        self._theta = memory

    def peaks(self, some: Points) -> list[Peak | None]:
        """The most probable path at each point."""
        return peaks(self.likelihood, self._model, *some)

    def begin(self, some: Places, corners: FloatArray) -> NDArray[np.bool_]:
        """Find the Gaussian near the mode at each node.

        Args:
            some: The nodes.
            corners: (G, T, q) paths at the grid points.

        Returns:
            (K,) at which it was found; the others are left out from now on.
        """
        starts = np.tensordot(some.blend, corners, axes=1)
        able = [
            (k, field) for k, point in enumerate(some.points) if (field := field_at(self._model, point)) is not None
        ]
        near = near_modes(self.likelihood, [field for _, field in able], starts[[k for k, _ in able]])
        found = {k: centre for (k, _), centre in zip(able, near, strict=True) if centre is not None}
        self._points[some.piece], self._centres[some.piece] = some.points[list(found)], list(found.values())
        return np.isin(np.arange(len(some.points)), list(found))

    def force(self, some: Pushes) -> FloatArray:
        """(terms, T, q) what the nodes contribute to a plane through the forces towards the mean.

        The gradient averaged over the Gaussian, which vanishes at the mean of the best Gaussian, is estimated at each
        node.
        """
        timepoints, q = self.likelihood.shape
        total = np.zeros((len(some.solution), timepoints, q))
        for centre, seed, column in zip(self._centres[some.piece], some.seeds, some.solution.T, strict=True):
            moves = centre.conditioned.spread(seed.generator().standard_normal((centre.conditioned.noises, _PAIRS)))
            paths = centre.path[:, :, np.newaxis] + np.concatenate([moves, -moves], axis=2)
            push = self.likelihood.slope(paths)[1].mean(axis=2) - centre.pull
            total += column[:, np.newaxis, np.newaxis] * push
        return total

    def shift(self, some: Shifts, plane: FloatArray) -> None:
        """Move the centres from the mode towards the mean, by forces on a plane (terms, T, q)."""
        pushes = np.tensordot(some.plane, plane, axes=1)
        centres = [_pushed(centre, push) for centre, push in zip(self._centres.pop(some.piece), pushes, strict=True)]
        each = zip(self._points.pop(some.piece), centres, some.log_ratio.tolist(), strict=True)
        self._nodes[some.piece] = [Node.at(*one) for one in each]

    def draw(self, some: Columns, each: int, *, anneal: bool) -> FloatArray:
        """Draw so many paths at each node; their ratings go to the memory.

        Returns:
            (K × each,) their log-weights.
        """
        nodes, timepoints, q = self._nodes[some.piece], *self.likelihood.shape
        log_weights = np.empty(len(nodes) * each)
        for part in _parts(len(nodes), each * timepoints * q):
            here, generators = nodes[part], [seed.generator() for seed in some.seeds[part]]
            columns = slice(part.start * each, part.stop * each)
            noises = [
                rng.standard_normal((each, node.centre.conditioned.noises)).T
                for node, rng in zip(here, generators, strict=True)
            ]
            if anneal:
                noises, log_weights[columns] = annealed(self.likelihood, here, noises, generators[0])
            moves = [node.centre.conditioned.spread(noise) for node, noise in zip(here, noises, strict=True)]
            paths = np.concatenate([node.path(move) for node, move in zip(here, moves, strict=True)], axis=2)
            if not anneal:
                ratio = [node.log_ratio(move) for node, move in zip(here, moves, strict=True)]
                log_weights[columns] = self.likelihood.value(paths) + np.concatenate(ratio)
            theta = ratings(paths, self.likelihood.contrasts)
            self._theta[:, :, some.first + columns.start : some.first + columns.stop] = theta
        return log_weights

    def take(self, timepoints: slice, chosen: NDArray[np.intp]) -> None:
        """Put the chosen columns first in the memory, at some timepoints."""
        part = self._theta[timepoints]
        part[:, :, : chosen.size] = np.take(part, chosen, axis=2)


def _pushed(centre: Centre, push: FloatArray) -> Centre:
    """The centre moved to where a force pushes it."""
    move = centre.conditioned.response(push)
    pull = centre.pull + push - (centre.curvature @ move[:, :, np.newaxis])[:, :, 0]
    return replace(centre, path=centre.path + move, pull=pull)


def _parts(nodes: int, entries: int) -> Iterator[slice]:
    """Slices of the nodes whose paths fit into the processor's cache together."""
    step = max(1, _ENTRIES_AT_ONCE // entries)
    return (slice(start, min(start + step, nodes)) for start in range(0, nodes, step))

"""Confidence-based relations between algorithms, and their consequences (Wurth et al. 2026, section 4.1–4.3).

These are pure functions of arrays, for T timepoints and n algorithms; entry ``[t, i, j]`` compares algorithm i with
algorithm j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.inference import Posterior, Wins
from polarbear.records import FloatArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Relations:
    """The posterior's statements about every pair.

    Attributes:
        better: (T, n, n) P(θ_i(t) > θ_j(t)), or P(i beats j with a probability above one half).
        dominates: (T, n, n) whether i α-dominates j at t (eq. 22).
        equivalent: (T, n, n) whether i and j are (ε, α)-equivalent at t (eq. 26); dominance takes precedence.
        dominates_anytime: (n, n) probability that decides the elimination of j by i: the smallest over t of `better`
            under pointwise elimination (eq. 27), P(θ_i(t) > θ_j(t) at all t) under joint elimination (eq. 28).
    """

    better: FloatArray
    dominates: BoolArray
    equivalent: BoolArray
    dominates_anytime: FloatArray

    def anytime_of_all(self, rated: NDArray[np.intp], algorithms: int) -> FloatArray:
        """(n, n) `dominates_anytime` for all algorithms of a race, 0 if either of the two is not rated."""
        anytime = np.zeros((algorithms, algorithms))
        anytime[np.ix_(rated, rated)] = self.dominates_anytime
        return anytime


def relations(beliefs: Posterior | Wins, *, alpha: float, epsilon: float, joint: bool) -> Relations:
    """The relations of all pairs.

    Args:
        beliefs: The posterior of the ratings of n algorithms at T timepoints, or of who beats whom there.
        alpha: Decision threshold α in (0.5, 1].
        epsilon: Half-width ε in [0, 0.5) of the region of practical equivalence around a win probability of 0.5.
        joint: Whether elimination considers all timepoints jointly.
    """
    better = beliefs.pairwise_probabilities()
    dominates = better >= alpha
    near_even = beliefs.equivalence_probabilities(epsilon) >= alpha
    equivalent = near_even & ~dominates & ~dominates.transpose(0, 2, 1)
    anytime = beliefs.dominance_probabilities() if joint else better.min(axis=0)
    np.fill_diagonal(anytime, 0.0)
    return Relations(better, dominates, equivalent, anytime)


def in_circles(dominates_anytime: FloatArray, candidates: BoolArray, alpha: float) -> BoolArray:
    """(n, n) pairs of candidates that dominate each other in a circle, possibly through others.

    Ratings are ordered. But A may beat B on most instances, B beat C, and C beat A: then none of them is worse than
    another, and all stay.

    Args:
        dominates_anytime: (n, n) probabilities of dominance, as in `Relations`.
        candidates: (n,) mask of the candidate Pareto set.
        alpha: Decision threshold.
    """
    from scipy.sparse.csgraph import connected_components

    dominates = (dominates_anytime >= alpha) & candidates & candidates[:, np.newaxis]
    _, circle = connected_components(dominates, connection="strong")
    return (circle == circle[:, np.newaxis]) & ~np.eye(circle.size, dtype=bool)


def eliminations(dominates_anytime: FloatArray, candidates: BoolArray, alpha: float) -> dict[int, int]:
    """The candidates to eliminate, each with its dominator (algorithm 1, lines 9–12).

    Candidates are tested in order, and an eliminated one eliminates no other afterwards, so that at least one candidate
    always remains. Members of a circle do not eliminate each other.

    Args:
        dominates_anytime: (n, n) probabilities of dominance, as in `Relations`.
        candidates: (n,) mask of the candidate Pareto set before.
        alpha: Decision threshold.
    """
    remaining, circular = candidates.copy(), in_circles(dominates_anytime, candidates, alpha)
    eliminated: dict[int, int] = {}
    for loser in np.flatnonzero(candidates):
        chance = np.where(remaining & ~circular[loser], dominates_anytime[:, loser], 0.0)
        rival = int(np.argmax(chance))
        if chance[rival] >= alpha:
            remaining[loser] = False
            eliminated[int(loser)] = rival
    return eliminated


def crossing(current: Relations) -> BoolArray:
    """(n, n) pairs whose trajectories confidently cross (eq. 31).

    Each of the two dominates, or ties, at some timepoint, and at least one of these is strict dominance.
    """
    wins: BoolArray = np.logical_or.reduce(current.dominates)
    ties: BoolArray = np.logical_or.reduce(current.equivalent)
    return (wins & (wins.T | ties)) | (wins.T & (wins | ties))


def resolved_now(current: Relations, *, use_crossing: bool) -> BoolArray:
    """(T, n, n) pairs resolved at each timepoint by the current posterior (eq. 30, and eq. 31 with `use_crossing`)."""
    strict = current.dominates | current.dominates.transpose(0, 2, 1) | current.equivalent
    return strict | crossing(current) if use_crossing else strict


def resolution(before: BoolArray, current: Relations, circular: BoolArray, *, use_crossing: bool) -> BoolArray:
    """(T, n, n) pairs resolved at each timepoint after a round (algorithm 1, lines 13–18).

    Resolved pairs stay resolved, and those that the current posterior resolves are added. But a pair is closed only for
    a reason why both stay in the Pareto set: they cross, tie at some timepoint, or are in a circle. If one of them is
    merely ahead, timepoint by timepoint, it may well dominate the other. Then the pair stays open: at the timepoints
    that the current posterior leaves undecided, as others may have been resolved in earlier rounds; or at all of them
    if there are none, and only the joint probability (eq. 28) is still too small for an elimination.

    Args:
        before: (T, n, n) pairs resolved before the round.
        current: Relations under the current posterior.
        circular: (n, n) pairs in a circle, as returned by `in_circles`.
        use_crossing: Whether a confident crossing resolves a pair.
    """
    now = resolved_now(current, use_crossing=use_crossing)
    resolved = before | now
    tied: BoolArray = np.logical_or.reduce(current.equivalent)
    closed: BoolArray = np.logical_and.reduce(resolved) & ~np.logical_and.reduce(before)
    early = closed & ~tied & ~crossing(current) & ~circular
    resolved[:, early] = now[:, early] & ~np.logical_and.reduce(now[:, early])
    return resolved


def last_unresolved(resolved: BoolArray) -> NDArray[np.int64]:
    """(n,) index of the last timepoint at which each algorithm has an unresolved pair (τ_A, eq. 32); -1 if none."""
    open_at: BoolArray = np.logical_or.reduce(~resolved, axis=2)
    from_the_end = np.argmax(open_at[::-1], axis=0)
    return np.where(np.logical_or.reduce(open_at), resolved.shape[0] - 1 - from_the_end, -1)


def unresolved_pairs(resolved: BoolArray) -> BoolArray:
    """(n, n) strictly upper triangular: pairs that are unresolved at some timepoint."""
    return np.triu(np.logical_or.reduce(~resolved), k=1)


def next_batch(batch: int, *, unresolved_before: int, unresolved_after: int, smallest: int, largest: int) -> int:
    """The batch size of the next round (section 4.3, "Batch Size").

    It is doubled if no pair was resolved, halved if more than 20 % of the open pairs were, and then clipped.
    """
    newly = unresolved_before - unresolved_after
    if newly == 0:
        batch *= 2
    elif newly > 0.2 * unresolved_before:
        batch //= 2
    return int(np.clip(batch, smallest, largest))

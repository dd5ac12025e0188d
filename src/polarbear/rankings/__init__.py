"""Trajectories at timepoints become Plackett–Luce choice-set counts: what a ranking says, and nothing else.

A ranking is a series of choices: the best of all, the best of the rest, and so on (Plackett 1975; eq. 6 of Wurth et
al. 2026). How often each algorithm was chosen, and how often each set was chosen from, is all that the Plackett–Luce
likelihood depends on.
"""

from polarbear.rankings.choice import choice_counts
from polarbear.rankings.counts import ChoiceCounts
from polarbear.rankings.distinct import DistinctRankings
from polarbear.rankings.instances import NOT_RUN, InstanceRanks
from polarbear.rankings.large_ties import LargeTies
from polarbear.rankings.masks import BITS, MaskArray, members_of, membership, set_sizes
from polarbear.rankings.tie_integral import TieExpansion, TieNodes, tie_expansion, tie_nodes, tie_slope, tie_value
from polarbear.rankings.virtual import virtual_algorithm

__all__ = [
    "BITS",
    "NOT_RUN",
    "ChoiceCounts",
    "DistinctRankings",
    "InstanceRanks",
    "LargeTies",
    "MaskArray",
    "TieExpansion",
    "TieNodes",
    "choice_counts",
    "members_of",
    "membership",
    "set_sizes",
    "tie_expansion",
    "tie_nodes",
    "tie_slope",
    "tie_value",
    "virtual_algorithm",
]

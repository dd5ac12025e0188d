"""Turn trajectories at timepoints into rankings, and rankings into Plackett–Luce choice-set counts.

A ranking is a sequence of choices: the best of all, the best of the rest, and so on (Plackett 1975; eq. 6 of Wurth et
al. 2026). The Plackett–Luce likelihood depends only on how often each algorithm was chosen and how often each set was
chosen from.
"""

from polarbear.rankings.choice import choice_counts, count_choices
from polarbear.rankings.counts import ChoiceCounts, LargeTies
from polarbear.rankings.distinct import DistinctRankings
from polarbear.rankings.masks import BITS, MaskArray, members_of, membership, set_sizes
from polarbear.rankings.rankings import NOT_RUN, Rankings, virtual_algorithm
from polarbear.rankings.tie_integral import TieExpansion, TieNodes, tie_expansion, tie_nodes, tie_slope, tie_value

InstanceRanks = Rankings  # its former name

__all__ = [
    "BITS",
    "NOT_RUN",
    "ChoiceCounts",
    "DistinctRankings",
    "InstanceRanks",
    "LargeTies",
    "MaskArray",
    "Rankings",
    "TieExpansion",
    "TieNodes",
    "choice_counts",
    "count_choices",
    "members_of",
    "membership",
    "set_sizes",
    "tie_expansion",
    "tie_nodes",
    "tie_slope",
    "tie_value",
    "virtual_algorithm",
]

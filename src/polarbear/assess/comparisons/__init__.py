"""Comparisons of algorithms: tests of pairs and their partial order, ratings, robust and deep rankings, portfolios."""

from polarbear.assess.comparisons.contributions import Contributions, contributions, shapley_values
from polarbear.assess.comparisons.deep import (
    ClusteredRanks,
    DeepComparison,
    DeepRanking,
    cluster_ranks,
    deep_comparison,
    deep_ranking,
)
from polarbear.assess.comparisons.omnibus import Omnibus, PostHoc, omnibus_test, post_hoc
from polarbear.assess.comparisons.order import PartialOrder, partial_order
from polarbear.assess.comparisons.pairwise import (
    PairwiseTests,
    adjust_p_values,
    anderson_darling,
    kolmogorov_smirnov,
    mann_whitney,
    wilcoxon,
)
from polarbear.assess.comparisons.rating import Newcomer, Ratings, glicko2
from polarbear.assess.comparisons.robust_ranking import RobustRanking, robust_ranking
from polarbear.assess.comparisons.solvers import (
    SingleBest,
    VirtualBest,
    gap_closed,
    single_best,
    solver_gap,
    static_virtual_best,
    virtual_best,
)

__all__ = [
    "ClusteredRanks",
    "Contributions",
    "DeepComparison",
    "DeepRanking",
    "Newcomer",
    "Omnibus",
    "PairwiseTests",
    "PartialOrder",
    "PostHoc",
    "Ratings",
    "RobustRanking",
    "SingleBest",
    "VirtualBest",
    "adjust_p_values",
    "anderson_darling",
    "cluster_ranks",
    "contributions",
    "deep_comparison",
    "deep_ranking",
    "gap_closed",
    "glicko2",
    "kolmogorov_smirnov",
    "mann_whitney",
    "omnibus_test",
    "partial_order",
    "post_hoc",
    "robust_ranking",
    "shapley_values",
    "single_best",
    "solver_gap",
    "static_virtual_best",
    "virtual_best",
    "wilcoxon",
]

"""Comparisons of algorithms: tests of pairs and their partial order, ratings, robust and deep rankings, portfolios."""

from polarbear.assess.comparisons.adaptive import (
    AdaptiveConfigurations,
    adaptive_configurations,
    average_hitting_times,
    second_stage,
    select_adaptive,
)
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
from polarbear.assess.comparisons.shrinkage import SharedDurations, shared_durations
from polarbear.assess.comparisons.solvers import (
    SingleBest,
    VirtualBest,
    gap_closed,
    single_best,
    solver_gap,
    static_virtual_best,
    virtual_best,
)
from polarbear.assess.comparisons.switching import (
    DynamicVirtualBest,
    Policy,
    best_policy,
    dynamic_virtual_best,
    ert_draws,
    policy_ert,
    switch_contributions,
)

__all__ = [
    "AdaptiveConfigurations",
    "ClusteredRanks",
    "Contributions",
    "DeepComparison",
    "DeepRanking",
    "DynamicVirtualBest",
    "Newcomer",
    "Omnibus",
    "PairwiseTests",
    "PartialOrder",
    "Policy",
    "PostHoc",
    "Ratings",
    "RobustRanking",
    "SharedDurations",
    "SingleBest",
    "VirtualBest",
    "adaptive_configurations",
    "adjust_p_values",
    "anderson_darling",
    "average_hitting_times",
    "best_policy",
    "cluster_ranks",
    "contributions",
    "deep_comparison",
    "deep_ranking",
    "dynamic_virtual_best",
    "ert_draws",
    "gap_closed",
    "glicko2",
    "kolmogorov_smirnov",
    "mann_whitney",
    "omnibus_test",
    "partial_order",
    "policy_ert",
    "post_hoc",
    "robust_ranking",
    "second_stage",
    "select_adaptive",
    "shapley_values",
    "shared_durations",
    "single_best",
    "solver_gap",
    "static_virtual_best",
    "switch_contributions",
    "virtual_best",
    "wilcoxon",
]

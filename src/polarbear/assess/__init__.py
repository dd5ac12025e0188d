"""Classical anytime statistics on plain arrays: runtimes, attainment, values at budgets, comparisons of algorithms.

Comparisons load SciPy's sparse matrices and special functions when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polarbear.assess.aocc import aocc, weighted_auc
from polarbear.assess.attainment import Attainment, eaf, eaf_grid, level_curves, second_order_eaf
from polarbear.assess.attainment_difference import AttainmentDifference, eaf_difference, eaf_difference_grid
from polarbear.assess.attainment_ecdf import attained_share, attainment_ecdf
from polarbear.assess.averages import geometric_mean, geometric_mean_ratio
from polarbear.assess.bootstrap import Band, bootstrap_band
from polarbear.assess.costs import cumulative_costs
from polarbear.assess.distributions import RuntimeDistribution, pool, runtime_distribution
from polarbear.assess.fixed_budget import (
    ValueSummary,
    summarize_values,
    value_density,
    value_distribution,
    value_histogram,
)
from polarbear.assess.hypervolume import HypervolumeIndicator, hypervolume_indicator
from polarbear.assess.indicators import best_value, constrained_indicator, last_value, noisy_indicator, noisy_window
from polarbear.assess.parameter_tracking import parameter_at_targets, parameter_at_times, parameter_names
from polarbear.assess.profiles import data_profile, performance_profile
from polarbear.assess.rank_sum import RankSum, common_budgets, rank_sum, rank_sum_statistic, stars
from polarbear.assess.reference import (
    best_ert,
    best_reference,
    ert_ratios,
    reference_distribution,
)
from polarbear.assess.restarts import simulated_restarts
from polarbear.assess.runtimes import average_effort, ert, first_hits, instance_weights, par, runtimes, success_rate
from polarbear.assess.scaling import Scaling, scaling
from polarbear.assess.step_functions import Bounds, StepFunction, breakpoints, pointwise_mean, step_functions, values_at
from polarbear.assess.summary import RuntimeSummary, runtime_quantiles, summarize
from polarbear.assess.table import RuntimeTable, TableBlock, TableRow, runtime_table
from polarbear.assess.table_formats import as_html, as_latex, as_text, caption
from polarbear.assess.targets import biobjective_targets, budget_targets, data_profile_targets, log_targets
from polarbear.assess.trials import Trials, group_trials
from polarbear.assess.vorobev import Vorobev, vorobev

if TYPE_CHECKING:
    from polarbear.assess.comparisons import (
        Contributions,
        DeepComparison,
        DeepRanking,
        Newcomer,
        Omnibus,
        PairwiseTests,
        PartialOrder,
        PostHoc,
        Ratings,
        RobustRanking,
        SingleBest,
        VirtualBest,
        adjust_p_values,
        anderson_darling,
        contributions,
        deep_comparison,
        deep_ranking,
        gap_closed,
        glicko2,
        kolmogorov_smirnov,
        mann_whitney,
        omnibus_test,
        partial_order,
        post_hoc,
        robust_ranking,
        shapley_values,
        single_best,
        solver_gap,
        static_virtual_best,
        virtual_best,
        wilcoxon,
    )

__all__ = [
    "Attainment",
    "AttainmentDifference",
    "Band",
    "Bounds",
    "Contributions",
    "DeepComparison",
    "DeepRanking",
    "HypervolumeIndicator",
    "Newcomer",
    "Omnibus",
    "PairwiseTests",
    "PartialOrder",
    "PostHoc",
    "RankSum",
    "Ratings",
    "RobustRanking",
    "RuntimeDistribution",
    "RuntimeSummary",
    "RuntimeTable",
    "Scaling",
    "SingleBest",
    "StepFunction",
    "TableBlock",
    "TableRow",
    "Trials",
    "ValueSummary",
    "VirtualBest",
    "Vorobev",
    "adjust_p_values",
    "anderson_darling",
    "aocc",
    "as_html",
    "as_latex",
    "as_text",
    "attained_share",
    "attainment_ecdf",
    "average_effort",
    "best_ert",
    "best_reference",
    "best_value",
    "biobjective_targets",
    "bootstrap_band",
    "breakpoints",
    "budget_targets",
    "caption",
    "common_budgets",
    "constrained_indicator",
    "contributions",
    "cumulative_costs",
    "data_profile",
    "data_profile_targets",
    "deep_comparison",
    "deep_ranking",
    "eaf",
    "eaf_difference",
    "eaf_difference_grid",
    "eaf_grid",
    "ert",
    "ert_ratios",
    "first_hits",
    "gap_closed",
    "geometric_mean",
    "geometric_mean_ratio",
    "glicko2",
    "group_trials",
    "hypervolume_indicator",
    "instance_weights",
    "kolmogorov_smirnov",
    "last_value",
    "level_curves",
    "log_targets",
    "mann_whitney",
    "noisy_indicator",
    "noisy_window",
    "omnibus_test",
    "par",
    "parameter_at_targets",
    "parameter_at_times",
    "parameter_names",
    "partial_order",
    "performance_profile",
    "pointwise_mean",
    "pool",
    "post_hoc",
    "rank_sum",
    "rank_sum_statistic",
    "reference_distribution",
    "robust_ranking",
    "runtime_distribution",
    "runtime_quantiles",
    "runtime_table",
    "runtimes",
    "scaling",
    "second_order_eaf",
    "shapley_values",
    "simulated_restarts",
    "single_best",
    "solver_gap",
    "stars",
    "static_virtual_best",
    "step_functions",
    "success_rate",
    "summarize",
    "summarize_values",
    "value_density",
    "value_distribution",
    "value_histogram",
    "values_at",
    "virtual_best",
    "vorobev",
    "weighted_auc",
    "wilcoxon",
]


def __getattr__(name: str) -> Any:
    if name == "comparisons" or name in __all__:
        comparisons = importlib.import_module("polarbear.assess.comparisons")
        return comparisons if name == "comparisons" else getattr(comparisons, name)
    raise AttributeError(f"module 'polarbear.assess' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Figures, one function each: values in, a `Figure` out. No statistic is computed here."""

from polarbear.figures import captions
from polarbear.figures.across import across_columns, final_positions, radar, rank_chart
from polarbear.figures.allocation import allocation
from polarbear.figures.attainment import attainment, attainment_difference, attainment_ecdf
from polarbear.figures.bias import structural_bias
from polarbear.figures.comparisons import (
    clustered_ranks,
    contributions,
    p_values,
    rating_candlesticks,
    robust_ranks_over_time,
)
from polarbear.figures.convergence import convergence, parameter_over_targets, parameter_over_time
from polarbear.figures.cumulative_difference import cumulative_difference
from polarbear.figures.curves import fixed_budget_curves, fixed_target_curves
from polarbear.figures.dominance import dominance_over_rounds
from polarbear.figures.eaf import target_sensitivity, vorobev_expectation
from polarbear.figures.figure import Figure, svg
from polarbear.figures.grid import grid
from polarbear.figures.heat_map import heat_map
from polarbear.figures.histograms import histograms, runtime_densities
from polarbear.figures.instances import embedding, mean_landscapes, optima
from polarbear.figures.layout import Layout
from polarbear.figures.modules import effects_over_time, initial_gains, module_importance, parallel_coordinates
from polarbear.figures.pairs import relations_over_time
from polarbear.figures.partial_order import partial_order
from polarbear.figures.preference_values import preference_values
from polarbear.figures.ratings import rating_over_time
from polarbear.figures.recovery import Snapshot, rating_over_rounds, recovery
from polarbear.figures.runtime_distribution import (
    Distribution,
    data_profiles,
    performance_profiles,
    runtime_distributions,
)
from polarbear.figures.runtimes import ert_over_dimension, ert_over_targets
from polarbear.figures.value_distributions import value_densities, value_distributions

__all__ = [
    "Distribution",
    "Figure",
    "Layout",
    "Snapshot",
    "across_columns",
    "allocation",
    "attainment",
    "attainment_difference",
    "attainment_ecdf",
    "captions",
    "clustered_ranks",
    "contributions",
    "convergence",
    "cumulative_difference",
    "data_profiles",
    "dominance_over_rounds",
    "effects_over_time",
    "embedding",
    "ert_over_dimension",
    "ert_over_targets",
    "final_positions",
    "fixed_budget_curves",
    "fixed_target_curves",
    "grid",
    "heat_map",
    "histograms",
    "initial_gains",
    "mean_landscapes",
    "module_importance",
    "optima",
    "p_values",
    "parallel_coordinates",
    "parameter_over_targets",
    "parameter_over_time",
    "partial_order",
    "performance_profiles",
    "preference_values",
    "radar",
    "rank_chart",
    "rating_candlesticks",
    "rating_over_rounds",
    "rating_over_time",
    "recovery",
    "relations_over_time",
    "robust_ranks_over_time",
    "runtime_densities",
    "runtime_distributions",
    "structural_bias",
    "svg",
    "target_sensitivity",
    "value_densities",
    "value_distributions",
    "vorobev_expectation",
]

"""Captions by the names of their figures: what every mark of a figure means, in plain words."""

from polarbear.figures.allocation import caption as allocation
from polarbear.figures.attainment import caption as attainment
from polarbear.figures.attainment import difference_caption as attainment_difference
from polarbear.figures.attainment import ecdf_caption as attainment_ecdf
from polarbear.figures.convergence import caption as convergence
from polarbear.figures.convergence import targets_caption as parameter_over_targets
from polarbear.figures.convergence import time_caption as parameter_over_time
from polarbear.figures.dominance import caption as dominance_over_rounds
from polarbear.figures.heat_map import caption as heat_map
from polarbear.figures.pairs import caption as relations_over_time
from polarbear.figures.partial_order import caption as partial_order
from polarbear.figures.ratings import caption as rating_over_time
from polarbear.figures.recovery import caption as recovery
from polarbear.figures.recovery import rounds_caption as rating_over_rounds
from polarbear.figures.runtime_distribution import caption as runtime_distributions
from polarbear.figures.runtime_distribution import data_caption as data_profiles
from polarbear.figures.runtime_distribution import performance_caption as performance_profiles
from polarbear.figures.runtimes import dimension_caption as ert_over_dimension
from polarbear.figures.runtimes import targets_caption as ert_over_targets
from polarbear.figures.value_distributions import density_caption as value_densities
from polarbear.figures.value_distributions import distribution_caption as value_distributions
from polarbear.figures.values import caption as preference_values

__all__ = [
    "allocation",
    "attainment",
    "attainment_difference",
    "attainment_ecdf",
    "convergence",
    "data_profiles",
    "dominance_over_rounds",
    "ert_over_dimension",
    "ert_over_targets",
    "heat_map",
    "parameter_over_targets",
    "parameter_over_time",
    "partial_order",
    "performance_profiles",
    "preference_values",
    "rating_over_rounds",
    "rating_over_time",
    "recovery",
    "relations_over_time",
    "runtime_distributions",
    "value_densities",
    "value_distributions",
]

"""Features of fitness landscapes, by flacco's names."""

from polarbear.landscape.comparison import InstanceComparison, compare_instances
from polarbear.landscape.design import Design
from polarbear.landscape.diversity import RunDiversity, diversity, run_diversity
from polarbear.landscape.exploration import EVALUATED, explore, latin_hypercube
from polarbear.landscape.features import SETS, Features, changed_by, feature_names, features
from polarbear.landscape.first_part import POSITIVE, SERIES, run_features, series_features, tsfresh_features
from polarbear.landscape.instances import InstanceFeatures, by_box, instances
from polarbear.landscape.properties import (
    Performance,
    mean_precision,
    one_against_rest,
    optimum_location,
    performance,
)
from polarbear.landscape.recent import LAST, RECENT_SETS, recent_features, recent_names
from polarbear.landscape.two_samples import p_values, rejections

__all__ = [
    "EVALUATED",
    "LAST",
    "POSITIVE",
    "RECENT_SETS",
    "SERIES",
    "SETS",
    "Design",
    "Features",
    "InstanceComparison",
    "InstanceFeatures",
    "Performance",
    "RunDiversity",
    "by_box",
    "changed_by",
    "compare_instances",
    "diversity",
    "explore",
    "feature_names",
    "features",
    "instances",
    "latin_hypercube",
    "mean_precision",
    "one_against_rest",
    "optimum_location",
    "p_values",
    "performance",
    "recent_features",
    "recent_names",
    "rejections",
    "run_diversity",
    "run_features",
    "series_features",
    "tsfresh_features",
]

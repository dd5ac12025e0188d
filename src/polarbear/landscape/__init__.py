"""What functions look like: features of landscapes, by flacco's names."""

from polarbear.landscape.design import Design
from polarbear.landscape.diversity import diversity
from polarbear.landscape.exploration import EVALUATED, explore, latin_hypercube
from polarbear.landscape.features import SETS, Features, changed_by, feature_names, features
from polarbear.landscape.instances import InstanceFeatures, instances, mean_precision, one_against_rest
from polarbear.landscape.two_samples import p_values, rejections

__all__ = [
    "EVALUATED",
    "SETS",
    "Design",
    "Features",
    "InstanceFeatures",
    "changed_by",
    "diversity",
    "explore",
    "feature_names",
    "features",
    "instances",
    "latin_hypercube",
    "mean_precision",
    "one_against_rest",
    "p_values",
    "rejections",
]

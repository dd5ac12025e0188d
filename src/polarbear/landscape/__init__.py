"""What functions look like: features of landscapes, by flacco's names."""

from polarbear.landscape.design import Design
from polarbear.landscape.diversity import diversity
from polarbear.landscape.exploration import EVALUATED, explore, latin_hypercube
from polarbear.landscape.features import SETS, Features, changed_by, feature_names, features

__all__ = [
    "EVALUATED",
    "SETS",
    "Design",
    "Features",
    "changed_by",
    "diversity",
    "explore",
    "feature_names",
    "features",
    "latin_hypercube",
]

"""What functions look like: features of landscapes from samples, by flacco's names."""

from polarbear.landscape.design import Design
from polarbear.landscape.features import SETS, Features, changed_by, feature_names, features

__all__ = ["SETS", "Design", "Features", "changed_by", "feature_names", "features"]

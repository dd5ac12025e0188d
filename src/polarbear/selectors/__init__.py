"""Algorithm selectors: which algorithm to use on a problem, by its features, and whether to trust the answer."""

from polarbear.selectors.cases import Cases
from polarbear.selectors.evaluation import (
    Evaluation,
    Interval,
    Reliability,
    Score,
    clustered_mean,
    cross_validate,
    reliability,
    transfer,
)
from polarbear.selectors.selector import KINDS, SETS, Advice, Kind, Selector, train
from polarbear.selectors.shift import nearest_share, shift_in_words, shift_probability
from polarbear.selectors.stored import load, save
from polarbear.selectors.switch_evaluation import SwitchEvaluation, evaluate_policy
from polarbear.selectors.switching import SwitchPoints, SwitchPolicy, switch_points, train_policy

__all__ = [
    "KINDS",
    "SETS",
    "Advice",
    "Cases",
    "Evaluation",
    "Interval",
    "Kind",
    "Reliability",
    "Score",
    "Selector",
    "SwitchEvaluation",
    "SwitchPoints",
    "SwitchPolicy",
    "clustered_mean",
    "cross_validate",
    "evaluate_policy",
    "load",
    "nearest_share",
    "reliability",
    "save",
    "shift_in_words",
    "shift_probability",
    "switch_points",
    "train",
    "train_policy",
    "transfer",
]

"""Selectors: which algorithm to use on a problem, by features of it, and whether to trust the answer."""

from polarbear.selectors.cases import Cases
from polarbear.selectors.evaluation import Evaluation, Score, cross_validate, transfer
from polarbear.selectors.selector import KINDS, SETS, Advice, Kind, Selector, train
from polarbear.selectors.shift import nearest_share, shift_probability
from polarbear.selectors.stored import load, save

__all__ = [
    "KINDS",
    "SETS",
    "Advice",
    "Cases",
    "Evaluation",
    "Kind",
    "Score",
    "Selector",
    "cross_validate",
    "load",
    "nearest_share",
    "save",
    "shift_probability",
    "train",
    "transfer",
]

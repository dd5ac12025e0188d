"""Whether the posterior may be believed."""

from __future__ import annotations

from polarbear.analyzer import datasets
from polarbear.analyzer.examination import REPLICATES, checks
from polarbear.assess.report.data import Data
from polarbear.results import Result
from polarbear.web.kind import Shown, view


@view("diagnostics", "Sampling")
def sampling(result: Result) -> Shown:
    """Effective sample size and Pareto k-hat of the posterior at each timepoint."""
    return Shown(datasets.diagnostics(result))


@view("diagnostics", "Model checks")
def model_checks(result: Result) -> Shown:
    """What the rankings say of the model's assumptions, in words."""
    found = checks(result, replicates=REPLICATES)
    outcomes = {None: "not known", True: "passed", False: "failed"}
    rows = ([check.name, outcomes[check.passed], check.verdict] for check in found)
    text = f"{sum(check.passed is False for check in found)} of {len(found)} checks failed."
    return Shown(Data.of("checks", ("check", "outcome", "in words"), rows), text=text)

"""Whether the posterior can be trusted."""

from __future__ import annotations

from polarbear.analyzer import datasets
from polarbear.analyzer.examination import REPLICATES, Examination, checks, examine
from polarbear.assess.report import Assessment
from polarbear.assess.report.data import Data
from polarbear.inference import Check
from polarbear.optimizers.noisy.assumptions import LIMITS, violated
from polarbear.results import Result
from polarbear.web.kind import Shown, kept, view


@view("diagnostics", "Sampling")
def sampling(result: Result) -> Shown:
    """Effective sample size and Pareto k-hat of the posterior at each timepoint."""
    return Shown(datasets.diagnostics(result))


@view("diagnostics", "Model checks")
def model_checks(result: Result) -> Shown:
    """What the rankings say about the model's assumptions, in words."""
    if not result.begun:
        raise ValueError("nothing is known yet; the race has not completed a round")
    checks = _checks(result)
    outcomes = {None: "not known", True: "passed", False: "failed"}
    rows = ([check.name, outcomes[check.passed], check.verdict] for check in checks)
    text = f"{sum(check.passed is False for check in checks)} of {len(checks)} checks failed."
    return Shown(Data.of("checks", ("check", "outcome", "in words"), rows), text=text)


@view("diagnostics", "Posterior predictive checks")
def predictive(result: Result) -> Shown:
    """How rankings drawn from the model compare with those of the race, in numbers and words."""
    if not result.begun:
        raise ValueError("nothing is known yet; the race has not completed a round")
    columns = ("check", "what", "observed", "expected from", "to", "p", "in words")
    rows = (
        [each.name, each.what, each.observed, *(each.expected or (None, None)), each.p_value, each.verdict]
        for each in _checks(result)
    )
    text = f"The expected range covers 95 % of {REPLICATES} sets of rankings drawn from the posterior."
    return Shown(Data.of("predictive", columns, rows), text=text)


@view("diagnostics", "Models compared")
def models(result: Result) -> Shown:
    """How well the race's model and others predict an unseen instance, and how overconfident they are."""
    if len(result.values) < 2:
        raise ValueError("models are compared by leaving one instance out; the race has fewer than two instances")
    examination = _examined(result)
    columns = (
        "model",
        "elpd",
        "standard error",
        "effective parameters",
        "behind",
        "its error",
        "overconfidence",
        "in words",
    )
    rows = (
        [
            *(each.name, each.elpd, each.standard_error, each.effective_parameters, each.behind, each.behind_error),
            *(examination.overconfidence[each.name], each.verdict),
        ]
        for each in examination.comparison.models
    )
    text = f"The race's own model is {examination.model}.\n{examination.comparison}"
    return Shown(Data.of("models", columns, rows), text=text)


@view("diagnostics", "Assumptions of RB-PEM")
def noise_assumptions(assessment: Assessment) -> Shown:
    """Which assumptions of residual bootstrapping were violated at the end of runs that logged its diagnostics."""
    trials = (trials for cell in assessment.subject.cells for trials in cell.trials.values())
    runs = [run for each in trials for run in each.runs if run.parameters and LIMITS.keys() & run.parameters.values]
    if not runs:
        raise ValueError(f"the runs logged none of {', '.join(LIMITS)}; race or run RB-PEM with [log]")
    rows = [(run.key.algorithm, run.key.instance, run.key.seed, said) for run in runs for said in violated(run)]
    text = f"{len({row[:3] for row in rows})} of {len(runs)} runs violated at least one assumption."
    return Shown(Data.of("assumptions", ("algorithm", "instance", "seed", "violated"), rows), text=text)


@kept
def _checks(result: Result) -> tuple[Check, ...]:
    return checks(result, replicates=REPLICATES)


@kept
def _examined(result: Result) -> Examination:
    return examine(result)

"""Whether the model suits the study: a comparison with other models, and checks of its assumptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from polarbear.analyzer.answer import answer
from polarbear.inference import (
    Check,
    Comparison,
    LeaveOneOut,
    Model,
    as_published,
    check,
    compare,
    fit,
    from_description,
    leave_one_out,
    overconfidence,
)
from polarbear.inference.checking.verdicts import TIMEPOINTS
from polarbear.racing import RaceResult
from polarbear.rankings import choice_counts

REPLICATES = 200
"""Number of replicates, enough for the checks shown beside an answer."""
_RIVALS = ("independent-dirichlet", "random-walk")


@dataclass(frozen=True, slots=True)
class Examination:
    """How well a study's model and others predict its rankings, and whether its assumptions hold.

    Attributes:
        model: Name of the study's own model in the comparison.
        comparison: Models by their leave-one-instance-out scores.
        overconfidence: For each model, the factor by which more instances than were run its certainty corresponds to;
            about 1 is right.
        checks: Checks of the assumptions common to all these models.
    """

    model: str
    comparison: Comparison
    overconfidence: dict[str, float]
    checks: tuple[Check, ...]

    def as_dict(self) -> dict[str, Any]:
        """The examination as values that can be written as JSON."""
        return asdict(self)


def examine(result: RaceResult, models: Sequence[str] = ()) -> Examination:
    """Compare a race's model with others on the race's own rankings, and check its assumptions.

    Most of the time is spent on influential instances, which cannot be left out by reweighting and require fitting the
    model again.

    Args:
        result: Result of the race, with at least one complete round and two instances.
        models: Names of the models to compare with, all parameters at their defaults; by default the random walk, and
            the independent Dirichlet model unless it is the race's own. Each is compared in its published form. Time is
            on a log scale if the timepoints are.

    Raises:
        ValueError: If there is no model of that name, there are fewer than two instances, or the posterior does not
            record its model.
    """
    own, settings = result.posterior.model, result.settings
    if own is None:
        raise ValueError("the posterior does not say which model made it; fit it with polarbear.inference.fit")
    others = [_named(name, result) for name in models or _RIVALS]
    if not models:
        others = [model for model in others if as_published(model) != as_published(own)]
    rivals = {label(own): own} | {label(model): model for model in others}
    rng = np.random.default_rng(settings.seed)
    counts = choice_counts(result.rated_values, precision=settings.precision)
    scores: dict[str, LeaveOneOut] = {}
    too_sure: dict[str, float] = {}
    for name, model in ((name, as_published(model)) for name, model in rivals.items()):
        posterior = (
            result.posterior
            if model == own
            else fit(
                counts,
                times=result.posterior.times,
                names=result.posterior.names,
                model=model,
                draws=settings.draws,
                rng=rng,
            )
        )
        scores[name] = leave_one_out(posterior, result.rated_values, rng=rng, precision=settings.precision)
        too_sure[name] = overconfidence(posterior, result.rated_values, precision=settings.precision)
    return Examination(label(own), compare(scores), too_sure, checks(result))


def checks(result: RaceResult, *, replicates: int = 400) -> tuple[Check, ...]:
    """Check the assumptions of all models against a race's rankings; the checks are a function of the result."""
    return check(
        result.posterior,
        result.rated_values,
        rng=np.random.default_rng(result.settings.seed),
        precision=result.settings.precision,
        replicates=replicates,
    )


def answer_with_checks(result: RaceResult) -> tuple[dict[str, Any], str]:
    """A race's answer with its model checks, as values that can be written as JSON, and as text with those failed."""
    findings, results = answer(result), checks(result, replicates=REPLICATES) if result.begun else ()
    against = ["\n\nFailed model checks (for details: polarbear check):", *doubts(results, result)]
    text = findings.text + ("\n  ".join(against) if len(against) > 1 else "")
    return {**findings.as_dict(), "checks": [check.as_dict() for check in results]}, text


def doubts(results: Sequence[Check], result: RaceResult) -> list[str]:
    """The finding of each failed check in one sentence, except for what the posterior takes into account."""
    settled = {TIMEPOINTS} if result.posterior.honest else set[str]()
    failed = (check for check in results if check.passed is False and check.name not in settled)
    return [f"{check.name}: {re.split('; |[.] ', check.verdict)[0].rstrip('.')}." for check in failed]


def label(model: Model) -> str:
    """The name of a model, and the parameters that differ from their defaults."""
    described = model.describe()
    name = described.pop("model")
    usual = from_description({"model": name}).describe()
    changed = [f"{parameter}={value}" for parameter, value in described.items() if usual[parameter] != value]
    return f"{name} ({', '.join(changed)})" if changed else name


def _named(name: str, result: RaceResult) -> Model:
    from polarbear.figures.style import spacing_of  # imports Matplotlib's ticks

    model = from_description({"model": name})
    if "time_scale" in model.describe() and spacing_of(result.posterior.times) == "log":
        return from_description({"model": name, "time_scale": "log"})
    return model

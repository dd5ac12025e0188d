"""Does the model suit the study? It is compared with others, and what it assumes is checked."""

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
from polarbear.race import RaceResult
from polarbear.rankings import choice_counts
from polarbear.records import FloatArray

REPLICATES = 200
"""Enough for the checks that stand beside an answer."""
_RIVALS = ("independent-dirichlet", "random-walk")


@dataclass(frozen=True, slots=True)
class Examination:
    """How well a study's model and others predict its rankings, and whether it may be believed.

    Attributes:
        model: The name of the study's own model in the comparison.
        comparison: The models by their leave-one-instance-out scores.
        overconfidence: Of how many times more instances than were run each model is as sure; about 1 is right.
        checks: What the data say of the assumptions of all these models.
    """

    model: str
    comparison: Comparison
    overconfidence: dict[str, float]
    checks: tuple[Check, ...]

    def as_dict(self) -> dict[str, Any]:
        """The examination as plain JSON-able values."""
        return asdict(self)


def examine(result: RaceResult, models: Sequence[str] = ()) -> Examination:
    """Compare a race's model with others on the race's own rankings, and check what it assumes.

    Instances that weigh too much to be left out by reweighting are left out by fitting again, which is most of the
    time this takes.

    Args:
        result: The race's result, with at least one complete round and two instances.
        models: Names of the models to compare it with, all parameters at their defaults; by default the random walk,
            and the independent Dirichlet model where its own is another. Each is compared as it is published. Time is
            on a log scale where timepoints are spaced so.

    Raises:
        ValueError: If there is no model of that name, there are fewer than two instances, or the posterior does not
            know its model.
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
    surely: dict[str, float] = {}
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
        surely[name] = overconfidence(posterior, result.rated_values, precision=settings.precision)
    return Examination(label(own), compare(scores), surely, checks(result))


def checks(result: RaceResult, *, replicates: int = 400) -> tuple[Check, ...]:
    """What a race's rankings say of what all models assume; the same for the same result."""
    return check(
        result.posterior,
        result.rated_values,
        rng=np.random.default_rng(result.settings.seed),
        precision=result.settings.precision,
        replicates=replicates,
    )


def told(result: RaceResult) -> tuple[dict[str, Any], str]:
    """A race's answer and what its rankings tell against the model: plain JSON-able values, and text."""
    found, checked = answer(result), checks(result, replicates=REPLICATES) if result.begun else ()
    against = ["\n\nNot as the model assumes (polarbear check tells more):", *doubts(checked, result)]
    text = found.text + ("\n  ".join(against) if len(against) > 1 else "")
    return {**found.as_dict(), "checks": [one.as_dict() for one in checked]}, text


def doubts(found: Sequence[Check], result: RaceResult) -> list[str]:
    """Of each check that failed, in one sentence, what was found; but not of what the posterior takes into account."""
    settled = {TIMEPOINTS} if result.posterior.honest else set[str]()
    failed = (one for one in found if one.passed is False and one.name not in settled)
    return [f"{one.name}: {re.split('; |[.] ', one.verdict)[0].rstrip('.')}." for one in failed]


def label(model: Model) -> str:
    """A model's name, and the parameters that are not at their defaults."""
    described = model.describe()
    name = described.pop("model")
    usual = from_description({"model": name}).describe()
    changed = [f"{parameter}={value}" for parameter, value in described.items() if usual[parameter] != value]
    return f"{name} ({', '.join(changed)})" if changed else name


def _named(name: str, result: RaceResult) -> Model:
    model = from_description({"model": name})
    if "time_scale" in model.describe() and _spaced_by_factors(result.posterior.times):
        return from_description({"model": name, "time_scale": "log"})
    return model


def _spaced_by_factors(times: FloatArray) -> bool:
    """Whether timepoints are more evenly spaced on a log scale."""
    if times.size < 3 or times[0] <= 0:
        return False
    steps, factors = np.diff(times), np.diff(np.log(times))
    return bool(factors.std() / factors.mean() < steps.std() / steps.mean())

"""Compare models by how well they predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from polarbear.inference.checking.scores import LeaveOneOut, error_of_sum
from polarbear.quantities import plural

_SMALL = 4.0
"""Differences below this are small, whatever their standard error (Sivula, Magnusson and Vehtari 2020)."""
_LIKELY = 2.0
_CLEAR = 4.0
"""Numbers of standard errors above which a difference is called probable, and clear."""
_FEW_INSTANCES = 30


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """One model in a comparison.

    Attributes:
        name: The model's name.
        elpd: Leave-one-instance-out score; higher is better.
        standard_error: Standard error of the score, most of which all models share.
        effective_parameters: Effective number of parameters, p_loo.
        behind: The best model's score minus this one.
        behind_error: Standard error of `behind`, from the differences instance by instance; 0 for the best model.
        unreliable: Number of instances on which the score is unreliable.
        verdict: The result in words.
    """

    name: str
    elpd: float
    standard_error: float
    effective_parameters: float
    behind: float
    behind_error: float
    unreliable: int
    verdict: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Models ordered by their scores.

    Attributes:
        models: The models, the best first.
        instances: Number of instances they are compared on.
        rankings: Number of rankings they are compared on.
    """

    models: tuple[ComparedModel, ...]
    instances: int
    rankings: int

    def as_dict(self) -> dict[str, Any]:
        """The comparison as plain JSON-able values."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(model.verdict for model in self.models)


def compare(scores: Mapping[str, LeaveOneOut]) -> Comparison:
    """Compare how well models predict left-out instances.

    Differences are taken instance by instance, so that the difficulty that all models share cancels (Vehtari et al.
    2017, eq. 24).

    Args:
        scores: The score of each model on the same values, by the model's name.

    Raises:
        ValueError: If there are no scores, or they are not of the same rankings.
    """
    if not scores:
        raise ValueError("scores is empty; give at least one score of leave_one_out")
    best = max(scores, key=lambda name: scores[name].elpd)
    known = ~np.isnan(scores[best].pointwise)
    for name, score in scores.items():
        if score.pointwise.shape != known.shape or (np.isnan(score.pointwise) == known).any():
            raise ValueError(
                f"the scores of {best!r} and {name!r} are of different rankings; score both on the same values"
            )
    instances, rankings = int(known.any(axis=1).sum()), int(known.sum())
    order = sorted(scores, key=lambda name: -scores[name].elpd)
    return Comparison(
        tuple(_compared(name, scores[name], best, scores[best], instances) for name in order), instances, rankings
    )


def _compared(name: str, score: LeaveOneOut, best: str, top: LeaveOneOut, instances: int) -> ComparedModel:
    behind = top.elpd - score.elpd
    error = 0.0 if name == best else error_of_sum(top.by_instance - score.by_instance)
    return ComparedModel(
        name=name,
        elpd=score.elpd,
        standard_error=score.standard_error,
        effective_parameters=score.effective_parameters,
        behind=behind,
        behind_error=error,
        unreliable=score.unreliable.size,
        verdict=_verdict(name, score, best, behind, error, instances),
    )


def _verdict(name: str, score: LeaveOneOut, best: str, behind: float, error: float, instances: int) -> str:
    words = [_sentence(name, score, best, behind, error)]
    if name != best and instances < _FEW_INSTANCES and behind > _SMALL:
        words.append(f"With only {plural(instances, 'instance')}, the standard error itself is uncertain.")
    if unreliable := score.unreliable.size:
        why = f"{unreliable} instances have" if unreliable > 1 else "1 instance has"
        words.append(f"The score of {name} is unreliable: {why} too much influence.")
    return " ".join(words)


def _sentence(name: str, score: LeaveOneOut, best: str, behind: float, error: float) -> str:
    rankings = max(score.rankings, 1)
    if name == best:
        return f"{name} has the highest log score: {score.elpd:,.1f}, {score.elpd / rankings:.3f} per ranking."
    by = f"{behind:.1f} ± {error:.1f} in log score, {behind / rankings:.4f} per ranking"
    if behind < _SMALL:
        return f"{name} predicts as well as {best}, for all practical purposes: it is behind by {by}."
    if not behind > _LIKELY * error:
        return f"{best} may fit better than {name}, by {by}: within {_LIKELY:g} standard errors of no difference."
    surely = "clearly" if behind > _CLEAR * error else "probably"
    errors = f"{behind / error:.1f} standard errors" if error > 0 else "the same amount on every instance"
    return f"{best} {surely} fits better than {name}, by {by}: {errors}."

"""The results of checks, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from polarbear.inference.checking.certainty import TOO_SURE
from polarbear.inference.checking.evidence import Evidence
from polarbear.quantities import plural
from polarbear.records import FloatArray, IntArray

_MOST_NAMED = 3
_MIRRORED = 1.15
"""Shape of the noise above which it counts as mirrored, between 0.8 for normal noise and 1.5 for the mirror image."""
_HIDDEN = 0.005
"""Smallest share of hidden comparisons that is mentioned."""

WIN_RATES = "win rates"
UNCORRELATED = "uncorrelated algorithms"
IRRELEVANT = "irrelevant alternatives"
GUMBEL = "Gumbel noise"
FIRST = "first places"
TIMEPOINTS = "independent timepoints"
_WHAT = {
    WIN_RATES: "how often the first of a pair wins where both ran",
    UNCORRELATED: "correlation between the ranks of a pair across instances",
    IRRELEVANT: "how much more often the first of a pair wins where a third algorithm ran than where it did not",
    GUMBEL: "how much more closely early choices follow the ratings than late ones: 0 for Gumbel noise, about 0.8 for "
    "normal noise, 1.5 for the mirror image of Gumbel noise",
    FIRST: "share of instances on which an algorithm is the best, among those with a single best one",
    TIMEPOINTS: "correlation between who wins at neighbouring timepoints on the same instance",
}


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one assumption of the Plackett–Luce model.

    Attributes:
        name: The assumption.
        what: The statistic.
        observed: The observed value, the most remarkable one if there are many pairs; None if not checked.
        expected: The interval of 95 % of the replicates; None if not checked.
        p_value: Share of the replicates that are at least as remarkable; None if not checked.
        passed: Whether nothing is remarkable; None if not checked.
        verdict: The result and its meaning, in plain words.
        named: The remarkable algorithms or pairs, the most remarkable first, with the third algorithm if it matters.
    """

    name: str
    what: str
    observed: float | None
    expected: tuple[float, float] | None
    p_value: float | None
    passed: bool | None
    verdict: str
    named: tuple[tuple[str, ...], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The check as plain JSON-able values."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.name}: {self.verdict}"


def nothing_to_check() -> tuple[Check, ...]:
    """The results of all checks if there are no rankings."""
    return tuple(_unchecked(name, "there are no rankings") for name in _WHAT)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The part of the data that checks use.

    Attributes:
        timepoints: Number of timepoints used.
        of: Number of all timepoints.
        hidden: Share of the comparisons at these timepoints that ties hide.
    """

    timepoints: int
    of: int
    hidden: float

    def added_to(self, check: Check, rounded: int = 0) -> Check:
        """Add the coverage to the verdict of a check that skipped `rounded` timepoints."""
        words: list[str] = []
        if self.timepoints - rounded < self.of:
            words.append(f"Used {self.timepoints - rounded} of {self.of} timepoints.")
        if rounded:
            skipped = plural(rounded, "timepoint")
            words.append(f"Skipped {skipped} where ties in the middle of the rankings would bias this check.")
        if self.hidden > _HIDDEN:
            words.append(f"Ties at the winner's rank hide {self.hidden:.0%} of the comparisons.")
        return replace(check, verdict=" ".join([check.verdict, *words]))


def win_rates(evidence: Evidence, pairs: Sequence[tuple[str, str]], rates: FloatArray) -> Check:
    """Whether one rating for each algorithm describes all pairs; `rates` (K,) are those that the ratings imply."""
    if not evidence.possible:
        return _unchecked(WIN_RATES, "no pair of algorithms has comparisons that could have gone either way")
    clauses = [
        f"{pairs[k][0]} won {rates[k] + evidence.observed[k]:.0%} of its comparisons with {pairs[k][1]}, where the "
        f"ratings allow {rates[k] + evidence.low[k]:.0%} to {rates[k] + evidence.high[k]:.0%}"
        for k in evidence.remarkable
    ]
    verdict = "The ratings describe how often each algorithm beats each of the others."
    if clauses:
        verdict = f"{_listed(clauses)}. A single rating for each algorithm does not describe all pairs at once."
    return _checked(WIN_RATES, evidence, verdict, pairs, rates)


def rank_correlations(evidence: Evidence, pairs: Sequence[tuple[str, str]]) -> Check:
    """Whether algorithms do well and badly on the same instances."""
    if not evidence.possible:
        return _unchecked(UNCORRELATED, "at least three algorithms must have run on the same instances")
    words: list[str] = []
    for sign, says, worth in ((1, "are correlated", "less"), (-1, "complement each other", "more")):
        clauses = [
            f"{pairs[k][0]} and {pairs[k][1]} {says} across instances (rank correlation {evidence.observed[k]:.2f}, "
            f"compared with {evidence.low[k]:.2f} to {evidence.high[k]:.2f} under independent noise)"
            for k in evidence.remarkable
            if sign * evidence.z[k] > 0
        ]
        if clauses:
            words.append(
                f"{_listed(clauses)}. A portfolio of such a pair is worth {worth} than the sum of its ratings."
            )
    verdict = " ".join(words) or "No sign that two algorithms tend to do well, or badly, on the same instances."
    return _checked(UNCORRELATED, evidence, verdict, pairs)


def irrelevant_alternatives(evidence: Evidence, triples: Sequence[tuple[str, str, str]]) -> Check:
    """Whether who wins depends on who else is present; `triples` are a pair and the third algorithm."""
    if not evidence.possible:
        return _unchecked(
            IRRELEVANT, "at no timepoint was an algorithm run on enough instances and absent from enough others"
        )
    clauses = [
        f"{triples[k][0]} beats {triples[k][1]} {'more' if evidence.z[k] > 0 else 'less'} often where {triples[k][2]} "
        f"ran than where it did not, by {abs(100 * evidence.observed[k]):.0f} percentage points"
        for k in evidence.remarkable
    ]
    verdict = "Who wins does not visibly depend on who else ran."
    if clauses:
        verdict = (
            f"{_listed(clauses)}. The instances on which an algorithm ran differ from the others: look for crashes, "
            "time-outs, or a systematic order of the instances."
        )
    return _checked(IRRELEVANT, evidence, verdict, triples)


def noise_shape(evidence: Evidence) -> Check:
    """Whether the noise of utilities is Gumbel noise."""
    if not evidence.possible:
        return _unchecked(GUMBEL, "at least three algorithms must have run on the same instances without ties")
    if evidence.passed:
        verdict = "The noise looks like Gumbel noise."
    elif evidence.z[0] < 0:
        verdict = (
            "The noise is not Gumbel noise but even more one-sided: unusually good runs are more frequent, and "
            "unusually bad ones less frequent, than under Gumbel noise."
        )
    else:
        shape = "its mirror image" if evidence.observed[0] > _MIRRORED else "rather symmetric, like normal noise"
        verdict = (
            f"The noise is not Gumbel noise but {shape}: unusually bad runs are more frequent, and unusually good ones "
            "less frequent, than under Gumbel noise. Win probabilities of pairs are hardly affected, but a rating is "
            "only roughly the probability of being the best."
        )
    return _checked(GUMBEL, evidence, verdict)


def first_places(
    evidence: Evidence, names: Sequence[str], times: FloatArray, ratings: FloatArray, instances: IntArray
) -> Check:
    """Whether ratings say who is first; `evidence` is on each algorithm at each of the timepoints `times`."""
    if not evidence.possible:
        return _unchecked(FIRST, "at least three algorithms must have run on instances with a single best one")
    worst: dict[int, int] = {}
    for k in evidence.remarkable.tolist():
        worst.setdefault(k % len(names), k)
    rating = ratings.ravel()
    low, observed, high = (rating + shift for shift in (evidence.low, evidence.observed, evidence.high))
    clauses = [
        f"{names[i]} was first on {observed[k]:.0%} of the {instances[k // len(names)]} instances with a single "
        f"best algorithm at {times[k // len(names)]:g}, where its rating of {rating[k]:.2g} allows {low[k]:.0%} to "
        f"{high[k]:.0%}"
        for i, k in worst.items()
    ]
    verdict = "The ratings match how often each algorithm is the best."
    if clauses:
        verdict = f"{_listed(clauses)}. So a rating is not the probability of being the best."
    return replace(_checked(FIRST, evidence, verdict, shift=rating), named=tuple((names[i],) for i in worst))


def timepoints(evidence: Evidence, per_instance: float, factor: float, excess: float | None, *, joint: bool) -> Check:
    """Whether the rankings of the same runs at several timepoints are independent.

    Args:
        evidence: Evidence on the agreement at neighbouring timepoints.
        per_instance: Mean number of timepoints of an instance with a ranking.
        factor: Number of timepoints that say as much as one independent timepoint.
        excess: Factor by which the posterior overstates the number of instances, if known.
        joint: Whether the posterior is joint over time.
    """
    if not evidence.possible:
        return _unchecked(TIMEPOINTS, "several timepoints, and outcomes that differ between instances, are needed")
    if evidence.passed:
        return _checked(TIMEPOINTS, evidence, "No sign that rankings of the same runs depend on each other over time.")
    if evidence.z[0] < 0:
        return _checked(TIMEPOINTS, evidence, "On the same instance, the winner changes more often than by chance.")
    words = [
        f"The rankings of the same runs repeat each other: {per_instance:.0f} timepoints of an instance carry as much "
        f"information as {per_instance / factor:.1f} independent ones."
    ]
    if excess is not None and excess > TOO_SURE:
        words.append(
            f"The model counts each as new evidence, so the posterior is as narrow as if {excess:.1f} times as many "
            f"instances had been run: its intervals should be about {np.sqrt(excess):.1f} times as wide."
        )
    elif joint:
        words.append("This posterior is hardly overconfident as a result.")
    else:
        words.append("Statements about one timepoint are unaffected, but those about several are overconfident.")
    return _checked(TIMEPOINTS, evidence, " ".join(words))


def _checked(
    name: str,
    evidence: Evidence,
    verdict: str,
    groups: Sequence[tuple[str, ...]] = (),
    shift: FloatArray | None = None,
) -> Check:
    top = evidence.most_remarkable
    by = 0.0 if shift is None else float(shift[top])
    remarkable: list[int] = evidence.remarkable.tolist()
    return Check(
        name=name,
        what=_WHAT[name],
        observed=float(evidence.observed[top]) + by,
        expected=(float(evidence.low[top]) + by, float(evidence.high[top]) + by),
        p_value=evidence.p_value,
        passed=evidence.passed,
        verdict=verdict,
        named=tuple(groups[k] for k in remarkable) if groups else (),
    )


def _unchecked(name: str, why: str) -> Check:
    return Check(name, _WHAT[name], None, None, None, None, f"Not checked: {why}.")


def _listed(clauses: Sequence[str]) -> str:
    """The first clauses, and the number of the others."""
    more = len(clauses) - _MOST_NAMED
    return "; ".join([*clauses[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])

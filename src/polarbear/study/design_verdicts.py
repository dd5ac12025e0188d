"""Verdicts on candidates, from the race and the findings before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from polarbear.configure.contests import portfolio
from polarbear.design import Candidate, History, Verdict
from polarbear.racing import Race
from polarbear.records import FloatArray, Outcome, RunKey


class Finding(NamedTuple):
    """The finding before a candidate races: what is wrong with it, empty if nothing, and how its output begins."""

    wrong: str
    printed: str


class Spent(NamedTuple):
    """The number of a candidate's runs in the race, the number of failed ones, and how the first of these failed."""

    runs: int = 0
    failures: int = 0
    first: str = ""


def history_of(
    generations: Sequence[Sequence[Candidate]],
    findings: Mapping[str, Finding],
    race: Race | None,
    outcomes: Iterable[tuple[RunKey, Outcome]],
    seed: int,
    times: FloatArray,
) -> History:
    """The verdicts on all candidates.

    Args:
        generations: The candidates of each generation.
        findings: The findings before they raced, by name.
        race: The race; None if there was none yet.
        outcomes: The outcomes of all runs.
        seed: The seed of the design.
        times: (T,) timepoints.
    """
    spent = _spent(outcomes)
    best = _best(race) if race else {}
    known: dict[str, Verdict] = {}
    verdicts: list[Verdict] = []
    for generation, candidates in enumerate(generations, start=1):
        for candidate in candidates:
            name = candidate.name
            if name in known:
                first = f"it was already proposed in generation {known[name].generation}, and is {known[name].status}"
                verdicts.append(Verdict(name, generation, candidate, "repeated", (first,)))
                continue
            finding = findings[name]
            if finding.wrong or race is None:
                verdict = Verdict(name, generation, candidate, "refused", (finding.wrong,))
            else:
                verdict = _raced(Verdict(name, generation, candidate, "refused", ()), race, best, spent, times)
            if finding.printed:
                remark = f"its output, which is discarded, begins with {finding.printed!r}"
                verdict = replace(verdict, reasons=(*verdict.reasons, remark))
            known[name] = verdict
            verdicts.append(verdict)
    return History(len(generations) + 1, times, tuple(verdicts), tuple(best), seed)


def _spent(outcomes: Iterable[tuple[RunKey, Outcome]]) -> dict[str, Spent]:
    spent: dict[str, Spent] = {}
    for key, outcome in outcomes:
        runs, failures, first = spent.get(key.algorithm, Spent())
        if not outcome.ok:
            failures, first = failures + 1, first or f"{outcome.reason}: {outcome.message}"
        spent[key.algorithm] = Spent(runs + 1, failures, first)
    return spent


def _best(race: Race) -> dict[str, FloatArray]:
    """For each member of the Pareto set, best first, (T,) the probability that its rating is the highest."""
    members = portfolio(race.posterior, race.pareto_set, len(race.pareto_set))
    return dict(zip(members, race.posterior.probability_best(members).T, strict=True))


def _raced(
    verdict: Verdict, race: Race, best: Mapping[str, FloatArray], spent: Mapping[str, Spent], times: FloatArray
) -> Verdict:
    """The verdict on a candidate that took part in the race."""
    name, own = verdict.name, spent.get(verdict.name, Spent())
    known = next((each for each in reversed(race.rounds) if name in each.dominance), None)
    rival = known.dominance[name] if known else None
    counted = replace(
        verdict,
        rival=rival.name if rival else "",
        dominated=rival.probability if rival else 0.0,
        runs=own.runs,
        failures=own.failures,
    )
    failed = (f"{own.failures} of its {own.runs} runs failed (the first: {own.first})",) if own.failures else ()
    if name in race.state.withdrawn:
        return replace(counted, status="set aside", reasons=("none of its runs found a value", *failed))
    if name in race.state.eliminated:
        by = race.state.eliminated[name]
        why = f"{by} is better at all timepoints with probability {counted.dominated:.3g}"
        return replace(counted, status="dominated", rival=by, reasons=(why, *failed))
    reasons = (_where_best(name, best, times), *failed)
    if rival:
        reasons += (f"{rival.name} is better at all timepoints with probability {rival.probability:.3g}",)
    return replace(counted, status="in the Pareto set", reasons=reasons, best=best[name])


def _where_best(name: str, best: Mapping[str, FloatArray], times: FloatArray) -> str:
    """The timepoints at which a member of the Pareto set is most probably the best, in words."""
    own = best[name]
    first = own >= np.max([*best.values()], axis=0)
    if not first.any():
        at = int(own.argmax())
        return (
            f"it is nowhere the most probable best; its probability peaks at {own[at]:.2g} after {times[at]:,.0f} "
            "evaluations"
        )
    said = ", ".join(f"{time:,.0f} ({share:.2g})" for time, share in zip(times[first], own[first], strict=True))
    return f"it is the most probable best after these numbers of evaluations (with probability): {said}"

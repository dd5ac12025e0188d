"""Requests for runs, and the records of rounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.racing.relations import BoolArray
from polarbear.racing.state import UNAVAILABLE, RaceState
from polarbear.records import FloatArray, RunKey


@dataclass(frozen=True, slots=True)
class Request:
    """One run the race asks for.

    Attributes:
        key: The run's key. A driver with named instances replaces ``key.instance``; the race identifies a run by its
            algorithm and seed.
        draw: Index of the problem instance in the stream of instances, from 0.
        until: Budget of the run, on the race's axis (evaluations or seconds).
    """

    key: RunKey
    draw: int
    until: float


@dataclass(frozen=True, slots=True)
class Rival:
    """The competitor most likely to dominate an algorithm at every timepoint, and that probability."""

    name: str
    probability: float


@dataclass(frozen=True, slots=True)
class Round:
    """One round's runs and decisions (one pass of the loop of algorithm 1, Wurth et al. 2026, section 4.3).

    Attributes:
        number: Number of the round, from 1.
        batch: Number of instances each algorithm ran on in this round; 0 if it only records a user's withdrawal.
        instances: Number of instances drawn so far.
        runs: Number of runs so far.
        failures: Number of runs so far that failed, timed out or were killed.
        evaluations: Number of evaluations spent so far, by all runs.
        seconds: Wall-clock seconds spent so far inside runs.
        horizon: Budget of each algorithm's runs in this round, on the race's axis; absent if it was not run.
        dominance: The strongest rival of every candidate at the round's start; empty if there was only one candidate.
            Under pointwise elimination the probability is the smallest over the timepoints, under joint elimination
            that of dominance at all of them jointly.
        eliminated: Algorithms eliminated in this round, each with the algorithm that eliminated it.
        withdrawn: Algorithms withdrawn by the user, or set aside because none of their runs returned anything.
        candidates: The candidate Pareto set after the round.
        settled: Candidates whose relation to every other candidate is resolved.
        resolved_pairs: Number of pairs, of all n(n-1)/2, resolved at every timepoint; those of eliminated algorithms
            count.
        resolved_share: Share of all (pair, timepoint) relations that are resolved.
        next_batch: Batch size of the next round.
        smallest_ess: Smallest effective sample size of the posterior over the timepoints.
        largest_k_hat: Largest Pareto k-hat of the posterior over the timepoints; None if no timepoint has one.
        inference_seconds: Wall-clock seconds spent on the posterior.
        overconfidence: Factor by which the posterior overstates the number of instances, if the model counts repeated
            rankings as new evidence (see `polarbear.inference.overconfidence`); else None.
    """

    number: int
    batch: int
    instances: int
    runs: int
    failures: int
    evaluations: int
    seconds: float
    horizon: dict[str, float]
    dominance: dict[str, Rival]
    eliminated: dict[str, str]
    withdrawn: tuple[str, ...]
    candidates: tuple[str, ...]
    settled: tuple[str, ...]
    resolved_pairs: int
    resolved_share: float
    next_batch: int
    smallest_ess: float
    largest_k_hat: float | None
    inference_seconds: float
    overconfidence: float | None = None

    @property
    def way_out(self) -> str:
        """How the algorithms in `withdrawn` left: "withdrawn" by the user, or "set aside"."""
        return "set aside" if self.batch else "withdrawn"

    def as_dict(self) -> dict[str, Any]:
        """The round as plain JSON-able values, without overconfidence if it was not measured."""
        return {name: value for name, value in asdict(self).items() if name != "overconfidence" or value is not None}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Round:
        """The round represented by the result of `as_dict`."""
        fields = dict(record)
        fields["dominance"] = {name: Rival(**rival) for name, rival in record["dominance"].items()}
        fields |= {name: tuple(record[name]) for name in ("withdrawn", "candidates", "settled")}
        return cls(**fields)


def asked_after(
    state: RaceState,
    requests: Mapping[tuple[str, int], Request],
    times: FloatArray,
    unavailable: Collection[tuple[str, int]],
) -> NDArray[np.int16]:
    """`RaceState.asked` after these requests, some of them unavailable, in a race with timepoints (T,)."""
    columns = {name: index for index, name in enumerate(state.algorithms)}
    drawn = max(state.instances, 1 + max(request.draw for request in requests.values()))
    asked = np.pad(state.asked, ((0, drawn - state.instances), (0, 0)))
    for identity, request in requests.items():
        reach = UNAVAILABLE if identity in unavailable else np.searchsorted(times, request.until, side="right")
        asked[request.draw, columns[request.key.algorithm]] = reach
    return asked


def silent(requests: Iterable[Request], values: FloatArray, names: tuple[str, ...]) -> list[str]:
    """Algorithms with several runs in a round none of which returned anything; none if that is so of all algorithms.

    Args:
        requests: The requests of the round that runs answered.
        values: (P, T, n) best values, as in `RaceResult`.
        names: The n algorithms' names.
    """
    draws_of: dict[str, list[int]] = {}
    for request in requests:
        draws_of.setdefault(request.key.algorithm, []).append(request.draw)
    mute = [
        name
        for name, draws in draws_of.items()
        if len(draws) > 1 and np.isnan(values[draws, :, names.index(name)]).all()
    ]
    return mute if len(mute) < len(draws_of) else []


def strongest_rivals(names: tuple[str, ...], candidates: BoolArray, anytime: FloatArray) -> dict[str, Rival]:
    """Each candidate's strongest rival, by the (n, n) `dominates_anytime` of `Relations`; none if it is alone."""
    rivals: dict[str, Rival] = {}
    for index in np.flatnonzero(candidates) if candidates.sum() > 1 else ():
        chance = np.where(candidates, anytime[:, index], -1.0)
        chance[index] = -1.0
        rival = int(np.argmax(chance))
        rivals[names[index]] = Rival(names[rival], float(chance[rival]))
    return rivals


def taking_part(rounds: Iterable[Round]) -> list[int]:
    """Number of algorithms that have taken part up to each round, including eliminated and withdrawn ones."""
    known: set[str] = set()
    counts: list[int] = []
    for each in rounds:
        known.update(each.candidates, each.eliminated, each.withdrawn)
        counts.append(len(known))
    return counts


def disagreements(this: Round, before: RaceState | None, after: RaceState) -> list[str]:
    """Contradictions between a round and the states before and after it, in words.

    Args:
        this: The round.
        before: The state after the previous round; None if this is the first round.
        after: The state after this round.
    """
    before = before or RaceState.start(after.algorithms, len(after.resolved), after.batch)
    known = len(before.algorithms)
    if after.algorithms[:known] != before.algorithms or len(after.resolved) != len(before.resolved):
        return ["state does not have the algorithms and timepoints of the previous round"]
    for name in after.algorithms[known:]:
        before = before.joined_by(name)
    if (more := after.instances - before.instances) < 0:
        return ["state has fewer instances than after the previous round"]
    names, racing = np.array(after.algorithms), before.candidates
    asked = (after.asked != np.pad(before.asked, ((0, more), (0, 0)))).any(axis=0)
    expected: dict[str, tuple[Iterable[str], Iterable[str]]] = {
        "round.horizon": (this.horizon, names[asked]),
        "round.dominance": (this.dominance, names[racing] if racing.sum() > 1 else ()),
        "round.eliminated": (
            this.eliminated,
            [loser for loser, by in after.eliminated.items() if before.eliminated.get(loser) != by],
        ),
        "round.withdrawn": (this.withdrawn, [name for name in after.withdrawn if name not in before.withdrawn]),
        "round.candidates": (this.candidates, names[after.candidates]),
    }
    if not this.withdrawn:
        behind = replace(after, catching_up={name: after.next_draw(name) for name in before.catching_up})
        expected["state.catching_up"] = (after.catching_up, behind.still_catching_up().catching_up)
    return [
        f"{field} names {', '.join(sorted(actual)) or 'no algorithm'}; according to the other fields and the previous "
        f"round, it must name {', '.join(sorted(required)) or 'no algorithm'}"
        for field, (actual, required) in expected.items()
        if set(actual) != set(required)
    ]

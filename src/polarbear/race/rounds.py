"""What passes in and out of a race: requests for runs, and the record of each round."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.race.relations import BoolArray
from polarbear.race.state import RaceState
from polarbear.records import FloatArray, RunKey


@dataclass(frozen=True, slots=True)
class Request:
    """One run the race asks for.

    Attributes:
        key: Names the run. A driver with named instances replaces ``key.instance``; the race recognizes a run by
            its algorithm and seed.
        draw: Index of the problem instance in the stream of instances, from 0.
        until: How far to run, on the race's axis (evaluations or seconds).
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
    """What one round did and decided (one turn of the loop of algorithm 1, Wurth et al. 2026, section 4.3).

    Attributes:
        number: From 1.
        batch: Instances each asked algorithm ran on in this round; 0 if it only records what the user withdrew.
        instances: Instances drawn so far.
        runs: Runs so far.
        failures: Runs so far that failed, timed out or were killed.
        evaluations: Evaluations spent so far, by all runs.
        seconds: Wall-clock seconds spent so far inside runs.
        horizon: How far each algorithm was run in this round, on the race's axis; absent if it was not run.
        dominance: For every candidate at the round's start, its strongest rival; empty if there was but one. Under
            pointwise elimination the probability is the smallest over the timepoints, under joint elimination that of
            all at once.
        eliminated: Algorithms eliminated in this round, and by whom.
        withdrawn: Algorithms withdrawn by the user, or set aside as of all their runs in the round nothing came back.
        candidates: The candidate Pareto set after the round.
        settled: Candidates whose relation to every other candidate is resolved.
        resolved_pairs: Pairs resolved at every timepoint, of all n(n-1)/2; those of eliminated algorithms count.
        resolved_share: Share of all (pair, timepoint) relations that are resolved.
        next_batch: Batch size of the next round.
        smallest_ess: Smallest effective sample size of the posterior over the timepoints.
        largest_k_hat: Largest Pareto k-hat of the posterior over the timepoints (None where no
            timepoint has one).
        inference_seconds: Wall-clock seconds the posterior took.
        overconfidence: Of how many times more instances than were run the posterior is as sure, where the model counts
            repeated rankings as new (see `polarbear.inference.overconfidence`); else None.
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
        """How those in `withdrawn` left: "withdrawn" by the user, or "set aside"."""
        return "set aside" if self.batch else "withdrawn"

    def as_dict(self) -> dict[str, Any]:
        """The round as plain JSON-able values, without overconfidence that was not measured."""
        fields = asdict(self)
        if self.overconfidence is None:
            del fields["overconfidence"]
        return fields

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Round:
        """The round that `as_dict` wrote."""
        fields = dict(record)
        fields["dominance"] = {name: Rival(**rival) for name, rival in record["dominance"].items()}
        fields |= {name: tuple(record[name]) for name in ("withdrawn", "candidates", "settled")}
        return cls(**fields)


def asked_after(state: RaceState, requests: Collection[Request], times: FloatArray) -> NDArray[np.int16]:
    """`RaceState.asked` once these requests are met, in a race with timepoints (T,)."""
    places = {name: index for index, name in enumerate(state.algorithms)}
    drawn = max(state.instances, 1 + max(request.draw for request in requests))
    asked = np.pad(state.asked, ((0, drawn - state.instances), (0, 0)))
    for request in requests:
        reached = np.searchsorted(times, request.until, side="right")
        asked[request.draw, places[request.key.algorithm]] = reached
    return asked


def silent(requests: Iterable[Request], values: FloatArray, names: tuple[str, ...]) -> list[str]:
    """Algorithms of whose runs in a round nothing came back; of all or of one run it may be bad luck.

    Args:
        requests: The round's.
        values: (P, T, n) as in `RaceResult`.
        names: The n algorithms.
    """
    cells: dict[str, list[int]] = {}
    for request in requests:
        cells.setdefault(request.key.algorithm, []).append(request.draw)
    found = [
        name for name, draws in cells.items() if len(draws) > 1 and np.isnan(values[draws, :, names.index(name)]).all()
    ]
    return found if len(found) < len(cells) else []


def strongest_rivals(names: tuple[str, ...], candidates: BoolArray, anytime: FloatArray) -> dict[str, Rival]:
    """For each candidate (n,) the one most likely to dominate it, by (n, n) as in `Relations`; none if it is alone."""
    rivals: dict[str, Rival] = {}
    for index in np.flatnonzero(candidates) if candidates.sum() > 1 else ():
        chance = np.where(candidates, anytime[:, index], -1.0)
        chance[index] = -1.0
        rival = int(np.argmax(chance))
        rivals[names[index]] = Rival(names[rival], float(chance[rival]))
    return rivals


def taking_part(rounds: Iterable[Round]) -> list[int]:
    """How many algorithms have taken part until each round, those that are out included; their pairs are counted."""
    known: set[str] = set()
    counts: list[int] = []
    for this in rounds:
        known.update(this.candidates, this.eliminated, this.withdrawn)
        counts.append(len(known))
    return counts


def disagreements(this: Round, before: RaceState | None, after: RaceState) -> list[str]:
    """Where a round and the state after it do not fit what the state before it allows, in words.

    Args:
        this: The round.
        before: The state after the round before; None if this is the first one.
        after: The state after this round.
    """
    before = before or RaceState.start(after.algorithms, len(after.resolved), after.batch)
    known = len(before.algorithms)
    if after.algorithms[:known] != before.algorithms or len(after.resolved) != len(before.resolved):
        return ["state has not the algorithms and timepoints of the round before"]
    for name in after.algorithms[known:]:
        before = before.joined_by(name)
    if (more := after.instances - before.instances) < 0:
        return ["state has less instances than after the round before"]
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
        f"{field} names {', '.join(sorted(found)) or 'nobody'} where by the other fields and the round before it must "
        f"name {', '.join(sorted(wanted)) or 'nobody'}"
        for field, (found, wanted) in expected.items()
        if set(found) != set(wanted)
    ]

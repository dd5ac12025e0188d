"""The state of a race between rounds, apart from the runs themselves."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.racing.relations import BoolArray, eliminations, last_unresolved
from polarbear.records import FloatArray

UNAVAILABLE = -1
"""Entry of `RaceState.asked` if an algorithm was asked to run on an instance and no run can answer."""
FEW = 64
"""Number of algorithms above which a race rates only the candidates, and compresses the arrays it stores."""


@dataclass(frozen=True, slots=True, eq=False)
class RaceState:
    """The state of a race. It is immutable: every round makes a new one.

    Attributes:
        algorithms: The algorithms' names, in the order of all arrays.
        resolved: (T, n, n) resolved relations C(t, {A, B}) of algorithm 1; symmetric, true on the diagonal.
        asked: (instances, n) number of timepoints up to which each algorithm was asked to run on each instance; 0 if it
            was not asked, `UNAVAILABLE` if no run could answer. Values beyond that enter no ranking, since which runs
            get further depends on their course.
        round: Number of rounds completed.
        batch: Number of instances in the next round.
        eliminated: Eliminated algorithms, each with the algorithm that eliminated it.
        withdrawn: Algorithms withdrawn by the user, or set aside because no run of a whole round returned anything.
        catching_up: Algorithms that joined or returned during the race, each with the first drawn instance that it has
            yet to run on; each has an open pair, and at least one of these instances in `cached`.
    """

    algorithms: tuple[str, ...]
    resolved: BoolArray
    asked: NDArray[np.int16]
    round: int = 0
    batch: int = 8
    eliminated: dict[str, str] = field(default_factory=dict[str, str])
    withdrawn: tuple[str, ...] = ()
    catching_up: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def start(cls, algorithms: tuple[str, ...], timepoints: int, batch: int) -> RaceState:
        """The initial state: nothing drawn, nothing resolved (algorithm 1, lines 1–3)."""
        resolved = np.broadcast_to(np.eye(len(algorithms), dtype=bool), (timepoints, *[len(algorithms)] * 2))
        return cls(algorithms, resolved.copy(), np.zeros((0, len(algorithms)), dtype=np.int16), batch=batch)

    @property
    def instances(self) -> int:
        """Number of instances drawn so far."""
        return self.asked.shape[0]

    @property
    def candidates(self) -> BoolArray:
        """(n,) mask of the candidate Pareto set."""
        return np.array([name not in self.eliminated and name not in self.withdrawn for name in self.algorithms])

    @property
    def finished(self) -> bool:
        """Whether every pair is resolved at every timepoint."""
        return bool(self.resolved.all())

    def cached(self, start: int) -> list[tuple[int, int]]:
        """Drawn instances from `start` on that a candidate ran on, and the last timepoint any was asked to run to."""
        reached = self.asked[start:, self.candidates].max(axis=1, initial=0)
        return [(start + draw, int(count) - 1) for draw, count in enumerate(reached) if count]

    def next_draw(self, name: str) -> int:
        """Index of the instance after the last one that an algorithm was asked to run on."""
        return 1 + int(np.flatnonzero(self.asked[:, self.algorithms.index(name)]).max(initial=-1))

    def still_catching_up(self) -> RaceState:
        """The state in which only algorithms with an open pair and drawn instances to run on are catching up."""
        last = dict(zip(self.algorithms, last_unresolved(self.resolved), strict=True))
        behind = {name: start for name, start in self.catching_up.items() if last[name] >= 0 and self.cached(start)}
        return replace(self, catching_up=behind)

    def joined_by(self, name: str) -> RaceState:
        """The state with another candidate, unresolved against all others, that catches up on the drawn instances."""
        larger = replace(
            self,
            algorithms=(*self.algorithms, name),
            resolved=np.pad(self.resolved, ((0, 0), (0, 1), (0, 1)), constant_values=True),
            asked=np.pad(self.asked, ((0, 0), (0, 1))),
        )
        return _opened(larger, name).still_catching_up()

    def without(self, name: str, dominates_anytime: FloatArray, alpha: float) -> RaceState:
        """The state without an algorithm; those it had eliminated return, unless another candidate dominates them.

        Args:
            name: The algorithm's name.
            dominates_anytime: (n, n) probabilities of dominance, as in `Relations`.
            alpha: Decision threshold.
        """
        index = self.algorithms.index(name)
        resolved = self.resolved.copy()
        resolved[:, index, :] = resolved[:, :, index] = True
        remaining = replace(
            self,
            resolved=resolved,
            eliminated={loser: by for loser, by in self.eliminated.items() if name not in {loser, by}},
            withdrawn=(*self.withdrawn, name),
            catching_up={other: start for other, start in self.catching_up.items() if other != name},
        )
        names, losers = self.algorithms, eliminations(dominates_anytime, remaining.candidates, alpha)
        returning = [loser for loser, by in self.eliminated.items() if by == name]
        again = {loser: names[losers[i]] for loser in returning if (i := names.index(loser)) in losers}
        remaining = replace(remaining, eliminated=remaining.eliminated | again)
        for loser in returning:
            remaining = remaining if loser in again else _opened(remaining, loser)
        return remaining.still_catching_up()

    def as_dict(self) -> dict[str, Any]:
        """The state as plain JSON-able values: `resolved` as base64 of its packed bits, `asked` of its 16-bit words.

        With more than 64 algorithms both are first compressed by zlib (RFC 1950).
        """
        return {
            "algorithms": list(self.algorithms),
            "round": self.round,
            "batch": self.batch,
            "eliminated": self.eliminated,
            "withdrawn": list(self.withdrawn),
            "catching_up": self.catching_up,
            "timepoints": self.resolved.shape[0],
            "resolved": encoded(np.packbits(self.resolved).tobytes(), len(self.algorithms)),
            "asked": encoded(self.asked.astype("<i2").tobytes(), len(self.algorithms)),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> RaceState:
        """The state represented by the result of `as_dict`."""
        n = len(record["algorithms"])
        shape = (record["timepoints"], n, n)
        asked = np.frombuffer(decoded(record["asked"], n), "<i2").astype(np.int16)
        bits = np.unpackbits(np.frombuffer(decoded(record["resolved"], n), np.uint8), count=int(np.prod(shape)))
        return cls(
            algorithms=tuple(record["algorithms"]),
            resolved=bits.reshape(shape).astype(bool),
            round=record["round"],
            asked=asked.reshape(-1, n),
            batch=record["batch"],
            eliminated=dict(record["eliminated"]),
            withdrawn=tuple(record["withdrawn"]),
            catching_up=dict(record["catching_up"]),
        )


def encoded(data: bytes, algorithms: int) -> str:
    """An array's bytes as text, compressed if there are many algorithms."""
    return base64.b64encode(data if algorithms <= FEW else zlib.compress(data)).decode()


def decoded(text: str, algorithms: int) -> bytes:
    """The bytes encoded by `encoded`.

    Raises:
        ValueError: If the text cannot be decoded.
    """
    data = base64.b64decode(text, validate=True)
    try:
        return data if algorithms <= FEW else zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error


def _opened(state: RaceState, name: str) -> RaceState:
    """The state with a candidate unresolved against all others and catching up on instances drawn since it ran."""
    index, others = state.algorithms.index(name), state.candidates
    others[index] = False
    resolved = state.resolved.copy()
    resolved[:, index, others] = resolved[:, others, index] = False
    return replace(state, resolved=resolved, catching_up=state.catching_up | {name: state.next_draw(name)})

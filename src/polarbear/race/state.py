"""All that a race must remember between rounds, apart from the runs themselves."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polarbear.race.relations import BoolArray


def _no_names() -> dict[str, str]:
    return {}


def _no_counts() -> dict[str, int]:
    return {}


@dataclass(frozen=True, slots=True, eq=False)
class RaceState:
    """Where a race stands. Immutable: every round makes a new one.

    Attributes:
        algorithms: Names, in the order of all arrays.
        resolved: (T, n, n) C(t, {A, B}) of algorithm 1; symmetric, true on the diagonal.
        round: Rounds completed.
        instances: Instances drawn so far.
        batch: Instances in the next round.
        eliminated: Eliminated algorithms, and by whom.
        catching_up: Algorithms added during the race, and how many of the drawn instances they have run on.
    """

    algorithms: tuple[str, ...]
    resolved: BoolArray
    round: int = 0
    instances: int = 0
    batch: int = 8
    eliminated: dict[str, str] = field(default_factory=_no_names)
    catching_up: dict[str, int] = field(default_factory=_no_counts)

    @classmethod
    def start(cls, algorithms: tuple[str, ...], timepoints: int, batch: int) -> RaceState:
        """Nothing drawn, nothing resolved (algorithm 1, lines 1–3)."""
        resolved = np.broadcast_to(np.eye(len(algorithms), dtype=bool), (timepoints, *[len(algorithms)] * 2))
        return cls(algorithms, resolved.copy(), batch=batch)

    @property
    def candidates(self) -> BoolArray:
        """(n,) the candidate Pareto set."""
        return np.array([name not in self.eliminated for name in self.algorithms])

    @property
    def finished(self) -> bool:
        """Whether every pair is resolved at every timepoint."""
        return bool(self.resolved.all())

    def as_dict(self) -> dict[str, Any]:
        """The state as plain JSON-able values; `resolved` as base64 of its packed bits."""
        return {
            "algorithms": list(self.algorithms),
            "round": self.round,
            "instances": self.instances,
            "batch": self.batch,
            "eliminated": self.eliminated,
            "catching_up": self.catching_up,
            "timepoints": self.resolved.shape[0],
            "resolved": base64.b64encode(np.packbits(self.resolved).tobytes()).decode(),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> RaceState:
        """The state that `as_dict` wrote."""
        shape = (record["timepoints"], *[len(record["algorithms"])] * 2)
        bits = np.unpackbits(np.frombuffer(base64.b64decode(record["resolved"]), np.uint8), count=int(np.prod(shape)))
        return cls(
            algorithms=tuple(record["algorithms"]),
            resolved=bits.reshape(shape).astype(bool),
            round=record["round"],
            instances=record["instances"],
            batch=record["batch"],
            eliminated=dict(record["eliminated"]),
            catching_up=dict(record["catching_up"]),
        )

"""Branches of a run: alternative continuations from some evaluation on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from polarbear.records.keys import RunKey

STAY = "stay"
"""The branch on which the run's own optimizer continues."""
MOST_REPEATS = 10_000
"""Maximum number of repeats of a branch, whose seed is the run's seed times this plus the repeat."""
_NAME = re.compile(r"(?P<first>.+)@(?P<at>[1-9]\d*)→(?P<into>[^@]+)")


@dataclass(frozen=True, slots=True)
class Branch:
    """Identifies a branch of a run.

    Its key contains everything: the algorithm has a name such as ``"DE@500→PSO"`` or ``"DE@500→stay"``, and repeat 2 of
    the run with seed 3 has the seed 30002. So all branches of a run share its instance, and those to be compared with
    each other share a seed.

    Attributes:
        run: Key of the run that is left.
        at: Number of evaluations after which it is left.
        into: Name of the algorithm that continues, or ``"stay"``.
        repeat: Number of the repeat, from 0.
    """

    run: RunKey
    at: int
    into: str
    repeat: int

    @property
    def key(self) -> RunKey:
        """The key of the branch, which itself is a run from the first evaluation on."""
        name = f"{self.run.algorithm}@{self.at}→{self.into}"
        return RunKey(self.run.instance, name, self.run.seed * MOST_REPEATS + self.repeat)

    @property
    def entropy(self) -> int:
        """The seed of everything after the branching, the same whichever algorithm continues."""
        return self.run.entropy(f"branch\0{self.at}\0{self.repeat}")

    @classmethod
    def of(cls, key: RunKey) -> Branch:
        """The branch with a given key.

        Raises:
            ValueError: If the key is not that of a branch.
        """
        if not (match := _NAME.fullmatch(key.algorithm)):
            raise ValueError(f"{key} is not a branch of a run; polarbear branch creates branches")
        seed, repeat = divmod(key.seed, MOST_REPEATS)
        return cls(RunKey(key.instance, match["first"], seed), int(match["at"]), match["into"], repeat)

"""Branches of a run: what would have become of it from some evaluation on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from polarbear.records.keys import RunKey

STAY = "stay"
"""The branch on which the run's own optimizer goes on."""
MOST_REPEATS = 10_000
"""Repeats of a branch; the seed of a branch is that of its run times this, plus the repeat."""
_NAME = re.compile(r"(?P<first>.+)@(?P<at>[1-9]\d*)→(?P<into>[^@]+)")


@dataclass(frozen=True, slots=True)
class Branch:
    """Which branch of which run.

    Its key tells all of it: the algorithm is called such as ``"DE@500→PSO"`` or ``"DE@500→stay"``, and run 3's repeat 2
    has the seed 30002. So all branches of a run have its instance, and those that are to be compared one seed.

    Attributes:
        run: The run that it leaves.
        at: After how many evaluations.
        into: The algorithm that goes on, or ``"stay"``.
        repeat: Which repeat, from 0.
    """

    run: RunKey
    at: int
    into: str
    repeat: int

    @property
    def key(self) -> RunKey:
        """The key of the branch, which is a run from the first evaluation on."""
        name = f"{self.run.algorithm}@{self.at}→{self.into}"
        return RunKey(self.run.instance, name, self.run.seed * MOST_REPEATS + self.repeat)

    @property
    def entropy(self) -> int:
        """The seed of what comes after the branching, the same whatever goes on."""
        return self.run.entropy(f"branch\0{self.at}\0{self.repeat}")

    @classmethod
    def of(cls, key: RunKey) -> Branch:
        """The branch of a key.

        Raises:
            ValueError: If it is none.
        """
        if not (match := _NAME.fullmatch(key.algorithm)):
            raise ValueError(f"{key} is no branch of a run; polarbear branch makes them")
        seed, repeat = divmod(key.seed, MOST_REPEATS)
        return cls(RunKey(key.instance, match["first"], seed), int(match["at"]), match["into"], repeat)

"""What became of candidates, as it goes back to the proposer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from polarbear.design.candidates import Candidate
from polarbear.records import FloatArray

Status = Literal["refused", "repeated", "set aside", "dominated", "in the Pareto set"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a candidate so far.

    Attributes:
        name: The candidate's name.
        generation: When it was proposed, from 1.
        candidate: What was proposed.
        status: "refused": it never raced; "repeated": it was proposed before; "set aside": its runs returned nothing;
            "dominated": another one is better at all times; "in the Pareto set": nobody is, as far as is known.
        reasons: Why, in sentences.
        rival: Who dominates it, or who of the others most probably does; empty if nobody was compared.
        dominated: With which probability.
        best: (T,) with which probability its rating is the highest of the Pareto set at each timepoint; None if it is
            not in there.
        runs: Its runs in the race.
        failures: Those of them that failed, timed out or were killed.
    """

    name: str
    generation: int
    candidate: Candidate
    status: Status
    reasons: tuple[str, ...]
    rival: str = ""
    dominated: float = 0.0
    best: FloatArray | None = None
    runs: int = 0
    failures: int = 0

    def __str__(self) -> str:
        return f"{self.name} (generation {self.generation}) is {self.status}: {'; '.join(self.reasons)}"

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain values."""
        return {
            "name": self.name,
            "generation": self.generation,
            **self.candidate.as_dict(),
            "status": self.status,
            "reasons": list(self.reasons),
            "rival": self.rival,
            "dominated": self.dominated,
            "best": None if self.best is None else self.best.tolist(),
            "runs": self.runs,
            "failures": self.failures,
        }


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """All that a proposer may know: the verdicts so far. A proposer need keep nothing itself.

    Attributes:
        generation: The number of the generation that is to be proposed, from 1.
        times: (T,) the timepoints at which candidates are compared, in evaluations.
        verdicts: The verdicts on all candidates, in the order of proposals.
        pareto_set: The names that nobody dominates so far, the best first: of candidates, and of those that they are
            raced against. Empty before the first race.
        seed: Of the design.
    """

    generation: int
    times: FloatArray
    verdicts: tuple[Verdict, ...]
    pareto_set: tuple[str, ...]
    seed: int

    @property
    def elites(self) -> tuple[Verdict, ...]:
        """The verdicts on the candidates in the Pareto set, the best first."""
        known = {each.name: each for each in self.verdicts if each.best is not None}
        return tuple(known[name] for name in self.pareto_set if name in known)

    def proposed(self, candidate: Candidate) -> bool:
        """Whether a candidate was proposed before."""
        return any(each.name == candidate.name for each in self.verdicts)

    def rng(self) -> np.random.Generator:
        """A generator for this generation, the same whenever it is asked for, so that a design repeats itself."""
        return np.random.default_rng(np.random.SeedSequence([self.seed, self.generation, 0x70726F70]))

    def __str__(self) -> str:
        """All verdicts in sentences, with what was proposed, such as for a language model."""
        lines = [f"Candidates are compared after {', '.join(f'{time:,.0f}' for time in self.times)} evaluations."]
        for each in self.verdicts:
            made_of = each.candidate.code or f"configuration {dict(each.candidate.configuration or {})}"
            lines.append(f"\n{each}\n{made_of}")
        lines.append(f"\nThe Pareto set over time: {', '.join(self.pareto_set) or 'nobody yet'}.")
        return "\n".join(lines)


Proposer = Callable[[History], Iterable[Candidate]]
"""Proposes the candidates of the next generation; none: it has no more, and the design ends."""

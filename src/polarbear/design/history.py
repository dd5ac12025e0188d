"""The verdicts on candidates, as returned to the proposer."""

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
    """The current verdict on a candidate.

    Attributes:
        name: Name of the candidate.
        generation: Generation in which it was proposed, from 1.
        candidate: The candidate itself.
        status: "refused": it never raced; "repeated": it was proposed before; "set aside": its runs returned nothing;
            "dominated": another one is better at all times; "in the Pareto set": as far as is known, it is not
            dominated.
        reasons: Reasons, in sentences.
        rival: Algorithm that dominates it, or that most probably does; empty if there was no comparison.
        dominated: Probability that the rival dominates it.
        best: (T,) probability that its rating is the highest of the Pareto set at each timepoint; None if it is not in
            the Pareto set.
        runs: Number of its runs in the race.
        failures: Number of these runs that failed, timed out or were killed.
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
    """All that a proposer may know: the verdicts so far. A proposer need not keep state of its own.

    Attributes:
        generation: Number of the generation to be proposed, from 1.
        times: (T,) timepoints, in evaluations, at which candidates are compared.
        verdicts: Verdicts on all candidates, in the order of proposals.
        pareto_set: Names of the algorithms not dominated so far, the best first: candidates, and those that they are
            raced against. Empty before the first race.
        seed: Seed of the design.
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
        """A generator for this generation, the same on every call, so that a design is reproducible."""
        return np.random.default_rng(np.random.SeedSequence([self.seed, self.generation, 0x70726F70]))

    def __str__(self) -> str:
        """All verdicts in sentences, together with the candidates, e.g. for a language model."""
        lines = [f"Candidates are compared after {', '.join(f'{time:,.0f}' for time in self.times)} evaluations."]
        for each in self.verdicts:
            made_of = each.candidate.code or f"configuration {dict(each.candidate.configuration or {})}"
            lines.append(f"\n{each}\n{made_of}")
        lines.append(f"\nThe Pareto set over time: {', '.join(self.pareto_set) or 'none yet'}.")
        return "\n".join(lines)


Proposer = Callable[[History], Iterable[Candidate]]
"""A function that proposes the candidates of the next generation; if there are none, the design ends."""

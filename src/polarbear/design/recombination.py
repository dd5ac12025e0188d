"""A proposer that recombines the modules of an optimizer."""

from __future__ import annotations

from typing import Annotated

from polarbear.configure import Space
from polarbear.configure.proposals import recombined
from polarbear.design.candidates import Candidate
from polarbear.design.history import History
from polarbear.validation import Share, settings, whole

_TRIES = 20
"""Maximum number of batches of configurations drawn in search of new ones."""


@settings
class ModuleRecombination:
    """Genetic programming of modules: each parameter is taken from one of two elites, or changed.

    The first generation consists of the space's default and random configurations; later ones of children of
    configurations in the Pareto set, better ones being chosen more often, and some random configurations. No
    configuration is proposed twice.

    Attributes:
        space: Space of configurations.
        size: Number of candidates per generation.
        spread: Distance of children from their parents; see `polarbear.configure.proposals.near`.
        anywhere: Share of random configurations in later generations.
    """

    space: Space
    size: Annotated[int, whole(1)] = 8
    spread: Share = 0.15
    anywhere: Share = 0.25

    def __call__(self, history: History) -> list[Candidate]:
        """Propose the next generation: fewer than `size` candidates, or none, if the space is exhausted."""
        rng = history.rng()
        candidates: dict[str, Candidate] = {}
        elites = [dict(each.candidate.configuration or {}) for each in history.elites]
        strangers = self.size if not elites else round(self.anywhere * self.size)
        for _ in range(_TRIES):
            more = [self.space.default] if not history.verdicts and not self.space.fault(self.space.default) else []
            more += self.space.sample(rng, strangers)
            if strangers < self.size:
                more += recombined(self.space, elites, rng, self.size - strangers, spread=self.spread)
            for candidate in (Candidate(configuration=each) for each in more):
                if len(candidates) < self.size and not history.proposed(candidate):
                    candidates.setdefault(candidate.name, candidate)
            if len(candidates) == self.size:
                break
        return list(candidates.values())

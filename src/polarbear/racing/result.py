"""The result of a race."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from polarbear.inference import Posterior
from polarbear.racing.forecast import OpenPair, plan_instances
from polarbear.racing.relations import Relations, relations
from polarbear.racing.rounds import Round
from polarbear.racing.settings import RaceSettings
from polarbear.records import FloatArray, Instance, IntArray


@dataclass(frozen=True, eq=False)
class RaceResult:
    """The result of a race so far; valid after any round (section 4.3, "Early Termination").

    Attributes:
        pareto_set: The algorithms not confidently dominated by any other: the candidate anytime Pareto set.
        posterior: The posterior of all ratings, including eliminated algorithms; only of those in the Pareto set if
            more than 64 algorithms took part.
        rounds: The record of each round.
        eliminated: Eliminated algorithms, each with the algorithm that eliminated it.
        withdrawn: Algorithms withdrawn by the user, or set aside because no run of a whole round returned anything.
        undecided: Pairs of candidates that are still open, with the number of instances they would take.
        finished: Whether every pair is resolved.
        settings: The race's settings.
        values: (P, T, n) best value found on each instance by each timepoint by each algorithm, NaN where not run.
        evaluations_by_algorithm: Number of evaluations each algorithm spent, in the order of `values`.
        evaluations_to_the_end: Number of evaluations that running every algorithm to the last timepoint on every
            instance drawn would have taken; NaN if the axis is seconds.
        problems: (P,) suite, function, dimension and instance of each instance drawn, None where no run identifies it;
            empty if unknown.
    """

    pareto_set: tuple[str, ...]
    posterior: Posterior
    rounds: tuple[Round, ...]
    eliminated: dict[str, str]
    withdrawn: tuple[str, ...]
    undecided: tuple[OpenPair, ...]
    finished: bool
    settings: RaceSettings
    values: FloatArray
    evaluations_by_algorithm: dict[str, int]
    evaluations_to_the_end: float
    problems: tuple[Instance | None, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All algorithms, in the order of `values`."""
        return tuple(self.evaluations_by_algorithm)

    @property
    def rated_values(self) -> FloatArray:
        """(P, T, k) `values` of the k algorithms that the posterior rates."""
        rated = set(self.posterior.names)
        return self.values[:, :, [name in rated for name in self.names]]

    @cached_property
    def relations(self) -> Relations:
        """The relations of all pairs that the posterior rates, at each timepoint separately."""
        settings = self.settings
        compared = settings.compared(self.posterior)
        return relations(compared, alpha=settings.alpha, epsilon=settings.epsilon, joint=False)

    @property
    def begun(self) -> bool:
        """Whether a round with runs is complete; before that, nothing is known."""
        return any(each.batch for each in self.rounds)

    @property
    def set_aside(self) -> tuple[str, ...]:
        """Algorithms withdrawn not by the user but because no run of a whole round returned anything."""
        return tuple(name for each in self.rounds if each.batch for name in each.withdrawn)

    @property
    def members_first(self) -> tuple[str, ...]:
        """All names: first the Pareto set, then the eliminated, the most recent first, then the withdrawn."""
        return (*self.pareto_set, *reversed(self.eliminated), *self.withdrawn)

    @property
    def reach(self) -> IntArray:
        """(T, n) number of instances on which each algorithm was observed at each timepoint."""
        return np.count_nonzero(~np.isnan(self.values), axis=0)

    @property
    def evaluations(self) -> int:
        """Number of evaluations spent by all runs."""
        return sum(self.evaluations_by_algorithm.values())

    @property
    def saved(self) -> float:
        """Share of evaluations saved, compared with running everything to the end on the same instances."""
        return 1.0 - self.evaluations / self.evaluations_to_the_end if self.begun else 0.0

    @property
    def plan_instances(self) -> int:
        """Approximate number of instances a fixed plan, with all runs to the end, would have needed to be as sure.

        It is at most the race's number, and equal to it while pairs are undecided or if an eliminated algorithm is not
        rated.
        """
        drawn, names, settings = len(self.values), self.posterior.names, self.settings
        if self.undecided or not self.begun or not {*self.eliminated} <= {*names}:
            return drawn
        observed = (~np.isnan(self.rated_values)).astype(np.float64)
        by = self.eliminated.items()
        needed = plan_instances(
            settings.compared(self.posterior),
            list(combinations([names.index(name) for name in self.pareto_set], 2)),
            [(names.index(winner), names.index(loser)) for loser, winner in by if winner in names],
            np.einsum("pti,ptj->tij", observed, observed),
            alpha=settings.alpha,
            epsilon=settings.epsilon,
            use_crossing=settings.resolution == "crossing",
        )
        return int(min(needed, drawn))

    @property
    def saved_against_plan(self) -> float:
        """Share of evaluations saved, compared with a fixed plan of equal certainty (`plan_instances`).

        Negative if such a plan would have been cheaper than the race.
        """
        to_the_end = self.evaluations_to_the_end * self.plan_instances / max(len(self.values), 1)
        return 1.0 - self.evaluations / to_the_end if self.begun else 0.0

"""Test whether a new optimizer is better than an old one, for the test suites of optimizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from numpy.typing import ArrayLike

from polarbear.quantities import plural
from polarbear.results.entrants import Algorithm
from polarbear.results.one_call import RaceOptions, race
from polarbear.results.result import Result
from polarbear.select import Preference
from polarbear.select.preferences import under
from polarbear.study import StopRules
from polarbear.validation import real_number, whole_number


@dataclass(frozen=True, slots=True, eq=False)
class Improvement:
    """Whether a new optimizer is better than an old one; its truth value is the answer.

    Attributes:
        probability: Posterior probability that the new optimizer has the higher value under the preference (eq. 33 of
            Wurth et al. 2026).
        required: The probability required.
        preference: The preference over budgets, in words.
        result: The race of "new" against "old".
    """

    probability: float
    required: float
    preference: str
    result: Result

    def __bool__(self) -> bool:
        return self.probability >= self.required

    def __repr__(self) -> str:
        verdict = "better" if self else "not known to be better"
        return (
            f"<the new optimizer is {verdict}: P = {self.probability:.3f} {under(self.preference)}, "
            f"{self.required:g} required; {plural(len(self.result.values), 'instance')}>"
        )


def improves(
    new: Algorithm,
    old: Algorithm,
    *,
    on: object,
    times: ArrayLike | tuple[str | float, str | float],
    probability: float = 0.95,
    budget: Preference = "log-uniform",
    instances: int = 32,
    workers: int = 1,
    progress: bool = False,
    dimension: int | None = None,
    **options: Unpack[RaceOptions],
) -> Improvement:
    """Test whether a new optimizer is better than an old one with the required probability.

    Both race until every timepoint is decided, or the limit on instances is reached. Equal arguments and optimizers
    give the same answer, so a test that passes once always passes.

    Args:
        new: The new optimizer: a name, class, object or function as for `polarbear.race`.
        old: The old optimizer, likewise.
        on: Problems, as for `polarbear.race`.
        times: Timepoints, as for `polarbear.race`.
        probability: Required posterior probability that the new one is better, in (0, 1).
        budget: The preference over budgets by which they are compared; see `polarbear.select.Preference`.
        instances: No round begins once this many instances were drawn; the last round may add twice as many.
        workers: Number of worker processes.
        progress: Whether to show the race's progress.
        dimension: Number of variables, as for `polarbear.race`.
        options: Further options of `polarbear.race`.

    Returns:
        An object that is true or false, and explains the answer when printed.

    Raises:
        TypeError: If an argument has a wrong type.
        ValueError: If a value is out of range.
    """
    required = real_number(probability, "probability", gt=0, lt=1)
    stop = StopRules(instances=whole_number(instances, "instances", 1))
    both: dict[str, Algorithm] = {"new": new, "old": old}
    result = race(both, on, times, workers=workers, progress=progress, dimension=dimension, **{"stop": stop, **options})
    chosen = result.best(budget, everybody=True)
    wins = next(choice.probability_best for choice in chosen.choices if choice.members == ("new",))
    return Improvement(wins, required, chosen.preference, result)

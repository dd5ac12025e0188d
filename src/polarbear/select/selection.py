"""Choose algorithms and portfolios from a posterior (Wurth et al. 2026, section 4.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import Any, Literal, get_args

import numpy as np

from polarbear.inference import TOO_SURE, Posterior, overconfidence_of
from polarbear.records import FloatArray
from polarbear.select.preferences import (
    Preference,
    described,
    is_linear,
    posterior_at_budget,
    preference_values,
    preference_weights,
    under,
    values_of,
)

Criterion = Literal["p2bb", "expected", "quantile"]
Multiset = tuple[int, ...]
"""Sorted indices of a portfolio's members, repetitions included."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate for deployment: an algorithm, or a portfolio run in parallel.

    Attributes:
        members: Names of the algorithms in the parallel slots, repetitions included.
        probability_best: P2BB, the posterior probability that no other candidate has a higher value (eq. 33).
        probability_error: Monte Carlo standard error of `probability_best`.
        expected: Posterior mean of the value (eq. 34).
        low: Lower end of the 95 % credible interval of the value.
        high: Upper end of the 95 % credible interval of the value.
        quantile: The γ-quantile of the value (eq. 35).
    """

    members: tuple[str, ...]
    probability_best: float
    probability_error: float
    expected: float
    low: float
    high: float
    quantile: float

    @property
    def label(self) -> str:
        """The members in one line, such as ``"2 × CSA + MSR"``."""
        counted = Counter(self.members)
        return " + ".join(name if times == 1 else f"{times} × {name}" for name, times in counted.items())


@dataclass(frozen=True, slots=True)
class Selection:
    """The best choice under a preference and a criterion, and how the others compare.

    Attributes:
        choices: All candidates compared, the best first.
        preference: The preference in words.
        criterion: "p2bb", "expected" or "quantile".
        gamma: Level γ of the quantile.
        size: Number of parallel slots.
        exhaustive: Whether every multiset of that size was compared, rather than those that a local search visited.
        overconfidence: Factor by which the posterior of these values overstates the number of instances. None if the
            posterior is `honest` or does not know its rankings, or if the preference depends on a single timepoint that
            is inferred separately.
        sure: Whether the stated uncertainty can be taken at face value: there is no reason for doubt, or the
            overconfidence is about 1. Otherwise the model treats repeated outcomes of the same runs as independent
            evidence, so that intervals are too narrow and P2BB is too certain.
    """

    choices: tuple[Choice, ...]
    preference: str
    criterion: Criterion
    gamma: float
    size: int
    exhaustive: bool
    overconfidence: float | None
    sure: bool

    @property
    def best(self) -> Choice:
        """The best choice."""
        return self.choices[0]

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the best choice."""
        return self.best.members

    def as_dict(self) -> dict[str, Any]:
        """The selection as plain JSON-able values."""
        return asdict(self)

    def __str__(self) -> str:
        quantile = f"{self.gamma:.0%} quantile"
        width = max(len(choice.label) for choice in self.choices[:10])
        lines = [
            f"best {under(self.preference)} by {self.criterion}: {self.best.label}",
            f"{'':{width}}  P2BB            value  95 % interval    {quantile}",
        ]
        lines += [
            f"{choice.label:{width}}  {choice.probability_best:5.3f} ± {choice.probability_error:5.3f}  "
            f"{choice.expected:5.3f}  [{choice.low:5.3f}, {choice.high:5.3f}]  {choice.quantile:5.3f}"
            for choice in self.choices[:10]
        ]
        if len(self.choices) > 10:
            lines.append(f"… and {len(self.choices) - 10} more")
        if not self.sure:
            known = self.overconfidence is not None
            times = f" ({self.overconfidence:.1f} times as much as there really is)" if known else ""
            lines.append(
                f"The model treats repeated outcomes of the same runs as independent evidence{times}: rely on the "
                "order, not on the certainty."
            )
        return "\n".join(lines)


def best(
    posterior: Posterior,
    preference: Preference = "uniform",
    criterion: Criterion = "p2bb",
    size: int = 1,
    *,
    candidates: Iterable[str] | None = None,
    gamma: float = 0.05,
    limit: int = 10_000,
    rng: np.random.Generator | None = None,
) -> Selection:
    """The best algorithm, or the best portfolio of `size` parallel slots, under a preference over budgets.

    The rating of a portfolio is the sum of its members' ratings (eq. 36), which holds if the user takes the best
    solution found by any member; `polarbear.rankings.virtual_algorithm` covers outcomes that are combined in other
    ways. Only portfolios with the same number of slots are compared.

    Args:
        posterior: The posterior, from `polarbear.inference.fit` or a race.
        preference: The preference over budgets; see `Preference`.
        criterion: "p2bb" (probability of being best, eq. 33), "expected" value (eq. 34), or lower "quantile" (eq. 35).
        size: Number of parallel slots; algorithms may be repeated.
        candidates: Names of the algorithms to choose from, such as a race's Pareto set; by default all.
        gamma: Level of the quantile, in (0, 1).
        limit: Number of multisets up to which all are compared; with more, greedy construction and local search select.
        rng: The source of randomness for predictions at a budget between timepoints, by a model that can predict; None
            to use the nearest timepoint instead.

    Returns:
        The best choice, with a table of all that were compared.

    Raises:
        ValueError: If a name, criterion or preference is unknown, or a number is out of range.
        TypeError: If `posterior` is not a posterior.
    """
    _check_posterior(posterior)
    _check(criterion, size, gamma)
    names = _checked_candidates(posterior, candidates)
    asked, meant = posterior_at_budget(posterior, preference, rng)
    value = _Valuation(asked, meant, names)

    def score(members: Multiset) -> float:
        values = value(members)
        return float(np.quantile(values, gamma) if criterion == "quantile" else values.mean())

    compared, exhaustive = pool(len(names), size, score, limit)
    choices = _choices(compared, names, value, gamma)
    rank = "probability_best" if criterion == "p2bb" else criterion
    overconfidence, sure = _certainty(posterior, meant, value, len(names))
    return Selection(
        choices=tuple(sorted(choices, key=lambda choice: (getattr(choice, rank), choice.expected), reverse=True)),
        preference=described(meant, asked.times),
        criterion=criterion,
        gamma=gamma,
        size=size,
        exhaustive=exhaustive,
        overconfidence=overconfidence,
        sure=sure,
    )


def _check(criterion: str, size: int, gamma: float) -> None:
    if criterion not in get_args(Criterion):
        raise ValueError(f"criterion is {criterion!r}; choose one of {', '.join(get_args(Criterion))}")
    if size < 1:
        raise ValueError(f"size is {size!r}; a portfolio has at least one slot")
    if not 0 < gamma < 1:
        raise ValueError(f"gamma is {gamma!r}; a quantile's level lies in (0, 1)")


def _certainty(
    posterior: Posterior, preference: Preference, value: _Valuation, algorithms: int
) -> tuple[float | None, bool]:
    """The overconfidence of the values, if measured, and whether their uncertainty can be taken at face value."""
    of_one_timepoint = not posterior.joint and _looks_at_one_timepoint(preference, posterior.times)
    trusted, measured = posterior.honest or of_one_timepoint, None
    if not trusted and posterior.tally is not None and posterior.tally.instances.units > 1:
        measured = overconfidence_of(posterior, np.stack([value((member,)) for member in range(algorithms)], axis=1))
    return measured, trusted or (measured is not None and measured <= TOO_SURE)


def _looks_at_one_timepoint(preference: Preference, times: FloatArray) -> bool:
    return is_linear(preference) and bool(np.count_nonzero(preference_weights(preference, times)) == 1)


def _check_posterior(posterior: Any) -> None:
    """Raise a TypeError if `posterior` has no draws; if it holds a posterior, the message says where."""
    if not hasattr(posterior, "draws"):
        instead = (
            "its .posterior, or call its best()"
            if hasattr(posterior, "posterior")
            else ("the posterior of a race's result, or what polarbear.inference.fit returns")
        )
        raise TypeError(f"posterior is a {type(posterior).__name__}; pass {instead}")


def _checked_candidates(posterior: Posterior, candidates: Iterable[str] | None) -> tuple[str, ...]:
    names = posterior.names if candidates is None else tuple(dict.fromkeys(candidates))
    unknown = [name for name in names if name not in posterior.names]
    if unknown or not names:
        valid = ", ".join(posterior.names)
        raise ValueError(
            f"candidates names {unknown or 'no algorithm'}; choose from the posterior's algorithms: {valid}"
        )
    return names


class _Valuation:
    """Posterior draws of a multiset's value; a linear preference needs only the members' values."""

    def __init__(self, posterior: Posterior, preference: Preference, names: tuple[str, ...]) -> None:
        columns = [posterior.names.index(name) for name in names]
        self._posterior, self._preference, self._columns = posterior, preference, columns
        self._values = preference_values(posterior, preference)[:, columns] if is_linear(preference) else None

    def __call__(self, members: Multiset) -> FloatArray:
        """(D,) draws of the value."""
        if self._values is not None:
            return self._values[:, list(members)].sum(axis=1)
        slots = [self._columns[member] for member in members]
        rating = self._posterior.draws[:, :, slots].sum(axis=2, keepdims=True)
        return values_of(rating, self._posterior.times, self._preference)[:, 0]


def _choices(compared: list[Multiset], names: tuple[str, ...], value: _Valuation, gamma: float) -> list[Choice]:
    summaries: list[list[float]] = []
    highest = np.array(-np.inf)
    for members in compared:
        values = value(members)
        summaries.append([float(values.mean()), *np.quantile(values, [0.025, 0.975, gamma]).tolist()])
        highest = np.maximum(highest, values)
    choices: list[Choice] = []
    for members, summary in zip(compared, summaries, strict=True):
        p = float(np.mean(value(members) >= highest))
        error = float(np.sqrt(p * (1 - p) / highest.size))
        choices.append(Choice(tuple(names[i] for i in members), p, error, *summary))
    return choices


def pool(candidates: int, size: int, score: Callable[[Multiset], float], limit: int) -> tuple[list[Multiset], bool]:
    """The multisets of `size` out of `candidates` worth comparing (M_k of eq. 37), and whether these are all.

    Args:
        candidates: Number of algorithms to choose from.
        size: Number of slots.
        score: The objective of the local search; higher is better.
        limit: Number of multisets up to which all are returned; with more, those that a local search visits.
    """
    if comb(candidates + size - 1, size) <= limit:
        return list(combinations_with_replacement(range(candidates), size)), True
    return _search(candidates, size, score), False


def _search(candidates: int, size: int, score: Callable[[Multiset], float]) -> list[Multiset]:
    """Construct a portfolio greedily, then swap single members while that helps; the same from copies of each one.

    Returns every portfolio of the full size that was visited.
    """
    visited: dict[Multiset, float] = {}

    def scored(members: Multiset) -> float:
        if members not in visited:
            visited[members] = score(members)
        return visited[members]

    greedy: Multiset = ()
    for _ in range(size):
        greedy = max((tuple(sorted((*greedy, new))) for new in range(candidates)), key=scored)
    for start in [greedy, *((only,) * size for only in range(candidates))]:
        current = start
        while (better := max(_neighbours(current, candidates), key=scored)) and scored(better) > scored(current):
            current = better
    return [members for members in visited if len(members) == size]


def _neighbours(members: Multiset, candidates: int) -> set[Multiset]:
    """All multisets that differ from `members` in one member."""
    return {
        tuple(sorted((*members[:slot], new, *members[slot + 1 :])))
        for slot in range(len(members))
        for new in range(candidates)
        if new != members[slot]
    }

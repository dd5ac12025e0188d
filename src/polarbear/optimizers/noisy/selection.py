"""The selection stage of an evolution strategy, which turns candidates and their observed values into weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from polarbear.descriptions import FieldTypeError, did_you_mean, made
from polarbear.optimizers.noisy.posterior import posterior_means
from polarbear.optimizers.noisy.strategy import Parameters, Search
from polarbear.optimizers.settings import Size, differences, joined_name
from polarbear.records import FloatArray
from polarbear.validation import Checked, settings

IntArray = NDArray[np.intp]


@dataclass(kw_only=True, eq=False)
class Generation:
    """The candidates of a generation, and every value observed of them so far.

    Attributes:
        parameters: The strategy's constants, with the rank weights.
        search: The distribution that the candidates were drawn from.
        points: (λ, d) the candidates, in the coordinates of the search.
        steps: (λ, d) their standardized steps z.
        values: (λ, m) the observed values, NaN where a candidate was evaluated less often than m times.
        spent: Number of evaluations before this generation.
    """

    parameters: Parameters
    search: Search
    points: FloatArray
    steps: FloatArray
    values: FloatArray
    spent: int = 0
    _summary: tuple[FloatArray, FloatArray, IntArray] | None = None

    @cached_property
    def products(self) -> FloatArray:
        """(λ, λ) the products z zᵀ of standardized steps."""
        return self.steps @ self.steps.T

    @property
    def medians(self) -> FloatArray:
        """(λ,) the median of each candidate's values."""
        return self._summarized()[1]

    @property
    def again(self) -> IntArray:
        """(n,) the candidates that were evaluated more than once."""
        return self._summarized()[2]

    def _summarized(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """The values, their medians, and the candidates evaluated again, computed once for the same values."""
        values, summary = self.values, self._summary
        if summary is None or summary[0] is not values:
            again = np.empty(0, dtype=np.intp)
            if values.shape[1] > 1:
                again = (values[:, 1] == values[:, 1]).nonzero()[0]  # NaN is unequal to itself
            summary = self._summary = values, medians(values), again
        return summary

    @property
    def evaluated(self) -> bool:
        """Whether any value has been observed."""
        return self.values.shape[1] > 0

    def observe(self, candidates: IntArray, values: FloatArray) -> None:
        """Add the values (n,) of candidates (n,), which may contain repetitions."""
        count, times = self.values.shape
        if len(set(candidates.tolist())) == len(candidates) and not np.isnan(self.values).any():
            grown = np.full((count, times + 1), np.nan)
            grown[:, :times] = self.values
            grown[candidates, times] = values
            self.values = grown
            return
        order = candidates.argsort(kind="stable")
        new = np.bincount(candidates, minlength=count)
        first = np.cumsum(new) - new  # where each candidate's values begin in that order
        known = (self.values == self.values).sum(axis=1)  # not NaN
        columns = known[candidates[order]] + np.arange(len(order)) - first[candidates[order]]
        grown = np.full((count, max(times, int((known + new).max()))), np.nan)
        grown[:, :times] = self.values
        grown[candidates[order], columns] = values[order]
        self.values = grown

    def add_mean(self) -> None:
        """Add the mean as the last candidate, until `drop_mean`."""
        self.points = np.vstack([self.points, self.search.mean])
        self.steps = np.vstack([self.steps, np.zeros_like(self.steps[:1])])
        self.values = np.empty((len(self.points), 0))

    def drop_mean(self) -> FloatArray:
        """Remove the mean from the candidates and return its values (m,); the others keep their first value."""
        observed = self.values[-1]
        self.points, self.steps, self.values = self.points[:-1], self.steps[:-1], self.values[:-1, :1]
        return observed


class Selection(ABC):
    """A selection stage: frozen settings, with a separate memory for what it learns in the course of a run."""

    kind: str

    def __str__(self) -> str:
        return joined_name(self.kind, differences(self))

    def describe(self) -> dict[str, Any]:
        """The stage in plain values, from which `as_selection` reconstructs it."""
        changed = differences(self).items()
        plain = {key: value.describe() if isinstance(value, Selection) else value for key, value in changed}
        return {"selection": self.kind, **plain}

    def begin(self) -> Any:
        """The initial memory of a run."""
        return None

    def request(self, memory: Any, generation: Generation, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """(n,) the candidates to evaluate next, repeated as needed; none once the weights can be computed."""
        return np.arange(len(generation.points) if not generation.evaluated else 0)

    @abstractmethod
    def weigh(self, memory: Any, generation: Generation, rng: np.random.Generator) -> FloatArray | None:
        """(2, λ) the weight of each candidate in the mean and the paths, and in the covariance matrix.

        The memory may change. None leaves the search distribution unchanged.
        """

    def adapt(self, memory: Any, generation: Generation, after: Search) -> tuple[Search, Parameters]:  # noqa: ARG002
        """The distribution after a generation, given the strategy's own update, and the constants of the next."""
        return after, generation.parameters

    def values(self, memory: Any, generation: Generation) -> FloatArray:  # noqa: ARG002
        """(λ,) the best estimate of each candidate's noise-free value."""
        return generation.values[:, 0]

    @property
    def knows_noise(self) -> bool:
        """Whether the stage has a model of the noise, which `posterior` needs."""
        return False

    def posterior(self, memory: Any, generation: Generation) -> FloatArray | None:  # noqa: ARG002
        """(λ,) the posterior mean of each candidate's noise-free value; None while the noise is unknown."""
        return None

    def diagnostics(self) -> Mapping[str, Callable[[Any], float]]:
        """Functions that read parameters for logging from the memory."""
        return {}


def rank(values: FloatArray) -> IntArray:
    """(λ,) the rank of each value, from 0 for the lowest; ties are ordered by position (eq. 29)."""
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[values.argsort(kind="stable")] = np.arange(len(values))
    return ranks


def medians(values: FloatArray) -> FloatArray:
    """(λ,) the median of each row of values (λ, m), without NaN; like `numpy.nanmedian`, but fast on few values."""
    if values.shape[1] == 1:
        return values[:, 0]
    if values.shape[1] == 2:
        first, second = values[:, 0], values[:, 1]
        both = (first + second) / 2
        return np.where(both == both, both, first)  # NaN is unequal to itself
    ordered = np.sort(values, axis=1)  # NaN last
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    rows = np.arange(len(values))
    return (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) / 2


T = TypeVar("T")
KINDS: dict[str, type[Selection]] = {}
"""Selection stages by their names in descriptions."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
def stage(kind: str) -> Callable[[type[T]], type[T]]:
    """Declare a selection stage: apply `polarbear.validation.settings` to a class, and name it for descriptions."""

    def declared(cls: type[T]) -> type[T]:
        made_class: Any = settings(kw_only=True)(cls)
        made_class.kind = kind
        KINDS[kind] = made_class
        return made_class

    return declared


def as_selection(value: Any, name: str) -> Selection:
    """A selection stage, from itself or from a description such as ``{"selection": "ranks"}``.

    Raises:
        FieldTypeError: If `value` is neither.
        ValueError: If the stage or one of its arguments is unknown or has a wrong value.
    """
    if isinstance(value, Selection):
        return value
    if not isinstance(value, Mapping) or "selection" not in value:
        raise FieldTypeError((name,), f"{name} is {value!r}; give a selection stage, such as Ranks(evaluations=5)")
    fields = dict(cast("Mapping[str, Any]", value))
    if (kind := fields.pop("selection")) not in KINDS:
        raise ValueError(f"selection {kind!r} is unknown;{did_you_mean(str(kind), KINDS)}")
    return made(KINDS[kind], fields, f"selection {kind!r}")


AnySelection = Annotated[Selection, Checked(as_selection)]
"""A field that holds a selection stage."""


@stage("ranks")
class Ranks(Selection):
    """Weights by the ranks of the observed values, as in CMA-ES (eq. 28 and 30).

    Attributes:
        evaluations: Number of evaluations per candidate.
        by: How a candidate's values are summarized: by their mean or their median.
    """

    evaluations: Size = 1
    by: Literal["mean", "median"] = "mean"

    def request(self, memory: Any, generation: Generation, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """See `Selection`."""
        return np.repeat(np.arange(len(generation.points) if not generation.evaluated else 0), self.evaluations)

    def values(self, memory: Any, generation: Generation) -> FloatArray:  # noqa: ARG002
        """(λ,) the mean or median of each candidate's values (eq. 10)."""
        if self.evaluations == 1:
            return generation.values[:, 0]
        return np.mean(generation.values, axis=1) if self.by == "mean" else np.median(generation.values, axis=1)

    @property
    def knows_noise(self) -> bool:
        """Whether candidates are evaluated more than once and judged by the mean."""
        return self.evaluations > 1 and self.by == "mean"

    def posterior(self, memory: Any, generation: Generation) -> FloatArray | None:
        """See `Selection`; the noise variance is the average variance within candidates."""
        values, observed = self.values(memory, generation), generation.values
        finite = np.isfinite(values)
        if not finite.any():
            return None
        noise = float(observed[finite].var(axis=1, ddof=1).mean()) / observed.shape[1]
        return posterior_means(values, np.full(len(values), noise))

    def weigh(self, memory: Any, generation: Generation, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        """See `Selection`."""
        return generation.parameters.rank_weights[:, rank(self.values(memory, generation))]

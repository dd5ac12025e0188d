"""Probe and switch: expected weights only where ranks are unreliable (Wang and Lu, 2026, appendix D)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from polarbear.optimizers.noisy.residual_bootstrap import ResidualBootstrap
from polarbear.optimizers.noisy.selection import AnySelection, Generation, IntArray, Ranks, Selection, rank, stage
from polarbear.optimizers.noisy.strategy import Parameters, Search
from polarbear.records import FloatArray
from polarbear.validation import Flag, real


def rank_disagreement(first: FloatArray, second: FloatArray) -> float:
    """P = Σ |difference of ranks| / λ², from 0 to 1/2, between two observations (λ,) of the same points (eq. 56)."""
    return float(np.abs(rank(first) - rank(second)).sum()) / len(first) ** 2


def variance_share(first: FloatArray, second: FloatArray) -> float:
    """The share of noise in the variance of two observations (λ,), from 0 to 1."""
    return _share(float(np.square(first - second).mean()) / 2, float(np.concatenate([first, second]).var()))


def variance_at_the_mean(repeated: FloatArray, values: FloatArray) -> float:
    """The variance of values (λ,) observed at the mean, as a share of that of the candidates' values (λ,); 0 to 1."""
    return _share(float(repeated.var()), float(values.var()))


def _share(noise: float, total: float) -> float:
    return min(1.0, noise / total) if total > 0 else 0.0


@dataclass(kw_only=True, eq=False)
class Memory:
    """The result of the probe, and the memory of the selection stage that it chose.

    Attributes:
        statistic: The probe's statistic; NaN before the probe.
        chosen: The selection stage in use; None before the probe.
        inner: The memory of that stage.
    """

    statistic: float = math.nan
    chosen: Selection | None = None
    inner: Any = None


@stage("probe-and-switch")
class ProbeAndSwitch(Selection):
    """Spends 2 λ evaluations on the first generation and chooses a selection stage by how noisy it is.

    Attributes:
        threshold: τ; `noisy` is chosen if the statistic is at least this. The paper uses 0.12 and 0.22.
        by: The statistic. With "ranks" and "variance", candidates are evaluated twice, and it is the disagreement P of
            their ranks or the share of noise in the variance. With "variance at the mean", for contrast, candidates are
            evaluated once and the mean as often as there are candidates; it is the variance there as a share of the
            candidates' (appendix F.6), which misses noise that is absent at the mean.
        reuse: Whether the probe also serves as the first generation; otherwise it only costs 2 λ evaluations.
        noisy: The selection stage for a statistic at or above the threshold.
        otherwise: The selection stage for a statistic below the threshold.
    """

    threshold: Annotated[float, real(ge=0, le=1)] = 0.12
    by: Literal["ranks", "variance", "variance at the mean"] = "ranks"
    reuse: Flag = False
    noisy: AnySelection = field(default_factory=ResidualBootstrap)
    otherwise: AnySelection = field(default_factory=Ranks)

    def begin(self) -> Memory:
        """See `Selection`."""
        return Memory()

    def request(self, memory: Memory, generation: Generation, rng: np.random.Generator) -> IntArray:
        """The probe in the first generation; afterwards what the chosen stage requests."""
        if memory.chosen is not None:
            return memory.chosen.request(memory.inner, generation, rng)
        if generation.evaluated:
            return np.empty(0, dtype=np.intp)
        candidates = np.arange(len(generation.points))
        if self.by != "variance at the mean":
            return np.tile(candidates, 2)
        generation.add_mean()
        return np.concatenate([candidates, np.full(len(candidates), len(candidates))])

    def values(self, memory: Memory, generation: Generation) -> FloatArray:
        """See `Selection`."""
        return self._chosen(memory).values(memory.inner, generation)

    @property
    def knows_noise(self) -> bool:
        """Whether the stage `noisy` has a model of the noise."""
        return self.noisy.knows_noise

    def posterior(self, memory: Memory, generation: Generation) -> FloatArray | None:
        """See `Selection`; the observed values if the chosen stage has no model of the noise."""
        chosen = self._chosen(memory)
        return chosen.posterior(memory.inner, generation) if chosen.knows_noise else self.values(memory, generation)

    def weigh(self, memory: Memory, generation: Generation, rng: np.random.Generator) -> FloatArray | None:
        """See `Selection`."""
        if memory.chosen is None:
            memory.statistic = self._statistic(generation)
            memory.chosen = self.noisy if memory.statistic >= self.threshold else self.otherwise
            memory.inner = memory.chosen.begin()
            if not self.reuse:
                return None
            generation.values = generation.values.mean(axis=1, keepdims=True)
        return self._chosen(memory).weigh(memory.inner, generation, rng)

    def adapt(self, memory: Memory, generation: Generation, after: Search) -> tuple[Search, Parameters]:
        """See `Selection`."""
        return self._chosen(memory).adapt(memory.inner, generation, after)

    def _statistic(self, generation: Generation) -> float:
        if self.by == "variance at the mean":
            repeated = generation.drop_mean()
            return variance_at_the_mean(repeated, generation.values[:, 0])
        measure = rank_disagreement if self.by == "ranks" else variance_share
        return measure(generation.values[:, 0], generation.values[:, 1])

    def _chosen(self, memory: Memory) -> Selection:
        return memory.chosen or self.otherwise

    def diagnostics(self) -> Mapping[str, Callable[[Any], float]]:
        """Readers of ``probe``, the statistic, of ``switched``, 1 if `noisy` was chosen, and of the chosen stage's."""
        inner = {name: self._reader(name) for stage in (self.noisy, self.otherwise) for name in stage.diagnostics()}
        own: dict[str, Callable[[Memory], float]] = {
            "probe": lambda memory: float(memory.statistic),
            "switched": lambda memory: float(memory.chosen is self.noisy),
        }
        return inner | own

    def _reader(self, name: str) -> Callable[[Memory], float]:
        """A reader of a parameter of the chosen stage; NaN if it has no such parameter or no stage is chosen."""

        def read(memory: Memory) -> float:
            reader = memory.chosen.diagnostics().get(name) if memory.chosen else None
            return reader(memory.inner) if reader else math.nan

        return read

"""One number per run: how it is distributed, and how two algorithms differ in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from polarbear import figures
from polarbear.analyzer.assessment.charts import by_algorithm, exhibit
from polarbear.assess import cumulative_difference, shared_histograms, value_density
from polarbear.records import FloatArray
from polarbear.web.kind import Shown

_POINTS = 200


@dataclass(frozen=True, slots=True)
class Samples:
    """A number of every run on one problem.

    Attributes:
        of: By algorithm, (runs,) numbers; inf where the run has none.
        what: What they are, for axes.
        at: At which budget or target they were taken, for words.
        place: The problem, for titles.
        order: All algorithms, in the order in which colours are dealt.
    """

    of: Mapping[str, FloatArray]
    what: str
    at: str
    place: str
    order: tuple[str, ...]

    def histogram(self) -> Shown:
        """Histograms in shared bins; runs without a number are left out.

        Raises:
            ValueError: If no run has a number.
        """
        counts, edges = shared_histograms(self._finite(), log=self._log())
        drawn = figures.histograms(edges, counts, value=self.what, order=self.order)
        bins = {name: (edges[:-1], edges[1:], each) for name, each in counts.items()}
        return self._shown(drawn, "histogram", ("algorithm", "from", "to", "runs"), bins)

    def densities(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """By algorithm where and how dense the numbers are; empty below two different ones.

        Raises:
            ValueError: If no algorithm has two different ones.
        """
        finite, log, nothing = self._finite(), self._log(), np.empty(0)
        every = np.concatenate(list(finite.values()))
        at = np.exp(_widened(np.log(every))) if log else _widened(every)
        several = finite.keys() - self._alike()
        if not several:
            raise ValueError(f"all runs of each algorithm have the same {self.what} at {self.at}; see the histogram")
        return {
            name: (at, value_density(finite[name], at, log=log)) if name in several else (nothing, nothing)
            for name in self.of
        }

    def density(self, drawn: figures.Figure, curves: Mapping[str, tuple[FloatArray, FloatArray]]) -> Shown:
        """Densities, drawn, with their numbers, and of which algorithms there is none."""
        shown = self._shown(drawn, "density", ("algorithm", self.what, "density"), curves)
        alike = ", ".join(name for name in self.of if name in self._alike())
        return replace(shown, text=f"No density, as all runs have the same {self.what}: {alike}." if alike else "")

    def difference(self, algorithm: str, against: str) -> Shown:
        """The cumulative difference plot of two algorithms.

        Raises:
            ValueError: If one of them did not run on the problem, or they are the same.
        """
        if missing := [name for name in (algorithm, against) if name not in self.of]:
            raise ValueError(f"{missing[0]} did not run on {self.place}; there are {', '.join(self.of)}")
        if algorithm == against:
            raise ValueError(f"{algorithm} is compared with itself; choose another algorithm")
        found = cumulative_difference(self.of[algorithm], self.of[against], rng=np.random.default_rng(0))
        drawn = figures.cumulative_difference(found, (algorithm, against), order=self.order)
        rows = zip(found.levels, found.difference, found.lower, found.upper, strict=True)
        columns = ("level", "difference", "lower", "upper")
        shown = Shown.of(exhibit(drawn, f"difference {algorithm} {against}", columns, rows, self._where))
        said = f"{algorithm} has the lower {self.what} with probability {found.better:.3g}; ties count half."
        return replace(shown, text=said)

    @property
    def _where(self) -> str:
        return f"{self.place}, {self.at}"

    def _finite(self) -> dict[str, FloatArray]:
        finite = {name: each[np.isfinite(each)] for name, each in self.of.items()}
        if not any(each.size for each in finite.values()):
            raise ValueError(f"no run on {self.place} has a {self.what} at {self.at}; choose another")
        return {name: each for name, each in finite.items() if each.size}

    def _alike(self) -> set[str]:
        """The algorithms all of whose runs have the same number."""
        return {name for name, each in self._finite().items() if np.unique(each).size == 1}

    def _log(self) -> bool:
        return all((each > 0).all() for each in self._finite().values())

    def _shown(
        self,
        drawn: figures.Figure,
        name: str,
        columns: tuple[str, ...],
        rows: Mapping[str, tuple[ArrayLike, ...]],
    ) -> Shown:
        return Shown.of(exhibit(drawn, f"{name} {self._where}", columns, by_algorithm(rows), self._where))


def _widened(numbers: FloatArray) -> FloatArray:
    """Places from below the smallest to above the largest number, as far as kernels reach."""
    margin = 0.75 * float(np.ptp(numbers))
    return np.linspace(float(numbers.min()) - margin, float(numbers.max()) + margin, _POINTS)

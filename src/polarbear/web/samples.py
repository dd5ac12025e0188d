"""One number per run: its distribution, and how two algorithms differ in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from polarbear import figures
from polarbear.analyzer.assessment.charts import by_algorithm, exhibit
from polarbear.assess import RuntimeSummary, ValueSummary, cumulative_difference, shared_histograms, value_density
from polarbear.figures import Figure
from polarbear.records import FloatArray
from polarbear.web.kind import Shown, check_ran, one_of

_POINTS = 200
BAND_LEVELS = (0.02, 0.25, 0.75, 0.98)
"""Levels of the quantiles between which bands lie."""
_ENDS = {"quartiles": [1, 2], "outer quantiles": [0, 3]}
BANDS = (*_ENDS, "mean ± standard deviation")
Around = Annotated[str, one_of("around it", "nothing", *BANDS, "single runs")]


@dataclass(frozen=True, slots=True)
class Samples:
    """One number of every run on a problem.

    Attributes:
        of: For each algorithm, (runs,) numbers; inf where a run has none.
        what: What the numbers are, for axes.
        at: Budget or target at which they were taken, in words.
        problem: Name of the problem, for titles.
        order: All algorithms, in the order in which colours are assigned.
    """

    of: Mapping[str, FloatArray]
    what: str
    at: str
    problem: str
    order: tuple[str, ...]

    def histogram(self) -> Shown:
        """Histograms with common bins.

        Raises:
            ValueError: If no run has a number.
        """
        finite = self._finite()
        counts, edges = shared_histograms(finite, log=_positive(finite))
        drawn = figures.histograms(edges, counts, value=self.what, order=self.order)
        bins = {name: (edges[:-1], edges[1:], each) for name, each in counts.items()}
        return self._shown(drawn, "histogram", ("algorithm", "from", "to", "runs"), bins, self._left_out())

    def density(self, draw: Callable[[Mapping[str, tuple[FloatArray, FloatArray]]], Figure]) -> Shown:
        """Densities for algorithms whose runs have at least two distinct numbers.

        Args:
            draw: Function that makes the figure from positions and densities for each algorithm.

        Raises:
            ValueError: If no algorithm has two distinct numbers.
        """
        finite, nothing = self._finite(), np.empty(0)
        log = _positive(finite)
        alike = [name for name, each in finite.items() if np.unique(each).size == 1]
        if len(alike) == len(finite):
            raise ValueError(f"all runs of each algorithm have the same {self.what} at {self.at}; see the histogram")
        every = np.concatenate(list(finite.values()))
        at = np.exp(_widened(np.log(every))) if log else _widened(every)
        curves = dict.fromkeys(self.of, (nothing, nothing)) | {
            name: (at, value_density(each, at, log=log)) for name, each in finite.items() if name not in alike
        }
        said = f"No density for {', '.join(alike)}: all their runs have the same {self.what}." if alike else ""
        columns = ("algorithm", self.what, "density")
        return self._shown(draw(curves), "density", columns, curves, " ".join(filter(None, (said, self._left_out()))))

    def difference(self, algorithm: str, against: str) -> Shown:
        """The cumulative difference plot of two algorithms.

        Raises:
            ValueError: If one of them did not run on the problem, or they are the same.
        """
        check_ran(self.problem, self.of, algorithm, against)
        difference = cumulative_difference(self.of[algorithm], self.of[against], rng=np.random.default_rng(0))
        drawn = figures.cumulative_difference(difference, (algorithm, against), order=self.order)
        rows = zip(difference.levels, difference.difference, difference.lower, difference.upper, strict=True)
        columns = ("level", "difference", "lower", "upper")
        shown = Shown.of(exhibit(drawn, f"difference {algorithm} {against}", columns, rows, self._where))
        said = f"{algorithm} has the lower {self.what} with probability {difference.better:.3g}; ties count half."
        return replace(shown, text=said)

    @property
    def _where(self) -> str:
        return f"{self.problem}, {self.at}"

    def _finite(self) -> dict[str, FloatArray]:
        finite = {name: each[np.isfinite(each)] for name, each in self.of.items()}
        if not any(each.size for each in finite.values()):
            raise ValueError(f"no run on {self.problem} has a {self.what} at {self.at}; try another target or budget")
        return {name: each for name, each in finite.items() if each.size}

    def _left_out(self) -> str:
        """The number of runs without a number, in words."""
        missing = {name: np.count_nonzero(~np.isfinite(each)) for name, each in self.of.items()}
        said = ", ".join(f"{name} ({count} of {self.of[name].size})" for name, count in missing.items() if count)
        return f"Runs without a {self.what} at {self.at}: {said}." if said else ""

    def _shown(
        self, drawn: Figure, name: str, columns: tuple[str, ...], rows: Mapping[str, tuple[ArrayLike, ...]], text: str
    ) -> Shown:
        made = exhibit(drawn, f"{name} {self._where}", columns, by_algorithm(rows), self._where)
        return replace(Shown.of(made), text=text)


def band(summary: RuntimeSummary | ValueSummary, around: str) -> FloatArray | None:
    """(2, points) ends of the chosen band, NaN where infinite; None if `around` is not one of the `BANDS`.

    Args:
        summary: Summary whose first quantiles are those of the `BAND_LEVELS`.
        around: Name of the band.
    """
    if around not in BANDS:
        return None
    spread = np.array([[-1.0], [1.0]]) * summary.standard_deviation
    ends = summary.quantiles[_ENDS[around]] if around in _ENDS else summary.mean + spread
    return np.where(np.isfinite(ends), ends, np.nan)


def _positive(numbers: Mapping[str, FloatArray]) -> bool:
    return all((each > 0).all() for each in numbers.values())


def _widened(numbers: FloatArray) -> FloatArray:
    """Positions from below the smallest to above the largest number, with a margin for the tails of kernels."""
    margin = 0.75 * float(np.ptp(numbers))
    return np.linspace(float(numbers.min()) - margin, float(numbers.max()) + margin, _POINTS)

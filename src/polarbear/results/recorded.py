"""Recorded runs: of a plan, of other tools, or of several studies together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from polarbear import study
from polarbear.analyzer import write_assessment
from polarbear.assess.report import Assessment, compare, subject_of
from polarbear.assess.report.data import Data
from polarbear.descriptions import did_you_mean
from polarbear.quantities import plural
from polarbear.records import Run
from polarbear.results.entrants import as_times
from polarbear.results.result import Result

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class RecordedRuns:
    """Recorded runs, with methods to assess, tabulate and race them.

    Attributes:
        runs: The runs, sorted by key.
        path: The path they were read from.
        spec: The study's settings; empty if they are not from a study.
    """

    runs: tuple[Run, ...]
    path: Path | str
    spec: dict[str, Any]

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The names of all algorithms, sorted."""
        return tuple(sorted({run.key.algorithm for run in self.runs}))

    @cached_property
    def assessment(self) -> Assessment:
        """The assessment: runtimes, attainment and values at budgets."""
        return Assessment(subject_of(self.runs))

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of all data frames."""
        return ("runs", *(data.name for data in self.assessment.data))

    def frame(self, name: str = "runs") -> pl.DataFrame:
        """A polars data frame: "runs", with a row for each run, or a table of the assessment.

        Raises:
            ValueError: If there is no data frame of that name; the message lists all.
        """
        if name == "runs":
            return _runs(self.runs).frame()
        tables = {data.name: data for data in self.assessment.data}
        if name not in tables:
            raise ValueError(f"there is no data frame {name!r};{did_you_mean(name, ('runs', *tables))}")
        return tables[name].frame()

    def report(self, folder: str | Path, *, progress: bool = True) -> Path:
        """Write the assessment, a page with tables beside it, and return the page's path.

        Args:
            folder: The folder to write to.
            progress: Whether to show progress on standard error.

        Raises:
            OSError: If a file cannot be written.
        """
        if not progress:
            return self._write(folder)
        from polarbear.progress import Console, steps

        with steps(Console(stderr=True), "computing") as step:
            return self._write(folder, progress=step)

    def _write(self, folder: str | Path, **options: Any) -> Path:
        cells, n = self.assessment.subject.cells, len(self.algorithms)
        comparable = any(len(cell.trials) == n > 1 for cell in cells)
        comparison = compare(self.assessment) if comparable else None
        return write_assessment(self.assessment, Path(folder), comparison=comparison, **options)

    def race(
        self,
        times: ArrayLike | tuple[str | float, str | float] | None = None,
        *,
        final_target: float | None = None,
        **settings: Any,
    ) -> Result:
        """Race on these runs, without executing any.

        Args:
            times: Timepoints, as for `polarbear.race`; by default from 10 evaluations to the length of the runs.
            final_target: The final target, as for `polarbear.study.replay`.
            settings: Settings of the race, such as ``alpha=0.95``.

        Raises:
            ValueError: If there is no instance on which all algorithms have a run, or runs are too short.
        """
        if times is not None:
            settings["times"] = as_times(times, settings.get("axis", "evaluations"), None)
        race = study.recorded_race(self.runs, spec=self.spec, **settings)
        return Result.of(study.replay(race, self.runs, final_target=final_target).result)

    def __str__(self) -> str:
        instances = len({run.key.instance for run in self.runs})
        runs, algorithms = plural(len(self.runs), "run"), plural(len(self.algorithms), "algorithm")
        return f"{runs} of {algorithms} on {plural(instances, 'instance')} ({self.path})"

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        """An HTML table for notebooks: the number of runs of each algorithm."""
        frame = _runs(self.runs).frame().group_by("algorithm", maintain_order=True).len("runs")
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{count:,}</td></tr>" for name, count in frame.iter_rows())
        return f"<p>{escape(str(self))}</p><table>{rows}</table>"


def _runs(runs: Sequence[Run]) -> Data:
    return Data.of(
        "runs",
        ("algorithm", "instance", "seed", "evaluations", "seconds", "best", "optimum", "reason", "message"),
        (
            (
                *(run.key.algorithm, run.key.instance, run.key.seed, run.outcome.evaluations, run.outcome.seconds),
                *(run.trajectory.best, run.optimum, str(run.outcome.reason), run.outcome.message),
            )
            for run in runs
        ),
    )

"""The result of a race, with methods to query, plot and report it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from polarbear.analyzer import Answer, answer, ratings_by_features, report
from polarbear.descriptions import listed
from polarbear.figures.race_figures import Plots
from polarbear.quantities import amount, plural
from polarbear.racing import RaceResult
from polarbear.results.frames import frame_of
from polarbear.select import Criterion, Preference, Selection, best, parse_budget
from polarbear.validation import real_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import ArrayLike

    from polarbear.inference.model.conditional import ConditionalRatings
    from polarbear.study import StudyView

_SHOWN = 12
"""Maximum number of members of the Pareto set listed in a notebook."""


@dataclass(frozen=True, eq=False, repr=False)
class Result(RaceResult):
    """The result of a race: a `RaceResult` with answers, figures and reports.

    Attributes:
        study: Further information from the study: settings, failed runs, damaged files. None for a race on recorded
            runs.
        path: The study's path; None if it was not kept.
    """

    study: StudyView | None = None
    path: Path | str | None = None

    @classmethod
    def of(cls, found: StudyView | RaceResult, path: Path | str | None = None) -> Result:
        """Build from a study that was loaded, or from the result of a race alone."""
        study = None if isinstance(found, RaceResult) else found
        result = found if isinstance(found, RaceResult) else found.result
        values: dict[str, Any] = {field.name: getattr(result, field.name) for field in fields(RaceResult)}
        return cls(**values, study=study, path=path)

    @property
    def dimension(self) -> int | None:
        """The problems' number of variables, if known and the same for all; else None."""
        if len(ran := {problem.dimension for problem in self.problems if problem} - {0}) == 1:
            return ran.pop()
        instances: dict[str, Any] = self.study.spec["instances"] if self.study else {}
        dimension = instances.get("dimension", instances.get("dimensions"))
        if isinstance(dimension, list) and len(only := cast(list[Any], dimension)) == 1:
            dimension = only[0]
        return dimension if isinstance(dimension, int) else None

    @property
    def answer(self) -> Answer:
        """The answer in words: ``print(result.answer.text)``."""
        return answer(self)

    @property
    def plot(self) -> Plots:
        """The figures, such as ``result.plot.ratings()``."""
        return Plots(self)

    def best(
        self,
        budget: Preference = "log-uniform",
        size: int = 1,
        risk: float | str | None = None,
        *,
        everybody: bool = False,
    ) -> Selection:
        """Choose what to deploy.

        Args:
            budget: A number, a range ``(100, 1000)``, a frozen distribution of `scipy.stats`, a name such as
                ``"log-uniform"`` or ``"worst"``, weights of the timepoints, or text such as ``"100*d"``; see
                `polarbear.select.Preference`.
            size: Number of algorithms that run in parallel; the best result of all counts.
            risk: The criterion: None or "p2bb" for the highest probability of being best, "expected" for the highest
                expected value, a number γ for the highest γ-quantile of the value, such as 0.05 to be cautious;
                "quantile" means 0.05.
            everybody: Whether to choose from all rated algorithms instead of the Pareto set.

        Raises:
            ValueError: If nothing is known yet, or a budget lies outside the timepoints, or a value is out of range.
        """
        criterion, gamma = _criterion(risk)
        if not self.begun:
            raise ValueError("nothing is known yet: no round is complete")
        return best(
            self.posterior,
            parse_budget(budget, self.dimension) if isinstance(budget, str) else budget,
            criterion,
            size,
            candidates=None if everybody else self.pareto_set,
            gamma=gamma,
            rng=np.random.default_rng(self.settings.seed),
        )

    def by_features(
        self, features: pl.DataFrame | Mapping[str, ArrayLike], *, squares: bool = False, draws: int = 1000
    ) -> ConditionalRatings:
        """Infer how ratings depend on features of the instances: which matter, and who is best given their values.

        Args:
            features: The features; for this, the other arguments and errors see
                `polarbear.analyzer.ratings_by_features`.
            squares: Whether to include the squares of features.
            draws: Number of draws.
        """
        return ratings_by_features(self, features, squares=squares, draws=draws)

    def frame(self, name: str = "ratings") -> pl.DataFrame:
        """A part of the report as a polars data frame; ``.to_pandas()`` converts it.

        Args:
            name: "ratings", "values", "value-quantiles", "relations", "dominance", "rounds", "horizons", "reach",
                "evaluations", "diagnostics", or "observed", the best value found on each instance by each timepoint.

        Raises:
            ValueError: If there is no such data frame, or nothing is known yet.
        """
        return frame_of(self, name)

    def report(self, path: str | Path) -> Path:
        """Write the report, one self-contained HTML page, and return its path.

        Raises:
            OSError: If the file cannot be written.
        """
        return report(self.study or self, path)

    def __str__(self) -> str:
        if not self.begun:
            return f"race of {plural(len(self.names), 'algorithm')}: no round is complete yet"
        still = "decided" if self.finished else f"{plural(len(self.undecided), 'pair')} undecided"
        return (
            f"anytime Pareto set: {listed(self.pareto_set)} ({len(self.pareto_set)} of {len(self.names)}); "
            f"{plural(len(self.values), 'instance')}, {amount(self.evaluations)} evaluations, {still}"
        )

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks: the answer in a sentence, the members and what each is best at, and the ratings."""
        if not self.begun:
            return f"<p>{escape(str(self))}</p>"
        answer = self.answer
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(member.name)}</th>"
            f"<td style='text-align:left'>{escape(member.sentence)}</td></tr>"
            for member in answer.members[:_SHOWN]
        )
        _, tag, picture = self.plot.ratings().svg().partition("<svg")  # without the declaration of a file
        return f"<p>{escape(answer.headline)}</p><table>{rows}</table>{tag}{picture}"


def _criterion(risk: float | str | None) -> tuple[Criterion, float]:
    """The selection criterion that `risk` names, and the level of its quantile."""
    if risk is None:
        return "p2bb", 0.05
    if not isinstance(risk, str):
        return "quantile", real_number(risk, "risk", gt=0, lt=1)
    if risk not in get_args(Criterion):
        raise ValueError(
            f"risk is {risk!r}; choose one of {', '.join(get_args(Criterion))}, or a quantile level between 0 and 1"
        )
    return cast("Criterion", risk), 0.05

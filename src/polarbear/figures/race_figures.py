"""The figures of a race, each made from its result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from polarbear.figures.allocation import allocation
from polarbear.figures.dominance import dominance_over_rounds
from polarbear.figures.figure import Figure
from polarbear.figures.pairs import relations_over_time
from polarbear.figures.preference_values import preference_values
from polarbear.figures.ratings import rating_over_time
from polarbear.figures.style import PALETTE
from polarbear.racing import RaceResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Drawn = Axes | Sequence[Axes] | None


class Plots:
    """The figures of a race.

    Each method returns a figure: it shows itself in a notebook, has ``save`` and ``data``, and takes the options of the
    function in `polarbear.figures` that makes it. With `ax` it is also drawn there: on Matplotlib's axes, or on a list
    of them if it has several panels.
    """

    def __init__(self, result: RaceResult, order: Sequence[str] | None = None) -> None:
        """The figures of a result; `order` has the names in the order in which colours are dealt."""
        self._result = result
        few = len(result.names) <= len(PALETTE)
        self._order = order or (result.names if few else result.members_first)

    def ratings(self, ax: Drawn = None, **options: Any) -> Figure:
        """The rating of every algorithm over the budget, by `polarbear.figures.rating_over_time`."""
        result = self._result
        rated = result.posterior.names
        figure = partial(
            rating_over_time,
            result.posterior,
            eliminated=[name for name in result.eliminated if name in rated],
            withdrawn=[name for name in result.withdrawn if name in rated],
            axis=result.settings.axis,
        )
        return self._drawn(figure, ax, options)

    def values(self, ax: Drawn = None, **options: Any) -> Figure:
        """What members of the Pareto set are worth under preferences, by `polarbear.figures.preference_values`."""
        figure = partial(preference_values, self._result.posterior)
        return self._drawn(figure, ax, {"algorithms": self._result.pareto_set} | options)

    def relations(self, ax: Drawn = None, **options: Any) -> Figure:
        """Who is better when, for pairs of the Pareto set, by `polarbear.figures.relations_over_time`."""
        result = self._result
        settings, posterior = result.settings, result.posterior
        figure = partial(
            relations_over_time,
            result.relations,
            posterior.times,
            posterior.names,
            alpha=settings.alpha,
            epsilon=settings.epsilon,
            crossing=settings.resolution == "crossing",
            axis=settings.axis,
        )
        return self._drawn(figure, ax, {"algorithms": result.pareto_set} | options)

    def dominance(self, ax: Drawn = None, **options: Any) -> Figure:
        """How surely each algorithm was dominated, round by round, by `polarbear.figures.dominance_over_rounds`."""
        result = self._result
        figure = partial(
            dominance_over_rounds,
            result.rounds,
            alpha=result.settings.alpha,
            joint=result.settings.elimination == "joint",
            names=result.names,
        )
        return self._drawn(figure, ax, options)

    def allocation(self, ax: Drawn = None, **options: Any) -> Figure:
        """On how many instances each algorithm was run how far, by `polarbear.figures.allocation`."""
        return self._drawn(partial(allocation, self._result), ax, options)

    def _drawn(self, make: partial[Figure], ax: Drawn, options: dict[str, Any]) -> Figure:
        """The figure, in colours that are the same in all figures of the race."""
        if not self._result.begun:
            raise ValueError("there is nothing to draw; the race has not completed a round")
        figure = make(**{"order": self._order} | options)
        if ax is not None:
            figure.draw_on(ax)
        return figure

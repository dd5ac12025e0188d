"""The figures of a race, each made from its result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from polarbear import figures
from polarbear.figures import Figure
from polarbear.figures.style import PALETTE
from polarbear.racing import RaceResult
from polarbear.racing.relations import relations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Drawn = Axes | Sequence[Axes] | None


class Plots:
    """The figures of a race.

    Each method returns a figure: it shows itself in a notebook, has ``save`` and ``data``, and takes the options of the
    function in `polarbear.figures` that makes it. With `ax` it is also drawn there: on Matplotlib's axes, or on a list
    of them if it has several panels.
    """

    def __init__(self, result: RaceResult) -> None:
        self._result = result

    def ratings(self, ax: Drawn = None, **options: Any) -> Figure:
        """The rating of every algorithm over the budget, by `polarbear.figures.rating_over_time`."""
        result = self._result
        rated = result.posterior.names
        figure = partial(
            figures.rating_over_time,
            result.posterior,
            eliminated=[name for name in result.eliminated if name in rated],
            withdrawn=[name for name in result.withdrawn if name in rated],
            axis=result.settings.axis,
        )
        return self._drawn(figure, ax, options)

    def values(self, ax: Drawn = None, **options: Any) -> Figure:
        """What members of the Pareto set are worth under preferences, by `polarbear.figures.preference_values`."""
        figure = partial(figures.preference_values, self._result.posterior)
        return self._drawn(figure, ax, {"algorithms": self._result.pareto_set} | options)

    def relations(self, ax: Drawn = None, **options: Any) -> Figure:
        """Who is better when, for pairs of the Pareto set, by `polarbear.figures.relations_over_time`."""
        result = self._result
        settings, posterior = result.settings, result.posterior
        decided = relations(settings.compared(posterior), alpha=settings.alpha, epsilon=settings.epsilon, joint=False)
        figure = partial(
            figures.relations_over_time,
            decided,
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
            figures.dominance_over_rounds,
            result.rounds,
            alpha=result.settings.alpha,
            joint=result.settings.elimination == "joint",
            names=result.names,
        )
        return self._drawn(figure, ax, options)

    def allocation(self, ax: Drawn = None, **options: Any) -> Figure:
        """On how many instances each algorithm was run how far, by `polarbear.figures.allocation`."""
        return self._drawn(partial(figures.allocation, self._result), ax, options)

    def _drawn(self, make: partial[Figure], ax: Drawn, options: dict[str, Any]) -> Figure:
        """The figure, in colours that are the same in all figures of the race."""
        result = self._result
        if not result.begun:
            raise ValueError("there is nothing to draw; the race has not completed a round")
        order = result.names if len(result.names) <= len(PALETTE) else result.members_first
        figure = make(**{"order": order} | options)
        if ax is not None:
            figure.draw_on(ax)
        return figure

"""The figures of a race, each made from its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.assess.functions import function_group
from polarbear.figures.allocation import allocation
from polarbear.figures.dominance import dominance_over_rounds
from polarbear.figures.figure import Figure
from polarbear.figures.heat_map import heat_map
from polarbear.figures.pairs import relations_over_time
from polarbear.figures.preference_values import preference_values
from polarbear.figures.ratings import rating_over_time
from polarbear.figures.recovery import Snapshot, rating_over_rounds
from polarbear.figures.style import PALETTE
from polarbear.inference import fit
from polarbear.quantities import plural
from polarbear.racing import RaceResult
from polarbear.racing.rounds import Round
from polarbear.racing.strata import average_share, best_shares
from polarbear.rankings import Rankings
from polarbear.records import FloatArray, Instance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Drawn = Axes | Sequence[Axes] | None


class Plots:
    """The figures of a race.

    Each method returns a figure that displays itself in a notebook and has ``save`` and ``data``. Its options are those
    of the function in `polarbear.figures` that makes it. With `ax`, the figure is also drawn there: on Matplotlib axes,
    or on a list of them if it has several panels.
    """

    def __init__(self, result: RaceResult, order: Sequence[str] | None = None) -> None:
        """Bind the figures to a result; `order` has the algorithm names in the order in which colours are assigned."""
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
        """The value of the members of the Pareto set under preferences, by `polarbear.figures.preference_values`."""
        figure = partial(preference_values, self._result.posterior)
        return self._drawn(figure, ax, {"algorithms": self._result.pareto_set} | options)

    def relations(self, ax: Drawn = None, **options: Any) -> Figure:
        """Which algorithm is better when, for pairs of the Pareto set, by `polarbear.figures.relations_over_time`."""
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
        """Each algorithm's probability of being dominated, by round; see `polarbear.figures.dominance_over_rounds`."""
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
        """How far each algorithm was run, and on how many instances, by `polarbear.figures.allocation`."""
        return self._drawn(partial(allocation, self._result), ax, options)

    def groups(self, ax: Drawn = None, **options: Any) -> Figure:
        """Which algorithm is best on which group of functions in which dimension, by `polarbear.figures.heat_map`.

        Args:
            ax: Matplotlib axes on which to draw the figure as well.
            options: `algorithms`, by default the Pareto set, and the options of `heat_map`.

        Raises:
            ValueError: If there are fewer than two algorithms, or fewer than two known groups.
        """
        members = options.pop("algorithms", self._result.pareto_set)
        shares = shares_by_group(self._result, members)
        if not shares:
            raise ValueError(
                "who is best where needs at least two algorithms, and instances of at least two known groups of "
                "functions or dimensions"
            )
        figure = partial(
            heat_map,
            100 * np.stack([average_share(share) for _, share in shares.values()], axis=1),
            members,
            list(shares),
            label="% of the instances",
            numbers="Percentage of the instances run by all members on which the algorithm of the row is the best "
            "of them, averaged over the timepoints",
            form=lambda share: f"{share:.0f}",
            best="highest",
        )
        return replace(self._drawn(figure, ax, options, ordered=False), title="Who is best where")

    def rounds(self, ax: Drawn = None, **options: Any) -> Figure:
        """Ratings from the instances seen by each of `key_rounds`, by `polarbear.figures.rating_over_rounds`.

        The model is fitted again for each of these rounds (Wurth et al. 2026, figures 8 and 11), which may take a while
        for a model over time.

        Raises:
            ValueError: If the race has completed fewer than two rounds.
        """
        result = self._result
        rounds = key_rounds(result)
        if len(rounds) < 2:
            raise ValueError(f"ratings round by round need at least two rounds; the race has completed {len(rounds)}")
        snapshots = [_snapshot(result, each) for each in rounds]
        return self._drawn(partial(rating_over_rounds, snapshots, axis=result.settings.axis), ax, options)

    def _drawn(self, make: partial[Figure], ax: Drawn, options: dict[str, Any], *, ordered: bool = True) -> Figure:
        """The figure, with colours that are the same in all figures of the race."""
        if not self._result.begun:
            raise ValueError("there is nothing to draw; the race has not completed a round")
        figure = make(**({"order": self._order} if ordered else {}) | options)
        if ax is not None:
            figure.draw_on(ax)
        return figure


def key_rounds(result: RaceResult) -> list[Round]:
    """The first and last complete rounds, and the two in between with the most eliminations."""
    complete = [each for each in result.rounds if each.batch]
    most = sorted(complete[1:-1], key=lambda each: (-len(each.eliminated), each.number))[:2]
    key = {each.number: each for each in (*complete[:1], *most, *complete[-1:])}
    return [key[number] for number in sorted(key)]


def _snapshot(result: RaceResult, end: Round) -> Snapshot:
    """The ratings estimated from the instances of all rounds up to `end`."""
    posterior = result.posterior
    before = fit(
        Rankings.of(
            result.rated_values[: end.instances],
            times=posterior.times,
            algorithms=posterior.names,
            precision=result.settings.precision,
        ),
        model=posterior.model,
        draws=result.settings.draws,
        rng=np.random.default_rng(result.settings.seed),
    )
    out = {loser for each in result.rounds if each.number <= end.number for loser in each.eliminated}
    return Snapshot(f"round {end.number}, {plural(end.instances, 'instance')}", before, out & {*posterior.names})


def shares_by_group(result: RaceResult, members: Sequence[str]) -> dict[str, tuple[int, FloatArray]]:
    """For each group and dimension, how often each of some algorithms is best, as returned by `best_shares`.

    A group is a function group, or a single function if it belongs to none. Empty if there are fewer than two
    algorithms or groups.
    """
    names, columns = _groups(result), [result.names.index(name) for name in members]
    if len(members) < 2 or len({*names} - {""}) < 2:
        return {}
    best = best_shares(result.values[:, :, columns], names, precision=result.settings.precision)
    shares = {group: best[group] for group in sorted(best) if best[group][0]}
    return shares if len(shares) > 1 else {}


def _groups(result: RaceResult) -> list[str]:
    """(P,) the group of each instance; empty if unknown. The dimension is left out if all instances share it."""
    known = [problem for problem in result.problems if problem is not None and problem.dimension]
    several = len({problem.dimension for problem in known}) > 1

    def group(problem: Instance | None) -> str:
        if problem is None or not problem.dimension:
            return ""
        kind = function_group(problem.suite, problem.function) or problem.function
        return f"{problem.dimension:2d}-D {kind}".strip() if several else kind

    return [group(problem) for problem in result.problems]

"""Rankings instance by instance, before anything is counted or averaged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.rankings.masks import BITS, check_algorithms, frozen
from polarbear.records import Axis, FloatArray, IntArray, Run

NOT_RUN = -1
"""The rank of an algorithm that was not run, or whose value is unknown."""
Ranks = NDArray[np.signedinteger[Any]]
Tail = Literal["tied", "unordered"]


@dataclass(frozen=True, slots=True, eq=False)
class Rankings:
    """The rankings of n algorithms on P instances at T timepoints.

    They serve all methods that need whole instances, such as resampling, leave-one-out and win rates; `count_choices`
    sums over the instances. An instance is identified by its position, which is the same in all fields.

    Attributes:
        ranks: (P, T, n) int8, or int16 for more than 64 algorithms: number of better algorithms; `NOT_RUN`, or
            `unordered` for those that come after all others in an unknown order.
        weights: (P,) float64, weight of each instance.
        groups: (P,) int64, group of each instance, numbered from 0. Groups are the resampling units: they are
            independent of each other, while instances within a group need not be.
        times: (T,) float64, timepoints.
        instances: The P instances' names; several may share one, such as repetitions on the same problem.
        algorithms: The n algorithms' names.

    Raises:
        ValueError: If the shapes do not match, or there are no algorithms or more than 32,767.
    """

    ranks: Ranks
    weights: FloatArray
    groups: IntArray
    times: FloatArray
    instances: tuple[str, ...]
    algorithms: tuple[str, ...]

    def __post_init__(self) -> None:
        shape = np.shape(self.ranks)
        if len(shape) != 3:
            raise ValueError(f"ranks has shape {shape}; it must be (instances, timepoints, algorithms)")
        check_algorithms(shape[2])
        sizes = (len(self.instances), len(self.times), len(self.algorithms))
        if sizes != shape or not len(self.weights) == len(self.groups) == shape[0]:
            raise ValueError(
                f"ranks has shape {shape}, but the lengths of instances, weights, groups, times and algorithms are "
                f"{sizes[0]}, {len(self.weights)}, {len(self.groups)}, {sizes[1]} and {sizes[2]}"
            )
        dtypes = {"ranks": _rank_type(shape[2]), "weights": np.float64, "groups": np.int64, "times": np.float64}
        for name, dtype in dtypes.items():
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        *,
        times: ArrayLike | None = None,
        instances: Sequence[str] | None = None,
        algorithms: Sequence[str] | None = None,
        precision: float | None = None,
        target: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        tail: Tail = "tied",
    ) -> Rankings:
        """Rank the algorithms on every instance at every timepoint.

        Args:
            values: (P, T, n) best value found by each algorithm on each instance by each timepoint; lower is better.
                NaN means not run, or unknown; the others are ranked without it. +inf means nothing found yet, or known
                only to come after all others; see `tail`.
            times: (T,) timepoints; by default 0, 1, ….
            instances: The P instances' names; by default "instance 0", ….
            algorithms: The n algorithms' names; by default "algorithm 0", ….
            precision: Values are tied if they agree after rounding to multiples of this; None if only equal values are.
            target: Values at or below it are tied: a number, or (P,) one per instance (NaN for none).
            weights: (P,) weight of each instance, 1 by default. Instances of weight 0 are left out.
            groups: (P,) labels of groups of instances, such as the functions of a suite, if only groups are independent
                of each other; by default each instance is a group. Groups matter for resampling, as in
                `polarbear.inference.InstanceBootstrap`.
            tail: What is known of algorithms at +inf, apart from coming after all others. "tied": they are equally
                good, and count as all their orders with equal weight. "unordered": their order was not observed. If
                only the top m of a ranking are known, set the others to +inf and unordered; the likelihood is then that
                of the first m choices (eq. 6 of Wurth et al. 2026).

        Raises:
            ValueError: If `values` is not three-dimensional, there are no algorithms or more than 32,767, or another
                argument is out of range or of the wrong length; the message names it.
        """
        cells = _tied_values(values, precision, target)
        count = len(cells)
        share = _shares(weights, count)
        labels = np.arange(count) if groups is None else _one_each(groups, "groups", count)
        names = [f"instance {i}" for i in range(count)] if instances is None else list(instances)
        if len(names) != count:
            raise ValueError(f"there are {len(names)} names for {count} instances")
        if tail not in get_args(Tail):
            raise ValueError(f"tail is {tail!r}; it must be one of {', '.join(get_args(Tail))}")
        ranks = _ranks(cells)
        ranks[np.isnan(cells)] = NOT_RUN
        if tail == "unordered":
            ranks[np.isposinf(cells)] = np.iinfo(ranks.dtype).max
        counting = share > 0
        return cls(
            ranks=ranks[counting],
            weights=share[counting],
            groups=np.unique(labels, return_inverse=True)[1].reshape(-1)[counting],
            times=checked_times(times, cells.shape[1]),
            instances=tuple(itertools.compress(names, counting)),
            algorithms=checked_names(algorithms, cells.shape[2]),
        )

    @classmethod
    def of_ranks(cls, ranks: Ranks) -> Rankings:
        """Rankings from ranks (P, T, n), without names and with equal weights."""
        return cls(
            ranks,
            weights=np.ones(len(ranks)),
            groups=np.arange(len(ranks)),
            times=checked_times(None, ranks.shape[1]),
            instances=("",) * len(ranks),
            algorithms=checked_names(None, ranks.shape[2]),
        )

    @classmethod
    def of_runs(
        cls,
        runs: Iterable[Run],
        times: ArrayLike,
        *,
        axis: Axis = "evaluations",
        precision: float | None = None,
        groups: Callable[[Run], Hashable] | None = None,
    ) -> Rankings:
        """Rank recorded runs; runs with the same instance and seed are compared with each other.

        Args:
            runs: The runs. If one is missing, the algorithm counts as not run.
            times: (T,) timepoints.
            axis: The unit of the timepoints.
            precision: As in `of`.
            groups: Function from a run to the label of its instance's group, such as
                ``lambda run: run.problem.function``.

        Raises:
            ValueError: If two runs have the same key, there are none, or for the same reasons as in `of`.
        """
        by_key: dict[tuple[tuple[str, int], str], Run] = {}
        for run in runs:
            key = (run.key.instance, run.key.seed), run.key.algorithm
            if key in by_key:
                raise ValueError(f"there are two runs of {run.key}; give one")
            by_key[key] = run
        rows, names = (list(dict.fromkeys(part)) for part in zip(*by_key, strict=True)) if by_key else ([], [])
        values = np.full((len(rows), np.size(times), len(names)), np.nan)
        row_of, column_of = ({name: i for i, name in enumerate(each)} for each in (rows, names))
        labels: dict[Hashable, int] = {}
        group_of = np.arange(len(rows))
        for (row, name), run in by_key.items():
            values[row_of[row], :, column_of[name]] = best_so_far(run, times, axis)
            if groups is not None:
                group_of[row_of[row]] = labels.setdefault(groups(run), len(labels))
        return cls.of(
            values,
            times=times,
            instances=[instance for instance, _ in rows],
            algorithms=names,
            precision=precision,
            groups=group_of,
        )

    @property
    def unordered(self) -> int:
        """The rank of algorithms that come after all others in an unknown order."""
        return int(np.iinfo(self.ranks.dtype).max)

    @property
    def units(self) -> int:
        """Number of groups G, including groups whose instances all have weight 0."""
        return int(self.groups.max(initial=-1)) + 1

    @property
    def sizes(self) -> NDArray[np.intp]:
        """(P, T) number of algorithms ranked."""
        return np.count_nonzero(self.ranks != NOT_RUN, axis=2)

    def values(self) -> FloatArray:
        """(P, T, n) values with these rankings: the ranks, NaN where not run, +inf where unordered."""
        values = self.ranks.astype(np.float64)
        values[self.ranks == NOT_RUN] = np.nan
        values[self.ranks == self.unordered] = np.inf
        return values

    def group_sums(self, values: FloatArray) -> FloatArray:
        """(G, k) weighted sums of the instances' values (P, k) over each group."""
        weighted = values * self.weights[:, np.newaxis]
        if np.array_equal(self.groups, np.arange(self.groups.size)):
            return weighted
        sums = np.zeros((self.units, values.shape[1]))
        np.add.at(sums, self.groups, weighted)
        return sums

    def among(self, instances: ArrayLike) -> Rankings:
        """The rankings on some instances, given by indices or a boolean mask; groups are renumbered."""
        chosen: IntArray = np.arange(len(self.ranks))[np.asarray(instances)]
        return replace(
            self,
            ranks=self.ranks[chosen],
            weights=self.weights[chosen],
            groups=np.unique(self.groups[chosen], return_inverse=True)[1].reshape(-1),
            instances=tuple(self.instances[i] for i in map(int, chosen)),
        )

    def at(self, timepoints: IntArray) -> Rankings:
        """The rankings at some timepoints, given by indices."""
        return replace(self, ranks=self.ranks[:, timepoints], times=self.times[timepoints])

    def padded(self, algorithms: int) -> Rankings:
        """The same rankings, with algorithms that were never run added at the end."""
        ranks = np.full((*self.ranks.shape[:2], algorithms), NOT_RUN, _rank_type(algorithms))
        ranks[:, :, : self.ranks.shape[2]] = self.ranks
        ranks[ranks == self.unordered] = np.iinfo(ranks.dtype).max
        added = (f"algorithm {i}" for i in range(len(self.algorithms), algorithms))
        return replace(self, ranks=ranks, algorithms=(*self.algorithms, *added))

    def merged(self, other: Rankings) -> Rankings:
        """These rankings and those on further instances, in other groups; times and names are those of these."""
        return replace(
            self,
            ranks=np.concatenate([self.ranks, other.ranks]),
            weights=np.concatenate([self.weights, other.weights]),
            groups=np.concatenate([self.groups, other.groups + self.units]),
            instances=self.instances + other.instances,
        )


def best_so_far(run: Run, times: ArrayLike, axis: Axis) -> FloatArray:
    """(T,) best value of a run by each time; values beyond its target equal the target."""
    values = run.trajectory.value_at(times, axis)
    return values if run.target is None else np.maximum(values, run.target)


def virtual_algorithm(
    values: ArrayLike, members: Sequence[int], combine: Callable[[FloatArray], ArrayLike] | None = None
) -> FloatArray:
    """Replace the members of a portfolio by the portfolio as one algorithm (Wurth et al. 2026, section 3).

    If the user takes the best solution found by any member, the rating of a portfolio is the sum of its members'
    ratings (eq. 8), and `polarbear.select.best` needs only the posterior. A virtual algorithm serves outcomes that are
    combined in other ways, such as the hypervolume of the members' united fronts (eq. 9).

    The members are removed, since the portfolio's runs are theirs: it never does worse than its members on the same
    instance, which no rating describes, and the ratings of all others would be distorted.

    Args:
        values: (P, T, n) values as for `choice_counts`: lower is better, NaN where not run.
        members: Indices of the portfolio's members, each once, as there is one run of each.
        combine: Function from the members' values (P, T, k) to the portfolio's (P, T); by default the best of them.

    Returns:
        (P, T, n − k + 1) values of all others, in their order, and of the portfolio as the last algorithm, which are
        NaN where a member's value is.

    Raises:
        ValueError: If there are no members, an index is out of range or repeated, or `combine` gives another shape.
    """
    cells, chosen = _checked_values(values), list(members)
    if not chosen or not all(0 <= member < cells.shape[2] for member in chosen):
        raise ValueError(f"members are {chosen}; give at least one index, from 0 to {cells.shape[2] - 1}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"members are {chosen}; give each index once, as each algorithm has one run per instance")
    combined = cells[:, :, chosen]
    outcome = np.min(combined, axis=2) if combine is None else np.asarray(combine(combined), dtype=np.float64)
    if outcome.shape != cells.shape[:2]:
        raise ValueError(
            f"combine returned shape {outcome.shape}; from {combined.shape} it must return {cells.shape[:2]}"
        )
    outcome = np.where(np.isnan(combined).any(axis=2), np.nan, outcome)
    return np.concatenate([np.delete(cells, chosen, axis=2), outcome[:, :, np.newaxis]], axis=2)


def checked_times(times: ArrayLike | None, count: int) -> FloatArray:
    """The timepoints (count,), read-only; their indices if None.

    Raises:
        ValueError: If there are not `count` strictly increasing finite timepoints.
    """
    checked = frozen(np.arange(count) if times is None else times, np.float64)
    if checked.shape != (count,):
        raise ValueError(f"times has shape {checked.shape}; there are {count} timepoints")
    if not np.isfinite(checked).all() or not (np.diff(checked) > 0).all():
        raise ValueError("times must be finite and strictly increasing")
    return checked


def checked_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """The algorithms' names; "algorithm 0", "algorithm 1", … if None.

    Raises:
        ValueError: If there are not `count` names, or two are equal.
    """
    checked = tuple(f"algorithm {i}" for i in range(count)) if names is None else tuple(names)
    if len(checked) != count:
        raise ValueError(f"there are {len(checked)} names ({', '.join(checked)}) for {count} algorithms")
    if len(set(checked)) < count:
        repeated = min(name for name in checked if checked.count(name) > 1)
        raise ValueError(f"two algorithms are named {repeated!r}; give names that differ")
    return checked


def _rank_type(algorithms: int) -> type[np.signedinteger[Any]]:
    return np.int8 if algorithms <= BITS else np.int16


def _ranks(values: FloatArray) -> Ranks:
    """(P, T, n) number of better values, of which NaN is none."""
    ranks: Ranks = np.zeros(values.shape, _rank_type(values.shape[2]))
    if values.shape[2] <= BITS:
        for competitor in np.moveaxis(values, 2, 0):
            ranks += competitor[..., np.newaxis] < values
        return ranks
    order = np.argsort(values, axis=2)
    ordered = np.take_along_axis(values, order, axis=2)
    positions = np.broadcast_to(np.arange(values.shape[2], dtype=ranks.dtype), values.shape).copy()
    positions[:, :, 1:][ordered[:, :, 1:] == ordered[:, :, :-1]] = 0  # ties share the position of their first
    np.put_along_axis(ranks, order, np.maximum.accumulate(positions, axis=2), axis=2)
    return ranks


def _checked_values(values: ArrayLike) -> FloatArray:
    cells = np.asarray(values, dtype=np.float64)
    if cells.ndim != 3:
        raise ValueError(f"values has shape {cells.shape}; it must be (instances, timepoints, algorithms)")
    return cells


def _tied_values(values: ArrayLike, precision: float | None, target: ArrayLike | None) -> FloatArray:
    """Values (P, T, n) that are equal where `precision` or `target` says that they tie."""
    cells = _checked_values(values)
    check_algorithms(cells.shape[2])
    if target is not None:
        goal = np.asarray(target, dtype=np.float64)
        if goal.shape not in {(), cells.shape[:1]}:
            raise ValueError(f"target has shape {goal.shape}; give one number, or {len(cells)}, one per instance")
        goal = np.where(np.isnan(goal), -np.inf, goal)
        cells = np.maximum(cells, goal.reshape(-1, 1, 1))
    if precision is not None:
        if not 0 < precision < np.inf:
            raise ValueError(f"precision is {precision!r}; it must be positive and finite, or None for equality")
        with np.errstate(over="ignore"):
            multiples = np.rint(cells / precision)
        largest = np.finfo(np.float64).max
        cells = np.where(np.isfinite(cells), np.clip(multiples, -largest, largest), cells)
    return cells


def _shares(weights: ArrayLike | None, count: int) -> FloatArray:
    """(P,) checked weights of the instances."""
    share = np.ones(count) if weights is None else _one_each(weights, "weights", count).astype(np.float64)
    if not (np.isfinite(share).all() and (share >= 0).all()):
        raise ValueError("weights must be finite and not negative")
    return share


def _one_each(values: ArrayLike, name: str, count: int) -> NDArray[Any]:
    """(P,) an array with one entry for each instance."""
    array = np.asarray(values)
    if array.shape != (count,):
        raise ValueError(f"{name} has shape {array.shape}; give one for each of {count} instances")
    return array
